"""Our engines with a stopwatch that is paused while results are evaluated."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from bench import clock
from bench.corpus import ALPHA, BETA
from supertopic import LDA
from supertopic.backends.threads import Threads
from supertopic.documents.corpus import as_corpus
from supertopic.fitted.fit import task_of
from supertopic.fitted.spec import Schema, Spec
from supertopic.fitted.training import Training
from supertopic.inference.batches import Batch
from supertopic.inference.task import Watch
from supertopic.inference.variational.local import LocalLimits
from supertopic.inference.variational.step import take_step
from supertopic.model import State

Look = Callable[[int, float, dict[str, np.ndarray]], None]


def lda(n_topics: int, inference: str, iterations: int, n_jobs: int = 1, **options: Any) -> LDA:
    """Our estimator with the priors of all tables, run for a fixed number of iterations."""
    return LDA(
        n_topics, inference=inference, doc_topic_prior=ALPHA, topic_word_prior=BETA, max_iter=iterations, tol=0.0,
        n_jobs=n_jobs, random_state=0,
    ).set_params(**options)  # fmt: skip


def spec_of(estimator: LDA) -> Spec:
    """What an estimator without responses is to fit."""
    return estimator.spec_of_file(Schema())


def batch_of(spec: Spec, matrix: sp.csr_matrix) -> Batch:
    return Training.unlabelled(as_corpus(matrix)).batch(spec)


class Enough(Exception):
    """Raised by `look` to stop a fit."""


class Stopwatch(Watch):
    """Replaces the progress of a fit: measures the seconds of the engine, and calls `look` after each iteration."""

    def __init__(self, look: Look) -> None:
        super().__init__(report=lambda *args, **values: None, checkpoint=None)
        self._look = look
        self.seconds = 0.0
        self._since = clock.now()

    def step(self, done: int, arrays: Callable[[], dict[str, np.ndarray]], **more: Any) -> None:
        self.seconds += clock.now() - self._since
        self._look(done, self.seconds, arrays())
        self._since = clock.now()


def watch(estimator: LDA, matrix: sp.csr_matrix, look: Look) -> None:
    """Run the estimator's engine as `fit` does; `look` receives the seconds since the start."""
    spec = spec_of(estimator)
    task = task_of(spec, batch_of(spec, matrix), seed=0)
    with task.backend, contextlib.suppress(Enough):
        spec.engine.fit(task, Stopwatch(look))


def warm_up(matrix: sp.csr_matrix, n_topics: int) -> None:
    """Compile the kernels on a few documents."""
    for inference in ("gibbs", "vb"):
        lda(n_topics, inference, 2, n_jobs=2, inference__burn_in=0, inference__thin=1).fit(matrix[: 2 * n_topics])


class Evaluator:
    """The evidence bound per token of the topics of any library: one converged E-step of the training documents."""

    def __init__(self, matrix: sp.csr_matrix, n_topics: int) -> None:
        spec = spec_of(lda(n_topics, "vb", 1))
        self._model, self._batch = spec.model, batch_of(spec, matrix)
        self._n_tokens = float(matrix.sum(dtype=np.float64))

    def __call__(self, word_topic: np.ndarray) -> float:
        """word_topic : (V, K), the parameters lambda of q(topics)"""
        limits = LocalLimits(max_passes=100, tol=1e-3)
        with Threads(-1) as backend:
            state = State.first(self._model, np.array(word_topic, dtype=np.float32, order="C"))
            step = take_step(self._model, state, self._batch, backend, limits)
            return step.bound(self._model, backend) / self._n_tokens
