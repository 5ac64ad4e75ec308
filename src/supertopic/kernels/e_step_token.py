"""The E-step of documents with responses, with one response term per token.

For a document of N tokens, distinct words j with counts c_j, topics weighted by w_jk = exp E[log p(word j | k)]:

    phi_jk   ∝  w_jk exp( E[log theta_k] + r_jk )          gamma_k = alpha_k + sum_j c_j phi_jk

r_jk is the contribution of the responses to token j. The expected log-likelihood of a response column c has one of two
forms, given by the arrays slope and curvature. Both are linear in a feature F_ck once the other tokens are fixed, so
one loop handles both:

quadratic   slope·E[s] - curvature/2·E[s²],  s = coef_c·Zbar,  F = coef_c,  with S = sum_i c_i F·phi_i

            r_jk = F_k [slope/N - curvature/N² (S - F·phi_j)] - curvature/(2N²) F_k²

product     slope·E[s] - curvature·E[exp s],  E[exp s] = prod_i (F·phi_i)^c_i,  F = exp(coef_c/N)

            r_jk = coef_ck slope/N - F_k curvature · E[exp s] / (F·phi_j)

The sums over the other tokens exclude one occurrence of the word, not all of them.
"""

import math

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "nnan", "arcp", "contract", "afn"}
_TINY = np.float32(1e-30)

# The next three are copies of those in `e_step_words`: numba's cache does not see a change in another file.


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _exp(x):
    """e^x in float32 by a polynomial, relative error 6e-6; numba's call of libm would prevent vectorisation.

    The result is at least e^-40: smaller shares do not matter, and their products would be denormal, ten times slower.
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


@njit(cache=True, nogil=True, forceinline=True)
def _digamma(x):
    """psi(x) in float64 for x > 0."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inv2 = 1.0 / (x * x)
    tail = inv2 * (1 / 12 - inv2 * (1 / 120 - inv2 * (1 / 252 - inv2 * (1 / 240 - inv2 * (1 / 132)))))
    return shift + math.log(x) - 0.5 / x - tail


