"""y as users give it: columns, kinds, missing values; and as responses take it: numbers, NaN where missing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target

from supertopic.checks import is_text
from supertopic.dates import are_dates, years_of
from supertopic.responses.base import LARGEST_LABEL, Response, registry
from supertopic.responses.choice import FEW, choose_response

_WITH_REGRESSOR = ("SLDAClassifier", "MedLDAClassifier", "SSTMClassifier")
_MOST_VALUES = 10_000  # distinct values of a column that are kept: more are numbers, whatever they are


@dataclass
class Target:
    """One column of y: its name, its response, and its classes where it has some."""

    name: str
    response: str
    link: str = "auto"
    classes: np.ndarray | None = None
    options: dict[str, Any] = field(default_factory=dict)  # further arguments of the response

    def encode(self, column: np.ndarray, who: str) -> np.ndarray:
        """Values as the response takes them: numbers, or places among the classes known."""
        return as_numbers(column, who) if self.classes is None else as_codes(column, who, self.classes)[0]

    def make(self) -> Response:
        """The response itself."""
        kind = registry()[self.response]
        if self.classes is not None:
            return kind(len(self.classes), **self.options)
        if self.link == "auto":
            return kind(**self.options)
        return kind(link=self.link)  # type: ignore[call-arg]


class Read(NamedTuple):
    """y as an estimator reads it."""

    numbers: np.ndarray  # (D, M), NaN where missing
    targets: tuple[Target, ...]
    classes: np.ndarray | None = None  # where y is one column of classes

    @property
    def column(self) -> np.ndarray:
        """The numbers, (D,) where there is one response."""
        return self.numbers[:, 0] if len(self.targets) == 1 else self.numbers


class LabelSurvey:
    """The distinct values of each column of y, batch by batch: enough to tell what the columns are."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._values: list[dict[Any, None]] = []
        self._counts: list[int] = []  # of the labels of each column

    def add(self, table: np.ndarray, names: list[str]) -> None:
        """Take note of a batch of labels (D, M)."""
        if not self._names:
            self._names, self._values, self._counts = names, [{} for _ in names], [0] * len(names)
        if len(names) != len(self._names):
            raise ValueError(f"y has {len(names)} columns in one batch and {len(self._names)} in another")
        for place, (values, column) in enumerate(zip(self._values, table.T, strict=True)):
            known = column[~missing(column)]
            self._counts[place] += len(known)
            if len(values) < _MOST_VALUES:
                values.update(dict.fromkeys(known))

    def table(self) -> tuple[np.ndarray, list[str]]:
        """A table with every value that was seen, and the columns' names; None fills up.

        Values of which there are two labels each, on average, are there twice: numbers that come again may be classes.
        """
        for name, values in zip(self._names, self._values, strict=True):
            if not values:
                raise ValueError(f"{name} is missing for every document; expected some labels")
        columns = [
            list(values) * (2 if count >= 2 * len(values) else 1)
            for values, count in zip(self._values, self._counts, strict=True)
        ]
        table = np.full((max(map(len, columns)), len(columns)), None, dtype=object)
        for place, column in enumerate(columns):
            table[: len(column), place] = column
        return table, self._names


def find_response(name: object, kinds: Sequence[str]) -> tuple[str, str]:
    """The name of a response of these kinds, and its link, which may stand behind a colon: "gamma:canonical"."""
    known = registry()
    stem, colon, link = str(name).partition(":")
    found = known.get(stem) if isinstance(name, str) else None
    if found is None or found.kind not in kinds:
        names = ", ".join(repr(n) for n, response in known.items() if response.kind in kinds)
        raise ValueError(f"response: got {name!r}, expected 'auto' or one of {names}")
    links = getattr(found, "links", ())
    if colon and link not in links:
        which = " or ".join([repr(stem), *(repr(f"{stem}:{one}") for one in links)])
        raise ValueError(f"response: got {name!r}, expected {which}")
    return stem, link or "auto"


def guess_response(column: np.ndarray, name: str, who: str, kinds: Sequence[str]) -> str:
    """The response for "auto". Where y might be something else as well, a warning says what it is taken for."""
    if missing(column).all():
        raise ValueError(f"{name} is missing for every document; expected some labels")
    try:
        found = choose_response(column[~missing(column)], kinds)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    if found.kind not in kinds:
        other = who.replace("Regressor", "Classifier") if "number" in kinds else who.replace("Classifier", "Regressor")
        raise ValueError(f"{name} {found.what}; for these use {other} instead of {who}")
    if found.guessed:
        others = [f"response={other!r} takes {use}" for other, use in found.others]
        others += ["SLDAClassifier takes classes and ratings"] if "class" not in kinds else []
        others += [f"set response={found.response!r} if that is meant"]
        warnings.warn(f"{name} {found.what}; {'; '.join(others)}", UserWarning, stacklevel=6)
    return found.response


