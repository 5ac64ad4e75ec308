"""How topics lie to each other: an order for a heatmap, places on a map, words that name them."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

_NAMING, _LAMBDA = 10, 0.6  # words that a topic is called by; their order (Sievert & Shirley 2014)
_MOST_ORDERED = 400  # topics up to which the best order of the leaves is searched for


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


def naming_words(topics: np.ndarray, mean: np.ndarray) -> list[list[int]]:
    """Words (by number) that each topic is called by: frequent in it, and less so in an average document (V,)."""
    logs = np.log(np.maximum(topics, 1e-300))
    relevance = logs - (1.0 - _LAMBDA) * np.log(np.maximum(mean, 1e-300))
    return np.argsort(-relevance, axis=1, kind="stable")[:, :_NAMING].tolist()
