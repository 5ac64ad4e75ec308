"""Document-major Gibbs sweeps that use the likelihood itself, for responses that no augmentation makes quadratic.

Token of word w in document d of N tokens, all counts without the token itself:

    p(z = k) ∝ (n_dk + alpha_k) (n_wk + beta)/(n_k + V beta) exp( sum_c f_dc(s_c + x_ck) )

    s_c = offset_dc + coef_c·n_d/N,    x_ck = coef_ck/N

    kind QUADRATIC   f(s) = slope s - curvature s²/2
    kind PRODUCT     f(s) = slope s - curvature exp(s)                 Poisson, gamma, Weibull, softmax
    kind PROBIT      f(s) = |slope| log Phi(sign(slope) curvature s)   its latent variable integrated out (SSTM)

A token changes s by little. Where the remainder is below TINY, f(s + x) - f(s) is replaced by its Taylor polynomial of
degree four in x, the same one for all topics. Elsewhere f is evaluated for each topic.
"""

import math

import numpy as np
from numba import njit

QUADRATIC, PRODUCT, PROBIT = 0, 1, 2
TINY = 1e-6
FIFTH = 1.5  # a bound of the fifth derivative of log Phi
HALF_LOG_2PI = 0.9189385332046727
FAST = {"contract", "nsz", "arcp", "nnan"}


def make_scratch(n_topics, n_columns):
    """Scratch arrays of one call of `sweep_likelihood`: by topic, by column, and the powers."""
    return (
        np.zeros((4 + n_columns, n_topics + 32)),
        np.zeros((2, max(n_columns, 1))),
        np.zeros(n_topics + 64, np.float32),
    )


