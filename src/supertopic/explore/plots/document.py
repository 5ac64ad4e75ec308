"""One document: a waterfall from the average document to the prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.checks import check_choice, check_whole
from supertopic.explore.contributions import Contributions, contributions_of
from supertopic.explore.plots import style
from supertopic.plural import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

_ROW = 0.15  # inches
_SMALLEST = 0.02  # of the largest bar: topics that add less have no bar of their own
_MOST_COVARIATES = 6  # that have a bar each
_IDENTITY = ("gaussian", "epsilon_insensitive")  # responses whose linear predictor is the prediction itself


def plot_document(
    model: TopicEstimator,
    doc: object,
    *,
    by: str = "topics",
    target: object = None,
    n: int = 8,
    covariates: object = None,
    ax: Axes | None = None,
) -> Any:
    """Draw what each topic (or word) of one document adds to the linear predictor of an average document.

    The bars begin at the average training document, and add up to the document's own linear predictor: for a number
    with a Gaussian response, the prediction itself.

    Parameters
    ----------
    model : a fitted model with coefficients
    doc : str, or counts of one document
    by : {"topics", "words"}
        A bar for each topic, named by the document's own words, or for each word.
    target : class or response, optional
        The column of coefficients; by default the class with the largest linear predictor.
    n : int
        Bars at most; the others are one bar together.
    covariates : (1, P), where the model was fitted with some
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    model = style.fitted(model, "document")
    check_choice("by", by, ("topics", "words"))
    check_whole("n", n)
    found = contributions_of(model, doc, covariates)
    classes = isinstance(getattr(model, "classes_", None), np.ndarray)
    several = len(found.table.names) > 1
    column = int(found.total.argmax()) if several and classes and target is None else found.table.column(target)
    bars = _by_topic(found, column, n, style.named(model, 16)) if by == "topics" else _by_word(found, column, n)
    names = list(getattr(model, "covariate_names_", [])) or list(range(found.covariates.shape[1]))
    bars += _rest(found, column, by, [style.shown(name, 18) for name in names])
    ax = style.new_sheet(ax, _ROW * (len(bars) + 2.2), bottom=0.36)
    _draw(ax, float(found.table.intercept[column]), bars, float(found.total[column]), _unit(model, found, column))
    return ax


Bar = tuple[str, list[str], float]  # a name, words that explain it, and what it adds


def _by_topic(found: Contributions, column: int, n: int, labels: list[str]) -> list[Bar]:
    """The largest contributions of topics, and one bar for all other topics."""
    added = found.topics[column]
    order = np.argsort(-np.abs(added), kind="stable")
    n = min(n, int((np.abs(added) > _SMALLEST * np.abs(added).max(initial=0.0)).sum()))
    bars: list[Bar] = []
    for k in order[:n]:
        weight = found.word_topic[:, k]
        best = [w for w in np.argsort(-weight, kind="stable") if weight[w] >= 0.25 * weight.max(initial=0.0)][:6]
        name = f"{labels[k] or k} · {style.percent(found.shares[k])}"
        bars.append((name, [found.words[w] for w in best], float(added[k])))
    return bars + _others(added[order[n:]], "topic")


def _by_word(found: Contributions, column: int, n: int) -> list[Bar]:
    added = found.by_word()[column]
    order = np.argsort(-np.abs(added), kind="stable")
    names = [f"{style.shown(found.words[w])}{'' if found.counts[w] == 1 else f' ×{found.counts[w]:g}'}" for w in order]
    bars: list[Bar] = [(name, [], float(added[w])) for name, w in zip(names[:n], order, strict=False)]
    return bars + _others(added[order[n:]], "word")


def _others(added: np.ndarray, what: str) -> list[Bar]:
    if len(added) == 0:
        return []
    return [(counted(len(added), f"other {what}"), [], float(added.sum()))]


