"""A fit as a Task that an engine turns into a Fit, under progress and checkpoints.

All engines have the same shape: resume or start a state, step, watch (progress, checkpoint), stop.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend
from supertopic.checkpoint import Checkpoint
from supertopic.inference.batches import Batch
from supertopic.model import DocumentTerms, Model, State
from supertopic.progress import Progress, track


@dataclass
class Task:
    """A fit to be done: the model, the documents, the engine's settings, and where to start."""

    model: Model
    batch: Batch  # all documents; of a stream, those of its first batch
    settings: Any  # what the engine reads (`supertopic.inference.settings`)
    seed: int
    backend: Backend
    start: State | None = None  # of an earlier fit
    start_terms: DocumentTerms | None = None  # of an earlier fit of the same documents
    n_documents: int | None = None  # of a stream
    labels: Any = None  # summary of all labels (`Response.describe`), where `batch` does not hold them all
    checkpoint: Checkpoint | None = None

    @property
    def counts(self) -> sp.csr_matrix:
        return self.batch.counts

    @property
    def y(self) -> np.ndarray:
        return self.batch.y

    @property
    def weight(self) -> np.ndarray:
        return self.batch.weight

    @property
    def covariates(self) -> np.ndarray:
        return self.batch.extra

    @cached_property
    def n_tokens(self) -> float:
        """At least one, so that it can be divided by."""
        return max(self.batch.n_tokens, 1.0)


@dataclass
class Fit:
    """What an engine found. `trace` is the bound (or log-likelihood) per token, once per iteration."""

    state: State
    trace: list[float]
    n_iter: int
    draws: dict[str, np.ndarray] = field(default_factory=dict)
    terms: DocumentTerms = field(default_factory=DocumentTerms)  # what is known of each document beside its topics
    stayed: np.ndarray | None = None  # (K,) how like each topic is to one of those without labels


class Stopped(Exception):
    """Another fit, which this one is of no use without, has failed."""


stop_sign: ContextVar[Event | None] = ContextVar("stop_sign", default=None)  # of fits that run in this thread


class Watch:
    """Progress and checkpoints of one fit."""

    def __init__(self, report: Progress, checkpoint: Checkpoint | None) -> None:
        self._report, self._checkpoint = report, checkpoint
        self.trace: list[float] = []
        self.unit = "per_token"  # what the numbers of the trace are means over

    def resume(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """What an earlier, killed fit left behind."""
        found = self._checkpoint.load() if self._checkpoint else None
        if found is not None:
            self.trace = list(found[0]["trace"])
        return found

    def step(self, done: int, arrays: Callable[[], dict[str, np.ndarray]], **more: Any) -> None:
        """Report that `done` iterations are done; `arrays()` and the numbers in `more` are all it takes to continue."""
        if (sign := stop_sign.get()) is not None and sign.is_set():
            raise Stopped
        self._report(done, **({self.unit: self.trace[-1]} if self.trace else {}))
        if self._checkpoint is not None and self._checkpoint.due():
            kept = {name: np.asarray(value) for name, value in arrays().items()}  # some may lie on a GPU
            self._checkpoint.save({"done": done, "trace": self.trace, **more}, kept)

    def fork(self, place: int) -> Watch:
        """The watch of one of several fits that run at once: with a file of its own; the first one reports."""
        own = None if self._checkpoint is None else self._checkpoint.part(place, "chain")
        return Watch(self._report if place == 0 else lambda *_, **__: None, own)

    def finish(self) -> None:
        if self._checkpoint is not None:
            self._checkpoint.finish()


def run(engine: Callable[[Task, Watch], Fit], task: Task, name: str, *, more_follows: bool = False) -> Fit:
    """Run an engine under a progress bar, `n_init` times, and keep the fit with the highest bound.

    Each start has a checkpoint of its own. They are removed once all starts are complete, so that a fit killed in a
    later start goes on there. Where more work follows a single fit, its caller removes the checkpoint after that.
    """
    fits, watches = [], []
    n_init, checkpoint = task.settings.n_init, task.checkpoint
    for start in range(n_init):
        own = checkpoint.part(start, "start") if checkpoint is not None and n_init > 1 else checkpoint
        with track(name, task.settings.max_iter, task.settings.verbose) as report:
            watches.append(Watch(report, own))
            fits.append(engine(replace(task, seed=task.seed + start), watches[-1]))
    if not more_follows or n_init > 1:
        for watch in watches:
            watch.finish()
    return max(fits, key=lambda fit: fit.trace[-1] if fit.trace else -np.inf)


def has_converged(trace: list[float], tol: float, patience: int = 1) -> bool:
    """Whether `patience` steps gained less than `tol` of the value itself, twice in a row; never for a tol of 0.

    Once may be a plateau: EM rests there for a step, before topics part or alpha grows.
    """
    if tol == 0 or len(trace) < patience + 2:
        return False
    return all(max(seen[-patience:]) - seen[-1 - patience] < tol * abs(seen[-1]) for seen in (trace, trace[:-1]))
