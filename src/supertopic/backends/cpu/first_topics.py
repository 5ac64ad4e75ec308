"""Steps of stochastic collapsed inference, from which first topics come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from supertopic.backends.cpu.entries import order_entries
from supertopic.kernels.first_topics import learn_documents
from supertopic.kernels.word_sums import add_shares_by_word

if TYPE_CHECKING:
    from supertopic.backends.base import Backend


class _Entries:
    """The entries of a step's documents in the order of their words, and how threads share both."""

    def __init__(self, documents: np.ndarray, counts: sp.csr_matrix, backend: Backend) -> None:
        lengths = counts.indptr[documents + 1] - counts.indptr[documents]
        self.documents = documents
        self.first = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.by_word = order_entries(documents, counts)
        self.of_documents, self.of_words = backend.cut(self.first), backend.cut(self.by_word.start)


class Learner:
    """Expected counts n_wk = scale · word_topic_wk, and n_k. The decay of words not in a batch goes into scale."""

    def __init__(
        self, counts: sp.csr_matrix, word_topic: np.ndarray, alpha: np.ndarray, batches: list[np.ndarray], beta: float,
        passes: int, backend: Backend,
    ) -> None:  # fmt: skip
        """batches : the documents of each step"""
        self.counts, self.word_topic, self.backend, self.passes = counts, word_topic, backend, passes
        self.alpha, self.beta, self.scale = alpha.astype(np.float32), np.float32(beta), np.float32(1.0)
        self.topic_count = word_topic.sum(axis=0, dtype=np.float64).astype(np.float32)
        self._longest = int(np.diff(counts.indptr).max(initial=0))
        self._batches = iter(batches)
        self._entries = self._next_entries()

    def _next_entries(self) -> _Entries | None:
        documents = next(self._batches, None)
        return None if documents is None else _Entries(documents, self.counts, self.backend)

    def step(self, rate: float) -> None:
        """Move the counts by `rate` towards those of the next batch, scaled up to all documents.

        The entries of the batch after it are put in order beside this step: that takes one thread.
        """
        indptr, indices, data = self.counts.indptr, self.counts.indices, self.counts.data
        n_words, n_topics = self.word_topic.shape
        entries = self._entries
        assert entries is not None
        documents, growth = entries.documents, self.counts.shape[0] / len(entries.documents)
        theta, gained = np.empty((2, len(documents), n_topics), dtype=np.float32)
        ratio = np.empty(entries.first[-1], dtype=np.float32)
        inverse = np.float32(1.0) / (self.topic_count + self.beta * np.float32(n_words))
        smoothing = self.beta / self.scale

        def learn(start: int, stop: int) -> None:
            rows = self.backend.scratch(self._longest, n_topics)
            learn_documents(
                start, stop, documents, entries.first, indptr, indices, data, self.word_topic, smoothing, inverse,
                self.alpha, self.passes, theta, gained, ratio, rows,
            )  # fmt: skip

        self.backend.all([(learn, *ends) for ends in entries.of_documents])
        self.scale *= np.float32(1.0 - rate)
        step = np.float32(rate * growth) / self.scale

        def add(start: int, stop: int) -> None:
            row = np.empty(n_topics, dtype=np.float32)
            add_shares_by_word(
                start, stop, *entries.by_word, ratio, theta, self.word_topic, smoothing, step, self.word_topic, row
            )

        def look_ahead() -> None:
            self._entries = self._next_entries()

        sums = [(add, *ends) for ends in entries.of_words]
        self.backend.all([*sums[:1], (look_ahead,), *sums[1:]])  # not first: it would keep the others from beginning
        self.topic_count *= np.float32(1.0 - rate)
        self.topic_count += np.float32(rate * growth) * gained.sum(axis=0)
