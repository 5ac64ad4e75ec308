"""What an estimator with a response shows of its State: coefficients, draws and words, in the meaning that users know.

`supertopic.estimators.shared.results.effects` has the meaning itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from supertopic.estimators.shared.results.effects import Effects, effects_covariance, units_of


def derive_draws(estimator: Any) -> None:
    """The draws of the coefficients in the meaning of `coef_`, and those of the intercepts."""
    own, draws = estimator.__dict__.pop("_own_draws", None), estimator.draws_
    if own is not None:
        shares = estimator._average_shares()
        pairs = zip(own, draws["dispersion"], strict=True)
        found: list[Effects] = [estimator._effects(coef, dispersion, shares) for coef, dispersion in pairs]
        coef = np.stack([np.hstack([one.topics, one.others]) for one in found])
        estimator.draws_ = {**draws, "coef": coef, "intercept": np.stack([one.intercept for one in found])}
    elif "coef" in draws and "intercept" not in draws:
        estimator._centre_draws()


def centre_draws(estimator: Any) -> None:
    """Draws of a file of an earlier version, where the coefficients of the topics have the intercept in them."""
    prior, shares, coef = estimator._coef_prior(), estimator._average_shares(), estimator.draws_["coef"].copy()
    state = estimator._state
    zero = estimator._effects(np.zeros_like(state.coef), state.dispersion, shares).intercept
    topics = coef[..., : estimator.n_topics]  # a view
    level = np.stack([prior.origin(one - zero[:, None], shares) for one in topics]) + zero
    topics -= level[..., None]
    estimator.draws_ = {**estimator.draws_, "coef": coef, "intercept": level}


def covariance(estimator: Any) -> np.ndarray:
    """(C, 1 + K + P, 1 + K + P) of the intercept, the topics' coefficients and those of the covariates."""
    state, scaling = estimator._state, estimator._scaling
    response, prior, shares = estimator._response(), estimator._coef_prior(), estimator._average_shares()
    found = effects_covariance(response, prior, state.information, state.dispersion, shares)
    unit = np.ones((len(found), 1 + state.coef.shape[1]))
    unit[:, 1 : 1 + estimator.n_topics] = getattr(estimator, "_topic_error", np.ones(len(found)))[:, None]
    unit[:, 1 + estimator.n_topics :] = scaling.users(np.ones(estimator._n_covariates))
    return found * unit[:, :, None] * unit[:, None, :]


def standard_errors(estimator: Any) -> np.ndarray:
    """(C, 1 + K + P) of the same; NaN in a sibling (`_has_errors`), which nobody asks for them."""
    if not getattr(estimator, "_has_errors", True):
        return np.full((len(estimator._state.coef), 1 + estimator._state.coef.shape[1]), np.nan)
    return np.sqrt(np.maximum(np.diagonal(estimator._effects_covariance(), axis1=1, axis2=2), 0.0))


def word_effects(estimator: Any) -> np.ndarray:
    """(C, V) the coefficients of words beside topics, on the scale of y."""
    found = estimator._word_coef.astype(np.float64)
    for _, part in estimator._parts():
        if part.response.shares_shift:
            found[part.columns] -= found[part.columns].mean(axis=0)
        found[part.columns] *= units_of(part.response, estimator._state.dispersion[part.numbers])
    return found


def name_covariates(estimator: Any, coef: np.ndarray, error: np.ndarray) -> None:
    """The coefficients of the covariates: arrays, or frames where the covariates have names."""
    labels, scaling = estimator._columns.labels, estimator._scaling
    estimator.covariate_names_ = labels or [f"x{place}" for place in range(coef.shape[1])]
    estimator.covariate_references_, estimator.covariate_mean_ = estimator._columns.references, scaling.mean
    if labels:
        rows = [name or estimator._targets[0].name for name in estimator._column_names()]
        coef, error = (pd.DataFrame(one, index=rows, columns=labels) for one in (coef, error))
        estimator.covariate_mean_ = pd.Series(scaling.mean, index=labels)
    estimator.covariate_coef_, estimator.covariate_std_ = coef, error
