"""The entries of a CSR matrix of counts, in the order of words, and without some that are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from supertopic.kernels.thinning import copy_kept, count_kept
from supertopic.kernels.word_sums import order_by_word

if TYPE_CHECKING:
    from supertopic.backends.base import Backend

_THINNED_AT_ONCE = 8  # batches, by threads side by side


class ByWord(NamedTuple):
    """The entries of some documents in the order of their words."""

    words: np.ndarray  # distinct words
    start: np.ndarray  # where each word begins in the next two, and the end
    entry: np.ndarray  # entries, counted over these documents
    doc: np.ndarray  # which of these documents


def order_entries(documents: np.ndarray, counts: sp.csr_matrix) -> ByWord:
    """Entries of the documents named, by word: quick enough to be done each time, and never kept."""
    n_entries = int((counts.indptr[documents + 1] - counts.indptr[documents]).sum(dtype=np.int64))
    most = min(n_entries, counts.shape[1])
    words, start, entry, doc = (np.empty(n, dtype=np.int32) for n in (most, most + 1, n_entries, n_entries))
    place = np.zeros(counts.shape[1], dtype=np.int32)
    n_words = order_by_word(documents, counts.indptr, counts.indices, place, words, start, entry, doc)
    return ByWord(words[:n_words], start[: n_words + 1], entry, doc)


def thin(counts: sp.csr_matrix, rows: np.ndarray, dropped: float, key: int) -> sp.csr_matrix:
    """Some of the documents, without a share of their entries that is drawn; the key decides which."""
    drawn = np.uint64(key), np.float32(dropped)
    indptr = np.zeros(len(rows) + 1, dtype=counts.indptr.dtype)
    count_kept(rows, counts.indptr, *drawn, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices, data = (np.empty(indptr[-1], dtype=old.dtype) for old in (counts.indices, counts.data))
    copy_kept(rows, counts.indptr, counts.indices, counts.data, *drawn, indptr, indices, data)
    return sp.csr_matrix((data, indices, indptr), shape=(len(rows), counts.shape[1]))


def thinned(
    counts: sp.csr_matrix, batches: list[np.ndarray], dropped: float, key: int, backend: Backend
) -> Iterator[sp.csr_matrix]:
    """One batch after another, given their rows."""
    for first in range(0, len(batches), _THINNED_AT_ONCE):
        some = batches[first : first + _THINNED_AT_ONCE]
        found = [counts] * len(some)

        def make(i: int, some: list[np.ndarray] = some, found: list[sp.csr_matrix] = found) -> None:
            found[i] = thin(counts, some[i], dropped, key)

        backend.all([(make, i) for i in range(len(some))])
        yield from found
