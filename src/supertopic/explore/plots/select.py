"""The measures of each number of topics, two by two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from supertopic.explore.plots import style
from supertopic.selection import MEASURES, TopicSelection

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_select(selection: TopicSelection, *, ax: Axes | None = None) -> np.ndarray:
    """Draw a panel for each measure: mean and standard error for each K, with the choice marked.

    Parameters
    ----------
    selection : what `select_topics` returns
    ax : array of four matplotlib Axes, optional; of more than four measures, two for each row of panels

    Returns
    -------
    (2, 2) array of Axes, or larger; those without a measure are hidden
    """
    if not isinstance(selection, TopicSelection):
        raise TypeError(f"selection: got {type(selection).__name__}, expected what select_topics returns")
    names = [name for name in MEASURES if name in selection.table]
    axes = _panels(ax, len(names))
    for panel, name in zip(axes.ravel(), names, strict=False):
        _curve(panel, selection, name)
    for panel in axes.ravel()[len(names) :]:
        panel.set_visible(False)
    return axes


def _panels(ax: Axes | None, n: int) -> np.ndarray:
    plt = style.pyplot()
    n_rows = max(2, (n + 1) // 2)
    if ax is None:
        rows = [1.0, 1.0 if n > 2 else 0.01, *[1.0] * (n_rows - 2)]
        size = (style.COLUMN, 1.35 * sum(rows) + 0.25)
        return plt.subplots(n_rows, 2, figsize=size, layout="constrained", height_ratios=rows)[1]
    from matplotlib.axes import Axes

    given = np.asarray(ax, dtype=object)
    if given.size != 2 * n_rows or not all(isinstance(one, Axes) for one in given.ravel()):
        expected = f"expected {2 * n_rows} matplotlib Axes, such as plt.subplots({n_rows}, 2) gives"
        raise TypeError(f"ax: got {type(ax).__name__}, {expected}")
    return given.reshape(n_rows, 2)


def _curve(ax: Axes, selection: TopicSelection, name: str) -> None:
    table, topics = selection.table, selection.table.index.to_numpy()
    mean, error = table[name].to_numpy(), np.nan_to_num(table[f"{name}_se"].to_numpy())
    label, more = MEASURES[name]
    label = selection.scoring if name == "prediction" else label
    ax.axvline(selection.best, color=style.LESS, linewidth=0.8, linestyle=":", zorder=0)
    ax.errorbar(topics, mean, error, color=style.MORE, marker="o", markersize=2.5, linewidth=1, elinewidth=0.8)
    ax.plot(selection.best, table.loc[selection.best, name], "o", markersize=5, color=style.LESS, zorder=3)
    if len(topics) > 1 and topics.max() >= 8 * topics.min():
        ax.set_xscale("log")
    ax.set_xticks(topics, [str(k) for k in topics])
    ax.minorticks_off()
    ax.locator_params(axis="y", nbins=4)
    style.finish(ax, "topics", "", f"{label} {'↑' if more else '↓'}")
    if name == selection.criterion:
        ax.set_title(ax.get_title(loc="left"), loc="left", fontsize=style.TEXT, fontweight="bold", color=style.INK)
