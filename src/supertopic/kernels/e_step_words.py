"""The E-step of a document without a response, and the expected topic weights it uses.

For a document of N tokens, distinct words j with counts c_j, topics weighted by w_jk = exp E[log p(word j | k)]:

    phi_jk   ∝  w_jk exp E[log theta_k]          gamma_k = alpha_k + sum_j c_j phi_jk

All occurrences of a word in a document share one phi. `e_step_mean` and `e_step_token` have the step with responses.
"""

import math

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
_TINY = np.float32(1e-30)
_FIRST_PASSES = 4  # of a fresh start: they decide which topics the document has, and at which optimum it ends
_LONGEST_LEAP = np.float32(16.0)  # in passes
_MANY_TOPICS = 150  # from here on, those that a document has have passes of their own
_PRESENT = np.float32(3e-2)  # tokens
_WIDTH = 32  # words that passes of a few topics take at once: rows are padded, since left-over words take long
WEIGHT_OFFSET = np.float32(1e-18)  # added to all weights, since products of smaller numbers would be denormal and slow


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
def digamma(x):
    """psi(x) in float64 for x > 0."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inv2 = 1.0 / (x * x)
    tail = inv2 * (1 / 12 - inv2 * (1 / 120 - inv2 * (1 / 252 - inv2 * (1 / 240 - inv2 * (1 / 132)))))
    return shift + math.log(x) - 0.5 / x - tail


@njit(cache=True, nogil=True, forceinline=True)
def _trigamma(x):
    """psi'(x) in float64 for x > 0."""
    shift = 0.0
    while x < 8.0:
        shift += 1.0 / (x * x)
        x += 1.0
    inv2 = 1.0 / (x * x)
    tail = inv2 * (1 / 6 - inv2 * (1 / 30 - inv2 * (1 / 42 - inv2 * (1 / 30 - inv2 * (5 / 66)))))
    return shift + (1.0 + tail) / x + 0.5 * inv2


