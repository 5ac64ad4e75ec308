"""What a model predicts for documents with known y, one response at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from supertopic.documents.corpus import Corpus
from supertopic.explore.plots import style

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator


@dataclass(frozen=True)
class Predicted:
    """Documents with a label, and the prediction of each."""

    X: Corpus  # all documents, labelled or not
    known: np.ndarray  # (D,) bool: those with a label
    y: np.ndarray  # (n,) of the known ones: numbers, or places among the classes
    guess: np.ndarray  # (n,) predicted numbers, or places among the classes
    classes: np.ndarray | None
    name: str  # of the response; "" where it has none


def predicted(model: TopicEstimator, X: object, y: Any, target: object, covariates: object, plot: str) -> Predicted:
    """Predictions of the documents with a label; refuses models that predict nothing, and other y."""
    if not hasattr(model, "predict") or hasattr(model, "regions_"):
        raise ValueError(
            f"model: got {type(model).__name__}, which predicts no y; {plot} needs a model with a response"
        )
    if X is None:
        raise ValueError(f"X: got None, expected the documents of y; {plot} predicts them")
    X = model.fitted_.corpus(X)  # text is counted once
    found = model.predict(X, **_beside(covariates))
    name, classes = "", cast(Any, getattr(model, "classes_", None))
    if hasattr(found, "columns"):  # TopicModel
        name = _choose(target, [str(column) for column in found.columns])
        classes, y = classes.get(name), y[name] if hasattr(y, "columns") else y
        found = found[name].to_numpy()
    elif np.ndim(found) == 2:
        names = [one.name for one in model.fitted_.spec.schema.targets] or list(model.labels_)
        name = _choose(target, names)
        place = names.index(name)
        found, y = found[:, place], y[name] if hasattr(y, "columns") else np.asarray(y)[:, place]
        classes = model.labels_[name] if hasattr(model, "labels_") else None
    elif target is not None:
        raise ValueError(f"target: got {target!r}, but the model has one response; expected None")
    if style.categories_of(y) is not None and classes is not None and classes.dtype.kind in "iuf":
        y = y.cat.codes.where(y.cat.codes >= 0, np.nan)  # as in fit: the places of an ordered categorical
    values = style.labels_of(y, len(found))
    known = np.array([value is not None for value in values])
    if not known.any():
        raise ValueError("y is missing for every document; expected some values")
    encode = _numbers if classes is None else _codes
    return Predicted(X, known, encode(values[known], classes), encode(found[known], classes), classes, name)


def _beside(covariates: object) -> dict[str, Any]:
    return {} if covariates is None else {"covariates": covariates}


def _choose(target: object, names: list[str]) -> str:
    if target is None and len(names) == 1:
        return names[0]
    if target not in names:
        raise ValueError(f"target: got {target!r}, expected one of {', '.join(map(repr, names))}")
    return str(target)


def _numbers(values: np.ndarray, _: object) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        wrong = next(value for value in values if isinstance(value, str))
        raise ValueError(f"y: got {wrong!r}, expected numbers, as in fit") from None


def _codes(values: np.ndarray, classes: Any) -> np.ndarray:
    text = classes.dtype.kind in "UO"
    known = {str(label) if text else label: place for place, label in enumerate(classes.tolist())}
    codes = [known.get(str(value) if text else value) for value in values]
    if None in codes:
        wrong = values[codes.index(None)]
        raise ValueError(f"y: got the class {wrong!r}, which is none of the {len(classes)} known ones")
    return np.array(codes, dtype=np.intp)
