"""Documents on the device, whole or in batches, each with its entries in the order of words.

Batches are made many at a time. To start a kernel takes the host longer than most of them run, and small batches are
many.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from supertopic.backends.cuda.arrays import Matrix, warps
from supertopic.backends.cuda.kernels import order, thinning
from supertopic.backends.cuda.kernels.word_sums import RUN, add_runs, add_words, multiply_words, subtract_runs
from supertopic.backends.cuda.memory import empty, part_of, sent

_COUNTED = 1 << 26  # numbers that counting entries by part and word takes at most
_MADE = 1 << 25  # entries of the batches that are made at a time, but for a batch that has more
_MOST_BATCHES = 65_535  # at a time: blocks of a kernel in its second direction
_PART = 32  # documents that one warp counts at least


class ByWord(NamedTuple):
    """Entries in the order of words, then of documents, in runs of one word each; arrays on the device."""

    word_runs: Any  # (V + 1,) the first run of each word
    run_start: Any  # where each run begins in the next two; runs that no word needs are empty ones at the end
    entry: Any
    doc: Any  # which of the documents


class Documents:
    """A CSR matrix of counts on the device, with an order of the documents, longest first.

    Entries of a batch may be some of those in its arrays: where a document begins and ends there, `indptr` says.
    """

    rows: Any  # (D,) on the device: which of all documents they are, where they are some of them

    def __init__(self, lengths: np.ndarray, n_entries: int, csr: tuple[Any, Any, Any, Any], n_words: int) -> None:
        """lengths : (D,) entries of each document, or more, on the host; n_entries : room for entries in the arrays

        csr : arrays on the device, which every kernel takes first
        """
        self._lengths, self.n_entries, self.csr, self.n_words = lengths, n_entries, csr, n_words
        self.order, self.indptr, self.indices, self.counts = csr
        self.n_documents = len(lengths)

    @classmethod
    def of(cls, indptr: np.ndarray, indices: np.ndarray, counts: np.ndarray, n_words: int) -> Documents:
        """Of arrays on the host."""
        lengths, first = np.diff(indptr), sent(_longest_first(np.diff(indptr)), np.int32)
        arrays = (first, sent(indptr, np.int64), sent(indices, np.int32), sent(counts, np.float32))
        return cls(lengths, len(indices), arrays, n_words)

    def in_batches(self, batches: list[np.ndarray], dropped: float = 0.0, key: int = 0) -> Iterator[Documents]:
        """Some of the documents after others, without a share of their entries that is drawn; the key decides which."""
        most, n_entries = int(np.clip(_COUNTED // self.n_words, 1, _MOST_BATCHES)), 0
        together: list[np.ndarray] = []
        for rows in batches:
            size = int(self._lengths[rows].sum())
            if together and (len(together) == most or n_entries + size > _MADE):
                yield from self._make(together, dropped, key)
                together, n_entries = [], 0
            together.append(rows)
            n_entries += size
        if together:
            yield from self._make(together, dropped, key)

    def _make(self, batches: list[np.ndarray], dropped: float, key: int) -> Iterator[Documents]:
        ends = np.cumsum([0, *map(len, batches)])
        of_all, lengths = np.concatenate(batches), [self._lengths[rows] for rows in batches]
        rows, orders = sent(of_all, np.int64), sent(np.concatenate([_longest_first(one) for one in lengths]), np.int32)
        n_documents, drawn = len(of_all), (np.uint64(key), np.float32(dropped))
        n_entries = np.array([one.sum() for one in lengths], dtype=np.int64)
        room = int(n_entries.sum())
        kept, indptr = empty(n_documents, np.int32), empty(n_documents + 1, np.int64)
        indices, counts = empty(room, np.int32), empty(room)
        thinning.count_kept[warps(n_documents)](rows, self.indptr, *drawn, kept)
        order.add_up[1, order.THREADS](n_documents, kept, 1, indptr)
        thinning.copy_kept[warps(n_documents)](rows, *self.csr[1:], *drawn, indptr, indices, counts)
        by_word = _order(ends, indptr, indices, self.n_words, n_entries)
        for (first, last), own, ordered in zip(pairwise(ends), lengths, by_word, strict=True):
            arrays = (part_of(orders, first, last), part_of(indptr, first, last + 1), indices, counts)
            found = Documents(own, room, arrays, self.n_words)
            found.rows, found.by_word = part_of(rows, first, last), ordered
            yield found

    @cached_property
    def by_word(self) -> ByWord:
        ends, n_entries = np.array([0, self.n_documents]), np.array([self.n_entries])
        return next(_order(ends, self.indptr, self.indices, self.n_words, n_entries))

    def add_by_word(self, factor: Any, theta: Matrix, weights: Matrix, out: Matrix) -> None:
        """out_wk = weights_wk sum over the entries e of word w of factor_e theta_dk."""
        given = (self.by_word.word_runs, self.runs(add_runs, theta, factor, theta.flat))
        multiply_words[len(out), out.width](*given, weights.flat, out.width, out.flat)
        out.changed()

    def subtract_by_word(self, plus: tuple[Any, Matrix], minus: tuple[Any, Matrix], out: Matrix) -> None:
        """out_wk = the difference of two sums over the entries of word w of factor_e theta_dk."""
        (by, theta), (less, other) = plus, minus
        given = (self.by_word.word_runs, self.runs(subtract_runs, theta, by, theta.flat, less, other.flat))
        add_words[len(out), out.width](*given, out.width, out.flat)
        out.changed()

    def runs(self, kernel: Any, theta: Matrix, *arguments: Any) -> Any:
        """(runs · width) what a kernel adds up over the entries of each run."""
        _, run_start, entry, doc = self.by_word
        n_runs = len(run_start) - 1
        sums = empty(n_runs * theta.width)
        kernel(theta.registers)[warps(n_runs)](run_start, entry, doc, *arguments, sums)
        return sums


def _order(ends: np.ndarray, indptr: Any, indices: Any, n_words: int, n_entries: np.ndarray) -> Iterator[ByWord]:
    """Entries of each batch in the order of words.

    ends : (B + 1,) the first document of each batch; n_entries : (B,) entries of each, or more
    """
    n_batches, sizes = len(ends) - 1, np.diff(ends)
    n_parts = max(min(_COUNTED // (n_batches * n_words), -(-int(sizes.max()) // _PART)), 1)  # of each batch
    first = (ends[:-1, None] + sizes[:, None] * np.arange(n_parts) // n_parts).ravel()
    part_start = sent(np.append(first, ends[-1]), np.int64)
    given = (n_parts, part_start, indptr, indices, n_words)
    counts, by_word = empty(n_batches * n_parts * n_words, np.int32), empty(n_batches * n_words, np.int32)
    order.count_entries[warps(n_batches * n_parts)](*given[1:], counts)
    order.add_up_parts[(-(-n_words // 32), n_batches), 32](n_parts, n_words, counts, by_word)
    start, word_runs = (empty(n_batches * (n_words + 1), np.int64) for _ in range(2))
    for unit, places in ((1, start), (RUN, word_runs)):
        order.add_up[n_batches, order.THREADS](n_words, by_word, unit, places)
    n_runs = n_entries // RUN + n_words  # at most: each word has one that is not full
    of_batch = np.cumsum([0, *(n_runs + 1)])
    run_start, n_all = empty(of_batch[-1], np.int64), int(n_entries.sum())
    entry, doc = (empty(n_all, np.int32) for _ in range(2))
    order.begin_runs[(-(-int(n_runs.max() + 1) // 32), n_batches), 32](
        n_parts, part_start, indptr, n_words, start, word_runs, RUN, sent(of_batch, np.int64), run_start
    )
    order.place_entries[warps(n_batches * n_parts)](*given, start, counts, entry, doc)
    for batch in range(n_batches):
        of_words = part_of(word_runs, batch * (n_words + 1), (batch + 1) * (n_words + 1))
        yield ByWord(of_words, part_of(run_start, of_batch[batch], of_batch[batch + 1]), entry, doc)


def _longest_first(lengths: np.ndarray) -> np.ndarray:
    """Documents by length, where a length above 65,535 is as good as any other: NumPy sorts short numbers quickly."""
    return np.argsort(np.uint16(65535) - np.minimum(lengths, 65535).astype(np.uint16), kind="stable")