@njit(cache=True, nogil=True, forceinline=True)
def _gammas_of(alpha, gammas):
    """Fill gammas (K, 3) with log Gamma(alpha_k), psi(alpha_k), psi'(alpha_k); equal neighbours are computed once."""
    for k in range(alpha.shape[0]):
        if k > 0 and alpha[k] == alpha[k - 1]:
            gammas[k] = gammas[k - 1]
        else:
            value = np.float64(alpha[k])
            gammas[k, 0], gammas[k, 1], gammas[k, 2] = math.lgamma(value), digamma(value), _trigamma(value)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _dirichlet_terms(alpha, gammas, theta, phi_sum):
    """E[log p(theta)] - E[log q(theta)] + sum_k phi_sum_k (E[log theta_k] - log theta_k) at gamma = alpha + phi_sum:

    log Gamma(sum alpha) - log Gamma(sum gamma) + sum_k log Gamma(gamma_k) - log Gamma(alpha_k) - phi_sum_k log theta_k,

    since E[log theta] cancels. Most topics have almost no tokens in a document; a series is accurate enough for them.
    """
    alpha_total = total = bound = 0.0
    for k in range(alpha.shape[0]):
        share, prior = np.float64(phi_sum[k]), np.float64(alpha[k])
        alpha_total += prior
        total += share
        if share < 1e-12:
            continue
        bound -= share * math.log(theta[k])
        if share < 1e-3 * prior:
            bound += share * (gammas[k, 1] + 0.5 * share * gammas[k, 2])
        else:
            bound += math.lgamma(prior + share) - gammas[k, 0]
    return bound + math.lgamma(alpha_total) - math.lgamma(alpha_total + total)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _mode_terms(alpha, theta, phi_sum):
    """log Dirichlet(mode | alpha + 1) + sum_k phi_sum_k (log mode_k - log theta_k), mode = gamma / sum gamma:

    log Gamma(sum (alpha + 1)) - sum_k log Gamma(alpha_k + 1) + sum_k gamma_k log mode_k - phi_sum_k log theta_k;
    zero for a document without words, as in the mean-field bound.
    """
    priors = total = bound = 0.0
    if not phi_sum.any():
        return bound
    for k in range(alpha.shape[0]):
        gamma = np.float64(alpha[k]) + phi_sum[k]
        priors += alpha[k] + 1.0
        total += gamma
        bound += gamma * math.log(gamma) - math.lgamma(alpha[k] + 1.0)
        if phi_sum[k] > 0:
            bound -= phi_sum[k] * math.log(theta[k])
    return bound + math.lgamma(priors) - total * math.log(total)


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _pass_over_words(rows, counts, theta, total, ratio):
    """One pass: ratio_j = c_j / (rows_j·theta), total_k = sum_j ratio_j rows_jk. Then gamma = alpha + theta·total.

    Four words at a time, so that theta and total are loaded once for four rows.
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
def _weigh(gamma, collapsed, theta):
    """theta = exp psi(gamma), or gamma (E[theta | z] up to a factor) in collapsed inference."""
    if collapsed:
        for k in range(gamma.shape[0]):
            theta[k] = gamma[k]
    else:
        for k in range(gamma.shape[0]):
            theta[k] = _exp_digamma(gamma[k])


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _update_gamma(alpha, collapsed, theta, total, gamma):
    """Update gamma = alpha + theta·total and its weights theta; return the mean absolute change of gamma."""
    change = np.float32(0.0)
    for k in range(alpha.shape[0]):
        new = alpha[k] + theta[k] * total[k]
        change += abs(new - gamma[k])
        gamma[k] = new
    _weigh(gamma, collapsed, theta)
    return change / np.float32(alpha.shape[0])


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _finish(rows, counts, alpha, collapsed, gammas, theta, total, ratio, gamma):
    """A last pass, by which gamma = alpha + total and c_j phi_jk = ratio_j rows_jk theta_k; returns the bound."""
    _pass_over_words(rows, counts, theta, total, ratio)
    log_norms = 0.0
    for j in range(counts.shape[0]):
        log_norms += counts[j] * math.log(counts[j] / ratio[j])
    for k in range(alpha.shape[0]):
        total[k] *= theta[k]
        gamma[k] = alpha[k] + total[k]
    prior = _mode_terms(alpha, theta, total) if collapsed else _dirichlet_terms(alpha, gammas, theta, total)
    return log_norms + prior


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _leap(alpha, before, between, gamma):
    """Move gamma on from two passes, from `before` to `between` to gamma, to where such passes lead (SQUAREM).

    With r and v their first and second difference: before + 2 s r + s² v, s = |r| / |v|, the end itself if each pass is
    the same part of the way that is left. No topic loses more than nine tenths of its tokens.
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
def _find_present(alpha, gamma, present):
    """List topics that have more than three hundredths of a token; return how many, zero if they are too many."""
    n_present = 0
    for k in range(gamma.shape[0]):
        if gamma[k] - alpha[k] > _PRESENT:
            if n_present == present.shape[0]:
                return 0
            present[n_present] = k
            n_present += 1
    return n_present


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _pass_of_some(own, others, counts, n, weight, total, ratio):
    """As `_pass_over_words`, of n topics beside others: own_i has a topic's weights, others_j the rest's in word j.

    The inner loops run over words, of which a document has more than it has topics.
    """
    n_words = counts.shape[0]
    for j in range(n_words):
        ratio[j] = others[j]
    fours = n - n % 4
    for i in range(0, fours, 4):
        a, b, c, d = own[i], own[i + 1], own[i + 2], own[i + 3]
        by_a, by_b, by_c, by_d = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
        for j in range(n_words):
            ratio[j] += a[j] * by_a + b[j] * by_b + c[j] * by_c + d[j] * by_d
    for i in range(fours, n):
        for j in range(n_words):
            ratio[j] += own[i, j] * weight[i]
    for j in range(n_words):
        ratio[j] = counts[j] / ratio[j]
    for i in range(0, fours, 4):
        a, b, c, d = own[i], own[i + 1], own[i + 2], own[i + 3]
        sum_a = sum_b = sum_c = sum_d = np.float32(0.0)
        for j in range(n_words):
            sum_a += a[j] * ratio[j]
            sum_b += b[j] * ratio[j]
            sum_c += c[j] * ratio[j]
            sum_d += d[j] * ratio[j]
        total[i], total[i + 1], total[i + 2], total[i + 3] = sum_a, sum_b, sum_c, sum_d
    for i in range(fours, n):
        sum_a = np.float32(0.0)
        for j in range(n_words):
            sum_a += own[i, j] * ratio[j]
        total[i] = sum_a


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _hold_absent(n, own, others, present, prior, count, weight):
    """Of n topics, keep those that still have tokens; the others' part in a word goes to `others`. Return how many."""
    at = 0
    for i in range(n):
        if count[i] - prior[i] > _PRESENT:
            for j in range(others.shape[0]):
                own[at, j] = own[i, j]
            present[at], prior[at], count[at], weight[at] = present[i], prior[i], count[i], weight[i]
            at += 1
        else:
            for j in range(others.shape[0]):
                others[j] += own[i, j] * weight[i]
    return at


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _take_apart(rows, counts, ratio, weighed, present, own, others, counted):
    """Fill own_i with a present topic's weights by word, others_j with what the rest make of word j, and counted.

    ratio : at the weights `weighed`. Beyond the document's words, own and counted are zero, and others one.
    """
    n_words, n = counts.shape[0], present.shape[0]
    for j in range(n_words):
        counted[j] = counts[j]
        left, row = counts[j] / max(ratio[j], _TINY), rows[j]
        for i in range(n):
            own[i, j] = row[present[i]]
            left -= own[i, j] * weighed[present[i]]
        others[j] = max(left, _TINY)
    for j in range(n_words, others.shape[0]):
        counted[j], others[j] = np.float32(0.0), np.float32(1.0)
        for i in range(n):
            own[i, j] = np.float32(0.0)


