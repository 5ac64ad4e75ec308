"""Documents without some of their entries, drawn at random: an entry's draw is a hash of a key and its place.

One thread thins a batch; others thin other batches beside it.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, forceinline=True)
def _stays(key, entry, dropped):
    """Whether u >= dropped, u in [0, 1) with 24 bits: splitmix64 of (key, entry)."""
    x = key + np.uint64(entry) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float32((x ^ (x >> np.uint64(31))) >> np.uint64(40)) * np.float32(2.0**-24) >= dropped


@njit(cache=True, nogil=True)
def count_kept(rows, indptr, key, dropped, n_kept):
    """n_kept_i = entries that stay in document rows_i.

    rows : (n,) integers; indptr : of all documents; key : uint64; dropped : float32, the share of entries that go
    """
    for i in range(rows.shape[0]):
        n = 0
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            n += _stays(key, j, dropped)
        n_kept[i] = n


@njit(cache=True, nogil=True)
def copy_kept(rows, indptr, indices, counts, key, dropped, new_indptr, new_indices, new_counts):
    """Copy the entries that stay, as `count_kept` counted them; new_indptr : (n + 1,), where each document goes."""
    for i in range(rows.shape[0]):
        place = new_indptr[i]
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if _stays(key, j, dropped):
                new_indices[place], new_counts[place] = indices[j], counts[j]
                place += 1
