"""The E-step of documents with responses, with the same response term for all tokens of a document.

Mean-field inference needs E[s²] or E[exp s] of s = coef·Zbar, with one phi_j per token. Both are largest, and the
response's expected log-likelihood is smallest, when all tokens share their mean: by Jensen's inequality

    sum_j c_j Var_phi_j[coef]  <=  N Var_mean[coef]             prod_j (F·phi_j)^c_j  <=  (F·mean)^N

with mean = sum_j c_j phi_j / N and F = exp(coef/N). So the right-hand sides, the moments of the mean of N draws from
`mean`, still give a lower bound of the evidence. It depends on the words only through `mean`:

    phi_jk  ∝  w_jk exp( E[log theta_k] + tilt_k )           gamma_k = alpha_k + sum_j c_j phi_jk

    quadratic   tilt_k = A coef_k - curvature/(2N²) coef_k²,   A = slope/N - curvature/N² (N - 1) coef·mean
    product     tilt_k = slope/N coef_k + A F_k,               A = -curvature (F·mean)^(N-1)

A pass costs as much as a pass of LDA, whatever the number of columns; columns without curvature (max-margin classes)
are added up to one column. The gap to the per-token bound is O(1/N); `e_step_token` has the per-token step.
"""

import math

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
_TINY = np.float32(1e-30)
WEIGHT_OFFSET = np.float32(1e-18)  # added to all weights, since products of smaller numbers would be denormal and slow
_FIRST_PASSES = 4  # of a fresh start, before any leap
_LONGEST_LEAP = np.float32(16.0)  # in passes
_LONGEST_STEP = 2.0  # largest change of any topic's tilt in one pass

# Small functions are copies of those in `e_step_words`: numba's cache does not see a change in another file.


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


