"""What is known of documents beside their words: a table of columns that travels with them.

Each user takes what it needs: the response its covariates, weights and embeddings, the prior on topic shares and the
effects their columns of metadata, the folds and the errors their groups and times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from supertopic.documents.columns import Column, as_categories, listed, read_columns
from supertopic.documents.rows import require_same_order

if TYPE_CHECKING:
    from supertopic.documents.corpus import Corpus

__all__ = ["Known"]

_PLAIN, _COLUMNS = ("weight", "embeddings"), ("groups", "times")  # fields that are arrays, and columns

MANY = 50  # covariates without names; more of them are embeddings
LARGEST_WEIGHT = 1e9  # of a document: sums of squares stay numbers


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of D documents. What is not known has no columns, or is None.

    Parameters
    ----------
    n_documents : int
    metadata : columns by name
    groups : who a document belongs to, such as its author: a column of categories without missing values
    times : a column of dates or numbers without missing values
    weight : (D,) of the documents' responses
    embeddings : (D, E) float32
    """

    n_documents: int
    metadata: dict[str, Column] = field(default_factory=dict)
    groups: Column | None = None
    times: Column | None = None
    weight: np.ndarray | None = None
    embeddings: np.ndarray | None = None

    @classmethod
    def of(
        cls, n_documents: int, *, metadata: object = None, groups: object = None, times: object = None,
        sample_weight: object = None, embeddings: object = None,
    ) -> Self:  # fmt: skip
        """From what users give: arrays, lists, frames of any kind, dicts of columns; refuses nonsense in a sentence.

        groups, times : a column, or the name of a column of `metadata`
        """
        table = read_columns("metadata", metadata, n_documents)
        return cls(
            n_documents,
            table,
            _groups(_chosen("groups", groups, table, n_documents)),
            _times(_chosen("times", times, table, n_documents)),
            _weight(sample_weight, n_documents),
            _embeddings(embeddings, n_documents),
        )

    @classmethod
    def of_corpus(cls, corpus: Corpus, *, y: object = None, covariates: object = None, **given: object) -> Self:
        """What is known of the documents of a corpus; refuses tables, y and covariates too, whose rows are in another
        order.
        """
        require_same_order(corpus, y=y, covariates=covariates, **given)
        return cls.of(len(corpus), **given)

    def __len__(self) -> int:
        return self.n_documents

    def __getitem__(self, rows: Any) -> Known:
        """What is known of the documents of a slice, a mask or a list of positions."""
        metadata = {name: one[rows] for name, one in self.metadata.items()}
        own = {name: getattr(self, name) for name in _PLAIN + _COLUMNS}
        found: dict[str, Any] = {name: None if one is None else one[rows] for name, one in own.items()}
        return Known(len(np.arange(self.n_documents)[rows]), metadata=metadata, **found)

    def __add__(self, other: Known) -> Known:
        """What is known of these documents and then of the others, such as the next batch of a stream."""
        if set(self.metadata) != set(other.metadata):
            name = next(iter(set(self.metadata) ^ set(other.metadata)))
            raise ValueError(f"metadata: column {name!r} is in some batches only, expected the same columns in all")
        metadata = {name: one + other.metadata[name] for name, one in self.metadata.items()}
        found: dict[str, Any] = {}
        for name in _PLAIN + _COLUMNS:
            here, there = getattr(self, name), getattr(other, name)
            if (here is None) != (there is None):
                raise ValueError(f"{name}: known of some batches only, expected all or none")
            if isinstance(here, np.ndarray):
                found[name] = np.concatenate([here, there])
            else:
                found[name] = None if here is None else here + there
        return Known(self.n_documents + other.n_documents, metadata=metadata, **found)

    @staticmethod
    def join(batches: Iterable[Known]) -> Known:
        """What is known of the documents of all batches, one after another."""
        return reduce(Known.__add__, batches)

    @property
    def weights(self) -> np.ndarray:
        """(D,) the weights, ones where there are none."""
        return np.ones(self.n_documents) if self.weight is None else self.weight

    @property
    def belonging(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """(D,) codes of the groups, and (D,) the times."""
        groups, times = ((None if one is None else one.values) for one in (self.groups, self.times))
        return groups, times

    @property
    def beside(self) -> dict[str, str]:
        """What the columns of groups and times are called, where there are some."""
        return {name: column.name for name in _COLUMNS if (column := getattr(self, name)) is not None}

    def require_weight(self) -> None:
        """Refuse documents of which none counts; a batch of many, or a fold, may be such."""
        if self.n_documents and not self.weights.any():
            raise ValueError("sample_weight: got zero for every document, expected a weight above zero for some")

    def only(self, names: Iterable[str]) -> Known:
        """Some columns of metadata, and nothing else."""
        return Known(self.n_documents, {name: self.column(name) for name in names})

    def covariates(self, given: Any) -> Any:
        """Covariates as users give them, of which names stand for columns of metadata."""
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
            return given
        if not self.metadata:
            raise ValueError(f"covariates: got the name {names[0]!r}, which needs metadata= with this column")
        wrong = next((name for name in names if name not in self.metadata), None)
        if wrong is not None:
            raise ValueError(f"covariates: got the name {wrong!r}, expected some of {listed(self.metadata)}")
        return pd.DataFrame({name: self.metadata[name].series() for name in names})

    def widened(self, covariates: Any) -> tuple[Any, Known]:
        """Covariates, and embeddings among what is known: columns without names are a block where they are many."""
        if hasattr(covariates, "columns") or np.ndim(covariates) != 2 or np.shape(covariates)[1] <= MANY:
            return covariates, self
        if self.embeddings is not None:
            raise ValueError(f"covariates: got {np.shape(covariates)[1]} columns without names beside embeddings")
        return None, replace(self, embeddings=_embeddings(covariates, self.n_documents))

    def column(self, name: str) -> Column:
        """A column of metadata; refuses a name that is none."""
        if name not in self.metadata:
            raise ValueError(f"metadata: got no column {name!r}, expected one of {listed(self.metadata) or 'none'}")
        return self.metadata[name]

    def frame(self) -> pd.DataFrame:
        """The metadata as a frame: categories in their order, dates as dates, missing values as pandas has them."""
        return pd.DataFrame({name: one.series() for name, one in self.metadata.items()}, range(self.n_documents))

    def arrays(self) -> dict[str, np.ndarray]:
        """All numbers there are, by name: for files and checkpoints, and to tell whether two are the same."""
        found = {name: getattr(self, name) for name in _PLAIN}
        found |= {name: one.values for name, one in self._columns()}
        return {name: one for name, one in found.items() if one is not None}

    def about(self) -> dict[str, Any]:
        """All that is not in `arrays`, as plain values."""
        return {"n_documents": self.n_documents, "columns": {place: one.about() for place, one in self._columns()}}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """What `about` and `arrays` gave."""
        columns = {place: Column.restore(one, arrays[place]) for place, one in about["columns"].items()}
        n_documents = int(about["n_documents"])
        plain = {name: arrays.get(name) for name in _PLAIN}
        metadata = {one.name: one for place, one in columns.items() if place.startswith("metadata.")}
        found = cls(n_documents, metadata=metadata, groups=columns.get("groups"), times=columns.get("times"), **plain)
        wrong = next((name for name, one in found.arrays().items() if len(one) != n_documents), None)
        if wrong is not None:
            raise ValueError(f"{wrong} has {len(arrays[wrong])} rows, expected {n_documents}")
        return found

    def _columns(self) -> list[tuple[str, Column]]:
        found = [(f"metadata.{place}", one) for place, one in enumerate(self.metadata.values())]
        return found + [(name, one) for name in _COLUMNS if (one := getattr(self, name)) is not None]


def _chosen(what: str, given: Any, table: dict[str, Column], n_documents: int) -> Column | None:
    """The column that a user gives as groups or times, or names."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in table:
            hint = f"expected one of {listed(table)}" if table else "which needs metadata= with this column"
            raise ValueError(f"{what}: got the name {given!r}, {hint}")
        return table[given]
    found = read_columns(what, given, n_documents)
    if len(found) != 1:
        raise ValueError(f"{what}: got {len(found)} columns, expected one")
    return next(iter(found.values()))


def _groups(column: Column | None) -> Column | None:
    if column is None:
        return None
    column.require_known("groups", "a group")
    return as_categories(column)


def _times(column: Column | None) -> Column | None:
    if column is None:
        return None
    if column.levels:
        raise ValueError(f"times: got {column.levels[0]!r:.40}, expected dates such as '2008-01-31', or numbers")
    column.require_known("times", "a time")
    return column


def _weight(given: Any, n_documents: int) -> np.ndarray | None:
    if given is None:
        return None
    try:
        weight = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "sample_weight: got values that are no numbers, expected one number for each document"
        ) from None
    if weight.shape != (n_documents,):
        raise ValueError(f"sample_weight: got shape {weight.shape}, expected ({n_documents},)")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError("sample_weight: got NaN, infinity or a negative number, expected finite numbers >= 0")
    if weight.max(initial=0.0) > LARGEST_WEIGHT:
        raise ValueError(f"sample_weight: got {weight.max():g}, expected numbers of at most {LARGEST_WEIGHT:g}")
    return weight


def _embeddings(given: Any, n_documents: int) -> np.ndarray | None:
    if given is None:
        return None
    try:
        found = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given, dtype=np.float32)
    except (TypeError, ValueError):
        raise ValueError(
            "embeddings: got values that are no numbers, expected a row of numbers for each document"
        ) from None
    if found.ndim != 2 or len(found) != n_documents or not found.shape[1]:
        raise ValueError(f"embeddings: got shape {found.shape}, expected ({n_documents}, dimensions)")
    if not np.isfinite(found).all():
        raise ValueError("embeddings: got NaN or infinity, expected finite numbers")
    return found
