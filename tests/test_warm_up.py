"""`supertopic warm-up`, and the line that says what a first fit waits for."""

import json
import re

import numba
import pytest

import supertopic
from supertopic.cli import warm_up
from supertopic.progress import telling_of_compilation
from tests.cli_tools import run
from tests.test_golden_fits import FOLDER


def test_the_fits_are_of_models_that_exist():
    for fit in warm_up.FITS.values():
        for name in re.findall(r"\b([A-Z][A-Za-z]+)\(", fit):
            assert name in supertopic.__all__, name


def test_fits_run_in_processes_of_their_own(monkeypatch):
    monkeypatch.setattr(warm_up, "FITS", {"LDA": warm_up.FITS["LDA, variational"]})
    done = run("warm-up", "--jobs", 2)
    assert done.exit_code == 0, done.output
    assert "Compiling for 1 kinds of fits, 2 at a time" in done.stderr and "LDA: " in done.stderr
    monkeypatch.setattr(warm_up, "FITS", {"nothing": "raise RuntimeError('no such thing')"})
    monkeypatch.setattr(warm_up, "_PROGRAM", "{fit}")  # without what takes long to import
    done = run("warm-up")
    assert done.exit_code == 1 and "the fit of nothing failed: RuntimeError: no such thing" in done.stderr


@pytest.mark.parametrize("name", ["slda-gaussian-vb-covariates", "slda-softmax-pc", "disclda", "lda-cvb0"])
def test_what_one_model_needs_to_predict(name):
    done = run("warm-up", FOLDER / f"{name}.supertopic", "--json")
    assert done.exit_code == 0 and json.loads(done.stdout)["seconds"]["prediction"] >= 0, done.output
    assert "Ready to predict after" in done.stderr


def test_compilation_is_announced_once(capsys):
    with telling_of_compilation():
        pass
    assert capsys.readouterr().err == ""
    with telling_of_compilation():
        assert numba.njit(lambda x: x + 1)(1) == 2
        assert numba.njit(lambda x: x + 2)(1) == 3
    assert capsys.readouterr().err.count("Compiling, once for this installation") == 1
