"""Kernels over the (V, K) topics: expectations, evidence, sums by topic, a step of Adam. A thread for each topic."""

import math

import numpy as np
from numba import cuda

from supertopic.backends.cuda.kernels.lanes import WEIGHT_OFFSET, digamma, exp_digamma, on_device, paired
from supertopic.backends.cuda.kernels.launch import as_kernel

PART = 64  # words that one block goes through


@on_device
def _words(part, n_words):
    """(first, last) of the words of a part."""
    first = part * PART
    return first, min(first + PART, n_words)


@as_kernel
def sum_topics(n_words, values, width, parts):
    """parts_pk = sum over the words of part p of values_wk, float64."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    total = 0.0
    for w in range(first, last):
        total += np.float64(values[np.int64(w) * width + k])
    parts[cuda.blockIdx.x * width + k] = total


@as_kernel
def max_topics(n_words, values, width, parts):
    """parts_pk = the largest values_wk of part p."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    most = values[np.int64(first) * width + k]
    for w in range(first, last):
        most = max(most, values[np.int64(w) * width + k])
    parts[cuda.blockIdx.x * width + k] = most


@as_kernel
def sum_documents(n_documents, alpha, gammas, gamma, psi_total, width, parts):
    """parts_pk = sum over the documents of part p of psi(gamma_dk) - psi_total_d; gammas as in `e_step_words`."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_documents)
    total = 0.0
    prior = np.float64(alpha[k])
    for d in range(first, last):
        value = np.float64(gamma[np.int64(d) * width + k])
        share = value - prior
        if share < 1e-4 * prior:
            total += gammas[3 * k + 1] + share * gammas[3 * k + 2]
        else:
            total += digamma(value)
        total -= psi_total[d]
    parts[cuda.blockIdx.x * width + k] = total


@as_kernel
def expect(n_words, n_topics, word_topic, scale, at_mean, width, rows):
    """rows_wk = exp(psi(lambda_wk)) scale_k, or lambda_wk scale_k; zero beyond the topics."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    for w in range(first, last):
        at = np.int64(w) * width + k
        value = word_topic[at]
        found = value if at_mean else exp_digamma(value)
        rows[at] = found * scale[k] + WEIGHT_OFFSET if k < n_topics else np.float32(0.0)


