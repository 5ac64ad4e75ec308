"""Documents cut into batches and blocks: what one statistical step sees, and what fits in the cache at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

_SHARE_BYTES = 8 << 20  # of responsibilities held at a time: about the second-level cache, and little memory


@dataclass
class Block:
    """Documents [start, stop) of a batch, with its entries also in the order of their words."""

    start: int
    stop: int
    words: np.ndarray  # distinct words
    word_start: np.ndarray  # where each word's entries begin in `order`, and the end
    order: np.ndarray  # entries (counted from the block's first), by word


@dataclass
class Batch:
    """The documents of one step: the whole corpus in batch inference, a mini-batch in stochastic inference."""

    counts: sp.csr_matrix
    y: np.ndarray  # (D,) or, for several responses, (D, M); NaN where missing
    weight: np.ndarray  # (D,) of each document's response: sample weight times supervision
    n_topics: int
    covariates: np.ndarray | None = None  # (D, P) beside the topics in the linear predictor

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    @cached_property
    def extra(self) -> np.ndarray:
        """The covariates; (D, 0) without any."""
        return np.zeros((len(self), 0)) if self.covariates is None else self.covariates

    @cached_property
    def lengths(self) -> np.ndarray:
        """(D,) tokens; infinity for an empty document, which has none that could vary."""
        lengths = np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()
        return np.where(lengths > 0, lengths, np.inf)

    @cached_property
    def longest(self) -> int:
        """Distinct words of the longest document."""
        return int(np.diff(self.counts.indptr).max(initial=0))

    @cached_property
    def blocks(self) -> list[Block]:
        """Runs of documents whose responsibilities take at most a few megabytes (a longer document stands alone)."""
        indptr = self.counts.indptr
        entries = max(1, _SHARE_BYTES // (4 * self.n_topics))
        blocks, start = [], 0
        while start < len(self):
            stop = int(np.searchsorted(indptr, indptr[start] + entries, side="right")) - 1
            stop = min(max(stop, start + 1), len(self))
            blocks.append(_block(self.counts, start, stop))
            start = stop
        return blocks


def _block(counts: sp.csr_matrix, start: int, stop: int) -> Block:
    indices = counts.indices[counts.indptr[start] : counts.indptr[stop]]
    order = np.argsort(indices, kind="stable").astype(np.int32)
    words, first = np.unique(indices[order], return_index=True)
    return Block(start, stop, words, np.append(first, len(order)).astype(np.int32), order)


def mini_batches(
    counts: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, n_topics: int, size: int, seed: int, epoch: int,
    covariates: np.ndarray | None = None,
) -> Iterator[Batch]:  # fmt: skip
    """One epoch in mini-batches of `size`, in an order that seed and epoch alone decide."""
    order = np.random.default_rng([seed, 2, epoch]).permutation(counts.shape[0])
    for first in range(0, len(order), size):
        rows = np.sort(order[first : first + size])
        some = None if covariates is None else covariates[rows]
        yield Batch(counts[rows], y[rows], weight[rows], n_topics, some)
