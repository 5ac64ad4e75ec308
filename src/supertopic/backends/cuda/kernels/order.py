"""Entries in the order of their words, by counting: a warp for each run of documents, so that the order is fixed.

A document has a word once, so that the lanes, which go through one document at a time, never meet at a word.
"""

import numpy as np
from numba import cuda, int64

from supertopic.backends.cuda.kernels.lanes import SIMULATED, wait_for_lanes

THREADS = 32 if SIMULATED else 1024  # of the one block that adds up


@cuda.jit
def count_entries(size, indptr, indices, n_words, counts):
    """counts_pw = the entries of word w in part p, which has `size` documents."""
    lane, part = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    n_documents, own = indptr.shape[0] - 1, np.int64(part) * n_words
    if part * size >= n_documents:
        return
    for word in range(lane, n_words, 32):
        counts[own + word] = 0
    wait_for_lanes()
    for d in range(part * size, min((part + 1) * size, n_documents)):
        for j in range(indptr[d] + lane, indptr[d + 1], 32):
            counts[own + indices[j]] += 1
        wait_for_lanes()


@cuda.jit
def add_up_parts(n_parts, n_words, counts, sizes):
    """counts_pw = the entries of word w in the parts before p; sizes_w = all of them. A thread for each word."""
    word = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if word < n_words:
        total = 0
        for part in range(n_parts):
            at = np.int64(part) * n_words + word
            here = counts[at]
            counts[at] = total
            total += here
        sizes[word] = total


@cuda.jit
def add_up(n, sizes, unit, out):
    """out_i = the sum of sizes / unit, rounded up, over those before i; out_n is all of it. One block of `THREADS`."""
    totals, thread = cuda.shared.array(THREADS, int64), cuda.threadIdx.x
    each = (n + THREADS - 1) // THREADS
    first, last = min(thread * each, n), min((thread + 1) * each, n)
    total = 0
    for i in range(first, last):
        total += (sizes[i] + unit - 1) // unit
    totals[thread] = total
    cuda.syncthreads()
    total = 0
    for before in range(thread):
        total += totals[before]
    for i in range(first, last):
        out[i] = total
        total += (sizes[i] + unit - 1) // unit
    if thread == THREADS - 1:
        out[n] = total


@cuda.jit
def begin_runs(n_words, start, word_runs, length, run_start):
    """Where each run of at most `length` entries begins; runs that no word needs are empty ones at the end.

    start, word_runs : (V + 1,) the first entry and the first run of each word
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n_words:
        for run in range(word_runs[i], word_runs[i + 1]):
            run_start[run] = start[i] + length * (run - word_runs[i])
    if word_runs[n_words] <= i < run_start.shape[0]:
        run_start[i] = start[n_words]


@cuda.jit
def place_entries(size, indptr, indices, n_words, start, counts, entry, doc):
    """entry and doc in the order of words, then of documents; start_w is where word w begins."""
    lane, part = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    n_documents, own = indptr.shape[0] - 1, np.int64(part) * n_words
    if part * size >= n_documents:
        return
    for d in range(part * size, min((part + 1) * size, n_documents)):
        for j in range(indptr[d] + lane, indptr[d + 1], 32):
            word = indices[j]
            place = start[word] + counts[own + word]
            counts[own + word] += 1
            entry[place], doc[place] = j, d
        wait_for_lanes()
