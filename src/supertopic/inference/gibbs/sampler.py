"""The collapsed Gibbs sampler of LDA: the topic of every token, and the counts that follow from the topics.

A sweep draws each topic given all others, word by word (`supertopic.kernels.gibbs_words` has the conditional).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import gammaln

from supertopic.backends.base import Backend
from supertopic.emissions.dirichlet import integrable_prior
from supertopic.inference.first_topics import online_counts
from supertopic.inference.gibbs.groups import sweep_groups
from supertopic.inference.task import Task
from supertopic.kernels import gibbs_layout as layout
from supertopic.kernels.gibbs_topics import draw_log_gammas, exponentiate, normalise
from supertopic.kernels.gibbs_words import sweep_task

_MOST_FOUND_AT_ONCE = 250  # topics; larger numbers start from fewer topics, each of which is split
_START_SWEEPS = 1 << 40  # the numbers of the start's sweeps begin here, so that no other sweep has their random numbers
_SPLIT_SEED = 1_000_003


class Sampler:
    """Tokens, their topics, and the counts that follow from the topics."""

    def __init__(
        self, tokens: layout.Tokens, n_topics: int, alpha: np.ndarray, prior: float, seed: int, backend: Backend
    ) -> None:
        self.tokens, self.n_topics, self.alpha, self.prior = tokens, n_topics, alpha, prior
        self.seed, self.backend = seed, backend
        self.lengths, self.n_tokens = tokens.doc_length, len(tokens.doc)
        self.word_topic = np.zeros((tokens.word_ptr.shape[1] - 1, n_topics), dtype=np.int32)
        self._scratch = [layout.make_scratch(n_topics) for _ in range(len(tokens.word_ptr))]

    @classmethod
    def of(cls, task: Task) -> Sampler:
        """The sampler of a task, before its tokens have topics."""
        prior, counts = integrable_prior(task.model.emission), task.counts
        tokens = layout.lay_out(counts.indptr, counts.indices, counts.data, counts.shape[1])
        alpha = task.model.doc_topic_prior.start.copy()
        return cls(tokens, task.model.n_topics, alpha, prior, task.seed, task.backend)

    def start(self, task: Task, room: np.ndarray) -> None:
        """Draw the first topics of the tokens, given topics from a few quick passes or those of an earlier fit.

        Where there are more than a few hundred topics, the quick passes look for fewer ones, which are then split at
        random. `room` is a (V, K) float32 array that is overwritten.
        """
        if task.start is not None:
            room[:] = task.start.word_topic
            self._draw_given(room)
            return
        parts = -(-self.n_topics // _MOST_FOUND_AT_ONCE)
        n_found = -(-self.n_topics // parts)
        alpha = np.full(n_found, self.alpha.mean())
        out = room.reshape(-1)[: len(room) * n_found].reshape(len(room), n_found)
        found = online_counts(task.counts, n_found, alpha, self.seed, self.backend, out=out)
        if parts == 1:
            self._draw_given(found)
            return
        few = Sampler(self.tokens, n_found, alpha, self.prior, self.seed, self.backend)
        few._draw_given(found)
        part = np.empty(len(few.topic), dtype=np.uint16)
        layout.random_topics(self.seed + _SPLIT_SEED, parts, 0, len(part), part)
        split = few.topic + part * np.uint16(n_found)
        self.take(np.where(split < self.n_topics, split, few.topic))

    def _draw_given(self, topics: np.ndarray) -> None:
        """Draw the tokens' topics by two sweeps from a random start, given the topics of pseudo-counts (V, K)."""
        topics += np.float32(self.prior)
        topics /= topics.sum(axis=0, dtype=np.float64).astype(np.float32)
        topic = np.empty(len(self.tokens.doc), dtype=np.uint16)
        layout.random_topics(self.seed, self.n_topics, 0, len(topic), topic)
        self.take(topic)
        for number in range(2):
            self.sweep(_START_SWEEPS + number, topics)

    def take(self, topic: np.ndarray) -> None:
        """Set the topics of the tokens, and count."""
        self.topic = topic

        def count(start: int, stop: int) -> None:
            layout.count_words(self.tokens.word_ptr, topic, start, stop, self.word_topic)

        self.backend.over_range(len(self.word_topic), count)
        self.topic_count = self.word_topic.sum(axis=0, dtype=np.int64)
        self.documents = layout.count_topics(self.tokens, topic, self.n_topics, run=self.backend.all)

    def sweep(self, number: int, topics: np.ndarray | None = None) -> None:
        """Draw every token once; topics are integrated out, or given as distributions over words (V, K).

        The sweep runs by groups of documents and words (`sweep_groups`), so that n_k lags by a part of a sweep. Small
        corpora are one group and have no lag. Where the topics are given, n_k is not used.
        """
        if len(self.documents.doc_topic) == 0:
            lists = self.documents[1:]
            self.backend.over_range(
                len(self.documents.start), lambda start, stop: layout.sort_lists(*lists, start, stop)
            )
        collapsed = topics is None
        topics = np.zeros((0, 0), dtype=np.float32) if topics is None else topics
        alpha = padded_alpha(self.alpha)
        beta, beta_sum = np.float32(self.prior), np.float32(self.prior * len(self.word_topic))
        words, tokens = self.tokens.word_bounds, self.tokens.word_ptr

        def call(i: int, j: int, topic_count: np.ndarray) -> tuple[Any, ...]:
            return (
                sweep_task, (int(words[j]), int(words[j + 1])), tokens[i], self.tokens.doc, self.topic,
                self.documents, self.word_topic, topic_count, topics, alpha, beta, beta_sum, collapsed,
                self.seed, number, 0, self._scratch[i],
            )  # fmt: skip

        self.topic_count = sweep_groups(self.backend, self.topic_count, np.diff(tokens[:, words], axis=1), call)

    def draw_topics(self, number: int) -> np.ndarray:
        """phi_k ~ Dirichlet(prior + n_.k), (V, K); sums are over fixed ranges of words, for the same result always."""
        topics = np.empty(self.word_topic.shape, dtype=np.float32)
        ranges = _fixed_ranges(len(topics))
        peaks = np.empty((len(ranges), self.n_topics), dtype=np.float32)
        totals = np.empty((len(ranges), self.n_topics))
        self.backend.all([
            (draw_log_gammas, self.word_topic, self.topic_count, self.prior, self.seed, number, *ends, topics, peaks[i])
            for i, ends in enumerate(ranges)
        ])  # fmt: skip
        peak = peaks.max(axis=0)
        self.backend.all([(exponentiate, topics, peak, *ends, totals[i]) for i, ends in enumerate(ranges)])
        total = totals.sum(axis=0)
        self.backend.all([(normalise, topics, total, *ends) for ends in ranges])
        return topics

    def add_words(self, sums: np.ndarray) -> None:
        """Add the counts of words by topic to `sums` (V, K)."""
        word_topic = self.word_topic

        def add(start: int, stop: int) -> None:
            sums[start:stop] += word_topic[start:stop]

        self.backend.over_range(len(sums), add)

    def topic_histogram(self) -> np.ndarray:
        """(K, L): documents that hold topic k exactly n times."""
        return topic_histogram(self.documents, self.n_topics, len(self.lengths))

    def token_topics(self) -> np.ndarray:
        """(N,) uint16."""
        return self.topic

    def log_joint(self, histogram: np.ndarray) -> float:
        """log p(words, topics of the tokens), topic shares and topics integrated out."""
        word_topic, total = self.word_topic, self.prior * len(self.word_topic)
        words = (gammaln(total) - gammaln(self.topic_count + total)).sum()
        values = gammaln(np.arange(int(word_topic.max(initial=0)) + 1) + self.prior) - gammaln(self.prior)
        by_word = np.empty(len(word_topic))
        self.backend.over_range(
            len(by_word), lambda start, stop: layout.sum_values(word_topic, values, start, stop, by_word)
        )
        words += by_word.sum()
        documents = 0.0
        for counts, alpha in zip(histogram, self.alpha, strict=True):
            sizes = np.flatnonzero(counts)
            documents += counts[sizes] @ (gammaln(sizes + alpha) - gammaln(alpha))
        documents += (gammaln(self.alpha.sum()) - gammaln(self.lengths + self.alpha.sum())).sum()
        return float(words + documents)


def padded_alpha(alpha: np.ndarray) -> np.ndarray:
    """alpha as `sweep_task` takes it."""
    found = np.zeros(layout.padded(len(alpha)), dtype=np.float32)
    found[: len(alpha)] = alpha
    return found


def topic_histogram(documents: layout.Documents, n_topics: int, n_documents: int) -> np.ndarray:
    """(K, L): documents that hold topic k exactly n times."""
    doc_topic, entries, _, _, shift = documents
    most = doc_topic.max(initial=0) if len(doc_topic) else entries.max(initial=0) >> shift
    histogram = np.zeros((n_topics, int(most) + 1), dtype=np.int32)
    layout.count_documents(documents, histogram)
    histogram[:, 0] = n_documents - histogram[:, 1:].sum(axis=1)
    return histogram


def _fixed_ranges(n: int, parts: int = 32) -> list[tuple[int, int]]:
    cuts = np.linspace(0, n, min(parts, max(n, 1)) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(cuts)]
