"""Slow, obvious versions of prediction-constrained training: shares at the mode, and gradients through them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def em_map(theta: np.ndarray, counts: np.ndarray, topics: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """One step of EM; counts (n,), topics (n, K) of the document's words."""
    phi = theta * topics
    phi /= phi.sum(axis=1, keepdims=True)
    return (counts @ phi + alpha) / (counts.sum() + alpha.sum())


def fixed_point(counts: np.ndarray, topics: np.ndarray, alpha: np.ndarray, steps: int = 20000) -> np.ndarray:
    theta = np.full(len(alpha), 1.0 / len(alpha))
    for _ in range(steps):
        before, theta = theta, em_map(theta, counts, topics, alpha)
        if np.abs(theta - before).max() < 1e-15:
            break
    return theta


def jacobian(theta: np.ndarray, counts: np.ndarray, topics: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """J_kj = ∂em_map_k / ∂theta_j, written out."""
    r = topics @ theta
    size = counts.sum() + alpha.sum()
    own = np.diag((counts / r) @ topics)
    return (own - theta[:, None] * (topics.T * (counts / r**2)) @ topics) / size


def dense_adjoint(
    g: np.ndarray, theta: np.ndarray, counts: np.ndarray, topics: np.ndarray, alpha: np.ndarray
) -> np.ndarray:
    return np.linalg.solve(np.eye(len(theta)) - jacobian(theta, counts, topics, alpha).T, g)


def topic_gradient(
    u: np.ndarray, theta: np.ndarray, counts: np.ndarray, topics: np.ndarray, alpha: np.ndarray
) -> np.ndarray:
    """(n, K) ∂loss/∂b of the document's words."""
    r = topics @ theta
    mean = (topics * theta) @ u / r
    size = counts.sum() + alpha.sum()
    return theta * (counts / r)[:, None] * (u - mean[:, None]) / size


def difference_gradient(loss: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences of a function of an array, entry by entry."""
    found = np.empty_like(at)
    for place in np.ndindex(*at.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = at.copy()
            moved[place] += sign * step
            ends.append(loss(moved))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found
