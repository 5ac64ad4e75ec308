"""The contract of an emission: how a topic makes words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from supertopic.backends.threads import Threads
    from supertopic.corpus import Corpus


class Emission(Protocol):
    """Topics over words, held as one (V, K) array of parameters that only the emission understands."""

    name: str

    def start(self, corpus: Corpus, n_topics: int, seed: int) -> np.ndarray:
        """First parameters, different in every topic."""
        ...

    def expect(self, word_topic: np.ndarray, backend: Threads, *, log: bool = False) -> np.ndarray:
        """exp E[log p(word | topic)] (V, K) float32, or its logarithm."""
        ...

    def evidence(self, word_topic: np.ndarray, backend: Threads) -> float:
        """E[log p(topics)] - E[log q(topics)], the topics' part of the bound."""
        ...

    def update(self, word_topic: np.ndarray, counts: np.ndarray, rate: float) -> np.ndarray:
        """Parameters after an M-step on expected counts (V, K); may reuse `counts`; rate < 1 moves only part of the way."""
        ...

    def probabilities(self, word_topic: np.ndarray) -> np.ndarray:
        """The topics as distributions over words: (K, V) float32, rows sum to one."""
        ...
