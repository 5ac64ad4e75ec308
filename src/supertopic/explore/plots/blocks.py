"""Blocks of words with bars, in columns on one Axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 0.112  # inches
_NARROWEST = 76.0  # points of a column of blocks


@dataclass(frozen=True)
class Block:
    """A title, and words with a bar each."""

    title: str
    words: Sequence[Any]
    values: np.ndarray
    own_scale: bool = False  # the longest bar fills the place, whatever the other blocks hold
    grey: bool = False


def draw_blocks(ax: Axes | None, blocks: Sequence[Block], note: str, width: float = style.COLUMN) -> Any:
    """Draw the blocks from top to bottom, column by column. Bars are in data units, from a zero of their own.

    note : what the bars are, below them
    """
    lines = max(len(block.words) for block in blocks) + 1.6
    points = width * 72 if ax is None else style.size_in_points(ax)[0]
    n_columns = max(1, min(len(blocks), int(points // _NARROWEST)))
    per_column = -(-len(blocks) // n_columns)
    n_columns = -(-len(blocks) // per_column)
    ax = style.new_sheet(ax, _LINE * (per_column * lines + 1.3), width)
    points, _ = style.size_in_points(ax)
    size = style.row_size(ax, per_column * lines + 1.3, style.SMALL + 0.5)
    column = points / n_columns
    longest = max(style.text_width(style.shown(word, 16), size) for block in blocks for word in block.words)
    label = min(longest, 0.6 * column)
    low, high = _range(blocks)
    unit = (high - low) / (column - label - 10)  # data units per point
    for place, block in enumerate(blocks):
        left, top = (place // per_column) * column * unit, -(place % per_column) * lines
        zero, edge = left + (label + 4) * unit - low, left + label * unit
        _words(ax, block, left, top, edge, label, column, size)
        _bars(ax, block, zero, top, low, high)
    bottom = -per_column * lines - 0.7
    ax.text(0, bottom, style.fit_text(note, points, size), fontsize=size, color=style.GREY, va="center")
    ax.set(xlim=(0, points * unit), ylim=(bottom - 0.6, 0.7), xticks=[], yticks=[])
    style.bare(ax)
    return ax


def _range(blocks: Sequence[Block]) -> tuple[float, float]:
    """Where bars begin and end in the common scale; zero is among it."""
    values = [block.values for block in blocks if not block.own_scale and len(block.values)]
    if not values:
        return 0.0, 1.0
    found = np.concatenate(values)
    low, high = min(0.0, float(found.min())), max(0.0, float(found.max()))
    return (low, high) if high > low else (0.0, 1.0)


def _bars(ax: Axes, block: Block, zero: float, top: float, low: float, high: float) -> None:
    """The bars of a block, and its zero line where some bars go to the left."""
    rows, values = top - 1 - np.arange(len(block.words)), block.values.astype(np.float64)
    if block.own_scale and len(values):
        values = values * (high / max(float(np.abs(values).max()), 1e-300))
    colours = [style.GREY if block.grey else style.MORE if value >= 0 else style.LESS for value in values]
    ax.barh(rows, values, left=zero, height=0.68, color=colours, label=block.title)
    if low < 0 and not block.own_scale:
        ax.plot([zero, zero], [top - 0.5, top - len(block.words) - 0.5], color=style.GREY, linewidth=0.5)


def _words(
    ax: Axes, block: Block, left: float, top: float, edge: float, label: float, room: float, size: float
) -> None:
    """The title, and the words to the left of `edge` (`label` points wide)."""
    rows = top - 1 - np.arange(len(block.words))
    for row, word in zip(rows, block.words, strict=True):
        text = style.fit_text(style.shown(word, 16), label, size)
        ax.text(edge, row, text, fontsize=size, color=style.INK, ha="right", va="center")
    ax.text(left, top, style.fit_text(block.title, 0.9 * room, size), fontsize=size, fontweight="bold", color=style.INK,
            va="center")  # fmt: skip
