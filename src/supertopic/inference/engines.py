"""The engines a user can choose by `inference=`: each takes a Task and gives a Fit, and can go on after a kill.

All engines have the same shape: resume or start a state, step, watch (progress, checkpoint), stop. This file has the
variational ones; `gibbs` and `mixture_gibbs` have the samplers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.threads import Threads
from supertopic.checkpoint import Checkpoint
from supertopic.inference.batches import Batch, mini_batches
from supertopic.inference.local import local_step
from supertopic.inference.online import near_uniform_counts, online_counts
from supertopic.inference.responding import LocalLimits
from supertopic.inference.variational import Schedule, global_evidence, global_step, start_state
from supertopic.model import Model, State
from supertopic.progress import track


@dataclass(frozen=True)
class Settings:
    """What a user can set about an engine; each engine reads what concerns it."""

    max_iter: int = 100
    tol: float = 1e-5
    batch_size: int | None = None
    learning: Schedule = field(default_factory=lambda: Schedule(delay=10.0, decay=0.7))
    limits: LocalLimits = field(default_factory=LocalLimits)
    burn_in: int = 0
    thin: int = 10
    collapsed: bool = True
    verbose: int = 0
    init: str = "online"
    n_init: int = 1


@dataclass
class Task:
    """A fit to be done: the model, the documents, and where to start."""

    model: Model
    counts: sp.csr_matrix
    y: np.ndarray
    weight: np.ndarray
    settings: Settings
    seed: int
    backend: Threads
    covariates: np.ndarray | None = None
    start: State | None = None
    n_documents: int | None = None  # of a stream whose first batch `counts` is
    checkpoint: Checkpoint | None = None


@dataclass
class Fit:
    """What an engine found. `trace` is the bound (or log-likelihood) per token, once per iteration."""

    state: State
    trace: list[float]
    n_iter: int
    draws: dict[str, np.ndarray] = field(default_factory=dict)


class Watch:
    """Progress and checkpoints of one fit."""

    def __init__(self, report: Any, checkpoint: Checkpoint | None) -> None:
        self._report, self._checkpoint = report, checkpoint
        self.trace: list[float] = []

    def resume(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """What an earlier, killed fit left behind."""
        found = self._checkpoint.load() if self._checkpoint else None
        if found is not None:
            self.trace = list(found[0]["trace"])
        return found

    def step(self, done: int, arrays: Callable[[], dict[str, np.ndarray]], **more: Any) -> None:
        """`done` iterations are behind us; `arrays()` and the numbers in `more` are all it takes to go on."""
        self._report(done, **({"per_token": self.trace[-1]} if self.trace else {}))
        if self._checkpoint is not None and self._checkpoint.due():
            self._checkpoint.save({"done": done, "trace": self.trace, **more}, arrays())

    def fork(self, place: int) -> Watch:
        """The watch of one of several fits that run at once: with a file of its own; the first one reports."""
        file = self._checkpoint
        own = None if file is None else Checkpoint(f"{file.path}.{place}", fingerprint=file.fingerprint)
        return Watch(self._report if place == 0 else lambda *_, **__: None, own)

    def finish(self) -> None:
        if self._checkpoint is not None:
            self._checkpoint.finish()


def first_state(task: Task) -> State:
    """Where a fit starts: topics from a few quick passes over the documents, or near uniform ones (`init`)."""
    model = task.model
    prior = model.doc_topic_prior.start
    dispersion = model.response.start(task.y, task.weight)
    coef = model.response.start_coef(task.y, task.weight, dispersion)
    if task.settings.init == "uniform":
        counts = near_uniform_counts(task.counts, model.n_topics, task.seed)
    else:
        counts = online_counts(task.counts, model.n_topics, prior, task.seed, task.backend, task.n_documents)
    state = start_state(model, model.emission.update(counts, counts, 1.0), dispersion, coef)
    if task.settings.init == "uniform":  # topics start alike, so that the coefficients have to tell them apart
        state.coef[:, : model.n_topics] += np.linspace(-1.0, 1.0, model.n_topics, dtype=np.float32)
    return state


def run(engine: Callable[[Task, Watch], Fit], task: Task, name: str) -> Fit:
    """Run an engine under a progress bar, `n_init` times, and keep the fit with the highest bound.

    The checkpoint goes once a fit is complete.
    """
    fits = []
    for start in range(task.settings.n_init):
        with track(name, task.settings.max_iter, task.settings.verbose) as report:
            watch = Watch(report, task.checkpoint)
            fits.append(engine(replace(task, seed=task.seed + start), watch))
            watch.finish()
    return max(fits, key=lambda fit: fit.trace[-1] if fit.trace else -np.inf)


def fit_batch(task: Task, watch: Watch) -> Fit:
    """Variational EM over the whole corpus, until the bound per token rises by less than `tol` of itself.

    Documents start afresh in every step, since going on from where they were makes them stick to their first topics.
    Once that lets the bound fall, which is at the end if at all, they do go on from where they were: then it cannot.
    """
    model, settings = task.model, task.settings
    doc_topic = None
    first, fresh = 0, True
    resumed = watch.resume()
    if resumed is not None:
        first, fresh, doc_topic = resumed[0]["done"], resumed[0]["fresh"], resumed[1].pop("doc_topic")
        state = State(**resumed[1])
    else:
        state = task.start.copy() if task.start else first_state(task)
    batch = Batch(task.counts, task.y, task.weight, model.n_topics, task.covariates)
    n_tokens = max(float(task.counts.data.sum(dtype=np.float64)), 1.0)
    spare = np.empty_like(state.word_topic)
    for done in range(first, settings.max_iter):
        evidence = global_evidence(model, state, task.backend)
        # in place: after this the parameters themselves are not needed any more
        weights = model.emission.expect(state.word_topic, task.backend, log=model.single, out=state.word_topic)
        given = (model, state, weights, batch, task.backend, settings.limits)
        stats, found = local_step(*given, None if fresh else doc_topic, spare)
        bound = (stats.bound + evidence) / n_tokens
        if fresh and watch.trace and watch.trace[-1] - bound > settings.tol * abs(bound):
            fresh = False
            stats, found = local_step(*given, doc_topic, spare)
            bound = (stats.bound + evidence) / n_tokens
        state, doc_topic = global_step(model, state, stats, found, batch), found.doc_topic
        spare = weights
        del weights, given, stats, found
        watch.trace.append(bound)
        watch.step(done + 1, partial(dict, state.arrays(), doc_topic=doc_topic), fresh=fresh)
        if has_converged(watch.trace, settings.tol):
            break
    return Fit(state, watch.trace, len(watch.trace))


def require_whole_counts(counts: sp.csr_matrix) -> None:
    """A sampler draws the topic of every single token; weights such as tf-idf have none."""
    for part in np.array_split(counts.data, max(1, counts.nnz >> 16)):  # in parts, for little memory
        wrong = part[part != np.rint(part)]
        if len(wrong) == 0:
            continue
        raise ValueError(
            f"X holds the fractional count {wrong[0]:g}, but inference='gibbs' needs whole counts; "
            "inference='vb' and 'svi' take weights"
        )


def has_converged(trace: list[float], tol: float) -> bool:
    """Whether the last step gained less than `tol` of the value itself; never for a tol of 0."""
    return tol > 0 and len(trace) > 1 and trace[-1] - trace[-2] < tol * abs(trace[-1])


def fit_stochastic(task: Task, watch: Watch) -> Fit:
    """Stochastic variational inference: `max_iter` epochs of mini-batches, in an order that the seed decides."""
    size = task.settings.batch_size or int(np.clip(task.counts.shape[0] // 50, 16, 1024))

    def epoch(number: int) -> Iterator[Batch]:
        return mini_batches(
            task.counts, task.y, task.weight, task.model.n_topics, size, task.seed, number, task.covariates
        )

    return fit_epochs(task, watch, epoch, task.counts.shape[0], float(task.counts.data.sum(dtype=np.float64)))


def fit_epochs(
    task: Task, watch: Watch, epoch: Callable[[int], Iterable[Batch]], n_documents: int, n_tokens: float
) -> Fit:
    """Steps over the batches of `epoch(0)`, `epoch(1)`, …; the trace has each epoch's mean bound."""
    settings = task.settings
    first = number = 0
    bounds: list[float] = []  # of the batches done in the current epoch
    resumed = watch.resume()
    if resumed is not None:
        about, arrays = resumed
        state, first, number, bounds = State(**arrays), about["done"], about["number"], about["bounds"]
    else:
        state = task.start.copy() if task.start else first_state(task)
    model = task.model
    weights, spare = np.empty_like(state.word_topic), np.empty_like(state.word_topic)
    for done in range(first, settings.max_iter):
        for batch in itertools.islice(epoch(done), len(bounds), None):
            scale, rate = n_documents / len(batch), settings.learning.rate(number)
            weights = model.emission.expect(state.word_topic, task.backend, log=model.single, out=weights)
            stats, found = local_step(model, state, weights, batch, task.backend, settings.limits, out=spare)
            spare = state.word_topic
            state, number = global_step(model, state, stats, found, batch, scale, rate), number + 1
            bounds.append(scale * stats.bound)
            watch.step(done, state.arrays, number=number, bounds=bounds)
        evidence = global_evidence(task.model, state, task.backend)
        watch.trace.append((float(np.mean(bounds)) + evidence) / max(n_tokens, 1.0))
        bounds = []
    return Fit(state, watch.trace, len(watch.trace))
