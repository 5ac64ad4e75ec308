"""supertopic warm-up: compiles the kernels of all models, so that no first fit waits for that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import typer

from supertopic.cli import options as opt
from supertopic.cli.documents import load_model
from supertopic.cli.show import note

# Small fits, each in a process of its own: the compiler runs on one core. Those that take longest come first.
FITS = {
    "sLDA, Gibbs sampling": "SLDARegressor(2, inference='gibbs', max_iter=2).fit(X, y).predict(X)",
    "LDA, Gibbs sampling": "LDA(2, inference='gibbs', max_iter=2).fit(X)",
    "sLDA, prediction-constrained": "SLDARegressor(2, inference='pc', max_iter=2, words=True).fit(X, y).predict(X)",
    "sLDA, variational": "SLDARegressor(2, inference='vb', max_iter=2).fit(X, y).predict(X)",
    "MedLDA": "MedLDAClassifier(2, max_iter=2).fit(X, y > 0).predict(X)",
    "LDA, variational": "LDA(2, max_iter=2).fit(X).perplexity(X)",
    "SSTM": "SSTMRegressor(2, max_iter=2).fit(X, y).predict(X)",
    "SAGE": "SAGETopics(2, max_iter=2).fit(X); SAGEClassifier().fit(X, y > 0)",
    "facets": "FacetedSAGE(2, max_iter=2).fit(X, y > 0)",
    "mixture": "MixtureOfCategoricals(2, max_iter=2).fit(X)",
}
_PROGRAM = """
import warnings
import numpy as np
from supertopic import *
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.poisson(0.5, size=(60, 30)).astype(np.float32) + np.eye(60, 30, dtype=np.float32)
y = rng.normal(size=60)
{fit}
"""


def warm_up(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model file: what it needs to predict, and no more.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Processes at once; all cores by default.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Compile what models need, once after an installation, so that the first fit of each is as quick as the others.

    With a model file, only what this model needs to predict.
    """
    start, at_once = time.perf_counter(), jobs or os.cpu_count() or 1
    if model is not None:
        use_once(load_model(model, jobs))
        seconds = time.perf_counter() - start
        note(f"Ready to predict after {seconds:.0f} s.")
        if as_json:
            print(json.dumps({"seconds": {"prediction": round(seconds, 1)}}))
        return
    note(f"Compiling for {len(FITS)} kinds of fits, {at_once} at a time. This takes some minutes on one core.")
    found = {}
    with ThreadPoolExecutor(at_once) as pool:
        for name, seconds in zip(FITS, pool.map(_run, FITS), strict=True):
            found[name] = round(seconds, 1)
            note(f"  {name}: {seconds:.0f} s")
    note(f"Done after {time.perf_counter() - start:.0f} s.")
    if as_json:
        print(json.dumps({"seconds": found}))


def use_once(model: Any) -> None:
    """Predict a made-up document in each way that the model has."""
    import numpy as np

    from supertopic.documents.covariates import given_by_name

    X, schema = np.ones((1, model.n_features_in_), dtype=np.float32), model.fitted_.spec.schema
    mean = schema.scaling.mean
    more = {"covariates": given_by_name(schema.columns, mean, {})} if len(mean) else {}
    model.transform(X)
    for name in ("predict", "predict_proba"):
        if hasattr(model, name):
            getattr(model, name)(X, **more)


def _run(name: str) -> float:
    """Run one of the fits in a new process; the seconds that it took."""
    start = time.perf_counter()
    program = _PROGRAM.format(fit=FITS[name])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"the fit of {name} failed: {done.stderr.strip().splitlines()[-1]}")
    return time.perf_counter() - start
