"""Stochastic zero-order collapsed inference (SCVB0, Foulds et al. 2013): soft topics from a few quick passes.

Given expected counts n_wk (their sum over words n_k), a document's shares and its words' topics are

    phi_jk ∝ theta_k (n_wk + beta) / (n_k + V beta)          theta_k ∝ alpha_k + sum_j c_j phi_jk

and a batch moves the counts by a rate rho: n_wk <- (1 - rho) n_wk + rho · growth · sum over its words of c phi.
"""

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
_TINY = np.float32(1e-30)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def learn_batch(
    documents, indptr, indices, counts, word_topic, topic_total, alpha, beta, scale, rate, growth, passes,
    batch_words, touched, words, scratch,
):  # fmt: skip
    """One step on the documents named; returns the new scale.

    Only rows of words that stand in the batch are written: the decay (1 - rate) of all others goes into `scale`, and
    n_wk = scale · word_topic_wk.

    Parameters
    ----------
    documents : (B,) int64; indptr, indices, counts : CSR, counts float32
    word_topic : (V, K) float32, in and out; topic_total : (K,) float32, in and out: n_k itself
    alpha : (K,) float32; beta, scale, rate, growth : float32
    passes : inner passes per document
    batch_words : (V, K) float32, zero, and zero again on return
    touched : (V,) bool, False, and False again on return; words : (V,) int32 scratch
    scratch : (4, K) float32
    """
    n_words, n_topics = word_topic.shape
    theta, gained, inverse, total = scratch[0], scratch[1], scratch[2], scratch[3]
    smoothing = beta / scale
    n_touched = 0
    for k in range(n_topics):
        inverse[k] = np.float32(1.0) / (topic_total[k] + beta * np.float32(n_words))
        total[k] = np.float32(0.0)
    for d in documents:
        for k in range(n_topics):
            theta[k] = inverse[k]
        for _ in range(passes):
            for k in range(n_topics):
                gained[k] = np.float32(0.0)
            for j in range(indptr[d], indptr[d + 1]):
                row = word_topic[indices[j]]
                norm = _TINY
                for k in range(n_topics):
                    norm += theta[k] * (row[k] + smoothing)
                ratio = counts[j] / norm
                for k in range(n_topics):
                    gained[k] += ratio * (row[k] + smoothing)
            for k in range(n_topics):
                theta[k] = (theta[k] * gained[k] + alpha[k]) * inverse[k]
        for j in range(indptr[d], indptr[d + 1]):
            word = indices[j]
            if not touched[word]:
                touched[word] = True
                words[n_touched] = word
                n_touched += 1
            row, sums = word_topic[word], batch_words[word]
            norm = _TINY
            for k in range(n_topics):
                norm += theta[k] * (row[k] + smoothing)
            ratio = counts[j] / norm
            for k in range(n_topics):
                sums[k] += ratio * theta[k] * (row[k] + smoothing)
    scale *= np.float32(1.0) - rate
    step = rate * growth / scale
    for i in range(n_touched):
        word = words[i]
        touched[word] = False
        for k in range(n_topics):
            total[k] += batch_words[word, k]
            word_topic[word, k] += step * batch_words[word, k]
            batch_words[word, k] = np.float32(0.0)
    for k in range(n_topics):
        topic_total[k] = (np.float32(1.0) - rate) * topic_total[k] + rate * growth * total[k]
    return scale
