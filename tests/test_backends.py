"""Backends: a fit over three partitions in three processes equals the fit over threads.

Tolerance: 2e-4 of the largest number. The partitions' sums are added in another order than the sums over all documents,
and word counts are single precision, so that a few EM steps agree to about four digits. The dual problem of several
classes is solved to a gap of 3e-3, and other last bits may cost it a sweep more or less: 5e-3 there.
"""

import numpy as np
import pytest

from supertopic import (
    LDA,
    VB,
    MedLDAClassifier,
    MedLDARegressor,
    MixtureOfCategoricals,
    SAGETopics,
    SLDAClassifier,
    SLDARegressor,
)
from supertopic.backends import make_backend
from supertopic.datasets import simulate
from supertopic.fitted.spec import Place
from tests.cases import cases
from tests.process_backend import Processes

TOLERANCE, DUAL_TOLERANCE = 2e-4, 5e-3
EM = {"inference": "vb", "max_iter": 6, "tol": 0, "cross_fit": 0}
FITS = {
    "LDA": (LDA(3, max_iter=8, tol=0), None),
    "LDA, collapsed": (LDA(3, inference="cvb0", doc_topic_prior=0.2, max_iter=8, tol=0), None),
    "LDA, mini-batches": (LDA(3, inference="svi", max_iter=2), None),
    "mixture": (MixtureOfCategoricals(3, max_iter=6, tol=0), None),
    "SAGE": (SAGETopics(3, max_iter=5, tol=0), None),
    "gaussian": (SLDARegressor(3, **EM), "gaussian"),
    "gaussian, mini-batches": (SLDARegressor(3, inference="svi", max_iter=2), "gaussian"),
    "poisson": (SLDARegressor(3, response="poisson", **EM), "poisson"),
    "negative binomial": (SLDARegressor(3, response="negative_binomial", **EM), "negative_binomial"),
    "ordinal": (SLDAClassifier(3, response="ordinal", **EM), "ordinal"),
    "softmax": (SLDAClassifier(3, **EM), "softmax"),
    "gaussian, trained for the prediction": (SLDARegressor(3, max_iter=6, cross_fit=2), "gaussian"),
    "softmax, trained for the prediction": (SLDAClassifier(3, max_iter=4, cross_fit=0), "softmax"),
    "per token": (SLDARegressor(3, inference=VB(per_token=True), max_iter=4, tol=0), "gaussian"),
    "SAGE with a response": (SLDARegressor(3, emission="sage", max_iter=5, tol=0), "gaussian"),
    "MedLDA regression": (MedLDARegressor(3, C=2.0, max_iter=6, tol=0), "gaussian"),
    "MedLDA classes": (MedLDAClassifier(3, max_iter=3, tol=0), "softmax"),
}
SHORT = {"LDA, collapsed", "poisson", "softmax", "MedLDA classes"}  # a cluster is asked for the others


@pytest.fixture(scope="module")
def processes():
    backend = Processes(3)
    yield backend
    backend.stop()


@pytest.mark.parametrize("name", cases(FITS, SHORT))
def test_three_processes_equal_threads(name, processes, monkeypatch):
    model, response = FITS[name]
    monkeypatch.setattr(
        "supertopic.responses.margin.TOLERANCE", 1e-8
    )  # no sweep more or less for the sake of last bits
    data = simulate(n_documents=150, n_topics=3, n_words=60, mean_length=30, response=response, seed=3)
    y = getattr(data, "y", None)
    threads = model.fit(data.counts, y)
    found = {key: np.array(getattr(threads, key)) for key in ("components_", "alpha_", "bound_", "doc_topic_")}
    found |= {key: np.array(getattr(threads, key)) for key in ("coef_", "dispersion_") if hasattr(threads, key)}
    monkeypatch.setattr(Place, "open", lambda self, n_jobs=None: processes)
    before = processes.n_calls
    other = model.fit(data.counts, y)
    assert processes.n_calls > before  # the local steps ran there
    tolerance = DUAL_TOLERANCE if name == "MedLDA classes" else TOLERANCE
    for key, expected in found.items():
        scale = max(np.abs(expected).max(), 1e-12)
        np.testing.assert_allclose(getattr(other, key), expected, rtol=0, atol=tolerance * scale, err_msg=key)


def test_a_killed_fit_goes_on_over_another_number_of_partitions(processes, monkeypatch, tmp_path):
    """What a checkpoint keeps does not depend on how documents were spread."""
    from supertopic.checkpoint import Checkpoint

    class Stop(Exception):
        pass

    data = simulate(n_documents=150, n_topics=3, n_words=60, mean_length=30, response="softmax", seed=3)
    params = {"n_topics": 3, "max_iter": 6, "tol": 0}
    whole = MedLDAClassifier(**params).fit(data.counts, data.y)
    save, saves = Checkpoint.save, []

    def save_and_stop(self, *state):
        save(self, *state)
        saves.append(1)
        if len(saves) == 3:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "due", lambda self: True)
        patch.setattr(Checkpoint, "save", save_and_stop)
        patch.setattr(Place, "open", lambda self, n_jobs=None: processes)
        with pytest.raises(Stop):
            MedLDAClassifier(checkpoint=tmp_path / "fit", **params).fit(data.counts, data.y)
    resumed = MedLDAClassifier(checkpoint=tmp_path / "fit", **params).fit(data.counts, data.y)
    np.testing.assert_allclose(resumed.components_, whole.components_, atol=DUAL_TOLERANCE)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend: got 'cluster', expected 'threads'"):
        make_backend("cluster", None)
    with pytest.raises(ValueError, match="backend: got 'cluster', expected 'threads'"):
        LDA(2, backend="cluster").fit([[1, 2], [2, 1], [1, 1]])
