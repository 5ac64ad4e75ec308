"""Slow versions of the max-margin problems: objectives as loops over documents, optima by an interior-point solver."""

import cvxpy as cp
import numpy as np


def regression_objective(coef, x, y, C, epsilon, weight, mean, precision):
    total = 0.5 * (coef - mean) @ precision @ (coef - mean)
    for features, target, w in zip(x, y, weight, strict=True):
        if not np.isnan(target):
            total += C * w * max(0.0, abs(target - coef @ features) - epsilon)
    return total


def binary_objective(coef, x, y, C, cost, weight, mean, precision):
    total = 0.5 * (coef - mean) @ precision @ (coef - mean)
    for features, target, w in zip(x, y, weight, strict=True):
        if not np.isnan(target):
            total += C * w * max(0.0, cost - (1 if target == 1 else -1) * (coef @ features))
    return total


def classes_objective(coef, x, y, C, cost, weight, precision):
    total = 0.5 * (precision * coef**2).sum()
    for features, target, w in zip(x, y, weight, strict=True):
        if not np.isnan(target):
            own = int(target)
            total += C * w * max((c != own) * cost - (coef[own] - coef[c]) @ features for c in range(len(coef)))
    return total


def _optimum(objective):
    """The minimum, with a gap a hundred times smaller than the tolerance of the tests."""
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == cp.OPTIMAL
    return problem.value


def regression_optimum(x, y, C, epsilon, weight, mean, precision):
    known = ~np.isnan(y)
    coef = cp.Variable(x.shape[1])
    root = np.linalg.cholesky(precision).T
    loss = cp.pos(cp.abs(y[known] - x[known] @ coef) - epsilon)
    return _optimum(0.5 * cp.sum_squares(root @ (coef - mean)) + C * weight[known] @ loss)


def binary_optimum(x, y, C, cost, weight, mean, precision):
    known = ~np.isnan(y)
    coef = cp.Variable(x.shape[1])
    root = np.linalg.cholesky(precision).T
    loss = cp.pos(cost - cp.multiply(2 * y[known] - 1, x[known] @ coef))
    return _optimum(0.5 * cp.sum_squares(root @ (coef - mean)) + C * weight[known] @ loss)


def classes_optimum(x, y, n_classes, C, cost, weight, precision):
    known = ~np.isnan(y)
    x, own, weight = x[known], np.eye(n_classes)[y[known].astype(int)], weight[known]
    coef = cp.Variable((n_classes, x.shape[1]))
    score = x @ coef.T
    loss = cp.max(score + cost * (1 - own), axis=1) - cp.sum(cp.multiply(own, score), axis=1)
    return _optimum(0.5 * cp.sum(cp.multiply(precision, cp.square(coef))) + C * weight @ loss)


def regression_dual(dual, x, y, epsilon, mean, precision):
    """The dual objective of regression; the binary hinge is epsilon = 0, y = ±cost, dual = ±mu."""
    pull = dual @ x
    return (
        dual @ (np.nan_to_num(y) - x @ mean)
        - epsilon * np.abs(dual).sum()
        - 0.5 * pull @ np.linalg.inv(precision) @ pull
    )


def classes_pull(dual, x, y, n_classes):
    """sum_d sum_c mu_d^c (e_{y_d} - e_c) x_d', a row per class."""
    pull = np.zeros((n_classes, x.shape[1]))
    for multipliers, features, target in zip(dual, x, y, strict=True):
        for c in range(n_classes):
            if not np.isnan(target) and c != target:
                pull[int(target)] += multipliers[c] * features
                pull[c] -= multipliers[c] * features
    return pull


def classes_dual(dual, x, y, cost, precision):
    return cost * dual.sum() - 0.5 * (classes_pull(dual, x, y, dual.shape[1]) ** 2 / precision).sum()


def simplex(value, weight, bound):
    """max(0, value - level) weight with sum `bound`; the level is found by sorting."""
    order = np.argsort(-value)
    for n in range(len(value), 0, -1):
        top = order[:n]
        level = (weight[top] @ value[top] - bound) / weight[top].sum()
        if value[order[n - 1]] > level or n == 1:
            return np.maximum(value - level, 0.0) * weight
    raise AssertionError
