"""Where prediction-constrained training starts: topics that quick passes agree on, max-margin topics for a softmax, or
an earlier fit's. Topics other than a softmax's are pulled towards where they start (`Climb.anchor`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from supertopic.backends.base import total
from supertopic.coefficients import CoefPrior
from supertopic.inference.batches import Batch, labelled
from supertopic.inference.first_topics import AGREEING, first_state
from supertopic.inference.settings import EMSettings
from supertopic.inference.task import Task, Watch
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.m_step_margin import MarginStep
from supertopic.inference.variational.step import global_step, move_prior
from supertopic.model import DocumentTerms, Model, NoCoefStep, State
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses.base import NoResponse
from supertopic.responses.classes import Softmax
from supertopic.responses.margin import Hinge

_START_STEPS, _MARGIN_STEPS = 10, 60  # of EM without y, and of max-margin EM at most …
_MARGIN_STEPS_OF_FOLDS = 12  # … and where another fit has found the best epoch
_PRIOR_STEPS = 5
_LIMITS = LocalLimits(30, 1e-2)


class Searched(DocumentTerms):
    """The topics of the best epoch, which have not seen the documents held out: a warm start goes on from there."""

    def __init__(self, topics: np.ndarray, epochs: int) -> None:
        self.topics, self.epochs = topics, epochs  # 0: those that training has started from
        self.penalties: dict[int, int] = {}  # of the regressions whose estimates were followed (`prediction_guide`)

    def again(self, n_documents: int) -> Searched:
        return self


def first_topics(task: Task, train: Batch, documents: Batch) -> np.ndarray:
    """b (V, K): topics that quick passes agree on, max-margin topics for a softmax, or those of an earlier fit.

    documents : those whose words the topics are found in; words say nothing of labels that are held out
    """
    if isinstance(task.start_terms, Searched):
        return task.start_terms.topics
    if task.start is not None:
        return task.model.emission.probabilities(task.start.word_topic, by_word=True)
    if isinstance(task.model.response, Softmax):
        return _margin_topics(task, train)
    model, batch = _without_y(task.model, documents)
    n_passes = 1 if task.settings.of_fold else AGREEING  # a fold makes do with one
    state = first_state(replace(task, model=model, batch=batch, labels=None), n_passes)
    spread, terms = task.backend.spread(batch), DocumentTerms()
    for step in range(_START_STEPS):
        weights = model.emission.expect(state.word_topic, task.backend)
        given = (model, replace(state, word_topic=weights), weights, _LIMITS, terms)
        stats = total(spread.map(local_step, *given, step == 0))
        state, _ = global_step(model, state, stats, spread, terms, task.backend)
    return model.emission.probabilities(state.word_topic, by_word=True)


def _without_y(model: Model, train: Batch) -> tuple[Model, Batch]:
    """The model of the words alone, and its documents."""
    nothing = (np.full(len(train), np.nan), np.zeros(len(train)))
    words = replace(model, response=NoResponse(), coef_step=NoCoefStep(), n_covariates=0)
    return words, Batch(train.counts, *nothing, model.n_topics, known=train.known)


def first_alpha(task: Task, train: Batch, topics: np.ndarray) -> np.ndarray:
    """The parameters of the prior on shares, which training holds: a few steps of EM at the topics it starts from."""
    prior = task.model.doc_topic_prior
    if task.start is not None:
        return task.start.alpha.copy()
    if not prior.learns:
        return prior.start.copy()
    model, batch = _without_y(replace(task.model, collapsed=False), train)
    state, spread, terms = State.first(model, topics), task.backend.spread(batch), DocumentTerms()
    for step in range(_PRIOR_STEPS):
        stats = total(spread.map(local_step, model, state, topics, _LIMITS, terms, step == 0))
        state = replace(state, alpha=move_prior(prior, state.alpha, stats.prior, spread))
    return state.alpha


def _margin_topics(task: Task, train: Batch) -> np.ndarray:
    """b (V, K) of a max-margin model that weighs labels more than `MedLDAClassifier` does: quick topics that tell many
    classes apart.

    From LDA's topics, a softmax of many classes ends far below them.
    """
    hinge, known = Hinge(task.model.response.n_classes, C=16.0, cost=64.0), labelled(train)
    prior = DirichletPrior(np.full(task.model.n_topics, 0.5), "nothing")
    model = replace(
        task.model, response=hinge, coef_step=MarginStep(hinge), coef_prior=CoefPrior("normal", 1.0),
        doc_topic_prior=prior, n_covariates=0,
    )  # fmt: skip
    weight = np.where(known, train.weight / max(float(train.weight[known].mean()), 1e-300), 0.0)
    batch = Batch(train.counts, train.y, weight, model.n_topics)
    n_steps = _MARGIN_STEPS_OF_FOLDS if task.settings.of_fold else _MARGIN_STEPS
    settings = EMSettings(max_iter=n_steps, tol=1e-3, doc_tol=5e-2)
    own = replace(task, model=model, batch=batch, settings=settings, labels=None, start_terms=None, checkpoint=None)
    found = fit_batch(own, Watch(lambda *_, **__: None, None))
    return model.emission.probabilities(found.state.word_topic, by_word=True)


def first_prediction_state(task: Task) -> State:
    """Coefficients and dispersion before the first solve; the State's topics stay empty until the result."""
    model, response = task.model, task.model.response
    labels = response.describe(task.y, task.weight) if task.labels is None else task.labels
    dispersion = response.start(labels)
    response.check_dispersion(dispersion)
    state = State.first(model, np.zeros((0, model.n_topics), dtype=np.float32), dispersion=dispersion)
    state.coef[:, : model.n_topics] = response.start_coef(labels, dispersion)[:, None]
    return state
