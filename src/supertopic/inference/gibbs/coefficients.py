"""Draws of the coefficients from their posterior: normal in quadratic columns, log-concave in product columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from supertopic.inference.gibbs.augmentation import SweepDraws
from supertopic.kernels.draws import draw_normal

_NEWTON_STEPS = 30
_FREEDOM = 5.0


def draw_coefficients(precision: np.ndarray, linear: np.ndarray, seed: int, sweep: int, purpose: int) -> np.ndarray:
    """Draw from N(P^-1 l, P^-1): with P = L L^T and z ~ N(0, I), L^-T (L^-1 l + z).

    Parameters
    ----------
    precision : (K, K) ndarray
        P, symmetric and positive definite; the lower triangle is read.
    linear : (K,) ndarray
        l, the precision times the mean.
    seed, sweep, purpose : int
        The random stream: the same three numbers give the same z.

    Returns
    -------
    (K,) float64 ndarray
    """
    precision = np.asarray(precision, dtype=np.float64)
    linear = np.asarray(linear, dtype=np.float64)
    if linear.ndim != 1 or precision.shape != (len(linear), len(linear)):
        raise ValueError(
            f"precision has shape {precision.shape} and linear {linear.shape}; expected (K, K) and (K,) for one K."
        )
    if not (np.isfinite(precision).all() and np.isfinite(linear).all()):
        raise ValueError("precision or linear holds NaN or infinite numbers; expected finite ones.")
    try:
        root = cholesky(precision, lower=True, check_finite=False)
    except LinAlgError:
        lowest = np.linalg.eigvalsh(precision).min()
        raise ValueError(f"precision has the eigenvalue {lowest:.3g}; expected a positive definite matrix.") from None
    normal = np.empty(len(linear))
    draw_normal(0, len(linear), seed, sweep, purpose, normal)
    white = solve_triangular(root, linear, lower=True, check_finite=False) + normal
    return solve_triangular(root, white, lower=True, trans="T", check_finite=False)


def draw_support(
    gram: np.ndarray, cross: np.ndarray, prior: np.ndarray, active: np.ndarray, n_topics: int, draw: SweepDraws
) -> np.ndarray:
    """Draw the active set: each of its topics in turn is removed, and a topic is drawn in its place.

    p(k | the rest of the active set S) ∝ sqrt(prior_k / p_k) exp(½ l_k² / p_k),      coefficients integrated out,

    p_k = gram_kk + prior_k - gram_kS P_S^-1 gram_Sk,   l_k = cross_k - gram_kS P_S^-1 cross_S,
    P_S = gram_SS + diag(prior_S)

    Parameters
    ----------
    gram : (n, n) ndarray; cross : (n,) ndarray, the normal equations; prior : (n,) ndarray, the prior's precisions
    active : (n,) bool ndarray, the current set; covariates, which come after the topics, stay in it
    """
    active = active.copy()
    chosen = np.flatnonzero(active[:n_topics])
    for topic in chosen[np.argsort(draw.uniform(len(chosen)))]:  # in random order, so that topics are exchangeable
        active[topic] = False
        rest = np.flatnonzero(active)
        root = cholesky(gram[np.ix_(rest, rest)] + np.diag(prior[rest]), lower=True, check_finite=False)
        across = solve_triangular(root, gram[rest], lower=True, check_finite=False)
        left = np.diag(gram) + prior - (across**2).sum(axis=0)
        pull = cross - across.T @ solve_triangular(root, cross[rest], lower=True, check_finite=False)
        gain = np.where(active, -np.inf, 0.5 * (np.log(prior / left) + pull**2 / left))[:n_topics]
        running = np.cumsum(np.exp(gain - gain.max()))
        active[np.searchsorted(running, running[-1] * draw.uniform(1)[0])] = True
    return active


def draw_inclusion(
    gram: np.ndarray, cross: np.ndarray, prior: np.ndarray, active: np.ndarray, n_topics: int, draw: SweepDraws
) -> np.ndarray:
    """Draw the active set of a spike and slab prior: each topic in turn is in or out, coefficients integrated out.

    odds of k given the rest S   pi / (1 - pi) · sqrt(prior_k / p_k) exp(½ l_k² / p_k),   p_k, l_k as in `draw_support`
    pi given the set before      Beta(1 + topics in, 1 + topics out): before the data, all numbers of topics are equally
                                 likely

    Sweeps of the matrix [[P, cross], [cross', 0]] over the active set leave p_k and l_k in the rows of the others
    (Goodnight 1979). Putting a topic in or out is one more, so that all topics together cost one inversion.

    Parameters
    ----------
    As for `draw_support`.
    """
    active, n_in = active.copy(), int(active[:n_topics].sum())
    shapes = np.array([1.0 + n_in, 1.0 + n_topics - n_in])
    weights = np.maximum(draw.gamma(shapes, np.ones(2)), 1e-300)
    swept = np.block([[gram + np.diag(prior), cross[:, None]], [cross[None], np.zeros((1, 1))]])
    for k in map(int, np.flatnonzero(active)):
        _sweep(swept, k)
    turns, chances = draw.uniform(n_topics), draw.uniform(n_topics)
    for k in map(int, np.argsort(turns)):  # in random order, as above
        if active[k]:
            _sweep(swept, k)
        own, pull = max(swept[k, k], 1e-300), swept[k, -1]
        log_odds = np.log(weights[0] / weights[1]) + 0.5 * (np.log(prior[k] / own) + pull**2 / own)
        active[k] = np.log(chances[k]) - np.log1p(-chances[k]) < log_odds
        if active[k]:
            _sweep(swept, k)
    return active


def _sweep(matrix: np.ndarray, k: int) -> None:
    """Gauss-Jordan elimination of row and column k of a symmetric matrix, in place; a second one undoes the first."""
    pivot = matrix[k, k]
    sign = np.sign(pivot)  # that of an eliminated row is negative
    row = matrix[k].copy()
    matrix -= np.outer(row, row / pivot)
    matrix[k] = matrix[:, k] = sign * row / pivot
    matrix[k, k] = -1.0 / pivot


def draw_center(values: np.ndarray, scale: float, draw: SweepDraws) -> float:
    """Draw l from exp(- sum_k |values_k - l| / scale), whose logarithm is linear between the values.

    This is the level of coefficients under a Laplace prior; its own prior is flat over their range.
    """
    ends = np.sort(values)
    n = len(ends)
    slopes = (n - 2.0 * np.arange(n + 1)) / scale  # below the first value, between values, above the last
    heights = -np.abs(ends[:, None] - ends).sum(axis=1) / scale
    starts, widths = np.concatenate([ends[:1], ends]), np.concatenate([[np.inf], np.diff(ends), [np.inf]])
    # each piece as an exponential that falls from its higher end: (1 - e^-rw) / r times e^height, w for a rate of zero
    rate, high = np.abs(slopes), np.maximum(np.append(heights[0], heights), np.append(heights, heights[-1]))
    width = np.where(rate > 0, -np.expm1(-rate * widths) / np.where(rate > 0, rate, 1.0), widths)
    mass = np.cumsum(width * np.exp(high - high.max()))
    choose, along = draw.uniform(2)
    piece = min(int(np.searchsorted(mass, mass[-1] * choose)), n)
    if rate[piece] == 0:
        return float(starts[piece] + along * widths[piece])
    fall = -np.log1p(along * np.expm1(-rate[piece] * widths[piece])) / rate[piece]
    top = starts[piece] if slopes[piece] < 0 else starts[piece] + (widths[piece] if piece else 0.0)
    return float(top + np.sign(-slopes[piece]) * fall)


def draw_log_linear(
    design: np.ndarray, slope: np.ndarray, curvature: np.ndarray, prior: np.ndarray, now: np.ndarray, draw: SweepDraws
) -> np.ndarray:
    """Draw from exp( sum_d slope s_d - curvature exp(s_d) - ½ coef' prior coef ), s = design coef.

    An elliptical slice step (Murray, Adams & MacKay 2010) around a Student t with the mode and curvature of this
    density. No step is rejected and nothing has to be tuned. The step is exact, however well the t fits, because the t
    does not depend on the coefficients `now`. The t is a normal with a random scale (Nishihara, Murray & Adams 2014).
    A normal distribution would have lighter tails than this density, and a chain would stay in them for long.

    Parameters
    ----------
    design : (D, K) ndarray; slope, curvature : (D,) ndarray; prior : (K, K) ndarray, precision; now : (K,) ndarray
    """
    mode, root = _laplace_approximation(design, slope, curvature, prior)
    tail = 0.5 * (_FREEDOM + len(now))

    def excess(move: np.ndarray) -> float:
        """The log density at mode + move, minus that of the t."""
        coef = mode + move
        s = design @ coef
        density = slope @ s - curvature @ np.exp(np.minimum(s, 300.0)) - 0.5 * coef @ prior @ coef
        return float(density + tail * np.log1p(((root.T @ move) ** 2).sum() / _FREEDOM))

    along = now - mode
    rate = 0.5 * (_FREEDOM + ((root.T @ along) ** 2).sum())
    scale = 1.0 / np.sqrt(draw.gamma(np.array([tail]), np.array([rate]))[0])
    across = scale * solve_triangular(root, draw.normal(len(now)), lower=True, trans="T", check_finite=False)
    height, turn = draw.uniform(2)
    level = excess(along) + np.log(height)
    angle = 2 * np.pi * turn
    low, high = angle - 2 * np.pi, angle
    while high - low > 1e-12:
        move = along * np.cos(angle) + across * np.sin(angle)
        if excess(move) > level:
            return mode + move
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = low + (high - low) * float(draw.uniform(1)[0])
    return now


def _laplace_approximation(
    design: np.ndarray, slope: np.ndarray, curvature: np.ndarray, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mode and the lower Cholesky factor of the precision there, by Newton steps that move no s by more than 2."""
    mode = np.zeros(design.shape[1])
    for _ in range(_NEWTON_STEPS):
        rate = curvature * np.exp(np.minimum(design @ mode, 300.0))
        precision = (design * rate[:, None]).T @ design + prior
        root = cholesky(precision, lower=True, check_finite=False)
        gradient = design.T @ (slope - rate) - prior @ mode
        step = solve_triangular(root, gradient, lower=True, check_finite=False)
        step = solve_triangular(root, step, lower=True, trans="T", check_finite=False)
        reach = np.abs(design @ step).max(initial=0.0)
        if reach < 1e-2:
            break
        mode = mode + step / max(1.0, reach / 2.0)
    return mode, root
