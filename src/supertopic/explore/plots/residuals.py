"""Where predictions go wrong: residuals of numbers, the confusion of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.plots import style
from supertopic.explore.plots.predictions import Predicted, predicted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_BINS = 10
_FEW_CLASSES = 4  # that keep their order in a confusion matrix
_FEW = 40  # documents of a bin at least, where there are enough


def plot_residuals(
    model: TopicEstimator,
    X: object,
    y: object,
    *,
    target: object = None,
    covariates: object = None,
    ax: Axes | None = None,
) -> Any:
    """Draw the residuals y - prediction against the prediction, or the confusion matrix of classes.

    The line joins mean residuals of bins of equally many documents, with 90 % intervals: where it leaves zero,
    predictions are too low or too high. A cell of a confusion matrix is the percentage of the true class, whose
    documents are counted beside its name; classes that are taken for each other stand side by side.

    Parameters
    ----------
    model : a fitted model with a response
    X : documents, best ones that the fit has not seen
    y : (D,) their responses; documents whose y is missing (None or NaN) are left out
    target : str, optional
        Of several responses, the one to draw.
    covariates : (D, P), where the model was fitted with some
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "residuals")
    found = predicted(model, X, y, target, covariates, "plot_residuals")
    return _scatter(ax, found) if found.classes is None else _confusion(ax, found)


def _scatter(ax: Axes | None, found: Predicted) -> Any:
    ax = style.new_axes(ax, 2.3)
    residual = found.y - found.guess
    ax.axhline(0, color=style.GREY, linewidth=0.7, zorder=1)
    few = len(residual) < 500
    ax.scatter(found.guess, residual, s=6 if few else 3, color=style.MORE, alpha=0.5 if few else 0.25, linewidths=0,
               rasterized=not few, zorder=0)  # fmt: skip
    place, mean, error = binned(found.guess, residual)
    reach = style.Z90 * error
    ax.errorbar(place, mean, reach, color=style.LESS, marker="o", markersize=2.5, linewidth=1, elinewidth=0.8, zorder=2)
    of = f" of {style.shown(found.name)}" if found.name else ""
    return style.finish(ax, f"prediction{of}", "y − prediction (means: 90 %)")


def binned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of x, mean of y and its standard error, in bins of equally many documents along x."""
    n_bins = int(np.clip(len(x) // _FEW, 1, _BINS))
    parts = [part for part in np.array_split(np.argsort(x, kind="stable"), n_bins) if len(part)]
    error = [y[part].std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else 0.0 for part in parts]
    return np.array([x[part].mean() for part in parts]), np.array([y[part].mean() for part in parts]), np.array(error)


def _confusion(ax: Axes | None, found: Predicted) -> Any:
    assert found.classes is not None
    n = len(found.classes)
    counts = np.zeros((n, n), dtype=int)
    np.add.at(counts, (found.y, found.guess), 1)
    order = np.arange(n) if n < _FEW_CLASSES else like_order(counts)
    counts = counts[order][:, order]
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = style.print_width(0.22 * n + 1.4)
    ax = style.new_axes(ax, min(side, 0.24 * n + 1.15), side)
    ax.pcolormesh(np.arange(n + 1) - 0.5, np.arange(n + 1) - 0.5, share, cmap="Blues", vmin=0, vmax=1.15,
                  edgecolors="white", linewidth=0.6)  # fmt: skip
    size = min(style.SMALL, 44 / n + 2)
    for row, column in zip(*np.nonzero(counts), strict=True):
        colour = "white" if share[row, column] > 0.6 else style.INK
        if share[row, column] >= 0.005:
            text = f"{100 * share[row, column]:.0f}"
            ax.text(column, row, text, ha="center", va="center", fontsize=size, color=colour)
    names = style.all_shown(list(found.classes[order]), 16)
    totals = counts.sum(axis=1)
    ax.set_xticks(range(n), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(n), [f"{name} ({total:,})" for name, total in zip(names, totals, strict=True)])
    ax.invert_yaxis()
    right = np.trace(counts) / counts.sum()
    style.finish(
        ax, "predicted, percent of the true class", "true", f"{style.percent(right)} right of {counts.sum():,}"
    )
    style.bare(ax)
    return ax


def like_order(counts: np.ndarray) -> np.ndarray:
    """Classes from the largest one on, each followed by the one that is most often confused with it."""
    sizes = counts.sum(axis=1)
    like = (counts + counts.T) / np.maximum(sizes[:, None] + sizes, 1)
    order, rest = [int(sizes.argmax())], set(range(len(counts))) - {int(sizes.argmax())}
    while rest:
        order.append(max(sorted(rest), key=lambda c: like[order[-1], c]))
        rest.remove(order[-1])
    return np.array(order)
