"""How a fit went: its bound by step, or the draws of a sampler."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_HIDDEN = ("inclusion", "log_joint")  # no draws; the same as "bound"
_BY_CHAIN = ("coef", "intercept", "dispersion", "coef_scale")  # draws that hold all chains, one after the other
_NAMED = 5  # the largest coefficients have a colour and a name


def plot_trace(model: TopicEstimator, what: str = "bound", *, target: object = None, ax: Axes | None = None) -> Any:
    """Draw the evidence bound (or a sampler's log joint) by step, or the draws of coefficients or of another quantity.

    Parameters
    ----------
    model : a fitted model
    what : str
        "bound"; "support", the number of support documents of MedLDA; or the name of draws in `draws_`: "coef",
        "dispersion", "alpha" …
    target : class or response, optional
        With "coef": the column of coefficients.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "trace")
    draws = getattr(model, "draws_", None) or {}
    names = ["bound", *(["support"] if hasattr(model, "n_support_") else [])]
    names += [name for name, value in draws.items() if name not in _HIDDEN and np.asarray(value).size]
    if what not in names:
        raise ValueError(f"what: got {what!r}, expected one of {', '.join(map(repr, names))}")
    if what == "bound":
        return _bound(model, ax)
    if what == "support":
        return _support(np.asarray(model.n_support_), ax)
    return _draws(model, what, np.asarray(draws[what]), target, ax)


def _bound(model: TopicEstimator, ax: Axes | None) -> Any:
    trace = np.asarray(model.bound_, dtype=np.float64)
    if len(trace) == 0:
        raise ValueError("model: got a fit without a trace, expected one with `bound_`")
    steps = np.arange(1, len(trace) + 1) * max(1.0, model.n_iter_ / len(trace))
    ax = style.new_axes(ax, 1.9)
    ax.plot(steps, trace, color=style.MORE, linewidth=1.1, marker="o" if len(trace) < 60 else None, markersize=2)
    sampler = bool(getattr(model, "draws_", None))
    burn_in = getattr(model.fitted_.spec.settings, "burn_in", None)
    if sampler and burn_in is not None:
        ax.axvline(burn_in, color=style.LESS, linewidth=0.8, linestyle=":")
        ax.annotate("burn-in ends", (burn_in, 0), xycoords=("data", "axes fraction"), xytext=(2, 3),
                    textcoords="offset points", fontsize=style.SMALL, color=style.LESS)  # fmt: skip
    # a first value far below all others would leave nothing to be seen of them
    later = trace[max(1, len(trace) // 20) :]
    if len(later) > 3 and trace.max() - trace.min() > 6 * (later.max() - later.min()):
        ax.set_ylim(later.min() - 0.3 * (later.max() - later.min()), trace.max() + 0.1 * (later.max() - later.min()))
    ax.ticklabel_format(useOffset=False, axis="y")
    ax.locator_params(axis="x", integer=True)
    at_mode = model.fitted_.spec.engine.at_mode  # predictions are a part of what such a fit maximises
    value = "log joint per token" if sampler else "objective" if at_mode else "bound per token"
    return style.finish(ax, "sweep" if sampler else "step", value)


def _support(counts: np.ndarray, ax: Axes | None) -> Any:
    ax = style.new_axes(ax, 1.9)
    ax.plot(np.arange(1, len(counts) + 1), counts, color=style.MORE, marker="o", markersize=2, linewidth=1.1)
    ax.set_ylim(0, None)
    return style.finish(ax, "step", "support documents")


def _draws(model: TopicEstimator, what: str, draws: np.ndarray, target: object, ax: Axes | None) -> Any:
    n_chains = model.fitted_.spec.n_chains if what in _BY_CHAIN else 1
    label, kind = what, "topic " if what in ("coef", "alpha") else ""
    if what == "coef":
        table = getattr(model, "coefficients_", None)
        assert table is not None
        column = table.column(target)
        draws = draws[:, column, : table.coef.shape[1]]
        label = f"coefficient {table.names[column]}".strip()
    lines = draws.reshape(len(draws), -1)
    chains = np.split(lines, n_chains) if len(lines) % n_chains == 0 else [lines]
    ax = style.new_axes(ax, 2.1)
    order = np.argsort(-np.abs(lines.mean(axis=0)), kind="stable")
    given = style.named(model) if kind else []
    labels = [label or f"{kind}{place}" for place, label in zip_longest(range(lines.shape[1]), given)]
    named = sorted(order[:_NAMED], key=lambda place: -lines[:, place].mean())
    for place in [*order[_NAMED:], *named]:
        for number, chain in enumerate(chains):
            colour = style.COLOURS[named.index(place)] if place in named else style.LIGHT
            ax.plot(np.arange(1, len(chain) + 1), chain[:, place], color=colour, linewidth=0.8,
                    linestyle=("-", "--", ":", "-.")[number % 4], zorder=2 if place in named else 1,
                    label=labels[place] if place in named and number == 0 else None)  # fmt: skip
    if lines.shape[1] > 1:
        ax.legend(frameon=False, fontsize=style.SMALL, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    title = f"{len(chains)} chains, by kind of line" if len(chains) > 1 else ""
    ax.locator_params(axis="x", integer=True)
    return style.finish(ax, "draw", label, title)
