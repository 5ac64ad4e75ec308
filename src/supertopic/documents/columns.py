"""Columns that users give, of any frame, dict or array, as numbers: numbers, categories, dates and identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from supertopic.dates import are_dates, days_of
from supertopic.later import Later

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
    import pandas as pd
else:
    nw, pd = Later("narwhals.stable.v1"), Later("pandas")

__all__ = ["Column", "Columns", "as_categories", "listed", "read_columns"]

KINDS = ("number", "category", "date", "identifier")
_DISTINCT, _FEW = 0.95, 20  # share of values that differ, from so many documents on, of what only tells documents apart
_NAMES_OF_IDS = re.compile(r"(?:.*_)?(?:id|index|uuid|rowid|row|url|number|nr|no)|unnamed: 0", re.I)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of metadata.

    An identifier tells documents apart and nothing else: a number, key or text that hardly occurs twice. It has levels
    where it is text.
    """

    name: str
    kind: str  # one of KINDS
    values: np.ndarray  # (D,) float64, dates in days since 1970, NaN where missing; int32 places in `levels`, else -1
    levels: tuple[Any, ...] = ()  # what the values of a category stand for

    @classmethod
    def of(cls, name: str, given: object, what: str = "metadata") -> Self:
        """From a series of any library, an array or a list; refuses what is no number, text or date."""
        where = f"{what}: column {name!r}"
        order, values = _plain(given)
        missing = np.asarray(pd.isna(values), dtype=bool)
        known = values[~missing]
        if order is not None:
            return cls._of_levels(name, "category", values, missing, order)
        kind = _kind_of(known, where)
        if kind == "category":
            distinct = tuple(sorted(set(known)))
            kind = "identifier" if tells_apart(name, len(distinct), len(known), text=True) else kind
            return cls._of_levels(name, kind, values, missing, distinct)
        full = np.full(len(values), np.nan)
        full[~missing] = known = days_of(known, where) if kind == "date" else known.astype(np.float64)
        if np.isinf(known).any():
            raise ValueError(f"{where} has infinity, expected finite numbers")
        if kind == "number" and tells_apart(name, len(np.unique(known)), len(known), text=False):
            kind = "identifier"
        return cls(name, kind, full)

    @classmethod
    def _of_levels(cls, name: str, kind: str, values: Any, missing: np.ndarray, levels: tuple[Any, ...]) -> Self:
        place = {level: number for number, level in enumerate(levels)}
        codes = [-1 if gone else place[value] for value, gone in zip(values, missing, strict=True)]
        return cls(name, kind, np.array(codes, dtype=np.int32), levels)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Column:
        return replace(self, values=self.values[rows])

    def __add__(self, other: Column) -> Column:
        """The values of this column and then those of the other, whose levels may be others."""
        here, there = (_of_nothing(one, by) for one, by in ((self, other), (other, self)))
        if bool(here.levels) != bool(there.levels) or (here.kind == "date") != (there.kind == "date"):
            kinds = f"a {self.kind} in one batch and a {other.kind} in another"
            raise ValueError(f"column {self.name!r} holds {kinds}, expected one kind")
        kind = here.kind if here.kind == there.kind else "category" if here.levels else "number"
        if not here.levels:
            return Column(self.name, kind, np.concatenate([here.values, there.values]))
        levels = here.levels + tuple(level for level in there.levels if level not in set(here.levels))
        if all(list(one.levels) == sorted(one.levels) for one in (here, there)):
            levels = tuple(sorted(levels))
        values = [_places(one.levels, levels)[one.values] for one in (here, there)]
        return Column(self.name, kind, np.concatenate(values), levels)

    @property
    def missing(self) -> np.ndarray:
        """(D,) where nothing is known."""
        return self.values < 0 if self.levels else np.isnan(self.values)

    def require_known(self, what: str, expected: str) -> None:
        """Refuse missing values."""
        if self.missing.any():
            row = int(np.argmax(self.missing))
            raise ValueError(f"{what}: missing in row {row}, expected {expected} for every document")

    def series(self) -> pd.Series:
        """As pandas has it."""
        if self.levels:
            return pd.Series(pd.Categorical.from_codes(self.values, categories=list(self.levels)))
        if self.kind == "date":
            return pd.Series(pd.to_datetime(np.round(self.values * 86400.0), unit="s"))
        return pd.Series(self.values)

    def about(self) -> dict[str, Any]:
        """All but the values, as plain values."""
        return {"name": self.name, "kind": self.kind, "levels": list(self.levels)}

    @classmethod
    def restore(cls, about: dict[str, Any], values: np.ndarray) -> Self:
        """What `about` gave; refuses what no column is."""
        name, kind, levels = about["name"], about["kind"], tuple(about["levels"])
        fine = values.ndim == 1 and values.dtype == (np.int32 if levels else np.float64)
        if not (isinstance(name, str) and kind in KINDS and fine):
            raise ValueError("a column of metadata has no name, no kind that is known, or values of another type")
        if levels and values.size and not (values.min() >= -1 and values.max() < len(levels)):
            raise ValueError(f"column {name!r} has values outside of its {len(levels)} levels")
        return cls(name, kind, values, levels)


def read_columns(what: str, given: object, n_documents: int) -> dict[str, Column]:
    """Columns by name, from a frame of any library, a dict of columns, a series, an array or a list.

    A nameless column is called `what`, those of an array are "0", "1", …
    """
    return dict(Columns(what, given, n_documents))


