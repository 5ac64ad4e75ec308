"""Sums over the entries of each word, in a fixed order: a second pass in the order of the words, without atomics.

The entries of a word are cut into runs of at most `RUN`. A warp adds one run, and the runs of a word are then added
from the first to the last, so that the result is the same in every run of the program.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32

from supertopic.backends.cuda.kernels.lanes import on_device
from supertopic.backends.cuda.kernels.launch import as_kernel

RUN = 512  # entries that one warp adds


@cache
def add_runs(n: int) -> Any:
    """The kernel that adds runs of entries, with `n` registers a lane."""

    @as_kernel(fastmath=True)
    def kernel(run_start, entry, doc, factor, theta, sums):
        """sums_rk = sum over the entries e of run r of factor_e theta_(doc of e) k.

        run_start : (R + 1,) int64 into entry and doc (int32), which have the entries in the order of their words
        factor : (nnz,) float32; theta : (D · 32 n) float32; sums : (R · 32 n) float32, out
        """
        lane = cuda.threadIdx.x
        run = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if run >= run_start.shape[0] - 1:
            return
        total = cuda.local.array(n, float32)
        for i in range(n):
            total[i] = np.float32(0.0)
        first, last = run_start[run], run_start[run + 1]
        p = first
        while p + 4 <= last:  # four at a time: several loads are under way at once
            by_a, by_b = factor[entry[p]], factor[entry[p + 1]]
            by_c, by_d = factor[entry[p + 2]], factor[entry[p + 3]]
            a = np.uint64(doc[p]) * np.uint64(32 * n) + np.uint64(lane)
            b = np.uint64(doc[p + 1]) * np.uint64(32 * n) + np.uint64(lane)
            c = np.uint64(doc[p + 2]) * np.uint64(32 * n) + np.uint64(lane)
            d = np.uint64(doc[p + 3]) * np.uint64(32 * n) + np.uint64(lane)
            for i in range(n):
                step = np.uint64(32 * i)
                total[i] += (
                    by_a * theta[a + step] + by_b * theta[b + step] + by_c * theta[c + step] + by_d * theta[d + step]
                )
            p += 4
        while p < last:
            by = factor[entry[p]]
            a = np.uint64(doc[p]) * np.uint64(32 * n) + np.uint64(lane)
            for i in range(n):
                total[i] += by * theta[a + np.uint64(32 * i)]
            p += 1
        at = np.uint64(run) * np.uint64(32 * n) + np.uint64(lane)
        for i in range(n):
            sums[at + np.uint64(32 * i)] = total[i]

    return kernel


@cache
def subtract_runs(n: int) -> Any:
    """The kernel that adds up differences over runs of entries, with `n` registers a lane."""

    @as_kernel(fastmath=True)
    def kernel(run_start, entry, doc, by, theta, less, other, sums):
        """sums_rk = sum over the entries e of run r, in document d, of by_e theta_dk - less_e other_dk."""
        lane = cuda.threadIdx.x
        run = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if run >= run_start.shape[0] - 1:
            return
        total = cuda.local.array(n, float32)
        for i in range(n):
            total[i] = np.float32(0.0)
        p, last = run_start[run], run_start[run + 1]
        while p + 2 <= last:  # two at a time: several loads are under way at once
            by_a, less_a = by[entry[p]], less[entry[p]]
            by_b, less_b = by[entry[p + 1]], less[entry[p + 1]]
            a = np.uint64(doc[p]) * np.uint64(32 * n) + np.uint64(lane)
            b = np.uint64(doc[p + 1]) * np.uint64(32 * n) + np.uint64(lane)
            for i in range(n):
                step = np.uint64(32 * i)
                total[i] += by_a * theta[a + step] - less_a * other[a + step]
                total[i] += by_b * theta[b + step] - less_b * other[b + step]
            p += 2
        if p < last:
            by_a, less_a = by[entry[p]], less[entry[p]]
            a = np.uint64(doc[p]) * np.uint64(32 * n) + np.uint64(lane)
            for i in range(n):
                total[i] += by_a * theta[a + np.uint64(32 * i)] - less_a * other[a + np.uint64(32 * i)]
        at = np.uint64(run) * np.uint64(32 * n) + np.uint64(lane)
        for i in range(n):
            sums[at + np.uint64(32 * i)] = total[i]

    return kernel


@on_device
def _of_word(word, k, word_runs, sums, width):
    """The sum of a word's runs, float64."""
    total = 0.0
    for run in range(word_runs[word], word_runs[word + 1]):
        total += np.float64(sums[np.int64(run) * width + k])
    return total


@as_kernel
def add_words(word_runs, sums, width, out):
    """out_wk = the sum of word w's runs; word_runs : (V + 1,) int64 into the runs; out : (V · width)"""
    word, k = cuda.blockIdx.x, cuda.threadIdx.x
    out[np.int64(word) * width + k] = np.float32(_of_word(word, k, word_runs, sums, width))


@as_kernel
def multiply_words(word_runs, sums, rows, width, out):
    """out_wk = rows_wk times the sum of word w's runs."""
    word, k = cuda.blockIdx.x, cuda.threadIdx.x
    at = np.int64(word) * width + k
    out[at] = np.float32(_of_word(word, k, word_runs, sums, width) * np.float64(rows[at]))


@as_kernel
def grow_words(word_runs, sums, step, rows, width, out):
    """out_wk += step rows_wk times the sum of word w's runs; a word without any stays."""
    word, k = cuda.blockIdx.x, cuda.threadIdx.x
    if word_runs[word + 1] > word_runs[word]:
        at = np.int64(word) * width + k
        out[at] += np.float32(step) * rows[at] * np.float32(_of_word(word, k, word_runs, sums, width))
