"""The hidden topic Markov model: each sentence has one topic. Forward-backward costs O(S K) for S sentences.

The state of sentence s is its topic z_s and whether the topic is fresh (drawn from theta) or kept from sentence s - 1.
With b_s(k) = p(words of s | k),

    predict  q_s(k) = eps theta_k + (1 - eps) p_{s-1}(k)             q_1(k) = theta_k: the first topic is always fresh
    forward  p_s(k) = q_s(k) b_s(k) / norm_s                         log p(words) = sum_s log norm_s
    back     g_s(k) = (1 - eps) b_{s+1}(k) g_{s+1}(k) + eps sum_j theta_j b_{s+1}(j) g_{s+1}(j)       g_S(k) = 1

    p(z_s = k | words) ∝ p_s(k) g_s(k)       p(z_s = k, fresh | words) = p(z_s = k | words) eps theta_k / q_s(k)

A kept topic equals the previous one, and a fresh topic does not depend on it. So no sum over K² pairs is needed.
"""

import math

import numpy as np
from numba import njit

_NEVER = -1e300  # stands for log 0


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _weigh_sentences(first, last, indptr, indices, counts, log_weights, logs):
    """logs[s, k] = log b_s(k), for the sentences [first, last) of one document."""
    n_topics = log_weights.shape[1]
    for s in range(first, last):
        row = logs[s - first]
        for k in range(n_topics):
            row[k] = 0.0
        for j in range(indptr[s], indptr[s + 1]):
            count, word = counts[j], indices[j]
            for k in range(n_topics):
                row[k] += count * log_weights[word, k]


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _forward(n_sentences, theta, eps, logs, scores, filtered):
    """Set scores[s, k] = b_s(k) / max_j b_s(j) and filtered[s, k] = p_s(k); return log p(words)."""
    n_topics = theta.shape[0]
    total = 0.0
    for s in range(n_sentences):
        top = logs[s, 0]
        for k in range(1, n_topics):
            top = max(top, logs[s, k])
        most = _NEVER  # in logarithms: the topic that fits the words best may have almost no share of the document
        for k in range(n_topics):
            scores[s, k] = math.exp(logs[s, k] - top)
            chance = theta[k] if s == 0 else eps * theta[k] + (1.0 - eps) * filtered[s - 1, k]
            filtered[s, k] = (math.log(chance) if chance > 0.0 else _NEVER) + logs[s, k]
            most = max(most, filtered[s, k])
        norm = 0.0
        for k in range(n_topics):
            filtered[s, k] = math.exp(filtered[s, k] - most)
            norm += filtered[s, k]
        for k in range(n_topics):
            filtered[s, k] /= norm
        total += math.log(norm) + most
    return total


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _backward(n_sentences, theta, eps, scores, filtered, ahead, posterior, fresh, drawn):
    """posterior[s, k] = p(z_s = k | words), fresh[s] = p(fresh_s | words), drawn_k = expected fresh draws of k."""
    n_topics = theta.shape[0]
    for k in range(n_topics):
        ahead[k] = 1.0
        drawn[k] = 0.0
    for s in range(n_sentences - 1, -1, -1):
        norm = 0.0
        for k in range(n_topics):
            norm += filtered[s, k] * ahead[k]
        fresh[s] = 0.0
        for k in range(n_topics):
            chance = filtered[s, k] * ahead[k] / norm
            posterior[s, k] = chance
            if s == 0:
                part = chance
            elif chance > 0.0:
                new = eps * theta[k]
                part = chance * new / (new + (1.0 - eps) * filtered[s - 1, k])
            else:
                part = 0.0
            fresh[s] += part
            drawn[k] += part
        # the backward message to the previous sentence, scaled to a largest value of one
        anew = top = 0.0
        for k in range(n_topics):
            ahead[k] *= scores[s, k]
            anew += theta[k] * ahead[k]
        for k in range(n_topics):
            ahead[k] = (1.0 - eps) * ahead[k] + eps * anew
            top = max(top, ahead[k])
        for k in range(n_topics):
            ahead[k] /= top


@njit(cache=True, nogil=True, error_model="numpy")
def infer_sentences(
    start, stop, first_sentence, indptr, indices, counts, log_weights, prior, eps, max_passes, tol,
    theta, posterior, fresh, objective, logs, scores, filtered,
):  # fmt: skip
    """EM for the topic shares of each document in [start, stop): theta_k ∝ prior_k + expected fresh draws of topic k.

    Parameters
    ----------
    first_sentence : (D + 1,) int, where the sentences of each document begin
    indptr, indices, counts : CSR of the sentences; counts float32
    log_weights : (V, K) float32, log p(word | topic)
    prior : (K,) float64, pseudo-counts of fresh draws: theta ~ Dirichlet(1 + prior)
    eps : probability that a sentence draws a fresh topic
    max_passes, tol : stop when no entry of theta changes by `tol` or more; a single pass is one EM iteration
    theta : (D, K) float64, in and out: after the last pass
    posterior : (S, K) float32 and fresh : (S,) float64, out: given the theta before the last pass
    objective : (D,) float64, out: log p(words of d | theta) + sum_k prior_k log theta_k, theta before the last pass
    logs, scores, filtered : (largest number of sentences in a document, K) float64, scratch
    """
    n_topics = prior.shape[0]
    ahead, drawn = np.empty(n_topics), np.empty(n_topics)
    prior_total = 0.0
    for k in range(n_topics):
        prior_total += prior[k]
    for d in range(start, stop):
        first, last = first_sentence[d], first_sentence[d + 1]
        n_sentences = last - first
        objective[d] = 0.0
        if n_sentences == 0:
            continue
        _weigh_sentences(first, last, indptr, indices, counts, log_weights, logs)
        for _ in range(max_passes):
            objective[d] = _forward(n_sentences, theta[d], eps, logs, scores, filtered)
            for k in range(n_topics):
                objective[d] += prior[k] * math.log(theta[d, k])
            _backward(
                n_sentences, theta[d], eps, scores, filtered, ahead, posterior[first:last], fresh[first:last], drawn
            )
            total = prior_total
            for k in range(n_topics):
                total += drawn[k]
            moved = 0.0
            for k in range(n_topics):
                new = (prior[k] + drawn[k]) / total
                moved = max(moved, abs(new - theta[d, k]))
                theta[d, k] = new
            if moved < tol:
                break


@njit(cache=True, nogil=True, error_model="numpy")
def likelihood_after(
    start, stop, first_sentence, n_seen, indptr, indices, counts, log_weights, eps, theta, log_likelihood,
    logs, scores, filtered,
):  # fmt: skip
    """log p(sentences of d after the first n_seen_d | the first n_seen_d, theta_d); arguments as `infer_sentences`."""
    for d in range(start, stop):
        first, last = first_sentence[d], first_sentence[d + 1]
        log_likelihood[d] = 0.0
        if last > first:
            _weigh_sentences(first, last, indptr, indices, counts, log_weights, logs)
            whole = _forward(last - first, theta[d], eps, logs, scores, filtered)
            log_likelihood[d] = whole - _forward(n_seen[d], theta[d], eps, logs, scores, filtered)
