"""Covariates as users give them, and as a regression takes them: centred, with unit variance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

_CONSTANT = 1e-9  # deviation of a column relative to its largest value, below which it is rounding
_DEPENDENT = 1e-8  # eigenvalue of the correlations, below which columns depend on one another


def as_covariates(covariates: Any, n_documents: int) -> np.ndarray:
    """(D, P) finite numbers; (D, 0) for None."""
    if covariates is None:
        return np.zeros((n_documents, 0))
    try:
        extra = np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("covariates: got values that are no numbers, expected a table (documents, columns)") from None
    extra = extra[:, None] if extra.ndim == 1 else extra
    if extra.ndim != 2 or len(extra) != n_documents:
        raise ValueError(f"covariates: got shape {extra.shape}, expected ({n_documents}, columns)")
    if not np.isfinite(extra).all():
        raise ValueError("covariates: got NaN or infinity, expected finite numbers")
    return extra


def column_names(covariates: Any) -> list[str]:
    """The names of a frame's columns, quoted, for a message; nothing for other tables, whose columns have numbers."""
    return [repr(str(name)) for name in getattr(covariates, "columns", [])]


@dataclass(frozen=True)
class Scaling:
    """What a fit makes of its covariates: z = (x - mean) factor, so that priors and ridges mean the same on any scale.

    The shares of the topics sum to one. The coefficients of the topics therefore hold the level of y, and they are
    those of a document whose covariates are at their mean:

    linear predictor = coef·Zbar + covariate_coef·(x - mean),     covariate_coef = factor times the coefficients of z
    """

    mean: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (P,)
    factor: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (P,) one over the deviation; 0 for constants

    @classmethod
    def of(cls, extra: np.ndarray, names: list[str], more_follow: bool = False) -> Self:
        """The scaling of these documents (D, P); a warning names columns that are constant or linearly dependent.

        Constant columns have no part in the fit. Where further batches follow, they may vary later: they have the unit
        of their own size.
        """
        mean = extra.mean(axis=0)
        deviation, size = extra.std(axis=0), np.abs(extra).max(axis=0, initial=0.0)
        varies = deviation > _CONSTANT * size
        unit = np.where(size > 0, size, 1.0) if more_follow else np.full(len(mean), np.inf)
        found = cls(mean, 1.0 / np.where(varies, deviation, unit))
        names = names or [str(place) for place in range(len(mean))]
        found._warn(extra, varies, names, more_follow)
        return found

    def _warn(self, extra: np.ndarray, varies: np.ndarray, names: list[str], more_follow: bool) -> None:
        constant = [name for name, moves in zip(names, varies, strict=True) if not moves]
        if constant:
            effect = "in the first batch" if more_follow else "and have no part in the fit"
            warnings.warn(f"covariates: {_columns(constant)} constant {effect}", UserWarning, stacklevel=4)
        places = np.flatnonzero(varies)
        if len(places) < 2:
            return
        standard = self.apply(extra)[:, places]
        values, vectors = np.linalg.eigh(standard.T @ standard / len(extra))
        involved = (np.abs(vectors[:, values < _DEPENDENT]) > 1e-3).any(axis=1)
        if involved.any():
            which = [names[place] for place in places[involved]]
            warnings.warn(
                f"covariates: {_columns(which)} linearly dependent: predictions are well defined, but only some sums "
                "of these coefficients are",
                UserWarning,
                stacklevel=4,
            )

    def apply(self, extra: np.ndarray) -> np.ndarray:
        """(D, P) z of new covariates; refuses another number of columns."""
        if extra.shape[1] != len(self.mean):
            raise ValueError(f"covariates: got {extra.shape[1]} columns, expected {len(self.mean)} as in fit")
        return (extra - self.mean) * self.factor

    def users(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of the covariates (…, P), or their standard errors, per unit of x instead of z."""
        factor = np.ones(coef.shape[-1])  # an intercept behind the covariates has no unit
        factor[: len(self.factor)] = self.factor
        return coef * factor

    def saved(self) -> dict[str, list[float]]:
        return {"mean": self.mean.tolist(), "factor": self.factor.tolist()}

    @classmethod
    def restore(cls, saved: dict[str, list[float]] | None, n_covariates: int) -> Self:
        """What `saved` gave; files of earlier versions have none, and took covariates as they were."""
        if saved is None:
            return cls(np.zeros(n_covariates), np.ones(n_covariates))
        mean, factor = (np.array(saved[name], dtype=np.float64) for name in ("mean", "factor"))
        if mean.ndim != 1 or mean.shape != factor.shape or not np.isfinite([mean, factor]).all():
            raise ValueError("the scaling of the covariates holds no finite numbers, one pair for each")
        return cls(mean, factor)


def _columns(names: list[str]) -> str:
    return f"column {names[0]} is" if len(names) == 1 else f"columns {', '.join(names)} are"
