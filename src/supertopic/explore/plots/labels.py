"""Labels beside points that overlap neither each other nor the points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 5.5
_REACH = (0.0, 5.0, 10.0, 16.0, 24.0, 34.0, 46.0, 60.0)  # points from a circle's edge to its label
_ANGLES = np.radians([0, 180, 90, 270, 45, 135, 225, 315, 20, 160, 200, 340, 65, 115, 245, 295])


def place_labels(ax: Axes, points: np.ndarray, texts: list[str], radius: np.ndarray) -> list[Any]:
    """Write a label beside each point, the first place that is free; a thin line leads to one farther away.

    points : (n, 2) in points from the lower left corner of the Axes
    radius : (n,) of the circle round each point that is to be kept free, in points
    """
    size = np.array(style.size_in_points(ax))
    taken = [np.concatenate([p - r, p + r]) for p, r in zip(points, radius, strict=True)]
    written = []
    for place in np.argsort(points[:, 1])[::-1]:
        text = texts[place]
        while True:
            box = np.array([style.text_width(text, _SIZE) + 1.5, 1.15 * _SIZE])
            found = _free(points[place], radius[place], box, taken, size)
            if found is not None or " " not in text:
                break
            text = text.rsplit(" ", 1)[0]  # fewer words need less room
        corner, reach = found if found is not None else (points[place] - box / 2, 0.0)
        taken.append(np.concatenate([corner, corner + box]))
        written.append(_write(ax, text, points[place], corner, box, reach, size))
    return written


def _free(
    point: np.ndarray, radius: float, box: np.ndarray, taken: list[np.ndarray], size: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """The lower left corner of the first free place for a box, and its distance from the circle; None without one."""
    boxes = np.array(taken)
    for reach in _REACH:
        for angle in _ANGLES:
            direction = np.array([np.cos(angle), np.sin(angle)])
            centre = point + direction * (radius + reach) + np.sign(np.round(direction, 6)) * box / 2
            low, high = centre - box / 2, centre + box / 2
            inside = (low >= 1).all() and (high <= size - 1).all()
            apart = (low >= boxes[:, 2:]) | (high <= boxes[:, :2])
            if inside and apart.any(axis=1).all():
                return low, reach
    return None


def _write(
    ax: Axes, text: str, point: np.ndarray, corner: np.ndarray, box: np.ndarray, reach: float, size: np.ndarray
) -> Any:
    middle = corner + box / 2
    if reach > 6:
        nearest = np.clip(point, corner, corner + box)
        line = np.stack([point, nearest]) / size
        ax.plot(*line.T, color=style.GREY, linewidth=0.4, transform=ax.transAxes, zorder=2)
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=1.2, foreground="white")]  # documents may lie below the text
    x, y = middle / size
    return ax.text(x, y, text, fontsize=_SIZE, color=style.INK, ha="center", va="center",
                   transform=ax.transAxes, zorder=4, path_effects=halo)  # fmt: skip
