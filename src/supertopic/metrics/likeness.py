"""How topics lie to each other: by their words, by the documents they share; which are hardly used, or there twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

DUPLICATE = 0.15  # Jensen-Shannon divergence (in bits) below which two topics are nearly the same
DEAD = 0.1  # of the mean share, below which a topic is hardly used
OWN = 0.4  # of `ownness`, below which a topic has words of all topics


def divergences(topics: np.ndarray) -> np.ndarray:
    """(K, K) Jensen-Shannon divergences of the rows of `topics`, in bits: 0 for the same topic, 1 at most.

    Parameters
    ----------
    topics : (K, V) array
        Distributions over words.

    Returns
    -------
    (K, K) ndarray
        In bits.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.divergences(topics).round(2).tolist()
    [[0.0, 0.37], [0.37, 0.0]]
    """
    topics = np.asarray(topics, dtype=np.float64)
    entropy = -(topics * np.log2(np.maximum(topics, 1e-300))).sum(axis=1)
    found = np.zeros((len(topics), len(topics)))
    for k in range(len(topics) - 1):
        middle = 0.5 * (topics[k] + topics[k + 1 :])
        mixed = -(middle * np.log2(np.maximum(middle, 1e-300))).sum(axis=1)
        found[k, k + 1 :] = np.clip(mixed - 0.5 * (entropy[k] + entropy[k + 1 :]), 0.0, 1.0)
    return found + found.T


def ownness(topics: np.ndarray, shares: np.ndarray, top_n: int) -> np.ndarray:
    """(K,) how far a topic's first words are its own: mean log p(w | k) / p(w), as a part of the most it could be.

    It is one where these words stand in no other topic, and zero where they are as frequent in all of them. Words that
    are rarer than 1/V in the topic are none of its first words.
    """
    topics = np.asarray(topics, dtype=np.float64)
    first = np.argsort(-topics, axis=1, kind="stable")[:, :top_n]
    lift = np.take_along_axis(np.log(np.maximum(topics, 1e-300)), first, axis=1)
    lift -= np.log(np.maximum(shares @ topics / shares.sum(), 1e-300))[first]
    most = -np.log(np.maximum(shares / shares.sum(), 1e-300))
    counted = np.take_along_axis(topics, first, axis=1) * topics.shape[1] > 1 - 1e-6
    own = (lift * counted).sum(axis=1) / counted.sum(axis=1)
    return np.divide(own, most, out=np.ones(len(topics)), where=most > 1e-9)


def find_flags(divergence: np.ndarray, shares: np.ndarray) -> list[dict[str, Any]]:
    """For each topic: whether it is hardly used, and the topics that are nearly the same."""
    near = divergence < DUPLICATE
    return [
        {
            "dead": bool(shares[k] < DEAD / len(shares)),
            "twins": [int(other) for other in np.flatnonzero(near[k]) if other != k],
        }
        for k in range(len(shares))
    ]


def share_correlation(shares: np.ndarray) -> np.ndarray:
    """(K, K) correlations of centred log-ratios, log theta_dk - mean_j log theta_dj, over documents.

    Shares themselves are correlated since they sum to one: where one goes up, others must go down. A topic whose
    log-ratio never changes has a correlation of zero with all others.

    Parameters
    ----------
    shares : (D, K) array
        Topic shares of documents.

    Returns
    -------
    (K, K) ndarray
        Correlations.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    >>> metrics.share_correlation(shares).round(2).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    logs = np.log(np.maximum(np.asarray(shares, dtype=np.float64), 1e-12))
    apart = logs - logs.mean(axis=1, keepdims=True)
    apart -= apart.mean(axis=0)
    size = np.sqrt((apart**2).sum(axis=0))
    unit = np.divide(apart, size, out=np.zeros_like(apart), where=size > 1e-9 * max(size.max(initial=0.0), 1e-300))
    found = np.clip(unit.T @ unit, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def topic_tree(correlation: np.ndarray) -> np.ndarray:
    """(K - 1, 4) which topics meet first, as SciPy's `linkage`: at the mean of 1 - correlation over pairs of topics."""
    apart = np.clip(1.0 - (correlation + correlation.T) / 2.0, 0.0, 2.0)
    np.fill_diagonal(apart, 0.0)
    return np.asarray(linkage(squareform(apart, checks=False), method="average", optimal_ordering=True))


def concentration(shares: np.ndarray) -> np.ndarray:
    """(K,) sum_d theta_dk² / sum_d theta_dk: the share of its topic in the document where a token of it stands.

    It is near 1/K where all documents have something of a topic, and near one where a few are all of it.

    Parameters
    ----------
    shares : (D, K) array
        Topic shares of documents.

    Returns
    -------
    (K,) ndarray
        A number per topic.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    >>> metrics.concentration(shares).round(2).tolist()
    [0.69, 0.64]
    """
    shares = np.asarray(shares, dtype=np.float64)
    return (shares**2).sum(axis=0) / np.maximum(shares.sum(axis=0), 1e-300)
