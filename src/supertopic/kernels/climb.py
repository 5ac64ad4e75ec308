"""One step of Adam on the logarithms of topics: three passes over the words, where NumPy's operations take twenty.

Sums over words are made part by part, each of `PART` words, and the parts are added in their order: the result does not
depend on the number of threads.
"""

import numpy as np
from numba import njit

_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
PART = 64  # words; few enough for a sum in float32


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def weigh_gradient(start, stop, topics, prior, pull, anchor, gradient, sums):
    """gradient_wk = gradient_wk b_wk + prior + pull anchor_wk for the words of parts [start, stop), and their sums_pk.

    topics : (V, K) float32, b; gradient : (V, K) float32, in and out; sums : (parts, K) float32, out
    prior, pull : float32; anchor : (V, K) float32
    """
    n_words, n_topics = topics.shape
    for part in range(start, stop):
        for k in range(n_topics):
            sums[part, k] = np.float32(0.0)
        for w in range(part * PART, min((part + 1) * PART, n_words)):
            for k in range(n_topics):
                value = gradient[w, k] * topics[w, k] + (prior + pull * anchor[w, k])
                gradient[w, k] = value
                sums[part, k] += value


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def climb_words(start, stop, gradient, totals, rates, topics, logits, mean, square, average, sums):
    """Move the words of parts [start, stop) along the gradient with respect to their logits, less b_wk totals_k.

    gradient : (V, K) float32; totals : (K,) float32, so that the columns of b stay distributions
    rates : (5,) float32, `inference.variational.climb.Rates`
    topics : (V, K) float32, in and out: b, times e^change of the logits
    logits, mean, square, average : (V, K) float32, in and out; sums : (parts, K) float32, out: of topics
    """
    n_words, n_topics = topics.shape
    by_mean, by_square, by_step, by_average = rates[0], rates[1], rates[2], rates[4]
    inverse = np.float32(1.0) / rates[3]
    move = np.empty(n_topics, np.float32)
    for part in range(start, stop):
        for k in range(n_topics):
            sums[part, k] = np.float32(0.0)
        for w in range(part * PART, min((part + 1) * PART, n_words)):
            # several loops of few arrays: a compiler that cannot show that many are apart does not vectorise
            for k in range(n_topics):
                move[k] = gradient[w, k] - topics[w, k] * totals[k]
            for k in range(n_topics):
                first = mean[w, k] + by_mean * (move[k] - mean[w, k])
                second = square[w, k] + by_square * (move[k] * move[k] - square[w, k])
                mean[w, k], square[w, k] = first, second
                move[k] = by_step * first / (np.sqrt(second * inverse) + np.float32(1e-8))
            for k in range(n_topics):
                logit = logits[w, k] + move[k]
                logits[w, k] = logit
                average[w, k] += by_average * (logit - average[w, k])
            for k in range(n_topics):
                x = move[k]  # e^x by its series: Adam moves by little more than the rate, 0.05
                grown = np.float32(1 / 24) + x * (np.float32(1 / 120) + x * np.float32(1 / 720))
                grown = np.float32(0.5) + x * (np.float32(1 / 6) + x * grown)
                grown = np.float32(1.0) + x * (np.float32(1.0) + x * grown)
                value = topics[w, k] * grown
                topics[w, k] = value
                sums[part, k] += value


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def scale_topics(start, stop, by, topics):
    """topics_wk *= by_k for the words of parts [start, stop)."""
    for w in range(start * PART, min(stop * PART, topics.shape[0])):
        for k in range(topics.shape[1]):
            topics[w, k] *= by[k]
