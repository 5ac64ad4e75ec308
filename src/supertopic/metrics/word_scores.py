"""Which words stand for a topic: by probability, FREX, lift, relevance or score, each a (K, V) array."""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.metrics.summaries import components_of, frex

_FREX, _RELEVANCE = 0.5, 0.6  # the weight of frequency, as in R's stm; and of Sievert & Shirley (2014)
RANKINGS = ("probability", "frex", "lift", "relevance", "score")


def lift(model: Any, average: np.ndarray) -> np.ndarray:
    """p(word | topic) / p(word): rare words that have one topic come first.

    Parameters
    ----------
    model : fitted model, or (K, V) array
        The topics.
    average : (K,) array
        Topic shares of the average document.

    Returns
    -------
    (K, V) ndarray
        A number per topic and word.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.lift(topics, np.array([0.5, 0.5])).round(2).tolist()
    [[1.75, 1.0, 0.25], [0.25, 1.0, 1.75]]
    """
    components = components_of(model)
    mean = np.asarray(average, dtype=np.float64) @ components
    return np.divide(components, mean, out=np.zeros_like(components), where=mean > 0)


def relevance(model: Any, average: np.ndarray, weight: float = _RELEVANCE) -> np.ndarray:
    """weight log p(word | topic) + (1 - weight) log lift (Sievert and Shirley 2014).

    Parameters
    ----------
    model : fitted model, or (K, V) array
        The topics.
    average : (K,) array
        Topic shares of the average document.
    weight : float
        Weight of the probability against the lift.

    Returns
    -------
    (K, V) ndarray
        A number per topic and word.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.relevance(topics, np.array([0.5, 0.5])).argmax(axis=1).tolist()
    [0, 2]
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"weight: got {weight!r}, expected a number between 0 and 1")
    logs = np.log(np.maximum(components_of(model), 1e-300))
    return weight * logs + (1.0 - weight) * np.log(np.maximum(lift(model, average), 1e-300))


def word_score(model: Any) -> np.ndarray:
    """p(word | topic) (log p(word | topic) - mean over topics of log p(word | topic)), as R's lda and stm have it.

    Parameters
    ----------
    model : fitted model, or (K, V) array
        The topics.

    Returns
    -------
    (K, V) ndarray
        A number per topic and word.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.word_score(topics).argmax(axis=1).tolist()
    [0, 2]
    """
    components = components_of(model)
    logs = np.log(np.maximum(components, 1e-300))
    return components * (logs - logs.mean(axis=0))


def ranking(model: Any, by: str, average: np.ndarray) -> np.ndarray:
    """(K, V) values by which words are put in order; by : one of `RANKINGS`."""
    if by == "probability":
        return components_of(model)
    if by == "frex":
        return frex(model, _FREX)
    if by == "score":
        return word_score(model)
    if by in ("lift", "relevance"):
        return lift(model, average) if by == "lift" else relevance(model, average)
    raise ValueError(f"by: got {by!r}, expected one of {', '.join(map(repr, RANKINGS))}")
