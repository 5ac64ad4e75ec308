"""What the plots share: the width of a paper's column, colours, sizes of text, and words that fit their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from supertopic.estimators.shared.results.topic_info import topic_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from supertopic.estimators.shared.base import TopicEstimator

COLUMN, PAGE = 3.3, 7.0  # inches, the widths of a column and of a page of a paper
Z90 = 1.6448536269514722  # reach of a 90 % interval, in standard errors
TEXT, SMALL = 7.0, 6.0  # points
MORE, LESS, GREY, LIGHT, INK = "#0072B2", "#D55E00", "#767676", "#d9d9d9", "#262626"
# Okabe and Ito's colours, which readers who are colour-blind can tell apart; markers tell them apart once more
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#262626", "#8c6d31")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_NEEDED = "plots need matplotlib: pip install 'supertopic[plots]'"
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_EAST_ASIAN = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "SimHei", "Malgun Gothic",
)  # fmt: skip
_WIDER = 1.04  # letters are set on whole pixels, which makes a line of them wider on a screen
_POINTS = 72.0  # in an inch


def pyplot() -> Any:
    """matplotlib.pyplot, which is imported when the first plot is drawn."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ValueError(_NEEDED) from error
    _prepare(plt)
    return plt


@cache
def _prepare(plt: Any) -> None:
    """Letters in files as TrueType (Type 42), which journals ask for, and behind the usual font one that has Chinese,
    Japanese or Korean letters, where it is installed; once, so that another choice stays.
    """
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    family = [*plt.rcParams["font.family"], *(name for name in _EAST_ASIAN if name in installed)]
    plt.rcParams.update({"pdf.fonttype": 42, "ps.fonttype": 42, "font.family": family})


def print_width(needed: float) -> float:
    """The width of a column where that is enough, or else of a page; in inches."""
    return COLUMN if needed <= COLUMN else PAGE


def new_axes(ax: Axes | None, height: float, width: float = COLUMN) -> Any:
    """The user's Axes, or those of a new figure of this size in inches, which makes room for ticks and labels."""
    plt = pyplot()
    if ax is None:
        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    return _checked(ax)


def new_sheet(ax: Axes | None, height: float, width: float = COLUMN, top: float = 0.06, bottom: float = 0.06) -> Any:
    """Axes that fill a new figure but for margins in inches: all text stands inside of them."""
    plt = pyplot()
    if ax is not None:
        return _checked(ax)
    total = height + top + bottom
    figure = plt.figure(figsize=(width, total))
    side = 0.04
    return figure.add_axes((side / width, bottom / total, 1 - 2 * side / width, height / total))


def _checked(ax: Axes) -> Any:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(f"ax: got {type(ax).__name__}, expected a matplotlib Axes, such as plt.subplots() gives")
    return ax


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the Axes in points."""
    box = ax.get_window_extent()
    scale = _POINTS / ax.figure.dpi
    return float(box.width * scale), float(box.height * scale)


def row_size(ax: Axes, n_rows: float, largest: float = TEXT) -> float:
    """The size of text in rows that share the Axes' height, so that they do not touch."""
    return float(min(largest, 0.82 * size_in_points(ax)[1] / max(n_rows, 1)))


def bare(ax: Axes, *keep: str) -> None:
    """Take away ticks and all spines but those to keep."""
    ax.tick_params(labelsize=SMALL, length=2, width=0.6, color=GREY, labelcolor=INK)
    for name, spine in ax.spines.items():
        spine.set_visible(name in keep)
        spine.set(linewidth=0.6, color=GREY)


def finish(ax: Axes, xlabel: str = "", ylabel: str = "", title: str = "") -> Any:
    """Labels in the sizes that all plots share, and no frame at the top and right."""
    bare(ax, "left", "bottom")
    ax.set_xlabel(xlabel, fontsize=TEXT, color=INK)
    ax.set_ylabel(ylabel, fontsize=TEXT, color=INK)
    ax.set_title(title, fontsize=TEXT, color=INK, loc="left")
    return ax


