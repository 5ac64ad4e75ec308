"""Whether a model's certainty holds: probabilities of classes, intervals of numbers."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.plots import style
from supertopic.explore.plots.predictions import Predicted, predicted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_MOST_CLASSES = 6  # with more, all classes are drawn as one curve
_BINS, _FEW = 8, 20  # bins at most, and documents of a bin at least
_LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.95])  # each predicts all documents once more


def plot_calibration(
    model: TopicEstimator,
    X: object,
    y: object,
    *,
    target: object = None,
    covariates: object = None,
    ax: Axes | None = None,
) -> Any:
    """Draw what happened against what was said; on the diagonal, the model's certainty is right.

    Classes: the share of documents of a class against its predicted probability, in bins of equally many documents;
    of two classes, the second. Numbers: the share of documents inside of their intervals against the intervals'
    probability. Bars are 90 % intervals of these shares (Wilson).

    Parameters
    ----------
    model : a fitted model with `predict_proba`, or whose `predict` gives intervals
    X : documents that the fit has not seen
    y : (D,) their responses; documents whose y is missing (None or NaN) are left out
    target : str, optional
        Of several responses, the one to draw.
    covariates : (D, P), where the model was fitted with some
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "calibration")
    found = predicted(model, X, y, target, covariates, "plot_calibration")
    beside = {} if covariates is None else {"covariates": covariates}
    curves = _class_curves(model, found, beside) if found.classes is not None else _coverage(model, found, beside)
    ax = style.new_axes(ax, 2.5, 2.7)
    ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=0.7, linestyle="--", zorder=0)
    for place, (name, (x, hits, total)) in enumerate(curves.items()):
        low, high = wilson(hits, total)
        share, colour = hits / total, style.COLOURS[place % len(style.COLOURS)]
        ax.errorbar(x, share, [share - low, high - share], color=colour, marker=style.MARKERS[place % 8], markersize=3,
                    linewidth=1, elinewidth=0.5, label=style.shown(name, 18) or None)  # fmt: skip
    if len(curves) > 1:
        ax.legend(frameon=False, fontsize=style.SMALL, handlelength=1.4, borderaxespad=0.1)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=ticks, yticks=ticks)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    return style.finish(ax, *_axis_names(found))


def _axis_names(found: Predicted) -> tuple[str, str]:
    if found.classes is None:
        return "probability of the interval", "share of documents inside (90 % intervals)"
    which = style.shown(found.classes[1], 14) if len(found.classes) == 2 else "the class"
    return f"predicted probability of {which}", "share of documents (90 % intervals)"


def _class_curves(
    model: TopicEstimator, found: Predicted, beside: dict[str, Any]
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each class: mean predicted probability, hits and documents of each bin."""
    assert found.classes is not None
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"model: got {type(model).__name__}, which predicts no probabilities; expected predict_proba")
    chances = model.predict_proba(found.X, **beside)
    if isinstance(chances, dict):
        chances = chances[found.name].to_numpy()
    if chances.shape[1] != len(found.classes):
        raise ValueError("target: plot_calibration has the probabilities of the first facet only")
    chances, member = np.asarray(chances)[found.known], found.y[:, None] == np.arange(len(found.classes))
    if len(found.classes) == 2:
        return {"": _bins(chances[:, 1], member[:, 1])}
    if len(found.classes) > _MOST_CLASSES:
        return {"all classes": _bins(chances.ravel(), member.ravel())}
    return {str(label): _bins(chances[:, c], member[:, c]) for c, label in enumerate(found.classes)}


def _bins(chance: np.ndarray, hit: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_bins = int(np.clip(len(chance) // _FEW, 1, _BINS))
    parts = [part for part in np.array_split(np.argsort(chance, kind="stable"), n_bins) if len(part)]
    x = np.array([chance[part].mean() for part in parts])
    return x, np.array([hit[part].sum() for part in parts]), np.array([len(part) for part in parts])


def _coverage(
    model: TopicEstimator, found: Predicted, beside: dict[str, Any]
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The documents inside of intervals of several probabilities."""
    if "return_interval" not in signature(model.predict).parameters:
        raise ValueError(f"model: got {type(model).__name__}, whose predict gives no intervals")
    inside = []
    for level in _LEVELS:
        predicted = model.predict(found.X, return_interval=float(level), **beside)
        if hasattr(predicted, "columns"):
            low, high = (predicted[f"{found.name} {end}"].to_numpy() for end in ("lower", "upper"))
        else:
            _, low, high = predicted
        if np.ndim(low) == 2:
            place = [one.name for one in model.fitted_.spec.schema.targets].index(found.name)
            low, high = low[:, place], high[:, place]
        inside.append(((low[found.known] <= found.y) & (found.y <= high[found.known])).sum())
    return {"": (_LEVELS, np.array(inside), np.full(len(_LEVELS), len(found.y)))}


def wilson(hits: np.ndarray, total: np.ndarray, z: float = style.Z90) -> tuple[np.ndarray, np.ndarray]:
    """Ends of Wilson's intervals of shares."""
    share = hits / total
    centre = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    reach = z * np.sqrt(share * (1 - share) / total + z**2 / (4 * total**2)) / (1 + z**2 / total)
    return np.minimum(centre - reach, share), np.maximum(centre + reach, share)
