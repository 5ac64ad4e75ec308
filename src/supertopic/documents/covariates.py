"""Covariates as users give them, and as a regression takes them: centred, with unit variance."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from supertopic.checks import check_choice
from supertopic.dates import are_dates, years_of
from supertopic.documents.columns import listed, tells_apart
from supertopic.later import Later

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = Later("pandas")

_CONSTANT = 1e-9  # deviation of a column relative to its largest value, below which it is rounding
_LARGEST = 1e15  # of a covariate, and of one over its deviation: products with coefficients are finite
_DEPENDENT = 1e-8  # eigenvalue of the correlations, below which columns depend on one another
MANY_LEVELS = 30  # of a category; those of one with more are drawn towards their mean
UNKNOWN = ("error", "ignore")  # what becomes of values that are missing, or were not there in the fit
_MISSING = (
    "; fill them in or leave these documents out (new documents may have some after fit(…, handle_unknown='ignore'))"
)


def as_covariates(covariates: object, n_documents: int, missing: bool = False) -> np.ndarray:
    """(D, P) finite numbers; (D, 0) for None; missing : whether NaN stands for numbers that are not known."""
    if covariates is None:
        return np.zeros((n_documents, 0))
    try:
        extra = np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "covariates: got values that are no numbers, expected numbers, or a frame, whose columns of text become "
            "dummies"
        ) from None
    extra = extra[:, None] if extra.ndim == 1 else extra
    if extra.ndim != 2 or len(extra) != n_documents:
        raise ValueError(f"covariates: got shape {extra.shape}, expected ({n_documents}, columns)")
    unknown = np.isnan(extra)
    if unknown.any() and not missing:
        raise ValueError(f"covariates: got NaN or infinity, expected finite numbers{_MISSING}")
    if np.isinf(extra).any():
        raise ValueError("covariates: got NaN or infinity, expected finite numbers")
    if np.abs(extra[~unknown]).max(initial=0.0) > _LARGEST:
        raise ValueError(f"covariates: got a number beyond {_LARGEST:g}; give them in another unit")
    return extra


@dataclass(frozen=True)
class Columns:
    """What the covariates of a fit are called, and how those that are no numbers become numbers.

    A column of text or categories becomes dummies, one for each category but the first, which is the reference: in
    alphabetical order, or in the order of a pandas categorical. True and False are 1 and 0. Dates are years, such as
    2008.25. A column of texts of which hardly two are the same, such as an address, is refused. Categories that are
    pooled have a dummy for each level: these are drawn towards their mean, which is what they are compared with.
    """

    names: tuple[str, ...] = ()  # of a frame's columns; none for other tables
    categories: dict[str, tuple[Any, ...]] = field(default_factory=dict)  # of columns that are no numbers
    dates: tuple[str, ...] = ()  # columns of dates, which are taken as years
    unknown: str = "error"  # or "ignore": missing values, and categories that were not there, are NaN
    pooled: tuple[str, ...] = ()  # columns of so many categories that these are drawn towards their mean

    @classmethod
    def of(cls, covariates: Any, all_are_here: bool = True) -> Self:
        """The columns of a frame or a named series; refuses two of one name.

        all_are_here : whether these are all documents, so that a column which only tells them apart is refused
        """
        if not hasattr(covariates, "columns"):
            name = getattr(covariates, "name", None)
            return cls() if name is None else cls._of_series({str(name): covariates}, all_are_here)
        series = {str(name): covariates[name] for name in covariates.columns}
        if len(series) < len(covariates.columns):
            names = [str(name) for name in covariates.columns]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"covariates: got two columns {twice!r}, expected names that differ")
        return cls._of_series(series, all_are_here)

    @classmethod
    def _of_series(cls, series: dict[str, Any], all_are_here: bool) -> Self:
        dates = tuple(name for name, one in series.items() if are_dates(_known(one)))
        plain = {name: one for name, one in series.items() if name not in dates}
        found = {name: _categories(name, one) for name, one in plain.items()}
        categories = {name: one for name, one in found.items() if one is not None}
        if all_are_here:
            for name, values in categories.items():
                require_categories(name, values, len(series[name]))
        return cls(tuple(series), categories, dates)

    def __add__(self, other: Columns) -> Columns:
        """With the categories of the next batch, too; refuses another kind of column."""
        if other.names:
            self._check_names(list(other.names))
        if len(self.names) > len(other.names):
            raise ValueError(f"covariates: got a batch without names, expected the columns {listed(self.names)} in all")
        for name in self.names:
            if (name in self.dates, name in self.categories) != (name in other.dates, name in other.categories):
                raise ValueError(f"covariates: column {name!r} holds numbers in some batches only, or dates")
        union = {name: _union(own, other.categories[name]) for name, own in self.categories.items()}
        return replace(self, categories=union)

    @property
    def labels(self) -> list[str]:
        """The names of the numbers that they become: `section=sport` for a dummy."""
        found = []
        for name in self.names:
            values = self.dummies(name)
            found += [name] if values is None else [f"{name}={value}" for value in values]
        return found

    @property
    def places(self) -> dict[str, slice]:
        """Where the numbers of each column stand."""
        widths = [1 if (values := self.dummies(name)) is None else len(values) for name in self.names]
        ends = np.cumsum([0, *widths]).tolist()
        return {name: slice(*pair) for name, pair in zip(self.names, pairwise(ends), strict=True)}

    @property
    def references(self) -> dict[str, Any]:
        """The category of each column that the others are compared with; none of those that are pooled."""
        return {name: values[0] for name, values in self.categories.items() if name not in self.pooled}

    def dummies(self, name: str) -> tuple[Any, ...] | None:
        """The categories of a column that have a number; None of columns of numbers."""
        values = self.categories.get(name)
        return values if values is None or name in self.pooled else values[1:]

    def pooling(self) -> Columns:
        """With all categories pooled that have many levels."""
        return replace(self, pooled=tuple(name for name, one in self.categories.items() if len(one) > MANY_LEVELS))

    def encode(self, covariates: Any, n_documents: int) -> np.ndarray:
        """(D, P) numbers, in the order of the fit; refuses columns and categories that were not there."""
        if covariates is None and self.names:
            raise ValueError(f"covariates: got none, expected {listed(self.names)} as in fit")
        missing = self.unknown == "ignore"
        if not self.names:
            return as_covariates(covariates, n_documents, missing)
        if hasattr(covariates, "columns"):
            given = {str(name): covariates[name] for name in covariates.columns}
            self._check_names(list(given))
            series = [given[name] for name in self.names]
        elif len(self.names) == 1 and np.ndim(covariates) == 1:
            series = [covariates]
        elif self.categories:
            raise ValueError(f"covariates: got no frame, expected one with the columns {listed(self.names)} as in fit")
        else:
            return as_covariates(covariates, n_documents, missing)
        return np.hstack([self._numbers(name, one, n_documents) for name, one in zip(self.names, series, strict=True)])

    def _check_names(self, given: list[str]) -> None:
        expected = f"expected {listed(self.names)} as in fit"
        gone = [name for name in self.names if name not in given]
        if gone:
            raise ValueError(f"covariates: the column {gone[0]!r} is missing; {expected}")
        new = [name for name in given if name not in self.names]
        if new:
            raise ValueError(f"covariates: got a column {new[0]!r}, which was not there in fit; {expected}")

    def _numbers(self, name: str, column: Any, n_documents: int) -> np.ndarray:
        """(D, 1) a column of numbers, or its dummies."""
        missing = self.unknown == "ignore"
        if name in self.dates and are_dates(_known(column)):
            dates = np.array(_values(name, column, missing), dtype=object)
            given = np.array([value is not None for value in dates])
            column = np.full(len(dates), np.nan)
            column[given] = years_of(dates[given].tolist(), f"covariates: column {name!r}")
        if name not in self.categories:
            try:
                return as_covariates(np.asarray(column), n_documents, missing)
            except ValueError as error:
                raise ValueError(str(error).replace("covariates: got", f"covariates: column {name!r} has", 1)) from None
        values = _values(name, column, missing)
        if len(values) != n_documents:
            raise ValueError(f"covariates: got {len(values)} rows, expected {n_documents}")
        place = {value: number for number, value in enumerate(self.categories[name])}
        new = next((value for value in values if value not in place), None)
        if new is not None and not missing:
            known = listed(self.categories[name])
            raise ValueError(
                f"covariates: column {name!r} has {new!r:.60}, which was not there in fit; expected {known} (new ones "
                "add nothing after fit(…, handle_unknown='ignore'))"
            )
        codes = np.array([place.get(value, -1) for value in values], dtype=np.intp)[:, None]
        dummies = np.arange(0 if name in self.pooled else 1, len(place))
        return np.where(codes < 0, np.nan, codes == dummies)

    @classmethod
    def restore(cls, saved: Any) -> Self:
        """What a model file says."""
        names, categories, dates = saved["names"], saved["categories"], saved["dates"]
        unknown, pooled = saved.get("unknown", "error"), tuple(saved.get("pooled", ()))
        check_choice("handle_unknown", unknown, UNKNOWN)
        plain = all(isinstance(value, str | int | float) for found in categories.values() for value in found)
        if not all(isinstance(name, str) for name in names) or not {*categories, *dates} <= set(names) or not plain:
            raise ValueError("the names of the covariates are no texts, or their categories no texts or numbers")
        if not set(pooled) <= set(categories):
            raise ValueError("the covariates that are pooled are no categories")
        own = {name: tuple(found) for name, found in categories.items()}
        return cls(tuple(names), own, tuple(dates), unknown, pooled)


def given_by_name(columns: Columns, mean: Any, given: dict[str, Any]) -> Any:
    """The covariates of one document as a frame of one row, or (1, P) numbers for a fit whose covariates had no names.

    What is not given is usual: the mean of numbers, the most frequent category. Names of the fit are "0", "1", … where
    the covariates had none.
    """
    if not np.size(mean):
        raise ValueError(f"covariates: got {listed(given)}, but the model was fitted without covariates")
    usual = _usual(columns, [float(value) for value in np.ravel(mean)])
    wrong = next((name for name in map(str, given) if name not in usual), None)
    if wrong is not None:
        raise ValueError(f"covariates: got {wrong!r}, expected some of {listed(usual)}")
    usual |= {str(name): value for name, value in given.items()}
    return pd.DataFrame({name: [value] for name, value in usual.items()}) if columns.names else [[*usual.values()]]


def _usual(columns: Columns, mean: list[float]) -> dict[str, Any]:
    """The mean of each covariate, or its most frequent category."""
    if not columns.names:
        return {str(place): value for place, value in enumerate(mean)}
    found: dict[str, Any] = {}
    for name in columns.names:
        values = columns.dummies(name)
        if values is None:
            found[name] = mean.pop(0)
        else:
            shares, all_values = [mean.pop(0) for _ in values], columns.categories[name]
            rest = [1 - sum(shares)] * (len(all_values) - len(values))
            found[name] = all_values[int(np.argmax(rest + shares))]
    return found


def _values(name: str, column: Any, missing: bool = False) -> list[Any]:
    """The values of a column as plain Python values; refuses missing ones, or gives None for them."""
    values = list(column) if are_dates(_known(column)) or not hasattr(column, "tolist") else column.tolist()
    known = [value is not None and value == value for value in values]
    if not missing and not all(known):
        raise ValueError(f"covariates: column {name!r} has missing values, expected a category in every row{_MISSING}")
    return [value if is_known else None for value, is_known in zip(values, known, strict=True)]


def _categories(name: str, column: Any) -> tuple[Any, ...] | None:
    """The categories of a column in their order; None for numbers, True and False."""
    own = getattr(getattr(column, "dtype", None), "categories", None)
    if own is not None and hasattr(own, "tolist"):
        return tuple(own.tolist())
    first = next((value for value in column if value is not None and value == value), 0.0)
    if not isinstance(first, str):
        return None
    return tuple(sorted(map(str, set(_values(name, column)))))


def require_categories(name: str, values: tuple[Any, ...], n_documents: int) -> None:
    """Refuse a column of texts of which hardly two are the same."""
    if tells_apart(name, len(values), n_documents, text=True):
        raise ValueError(
            f"covariates: column {name!r} has {len(values)} different texts in {n_documents} documents, such as "
            f"{values[0]!r:.40}, which only tell documents apart; expected categories that come again"
        )


def _union(own: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """The categories of two batches: in alphabetical order, or in the order of a pandas categorical."""
    together = own + tuple(value for value in other if value not in set(own))
    in_order = all(list(one) == sorted(one, key=str) for one in (own, other))
    return tuple(sorted(together, key=str)) if in_order else together


def _known(column: Any) -> list[Any]:
    """The values of a column without missing ones; none of columns of numbers."""
    if getattr(getattr(column, "dtype", None), "kind", "O") in "iufb":
        return []
    return [value for value in column if value is not None and value == value]


@dataclass(frozen=True)
class Scaling:
    """What a fit makes of its covariates: z = (x - mean) factor, so that priors and ridges mean the same on any scale.

    The shares of the topics sum to one. The coefficients of the topics therefore hold the level of y, and they are
    those of a document whose covariates are at their mean:

    linear predictor = coef·Zbar + covariate_coef·(x - mean),     covariate_coef = factor times the coefficients of z
    """

    mean: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (P,)
    factor: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (P,) one over the deviation; 0 for constants

    @classmethod
    def of(cls, extra: np.ndarray, names: list[str], more_follow: bool = False, pooled: Sequence[slice] = ()) -> Self:
        """The scaling of these documents (D, P); a warning names columns that are constant or linearly dependent.

        Constant columns have no part in the fit. Where further batches follow, they may vary later: they have the unit
        of their own size. Those that are pooled, which sum up to one, are defined by that.
        """
        size = np.abs(extra).max(axis=0, initial=0.0)
        found, varies = cls._of(extra.mean(axis=0), extra.std(axis=0), size, more_follow)
        told = np.delete(np.arange(len(size)), np.r_[(*pooled, slice(0, 0))])
        standard = found.apply(extra)[:, told][:, varies[told]]
        names = [names[place] for place in told] if names else names
        found._warn(standard.T @ standard / max(len(extra), 1), varies[told], names, more_follow)
        return found

    @classmethod
    def of_moments(cls, mean: np.ndarray, covariance: np.ndarray, size: np.ndarray, names: list[str]) -> Self:
        """The same from means (P,), covariances (P, P) and the largest absolute values (P,)."""
        found, varies = cls._of(mean, np.sqrt(np.maximum(np.diag(covariance), 0.0)), size, False)
        factor = found.factor[varies]
        found._warn(covariance[np.ix_(varies, varies)] * factor[:, None] * factor, varies, names, False)
        return found

    @classmethod
    def _of(
        cls, mean: np.ndarray, deviation: np.ndarray, size: np.ndarray, more_follow: bool
    ) -> tuple[Self, np.ndarray]:
        """The scaling, and which columns vary."""
        varies = deviation > _CONSTANT * size
        if (varies & (deviation < 1 / _LARGEST)).any():
            raise ValueError(f"covariates: got a column that varies by less than {1 / _LARGEST:g}; give another unit")
        unit = np.where(size > 1 / _LARGEST, size, 1.0) if more_follow else np.full(len(mean), np.inf)
        return cls(mean, 1.0 / np.where(varies, deviation, unit)), varies

    def _warn(self, correlations: np.ndarray, varies: np.ndarray, names: list[str], more_follow: bool) -> None:
        names = [repr(name) for name in names] or [str(place) for place in range(len(varies))]
        constant = [name for name, moves in zip(names, varies, strict=True) if not moves]
        if constant:
            effect = "in the first batch" if more_follow else "and without a part in the fit"
            warnings.warn(f"covariates: {_columns(constant)} constant {effect}", UserWarning, stacklevel=4)
        places = np.flatnonzero(varies)
        if len(places) < 2:
            return
        values, vectors = np.linalg.eigh(correlations)
        involved = (np.abs(vectors[:, values < _DEPENDENT]) > 1e-3).any(axis=1)
        if involved.any():
            which = [names[place] for place in places[involved]]
            warnings.warn(
                f"covariates: {_columns(which)} linearly dependent: predictions are well defined, but only some sums "
                "of these coefficients are",
                UserWarning,
                stacklevel=4,
            )

    def apply(self, extra: np.ndarray) -> np.ndarray:
        """(D, P) z of new covariates, NaN at their mean; refuses another number of columns."""
        if extra.shape[1] != len(self.mean):
            raise ValueError(f"covariates: got {extra.shape[1]} columns, expected {len(self.mean)} as in fit")
        return np.where(np.isnan(extra), 0.0, (extra - self.mean) * self.factor)

    def users(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of the covariates (…, P), or their standard errors, per unit of x instead of z."""
        factor = np.ones(coef.shape[-1])  # an intercept behind the covariates has no unit
        factor[: len(self.factor)] = self.factor
        return coef * factor

    @classmethod
    def restore(cls, saved: Any) -> Self:
        """What a model file says."""
        mean, factor = (np.array(saved[name], dtype=np.float64) for name in ("mean", "factor"))
        if mean.ndim != 1 or mean.shape != factor.shape or not (np.abs([mean, factor]) <= _LARGEST).all():
            raise ValueError(f"the scaling of the covariates is no pair of numbers up to {_LARGEST:g} for each")
        if (factor < 0).any():
            raise ValueError("the scaling of the covariates has a factor below zero")
        return cls(mean, factor)


