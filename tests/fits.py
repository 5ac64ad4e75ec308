"""A small fit by every engine through the public interface, and where each is refused: `test_every_engine.py`.

`NUMBA_ENABLE_CUDASIM=1 python -m tests.lanes_in_turn tests.fits` fits all of them on a GPU in numba's simulator, and
prints what was found as a line of JSON. Names choose some of them.
"""

import json
import sys
import time
import traceback
import warnings

import numpy as np
import scipy.sparse as sp

from supertopic import (
    HTMM,
    LDA,
    SVI,
    DiscLDAClassifier,
    FacetedSAGE,
    Gibbs,
    MedLDAClassifier,
    MixtureOfCategoricals,
    SAGETopics,
    SLDARegressor,
)
from supertopic.inference import first_topics
from supertopic.inference.after import prediction
from supertopic.inference.variational import prediction_constrained
from supertopic.inference.variational.e_step_response import LocalLimits
from tests.test_new_prior import GroupPrior

N_TOPICS = 2
FEW = LocalLimits(3, 1e-3)
SWEEPS = {"inference": Gibbs(burn_in=6, thin=2), "max_iter": 12}
COLLAPSED = {"inference": Gibbs(burn_in=6, thin=2, sampler="collapsed"), "max_iter": 12}
PARTIAL = {"inference": Gibbs(burn_in=6, thin=2, sampler="partial"), "max_iter": 12}
QUICK = {"max_iter": 2, "cross_fit": 0}
BATCHES = {"inference": SVI(batch_size=3), "max_iter": 1}
FITS = {
    "lda-vb": (LDA, {"max_iter": 3}, None),
    "lda-cvb0": (LDA, {"inference": "cvb0", "max_iter": 3}, None),
    "lda-svi": (LDA, BATCHES, None),
    "lda-gibbs": (LDA, COLLAPSED, None),
    "lda-gibbs-partial": (LDA, PARTIAL, None),
    "mixture-vb": (MixtureOfCategoricals, {"max_iter": 3}, None),
    "mixture-svi": (MixtureOfCategoricals, BATCHES, None),
    "mixture-gibbs": (MixtureOfCategoricals, SWEEPS, None),
    "sage-vb": (SAGETopics, {"max_iter": 2}, None),
    "sage-svi": (SAGETopics, BATCHES, None),
    "slda-vb": (SLDARegressor, {"inference": "vb", **QUICK}, "number"),
    "slda-svi": (SLDARegressor, {**BATCHES, "cross_fit": 0}, "number"),
    "slda-gibbs": (SLDARegressor, {**SWEEPS, "cross_fit": 0}, "number"),
    "slda-pc": (SLDARegressor, {"inference": "pc", **QUICK}, "number"),
    "medlda-vb": (MedLDAClassifier, {"max_iter": 2}, "class"),
    "medlda-exact": (MedLDAClassifier, {"max_iter": 2, "exact": True, "inference": "vb"}, "class"),
    "medlda-gibbs": (MedLDAClassifier, SWEEPS, "class"),
    "htmm": (HTMM, {"max_iter": 2}, None),
    "disclda": (DiscLDAClassifier, {"n_class_topics": 1, "max_iter": 2}, "class"),
    "facets": (FacetedSAGE, {"max_iter": 2}, "class"),
}
for name in (
    "lda-vb",
    "lda-cvb0",
    "lda-svi",
    "lda-gibbs",
    "lda-gibbs-partial",
    "slda-gibbs",
    "slda-pc",
    "medlda-vb",
    "facets",
):
    kind, params, y = FITS[name]
    FITS[f"{name}-groups"] = (kind, {**params, "prevalence": GroupPrior(np.zeros((2, 0)))}, y)
for name in ("lda-cvb0", "slda-vb", "facets"):
    kind, params, y = FITS[name]
    FITS[f"{name}-prevalence"] = (kind, {**params, "prevalence": "~ group * year"}, y)
METADATA = {"group": [0, 1, 1, 0, 0], "year": [1.0, 3.0, 2.5, 1.5, 4.0]}
SAMPLERS = {name for name in FITS if "gibbs" in name}
PARTIALS = {name for name in FITS if "partial" in name}
REFUSED = {
    "cluster": SAMPLERS - PARTIALS | {"htmm"},
    "cuda": SAMPLERS - PARTIALS | {name for name in FITS if name.startswith(("mixture", "sage"))}
    | {"htmm", "disclda", "facets", "facets-groups", "facets-prevalence", "medlda-exact"},
}  # fmt: skip


def data(name):
    """Documents about one of two sets of words, one of them without a word, and y by kind."""
    counts = np.array([[2, 1, 0, 0], [0, 0, 2, 1], [0, 0, 0, 0], [1, 3, 0, 1], [0, 0, 1, 2]], dtype=float)
    y = {"number": np.array([1.0, 3.1, 2.0, 1.2, 2.9]), "class": np.array([0, 1, 0, 0, 1]), None: None}
    if name == "htmm":
        return [
            "red blue. blue red.",
            "green black green.",
            "pink. ",
            "red blue. blue pink. blue.",
            "green black.",
        ], None
    return sp.csr_matrix(counts), y[FITS[name][2]]


def fit(name, backend="threads", n_jobs=None):
    """What a fit found, by name; or a sentence that refuses it."""
    kind, params, _ = FITS[name]
    X, y = data(name)
    model = kind(
        **({} if "n_class_topics" in params else {"n_topics": N_TOPICS}), backend=backend, n_jobs=n_jobs, **params
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a document has no word
            beside = {"metadata": METADATA} if "prevalence" in params else {}
            model.fit(X, *([] if y is None else [y]), **beside)
    except ValueError as error:
        return {"refused": str(error)}
    names = ("bound_", "components_", "doc_topic_", "alpha_", "coef_", "dispersion_")
    return {what: np.asarray(getattr(model, what), dtype=float) for what in names if hasattr(model, what)}


def take_few_passes():
    """The simulator takes a second for what a GPU does in ten microseconds."""
    first_topics.SETTINGS = first_topics.SETTINGS._replace(epochs=1, steps=2, passes=2)
    prediction.LIMITS = LocalLimits(12, 1e-4)
    prediction_constrained._SHARES = prediction_constrained._SETTLED = prediction_constrained.ADJOINT = FEW


def main():
    take_few_passes()
    found = {}
    for name in sys.argv[1:] or FITS:
        before = time.process_time()
        try:
            found[name] = [fit(name, "cuda"), fit(name)]
        except Exception:
            found[name] = traceback.format_exc()
        print(f"{name}: {time.process_time() - before:.1f} s", file=sys.stderr)
    print(json.dumps(found, default=np.ndarray.tolist))


if __name__ == "__main__":
    main()
