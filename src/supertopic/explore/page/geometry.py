"""How topics lie to each other: distances, an order for a heatmap, places on a map, topics to look at twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

_DUPLICATE = 0.15  # Jensen-Shannon divergence (in bits) below which two topics are nearly the same
_DEAD = 0.1  # of the mean share, below which a topic is hardly used
_NAMING, _LAMBDA = 10, 0.6  # words that a topic is called by; their order (Sievert & Shirley 2014)
_MOST_ORDERED = 400  # topics up to which the best order of the leaves is searched for


def divergences(topics: np.ndarray) -> np.ndarray:
    """(K, K) Jensen-Shannon divergences of the rows of `topics`, in bits: 0 for the same topic, 1 at most."""
    topics = np.asarray(topics, dtype=np.float64)
    entropy = -(topics * np.log2(np.maximum(topics, 1e-300))).sum(axis=1)
    found = np.zeros((len(topics), len(topics)))
    for k in range(len(topics) - 1):
        middle = 0.5 * (topics[k] + topics[k + 1 :])
        mixed = -(middle * np.log2(np.maximum(middle, 1e-300))).sum(axis=1)
        found[k, k + 1 :] = np.clip(mixed - 0.5 * (entropy[k] + entropy[k + 1 :]), 0.0, 1.0)
    return found + found.T


def places_on_map(divergence: np.ndarray) -> np.ndarray:
    """(K, 2) classical scaling of the distances sqrt(divergence); the signs of the axes are fixed."""
    n_topics = len(divergence)
    centre = np.eye(n_topics) - 1.0 / n_topics
    values, vectors = np.linalg.eigh(-0.5 * centre @ divergence @ centre)
    found = np.zeros((n_topics, 2))
    for place in range(min(2, n_topics)):
        axis = vectors[:, -1 - place] * np.sqrt(max(values[-1 - place], 0.0))
        found[:, place] = axis if axis[np.argmax(np.abs(axis))] >= 0 else -axis
    return found


def seriation(divergence: np.ndarray) -> np.ndarray:
    """(K,) an order of the topics that puts similar ones side by side."""
    if len(divergence) < 3:
        return np.arange(len(divergence))
    tree = linkage(
        squareform(np.sqrt(divergence), checks=False), "average", optimal_ordering=len(divergence) <= _MOST_ORDERED
    )
    return leaves_list(tree)


def find_flags(divergence: np.ndarray, shares: np.ndarray) -> list[dict[str, Any]]:
    """For each topic: whether it is hardly used, and the topics that are nearly the same."""
    near = divergence < _DUPLICATE
    return [
        {
            "dead": bool(shares[k] < _DEAD / len(shares)),
            "twins": [int(other) for other in np.flatnonzero(near[k]) if other != k],
        }
        for k in range(len(shares))
    ]


def naming_words(topics: np.ndarray, mean: np.ndarray) -> list[list[int]]:
    """Words (by number) that each topic is called by: frequent in it, and less so in an average document (V,)."""
    logs = np.log(np.maximum(topics, 1e-300))
    relevance = logs - (1.0 - _LAMBDA) * np.log(np.maximum(mean, 1e-300))
    return np.argsort(-relevance, axis=1, kind="stable")[:, :_NAMING].tolist()
