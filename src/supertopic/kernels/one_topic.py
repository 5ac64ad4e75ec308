"""Kernels of the mixture of categoricals, where all words of a document share one topic z_d."""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _normalise_logs(logs):
    """Probabilities ∝ exp(logs), in place; returns log sum exp(logs)."""
    top = logs[0]
    for k in range(logs.shape[0]):
        top = max(top, logs[k])
    total = 0.0
    for k in range(logs.shape[0]):
        logs[k] = math.exp(logs[k] - top)
        total += logs[k]
    for k in range(logs.shape[0]):
        logs[k] /= total
    return math.log(total) + top


@njit(cache=True, nogil=True, error_model="numpy")
def share_documents(start, stop, indptr, indices, counts, log_weights, log_shares, doc_topic, phi, bound):
    """q(z_d = k) ∝ exp( E[log share_k] + sum_j c_j E[log p(word j | k)] ); bound_d is the log of its normaliser.

    log_weights : (V, K) float32; log_shares : (K,) float64
    doc_topic : (D, K) float32, out; phi : (nnz, K) float32 or (0, K), out: the same row for each word of a document
    """
    n_topics = log_shares.shape[0]
    logs = np.empty(n_topics, np.float64)
    for d in range(start, stop):
        logs[:] = log_shares
        for j in range(indptr[d], indptr[d + 1]):
            count, word = counts[j], indices[j]
            for k in range(n_topics):
                logs[k] += count * log_weights[word, k]
        bound[d] = _normalise_logs(logs)
        doc_topic[d, :] = logs
        if phi.shape[0] > 0:
            for j in range(indptr[d], indptr[d + 1]):
                for k in range(n_topics):
                    phi[j, k] = logs[k]


@njit(cache=True, nogil=True, forceinline=True)
def _uniform(seed, sweep, item):
    """A number in [0, 1) that depends on (seed, sweep, item) alone."""
    x = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(sweep) * np.uint64(0xD1B54A32D192ED03)
    x += np.uint64(item) * np.uint64(0x8CB92BA72F3D8DD7)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.float64(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _move_document(sign, first, last, indices, counts, k, word_topic, topic_tokens, topic_documents):
    for j in range(first, last):
        word_topic[indices[j], k] += sign * counts[j]
        topic_tokens[k] += sign * counts[j]
    topic_documents[k] += sign


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_documents(
    indptr, indices, counts, alpha, prior, seed, sweep, topic, word_topic, topic_tokens, topic_documents
):
    """One collapsed Gibbs sweep over the documents' topics. The counts exclude the document that is drawn:

    p(z_d = k | rest) ∝ (D_k + alpha_k)  prod_w [n_wk + prior]_(c_w)  /  [n_k + V prior]_(N),   [a]_(n) = a(a+1)…(a+n-1)

    topic : (D,) int32, in and out; -1 for a document without a topic (the first sweep draws it given those before)
    word_topic : (V, K) float64, topic_tokens, topic_documents : (K,) float64: counts, kept up to date
    """
    n_topics = alpha.shape[0]
    prior_total = prior * word_topic.shape[0]
    probabilities = np.empty(n_topics, np.float64)
    for d in range(indptr.shape[0] - 1):
        first, last = indptr[d], indptr[d + 1]
        if topic[d] >= 0:
            _move_document(-1.0, first, last, indices, counts, topic[d], word_topic, topic_tokens, topic_documents)
        n_tokens = 0.0
        for k in range(n_topics):
            probabilities[k] = math.log(topic_documents[k] + alpha[k])
        for j in range(first, last):
            count, word = counts[j], indices[j]
            n_tokens += count
            for k in range(n_topics):
                base = word_topic[word, k] + prior
                if count == 1.0:
                    probabilities[k] += math.log(base)
                else:
                    probabilities[k] += math.lgamma(base + count) - math.lgamma(base)
        for k in range(n_topics):
            base = topic_tokens[k] + prior_total
            probabilities[k] += math.lgamma(base) - math.lgamma(base + n_tokens)
        _normalise_logs(probabilities)
        left = _uniform(seed, sweep, d)
        chosen = 0
        while chosen < n_topics - 1 and left >= probabilities[chosen]:
            left -= probabilities[chosen]
            chosen += 1
        topic[d] = chosen
        _move_document(1.0, first, last, indices, counts, chosen, word_topic, topic_tokens, topic_documents)
