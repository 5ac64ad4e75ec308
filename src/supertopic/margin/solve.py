"""Regression, binary and Crammer–Singer classes by coordinate descent on the dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .checks import checked, start, variances, whiten
from .duals import Box, Classes, descend


@dataclass(frozen=True)
class MarginFit:
    """Solution of a max-margin problem: coefficients, dual variables and duality gap.

    Attributes
    ----------
    coef : (K,) or (M, K)
    dual : (D,) or (D, M)
        regression: mu - mu*. binary: mu. classes: mu_d^c, zero in the column of the true class.
    primal, gap : float
        The objective at `coef`, and the duality gap, an upper bound of its distance to the optimum.
    converged : bool
        Whether the gap is at most max(tol · primal, floor).
    epochs, visits : int
        Number of sweeps (one slack: of planes), and number of documents visited in them.
    planes : (J, D) int32 or None
        One slack: the labelings of the planes that have weight, for a warm start.
    """

    coef: np.ndarray
    dual: np.ndarray
    primal: float
    gap: float
    converged: bool
    epochs: int
    visits: int
    planes: np.ndarray | None = None

    @property
    def support(self) -> np.ndarray:
        """The support vectors: documents with a non-zero dual variable."""
        return np.flatnonzero(self.dual if self.dual.ndim == 1 else self.dual.any(axis=1))


def solve_regression(
    x: object, y: np.ndarray, C: float, epsilon: float, *, weight: np.ndarray | None = None,
    mean: np.ndarray | None = None, precision: np.ndarray | None = None, warm: np.ndarray | None = None,
    tol: float = 1e-3, floor: float = 1e-12, max_epochs: int = 10_000, seed: int = 0,
) -> MarginFit:  # fmt: skip
    """min_eta ½ (eta - mean)' P (eta - mean) + C sum_d w_d max(0, |y_d - eta·x_d| - epsilon).

    The dual variables b_d = mu_d - mu*_d lie in [-C w_d, C w_d], and eta = mean + P⁻¹ sum_d b_d x_d.

    Parameters
    ----------
    x : (D, K), an array, or a sparse matrix if the precision is one
    y : (D,)
        Documents with NaN are left out.
    C, epsilon : float
    weight : (D,), default ones
    mean : (K,), default zeros
    precision : (K,) or (K, K), default ones
        P, as its diagonal or as a positive definite matrix.
    warm : (D,), optional
        Starting dual; it is clipped to the box.
    tol, floor : float
        Stops when the duality gap is at most max(tol · primal, floor).
    max_epochs : int
        Largest number of sweeps.
    seed : int
        Seed of the order in which documents are visited.

    Returns
    -------
    MarginFit
    """
    x, y, bound = checked(x, y, C, weight, {"epsilon": epsilon}, tol, floor, max_epochs)
    mean, white, back = whiten(x, mean, precision)
    target = np.where(bound > 0, y - x @ mean, 0.0)
    problem = Box(white, target, float(epsilon), -bound, bound, start(warm, y.shape))
    known = descend(problem, tol, floor, max_epochs, seed)
    return MarginFit(mean + back(problem.coef), problem.dual, **known)


def solve_binary(
    x: object, y: np.ndarray, C: float, cost: float = 1.0, *, weight: np.ndarray | None = None,
    mean: np.ndarray | None = None, precision: np.ndarray | None = None, warm: np.ndarray | None = None,
    tol: float = 1e-3, floor: float = 1e-12, max_epochs: int = 10_000, seed: int = 0,
) -> MarginFit:  # fmt: skip
    """min_eta ½ (eta - mean)' P (eta - mean) + C sum_d w_d max(0, cost - s_d eta·x_d), s_d = 2 y_d - 1.

    The dual variables mu_d lie in [0, C w_d], and eta = mean + P⁻¹ sum_d s_d mu_d x_d. With mean 0 and P = 1 this is
    `solve_classes` with two classes at C/2: eta = coef[1] - coef[0], mu = 2 dual.

    Parameters
    ----------
    x : (D, K), as in `solve_regression`
    y : (D,)
        1 or 0; documents with NaN are left out.
    C, cost : float
    weight, mean, precision, warm, tol, floor, max_epochs, seed
        As in `solve_regression`.

    Returns
    -------
    MarginFit
    """
    x, y, bound = checked(x, y, C, weight, {"cost": cost}, tol, floor, max_epochs, n_classes=2)
    mean, white, back = whiten(x, mean, precision)
    sign = np.where(y == 1, 1.0, -1.0)
    target = sign * cost - x @ mean
    low, high = np.minimum(sign * bound, 0.0), np.maximum(sign * bound, 0.0)
    problem = Box(white, target, 0.0, low, high, sign * start(warm, y.shape))
    known = descend(problem, tol, floor, max_epochs, seed)
    return MarginFit(mean + back(problem.coef), np.abs(problem.dual), **known)


def solve_classes(
    x: object, y: np.ndarray, n_classes: int, C: float, cost: float = 1.0, *, weight: np.ndarray | None = None,
    precision: np.ndarray | None = None, warm: np.ndarray | None = None,
    tol: float = 1e-3, floor: float = 1e-12, max_epochs: int = 10_000, seed: int = 0,
) -> MarginFit:  # fmt: skip
    """min ½ sum_ck P_ck eta_ck² + C sum_d w_d max_c [cost 1(c != y_d) - (eta_{y_d} - eta_c)·x_d].

    The dual variables mu_d^c >= 0, c != y_d, have sum_c mu_d^c <= C w_d, and
    P eta_c = sum_d (1(c = y_d) sum_c' mu_d^c' - mu_d^c) x_d.

    Parameters
    ----------
    x : (D, K), as in `solve_regression`
    y : (D,)
        0 … n_classes - 1; documents with NaN are left out.
    n_classes : int
    C, cost : float
    precision : (K,) or (M, K), default ones
    warm : (D, M), optional
        Starting dual; rows are scaled down where they exceed C w_d.
    weight, tol, floor, max_epochs, seed
        As in `solve_regression`.

    Returns
    -------
    MarginFit
    """
    x, y, bound = checked(x, y, C, weight, {"cost": cost}, tol, floor, max_epochs, n_classes)
    label = np.where(bound > 0, y, 0).astype(np.int64)
    variance = variances(x, precision, n_classes)
    problem = Classes(x, label, float(cost), bound, variance, start(warm, (len(y), n_classes)))
    known = descend(problem, tol, floor, max_epochs, seed)
    return MarginFit(problem.coef, problem.multipliers(), **known)
