"""The operations of `LocalOps` by kernels of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.cuda.arrays import MOST_TOPICS, Matrix, distributions
from supertopic.backends.cuda.climb import climb
from supertopic.backends.cuda.e_step import CountsOnDevice, counts_on_device
from supertopic.backends.cuda.emission import DeviceTopics
from supertopic.backends.cuda.first_topics import DeviceLearner
from supertopic.backends.cuda.forms import no_form
from supertopic.backends.cuda.kernels import topics
from supertopic.backends.cuda.tokens import DeviceTokens
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.responses.margin import MaxMargin

if TYPE_CHECKING:
    from supertopic.backends.base import Backend


@dataclass(frozen=True)
class CudaOps:
    """An array of a row per word or document is a `Matrix`, which stays on the device from step to step."""

    backend: Backend

    def check(self, model: Any) -> None:
        if type(model.emission) not in (DirichletTopics, DeviceTopics):
            raise no_form(f"the emission {model.emission.name!r}")
        if len(model.emission.seeds):
            raise no_form("seed_words")
        if model.one_topic:
            raise no_form("documents of one topic each")
        if model.per_token:
            raise no_form("per_token=True")
        if isinstance(model.response, MaxMargin) and model.response.likelihood:
            raise no_form("a likelihood beside a margin (likelihood='lda' has none)")
        if model.n_topics > MOST_TOPICS:
            raise no_form(f"more than {MOST_TOPICS} topics")

    def emission(self, emission: DirichletTopics) -> DeviceTopics:
        return DeviceTopics(emission.prior, emission.at_mean)

    def place(self, values: Any) -> Matrix:
        return Matrix.of(values)

    def take(self, matrix: Matrix, rows: np.ndarray, counts: Any) -> Matrix:
        found = Matrix.empty(len(rows), matrix.shape[1])
        found.by_topic(topics.take_rows, counts_on_device(counts).rows, matrix.flat, found.width, found.flat)
        return found

    def put(self, matrix: Matrix, rows: np.ndarray, counts: Any, values: Matrix) -> None:
        values.by_topic(topics.put_rows, counts_on_device(counts).rows, values.flat, values.width, matrix.flat)

    def thinned(
        self, counts: sp.csr_matrix, batches: list[np.ndarray], dropped: float, key: int
    ) -> Iterator[CountsOnDevice]:
        """As on the CPU; the documents of a batch are made on the device from all documents, which lie there."""
        return map(CountsOnDevice, counts_on_device(counts).in_batches(batches, dropped, key))

    def learner(
        self, counts: sp.csr_matrix, word_topic: np.ndarray, alpha: np.ndarray, batches: list[np.ndarray], beta: float,
        passes: int,
    ) -> DeviceLearner:  # fmt: skip
        return DeviceLearner(counts, word_topic, alpha, batches, beta, passes)

    def distributions(self, logits: Matrix) -> Matrix:
        return distributions(logits)

    def climb(
        self, topics: Any, gradient: Any, prior: float, pull: float, anchor: Any, rates: Sequence[float],
        kept: tuple[Any, Any, Any, Any],
    ) -> Matrix:  # fmt: skip
        return climb(topics, gradient, prior, pull, anchor, rates, kept)

    def tokens(self, counts: sp.csr_matrix, n_topics: int, seed: int) -> DeviceTokens:
        return DeviceTokens(counts, n_topics, seed)
