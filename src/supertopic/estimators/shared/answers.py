"""Predictions of numbers as users get them: means, intervals, R²."""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.estimators.shared.cross_fit import level
from supertopic.metrics import predictive_r2


def predict_numbers(estimator: Any, X: Any, return_interval: float | None, covariates: Any = None) -> Any:
    """E[y] of new documents (D,), or (D, M) for several responses; with the ends of intervals where asked for."""
    means, found = estimator._predicted(X, covariates)
    mean = means[0] if len(means) == 1 else np.column_stack(means)
    if return_interval is None:
        return mean
    if not 0 < return_interval < 1:
        raise ValueError(f"return_interval: got {return_interval!r}, expected a probability between 0 and 1")
    dispersion = estimator._state.dispersion
    ends = [
        part.response.interval(
            found.score[:, part.columns], found.moment[:, part.columns], dispersion[part.numbers],
            level(estimator, place, return_interval),
        )
        for place, (_, part) in enumerate(estimator._parts())
    ]  # fmt: skip
    if len(ends) == 1:
        return mean, *ends[0]
    return mean, np.column_stack([low for low, _ in ends]), np.column_stack([high for _, high in ends])


def score_numbers(y: Any, predicted: np.ndarray) -> float:
    """Predictive R²; its mean over several responses."""
    if predicted.ndim == 1:
        return float(predictive_r2(y, predicted))
    return float(np.mean([predictive_r2(t, p) for t, p in zip(np.asarray(y).T, predicted.T, strict=True)]))


def users_dispersion(estimator: Any) -> float | np.ndarray:
    """The responses' dispersions as users know them: one number, or one for each response."""
    dispersion = estimator._state.dispersion
    spreads = [float(part.response.spread(dispersion[part.numbers])) for _, part in estimator._parts()]
    return spreads[0] if len(spreads) == 1 else np.array(spreads)
