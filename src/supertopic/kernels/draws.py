"""Random draws for data augmentation: Pólya-Gamma, inverse Gaussian, truncated normal, gamma, exponential, normal.

Item i of a range draws from its own stream, a hash of (seed, sweep, purpose, i). A result therefore depends neither on
the number of threads nor on how a range is cut. `purpose` is a small integer that separates the draws of one sweep: two
kinds of draws with the same seed, sweep, purpose and item would use the same uniforms. Parameters are float64 arrays of
the length of `out`. An illegal parameter gives NaN. A draw from a positive distribution is never 0 or infinite.

Each building block takes the state of a stream and returns (draw, state). Every rejection loop accepts with probability
above 0.36 at every legal parameter. After TRIES = 200 rejections (probability below 1e-38) it returns a central value
of the distribution.
"""

import math

import numpy as np
from numba import njit

TRIES = 200
TINY = 2.2250738585072014e-308
HUGE = 1.7976931348623157e308
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64's step
PG_PIECES = 2  # the largest number of exact pieces; where more are needed, a sum of gammas is drawn
PG_GAMMAS = 4


@njit(cache=True, nogil=True, forceinline=True)
def _hash(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True, forceinline=True)
def _key(seed, sweep, purpose):
    key = _hash(np.uint64(seed) + GOLDEN)
    key = _hash(key + np.uint64(sweep) * np.uint64(0xD1342543DE82EF95) + GOLDEN)
    return _hash(key + np.uint64(purpose) * np.uint64(0x2545F4914F6CDD1D) + GOLDEN)


@njit(cache=True, nogil=True, forceinline=True)
def _stream(key, item):
    # Hashed: with key + item, the stream of an item would be that of its neighbour, one step later.
    return _hash(key ^ _hash(np.uint64(item) + GOLDEN))


@njit(cache=True, nogil=True, forceinline=True)
def _uniform(stream):
    """u in (0, 1), 53 bits."""
    stream = stream + GOLDEN
    return (np.float64(_hash(stream) >> np.uint64(11)) + 0.5) * 2.0**-53, stream


@njit(cache=True, nogil=True, forceinline=True)
def _exponential(stream):
    u, stream = _uniform(stream)
    return -math.log(u), stream


@njit(cache=True, nogil=True, forceinline=True)
def _normal(stream):
    """Box and Muller's; never exactly 0."""
    radius, stream = _exponential(stream)
    turn, stream = _uniform(stream)
    return math.sqrt(2.0 * radius) * math.cos(2.0 * math.pi * turn), stream


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _gamma(stream, shape):
    """g ~ Gamma(shape, 1): Marsaglia and Tsang's; below shape 1, Gamma(a) = Gamma(a + 1) U^(1/a)."""
    if not shape > 0.0:
        return np.nan, stream
    boost = 1.0
    scale = shape - 1.0 / 3.0
    if shape < 1.0:
        power, stream = _exponential(stream)
        boost = math.exp(-power / shape)
        scale += 1.0
    width = 1.0 / math.sqrt(9.0 * scale)
    for _ in range(TRIES):
        normal, stream = _normal(stream)
        u, stream = _uniform(stream)
        cube = 1.0 + width * normal
        if cube <= 0.0:
            continue
        cube = cube * cube * cube
        square = normal * normal
        if u < 1.0 - 0.0331 * square * square or math.log(u) < 0.5 * square + scale * (1.0 - cube + math.log(cube)):
            return scale * cube * boost, stream
    return scale * boost, stream


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _inverse_gaussian(stream, inverse_mean, shape):
    """x ~ IG(mean m, shape s): Michael, Schucany and Haas's, by the roots of (x - m)^2 s = m^2 x chi2_1.

    With h = chi2_1 / (2 s) the smaller root is x = 1 / (1/m + h + sqrt(h (h + 2/m))), taken with probability
    m / (m + x), and the larger is m^2 / x: sums of positive terms only, and s / chi2_1 at m = inf.
    """
    normal, stream = _normal(stream)
    u, stream = _uniform(stream)
    half = 0.5 * normal * normal / shape
    reciprocal = inverse_mean + half + math.sqrt(half) * math.sqrt(half + 2.0 * inverse_mean)
    ratio = inverse_mean / reciprocal
    # u (1 + ratio) < ratio and not 1 - u: a tiny ratio keeps its probability.
    if u * (1.0 + ratio) < ratio:
        return 1.0 / (inverse_mean * ratio), stream
    return 1.0 / reciprocal, stream


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _jacobi_accepts(u, y, b):
    """u < sum_n (-1)^n r_n, r_n = Gamma(n + b) (2n + b) / (n! b Gamma(b)) exp(-2 n (n + b) / y).

    The ratios r_n / r_(n-1) fall with n. While they are above 1 the partial sums lie outside (0, 1) and decide
    nothing; after that they enclose the sum, and few are needed.
    """
    if y > 40.0 + 10.0 * b:  # the sum is below 1e-19 there
        return False
    term = sign = total = 1.0
    n = 0.0
    while term > 1e-18:
        term *= (n + b) * (2.0 * n + 2.0 + b) / ((n + 1.0) * (2.0 * n + b)) * math.exp(-(4.0 * n + 2.0 + 2.0 * b) / y)
        sign = -sign
        total += sign * term
        if (u < total) == (sign < 0.0):
            return sign < 0.0
        n += 1.0
    return u < total


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _polya_gamma_piece(stream, b, c):
    """PG(b, c), exact: IG(b / (2c), b^2 / 4) draws, accepted with probability (1 + e^-c)^-b over all.

    The density of J = 4 PG is that of IG(2b / c, b^2) times (1 + e^-c)^b times the sum of `_jacobi_accepts`, since
    cosh(s)^-b = 2^b sum_n binom(b + n - 1, n) (-1)^n exp(-(b + 2n) s) and exp(-(b + 2n) s) are the Laplace
    transforms of inverse Gaussians (Polson, Scott and Windle 2013 for b = 1; Windle, Polson and Scott 2014).
    """
    for _ in range(TRIES):
        y, stream = _inverse_gaussian(stream, 0.5 * c / b, b * b)
        u, stream = _uniform(stream)
        if _jacobi_accepts(u, y, b):
            return 0.25 * y, stream
    return 0.25 * b / (1.0 + 0.5 * c), stream


