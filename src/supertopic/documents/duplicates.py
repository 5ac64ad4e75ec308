"""Documents that say the same, word for word or nearly: reprints, quotations, forms.

A fit that has seen one of them knows the other, and its label. So they are cut into folds together. Two documents are
near duplicates if they share four in five of their different words (Jaccard's similarity). Candidates are found by
MinHash (Broder 1997): the smallest of the hashes of a document's words is that of another with the probability of their
similarity. Documents in which bands of such hashes agree are compared with the first of them.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

_ALIKE = 0.8
_BANDS, _ROWS = 8, 4  # similar ones agree in a band with probability 1 - (1 - 0.8⁴)⁸ = 0.985 at least
_LEAST = 5  # different words: shorter documents are alike by chance


def near_duplicates(counts: sp.csr_matrix) -> np.ndarray:
    """(D,) whole numbers, the same for documents that are near duplicates of one another, or of a third."""
    n_documents, n_words = counts.shape
    size = np.diff(counts.indptr)
    long = np.flatnonzero(size >= _LEAST)
    if len(long) < 2:
        return np.arange(n_documents)
    words = counts[long]
    generator, ends = np.random.default_rng(0), words.indptr[:-1]
    pairs = []
    for _ in range(_BANDS):
        band = np.zeros(len(long), dtype=np.uint64)
        for _ in range(_ROWS):
            hashes = generator.integers(0, 2**63, size=n_words, dtype=np.uint64)
            band = band * np.uint64(0x9E3779B97F4A7C15) + np.minimum.reduceat(hashes[words.indices], ends)
        _, first, code = np.unique(band, return_index=True, return_inverse=True)
        pairs.append(np.column_stack([first[code], np.arange(len(long))]))
    candidates = np.unique(np.concatenate(pairs), axis=0)
    one, other = candidates[candidates[:, 0] != candidates[:, 1]].T
    seen = sp.csr_matrix((np.ones(words.nnz, dtype=np.int32), words.indices, words.indptr), shape=words.shape)
    shared = np.asarray(seen[one].multiply(seen[other]).sum(axis=1)).ravel()
    alike = shared >= _ALIKE * (size[long][one] + size[long][other] - shared)
    edges = (np.ones(alike.sum()), (long[one[alike]], long[other[alike]]))
    found: np.ndarray = connected_components(sp.coo_matrix(edges, shape=(n_documents, n_documents)), directed=False)[1]
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
