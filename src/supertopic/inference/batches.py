"""Documents in batches, partitions and blocks.

A batch is what one statistical step sees. A backend spreads it over partitions, and a partition is inferred block by
block, each small enough for the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend, Spread, reads_only
from supertopic.backends.cpu.entries import order_entries, thin
from supertopic.documents.corpus import lengths_of
from supertopic.documents.known import Known
from supertopic.inference.after.splits import Belonging
from supertopic.priors.base import Rows

_SHARE_BYTES = 8 << 20  # of entries' topic shares held at a time: a response has work per block, so they are not small
_PIECE, _PIECE_WORDS = 1 << 21, 48  # entries × topics and entries / words at least
_FEW_PIECES, _MOST_PIECES = 8, 256
_PLAIN_BYTES = 1 << 20  # held about a block's documents where there is no response: they stay in the second-level cache


class Block(NamedTuple):
    """Documents [start, stop) of a batch."""

    start: int
    stop: int


def rows_of(known: Any, rows: slice | np.ndarray) -> Any:
    """What is known of some of the documents."""
    if known is None or isinstance(known, Known):
        return None if known is None else known[rows]
    return {name: column[rows] for name, column in known.items()}


@dataclass
class Batch:
    """The documents of one step: the whole corpus in batch inference, a mini-batch in stochastic inference."""

    counts: sp.csr_matrix
    y: np.ndarray  # (D,) or, for several responses, (D, M); NaN where missing
    weight: np.ndarray  # (D,) of each document's response: sample weight times supervision
    n_topics: int
    covariates: np.ndarray | None = None  # (D, P) beside the topics in the linear predictor
    known: Any = None  # Known, or columns by name: what else is known of them
    belonging: Belonging | None = None  # which of them are never apart

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    @property
    def n_pieces(self) -> int:
        """Pieces that take longer to be worked on than a task takes to be sent, and topics and statistics to travel.

        The work grows with entries × topics, and what travels with words × topics. Many pieces are twice as large: they
        cost less, and there are enough of them for all workers.
        """
        least = max(_PIECE / self.n_topics, _PIECE_WORDS * self.counts.shape[1])
        small = self.counts.nnz // least
        return int(np.clip(max(min(small, _FEW_PIECES), small // 2), 1, _MOST_PIECES))

    def split(self, n_parts: int) -> list[Partition]:
        """Runs of documents with about as many entries each."""
        if n_parts == 1:
            return [Partition(self, slice(0, len(self)))]
        goals = np.linspace(0, self.counts.nnz, n_parts + 1)
        cuts = np.searchsorted(self.counts.indptr, goals)
        cuts[0], cuts[-1] = 0, len(self)
        return [Partition(self.rows(slice(a, b)), slice(a, b)) for a, b in pairwise(cuts.tolist())]

    def rows(self, rows: slice | np.ndarray, counts: sp.csr_matrix | None = None) -> Batch:
        """Some of the documents; their counts, where these are others."""
        covariates = None if self.covariates is None else self.covariates[rows]
        counts, known = self.counts[rows] if counts is None else counts, rows_of(self.known, rows)
        belonging = None if self.belonging is None else self.belonging[rows]
        return Batch(counts, self.y[rows], self.weight[rows], self.n_topics, covariates, known, belonging)

    def thinned(self, rows: np.ndarray, dropped: float, key: int) -> Batch:
        """Some of the documents, without a share of their entries that is drawn; the key decides which."""
        return self.rows(rows, thin(self.counts, rows, dropped, key))

    @cached_property
    def extra(self) -> np.ndarray:
        """The covariates; (D, 0) without any."""
        return np.zeros((len(self), 0)) if self.covariates is None else self.covariates

    @cached_property
    def lengths(self) -> np.ndarray:
        """(D,) tokens; infinity for an empty document, which has none that could vary."""
        lengths = lengths_of(self.counts)
        return np.where(lengths > 0, lengths, np.inf)

    @cached_property
    def n_tokens(self) -> float:
        return float(self.lengths[np.isfinite(self.lengths)].sum())

    @cached_property
    def longest(self) -> int:
        """Distinct words of the longest document."""
        return int(np.diff(self.counts.indptr).max(initial=0))

    def entries(self, block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(indptr, indices, counts) of a block's documents."""
        indptr = self.counts.indptr[block.start : block.stop + 1]
        own = slice(indptr[0], indptr[-1])
        return indptr - indptr[0], self.counts.indices[own], self.counts.data[own]

    @cached_property
    def blocks(self) -> list[Block]:
        """Blocks of which each entry's topic shares are held."""
        return self._cut(4 * self.n_topics, 0, _SHARE_BYTES)

    @cached_property
    def response_blocks(self) -> list[Block]:
        """Blocks of documents with a response, of which two factors of their entries' topic shares are held."""
        return self._cut(16, 8 * self.n_topics, _SHARE_BYTES)

    @cached_property
    def plain_blocks(self) -> list[Block]:
        """Blocks of which each document's topic shares are held, and of each entry a ratio, its place and document."""
        return self._cut(12, 4 * self.n_topics, _PLAIN_BYTES)

    def _cut(self, entry_bytes: int, document_bytes: int, most: int) -> list[Block]:
        """Runs of documents of at most `most` bytes (a longer document stands alone)."""
        size = entry_bytes * self.counts.indptr.astype(np.int64) + document_bytes * np.arange(len(self) + 1)
        blocks, start = [], 0
        while start < len(self):
            stop = int(np.searchsorted(size, size[start] + most, side="right")) - 1
            stop = min(max(stop, start + 1), len(self))
            blocks.append(Block(start, stop))
            start = stop
        return blocks


