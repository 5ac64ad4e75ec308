"""Word-major kernels: entries sorted by word, sums by word, and the evidence of Dirichlet topics.

A kernel works on the words [start, stop), and no other call touches their rows. So threads need no copies of the
(V, K) statistics, and the order of the sums does not depend on the number of threads.
"""

import math

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def add_by_word(start, stop, words, word_start, order, counts, phi, word_topic, row):
    """word_topic[w] += sum of counts_i phi_i over the batch's occurrences i of word w; `words` holds each word once.

    words : (n_distinct,) int32; word_start : (n_distinct + 1,) int32 into order; order : (nnz,) int32, entries by word
    counts : (nnz,) float32; phi : (nnz, K) float32; row : (K,) float32 scratch, to add small numbers to small sums
    """
    n_topics = phi.shape[1]
    for i in range(start, stop):
        for k in range(n_topics):
            row[k] = np.float32(0.0)
        for position in range(word_start[i], word_start[i + 1]):
            entry = order[position]
            count = counts[entry]
            for k in range(n_topics):
                row[k] += count * phi[entry, k]
        word = words[i]
        for k in range(n_topics):
            word_topic[word, k] += row[k]


@njit(cache=True, nogil=True)
def order_by_word(documents, indptr, indices, place, words, word_start, entry, doc):
    """Sort the entries of the given documents by word and then by document; return the number of distinct words.

    documents : (B,) int64; indptr, indices : CSR
    place : (V,) int32 zeros, scratch
    words, word_start : (min(V, nnz) + 1,) int32, out: distinct words, and where each begins in `entry` (and the end)
    entry, doc : (nnz,) int32, out: the number of each entry within `documents`, and the position of its document there
    """
    for d in documents:
        for j in range(indptr[d], indptr[d + 1]):
            place[indices[j]] += 1
    n_words = total = 0
    for word in range(place.shape[0]):
        if place[word] > 0:
            words[n_words], word_start[n_words] = word, total
            n_words += 1
            total += place[word]
            place[word] = total - place[word]
    word_start[n_words] = total
    number = 0
    for i in range(documents.shape[0]):
        for j in range(indptr[documents[i]], indptr[documents[i] + 1]):
            position = place[indices[j]]
            entry[position], doc[position] = number, i
            place[indices[j]] = position + 1
            number += 1
    return n_words


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def add_shares_by_word(
    start, stop, words, word_start, entry, doc, ratio, theta, weights, offset, step, word_topic, row
):
    """word_topic_wk += step (weights_wk + offset) sum over the occurrences i of word w of ratio_i theta_(doc of i) k.

    With ratio = count / sum_k theta_k (weights_wk + offset) this is the sum of count · phi, and phi is never stored.

    words, word_start, entry, doc : as `order_by_word` gives them
    ratio : (nnz,) float32, by entry; theta : (B, K) float32
    weights, word_topic : (V, K) float32, possibly the same array; offset, step : float32; row : (K,) float32 scratch
    """
    n_topics = theta.shape[1]
    for i in range(start, stop):
        first, last = word_start[i], word_start[i + 1]
        for k in range(n_topics):
            row[k] = np.float32(0.0)
        fours = last - (last - first) % 4
        for p in range(first, fours, 4):  # four at a time, so that row is loaded once for four
            a, b, c, d = theta[doc[p]], theta[doc[p + 1]], theta[doc[p + 2]], theta[doc[p + 3]]
            by_a, by_b = ratio[entry[p]], ratio[entry[p + 1]]
            by_c, by_d = ratio[entry[p + 2]], ratio[entry[p + 3]]
            for k in range(n_topics):
                row[k] += by_a * a[k] + by_b * b[k] + by_c * c[k] + by_d * d[k]
        for p in range(fours, last):
            one, by_one = theta[doc[p]], ratio[entry[p]]
            for k in range(n_topics):
                row[k] += by_one * one[k]
        word = words[i]
        for k in range(n_topics):  # two loops of two arrays each: they vectorise although weights may be word_topic
            row[k] *= step * (weights[word, k] + offset)
        for k in range(n_topics):
            word_topic[word, k] += row[k]


@njit(cache=True, nogil=True)
def add_rows(word_topic, total):
    """total_k += sum_w word_topic_wk, float64."""
    for w in range(word_topic.shape[0]):
        for k in range(word_topic.shape[1]):
            total[k] += word_topic[w, k]


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _digamma(x):
    """psi(x) in float64 for x > 0: the recurrence up to x >= 8, then the asymptotic series."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inv2 = 1.0 / (x * x)
    tail = inv2 * (1 / 12 - inv2 * (1 / 120 - inv2 * (1 / 252 - inv2 * (1 / 240 - inv2 * (1 / 132)))))
    return shift + math.log(x) - 0.5 / x - tail


@njit(cache=True, nogil=True, error_model="numpy")
def expect_logs(start, stop, word_topic, psi_total, logs):
    """E[log beta_wk] = psi(lambda_wk) - psi_total_k for words [start, stop), also where its exponential underflows."""
    for w in range(start, stop):
        for k in range(word_topic.shape[1]):
            logs[w, k] = _digamma(word_topic[w, k]) - psi_total[k]


@njit(cache=True, nogil=True, error_model="numpy")
def topic_evidence(start, stop, word_topic, psi_total, prior, evidence):
    """evidence_w = sum_k log Gamma(lambda) - log Gamma(prior) + (prior - lambda)(psi(lambda) - psi_total_k).

    A word without expected counts in a topic has lambda = prior and adds zero. Most entries are of this kind, and they
    are skipped.
    """
    log_gamma_prior = math.lgamma(prior)
    for w in range(start, stop):
        total = 0.0
        for k in range(word_topic.shape[1]):
            value = np.float64(word_topic[w, k])
            if value - prior > 1e-7 * prior:
                total += math.lgamma(value) - log_gamma_prior + (prior - value) * (_digamma(value) - psi_total[k])
        evidence[w] = total
