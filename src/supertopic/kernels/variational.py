"""The E-step of a document without a response, and the topics' expected weights it works with.

For a document of N tokens, distinct words j with counts c_j, topics weighted by w_jk = exp E[log p(word j | k)]:

    phi_jk   ∝  w_jk exp E[log theta_k]          gamma_k = alpha_k + sum_j c_j phi_jk

The occurrences of a word in a document share one phi. `response` has the same step with responses.
"""

import math

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
_TINY = np.float32(1e-30)
_SMALLEST_WEIGHT = np.float32(1e-18)  # products of smaller ones would be denormal numbers: loops run ten times slower


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _exp(x):
    """e^x in float32 by a polynomial, relative error 6e-6: numba's libm call would stop loops from vectorising.

    Floored at e^-40: smaller shares mean nothing, but their products would be denormal numbers, ten times slower.
    """
    x = min(max(x, np.float32(-40.0)), np.float32(88.0))
    t = x * np.float32(1.4426950408889634)
    whole = np.floor(t + np.float32(0.5))
    f = t - whole
    p = np.float32(0.0013333558)
    p = p * f + np.float32(0.009618129)
    p = p * f + np.float32(0.05550411)
    p = p * f + np.float32(0.2402265)
    p = p * f + np.float32(0.6931472)
    p = p * f + np.float32(1.0)
    return p * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _exp_digamma(x):
    """exp(psi(x)) in float32 for x > 0, without a branch: psi(x) = psi(x+6) - sum 1/(x+i), and a series at x+6."""
    small = min(x, np.float32(1e4))
    t = small * (small + np.float32(5.0))
    u = t * t
    shift = (np.float32(2.0) * small + np.float32(5.0)) * (
        (np.float32(3.0) * u + np.float32(20.0) * t + np.float32(24.0))
        / (t * (u + np.float32(10.0) * t + np.float32(24.0)))
    )
    big = x > np.float32(1e4)
    y = x if big else x + np.float32(6.0)
    inv = np.float32(1.0) / y
    series = y - np.float32(0.5) + inv * (np.float32(1 / 24) + inv * (np.float32(1 / 48) - inv * np.float32(23 / 5760)))
    return series if big else series * _exp(-shift)