@njit(cache=True, nogil=True, forceinline=True)
def _polya_gamma_moments(c):
    """Mean tanh(c/2) / (2c) and variance (sinh c - c) / (4 c^3 cosh^2(c/2)) of PG(1, c), c >= 0."""
    tanh = math.tanh(0.5 * c)
    mean = 0.5 * tanh / c if c > 0.0 else 0.25
    if c > 0.1:
        return mean, (2.0 * tanh - c * (1.0 - tanh * tanh)) / (4.0 * c * c * c)
    return mean, (1.0 / 24.0 + c * c / 480.0 + c**4 / 20160.0) * (1.0 - tanh * tanh)


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _polya_gamma_sum(stream, b, c):
    """PG(b, c) = sum_k g_k / d_k, g_k ~ Gamma(b), d_k = 2 pi^2 (k - 1/2)^2 + c^2 / 2, for larger b.

    Four terms are drawn; one gamma stands for the rest, with its exact mean and variance. The third cumulant is then
    the first that errs; the distribution function errs by less than 6e-7 where `_polya_gamma` uses this.
    """
    mean, variance = _polya_gamma_moments(c)
    draw = 0.0
    for k in range(PG_GAMMAS):
        g, stream = _gamma(stream, b)
        weight = 1.0 / (2.0 * math.pi**2 * (k + 0.5) ** 2 + 0.5 * c * c)
        draw += g * weight
        mean -= weight
        variance -= weight * weight
    g, stream = _gamma(stream, b * mean * mean / variance)
    return draw + g * variance / mean, stream


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _polya_gamma(stream, b, c):
    """PG(b, c): the pieces' b add up, and each is so small that it accepts one try in e or better."""
    c = abs(c)
    if not (b >= 0.0 and c >= 0.0):
        return np.nan, stream
    if b == 0.0:
        return 0.0, stream
    n_pieces = max(math.ceil(b * math.log1p(math.exp(-c))), 1.0)
    if n_pieces > PG_PIECES:
        return _polya_gamma_sum(stream, b, c)
    draw = 0.0
    for _ in range(int(n_pieces)):
        piece, stream = _polya_gamma_piece(stream, b / n_pieces, c)
        draw += piece
    return draw, stream


@njit(cache=True, nogil=True, forceinline=True)
def _normal_tail(stream, edge, width):
    """z in (0, width), density exp(-(edge + z)^2 / 2), edge >= 0: Robert's exponential, cut off at width."""
    root = math.hypot(edge, 2.0)
    rate = 0.5 * (edge + root)
    gap = 2.0 / (edge + root)  # rate - edge
    cut = math.expm1(-rate * width)
    for _ in range(TRIES):
        u, stream = _uniform(stream)
        e, stream = _exponential(stream)
        z = -math.log1p(u * cut) / rate
        if e >= 0.5 * (z - gap) ** 2:
            return z, stream
    return 0.0, stream


