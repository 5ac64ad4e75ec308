"""Plots of the deviations of SAGE models: diverging bars per component, and variation by word frequency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

_MORE, _LESS, _GREY = "#1b6ca8", "#c0392b", "#6b6b6b"
_INKS = ("#1b6ca8", "#e08e0b", "#3b8b5a", "#8e5ea2")
_MOST_PANELS = 12


def plot_deviations(model: Any, topic: int | None = None, n: int = 8) -> Any:
    """Plot a panel of bars for the background and for each component, with the words it makes more or less probable.

    Parameters
    ----------
    model : SAGEClassifier, SAGETopics, FacetedSAGE or GeoSAGE
        Fitted.
    topic : int, optional
        FacetedSAGE and GeoSAGE: the topic to show, with its interactions; the largest by default. Other models: the
        topic or class to show; by default the first twelve.
    n : int
        Number of words per panel; those whose probability changes most are shown.
    """
    check_is_fitted(model, "_state")
    plt = _pyplot()
    panels = _panels(model, topic)
    words, background = model._words(), np.asarray(model.background_)
    columns = min(4, len(panels) + 1)
    rows = -(-(len(panels) + 1) // columns)
    size = (3.0 * columns, (0.24 * n + 0.75) * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    flat = list(axes.ravel())
    top = np.argsort(-background, kind="stable")[:n]
    _bars(flat[0], "background (probability)", words[top], np.exp(background[top]), _GREY)
    for axis, (title, eta) in zip(flat[1:], panels, strict=False):
        chosen = _most_changed(eta, background, n)
        color = [_MORE if value > 0 else _LESS for value in eta[chosen]]
        _bars(axis, title, words[chosen], eta[chosen], color)
    for axis in flat[len(panels) + 1 :]:
        axis.set_visible(False)
    return figure


def plot_variation(models: Mapping[str, Any], X: Any, n_bins: int = 10) -> Any:
    """Plot bars of `variation_by_decile`, one colour per model (the paper's figure 4)."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(6.2, 3.2), layout="constrained")
    width = 0.8 / len(models)
    for i, (name, model) in enumerate(models.items()):
        found = variation_by_decile(model, X, n_bins)
        place = found.index.to_numpy() + (i - (len(models) - 1) / 2) * width
        axis.bar(place, found.to_numpy(), width, label=name, color=_INKS[i % len(_INKS)])
    axis.set_xticks(range(1, n_bins + 1))
    axis.set_xlabel("parts of the vocabulary, from rare to frequent words", fontsize=8, color=_GREY)
    axis.set_title("Share of all variation between topics", loc="left", fontsize=10)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    return figure


def variation_by_decile(model: Any, X: Any, n_bins: int = 10) -> pd.Series:
    """Sum of |deviation| over topics and words, by frequency bin of the words, as shares of the total.

    For SAGE the deviations are eta; for other models they are log p(word | topic) minus its mean over the topics.

    Parameters
    ----------
    model : a fitted estimator
    X : documents, over the vocabulary of the model
        The documents give the word frequencies. The first bin has the rarest tenth of the vocabulary, and the last bin
        has the most frequent tenth.
    """
    if not isinstance(n_bins, int) or isinstance(n_bins, bool) or n_bins < 1:
        raise ValueError(f"n_bins: got {n_bins!r}, expected a whole number >= 1")
    check_is_fitted(model, "_state")
    frequency = np.asarray(model._as_corpus(X).counts.sum(axis=0)).ravel()
    variation = np.abs(_topic_deviations(model)).sum(axis=0)
    bins = np.empty(len(frequency), dtype=int)
    bins[np.argsort(frequency, kind="stable")] = np.arange(len(frequency)) * n_bins // len(frequency)
    shares = np.bincount(bins, weights=variation, minlength=n_bins) / max(variation.sum(), 1e-300)
    return pd.Series(shares, index=pd.RangeIndex(1, n_bins + 1, name="decile" if n_bins == 10 else "bin"))


def _topic_deviations(model: Any) -> np.ndarray:
    """Return the (K, V) deviations of the topics."""
    found = getattr(model, "deviations_", None)
    if isinstance(found, dict):
        return found["topic"].sparse.to_coo().toarray().T
    if found is not None:
        return found.toarray()
    logs = np.log(np.maximum(model.components_.astype(np.float64), 1e-30))
    return logs - logs.mean(axis=0)


def _panels(model: Any, topic: int | None) -> list[tuple[str, np.ndarray]]:
    """Return (title, deviations (V,)) of the components to show."""
    found = getattr(model, "deviations_", None)
    if found is None:
        raise ValueError(f"model: got {type(model).__name__}, expected a SAGE model, which has deviations")
    n_topics = found["topic"].shape[1] if isinstance(found, dict) else found.shape[0]
    if topic is not None and (isinstance(topic, bool) or not 0 <= topic < n_topics):
        raise ValueError(f"topic: got {topic!r}, expected a whole number from 0 to {n_topics - 1}")
    if sp.issparse(found):
        names = [f"topic {k}" for k in range(n_topics)]
        names = [str(label) for label in model.classes_] if hasattr(model, "classes_") else names
        shown = range(min(n_topics, _MOST_PANELS)) if topic is None else [topic]
        return [(names[k], found[[k]].toarray().ravel()) for k in shown]
    topic = int(model.doc_topic_.mean(axis=0).argmax()) if topic is None else topic
    panels = []
    for part, frame in found.items():
        eta = frame.sparse.to_coo().tocsc()
        for j, component in enumerate(frame.columns):
            values = component if isinstance(component, tuple) else (component,)
            factors = part.split(" × ")
            if "topic" in factors and values[factors.index("topic")] != topic:
                continue
            title = " × ".join(f"{f} {v}" if f in ("topic", "region") else str(v) for f, v in zip(factors, values,
                               strict=True))  # fmt: skip
            panels.append((title, eta[:, [j]].toarray().ravel()))
    return panels[:_MOST_PANELS]


def _most_changed(eta: np.ndarray, background: np.ndarray, n: int) -> np.ndarray:
    """Return up to n words with the largest change in probability, from the largest gain to the largest loss."""
    change = np.exp(background) * np.expm1(eta)
    order = np.argsort(-np.abs(change), kind="stable")[:n]
    order = order[eta[order] != 0]
    return order[np.argsort(-eta[order], kind="stable")]


def _bars(axis: Any, title: str, words: np.ndarray, values: np.ndarray, color: Any) -> None:
    """Draw horizontal bars, the first on top, each labelled with its word."""
    place = np.arange(len(words))[::-1]
    axis.barh(place, values, color=color, height=0.7)
    axis.axvline(0, color=_GREY, linewidth=0.8)
    axis.set_yticks(place, [str(word) for word in words])
    axis.set_title(title, loc="left", fontsize=10)
    axis.locator_params(axis="x", nbins=4)
    axis.tick_params(labelsize=8, length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ValueError("plots need matplotlib: pip install 'supertopic[plots]'") from error
    return plt
