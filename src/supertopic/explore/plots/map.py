"""A map of the topics, near each other where their words are alike; documents among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.plots import style
from supertopic.explore.plots.class_profiles import groups as grouped
from supertopic.explore.plots.labels import place_labels
from supertopic.explore.words import topic_words
from supertopic.fitted.coefficients import CoefficientTable
from supertopic.metrics import topic_distance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_MOST_DOCUMENTS = 5000  # that are drawn
_MOST_CLASSES = 8  # that have a colour of their own
_LEAST = 4.5  # points of a radius that has room for a number
_LEGEND = 5.5  # points of its text
_BINS = 5  # of a numeric y


def plot_map(
    model: TopicEstimator,
    X: object = None,
    y: object = None,
    *,
    n: int = 2,
    target: object = None,
    ax: Axes | None = None,
) -> Any:
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
    style.pyplot()  # says what is missing
    model = style.fitted(model, "map")
    words, table = topic_words(model, n), getattr(model, "coefficients_", None)
    shares, (places, kept) = model.fitted_.average_shares, scaled_distances(model.components_)
    documents = None if X is None and y is None else style.shares_of(model, X, "plot_map")
    groups = None if y is None or documents is None else _groups(style.labels_of(y, len(documents)), y, table)
    colours = _colours(table, groups, target, isinstance(getattr(model, "classes_", None), np.ndarray))
    legend = colours.classes if groups is None else groups
    n_columns, n_rows = _legend_size([] if legend is None else legend.names)
    ax = style.new_sheet(ax, 3.0, top=0.24, bottom=0.06 + 0.125 * n_rows)
    points = _frame(ax, places)
    if documents is not None:
        _documents(ax, documents @ places, groups)
    x, height = places.T
    area = (2 * _radius(shares)) ** 2
    circles = ax.scatter(x, height, s=area, c=colours.topics, edgecolors=style.INK, linewidths=0.5, zorder=3)
    _number(ax, points, places, shares, np.asarray(circles.get_facecolor()))
    if legend is not None:
        _legend(ax, legend, n_columns)
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


def _frame(ax: Axes, places: np.ndarray) -> np.ndarray:
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


@dataclass(frozen=True)
class _Groups:
    """Classes or bins of documents, each with its colour."""

    names: list[str]
    colours: list[Any]
    member: np.ndarray  # (D,) the group of each document; -1 for none


@dataclass(frozen=True)
class _Colours:
    """The colours of the topics, and the classes that they stand for, where they do."""

    topics: Any
    classes: _Groups | None = None


def _groups(values: np.ndarray, y: object, table: CoefficientTable | None) -> _Groups:
    """The documents by y: the model's classes in the colours of their topics, other labels, or from low to high."""
    from matplotlib import colormaps

    order = style.categories_of(y)
    names, member = grouped(values, _BINS, order)
    known = [] if table is None else table.names
    if len(names) > _MOST_CLASSES or " to " in names[0] or order is not None:
        colours: list[Any] = [colormaps["viridis"](0.05 + 0.9 * c / max(len(names) - 1, 1)) for c in range(len(names))]
    elif set(names) <= set(known) and len(known) <= _MOST_CLASSES:
        colours = [style.COLOURS[known.index(name)] for name in names]
    else:
        colours = list(style.COLOURS[: len(names)])
    return _Groups(names, colours, member)


def _colours(table: CoefficientTable | None, groups: _Groups | None, target: object, classes: bool) -> _Colours:
    """By coefficient, by the class with the largest one, or grey where documents have the colours of other labels."""
    if table is None:
        return _Colours(style.LIGHT)
    if target is not None or len(table.names) == 1:
        from matplotlib.colors import LinearSegmentedColormap

        coef = table.coef[table.column(target)]
        ramp = LinearSegmentedColormap.from_list("coef", [style.LESS, "white", style.MORE])
        return _Colours(ramp(0.5 + 0.5 * coef / max(float(np.abs(coef).max()), 1e-300)))
    same = groups is None or set(groups.names) <= set(table.names)
    if not classes or not same or len(table.names) > _MOST_CLASSES:
        return _Colours(style.LIGHT)
    own = _Groups(table.names, list(style.COLOURS[: len(table.names)]), np.zeros(0))
    return _Colours([style.COLOURS[c] for c in table.coef.argmax(axis=0)], own)


def _number(ax: Axes, points: np.ndarray, places: np.ndarray, shares: np.ndarray, colours: np.ndarray) -> None:
    """The topic's number in each circle that is large enough and is not covered by another one."""
    colours = np.broadcast_to(colours, (len(points), 4))
    for k, (point, place) in enumerate(zip(points, places, strict=True)):
        apart = np.delete(np.linalg.norm(points - point, axis=1), k).min(initial=np.inf)
        if _radius(shares)[k] >= _LEAST and apart >= 2 * _LEAST:
            dark = colours[k, :3] @ [0.3, 0.59, 0.11] < 0.6
            ax.text(
                place[0],
                place[1],
                str(k),
                fontsize=5,
                color="white" if dark else style.INK,
                ha="center",
                va="center",
                zorder=5,
            )


def _documents(ax: Axes, places: np.ndarray, groups: _Groups | None) -> None:
    """Small dots, in the colours of their groups."""
    drawn = np.arange(len(places)) if len(places) <= _MOST_DOCUMENTS else _some(len(places))
    if groups is None:
        x, y = places[drawn].T
        ax.scatter(x, y, s=2, color=style.LIGHT, linewidths=0, zorder=1, rasterized=True)
        return
    for c, (name, colour) in enumerate(zip(groups.names, groups.colours, strict=True)):
        rows = drawn[groups.member[drawn] == c]
        x, y = places[rows].T
        ax.scatter(x, y, s=3, color=colour, alpha=0.6, linewidths=0, zorder=1, rasterized=True, label=name)


def _legend_size(names: list[str]) -> tuple[int, int]:
    """Columns and rows of a legend below the map."""
    if not names:
        return 0, 0
    widest = max(style.text_width(name, _LEGEND) for name in style.all_shown(names, 16)) + 16
    n_columns = max(1, min(len(names), int(72 * style.COLUMN // widest)))
    return n_columns, -(-len(names) // n_columns)


def _legend(ax: Axes, groups: _Groups, n_columns: int) -> None:
    from matplotlib.lines import Line2D

    dots = [Line2D([], [], marker="o", markersize=3.5, markeredgewidth=0, linestyle="none", color=colour)
            for colour in groups.colours]  # fmt: skip
    names = style.all_shown(groups.names, 16)
    ax.legend(dots, names, frameon=False, fontsize=_LEGEND, loc="upper left", bbox_to_anchor=(0, 0), ncols=n_columns,
              handletextpad=0.1, columnspacing=0.6, labelspacing=0.3, borderaxespad=0.2, handlelength=1.2)  # fmt: skip


def _some(n_documents: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).choice(n_documents, _MOST_DOCUMENTS, replace=False))