@njit(cache=True, nogil=True, forceinline=True)
def _dirichlet_terms(alpha, gamma, log_theta_used, phi_sum):
    """E[log p(theta)] - E[log q(theta)] + sum_k phi_sum_k (E[log theta_k] - log_theta_used_k): E[log theta] cancels."""
    alpha_total = 0.0
    gamma_total = 0.0
    bound = 0.0
    for k in range(alpha.shape[0]):
        alpha_total += alpha[k]
        gamma_total += gamma[k]
        bound += math.lgamma(gamma[k]) - math.lgamma(alpha[k]) - phi_sum[k] * log_theta_used[k]
    return bound + math.lgamma(alpha_total) - math.lgamma(gamma_total)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _mode_terms(alpha, gamma, log_theta_used, phi_sum):
    """log Dirichlet(mode | alpha + 1) + sum_k phi_sum_k (log mode_k - log_theta_used_k), mode = gamma / sum gamma."""
    priors = total = bound = 0.0
    for k in range(alpha.shape[0]):
        priors += alpha[k] + 1.0
        total += gamma[k]
        bound += gamma[k] * math.log(gamma[k]) - math.lgamma(alpha[k] + 1.0) - phi_sum[k] * log_theta_used[k]
    return bound + math.lgamma(priors) - total * math.log(total)


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _pass_over_words(rows, counts, theta, total, ratio):
    """One pass: ratio_j = c_j / (rows_j·theta), total_k = sum_j ratio_j rows_jk, four words at a time."""
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
        by_a, by_b = counts[j] / norm_a, counts[j + 1] / norm_b
        by_c, by_d = counts[j + 2] / norm_c, counts[j + 3] / norm_d
        ratio[j], ratio[j + 1], ratio[j + 2], ratio[j + 3] = by_a, by_b, by_c, by_d
        for k in range(n_topics):
            total[k] += by_a * a[k] + by_b * b[k] + by_c * c[k] + by_d * d[k]
    for j in range(fours, n_words):
        norm = _TINY
        for k in range(n_topics):
            norm += rows[j, k] * theta[k]
        ratio[j] = counts[j] / norm
        for k in range(n_topics):
            total[k] += ratio[j] * rows[j, k]


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _share_words(rows, counts, theta, ratio, phi, phi_sum):
    """Set ratio, phi_sum_k = sum_j c_j phi_jk, and phi where there is room; return sum_j c_j log(rows_j·theta)."""
    _pass_over_words(rows, counts, theta, phi_sum, ratio)
    log_norms = 0.0
    for j in range(counts.shape[0]):
        log_norms += counts[j] * math.log(counts[j] / ratio[j])
    for k in range(theta.shape[0]):
        phi_sum[k] *= theta[k]
    for j in range(phi.shape[0]):
        by = ratio[j] / counts[j]
        for k in range(theta.shape[0]):
            phi[j, k] = by * rows[j, k] * theta[k]
    return log_norms


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _prepare(slope, curvature, coef, coef_cov, is_product, n_tokens, features, fixed):
    """Compute F and the constant part of the tilt. Product columns hold F - 1; a constant changes no shares."""
    n_columns, n_topics = coef.shape
    per_token = np.float32(1.0 / n_tokens)
    for k in range(n_topics):
        fixed[k] = np.float32(0.0)
    for c in range(n_columns):
        if is_product[c]:
            steep = np.float32(slope[c]) * per_token
            for k in range(n_topics):
                x = coef[c, k] * per_token
                series = x * (
                    np.float32(1) + x * (np.float32(1 / 2) + x * (np.float32(1 / 6) + x * np.float32(1 / 24)))
                )
                features[c, k] = series if abs(x) < np.float32(0.1) else _exp(x) - np.float32(1.0)
                fixed[k] += steep * coef[c, k]
        else:
            half = np.float32(curvature[c] * 0.5) * per_token * per_token
            for k in range(n_topics):
                features[c, k] = coef[c, k]
                fixed[k] -= half * coef[c, k] * coef[c, k]
            if coef_cov.shape[0] > 0:
                for k in range(n_topics):
                    fixed[k] -= half * coef_cov[c, k, k]


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _add_up(slope, coef, column, fixed):
    """Replace columns without curvature by the one column sum_c slope_c coef_c, with slope 1."""
    for k in range(column.shape[0]):
        column[k] = fixed[k] = np.float32(0.0)
    for c in range(coef.shape[0]):
        steep = np.float32(slope[c])
        if steep != np.float32(0.0):
            for k in range(column.shape[0]):
                column[k] += steep * coef[c, k]


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _moments(c, features, is_product, n_tokens, mean):
    """(F·mean, E[s²] or E[exp s], variance of one draw's coef) of column c, with tokens drawn from `mean`."""
    first = np.float32(0.0)
    square = np.float32(0.0)
    for k in range(mean.shape[0]):
        first += features[c, k] * mean[k]
        square += features[c, k] * features[c, k] * mean[k]
    variance = max(np.float64(square - first * first), 0.0)
    if is_product[c]:
        return (
            np.float64(first),
            math.exp(min(n_tokens * math.log1p(max(np.float64(first), -1.0 + 1e-9)), 300.0)),
            variance * n_tokens * n_tokens,
        )
    return np.float64(first), np.float64(first) * first + variance / n_tokens, variance


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _pull(slope, curvature, features, is_product, n_tokens, mean, ranges, factors, goals):
    """Damped update of the factors A towards their values at `mean`; returns how far the tilt was from convergence.

    Full steps can oscillate for ever. The derivative of `mean` with respect to A is at most N Var[coef] (the variance
    under the per-word shares is smaller), and a step divided by 1 plus this bound cannot overshoot while the variance
    is constant. It is zero where one topic has all tokens, so `_LONGEST_STEP` also limits the change of the tilt.
    """
    damping = 1.0
    off = 0.0
    for c in range(features.shape[0]):
        first, moment, variance = _moments(c, features, is_product, n_tokens, mean)
        if is_product[c]:
            goals[c] = -curvature[c] * moment / (1.0 + first)
            damping += curvature[c] * moment * variance / n_tokens
        else:
            goals[c] = slope[c] / n_tokens - curvature[c] / n_tokens * (1.0 - 1.0 / n_tokens) * first
            damping += curvature[c] * variance / n_tokens
    for c in range(features.shape[0]):
        off += abs(goals[c] - factors[c]) * ranges[c]
        if math.isnan(factors[c]):
            factors[c] = goals[c]
        else:
            longest = _LONGEST_STEP / (ranges[c] + 1e-30)
            factors[c] += min(max((goals[c] - factors[c]) / damping, -longest), longest)
    return off


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _spread(curvature, coef_cov, n_tokens, mean, begin, spread, goal):
    """Damped update of `spread`, which the coefficients' covariances S subtract from the tilt, towards its goal:

    goal_k = sum_c curvature_c (N - 1)/N² (S_c mean)_k

    Damped as in `_pull`, by curvature/N times the variance of coefficients ~ S at a topic drawn from `mean`. Returns
    how far the tilt was from convergence.
    """
    n_topics = mean.shape[0]
    damping = 1.0
    for k in range(n_topics):
        goal[k] = np.float32(0.0)
    for c in range(coef_cov.shape[0]):
        strength = curvature[c] * (n_tokens - 1.0) / (n_tokens * n_tokens)
        variance = 0.0
        for k in range(n_topics):
            pull = 0.0
            for i in range(n_topics):
                pull += coef_cov[c, k, i] * mean[i]
            goal[k] += np.float32(strength * pull)
            variance += (coef_cov[c, k, k] - pull) * mean[k]
        damping += curvature[c] / n_tokens * max(variance, 0.0)
    least, most = np.inf, -np.inf
    for k in range(n_topics):  # a constant changes no shares
        least, most = min(least, goal[k] - spread[k]), max(most, goal[k] - spread[k])
    part = 1.0 if begin else min(1.0 / damping, _LONGEST_STEP / (most - least + 1e-30))
    for k in range(n_topics):
        spread[k] += np.float32(part) * (goal[k] - spread[k])
    return most - least


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _weigh_topics(features, fixed, factors, spread, gamma, collapsed, tilt, theta):
    """Compute tilt, and theta_k = exp(psi(gamma_k) + tilt_k - max tilt); collapsed: gamma_k for exp(psi(gamma_k))."""
    n_topics = gamma.shape[0]
    for k in range(n_topics):
        tilt[k] = fixed[k] - spread[k]
    for c in range(features.shape[0]):
        factor = np.float32(factors[c])
        for k in range(n_topics):
            tilt[k] += factor * features[c, k]
    most = tilt[0]
    for k in range(n_topics):
        most = max(most, tilt[k])
    if collapsed:
        for k in range(n_topics):
            theta[k] = gamma[k] * _exp(tilt[k] - most)
    else:
        for k in range(n_topics):
            theta[k] = _exp_digamma(gamma[k]) * _exp(tilt[k] - most)


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _leap(alpha, before, between, gamma):
    """Move gamma on from two passes, from `before` to `between` to gamma, to where such passes lead (SQUAREM).

    With r and v their first and second difference, gamma = before + 2 s r + s² v and s = |r| / |v|: if every pass were
    the same part of the way that is left, the end of it. No topic loses more than nine tenths of its tokens.
    """
    first = second = np.float32(0.0)
    for k in range(gamma.shape[0]):
        r = between[k] - before[k]
        v = gamma[k] - between[k] - r
        first += r * r
        second += v * v
    s = min(max(np.float32(math.sqrt(first / max(second, _TINY))), np.float32(1.0)), _LONGEST_LEAP)
    for k in range(gamma.shape[0]):
        r = between[k] - before[k]
        v = gamma[k] - between[k] - r
        least = alpha[k] + np.float32(0.1) * (gamma[k] - alpha[k])
        gamma[k] = max(before[k] + s * (np.float32(2.0) * r + s * v), least)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _tilt_one(
    rows, count, alpha, collapsed, max_passes, tol, slope, curvature, coef_cov, is_product, n_tokens, features, fixed,
    ranges, factors, goals, gamma, ratio, phi, theta, total, mean, tilt, spread, goal, before, between, fresh,
):  # fmt: skip
    """Coordinate ascent for one document; returns (passes, the words' part of the bound) and sets its `mean` shares.

    After every two passes, gamma leaps ahead (`_leap`), unless the response has just changed the tilt.
    """
    n_topics, done, settled = alpha.shape[0], 0, False
    spread[:] = np.float32(0.0)
    while True:
        for k in range(n_topics):
            mean[k] = (gamma[k] - alpha[k]) / np.float32(n_tokens)
        off = _pull(slope, curvature, features, is_product, n_tokens, mean, ranges, factors, goals)
        if coef_cov.shape[0] > 0:
            off += _spread(curvature, coef_cov, n_tokens, mean, done == 0 and not fresh, spread, goal)
        _weigh_topics(features, fixed, factors, spread, gamma, collapsed, tilt, theta)
        if done == max_passes or (settled and off < 10.0 * tol):
            break
        _pass_over_words(rows, count, theta, total, ratio)
        change, kept = np.float32(0.0), between if done % 2 else before
        for k in range(n_topics):
            new = alpha[k] + theta[k] * total[k]
            change += abs(new - gamma[k])
            kept[k], gamma[k] = gamma[k], new
        done += 1
        settled, still = change < tol * n_topics, off <= 10.0 * tol
        if still and not settled and done % 2 == 0 and done < max_passes and (done >= _FIRST_PASSES or not fresh):
            _leap(alpha, before, between, gamma)
    log_norms = _share_words(rows, count, theta, ratio, phi, total)
    for k in range(n_topics):
        tilt[k] = math.log(theta[k] + _TINY)
        gamma[k] = alpha[k] + total[k]
        mean[k] = total[k] / np.float32(n_tokens)
    given = (alpha, gamma, tilt, total)
    return done, log_norms + (_mode_terms(*given) if collapsed else _dirichlet_terms(*given))


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _score(c, coef, coef_cov, features, is_product, n_tokens, mean):
    """E[s], and E[s²] or E[exp s], of column c."""
    first, moment, _ = _moments(c, features, is_product, n_tokens, mean)
    if is_product[c]:
        first = 0.0
        for k in range(mean.shape[0]):
            first += coef[c, k] * mean[k]
    elif coef_cov.shape[0] > 0:
        own, pairs = 0.0, 0.0
        for k in range(mean.shape[0]):
            own += coef_cov[c, k, k] * mean[k]
            for i in range(mean.shape[0]):
                pairs += coef_cov[c, k, i] * mean[k] * mean[i]
        moment += pairs + (own - pairs) / n_tokens
    return first, moment


