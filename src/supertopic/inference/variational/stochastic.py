"""Stochastic variational inference: the same step on mini-batches, of documents that are held or of a stream."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from supertopic.backends.base import Room, total
from supertopic.inference.batches import Batch, mini_batches
from supertopic.inference.first_topics import first_state
from supertopic.inference.task import Fit, Task, Watch
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.step import global_evidence, global_step
from supertopic.model import restore_state


def fit_stochastic(task: Task, watch: Watch) -> Fit:
    """`max_iter` epochs of mini-batches, in an order that the seed decides."""
    size = task.settings.batch_size or int(np.clip(len(task.batch) // 50, 16, 1024))

    def epoch(number: int) -> Iterator[Batch]:
        return mini_batches(task.batch, size, task.seed, number)

    return fit_epochs(task, watch, epoch, len(task.batch), task.n_tokens)


def fit_epochs(
    task: Task, watch: Watch, epoch: Callable[[int], Iterable[Batch]], n_documents: int, n_tokens: float
) -> Fit:
    """Steps over the batches of `epoch(0)`, `epoch(1)`, …; the trace has each epoch's mean bound."""
    model, settings, backend = task.model, task.settings, task.backend
    first = number = 0
    bounds: list[float] = []  # of the batches done in the current epoch
    resumed = watch.resume()
    if resumed is not None:
        about, arrays = resumed
        state, first, number, bounds = restore_state(arrays), about["done"], about["number"], about["bounds"]
    else:
        state = task.start.copy() if task.start else first_state(task)
    weights, spare = np.empty_like(state.word_topic), np.empty_like(state.word_topic)
    for done in range(first, settings.max_iter):
        for batch in itertools.islice(epoch(done), len(bounds), None):
            scale, rate = n_documents / len(batch), settings.learning.rate(number)
            terms = model.coef_step.document_terms(len(batch), model.response.n_columns)
            words = np.flatnonzero(np.bincount(batch.counts.indices, minlength=len(state.word_topic)))
            weights = model.emission.expect_words(state.word_topic, words, backend, log=model.one_topic, out=weights)
            spread = backend.spread(batch)
            given = (model, replace(state, word_topic=weights), weights, settings.limits, terms)
            stats = total(spread.map(local_step, *given, True, False, Room(spare)))
            spare, bound = state.word_topic, stats.bound
            state, _ = global_step(model, state, stats, spread, terms, backend, scale, rate)
            number += 1
            bounds.append(scale * bound)
            watch.step(done, state.arrays, number=number, bounds=bounds)
        evidence = global_evidence(model, state, backend)
        watch.trace.append((float(np.mean(bounds)) + evidence) / max(n_tokens, 1.0))
        bounds = []
    return Fit(state, watch.trace, len(watch.trace))
