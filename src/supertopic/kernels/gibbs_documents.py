"""Document-major Gibbs sweeps with a response: the seam of the supervised sampler, and of folding in.

Token of word w in document d of N tokens, all counts without the token itself:

    p(z = k) ∝ (n_dk + alpha_k) q_k exp( sum_c coef_ck/N (b_dc - omega_dc s_c) - 1/2 omega_dc coef_ck^2/N^2 )

    s_c = coef_c . n_d / N,    q_k = (n_wk + beta) / (n_k + V beta)   fully collapsed: one range at a time
                               q_k = phi_wk                           topics given: any ranges at once

No column of responses (C = 0) is plain LDA and costs no exponential. A document whose omega are all 0 (no label, or
a linear response) needs its exponentials once and not for every token.
"""

import numpy as np
from numba import njit

BLOCK = 16
FAST = {"reassoc", "contract", "nsz", "arcp", "nnan"}


@njit(cache=True, nogil=True, inline="always")
def uniform(key, index):
    """u in [0, 1) with 24 bits: splitmix64 of (key, index)."""
    x = key + np.uint64(index) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float32((x ^ (x >> np.uint64(31))) >> np.uint64(40)) * np.float32(2.0**-24)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def exponentials(power, size):
    """power[:size] becomes exp(power - its largest), to a relative 6e-6, 0 below exp(-85).

    2^x: the whole part goes into the exponent's bits, the rest through a polynomial of degree 5. This vectorises,
    which a call of the library's exponential does not. Up to 31 numbers behind `size` are overwritten.
    """
    padded = size + -size % 32
    for k in range(size, padded):
        power[k] = power[0]
    # The largest by way of integers that order as the floats do: a maximum of floats does not vectorise.
    bits, flip, top = power.view(np.int32), np.int32(0x7FFFFFFF), np.int32(-0x7FFFFFFF)
    for k in range(padded):
        top = max(top, np.int32(bits[k] ^ ((bits[k] >> np.int32(31)) & flip)))
    largest = np.int32(top ^ ((top >> np.int32(31)) & flip)).view(np.float32)
    for k in range(padded):
        x = max((power[k] - largest) * np.float32(1.44269504), np.float32(-124.0))
        whole = np.int32(x - np.float32(0.5))  # x <= 0: truncation rounds to the nearest
        part = (x - np.float32(whole)) * np.float32(0.69314718)
        series = np.float32(1.0 / 24.0) + part * np.float32(1.0 / 120.0)
        series = np.float32(1.0 / 6.0) + part * series
        series = np.float32(0.5) + part * series
        series = np.float32(1.0) + part * series
        series = np.float32(1.0) + part * series
        scale = np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
        power[k] = series * scale if x > np.float32(-124.0) else np.float32(0.0)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy", inline="always")
def _response_factors(coef, slope, curve, factor):
    """factor_k = exp(sum_c slope_c coef_ck - curve_c coef_ck^2), up to a constant."""
    n_topics = coef.shape[1]
    factor[:n_topics] = 0
    for c in range(coef.shape[0]):
        for k in range(n_topics):
            factor[k] += coef[c, k] * (slope[c] - curve[c] * coef[c, k])
    exponentials(factor, n_topics)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy", inline="always")
