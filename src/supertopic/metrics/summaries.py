"""Metrics without a likelihood: diversity, exclusivity, entropy, predictive R², distance and stability of topics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy
from scipy.stats import rankdata

from supertopic.html_tables import number, table_html


class Alignment(NamedTuple):
    """``components_b[order]`` matches ``components_a``; ``distance`` is the Hellinger distance of each pair."""

    order: np.ndarray
    distance: np.ndarray

    def _repr_html_(self) -> str:
        rows = range(len(self.order))
        columns = {"topic of a": [number(k) for k in rows], "topic of b": [number(k) for k in self.order]}
        return table_html({**columns, "Hellinger distance": [number(value) for value in self.distance]})


def components_of(model: Any) -> np.ndarray:
    """The (K, V) topics of a fitted model, or the given array itself."""
    if not isinstance(model, np.ndarray) and not hasattr(model, "components_"):
        raise ValueError(f"model must be fitted or a (topics, words) array; {type(model).__name__} has no components_.")
    components = np.asarray(getattr(model, "components_", model), dtype=np.float64)
    if components.ndim != 2 or 0 in components.shape:
        raise ValueError(f"the topics must be a (topics, words) array, got shape {components.shape}.")
    if not np.all(np.isfinite(components)) or components.min() < 0:
        raise ValueError("the topics must hold probabilities; they have NaN, infinite or negative entries.")
    return components


def _over_all_words(models: Sequence[Any]) -> list[np.ndarray]:
    """The topics over the words of all models; one that a model does not know has probability zero there.

    Where an array tells no words, columns are taken for the same words.
    """
    topics = [components_of(model) for model in models]
    names = [np.asarray(model.feature_names_in_, dtype=str) for model in models if hasattr(model, "feature_names_in_")]
    if len(names) == len(models) and not all(np.array_equal(own, names[0]) for own in names):
        if not set.intersection(*map(set, names)):
            raise ValueError("the models have no word in common, so that their topics cannot be compared.")
        _, places = np.unique(np.concatenate(names), return_inverse=True)
        ends = np.cumsum([len(own) for own in names])[:-1]
        found = [np.zeros((len(own), places.max() + 1)) for own in topics]
        for wide, own, columns in zip(found, topics, np.split(places, ends), strict=True):
            wide[:, columns] = own
        return found
    if len({own.shape[1] for own in topics}) > 1:
        sizes = " and ".join(str(own.shape[1]) for own in topics)
        raise ValueError(f"the topics must be over the same words, got {sizes}.")
    return topics


def top_word_ids(components: np.ndarray, top_n: int) -> np.ndarray:
    """The (K, top_n) most probable words of each topic, most probable first; ties go to the earlier word."""
    if isinstance(top_n, bool) or int(top_n) != top_n or not 1 <= top_n <= components.shape[1]:
        raise ValueError(f"top_n must be a whole number from 1 to the {components.shape[1]} words, got {top_n!r}.")
    return np.argsort(-components, axis=1, kind="stable")[:, : int(top_n)]


def topic_diversity(model: Any, top_n: int = 25) -> float:
    """|union of the top words| / (K top_n): 1 when no two topics share a top word (Dieng et al. 2020).

    Parameters
    ----------
    model : fitted model, or (K, V) array
        The topics.
    top_n : int
        Words of each topic.

    Returns
    -------
    float
        From 1/K to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.topic_diversity(topics, top_n=1)
    1.0
    """
    top = top_word_ids(components_of(model), top_n)
    return len(np.unique(top)) / top.size


def exclusivity(model: Any, top_n: int = 10, frequency_weight: float = 0.3) -> np.ndarray:
    """Per topic, the mean over its top words of FREX = 1 / [ (1 - a) / F_k(excl) + a / F_k(freq) ].

    freq is p(word | topic), excl its share among the topics, F_k the empirical distribution function over the
    words of topic k and a the ``frequency_weight`` (Bischof and Airoldi 2012). R's stm reports the sum
    instead of the mean.

    Parameters
    ----------
    model : fitted model, or (K, V) array
        The topics.
    top_n : int
        Words of each topic.
    frequency_weight : float
        a, the weight of frequency against exclusivity.

    Returns
    -------
    (K,) ndarray
        A number per topic.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.exclusivity(topics, top_n=1).tolist()
    [1.0, 1.0]
    """
    scores = frex(model, frequency_weight)
    return np.take_along_axis(scores, top_word_ids(components_of(model), top_n), axis=1).mean(axis=1)


def frex(model: Any, frequency_weight: float = 0.3) -> np.ndarray:
    """FREX of every word in every topic (K, V), as in `exclusivity`: high for words both frequent and exclusive.

    Parameters
    ----------
    model : fitted model, or (K, V) array
        The topics.
    frequency_weight : float
        a, the weight of frequency against exclusivity.

    Returns
    -------
    (K, V) ndarray
        A number per topic and word.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.frex(topics).argmax(axis=1).tolist()
    [0, 2]
    """
    if not 0 <= frequency_weight <= 1:
        raise ValueError(f"frequency_weight must lie between 0 and 1, got {frequency_weight!r}.")
    components = components_of(model)
    mass = components.sum(axis=0)
    share = components / np.where(mass > 0, mass, 1.0)
    n_words = components.shape[1]
    exclusive, frequent = (rankdata(x, method="max", axis=1) / n_words for x in (share, components))
    return 1.0 / ((1.0 - frequency_weight) / exclusive + frequency_weight / frequent)


def doc_topic_entropy(doc_topic: Any, X: object = None) -> float:
    """- mean_d sum_k theta_dk log theta_dk, in nats: 0 for one topic per document, log K for even shares.

    Parameters
    ----------
    doc_topic : array (D, K), or a fitted model
        Topic shares of documents.
    X : documents, only with a model
        Without it the model's ``doc_topic_`` of the training documents is used.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    >>> round(metrics.doc_topic_entropy(shares), 2)
    0.51
    """
    if hasattr(doc_topic, "components_"):
        doc_topic = doc_topic.doc_topic_ if X is None else doc_topic.transform(X)
    theta = np.asarray(doc_topic, dtype=np.float64)
    if theta.ndim != 2 or 0 in theta.shape:
        raise ValueError(f"doc_topic must be a (documents, topics) array, got shape {theta.shape}.")
    if not np.all(np.isfinite(theta)) or theta.min() < 0 or np.abs(theta.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError("doc_topic must hold probabilities: finite, not negative, rows that sum to 1.")
    return float(-xlogy(theta, theta).sum(axis=1).mean())


def predictive_r2(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    """1 - sum (y - yhat)^2 / sum (y - ybar)^2, ybar the mean of ``y_true`` (predictive R² of the sLDA paper).

    The mean is taken over the predicted documents, not the training documents. R² is negative if the predictions
    are worse than this constant. All three sums, that of the mean included, are weighted by ``sample_weight``.

    Parameters
    ----------
    y_true : (D,) array-like
        The labels.
    y_pred : (D,) array-like
        The predictions.
    sample_weight : (D,) array-like, optional
        Weights of the documents.

    Returns
    -------
    float
        1 at most.

    Examples
    --------
    >>> from supertopic import metrics
    >>> metrics.predictive_r2([1.0, 2.0, 3.0], [1.0, 2.0, 2.0])
    0.5
    """
    y_true, y_pred = (np.asarray(y, dtype=np.float64).ravel() for y in (y_true, y_pred))
    if y_true.shape != y_pred.shape or len(y_true) == 0:
        raise ValueError(
            f"y_true and y_pred must have the same length, at least 1, got {len(y_true)} and {len(y_pred)}."
        )
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        if not np.all(np.isfinite(y)):
            raise ValueError(f"{name} must be finite, got {np.sum(~np.isfinite(y))} NaN or infinite entries; "
                             "leave out the documents without a response.")  # fmt: skip
    weight = np.ones(len(y_true)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if not weight.any():
        raise ValueError("sample_weight: got zero for every document, expected a weight above zero for some")
    spread = np.sum(weight * (y_true - np.average(y_true, weights=weight)) ** 2)
    if spread == 0:
        raise ValueError("y_true is constant, so there is no variance to predict and R² is not defined.")
    return float(1.0 - np.sum(weight * (y_true - y_pred) ** 2) / spread)


def topic_distance(components_a: Any, components_b: Any) -> np.ndarray:
    """Hellinger distance sqrt(1 - sum_v sqrt(a_kv b_lv)) of every topic k of a to every topic l of b.

    Parameters
    ----------
    components_a : fitted model, or (K, V) array
        Topics; models may have other words, arrays are over the same ones.
    components_b : fitted model, or (L, V) array
        Others.

    Returns
    -------
    (K, L) ndarray
        From 0, the same topic, to 1, no word in common.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.topic_distance(topics, topics[::-1]).round(2).tolist()
    [[0.52, 0.0], [0.0, 0.52]]
    """
    a, b = _over_all_words([components_a, components_b])
    a, b = (np.sqrt(x / x.sum(axis=1, keepdims=True)) for x in (a, b))
    return np.sqrt(np.clip(1.0 - a @ b.T, 0.0, 1.0))


def align_topics(components_a: Any, components_b: Any) -> Alignment:
    """The one-to-one matching of topics with the least total Hellinger distance (Hungarian algorithm).

    ``components_b`` may have more topics than ``components_a``, not fewer. Of models with other words, a word that
    one does not know has probability zero there. ``new.reorder_topics(align_topics(old, new).order)`` gives topics of
    a model the numbers that they had in another; ``new.compare(old)`` says what came, went and moved.

    Parameters
    ----------
    components_a : fitted model, or (K, V) array
        Topics; arrays are over the same words.
    components_b : fitted model, or (L, V) array
        Others.

    Returns
    -------
    Alignment
        ``order``: for each topic of a, its like in b; ``distance`` between the two.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.align_topics(topics, topics[::-1]).order.tolist()
    [1, 0]
    """
    distance = topic_distance(components_a, components_b)
    if distance.shape[0] > distance.shape[1]:
        raise ValueError(f"components_b must have no fewer topics than components_a ({distance.shape[0]}), "
                         f"got {distance.shape[1]}; swap them.")  # fmt: skip
    rows, order = linear_sum_assignment(distance)
    return Alignment(order, distance[rows, order])


def stability(models: Sequence[Any]) -> np.ndarray:
    """mean_k cos(a_k, b_match(k)) for every pair of models, with the one-to-one matching that maximises this mean.

    It is 1 if the models have the same topics, and near 0 if they have no topics in common.

    Parameters
    ----------
    models : list of fitted models or (K, V) arrays
        Two or more, with the same number of topics; usually fits that differ in their seed.

    Returns
    -------
    array (n_models (n_models - 1) / 2,)
        One value per pair; the mean over pairs is the stability of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from supertopic import metrics
    >>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    >>> metrics.stability([topics, topics[::-1]]).round(2).tolist()
    [1.0]
    """
    if len(models) < 2:
        raise ValueError(f"models must be two or more to be compared, got {len(models)}.")
    topics = _over_all_words(models)
    if len({len(each) for each in topics}) > 1:
        raise ValueError(f"the models must have as many topics, got {', '.join(str(len(each)) for each in topics)}.")
    units = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in topics]
    figures = []
    for a, b in combinations(units, 2):
        cosine = a @ b.T
        figures.append(cosine[linear_sum_assignment(cosine, maximize=True)].mean())
    return np.array(figures)
