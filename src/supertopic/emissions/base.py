"""The contract of an emission: how a topic makes words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from supertopic.backends.threads import Threads


class Emission(Protocol):
    """Topics over words, held as one (V, K) array of parameters that only the emission understands."""

    name: str

    def expect(
        self, word_topic: np.ndarray, backend: Threads, *, log: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """exp E[log p(word | topic)] (V, K) float32, or its logarithm; `out` may be `word_topic` itself."""
        ...

    def evidence(self, word_topic: np.ndarray, backend: Threads) -> float:
        """E[log p(topics)] - E[log q(topics)], the topics' part of the bound."""
        ...

    def update(self, word_topic: np.ndarray, counts: np.ndarray, rate: float) -> np.ndarray:
        """Parameters after an M-step on expected counts (V, K), which it may reuse.

        A rate of 1 forgets the parameters so far (first topics come this way); a smaller one moves part of the way.
        """
        ...

    def probabilities(self, word_topic: np.ndarray, *, by_word: bool = False) -> np.ndarray:
        """The topics as distributions over words: (K, V) float32, rows sum to one; or its transpose, by word."""
        ...
