"""The GPU's kernels in numba's CUDA simulator (`cuda_simulated`), and what is said where there is no GPU."""

import ctypes
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from supertopic import LDA, load
from supertopic.backends import make_backend
from supertopic.backends.cuda.kernels import launch
from tests.simulator import in_the_simulator

ROOT = Path(__file__).parent.parent
CHECKS = re.findall(r"^def check_(\w+)\(\)", (ROOT / "tests" / "cuda_simulated.py").read_text(), re.MULTILINE)


@pytest.fixture(name="results", scope="module")
def _results(request):
    return in_the_simulator("tests.cuda_simulated", request)


@pytest.mark.parametrize("name", CHECKS)
def test_in_the_simulator(results, name):
    assert results[name] == "", results[name]


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


def test_numbers_of_arguments_lie_where_the_driver_looks(monkeypatch):
    """The simulator starts kernels itself, so that here a driver is imitated, which reads what it is given."""
    compiled, started = [], []
    types = [ctypes.c_int64] * 7 + [ctypes.c_int64, ctypes.c_double, ctypes.c_float, ctypes.c_bool]
    types += [ctypes.c_float, ctypes.c_float, ctypes.c_uint64]

    def start(handle, *given):
        places = ctypes.cast(given[8], ctypes.POINTER(ctypes.c_void_p))
        numbers = [ctypes.cast(places[i], ctypes.POINTER(kind))[0] for i, kind in enumerate(types)]
        started.append((handle, given[:8], numbers))
        return (0 if given[0] else 1,)

    driver = SimpleNamespace(CUfunction=int, cuLaunchKernel=start)
    monkeypatch.setattr(launch, "import_module", lambda name: driver)
    monkeypatch.setattr(launch._HERE, "context", None, raising=False)
    kernel = launch.Kernel(lambda *arguments: None)
    code = SimpleNamespace(_codelibrary=SimpleNamespace(get_cufunc=lambda: SimpleNamespace(handle=7)))
    kernel._function = SimpleNamespace(compile=lambda types: compiled.append(types) or code)
    array = SimpleNamespace(given=launch.Given.of(np.dtype(np.float32), 1 << 40, 5))
    rates = (np.float32(0.25), np.float32(-2.0))
    for large in (np.uint64(2**64 - 1), np.uint64(3)):
        kernel[(4, 2), 64](array, -3, 0.5, np.float32(1.5), True, rates, large)
        expected = [0, 0, 5, 4, 1 << 40, 5, 4, -3, 0.5, 1.5, True, 0.25, -2.0, int(large)]
        assert started.pop() == (7, (4, 2, 1, 64, 1, 1, 0, 0), expected)
    assert [str(kind) for kind in compiled.pop()] == [
        "array(float32, 1d, C)", "int64", "float64", "float32", "bool", "UniTuple(float32 x 2)", "uint64"
    ]  # fmt: skip
    assert not compiled  # the second launch had the same kinds of arguments
    with pytest.raises(RuntimeError, match="a kernel did not start on the GPU: 1"):
        kernel[0, 64](array, -3, 0.5, np.float32(1.5), True, rates, np.uint64(3))
