"""Stochastic variational inference: the same step on mini-batches, of documents that are held or of a stream."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from supertopic.backends.base import Room, total
from supertopic.inference.batches import Batch, mini_batches
from supertopic.inference.first_topics import first_state
from supertopic.inference.loop import Engine
from supertopic.inference.task import Fit, Task
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.step import global_evidence, global_step
from supertopic.model import restore_state


class StochasticVI(Engine):
    """`max_iter` epochs of mini-batches, in an order that the seed decides.

    A step is a batch, or the end of an epoch, which knows the mean bound of its batches.
    """

    def __init__(
        self, task: Task, epoch: Callable[[int], Iterable[Batch]] | None = None, n_documents: int | None = None,
        n_tokens: float | None = None,
    ) -> None:  # fmt: skip
        """epoch : `epoch(0)`, `epoch(1)`, … are batches of n_documents and n_tokens in all; of the task, by default"""
        super().__init__(
            replace(task, model=replace(task.model, emission=task.backend.ops.emission(task.model.emission)))
        )
        self.epoch = epoch or self._mini_batches
        self.n_documents = n_documents or len(task.batch)
        self.n_tokens = n_tokens or task.n_tokens
        self.number = 0  # batches done
        self.bounds: list[float] = []  # of those done in the current epoch
        self._batches: Iterator[Batch] | None = None  # that are left of it
        self._weights: Any = None  # room for weights, and …
        self._spare: Any = None  # … for word counts

    def _mini_batches(self, epoch: int) -> Iterator[Batch]:
        task = self.task
        size = task.settings.batch_size or int(np.clip(len(task.batch) // 50, 16, 1024))
        return mini_batches(task.batch, size, task.seed, epoch)

    def start(self) -> None:
        self.state = self.task.start.copy() if self.task.start else first_state(self.task)

    def step(self) -> float | None:
        if self._batches is None:
            self._batches = itertools.islice(self.epoch(self.done), len(self.bounds), None)
        batch = next(self._batches, None)
        if batch is not None:
            self._learn(batch)
            return None
        evidence = global_evidence(self.task.model, self.state, self.task.backend)
        objective = (float(np.mean(self.bounds)) + evidence) / max(self.n_tokens, 1.0)
        self.done, self.bounds, self._batches = self.done + 1, [], None
        return objective

    def _learn(self, batch: Batch) -> None:
        """The step of a batch."""
        model, settings, backend, state = self.task.model, self.task.settings, self.task.backend, self.state
        scale, rate = self.n_documents / len(batch), settings.learning.rate(self.number)
        terms = model.coef_step.document_terms(len(batch), model.response.n_columns)
        words = np.flatnonzero(np.bincount(batch.counts.indices, minlength=len(state.word_topic)))
        room = np.empty_like(state.word_topic) if self._weights is None else self._weights
        weights = model.emission.expect_words(state.word_topic, words, backend, log=model.one_topic, out=room)
        spread = backend.spread(batch)
        given = (model, replace(state, word_topic=weights), weights, settings.limits, terms)
        stats = total(spread.map(local_step, *given, True, False, Room(self._spare)))
        bound = stats.bound
        self._weights, self._spare = weights, state.word_topic
        self.state, _ = global_step(model, state, stats, spread, terms, backend, scale, rate)
        self.number += 1
        self.bounds.append(scale * bound)

    def result(self) -> Fit:
        return Fit(self.state, self.trace, len(self.trace))

    def arrays(self) -> dict[str, np.ndarray]:
        return self.state.arrays()

    def numbers(self) -> dict[str, Any]:
        return {"number": self.number, "bounds": self.bounds}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.number, self.bounds, self.state = numbers["number"], numbers["bounds"], restore_state(arrays)


fit_stochastic = fit_epochs = StochasticVI.fit
