"""A map of the topics, near each other where their words are alike; documents among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.estimators.shared.coefficient_table import CoefficientTable, coefficients_of
from supertopic.explore.plots import style
from supertopic.explore.plots.class_profiles import groups
from supertopic.explore.plots.labels import place_labels
from supertopic.explore.words import topic_words
from supertopic.metrics import topic_distance

_MOST_DOCUMENTS = 5000  # that are drawn
_MOST_CLASSES = 8  # that have a colour of their own
_LEAST = 4.5  # points of a radius that has room for a number
_BINS = 5  # of a numeric y


def plot_map(model: Any, X: Any = None, y: Any = None, *, n: int = 2, target: Any = None, ax: Any = None) -> Any:
    """Draw topics as circles on a plane, near each other where their words are alike; with y, documents among them.

    Places are those of classical scaling of Hellinger distances between topics. A plane cannot keep all distances: near
    topics may be drawn far apart, and the title says how much of the squared distances is kept. The area of a circle is
    the topic's share. Its colour is that of its coefficient, from orange (negative) to blue, or of the class with its
    largest one. A document is drawn at the mean of the topics' places, weighted by its shares.

    Parameters
    ----------
    model : a fitted model
    X : documents, optional
        Those to be drawn; with y alone, the training documents are.
    y : (D,) labels or numbers, optional
        Colours of the documents.
    n : int
        Words at most beside a topic.
    target : class or response, optional
        The column of coefficients that gives the topics' colours.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "map")
    words, table = topic_words(model, n), coefficients_of(model)
    shares, (places, kept) = model._average_shares(), scaled_distances(model.components_)
    documents = None if X is None and y is None else style.shares_of(model, X, "plot_map")
    values = None if y is None or documents is None else style.labels_of(y, len(documents))
    ax = style.new_sheet(ax, 3.0, top=0.24, bottom=0.3 if values is not None else 0.06)
    points = _frame(ax, places, shares)
    if documents is not None:
        _documents(ax, documents @ places, values)
    circles = ax.scatter(*places.T, s=(2 * _radius(shares)) ** 2, c=_colours(model, table, target),
                         edgecolors=style.INK, linewidths=0.5, zorder=3)  # fmt: skip
    _number(ax, points, places, shares, circles.get_facecolors())
    if ax.get_legend_handles_labels()[1]:
        _legend(ax)
    names = [
        label or " ".join(style.shown(word, 14) for word in words[k]) for k, label in enumerate(style.named(model))
    ]
    texts = [f"{k} {name}" for k, name in enumerate(names)]
    place_labels(ax, points, texts, _radius(shares) + 1.5)
    ax.set_title(f"{100 * kept:.0f} % of squared distances kept", fontsize=style.SMALL, color=style.GREY, loc="left")
    return ax


def scaled_distances(components: np.ndarray) -> tuple[np.ndarray, float]:
    """(K, 2) places by classical scaling of Hellinger distances, and the share of squared distances they keep."""
    distance = topic_distance(np.asarray(components), np.asarray(components))
    n = len(distance)
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ (distance**2) @ centre)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(n)] < 0, -1.0, 1.0)
    places = np.zeros((n, 2))
    width = min(2, n)
    places[:, :width] = vectors[:, :width] * np.sqrt(values[:width])
    return places, float(values[:2].sum() / max(values.sum(), 1e-300))


def _radius(shares: np.ndarray) -> np.ndarray:
    """(K,) of the circles, in points."""
    return 2.0 + 6.0 * np.sqrt(shares / max(shares.max(), 1e-300))


def _frame(ax: Any, places: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Limits with equal units on both axes, and the places in points from the lower left corner."""
    width, height = style.size_in_points(ax)
    edge = 16.0  # points free on every side
    low, high = places.min(axis=0), places.max(axis=0)
    per_point = max((high[0] - low[0]) / (width - 2 * edge), (high[1] - low[1]) / (height - 2 * edge), 1e-9)
    corner = (low + high) / 2 - np.array([width, height]) / 2 * per_point
    ax.set(xlim=(corner[0], corner[0] + width * per_point), ylim=(corner[1], corner[1] + height * per_point))
    ax.set(xticks=[], yticks=[])
    style.bare(ax, "left", "right", "top", "bottom")
    for spine in ax.spines.values():
        spine.set_color(style.LIGHT)
    return (places - corner) / per_point


def _colours(model: Any, table: CoefficientTable | None, target: Any) -> Any:
    """Colours of the topics: by coefficient, by the class with the largest one, or grey."""
    if table is None:
        return style.LIGHT
    if target is not None or len(table.names) == 1:
        from matplotlib.colors import LinearSegmentedColormap

        coef = table.coef[table.column(target)]
        ramp = LinearSegmentedColormap.from_list("coef", [style.LESS, "white", style.MORE])
        return ramp(0.5 + 0.5 * coef / max(float(np.abs(coef).max()), 1e-300))
    if isinstance(getattr(model, "classes_", None), np.ndarray) and len(table.names) <= _MOST_CLASSES:
        return [style.COLOURS[c] for c in table.coef.argmax(axis=0)]
    return style.LIGHT


def _number(ax: Any, points: np.ndarray, places: np.ndarray, shares: np.ndarray, colours: np.ndarray) -> None:
    """The topic's number in each circle that is large enough and is not covered by another one."""
    colours = np.broadcast_to(colours, (len(points), 4))
    for k, (point, place) in enumerate(zip(points, places, strict=True)):
        apart = np.delete(np.linalg.norm(points - point, axis=1), k).min(initial=np.inf)
        if _radius(shares)[k] >= _LEAST and apart >= 2 * _LEAST:
            dark = colours[k, :3] @ [0.3, 0.59, 0.11] < 0.6
            ax.text(
                *place, str(k), fontsize=5, color="white" if dark else style.INK, ha="center", va="center", zorder=5
            )


def _documents(ax: Any, places: np.ndarray, values: np.ndarray | None) -> None:
    """Small dots, coloured by y: a colour for each class, or from low to high."""
    shown = np.arange(len(places)) if len(places) <= _MOST_DOCUMENTS else _some(len(places))
    if values is None:
        ax.scatter(*places[shown].T, s=2, color=style.LIGHT, linewidths=0, zorder=1, rasterized=True)
        return
    names, member = groups(values, _BINS)
    from matplotlib import colormaps

    numeric = " to " in names[0] or len(names) > _MOST_CLASSES
    for c, name in enumerate(names):
        rows = shown[member[shown] == c]
        colour = colormaps["viridis"](0.05 + 0.9 * c / max(len(names) - 1, 1)) if numeric else style.COLOURS[c]
        ax.scatter(*places[rows].T, s=3, color=colour, alpha=0.6, linewidths=0, zorder=1, rasterized=True, label=name)


def _legend(ax: Any) -> None:
    n_names = len(ax.get_legend_handles_labels()[1])
    ax.legend(frameon=False, fontsize=style.SMALL - 0.5, loc="upper left", bbox_to_anchor=(0, 0), ncols=min(n_names, 5),
              handletextpad=0.1, columnspacing=0.6, markerscale=2.0, borderaxespad=0.2)  # fmt: skip


def _some(n_documents: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).choice(n_documents, _MOST_DOCUMENTS, replace=False))
