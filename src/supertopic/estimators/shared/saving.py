"""Estimators to and from model files: parameters and words in the manifest, numbers as arrays, nothing pickled."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from supertopic.model import State, restore_state
from supertopic.persistence import read_model, write_model
from supertopic.vectorizer import Vectorizer

ESTIMATORS: dict[str, type] = {}  # by class name; `TopicEstimator` enters its subclasses
_KEPT = ("bound_", "doc_topic_")  # fitted arrays that are not part of the State; `_kept_arrays` names further ones
_RENAMED = {"own_terms": "per_token"}  # parameters that files of earlier versions call otherwise
_MOVED = {  # arrays that were part of the State in files of earlier versions
    "dual": "dual_coef_",
    "support": "_support",
    "n_support": "n_support_",
    "word_coef": "_word_coef",
    "word_scale": "_word_scale",
}
_LEFT_OUT = ("vectorizer", "checkpoint")  # parameters that belong to one fit only; the fitted vectorizer is kept


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file; a full disk leaves the old file as it was."""
    check_is_fitted(estimator, "_state")
    arrays = {f"state.{name}": value for name, value in estimator._state.arrays().items()}
    kept = (*_KEPT, *getattr(estimator, "_kept_arrays", ()))
    arrays |= {name: np.asarray(getattr(estimator, name)) for name in kept if hasattr(estimator, name)}
    arrays |= {f"draws.{name}": value for name, value in estimator.draws_.items()}
    params: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, np.ndarray):
            arrays[f"param.{name}"] = value
        elif name not in _LEFT_OUT:
            params[name] = value if isinstance(value, (str, int, float, bool, list, dict, type(None))) else None
    names = getattr(estimator, "feature_names_in_", None)
    vectorizer = estimator.vectorizer_
    if vectorizer is not None and not hasattr(vectorizer, "to_dict"):
        raise ValueError(
            f"vectorizer: a model with a {type(vectorizer).__name__} cannot be saved; use supertopic.Vectorizer"
        )
    manifest = {
        "estimator": type(estimator).__name__,
        "params": params,
        "n_iter": estimator.n_iter_,
        "n_features": estimator.n_features_in_,
        "n_seen": estimator._n_seen,
        "words": None if names is None else [str(name) for name in names],
        "vectorizer": None if vectorizer is None else vectorizer.to_dict(),
        **estimator._saved(),
    }
    write_model(path, manifest, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """A fitted model from a file that `save` wrote."""
    manifest, arrays = read_model(path)
    name = manifest.get("estimator")
    if name not in ESTIMATORS:
        raise ValueError(f"{path}: holds a model of kind {name!r}, which this version of supertopic does not know")
    try:
        return _restore(ESTIMATORS[name], manifest, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path}: is a damaged model file ({type(error).__name__}: {error})") from error


def _restore(kind: type, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    grouped: dict[str, dict[str, np.ndarray]] = {"state": {}, "draws": {}, "param": {}, "": {}}
    for name, value in arrays.items():
        group, _, rest = name.rpartition(".")
        grouped[group][rest] = value
    if "information" not in grouped["state"]:
        _bring_up_to_date(grouped["state"], grouped[""])
    params = dict(manifest["params"])
    for old, new in _RENAMED.items():
        if old in params and new not in params:
            params[new] = params.pop(old)
    estimator = kind(**params, **grouped["param"])
    estimator._state = restore_state(grouped["state"])
    estimator.draws_ = grouped["draws"]
    for name, value in grouped[""].items():
        setattr(estimator, name, value)
    estimator.n_iter_ = manifest["n_iter"]
    estimator.n_features_in_ = manifest["n_features"]
    estimator._n_seen = manifest.get("n_seen", 0)
    if manifest["words"] is not None:
        estimator.feature_names_in_ = np.asarray(manifest["words"], dtype=object)
    estimator._restore(manifest)
    state = manifest["vectorizer"]
    estimator.vectorizer_ = None if state is None else Vectorizer.from_dict(state)
    estimator._derive(estimator._model())
    return estimator


def _bring_up_to_date(state: dict[str, np.ndarray], kept: dict[str, np.ndarray]) -> None:
    """Files of the first version: what was not there is an array of zero columns, and `gram` is the information."""
    for old, new in _MOVED.items():
        if old in state:
            kept[new] = state.pop(old)
    state.pop("planes", None)
    n_columns, n_coef = state["coef"].shape
    empty = {"gram": np.zeros((n_columns, n_coef, n_coef)), "cross": np.zeros((n_columns, n_coef))}
    for name, value in {**empty, "dispersion": np.zeros(0)}.items():
        state.setdefault(name, value)
    state["information"] = state["gram"]
    assert {one.name for one in fields(State)} <= set(state)