@njit(cache=True, nogil=True, forceinline=True, fastmath=_FAST, error_model="numpy")
def _settle_present(rows, counts, ratio, alpha, weighed, gamma, theta, present, max_passes, tol, room):
    """Passes of a document's topics alone, until they change by less than tol; what others make of a word stays.

    Of a thousand topics, a document has a few dozen after some passes, and passes of these cost next to nothing. Each
    is a step of the same ascent, with the other topics held. Topics that lose their tokens are held from then on.

    ratio : at the weights `weighed`, from where a pass led to gamma and theta; present : (topics,), changed
    """
    n, limit = present.shape[0], tol * np.float32(gamma.shape[0])
    columns, others, counted, by, prior, count, weight, total, before, between = room
    padded = -(-counts.shape[0] // _WIDTH) * _WIDTH
    own, others, counted, by = columns[: n * padded].reshape(n, padded), others[:padded], counted[:padded], by[:padded]
    _take_apart(rows, counts, ratio, weighed, present, own, others, counted)
    for i in range(n):
        prior[i], count[i], weight[i] = alpha[present[i]], gamma[present[i]], theta[present[i]]
    since = 0  # the last leap
    for done in range(max_passes):
        _pass_of_some(own, others, counted, n, weight, total, by)
        kept, n_left = between if since else before, 0
        for i in range(n):
            kept[i] = count[i]
        change = np.float32(n) * _update_gamma(prior[:n], False, weight, total, count[:n])
        for i in range(n):
            gamma[present[i]], theta[present[i]] = count[i], weight[i]
            n_left += count[i] - prior[i] > _PRESENT
        if change < limit:
            break
        since += 1
        if 4 * n_left < 3 * n:
            n, since = _hold_absent(n, own, others, present, prior, count, weight), 0
        elif since == 2 and done + 1 < max_passes:
            _leap(prior, before[:n], between[:n], count[:n])
            _weigh(count[:n], False, weight)
            since = 0


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _ascend(fresh, rows, count, alpha, collapsed, max_passes, tol, gamma, theta, total, ratio, room):
    """Coordinate ascent for one document; updates gamma and its weights theta, returns the number of passes.

    After every two passes, gamma leaps ahead (`_leap`), which halves the number of passes. Of many topics, those that
    the document has settle among themselves instead (`_settle_present`).
    """
    before, between, weighed, present, of_some = room
    _weigh(gamma, collapsed, theta)
    done = 0
    while done < max_passes and count.shape[0] > 0:
        _pass_over_words(rows, count, theta, total, ratio)
        kept = between if done % 2 else before
        for k in range(alpha.shape[0]):
            kept[k], weighed[k] = gamma[k], theta[k]
        done += 1
        if _update_gamma(alpha, collapsed, theta, total, gamma) < tol:
            break
        if fresh and done < _FIRST_PASSES and not collapsed:  # collapsed inference has one optimum only
            continue
        some = present[: 0 if collapsed else _find_present(alpha, gamma, present)]
        if some.shape[0] > 0:
            _settle_present(rows, count, ratio, alpha, weighed, gamma, theta, some, max_passes, tol, of_some)
        elif done % 2 == 0 and done < max_passes:
            _leap(alpha, before, between, gamma)
            _weigh(gamma, collapsed, theta)
    return done


@njit(cache=True, nogil=True, forceinline=True)
def _numbers(n):
    """Room of its own: a compiler cannot show that rows of one array do not overlap, and would not vectorise loops."""
    return np.empty(n, np.float32)


@njit(cache=True, nogil=True, forceinline=True)
def _room_for(n_topics, longest):
    """Scratch of `_ascend` for documents of so many words at most; where topics are few, none is listed as present."""
    n, most = n_topics // 2 if n_topics >= _MANY_TOPICS else 0, -(-longest // _WIDTH) * _WIDTH
    by_topic = (_numbers(n), _numbers(n), _numbers(n), _numbers(n), _numbers(n), _numbers(n))
    of_some = (_numbers(n * most), _numbers(most), _numbers(most), _numbers(most), *by_topic)
    return _numbers(n_topics), _numbers(n_topics), _numbers(n_topics), np.empty(n, np.int64), of_some


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _start_document(fresh, first, last, indices, counts, weights, alpha, gamma, rows):
    """Copy the weights of the document's words into `rows`; set gamma = alpha + N/K on a fresh start."""
    n_tokens = np.float32(0.0)
    for j in range(last - first):
        n_tokens += counts[first + j]
        word = indices[first + j]
        for k in range(alpha.shape[0]):
            rows[j, k] = weights[word, k] + WEIGHT_OFFSET
    if fresh:
        share = n_tokens / np.float32(alpha.shape[0])
        for k in range(alpha.shape[0]):
            gamma[k] = alpha[k] + share


@njit(cache=True, nogil=True, error_model="numpy")
def infer_documents(
    start, stop, indptr, indices, counts, weights, alpha, which, collapsed, max_passes, tol, fresh,
    gamma, phi, bound, passes, rows,
):  # fmt: skip
    """E-step of documents [start, stop) without a response: iterate until the mean change of gamma is below tol.

    Parameters
    ----------
    indptr, indices, counts : CSR of the batch; counts float32
    weights : (V, K) float32, exp E[log p(word | topic)]
    alpha : (R, K) float32; which : (D,) int32, the row of each document
    collapsed : bool
        phi_jk ∝ w_jk gamma_k instead of w_jk exp psi(gamma_k), with w = E[p(word | topic)]: collapsed inference
        (CVB0). The counts include the token itself, as in Foulds et al. (2013). This is EM for the mode of theta
        under Dirichlet(alpha + 1), and the bound is log p(words, theta) at the mode.
    fresh : start every document at gamma = alpha + N/K, rather than from the gamma given
    gamma : (D, K) float32, in and out
    phi : (nnz, K) float32, out: the topic shares of each word; with shape (0, K), phi and bound are not computed
    bound : (D,) float64, out: the document's part of the evidence bound; passes : (D,) int32, out
    rows : (longest document, K) float32, scratch
    """
    n_topics, row = alpha.shape[1], -1
    theta, total, ratio, prior = _numbers(n_topics), _numbers(n_topics), _numbers(rows.shape[0]), _numbers(n_topics)
    room, gammas = _room_for(n_topics, rows.shape[0]), np.empty((n_topics, 3))
    for d in range(start, stop):
        if which[d] != row:
            row = which[d]
            prior[:] = alpha[row]
            _gammas_of(prior, gammas)
        first, last = indptr[d], indptr[d + 1]
        _start_document(fresh, first, last, indices, counts, weights, prior, gamma[d], rows)
        count = counts[first:last]
        passes[d] = _ascend(fresh, rows, count, prior, collapsed, max_passes, tol, gamma[d], theta, total, ratio, room)
        bound[d] = 0.0
        if phi.shape[0] > 0 or last == first:
            bound[d] = _finish(rows, count, prior, collapsed, gammas, theta, total, ratio, gamma[d])
        for j in range(min(last - first, phi.shape[0])):
            for k in range(n_topics):
                phi[first + j, k] = rows[j, k] * theta[k] * (ratio[j] / count[j])


@njit(cache=True, nogil=True, error_model="numpy")
def infer_plain_documents(
    start, stop, indptr, indices, counts, weights, alpha, which, collapsed, max_passes, tol, fresh,
    gamma, theta, ratio, bound, rows,
):  # fmt: skip
    """As `infer_documents`, but returns phi as factors: c_j phi_jk = ratio_j (weights_jk + WEIGHT_OFFSET) theta_k.

    theta : (D, K) float32, out; ratio : (nnz,) float32, out
    """
    n_topics, row = alpha.shape[1], -1
    total, prior, room = _numbers(n_topics), _numbers(n_topics), _room_for(n_topics, rows.shape[0])
    gammas = np.empty((n_topics, 3))
    for d in range(start, stop):
        if which[d] != row:
            row = which[d]
            prior[:] = alpha[row]
            _gammas_of(prior, gammas)
        first, last = indptr[d], indptr[d + 1]
        _start_document(fresh, first, last, indices, counts, weights, prior, gamma[d], rows)
        count, ratios = counts[first:last], ratio[first:last]
        _ascend(fresh, rows, count, prior, collapsed, max_passes, tol, gamma[d], theta[d], total, ratios, room)
        bound[d] = _finish(rows, count, prior, collapsed, gammas, theta[d], total, ratios, gamma[d])


@njit(cache=True, nogil=True, error_model="numpy")
def sum_log_theta(start, stop, documents, ends, row, alpha, gamma, sums):
    """sums_pk = sum over the documents of pieces p in [start, stop) of E[log theta_k] = psi(gamma_k) - psi(sum gamma).

    documents, ends, row : piece p has documents[ends[p] : ends[p + 1]], whose alpha is row[p] (`priors.base.Rows`)
    alpha : (R, K) float32; gamma : (D, K) float32; sums : (pieces, K) float64, out. A series is accurate enough for
    topics with almost no tokens in a document.
    """
    gammas, last = np.empty((alpha.shape[1], 3)), -1
    for p in range(start, stop):
        prior, found = alpha[row[p]], sums[p]
        if row[p] != last:
            last = row[p]
            _gammas_of(prior, gammas)
        found[:] = 0.0
        for i in range(ends[p], ends[p + 1]):
            own, total = gamma[documents[i]], 0.0
            for k in range(prior.shape[0]):
                value = np.float64(own[k])
                share = value - prior[k]
                total += value
                if share < 1e-4 * prior[k]:
                    found[k] += gammas[k, 1] + share * gammas[k, 2]
                else:
                    found[k] += digamma(value)
            total = digamma(total)
            for k in range(prior.shape[0]):
                found[k] -= total


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def expect_topics(start, stop, word_topic, scale, weights):
    """weights_wk = exp(psi(lambda_wk)) scale_k for words [start, stop), with scale_k = exp(-psi(sum_w lambda_wk))."""
    for w in range(start, stop):
        for k in range(word_topic.shape[1]):
            weights[w, k] = _exp_digamma(word_topic[w, k]) * scale[k]
