"""`prevalence=`: topic shares that depend on metadata, by a formula or by a prior of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from supertopic.checks import check_number
from supertopic.documents.formulas import Design
from supertopic.documents.known import Known
from supertopic.priors.base import SharePrior
from supertopic.priors.regression import RegressionPrior

_LEVEL_SCALE = 3.0  # standard deviation of log alpha of the average document
_CONSTANT = "(constant)"


@dataclass(frozen=True)
class Standard:
    """x of documents (`RegressionPrior`): a constant, and what a formula makes of metadata, centred and scaled.

    The dummies of categories keep their unit; what else there is has a standard deviation of one.
    """

    design: Design
    mean: tuple[float, ...]  # of each column, but for constants
    unit: tuple[float, ...]

    @classmethod
    def of(cls, formula: str | Sequence[str], known: Known) -> Self:
        design = Design.of(formula, known.metadata)
        x = _varying(design, design.encode(known.metadata))
        x = x[~np.isnan(x).any(axis=1)]
        if not len(x):
            raise ValueError(f"prevalence: no document has all columns of {formula!r}")
        deviation, dummy = x.std(axis=0), np.isin(x, (0.0, 1.0)).all(axis=0)
        unit = np.where(dummy | (deviation <= 1e-9 * np.abs(x).max(axis=0, initial=0.0)), 1.0, deviation)
        return cls(design, tuple(x.mean(axis=0).tolist()), tuple(unit.tolist()))

    @property
    def names(self) -> list[str]:
        """Of all columns; the first is the level of the average document."""
        return ["(average)", *(name for name in self.design.names if name != _CONSTANT)]

    def __call__(self, known: Known) -> np.ndarray:
        x = _varying(self.design, self.design.encode(known.metadata))
        return np.column_stack([np.ones(len(x)), (x - np.array(self.mean)) / np.array(self.unit)])


def _varying(design: Design, x: np.ndarray) -> np.ndarray:
    """The columns but for the constant."""
    return x[:, [name != _CONSTANT for name in design.names]]


@dataclass(frozen=True)
class Prevalence(RegressionPrior):
    """Topic shares that depend on metadata: alpha_d = exp(x_d·Lambda), by a formula.

    Parameters
    ----------
    formula : str or list of str
        Such as ``"~ party + spline(date, 5)"``, or names of columns of `metadata`.
    spread : float
        Standard deviation of the normal prior on the coefficients, of columns with a standard deviation of one, and of
        the dummies of categories.
    start, design, scale, learned : object
        What a fit fills in.

    Examples
    --------
    >>> from supertopic import LDA, Prevalence
    >>> LDA(5, prevalence=Prevalence("~ party")).n_topics
    5
    """

    formula: str | Sequence[str] = ()
    spread: float = 1.0
    start: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)), repr=False, kw_only=True)
    design: Any = field(default=None, repr=False, kw_only=True)
    scale: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, kw_only=True)
    learned: bool = field(default=True, repr=False, kw_only=True)

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.design is None else self.design.design.columns

    def prepared(self, known: Known, level: SharePrior) -> Prevalence:
        """alpha of the average document starts at that of `level`."""
        check_number("prevalence: spread", self.spread, above_zero=True)
        design = Standard.of(self.formula, known)
        n_coef, n_topics = len(design.names), level.start.shape[-1]
        start, scale = np.zeros((n_coef, n_topics)), np.full(n_coef, float(self.spread))
        start[0], scale[0] = np.log(level.start), _LEVEL_SCALE
        return replace(self, start=start, design=design, scale=scale, learned=n_topics > 1)

    def table(self, alpha: np.ndarray, error: np.ndarray | None) -> pd.DataFrame:
        """A row per topic and term: what a unit of the term adds to log alpha of the topic, with its standard error.

        `(average)` is log alpha of the average document.
        """
        unit = np.array([1.0, *self.design.unit])[:, None]
        n_coef, n_topics = alpha.shape
        spread = np.full(alpha.shape, np.nan) if error is None else error / unit
        return pd.DataFrame(
            {
                "topic": np.repeat(np.arange(n_topics), n_coef),
                "term": np.tile(np.array(self.design.names, dtype=object), n_topics),
                "coef": (alpha / unit).T.ravel(),
                "std_error": spread.T.ravel(),
            }
        )

    def about(self) -> dict[str, Any]:
        plain = {"formula": self.formula, "spread": float(self.spread)}
        if self.design is None:
            return plain
        design = {"design": self.design.design.about(), "mean": self.design.mean, "unit": self.design.unit}
        return {**plain, **design, "start": self.start, "scale": self.scale, "learned": self.learned}

    @classmethod
    def restore(cls, saved: dict[str, Any]) -> Self:
        bare = cls(formula=saved["formula"], spread=saved["spread"])
        check_number("prevalence: spread", bare.spread, above_zero=True)
        as_prior(bare.formula)
        if "design" not in saved:
            return bare
        design = Standard(Design.restore(saved["design"]), tuple(saved["mean"]), tuple(saved["unit"]))
        start, scale = (np.array(saved[name], dtype=np.float64) for name in ("start", "scale"))
        shapes = {len(design.names), 1 + len(design.mean), 1 + len(design.unit), len(scale), len(start)}
        numbers = np.array([*design.mean, *design.unit, *start.ravel(), *scale], dtype=np.float64)
        if len(shapes) != 1 or start.ndim != 2 or scale.ndim != 1 or not (np.abs(numbers) < 1e30).all():
            raise ValueError("the prior on topic shares holds no finite numbers, one for each of its columns")
        if min(*design.unit, *scale) <= 0:
            raise ValueError("the prior on topic shares has a scale that is not above 0")
        return replace(bare, start=start, design=design, scale=scale, learned=bool(saved["learned"]))


def as_prior(prevalence: Any) -> SharePrior | None:
    """What the parameter `prevalence` asks for."""
    if prevalence is None or isinstance(prevalence, SharePrior):
        return prevalence
    names = [prevalence] if isinstance(prevalence, str) else prevalence
    if not isinstance(names, list | tuple) or not names or not all(isinstance(one, str) for one in names):
        raise ValueError(
            f"prevalence: got {prevalence!r:.60}, expected a formula such as '~ party', a list of columns of metadata, "
            "or a prior on topic shares"
        )
    return Prevalence(formula=prevalence)
