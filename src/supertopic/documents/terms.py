"""Term frequencies, counted in blocks of some million tokens; new terms are added to a table."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

_BLOCK_TOKENS = 1 << 21  # tokens kept as a list of ids before they are summed into counts


class TermTable:
    """df_v and tf_v of the terms seen so far; memory grows with the terms, not with the documents.

    When the table has more than `limit` terms, those with the smallest df are dropped until it is half empty.
    `lost` is an upper bound on the documents missing from a df because of this.
    """

    def __init__(self, limit: int | None):
        self.limit = limit
        self.n_documents = self.n_pruned = self.lost = 0
        self.df, self.tf = np.zeros(1024, dtype=np.int64), np.zeros(1024)
        self._renew({})

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, texts: Iterable[str], tokenise: Callable[[str], list[str]]) -> Iterator[sp.csr_matrix]:
        """Count some documents; yields their counts, numbered as in the table (invalid after pruning)."""

        def grow(tokens: list[str]) -> Iterator[int]:
            return map(self.ids.__getitem__, tokens)

        for ids, indptr in id_blocks(texts, tokenise, grow):
            block = count_ids(ids, indptr, len(self))
            while len(self.df) < len(self):
                self.df, self.tf = np.resize(self.df, 2 * len(self.df)), np.resize(self.tf, 2 * len(self.tf))
                self.df[len(self.df) // 2 :], self.tf[len(self.tf) // 2 :] = 0, 0
            self.df[: len(self)] += np.bincount(block.indices, minlength=len(self))
            self.tf[: len(self)] += np.bincount(block.indices, block.data, minlength=len(self))
            self.n_documents += block.shape[0]
            yield block
            if self.limit is not None and len(self) > self.limit:
                self._prune(self.limit // 2)

    def _prune(self, room: int) -> None:
        """Keep the `room` terms with the largest df, or fewer in case of ties."""
        df = self.df[: len(self)]
        first_out = len(df) - room - 1
        floor = int(np.partition(df, first_out)[first_out])
        kept = np.flatnonzero(df > floor)
        self.lost += floor
        self.n_pruned += len(self) - len(kept)
        terms = list(self.ids)
        self.df[: len(kept)], self.tf[: len(kept)] = self.df[kept], self.tf[kept]
        self.df[len(kept) :], self.tf[len(kept) :] = 0, 0
        self._renew({terms[old]: new for new, old in enumerate(kept)})

    def _renew(self, ids: dict[str, int]) -> None:
        # looking up a new term gives it the next number, without a call of Python code
        self.ids: defaultdict[str, int] = defaultdict(None, ids)
        self.ids.default_factory = self.ids.__len__


def id_blocks(
    texts: Iterable[str], tokenise: Callable[..., Any], lookup: Callable[..., Any]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the term numbers of all tokens and the start of each document, in blocks of some million tokens."""
    ids, indptr = array("i"), [0]
    for text in texts:
        if len(ids) > _BLOCK_TOKENS:
            yield np.array(ids, dtype=np.int32), np.array(indptr)
            ids, indptr = array("i"), [0]
        ids.extend(lookup(tokenise(text)))
        indptr.append(len(ids))
    yield np.array(ids, dtype=np.int32), np.array(indptr)


def count_ids(ids: np.ndarray, indptr: np.ndarray, n_words: int) -> sp.csr_matrix:
    """Return n[d, v] from the term numbers of all tokens; `indptr` holds the start of each document."""
    counts = sp.csr_matrix((np.ones(len(ids), dtype=np.int32), ids, indptr), shape=(len(indptr) - 1, n_words))
    counts.sum_duplicates()  # as whole numbers: sums of ones stop at 2^24 in single precision
    return counts.astype(np.float32)


def keep_ids(kept: np.ndarray, ids: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens (or counts) of a mask, and the new start of each document."""
    return ids[kept], np.concatenate([[0], np.cumsum(kept)])[indptr]


def renumber(block: sp.csr_matrix, new_id: np.ndarray, n_words: int) -> sp.csr_matrix:
    """Return the counts with renumbered columns; -1 drops a term."""
    ids = new_id[block.indices]
    kept = ids >= 0
    ids, indptr = keep_ids(kept, ids, block.indptr)
    block = sp.csr_matrix((block.data[kept], ids, indptr), shape=(block.shape[0], n_words))
    block.sort_indices()
    return block
