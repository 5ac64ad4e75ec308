"""Variational kernels: the E-step of a document, with or without responses, and the topics' expectations.

For a document of N tokens, distinct words j with counts c_j, topics weighted by w_jk = exp E[log p(word j | k)]:

    phi_jk   ∝  w_jk exp( E[log theta_k] + r_jk )          gamma_k = alpha_k + sum_j c_j phi_jk

r_jk is what the responses say to token j, and is zero for LDA. A response column c speaks one of two languages
(the names in brackets are the arrays that carry them; both are linear in a feature F_ck once the other tokens
are fixed, so one loop serves both):

quadratic   slope·E[s] - curvature/2·E[s²],  s = coef_c·Zbar,  F = coef_c,  with S = sum_i c_i F·phi_i

            r_jk = F_k [slope/N - curvature/N² (S - F·phi_j)] - curvature/(2N²) F_k²

product     slope·E[s] - curvature·E[exp s],  E[exp s] = prod_i (F·phi_i)^c_i,  F = exp(coef_c/N)

            r_jk = coef_ck slope/N - F_k curvature · E[exp s] / (F·phi_j)

The occurrences of a word in a document share one phi; the self-term leaves out one occurrence, not all of them.
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
    series = y - np.float32(0.5) + inv * (
        np.float32(1 / 24) + inv * (np.float32(1 / 48) - inv * np.float32(23 / 5760))
    )
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


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _response_factors(c, slope, curvature, n_tokens, is_product, state, own):
    """The multiplier A of F_ck in r_jk, given the column's running state and the word's own F·phi_j."""
    if is_product[c]:
        return -curvature[c] * math.exp(min(state[c] - math.log(own), 80.0))
    return slope[c] / n_tokens - curvature[c] / (n_tokens * n_tokens) * (state[c] - own)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _share_one_word(row, fixed, features, factors, phi):
    """phi_k ∝ row_k exp(fixed_k + sum_c A_c F_ck); returns log of the norm, exact whatever the size of the terms."""
    n_topics = phi.shape[0]
    for k in range(n_topics):
        phi[k] = fixed[k]
    for c in range(factors.shape[0]):
        factor = np.float32(factors[c])
        for k in range(n_topics):
            phi[k] += factor * features[c, k]
    top = phi[0]
    for k in range(n_topics):
        top = max(top, phi[k])
    norm = np.float32(0.0)
    for k in range(n_topics):
        phi[k] = row[k] * _exp(phi[k] - top)
        norm += phi[k]
    norm += _TINY
    scale = np.float32(1.0) / norm
    for k in range(n_topics):
        phi[k] *= scale
    return math.log(norm) + top


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _dot(a, b):
    total = np.float32(0.0)
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare_features(coef, is_product, n_tokens, features):
    for c in range(coef.shape[0]):
        for k in range(coef.shape[1]):
            features[c, k] = math.exp(coef[c, k] / n_tokens) if is_product[c] else coef[c, k]


@njit(cache=True, nogil=True, error_model="numpy")
def _fixed_terms(gamma, coef, coef_cov, slope, curvature, is_product, n_tokens, phi_sum, log_theta, fixed):
    """The part of log phi_jk that no token changes: E[log theta_k], the squares, the covariance of the coefficients."""
    n_topics = gamma.shape[0]
    gamma_total = 0.0
    for k in range(n_topics):
        gamma_total += gamma[k]
    psi_total = digamma(gamma_total)
    for k in range(n_topics):
        log_theta[k] = digamma(gamma[k]) - psi_total
        fixed[k] = log_theta[k]
    for c in range(coef.shape[0]):
        if is_product[c]:
            for k in range(n_topics):
                fixed[k] += coef[c, k] * slope[c] / n_tokens
        elif curvature[c] != 0.0:
            half = curvature[c] / (2.0 * n_tokens * n_tokens)
            for k in range(n_topics):
                square = coef[c, k] * coef[c, k]
                if coef_cov.shape[0] > 0:
                    square += coef_cov[c, k, k]
                    for i in range(n_topics):  # the own token is left in here: an error of order 1/N
                        square += 2.0 * coef_cov[c, k, i] * phi_sum[i]
                fixed[k] -= half * square


@njit(cache=True, nogil=True, error_model="numpy")
def _respond_to_words(
    rows, counts, features, fixed, slope, curvature, is_product, n_tokens, state, phi, phi_sum, factors, new
):
    """One Gauss-Seidel pass over the words; returns sum_j c_j E_q[log w + E log theta - log phi] at E log theta used.

    log norm_j holds phi·r as well, which belongs to the responses' own expectation: it is taken out again.
    """
    n_topics = phi.shape[1]
    n_columns = features.shape[0]
    word_bound = 0.0
    for j in range(counts.shape[0]):
        count = counts[j]
        for c in range(n_columns):
            own = _dot(features[c], phi[j])
            factors[c] = _response_factors(c, slope, curvature, n_tokens, is_product, state, own)
            state[c] -= count * (math.log(own) if is_product[c] else own)
        log_norm = _share_one_word(rows[j], fixed, features, factors, new)
        spoken = 0.0
        for c in range(n_columns):
            own = _dot(features[c], new)
            state[c] += count * (math.log(own) if is_product[c] else own)
            spoken += factors[c] * own
        for k in range(n_topics):
            phi_sum[k] += count * (new[k] - phi[j, k])
            phi[j, k] = new[k]
        word_bound += count * (log_norm - spoken)
    return word_bound


@njit(cache=True, nogil=True, error_model="numpy")
def _score_moments(c, coef, coef_cov, is_product, counts, n_tokens, state, phi, phi_sum):
    """(E[s], E[s²]) of a quadratic column, (E[s], E[exp s]) of a product column."""
    n_topics = phi_sum.shape[0]
    mean = 0.0
    for k in range(n_topics):
        mean += coef[c, k] * phi_sum[k]
    mean /= n_tokens
    if is_product[c]:
        return mean, math.exp(state[c])
    square = state[c] * state[c]
    for j in range(counts.shape[0]):
        own = 0.0
        own_square = 0.0
        for k in range(n_topics):
            own += coef[c, k] * phi[j, k]
            own_square += coef[c, k] * coef[c, k] * phi[j, k]
        square += counts[j] * (own_square - own * own)
    if coef_cov.shape[0] > 0:
        for k in range(n_topics):
            square += coef_cov[c, k, k] * phi_sum[k]
            for i in range(n_topics):
                square += coef_cov[c, k, i] * phi_sum[k] * phi_sum[i]
    return mean, square / (n_tokens * n_tokens)


@njit(cache=True, nogil=True, error_model="numpy")
def _start_state(features, is_product, counts, phi, phi_sum, state):
    """sum_j c_j F·phi_j of the quadratic columns, log E[exp s] of the product columns; and sum_j c_j phi_j."""
    phi_sum[:] = np.float32(0.0)
    state[:] = 0.0
    for j in range(counts.shape[0]):
        for k in range(phi_sum.shape[0]):
            phi_sum[k] += counts[j] * phi[j, k]
        for c in range(features.shape[0]):
            own = _dot(features[c], phi[j])
            state[c] += counts[j] * (math.log(own) if is_product[c] else own)


@njit(cache=True, nogil=True, error_model="numpy")
def respond_documents(
    start, stop, indptr, indices, counts, weights, alpha, max_passes, tol, fresh,
    slope, curvature, coef, coef_cov, is_product,
    gamma, phi, bound, passes, score, moment, rows,
):  # fmt: skip
    """E-step of documents [start, stop) with C response columns; other arguments as for infer_documents.

    Parameters
    ----------
    slope, curvature : (D, C) float64; both zero where the document has no label: that is plain LDA
    coef : (C, K) float32; coef_cov : (C, K, K) float32, or (0, K, K) for a point estimate
    is_product : (C,) bool, the language of each column
    phi : (nnz, K) float32, in (unless fresh) and out
    bound : (D,) float64, out: words' part only; the responses add their own from score and moment
    score, moment : (D, C) float64, out: E[s], and E[s²] (quadratic) or E[exp s] (product)
    """
    n_columns, n_topics = coef.shape
    theta, total = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    log_theta, fixed = np.empty(n_topics, np.float64), np.empty(n_topics, np.float32)
    new, phi_sum = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    state, factors = np.empty(n_columns, np.float64), np.empty(n_columns, np.float64)
    features = np.empty((n_columns, n_topics), np.float32)
    for d in range(start, stop):
        first, last = indptr[d], indptr[d + 1]
        count, row, share = counts[first:last], rows[: last - first], phi[first:last]
        n_tokens = _start_document(fresh, first, last, indices, counts, weights, alpha, gamma[d], rows)
        if n_tokens == 0.0:  # an empty document scores the prior mean of its topics
            gamma[d, :], passes[d], bound[d] = alpha, 0, 0.0
            phi_sum[:] = alpha
            n_tokens = alpha.sum()
        labelled = False
        for c in range(n_columns):
            labelled = labelled or slope[d, c] != 0.0 or curvature[d, c] != 0.0
        _prepare_features(coef, is_product, n_tokens, features)
        if last > first and not labelled:
            passes[d], bound[d] = _infer_one(
                row, count, alpha, max_passes, tol, gamma[d], share, theta, total, log_theta
            )
            _start_state(features, is_product, count, share, phi_sum, state)
        elif last > first:
            if fresh:
                theta[:] = np.float32(1.0)
                _share_words(row, count, theta, share, total)
            _start_state(features, is_product, count, share, phi_sum, state)
            passes[d], bound[d] = _respond_one(
                row, count, alpha, max_passes, tol, slope[d], curvature[d], coef, coef_cov, is_product, n_tokens,
                features, gamma[d], share, state, phi_sum, log_theta, fixed, factors, new,
            )  # fmt: skip
        else:
            for c in range(n_columns):
                dot = _dot(coef[c], phi_sum)
                state[c] = dot / n_tokens if is_product[c] else dot
        for c in range(n_columns):
            score[d, c], moment[d, c] = _score_moments(
                c, coef, coef_cov, is_product, count, n_tokens, state, share, phi_sum
            )


@njit(cache=True, nogil=True, error_model="numpy")
def _respond_one(
    rows, count, alpha, max_passes, tol, slope, curvature, coef, coef_cov, is_product, n_tokens,
    features, gamma, phi, state, phi_sum, log_theta, fixed, factors, new,
):  # fmt: skip
    """Coordinate ascent for one labelled document; returns (passes, words' part of the bound)."""
    n_topics = alpha.shape[0]
    word_bound = 0.0
    done = 0
    while done < max(max_passes, 1):
        _fixed_terms(gamma, coef, coef_cov, slope, curvature, is_product, n_tokens, phi_sum, log_theta, fixed)
        word_bound = _respond_to_words(
            rows, count, features, fixed, slope, curvature, is_product, n_tokens, state, phi, phi_sum, factors, new
        )
        change = np.float32(0.0)
        for k in range(n_topics):
            word_bound -= phi_sum[k] * (fixed[k] - log_theta[k])
            new_gamma = alpha[k] + phi_sum[k]
            change += abs(new_gamma - gamma[k])
            gamma[k] = new_gamma
        done += 1
        if change < tol * n_topics:
            break
    return done, word_bound + _dirichlet_terms(alpha, gamma, log_theta, phi_sum)
