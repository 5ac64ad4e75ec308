"""The options --target and --response: choose a response that fits the values of the column.

If no response is given, a message says how the column is interpreted and how to change that, so that class ids are not
fitted as numbers unnoticed. Only responses in the registry are chosen or suggested.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import typer

from supertopic.cli.models import Entry, find_entry, refuse_choice

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

LARGEST = 1e15  # of a number, as in the library
_AMOUNT = re.compile(r"[$€£¥₹]\s?\d[\d,.]*|\d[\d,.]*\s?[$€£¥₹%]|\d{1,3}(,\d{3})+(\.\d+)?")  # "$1,200", "45%"


@dataclass(frozen=True)
class Choice:
    """The name of a response, its kind ("number" or "class"), and the reason for the choice."""

    response: str
    kind: str
    why: str = ""


@dataclass(frozen=True)
class ColumnValues:
    """The cells of a column: None if empty, whole numbers as int, other numbers as float, labels unchanged."""

    name: str
    values: np.ndarray
    dates: bool = False  # which are taken as years

    @classmethod
    def of(cls, column: pd.Series, name: str, may_be_empty: bool = False) -> ColumnValues:
        """Convert a column as it was read; raise if it is empty or has values other than numbers and labels."""
        import numpy as np

        cells = [_cell(value, missing) for value, missing in zip(column.tolist(), column.isna(), strict=True)]
        known = [value for value in cells if value is not None]
        if not known and not may_be_empty:
            raise ValueError(f"column {name!r} is empty in all {len(cells):,} rows: there is nothing to learn from")
        from supertopic.dates import are_dates, years_of

        if dates := are_dates(known):
            years = iter(years_of(known, f"column {name!r}").tolist())
            cells = [None if value is None else next(years) for value in cells]
            known = [value for value in cells if value is not None]
        wrong = next((value for value in known if not isinstance(value, str | Real)), None)
        if wrong is not None:
            what = type(wrong).__name__
            raise ValueError(f"column {name!r} holds values of type {what}; expected numbers or labels")
        if len({isinstance(value, str) for value in known}) > 1:  # a CSV is read in parts, whose types may differ
            cells = _same_type(cells)
        values = np.empty(len(cells), dtype=object)
        values[:] = cells
        return cls(name, values, dates)

    @cached_property
    def known(self) -> list[Any]:
        return [value for value in self.values if value is not None]

    @cached_property
    def distinct(self) -> list[Any]:
        return sorted(set(self.known))

    @property
    def is_text(self) -> bool:
        return any(isinstance(value, str) for value in self.known)

    def as_numbers(self, response: str) -> np.ndarray:
        """Return float64 values, NaN if empty; the error for text suggests a response."""
        import numpy as np

        numbers = [math.nan if value is None else _number(value) for value in self.values]
        if None in numbers:
            wrong = self.values[numbers.index(None)]
            from supertopic.responses.choice import usual_of_classes

            of_classes = usual_of_classes(len(self.distinct))
            instead = f"use --response {of_classes}" if of_classes else "leave the cell empty where there is no number"
            raise ValueError(
                f"column {self.name!r} holds {wrong!r:.60}, which is no number, but --response {response} is for"
                f" numbers; {instead}"
            )
        found = np.array(numbers, dtype=np.float64)
        wrong = np.flatnonzero(np.abs(found) > LARGEST)
        if len(wrong):
            raise ValueError(f"column {self.name!r} holds {found[wrong[0]]:g}, expected numbers up to {LARGEST:g}")
        return found

    def as_labels(self, response: str) -> np.ndarray:
        """Return labels, None if empty; the error for fractions suggests a response."""
        fraction = next((value for value in self.known if isinstance(value, float)), None)
        if fraction is not None:
            raise ValueError(
                f"column {self.name!r} holds {fraction:g}, which is no class, but --response {response} is for"
                f" classes; use --response gaussian"
            )
        return self.values.copy()

    def encoded(self, choice: Choice) -> Any:
        """Return y for the estimator of the chosen response."""
        if len(self.distinct) == 1:
            raise ValueError(f"column {self.name!r} holds one value only, {self.distinct[0]!r:.60}: nothing to learn")
        return self.as_numbers(choice.response) if choice.kind == "number" else self.as_labels(choice.response)


def responses(kind: str = "") -> dict[str, str]:
    """Return all registered responses with their kind ("number" or "class")."""
    from supertopic.responses.base import registry

    found = {name: response.kind for name, response in registry().items() if response.kind in ("number", "class")}
    return {name: of for name, of in found.items() if kind in ("", of)}


def check_target(model: str, targets: Sequence[str], response: str | None = None) -> None:
    """Raise if the model takes another number of targets, or if a response does not exist."""
    entry, n = find_entry(model), len(targets)
    for option, value in (("--target", n), ("--response", response is not None)):
        if value and not entry.needs_target:
            raise typer.BadParameter(f"the model {model} has no response.", param_hint=option)
    if "place" in entry.estimators and n != 2:
        raise typer.BadParameter(
            f"the model {model} learns from places: give two columns of degrees, as --target LATITUDE,LONGITUDE."
        )
    if entry.needs_target and n == 0:
        raise typer.BadParameter(f"the model {model} learns from a response: say which column with --target.")
    if n > 1 and not entry.takes_several:
        raise typer.BadParameter(
            f"the model {model} takes one column; the model slda takes several.", param_hint="--target"
        )
    if response is not None:
        _check_responses(entry, response.split(","), n)


def _check_responses(entry: Entry, asked: Sequence[str], n_targets: int) -> None:
    if len(asked) not in (1, n_targets):
        raise typer.BadParameter(f"got {len(asked)} names for {n_targets} columns.", param_hint="--response")
    offered = [name for name, kind in responses().items() if kind in entry.estimators]
    offered = list(entry.responses.values()) or offered
    for name in asked:
        if name not in offered:
            refuse_choice("response", name, offered)


def choose(target: ColumnValues, asked: str | None, only: Mapping[str, str] | None = None) -> Choice:
    """Return the requested response, or one that fits the column; `only` limits the choice to one response per kind."""
    if only and len(only) == 1:
        return _only_classes(target, only["class"])
    if only:
        kind = {name: kind for kind, name in only.items()}.get(asked or "") or choose(target, None).kind
        other = "class" if kind == "number" else "number"
        plural = {"number": "numbers", "class": "classes"}
        why = f"is taken as {plural[kind]} ({only[kind]})"
        why += "." if target.is_text else f"; use --response {only[other]} for {plural[other]}."
        return Choice(only[kind], kind, "" if asked else f"Column {target.name!r} {why}")
    if asked is not None:
        return Choice(asked, responses()[asked])
    from supertopic.responses.choice import choose_response

    if target.is_text:
        _refuse_prose(target)
    if target.dates:
        return Choice("gaussian", "number", f"Column {target.name!r} holds dates: taken as years, such as 2008.25.")
    try:
        found = choose_response(target.known)
    except ValueError as error:
        instead = "" if target.is_text else "; use --response gaussian for numbers"
        raise ValueError(f"column {target.name!r} {error}{instead}") from None
    instead = " or ".join(f"{name} for {use}" for name, use in found.others)
    why = f"Column {target.name!r} {found.what}" + (f"; use --response {instead}." if instead else ".")
    return Choice(found.response, found.kind, why)


def _only_classes(target: ColumnValues, response: str) -> Choice:
    """Return the choice for a model whose only response is for classes."""
    fraction = next((value for value in target.known if isinstance(value, float)), None)
    if fraction is not None:
        raise ValueError(
            f"column {target.name!r} holds {fraction:g}, which is no class; use --model slda or medlda for numbers"
        )
    if target.is_text:
        _refuse_prose(target)
    return Choice(response, "class")


def unlabelled(target: ColumnValues, y: Any) -> str:
    """Return a sentence with the number of documents without a label; empty if all have one."""
    n = sum(value is None or value != value for value in y)
    documents = "its document takes" if n == 1 else "these documents take"
    return (
        f"Column {target.name!r} is empty in {n:,} of {len(y):,} rows: {documents} part without a label." if n else ""
    )


def _refuse_prose(target: ColumnValues) -> None:
    """Raise if the text is not labels: numbers with a few words among them, or a different text in most rows."""
    from supertopic.responses.choice import usual_of_classes

    strays = [value for value in target.known if _number(value) is None]
    if len(strays) < 0.5 * len(target.known):
        stray = f"{strays[0]!r:.60} among numbers" if strays else f"numbers as text, such as {target.known[0]!r:.60}"
        instead = "leave such cells empty" if strays else "use --response gaussian"
        of_classes = usual_of_classes(len(target.distinct))
        also = f", or use --response {of_classes} for classes" if of_classes else ""
        raise ValueError(f"column {target.name!r} holds {stray}; {instead}{also}")
    amounts = [value for value in strays if _AMOUNT.fullmatch(str(value).strip())]
    if 2 * len(amounts) > len(target.known):
        raise ValueError(
            f"column {target.name!r} holds {amounts[0]!r:.60}, which is text; write numbers alone, without a sign of"
            " money, per cent or thousands"
        )
    if len(target.distinct) > 2 and 2 * len(target.distinct) > len(target.known):
        raise ValueError(
            f"column {target.name!r} holds {len(target.distinct):,} distinct texts in {len(target.known):,} rows, which"
            " are no classes; is it the right --target?"
        )


def _cell(value: Any, missing: Any) -> Any:
    """Return a cell as str, bool, int (a whole number) or float; None if it is empty."""
    if missing is True or value is None or (isinstance(value, str) and not value.strip()):
        return None
    if getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, Decimal):
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def _same_type(cells: Iterable[Any]) -> list[Any]:
    """Convert all cells to numbers if possible, otherwise all to text."""
    cells = list(cells)
    numbers = [None if value is None else _number(value) for value in cells]
    if all((number is None) == (value is None) for number, value in zip(numbers, cells, strict=True)):
        return [_cell(number, False) for number in numbers]
    return [None if value is None else str(value) for value in cells]
