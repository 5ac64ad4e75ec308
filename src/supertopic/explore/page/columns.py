"""Metadata as the page shows it: columns of numbers, of times, or of categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from supertopic.documents.known import Known

MOST_COLUMNS = 30
_MOST_CATEGORIES = 40  # of a column; rarer ones are put together
_FEW = 12  # distinct whole numbers up to which they are categories
_LONGEST_NAME = 200


def read_metadata(metadata: object, n_documents: int) -> pd.DataFrame | None:
    """A frame of a frame, a Series, a mapping or an array; refuses another number of rows."""
    if metadata is None:
        return None
    try:
        if hasattr(metadata, "to_pandas") and not isinstance(metadata, (pd.DataFrame, pd.Series)):
            metadata = metadata.to_pandas()
        if isinstance(metadata, pd.Series):
            metadata = metadata.to_frame(str(metadata.name) if metadata.name is not None else "metadata")
        frame = metadata if isinstance(metadata, pd.DataFrame) else pd.DataFrame(metadata)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"metadata: got {type(metadata).__name__}, expected a table with a row per document"
        ) from error
    if len(frame) != n_documents:
        raise ValueError(f"metadata: got {len(frame)} rows, expected one for each of the {n_documents} documents")
    if frame.shape[1] > MOST_COLUMNS:
        raise ValueError(f"metadata: got {frame.shape[1]} columns, expected {MOST_COLUMNS} at most")
    return frame


def describe_columns(frame: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Each column of metadata as the page shows it."""
    if frame is None:
        return []
    return [describe_column(str(name), frame.iloc[:, place]) for place, name in enumerate(frame.columns)]


def known_of_documents(frame: pd.DataFrame | None, columns: list[str], n_documents: int, embeddings: object) -> Known:
    """What a prediction reads: embeddings, and the columns of the prior on topic shares where all of them are there."""
    own = None if frame is None or not columns or not set(columns) <= set(frame.columns) else frame[columns]
    return Known.of(n_documents, metadata=own, embeddings=embeddings)


def describe_column(name: str, column: pd.Series) -> dict[str, Any]:
    """{"name", "kind", "values", "categories"}: numbers as they are, times in milliseconds, categories as codes."""
    name = name[:_LONGEST_NAME]
    if pd.api.types.is_datetime64_any_dtype(column):
        values = column.dt.tz_localize(None) if getattr(column.dt, "tz", None) is not None else column
        millis = values.astype("datetime64[ms]").astype(np.int64).to_numpy().astype(np.float64)
        return {"name": name, "kind": "time", "values": np.where(column.isna(), np.nan, millis), "categories": []}
    plain_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if plain_number and column.nunique(dropna=True) > _FEW:
        numbers = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
        return {"name": name, "kind": "number", "values": numbers, "categories": []}
    return _categories(name, column, in_order=plain_number)


def _categories(name: str, column: pd.Series, in_order: bool) -> dict[str, Any]:
    given = ~column.isna().to_numpy()
    values = column.to_numpy(dtype=object)[given]
    found = pd.Series([f"{value:g}" if in_order else str(value)[:_LONGEST_NAME] for value in values], dtype=object)
    counted = found.value_counts()
    names = list(counted.index[:_MOST_CATEGORIES])
    names = sorted(names, key=float) if in_order else sorted(names)
    if len(counted) > _MOST_CATEGORIES:
        names.append("(other)")
    codes = np.full(len(column), np.nan)
    place = {label: float(code) for code, label in enumerate(names)}
    codes[given] = [place.get(label, float(len(names) - 1)) for label in found]
    return {"name": name, "kind": "category", "values": codes, "categories": names}
