"""A cluster: fits on workers in processes of their own, over TCP, equal the fits by threads.

Tolerance: 2e-4 of the largest number, as in `test_backends`; draws of the partially collapsed sampler are whole numbers
and equal. A scheduler runs in this process, and workers without a nanny, which nobody starts again, in others.
"""

import copy
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

from supertopic import (
    LDA,
    PC,
    SVI,
    Checkpoint,
    FacetedSAGE,
    Gibbs,
    MedLDAClassifier,
    MedLDARegressor,
    SAGETopics,
    SLDAClassifier,
    SLDARegressor,
    load,
)
from supertopic.backends import connect, make_backend
from supertopic.backends.base import in_tree
from supertopic.datasets import simulate
from supertopic.inference.batches import Batch
from tests.cases import cases
from tests.cli_tools import run, write_corpus

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

TOLERANCE, DUAL_TOLERANCE = 2e-4, 5e-3
PARTIAL = Gibbs(sampler="partial")
FITS = {
    "LDA": (LDA(3, max_iter=12, tol=0), None),
    "LDA, collapsed": (LDA(3, inference="cvb0", doc_topic_prior=0.2, max_iter=4, tol=0), None),
    "LDA, mini-batches": (LDA(3, inference=SVI(batch_size=80), max_iter=2), None),
    "LDA, partially collapsed": (LDA(3, inference=PARTIAL, max_iter=12), None),
    "SAGE": (SAGETopics(3, max_iter=3, tol=0), None),
    "gaussian": (SLDARegressor(3, inference="vb", max_iter=4, tol=0, cross_fit=0), "gaussian"),
    "gaussian, mini-batches": (SLDARegressor(3, inference=SVI(batch_size=80), max_iter=2, cross_fit=0), "gaussian"),
    "gaussian, pc": (SLDARegressor(3, inference=PC(batch_size=80), max_iter=2, cross_fit=2), "gaussian"),
    "poisson": (SLDARegressor(3, inference="vb", response="poisson", max_iter=4, tol=0, cross_fit=0), "poisson"),
    "softmax": (SLDAClassifier(3, inference="vb", max_iter=4, tol=0, cross_fit=0), "softmax"),
    "MedLDA regression": (MedLDARegressor(3, C=2.0, max_iter=4, tol=0), "gaussian"),
    "MedLDA classes": (MedLDAClassifier(3, max_iter=3, tol=0), "softmax"),
    "facets": (FacetedSAGE(3, max_iter=3, tol=0), "softmax"),
}
SHORT = {
    "LDA, partially collapsed",
    "SAGE",
    "gaussian",
    "gaussian, pc",
    "MedLDA classes",
    "facets",
}  # every kind of step
NUMBERS = ("components_", "alpha_", "bound_", "doc_topic_", "coef_", "dispersion_")


