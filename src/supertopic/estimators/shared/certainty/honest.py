"""Sample splitting: topics from one part of the labels, coefficients and their errors from the other.

Topics that were fitted to labels are correlated with the noise in these labels. A regression of the same labels on such
topics finds that noise again, and its errors are too small, whatever formula they come from. Labels that were set aside
know nothing of the topics: given the topics and all words, a regression on them is an ordinary one, and its errors are
those of any textbook. The words of the documents set aside take part in the topics; only their labels do not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from supertopic.estimators.shared.certainty.cross_fit import keep_levels
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
    """Coefficients, their errors and the dispersion from the labels set aside; intervals from regressions without a
    fold of them.
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
    keep_levels(estimator, given.y, score, moment)


def _regress(estimator: Any, given: Training, shares: np.ndarray, rows: np.ndarray) -> Any:
    """The State with coefficients of a regression on some of the documents."""
    part = with_known_shares(shares[rows], given.covariates[rows], given.y[rows], given.weight[rows])
    return GLMStep().refit(estimator._model(), estimator._state, estimator._terms, part.total)[0]
