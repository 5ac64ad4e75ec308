"""Documents as a predictor takes them: texts, or counts, become the words and counts of each document."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

_ROOM = 1 << 18  # numbers of a block: its weights stay in the cache of a core


class Block(NamedTuple):
    """Documents of about one length, in rows that zeros fill up."""

    rows: np.ndarray  # (B,) which documents
    words: np.ndarray  # (B, n) columns of the vocabulary
    counts: np.ndarray  # (B, n) float32


@dataclass(frozen=True, eq=False)
class Documents:
    """The counts n[d, v] of D documents, sparse: `words` and `counts` of document d from ends[d] to ends[d + 1]."""

    ends: np.ndarray  # (D + 1,)
    words: np.ndarray  # (nnz,)
    counts: np.ndarray  # (nnz,) float32

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def lengths(self) -> np.ndarray:
        """(D,) tokens, float64."""
        total = np.concatenate([[0.0], np.cumsum(self.counts, dtype=np.float64)])
        return total[self.ends[1:]] - total[self.ends[:-1]]

    def seen(self, log_counts: bool) -> Documents:
        """As topics see them: log2(1 + count) for every count, or the counts."""
        return Documents(self.ends, self.words, np.log2(np.float32(1.0) + self.counts)) if log_counts else self

    def blocks(self, n_topics: int) -> Iterator[Block]:
        """All documents that have words, those of about one length together."""
        if len(self.ends) == 2:
            if len(self.words):
                yield Block(np.zeros(1, dtype=np.intp), self.words[None], self.counts[None])
            return
        distinct = np.diff(self.ends)
        order = np.argsort(distinct, kind="stable")[np.count_nonzero(distinct == 0) :]
        first = 0
        while first < len(order):
            longest = int(distinct[order[first]] * 1.25) + 2  # a fifth of a row is zeros at most, but for short ones
            most = max(_ROOM // (longest * n_topics), 1)
            last = min(int(np.searchsorted(distinct[order], longest, side="right")), first + most)
            yield self._block(order[first:last])
            first = last

    def _block(self, rows: np.ndarray) -> Block:
        starts, sizes = self.ends[rows], self.ends[rows + 1] - self.ends[rows]
        columns = np.arange(int(sizes.max()))
        there = columns < sizes[:, None]
        places = np.where(there, starts[:, None] + columns, 0)
        return Block(rows, np.where(there, self.words[places], 0), np.where(there, self.counts[places], np.float32(0)))


def of_texts(texts: list[str], terms: Callable[[str], list[str]], columns: Mapping[str, int]) -> Documents:
    """Count the known terms of texts."""
    ids, ends, get = array("q"), [0], columns.get
    for text in texts:
        ids.extend(map(get, terms(text), repeat(-1)))
        ends.append(len(ids))
    found, bounds = np.array(ids, dtype=np.int64), np.array(ends)
    known = found >= 0
    if len(texts) == 1:  # a request
        word, times = np.unique(found[known], return_counts=True)
        return Documents(np.array([0, len(word)]), word, times.astype(np.float32))
    keys = np.repeat(np.arange(len(texts)), np.diff(bounds))[known] * len(columns) + found[known]
    different, times = np.unique(keys, return_counts=True)
    document, word = np.divmod(different, max(len(columns), 1))
    ends_of = np.searchsorted(document, np.arange(len(texts) + 1))
    return Documents(ends_of, word, times.astype(np.float32))


def of_counts(X: Any, n_words: int) -> Documents:
    """From a sparse matrix of SciPy, or from a table of numbers (D, V)."""
    sparse = hasattr(X, "tocsr")
    shape, kind = (X.shape, X.dtype.kind) if sparse else (np.shape(X), np.asarray(X).dtype.kind)
    if len(shape) != 2 or shape[1] != n_words or kind not in "iufb":
        raise ValueError(f"X: got an array of shape {shape}, expected counts of shape (documents, {n_words})")
    if sparse:
        found = X.tocsr(copy=True)
        found.sum_duplicates()
        found.eliminate_zeros()
        ends, words, counts = found.indptr, found.indices, np.asarray(found.data)
    else:
        table = np.asarray(X)
        rows, words = np.nonzero(table)
        ends, counts = np.searchsorted(rows, np.arange(len(table) + 1)), table[rows, words]
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise ValueError("X: got counts that are negative, NaN or infinite, expected numbers >= 0")
    return Documents(np.asarray(ends, np.int64), np.asarray(words, np.int64), counts.astype(np.float32))
