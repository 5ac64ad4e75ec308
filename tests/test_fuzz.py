"""Random inputs: few in `make test`, thousands in `make test-all`, and as many as one asks for by
`python -m tests.fuzz.loader 1000000` and the like.

Hypothesis chooses the seeds, and prints the one of a failure. What fuzzing has found stands below by itself.
"""

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom

from supertopic import SLDAClassifier
from supertopic.persistence import read_model, write_model
from supertopic.plain_values import encode
from supertopic.responses.counts import quantile
from tests.fuzz import command_lines, inputs, loader, watch
from tests.fuzz.runner import temporary_folder
from tests.test_crafted_files import golden_files, use

MOST_MEMORY = 200  # megabytes that all cases together may take
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def cases(number):
    """So many cases, the same ones in every run."""
    phases = (Phase.explicit, Phase.generate, Phase.shrink)
    return settings(
        max_examples=number, derandomize=True, database=None, deadline=None, suppress_health_check=QUIET, phases=phases
    )


NUMBERS = st.integers(0, 2**63).map(random.Random)


@pytest.fixture
def folder(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    with temporary_folder() as path:
        yield Path(path)


@pytest.mark.parametrize("number", [100, pytest.param(5000, marks=pytest.mark.release)])
def test_forged_files_are_refused_or_predict_numbers(folder, number):
    loader.warm_up()
    before = watch.peak_memory()

    @cases(number)
    @given(NUMBERS)
    def forge(rng):
        with watch.time_bound():
            loader.try_one(rng, folder)

    forge()
    assert watch.peak_memory() - before < MOST_MEMORY


def forged(tmp_path, name, arrays=(), **changes):
    """A file of a model with other arrays, and other entries of groups of the manifest."""
    old, kept = read_model(golden_files()[name])
    inside = {group: {**old[group], **entries} for group, entries in changes.items()}
    write_model(tmp_path / "forged", {**old, **inside}, {**kept, **dict(arrays)})
    return tmp_path / "forged"


def test_an_intercept_that_was_never_fitted_is_refused(tmp_path):
    assert not use(forged(tmp_path, "sstm-classifier-chains", params={"fit_intercept": False}))


def classes(labels):
    return {"classes": encode(np.asarray(labels), "y")}


@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
def test_a_class_is_a_finite_number(tmp_path, value):
    assert not use(forged(tmp_path, "sage-classifier", schema=classes(sorted([value, 2.0]))))
    assert use(forged(tmp_path, "sage-classifier", schema=classes([1.0, 2.5])))


def test_a_class_is_a_text_that_can_be_written(tmp_path):
    assert not use(forged(tmp_path, "sage-classifier", schema=classes(["1.0", "\ud800"])))
    with pytest.raises(ValueError, match="half of a character"):
        SLDAClassifier(2).fit(np.eye(4, 3, dtype=int) + 1, ["1.0", "\ud800", "1.0", "\ud800"])


def test_a_number_of_covariates_takes_no_memory(tmp_path):
    many = {"$array": ["float64", [10**9], []]}
    path = forged(tmp_path, "slda-gaussian-vb-words", schema={"scaling": {"mean": many, "factor": many}})
    before = watch.peak_memory()
    assert not use(path)
    assert watch.peak_memory() - before < 50


@pytest.mark.parametrize("name", ["slda-negative_binomial-svi", "slda-poisson-svi-cross-fit", "slda-poisson-gibbs"])
@pytest.mark.parametrize("value", [2e5, -2e5, 2e9])
def test_a_large_coefficient_predicts_a_number(tmp_path, name, value):
    coef = read_model(golden_files()[name])[1]["state.coef"].copy()
    coef[0, 0] = value
    with watch.time_bound():
        use(forged(tmp_path, name, {"state.coef": coef}))


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("r", [0.3, 5.0, 1e6])
def test_quantiles_of_large_counts_go_on_where_the_search_ends(share, r):
    below, above = (quantile(share, np.array([r]), np.array([mean]))[0] for mean in (1e12, 1.001e12))
    assert below == nbinom.ppf(share, r, r / (r + 1e12))
    assert above == pytest.approx(1.001 * below, rel=1e-6)


def test_a_type_that_numpy_does_not_have_is_refused(folder):
    data = golden_files()["lda-cvb0"].read_bytes()
    place = data.index(b'"dtype":"')
    (folder / "m").write_bytes(data[:place] + data[place:].replace(b'"dtype":"F32"', b'"dtype":"F8_E4M3"', 1))
    length = int.from_bytes(data[:8], "little") + 4
    (folder / "m").write_bytes(length.to_bytes(8, "little") + (folder / "m").read_bytes()[8:])
    with pytest.raises(ValueError, match="is damaged or cut short"):
        read_model(folder / "m")


@pytest.mark.parametrize("number", [30, pytest.param(1000, marks=pytest.mark.release)])
def test_any_matrix_label_frame_or_file_is_refused_by_a_sentence_or_gives_numbers(folder, number):
    inputs.warm_up()

    @cases(number)
    @given(NUMBERS)
    def give(rng):
        with watch.time_bound(60):
            inputs.try_one(rng, folder)

    give()


@pytest.mark.parametrize("number", [10, pytest.param(300, marks=pytest.mark.release)])
def test_any_command_line_ends_with_a_sentence(folder, monkeypatch, number):
    monkeypatch.chdir(folder)

    @cases(number)
    @given(NUMBERS)
    def call(rng):
        with watch.time_bound(60):
            command_lines.try_one(rng, folder)

    call()
