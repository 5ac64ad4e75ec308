"""Stochastic collapsed variational inference (SCVB0, Foulds et al. 2013): expected counts from a few passes.

Given expected counts n_wk and their sums over the words n_k, the updates for a document are

    phi_jk ∝ theta_k (n_wk + beta) / (n_k + V beta)          theta_k ∝ alpha_k + sum_j c_j phi_jk

and a mini-batch updates the counts with rate rho: n_wk <- (1 - rho) n_wk + rho · growth · sum over its words of c phi.
`word_sums.add_shares_by_word` computes that sum from the `theta` and `ratio` found here.
"""

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
_TINY = np.float32(1e-30)


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _pass_over_words(rows, counts, theta, gained, ratio):
    """ratio_j = c_j / (rows_j·theta) and gained_k = sum_j ratio_j rows_jk, four words at a time."""
    n_topics, n_words = theta.shape[0], counts.shape[0]
    for k in range(n_topics):
        gained[k] = np.float32(0.0)
    fours = n_words - n_words % 4
    for j in range(0, fours, 4):
        a, b, c, d = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        norm_a = norm_b = norm_c = norm_d = _TINY
        for k in range(n_topics):
            weight = theta[k]
            norm_a += a[k] * weight
            norm_b += b[k] * weight
            norm_c += c[k] * weight
            norm_d += d[k] * weight
        by_a, by_b = counts[j] / norm_a, counts[j + 1] / norm_b
        by_c, by_d = counts[j + 2] / norm_c, counts[j + 3] / norm_d
        ratio[j], ratio[j + 1], ratio[j + 2], ratio[j + 3] = by_a, by_b, by_c, by_d
        for k in range(n_topics):
            gained[k] += by_a * a[k] + by_b * b[k] + by_c * c[k] + by_d * d[k]
    for j in range(fours, n_words):
        norm = _TINY
        for k in range(n_topics):
            norm += rows[j, k] * theta[k]
        ratio[j] = counts[j] / norm
        for k in range(n_topics):
            gained[k] += ratio[j] * rows[j, k]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def learn_documents(
    start, stop, documents, first_entry, indptr, indices, counts, word_topic, smoothing, inverse, alpha, passes,
    theta, gained, ratio, rows,
):  # fmt: skip
    """Topic shares of the mini-batch's documents [start, stop), and the factors of their expected counts.

    Parameters
    ----------
    documents : (B,) int64; first_entry : (B,) int64, entries of the batch before each of them
    indptr, indices, counts : CSR, counts float32
    word_topic : (V, K) float32, and smoothing, float32: n_wk + beta is proportional to word_topic_wk + smoothing
    inverse : (K,) float32, 1 / (n_k + V beta); alpha : (K,) float32
    passes : inner passes per document
    theta, ratio : (B, K) and (entries of the batch,) float32, out
        c_j phi_jk = ratio_j theta_k (word_topic_wk + smoothing): theta holds the topic shares divided by n_k + V beta.
    gained : (B, K) float32, out: sum_j c_j phi_jk
    rows : (longest document, K) float32, scratch
    """
    n_topics = word_topic.shape[1]
    for i in range(start, stop):
        first, last = indptr[documents[i]], indptr[documents[i] + 1]
        for j in range(last - first):
            row = word_topic[indices[first + j]]
            for k in range(n_topics):
                rows[j, k] = row[k] + smoothing
        count, share, gain = counts[first:last], theta[i], gained[i]
        ratios = ratio[first_entry[i] : first_entry[i] + last - first]
        for k in range(n_topics):
            share[k] = inverse[k]
        for _ in range(passes):
            _pass_over_words(rows, count, share, gain, ratios)
            for k in range(n_topics):
                share[k] = (share[k] * gain[k] + alpha[k]) * inverse[k]
        _pass_over_words(rows, count, share, gain, ratios)
        for k in range(n_topics):
            gain[k] *= share[k]