def start_worker(address):
    """A worker process without a nanny."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1"]
    return subprocess.Popen([*command, "--no-dashboard"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def cluster():
    """(scheduler's address, workers); they are stopped at the end."""
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", protocol="tcp://", processes=True) as scheduler:
        workers = [start_worker(scheduler.scheduler_address) for _ in range(2)]
        yield scheduler.scheduler_address, workers
        for worker in workers:
            worker.kill()
            worker.wait()


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr("supertopic.inference.batches._PIECE", 400 * 3)
    monkeypatch.setattr("supertopic.inference.batches._PIECE_WORDS", 1)
    monkeypatch.setattr("supertopic.kernels.gibbs_layout.n_groups", lambda n_tokens: 4)


@pytest.fixture
def client(cluster, small_pieces):
    with distributed.Client(cluster[0], set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def data_for(response):
    data = simulate(n_documents=150, n_topics=3, n_words=60, mean_length=30, response=response, seed=3)
    return data.counts, getattr(data, "y", None)


def numbers_of(model):
    return {name: np.array(getattr(model, name)) for name in NUMBERS if hasattr(model, name)}


def assert_alike(found, expected, tolerance=TOLERANCE):
    for name, value in expected.items():
        scale = max(np.abs(value).max(), 1e-12)
        np.testing.assert_allclose(found[name], value, rtol=0, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("name", cases(FITS, SHORT))
def test_a_cluster_equals_threads(name, client, monkeypatch):
    model, response = FITS[name]
    monkeypatch.setattr("supertopic.responses.margin.TOLERANCE", 1e-8)  # no sweep more for the sake of last bits
    counts, y = data_for(response)
    expected = numbers_of(model.fit(counts, y))
    calls = []
    compute = client.compute
    monkeypatch.setattr(client, "compute", lambda *given, **more: calls.append(1) or compute(*given, **more))
    found = numbers_of(clone(model).set_params(backend=client).fit(counts, y))
    assert calls  # the local steps ran there
    assert_alike(found, expected, DUAL_TOLERANCE if name == "MedLDA classes" else TOLERANCE)


def test_a_cluster_knows_of_documents_what_threads_know(client):
    """Covariates, groups and metadata go with their documents."""
    counts, y = data_for("gaussian")
    rng = np.random.default_rng(0)
    known = {"covariates": rng.normal(size=(150, 2)), "groups": np.arange(150) % 30}
    known["metadata"] = {"party": np.where(rng.random(150) < 0.5, "left", "right")}
    params = {"inference": "vb", "prevalence": "~ party", "max_iter": 4, "tol": 0, "cross_fit": 2}
    expected = SLDARegressor(3, **params).fit(counts, y, **known)
    found = SLDARegressor(3, backend=client, **params).fit(counts, y, **known)
    assert_alike(numbers_of(found), numbers_of(expected))
    np.testing.assert_allclose(found.covariate_coef_, expected.covariate_coef_, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(found.prevalence_coef_["coef"], expected.prevalence_coef_["coef"], rtol=1e-2, atol=1e-3)


def where(partition, backend, topics):
    time.sleep(0.3)
    return distributed.get_worker().address


def test_every_worker_has_something_to_do(client):
    """Large topics arrive at one of them first, to which Dask would rather move all documents."""
    counts, y = data_for("gaussian")
    with make_backend(client, 1) as backend:
        spread = backend.spread(Batch(counts.counts, y, np.ones(len(y)), 3))
        for _ in range(4):
            assert len(set(spread.map(where, np.ones(1 << 20)))) == 2


def test_a_worker_that_dies_changes_nothing(client, cluster):
    address, workers = cluster
    counts, y = data_for("gaussian")
    model = SLDARegressor(3, inference="vb", max_iter=20, tol=0, cross_fit=0, backend=client)
    whole = numbers_of(model.fit(counts, y))
    steps = []

    def watch(*given, **more):
        steps.append(1)
        if len(steps) == 12:  # in the middle of a fit, between two cuts of the chain
            workers[0].kill()
        return compute(*given, **more)

    compute, client.compute = client.compute, watch
    helper = threading.Timer(3.0, lambda: workers.append(start_worker(address)))
    helper.start()
    found = numbers_of(clone(model).fit(counts, y))
    helper.join()
    assert len(steps) > 12  # else nobody was killed, and to wait for that worker would take for ever
    workers.pop(0).wait()
    assert_alike(found, whole, tolerance=0)


def test_two_and_three_workers_find_the_same_bit_for_bit(client, cluster):
    """Partitions are a matter of the documents, and the tree a matter of the partitions."""
    address, workers = cluster
    names, found = ("gaussian", "gaussian, pc"), []
    for n_more in (0, 1):
        workers += [start_worker(address) for _ in range(n_more)]
        client.wait_for_workers(len(workers), timeout=120)
        assert len(client.nthreads()) == len(workers)
        found.append([fit_there(*FITS[name], client) for name in names])
    workers[2].kill()
    workers.pop().wait()
    for two, three in zip(*found, strict=True):
        assert_alike(three, two, tolerance=0)


def fit_there(model, response, client):
    return numbers_of(clone(model).set_params(backend=client).fit(*data_for(response)))


def test_a_tree_adds_neighbours():
    parts = [np.float32(1e8), np.float32(1.0), np.float32(-1e8), np.float32(1.0), np.float32(3.0)]
    assert in_tree(parts, lambda a, b: a + b) == (parts[0] + parts[1]) + (parts[2] + parts[3]) + parts[4]


def test_the_sampler_of_a_cluster_draws_topics(client):
    counts, _ = data_for(None)
    own, named = (LDA(3, inference=how, max_iter=12, backend=client).fit(counts) for how in ("gibbs", PARTIAL))
    np.testing.assert_array_equal(own.components_, named.components_)


def test_copies_and_files_of_a_model(client, tmp_path):
    counts, _ = data_for(None)
    model = LDA(3, max_iter=2, backend=client).fit(counts)
    assert clone(model).backend is client
    assert copy.copy(model).backend == pickle.loads(pickle.dumps(model)).backend == "threads"
    model.save(tmp_path / "model.supertopic")
    again = load(tmp_path / "model.supertopic")
    assert again.backend == "threads"
    np.testing.assert_array_equal(again.transform(counts), model.transform(counts))


def test_what_runs_in_one_process_is_refused(client):
    counts, y = data_for("gaussian")
    with pytest.raises(ValueError, match="sampler: got 'collapsed', which draws in one process; expected 'partial'"):
        LDA(3, inference=Gibbs(sampler="collapsed"), backend=client).fit(counts)
    with pytest.raises(ValueError, match="backend: got a Dask client, but this sampler runs in one process"):
        SLDARegressor(3, inference="gibbs", backend=client).fit(counts, y)


def test_the_command_line(cluster, tmp_path):
    for number in range(2):
        write_corpus(tmp_path / f"{number}.csv")
    given = ("fit", tmp_path / "*.csv", "--text", "body", "-k", 2, "--iterations", 3, "--out", tmp_path / "model")
    done = run(*given, "--scheduler", cluster[0])
    assert done.exit_code == 0, done.output
    assert load(tmp_path / "model").backend == "threads"
    with pytest.raises(ValueError, match="scheduler: no Dask scheduler answers at 'tcp://127"):
        connect("tcp://127.0.0.1:9", seconds=0.5)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"a cluster needs dask.distributed: pip install 'supertopic\[cluster\]'"):
        connect("tcp://127.0.0.1:8786")


def test_a_closed_client_is_refused(cluster):
    client = distributed.Client(cluster[0], set_as_default=False)
    client.close()
    with pytest.raises(ValueError, match="backend: got a Dask client that is closed, expected one that is connected"):
        make_backend(client, None)


def run_of_its_own(checkpoint, backend="threads"):
    counts, y = data_for("gaussian")
    params = {"inference": "vb", "max_iter": 300, "tol": 0.0, "cross_fit": 0, "random_state": 0}
    return SLDARegressor(3, backend=backend, checkpoint=checkpoint, **params), counts, y


def written(path, seconds=120):
    """Wait until a fit has saved its first step."""
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)


@pytest.mark.parametrize("dies", ["workers", "scheduler"])
def test_a_cluster_that_dies_is_a_sentence_and_a_checkpoint(dies, tmp_path, monkeypatch, small_pieces):
    """It is not silent for ever, nor does it raise what Dask does; the fit goes on elsewhere."""
    monkeypatch.setitem(dask.config.config, "supertopic", {"patience": 3})
    path = tmp_path / "checkpoint"
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", protocol="tcp://", processes=True) as scheduler:
        worker = start_worker(scheduler.scheduler_address)
        with distributed.Client(scheduler.scheduler_address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)

            def end():
                written(path)
                worker.kill() if dies == "workers" else scheduler.close()

            killer = threading.Thread(target=end)
            killer.start()
            model, counts, y = run_of_its_own(Checkpoint(path, every_seconds=0), client)
            sentence = "no worker for 3 seconds: start some" if dies == "workers" else "the cluster's scheduler is gone"
            with pytest.raises(ConnectionError, match=sentence):
                model.fit(counts, y)
            killer.join()
        worker.kill()
        worker.wait()
    assert path.exists()


def test_a_cluster_without_supertopic_says_so_before_any_work(client, monkeypatch):
    monkeypatch.setattr("supertopic.backends.cluster._KERNELS", "supertopic_of_another_machine")
    counts, y = data_for("gaussian")
    with pytest.raises(ValueError, match="No module named 'supertopic_of_another_machine' on the workers"):
        SLDARegressor(3, inference="vb", backend=client).fit(counts, y)
