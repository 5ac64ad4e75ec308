"""Entries of batches in the order of their words, by counting: a warp for each part of a batch's documents.

The order is fixed: parts follow one another as their documents do. A document has a word once, so that the lanes, which
go through one document at a time, never meet at a word. Every batch has `n_parts` parts.
"""

import numpy as np
from numba import cuda, int64

from supertopic.backends.cuda.kernels.lanes import SIMULATED, wait_for_lanes
from supertopic.backends.cuda.kernels.launch import as_kernel

THREADS = 32 if SIMULATED else 1024  # of the one block that adds up


@as_kernel
def count_entries(part_start, indptr, indices, n_words, counts):
    """counts_pw = the entries of word w in part p, which has the documents from part_start_p to part_start_(p + 1)."""
    lane, part = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    own = np.int64(part) * n_words
    if part >= part_start.shape[0] - 1:
        return
    for word in range(lane, n_words, 32):
        counts[own + word] = 0
    wait_for_lanes()
    for d in range(part_start[part], part_start[part + 1]):
        for j in range(indptr[d] + lane, indptr[d + 1], 32):
            counts[own + indices[j]] += 1
        wait_for_lanes()


@as_kernel
def add_up_parts(n_parts, n_words, counts, sizes):
    """counts_pw = the entries of word w in the parts of the batch before p; sizes_bw = those in all parts of batch b.

    A thread for each word of each batch.
    """
    word, batch = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x, np.int64(cuda.blockIdx.y)
    if word < n_words:
        total = 0
        for part in range(batch * n_parts, (batch + 1) * n_parts):
            at = part * n_words + word
            here = counts[at]
            counts[at] = total
            total += here
        sizes[batch * n_words + word] = total


@as_kernel
def add_up(n, sizes, unit, out):
    """out_bi = the sum of sizes_b / unit, rounded up, over those before i; out_bn is all of it.

    A block of `THREADS` for each b, which has n sizes.
    """
    totals, thread, batch = cuda.shared.array(THREADS, int64), cuda.threadIdx.x, np.int64(cuda.blockIdx.x)
    each = (n + THREADS - 1) // THREADS
    first, last = min(thread * each, n), min((thread + 1) * each, n)
    total, own = 0, batch * n
    for i in range(first, last):
        total += (sizes[own + i] + unit - 1) // unit
    totals[thread] = total
    cuda.syncthreads()
    total = 0
    for before in range(thread):
        total += totals[before]
    for i in range(first, last):
        out[own + batch + i] = total
        total += (sizes[own + i] + unit - 1) // unit
    if thread == THREADS - 1:
        out[own + batch + n] = total


@as_kernel
def begin_runs(n_parts, part_start, indptr, n_words, start, word_runs, length, of_batch, run_start):
    """Where each run of at most `length` entries begins; runs that no word needs are empty ones at the end.

    start, word_runs : (B · (V + 1)) the first entry and the first run of each word, counted in its batch
    of_batch : (B + 1,) where the runs of each batch stand in run_start
    """
    i, batch = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x, np.int64(cuda.blockIdx.y)
    own, base, before = batch * (n_words + 1), of_batch[batch], indptr[part_start[batch * n_parts]]
    if i < n_words:
        first = word_runs[own + i]
        for run in range(first, word_runs[own + i + 1]):
            run_start[base + run] = before + start[own + i] + length * (run - first)
    if word_runs[own + n_words] <= i < of_batch[batch + 1] - base:
        run_start[base + i] = before + start[own + n_words]


@as_kernel
def place_entries(n_parts, part_start, indptr, indices, n_words, start, counts, entry, doc):
    """entry, and doc counted in its batch, in the order of batches, then of words, then of documents."""
    lane, part = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    own = np.int64(part) * n_words
    if part >= part_start.shape[0] - 1:
        return
    batch = np.int64(part // n_parts)
    first = part_start[batch * n_parts]
    before, words = indptr[first], batch * (n_words + 1)
    for d in range(part_start[part], part_start[part + 1]):
        for j in range(indptr[d] + lane, indptr[d + 1], 32):
            word = indices[j]
            place = before + start[words + word] + counts[own + word]
            counts[own + word] += 1
            entry[place], doc[place] = j, d - first
        wait_for_lanes()