@njit(cache=True, nogil=True, forceinline=True)
def _dirichlet_terms(alpha, gamma, log_theta_used, phi_sum):
    """E[log p(theta)] - E[log q(theta)] + sum_k phi_sum_k (E[log theta_k] - log_theta_used_k), at gamma."""
    alpha_total = 0.0
    gamma_total = 0.0
    for k in range(alpha.shape[0]):
        alpha_total += alpha[k]
        gamma_total += gamma[k]
    psi_total = _digamma(gamma_total)
    bound = math.lgamma(alpha_total) - math.lgamma(gamma_total)
    for k in range(alpha.shape[0]):
        log_theta = _digamma(gamma[k]) - psi_total
        bound += math.lgamma(gamma[k]) - math.lgamma(alpha[k]) + (alpha[k] - gamma[k]) * log_theta
        bound += phi_sum[k] * (log_theta - log_theta_used[k])
    return bound


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _response_factors(c, slope, curvature, n_tokens, is_product, state, own):
    """The multiplier A of F_ck in r_jk, given the column's running state and the word's F·phi_j (`own`)."""
    if is_product[c]:
        return -curvature[c] * math.exp(min(state[c] - math.log(own), 80.0))
    return slope[c] / n_tokens - curvature[c] / (n_tokens * n_tokens) * (state[c] - own)


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _share_one_word(rows, j, fixed, features, factors, trial, new):
    """new_k ∝ rows_jk exp(fixed_k + sum_c A_c F_ck); returns the log of the normaliser, without overflow.

    The largest fixed_k is 0. An upper bound of the exponents is subtracted before exp; their exact maximum is searched
    for only where the bound may be far from it.
    """
    n_topics = new.shape[0]
    for k in range(n_topics):
        new[k] = fixed[k]
    top = np.float32(0.0)
    reach = np.float32(0.0)
    for c in range(factors.shape[0]):
        factor = np.float32(factors[c])
        least, most = factor * np.float32(trial[c, 3]), factor * np.float32(trial[c, 4])
        top += max(least, most)
        reach += abs(most - least)
        for k in range(n_topics):
            new[k] += factor * features[c, k]
    if reach > np.float32(20.0):
        top = new[0]
        for k in range(n_topics):
            top = max(top, new[k])
    norm = _TINY
    for k in range(n_topics):
        share = rows[j, k] * _exp(new[k] - top)
        new[k] = share
        norm += share
    scale = np.float32(1.0) / norm
    for k in range(n_topics):
        new[k] *= scale
    return math.log(norm) + top


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST, error_model="numpy")
def _dot(a, i, b, j):
    """a_i·b_j of the rows of two matrices; by index, since making a view of a row costs as much as the sum."""
    total = np.float32(0.0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[j, k]
    return total


@njit(cache=True, nogil=True, inline="always", error_model="numpy")
def _may_overshoot(count, curvature, is_product, n_tokens, trial, factors):
    """Whether A could change by more than 0.01 until x = F·phi_j has converged; rare in long documents."""
    for c in range(trial.shape[0]):
        pull = -factors[c] / trial[c, 0] if is_product[c] else curvature[c] / (n_tokens * n_tokens)
        if abs(pull) * (count - 1.0) * (trial[c, 4] - trial[c, 3]) > 1e-2:
            return True
    return False


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _settle(rows, j, fixed, features, curvature, is_product, n_tokens, count, trial, factors, log_norm, new):
    """Solve for phi_j of a word that occurs `count` times, where A depends on x = F·phi_j; returns the log normaliser.

    The occurrences share phi_j, so x has to solve x = f(x) with f decreasing, and the fixed-point iteration can
    oscillate for ever. Bracketed Newton steps find the solution, one column at a time. `trial` (C, 5) holds x, its
    bracket, and the smallest and the largest F.
    """
    for c in range(features.shape[0]):
        trial[c, 1], trial[c, 2] = trial[c, 3], trial[c, 4]
    for _ in range(30):
        settled = True
        for c in range(features.shape[0]):
            x, reached, square = trial[c, 0], 0.0, 0.0
            for k in range(new.shape[0]):
                reached += features[c, k] * new[k]
                square += features[c, k] * features[c, k] * new[k]
            pull = curvature[c] / (n_tokens * n_tokens)
            if is_product[c]:
                pull = -factors[c] / x
            pull *= count - 1.0
            if abs(pull * (reached - x)) < 1e-3:
                continue
            trial[c, 1 if reached > x else 2] = x
            goal = x + (reached - x) / (1.0 + max(pull * (square - reached * reached), 0.0))
            if not trial[c, 1] < goal < trial[c, 2]:
                goal = 0.5 * (trial[c, 1] + trial[c, 2])
            if is_product[c]:
                factors[c] *= (goal / x) ** (count - 1.0)
            else:
                factors[c] -= pull * (goal - x)
            trial[c, 0] = goal
            settled = False
        if settled:
            break
        log_norm = _share_one_word(rows, j, fixed, features, factors, trial, new)
    return log_norm


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _prepare_features(coef, is_product, n_tokens, features, trial):
    for c in range(coef.shape[0]):
        for k in range(coef.shape[1]):
            features[c, k] = math.exp(coef[c, k] / n_tokens) if is_product[c] else coef[c, k]
        trial[c, 3], trial[c, 4] = features[c].min(), features[c].max()


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _fixed_terms(gamma, coef, coef_cov, slope, curvature, is_product, n_tokens, phi_sum, log_theta, fixed):
    """The part of log phi_jk that is the same for all tokens: E[log theta_k], squares, the coefficients' covariance.

    Its largest value is subtracted: a constant changes neither shares nor bound, and exponents <= 0 cannot overflow.
    """
    n_topics = gamma.shape[0]
    gamma_total = 0.0
    for k in range(n_topics):
        gamma_total += gamma[k]
    psi_total = _digamma(gamma_total)
    for k in range(n_topics):
        log_theta[k] = _digamma(gamma[k]) - psi_total
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
                    for i in range(n_topics):  # includes the token itself: an error of order 1/N
                        square += 2.0 * coef_cov[c, k, i] * phi_sum[i]
                fixed[k] -= half * square
    shift = fixed[0]
    for k in range(n_topics):
        shift = max(shift, fixed[k])
    for k in range(n_topics):
        fixed[k] -= shift


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _respond_to_words(
    rows, counts, features, fixed, slope, curvature, is_product, n_tokens, state, phi, phi_sum, factors, trial, new
):
    """One Gauss-Seidel pass over the words; returns sum_j c_j E_q[log w + E log theta - log phi] at E log theta used.

    log norm_j also contains phi·r, which is part of the responses' expected log-likelihood, so it is subtracted.
    """
    n_columns, n_topics = features.shape
    word_bound = 0.0
    for j in range(counts.shape[0]):
        count = counts[j]
        for c in range(n_columns):
            own = _dot(features, c, phi, j)
            trial[c, 0] = own
            factors[c] = _response_factors(c, slope, curvature, n_tokens, is_product, state, own)
            state[c] -= count * (math.log(own) if is_product[c] else own)
        log_norm = _share_one_word(rows, j, fixed, features, factors, trial, new)
        if count > np.float32(1.0) and _may_overshoot(count, curvature, is_product, n_tokens, trial, factors):
            log_norm = _settle(
                rows, j, fixed, features, curvature, is_product, n_tokens, count, trial, factors, log_norm, new
            )
        spoken = 0.0
        for c in range(n_columns):
            reached = np.float32(0.0)
            for k in range(n_topics):
                reached += features[c, k] * new[k]
            state[c] += count * (math.log(reached) if is_product[c] else reached)
            spoken += factors[c] * reached
        for k in range(n_topics):
            phi_sum[k] += count * (new[k] - phi[j, k])
            phi[j, k] = new[k]
        word_bound += count * (log_norm - spoken)
    return word_bound


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
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


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _start_state(features, is_product, counts, phi, phi_sum, state):
    """sum_j c_j F·phi_j of the quadratic columns, log E[exp s] of the product columns; and sum_j c_j phi_j."""
    phi_sum[:] = np.float32(0.0)
    state[:] = 0.0
    for j in range(counts.shape[0]):
        for k in range(phi_sum.shape[0]):
            phi_sum[k] += counts[j] * phi[j, k]
        for c in range(features.shape[0]):
            own = _dot(features, c, phi, j)
            state[c] += counts[j] * (math.log(own) if is_product[c] else own)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _respond_one(
    rows, count, alpha, max_passes, tol, slope, curvature, coef, coef_cov, is_product, n_tokens,
    features, gamma, phi, state, phi_sum, log_theta, fixed, factors, trial, new,
):  # fmt: skip
    """Coordinate ascent for one labelled document; returns (passes, the words' part of the bound)."""
    n_topics = alpha.shape[0]
    word_bound = 0.0
    done = 0
    while done < max(max_passes, 1):
        _fixed_terms(gamma, coef, coef_cov, slope, curvature, is_product, n_tokens, phi_sum, log_theta, fixed)
        word_bound = _respond_to_words(
            rows, count, features, fixed, slope, curvature, is_product, n_tokens, state,
            phi, phi_sum, factors, trial, new,
        )  # fmt: skip
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


@njit(cache=True, nogil=True, error_model="numpy")
def infer_documents_token(
    start, stop, indptr, indices, counts, weights, alpha, which, max_passes, tol,
    slope, curvature, coef, coef_cov, is_product,
    gamma, phi, bound, passes, score, moment, rows,
):  # fmt: skip
    """E-step of documents [start, stop) with C response columns, started from the gamma and phi given.

    A document without a label keeps the result of `infer_documents`. An empty document is scored at its prior mean.

    Parameters
    ----------
    indptr, indices, counts, weights, alpha, which, gamma, phi, rows : as for infer_documents; phi is needed, in and out
    max_passes, tol : stop when the mean change of gamma is below tol
    slope, curvature : (D, C) float64; both zero where the document has no label
    coef : (C, K) float32; coef_cov : (C, K, K) float32, or (0, K, K) for a point estimate
    is_product : (C,) bool, whether a column is of the product form
    bound : (D,) float64, in and out: the words' part only; the responses' part is computed from score and moment
    passes : (D,) int32, out; 0 for a document without a label
    score, moment : (D, C) float64, out: E[s], and E[s²] (quadratic) or E[exp s] (product)
    """
    n_columns, n_topics = coef.shape
    log_theta, fixed = np.empty(n_topics, np.float64), np.empty(n_topics, np.float32)
    new, phi_sum = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    state, factors, trial = np.empty(n_columns), np.empty(n_columns), np.empty((n_columns, 5))
    features = np.empty((n_columns, n_topics), np.float32)
    for d in range(start, stop):
        prior = alpha[which[d]]
        first, last = indptr[d], indptr[d + 1]
        count, row, share = counts[first:last], rows[: last - first], phi[first:last]
        n_tokens = np.float64(count.sum())
        passes[d] = 0
        if last == first:
            for c in range(n_columns):
                score[d, c] = 0.0
                for k in range(n_topics):
                    score[d, c] += coef[c, k] * prior[k] / prior.sum()
                moment[d, c] = math.exp(score[d, c]) if is_product[c] else score[d, c] ** 2
            continue
        _prepare_features(coef, is_product, n_tokens, features, trial)
        _start_state(features, is_product, count, share, phi_sum, state)
        if np.any(slope[d] != 0.0) or np.any(curvature[d] != 0.0):
            for j in range(last - first):
                for k in range(n_topics):
                    row[j, k] = weights[indices[first + j], k]
            passes[d], bound[d] = _respond_one(
                row, count, prior, max_passes, tol, slope[d], curvature[d], coef, coef_cov, is_product, n_tokens,
                features, gamma[d], share, state, phi_sum, log_theta, fixed, factors, trial, new,
            )  # fmt: skip
        for c in range(n_columns):
            score[d, c], moment[d, c] = _score_moments(
                c, coef, coef_cov, is_product, count, n_tokens, state, share, phi_sum
            )
