"""Whole fits through the public interface on a GPU in numba's CUDA simulator: `test_cuda.py` runs this file.

A line of JSON comes out, with what each fit found, and what the same fit by threads found. Names choose some of them.
"""

import json
import sys
import time
import traceback

import numpy as np
import scipy.sparse as sp

from supertopic import LDA, MedLDAClassifier, SLDARegressor
from supertopic.inference import first_topics
from supertopic.inference.after import prediction
from supertopic.inference.device import prediction as device_prediction
from supertopic.inference.variational import prediction_constrained
from supertopic.inference.variational.e_step_response import LocalLimits

N_TOPICS = 2
FEW = LocalLimits(3, 1e-3)
QUICK = {"max_iter": 2, "cross_fit": 0}
FITS = {
    "lda_vb": (LDA, {"max_iter": 3}, None),
    "lda_svi": (LDA, {"inference": "svi", "max_iter": 1, "batch_size": 3}, None),
    "lda_gibbs": (LDA, {"inference": "gibbs", "sampler": "partial", "max_iter": 12, "burn_in": 6, "thin": 2}, None),
    "slda_vb": (SLDARegressor, {"inference": "vb", **QUICK}, "number"),
    "slda_pc": (SLDARegressor, {"inference": "pc", **QUICK}, "number"),
    "medlda": (MedLDAClassifier, {"max_iter": 2}, "class"),
}


def data():
    """Documents about one of two sets of words, one document of no word, and y by kind."""
    counts = np.array([[2, 1, 0, 0], [0, 0, 2, 1], [0, 0, 0, 0], [1, 3, 0, 1], [0, 0, 1, 2]], dtype=float)
    return sp.csr_matrix(counts), {"number": np.array([1.0, 3.1, 2.0, 1.2, 2.9]), "class": np.array([0, 1, 0, 0, 1])}


def take_few_passes():
    """The simulator takes a second for what a GPU does in ten microseconds."""
    first_topics.SETTINGS = first_topics.SETTINGS._replace(epochs=1, steps=2, passes=2)
    prediction.LIMITS = device_prediction.LIMITS = FEW
    prediction_constrained._SHARES = prediction_constrained._SETTLED = prediction_constrained.ADJOINT = FEW


def fit(name, backend):
    kind, params, of = FITS[name]
    X, y = data()
    model = kind(N_TOPICS, backend=backend, **params).fit(X, *([] if of is None else [y[of]]))
    found = {"bound": model.bound_, "topics": model.components_, "shares": model.doc_topic_}
    if of is not None:
        found |= {"coef": model.coef_, "predicted": model.predict(X)}
    return {what: np.asarray(value, dtype=float).tolist() for what, value in found.items()}


def main():
    take_few_passes()
    sys.setswitchinterval(1e-4)  # the simulator's threads wait for one another all the time
    found = {}
    for name in sys.argv[1:] or FITS:
        before = time.perf_counter()
        try:
            found[name] = {"cuda": fit(name, "cuda"), "threads": fit(name, "threads")}
        except Exception:
            found[name] = {"error": traceback.format_exc()}
        print(f"{name}: {time.perf_counter() - before:.1f} s", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
