"""Arrays on the device: matrices with a row per word or document, and documents by document and by word.

A row of K topics takes the next multiple of 32 places, one for each lane of a warp. What stands beyond the topics is
zero, or a number that changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np

from supertopic.backends.cuda.kernels import order, thinning, topics
from supertopic.backends.cuda.kernels.lanes import WARPS
from supertopic.backends.cuda.kernels.word_sums import RUN, add_differences, add_runs, add_words
from supertopic.backends.cuda.memory import empty, sent

MOST_TOPICS = 1024
_COUNTED = 1 << 26  # numbers that counting entries by part and word takes at most
_PART = 32  # documents that one warp counts at least


def width_of(n_topics: int) -> int:
    """Places that a row of K topics takes."""
    return -(-n_topics // 32) * 32


def padded(values: np.ndarray, fill: float = 0.0, dtype: Any = np.float32) -> np.ndarray:
    """(…, K) with the last axis filled up to its width."""
    n_topics = values.shape[-1]
    found = np.full((*values.shape[:-1], width_of(n_topics)), fill, dtype=dtype)
    found[..., :n_topics] = values
    return found


def warps(n: int) -> tuple[int, tuple[int, int]]:
    """Blocks and threads of a kernel with a warp for each of n items."""
    return max(-(-n // WARPS), 1), (32, WARPS)


class Matrix:
    """(n, K) float32 on the device; NumPy gets a copy (`np.asarray`)."""

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, flat: Any, n_rows: int, n_topics: int) -> None:
        self.flat, self.shape, self.width = flat, (n_rows, n_topics), width_of(n_topics)
        self._packed: Any = None
        self._packed_is_new = False

    @classmethod
    def empty(cls, n_rows: int, n_topics: int) -> Self:
        return cls(empty(n_rows * width_of(n_topics)), n_rows, n_topics)

    @classmethod
    def of(cls, values: Any) -> Any:
        """The matrix itself, or a copy of an array of the host."""
        if isinstance(values, Matrix):
            return values
        found = cls.empty(*values.shape)
        if found.shape[0]:
            found.flat = sent(padded(np.asarray(values)), np.float32)
        return found

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        n_rows, n_topics = self.shape
        found = np.asarray(self.flat.copy_to_host())[: n_rows * self.width].reshape(n_rows, self.width)[:, :n_topics]
        return np.ascontiguousarray(found, dtype=dtype or np.float32)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's `empty_like` makes another matrix of the device; all else sees a copy on the host."""
        if function is np.empty_like:
            return Matrix.empty(*self.shape)
        return function(*(np.asarray(one) if isinstance(one, Matrix) else one for one in args), **kwargs)

    def __imul__(self, factor: float) -> Self:
        self.by_topic(topics.multiply, float(factor), self.width, self.flat)
        return self

    def fill(self, value: float) -> None:
        self.by_topic(topics.fill, value, self.width, self.flat)

    def __getitem__(self, rows: Any) -> np.ndarray:
        return np.asarray(self)[rows]

    def copy(self) -> Matrix:
        found = Matrix.empty(*self.shape)
        found.flat.copy_to_device(self.flat)
        return found

    @property
    def registers(self) -> int:
        return self.width // 32

    @property
    def n_parts(self) -> int:
        """Blocks of a kernel over all rows."""
        return max(-(-self.shape[0] // topics.PART), 1)

    def by_topic(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel that has a thread for each topic, over all rows."""
        kernel[self.n_parts, self.width](self.shape[0], *arguments)

    def sums(self, kernel: Any, *arguments: Any) -> np.ndarray:
        """(K,) what a kernel adds up by topic; it writes a row for each of its parts, added here in their order."""
        parts = empty(self.n_parts * self.width, np.float64)
        self.by_topic(kernel, *arguments, parts)
        found = np.asarray(parts.copy_to_host()).reshape(self.n_parts, self.width)
        return found.sum(axis=0)[: self.shape[1]]

    def changed(self) -> None:
        """The numbers are new: the packed ones are not theirs any more."""
        self._packed_is_new = False

    @property
    def packed(self) -> Any:
        """The rows in bfloat16, two topics in a number."""
        pairs = (self.registers + 1) // 2
        if self._packed is None:
            self._packed = empty(self.shape[0] * 32 * pairs, np.uint32)
        if not self._packed_is_new:
            self._packed_is_new = True
            topics.pack[self.n_parts, 32 * pairs](self.shape[0], self.flat, self.width, pairs, self._packed)
        return self._packed


class Documents:
    """A CSR matrix of counts on the device: the documents, longest first, and their entries in the order of words.

    Its arrays may have room for more entries than there are.
    """

    rows: Any  # (D,) on the device: which of all documents they are, where they are some of them
    _parts_of: tuple[Any, Any]  # what `rows` and `order` are parts of

    def __init__(self, lengths: np.ndarray, csr: tuple[Any, Any, Any, Any], n_words: int) -> None:
        """lengths : (D,) entries of each document, or more, on the host; csr : arrays on the device."""
        self._lengths, self.csr, self.n_words = lengths, csr, n_words  # `csr` is what every kernel takes first
        self.order, self.indptr, self.indices, self.counts = csr
        self.n_documents, self.n_entries = len(lengths), int(lengths.sum())

    @classmethod
    def of(cls, indptr: np.ndarray, indices: np.ndarray, counts: np.ndarray, n_words: int) -> Documents:
        """Of arrays on the host."""
        lengths, order = np.diff(indptr), sent(_longest_first(np.diff(indptr)), np.int32)
        return cls(lengths, (order, sent(indptr, np.int64), sent(indices, np.int32), sent(counts, np.float32)), n_words)

    def thinned(self, parts: list[np.ndarray], dropped: float, key: int) -> Iterator[Documents]:
        """Some of the documents after others, without a share of their entries that is drawn; the key decides which.

        The rows of all parts are sent at once, so that the device need not stop for each part.
        """
        drawn = (np.uint64(key), np.float32(dropped))
        of_all = sent(np.concatenate(parts), np.int64)
        orders = sent(np.concatenate([_longest_first(self._lengths[rows]) for rows in parts]), np.int32)
        ends = np.cumsum([len(rows) for rows in parts]).tolist()
        for part, end in zip(parts, ends, strict=True):
            own, lengths = slice(end - len(part), end), self._lengths[part]
            rows, n_entries = of_all[own], int(lengths.sum())
            kept, indptr = empty(len(part), np.int32), empty(len(part) + 1, np.int64)
            indices, counts = empty(n_entries, np.int32), empty(n_entries)
            thinning.count_kept[warps(len(part))](rows, self.indptr, *drawn, kept)
            order.add_up[1, order.THREADS](len(part), kept, 1, indptr)
            thinning.copy_kept[warps(len(part))](rows, *self.csr[1:], *drawn, indptr, indices, counts)
            found = Documents(lengths, (orders[own], indptr, indices, counts), self.n_words)
            found.rows = rows
            found._parts_of = (
                of_all,
                orders,
            )  # a part of an array does not keep the array's memory from being used again
            yield found

    @cached_property
    def by_word(self) -> tuple[Any, Any, Any, Any]:
        """(the first run of each word, where each run begins, entry, document), in the order of words.

        Within a word, entries are in the order of documents.
        """
        n_words, n_parts = self.n_words, max(min(_COUNTED // self.n_words, -(-self.n_documents // _PART)), 1)
        size = max(-(-self.n_documents // n_parts), 1)
        given = (size, self.indptr, self.indices, n_words)
        counts, sizes = empty(n_parts * n_words, np.int32), empty(n_words, np.int32)
        order.count_entries[warps(n_parts)](*given, counts)
        order.add_up_parts[-(-n_words // 32), 32](-(-self.n_documents // size), n_words, counts, sizes)
        start, word_runs = empty(n_words + 1, np.int64), empty(n_words + 1, np.int64)
        for unit, places in ((1, start), (RUN, word_runs)):
            order.add_up[1, order.THREADS](n_words, sizes, unit, places)
        n_runs = self.n_entries // RUN + n_words  # at most: each word has one that is not full
        run_start = empty(n_runs + 1, np.int64)
        entry, doc = (empty(self.n_entries, np.int32) for _ in range(2))
        order.begin_runs[-(-(n_runs + 1) // 32), 32](n_words, start, word_runs, RUN, run_start)
        order.place_entries[warps(n_parts)](*given, start, counts, entry, doc)
        return word_runs, run_start, entry, doc

    def add_by_word(self, factor: Any, theta: Matrix, weights: Matrix, out: Matrix) -> None:
        """out_wk = weights_wk sum over the entries e of word w of factor_e theta_dk."""
        word_runs, sums = self._runs(factor, theta)
        add_words[len(out), out.width](word_runs, sums, weights.flat, out.width, out.flat)
        out.changed()

    def subtract_by_word(self, plus: tuple[Any, Matrix], minus: tuple[Any, Matrix], out: Matrix) -> None:
        """out_wk = the difference of two sums over the entries of word w of factor_e theta_dk."""
        word_runs, added = self._runs(*plus)
        taken = self._runs(*minus)[1]
        add_differences[len(out), out.width](word_runs, added, taken, out.width, out.flat)
        out.changed()

    def _runs(self, factor: Any, theta: Matrix) -> tuple[Any, Any]:
        word_runs, run_start, entry, doc = self.by_word
        n_runs = len(run_start) - 1
        sums = empty(n_runs * theta.width)
        add_runs(theta.registers)[warps(n_runs)](run_start, entry, doc, factor, theta.flat, sums)
        return word_runs, sums


def _longest_first(lengths: np.ndarray) -> np.ndarray:
    """Documents by length, where a length above 65,535 is as good as any other: NumPy sorts short numbers quickly."""
    return np.argsort(np.uint16(65535) - np.minimum(lengths, 65535).astype(np.uint16), kind="stable")