class Columns(Mapping[str, Column]):
    """The columns of a table, each of which is read when it is first asked for; the others may hold anything.

    what, given : as in `read_columns`
    """

    def __init__(self, what: str, given: Any, n_documents: int) -> None:
        self._what, self._given, self._read = what, dict[str, Any](), dict[str, Column]()
        for name, one in _parts(what, given):
            if name in self._given:
                raise ValueError(f"{what}: got two columns {name!r}, expected names that differ")
            if not hasattr(one, "__len__") or len(one) != n_documents:
                n_rows = len(one) if hasattr(one, "__len__") else 1
                raise ValueError(f"{what}: got {n_rows} rows, expected one for each of the {n_documents} documents")
            self._given[name] = one

    def __getitem__(self, name: str) -> Column:
        if name not in self._read:
            self._read[name] = Column.of(name, self._given[name], self._what)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def _parts(what: str, given: object) -> list[tuple[str, Any]]:
    """(name, column) of what a user gives."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(str(name), one) for name, one in given.items()]
    if isinstance(given, pd.DataFrame):  # whose names may be no texts, or stand twice
        names = [str(name) for name in given.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{what}: got two columns {twice!r}, expected names that differ")
        return [(name, given.iloc[:, place]) for place, name in enumerate(names)]
    native = nw.from_native(given, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return [(str(native.name or what), native)]
    if isinstance(native, nw.DataFrame):
        return [(name, native.get_column(name)) for name in native.columns]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        got = type(given).__name__
        raise ValueError(f"{what}: got a {got}, expected a frame, a dict of columns, an array or a list")
    array: Any = given if isinstance(given, np.ndarray) else list(given)
    if isinstance(array, list) and array and all(isinstance(row, Mapping) for row in array):
        return _parts(what, pd.DataFrame(array))
    if isinstance(array, list) and any(isinstance(row, (list, tuple, np.ndarray)) for row in array):
        array = np.asarray(array, dtype=object)
    if np.ndim(array) == 2:
        return [(str(place), array[:, place]) for place in range(array.shape[1])]
    return [(what, array)]


def as_categories(column: Column) -> Column:
    """The column with a level for each value, in their order."""
    if column.levels:
        return replace(column, kind="category")
    known = column.values[~column.missing]
    levels, codes = np.unique(known, return_inverse=True)
    full = np.full(len(column), -1, dtype=np.int32)
    full[~column.missing] = codes
    shown = [str(day) for day in _dates(levels)] if column.kind == "date" else levels.tolist()
    return Column(column.name, "category", full, tuple(shown))


def tells_apart(name: str, n_distinct: int, n_known: int, *, text: bool) -> bool:
    """Whether a column with so many distinct values only tells documents apart."""
    if n_known < _FEW or n_distinct < _DISTINCT * n_known:
        return False
    return text or _NAMES_OF_IDS.fullmatch(name.strip()) is not None


def listed(names: Iterable[Any]) -> str:
    """Some names, for a sentence."""
    names = list(names)
    return ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _places(levels: tuple[Any, ...], among: tuple[Any, ...]) -> np.ndarray:
    """Where levels are among others; the last entry is -1, which missing values find."""
    place = {level: number for number, level in enumerate(among)}
    return np.array([*(place[level] for level in levels), -1], dtype=np.int32)


def _of_nothing(column: Column, other: Column) -> Column:
    """A column without any value is of the other's kind."""
    if not column.missing.all():
        return column
    empty = np.full(len(column), -1, dtype=np.int32) if other.levels else np.full(len(column), np.nan)
    return Column(column.name, other.kind, empty, other.levels)


def _plain(given: object) -> tuple[tuple[Any, ...] | None, np.ndarray]:
    """(levels in their order, values) of a column; no levels where it has no order of its own."""
    series = nw.from_native(given, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None, given if isinstance(given, np.ndarray) and given.dtype.kind in "iufbM" else _objects(given)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return None, series.to_numpy() if series.null_count() == 0 else _objects(series.to_list())
    in_pandas = isinstance(nw.to_native(series), pd.Series)  # the others have no order but that of the first rows
    if series.dtype == nw.Enum or (series.dtype == nw.Categorical and in_pandas):
        order = tuple(map(_level, series.cat.get_categories().to_list()))
        return order, _objects(list(map(_level, series.to_list())))
    return None, _objects(series.to_list())


def _level(value: object) -> Any:
    """A category as a text or number."""
    return value if isinstance(value, (str, Real)) or pd.isna(value) else str(value)


def _objects(given: Any) -> np.ndarray:
    values = np.empty(len(given), dtype=object)
    values[:] = given.tolist() if isinstance(given, np.ndarray) else list(given)
    return values


def _kind_of(known: np.ndarray, where: str) -> str:
    """What the values of a column are: "number", "date" or "category"."""
    if known.dtype.kind != "O":
        return "date" if known.dtype.kind == "M" else "number"
    sorts: dict[str, Any] = {"text": str, "date": (date, np.datetime64), "number": (Real, Decimal, np.bool_)}
    found: dict[str, Any] = {}
    for value in known:
        sort = next((name for name, types in sorts.items() if isinstance(value, types)), None)
        if sort is None:
            raise ValueError(f"{where} holds {value!r:.40}, expected numbers, texts or dates")
        found.setdefault(sort, value)
    if len(found) > 1:
        some, other = list(found.values())[:2]
        raise ValueError(f"{where} holds {some!r:.40} and {other!r:.40}, expected one kind of values")
    if are_dates(known):
        return "date"
    return "category" if "text" in found else "number"


def _dates(days: np.ndarray) -> np.ndarray:
    return np.round(days * 86400.0).astype("datetime64[s]")
