"""What topics add to the linear predictor, on the scale that users know.

    linear predictor = intercept + shares·coef (+ covariates, + words)

The intercept is the linear predictor of an average document, so that a coefficient says what a topic adds to it. With a
sparse prior the intercept is the model's own level, so that an exact zero is a topic without an effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from supertopic.estimators.shared.results.coefficient_table import coefficients_of


@dataclass(frozen=True)
class Effects:
    """Coefficients of C columns, and how the inner linear predictor s becomes the user's: origin + unit·s."""

    names: list[str]  # (C,)
    intercept: np.ndarray  # (C,)
    coef: np.ndarray  # (C, K)
    std: np.ndarray  # (C, K); NaN where it is not known
    origin: np.ndarray  # (C,)
    unit: np.ndarray  # (C,)
    offset: np.ndarray  # (C,) the inner part of covariates at their mean
    prior: str


def effects_of(estimator: Any) -> Effects:
    """The effects of a fitted estimator with coefficients."""
    table = coefficients_of(estimator)
    assert table is not None  # the estimator has coefficients
    intercept, coef = table.intercept, table.coef
    inner = np.asarray(estimator._state.coef, dtype=np.float64)
    offset = _mean_covariates(estimator) @ inner[:, estimator.n_topics :].T
    unit = _units(estimator)
    even = np.full(estimator.n_topics, 1.0 / estimator.n_topics)
    score = _centred(estimator, (inner[:, : estimator.n_topics] @ even + offset[0])[None])[0]
    return Effects(
        names=[name or estimator._targets[0].name for name in estimator._column_names()],
        intercept=intercept,
        coef=coef,
        std=np.full_like(coef, np.nan) if table.std is None else table.std,
        origin=intercept + coef @ even - unit * score,
        unit=unit,
        offset=offset[0],
        prior=str(getattr(estimator, "coef_prior", "laplace")),
    )


def users_scores(estimator: Any, found: Effects, score: np.ndarray) -> np.ndarray:
    """(D, C) linear predictors on the user's scale."""
    return found.origin + found.unit * _centred(estimator, score)


def _mean_covariates(estimator: Any) -> np.ndarray:
    """(1, P) covariates at their mean, as the state's coefficients take them: zeros, and a constant behind them."""
    n_covariates = len(estimator._scaling.mean)
    n_constants = estimator._state.coef.shape[1] - estimator.n_topics - n_covariates
    return np.concatenate([np.zeros(n_covariates), np.ones(n_constants)])[None]


def _units(estimator: Any) -> np.ndarray:
    """(C,) the user's unit of every column."""
    units = np.ones(len(estimator._state.coef))
    sigma = estimator._sigma() if hasattr(estimator, "_sigma") else 1.0
    for _, part in estimator._parts():
        ends = part.response.unscale(np.array([0.0, 1.0]), np.zeros(2), estimator._state.dispersion[part.numbers])[0]
        units[part.columns] = (ends[1] - ends[0]) * sigma
    return units


def _centred(estimator: Any, score: np.ndarray) -> np.ndarray:
    """Scores of a softmax less their mean over the classes: only differences mean something."""
    score = np.array(score, dtype=np.float64)
    for _, part in estimator._parts():
        if part.response.name == "softmax":
            score[:, part.columns] -= score[:, part.columns].mean(axis=1, keepdims=True)
    return score
