"""How much topics vary in rare and in frequent words: figure 4 of the SAGE paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from supertopic.checks import check_whole
from supertopic.explore.plots import style
from supertopic.explore.plots.deviations import deviations_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator


def plot_variation(models: Mapping[str, Any], X: object, n_bins: int = 10, *, ax: Axes | None = None) -> Any:
    """Plot bars of `variation_by_decile`, one colour per model (the paper's figure 4).

    Parameters
    ----------
    models : dict of fitted estimators by name, over one vocabulary
    X : documents
    n_bins : int
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    if not isinstance(models, Mapping) or not models:
        raise TypeError(f"models: got {type(models).__name__}, expected a dict of fitted models by name")
    heights = {name: variation_by_decile(model, X, n_bins) for name, model in models.items()}
    ax, width = style.new_axes(ax, 2.2), 0.8 / len(models)
    for i, (name, found) in enumerate(heights.items()):
        place = found.index.to_numpy() + (i - (len(models) - 1) / 2) * width
        colour = style.COLOURS[i % len(style.COLOURS)]
        ax.bar(place, found.to_numpy(), width, label=style.shown(name), color=colour)
    ax.set_xticks(range(1, n_bins + 1))
    ax.legend(frameon=False, fontsize=style.SMALL)
    return style.finish(ax, "parts of the vocabulary, from rare to frequent words", "share of all variation")


def variation_by_decile(model: TopicEstimator, X: object, n_bins: int = 10) -> pd.Series:
    """Sum of |deviation| over topics and words, by frequency bin of the words, as shares of the total.

    For SAGE the deviations are eta; for other models they are log p(word | topic) minus its mean over the topics.

    Parameters
    ----------
    model : a fitted estimator
    X : documents, over the vocabulary of the model
        The documents give the word frequencies. The first bin has the rarest tenth of the vocabulary, and the last bin
        has the most frequent tenth.
    """
    check_whole("n_bins", n_bins)
    model = style.fitted(model, "variation")
    frequency = np.asarray(model.fitted_.corpus(X).counts.sum(axis=0)).ravel()
    variation = np.abs(_topic_deviations(model)).sum(axis=0)
    bins = np.empty(len(frequency), dtype=int)
    bins[np.argsort(frequency, kind="stable")] = np.arange(len(frequency)) * n_bins // len(frequency)
    shares = np.bincount(bins, weights=variation, minlength=n_bins) / max(variation.sum(), 1e-300)
    return pd.Series(shares, index=pd.RangeIndex(1, n_bins + 1, name="decile" if n_bins == 10 else "bin"))


def _topic_deviations(model: TopicEstimator) -> np.ndarray:
    """Return the (K, V) deviations of the topics."""
    found = deviations_of(model)
    if found is not None:
        return found
    logs = np.log(np.maximum(model.components_.astype(np.float64), 1e-30))
    return logs - logs.mean(axis=0)
