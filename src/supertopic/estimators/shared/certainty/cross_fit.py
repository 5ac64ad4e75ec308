"""Cross-fitted certainty: what is said about certainty comes from documents that topics have not seen.

The labelled documents are cut into folds. For each fold, a short fit starts where every fit starts, without the fold's
documents, neither words nor labels; then it predicts them. (Fits that start from the whole fit's topics would leak:
these do not forget the labels.) From the out-of-fold predictions come the slope and the dispersion of the model, the
levels of its intervals, and, with the folds' topics matched to those of the whole fit, the errors of its coefficients
(`supertopic.inference.after.calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from supertopic.corpus import Corpus
from supertopic.estimators.shared.certainty import softmax_heat
from supertopic.estimators.shared.certainty.softmax_heat import heated, keep_heat
from supertopic.estimators.shared.certainty.topic_errors import similarity, widening
from supertopic.estimators.shared.fitting.ensemble import move_members
from supertopic.estimators.shared.fitting.training import Training
from supertopic.inference.after.calibration import Calibration, calibrate, condense, level_of, levels
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.gibbs.chains import match_topics
from supertopic.inference.variational.m_step_glm import information_at
from supertopic.progress import track
from supertopic.responses.several import units

KEPT = ("_conformal", "_topic_error", *softmax_heat.KEPT)  # arrays that estimators keep, also in files
_LEAST = 5  # labelled documents of a fold: with fewer there is nothing to be learned from them


@dataclass(frozen=True)
class OutOfFold:
    """Labelled documents as fits without them see them."""

    rows: np.ndarray  # (n,) which of the training documents
    score: np.ndarray  # (n, C) linear predictors, in the units of the whole fit
    moment: np.ndarray  # (n, C)
    shares: np.ndarray  # (n, K) topic shares, the topics in the order of the whole fit's
    coef: np.ndarray  # (G, C, K + P) of the folds' fits, in these units and this order; 0 for covariates
    similar: np.ndarray  # (G, K) how similar their topics are to the whole fit's


def cross_fit(estimator: Any, training: Training, n_folds: int, seed: int) -> OutOfFold | None:
    """Correct the estimator's coefficients and dispersion, and keep what its intervals and errors need.

    Returns the documents with corrected linear predictors; None where they are too few to be cut into folds.
    """
    found = _predict_folds(estimator, training, n_folds, seed)
    if found is None:
        return None
    state, response, rows = estimator._state, estimator._response(), found.rows
    y, weight = training.y[rows], training.weight[rows]
    fitted = calibrate(response, y, weight, found.score, state.dispersion)
    score, moment = fitted.moments(found.score, found.moment, response.is_product)
    coef = fitted.slope[:, None] * state.coef.astype(np.float64)
    coef[:, : estimator.n_topics] += fitted.intercept[:, None]  # shares add up to one
    part = with_known_shares(found.shares, training.covariates[rows], y, weight)
    estimator._state = replace(
        state,
        coef=coef.astype(np.float32),
        information=information_at(response, estimator._coef_prior(), part.total, coef, fitted.dispersion),
        dispersion=fitted.dispersion,
    )
    estimator._topic_error = widening(estimator, fitted.slope[:, None] * found.coef, found.similar)
    move_members(estimator, fitted.slope, fitted.intercept)
    keep_levels(estimator, y, score, moment)
    return replace(found, score=score, moment=moment)


def keep_levels(estimator: Any, y: np.ndarray, score: np.ndarray, moment: np.ndarray) -> None:
    """Keep what intervals and probabilities need, from predictors of documents whose y did not take part in them."""
    keep_heat(estimator, y, score)
    estimator._conformal = _levels(estimator, y, *heated(estimator, score, moment))
    estimator._derive(estimator._model())


def _predict_folds(estimator: Any, training: Training, n_folds: int, seed: int) -> OutOfFold | None:
    """Every labelled document predicted by a fit without it; None where they are too few."""
    fold = folds_of(training, n_folds, seed)
    if fold is None:
        return None
    state, response, engine = estimator._state, estimator._response(), estimator._engine()
    score = np.zeros((len(fold), response.n_columns))
    moment, shares = np.zeros_like(score), np.zeros((len(fold), estimator.n_topics))
    topics, given = estimator._weights(), length_of_folds(estimator)
    equally_bold = engine.at_mode and estimator._terms.epochs <= engine.longest_fold  # then the folds' fits are as long
    coef, similar = np.zeros((n_folds, *state.coef.shape)), np.zeros((n_folds, estimator.n_topics))
    with track(f"{type(estimator).__name__} cross-fit", n_folds, int(estimator.verbose)) as report:
        for number in range(n_folds):
            out, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            other = estimator._sibling(("fold", number), training.rows(rest), seed, **given)
            scores = other._scores(Corpus(training.corpus.counts[out]), training.covariates[out])
            unit = units(response, other._state.dispersion, state.dispersion, equally_bold)
            own = Calibration(*unit, state.dispersion)
            score[out], moment[out] = own.moments(scores.score, scores.moment, response.is_product)
            order = match_topics(topics, other._weights())
            shares[out] = scores.mean_topics[:, order]
            coef[number, :, : len(order)] = own.slope[:, None] * other._state.coef[:, order]
            similar[number] = similarity(topics, other._weights()[:, order])
            report(number + 1)
    labelled = np.flatnonzero(training.labelled)
    return OutOfFold(labelled, score[labelled], moment[labelled], shares[labelled], coef, similar)


def folds_of(training: Training, n_folds: int, seed: int) -> np.ndarray | None:
    """(D,) the fold of each labelled document, -1 of the others, which are in every fit; None where labels are few."""
    labelled = np.flatnonzero(training.labelled)
    if len(labelled) < _LEAST * n_folds:
        return None
    fold = np.full(len(training.y), -1)
    fold[np.random.default_rng([seed, 7]).permutation(labelled)] = np.arange(len(labelled)) % n_folds
    return fold


def length_of_folds(estimator: Any) -> dict[str, Any]:
    """How long the fits of the folds are: shorter ones are less bold, and the slope that they give is too steep."""
    engine = estimator._engine()
    if not engine.at_mode:
        return {"max_iter": max(engine.short, round(engine.fold * estimator.n_iter_))}
    epochs = min(estimator._terms.epochs, engine.longest_fold)
    if not estimator.validation_fraction:
        return {"max_iter": epochs}
    return {"more": {"best_epoch": epochs}}  # the whole fit has found when to stop


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
            found.append(condense(np.sort(1.0 - chances[np.arange(len(chances)), labels[known].astype(int)])))
    table = np.full((len(found), max(map(len, found))), np.nan)
    for place, one in enumerate(found):
        table[place, : len(one)] = one
    return table


def level(estimator: Any, place: int, probability: float) -> float:
    """The level at which the intervals of response number `place` hold new documents with this probability."""
    if not hasattr(estimator, "_conformal"):
        return probability
    found = estimator._conformal[place]
    return level_of(found[~np.isnan(found)], probability)