def _draw(weight, sums, n_topics, old, own, u):
    """A topic in proportion to weight (padded by zeros), where topic `old` weighs `own`."""
    n_blocks = (n_topics + BLOCK - 1) // BLOCK
    total = np.float32(0)
    for j in range(n_blocks):
        block = np.float32(0)
        for k in range(j * BLOCK, j * BLOCK + BLOCK):
            block += weight[k]
        sums[j] = block
    sums[old // BLOCK] += own - weight[old]
    weight[old] = own
    for j in range(n_blocks):
        total += sums[j]
    rest = u * total
    j = 0
    while j < n_blocks - 1 and rest >= sums[j]:
        rest -= sums[j]
        j += 1
    k = j * BLOCK
    while k < min(j * BLOCK + BLOCK, n_topics) - 1 and rest >= weight[k]:
        rest -= weight[k]
        k += 1
    return k


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def sweep_documents(
    start, stop, doc_ptr, token_word, topic, doc_topic, b, omega, coef, word_topic_count, topic_count, topics,
    alpha, beta, beta_sum, collapsed, seed, sweep, scratch,
):  # fmt: skip
    """Draw the tokens of documents start : stop; returns how many changed their topic.

    Parameters
    ----------
    start, stop : int
    doc_ptr : (D + 1,) int64, document d has tokens doc_ptr[d] : doc_ptr[d + 1]
    token_word : (N,) int32
    topic : (N,) uint16, changed
    doc_topic : (D, K) float32, n_dk after the sweep is added; or (0, K)
    b, omega : (D, C) float32
    coef : (C, K) float32
    word_topic_count : (V, K) int32, changed; (0, K) when the topics are given
    topic_count : (K,) int64, changed; untouched when the topics are given
    topics : (V, K) float32, phi; (0, 0) when collapsed
    alpha : (K,) float32
    beta, beta_sum : float32, beta and V beta
    collapsed : bool
    seed, sweep : int, with the token's place they make its uniform
    scratch : (8, S) float32, S >= K + 32 and >= C
    """
    one, n_topics, n_columns = np.float32(1), alpha.shape[0], coef.shape[0]
    count, weight, factor, inverse, sums = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    score, slope, curve = scratch[5], scratch[6], scratch[7]
    scratch[:] = 0
    if collapsed:
        for k in range(n_topics):
            inverse[k] = one / (np.float32(topic_count[k]) + beta_sum)
    key = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(sweep) * np.uint64(0x2545F4914F6CDD1D)
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xDABA0B6EB09322E3)
    changed = 0
    for doc in range(start, stop):
        length = np.float32(doc_ptr[doc + 1] - doc_ptr[doc])
        count[:n_topics] = 0
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            count[topic[token]] += one
        curved = False
        for c in range(n_columns):
            curved |= omega[doc, c] != 0
            score[c] = 0
            for k in range(n_topics):
                score[c] += coef[c, k] * count[k]
            score[c] /= length
            slope[c] = (b[doc, c] - omega[doc, c] * score[c]) / length
            curve[c] = np.float32(0.5) * omega[doc, c] / (length * length)
        if n_columns > 0 and not curved:
            _response_factors(coef, slope, curve, factor)
        without = np.int64(-1)  # the topic whose token the factors leave out, while they hold
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            word, old = np.int64(token_word[token]), np.int64(topic[token])
            if curved and old != without:
                for c in range(n_columns):
                    left = score[c] - coef[c, old] / length
                    slope[c] = (b[doc, c] - omega[doc, c] * left) / length
                _response_factors(coef, slope, curve, factor)
                without = old
            if collapsed:
                for k in range(n_topics):
                    weight[k] = (count[k] + alpha[k]) * (np.float32(word_topic_count[word, k]) + beta) * inverse[k]
                own = np.float32(word_topic_count[word, old]) - one + beta
                own /= np.float32(topic_count[old]) - one + beta_sum
            else:
                for k in range(n_topics):
                    weight[k] = (count[k] + alpha[k]) * topics[word, k]
                own = topics[word, old]
            own *= count[old] - one + alpha[old]
            if n_columns > 0:
                for k in range(n_topics):
                    weight[k] *= factor[k]
                own *= factor[old]
            new = _draw(weight, sums, n_topics, old, own, uniform(key, token))
            if new == old:
                continue
            for c in range(n_columns):
                score[c] += (coef[c, new] - coef[c, old]) / length
            without = np.int64(-1)
            changed += 1
            topic[token] = new
            count[old] -= one
            count[new] += one
            if collapsed:
                word_topic_count[word, old] -= 1
                word_topic_count[word, new] += 1
                topic_count[old] -= 1
                topic_count[new] += 1
                inverse[old] = one / (np.float32(topic_count[old]) + beta_sum)
                inverse[new] = one / (np.float32(topic_count[new]) + beta_sum)
        if doc_topic.shape[0] > 0:
            for k in range(n_topics):
                doc_topic[doc, k] += count[k]
    return changed


@njit(cache=True, nogil=True)
def expand_documents(indptr, indices, data, doc_ptr, token_word):
    """Document-major tokens of a CSR of counts; doc_ptr (D + 1,) int64 holds the running sum of tokens."""
    for doc in range(len(indptr) - 1):
        token = doc_ptr[doc]
        for place in range(indptr[doc], indptr[doc + 1]):
            for _ in range(np.int64(data[place])):
                token_word[token] = indices[place]
                token += 1


@njit(cache=True, nogil=True)
def count_words(token_word, topic, start, stop, word_topic_count):
    """Add tokens start : stop to n_wk (V, K), any number type."""
    for token in range(start, stop):
        word_topic_count[token_word[token], topic[token]] += 1
