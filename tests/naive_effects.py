"""Effects by moving the shares of one document after the other: `supertopic.inference.after.effects`."""

from collections.abc import Callable

import numpy as np


def moved_document(shares: np.ndarray, k: int, value: float, average: np.ndarray) -> np.ndarray:
    """The shares (K,) of a document with topic k at a value."""
    others = [j for j in range(len(shares)) if j != k]
    found = np.zeros(len(shares))
    found[k] = value
    weights = shares if sum(shares[j] for j in others) > 1e-9 else average
    total = sum(weights[j] for j in others)
    for j in others:
        found[j] = (1.0 - value) * weights[j] / total
    return found


def mean_prediction(
    shares: np.ndarray, others: np.ndarray, coef: np.ndarray, mean: Callable[[np.ndarray], np.ndarray], k: int,
    value: float,
) -> np.ndarray:  # fmt: skip
    """(n,) the mean prediction with topic k at a value, or with column k - K at it."""
    n_topics, total = shares.shape[1], []
    for theta, x in zip(shares, others, strict=True):
        theta, x = theta.copy(), x.copy()
        if k < n_topics:
            theta = moved_document(theta, k, value, shares.mean(axis=0))
        else:
            x[k - n_topics] = value
        total.append(mean((coef @ np.concatenate([theta, x]))[None])[0])
    return np.mean(total, axis=0)


def effect(
    shares: np.ndarray, others: np.ndarray, coef: np.ndarray, mean: Callable[[np.ndarray], np.ndarray], k: int,
    ends: tuple[float, float], ratio: bool,
) -> np.ndarray:  # fmt: skip
    """(n,) the effect of topic or column k from one value to another."""
    low, high = (mean_prediction(shares, others, coef, mean, k, end) for end in ends)
    return high / low if ratio else high - low


def effect_error(
    shares: np.ndarray, others: np.ndarray, coef: np.ndarray, mean: Callable[[np.ndarray], np.ndarray],
    covariance: np.ndarray, k: int, ends: tuple[float, float], ratio: bool,
) -> np.ndarray:  # fmt: skip
    """(n,) its standard error by the delta method; a ratio's is that of its logarithm times the ratio."""

    def value(given: np.ndarray) -> np.ndarray:
        found = effect(shares, others, given, mean, k, ends, ratio)
        return np.log(found) if ratio else found

    gradient = np.zeros((len(value(coef)), *coef.shape))
    for place in np.ndindex(coef.shape):
        step = np.zeros_like(coef)
        step[place] = 1e-5
        gradient[(slice(None), *place)] = (value(coef + step) - value(coef - step)) / 2e-5
    variance = sum(
        np.einsum("ni,ij,nj->n", gradient[:, c], covariance[c], gradient[:, c]) for c in range(len(covariance))
    )
    error = np.sqrt(variance)
    return error * effect(shares, others, coef, mean, k, ends, ratio) if ratio else error
