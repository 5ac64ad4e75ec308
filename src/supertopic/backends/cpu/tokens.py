"""The topics of all tokens in the memory of this process, and the counts that follow from them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from supertopic.backends.cpu.groups import sweep_groups
from supertopic.emissions.seeds import Seeds
from supertopic.kernels import gibbs_layout as layout
from supertopic.kernels.gibbs_topics import draw_log_gammas, exponentiate, normalise
from supertopic.kernels.gibbs_words import sweep_task

if TYPE_CHECKING:
    from supertopic.backends.base import Backend


class HostTokens:
    """As `TokenTopics`; tokens lie by word."""

    def __init__(self, tokens: layout.Tokens, n_topics: int, seed: int, backend: Backend) -> None:
        self.tokens, self.n_topics, self.seed, self.backend = tokens, n_topics, seed, backend
        self.lengths, self.n_tokens = tokens.doc_length, len(tokens.doc)
        self.seeds = Seeds.none()
        self.word_topic = np.zeros((tokens.word_ptr.shape[1] - 1, n_topics), dtype=np.int32)
        self.topic_count = np.zeros(n_topics, dtype=np.int64)
        self._scratch = [layout.make_scratch(n_topics) for _ in range(len(tokens.word_ptr))]

    @classmethod
    def of(cls, counts: sp.csr_matrix, n_topics: int, seed: int, backend: Backend) -> Self:
        return cls(layout.lay_out(counts.indptr, counts.indices, counts.data, counts.shape[1]), n_topics, seed, backend)

    def of_topics(self, n_topics: int) -> HostTokens:
        return HostTokens(self.tokens, n_topics, self.seed, self.backend)

    def take(self, topic: np.ndarray) -> None:
        self._topic = topic

        def count(start: int, stop: int) -> None:
            layout.count_words(self.tokens.word_ptr, topic, start, stop, self.word_topic)

        self.backend.over_range(len(self.word_topic), count)
        self.seeds.add_to(self.word_topic)
        self.topic_count = self.word_topic.sum(axis=0, dtype=np.int64)
        self.documents = layout.count_topics(self.tokens, topic, self.n_topics, run=self.backend.all)

    def topic(self) -> np.ndarray:
        return self._topic

    def draw(
        self, number: int, alpha: np.ndarray, which: np.ndarray, prior: float, topics: np.ndarray | None = None
    ) -> None:
        """As `TokenTopics.draw`, by groups of documents and words (`sweep_groups`): n_k lags by a part of a sweep.

        Small corpora are one group and have no lag. Where the topics are given, n_k is not used. Where documents differ
        in alpha, their counts are no lists.
        """
        if len(alpha) > 1 and len(self.documents.doc_topic) == 0:
            self.documents = layout.count_topics(self.tokens, self._topic, self.n_topics, True, self.backend.all)
        if len(self.documents.doc_topic) == 0:
            lists = self.documents[1:]
            self.backend.over_range(
                len(self.documents.start), lambda start, stop: layout.sort_lists(*lists, start, stop)
            )
        collapsed = topics is None
        topics = np.zeros((0, 0), dtype=np.float32) if topics is None else topics
        single = padded_alpha(alpha)
        beta, beta_sum = np.float32(prior), np.float32(prior * len(self.word_topic))
        words, tokens = self.tokens.word_bounds, self.tokens.word_ptr

        def call(i: int, j: int, topic_count: np.ndarray) -> tuple[Any, ...]:
            return (
                sweep_task, (int(words[j]), int(words[j + 1])), tokens[i], self.tokens.doc, self._topic,
                self.documents, self.word_topic, topic_count, topics, single, which, beta, beta_sum,
                collapsed, self.seed, number, 0, self._scratch[i],
            )  # fmt: skip

        self.topic_count = sweep_groups(self.backend, self.topic_count, np.diff(tokens[:, words], axis=1), call)

    def draw_topics(self, number: int, prior: float) -> np.ndarray:
        """As `TokenTopics.draw_topics`; sums are over fixed ranges of words, for the same result always."""
        topics = np.empty(self.word_topic.shape, dtype=np.float32)
        ranges = _fixed_ranges(len(topics))
        peaks = np.empty((len(ranges), self.n_topics), dtype=np.float32)
        totals = np.empty((len(ranges), self.n_topics))
        self.backend.all([
            (draw_log_gammas, self.word_topic, self.topic_count, prior, self.seed, number, *ends, topics, peaks[i])
            for i, ends in enumerate(ranges)
        ])  # fmt: skip
        peak = peaks.max(axis=0)
        self.backend.all([(exponentiate, topics, peak, *ends, totals[i]) for i, ends in enumerate(ranges)])
        total = totals.sum(axis=0)
        self.backend.all([(normalise, topics, total, *ends) for ends in ranges])
        return topics

    def histogram(self) -> np.ndarray:
        return topic_histogram(self.documents, self.n_topics, len(self.lengths))

    def doc_topic(self) -> np.ndarray:
        documents = self.documents
        if len(documents.doc_topic) == 0:
            documents = layout.count_topics(self.tokens, self._topic, self.n_topics, True)
        return documents.doc_topic[:, : self.n_topics]


def padded_alpha(alpha: np.ndarray) -> np.ndarray:
    """(R, Kp) alpha (R, K) as `sweep_task` takes it."""
    found = np.zeros((len(alpha), layout.padded(alpha.shape[1])), dtype=np.float32)
    found[:, : alpha.shape[1]] = alpha
    return found


def topic_histogram(documents: layout.Documents, n_topics: int, n_documents: int) -> np.ndarray:
    """(K, L): documents that hold topic k exactly n times."""
    doc_topic, entries, _, _, shift = documents
    most = doc_topic.max(initial=0) if len(doc_topic) else entries.max(initial=0) >> shift
    histogram = np.zeros((n_topics, int(most) + 1), dtype=np.int32)
    layout.count_documents(documents, histogram)
    histogram[:, 0] = n_documents - histogram[:, 1:].sum(axis=1)
    return histogram


def _fixed_ranges(n: int) -> list[tuple[int, int]]:
    cuts = np.linspace(0, n, min(32, max(n, 1)) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(cuts)]
