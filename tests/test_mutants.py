"""The mutation check (`python -m tests.mutants`): its table is up to date, and a few of its mutants are killed."""

import pytest

from tests.mutants import MUTANTS, copy_project, is_killed, places, run_tests

SAMPLE = [  # quick ones: nothing has to be compiled again
    "coefficients.py: ridge",
    "checkpoint.py: if differences",
]


def test_every_mutant_has_its_place():
    assert len(MUTANTS) >= 60
    found = {mutant.name: places(mutant) for mutant in MUTANTS}
    assert {name: times for name, times in found.items() if times != 1} == {}  # the text stands there once
    assert [mutant.name for mutant in MUTANTS if mutant.old == mutant.new] == []


def test_a_sample_of_mutants_is_killed(tmp_path):
    chosen = [mutant for mutant in MUTANTS if mutant.name.startswith(tuple(SAMPLE))]
    assert len(chosen) == len(SAMPLE)
    copy_project(tmp_path)
    assert run_tests(tmp_path, *(mutant.tests for mutant in chosen)) == 0
    for mutant in chosen:
        before = (tmp_path / "src" / "supertopic" / mutant.file).read_text()
        assert is_killed(mutant, tmp_path), f"{mutant.name}: survived {mutant.tests}"
        assert (tmp_path / "src" / "supertopic" / mutant.file).read_text() == before


def test_a_mutant_whose_test_is_not_there_is_no_killed_one(tmp_path):
    copy_project(tmp_path)
    with pytest.raises(RuntimeError, match="is there test_nowhere"):
        is_killed(MUTANTS[0]._replace(tests="test_nowhere.py"), tmp_path)