def _rest(found: Contributions, column: int, by: str, names: list[str]) -> list[Bar]:
    """Words beside the topics, covariates, and the other fits of an ensemble."""
    bars: list[Bar] = []
    if by == "topics" and found.own_words.any():
        bars.append(("words themselves", [], float(found.own_words[column].sum())))
    added = found.covariates[column]
    if len(added) > _MOST_COVARIATES:
        bars.append((f"{len(added)} covariates", [], float(added.sum())))
    else:
        bars += [(f"covariate {name}", [], float(value)) for name, value in zip(names, added, strict=True)]
    if found.other_fits.any():
        bars.append(("other fits of the ensemble", [], float(found.other_fits[column].sum())))
    return bars


def _unit(model: TopicEstimator, found: Contributions, column: int) -> str:
    """The name of the axis."""
    targets = model.fitted_.spec.schema.targets
    name = found.table.names[column] or (targets[0].name if targets else "")
    classes = getattr(model, "classes_", None)
    if isinstance(classes, np.ndarray) and len(found.table.names) == 1 and len(classes) == 2:
        name = str(classes[1])
    of = f" of {style.shown(name, 18)}" if name not in ("", "y") else ""
    same = targets and targets[min(column, len(targets) - 1)].response in _IDENTITY
    return ("prediction" if same else "linear predictor") + of


def _draw(ax: Axes, start: float, bars: list[Bar], total: float, unit: str) -> None:
    """Bars in data units on the right, and their names on the left."""
    steps = np.array([value for _, _, value in bars])
    after = start + np.cumsum(steps)
    low, high = float(min(start, after.min(initial=start))), float(max(start, after.max(initial=start)))
    span, width, n_rows = max(high - low, 1e-9), style.size_in_points(ax)[0], len(bars) + 2
    size, rows = style.row_size(ax, n_rows + 0.2), np.arange(n_rows)[::-1]
    names, beside = 0.52 * width, 5 + style.text_width("+0.000", size)  # points for names, and for numbers beside bars
    point = span / (width - names - 2 * beside)  # in data units
    low, high = low - beside * point, high + beside * point
    left, decimals = low - names * point, int(np.clip(1 - np.floor(np.log10(span)), span < 50, 4))
    colours = [style.MORE if value >= 0 else style.LESS for value in steps]
    ax.barh(rows[1:-1], steps, left=after - steps, height=0.62, color=colours, zorder=2)
    for x, top in zip([start, *after], rows[:-1], strict=True):
        ax.plot([x, x], [top, top - 1], color=style.GREY, linewidth=0.6, zorder=1)
    ax.plot([start, total], [rows[0], rows[-1]], "D", color=style.INK, markersize=3, linestyle="none", zorder=3)
    common: dict[str, Any] = {"fontsize": size, "va": "center"}
    for row, (name, words, value), x in zip(rows[1:-1], bars, after, strict=True):
        line = (
            style.fit_words(words, names - 4, size, start=f"{name}  ")
            if words
            else style.fit_text(name, names - 4, size)
        )
        ax.text(left, row, line, color=style.INK, **common)
        side, where = (3, "left") if value >= 0 else (-3, "right")
        ax.text(x + side * point, row, _signed(value, decimals, "+"), color=style.GREY, ha=where, **common)
    for row, name, x in ((rows[0], "average document", start), (rows[-1], "this document", total)):
        ax.text(left, row, name, color=style.INK, fontweight="bold", **common)
        ax.text(x + 4 * point, row, _signed(x, decimals), color=style.INK, **common)
    _axis(ax, left, low, high, n_rows, unit)


def _signed(value: float, decimals: int, plus: str = "") -> str:
    value = round(value, decimals) + 0.0  # no minus before a zero
    return f"{value:{plus}.{decimals}f}".replace("-", "−")


def _axis(ax: Axes, left: float, low: float, high: float, n_rows: int, unit: str) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set(xlim=(left, high), ylim=(-0.6, n_rows - 0.4), yticks=[])
    style.bare(ax, "bottom")
    edge = 0.05 * (high - low)  # labels of ticks are not cut at the right
    ticks = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)
    ticks = [tick for tick in ticks if low + edge <= tick <= high - edge]
    ax.set_xticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    ax.spines["bottom"].set_bounds(low, high)
    ax.set_xlabel(unit, fontsize=style.SMALL, color=style.INK, x=((low + high) / 2 - left) / (high - left))
