"""The dual problems, with their sweeps and duality gap, and the loop that solves them.

A sweep visits documents one by one (`kernels.dual_descent`). Where C is large the dual is ill-conditioned and sweeps
converge slowly. A leap then improves all variables strictly inside their bounds together, by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..kernels.dual_descent import sweep_box, sweep_box_sparse, sweep_classes, sweep_classes_sparse

_SWEEPS = 20  # sweeps over the active documents before all documents are visited again
_ROUNDS = 50  # iterations of conjugate gradients in a leap

Features = Any  # (D, K) of a problem: an array, or a CSR matrix


class Dual(Protocol):
    """A problem that `descend` can solve."""

    live: np.ndarray  # (D,) the documents whose dual variables can move

    def sweep(self, order: np.ndarray, n: int, seed: int, epoch: int) -> tuple[int, float]:
        """Visit order[:n]; return (number of active documents, now at the front; sum of the gap terms)."""

    def leap(self, budget: int) -> int:
        """Improve the free variables together, unless that costs more visits than the budget; return the cost."""

    def measure(self) -> tuple[float, float]:
        """Return (primal, gap); recomputes the coefficients from the dual, since their updates lose precision."""


def descend(problem: Dual, tol: float, floor: float, max_epochs: int, seed: int) -> dict[str, Any]:
    """Sweep until the gap is at most max(tol · primal, floor); return the results for `MarginFit`."""
    order = np.flatnonzero(problem.live)
    epochs = visits = leapt = 0
    primal, gap = problem.measure()
    while gap > (goal := max(tol * primal, floor)) and epochs < max_epochs and len(order):
        n = len(order)
        for _ in range(1 + _SWEEPS):
            visits += n
            n, left = problem.sweep(order, n, seed, epochs)
            epochs += 1
            if not n or left <= 0.5 * goal or epochs >= max_epochs:
                break
        else:
            leapt += problem.leap(visits // 2 - leapt)  # never more than a third of all work
        primal, gap = problem.measure()
    return {"primal": primal, "gap": gap, "converged": gap <= goal, "epochs": epochs, "visits": visits + leapt}


class Box:
    """Dual of an epsilon-insensitive loss: one number per document, in an interval."""

    def __init__(
        self, x: Features, target: np.ndarray, epsilon: float, low: np.ndarray, high: np.ndarray, dual: np.ndarray
    ) -> None:
        self.x, self.target, self.epsilon, self.low, self.high = x, target, epsilon, low, high
        self.norm = squares(x) @ np.ones(x.shape[1])
        empty = self.norm <= 1e-14 * self.norm.max(initial=0.0)
        # the loss of an empty document does not depend on eta, so its optimal dual is known
        corner = np.where(np.abs(target) > epsilon, np.where(target > 0, high, low), 0.0)
        self.dual = np.where(empty, corner, np.clip(dual, low, high))
        self.live = ~empty & (low < high)

    def sweep(self, order: np.ndarray, n: int, seed: int, epoch: int) -> tuple[int, float]:
        box = (self.norm, self.target, self.epsilon, self.low, self.high)
        given = (*box, seed, epoch, self.coef, self.dual, order, n)
        if sp.issparse(self.x):
            return sweep_box_sparse(self.x.indptr, self.x.indices, self.x.data, *given)
        return sweep_box(self.x, *given)

    def leap(self, budget: int) -> int:
        free = np.flatnonzero((self.dual != 0) & (self.dual > self.low) & (self.dual < self.high))
        if not 0 < _ROUNDS * len(free) <= budget:
            return 0
        x, value = self.x[free], self.dual[free]
        gradient = self.target[free] - x @ self.coef - self.epsilon * np.sign(value)
        low = np.where(value > 0, 0.0, self.low[free])  # epsilon |b| has a kink at zero
        high = np.where(value > 0, self.high[free], 0.0)
        climbed = climb(lambda way: x @ (x.T @ way), value[:, None], gradient[:, None], low[:, None], high[:, None])
        self.dual[free] = climbed[:, 0]
        return _ROUNDS * len(free)

    def measure(self) -> tuple[float, float]:
        self.coef = self.x.T @ self.dual
        slope = self.x @ self.coef - self.target
        loss = np.where(slope < 0, self.high, -self.low) * np.maximum(np.abs(slope) - self.epsilon, 0.0)
        gap = loss + self.dual * slope + self.epsilon * np.abs(self.dual)
        return float(0.5 * self.coef @ self.coef + loss.sum()), float(gap.sum())


class Classes:
    """Dual of the Crammer–Singer loss: a row >= 0 per document that sums to its bound.

    The entry of the true class is the unused part of the bound.
    """

    def __init__(
        self, x: Features, label: np.ndarray, cost: float, bound: np.ndarray, variance: np.ndarray, dual: np.ndarray
    ) -> None:
        self.x, self.label, self.cost, self.bound, self.variance = x, label, cost, bound, variance
        self.rows, n_classes = np.arange(x.shape[0]), len(variance)
        curvature = squares(x) @ variance.T
        empty = curvature.min(axis=1) <= 1e-14 * curvature.max(initial=0.0)
        self.dual = np.maximum(dual, 0.0)
        # all wrong classes cost an empty document the same
        self.dual[empty] = bound[empty, None] / max(n_classes - 1, 1)
        self.dual[self.rows, label] = 0.0
        used = np.maximum(self.dual.sum(axis=1), bound)
        self.dual *= np.divide(bound, used, out=np.zeros_like(bound), where=used > 0)[:, None]
        self.dual[self.rows, label] = np.maximum(bound - self.dual.sum(axis=1), 0.0)
        self.weight = 1.0 / np.where(empty[:, None], 1.0, curvature)
        self.live = ~empty & (bound > 0) & (n_classes > 1)
        self.scratch = np.empty((2, n_classes))

    def sweep(self, order: np.ndarray, n: int, seed: int, epoch: int) -> tuple[int, float]:
        problem, scratch = (self.label, self.cost, self.bound, seed, epoch), (self.scratch[0], self.scratch[1])
        if sp.issparse(self.x):
            x = (self.x.indptr, self.x.indices, self.x.data)
            return sweep_classes_sparse(*x, self.weight, *problem, self.coef.T, self.dual, order, n, *scratch)
        return sweep_classes(self.x, self.weight, self.variance, *problem, self.coef, self.dual, order, n, *scratch)

    def leap(self, budget: int) -> int:
        free = np.flatnonzero(((self.dual > 0) & (self.dual < self.bound[:, None])).any(axis=1) & self.live)
        if not 0 < _ROUNDS * len(free) <= budget:
            return 0
        x, value, bound = self.x[free], self.dual[free], self.bound[free, None]
        gradient = slopes(x, self.coef, self.label[free], self.cost)
        high = np.broadcast_to(bound, value.shape)
        value = climb(
            lambda way: x @ (self.variance * (way.T @ x)).T, value, gradient, np.zeros_like(value), high, balanced=True
        )
        self.dual[free] = value * (bound / value.sum(axis=1, keepdims=True))
        return _ROUNDS * len(free)

    def measure(self) -> tuple[float, float]:
        share = -self.dual
        share[self.rows, self.label] += self.bound
        by_feature = self.x.T @ share * self.variance.T
        self.coef = by_feature.T if sp.issparse(self.x) else np.ascontiguousarray(by_feature.T)
        slope = slopes(self.x, self.coef, self.label, self.cost)
        worst = slope.max(axis=1)
        loss = self.bound * (worst - slope[self.rows, self.label])
        gap = (self.dual * (worst[:, None] - slope)).sum()
        return float(0.5 * (self.coef**2 / self.variance).sum() + loss.sum()), float(gap)

    def multipliers(self) -> np.ndarray:
        """The dual, with zeros in the entries of the true classes."""
        dual = self.dual.copy()
        dual[self.rows, self.label] = 0.0
        return dual


def squares(x: Features) -> Features:
    """The squares of all entries."""
    return x.multiply(x).tocsr() if sp.issparse(x) else np.square(x)


def slopes(x: Features, coef: np.ndarray, label: np.ndarray, cost: float) -> np.ndarray:
    """(D, M) cost 1(c != y_d) + eta_c·x_d."""
    slope = x @ coef.T
    slope += cost
    slope[np.arange(x.shape[0]), label] -= cost
    return slope


def climb(
    curvature: Callable[[np.ndarray], np.ndarray], value: np.ndarray, gradient: np.ndarray,
    low: np.ndarray, high: np.ndarray, balanced: bool = False,
) -> np.ndarray:  # fmt: skip
    """Return value + the step that maximises gradient·step - ½ step·curvature(step), by conjugate gradients.

    An entry that reaches its bound stays there. If `balanced`, the rows of the step sum to zero.
    """
    value, gradient, free = value.copy(), gradient.copy(), (value > low) & (value < high)
    residual = _project(gradient, free, balanced)
    way, size = residual, float((residual**2).sum())
    enough = 1e-24 * size
    for _ in range(_ROUNDS):
        if size <= enough or not way.any():  # of rounding alone, two steps may cancel
            break
        bend = curvature(way)
        bent = float((way * bend).sum())
        room = np.full(value.shape, np.inf)
        np.divide(np.where(way > 0, high - value, value - low), np.abs(way), out=room, where=way != 0)
        step, least = size / bent if bent > 0 else np.inf, float(room.min())
        blocked = step >= least
        step = min(step, least)
        value += step * way
        gradient -= step * bend
        if blocked:
            hit = room <= step
            np.copyto(value, np.where(way > 0, high, low), where=hit)
            free &= ~hit
        residual = _project(gradient, free, balanced)
        before, size = size, float((residual**2).sum())
        way = residual if blocked else residual + size / before * way
    return value


def _project(step: np.ndarray, free: np.ndarray, balanced: bool) -> np.ndarray:
    """Project the step: only free entries move, and if `balanced` the row sums do not change."""
    step = np.where(free, step, 0.0)
    if balanced:
        step -= free * (step.sum(axis=1) / np.maximum(free.sum(axis=1), 1))[:, None]
    return step
