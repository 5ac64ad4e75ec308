"""`transform` and `predict` of a Stream: a frame for every batch, so that a corpus is never held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from supertopic.documents.streams import BESIDE, Stream, refuse_beside

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

METHODS = ("transform", "predict", "predict_proba")


P = ParamSpec("P")
R = TypeVar("R")


def by_batches(method: Callable[P, R]) -> Callable[P, R]:
    """The method, which for a Stream is an iterator over frames, one for each batch."""

    plain = cast(Callable[..., Any], method)

    @wraps(method)
    def over(self: Any, X: object, *args: Any, **params: Any) -> Any:
        if not isinstance(X, Stream):
            return plain(self, X, *args, **params)
        check_is_fitted(self, "fitted_")
        if hasattr(self, "sentences"):
            raise ValueError(f"X: got a Stream, but a {type(self).__name__} needs sentences; give documents")
        refuse_beside(**{name: params.get(name) for name in BESIDE})
        return _frames(self, plain, X, args, params)

    return cast(Callable[P, R], over)


def _frames(
    estimator: TopicEstimator, method: Callable[..., Any], stream: Stream, args: tuple[Any, ...], params: dict[str, Any]
) -> Iterator[pd.DataFrame]:
    start, taken = 0, set(signature(method).parameters)
    for part in stream.parts(estimator.vectorizer_, n_features=estimator.n_features_in_):
        beside = {name: one for name, one in part.beside().items() if name in taken}
        found = _as_frame(estimator, method.__name__, method(estimator, part.corpus, *args, **params, **beside))
        yield found.set_axis(pd.RangeIndex(start, start + len(part.corpus), name="document"))
        start += len(part.corpus)


def _as_frame(estimator: TopicEstimator, name: str, found: object) -> pd.DataFrame:
    """What a method gives, with names: topics, classes, responses, prediction."""
    if isinstance(found, pd.DataFrame):
        return found
    if isinstance(found, dict):  # probabilities of several responses
        return pd.concat(found, axis=1)
    if isinstance(found, tuple):  # with the ends of intervals
        frames = [_as_frame(estimator, name, part) for part in found]
        single = len(frames[0].columns) == 1
        for end, frame in zip(("lower", "upper"), frames[1:], strict=True):
            frame.columns = [end if single else f"{column} {end}" for column in frame]
        return pd.concat(frames, axis=1)
    found = np.asarray(found)
    if found.ndim == 1:
        return pd.DataFrame({"prediction": found})
    if name == "transform":
        return pd.DataFrame(found, columns=estimator.get_feature_names_out())
    if name == "predict_proba":
        return pd.DataFrame(found, columns=estimator.classes_)
    return pd.DataFrame(found, columns=[target.name for target in estimator.fitted_.spec.schema.targets])
