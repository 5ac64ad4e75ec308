"""Estimators to and from model files: parameters and words in the manifest, numbers as arrays, nothing pickled."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from supertopic.backends import name_in_files
from supertopic.checks import check_whole
from supertopic.documents.names import read_labels
from supertopic.documents.vectorizer import Vectorizer
from supertopic.estimators.shared.files import file_checks
from supertopic.model import Model, State, restore_state
from supertopic.persistence import is_storable, read_model, write_file, write_model
from supertopic.plain_values import decode, encode

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
_VECTORIZER = "$vectorizer"  # the tag of a Vectorizer among the parameters


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to one file; a full disk leaves the old file as it was.

    All parameters come back as they are, except `checkpoint`, which belongs to one fit on one machine. A parameter that
    cannot be written is refused before anything is; where it is the fit itself, its arrays are left in a rescue file.
    """
    check_is_fitted(estimator, "_state")
    params, arrays = _encode_params(estimator)
    fitted = {f"state.{name}": value for name, value in estimator._state.arrays().items()}
    fitted |= {f"draws.{name}": value for name, value in estimator.draws_.items()}
    names = getattr(estimator, "feature_names_in_", None)
    vectorizer = estimator.vectorizer_
    if vectorizer is not None and not hasattr(vectorizer, "to_dict"):
        raise _rescued(
            estimator,
            fitted,
            path,
            f"vectorizer: a model with a {type(vectorizer).__name__} cannot be saved; use supertopic.Vectorizer",
        )
    try:
        _check_settings(estimator)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"the model cannot be saved: {error}") from error
    try:
        model = estimator._model()
        kept = _kept_arrays(estimator, model)
        _check_numbers(estimator, model, kept)
    except (ValueError, TypeError, OverflowError) as error:
        raise _rescued(estimator, fitted, path, f"the model cannot be saved: {error}") from error
    manifest = {
        "estimator": type(estimator).__name__,
        "params": params,
        "n_iter": estimator.n_iter_,
        "n_features": estimator.n_features_in_,
        "n_seen": estimator._n_seen,
        "words": None if names is None else [str(name) for name in names],
        "vectorizer": None if vectorizer is None else _vectorizer_to_dict(vectorizer),
        "topic_labels": getattr(estimator, "topic_labels_", None),
        **estimator._saved(),
    }
    write_model(path, manifest, {**arrays, **fitted, **kept})


def _rescued(estimator: Any, fitted: dict[str, np.ndarray], path: str | os.PathLike[str], why: str) -> ValueError:
    """Leave the arrays of a fit that cannot be saved beside the target; return the refusal, which says where."""
    own = {name: np.asarray(getattr(estimator, name, ())) for name in _own(estimator)}
    words = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    beside = f"{os.fspath(path)}.rescue"
    manifest = {"estimator": type(estimator).__name__, "refused": why, "words": words}
    try:
        kept = {name: array for name, array in {**fitted, **own}.items() if is_storable(array)}
        write_file(beside, "rescue", manifest, kept)
    except (OSError, ValueError):  # no room, or words beyond what a header holds
        return ValueError(why)
    return ValueError(f"{why}. Its arrays are kept in {beside}, which any safetensors reader opens")


def _own(estimator: Any) -> tuple[str, ...]:
    """The names of fitted arrays that are not part of the State."""
    return (*_KEPT, *getattr(estimator, "_kept_arrays", ()))


def load(path: str | os.PathLike[str]) -> Any:
    """A fitted model from a file that `save` wrote.

    A file is data: nothing in it is run or imported, and everything in it is checked before it is used. What does not
    fit is refused by a ValueError.
    """
    manifest, arrays = read_model(path)
    name = manifest.get("estimator")
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise ValueError(f"{path}: holds a model of kind {name!r:.60}, which this version of supertopic does not know")
    try:
        return _restore(ESTIMATORS[name], manifest, arrays)
    except Exception as error:  # whatever a forged value leads to
        what = " ".join(str(error).split())[:300]
        raise ValueError(f"{path}: is a damaged model file ({type(error).__name__}: {what})") from error


def _kept_arrays(estimator: Any, model: Model) -> dict[str, np.ndarray]:
    kept = {name: np.asarray(getattr(estimator, name)) for name in _own(estimator) if hasattr(estimator, name)}
    shares = kept.get("doc_topic_")
    if shares is not None and shares.shape[1:] != (file_checks.n_doc_topics(estimator, model),):
        del kept["doc_topic_"]  # of an earlier fit with another number of topics, before one of a stream
    return kept


