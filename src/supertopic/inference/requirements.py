"""What engines require of a task; what is missing is said in one sentence."""

from __future__ import annotations

from supertopic.emissions.dirichlet import integrable_prior
from supertopic.inference.gibbs.counts import require_whole_counts
from supertopic.inference.loop import Requirement
from supertopic.inference.task import Task


def one_process(what: str) -> Requirement:
    """No cluster: `what` does not work on partitions."""

    def require(task: Task) -> None:
        if task.backend.remote:
            raise ValueError(f"backend: got a Dask client, but {what} runs in one process; expected 'threads'")

    return require


def on_the_cpu(what: str) -> Requirement:
    """No GPU: `what` has no operations there."""

    def require(task: Task) -> None:
        if task.backend.on_device:
            raise ValueError(f"backend: got 'cuda', but {what} does not run on a GPU; expected 'threads'")

    return require


def whole_counts(task: Task) -> None:
    """A sampler draws a topic for every token."""
    require_whole_counts(task.counts)


def integrable_topics(task: Task) -> None:
    """Dirichlet topics with a prior."""
    integrable_prior(task.model.emission)
