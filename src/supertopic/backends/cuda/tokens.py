"""The topics of all tokens on the device, and the counts that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.cuda.arrays import Matrix, distributions, padded, warps
from supertopic.backends.cuda.e_step import which_of
from supertopic.backends.cuda.kernels import gibbs as kernels
from supertopic.backends.cuda.memory import sent
from supertopic.emissions.seeds import Seeds
from supertopic.priors.base import Rows

_MASK = (1 << 64) - 1
_THREADS = 128


def key_of(seed: int, sweep: int) -> Any:
    """The key of a sweep's random numbers, as on the CPU."""
    key = (seed * 0xD1342543DE82EF95 + sweep * 0x2545F4914F6CDD1D) & _MASK
    return np.uint64(((key ^ (key >> 32)) * 0xDABA0B6EB09322E3) & _MASK)


class DeviceTokens:
    """As `TokenTopics`; tokens lie by document: another order than the CPU's, and so another chain of the same
    distribution.
    """

    def __init__(self, counts: sp.csr_matrix, n_topics: int, seed: int) -> None:
        self._given, whole = counts, counts.data.astype(np.int64)
        self.lengths = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
        self.n_topics, self.n_words, self.n_tokens = n_topics, counts.shape[1], int(self.lengths.sum())
        self.seed = seed
        self._words = sent(np.repeat(counts.indices, whole), np.int32)
        self._doc_ptr = sent(np.concatenate([[0], np.cumsum(self.lengths)]), np.int64)
        self._order = sent(np.argsort(-self.lengths, kind="stable"), np.int32)
        self._width = Matrix.empty(1, n_topics).width
        self.seeds = Seeds.none()
        self.take(np.zeros(self.n_tokens, dtype=np.uint16))

    def of_topics(self, n_topics: int) -> DeviceTokens:
        return DeviceTokens(self._given, n_topics, self.seed)

    def take(self, topic: np.ndarray) -> None:
        self._topic = sent(topic, np.uint16)
        self._count()

    def topic(self) -> np.ndarray:
        return np.asarray(self._topic.copy_to_host())[: self.n_tokens]

    @property
    def word_topic(self) -> np.ndarray:
        found = np.asarray(self._counts.copy_to_host()).reshape(self.n_words, self._width)
        return np.ascontiguousarray(found[:, : self.n_topics])

    @property
    def topic_count(self) -> np.ndarray:
        return self.word_topic.sum(axis=0, dtype=np.int64)

    def draw(self, number: int, alpha: np.ndarray, which: np.ndarray, prior: float, topics: Any = None) -> None:
        """As `TokenTopics.draw`; topics are always given."""
        kernels.sweep_documents(self._width // 32)[warps(len(self.lengths))](
            self._order, self._doc_ptr, self._words, sent(padded(alpha, 1.0), np.float32), which_of(Rows(alpha, which)),
            Matrix.of(topics).flat, key_of(self.seed, number), self._topic,
        )  # fmt: skip
        self._count()

    def draw_topics(self, number: int, prior: float) -> Matrix:
        logs = Matrix.empty(self.n_words, self.n_topics)
        kernels.draw_log_gammas[self.n_words, self._width](
            self.n_words, self.n_topics, self._counts, prior, key_of(self.seed + 1, number), self._width, logs.flat
        )
        return distributions(logs)

    def histogram(self) -> np.ndarray:
        most, n_documents = int(self.lengths.max(initial=0)) + 1, len(self.lengths)
        found = sent(np.zeros(self.n_topics * most), np.int32)
        kernels.count_documents(self._width // 32)[warps(n_documents)](
            self._order, self._doc_ptr, self._topic, most, found
        )
        histogram = np.asarray(found.copy_to_host()).reshape(self.n_topics, most)
        histogram[:, 0] = n_documents - histogram[:, 1:].sum(axis=1)
        return histogram

    def doc_topic(self) -> np.ndarray:
        found = np.zeros((len(self.lengths), self.n_topics), dtype=np.int32)
        np.add.at(found, (np.repeat(np.arange(len(self.lengths)), self.lengths), self.topic()), 1)
        return found

    def _count(self) -> None:
        self._counts = sent(np.zeros(self.n_words * self._width), np.int32)
        if self.n_tokens:
            blocks = -(-self.n_tokens // _THREADS)
            kernels.count_words[blocks, _THREADS](self._words, self._topic, self._width, self._counts)
