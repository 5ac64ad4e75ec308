"""Sums over documents that regressions of y on topic shares ask for. Shares are (D · width) float32; sums float64.

Documents are cut into parts of fixed size, and the parts are added in their order: no atomics, the same sum always.
"""

import math

import numpy as np
from numba import cuda, float64

from supertopic.backends.cuda.kernels.lanes import add_lanes, row_of
from supertopic.backends.cuda.kernels.launch import as_kernel

PART = 4096  # documents that one block adds
_TILE, _STEP = 32, 16  # of the product of two shares: a tile of 32 by 32, 16 documents at a time


@as_kernel
def mean_shares(n_documents, n_topics, gamma, alpha, prior_mean, which, inverse, width, shares):
    """shares = (gamma - alpha) / N, or the prior's mean where N is infinite (inverse 0)."""
    k = cuda.threadIdx.x
    d = cuda.blockIdx.x
    at = np.int64(d) * width + k
    value = 0.0
    if k < n_topics:
        own = row_of(which, d) * width + k
        value = (np.float64(gamma[at]) - alpha[own]) * inverse[d] if inverse[d] > 0.0 else prior_mean[own]
    shares[at] = np.float32(value)


@as_kernel
def tilt_shares(n_documents, n_topics, shares, tilt, inverse, width, tilted):
    """tilted_k ∝ shares_k exp(tilt_k / N), a warp for each document."""
    lane = cuda.threadIdx.x
    d = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if d >= n_documents:
        return
    total = 0.0
    for k in range(lane, width, 32):
        total += np.float64(shares[np.int64(d) * width + k]) * math.exp(tilt[k] * inverse[d])
    total = add_lanes(total)
    for k in range(lane, width, 32):
        at = np.int64(d) * width + k
        tilted[at] = np.float32(np.float64(shares[at]) * math.exp(tilt[k] * inverse[d]) / total)


@as_kernel
def linear(n_documents, shares, coef, n_columns, width, out):
    """out = coef·shares, (D · C) float64; a warp for each document."""
    lane = cuda.threadIdx.x
    d = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if d >= n_documents:
        return
    for c in range(n_columns):
        total = 0.0
        for k in range(lane, width, 32):
            total += np.float64(shares[np.int64(d) * width + k]) * coef[c * width + k]
        total = add_lanes(total)
        if lane == 0:
            out[np.int64(d) * n_columns + c] = total


@as_kernel
def linear_and_square(n_documents, shares, coef, n_columns, width, is_product, inverse, first, second):
    """first = coef·shares; second = coef²·shares, or (exp(coef/N) - 1)·shares in a product column; (D · C) float64."""
    lane = cuda.threadIdx.x
    d = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if d >= n_documents:
        return
    for c in range(n_columns):
        one = two = 0.0
        for k in range(lane, width, 32):
            share, value = np.float64(shares[np.int64(d) * width + k]), coef[c * width + k]
            one += share * value
            two += share * (math.expm1(value * inverse[d]) if is_product[c] else value * value)
        one, two = add_lanes(one), add_lanes(two)
        if lane == 0:
            first[np.int64(d) * n_columns + c], second[np.int64(d) * n_columns + c] = one, two


@as_kernel
def sum_columns(n_documents, shares, weights, n_columns, width, parts):
    """parts_pck = sum over the documents of part p of weights_dc shares_dk; weights (D · C) float64."""
    k = cuda.threadIdx.x
    c = cuda.blockIdx.y
    first = cuda.blockIdx.x * PART
    last = min(first + PART, n_documents)
    total = 0.0
    for d in range(first, last):
        total += weights[np.int64(d) * n_columns + c] * np.float64(shares[np.int64(d) * width + k])
    parts[(np.int64(cuda.blockIdx.x) * n_columns + c) * width + k] = total


@as_kernel
def outer(n_documents, shares, weights, width, parts):
    """parts_pij = sum over the documents of part p of weights_d shares_di shares_dj; a block of 16 × 16 threads."""
    left = cuda.shared.array((_STEP, _TILE), float64)
    right = cuda.shared.array((_STEP, _TILE), float64)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * _TILE, cuda.blockIdx.z * _TILE
    first = cuda.blockIdx.x * PART
    last = min(first + PART, n_documents)
    a = b = c = d = 0.0
    for start in range(first, last, _STEP):
        at = start + y
        inside = at < last
        for half in range(2):
            place = x + 16 * half
            value = other = 0.0
            if inside:
                value = weights[at] * np.float64(shares[np.int64(at) * width + row + place])
                other = np.float64(shares[np.int64(at) * width + column + place])
            left[y, place], right[y, place] = value, other
        cuda.syncthreads()
        for s in range(_STEP):
            up, down, near, far = left[s, y], left[s, y + 16], right[s, x], right[s, x + 16]
            a += up * near
            b += up * far
            c += down * near
            d += down * far
        cuda.syncthreads()
    base = np.int64(cuda.blockIdx.x) * width
    parts[(base + row + y) * width + column + x] = a
    parts[(base + row + y) * width + column + x + 16] = b
    parts[(base + row + y + 16) * width + column + x] = c
    parts[(base + row + y + 16) * width + column + x + 16] = d


@as_kernel
def add_parts(n_parts, size, parts, out):
    """out = the sum of the parts, from the first to the last."""
    at = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if at < size:
        total = 0.0
        for p in range(n_parts):
            total += parts[np.int64(p) * size + at]
        out[at] = total
