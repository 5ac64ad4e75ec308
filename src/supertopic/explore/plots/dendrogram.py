"""Which topics go together in documents, as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.estimators.shared.results.topic_info import topic_names
from supertopic.explore.plots import style
from supertopic.metrics.likeness import topic_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_ROW = 0.14  # inches


def plot_dendrogram(model: TopicEstimator, X: object = None, *, ax: Axes | None = None) -> Any:
    """Draw a tree of topics: those that go together in documents meet at a high correlation.

    Correlations are those of `model.topic_correlation`; two groups of topics meet at the mean over their pairs.

    Parameters
    ----------
    model : a fitted model with two topics at least
    X : documents, optional
        By default those of the fit.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    from scipy.cluster.hierarchy import dendrogram

    style.pyplot()  # says what is missing
    model = style.fitted(model, "dendrogram")
    correlation = model.topic_correlation(X).to_numpy()
    n_topics = len(correlation)
    if n_topics < 2:
        raise ValueError("model: got one topic, expected two at least that could go together")
    ax = style.new_axes(ax, _ROW * n_topics + 0.6, style.COLUMN)
    tree = dendrogram(topic_tree(correlation), no_plot=True)
    for across, along in zip(tree["icoord"], tree["dcoord"], strict=True):
        ax.plot(1.0 - np.array(along), (np.array(across) - 5.0) / 10.0, color=style.INK, linewidth=0.8)
    names = topic_names(model)
    ax.set_yticks(range(n_topics), [f"{k} {style.shown(names[k], 26)}" for k in tree["leaves"]])
    ax.yaxis.tick_right()
    ax.axvline(0, color=style.LIGHT, linewidth=0.6, zorder=0)
    ax.set_xlim(min(0.0, float(1.0 - np.max(tree["dcoord"]))) - 0.05, 1.0)
    ax.set_ylim(-0.6, n_topics - 0.4)
    style.finish(ax, "correlation of log-ratios", "", "")
    style.bare(ax, "bottom")
    return ax
