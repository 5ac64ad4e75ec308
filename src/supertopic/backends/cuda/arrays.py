"""Arrays on the device: matrices with a row per word or document, and documents by document and by word.

A row of K topics takes the next multiple of 32 places, one for each lane of a warp. What stands beyond the topics is
zero, or a number that changes nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from supertopic.backends.cuda.kernels import order, topics
from supertopic.backends.cuda.kernels.lanes import WARPS
from supertopic.backends.cuda.kernels.word_sums import RUN, add_differences, add_runs, add_words
from supertopic.backends.cuda.memory import empty, sent
from supertopic.kernels.word_sums import order_by_word

MOST_TOPICS = 1024
_FEW = 1 << 20  # entries that the host puts in the order of words
_COUNTED = 1 << 26  # numbers that counting entries by part and word takes


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
    """A CSR matrix of counts on the device: the documents, longest first, and their entries in the order of words."""

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, counts: np.ndarray, n_words: int) -> None:
        self._indptr, self._indices = indptr, indices
        self.n_documents, self.n_words, self.n_entries = len(indptr) - 1, n_words, int(indptr[-1])
        self.order = sent(np.argsort(-np.diff(indptr), kind="stable"), np.int32)
        self.indptr = sent(indptr, np.int64)
        self.indices, self.counts = (
            (sent(indices, np.int32), sent(counts, np.float32)) if self.n_entries else (empty(1, np.int32), empty(1))
        )

    @property
    def csr(self) -> tuple[Any, Any, Any, Any]:
        """What every kernel over documents takes first."""
        return self.order, self.indptr, self.indices, self.counts

    @cached_property
    def by_word(self) -> tuple[Any, Any, Any, Any, Any]:
        """(words, the runs of each word, where each run begins, entry, document), in the order of words."""
        size, entry, doc = self._ordered()
        words = np.flatnonzero(size)
        runs = -(-size[words] // RUN)
        word_runs = np.concatenate([[0], np.cumsum(runs)])
        within = np.arange(word_runs[-1]) - np.repeat(word_runs[:-1], runs)
        start = np.concatenate([[0], np.cumsum(size[words])])
        run_start = np.append(np.repeat(start[:-1], runs) + RUN * within, start[-1])
        return sent(words, np.int32), sent(word_runs, np.int64), sent(run_start, np.int64), entry, doc

    def _ordered(self) -> tuple[np.ndarray, Any, Any]:
        """(entries of each word, entry, document): both in the order of words, and within a word in that of documents.

        Few entries are put in order here; many on the device, by a thread for each run of documents.
        """
        if self.n_entries < _FEW:
            words, start, entry, doc = np.zeros((4, self.n_entries + 1), dtype=np.int32)
            place = np.zeros(self.n_words, dtype=np.int32)
            given = (np.arange(self.n_documents), self._indptr, self._indices, place, words, start, entry, doc)
            n_words = order_by_word(*given)
            size = np.zeros(self.n_words, dtype=np.int64)
            size[words[:n_words]] = np.diff(start[: n_words + 1])
            return size, sent(entry[:-1], np.int32), sent(doc[:-1], np.int32)
        n_parts = int(np.clip(_COUNTED // self.n_words, 32, 4096))
        cuts = np.searchsorted(self._indptr, np.linspace(0, self.n_entries, n_parts + 1))
        cuts[0], cuts[-1] = 0, self.n_documents
        counts = sent(np.zeros(n_parts * self.n_words), np.int32)
        sizes, blocks = empty(self.n_words, np.int64), -(-n_parts // 32)
        order.count_entries[blocks, 32](sent(self._indptr[cuts], np.int64), self.indices, self.n_words, counts)
        order.add_up_parts[-(-self.n_words // 32), 32](n_parts, self.n_words, counts, sizes)
        size = np.asarray(sizes.copy_to_host())
        start = sent(np.cumsum(size) - size, np.int64)
        entry, doc = empty(self.n_entries, np.int32), empty(self.n_entries, np.int32)
        order.place_entries[blocks, 32](
            sent(cuts, np.int64), self.indptr, self.indices, self.n_words, start, counts, entry, doc
        )
        return size, entry, doc

    def add_by_word(self, factor: Any, theta: Matrix, weights: Matrix, out: Matrix) -> None:
        """out_wk = weights_wk sum over the entries e of word w of factor_e theta_dk; zero for words without entries."""
        out.fill(0.0)
        if self.n_entries:
            words, word_runs, sums = self._runs(factor, theta)
            add_words[len(words), out.width](words, word_runs, sums, weights.flat, out.width, out.flat)
        out.changed()

    def subtract_by_word(self, plus: tuple[Any, Matrix], minus: tuple[Any, Matrix], out: Matrix) -> None:
        """out_wk = the difference of two sums over the entries of word w of factor_e theta_dk."""
        out.fill(0.0)
        if self.n_entries:
            words, word_runs, added = self._runs(*plus)
            taken = self._runs(*minus)[2]
            add_differences[len(words), out.width](words, word_runs, added, taken, out.width, out.flat)
        out.changed()

    def _runs(self, factor: Any, theta: Matrix) -> tuple[Any, Any, Any]:
        words, word_runs, run_start, entry, doc = self.by_word
        n_runs = len(run_start) - 1
        sums = empty(n_runs * theta.width)
        add_runs(theta.registers)[warps(n_runs)](run_start, entry, doc, factor, theta.flat, sums)
        return words, word_runs, sums
