"""Partially collapsed Gibbs sampling of LDA over partitions: exact, wherever the documents are.

Given the topics, which are drawn once per sweep, documents do not depend on one another. A partition is a group of
documents of the sampler's layout. It keeps the topics of its tokens, and each sweep gives its counts of words by topic,
which add up. A token has the same random numbers as in `HostTokens`, and so the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend, reads_only, total
from supertopic.backends.cpu.tokens import HostTokens, padded_alpha, topic_histogram
from supertopic.emissions.seeds import Seeds
from supertopic.kernels import gibbs_layout as layout
from supertopic.kernels.gibbs_words import sweep_task


@dataclass(frozen=True)
class TokenGroups:
    """All tokens of a sampler, to be cut into partitions."""

    tokens: layout.Tokens
    n_topics: int

    @property
    def n_pieces(self) -> int:
        """One per group of documents; small corpora are one group."""
        return len(self.tokens.word_ptr)

    def split(self, n_parts: int) -> list[TokenPartition]:
        if n_parts == 1:
            return [TokenPartition(self.tokens, self.n_topics)]
        return [self._group(number) for number in range(self.n_pieces)]

    def _group(self, number: int) -> TokenPartition:
        tokens = self.tokens
        ends, (start, stop) = tokens.word_ptr[number, [0, -1]], tokens.doc_bounds[number : number + 2]
        own = layout.Tokens(
            doc=tokens.doc[slice(*ends)] - np.int32(start), word_ptr=tokens.word_ptr[number : number + 1] - ends[0],
            doc_bounds=np.array([0, stop - start]), word_bounds=tokens.word_bounds,
            doc_length=tokens.doc_length[start:stop],
        )  # fmt: skip
        return TokenPartition(own, self.n_topics, number, int(ends[0]), int(start))


@dataclass
class TokenPartition:
    """The tokens of some groups of documents; documents and tokens count from 0."""

    tokens: layout.Tokens
    n_topics: int
    group: int = 0  # the number of its first group
    first: int = 0  # the number of its first token …
    first_document: int = 0  # … and document
    topic: np.ndarray | None = None  # (N,) uint16

    def kept(self) -> np.ndarray | None:
        return self.topic

    def holding(self, kept: np.ndarray | None, *, copied: bool) -> TokenPartition:
        return replace(self, topic=kept.copy() if copied and kept is not None else kept)

    def word_topic(self) -> np.ndarray:
        """(V, K) int32 counts of words by topic."""
        found = np.empty((self.tokens.word_ptr.shape[1] - 1, self.n_topics), dtype=np.int32)
        layout.count_words(self.tokens.word_ptr, self.topic, 0, len(found), found)
        return found

    def documents(self, dense: bool | None = None) -> layout.Documents:
        """Counts of documents by topic; dense ones are no lists."""
        assert self.topic is not None
        found = layout.count_topics(self.tokens, self.topic, self.n_topics, dense)
        if len(found.doc_topic) == 0:
            layout.sort_lists(*found[1:], 0, len(found.start))
        return found


def take_topics(partition: TokenPartition, backend: Backend, topic: np.ndarray) -> np.ndarray:
    """Set the topics of the tokens from those of all partitions; return the counts of words by topic (V, K)."""
    partition.topic = topic[partition.first : partition.first + len(partition.tokens.doc)].copy()
    return partition.word_topic()


def draw_step(
    partition: TokenPartition, backend: Backend, topics: np.ndarray, alpha: np.ndarray, which: np.ndarray, seed: int,
    sweep: int,
) -> np.ndarray:  # fmt: skip
    """Draw every token once, given the topics as distributions over words (V, K); return the counts (V, K)."""
    tokens, word_topic = partition.tokens, partition.word_topic()
    documents = partition.documents(True if len(alpha) > 1 else None)
    own = which[partition.first_document : partition.first_document + len(tokens.doc_length)]
    words, n_groups = tokens.word_bounds, len(tokens.word_bounds) - 1
    counts, scratch = word_topic.sum(axis=0, dtype=np.int64), layout.make_scratch(partition.n_topics)
    nothing = np.float32(0.0)  # of the topics' prior: they are given
    for place, row in enumerate(tokens.word_ptr):
        for epoch in range(n_groups):
            j = (partition.group + place + epoch) % n_groups
            sweep_task(
                (int(words[j]), int(words[j + 1])), row, tokens.doc, partition.topic, documents, word_topic, counts,
                topics, alpha, own, nothing, nothing, False, seed, sweep, partition.first, scratch,
            )  # fmt: skip
    return word_topic


@reads_only
def topics_of(partition: TokenPartition, backend: Backend) -> np.ndarray:
    assert partition.topic is not None
    return partition.topic


@reads_only
def histogram_of(partition: TokenPartition, backend: Backend) -> np.ndarray:
    return topic_histogram(partition.documents(), partition.n_topics, len(partition.tokens.doc_length))


@reads_only
def doc_topic_of(partition: TokenPartition, backend: Backend) -> np.ndarray:
    return partition.documents(True).doc_topic[:, : partition.n_topics]


def _add_padded(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The sum of two histograms, of which one may be longer."""
    short, long = sorted((one, other), key=lambda part: part.shape[1])
    return long + np.pad(short, ((0, 0), (0, long.shape[1] - short.shape[1])))


class SpreadTokens:
    """As `TokenTopics`, in partitions; topics are always given."""

    def __init__(self, tokens: layout.Tokens, n_topics: int, seed: int, backend: Backend) -> None:
        self.tokens, self.n_topics, self.seed, self.backend = tokens, n_topics, seed, backend
        self.lengths, self.n_tokens = tokens.doc_length, len(tokens.doc)
        self._spread = backend.spread(TokenGroups(tokens, n_topics))
        self._here = self.of_topics(n_topics)  # for what concerns no document
        self.seeds = Seeds.none()
        self._count(self._here.word_topic)

    def of_topics(self, n_topics: int) -> HostTokens:
        return HostTokens(self.tokens, n_topics, self.seed, self.backend)

    def take(self, topic: np.ndarray) -> None:
        self._count(total(self._spread.map(take_topics, topic)))

    def topic(self) -> np.ndarray:
        return np.concatenate(list(self._spread.map(topics_of)))

    def draw(
        self, number: int, alpha: np.ndarray, which: np.ndarray, prior: float, topics: np.ndarray | None = None
    ) -> None:
        self._count(total(self._spread.map(draw_step, topics, padded_alpha(alpha), which, self.seed, number)))

    def draw_topics(self, number: int, prior: float) -> np.ndarray:
        self._here.word_topic, self._here.topic_count = self.word_topic, self.topic_count
        return self._here.draw_topics(number, prior)

    def histogram(self) -> np.ndarray:
        return np.asarray(total(self._spread.map(histogram_of), _add_padded))

    def doc_topic(self) -> np.ndarray:
        return np.concatenate(list(self._spread.map(doc_topic_of)))

    def _count(self, word_topic: np.ndarray) -> None:
        self.seeds.add_to(word_topic)
        self.word_topic, self.topic_count = word_topic, word_topic.sum(axis=0, dtype=np.int64)


def spread_tokens(counts: sp.csr_matrix, n_topics: int, seed: int, backend: Backend) -> SpreadTokens:
    tokens = layout.lay_out(counts.indptr, counts.indices, counts.data, counts.shape[1])
    return SpreadTokens(tokens, n_topics, seed, backend)
