"""Words beside topics in an estimator's linear predictor (`words=True`), by `supertopic.inference.after.words`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from supertopic.estimators.shared.certainty.cross_fit import OutOfFold, keep_levels
from supertopic.estimators.shared.fitting import ensemble
from supertopic.estimators.shared.fitting.training import Training
from supertopic.inference.after.calibration import Calibration
from supertopic.inference.after.words import Joined, ScoredDocuments, add_words, hold_out


def add_words_beside(estimator: Any, training: Training, seed: int, unseen: OutOfFold | None) -> None:
    """Words beside topics; the topics' coefficients shrink towards their level.

    unseen : the labelled documents as fits without them see them, which serve as their own pilot; None: a fit without
        some of the labels is the pilot
    """
    before, columns = estimator._state.coef, slice(0, estimator.n_topics)
    with estimator._backend() as backend:
        if unseen is None:
            documents = scored(estimator, training)
            pilot = partial(estimator._fit_pilot, training, seed=seed)
        else:
            documents = _scored_unseen(estimator, training, unseen)
            pilot = partial(_its_own_pilot, documents)
        held_out = hold_out(documents.y, seed, estimator._word_step().least)
        given = (estimator._state, documents, held_out, pilot)
        estimator._state, words, joined = add_words(estimator._word_step(), *given, backend.all)
    weight = joined.topic_weight
    shift = (estimator._state.coef[:, columns] - weight * before[:, columns]).mean(axis=1, dtype=np.float64)
    ensemble.move_members(estimator, weight, shift)
    estimator._word_coef, estimator._word_scale = words.coef, words.scale
    if unseen is not None and joined.unseen is not None:
        _keep_levels(estimator, documents.y[held_out], unseen.score[held_out], unseen.moment[held_out], joined)
    estimator._derive(estimator._model())


def _keep_levels(estimator: Any, y: np.ndarray, score: np.ndarray, moment: np.ndarray, joined: Joined) -> None:
    """Keep what intervals need, from documents that neither topics nor words have seen."""
    assert joined.unseen is not None
    weight = np.full(score.shape[1], joined.topic_weight)
    beside = Calibration(joined.unseen - weight * score, weight, joined.dispersion)  # words add to each document
    keep_levels(estimator, y, *beside.moments(score, moment, estimator._response().is_product))


def scored(estimator: Any, training: Training) -> ScoredDocuments:
    """The documents with their linear predictors."""
    others = training.covariates @ ensemble.covariate_coef(estimator).T
    topics = estimator._scores(training.corpus, training.covariates).score - others
    given = (training.corpus.counts, training.y, training.weight)
    return ScoredDocuments(*given, topics, others, estimator._state.dispersion)


def _scored_unseen(estimator: Any, training: Training, unseen: OutOfFold) -> ScoredDocuments:
    """The labelled documents with the linear predictors of fits without them."""
    rows = unseen.rows
    others = training.covariates[rows] @ ensemble.covariate_coef(estimator).T
    given = (training.corpus.counts[rows], training.y[rows], training.weight[rows])
    return ScoredDocuments(*given, unseen.score - others, others, estimator._state.dispersion)


def _its_own_pilot(documents: ScoredDocuments, held_out: np.ndarray) -> ScoredDocuments:
    return documents
