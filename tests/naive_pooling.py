"""Levels that are drawn towards their mean, by normal equations of all dummies."""

import numpy as np


def left_out(codes, t, weight, parts, strength):
    """(D,) a + u of each part by the others, which have the level: argmin sum_d weight (t - a - u)² + strength |u|²."""
    found, n_levels = np.full(len(t), np.nan), codes.max() + 1
    for out in parts:
        rest = [d for d in range(len(t)) if d not in set(out) and not np.isnan(t[d])]
        design = np.hstack([np.ones((len(t), 1)), codes[:, None] == np.arange(n_levels)])
        gram = (design[rest] * weight[rest, None]).T @ design[rest] + np.diag([0.0] + [strength] * n_levels)
        here = [d for d in out if codes[d] in codes[rest]]
        found[here] = design[here] @ np.linalg.solve(gram, design[rest].T @ (weight[rest] * t[rest]))
    return found


def deviation(codes, t, unit, weight, parts, strengths):
    """Of the levels, in linear predictors, for one column t: noise / strength at the strength that tells parts best."""
    lost = []
    for strength in strengths:
        error = t - left_out(codes, t, weight, parts, min(strength, 1e12))
        known = ~np.isnan(error)
        lost.append((weight * error**2)[known].sum() / weight[known].sum())
    best = int(np.argmin(lost))
    return np.sqrt(lost[best] / strengths[best]) / unit
