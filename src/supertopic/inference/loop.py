"""The loop of every fit: start or resume, iterate until it has converged, and let progress and checkpoints watch.

An engine is a class: what it keeps between iterations are its attributes, and `step` is one iteration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from supertopic.inference.task import Fit, Task, Watch, has_converged

Requirement = Callable[[Task], None]  # raises a ValueError of one sentence where a task does not have it


class Engine(ABC):
    """How a model is fitted. A subclass says how a fit starts and iterates, and what a killed one needs to go on."""

    requires: ClassVar[tuple[Requirement, ...]] = ()  # of a task; asked before any work
    unit: ClassVar[str] = "per_token"  # what the objective is a mean over

    def __init__(self, task: Task) -> None:
        self.task = task
        self.done = 0  # iterations
        self.trace: list[float] = []  # the objective, of the iterations that know it

    @abstractmethod
    def start(self) -> None:
        """Before the first iteration of a new fit."""

    @abstractmethod
    def step(self) -> float | None:
        """Iterate, and count that in `done`; the objective, if this iteration knows it."""

    def has_ended(self) -> bool:
        """Whether there is nothing left to do. A resumed fit is asked before its first step."""
        return self.done >= self.task.settings.max_iter

    @abstractmethod
    def result(self) -> Fit:
        """What was found; asked for once, at the end."""

    def arrays(self) -> dict[str, np.ndarray]:
        """With `numbers`, what it takes to go on."""
        return {}

    def numbers(self) -> dict[str, Any]:
        """Plain values that a checkpoint keeps beside `done` and the trace."""
        return {}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `numbers` and `arrays` gave; by default, start again."""
        self.done = 0
        self.trace.clear()
        self.start()

    @classmethod
    def fit(cls, task: Task, watch: Watch, **more: Any) -> Fit:
        """A whole fit of a task."""
        for requirement in cls.requires:
            requirement(task)
        task.backend.ops.check(task.model)
        return iterate(cls(task, **more), watch)


class EM(Engine):
    """An engine that ends once its objective gains less than `tol` of itself."""

    def has_ended(self) -> bool:
        return super().has_ended() or has_converged(self.trace, self.task.settings.tol)


def iterate(engine: Engine, watch: Watch) -> Fit:
    """All iterations of an engine. It is asked first whether it has ended: a kill may come after the last iteration."""
    watch.unit, resumed = engine.unit, watch.resume()
    engine.trace = watch.trace
    if resumed is None:
        engine.start()
    else:
        engine.done = resumed[0]["done"]
        engine.restore(*resumed)
    while not engine.has_ended():
        objective = engine.step()
        if objective is not None:
            engine.trace.append(objective)
        watch.step(engine.done, engine.arrays, **engine.numbers())
    found = engine.result()
    found.state.word_topic = np.asarray(found.state.word_topic)  # which may lie on a GPU
    return found
