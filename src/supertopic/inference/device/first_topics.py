"""Quick passes for first topics on the device, which the host need not wait for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend
from supertopic.backends.cuda.arrays import Matrix, padded
from supertopic.backends.cuda.forms import form_of
from supertopic.backends.cuda.kernels import topics
from supertopic.backends.cuda.kernels.map_shares import TEAM, learn
from supertopic.backends.cuda.kernels.word_sums import add_runs, grow_words
from supertopic.backends.cuda.memory import empty, sent
from supertopic.inference.device.documents import counts_on_device
from supertopic.inference.first_topics import Learner


@form_of(Learner)
class DeviceLearner(Learner):
    """Expected counts on the device."""

    def __init__(
        self, counts: sp.csr_matrix, word_topic: np.ndarray, alpha: np.ndarray, batches: list[np.ndarray], beta: float,
        passes: int, backend: Backend,
    ) -> None:  # fmt: skip
        super().__init__(counts, word_topic, alpha, [], beta, passes, backend)
        self._room = float(self.beta) * len(word_topic)
        self._prior, self._inverse = (
            sent(padded(values), np.float32) for values in (self.alpha, 1.0 / (self.topic_count + self._room))
        )
        self.word_topic: Any = Matrix.of(word_topic)
        self.topic_count: Any = Matrix.of(self.topic_count[None])
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