@as_kernel
def pack(n_words, rows, width, n_lanes, packed):
    """The rows in bfloat16, four topics in 64 bits; a thread for each 64 bits of a row.

    n_lanes : lanes that read a word in a pass (`passes`): 8, 16 or 32. Lane s has the topics s, s + 32 …, then those of
    lane s + n_lanes of the warp, and so on. A number holds four of them; all lanes' first four come first.
    """
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    n, place, lane = width // 32, 4 * (k // n_lanes), k % n_lanes
    for w in range(first, last):
        at = np.int64(w) * width
        found = np.uint64(0)
        for half in range(2):
            x = y = np.float32(0.0)
            one, other = place + 2 * half, place + 2 * half + 1
            if one * n_lanes < width:
                x = rows[at + 32 * (one % n) + one // n * n_lanes + lane]
            if other * n_lanes < width:
                y = rows[at + 32 * (other % n) + other // n * n_lanes + lane]
            found |= np.uint64(paired(x, y)) << np.uint64(32 * half)
        packed[np.int64(w) * cuda.blockDim.x + k] = found


@as_kernel
def add_evidence(n_words, n_topics, word_topic, psi_totals, prior, width, parts):
    """parts_pk = sum over words of log Gamma(lambda) - log Gamma(prior) + (prior - lambda)(psi(lambda) - psi_total)."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    total = 0.0
    if k < n_topics:
        log_gamma_prior = math.lgamma(prior)
        for w in range(first, last):
            value = np.float64(word_topic[np.int64(w) * width + k])
            if value - prior > 1e-7 * prior:
                total += math.lgamma(value) - log_gamma_prior + (prior - value) * (digamma(value) - psi_totals[k])
    parts[cuda.blockIdx.x * width + k] = total


@as_kernel
def add_logs(n_words, n_topics, word_topic, width, parts):
    """parts_pk = sum over the words of part p of log lambda_wk."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    total = 0.0
    if k < n_topics:
        for w in range(first, last):
            total += math.log(np.float64(word_topic[np.int64(w) * width + k]))
    parts[cuda.blockIdx.x * width + k] = total


@as_kernel
def blend(n_words, n_topics, prior, rate, before, width, counts):
    """counts = rate (counts + prior) + (1 - rate) before; the prior alone beyond the topics."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    for w in range(first, last):
        at = np.int64(w) * width + k
        found = np.float32(rate) * (counts[at] + np.float32(prior))
        if rate < 1.0:
            found += np.float32(1.0 - rate) * before[at]
        counts[at] = found if k < n_topics else np.float32(1.0)


@as_kernel
def add_number(n_words, n_topics, values, number, width, out):
    """out = values + number; zero beyond the topics."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    for w in range(first, last):
        at = np.int64(w) * width + k
        out[at] = values[at] + np.float32(number) if k < n_topics else np.float32(0.0)


@as_kernel
def move_sizes(n_documents, gained, keep, grow, room, width, sizes, inverse):
    """sizes_k = keep sizes_k + grow sum_d gained_dk, and inverse_k = 1 / (sizes_k + room); one block."""
    k = cuda.threadIdx.x
    total = 0.0
    for d in range(n_documents):
        total += np.float64(gained[d * width + k])
    sizes[k] = np.float32(keep) * sizes[k] + np.float32(grow) * np.float32(total)
    inverse[k] = np.float32(1.0) / (sizes[k] + np.float32(room))


@as_kernel
def fill(n_words, value, width, values):
    """values = value."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    for w in range(first, last):
        values[np.int64(w) * width + k] = np.float32(value)


@as_kernel
def multiply(n_words, factor, width, values):
    """values *= factor."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    for w in range(first, last):
        values[np.int64(w) * width + k] *= np.float32(factor)


@as_kernel
def take_rows(n_rows, rows, values, width, out):
    """out_ik = values_(rows_i)k."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_rows)
    for i in range(first, last):
        out[np.int64(i) * width + k] = values[rows[i] * width + k]


@as_kernel
def put_rows(n_rows, rows, values, width, out):
    """out_(rows_i)k = values_ik."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_rows)
    for i in range(first, last):
        out[rows[i] * width + k] = values[np.int64(i) * width + k]


@as_kernel
def exp_topics(n_words, n_topics, logits, most, width, topics, parts):
    """topics = exp(logits - most), zero beyond the topics, and its sums over the words of each part."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    total = 0.0
    for w in range(first, last):
        at = np.int64(w) * width + k
        found = math.exp(logits[at] - most[k]) if k < n_topics else np.float32(0.0)
        topics[at] = found
        total += np.float64(found)
    parts[cuda.blockIdx.x * width + k] = total


@as_kernel
def divide_topics(n_words, totals, width, topics):
    """topics_wk /= totals_k, where totals_k > 0."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    by = totals[k]
    for w in range(first, last):
        at = np.int64(w) * width + k
        topics[at] = topics[at] / np.float32(by) if by > 0.0 else np.float32(0.0)


@as_kernel
def weigh_gradient(n_words, n_topics, topics, gradient, prior, pull, anchor, width, parts):
    """gradient = gradient·topics + prior + pull·anchor, and its sums over the words of each part."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    total = 0.0
    for w in range(first, last):
        at = np.int64(w) * width + k
        added = np.float32(prior) + np.float32(pull) * anchor[at]
        found = gradient[at] * topics[at] + added if k < n_topics else np.float32(0.0)
        gradient[at] = found
        total += np.float64(found)
    parts[cuda.blockIdx.x * width + k] = total


@as_kernel
def climb(n_words, n_topics, gradient, totals, width, rates, topics, logits, mean, square, average, parts):
    """One step of Adam on the logits and of their average; topics, times e^change, and their sums over each part."""
    k = cuda.threadIdx.x
    first, last = _words(cuda.blockIdx.x, n_words)
    total = 0.0
    for w in range(first, last):
        at = np.int64(w) * width + k
        found = gradient[at] - topics[at] * np.float32(totals[k])
        mean[at] += rates[0] * (found - mean[at])
        square[at] += rates[1] * (found * found - square[at])
        change = rates[2] * mean[at] / (math.sqrt(square[at] / rates[3]) + np.float32(1e-8))
        logits[at] += change
        average[at] += rates[4] * (logits[at] - average[at])
        value = topics[at] * math.exp(change) if k < n_topics else np.float32(0.0)
        topics[at] = value
        total += np.float64(value)
    parts[cuda.blockIdx.x * width + k] = total
