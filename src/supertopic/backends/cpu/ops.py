"""The operations of `LocalOps` by kernels of the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.cpu.climb import climb, distributions
from supertopic.backends.cpu.entries import thinned
from supertopic.backends.cpu.first_topics import Learner
from supertopic.backends.cpu.tokens import HostTokens

if TYPE_CHECKING:
    from supertopic.backends.base import Backend


@dataclass(frozen=True)
class CpuOps:
    """Arrays are NumPy's."""

    backend: Backend

    def check(self, model: object) -> None:
        """All models can be fitted here."""

    def emission(self, emission: object) -> Any:
        return emission

    def place(self, values: np.ndarray) -> np.ndarray:
        return values

    def take(self, matrix: np.ndarray, rows: np.ndarray, counts: object) -> np.ndarray:
        return matrix[rows]

    def put(self, matrix: np.ndarray, rows: np.ndarray, counts: object, values: np.ndarray) -> None:
        matrix[rows] = values

    def thinned(
        self, counts: sp.csr_matrix, batches: list[np.ndarray], dropped: float, key: int
    ) -> Iterator[sp.csr_matrix]:
        return thinned(counts, batches, dropped, key, self.backend)

    def learner(
        self, counts: sp.csr_matrix, word_topic: np.ndarray, alpha: np.ndarray, batches: list[np.ndarray], beta: float,
        passes: int,
    ) -> Learner:  # fmt: skip
        return Learner(counts, word_topic, alpha, batches, beta, passes, self.backend)

    def distributions(self, logits: np.ndarray) -> np.ndarray:
        return distributions(logits, self.backend.all)

    def climb(
        self, topics: np.ndarray, gradient: np.ndarray, prior: float, pull: float, anchor: np.ndarray,
        rates: Sequence[float], kept: tuple[Any, Any, Any, Any],
    ) -> np.ndarray:  # fmt: skip
        return climb(topics, gradient, prior, pull, anchor, rates, kept, self.backend)

    def tokens(self, counts: sp.csr_matrix, n_topics: int, seed: int) -> HostTokens:
        return HostTokens.of(counts, n_topics, seed, self.backend)
