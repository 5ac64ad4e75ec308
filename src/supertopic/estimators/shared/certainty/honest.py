"""Sample splitting: topics from one part of the labels, coefficients and their errors from the other.

Topics that were fitted to labels are correlated with the noise in these labels. A regression of the same labels on such
topics finds that noise again, and its errors are too small, whatever formula they come from. Labels that were set aside
know nothing of the topics: given the topics and all words, a regression on them is an ordinary one, and its errors are
those of any textbook. The words of the documents set aside take part in the topics; only their labels do not.

These errors take the topics and the shares of documents as known. Fits without a fold of the documents, in which the
same labels are set aside, say how much further coefficients move than that (`topic_errors`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from supertopic.estimators.shared.certainty.cross_fit import keep_levels
from supertopic.estimators.shared.certainty.folds import FoldCoefficients, fold_fits, folds_of, length_of_folds
from supertopic.estimators.shared.fitting.training import Training
from supertopic.inference.after.calibration import Calibration
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.responses.several import units

_FOLDS = 5  # of the regressions behind the levels of intervals
_LEAST = 25  # labelled documents in each of the two parts


def set_aside(training: Training, share: float, seed: int) -> np.ndarray:
    """(D,) bool: the labelled documents whose labels the topics do not see."""
    labelled = np.flatnonzero(training.labelled)
    n_aside = round(share * len(labelled))
    if min(n_aside, len(labelled) - n_aside) < _LEAST:
        raise ValueError(
            f"honest: got {share:g}, which cuts {len(labelled)} labelled documents into {len(labelled) - n_aside} and "
            f"{n_aside}; expected at least {_LEAST} in each part"
        )
    aside = np.zeros(len(training.y), dtype=bool)
    aside[np.random.default_rng([seed, 11]).permutation(labelled)[:n_aside]] = True
    return aside


def without_labels(training: Training, hidden: np.ndarray) -> Training:
    """The same documents, some of them without their labels."""
    return replace(training, y=np.where(hidden if training.y.ndim == 1 else hidden[:, None], np.nan, training.y))


def fit_coefficients(estimator: Any, training: Training, aside: np.ndarray, seed: int) -> None:
    """Coefficients, their errors and the dispersion from the labels set aside.

    Intervals come from regressions without a fold of them; fits without a fold say how much wider the errors are.
    """
    given = training.rows(np.flatnonzero(aside))
    first, response = estimator._state, estimator._response()
    shares = estimator._shares_without_y(given)
    whole = _regress(estimator, given, shares, np.ones(len(given.y), dtype=bool))
    score = np.zeros((len(given.y), response.n_columns))
    moment = np.zeros_like(score)
    fold = np.random.default_rng([seed, 13]).permutation(len(given.y)) % _FOLDS
    for number in range(_FOLDS):
        out = fold == number
        estimator._state = _regress(estimator, given, shares, ~out)
        some = given.rows(np.flatnonzero(out))
        scores = estimator._scores(some.corpus, some.covariates)
        own = Calibration(*units(response, estimator._state.dispersion, whole.dispersion), whole.dispersion)
        score[out], moment[out] = own.moments(scores.score, scores.moment, response.is_product)
        estimator._state = first
    estimator._state = whole
    fold_of = folds_of(training, n_folds, seed) if (n_folds := estimator._n_folds()) else None
    if fold_of is not None:
        estimator._topic_error = _widening_of_folds(estimator, training, aside, fold_of, seed)
    keep_levels(estimator, given.y, score, moment)


def _widening_of_folds(
    estimator: Any, training: Training, aside: np.ndarray, fold: np.ndarray, seed: int
) -> np.ndarray:
    """(C,) what the errors are multiplied with, by fits without a fold; their coefficients from the other labels."""
    coef, hidden = FoldCoefficients(estimator, int(fold.max()) + 1), without_labels(training, aside)
    for one in fold_fits(estimator, hidden, fold, seed, **length_of_folds(estimator)):
        given = training.rows(one.rest[aside[one.rest]])
        shares = one.fit._shares_without_y(given)
        coef.take(one, _regress(one.fit, given, shares, np.ones(len(given.y), dtype=bool)))
    return coef.widening()


def _regress(estimator: Any, given: Training, shares: np.ndarray, rows: np.ndarray) -> Any:
    """The State with coefficients of a regression on some of the documents."""
    part = with_known_shares(shares[rows], given.covariates[rows], given.y[rows], given.weight[rows])
    return GLMStep().refit(estimator._model(), estimator._state, estimator._terms, part.total)[0]
