"""Estimators to and from model files: parameters and words in the manifest, numbers as arrays, nothing pickled."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from supertopic.model import State
from supertopic.persistence import read_model, write_model
from supertopic.vectorizer import Vectorizer

_ESTIMATORS: dict[str, type[ModelFile]] = {}
_KEPT = ("bound_", "doc_topic_")  # fitted arrays that are not part of the State


class ModelFile:
    """Mixin: `save`, and the way back that `load` takes. Subclasses register under their class name."""

    _skipped: ClassVar[tuple[str, ...]] = ("vectorizer", "checkpoint")  # parameters that belong to one fit only

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _ESTIMATORS[cls.__name__] = cls

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file; a full disk leaves the old file as it was."""
        check_is_fitted(self, "_state")
        arrays = {f"state.{name}": value for name, value in self._state.arrays().items()}
        arrays |= {name: np.asarray(getattr(self, name)) for name in _KEPT if hasattr(self, name)}
        arrays |= {f"draws.{name}": value for name, value in self.draws_.items()}
        params: dict[str, Any] = {}
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, np.ndarray):
                arrays[f"param.{name}"] = value
            elif name not in self._skipped:
                params[name] = value if isinstance(value, (str, int, float, bool, list, type(None))) else None
        names = getattr(self, "feature_names_in_", None)
        manifest = {
            "estimator": type(self).__name__,
            "params": params,
            "n_iter": self.n_iter_,
            "n_features": self.n_features_in_,
            "words": None if names is None else [str(name) for name in names],
            "vectorizer": None if self.vectorizer_ is None else self.vectorizer_.to_dict(),
        }
        write_model(path, manifest, arrays)

    @classmethod
    def _restore(cls, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        grouped: dict[str, dict[str, np.ndarray]] = {"state": {}, "draws": {}, "param": {}, "": {}}
        for name, value in arrays.items():
            group, _, rest = name.rpartition(".")
            grouped[group][rest] = value
        estimator = cls(**manifest["params"], **grouped["param"])
        estimator._state = State(**grouped["state"])
        estimator.draws_ = grouped["draws"]
        for name, value in grouped[""].items():
            setattr(estimator, name, value)
        estimator.n_iter_ = manifest["n_iter"]
        estimator.n_features_in_ = manifest["n_features"]
        if manifest["words"] is not None:
            estimator.feature_names_in_ = np.asarray(manifest["words"], dtype=object)
        state = manifest["vectorizer"]
        estimator.vectorizer_ = None if state is None else Vectorizer.from_dict(state)
        estimator._after_restore()
        return estimator


def load(path: str | os.PathLike[str]) -> Any:
    """A fitted model from a file that `save` wrote."""
    manifest, arrays = read_model(path)
    name = manifest.get("estimator")
    if name not in _ESTIMATORS:
        raise ValueError(f"{path}: holds a model of kind {name!r}, which this version of supertopic does not know")
    try:
        return _ESTIMATORS[name]._restore(manifest, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: is a damaged model file ({type(error).__name__}: {error})") from error