@njit(cache=True, nogil=True, error_model="numpy")
def infer_documents_mean(
    start, stop, indptr, indices, counts, weights, alpha, which, collapsed, max_passes, tol, fresh,
    slope, curvature, coef, coef_cov, is_product,
    active, factors, gamma, weighed, ratio, phi, bound, passes, score, moment, rows,
):  # fmt: skip
    """E-step of documents [start, stop) with C response columns; documents without a label are treated as in LDA.

    Parameters
    ----------
    indptr, indices, counts, weights, alpha, which, collapsed, gamma, rows : as for infer_documents
    max_passes, tol : stop when the mean change of gamma is below tol and the tilt is within 10 tol of convergence
    fresh : start every document at gamma = alpha + N/K, rather than from the gamma given
    slope, curvature : (D, C) float64; both zero where the document has no label
    coef : (C, K) float32; coef_cov : (C, K, K) float32, or (0, K, K) for a point estimate
    is_product : (C,) bool, whether a column is of the product form
    factors : (D, C) float64, in and out: A; NaN starts A at its value for the given gamma
    active : (D,) bool; other documents are not changed
    weighed : (D, K), ratio : (nnz,) float32, out: c_j phi_jk = ratio_j (weights_jk + WEIGHT_OFFSET) weighed_k
    phi : (nnz, K) float32, out, or (0, K): the topic shares of each word are not wanted one by one
    bound : (D,) float64, out: the words' part only; the responses' part is computed from score and moment
    passes : (D,) int32, score, moment : (D, C) float64, out: E[s], and E[s²] (quadratic) or E[exp s] (product)
    """
    n_columns, n_topics = coef.shape
    theta, total = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    mean, tilt, fixed = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    spread, goal = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    before, between = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    features, goals, ranges = np.empty((n_columns, n_topics), np.float32), np.empty(n_columns), np.empty(n_columns)
    one, prior, row = np.ones(1), np.empty(n_topics, np.float32), -1
    for d in range(start, stop):
        if not active[d]:
            continue
        if which[d] != row:
            row = which[d]
            prior[:] = alpha[row]
        first, last = indptr[d], indptr[d + 1]
        count = counts[first:last]
        n_tokens = np.float64(count.sum())
        if last == first:  # a document without tokens gets the prior mean
            passes[d], bound[d], gamma[d] = 0, 0.0, prior
            for k in range(n_topics):
                mean[k] = prior[k] / prior.sum()
            for c in range(n_columns):
                score[d, c] = (coef[c] * mean).sum()
                moment[d, c] = math.exp(score[d, c]) if is_product[c] else score[d, c] ** 2
            continue
        if fresh:
            for k in range(n_topics):
                gamma[d, k] = prior[k] + np.float32(n_tokens / n_topics)
        for j in range(last - first):
            for k in range(n_topics):
                rows[j, k] = weights[indices[first + j], k] + WEIGHT_OFFSET
        flat = not is_product.any() and not curvature[d].any()
        if flat:
            _add_up(slope[d], coef, features[0], fixed)
            used, steep, factor = 1, one, factors[d, :1]
        else:
            _prepare(slope[d], curvature[d], coef, coef_cov, is_product, n_tokens, features, fixed)
            used, steep, factor = n_columns, slope[d], factors[d]
        for c in range(used):
            ranges[c] = features[c].max() - features[c].min()
        passes[d], bound[d] = _tilt_one(
            rows[: last - first], count, prior, collapsed, max_passes, tol, steep, curvature[d, :used],
            coef_cov[:used], is_product, n_tokens, features[:used], fixed, ranges, factor, goals, gamma[d],
            ratio[first:last], phi[first:last], theta, total, mean, tilt, spread, goal,
            before, between, fresh,
        )  # fmt: skip
        for k in range(n_topics):
            weighed[d, k] = theta[k]
        if flat:
            _prepare(slope[d], curvature[d], coef, coef_cov, is_product, n_tokens, features, fixed)
        for c in range(n_columns):
            score[d, c], moment[d, c] = _score(c, coef, coef_cov, features, is_product, n_tokens, mean)
