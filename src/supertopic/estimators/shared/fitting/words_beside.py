"""Words beside topics in an estimator's linear predictor (`words=True`), by `supertopic.inference.after.words`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from supertopic.estimators.shared.fitting import ensemble
from supertopic.estimators.shared.fitting.training import Training
from supertopic.inference.after.words import ScoredDocuments, add_words


def add_words_beside(estimator: Any, training: Training, seed: int) -> None:
    """Words beside topics; the topics' coefficients shrink towards their level."""
    before, columns = estimator._state.coef, slice(0, estimator.n_topics)
    with estimator._backend(1):
        pilot = partial(estimator._fit_pilot, training, seed=seed)
        given = (estimator._state, scored(estimator, training), seed, pilot)
        estimator._state, words, weight = add_words(estimator._word_step(), *given)
    shift = (estimator._state.coef[:, columns] - weight * before[:, columns]).mean(axis=1, dtype=np.float64)
    ensemble.move_members(estimator, weight, shift, covariates=False)
    estimator._word_coef, estimator._word_scale = words.coef, words.scale
    estimator._derive(estimator._model())


def scored(estimator: Any, training: Training) -> ScoredDocuments:
    """The documents with their linear predictors."""
    others = training.covariates @ ensemble.covariate_coef(estimator).T
    topics = estimator._scores(training.corpus, training.covariates).score - others
    given = (training.corpus.counts, training.y, training.weight)
    return ScoredDocuments(*given, topics, others, estimator._state.dispersion)
