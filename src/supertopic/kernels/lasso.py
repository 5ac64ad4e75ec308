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


@njit(cache=True, nogil=True)
def descend_words(word_start, document, value, weight, ridge, sparse, max_sweeps, tol, coef, slope, curvature):
    """coef, and the intercept that is returned, climb a quadratic in the documents' linear predictors s = c + X coef:

        sum_d (slope_d ds_d - ½ weight_d ds_d²) - ½ ridge |coef|² - sparse |coef|_1,     ds from where s stands

    Every sweep moves the intercept and the words one after the other. Sweeps after the first leave out words whose
    coefficient is zero, since most of them stay there; who calls again gives them another chance.

    Parameters
    ----------
    word_start, document, value : X by words (CSC)
    weight : (D,) float64, not negative
    max_sweeps : int
    tol : float; the climb ends when the longest step of a sweep, times its curvature, is so small a part of the first
        sweep's
    coef : (V,) float64, where the climb starts, changed
    slope : (D,) float64, changed: it is the slope at the end
    curvature : (V,) float64, scratch
    """
    n_words, intercept, total, first = len(coef), 0.0, weight.sum(), 0.0
    for v in range(n_words):
        curvature[v] = 0.0
        for i in range(word_start[v], word_start[v + 1]):
            curvature[v] += weight[document[i]] * value[i] * value[i]
    for sweep in range(max_sweeps):
        moved = 0.0
        if total > 0.0:
            step = slope.sum() / total
            intercept += step
            for d in range(len(slope)):
                slope[d] -= weight[d] * step
        for v in range(n_words):
            if sweep > 0 and coef[v] == 0.0:
                continue
            pull = curvature[v] * coef[v]
            for i in range(word_start[v], word_start[v + 1]):
                pull += value[i] * slope[document[i]]
            size = abs(pull) - sparse
            new = 0.0 if size <= 0.0 else np.sign(pull) * size / (curvature[v] + ridge)
            step = new - coef[v]
            if step != 0.0:
                for i in range(word_start[v], word_start[v + 1]):
                    slope[document[i]] -= weight[document[i]] * value[i] * step
                coef[v] = new
                moved = max(moved, (curvature[v] + ridge) * abs(step))
        first = max(first, moved)
        if moved <= tol * first:
            break
    return intercept
