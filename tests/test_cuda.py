"""The GPU's kernels in numba's CUDA simulator (`cuda_simulated`), and what is said where there is no GPU."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from supertopic import LDA, load
from supertopic.backends import make_backend

ROOT = Path(__file__).parent.parent
CHECKS = re.findall(r"^def (check_\w+)\(\)", (ROOT / "tests" / "cuda_simulated.py").read_text(), re.MULTILINE)


@pytest.fixture(name="results", scope="module")
def _results():
    """All checks in one process, which has the simulator."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", "tests.cuda_simulated"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", CHECKS)
def test_in_the_simulator(results, name):
    assert results[name][0] == "", results[name][0]


def test_a_model_of_a_gpu_is_read_without_one(tmp_path, monkeypatch):
    model = LDA(2, inference="vb", max_iter=1, random_state=0).fit(["red green", "green blue"])
    model.backend = "cuda"
    with monkeypatch.context() as there:
        there.setattr("supertopic.backends.cuda.require_gpu", lambda: None)
        model.save(tmp_path / "model.supertopic")
    assert load(tmp_path / "model.supertopic").backend == "threads"


def test_without_numba_cuda_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr("supertopic.backends.cuda.find_spec", lambda name: None)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    with pytest.raises(
        ValueError, match=r"backend: got 'cuda', which needs numba-cuda: pip install 'supertopic\[gpu\]'"
    ):
        make_backend("cuda", None)


def test_without_a_gpu_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr("supertopic.backends.cuda.find_spec", lambda name: True)
    monkeypatch.setattr("numba.cuda.is_available", lambda: False)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    with pytest.raises(ValueError, match="backend: got 'cuda', but numba finds no GPU here"):
        LDA(2, backend="cuda").fit(["red green", "green blue"])
