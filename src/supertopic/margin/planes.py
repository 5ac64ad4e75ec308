"""The classes problem with one slack for all documents, solved by cutting planes.

min ½ sum_ck P_ck eta_ck² + xi,   xi >= sum_d C w_d [cost 1(c_d != y_d) - (eta_{y_d} - eta_{c_d})·x_d], all labelings c

Every labeling gives a plane b - <eta, g> that is a lower bound of the loss. A few planes are enough: each iteration
adds the labeling that is worst at the current eta, and finds weights of the planes (>= 0, with sum one; the true labels
give the plane zero) that solve

max sum_j weight_j b_j - ½ <G, G / P>,   G = sum_j weight_j g_j,   eta = G / P.
"""

from __future__ import annotations

import numpy as np

from ..kernels.dual_descent import sum_by_class, weigh_planes, worst_classes
from .checks import checked, variances
from .duals import climb
from .solve import MarginFit

_IDLE = 30  # iterations without weight after which a plane is dropped


class _Planes:
    """The labelings found so far, their slopes g and offsets b, and their weights."""

    def __init__(self, x: np.ndarray, label: np.ndarray, cost: float, bound: np.ndarray, variance: np.ndarray) -> None:
        self.x, self.label, self.cost, self.bound, self.variance = x, label, cost, bound, variance
        self.labelings: list[np.ndarray] = []
        self.slope, self.offset, self.gram = np.empty((0, variance.size)), np.empty(0), np.empty((0, 0))
        self.weight, self.idle = np.empty(0), np.empty(0, dtype=np.int64)
        self.sums = np.empty(variance.shape)  # sums of bound_d x_d by class of the current labeling
        sum_by_class(x, bound, label, self.sums)
        self.own = self.sums.copy()
        self.add(label)
        self.weight[0] = 1.0

    def add(self, label: np.ndarray) -> None:
        """Add a labeling; `sums` must hold its sums."""
        slope = (self.own - self.sums).ravel()
        offset = self.cost * self.bound[label != self.label].sum()
        self.labelings.append(label.copy())
        self.slope, self.offset = np.vstack([self.slope, slope]), np.append(self.offset, offset)
        row = self.slope @ (self.variance.ravel() * slope)
        self.gram = np.block([[self.gram, row[:-1, None]], [row[None, :-1], row[-1:, None]]])
        self.weight, self.idle = np.append(self.weight, 0.0), np.append(self.idle, 0)

    def find(self, coef: np.ndarray, label: np.ndarray) -> float:
        """Write the worst labeling at the coefficients into `label` and its sums into `sums`; return its loss."""
        score = self.x @ coef.T
        return float(worst_classes(self.x, score, self.label, self.cost, self.bound, label, self.sums))

    def has(self, label: np.ndarray) -> bool:
        """Whether this labeling was added before; then only rounding errors remain."""
        alike = np.flatnonzero(self.offset == self.cost * self.bound[label != self.label].sum())
        return any(np.array_equal(self.labelings[j], label) for j in alike)

    def forget(self) -> None:
        """Drop the planes that have long been without weight, except that of the true labels."""
        self.idle = np.where(self.weight > 0, 0, self.idle + 1)
        keep = self.idle <= _IDLE
        keep[0] = True
        if not keep.all():
            self.labelings = [self.labelings[j] for j in np.flatnonzero(keep)]
            self.slope, self.offset = self.slope[keep], self.offset[keep]
            self.gram = np.ascontiguousarray(self.gram[np.ix_(keep, keep)])
            self.weight, self.idle = self.weight[keep], self.idle[keep]

    def weigh(self, tol: float) -> tuple[np.ndarray, float]:
        """Find the optimal weights, up to tol in the objective; return the coefficients and the loss of the planes."""
        _weigh(self.gram, self.offset, self.weight, tol)
        coef = (self.weight @ self.slope).reshape(self.variance.shape) * self.variance
        return coef, float(self.weight @ (self.offset - self.gram @ self.weight))

    def dual(self) -> np.ndarray:
        """(D, M) bound_d times the weight of the planes that give document d the class c; zero for the true class."""
        dual = np.zeros((len(self.x), len(self.variance)))
        rows = np.arange(len(self.x))
        for j in np.flatnonzero(self.weight):
            dual[rows, self.labelings[j]] += self.weight[j] * self.bound
        dual[rows, self.label] = 0.0
        return dual


def solve_one_slack(
    x: np.ndarray, y: np.ndarray, n_classes: int, C: float, cost: float = 1.0, *, weight: np.ndarray | None = None,
    precision: np.ndarray | None = None, warm: np.ndarray | None = None,
    tol: float = 1e-3, floor: float = 1e-12, max_epochs: int = 1000,
) -> MarginFit:  # fmt: skip
    """Solve the problem of `solve_classes` by cutting planes, with the same optimum; an epoch is one plane.

    Parameters
    ----------
    x, y, n_classes, C, cost, weight, precision, tol, floor
        As in `solve_classes`; C is per document here, too.
    warm : (J, D) int, optional
        The `planes` of an earlier fit; they remain valid when x, C or the weights change.
    max_epochs : int
        Largest number of planes.

    Returns
    -------
    MarginFit
    """
    x, y, bound = checked(x, y, C, weight, {"cost": cost}, tol, floor, max_epochs, n_classes)
    x, label = np.ascontiguousarray(x), np.where(bound > 0, y, 0).astype(np.int32)
    planes = _Planes(x, label, float(cost), bound, variances(x, precision, n_classes))
    for labeling in _labelings(warm, len(x), n_classes):
        sum_by_class(x, bound, labeling, planes.sums)
        planes.add(labeling)
    worst, epochs, goal = np.empty_like(label), 0, floor
    while True:
        coef, seen = planes.weigh(0.1 * goal)
        loss = planes.find(coef, worst)
        primal, gap = 0.5 * float((coef**2 / planes.variance).sum()) + loss, loss - seen
        goal = max(tol * primal, floor)
        if gap <= goal or epochs >= max_epochs or planes.has(worst):
            break
        planes.forget()
        planes.add(worst)
        epochs += 1
    used = np.stack([planes.labelings[j] for j in np.flatnonzero(planes.weight)])
    return MarginFit(coef, planes.dual(), primal, gap, gap <= goal, epochs, (epochs + 1) * len(x), used)


def _weigh(gram: np.ndarray, offset: np.ndarray, weight: np.ndarray, tol: float) -> None:
    """max_w offset·w - ½ w' gram w over the simplex, in place: pairwise steps, and joint steps of all with weight."""
    slack, n = np.empty(len(weight)), len(weight)
    for _ in range(100):
        if weigh_planes(gram, offset, weight, slack, tol, 10 * n):
            break
        row = weight[None]
        climbed = climb(lambda way: way @ gram, row, slack[None], np.zeros_like(row), np.ones_like(row), balanced=True)
        weight[:] = climbed[0] / climbed.sum()


def _labelings(warm: np.ndarray | None, n_documents: int, n_classes: int) -> np.ndarray:
    """Return the labelings to start from."""
    if warm is None:
        return np.empty((0, n_documents), dtype=np.int32)
    warm = np.asarray(warm)
    valid = warm.ndim == 2 and warm.shape[1] == n_documents and np.issubdtype(warm.dtype, np.integer)
    if not valid or ((warm < 0) | (warm >= n_classes)).any():
        raise ValueError(f"warm: got shape {warm.shape}, expected (J, {n_documents}), classes 0 to {n_classes - 1}")
    return warm.astype(np.int32)