@njit(cache=True, nogil=True, inline="always")
def _uniform(key, index):
    """u in [0, 1) with 53 bits: splitmix64 of (key, index)."""
    x = key + np.uint64(index) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((x ^ (x >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True, forceinline=True)
def _log_phi(a):
    """log Phi(a), far into the tail."""
    if a > -20.0:
        return math.log(0.5 * math.erfc(-a * 0.7071067811865476))
    inverse = 1.0 / (a * a)
    return -0.5 * a * a - HALF_LOG_2PI - math.log(-a) + math.log1p(inverse * (-1.0 + inverse * (3.0 - 15.0 * inverse)))


@njit(cache=True, nogil=True, forceinline=True)
def _function(kind, s, slope, curvature):
    """f(s)."""
    if kind == QUADRATIC:
        return s * (slope - 0.5 * curvature * s)
    if kind == PRODUCT:
        return slope * s - curvature * math.exp(min(s, 300.0))
    return abs(slope) * _log_phi(s * curvature if slope > 0.0 else -s * curvature) if slope != 0.0 else 0.0


@njit(cache=True, nogil=True, forceinline=True)
def _taylor(kind, s, slope, curvature, largest):
    """f(s + x) - f(s) = x (p1 + x (p2 + x (p3 + x p4))): p1 to p4, and a bound of the remainder for |x| <= largest."""
    if kind == QUADRATIC:
        return slope - curvature * s, -0.5 * curvature, 0.0, 0.0, 0.0
    fifth = largest**5 / 120.0
    if kind == PRODUCT:
        rate = curvature * math.exp(min(s, 300.0))
        remainder = abs(rate) * fifth * math.exp(min(largest, 300.0))
        return slope - rate, -rate / 2.0, -rate / 6.0, -rate / 24.0, remainder
    weight, turn = abs(slope), curvature if slope > 0.0 else -curvature
    if weight == 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    a = s * turn
    r = math.exp(-0.5 * a * a - HALF_LOG_2PI - _log_phi(a))
    first = -r * (a + r)  # dr/da
    third = r * ((a + r) * (a + 2.0 * r) - 1.0)
    fourth = first * ((a + r) * (a + 2.0 * r) - 1.0)
    fourth += r * ((1.0 + first) * (a + 2.0 * r) + (a + r) * (1.0 + 2.0 * first))
    remainder = weight * FIFTH * fifth * abs(turn) ** 5
    # far in the tail, r + a is a difference of large numbers; there f itself has to be evaluated
    remainder = remainder if a > -1e3 else np.inf
    turns = turn * turn
    return (
        weight * turn * r,
        weight * turns * first / 2,
        weight * turns * turn * third / 6,
        (weight * turns * turns * fourth / 24),
        remainder,
    )


@njit(cache=True, nogil=True, forceinline=True, fastmath=FAST, error_model="numpy")
def _exponentials(power, size):
    """power[:size] <= 0 becomes its exponential, to a relative 6e-6, and 0 below exp(-85); the loop vectorises."""
    for k in range(size):
        x = max(power[k] * np.float32(1.44269504), np.float32(-124.0))
        whole = np.int32(x - np.float32(0.5))
        part = (x - np.float32(whole)) * np.float32(0.69314718)
        series = np.float32(1.0 / 24.0) + part * np.float32(1.0 / 120.0)
        series = np.float32(1.0 / 6.0) + part * series
        series = np.float32(0.5) + part * series
        series = np.float32(1.0) + part * series
        series = np.float32(1.0) + part * series
        scale = np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
        power[k] = series * scale if x > np.float32(-124.0) else np.float32(0.0)


@njit(cache=True, nogil=True, forceinline=True)
def _set_powers(n_topics, kind, score, largest, shift, slope, curvature, total, power):
    """power_k = sum_c f_c(s_c + x_ck), less the largest of them."""
    total[:n_topics] = 0.0
    for c in range(len(kind)):
        p1, p2, p3, p4, remainder = _taylor(kind[c], score[c], slope[c], curvature[c], largest[c])
        if remainder <= TINY:
            for k in range(n_topics):
                x = shift[c, k]
                total[k] += x * (p1 + x * (p2 + x * (p3 + x * p4)))
        else:
            here = _function(kind[c], score[c], slope[c], curvature[c])
            for k in range(n_topics):
                total[k] += _function(kind[c], score[c] + shift[c, k], slope[c], curvature[c]) - here
    largest = total[0]
    for k in range(1, n_topics):
        largest = max(largest, total[k])
    for k in range(n_topics):
        power[k] = np.float32(total[k] - largest)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_likelihood(
    start, stop, doc_ptr, doc_length, token_word, topic, doc_topic, kind, slope, curvature, offset, coef,
    word_topic_count, topic_count, alpha, which, beta, seed, sweep, scratch,
):  # fmt: skip
    """Draw the tokens of documents start : stop in one word group, topics integrated out; how many changed.

    Parameters
    ----------
    doc_ptr, doc_length, token_word, topic, doc_topic, word_topic_count, topic_count, seed, sweep
        As in `gibbs_documents.sweep_documents`.
    kind : (C,) int64; slope, curvature : (D, C) float64; coef : (C, K) float64; beta : float
    alpha : (R, K) float64; which : (D,) int32, the row of each document
    offset : (D, C) float64, what is added to s
    scratch : `make_scratch(K, C)`
    """
    rows, columns, power = scratch
    count, inverse, running, total, shift = rows[0], rows[1], rows[2], rows[3], rows[4:]
    score, largest = columns[0], columns[1]
    n_topics, n_columns, changed = alpha.shape[1], len(kind), 0
    beta_sum = beta * len(word_topic_count)
    for k in range(n_topics):
        inverse[k] = 1.0 / (topic_count[k] + beta_sum)
    key = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(sweep) * np.uint64(0x2545F4914F6CDD1D)
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xDABA0B6EB09322E3)
    for doc in range(start, stop):
        if doc_ptr[doc] == doc_ptr[doc + 1]:
            continue
        per_token, prior = 1.0 / doc_length[doc], alpha[which[doc]]
        for k in range(n_topics):
            count[k] = doc_topic[doc, k]
        for c in range(n_columns):
            score[c], largest[c] = offset[doc, c], 0.0
            for k in range(n_topics):
                shift[c, k] = coef[c, k] * per_token
                score[c] += shift[c, k] * count[k]
                largest[c] = max(largest[c], abs(shift[c, k]))
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word, old = token_word[token], np.int64(topic[token])
            count[old] -= 1.0
            word_topic_count[word, old] -= 1
            topic_count[old] -= 1
            inverse[old] = 1.0 / (topic_count[old] + beta_sum)
            for c in range(n_columns):
                score[c] -= shift[c, old]
            _set_powers(n_topics, kind, score, largest, shift, slope[doc], curvature[doc], total, power)
            _exponentials(power, n_topics)
            mass = 0.0
            for k in range(n_topics):
                mass += (count[k] + prior[k]) * (word_topic_count[word, k] + beta) * inverse[k] * power[k]
                running[k] = mass
            goal, new = mass * _uniform(key, token), 0
            while new < n_topics - 1 and running[new] <= goal:
                new += 1
            changed += new != old
            topic[token] = new
            count[new] += 1.0
            word_topic_count[word, new] += 1
            topic_count[new] += 1
            inverse[new] = 1.0 / (topic_count[new] + beta_sum)
            for c in range(n_columns):
                score[c] += shift[c, new]
        for k in range(n_topics):
            doc_topic[doc, k] = count[k]
    return changed
