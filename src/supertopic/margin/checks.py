"""Validation and preparation of the input: features, labels, bounds, priors and starting duals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular


def checked(
    x: object, y: np.ndarray, C: float, weight: np.ndarray | None, numbers: dict[str, float],
    tol: float, floor: float, max_epochs: int, n_classes: int | None = None,
) -> tuple[Any, np.ndarray, np.ndarray]:  # fmt: skip
    """Return x and y in float64 and the bounds C w_d, zero for documents left out; raise on invalid input."""
    sparse = sp.issparse(x)
    x = sp.csr_matrix(x, dtype=np.float64) if sparse else np.ascontiguousarray(x, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    if x.ndim != 2 or not np.isfinite(x.data if sparse else x).all():
        raise ValueError(f"x: got shape {x.shape}, expected a (D, K) array of finite numbers")
    if y.shape != x.shape[:1] or np.isinf(y).any():
        raise ValueError(f"y: got shape {y.shape}, expected {x.shape[:1]}, finite numbers or NaN (left out)")
    for name, value in {"C": C, "tol": tol, "floor": floor, **numbers}.items():
        if not 0 <= value < np.inf:
            raise ValueError(f"{name}: got {value!r}, expected a finite number >= 0")
    if max_epochs < 1:
        raise ValueError(f"max_epochs: got {max_epochs!r}, expected a whole number >= 1")
    known = ~np.isnan(y)
    if n_classes is not None:
        if n_classes < 1:
            raise ValueError(f"n_classes: got {n_classes!r}, expected a whole number >= 1")
        wrong = y[known & ~np.isin(y, np.arange(n_classes))]
        if len(wrong):
            raise ValueError(f"y: got {wrong[0]:g}, expected whole numbers 0 to {n_classes - 1}, or NaN (left out)")
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    if weight.shape != y.shape or not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError(f"weight: got shape {weight.shape}, expected {y.shape}, finite numbers >= 0")
    return x, y, np.where(known, C * weight, 0.0)


def start(warm: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """Return the starting dual; the problem itself makes it feasible."""
    if warm is None:
        return np.zeros(shape)
    if np.shape(warm) != shape or not np.isfinite(warm).all():
        raise ValueError(f"warm: got shape {np.shape(warm)}, expected {shape}, finite numbers")
    return np.array(warm, dtype=np.float64)


def whiten(
    x: Any, mean: np.ndarray | None, precision: np.ndarray | None
) -> tuple[np.ndarray, Any, Callable[[np.ndarray], np.ndarray]]:
    """With P = U'U: the mean, U'⁻¹ x_d, and a function from U (eta - mean) back to eta - mean (the paper's eq. 17)."""
    n_features = x.shape[1]
    mean = np.zeros(n_features) if mean is None else np.asarray(mean, dtype=np.float64)
    if mean.shape != (n_features,) or not np.isfinite(mean).all():
        raise ValueError(f"mean: got shape {mean.shape}, expected {(n_features,)}, finite numbers")
    if precision is None:
        return mean, x, lambda coef: coef
    _require_dense(x)
    P = np.asarray(precision, dtype=np.float64)
    if P.shape not in {(n_features,), (n_features, n_features)} or not np.isfinite(P).all():
        raise ValueError(
            f"precision: got shape {P.shape}, expected {(n_features,)} or {(n_features, n_features)}, finite"
        )
    if P.ndim == 1:
        if not (P > 0).all():
            raise ValueError(f"precision: got {P.min():g}, expected numbers > 0")
        root = np.sqrt(P)
        return mean, x / root, lambda coef: coef / root
    try:
        if not np.allclose(P, P.T):
            raise np.linalg.LinAlgError
        lower = np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        raise ValueError("precision: got a matrix that is not symmetric positive definite, expected one") from None
    white = np.ascontiguousarray(solve_triangular(lower, x.T, lower=True).T)
    return mean, white, lambda coef: solve_triangular(lower, coef, lower=True, trans="T")


def _require_dense(x: object) -> None:
    if sp.issparse(x):
        raise ValueError("precision: got one with a sparse x, expected None; scale the features instead")


def variances(x: Any, precision: np.ndarray | None, n_classes: int) -> np.ndarray:
    """(M, K) 1 / precision."""
    n_features = x.shape[1]
    if precision is None:
        return np.ones((n_classes, n_features))
    _require_dense(x)
    P = np.asarray(precision, dtype=np.float64)
    if P.shape not in {(n_features,), (n_classes, n_features)} or not (np.isfinite(P) & (P > 0)).all():
        raise ValueError(
            f"precision: got shape {P.shape}, expected {(n_features,)} or {(n_classes, n_features)}, finite numbers > 0"
        )
    return np.ascontiguousarray(np.broadcast_to(1.0 / P, (n_classes, n_features)))
