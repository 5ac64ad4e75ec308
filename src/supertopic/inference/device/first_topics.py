"""Quick passes for first topics on the device; the host puts each batch's entries in the order of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend
from supertopic.backends.cuda.arrays import Matrix, padded, warps
from supertopic.backends.cuda.forms import form_of
from supertopic.backends.cuda.kernels import topics
from supertopic.backends.cuda.kernels.map_shares import learn
from supertopic.backends.cuda.kernels.word_sums import add_runs, grow_words
from supertopic.backends.cuda.memory import empty, sent
from supertopic.inference.batches import order_entries
from supertopic.inference.device.documents import counts_on_device
from supertopic.inference.first_topics import Learner


@form_of(Learner)
class DeviceLearner(Learner):
    """Expected counts on the device."""

    def __init__(
        self, counts: sp.csr_matrix, word_topic: np.ndarray, alpha: np.ndarray, beta: float, passes: int,
        backend: Backend,
    ) -> None:  # fmt: skip
        super().__init__(counts, word_topic, alpha, beta, passes, backend)
        self.word_topic: Any = Matrix.of(word_topic)
        self._documents, self._rows = counts_on_device(counts), Matrix.empty(*word_topic.shape)
        self._ratio = empty(self._documents.n_entries)

    def step(self, documents: np.ndarray, rate: float, growth: float, following: np.ndarray | None = None) -> None:
        """As in `Learner`; where a batch's words are few, nothing is gained by looking ahead."""
        counts, rows, (n_words, n_topics) = self._documents, self._rows, self.word_topic.shape
        words, start, entry, doc = order_entries(documents, self.counts)
        theta, gained = Matrix.empty(len(documents), n_topics), Matrix.empty(len(documents), n_topics)
        inverse = np.float32(1.0) / (self.topic_count + self.beta * np.float32(n_words))
        smoothing = float(self.beta / self.scale)
        rows.by_topic(topics.add_number, n_topics, self.word_topic.flat, smoothing, rows.width, rows.flat)
        by_topic = (sent(padded(value), np.float32) for value in (self.alpha, inverse))
        learn(rows.registers)[warps(len(documents))](
            sent(documents, np.int64), *counts.csr[1:], rows.flat, *by_topic, self.passes, theta.flat,
            gained.flat, self._ratio,
        )  # fmt: skip
        self.scale *= np.float32(1.0 - rate)
        sums, first = empty(len(words) * rows.width), self.counts.indptr[documents]
        before = np.cumsum(self.counts.indptr[documents + 1] - first) - (self.counts.indptr[documents + 1] - first)
        of_corpus = entry + (first - before)[doc]
        add_runs(rows.registers)[warps(len(words))](
            sent(start, np.int64), sent(of_corpus, np.int32), sent(doc, np.int32), self._ratio, theta.flat, sums
        )
        step = float(np.float32(rate * growth) / self.scale)
        grow_words[len(words), rows.width](
            sent(words, np.int32), step, sums, rows.flat, rows.width, self.word_topic.flat
        )
        self.topic_count *= np.float32(1.0 - rate)
        gains = gained.sums(topics.sum_topics, gained.flat, gained.width)
        self.topic_count += np.float32(rate * growth) * gains.astype(np.float32)
