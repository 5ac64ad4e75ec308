"""Collapsed Gibbs sampling of LDA: topic shares are integrated out; topics are, too, or are drawn once per sweep.

The state is the topic of every token (`sampler`; `spread`, over partitions). The topics are averaged over sweeps, which
gives a better estimate than a single sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.inference.gibbs.sampler import Sampler
from supertopic.inference.gibbs.sampling import FIRST_ALPHA, Sampling
from supertopic.inference.requirements import integrable_topics, whole_counts
from supertopic.inference.task import Fit, Task
from supertopic.model import State


def partial_elsewhere(task: Task) -> None:
    """Only given the topics do documents not depend on one another."""
    if task.settings.sampler == "collapsed" and _elsewhere(task):
        where = "a Dask client" if task.backend.remote else "a GPU"
        raise ValueError(f"sampler: got 'collapsed', which draws in one process; expected 'partial' for {where}")


def _elsewhere(task: Task) -> bool:
    return bool(task.backend.remote or task.backend.on_device)


def documents_that_can_differ(task: Task) -> None:
    """Where documents differ in alpha, their counts are no lists."""
    prior, most = task.model.doc_topic_prior, np.iinfo(np.uint16).max
    lengths = np.where(np.isfinite(task.batch.lengths), task.batch.lengths, 0.0)
    if len(prior.rows(prior.start, task.batch).alpha) > 1 and lengths.max(initial=0.0) > most:
        raise ValueError(f"inference='gibbs' with a prior that differs by document takes at most {most} tokens in one")


class GibbsLDA(Sampling):
    """The mean over the sweeps that are kept."""

    requires = (partial_elsewhere, whole_counts, integrable_topics, documents_that_can_differ)

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.sampler = Sampler.of(task)
        self.collapsed = (task.settings.sampler or ("partial" if _elsewhere(task) else "collapsed")) == "collapsed"
        self.sums = np.empty((task.counts.shape[1], task.model.n_topics), dtype=np.float32)
        self.n_samples = 0
        self.alphas: list[list[float]] = []

    def start(self) -> None:
        self.sampler.start(self.task, room=self.sums)
        self.sums[:] = 0.0

    def sweep(self, number: int) -> None:
        self.sampler.sweep(number, self.collapsed)

    def look(self, number: int) -> float:
        sampler = self.sampler
        if number >= FIRST_ALPHA:
            sampler.learn_alpha()
        self.alphas.append(sampler.alpha.tolist())
        return sampler.log_joint() / max(sampler.tokens.n_tokens, 1)

    def keep(self) -> None:
        self.sampler.add_words(self.sums)
        self.n_samples += 1

    def result(self) -> Fit:
        self.sums /= np.float32(self.n_samples)
        self.sums += np.float32(self.sampler.prior)
        state = State.first(self.task.model, self.sums, alpha=self.sampler.alpha)
        draws = {"log_joint": np.asarray(self.trace), "alpha": np.asarray(self.alphas)}
        return Fit(state, self.trace, self.done, draws)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"topic": self.sampler.tokens.topic(), "sums": self.sums, "alpha": self.sampler.alpha}

    def numbers(self) -> dict[str, Any]:
        return {"n_samples": self.n_samples, "alphas": self.alphas}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.n_samples, self.alphas = numbers["n_samples"], numbers["alphas"]
        self.sums, self.sampler.alpha = arrays["sums"], arrays["alpha"]
        self.sampler.tokens.take(arrays["topic"])


fit_gibbs = GibbsLDA.fit
