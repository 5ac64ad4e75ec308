"""Results as HTML for notebooks: tables with words whole, and small pictures, everything escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MORE, LESS, GREY = "#0072B2", "#D55E00", "#8a8a8a"  # blue and orange that readers who are colour-blind tell apart
_LONGEST = 200  # characters of a word
_MOST_ROWS = 100
_NUMBERS = re.compile(r"\d+(, \d+)*")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LEFT, _RIGHT = "text-align:left;vertical-align:top", "text-align:right;white-space:nowrap;vertical-align:top"
_HEADS = {True: "text-align:left;vertical-align:bottom", False: "text-align:right;vertical-align:bottom"}
_WIDE = 40  # characters of a cell that wants a wide column


def printable(value: object) -> str:
    """Text without control characters, line separators and halves of characters."""
    return _UNPRINTABLE.sub("�", str(value))


def shown(value: object) -> str:
    """A word or a name as HTML: escaped, in its own direction, and cut only where it is longer than any word."""
    text = printable(value)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"<bdi>{escape(text)}</bdi>"


def words_html(words: Sequence[Any]) -> str:
    """Words, separated by commas."""
    return ", ".join(shown(word) for word in words)


def number(value: Any) -> str:
    """A number with three digits that matter, and a real minus sign; a whole number as it is."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return "–"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}".replace("-", "−")
    size = abs(float(value))
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 or size == 0 else 3
    text = f"{value:,.{digits}f}" if size == 0 or 1e-3 <= size < 1e7 else f"{value:.3g}"
    return text.replace("-", "−")


def numbers(values: Any) -> list[str]:
    """Numbers of one column, with as many decimals as its largest needs."""
    found = np.asarray(values)
    if found.dtype.kind in "iu" or found.dtype.kind == "O":
        return [number(value) for value in values]
    sizes = np.abs(found[np.isfinite(found)])
    largest = float(sizes.max(initial=0.0))
    if largest >= 1e7 or (0 < largest < 1e-3):
        return [number(value) for value in found]
    digits = 0 if largest >= 1000 else 1 if largest >= 10 else 2 if largest >= 1 else 3
    return ["–" if np.isnan(value) else f"{value:,.{digits}f}".replace("-", "−") for value in found]


def table_html(columns: Mapping[str, Sequence[str]], left: Sequence[str] = (), bold: Sequence[int] = ()) -> str:
    """A table of cells that are HTML already; the names of the columns are escaped here.

    left : columns of text, which begin at the left; the others are numbers
    bold : rows to be set in bold
    """
    wide = [name for name in left if any(len(cell) > _WIDE for cell in columns[name])]
    head = "".join(
        f"<th style='{_HEADS[name in left]}{';min-width:20em' if name in wide else ''}'>{escape(str(name))}</th>"
        for name in columns
    )
    rows = []
    for place, cells in enumerate(zip(*columns.values(), strict=True)):
        weight = ";font-weight:bold" if place in bold else ""
        pairs = zip(columns, cells, strict=True)
        inside = "".join(f"<td style='{_LEFT if name in left else _RIGHT}{weight}'>{cell}</td>" for name, cell in pairs)
        rows.append(f"<tr>{inside}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def frame_html(frame: pd.DataFrame, bold: Sequence[int] = ()) -> str:
    """A frame with its text whole; at most a hundred rows."""
    part = frame.iloc[:_MOST_ROWS]
    own = _own_rows(part)
    columns = {str(frame.index.name or ""): [shown(value) for value in part.index]}
    left = [] if pd.api.types.is_numeric_dtype(frame.index) else [str(frame.index.name or "")]
    for place, name in enumerate(frame.columns):
        column = part.iloc[:, place]
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        columns[str(name)] = numbers(column.to_numpy()) if numeric else [shown(value) for value in column]
        for row in own if numeric else ():
            columns[str(name)][row] = number(column.iloc[row])
        left += [] if numeric else [str(name)]
    more = f"<div>… {len(frame) - len(part):,} more rows</div>" if len(part) < len(frame) else ""
    return f"<div style='overflow-x:auto'>{table_html(columns, left, bold)}{more}</div>"


class TopicFrame(pd.DataFrame):
    """A DataFrame whose words are shown whole, where pandas cuts them at 50 characters; with a line or two below.

    ``attrs["below"]`` is a list of such lines. Rows whose last label is in ``attrs["own_units"]`` have decimals of
    their own: the coefficient of a year is small beside that of a topic, and would be shown as zero.
    """

    @property
    def _constructor(self) -> type[TopicFrame]:
        return TopicFrame

    def __repr__(self) -> str:
        table = _as_text(self).to_string(max_rows=_MOST_ROWS, formatters=_formatters(self), na_rep="")
        return "\n".join([table, *_below(self)])

    def _repr_html_(self) -> str:
        return frame_html(self) + "".join(f"<div>{escape(line)}</div>" for line in _below(self))

    def to_latex(self, buf: Any = None, *, caption: str | None = None, label: str | None = None) -> str | None:
        """The table in LaTeX that needs no package: missing cells are blank, and the lines below are notes.

        buf : a path or an open file to write to; None returns the text
        caption, label : of a table environment; without them it is a tabular alone
        """
        text = latex_table(self, caption, label)
        if buf is None:
            return text
        if hasattr(buf, "write"):
            buf.write(text)
        else:
            Path(buf).write_text(text, encoding="utf-8")
        return None


_P_VALUES, _LEAST_P = ("p", "p_adjusted", "p_permuted"), 1e-4
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "<": "$<$", ">": "$>$",
    }
)  # fmt: skip


