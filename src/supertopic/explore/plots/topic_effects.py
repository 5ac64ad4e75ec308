"""What goes with topics: intervals of differences, and mean shares along a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.dates import day_of
from supertopic.explore.plots import style
from supertopic.fitted.topic_effects import TopicCurves, TopicEffects

_ROW, _PANEL = 0.14, 1.25  # inches
_MOST_TERMS = 4
_MOST_PANELS = 24


def plot_topic_effects(
    effects: TopicEffects, *, term: str | None = None, probability: float = 0.9, ax: Any = None
) -> Any:
    """Draw a row per topic, the largest estimate first, with an interval for each term, in percentage points.

    Parameters
    ----------
    effects : what `estimate_effect` or its `contrast` returns
    term : str, optional
        Draw this term alone. By default all but the pieces of splines, of which there may be four.
    probability : float
        Of the intervals.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    _require(effects, TopicEffects, "effects", "what estimate_effect returns")
    places = _terms(effects, term)
    found = effects.found()
    estimate, (lower, upper) = 100 * found.estimate, (100 * end for end in found.ends(probability))
    order = np.argsort(np.nan_to_num(estimate[places[0]]), kind="stable")
    n = len(order)
    ax = style.new_axes(ax, _ROW * n * (1 if len(places) == 1 else 0.6 + 0.4 * len(places)) + 0.75, style.COLUMN)
    ax.axvline(0, color=style.GREY, linewidth=0.6, zorder=0)
    for number, place in enumerate(places):
        y = np.arange(n) + 0.18 * ((len(places) - 1) / 2 - number)
        colour, mark = style.COLOURS[number % len(style.COLOURS)], style.MARKERS[number % len(style.MARKERS)]
        sure = (lower[place, order] > 0) | (upper[place, order] < 0)
        shades = [colour if one else style.GREY for one in sure] if len(places) == 1 else [colour] * n
        ax.hlines(y, lower[place, order], upper[place, order], colors=shades, linewidth=1.0)
        ax.scatter(estimate[place, order], y, c=shades, marker=mark, s=9, zorder=3, label=effects.terms[place])
    ax.set_yticks(np.arange(n), [style.shown(effects.labels[m], 30) for m in order])
    ax.set_ylim(-0.6, n - 0.4)
    title = style.shown(effects.terms[places[0]], 60) if len(places) == 1 else ""
    style.finish(ax, "percentage points of a document's share", "", title)
    if len(places) > 1:
        ax.legend(fontsize=style.SMALL, frameon=False, loc="lower right")
    return ax


def plot_topic_curves(curves: TopicCurves, *, probability: float = 0.9, ax: Any = None) -> np.ndarray:
    """Draw a panel for each topic: mean shares along a column, in percent, with bands.

    Parameters
    ----------
    curves : what `curve` of `estimate_effect` returns
    probability : float
        Of the bands.
    ax : array of as many matplotlib Axes as topics, optional

    Returns
    -------
    array of Axes
    """
    _require(curves, TopicCurves, "curves", "what curve() returns")
    labels = curves.effects.labels
    if len(labels) > _MOST_PANELS:
        raise ValueError(f"curves: got {len(labels)} topics, expected at most {_MOST_PANELS}: choose some by topics=")
    panels = _panels(ax, len(labels))
    shares = curves.shares(probability)
    for m, panel in enumerate(panels):
        for g, name in enumerate(curves.group_names):
            rows = curves.group == g
            _curve(panel, curves, g, name, *(100 * one[rows, m] for one in shares))
        _along(panel, curves)
        style.finish(panel, curves.column if m == len(panels) - 1 else "", "percent", style.shown(labels[m], 40))
    if curves.by is not None:
        panels[0].legend(fontsize=style.SMALL, frameon=False)
    return np.array(panels, dtype=object)


def _curve(
    ax: Any, curves: TopicCurves, group: int, name: str, share: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> None:
    colour, x = style.COLOURS[group % len(style.COLOURS)], curves.at[curves.group == group]
    if curves.levels is not None:
        x = x + 0.12 * (group - (len(curves.group_names) - 1) / 2)
        reach = np.stack([share - lower, upper - share])
        ax.errorbar(x, share, reach, fmt=style.MARKERS[group % len(style.MARKERS)], color=colour, markersize=3,
                    elinewidth=0.8, label=style.shown(name))  # fmt: skip
        return
    ax.fill_between(x, lower, upper, color=colour, alpha=0.15, linewidth=0)
    ax.plot(x, share, color=colour, linewidth=1.0, linestyle=("-", "--", ":", "-.")[group % 4], label=style.shown(name))


def _along(ax: Any, curves: TopicCurves) -> None:
    if curves.levels is not None:
        ax.set_xticks(np.arange(len(curves.levels)), style.all_shown(curves.levels, 14))
    elif curves.column in curves.effects.design.dates:
        ax.locator_params(axis="x", nbins=5)
        ax.xaxis.set_major_formatter(lambda year, _: _date(year, float(np.ptp(curves.at))))


def _date(year: float, span: float) -> str:
    return day_of(year)[: 4 if span > 8 else 7 if span > 0.4 else 10]


def _panels(ax: Any, n: int) -> list[Any]:
    if ax is None:
        size = (style.COLUMN, _PANEL * n + 0.35)
        axes = style.pyplot().subplots(n, 1, figsize=size, layout="constrained", squeeze=False)[1]
        return list(axes[:, 0])
    given = list(np.asarray(ax, dtype=object).ravel())
    if len(given) != n:
        raise TypeError(f"ax: got {len(given)} Axes, expected {n}, one for each topic")
    return given


def _terms(effects: TopicEffects, term: str | None) -> list[int]:
    """The places of the terms that are drawn."""
    if term is not None:
        if term not in effects.terms:
            raise ValueError(f"term: got {term!r}, expected one of {', '.join(map(repr, effects.terms))}")
        return [effects.terms.index(term)]
    places = [place for place, one in enumerate(effects.terms) if "spline(" not in one]
    if not 1 <= len(places) <= _MOST_TERMS:
        known = ", ".join(repr(effects.terms[place]) for place in places)
        which = f"got none, expected one of {known}" if known else "there is none without a spline"
        raise ValueError(f"term: {which}; or ask for a contrast, or a curve along a column")
    return places


def _require(given: object, kind: type, name: str, expected: str) -> None:
    if not isinstance(given, kind):
        raise TypeError(f"{name}: got {type(given).__name__}, expected {expected}")
