"""Ridge regressions on sparse rows, of which threads fit several at a time.

scikit-learn's `Ridge` would do, but its sparse products hold Python's lock, so that two of them take as long on two
threads as on one. Here scipy's LSQR runs on products that let the lock go, over the rows themselves: no part of the
documents is copied for a regression without the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsqr

from supertopic.kernels.sparse_rows import add_rows, multiply_rows

_TOL = 1e-3


@dataclass(frozen=True)
class Ridge:
    """y is about intercept + coef·x."""

    coef: np.ndarray  # (V,)
    intercept: float

    def predict(self, x: sp.csr_matrix) -> np.ndarray:
        """(D,)."""
        return _Rows(x, np.arange(x.shape[0])).times(self.coef) + self.intercept


def fit_ridge(x: sp.csr_matrix, rows: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: float) -> Ridge:
    """Minimise sum_i weight_i (y_i - intercept - coef·x_i)² + penalty |coef|² over some rows of x.

    y, weight : (n,) of these rows
    """
    own, root = _Rows(x, rows), np.sqrt(weight)
    total = weight.sum()
    mean, level = own.added(weight) / total, float(weight @ y) / total

    def forth(coef: np.ndarray) -> np.ndarray:
        return root * (own.times(coef) - mean @ coef)

    def back(residual: np.ndarray) -> np.ndarray:
        return own.added(root * residual)  # root·residual is zero, here and in every step: the mean has no part

    centred = LinearOperator((len(rows), x.shape[1]), matvec=forth, rmatvec=back, dtype=np.float64)
    coef = lsqr(centred, root * (y - level), damp=np.sqrt(penalty), atol=_TOL, btol=_TOL)[0]
    return Ridge(coef, level - float(mean @ coef))


@dataclass(frozen=True)
class _Rows:
    x: sp.csr_matrix
    rows: np.ndarray

    def times(self, vector: np.ndarray) -> np.ndarray:
        """(n,) x·vector."""
        out = np.empty(len(self.rows))
        multiply_rows(self.rows, self.x.indptr, self.x.indices, self.x.data, vector, out)
        return out

    def added(self, weight: np.ndarray) -> np.ndarray:
        """(V,) sum of weight·x."""
        out = np.zeros(self.x.shape[1])
        add_rows(self.rows, self.x.indptr, self.x.indices, self.x.data, weight, out)
        return out
