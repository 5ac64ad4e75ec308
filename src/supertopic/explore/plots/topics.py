"""Topics along their effects, with intervals and words, after figure 1 of the sLDA paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.plots import style
from supertopic.explore.words import topic_words
from supertopic.fitted.coefficients import CoefficientTable
from supertopic.fitted.effects import Range, kinds_of, topic_effects

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_ROW = 0.135  # inches
_NARROWEST = 19.0  # points of a lane
_NAME = 18  # characters of a class's name
_EDGE = 5.0  # points to the left of the lanes, so that the label of a tick is not cut
_FARTHEST = 3.0  # intervals are cut at so many times the largest coefficient


def plot_topics(
    model: TopicEstimator,
    *,
    target: object = None,
    n: int = 10,
    by: str = "probability",
    probability: float = 0.9,
    ax: Axes | None = None,
) -> Any:
    """Draw every topic at its effect (`model.effects`), with an interval, and its words beside it.

    A row is a topic, the largest effect first. The dot's area is the topic's share of the training documents. An
    interval that holds no change is grey; a ring is a topic whose coefficient is exactly zero. With several classes or
    responses, each has a lane, and topics stand in the order of the classes that they go with.

    Parameters
    ----------
    model : a fitted model with coefficients
    target : class or response, optional
        Draw this one alone.
    n : int
        Words at most beside a topic; as many as fit are shown.
    by : {"probability", "frex"}
        Which words: the most probable ones, or those both frequent and exclusive.
    probability : float
        Of the intervals.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "topics")
    table = getattr(model, "coefficients_", None)
    if table is None:
        who = type(model).__name__
        raise ValueError(
            f"model: got {who}, which has no coefficients (plot_words shows its words); expected one that has"
        )
    ends, table, rings = _effects(model, table, probability)
    words = topic_words(model, n, by)
    columns = [table.column(target)] if target is not None or len(table.names) == 1 else list(range(len(table.names)))
    several, n_topics = len(columns) > 1, table.coef.shape[1]
    width = style.print_width(1.8 + 1.12 * len(columns) * _NARROWEST / 72 if several else 0.0)
    names = style.all_shown([table.names[c] for c in columns], _NAME)
    longest = max(style.text_width(name, style.SMALL) for name in names)
    top = 0.08 + (0.72 * longest + 6) / 72 if several else 0.06
    ax = style.new_sheet(ax, _ROW * n_topics + 0.08, width, top=top, bottom=0.36)
    lanes, edge, unit = _lanes(ax, table, ends, columns, one_unit=_has_classes(model))
    rows = np.empty(n_topics)
    rows[table.order(columns)] = np.arange(n_topics)[::-1]
    for lane in lanes:
        _draw_lane(ax, lane, table, ends, rows, model.fitted_.average_shares, rings)
    _write_words(ax, words, style.named(model), rows, edge, unit)
    style.bare(ax, *([] if several else ["bottom"]))
    if several:
        _name_lanes(ax, lanes, names, n_topics)
    else:
        _mark_axis(ax, lanes[0].reach, kinds_of(model.fitted_)[columns[0]])
    meaning, edge = _meaning(model, table, columns), -lanes[0].reach
    centred = not several and style.text_width(meaning, style.SMALL) < 2 * lanes[0].reach / unit
    ax.text(lanes[0].zero if centred else edge, 0, meaning, ha="center" if centred else "left", va="top",
            fontsize=style.SMALL, color=style.INK, transform=_below(ax, 10 if several else 15))  # fmt: skip
    return ax


def _effects(
    model: TopicEstimator, table: CoefficientTable, probability: float
) -> tuple[np.ndarray | None, CoefficientTable, np.ndarray]:
    """Ends of intervals (2, C, K), a table of effects instead of coefficients, and (C, K) which of those are zero.

    Ratios are logarithms here.
    """
    fitted = model.fitted_
    found = topic_effects(fitted, table, Range.of(fitted, probability=probability))
    ratio = np.array(kinds_of(fitted)) == "ratio"
    effect, *ends = (
        np.where(ratio, np.log(np.where(ratio, values, 1.0)), values).T
        for values in (found.effect, found.lower, found.upper)
    )
    known = np.isfinite(ends[0]).all()
    rings = (table.coef == 0) & (table.draws is None)
    return np.stack(ends) if known else None, replace(table, coef=effect), rings


@dataclass(frozen=True)
class _Lane:
    """The place of one column of effects on the Axes: x = zero + scale times effect."""

    column: int
    zero: float
    scale: float
    reach: float  # the largest effect that has room


def _has_classes(model: TopicEstimator) -> bool:
    """Whether the columns are classes of one response, with one unit."""
    return isinstance(getattr(model, "classes_", None), np.ndarray)