def latex_table(frame: pd.DataFrame, caption: str | None = None, label: str | None = None) -> str:
    """A frame as LaTeX; numbers stand to the right, words to the left."""
    form, text = _formatters(frame), _as_text(frame)
    names = [str(name) for name in frame.columns]
    columns = [[_latex_cell(value, form.get(name)) for value in text[name]] for name in frame.columns]
    right = [pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) for dtype in frame.dtypes]
    for level in reversed(range(frame.index.nlevels)):
        if frame.index.names[level] is not None or frame.index.nlevels > 1:
            values = frame.index.get_level_values(level)
            names.insert(0, str(frame.index.names[level] or ""))
            columns.insert(0, [_latex_cell(value, None) for value in values])
            right.insert(0, pd.api.types.is_numeric_dtype(values.dtype))
    lines = [rf"\begin{{tabular}}{{{''.join('r' if one else 'l' for one in right)}}}", r"\hline"]
    lines += [" & ".join(name.translate(_LATEX) for name in names) + r" \\", r"\hline"]
    lines += [" & ".join(cells) + r" \\" for cells in zip(*columns, strict=True)]
    lines += [r"\hline"]
    lines += [rf"\multicolumn{{{len(names)}}}{{l}}{{{line.translate(_LATEX)}}} \\" for line in _below(frame)]
    lines += [r"\end{tabular}"]
    if caption is not None or label is not None:
        head = [r"\begin{table}", r"\centering"]
        head += [] if caption is None else [rf"\caption{{{caption.translate(_LATEX)}}}"]
        head += [] if label is None else [rf"\label{{{label}}}"]
        lines = [*head, *lines, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_cell(value: Any, form: Callable[[float], str] | None) -> str:
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        value = value.date()
    text = str(value) if form is None or isinstance(value, str) else form(value)
    if re.fullmatch(r"-[\d.]+", text):
        text = f"−{text[1:]}"
    return _UNPRINTABLE.sub(" ", text).translate(_LATEX)


def _formatters(frame: pd.DataFrame) -> dict[str, Callable[[float], str]]:
    """Four digits of the largest number of each column, and as many decimals for the others; none for whole numbers."""
    found: dict[str, Callable[[float], str]] = {}
    own = _own_rows(frame)
    for name in frame.columns[[pd.api.types.is_float_dtype(dtype) for dtype in frame.dtypes]]:
        values = frame[name].to_numpy(dtype=np.float64)
        values = np.delete(values, own)
        values = np.abs(values[np.isfinite(values)])
        whole = bool(np.all(values == np.round(values)))
        found[name] = _p_value if name in _P_VALUES else partial(_decimal, 0 if whole else _digits(values.max()))
    return found


def _p_value(value: object) -> str:
    return f"<{_LEAST_P:g}" if isinstance(value, float) and value < _LEAST_P else _decimal(4, value)


def _decimal(digits: int, value: object) -> str:
    return value if isinstance(value, str) else "" if value != value else f"{value:.{digits}f}"


def _own_rows(frame: pd.DataFrame) -> np.ndarray:
    """The places of the rows with units of their own."""
    return np.flatnonzero(frame.index.get_level_values(-1).isin(frame.attrs.get("own_units", ())))


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """A plain frame, in which the numbers of rows with units of their own are text already."""
    rows = _own_rows(frame)
    if not len(rows):
        return pd.DataFrame(frame)
    found = pd.DataFrame(frame).astype(object)
    floats = np.flatnonzero([pd.api.types.is_float_dtype(dtype) for dtype in frame.dtypes])
    for row in rows:
        values = frame.iloc[row, floats].to_numpy(dtype=np.float64)
        known = np.abs(values[np.isfinite(values) & (values != 0)])
        digits = _digits(float(np.median(known)) if len(known) else 0.0)
        found.iloc[row, floats] = [_decimal(digits, value) for value in values]
    return found


def _digits(size: float) -> int:
    """Decimals for four digits of a number."""
    return 0 if size == 0 else int(np.clip(3 - np.floor(np.log10(size)), 0, 8))


def _below(frame: pd.DataFrame) -> list[str]:
    """Lines below a table of topics."""
    lines = list(frame.attrs.get("below", ()))
    if "words" in frame and len(frame) and frame["words"].astype(str).str.fullmatch(_NUMBERS).all():
        lines.append(
            "These words are column numbers, since the counts came without names: model.name_words(vectorizer) gives "
            "them, or fit a Pipeline, a frame of counts, or texts."
        )
    return lines


# --- pictures ---------------------------------------------------------------------------------------------------


def dots_svg(values: np.ndarray, ends: np.ndarray | None, reach: np.ndarray, width: float) -> str:
    """A small picture: for each column a lane with zero in its middle, a dot at the coefficient, and its interval.

    values : (C,) coefficients
    ends : (2, C) ends of the intervals
    reach : (C,) how far a lane goes from zero
    width : pixels of a lane
    """
    parts = []
    for place, value in enumerate(values):
        middle, unit = (place + 0.5) * width, 0.46 * width / max(float(reach[place]), 1e-300)
        low, high = (value, value) if ends is None else ends[:, place]
        sure = value != 0 and (ends is None or low > 0 or high < 0)
        colour = GREY if not sure else MORE if value > 0 else LESS
        start, stop = (middle + unit * float(np.clip(end, -reach[place], reach[place])) for end in (low, high))
        x = middle + unit * float(np.clip(value, -reach[place], reach[place]))
        fill = "none" if value == 0 else colour
        parts.append(
            f"<line x1='{middle:.1f}' x2='{middle:.1f}' y1='0' y2='16' stroke='{GREY}' stroke-opacity='0.4'/>"
            f"<line x1='{start:.1f}' x2='{stop:.1f}' y1='8' y2='8' stroke='{colour}' stroke-width='1.5'/>"
            f"<circle cx='{x:.1f}' cy='8' r='3' fill='{fill}' stroke='{colour}'/>"
        )
    whole = width * len(values)
    return (
        f"<svg width='{whole:.0f}' height='16' aria-hidden='true' style='vertical-align:middle'>{''.join(parts)}</svg>"
    )


def bar_svg(share: float, longest: float) -> str:
    """A small bar, as long as a share of the longest."""
    width = 40 * share / max(longest, 1e-300)
    bar = f"<rect x='0' y='3' width='{width:.1f}' height='10' fill='{GREY}' fill-opacity='0.5'/>"
    return f"<svg width='40' height='16' aria-hidden='true' style='vertical-align:middle'>{bar}</svg>"


def curve_svg(x: Sequence[float], y: Sequence[float], marked: int) -> str:
    """A small curve with one point marked."""
    points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
    known = np.isfinite(points).all(axis=1)
    if not known.any():
        return ""
    low, span = points[known].min(axis=0), np.ptp(points[known], axis=0)
    places = np.array([8, 40]) + (points - low) / np.where(span > 0, span, 1.0) * np.array([144, -32])
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places[known])
    dot = (
        f"<circle cx='{places[marked, 0]:.1f}' cy='{places[marked, 1]:.1f}' r='4' fill='{LESS}'/>"
        if known[marked]
        else ""
    )
    return (
        f"<svg width='160' height='48' aria-hidden='true'><polyline points='{line}' fill='none' stroke='{MORE}' "
        f"stroke-width='1.5'/>{dot}</svg>"
    )