def as_table(y: Any, n_documents: int, who: str) -> tuple[np.ndarray, list[str]]:
    """y as objects (D, M) and the columns' names ("y" for a nameless one); refuses another number of documents."""
    if y is None:
        raise ValueError(f"requires y to be passed, but the target y is None: {who} learns from a response")
    names = [str(name) for name in y.columns] if hasattr(y, "columns") else None
    if names is None and getattr(y, "name", None) is not None:
        names = [str(y.name)]
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", None) and (hasattr(y, "cat") or isinstance(y, pd.Categorical)):
        codes = pd.Series(y).cat.codes  # an ordered categorical: its codes are its order
        y = codes.where(codes >= 0, np.nan)
    if hasattr(y, "to_pylist") and not hasattr(y, "columns"):  # an array of Arrow, which NumPy copies only at times
        y = np.array(y.to_pylist(), dtype=object)
    mixed = isinstance(y, (list, tuple)) and any(isinstance(value, str) for value in y)
    table = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y, dtype=object if mixed else None)
    if np.iscomplexobj(table):
        raise ValueError("Complex data not supported in y")
    if table.ndim == 1:
        table = table[:, None]
    elif table.ndim == 2 and table.shape[1] == 1 and not hasattr(y, "columns"):
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,)",
            DataConversionWarning,
            stacklevel=5,
        )
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"y has shape {table.shape}; expected one value per document and response")
    if len(table) != n_documents:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_documents} documents, "
            f"y has {len(table)}"
        )
    if names is not None and len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"y has two columns named {twice!r}; expected a name for each")
    names = names or (["y"] if table.shape[1] == 1 else [f"y{i}" for i in range(table.shape[1])])
    if table.dtype.kind == "M":  # which would become plain numbers
        table = pd.DataFrame(table)
    table = np.array(table, dtype=object)
    table[missing(table)] = None  # pandas' own missing value is not even equal to itself
    return table, names


def missing(column: np.ndarray) -> np.ndarray:
    """Where a value is missing: None, NaN, or pandas' NA. No number stands for a missing one."""
    return np.asarray(pd.isna(column), dtype=bool)


def as_numbers(column: np.ndarray, who: str) -> np.ndarray:
    """A column as numbers, NaN where missing; dates as years."""
    if are_dates(known := column[~missing(column)]):
        column = np.array(column, dtype=object)
        column[~missing(column)] = years_of(known, "y")
    try:
        numbers = np.where(missing(column), np.nan, column).astype(np.float64)
    except OverflowError:  # a whole number that no float can hold
        raise ValueError(f"y holds a number beyond {LARGEST_LABEL:g}; give y in another unit") from None
    except (TypeError, ValueError):
        wrong = next(value for value in column[~missing(column)] if not _is_number(value))
        raise ValueError(
            f"y holds {wrong!r:.60}, which is no number; for labels use {who.replace('Regressor', 'Classifier')} "
            f"instead of {who}"
        ) from None
    if np.isinf(numbers).any():
        raise ValueError("Input y contains infinity; expected finite numbers (NaN: missing).")
    if (np.abs(numbers) > LARGEST_LABEL).any():
        wrong = numbers[np.abs(numbers) > LARGEST_LABEL][0]
        raise ValueError(f"y holds {wrong:g}, a number beyond {LARGEST_LABEL:g}; give y in another unit")
    return numbers


def as_codes(column: np.ndarray, who: str, classes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(codes, classes) of a column of labels: 0, 1, … and NaN where missing; `classes` are those known before."""
    given = ~missing(column)
    known = column[given]
    if classes is None and len(days := set(known)) > FEW and are_dates(known):
        raise ValueError(
            f"y holds {len(days)} different dates, which are no classes; "
            f"{who.replace('Classifier', 'Regressor')} takes them as years"
        )
    known = known.astype(str) if any(isinstance(value, str) for value in known) else np.array(known.tolist())
    if known.dtype.kind in "Oc" or (known.dtype.kind == "f" and np.isinf(known).any()):
        raise ValueError(
            "Unknown label type: y holds a value that is neither text, True or False, nor a finite number of 64 bits"
        )
    wrong = [label for label in np.unique(known).tolist() if isinstance(label, str) and not is_text(label)]
    if wrong:
        raise ValueError(f"y holds {wrong[0]!r}, half of a character; expected labels that are text, or numbers")
    if len(known) and type_of_target(known) not in ("binary", "multiclass"):
        other = who.replace("Classifier", "Regressor") if who in _WITH_REGRESSOR else "SLDARegressor"
        raise ValueError(
            f"Unknown label type: y holds {known[0]!r}, a continuous value; for numbers use {other} instead of {who}"
        )
    found = np.unique(known)
    if classes is None:
        if len(found) == 1:
            raise ValueError(f"y holds 1 class, {found[0].item()!r}; {who} needs 2 or more")
        classes = found
    elif len(found) and not np.isin(found, classes).all():
        new = found[~np.isin(found, classes)][0]
        raise ValueError(f"y holds the class {new.item()!r}, which is none of the {len(classes)} known ones")
    codes = np.full(len(column), np.nan)
    if len(known):
        codes[given] = np.searchsorted(classes, known)
    return codes, classes


def one_each(response: object, names: list[str]) -> list[Any]:
    """One response per column, from what the user wrote."""
    if isinstance(response, Mapping):
        wrong = [name for name in names if name not in response]
        if wrong:
            got = ", ".join(repr(name) for name in response)
            raise ValueError(f"response: got no entry for the column {wrong[0]!r} of y, but entries for {got}")
        return [response[name] for name in names]
    if isinstance(response, str) or not isinstance(response, Sequence):
        return [response] * len(names)
    if len(response) != len(names):
        raise ValueError(f"response: got {len(response)} names, expected one for each of the {len(names)} columns of y")
    return list(response)


def class_weights(class_weight: object, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(D,) the weight of each document's class, as the user gave it; one where the label is missing."""
    weight = np.ones(len(codes))
    known = ~np.isnan(codes)
    if class_weight is not None:
        weight[known] = compute_sample_weight(class_weight, classes[codes[known].astype(int)])
    return weight


def require_order(classes: np.ndarray, name: str) -> None:
    """Classes of an ordered response are numbers: text would be put in the order of the alphabet."""
    if classes.dtype.kind not in "iufb":
        raise ValueError(
            f"y holds {classes[0].item()!r}, but response={name!r} needs classes with an order: numbers, or an ordered "
            "pandas categorical"
        )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
