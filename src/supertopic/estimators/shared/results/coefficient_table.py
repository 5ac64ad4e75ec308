"""The coefficients of a fitted model with their errors, in one shape for tables, notebooks and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from supertopic.checks import check_choice

KEPT_LEVEL = 0.9  # of the posterior intervals that samplers keep


@dataclass(frozen=True)
class CoefficientTable:
    """s = intercept + theta·coef: coefficients are relative to the average document (a sparse prior: to its origin)."""

    names: list[str]  # (C,) the class or the response of each column; "" where there is one only
    intercept: np.ndarray  # (C,)
    coef: np.ndarray  # (C, K)
    std: np.ndarray | None  # (C, K) standard errors, where the model has them
    kept: np.ndarray | None  # (2, C, K) ends of posterior intervals at KEPT_LEVEL, where the model has them

    def ends(self, level: float = KEPT_LEVEL) -> np.ndarray | None:
        """(2, C, K) ends of intervals; None where the model knows no errors."""
        if not 0 < level < 1:
            raise ValueError(f"interval: got {level!r}, expected a probability between 0 and 1")
        if self.kept is not None:
            if level != KEPT_LEVEL:
                raise ValueError(f"interval: got {level!r}, but this model keeps posterior intervals of {KEPT_LEVEL}")
            return self.kept
        if self.std is None:
            return None
        reach = norm.ppf(0.5 + level / 2) * self.std
        return np.stack([self.coef - reach, self.coef + reach])

    def order(self, columns: list[int] | None = None) -> np.ndarray:
        """Topics from the first row to the last: by the column of their largest coefficient, the largest first."""
        coef = self.coef if columns is None else self.coef[columns]
        best = coef.argmax(axis=0)
        return np.lexsort((-coef[best, np.arange(coef.shape[1])], best))

    def column(self, target: Any) -> int:
        """The place of a class or a response by its name; None is the only one."""
        if target is None and len(self.names) == 1:
            return 0
        if isinstance(target, (int, np.integer)) and str(target) not in self.names and 0 <= target < len(self.names):
            return int(target)
        check_choice("target", None if target is None else str(target), tuple(self.names))
        return self.names.index(str(target))


def coefficients_of(model: Any) -> CoefficientTable | None:
    """The table of a fitted model; None for a model without coefficients."""
    if getattr(model, "coef_", None) is None:
        return None
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    std = getattr(model, "coef_std_", None)
    std = None if std is None else np.atleast_2d(np.asarray(std, dtype=np.float64))
    kept = getattr(model, "coef_interval_", None)
    kept = None if kept is None else np.asarray(kept, dtype=np.float64).reshape(2, *coef.shape)
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    return CoefficientTable(model._column_names(), intercept, coef, std, kept)
