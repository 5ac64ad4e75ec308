"""The partially collapsed sampler of LDA on the device: tokens, their topics and the counts stay there."""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.backends.cuda.arrays import Matrix, padded, warps
from supertopic.backends.cuda.forms import form_of
from supertopic.backends.cuda.kernels import gibbs as kernels
from supertopic.backends.cuda.memory import sent
from supertopic.emissions.dirichlet import integrable_prior
from supertopic.inference.device.prediction_local import distributions
from supertopic.inference.first_topics import online_counts
from supertopic.inference.gibbs.sampler import Sampler
from supertopic.inference.task import Task

_MASK = (1 << 64) - 1
_START_SWEEPS = 1 << 40  # the numbers of the start's sweeps begin here, so that no other sweep has their random numbers
_THREADS = 128


def key_of(seed: int, sweep: int) -> Any:
    """The key of a sweep's random numbers, as on the CPU."""
    key = (seed * 0xD1342543DE82EF95 + sweep * 0x2545F4914F6CDD1D) & _MASK
    return np.uint64(((key ^ (key >> 32)) * 0xDABA0B6EB09322E3) & _MASK)


@form_of(Sampler)
class DeviceSampler(Sampler):
    """Tokens in the order of documents; another order than the CPU's, and so another chain of the same distribution."""

    def __init__(self, task: Task) -> None:
        counts, whole = task.counts, task.counts.data.astype(np.int64)
        self.lengths = lengths = np.asarray(counts.sum(axis=1), dtype=np.int64).ravel()
        self.n_topics, self.n_words = task.model.n_topics, counts.shape[1]
        self.alpha, self.prior = task.model.doc_topic_prior.start.copy(), integrable_prior(task.model.emission)
        self.seed, self.backend, self.n_tokens = task.seed, task.backend, int(lengths.sum())
        self._words = sent(np.repeat(counts.indices, whole), np.int32)
        self._doc_ptr = sent(np.concatenate([[0], np.cumsum(lengths)]), np.int64)
        self._order = sent(np.argsort(-lengths, kind="stable"), np.int32)
        self._width = Matrix.empty(1, self.n_topics).width
        self._counts: Any = None

    @classmethod
    def of(cls, task: Task) -> DeviceSampler:
        return cls(task)

    def start(self, task: Task, room: np.ndarray) -> None:
        """Draw the first topics of the tokens, given topics from a few quick passes or those of an earlier fit."""
        if task.start is not None:
            room[:] = task.start.word_topic
        else:
            alpha = np.full(self.n_topics, self.alpha.mean())
            online_counts(task.counts, self.n_topics, alpha, self.seed, self.backend, out=room)
        room += np.float32(self.prior)
        room /= room.sum(axis=0, dtype=np.float64).astype(np.float32)
        first = np.random.default_rng([self.seed, 9]).integers(0, self.n_topics, self.n_tokens, dtype=np.uint16)
        self.take(first)
        for number in range(2):
            self.sweep(_START_SWEEPS + number, Matrix.of(room))

    def take(self, topic: np.ndarray) -> None:
        self._topic = sent(topic, np.uint16)
        self._count()

    @property
    def topic(self) -> np.ndarray:  # type: ignore[override]
        return np.asarray(self._topic.copy_to_host())[: self.n_tokens]

    @property
    def word_topic(self) -> np.ndarray:  # type: ignore[override]
        if self._counts is None:
            return np.zeros((self.n_words, self.n_topics), dtype=np.int32)
        found = np.asarray(self._counts.copy_to_host()).reshape(self.n_words, self._width)
        return np.ascontiguousarray(found[:, : self.n_topics])

    @property
    def topic_count(self) -> np.ndarray:  # type: ignore[override]
        return self.word_topic.sum(axis=0, dtype=np.int64)

    def sweep(self, number: int, topics: Any = None) -> None:
        registers = self._width // 32
        kernels.sweep_documents(registers)[warps(len(self.lengths))](
            self._order, self._doc_ptr, self._words, sent(padded(self.alpha, 1.0), np.float32), topics.flat,
            key_of(self.seed, number), self._topic,
        )  # fmt: skip
        self._count()

    def draw_topics(self, number: int) -> Any:
        """phi_k ~ Dirichlet(prior + n_.k) on the device."""
        logs = Matrix.empty(self.n_words, self.n_topics)
        kernels.draw_log_gammas[self.n_words, self._width](
            self.n_words, self.n_topics, self._counts, self.prior, key_of(self.seed + 1, number), self._width, logs.flat
        )
        return distributions(logs)

    def topic_histogram(self) -> np.ndarray:
        most = int(self.lengths.max(initial=0)) + 1
        found = sent(np.zeros(self.n_topics * most), np.int32)
        n_documents = len(self.lengths)
        kernels.count_documents(self._width // 32)[warps(n_documents)](
            self._order, self._doc_ptr, self._topic, most, found
        )
        histogram = np.asarray(found.copy_to_host()).reshape(self.n_topics, most)
        histogram[:, 0] = n_documents - histogram[:, 1:].sum(axis=1)
        return histogram

    def _count(self) -> None:
        self._counts = sent(np.zeros(self.n_words * self._width), np.int32)
        if self.n_tokens:
            blocks = -(-self.n_tokens // _THREADS)
            kernels.count_words[blocks, _THREADS](self._words, self._topic, self._width, self._counts)