def _columns(names: list[str]) -> str:
    return f"column {names[0]} is" if len(names) == 1 else f"columns {', '.join(names)} are"


class CovariateSurvey:
    """The columns of covariates and their scaling, from the batches of a stream: what one table of all would give."""

    def __init__(self) -> None:
        self.columns: Columns | None = None
        self._names: list[str] = []  # of the sums: a number, or a category, the references included
        self._n_documents = 0
        self._zero, self._size, self._sum = np.zeros(0), np.zeros(0), np.zeros(0)  # (n,) about the first batch's means
        self._square = np.zeros((0, 0))  # (n, n)

    def add(self, covariates: object, n_documents: int) -> np.ndarray:
        """Take note of a batch; gives its numbers, a column for each category."""
        columns = Columns.of(covariates, all_are_here=False)
        whole = {name: (None, *values) for name, values in columns.categories.items()}  # no category is a reference
        numbers = replace(columns, categories=whole).encode(covariates, n_documents)
        names = replace(columns, categories=whole).labels if columns.names else list(map(str, range(numbers.shape[1])))
        if self.columns is not None and not columns.names and names != self._names:
            raise ValueError(f"covariates: got {len(names)} columns in a batch, expected {len(self._names)} as before")
        self.columns = columns if self.columns is None else self.columns + columns
        of_numbers = set(names) - {f"{name}={value}" for name, values in whole.items() for value in values}
        self._extend([name for name in names if name not in self._names], names, numbers, of_numbers)
        places = [self._names.index(name) for name in names]
        about = numbers - self._zero[places]
        self._n_documents += n_documents
        self._sum[places] += about.sum(axis=0)
        self._square[np.ix_(places, places)] += about.T @ about
        self._size[places] = np.maximum(self._size[places], np.abs(numbers).max(axis=0, initial=0.0))
        return numbers

    def _extend(self, new: list[str], names: list[str], numbers: np.ndarray, of_numbers: set[str]) -> None:
        """Room for columns that come for the first time."""
        mean = dict(zip(names, numbers.mean(axis=0), strict=True))
        zero = [mean[name] if name in of_numbers else 0.0 for name in new]
        self._names += new
        self._zero = np.append(self._zero, zero)
        self._sum, self._size = (np.append(one, np.zeros(len(new))) for one in (self._sum, self._size))
        self._square = np.pad(self._square, (0, len(new)))

    def found(self) -> tuple[Columns, Scaling]:
        """The columns and their scaling."""
        if self.columns is None or not self._names:
            return Columns(), Scaling()
        for name, values in self.columns.categories.items():
            require_categories(name, values, self._n_documents)
        labels = self.columns.labels or self._names
        places = [self._names.index(name) for name in labels]
        mean = self._sum[places] / self._n_documents
        covariance = self._square[np.ix_(places, places)] / self._n_documents - np.outer(mean, mean)
        given = (self._zero[places] + mean, covariance, self._size[places], self.columns.labels)
        return self.columns, Scaling.of_moments(*given)
