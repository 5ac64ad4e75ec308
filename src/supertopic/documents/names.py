"""Names that people give to topics and to words."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from supertopic.checks import whole_text

LONGEST = 200  # characters of a name


def read_words(names: Any, n_words: int) -> np.ndarray:
    """(V,) the words, from a list of them, or from a fitted vectorizer or pipeline that has them."""
    words = names.get_feature_names_out() if hasattr(names, "get_feature_names_out") else names
    words = np.asarray([str(word) for word in words], dtype=object)
    if len(words) != n_words:
        raise ValueError(f"names: got {len(words)} words, expected {n_words}, one for each column")
    return words


def read_labels(labels: object, n_topics: int, kept: Sequence[str | None] | None = None) -> list[str | None]:
    """One name for each topic, None where it has none.

    labels : a list of K names, a mapping of topics to names, or the JSON file that the page of `report` saves
    kept : (K,) names of topics that a mapping does not hold
    """
    none: list[str | None] = [None] * n_topics
    if isinstance(labels, (str, os.PathLike)):
        labels, kept = _read_file(labels), None
    if isinstance(labels, Mapping):
        return _of_mapping(labels.get("labels", labels), none if kept is None else list(kept))
    if not isinstance(labels, Sequence) or len(labels) != n_topics:
        what = f"{len(labels)} names" if isinstance(labels, Sequence) else type(labels).__name__
        raise ValueError(f"labels: got {what}, expected {n_topics} names, a mapping of topics to names, or a file")
    return [_name(label) for label in labels]


def _read_file(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise ValueError(f"labels: {os.fspath(path)} holds no JSON, expected a file of the page") from error
    if not isinstance(found, dict):
        raise ValueError(f"labels: {os.fspath(path)} holds {type(found).__name__}, expected names by topic")
    return found


def _of_mapping(labels: object, found: list[str | None]) -> list[str | None]:
    """The names with those of a mapping in them."""
    if not isinstance(labels, Mapping):
        raise ValueError(f"labels: got {type(labels).__name__}, expected a mapping of topics to names")
    for key, label in labels.items():
        try:
            topic = int(key)
        except (TypeError, ValueError):
            topic = -1
        if not 0 <= topic < len(found):
            raise ValueError(f"labels: got a name for topic {key!r}, expected a number from 0 to {len(found) - 1}")
        found[topic] = _name(label)
    return found


def _name(label: object) -> str | None:
    if label is None:
        return None
    if not isinstance(label, str):
        raise ValueError(f"labels: got {label!r}, expected a text")
    return whole_text(label).strip()[:LONGEST] or None
