"""Coefficients drawn from their Gaussian posterior, given its precision."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from supertopic.kernels.draws import draw_normal


def draw_coefficients(precision: np.ndarray, linear: np.ndarray, seed: int, sweep: int, purpose: int) -> np.ndarray:
    """Draw from N(P^-1 l, P^-1): with P = L L^T and z ~ N(0, I), L^-T (L^-1 l + z).

    Parameters
    ----------
    precision : (K, K) ndarray
        P, symmetric and positive definite; the lower triangle is read.
    linear : (K,) ndarray
        l, the precision times the mean.
    seed, sweep, purpose : int
        They name the draw: the same three give the same z.

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
        raise ValueError(
            f"precision has the eigenvalue {lowest:.3g}; expected a positive definite matrix, whose are all above 0."
        ) from None
    normal = np.empty(len(linear))
    draw_normal(0, len(linear), seed, sweep, purpose, normal)
    white = solve_triangular(root, linear, lower=True, check_finite=False) + normal
    return solve_triangular(root, white, lower=True, trans="T", check_finite=False)
