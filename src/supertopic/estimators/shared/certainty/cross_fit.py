"""Cross-fitted certainty: what is said about certainty comes from documents that topics have not seen.

The labelled documents are cut into folds, and a short fit without a fold predicts it (`folds`). From the out-of-fold
predictions come the slope and the dispersion of the model (`supertopic.inference.after.calibration`), the levels of its
intervals (`supertopic.inference.after.interval_levels`), and, with the folds' topics matched to those of the whole fit,
the errors of its coefficients (`topic_errors`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from supertopic.documents.corpus import Corpus
from supertopic.estimators.shared.certainty import softmax_heat
from supertopic.estimators.shared.certainty.folds import (
    FoldCoefficients,
    fold_fits,
    folds_of,
    length_of_folds,
    warn_few,
)
from supertopic.estimators.shared.certainty.softmax_heat import heated, keep_heat
from supertopic.estimators.shared.fitting.ensemble import move_members
from supertopic.estimators.shared.fitting.training import Training
from supertopic.inference.after.calibration import Calibration, calibrate
from supertopic.inference.after.class_sets import class_levels
from supertopic.inference.after.interval_levels import condense, level_of, levels
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.design import shifted
from supertopic.inference.variational.m_step_glm import information_at
from supertopic.responses.several import units

KEPT = ("_conformal", "_topic_error", *softmax_heat.KEPT)  # arrays that estimators keep, also in files


@dataclass(frozen=True)
class OutOfFold:
    """Labelled documents as fits without them see them."""

    rows: np.ndarray  # (n,) which of the training documents
    score: np.ndarray  # (n, C) linear predictors, in the units of the whole fit; those of a fold without covariates
    moment: np.ndarray  # (n, C)
    shares: np.ndarray  # (n, K) topic shares, the topics in the order of the whole fit's
    coef: FoldCoefficients


def cross_fit(estimator: Any, training: Training, n_folds: int, seed: int) -> OutOfFold | None:
    """Correct the estimator's coefficients and dispersion, and keep what its intervals and errors need.

    Returns the documents with corrected linear predictors; None where they are too few to be cut into folds. A warning
    says where they are too few for as many folds as were asked for.
    """
    fold = folds_of(training, n_folds, seed)
    warn_few(int(training.labelled.sum()), n_folds, fold)
    if fold is None:
        return None
    found = _predict_folds(estimator, training, fold, seed)
    state, response, prior, rows = estimator._state, estimator._response(), estimator._coef_prior(), found.rows
    y, weight, covariates = training.y[rows], training.weight[rows], training.covariates[rows]
    given = (found.score, state.dispersion)
    fitted = calibrate(response, y, weight, *given, moment=found.moment, covariates=covariates, prior=prior)
    assert fitted.beside is not None
    own = fitted.moments(found.score, found.moment, response.is_product)
    score, moment = shifted(*own, covariates @ fitted.beside.T, response.is_product)
    topics = fitted.slope[:, None] * state.coef[:, : estimator.n_topics].astype(np.float64)
    coef = np.hstack([topics + fitted.intercept[:, None], fitted.beside])  # shares add up to one
    part = with_known_shares(found.shares, covariates, y, weight)
    estimator._state = replace(
        state,
        coef=coef.astype(np.float32),
        information=information_at(response, prior, part.total, coef, fitted.dispersion),
        dispersion=fitted.dispersion,
    )
    estimator._topic_error = found.coef.widening(fitted.slope)
    move_members(estimator, fitted.slope, fitted.intercept, fitted.beside)
    keep_levels(estimator, y, score, moment)
    return replace(found, score=score, moment=moment)


def keep_levels(estimator: Any, y: np.ndarray, score: np.ndarray, moment: np.ndarray) -> None:
    """Keep what intervals and probabilities need, from predictors of documents whose y did not take part in them."""
    keep_heat(estimator, y, score)
    estimator._conformal = _levels(estimator, y, *heated(estimator, score, moment))
    estimator._derive(estimator._model())


def _predict_folds(estimator: Any, training: Training, fold: np.ndarray, seed: int) -> OutOfFold:
    """Every labelled document predicted by a fit without it."""
    dispersion, response = estimator._state.dispersion, estimator._response()
    score = np.zeros((len(fold), response.n_columns))
    moment, shares = np.zeros_like(score), np.zeros((len(fold), estimator.n_topics))
    coef = FoldCoefficients(estimator, int(fold.max()) + 1)
    for one in fold_fits(estimator, training, fold, seed, **length_of_folds(estimator)):
        scores = one.fit._scores(Corpus(training.corpus.counts[one.out]), np.zeros_like(training.covariates[one.out]))
        own = Calibration(*units(response, one.fit._state.dispersion, dispersion), dispersion)
        score[one.out], moment[one.out] = own.moments(scores.score, scores.moment, response.is_product)
        shares[one.out] = scores.mean_topics[:, coef.take(one, one.fit._state)]
    labelled = np.flatnonzero(training.labelled)
    return OutOfFold(labelled, score[labelled], moment[labelled], shares[labelled], coef)


def _levels(estimator: Any, y: np.ndarray, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """(M, n) for each response: levels of intervals, or 1 - P(its class) of each document; NaN fills up."""
    found = []
    for target, part in estimator._parts():
        labels, numbers = y if y.ndim == 1 else y[:, part.label], estimator._state.dispersion[part.numbers]
        given = (score[:, part.columns], moment[:, part.columns], numbers)
        if target.classes is None:
            found.append(condense(levels(part.response, labels, *given)))
        else:
            known = ~np.isnan(labels)
            chances = part.response.predict(*given)[known]
            found.append(condense(class_levels(chances, labels[known].astype(int))))
    table = np.full((len(found), max(map(len, found))), np.nan)
    for place, one in enumerate(found):
        table[place, : len(one)] = one
    return table


def level(estimator: Any, place: int, probability: float) -> float:
    """The level at which the intervals of response number `place` hold new documents with this probability."""
    if not hasattr(estimator, "_conformal"):
        return probability
    return level_of(own_levels(estimator, place), probability)


def own_levels(estimator: Any, place: int) -> np.ndarray:
    """(n,) sorted: the levels of the documents behind the intervals or sets of response number `place`."""
    found: np.ndarray = estimator._conformal[place]
    return found[~np.isnan(found)]