def _lanes(
    ax: Axes, table: CoefficientTable, ends: np.ndarray | None, columns: list[int], one_unit: bool
) -> tuple[list[_Lane], float, float]:
    """The lanes, where the words begin, and data units per point. One lane alone has the units of its effects."""
    width, _ = style.size_in_points(ax)
    reaches = [_reach(table.coef[c], None if ends is None else ends[:, c]) for c in columns]
    if one_unit:
        reaches = [max(reaches)] * len(columns)
    room = 0.36 * width if len(columns) == 1 else max(_NARROWEST, min(34.0, 0.5 * width / len(columns)))
    gap = 0.0 if len(columns) == 1 else 0.12 * room
    unit = 2 * reaches[0] / room
    lanes = [
        _Lane(c, place * (room + gap) * unit, reaches[0] / reach, reach)
        for place, (c, reach) in enumerate(zip(columns, reaches, strict=True))
    ]
    low = -reaches[0]
    left = low - _EDGE * unit
    ax.set(xlim=(left, left + width * unit), ylim=(-0.7, table.coef.shape[1] - 0.3), yticks=[])
    return lanes, low + (len(columns) * (room + gap) + 4) * unit, unit


def _draw_lane(
    ax: Axes,
    lane: _Lane,
    table: CoefficientTable,
    ends: np.ndarray | None,
    rows: np.ndarray,
    shares: np.ndarray,
    rings: np.ndarray,
) -> None:
    """The zero line, intervals and dots of one column."""
    coef = table.coef[lane.column]
    ax.plot([lane.zero] * 2, [-0.5, len(rows) - 0.5], color=style.LIGHT, linewidth=0.8, zorder=0)
    sure = coef != 0
    if ends is not None:
        low, high = ends[:, lane.column]
        sure &= (low > 0) | (high < 0)
    colours = np.where(sure, np.where(coef > 0, style.MORE, style.LESS), style.GREY)
    if ends is not None:
        drawn = lane.zero + lane.scale * np.clip(ends[:, lane.column], -lane.reach, lane.reach)
        ax.hlines(rows, drawn[0], drawn[1], colors=colours.tolist(), linewidth=0.9, zorder=1)
    area = 3.0 + 22.0 * shares / max(shares.max(), 1e-300)
    faces = np.where(rings[lane.column], "white", colours)
    x = lane.zero + lane.scale * coef
    ax.scatter(x, rows, s=area, c=faces, edgecolors=colours.tolist(), linewidths=0.7, zorder=2)


def _write_words(
    ax: Axes, words: list[list[str]], labels: list[str], rows: np.ndarray, edge: float, unit: float
) -> None:
    """The number and the words of each topic, from `edge` to the right end."""
    size = style.row_size(ax, len(rows) + 0.6)
    number = style.text_width(f"{len(rows) - 1}", size) + 5
    start, right = edge + number * unit, ax.get_xlim()[1]
    for topic, row in enumerate(rows):
        ax.text(start - 4 * unit, row, str(topic), fontsize=size, color=style.GREY, ha="right", va="center")
        label = f"{labels[topic]}: " if labels[topic] else ""
        line = style.fit_words(words[topic], (right - start) / unit - 2, size, start=label)
        ax.text(start, row, line, fontsize=size, color=style.INK, va="center")


def _name_lanes(ax: Axes, lanes: list[_Lane], names: list[str], n_topics: int) -> None:
    """The class or response above each lane, and below it how far it reaches."""
    ax.set_xticks([])
    for lane, name in zip(lanes, names, strict=True):
        ax.text(lane.zero, n_topics - 0.3, name, rotation=45, rotation_mode="anchor", fontsize=style.SMALL,
                color=style.INK)  # fmt: skip
        reach = "±" + style.number(lane.reach)
        ax.text(lane.zero, -0.75, reach, ha="center", va="top", fontsize=5, color=style.GREY)


def _mark_axis(ax: Axes, reach: float, kind: str) -> None:
    """Ticks below the one lane there is."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(4, steps=[1, 2, 5, 10], symmetric=True).tick_values(-reach, reach)
    ticks = [float(tick) for tick in ticks if abs(tick) <= reach]
    names = [f"×{np.exp(tick):.2g}" if kind == "ratio" else f"{tick:g}".replace("-", "−") for tick in ticks]
    ax.set_xticks(ticks, names)
    ax.spines["bottom"].set_bounds(-reach, reach)


def _reach(coef: np.ndarray, ends: np.ndarray | None) -> float:
    """How far a lane goes from zero: as far as the intervals, but one huge interval does not blow it up."""
    most = max(float(np.abs(coef).max()), 1e-12)
    if ends is not None:
        most = min(max(most, float(np.abs(ends).max())), _FARTHEST * most)
    return 1.08 * most


def _meaning(model: TopicEstimator, table: CoefficientTable, columns: list[int]) -> str:
    """What an effect is about, in a few words."""
    if len(columns) > 1:
        return "effect, a lane for each " + ("class" if _has_classes(model) else "response")
    if _has_classes(model) and len(model.classes_) == 2:
        return f"effect on {style.shown(model.classes_[1], 14)} (pp)"
    name = table.names[columns[0]] or model.fitted_.spec.schema.targets[0].name
    return "effect" if name in ("", "y") else f"effect on {style.shown(name, 30)}"


def _below(ax: Axes, points: float) -> Any:
    """Data units to the right; upwards, points below the Axes."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    down = ScaledTranslation(0, -points / 72, ax.figure.dpi_scale_trans)
    return blended_transform_factory(ax.transData, ax.transAxes) + down