def _encode_params(estimator: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The parameters as JSON and, where they are arrays of numbers, as arrays."""
    params: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, value in estimator.get_params(deep=False).items():
        if name == "checkpoint":
            continue
        if isinstance(value, Vectorizer):
            params[name] = {_VECTORIZER: encode(value.get_params(deep=False), name)}
        elif type(value) is np.ndarray and is_storable(value):
            arrays[f"param.{name}"] = value
        else:
            params[name] = encode(name_in_files(value) if name == "backend" else value, name)
    return params, arrays


def _decode_param(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == [_VECTORIZER]:
        return Vectorizer.of_file(decode(value[_VECTORIZER]))
    return decode(value)


def _vectorizer_to_dict(vectorizer: Any) -> dict[str, Any]:
    state = vectorizer.to_dict()
    return {**state, "params": encode(state["params"], "vectorizer")}


def _read_vectorizer(state: Any) -> Vectorizer:
    for name in ("vocabulary", "ignored", "stop_words", "phrases"):
        if not isinstance(state[name], list) or not all(isinstance(word, str) for word in state[name]):
            raise ValueError(f"{name} of the vectorizer is no list of words")
    if len(set(state["vocabulary"])) < len(state["vocabulary"]):
        raise ValueError("a word is twice in the vocabulary")
    return Vectorizer.from_dict({**state, "params": decode(state["params"])})


def _restore(kind: type, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    grouped: dict[str, dict[str, np.ndarray]] = {"state": {}, "draws": {}, "param": {}, "": {}}
    for name, value in arrays.items():
        group, _, rest = name.rpartition(".")
        grouped[group][rest] = value
    if "information" not in grouped["state"]:
        _bring_up_to_date(grouped["state"], grouped[""])
    params = {name: _decode_param(value) for name, value in manifest["params"].items()}
    for old, new in _RENAMED.items():
        if old in params and new not in params:
            params[new] = params.pop(old)
    estimator = kind(**params, **grouped["param"])
    estimator._state = restore_state(grouped["state"])
    estimator.draws_ = grouped["draws"]
    for name in ("n_iter", "n_features", "n_seen", "n_covariates"):
        check_whole(name, manifest.get(name, 0), least=0)
    if manifest.get("n_covariates", 0) > estimator._state.coef.shape[1]:  # a larger one would make arrays of any size
        raise ValueError(f"n_covariates: got {manifest['n_covariates']:,}, which is more than there are coefficients")
    estimator.n_iter_ = manifest["n_iter"]
    estimator.n_features_in_ = manifest["n_features"]
    estimator._n_seen = manifest.get("n_seen", 0)
    words = manifest["words"]
    if words is not None:
        if len(words) != manifest["n_features"] or not all(isinstance(word, str) for word in words):
            raise ValueError(f"words: expected {manifest['n_features']} texts")
        estimator.feature_names_in_ = np.asarray(words, dtype=object)
    state = manifest["vectorizer"]
    estimator.vectorizer_ = None if state is None else _read_vectorizer(state)
    if state is not None and words is not None and state["vocabulary"] != words:
        raise ValueError("the words are not those of the vectorizer's vocabulary")
    own = _own(estimator)
    for name, value in grouped[""].items():
        if name in own:  # others are refused below; none of them may take the place of a method
            setattr(estimator, name, value)
    estimator._restore(manifest)
    _check_settings(estimator)
    model = estimator._model()
    _check_numbers(estimator, model, grouped[""])
    estimator._derive(model)
    labels = manifest.get("topic_labels")
    estimator.topic_labels_ = None if labels is None else read_labels(labels, len(estimator.components_))
    return estimator


def _check_settings(estimator: Any) -> None:
    file_checks.check_params(estimator)
    file_checks.check_labels(estimator)
    if estimator.vectorizer_ is not None:
        file_checks.check_vectorizer(estimator.vectorizer_, estimator.n_features_in_)


def _check_numbers(estimator: Any, model: Model, kept: dict[str, np.ndarray]) -> None:
    file_checks.check_arrays(estimator, model, kept)
    file_checks.check_response(estimator, model)
    emission = getattr(estimator, "_emission", None)
    estimator._emission = model.emission
    file_checks.check_topics(estimator, model)
    if emission is not None:
        estimator._emission = emission


def _bring_up_to_date(state: dict[str, np.ndarray], kept: dict[str, np.ndarray]) -> None:
    """Files of the first version: what was not there is an array of zero columns, and `gram` is the information."""
    for old, new in _MOVED.items():
        if old in state:
            kept[new] = state.pop(old)
    state.pop("planes", None)
    n_columns, n_coef = state["coef"].shape
    if state["coef_cov"].size == 0:
        state["coef_cov"] = np.zeros((0, len(state["alpha"]), len(state["alpha"])), dtype=np.float32)
    empty = {"gram": np.zeros((n_columns, n_coef, n_coef)), "cross": np.zeros((n_columns, n_coef))}
    for name, value in {**empty, "dispersion": np.zeros(0)}.items():
        state.setdefault(name, value)
    state["information"] = state["gram"]
    assert {one.name for one in fields(State)} <= set(state)
