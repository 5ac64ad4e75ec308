"""Prediction-constrained training on documents that are never held whole: streams, and batches as they come.

Topics climb as in `prediction_constrained`, by one step per mini-batch. The coefficients solve normal equations that
are averaged over the last epoch's batches, as in stochastic inference. Of a stream, two samples of at most 10,000
documents each are kept: labelled ones that are held out, for early stopping, and others, to start from and to solve for
the coefficients that the former are predicted with. Batches of `partial_fit` are seen once: no words are dropped, and
none of them is held out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Spread, total
from supertopic.documents.known import Known
from supertopic.inference.batches import Batch, gather, labelled
from supertopic.inference.regression import dispersion_summary, equations
from supertopic.inference.task import Task
from supertopic.inference.variational.climb import SETTINGS, Climb
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.prediction_constrained import (
    ADJOINT,
    Course,
    Trainer,
    check_task,
    mini_batches,
    over_shares,
    pull_to_seeds,
    topic_prior,
)
from supertopic.inference.variational.prediction_local import PredictionStats, Scales, prediction_step
from supertopic.inference.variational.prediction_start import first_alpha, first_prediction_state, first_topics
from supertopic.model import DocumentTerms, State, Stats

_SAMPLE = 10_000  # documents of a stream that are kept, and that are held out, at most
_SHARES = LocalLimits(50, 1e-3)  # documents start from even shares


@dataclass(frozen=True)
class Source:
    """A stream of batches, of which some labelled documents are held out: the same ones in every epoch."""

    batches: Callable[[int], Iterable[Batch]]  # of an epoch
    n_documents: int
    held_out: float  # share of the labelled documents
    seed: int

    def parts(self, epoch: int) -> Iterator[tuple[Batch, Batch]]:
        """(documents to train on, documents held out) of each batch."""
        rng = np.random.default_rng([self.seed, 6])
        for batch in self.batches(epoch):
            held = (rng.random(len(batch)) < self.held_out) & labelled(batch)
            yield batch.rows(np.flatnonzero(~held)), batch.rows(np.flatnonzero(held))

    def samples(self) -> tuple[Batch, Batch]:
        """(some documents to train on, all that are held out)."""
        rng, kept, held = np.random.default_rng([self.seed, 8]), [], []
        for train, out in self.parts(0):
            some = rng.random(len(train)) < _SAMPLE / self.n_documents
            kept.append(train.rows(np.flatnonzero(some)))
            held.append(out)
        return _join(kept), _join(held)


def _join(batches: list[Batch]) -> Batch:
    first = batches[0]
    given = ([getattr(batch, name) for batch in batches] for name in ("y", "weight", "extra"))
    y, weight, extra = map(np.concatenate, given)
    known = None if first.known is None else Known.join(batch.known for batch in batches)
    return Batch(sp.vstack([batch.counts for batch in batches], format="csr"), y, weight, first.n_topics, extra, known)


@dataclass
class StreamTrainer(Trainer):
    """A fit of a stream under way; `train` is a sample."""

    source: Source

    def __post_init__(self) -> None:
        super().__post_init__()
        self.size = mini_batch_size(self.task, self.source.n_documents)

    def epoch(self, number: int, topics: np.ndarray) -> float:
        """One step per mini-batch, each with coefficients of its own; returns the mean objective of the batches."""
        values, n_steps = [], -(-self.source.n_documents // self.size)
        for place, (batch, _) in enumerate(self.source.parts(number)):
            for _, some in mini_batches(batch, self.size, [self.task.seed, number, place], self.task.backend):
                rate = self.rate * max(1.0 - self.climb.steps / (self.n_epochs * n_steps), 0.0)
                share = max(1.0 / (1 + self.climb.steps), 1.0 / n_steps)
                before = self.state
                given = (self.task, before, self.climb, topics, some, self.source.n_documents, rate, share)
                self.state, stats, _ = climb_batch(*given)
                if len(self.held):
                    self.state = self.keep_dispersion(self.state, before)
                values.append(stats.words + stats.labels)
        return float(np.mean(values))

    def over_all(self, state: State, climb: Climb, rate: float, n_epochs: int) -> Trainer:
        nobody = self.held.rows(np.zeros(0, dtype=np.int64))
        source = replace(self.source, held_out=0.0)
        return StreamTrainer(self.task, self.train, nobody, state, climb, rate, n_epochs, source)


class PredictionStream(Course):
    """As `PredictionConstrained`, over the batches of `epoch(0)`, `epoch(1)`, …"""

    def __init__(self, task: Task, epoch: Callable[[int], Iterable[Batch]], n_documents: int, n_tokens: float) -> None:
        super().__init__(task)
        held_out = min(task.settings.validation_fraction, _SAMPLE / n_documents)
        self.source = Source(epoch, n_documents, held_out, task.seed)
        self.train, self.held = self.source.samples()

    def _documents(self) -> Batch:
        return self.train

    def make(self, state: State, climb: Climb) -> Trainer:
        task, parts = self.task, (self.train, self.held)
        return StreamTrainer(task, *parts, state, climb, SETTINGS.rate, task.settings.max_iter, self.source)


fit_prediction_stream = PredictionStream.fit


def mini_batch_size(task: Task, n_documents: int) -> int:
    """Documents of a mini-batch: few even of many documents, since a stream is read in batches of about a thousand."""
    return task.settings.batch_size or min(SETTINGS.size(n_documents), SETTINGS.batch_size)


def climb_batch(
    task: Task, state: State, climb: Climb, topics: np.ndarray, batch: Batch, n_documents: int, rate: float,
    share: float,
) -> tuple[State, PredictionStats, Spread]:  # fmt: skip
    """One step of the topics, and one of the coefficients: their equations move by `share` towards the batch's.

    The statistics are means over the batch's tokens and labels.

    topics : (V, K) those of `climb`; they are overwritten by those after the step
    """
    model = task.model
    n_tokens = max(batch.n_tokens, 1.0)
    n_labels = max(int(labelled(batch).sum()), 1)
    spread = task.backend.spread(batch)
    scales = Scales(1.0 / n_tokens, 1.0 / n_labels, _SHARES, ADJOINT)
    stats = total(spread.map(prediction_step, model, state, topics, scales))
    scale = n_documents / len(batch)
    pull_to_seeds(model, stats.topics, topics, 1.0 / (scale * n_tokens))
    climb.step(topics, stats.topics, topic_prior(model) / (scale * n_tokens), rate, task.backend.ops)
    response, coef = model.response, state.coef.astype(np.float64)
    found = over_shares(spread, equations, response, coef, state.dispersion)
    summary = over_shares(spread, dispersion_summary, response, coef, state.dispersion)
    own = Stats(stats.topics[:0], state.alpha, len(batch), 0.0, found.gram, found.cross, summary)
    given = (own, spread, DocumentTerms(), task.backend, scale, share)
    state, _ = model.coef_step.update(model, state, state, *given)
    return state, PredictionStats(stats.topics[:0], stats.words / n_tokens, stats.labels / n_labels), spread


def fit_partial(
    task: Task, state: State | None, climb: Climb | None, n_documents: int, rate: Callable[[int], float]
) -> tuple[State, Climb, float]:
    """Steps over one batch of documents as they come: (State, Climb, mean objective).

    rate : of step 0, 1, …, relative to the first
    """
    check_task(task)
    if state is None:
        state = first_prediction_state(task)
    if climb is None:
        begun = len(state.word_topic) > 0
        topics = first_topics(replace(task, start=state if begun else None), task.batch, task.batch)
        climb = Climb.of(topics)
        if not begun:
            state.alpha = first_alpha(task, task.batch, topics)
    climb = climb.on(task.backend.ops)
    values: list[float] = []
    size, topics = mini_batch_size(task, len(task.batch)), climb.topics(task.backend.ops)
    n_steps = -(-n_documents // size)
    for first in range(0, len(task.batch), size):
        batch = task.batch.rows(slice(first, first + size))
        share = max(1.0 / (1 + climb.steps), 1.0 / n_steps)
        given = (topics, batch, n_documents, SETTINGS.rate * rate(climb.steps), share)
        state, stats, spread = climb_batch(task, state, climb, *given)
        values.append(stats.words + stats.labels)
    lengths = np.where(np.isfinite(batch.lengths), batch.lengths, 0.0)
    counts = np.maximum(lengths @ np.asarray(gather(spread)) * (n_documents / len(batch)), 1.0).astype(np.float32)
    return (
        replace(state, word_topic=np.asarray(climb.averaged(task.backend.ops)) * counts),
        climb,
        float(np.mean(values)),
    )