# --- text -------------------------------------------------------------------------------------------------------


def shown(text: object, longest: int = 24) -> str:
    """A word as it can be drawn: no control characters, no formula by dollar signs, and not too long."""
    text = _UNPRINTABLE.sub(" ", str(text))
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text.replace("$", r"\$")


def all_shown(names: Sequence[Any], longest: int) -> list[str]:
    """Names of classes, shortened at the end, or in the middle where several would look the same."""
    found = [shown(name, longest) for name in names]
    if len(set(found)) == len(set(map(str, names))):
        return found
    tail = longest // 2
    cut = [name if len(name) <= longest else f"{name[: longest - tail - 1]}…{name[-tail:]}" for name in map(str, names)]
    return [shown(name, longest) for name in cut]


@lru_cache(maxsize=20_000)
def text_width(text: str, size: float) -> float:
    """The width of a text in points."""
    pyplot()  # says what is missing
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    found = TextToPath().get_text_width_height_descent(text.replace(r"\$", "$"), FontProperties(size=100), False)
    return _WIDER * float(found[0]) * size / 100


def fit_words(words: Sequence[Any], width: float, size: float, start: str = "") -> str:
    """As many words as fit in a width in points, after `start`; the first one is shortened where it must be."""
    if text_width(start, size) > width:
        return fit_text(start, width, size)
    line = start
    for place, word in enumerate(words):
        longer = line + (", " if place else "") + shown(word)
        if text_width(longer, size) > width:
            return line if place else fit_text(longer, width, size)
        line = longer
    return line


def fit_text(text: str, width: float, size: float) -> str:
    """A text, shortened to a width in points."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip("\\ ") + "…"


def number(value: float) -> str:
    """A number with few digits, and a real minus sign."""
    size = abs(value)
    text = f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"
    if 0 < size < 0.01:
        text = f"{value:.1g}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share in whole percent; "<1" for a small one."""
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


# --- models and data --------------------------------------------------------------------------------------------


def fitted(given: TopicEstimator, plot: str) -> TopicEstimator:
    """A fitted model; the best one of a search."""
    best: Any = getattr(given, "best_estimator_", None)
    model: TopicEstimator = given if best is None else best
    if not hasattr(model, "components_") and not hasattr(type(model), "components_"):
        raise TypeError(f"model: got {type(model).__name__}, expected a fitted supertopic model for plot_{plot}")
    check_is_fitted(model, "fitted_")
    return model


def labels_of(y: object, n_documents: int) -> np.ndarray:
    """y as (D,) objects, None where missing; refuses another number of documents."""
    import pandas as pd

    if y is None:
        raise ValueError("y: got None, expected one value for each document")
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"y: got shape {values.shape}, expected one value for each document")
    if len(values) != n_documents:
        raise ValueError(f"y: got {len(values)} values, expected one for each of the {n_documents} documents")
    values = values.copy()
    values[np.asarray(pd.isna(values), dtype=bool)] = None
    return values


def categories_of(y: object) -> list[str] | None:
    """The categories of an ordered categorical, in their order; None for any other y."""
    if not getattr(getattr(y, "dtype", None), "ordered", False) or not hasattr(y, "cat"):
        return None
    return [str(category) for category in y.cat.categories]


def named(model: TopicEstimator, longest: int = 24) -> list[str]:
    """The user's labels of topics as they can be drawn; "" where there is none."""
    return [shown(label, longest) for label in topic_labels(model)]


def shares_of(model: TopicEstimator, X: object, needed_by: str) -> np.ndarray:
    """(D, K) topic shares of X, or of the training documents."""
    if X is not None:
        return np.asarray(model.transform(X), dtype=np.float64)
    if not hasattr(model, "doc_topic_"):
        raise ValueError(f"X: got None, but the model keeps no shares of its training documents; {needed_by} needs X")
    return np.asarray(model.doc_topic_, dtype=np.float64)
