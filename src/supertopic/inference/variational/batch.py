"""Variational EM over the whole corpus."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from supertopic.backends.base import Room, total
from supertopic.inference.batches import continue_from, gather
from supertopic.inference.first_topics import first_state
from supertopic.inference.loop import Engine
from supertopic.inference.task import Fit, Task, has_converged
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.step import global_evidence, global_step
from supertopic.model import Stats, restore_state
from supertopic.priors.dirichlet import SETTLED


class VariationalEM(Engine):
    """Iterates until the bound per token rises by less than `tol` of itself.

    Documents start afresh in every step: documents that continue stick to their first topics. Where that lets the bound
    fall, which happens at the end if at all, they continue from the step before, and then it cannot fall. An objective
    that is not monotone anyway (`CoefStep.monotone`) is not watched in this way: EM stops once several steps together
    gain nothing.

    Objectives of collapsed inference with different alpha cannot be compared (`supertopic.priors.dirichlet`). There,
    alpha is learned until it has settled, for half of the steps at most, and the objective is watched from then on.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        model = self.model = replace(task.model, emission=task.backend.ops.emission(task.model.emission))
        self.spread = task.backend.spread(task.batch)
        self.fresh = True  # documents start afresh
        learns = model.collapsed and model.doc_topic_prior.learns
        self.settled = task.settings.max_iter // 2 if learns else 0  # steps before the objective is watched
        self._spare: Any = None  # room for word counts: the weights of the step before

    def start(self) -> None:
        task, n_columns = self.task, self.model.response.n_columns
        self.terms = task.start_terms or self.model.coef_step.document_terms(len(task.batch), n_columns)
        self.state = task.start.copy() if task.start else first_state(task)

    def has_ended(self) -> bool:
        patience = self.model.coef_step.patience
        return super().has_ended() or has_converged(self._watched, self.task.settings.tol, patience)

    @property
    def _watched(self) -> list[float]:
        return self.trace[self.settled :]

    def step(self) -> float:
        backend, tol, monotone = self.task.backend, self.task.settings.tol, self.model.coef_step.monotone
        if self.model.collapsed and self.done >= self.settled:
            self.model = replace(self.model, doc_topic_prior=self.model.doc_topic_prior.held())
        model, state, watched = self.model, self.state, self._watched
        evidence = global_evidence(model, state, backend)
        # in place: after this the parameters themselves are not needed any more
        weights = model.emission.expect(state.word_topic, backend, log=model.one_topic, out=state.word_topic)
        stats = self._say(weights)
        bound = (stats.bound + evidence) / self.task.n_tokens
        if self.fresh and monotone and watched and watched[-1] - bound > tol * abs(bound):
            self.fresh = False
            stats = self._say(weights, again=True)
            bound = (stats.bound + evidence) / self.task.n_tokens
        self.state, self.terms = global_step(model, state, stats, self.spread, self.terms, backend)
        self.done += 1
        moved = model.doc_topic_prior.change(state.alpha, self.state.alpha)
        if self.done <= self.settled and moved < SETTLED:
            self.settled = self.done
        self._spare = weights
        return bound

    def _say(self, weights: object, again: bool = False) -> Stats:
        """What the documents say."""
        given = (self.model, self.state, weights, self.task.settings.limits, self.terms)
        return total(self.spread.map(local_step, *given, self.fresh, again, Room(self._spare)))

    def result(self) -> Fit:
        return Fit(self.state, self.trace, len(self.trace), terms=self.terms)

    def arrays(self) -> dict[str, np.ndarray]:
        return {**self.state.arrays(), **self.terms.arrays(), "doc_topic": gather(self.spread)}

    def numbers(self) -> dict[str, Any]:
        return {"fresh": self.fresh, "settled": self.settled}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.fresh, self.settled = numbers["fresh"], numbers["settled"]
        self.spread.map(continue_from, arrays.pop("doc_topic"), self.model.response.n_columns)
        self.terms = self.model.coef_step.restore_terms(arrays)
        self.state = restore_state(arrays)


fit_batch = VariationalEM.fit
