"""Documents without some of their entries, drawn at random, as on the CPU (`supertopic.kernels.thinning`).

A warp for each document.
"""

import numpy as np
from numba import cuda

from supertopic.backends.cuda.kernels.lanes import add_lanes, from_lane, scan_lanes, uniform
from supertopic.backends.cuda.kernels.launch import as_kernel


@as_kernel
def count_kept(rows, indptr, key, dropped, n_kept):
    """n_kept_i = entries that stay in document rows_i; key : uint64; dropped : float32, the share of entries that go"""
    lane, i = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if i >= rows.shape[0]:
        return
    n = np.int32(0)
    for j in range(indptr[rows[i]] + lane, indptr[rows[i] + 1], 32):
        n += np.int32(uniform(key, j) >= dropped)
    n = add_lanes(n)
    if lane == 0:
        n_kept[i] = n


@as_kernel
def copy_kept(rows, indptr, indices, counts, key, dropped, new_indptr, new_indices, new_counts):
    """Copy the entries that stay, as `count_kept` counted them; new_indptr : (n + 1,), where each document goes."""
    lane, i = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if i >= rows.shape[0]:
        return
    place, last = new_indptr[i], indptr[rows[i] + 1]
    for first in range(indptr[rows[i]], last, 32):
        j = first + lane
        stays = np.int32(j < last and uniform(key, j) >= dropped)
        upto = scan_lanes(stays, lane)
        if stays:
            new_indices[place + upto - 1], new_counts[place + upto - 1] = indices[j], counts[j]
        place += from_lane(upto, 31)