@njit(cache=True, nogil=True)
def digamma(x):
    """psi(x) in float64 for x > 0."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inv2 = 1.0 / (x * x)
    tail = inv2 * (1 / 12 - inv2 * (1 / 120 - inv2 * (1 / 252 - inv2 * (1 / 240 - inv2 * (1 / 132)))))
    return shift + math.log(x) - 0.5 / x - tail


@njit(cache=True, nogil=True)
def _dirichlet_terms(alpha, gamma, log_theta_used, phi_sum):
    """E[log p(theta)] - E[log q(theta)] + sum_k phi_sum_k (E[log theta_k] - log_theta_used_k), at gamma."""
    alpha_total = 0.0
    gamma_total = 0.0
    for k in range(alpha.shape[0]):
        alpha_total += alpha[k]
        gamma_total += gamma[k]
    psi_total = digamma(gamma_total)
    bound = math.lgamma(alpha_total) - math.lgamma(gamma_total)
    for k in range(alpha.shape[0]):
        log_theta = digamma(gamma[k]) - psi_total
        bound += math.lgamma(gamma[k]) - math.lgamma(alpha[k]) + (alpha[k] - gamma[k]) * log_theta
        bound += phi_sum[k] * (log_theta - log_theta_used[k])
    return bound


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _pass_over_words(rows, counts, theta, total):
    """One pass: total_k = sum_j c_j rows_jk / (rows_j·theta). Then gamma = alpha + theta·total.

    Four words at a time: theta and total then travel through the registers once for four rows.
    """
    n_topics = theta.shape[0]
    n_words = counts.shape[0]
    for k in range(n_topics):
        total[k] = np.float32(0.0)
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
        norm_a, norm_b = counts[j] / norm_a, counts[j + 1] / norm_b
        norm_c, norm_d = counts[j + 2] / norm_c, counts[j + 3] / norm_d
        for k in range(n_topics):
            total[k] += norm_a * a[k] + norm_b * b[k] + norm_c * c[k] + norm_d * d[k]
    for j in range(fours, n_words):
        norm = _TINY
        for k in range(n_topics):
            norm += rows[j, k] * theta[k]
        ratio = counts[j] / norm
        for k in range(n_topics):
            total[k] += ratio * rows[j, k]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _update_gamma(alpha, theta, total, gamma):
    """gamma = alpha + theta·total and theta = exp psi(gamma), in place; the mean absolute change of gamma."""
    change = np.float32(0.0)
    for k in range(alpha.shape[0]):
        new = alpha[k] + theta[k] * total[k]
        change += abs(new - gamma[k])
        gamma[k] = new
    for k in range(alpha.shape[0]):
        theta[k] = _exp_digamma(gamma[k])
    return change / np.float32(alpha.shape[0])


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _share_words(rows, counts, theta, phi, phi_sum):
    """phi_jk ∝ rows_jk theta_k, and their sums; returns sum_j c_j log(rows_j·theta)."""
    n_topics = theta.shape[0]
    log_norms = 0.0
    for k in range(n_topics):
        phi_sum[k] = np.float32(0.0)
    for j in range(counts.shape[0]):
        norm = np.float32(0.0)
        for k in range(n_topics):
            norm += rows[j, k] * theta[k]
        norm += _TINY
        scale = np.float32(1.0) / norm
        count = counts[j]
        for k in range(n_topics):
            share = rows[j, k] * theta[k] * scale
            phi[j, k] = share
            phi_sum[k] += count * share
        log_norms += count * math.log(norm)
    return log_norms


@njit(cache=True, nogil=True, error_model="numpy")
def _infer_one(rows, count, alpha, max_passes, tol, gamma, phi, theta, total, log_theta):
    """Coordinate ascent for one document without a response; returns (passes, bound). Leave phi empty to skip both."""
    n_topics = alpha.shape[0]
    for k in range(n_topics):
        theta[k] = _exp_digamma(gamma[k])
    done = 0
    while done < max_passes and count.shape[0] > 0:
        _pass_over_words(rows, count, theta, total)
        done += 1
        if _update_gamma(alpha, theta, total, gamma) < tol:
            break
    if phi.shape[0] == 0 and count.shape[0] > 0:
        return done, 0.0
    log_norms = _share_words(rows, count, theta, phi, total)
    for k in range(n_topics):
        log_theta[k] = math.log(theta[k] + _TINY)
        gamma[k] = alpha[k] + total[k]
    return done, log_norms + _dirichlet_terms(alpha, gamma, log_theta, total)


@njit(cache=True, nogil=True, error_model="numpy")
def _start_document(fresh, first, last, indices, counts, weights, alpha, gamma, rows):
    """Copy the document's rows side by side; gamma = alpha + N/K on a fresh start. Returns N."""
    n_tokens = np.float32(0.0)
    for j in range(last - first):
        word = indices[first + j]
        for k in range(alpha.shape[0]):
            rows[j, k] = max(weights[word, k], _SMALLEST_WEIGHT)
        n_tokens += counts[first + j]
    if fresh:
        share = n_tokens / np.float32(alpha.shape[0])
        for k in range(alpha.shape[0]):
            gamma[k] = alpha[k] + share
    return n_tokens


@njit(cache=True, nogil=True, error_model="numpy")
def infer_documents(
    start, stop, indptr, indices, counts, weights, alpha, max_passes, tol, fresh, gamma, phi, bound, passes, rows
):
    """E-step of documents [start, stop) without a response: ascent on (gamma, phi) to a mean change below tol.

    Parameters
    ----------
    indptr, indices, counts : CSR of the batch; counts float32
    weights : (V, K) float32, exp E[log p(word | topic)]
    alpha : (K,) float32
    fresh : start every document at gamma = alpha + N/K, rather than from the gamma given
    gamma : (D, K) float32, in and out
    phi : (nnz, K) float32, out: the share of each topic in each word; (0, K) leaves it and the bound out
    bound : (D,) float64, out: the document's part of the evidence bound
    passes : (D,) int32, out
    rows : (longest document, K) float32, scratch
    """
    theta = np.empty(alpha.shape[0], np.float32)
    total = np.empty(alpha.shape[0], np.float32)
    log_theta = np.empty(alpha.shape[0], np.float64)
    for d in range(start, stop):
        first, last = indptr[d], indptr[d + 1]
        _start_document(fresh, first, last, indices, counts, weights, alpha, gamma[d], rows)
        shares = phi[first:last] if phi.shape[0] > 0 else phi
        passes[d], bound[d] = _infer_one(
            rows[: last - first], counts[first:last], alpha, max_passes, tol, gamma[d], shares, theta, total, log_theta
        )


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def expect_topics(start, stop, word_topic, scale, weights):
    """weights_wk = exp(psi(lambda_wk)) scale_k for words [start, stop), with scale_k = exp(-psi(sum_w lambda_wk))."""
    for w in range(start, stop):
        for k in range(word_topic.shape[1]):
            weights[w, k] = _exp_digamma(word_topic[w, k]) * scale[k]
