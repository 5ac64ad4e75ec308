"""A fitted model as one file of JavaScript, which predicts texts in a browser or a server without Python."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.page.inference import describe_inference
from supertopic.explore.page.outcomes import described
from supertopic.explore.page.payload import Payload, typed_covariates
from supertopic.explore.page.write import asset, pack
from supertopic.persistence import write_atomically

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

_SCRIPTS = ("decode", "special", "tokens", "infer", "responses", "exported")


def write_script(estimator: TopicEstimator, path: str | os.PathLike[str]) -> None:
    """Write a module: `import { loadModel } from "./model.js"`, then `(await loadModel()).predict(text)`."""
    facts, arrays = describe_inference(estimator)
    if not facts["possible"]:
        raise ValueError(f"export: {facts['why']}")
    fitted = estimator.fitted_
    kept = {name: array for name, array in arrays.items() if not name.startswith(("deviation", "background"))}
    about: dict[str, Any] = {
        "inference": {**facts, "facets": []},
        "words": [str(word) for word in fitted.vocabulary.words],
        "outcomes": described(estimator),
        "covariates": typed_covariates(fitted) if fitted.spec.schema.targets else [],
    }
    data = base64.b64encode(pack(Payload(about, {name: np.asarray(one) for name, one in kept.items()}))).decode()
    functions = "\n".join(asset(f"{name}.js") for name in _SCRIPTS)
    end = "/* It needs a browser of 2023 or later, or Node 20. */\nexport const loadModel = () => openModel(DATA);\n"
    write_atomically(path, f'{functions}\nconst DATA =\n  "{data}";\n\n{end}'.encode())
