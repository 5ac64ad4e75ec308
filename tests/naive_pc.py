"""Slow, obvious versions of prediction-constrained training: shares at the mode, and gradients through them."""

from __future__ import annotations

import math
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


def logit_gradient(topics: np.ndarray, gradient: np.ndarray, prior: float | np.ndarray) -> np.ndarray:
    """The gradient of an objective + prior·sum log b with respect to log b, columns of b kept normalised.

    gradient : (V, K) that of the objective with respect to b
    """
    found = gradient * topics + prior
    return found - topics * found.sum(axis=0)


def adam(
    topics: np.ndarray, gradients: list[np.ndarray], prior: float | np.ndarray, rates: list[float]
) -> tuple[np.ndarray, ...]:
    """(log b, mean, square) after steps of Adam on log b, by the book: momentum 0.9, memory of squares 0.99.

    prior : the exponent of b in its prior, one number or (V, K) of them
    """
    logits, mean, square = np.log(topics), np.zeros_like(topics), np.zeros_like(topics)
    for step, (gradient, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        b = np.exp(logits) / np.exp(logits).sum(axis=0)
        found = logit_gradient(b, gradient, prior)
        mean = 0.9 * mean + 0.1 * found
        square = 0.99 * square + 0.01 * found**2
        logits = logits + rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return logits, mean, square


def repeats(counts: np.ndarray, shares: np.ndarray, topics: np.ndarray, seldom: float) -> tuple[int, float]:
    """(words that documents use again, and how many of these are expected), of words that they seldom use.

    counts (D, V), shares (D, K), topics (V, K)
    """
    again, expected = 0, 0.0
    for words, theta in zip(counts, shares, strict=True):
        for count, row in zip(words, topics, strict=True):
            mean = float(words.sum()) * float(row @ theta)
            if count and mean < seldom:
                chances = [math.exp(-mean) * mean**c / math.factorial(c) for c in range(30)]
                again += count > 1
                expected += sum(chances[2:]) / sum(chances[1:])
    return again, expected
