"""Texts and word counts of the documents, cut to what a page can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

LONGEST_TEXT = 20_000  # characters of a document
_ALL_TEXT = 12_000_000  # characters of all documents
_SHORTEST_TEXT = 300
_ALL_COUNTS = 3_000_000  # counts of all documents


def pack_texts(texts: list[str] | None, n_documents: int) -> tuple[list[str] | None, int]:
    """The texts, each cut to a length at which all of them fit; and that length."""
    if texts is None:
        return None, 0
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    limit = LONGEST_TEXT
    while limit > _SHORTEST_TEXT and np.minimum(lengths, limit).sum() > _ALL_TEXT:
        limit = max(int(limit * 0.8), _SHORTEST_TEXT)
    return [text[:limit] for text in texts], limit


def pack_counts(counts: sp.csr_matrix, wrong: np.ndarray, shares: np.ndarray) -> dict[str, np.ndarray]:
    """Word counts as arrays: the columns of a document as differences, which compress well.

    Where there are too many, those of some documents are left out: kept are the documents with the largest errors, the
    most typical of each topic, and the first ones.
    """
    kept = _rows_to_keep(counts, wrong, shares)
    lengths = np.where(kept, np.diff(counts.indptr), 0)
    entries = np.repeat(kept, np.diff(counts.indptr))
    columns, values = counts.indices[entries].astype(np.int64), counts.data[entries]
    steps, ends = np.diff(columns, prepend=0), np.cumsum(lengths[lengths > 0])
    firsts = np.concatenate([[0], ends[:-1]]).astype(np.intp) if len(ends) else np.zeros(0, dtype=np.intp)
    steps[firsts] = columns[firsts]
    small = bool(len(values) == 0 or (np.all(values == np.rint(values)) and values.max() < 256))
    return {
        "count_rows": np.where(kept, lengths, -1).astype(np.int32),
        "count_steps": steps.astype(np.uint16 if counts.shape[1] <= 65536 else np.uint32),
        "count_values": values.astype(np.uint8 if small else np.float32),
    }


def _rows_to_keep(counts: sp.csr_matrix, wrong: np.ndarray, shares: np.ndarray) -> np.ndarray:
    lengths = np.diff(counts.indptr)
    if lengths.sum() <= _ALL_COUNTS:
        return np.ones(len(lengths), dtype=bool)
    rank = np.arange(len(lengths), dtype=np.float64)
    worst = np.argsort(-np.nan_to_num(wrong), kind="stable")[: len(lengths) // 4]
    rank[worst] = -1.0
    for topic in np.asarray(shares).T:
        rank[np.argsort(-topic, kind="stable")[:10]] = -2.0
    order = np.argsort(rank, kind="stable")
    kept = np.zeros(len(lengths), dtype=bool)
    kept[order[np.cumsum(lengths[order]) <= _ALL_COUNTS]] = True
    return kept


def wrong_numbers(y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """(D,) how far predictions are off; zero where y is not known."""
    return np.nan_to_num(np.abs(y - predicted))


def wrong_classes(y: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """(D,) how much less the true class has than the best one; zero where it is not known."""
    known = ~np.isnan(y)
    found: Any = np.zeros(len(y))
    own = chances[np.flatnonzero(known), y[known].astype(int)]
    found[known] = chances[known].max(axis=1) - own
    return found


def wrong_grades(y: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """(D,) how many grades predictions are off on average; zero where it is not known."""
    found: np.ndarray = np.nansum(chances * np.abs(np.arange(chances.shape[1]) - y[:, None]), axis=1)
    return found
