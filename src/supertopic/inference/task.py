"""A fit as a Task that an engine turns into a Fit, under progress and checkpoints.

All engines have the same shape: resume or start a state, step, watch (progress, checkpoint), stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.threads import Threads
from supertopic.checkpoint import Checkpoint
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.step import Schedule
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


def has_converged(trace: list[float], tol: float, patience: int = 1) -> bool:
    """Whether the last `patience` steps gained less than `tol` of the value itself; never for a tol of 0."""
    if tol == 0 or len(trace) <= patience:
        return False
    return max(trace[-patience:]) - trace[-1 - patience] < tol * abs(trace[-1])
