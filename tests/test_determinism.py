"""The same fit gives the same bytes: for any number of threads, in any process, after a file and after a kill.

Limits: the same versions of NumPy, SciPy and numba on the same kind of processor. Another one sums in another order, so
that last bits differ, and a sampler then draws other numbers. Fits that are killed and go on are in `test_faults.py`.
"""

import hashlib
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import supertopic
from supertopic import SVI, load
from supertopic.backends.threads import Threads
from supertopic.datasets import simulate

SIZES = {"n_documents": 300, "n_topics": 4, "n_words": 300, "mean_length": 60, "seed": 3}
FITS = {
    "lda-vb": ("LDA", None, {"max_iter": 4}),
    "lda-cvb0": ("LDA", None, {"inference": "cvb0", "max_iter": 4}),
    "lda-svi": ("LDA", None, {"inference": SVI(batch_size=200), "max_iter": 2}),
    "lda-gibbs": ("LDA", None, {"inference": "gibbs", "max_iter": 8}),
    "sage": ("SAGETopics", None, {"max_iter": 3}),
    "mixture": ("MixtureOfCategoricals", None, {"max_iter": 4}),
    "slda-vb": ("SLDARegressor", "gaussian", {"max_iter": 4}),
    "slda-gibbs": ("SLDARegressor", "gaussian", {"inference": "gibbs", "max_iter": 8}),
    "slda-pc": ("SLDARegressor", "gaussian", {"inference": "pc", "max_iter": 3}),
    "slda-softmax": ("SLDAClassifier", "softmax", {"max_iter": 3}),
    "medlda": ("MedLDAClassifier", "softmax", {"max_iter": 3}),
    "sstm": ("SSTMRegressor", "gaussian", {"max_iter": 10, "inference": supertopic.Gibbs(n_chains=2)}),
    "disclda": ("DiscLDAClassifier", "softmax", {"max_iter": 3}),
}


def fitted(name, n_jobs):
    kind, response, params = FITS[name]
    data = simulate(response=response, **SIZES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains that have not mixed
        model = getattr(supertopic, kind)(n_jobs=n_jobs, **params)
        if "cross_fit" in model.get_params():
            model.set_params(cross_fit=0)
        return model.fit(data.counts, *([] if response is None else [data.y])), data.counts


def written(model, folder, name="model"):
    """The bytes of the model's file, without its number of jobs."""
    model.set_params(n_jobs=None).save(folder / name)
    return (folder / name).read_bytes()


@pytest.mark.parametrize("name", FITS)
def test_any_number_of_threads_gives_the_same_bytes(name, tmp_path, monkeypatch):
    run_all, threads = Threads.all, set()

    def seen(self, calls):
        def call(function, *given):
            threads.add(threading.get_ident())
            return function(*given)

        return run_all(self, [(call, *one) for one in calls])

    monkeypatch.setattr(Threads, "all", seen)
    files, predictions = [], []
    for n_jobs in (1, 3):
        threads.clear()
        model, counts = fitted(name, n_jobs)
        assert (len(threads) > 1) == (n_jobs > 1), f"{name}: the work of {n_jobs} threads was not split"
        predictions.append(model.transform(counts).tobytes())
        files.append(written(model, tmp_path))
    assert files[0] == files[1]
    assert predictions[0] == predictions[1]
    assert load(tmp_path / "model").transform(counts).tobytes() == predictions[0]


def fingerprints(folder):
    """A hash of each model's file."""
    return {
        name: hashlib.sha256(written(fitted(name, 1)[0], folder)).hexdigest() for name in ("lda-gibbs", "slda-softmax")
    }


def test_another_process_gives_the_same_bytes(tmp_path):
    """Python hashes texts differently in every process, unless PYTHONHASHSEED is set; no result depends on it."""
    program = (
        "import pathlib, sys\n"
        "from tests.test_determinism import fingerprints\n"
        "print(fingerprints(pathlib.Path(sys.argv[1])))"
    )
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONHASHSEED": other},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert found == f"{fingerprints(tmp_path)}\n"


def test_arrays_are_read_as_they_were_written(tmp_path):
    model, _ = fitted("slda-vb", 1)
    model.save(tmp_path / "m")
    load(tmp_path / "m").save(tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    assert np.array_equal(load(tmp_path / "m").coef_, model.coef_)
