"""Formulas such as ``~ party * spline(date, 5)``: columns of metadata become the columns of a regression.

The package formulaic says which terms a formula has and how categories are coded (the first category is the reference
where there is a constant). Nothing in a formula is run: what stands in it is columns, the operators of formulas, and
the functions of `FUNCTIONS`, which are evaluated here. A `Design` therefore is a plain value, which a file may hold.

``spline(x, df)`` is a natural cubic spline with df columns: its knots are at df + 1 evenly spaced quantiles of x, and
it is straight beyond the first and the last. A column stands for a knot, whose value is in its name: its coefficient is
what differs between this knot and the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.interpolate import CubicSpline

from supertopic.dates import day_of, years_of
from supertopic.documents.columns import Column, as_categories, listed

__all__ = ["Design", "columns_of", "natural_spline"]

_WORD = re.compile(r"`([^`]+)`|([^\W\d]\w*)")
_ARGUMENTS = re.compile(r"\s*\(\s*(?:`([^`]+)`|([^\W\d]\w*))\s*(?:,\s*(?:df\s*=\s*)?(\d+)\s*)?\)")
_PIECE = re.compile(r"f(\d+)(?:\[(?:T\.)?(\d+)\])?")
_NUMERIC: dict[str, Callable[[np.ndarray], np.ndarray]] = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}
FUNCTIONS = ("spline", "C", *_NUMERIC)
_DF, _MOST_DF, _MOST_LEVELS = 5, 50, 500


class Factor(NamedTuple):
    """A column, or a function of one."""

    column: str
    function: str = ""  # one of FUNCTIONS
    knots: tuple[float, ...] = ()  # of a spline

    @property
    def name(self) -> str:
        inner = self.column + (f", {len(self.knots) - 1}" if self.knots else "")
        return f"{self.function}({inner})" if self.function else self.column

    def evaluate(self, values: np.ndarray) -> np.ndarray:
        """(D,) or (D, n) of numbers."""
        if self.knots:
            return natural_spline(values, np.array(self.knots))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = _NUMERIC[self.function](values) if self.function in _NUMERIC else values
        if np.any(~np.isfinite(found) & np.isfinite(values)):
            raise ValueError(f"formula: {self.name} is not defined for some values, such as {values.min():g}")
        return found


@dataclass(frozen=True)
class Design:
    """What a formula makes of columns: the same numbers for the same values, whatever the other documents are."""

    formula: str
    factors: tuple[Factor, ...]
    levels: dict[str, tuple[Any, ...]]  # of columns of categories
    dates: tuple[str, ...] = ()  # columns that are taken as years
    names: tuple[str, ...] = ()  # of the P columns that it makes
    terms: tuple[str, ...] = ()  # (P,) which term each column belongs to

    @classmethod
    def of(cls, formula: str | Sequence[str], columns: Mapping[str, Column]) -> Self:
        """The design of these documents, from a formula or a list of columns; refuses what is none."""
        text = formula if isinstance(formula, str) else "~ " + " + ".join(f"`{name}`" for name in formula)
        _, mentioned = _parse(text)
        both = {name for name, function, _ in mentioned if function == "C"}
        both &= {name for name, function, _ in mentioned if function != "C"}
        if both:
            raise ValueError(
                f"formula: column {min(both)!r} is taken as categories and as it is, expected one of the two"
            )
        kinds = {name: _column(text, name, function, columns) for name, function, _ in mentioned}
        levels = {name: one.levels for name, one in kinds.items() if one.levels}
        bare = cls(text, (), levels, tuple(name for name, one in kinds.items() if one.kind == "date"))
        numbers = {name: bare.numbers(name, one) for name, one in kinds.items()}
        factors = tuple(
            Factor(name, function, _knots(name, numbers[name], df) if function == "spline" else ())
            for name, function, df in mentioned
        )
        found = cls(text, factors, levels, bare.dates)
        made = found._made({name: one[~np.isnan(one)][:1] for name, one in numbers.items()})
        pieces = [_named(name, found) for name in made.columns]
        parts = {str(term): range(made.shape[1])[part] for term, part in made.model_spec.term_slices.items()}
        terms = {place: _named(term, found) for term, places in parts.items() for place in places}
        return cls(text, factors, levels, bare.dates, tuple(pieces), tuple(terms[p] for p in range(len(pieces))))

    @classmethod
    def restore(cls, saved: Mapping[str, Any]) -> Self:
        """What `about` gave; refuses what no design is."""
        factors = tuple(Factor(str(name), str(function), tuple(knots)) for name, function, knots in saved["factors"])
        levels = {str(name): tuple(found) for name, found in saved["levels"].items()}
        known = [(one.column, one.function) for one in factors]
        if known != [(name, function) for name, function, _ in _parse(saved["formula"])[1]]:
            raise ValueError("a formula and what it is made of do not belong together")
        if any(list(one.knots) != sorted(set(one.knots)) or (len(one.knots) > 2) != (one.function == "spline")
               or not np.isfinite(one.knots).all() for one in factors):  # fmt: skip
            raise ValueError("the knots of a spline are no numbers in their order")
        names, terms = tuple(map(str, saved["names"])), tuple(map(str, saved["terms"]))
        found = cls(saved["formula"], factors, levels, tuple(map(str, saved["dates"])), names, terms)
        if (
            not len(names)
            == len(terms)
            == found.of_numbers(
                {name: np.ones(1) if name not in levels else np.zeros(1) for name in found.columns}
            ).shape[1]
        ):
            raise ValueError("a formula has other columns than its file says")
        return found

    def about(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: list(getattr(self, name)) for name in ("dates", "names", "terms")}
        factors = [[one.column, one.function, list(one.knots)] for one in self.factors]
        levels = {name: list(found) for name, found in self.levels.items()}
        return {"formula": self.formula, "factors": factors, "levels": levels, **plain}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of metadata that are needed."""
        return tuple(dict.fromkeys(factor.column for factor in self.factors))

    def numbers(self, name: str, column: Column) -> np.ndarray:
        """(D,) a column as numbers: places in the levels that are known, dates as years; NaN where missing."""
        if name in self.levels:
            own = as_categories(column)
            place = {level: number for number, level in enumerate(self.levels[name])}
            used = [own.levels[code] for code in np.unique(own.values[own.values >= 0])]
            new = next((level for level in used if level not in place), None)
            if new is not None:
                expected = f"expected one of {listed(place)}"
                raise ValueError(f"metadata: column {name!r} has {new!r:.60}, which was not there before; {expected}")
            return np.array([*(place.get(level, np.nan) for level in own.levels), np.nan])[own.values]
        if column.levels or (column.kind == "date") != (name in self.dates):
            expected = "dates" if name in self.dates else "numbers"
            raise ValueError(f"metadata: column {name!r} holds a {column.kind}, expected {expected} as before")
        return _years(column) if column.kind == "date" else column.values

    def encode(self, columns: Mapping[str, Column]) -> np.ndarray:
        """(D, P) numbers; a row is NaN where one of its values is missing."""
        gone = next((name for name in self.columns if name not in columns), None)
        if gone is not None:
            raise ValueError(f"metadata: got no column {gone!r}, which the formula {self.formula!r} has")
        return self.of_numbers({name: self.numbers(name, columns[name]) for name in self.columns})

    def of_numbers(self, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
        """(D, P) from the values that `numbers` gives."""
        known = ~np.any([np.isnan(numbers[name]) for name in self.columns], axis=0)
        made = self._made({name: numbers[name][known] for name in self.columns})
        found = np.full((len(known), made.shape[1]), np.nan)
        found[known] = np.asarray(made, dtype=np.float64)
        return found

    def value(self, name: str, given: Any) -> float:
        """One value of a column as `numbers` has it; refuses what is none."""
        if name not in self.columns:
            raise ValueError(f"got the column {name!r}, expected one of the formula: {listed(self.columns)}")
        if name in self.levels:
            if given not in self.levels[name]:
                raise ValueError(f"{name}: got {given!r}, expected one of {listed(self.levels[name])}")
            return float(self.levels[name].index(given))
        try:
            if name in self.dates and isinstance(given, (str, date, np.datetime64)):
                return float(years_of([given], name)[0])
            return float(given)
        except (TypeError, ValueError):
            expected = "a date such as '2008-01-31'" if name in self.dates else "a number"
            raise ValueError(f"{name}: got {given!r}, expected {expected}") from None

    def _made(self, numbers: Mapping[str, np.ndarray]) -> Any:
        """What formulaic makes, whose columns have the names f0, f1, … of the factors."""
        formula, values_of = _formulaic()
        frame, more = {}, {}
        for place, factor in enumerate(self.factors):
            given, name = numbers[factor.column], f"f{place}"
            if factor.column in self.levels:
                codes = [str(number) for number in range(len(self.levels[factor.column]))]
                frame[name] = pd.Categorical.from_codes(given.astype(np.int64), categories=codes)
            elif (found := factor.evaluate(given)).ndim == 1:
                frame[name] = found
            else:
                parts = {str(1 + number): one for number, one in enumerate(found.T)}
                more[name] = values_of(parts, kind="numerical", spans_intercept=False, format="{name}[{field}]")
        rows = range(len(next(iter(numbers.values()))))
        return formula(_parse(self.formula)[0]).get_model_matrix(pd.DataFrame(frame, rows), context=more)


def columns_of(formula: str) -> list[str]:
    """The columns that a formula mentions; refuses what is no formula."""
    return list(dict.fromkeys(name for name, _, _ in _parse(formula)[1]))


def natural_spline(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """(D, m - 1) a basis of natural cubic splines with m knots, without the constant.

    Column j is one at knot j + 1 and zero at the others: its coefficient is the difference between that knot and the
    first. Beyond the knots it is straight.
    """
    spline = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    inside = np.clip(np.asarray(x, dtype=np.float64), knots[0], knots[-1])
    return np.asarray(spline(inside) + spline(inside, 1) * (x - inside)[:, None])[:, 1:]


def _formulaic() -> tuple[Any, Any]:
    try:
        from formulaic import Formula
        from formulaic.materializers.types import FactorValues
    except ImportError:
        raise ImportError("formulas need the package formulaic: pip install 'supertopic[effects]'") from None
    return Formula, FactorValues


def _parse(text: str) -> tuple[str, list[tuple[str, str, int]]]:
    """(the formula with f0, f1, … in place of columns and functions, the column, function and df of each)."""
    found: list[tuple[str, str, int]] = []
    aliased, place = "", 0
    while (word := _WORD.search(text, place)) is not None:
        aliased += text[place : word.start()]
        quoted, name = word.groups()
        place, one = word.end(), (quoted or name, "", 0)
        if name and text[place:].lstrip().startswith("("):
            inner = _ARGUMENTS.match(text, place)
            if name not in FUNCTIONS or inner is None or (inner[3] and name != "spline"):
                expected = ", ".join(f"{known}(column)" for known in FUNCTIONS[1:])
                raise ValueError(
                    f"formula: got {text[word.start() :]!r:.40}, expected spline(column, 5), {expected} or a column"
                )
            place, one = inner.end(), (inner[1] or inner[2], name, int(inner[3] or _DF))
        if one not in found:
            found.append(one)
        aliased += f"f{found.index(one)}"
    aliased += text[place:]
    if not found:
        raise ValueError(f"formula: {text!r:.60} has no column, expected such as '~ party + spline(date, 5)'")
    _check_operators(text, aliased)
    return aliased, found


def _check_operators(text: str, aliased: str) -> None:
    """Refuse a left side, and what formulaic does not take for a formula of columns."""
    problem = "a left side, expected only what topics are compared by" if aliased.strip().find("~") > 0 else ""
    if not problem and re.search(r"[^\w\s~+\-*/:()^%|]", aliased):
        problem = "signs that formulas do not have"
    if not problem:
        try:
            terms = list(_formulaic()[0](aliased))
        except Exception as error:  # formulaic raises errors of many kinds
            last = str(error).splitlines()[0] if str(error) else type(error).__name__
            problem = f"a mistake: {last[:100]}"
        else:
            if any(factor.eval_method.value not in ("lookup", "literal") for one in terms for factor in one.factors):
                problem = "more than columns and functions of columns"
    if problem:
        raise ValueError(f"formula: {text!r:.80} has {problem}")


def _column(text: str, name: str, function: str, columns: Mapping[str, Column]) -> Column:
    """A column as its factor takes it."""
    if name not in columns:
        raise ValueError(
            f"formula: {text!r:.80} has {name!r}, which is no column of metadata: {listed(columns) or 'none'}"
        )
    column = as_categories(columns[name]) if function == "C" else columns[name]
    where = f"formula: column {name!r}"
    if column.missing.all():
        raise ValueError(f"{where} holds no value, expected some")
    if columns[name].kind == "identifier" and column.levels:
        raise ValueError(f"{where} has {len(column.levels)} different values, which only tell documents apart")
    if len(column.levels) > _MOST_LEVELS:
        raise ValueError(f"{where} has {len(column.levels)} categories, expected at most {_MOST_LEVELS}")
    if column.levels and function not in ("", "C"):
        raise ValueError(f"{where} holds texts such as {column.levels[0]!r:.40}; {function} needs numbers or dates")
    return column


def _years(column: Column) -> np.ndarray:
    return 1970.0 + column.values / 365.2425


def _knots(name: str, values: np.ndarray, df: int) -> tuple[float, ...]:
    if not 2 <= df <= _MOST_DF:
        raise ValueError(f"formula: spline({name}, {df}) has {df} columns, expected 2 to {_MOST_DF}")
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if len(distinct) <= df:
        found = (
            f"formula: spline({name}, {df}) needs {df + 1} different values at least, the column has {len(distinct)}"
        )
        raise ValueError(f"{found}; take C({name}) or {name}")
    knots = np.unique(np.quantile(known, np.linspace(0.0, 1.0, df + 1)))
    if len(knots) <= df:  # many documents have the same value: the knots are quantiles of the values that differ
        knots = np.quantile(distinct, np.linspace(0.0, 1.0, df + 1))
    return tuple(knots.tolist())


def _named(name: str, design: Design) -> str:
    """The name of a column or term, of one that formulaic gave it."""

    def shown(piece: str) -> str:
        match = _PIECE.fullmatch(piece)
        if match is None:
            return "(constant)" if piece in ("1", "Intercept") else piece
        factor, inner = design.factors[int(match[1])], match[2]
        if inner is None:
            return factor.name
        if factor.column in design.levels:
            level = design.levels[factor.column][int(inner)]
            return f"{factor.column}={level:g}" if isinstance(level, float) else f"{factor.column}={level}"
        knot = factor.knots[int(inner)]
        return f"{factor.name}[{day_of(knot) if factor.column in design.dates else f'{knot:g}'}]"

    return " × ".join(map(shown, name.split(":")))
