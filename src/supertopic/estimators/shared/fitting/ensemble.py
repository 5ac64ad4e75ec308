"""Several fits from different starts, whose linear predictors are averaged (`ensemble=`).

    s  =  (1/E) sum_e s_e,     s_e = coef_e·(Zbar_e, x)

The first fit is the estimator's own: its topics and coefficients are the ones that are read, explained and plotted. Of
the others, the estimator keeps what predictions need: topics (E - 1, V, W) as `_member_topics`, and coefficients
(E - 1, C, K + P), in the units of the first, as `_member_coef`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend
from supertopic.checks import check_whole
from supertopic.estimators.shared.fitting.side_by_side import fit_side_by_side
from supertopic.estimators.shared.fitting.training import Training
from supertopic.inference.after import prediction
from supertopic.responses.several import units

KEPT = ("_member_topics", "_member_coef")


def n_members(estimator: Any) -> int:
    """Fits whose linear predictors are averaged."""
    size = getattr(estimator, "ensemble", 1)
    check_whole("ensemble", size)
    return int(size)


def fit_members(estimator: Any, training: Training, seed: int) -> None:
    """Fit the other members, each with a seed of its own."""

    def fit_member(number: int, n_jobs: int) -> Any:
        return estimator._sibling(("member", number), training, (seed + number) % 2**32, ensemble=1, n_jobs=n_jobs)

    members = [partial(fit_member, number) for number in range(1, n_members(estimator))]
    states = [other._state for other in fit_side_by_side(estimator, members, training.corpus.counts.nnz)]
    if not states:
        return
    n_topics, own = estimator.n_topics, estimator._state
    estimator._member_topics = np.stack([state.word_topic for state in states])
    estimator._member_coef = np.stack([state.coef for state in states])
    for coef, state in zip(estimator._member_coef, states, strict=True):
        zero, unit = units(estimator._response(), state.dispersion, own.dispersion)
        coef *= unit[:, None].astype(np.float32)
        coef[:, :n_topics] += zero[:, None].astype(np.float32)


def has_members(estimator: Any) -> bool:
    return hasattr(estimator, "_member_coef")


def move_members(estimator: Any, slope: Any, intercept: np.ndarray, beside: np.ndarray | None = None) -> None:
    """The topics' part of their linear predictors becomes intercept + slope·s.

    slope : (C,), or one number for all columns; intercept : (C,)
    beside : (C, P) coefficients of the covariates from now on; None: those they have
    """
    if not has_members(estimator):
        return
    n_topics, moved = estimator.n_topics, estimator._member_coef.astype(np.float64)
    factor = np.broadcast_to(slope, moved.shape[1:2])[:, None]
    moved[:, :, :n_topics] = factor * moved[:, :, :n_topics] + np.asarray(intercept)[:, None]
    if beside is not None:
        moved[:, :, n_topics:] = beside
    estimator._member_coef = moved.astype(np.float32)


def covariate_coef(estimator: Any) -> np.ndarray:
    """(C, P) coefficients of the covariates, the mean over the members."""
    own = estimator._state.coef[:, estimator.n_topics :].astype(np.float64)
    if not has_members(estimator):
        return own
    others = estimator._member_coef[:, :, estimator.n_topics :].astype(np.float64)
    return (own + others.sum(axis=0)) / (1 + len(others))


def with_members(
    estimator: Any, first: prediction.Scores, counts: sp.csr_matrix, backend: Backend
) -> prediction.Scores:
    """The mean of the members' linear predictors; the topic shares are those of the first.

    The variance of the mean is taken to be the mean of the members' variances: they see the same tokens.
    """
    if not has_members(estimator):
        return first
    response, point = estimator._response(), estimator._point_model()
    found = [first]
    for word_topic, coef in zip(estimator._member_topics, estimator._member_coef, strict=True):
        weights = estimator._emission.probabilities(word_topic, by_word=True)
        topics = np.ascontiguousarray(coef[:, : estimator.n_topics])
        found.append(prediction.score(point, weights, topics, response, counts, backend))
    score = np.mean([one.score for one in found], axis=0)
    variance = np.mean([one.moment - one.score**2 for one in found], axis=0)
    logs = np.mean([np.log(np.maximum(one.moment, 1e-300)) for one in found], axis=0)
    return prediction.Scores(first.mean_topics, score, np.where(response.is_product, np.exp(logs), score**2 + variance))
