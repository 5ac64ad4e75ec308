"""Coordinate descent for a quadratic with an l1 penalty, with exact zeros."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def descend(gram, cross, penalty, coef, slope, max_sweeps, tol):
    """coef becomes argmax cross·coef - ½ coef' gram coef - sum_k penalty_k |coef_k|; returns the number of sweeps.

    Parameters
    ----------
    gram : (K, K) float64, symmetric; a coefficient without curvature (gram_kk = 0) becomes zero
    cross : (K,) float64
    penalty : (K,) float64; an infinite penalty keeps a coefficient at zero
    coef : (K,) float64, the starting values, changed
    slope : (K,) float64, scratch
    max_sweeps : int
    tol : float; descent stops when no slope changes by more than tol times the largest |cross|
    """
    n = len(cross)
    largest = 1e-300
    for k in range(n):
        if np.isinf(penalty[k]):
            coef[k] = 0.0
        largest = max(largest, abs(cross[k]))
    for k in range(n):
        slope[k] = cross[k]
        for j in range(n):
            slope[k] -= gram[k, j] * coef[j]
    for sweep in range(max_sweeps):
        moved = 0.0
        for k in range(n):
            if gram[k, k] <= 0.0 or np.isinf(penalty[k]):
                coef[k] = 0.0
                continue
            pull = slope[k] + gram[k, k] * coef[k]
            size = abs(pull) - penalty[k]
            new = 0.0 if size <= 0.0 else np.sign(pull) * size / gram[k, k]
            step = new - coef[k]
            if step != 0.0:
                for j in range(n):
                    slope[j] -= gram[j, k] * step
                moved = max(moved, gram[k, k] * abs(step))
                coef[k] = new
        if moved <= tol * largest:
            return sweep + 1
    return max_sweeps
