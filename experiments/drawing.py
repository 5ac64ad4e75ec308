"""Shared parts of tables and figures: means with standard deviations, and curves with error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def with_spread(values: Sequence[float] | np.ndarray, digits: int = 3) -> str:
    """Format mean ± standard deviation over seeds or folds; a single value is formatted alone."""
    text = f"{np.mean(values):.{digits}f}"
    return f"{text} ± {np.std(values):.{digits}f}" if len(values) > 1 else text


def curves(panels: Mapping[str, Mapping[str, np.ndarray]], x: Sequence[Any], label: str, log: bool = False) -> Any:
    """Plot a panel for each measure with a curve for each method; values have shape (seeds or folds, len(x))."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6) if len(panels) > 1 else (6.4, 3.8))
    for axes, (measure, found) in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels.items(), strict=True):
        for name, values in found.items():
            values = np.atleast_2d(values)
            spread = values.std(axis=0) if len(values) > 1 else None
            axes.errorbar(x, values.mean(axis=0), spread, marker="o", capsize=3, label=name)
        if log:
            axes.set_xscale("log")
        axes.set(xlabel=label, ylabel=measure)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.tight_layout()
    return figure


def side_by_side(panels: Mapping[str, Mapping[str, Mapping[float, Sequence[float]]]], xlabel: str, ylabel: str) -> Any:
    """Plot one measure with a panel for each case and a curve for each method, {x: values by seed or fold}."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.4))
    for axes, (title, methods) in zip(
        figure.subplots(1, len(panels), squeeze=False, sharey=True)[0], panels.items(), strict=True
    ):
        for name, points in methods.items():
            means, spreads = ([f(values) for values in points.values()] for f in (np.mean, np.std))
            axes.errorbar(list(points), means, spreads, marker="o", capsize=3, label=name)
        axes.set(title=title, xlabel=xlabel)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel(ylabel)
    figure.axes[0].set_ylim(bottom=0)
    figure.axes[-1].legend(frameon=False)
    figure.tight_layout()
    return figure


def bars(found: Mapping[str, Sequence[float]], label: str, paper: Mapping[str, float] | None = None) -> Any:
    """Plot a horizontal bar for each method, with standard deviations as error bars; marks show the paper's numbers."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 0.9 + 0.42 * len(found)))
    axes = figure.subplots()
    places = np.arange(len(found))[::-1]
    for place, values in zip(places, found.values(), strict=True):
        spread = np.std(values) if len(values) > 1 else None
        axes.barh(place, np.mean(values), xerr=spread, color="tab:blue", height=0.6, capsize=3)
    marks = {name: place for name, place in zip(found, places, strict=True) if paper and name in paper}
    if paper and marks:
        axes.plot([paper[name] for name in marks], list(marks.values()), "D", color="tab:red", label="the paper's")
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    axes.set(xlabel=label, yticks=places, yticklabels=list(found))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def dots(found: Sequence[tuple[str, str, float]], label: str, promised: float, allowed: tuple[float, float]) -> Any:
    """Plot (row, kind, value): a line for each row, a dot for each kind on it, around what was promised."""
    from matplotlib.figure import Figure

    rows, kinds = list(dict.fromkeys(row for row, _, _ in found)), list(dict.fromkeys(kind for _, kind, _ in found))
    figure = Figure(figsize=(9.0, 1.2 + 0.4 * len(rows)))
    axes = figure.subplots()
    axes.axvspan(*allowed, color="0.93", label=f"asked: {allowed[0]:g} to {allowed[1]:g}")
    axes.axvline(promised, color="0.5", linewidth=1)
    for number, kind in enumerate(kinds):
        points = [(value, -rows.index(row) + 0.12 * (number - 1.5)) for row, other, value in found if other == kind]
        axes.plot(*zip(*points, strict=True), "o", markersize=6, label=kind)
    axes.set(xlabel=label, yticks=-np.arange(len(rows)), yticklabels=rows)
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
