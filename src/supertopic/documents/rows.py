"""Rows of tables beside documents: they are paired by their places, whatever their indices say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd


def require_same_order(documents: object, **given: object) -> None:
    """Refuse what has an index of the same labels in another order; indices that only count rows say nothing.

    documents : anything with an index, such as a series or a Corpus, or without one
    """
    whose, own = "", None
    for name, index in _indices({"X": documents, **given}):
        if own is None:
            whose, own = name, index
        elif len(index) == len(own) and not index.equals(own) and index.isin(own).all() and own.isin(index).all():
            raise ValueError(
                f"{name}: its index holds the labels of {whose} in another order, but rows are paired by their places; "
                f"give {name}.reindex({whose}.index), or reset both indices"
            )


def _indices(given: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    """The indices of pandas' objects, and of those in a dict, that are more than the numbers of rows."""
    for name, one in given.items():
        for part in one.values() if isinstance(one, Mapping) else [one]:
            index = getattr(part, "index", None)
            if isinstance(index, pd.Index) and not index.equals(pd.RangeIndex(len(index))):
                yield name, index
