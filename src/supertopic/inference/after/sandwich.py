"""Errors of coefficients that survive a wrong likelihood: sandwich covariances of a penalised regression.

With x_d the columns of a document, u_d the slope of its weighted log-likelihood in the linear predictor, w_d minus the
second derivative, P the prior's precision, and A = sum_d w_d x_d x_d' + P,

    HC3         A^-1 [sum_d u_d² x_d x_d' / (1 - h_d)²] A^-1,              h_d = w_d x_d' A^-1 x_d
    jackknife   (G - 1)/G sum_g m_g m_g',                                  m_g = (A - A_g)^-1 U_g

U_g is the sum of u_d x_d over the documents of group g, and m_g what the coefficients move by without it (one Newton
step, exact for least squares; the mean of m_g is not taken off), so that HC3 is the jackknife over documents, but for
(n - 1)/n. Sums of U_g U_g' as they are (CR1) give errors that are too small where groups are few or differ in size; the
jackknife then errs on the other side.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

_LEAST_LEFT = 1e-8  # of 1 - h: a document that decides a coefficient alone


def hc3(columns: np.ndarray, slope: np.ndarray, curvature: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """(k, k) of coefficients, whatever the variance of each document is.

    columns : (n, k) x;  slope, curvature : (n,) u and w;  precision : (k, k) P
    """
    bread = _bread(columns, curvature, precision)
    leverage = curvature * np.einsum("dk,dk->d", columns @ bread, columns)
    moved = (columns * (slope / np.maximum(1.0 - leverage, _LEAST_LEFT))[:, None]) @ bread
    return moved.T @ moved


def of_groups(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(G, k) sums of values (n, k) over the documents of each group."""
    labels, code = np.unique(groups, return_inverse=True)
    if len(labels) < 2:
        raise ValueError("groups: got one group only, expected two at least, of which errors can be found")
    total = np.zeros((len(labels), values.shape[1]))
    np.add.at(total, code.reshape(-1), values)
    return total


def jackknife(
    columns: np.ndarray, slope: np.ndarray, curvature: np.ndarray, precision: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """(k, k) by leaving out one group at a time; groups : (n,) labels."""
    moved = moved_without(columns, slope, curvature, precision, groups)
    return (len(moved) - 1) / len(moved) * (moved.T @ moved)


def moved_without(
    columns: np.ndarray, slope: np.ndarray, curvature: np.ndarray, precision: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """(G, k) or (G, k, m) what coefficients move by without each group; slope : (n,), or (n, m) of m regressions."""
    _, code = np.unique(groups, return_inverse=True)
    n_groups = int(code.max()) + 1
    if n_groups < 2:
        raise ValueError("groups: got one group only, expected two at least, of which errors can be found")
    whole, moved = _information(columns, curvature, precision), np.empty((n_groups, columns.shape[1], *slope.shape[1:]))
    order, starts = np.argsort(code, kind="stable"), np.searchsorted(np.sort(code), np.arange(n_groups + 1))
    for number in range(n_groups):
        own = order[starts[number] : starts[number + 1]]
        rest = whole - (columns[own] * curvature[own, None]).T @ columns[own]
        moved[number] = np.linalg.lstsq(rest, columns[own].T @ slope[own], rcond=1e-10)[0]
    return moved


def _information(columns: np.ndarray, curvature: np.ndarray, precision: np.ndarray) -> np.ndarray:
    return (columns * curvature[:, None]).T @ columns + precision


def _bread(columns: np.ndarray, curvature: np.ndarray, precision: np.ndarray) -> np.ndarray:
    return cho_solve(cho_factor(_information(columns, curvature, precision)), np.eye(columns.shape[1]))
