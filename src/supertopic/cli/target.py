"""--target and --response: what the column of the response holds, and so which response fits it.

Class ids are never fitted as numbers in silence: where no response is asked for, a sentence says what the column was
taken for and how to have it otherwise. Only responses in the registry are chosen or offered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli.models import find_entry, refuse_choice

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FEW = 20  # so many distinct whole numbers still look like class ids
LONGEST_SCALE = 11  # of ratings: 0 to 10

TargetColumn = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COL",
        help="The column of the response, for models that have one; an empty cell is a document without a label.",
        show_default=False,
    ),
]
ResponseName = Annotated[
    str | None,
    typer.Option(
        "--response",
        metavar="NAME",
        help="How topics make the target (gaussian, negative_binomial, logit, …; a wrong name lists them all)."
        " By default it is chosen from the column, and said.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Choice:
    """A response by its name, what it is of ("number" or "class"), and why it was chosen."""

    response: str
    kind: str
    why: str = ""


@dataclass(frozen=True)
class ColumnValues:
    """The cells of a column, None where empty: whole numbers as int, other numbers as float, labels as they are."""

    name: str
    values: np.ndarray

    @classmethod
    def of(cls, column: pd.Series, name: str) -> ColumnValues:
        """Cells as they were read; refuses columns that hold neither numbers nor labels, or nothing at all."""
        import numpy as np

        cells = [_cell(value, missing) for value, missing in zip(column.tolist(), column.isna(), strict=True)]
        known = [value for value in cells if value is not None]
        if not known:
            raise ValueError(f"column {name!r} is empty in all {len(cells):,} rows: there is nothing to learn from")
        wrong = next((value for value in known if not isinstance(value, str | Real)), None)
        if wrong is not None:
            what = type(wrong).__name__
            raise ValueError(f"column {name!r} holds values of type {what}; expected numbers or labels")
        if len({isinstance(value, str) for value in known}) > 1:  # a CSV is read in parts, and each has its own type
            cells = _same_type(cells)
        values = np.empty(len(cells), dtype=object)
        values[:] = cells
        return cls(name, values)

    @cached_property
    def known(self) -> list[Any]:
        return [value for value in self.values if value is not None]

    @cached_property
    def distinct(self) -> list[Any]:
        return sorted(set(self.known))

    @property
    def is_text(self) -> bool:
        return any(isinstance(value, str) for value in self.known)

    @property
    def is_whole(self) -> bool:
        return all(isinstance(value, int) for value in self.known)

    def as_numbers(self, response: str) -> np.ndarray:
        """float64, NaN where empty; refuses text, and names the response that is for it."""
        import numpy as np

        numbers = [math.nan if value is None else _number(value) for value in self.values]
        if None in numbers:
            wrong = self.values[numbers.index(None)]
            of_classes = _usual_of_classes(len(self.distinct))
            instead = f"use --response {of_classes}" if of_classes else "leave the cell empty where there is no number"
            raise ValueError(
                f"column {self.name!r} holds {wrong!r:.60}, which is no number, but --response {response} is for"
                f" numbers; {instead}"
            )
        return np.array(numbers, dtype=np.float64)

    def as_labels(self, response: str) -> np.ndarray:
        """Labels, None where empty or -1 (as in the library); refuses fractions, and names the response for them."""
        fraction = next((value for value in self.known if isinstance(value, float)), None)
        if fraction is not None:
            raise ValueError(
                f"column {self.name!r} holds {fraction:g}, which is no class, but --response {response} is for"
                f" classes; use --response gaussian"
            )
        labels = self.values.copy()
        if self.classes != self.distinct:
            labels[[value == -1 for value in labels]] = None
        return labels

    def encoded(self, choice: Choice) -> Any:
        """What the estimator of the chosen response takes as y."""
        if len(self.distinct) == 1:
            raise ValueError(f"column {self.name!r} holds one value only, {self.distinct[0]!r:.60}: nothing to learn")
        return self.as_numbers(choice.response) if choice.kind == "number" else self.as_labels(choice.response)

    @property
    def classes(self) -> list[Any]:
        """The distinct values, without -1 where it stands for "no label": the only negative of three whole numbers."""
        others = [value for value in self.distinct if value != -1] if self.is_whole else self.distinct
        return others if self.is_whole and len(others) > 1 and others[0] >= 0 else self.distinct


def responses(kind: str = "") -> dict[str, str]:
    """All registered responses with what they are of ("number" or "class")."""
    from supertopic.responses.base import registry

    found = {name: response.kind for name, response in registry().items() if response.kind in ("number", "class")}
    return {name: of for name, of in found.items() if kind in ("", of)}


def check_target(model: str, target: str | None, response: str | None = None) -> None:
    """A target is needed by supervised models and refused by the others, and a response has to be one that exists."""
    needed = find_entry(model).needs_target
    if needed and target is None:
        raise typer.BadParameter(f"the model {model} learns from a response: say which column with --target.")
    for option, value in (("--target", target), ("--response", response)):
        if value is not None and not needed:
            raise typer.BadParameter(f"the model {model} has no response.", param_hint=option)
    if response is not None:
        entry = find_entry(model)
        offered = [name for name, kind in responses().items() if kind in entry.estimators]
        offered = list(entry.responses.values()) or offered
        if response not in offered:
            refuse_choice("--response", response, offered)


def choose(target: ColumnValues, asked: str | None, only: Mapping[str, str] | None = None) -> Choice:
    """The response asked for, or the one that fits the column; of those in `only`, by kind, where there is no other."""
    if only and len(only) == 1:
        return _only_classes(target, only["class"])
    if only:
        kind = {name: kind for kind, name in only.items()}.get(asked or "") or choose(target, None).kind
        other = "class" if kind == "number" else "number"
        plural = {"number": "numbers", "class": "classes"}
        why = f"is taken as {plural[kind]} ({only[kind]}); use --response {only[other]} for {plural[other]}."
        return Choice(only[kind], kind, "" if asked else f"Column {target.name!r} {why}")
    if asked is not None:
        return Choice(asked, responses()[asked])
    n, whole = len(target.distinct), target.is_whole and not isinstance(target.known[0], bool)
    if isinstance(target.known[0], bool):
        return _of_classes(target, n, "holds true and false")
    if target.is_text:
        _refuse_prose(target)
        return _of_classes(target, n, f"holds {n:,} distinct texts")
    if whole and (n == 2 or (n <= FEW and len(target.known) >= 2 * n)):
        classes = target.classes
        n, low, high = len(classes), classes[0], classes[-1]
        # ids that some program gave start at 0; scales start at 1, run from 0 to 10, or lie around 0
        if 2 < n <= LONGEST_SCALE and high - low == n - 1 and (low != 0 or n == LONGEST_SCALE) and _known("ordinal"):
            why = f"holds {n} consecutive whole numbers, {low} to {high}: taken as an ordered rating (ordinal)"
            return Choice("ordinal", "class", _sentence(target, why, softmax="classes", gaussian="numbers"))
        return _of_classes(target, n, f"holds {n:,} distinct whole numbers", gaussian="numbers")
    if whole and target.distinct[0] >= 0 and _known("negative_binomial"):
        why = f"holds {n:,} distinct whole numbers from {target.distinct[0]:,} on: taken as counts (negative_binomial)"
        return Choice(
            "negative_binomial", "number", _sentence(target, why, gaussian="plain numbers", softmax="classes")
        )
    why = f"holds numbers from {target.distinct[0]:g} to {target.distinct[-1]:g}: taken as plain numbers (gaussian)"
    return Choice("gaussian", "number", _sentence(target, why))


def _only_classes(target: ColumnValues, response: str) -> Choice:
    """The classes of a column for a model that has no other response."""
    fraction = next((value for value in target.known if isinstance(value, float)), None)
    if fraction is not None:
        raise ValueError(
            f"column {target.name!r} holds {fraction:g}, which is no class; use --model slda or medlda for numbers"
        )
    if target.is_text:
        _refuse_prose(target)
    return Choice(response, "class")


def unlabelled(target: ColumnValues, y: Any) -> str:
    """How many documents have no label, in words; nothing where all have one."""
    n, n_empty = sum(value is None or value != value for value in y), len(y) - len(target.known)
    where = "is empty" if n == n_empty else "is empty or -1" if n_empty else "is -1"
    documents = "its document takes" if n == 1 else "these documents take"
    return f"Column {target.name!r} {where} in {n:,} of {len(y):,} rows: {documents} part without a label." if n else ""


def _of_classes(target: ColumnValues, n: int, what: str, **others: str) -> Choice:
    response = _usual_of_classes(n)
    if response is None:
        instead = "; use --response gaussian for numbers" if others else ""
        raise ValueError(
            f"column {target.name!r} {what}: taken as classes, and no response is for more than two{instead}"
        )
    return Choice(response, "class", _sentence(target, f"{what}: taken as classes ({response})", **others))


def _usual_of_classes(n: int) -> str | None:
    return next((name for name in (("logit",) if n <= 2 else ("softmax",)) if _known(name)), None)


def _known(response: str) -> bool:
    return response in responses()


def _sentence(target: ColumnValues, what: str, **others: str) -> str:
    """What the column was taken for, and the registered responses that would take it otherwise."""
    instead = " or ".join(f"{name} for {use}" for name, use in others.items() if _known(name))
    return f"Column {target.name!r} {what}" + (f"; use --response {instead}." if instead else ".")


def _refuse_prose(target: ColumnValues) -> None:
    """Text that is no label: numbers with a few stray words among them, or nearly every row its own."""
    strays = [value for value in target.known if _number(value) is None]
    if len(strays) < 0.5 * len(target.known):
        stray = f"{strays[0]!r:.60} among numbers" if strays else f"numbers as text, such as {target.known[0]!r:.60}"
        instead = "leave such cells empty" if strays else "use --response gaussian"
        of_classes = _usual_of_classes(len(target.distinct))
        also = f", or use --response {of_classes} for classes" if of_classes else ""
        raise ValueError(f"column {target.name!r} holds {stray}; {instead}{also}")
    if len(target.distinct) > 2 and 2 * len(target.distinct) > len(target.known):
        raise ValueError(
            f"column {target.name!r} holds {len(target.distinct):,} distinct texts in {len(target.known):,} rows, which"
            " are no classes; is it the right --target?"
        )


def _cell(value: Any, missing: Any) -> Any:
    """A cell as str, bool, int (a whole number) or float; None where it is empty."""
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
    except (TypeError, ValueError):
        return None


def _same_type(cells: Iterable[Any]) -> list[Any]:
    """Numbers throughout where every text is one, otherwise text throughout."""
    cells = list(cells)
    numbers = [None if value is None else _number(value) for value in cells]
    if all((number is None) == (value is None) for number, value in zip(numbers, cells, strict=True)):
        return [_cell(number, False) for number in numbers]
    return [None if value is None else str(value) for value in cells]
