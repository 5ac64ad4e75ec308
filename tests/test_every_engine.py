"""Every engine on every backend, whole fits through the public interface: the same numbers, or a sentence."""

import numpy as np
import pytest

from tests.fits import FITS, REFUSED, SAMPLERS, fit
from tests.simulator import in_the_simulator


@pytest.fixture(scope="module")
def alone():
    """What one thread finds."""
    return {name: fit(name) for name in FITS}


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=False, **options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def simulated(request):
    """What a GPU in the simulator finds, and what a thread of that process does."""
    return in_the_simulator("tests.fits", request)


def hold(found, expected, **tolerance):
    assert "refused" not in expected, expected
    assert found.keys() == expected.keys(), found.get("refused")
    for what, value in expected.items():
        np.testing.assert_allclose(found[what], value, err_msg=what, **tolerance)


def hold_refused(found):
    assert "refused" in found
    assert found["refused"].startswith(("backend: got ", "sampler: got 'collapsed'"))
    assert "expected 'threads'" in found["refused"] or "expected 'partial'" in found["refused"]


@pytest.mark.parametrize("name", FITS)
def test_two_threads(name, alone):
    hold(fit(name, n_jobs=2), alone[name], rtol=0)


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_cluster(name, alone, client, monkeypatch):
    monkeypatch.setattr("supertopic.inference.batches._PIECE", 4)
    monkeypatch.setattr("supertopic.inference.batches._PIECE_WORDS", 1)
    found = fit(name, client)
    if name in REFUSED["cluster"]:
        hold_refused(found)
    else:
        hold(found, alone[name], rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("name", FITS)
def test_a_gpu_in_the_simulator(name, simulated):
    """But for half precision, the same; a sampler draws another chain of the same distribution."""
    assert isinstance(simulated[name], list), simulated[name]
    found, expected = simulated[name]
    if name in REFUSED["cuda"]:
        hold_refused(found)
    elif name in SAMPLERS:
        for what in ("components_", "doc_topic_"):
            np.testing.assert_allclose(np.sum(found[what], axis=1), 1.0, rtol=1e-5)
        assert abs(np.mean(found["bound_"]) - np.mean(expected["bound_"])) < 0.4
    else:
        shares, same = found.pop("doc_topic_"), expected.pop("doc_topic_")
        hold(found, expected, rtol=5e-3, atol=0.01)
        np.testing.assert_allclose(shares, same, atol=0.08)  # the last of few passes counts on the device
