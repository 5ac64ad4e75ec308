"""Quick passes for first topics on the device, which the host need not wait for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.cuda.arrays import Matrix, padded
from supertopic.backends.cuda.e_step import counts_on_device
from supertopic.backends.cuda.kernels import topics
from supertopic.backends.cuda.kernels.map_shares import TEAM, learn
from supertopic.backends.cuda.kernels.word_sums import add_runs, grow_words
from supertopic.backends.cuda.memory import empty, sent


class DeviceLearner:
    """As `Learner`; expected counts are on the device."""

    def __init__(
        self, counts: sp.csr_matrix, word_topic: np.ndarray, alpha: np.ndarray, batches: list[np.ndarray], beta: float,
        passes: int,
    ) -> None:  # fmt: skip
        self.counts, self.passes, self.beta, self.scale = counts, passes, np.float32(beta), np.float32(1.0)
        self._room, totals = float(beta) * len(word_topic), word_topic.sum(axis=0, dtype=np.float64).astype(np.float32)
        self._prior, self._inverse = (
            sent(padded(values), np.float32) for values in (alpha.astype(np.float32), 1.0 / (totals + self._room))
        )
        self.word_topic: Any = Matrix.of(word_topic)
        self.topic_count: Any = Matrix.of(totals[None])
        self._rows = Matrix.empty(*word_topic.shape)
        self._documents = counts_on_device(counts).in_batches(batches)

    def step(self, rate: float) -> None:
        documents, rows, n_topics = next(self._documents), self._rows, self.word_topic.shape[1]
        n_documents, growth = documents.n_documents, self.counts.shape[0] / documents.n_documents
        theta, gained = (Matrix.empty(n_documents, n_topics) for _ in range(2))
        ratio, smoothing = empty(documents.n_entries), float(self.beta / self.scale)
        rows.by_topic(topics.add_number, n_topics, self.word_topic.flat, smoothing, rows.width, rows.flat)
        learn(rows.registers)[n_documents, (32, TEAM)](
            *documents.csr, rows.flat, n_topics, self._prior, self._inverse, self.passes, theta.flat, gained.flat, ratio
        )
        self.scale *= np.float32(1.0 - rate)
        grown, sums = float(np.float32(rate * growth) / self.scale), documents.runs(add_runs, theta, ratio, theta.flat)
        grow_words[len(rows), rows.width](
            documents.by_word.word_runs, sums, grown, rows.flat, rows.width, self.word_topic.flat
        )
        topics.move_sizes[1, rows.width](
            n_documents, gained.flat, 1.0 - rate, rate * growth, self._room, rows.width, self.topic_count.flat,
            self._inverse,
        )  # fmt: skip
