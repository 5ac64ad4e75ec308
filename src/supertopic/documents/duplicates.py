"""Documents that say the same, word for word or nearly: reprints, quotations, forms.

A fit that has seen one of them knows the other, and its label. So they are cut into folds together. Two documents are
near duplicates if they share four in five of their different words (Jaccard's similarity). Candidates are found by
MinHash (Broder 1997): the smallest of the hashes of a document's words is that of another with the probability of their
similarity. Documents in which bands of such hashes agree are compared with the first of them.

Where so few words are in use that documents are alike by chance, duplicates have the same words as often.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

_ALIKE = 0.8
_BANDS, _ROWS = 8, 4  # similar ones agree in a band with probability 1 - (1 - 0.8⁴)⁸ = 0.985 at least
_ROOM = 10  # times as many words as the median document has different ones: with fewer, documents are alike by chance
_LEAST = 5  # different words: shorter documents are alike by chance


def near_duplicates(counts: sp.csr_matrix) -> np.ndarray:
    """(D,) whole numbers, the same for documents that are near duplicates of one another, or of a third."""
    n_documents = counts.shape[0]
    size = np.diff(counts.indptr)
    long = np.flatnonzero(size >= _LEAST)
    if len(long) < 2:
        return np.arange(n_documents)
    words, generator = counts[long], np.random.default_rng(0)
    seen = sp.csr_matrix((np.ones(words.nnz, dtype=np.int32), words.indices, words.indptr), shape=words.shape)
    if words.shape[1] < _ROOM * np.median(size[long]):
        one, other = _in_turn(word_hashes(words))
    else:
        one, other = _candidates(words, generator)
        alike = _are_alike(seen, one, other)
        one, other = one[alike], other[alike]
    edges = (np.ones(len(one)), (long[one], long[other]))
    found: np.ndarray = connected_components(sp.coo_matrix(edges, shape=(n_documents, n_documents)), directed=False)[1]
    return found


def _candidates(words: sp.csr_matrix, generator: np.random.Generator) -> np.ndarray:
    """(2, n) pairs of documents in which a band of hashes agrees."""
    ends, pairs = words.indptr[:-1], []
    for _ in range(_BANDS):
        band = np.zeros(words.shape[0], dtype=np.uint64)
        for _ in range(_ROWS):
            hashes = generator.integers(0, 2**63, size=words.shape[1], dtype=np.uint64)
            band = band * np.uint64(0x9E3779B97F4A7C15) + np.minimum.reduceat(hashes[words.indices], ends)
        pairs.append(_in_turn(band))
    return np.unique(np.hstack(pairs), axis=1)


def _in_turn(code: np.ndarray) -> np.ndarray:
    """(2, n) each document beside the first one with its code."""
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    pairs = np.stack([first[place], np.arange(len(code))])
    return pairs[:, pairs[0] != pairs[1]]


def _are_alike(seen: sp.csr_matrix, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(n,) bool, of pairs of documents with the words that are seen in them; no document is like itself."""
    size = np.diff(seen.indptr)
    shared = np.asarray(seen[one].multiply(seen[other]).sum(axis=1)).ravel()
    found: np.ndarray = (shared >= _ALIKE * (size[one] + size[other] - shared)) & (one != other)
    return found


def word_hashes(counts: sp.csr_matrix) -> np.ndarray:
    """(D,) a number of 64 bits for each document, the same for the same words as often.

    The sum of a hash of each word with its count; a sum does not depend on the order of the words.
    """
    amount = counts.data.astype(np.float64).view(np.uint64)
    x = (counts.indices.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ amount
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
        x = (x ^ x >> np.uint64(shift)) * np.uint64(factor)
    sums = np.append(np.uint64(0), np.cumsum(x ^ x >> np.uint64(31), dtype=np.uint64))
    found: np.ndarray = sums[counts.indptr[1:]] - sums[counts.indptr[:-1]]
    return found
