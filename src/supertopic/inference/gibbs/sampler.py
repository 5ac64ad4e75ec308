"""The collapsed Gibbs sampler of LDA: the topic of every token, and the counts that follow from the topics.

A sweep draws each topic given all others, word by word (`supertopic.kernels.gibbs_words` has the conditional).
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import gammaln

from supertopic.backends.base import Backend, TokenTopics
from supertopic.emissions.dirichlet import integrable_prior, seeds_of
from supertopic.inference.batches import Batch
from supertopic.inference.first_topics import online_counts
from supertopic.inference.gibbs.spread import spread_tokens
from supertopic.inference.spectral_topics import spectral_counts
from supertopic.inference.task import Task
from supertopic.inference.variational.local import sum_by_row
from supertopic.kernels import gibbs_layout as layout
from supertopic.priors.base import Rows, SharePrior
from supertopic.priors.dirichlet import DirichletPrior

_MOST_FOUND_AT_ONCE = 250  # topics; larger numbers start from fewer topics, each of which is split
_START_SWEEPS = 1 << 40  # the numbers of the start's sweeps begin here, so that no other sweep has their random numbers
_SPLIT_SEED = 1_000_003


class Sampler:
    """Tokens with their topics, and the priors."""

    def __init__(
        self, tokens: TokenTopics, shares: SharePrior, batch: Batch, prior: float, seed: int, backend: Backend
    ) -> None:
        """shares : the prior on topic shares, of the documents of `batch`; prior : that of the topics"""
        self.tokens, self.shares, self.batch, self.prior, self.seed = tokens, shares, batch, prior, seed
        self.alpha, self.backend = shares.start.copy(), backend

    @classmethod
    def of(cls, task: Task) -> Self:
        """The sampler of a task, before its tokens have topics."""
        given, backend = (task.counts, task.model.n_topics, task.seed), task.backend
        tokens: TokenTopics = spread_tokens(*given, backend) if backend.remote else backend.ops.tokens(*given)
        shares, prior = task.model.doc_topic_prior, integrable_prior(task.model.emission)
        tokens.seeds = seeds_of(task.model.emission)
        return cls(tokens, shares, task.batch, prior, task.seed, task.backend)

    @property
    def rows(self) -> Rows:
        """alpha of each document."""
        return self.shares.rows(self.alpha, self.batch)

    @property
    def lengths(self) -> np.ndarray:
        return self.tokens.lengths

    def topic_histogram(self) -> np.ndarray:
        return self.tokens.histogram()

    def log_theta(self, rows: Rows) -> np.ndarray:
        return sum_by_row(
            rows, rows.by_document(rows.single) + self.tokens.doc_topic().astype(np.float32), self.backend
        )

    def learn_alpha(self) -> None:
        self.alpha = self.shares.learn(self.alpha, self.batch, self)

    def start(self, task: Task, room: np.ndarray) -> None:
        """Draw the first topics of the tokens, given topics from a few quick passes or those of an earlier fit.

        Where there are more than a few hundred topics, the quick passes look for fewer ones, which are then split at
        random. `room` is a (V, K) float32 array that is overwritten.
        """
        if task.start is not None:
            room[:] = task.start.word_topic
            self._draw_given(room)
            return
        n_topics = self.tokens.n_topics
        parts = -(-n_topics // _MOST_FOUND_AT_ONCE)
        n_found = -(-n_topics // parts)
        alpha = np.full(n_found, self.shares.mean(self.alpha).mean())
        out = room.reshape(-1)[: len(room) * n_found].reshape(len(room), n_found)
        if task.settings.init == "spectral":
            found = spectral_counts(task.counts, n_found)
        else:
            found = online_counts(task.counts, n_found, alpha, self.seed, self.backend, out=out)
        if parts == 1:
            found = self.tokens.seeds.arranged(found)
            self.tokens.seeds.add_to(found)
            self._draw_given(found)
            return
        few = self.tokens.of_topics(n_found)
        type(self)(few, DirichletPrior(alpha), self.batch, self.prior, self.seed, self.backend)._draw_given(found)
        topic, part = few.topic(), np.empty(few.n_tokens, dtype=np.uint16)
        layout.random_topics(self.seed + _SPLIT_SEED, parts, 0, len(part), part)
        split = topic + part * np.uint16(n_found)
        self.tokens.take(np.where(split < n_topics, split, topic))

    def _draw_given(self, topics: np.ndarray) -> None:
        """Draw the tokens' topics by two sweeps from a random start, given the topics of pseudo-counts (V, K)."""
        tokens = self.tokens
        topics += np.float32(self.prior)
        topics /= topics.sum(axis=0, dtype=np.float64).astype(np.float32)
        topic = np.empty(tokens.n_tokens, dtype=np.uint16)
        layout.random_topics(self.seed, tokens.n_topics, 0, len(topic), topic)
        tokens.take(topic)
        for number in range(2):
            self._draw(_START_SWEEPS + number, topics)

    def sweep(self, number: int, collapsed: bool) -> None:
        """Draw every token once; topics are integrated out, or drawn first."""
        topics = None if collapsed else self.tokens.draw_topics(number, self.prior)
        self._draw(number, topics)

    def _draw(self, number: int, topics: object) -> None:
        rows = self.rows
        self.tokens.draw(number, rows.alpha, rows.which, self.prior, topics)

    def add_words(self, sums: np.ndarray) -> None:
        """Add the counts of words by topic to `sums` (V, K)."""
        word_topic = self.tokens.word_topic

        def add(start: int, stop: int) -> None:
            sums[start:stop] += word_topic[start:stop]

        self.backend.over_range(len(sums), add)

    def log_joint(self) -> float:
        """log p(words, topics of the tokens), topic shares and topics integrated out."""
        word_topic = self.tokens.word_topic
        total = self.prior * len(word_topic)
        words = (gammaln(total) - gammaln(self.tokens.topic_count + total)).sum()
        values = gammaln(np.arange(int(word_topic.max(initial=0)) + 1) + self.prior) - gammaln(self.prior)
        by_word = np.empty(len(word_topic))
        self.backend.over_range(
            len(by_word), lambda start, stop: layout.sum_values(word_topic, values, start, stop, by_word)
        )
        seeds = self.tokens.seeds.log_norm(self.prior, *word_topic.shape)
        return float(words + by_word.sum()) + seeds + self._log_documents()

    def _log_documents(self) -> float:
        """log p(topics of the tokens), topic shares integrated out."""
        rows = self.rows
        if len(rows.alpha) > 1:
            return rows.log_evidence(self.tokens.doc_topic())
        documents, total = 0.0, rows.alpha[0].sum()
        for counts, alpha in zip(self.topic_histogram(), rows.alpha[0], strict=True):
            sizes = np.flatnonzero(counts)
            documents += counts[sizes] @ (gammaln(sizes + alpha) - gammaln(alpha))
        return documents + float((gammaln(total) - gammaln(self.lengths + total)).sum())