@njit(cache=True, nogil=True, forceinline=True)
def _normal_middle(stream, low, high):
    """z in (low, high), low <= 0 <= high: a uniform in a narrow interval, a normal in a wide one."""
    for _ in range(TRIES):
        if high - low < 2.5:
            u, stream = _uniform(stream)
            e, stream = _exponential(stream)
            z = low + (high - low) * u
            accept = e >= 0.5 * z * z
        else:
            z, stream = _normal(stream)
            accept = low <= z <= high
        if accept:
            return z, stream
    return 0.0, stream


@njit(cache=True, nogil=True, forceinline=True, error_model="numpy")
def _truncated_normal(stream, location, scale, lower, upper):
    low = (lower - location) / scale
    high = (upper - location) / scale
    if not (low <= high and scale > 0.0):
        return np.nan, stream
    # Measured from the near bound, not from the location: no digit is lost a million scales away.
    if low > 0.0:
        z, stream = _normal_tail(stream, low, (upper - lower) / scale)
        x = lower + scale * z
    elif high < 0.0:
        z, stream = _normal_tail(stream, -high, (upper - lower) / scale)
        x = upper - scale * z
    else:
        z, stream = _normal_middle(stream, low, high)
        x = location + scale * z
    return min(max(x, lower), upper), stream


@njit(cache=True, nogil=True, forceinline=True)
def _positive(x):
    """x inside the positive floats; NaN stays."""
    if x < TINY:
        return TINY
    return HUGE if x > HUGE else x


@njit(cache=True, nogil=True)
def draw_normal(start, stop, seed, sweep, purpose, out):
    """out_i ~ N(0, 1)."""
    key = _key(seed, sweep, purpose)
    for i in range(start, stop):
        out[i], _ = _normal(_stream(key, i))


@njit(cache=True, nogil=True, error_model="numpy")
def draw_exponential(start, stop, seed, sweep, purpose, rate, out):
    """out_i ~ Exponential(rate_i), mean 1 / rate_i."""
    key = _key(seed, sweep, purpose)
    for i in range(start, stop):
        draw, _ = _exponential(_stream(key, i))
        out[i] = _positive(draw / rate[i]) if rate[i] > 0.0 else np.nan


@njit(cache=True, nogil=True, error_model="numpy")
def draw_gamma(start, stop, seed, sweep, purpose, shape, rate, out):
    """out_i ~ Gamma(shape_i, rate_i), mean shape_i / rate_i; chi2 with d degrees of freedom is Gamma(d / 2, 1 / 2)."""
    key = _key(seed, sweep, purpose)
    for i in range(start, stop):
        draw, _ = _gamma(_stream(key, i), shape[i])
        out[i] = _positive(draw / rate[i]) if rate[i] > 0.0 else np.nan


@njit(cache=True, nogil=True, error_model="numpy")
def draw_inverse_gaussian(start, stop, seed, sweep, purpose, mean, shape, out):
    """out_i ~ IG(mean_i, shape_i), variance mean^3 / shape; mean inf gives shape / chi2_1."""
    key = _key(seed, sweep, purpose)
    for i in range(start, stop):
        legal = mean[i] > 0.0 and shape[i] > 0.0
        draw, _ = _inverse_gaussian(_stream(key, i), 1.0 / mean[i], shape[i])
        out[i] = _positive(draw) if legal else np.nan


@njit(cache=True, nogil=True)
def draw_polya_gamma(start, stop, seed, sweep, purpose, b, c, out):
    """out_i ~ PG(b_i, c_i), mean b / (2 c) tanh(c / 2); any real b >= 0 (b = 0 gives 0) and c."""
    key = _key(seed, sweep, purpose)
    for i in range(start, stop):
        draw, _ = _polya_gamma(_stream(key, i), b[i], c[i])
        out[i] = 0.0 if b[i] == 0.0 else _positive(draw)


@njit(cache=True, nogil=True)
def draw_truncated_normal(start, stop, seed, sweep, purpose, location, scale, lower, upper, out):
    """out_i ~ N(location_i, scale_i^2) given lower_i <= out_i <= upper_i; a bound may be infinite."""
    key = _key(seed, sweep, purpose)
    for i in range(start, stop):
        out[i], _ = _truncated_normal(_stream(key, i), location[i], scale[i], lower[i], upper[i])