class EntryOrder:
    """A block's entries by word; one thread finds it while others infer the documents."""

    def __init__(self, batch: Batch, block: Block) -> None:
        self.batch, self.block = batch, block

    def find(self) -> None:
        self.by_word = order_entries(np.arange(*self.block), self.batch.counts)


@dataclass
class Locals:
    """What a local step found out about each document of its partition."""

    doc_topic: np.ndarray  # (D, K) float32: Dirichlet parameters gamma; for a mixture, the posterior of the topic
    score: np.ndarray  # (D, C) E[s] of each response column
    moment: np.ndarray  # (D, C) E[s²], or E[exp s] of a product column
    prior: Rows | None = None  # the alpha that the step was given
    log_theta: np.ndarray | None = None  # (R, K) sum of E[log theta] over the documents of each of its rows
    labelled: Any = None  # these documents as a regression sees them, once an M-step has asked

    @classmethod
    def empty(cls, n_documents: int, n_topics: int, n_columns: int) -> Locals:
        doc_topic = np.empty((n_documents, n_topics), dtype=np.float32)
        return cls(doc_topic, np.zeros((n_documents, n_columns)), np.zeros((n_documents, n_columns)))

    def copy(self) -> Locals:
        return Locals(self.doc_topic.copy(), self.score.copy(), self.moment.copy(), self.prior, self.log_theta)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "labelled": None}  # it can be made again


@dataclass
class Partition:
    """Some documents of a batch, and what local steps found out about them."""

    batch: Batch
    rows: slice  # of the whole batch
    found: Locals | None = None  # by the last local step
    before: Locals | None = None  # by the one before

    def kept(self) -> tuple[Locals | None, Locals | None]:
        return self.found, self.before

    def holding(self, kept: tuple[Locals | None, Locals | None] | None, *, copied: bool) -> Partition:
        found, before = kept or (None, None)
        if copied and found is not None:  # the one before it is never changed
            found = found.copy()
        return Partition(self.batch, self.rows, found, before)


@reads_only
def doc_topic_of(partition: Partition, backend: Backend) -> np.ndarray:
    """(D, K) what the last local step found, where it lies."""
    assert partition.found is not None
    return partition.found.doc_topic


def gather(spread: Spread) -> np.ndarray:
    """(D, K) `doc_topic` of all documents; of a single partition, where it lies."""
    parts = list(spread.map(doc_topic_of))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def continue_from(partition: Partition, backend: Backend, doc_topic: np.ndarray, n_columns: int) -> None:
    """Let the next step start its documents from `doc_topic` (D, K) of the whole batch."""
    whole = len(doc_topic) == len(partition.batch)
    own = backend.ops.place(doc_topic if whole else doc_topic[partition.rows])
    partition.found = Locals(own, np.zeros((len(own), n_columns)), np.zeros((len(own), n_columns)))


def mini_batches(batch: Batch, size: int, seed: int, epoch: int) -> Iterator[Batch]:
    """One epoch in mini-batches of `size`, in an order that seed and epoch alone decide."""
    order = np.random.default_rng([seed, 2, epoch]).permutation(len(batch))
    for first in range(0, len(order), size):
        yield batch.rows(np.sort(order[first : first + size]))


def labelled(batch: Batch) -> np.ndarray:
    """(D,) which documents have a label that counts."""
    return (batch.weight > 0) & ~np.isnan(batch.y.reshape(len(batch), -1)).all(axis=1)
