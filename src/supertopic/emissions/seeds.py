"""Seed words: a prior of topics that has more pseudo-counts for some words in some topics.

    beta_k ~ Dirichlet(prior + counts_k)

Pseudo-counts are whole numbers. A sampler therefore takes them for tokens whose topics never move, and all engines see
the same prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln


@dataclass(frozen=True, eq=False)
class Seeds:
    """Pseudo-counts of n pairs of a word and a topic; the first topics have the names."""

    words: np.ndarray  # (n,) int64
    topics: np.ndarray  # (n,) int64
    counts: np.ndarray  # (n,) int64
    names: tuple[str, ...] = ()

    @classmethod
    def none(cls) -> Seeds:
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing)

    def __len__(self) -> int:
        return len(self.words)

    def labels(self, n_topics: int) -> list[str | None] | None:
        """The names of the topics, None for those without; None where nobody has a name."""
        return [*self.names, *([None] * (n_topics - len(self.names)))] if self.names else None

    def add_to(self, values: np.ndarray) -> None:
        """Add the pseudo-counts to counts of words by topic (V, K)."""
        np.add.at(values, (self.words, self.topics), self.counts.astype(values.dtype))

    def arranged(self, counts: np.ndarray) -> np.ndarray:
        """The same topics (V, K) in the order in which seeds have most of their words in their topics."""
        if not len(self):
            return counts
        shares = counts[self.words] / np.maximum(counts.sum(axis=0), 1e-30)
        gain = np.zeros((int(self.topics.max()) + 1, counts.shape[1]))
        np.add.at(gain, self.topics, shares * self.counts[:, None])
        own, taken = linear_sum_assignment(-gain)
        order = np.empty(counts.shape[1], dtype=np.int64)
        order[own] = taken
        order[len(gain) :] = np.setdiff1d(np.arange(counts.shape[1]), taken)
        counts[:] = counts[:, order]
        return counts

    def log_norm(self, prior: float, n_words: int, n_topics: int) -> float:
        """What the norm of the prior's density gains by the pseudo-counts."""
        total = np.bincount(self.topics, self.counts, n_topics)
        gained = (gammaln(n_words * prior + total) - gammaln(n_words * prior)).sum()
        return float(gained - (gammaln(prior + self.counts) - gammaln(prior)).sum())

    def at(self, values: Any) -> np.ndarray:
        """(n,) the values (V, K) at the pairs."""
        return np.asarray(values[self.words, self.topics], dtype=np.float64)
