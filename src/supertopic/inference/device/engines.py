"""Engines on the device: the same functions, with topics that lie there; what they cannot do is refused first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from supertopic.backends.cuda.forms import form_of
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.device.emission import DeviceTopics
from supertopic.inference.device.models import check_model
from supertopic.inference.task import Fit, Task, Watch
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.prediction_constrained import fit_prediction
from supertopic.inference.variational.stochastic import fit_stochastic


@form_of(fit_batch)
def fit_batch_on_device(task: Task, watch: Watch) -> Fit:
    return _fit(fit_batch, task, watch)


@form_of(fit_stochastic)
def fit_stochastic_on_device(task: Task, watch: Watch, **epochs: Any) -> Fit:
    return _fit(fit_stochastic, task, watch, **epochs)


@form_of(fit_prediction)
def fit_prediction_on_device(task: Task, watch: Watch) -> Fit:
    check_model(task.model)
    return fit_prediction(task, DeviceWatch(watch))


def _fit(engine: Callable[..., Fit], task: Task, watch: Watch, **more: Any) -> Fit:
    """The engine with topics on the device; the State comes back to the host."""
    check_model(task.model)
    emission = task.model.emission
    assert isinstance(emission, DirichletTopics)
    model = replace(task.model, emission=DeviceTopics(emission.prior, emission.at_mean))
    fit = engine(replace(task, model=model), DeviceWatch(watch), **more)
    return replace(fit, state=replace(fit.state, word_topic=np.asarray(fit.state.word_topic)))


class DeviceWatch(Watch):
    """A watch that brings what a checkpoint keeps to the host."""

    def __init__(self, watch: Watch) -> None:
        self.__dict__ = vars(watch)  # one and the same trace

    def step(self, done: int, arrays: Callable[[], dict[str, np.ndarray]], **more: Any) -> None:
        def on_host() -> dict[str, np.ndarray]:
            return {name: np.asarray(value) for name, value in arrays().items()}

        super().step(done, on_host, **more)
