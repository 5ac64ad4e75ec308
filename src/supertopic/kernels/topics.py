"""Word-major kernels: adding up responsibilities by word, and the evidence of Dirichlet topics.

A kernel works on the words [start, stop), whose rows no other call touches: threads need no copies of the
(V, K) statistics, and the sums run in the same order whatever the number of threads.
"""

import math

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def add_by_word(start, stop, words, word_start, order, counts, phi, word_topic, row):
    """word_topic[w] += sum over the batch's occurrences i of word w of counts_i phi_i, words listed once each.

    words : (n_distinct,) int32; word_start : (n_distinct + 1,) int32 into order; order : (nnz,) int32, entries by word
    counts : (nnz,) float32; phi : (nnz, K) float32; row : (K,) float32 scratch, so that sums start small
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


@njit(cache=True, nogil=True, error_model="numpy")
def _digamma(x):
    """psi(x) in float64 for x > 0: eight steps up, then the asymptotic series."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inv2 = 1.0 / (x * x)
    tail = inv2 * (1 / 12 - inv2 * (1 / 120 - inv2 * (1 / 252 - inv2 * (1 / 240 - inv2 * (1 / 132)))))
    return shift + math.log(x) - 0.5 / x - tail


@njit(cache=True, nogil=True, error_model="numpy")
def expect_logs(start, stop, word_topic, psi_total, logs):
    """E[log beta_wk] = psi(lambda_wk) - psi_total_k for words [start, stop), exact where its exponential underflows."""
    for w in range(start, stop):
        for k in range(word_topic.shape[1]):
            logs[w, k] = _digamma(word_topic[w, k]) - psi_total[k]


@njit(cache=True, nogil=True, error_model="numpy")
def topic_evidence(start, stop, word_topic, psi_total, prior, evidence):
    """evidence_w = sum_k log Gamma(lambda) - log Gamma(prior) + (prior - lambda)(psi(lambda) - psi_total_k).

    A word a topic never met has lambda = prior and adds nothing: most of a fitted model, and free.
    """
    log_gamma_prior = math.lgamma(prior)
    for w in range(start, stop):
        total = 0.0
        for k in range(word_topic.shape[1]):
            value = np.float64(word_topic[w, k])
            if value - prior > 1e-7 * prior:
                total += math.lgamma(value) - log_gamma_prior + (prior - value) * (_digamma(value) - psi_total[k])
        evidence[w] = total
