"""Topics drawn from their Dirichlet posterior, for the partially collapsed Gibbs sampler.

    phi_k ~ Dirichlet(beta + n_.k):    g_wk ~ Gamma(beta + n_wk),    phi_wk = g_wk / sum_w g_wk

Gamma draws are Marsaglia and Tsang's; below shape 1, Gamma(a) = Gamma(a + 1) U^(1/a). Logarithms are kept until the
largest draw of a topic is known, so that a topic with tiny shapes does not underflow to zeros. Random numbers are
hashes of (seed, sweep, cell, try), so that `draw_log_gammas` does not depend on how the words are cut into ranges. The
sums of `exponentiate` have to be added in a fixed order of ranges.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _hash(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _uniform(key, index):
    """u in (0, 1)."""
    bits = _hash(key + np.uint64(index) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)
    return (np.float64(bits) + 0.5) * 2.0**-53


@njit(cache=True, nogil=True, forceinline=True)
def log_gamma_draw(shape, key):
    """log g, g ~ Gamma(shape, 1); `key` (uint64) is the key of its random stream."""
    boosted = shape + 1.0 if shape < 1.0 else shape
    scale = boosted - 1.0 / 3.0
    width = 1.0 / np.sqrt(9.0 * scale)
    index = 1
    while True:
        radius = np.sqrt(-2.0 * np.log(_uniform(key, index)))
        normal = radius * np.cos(2.0 * np.pi * _uniform(key, index + 1))
        cube = 1.0 + width * normal
        u = _uniform(key, index + 2)
        index += 3
        if cube <= 0.0:
            continue
        cube = cube * cube * cube
        square = normal * normal
        if u < 1.0 - 0.0331 * square * square or np.log(u) < 0.5 * square + scale * (1.0 - cube + np.log(cube)):
            break
    draw = np.log(scale * cube)
    return draw + np.log(_uniform(key, 0)) / shape if shape < 1.0 else draw


@njit(cache=True, nogil=True)
def draw_log_gammas(word_topic_count, topic_count, beta, seed, sweep, start, stop, log_gamma, peak):
    """log g_wk of words start : stop.

    Parameters
    ----------
    word_topic_count : (V, K) int32
    topic_count : (K,) int64
    beta : float
    seed, sweep : int
    start, stop : int
    log_gamma : (V, K) float32, rows start : stop are written
    peak : (K,) float32, written
        The largest of each topic in the range.
    """
    n_topics = word_topic_count.shape[1]
    peak[:] = -np.inf
    key = _hash(np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(sweep) * np.uint64(0x2545F4914F6CDD1D))
    # A word without tokens in a topic that has some: a draw below exp(-120) is set to zero, which cannot matter.
    negligible = np.exp(-120.0 * beta)
    for word in range(start, stop):
        for k in range(n_topics):
            cell = _hash(key + np.uint64(word) * np.uint64(n_topics) + np.uint64(k))
            count = word_topic_count[word, k]
            if count == 0 and beta < 1.0 and topic_count[k] > 0 and _uniform(cell, 0) < negligible:
                log_gamma[word, k] = -np.inf
                continue
            log_gamma[word, k] = log_gamma_draw(count + beta, cell)
            peak[k] = max(peak[k], log_gamma[word, k])


@njit(cache=True, nogil=True)
def exponentiate(topics, peak, start, stop, total):
    """Rows start : stop of topics (V, K) become exp(. - peak_k); total (K,) float64 their sums."""
    total[:] = 0.0
    for word in range(start, stop):
        for k in range(topics.shape[1]):
            power = topics[word, k] - peak[k]
            topics[word, k] = np.exp(power) if power > -87.0 else np.float32(0.0)
            total[k] += topics[word, k]


@njit(cache=True, nogil=True)
def normalise(topics, total, start, stop):
    """Divide rows start : stop of topics (V, K) by total (K,)."""
    for word in range(start, stop):
        for k in range(topics.shape[1]):
            topics[word, k] /= total[k]
