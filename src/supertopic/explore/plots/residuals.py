"""Where predictions go wrong: residuals of numbers, the confusion of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.explore.plots import style
from supertopic.explore.plots.predictions import Predicted, predicted

_BINS = 10
_FEW = 40  # documents of a bin at least, where there are enough


def plot_residuals(model: Any, X: Any, y: Any, *, target: Any = None, covariates: Any = None, ax: Any = None) -> Any:
    """Draw the residuals y - prediction against the prediction, or the confusion matrix of classes.

    The line joins mean residuals of bins of equally many documents, with two standard errors: where it leaves zero,
    predictions are too low or too high. A cell of a confusion matrix holds the number of documents; its shade is their
    share of the true class.

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


def _scatter(ax: Any, found: Predicted) -> Any:
    ax = style.new_axes(ax, 2.3)
    residual = found.y - found.guess
    ax.axhline(0, color=style.GREY, linewidth=0.7, zorder=1)
    few = len(residual) < 500
    ax.scatter(found.guess, residual, s=6 if few else 3, color=style.MORE, alpha=0.5 if few else 0.25, linewidths=0,
               rasterized=not few, zorder=0)  # fmt: skip
    place, mean, error = binned(found.guess, residual)
    ax.errorbar(place, mean, 2 * error, color=style.LESS, marker="o", markersize=2.5, linewidth=1, elinewidth=0.8,
                zorder=2)  # fmt: skip
    of = f" of {style.shown(found.name)}" if found.name else ""
    return style.finish(ax, f"prediction{of}", "y − prediction")


def binned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of x, mean of y and its standard error, in bins of equally many documents along x."""
    n_bins = int(np.clip(len(x) // _FEW, 1, _BINS))
    parts = [part for part in np.array_split(np.argsort(x, kind="stable"), n_bins) if len(part)]
    error = [y[part].std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else 0.0 for part in parts]
    return np.array([x[part].mean() for part in parts]), np.array([y[part].mean() for part in parts]), np.array(error)


def _confusion(ax: Any, found: Predicted) -> Any:
    assert found.classes is not None
    n = len(found.classes)
    counts = np.zeros((n, n), dtype=int)
    np.add.at(counts, (found.y, found.guess), 1)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    side = max(style.COLUMN, 0.22 * n + 1.0)
    ax = style.new_axes(ax, min(side, 0.24 * n + 1.15), side)
    ax.pcolormesh(np.arange(n + 1) - 0.5, np.arange(n + 1) - 0.5, share, cmap="Blues", vmin=0, vmax=1.15,
                  edgecolors="white", linewidth=0.6)  # fmt: skip
    size = min(style.SMALL, 44 / n + 2)
    for row, column in zip(*np.nonzero(counts), strict=True):
        colour = "white" if share[row, column] > 0.6 else style.INK
        ax.text(column, row, str(counts[row, column]), ha="center", va="center", fontsize=size, color=colour)
    names = style.all_shown(list(found.classes), 16)
    ax.set_xticks(range(n), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(n), names)
    ax.invert_yaxis()
    right = np.trace(counts) / counts.sum()
    style.finish(ax, "predicted", "true", f"{style.percent(right)} right of {counts.sum():,}")
    style.bare(ax)
    return ax
