"""The mean topic shares of each class, or of documents with low, middle and high y."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.checks import check_whole
from supertopic.explore.plots import style
from supertopic.explore.words import topic_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_ROW = 0.135  # inches
_CELL = 26.0  # points


def plot_class_profiles(
    model: TopicEstimator, y: object, X: object = None, *, n: int = 10, n_bins: int = 5, ax: Axes | None = None
) -> Any:
    """Draw a row for each topic and a column for each class: the mean share of the topic, in percent.

    Rows stand in the order of the classes in which their share is most above its mean over the classes. A numeric y
    with many values is cut into bins of equally many documents.

    Parameters
    ----------
    model : a fitted model
    y : (D,) labels or numbers; documents whose y is missing (None or NaN) are left out
    X : documents, optional
        Those of y; by default the training documents.
    n : int
        Words at most beside a topic; as many as fit are shown.
    n_bins : int
        Columns of a numeric y.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "class_profiles")
    check_whole("n_bins", n_bins, least=2)
    words, shares = topic_words(model, n), style.shares_of(model, X, "plot_class_profiles")
    values = style.labels_of(y, len(shares))
    names, member = groups(values, n_bins, style.categories_of(y))
    means = np.array([shares[member == c].mean(axis=0) for c in range(len(names))])  # (C, K)
    above = means - means.mean(axis=0)
    order = np.lexsort((-above.max(axis=0), above.argmax(axis=0)))
    texts = style.all_shown(names, 18)
    longest = max(style.text_width(text, style.SMALL) for text in texts)
    width = style.print_width(1.3 + 0.7 * len(names) * _CELL / 72)
    ax = style.new_sheet(ax, _ROW * means.shape[1], width, top=0.1 + (0.72 * longest + 6) / 72, bottom=0.22)
    _cells(ax, means[:, order], texts)
    _labels(ax, words, style.named(model), order, len(names))
    return ax


def groups(values: np.ndarray, n_bins: int, order: list[str] | None = None) -> tuple[list[str], np.ndarray]:
    """Names of the classes or bins, and the one of each document; -1 where y is missing.

    order : of the classes, where they have one
    """
    known = np.array([value is not None for value in values])
    if not known.any():
        raise ValueError("y is missing for every document; expected some values")
    member = np.full(len(values), -1)
    if order is not None:
        names = [name for name in order if name in set(values[known].astype(str))]
        member[known] = [names.index(value) for value in values[known].astype(str)]
        return names, member
    numeric = all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in values[known])
    given = values[known].astype(np.float64) if numeric else values[known].astype(str)
    distinct, codes = np.unique(given, return_inverse=True)
    if not numeric or len(distinct) <= max(n_bins, 6):
        member[known] = codes
        return [style.number(v) if v % 1 else f"{v:.0f}" for v in distinct] if numeric else list(distinct), member
    edges = np.unique(np.quantile(given, np.linspace(0, 1, n_bins + 1)[1:-1]))
    member[known] = np.searchsorted(edges, given, side="left")
    member[known] = np.unique(member[known], return_inverse=True)[1]
    highest = [given[member[known] == c].max() for c in range(member.max() + 1)]
    lowest = [given[member[known] == c].min() for c in range(member.max() + 1)]
    return [f"{a:.3g} to {b:.3g}" for a, b in zip(lowest, highest, strict=True)], member


def _cells(ax: Axes, means: np.ndarray, names: list[str]) -> None:
    """Shaded cells with whole percents; x counts the classes, y the topics from below."""
    n_classes, n_topics = means.shape
    points, _ = style.size_in_points(ax)
    cell = min(_CELL, 0.62 * points / n_classes)
    ax.set(xlim=(-0.5, points / cell - 0.5), ylim=(-0.5, n_topics - 0.5))
    edges = np.arange(n_classes + 1) - 0.5, np.arange(n_topics + 1) - 0.5
    top = max(float(means.max()), 1e-12)
    ax.pcolormesh(*edges, means.T[::-1], cmap="Blues", vmin=0, vmax=1.15 * top, edgecolors="white", linewidth=0.6)
    size = style.row_size(ax, n_topics, style.SMALL)
    for c in range(n_classes):
        for row in range(n_topics):
            value = means[c, row]
            dark = value > 0.62 * top
            ax.text(c, n_topics - 1 - row, f"{100 * value:.0f}", ha="center", va="center", fontsize=size,
                    color="white" if dark else style.INK)  # fmt: skip
        ax.text(c, n_topics - 0.3, names[c], rotation=45, rotation_mode="anchor", fontsize=style.SMALL, color=style.INK)
    ax.set(xticks=[], yticks=[])
    style.bare(ax)
    ax.set_xlabel("mean share of a topic, in percent", fontsize=style.SMALL, color=style.INK, loc="left")


def _labels(ax: Axes, words: list[list[str]], labels: list[str], order: np.ndarray, n_classes: int) -> None:
    """The number and the words of each topic, to the right of the cells."""
    points, _ = style.size_in_points(ax)
    size = style.row_size(ax, len(order))
    unit = (ax.get_xlim()[1] + 0.5) / points
    beside = style.text_width(str(len(order) - 1), size) + 6
    edge = n_classes - 0.5
    room = points - n_classes / unit - beside - 4
    for place, topic in enumerate(order):
        row = len(order) - 1 - place
        ax.text(edge + (beside - 2) * unit, row, str(topic), fontsize=size, color=style.GREY, ha="right", va="center")
        label = f"{labels[topic]}: " if labels[topic] else ""
        line = style.fit_words(words[topic], room, size, start=label)
        ax.text(edge + (beside + 2) * unit, row, line, fontsize=size, color=style.INK, va="center")
