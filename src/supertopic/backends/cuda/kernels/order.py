"""Entries in the order of their words, by counting: a thread for each run of documents, so that the order is fixed."""

import numpy as np
from numba import cuda


@cuda.jit
def count_entries(cuts, indices, n_words, counts):
    """counts_pw += 1 for every entry of word w in part p, the entries from cuts_p to cuts_(p+1)."""
    part = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if part < cuts.shape[0] - 1:
        for j in range(cuts[part], cuts[part + 1]):
            counts[np.int64(part) * n_words + indices[j]] += 1


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
def place_entries(first_documents, indptr, indices, n_words, start, counts, entry, doc):
    """entry and doc in the order of words, then of documents; start_w is where word w begins."""
    part = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if part < first_documents.shape[0] - 1:
        for d in range(first_documents[part], first_documents[part + 1]):
            for j in range(indptr[d], indptr[d + 1]):
                word = indices[j]
                at = np.int64(part) * n_words + word
                place = start[word] + counts[at]
                counts[at] += 1
                entry[place], doc[place] = j, d
