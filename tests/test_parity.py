"""The same numbers as the libraries that tests need anyway; `python -m bench.parity` has all of them."""

import pytest

from bench.parity import PARTS, Row, rows_of
from tests.cases import cases


@pytest.mark.parametrize("name", cases(["lda", "glm", "svm", "sparse"], ["glm", "svm", "sparse"]))
def test_the_same_problem_has_the_same_solution(name):
    rows = rows_of([name])
    assert len(rows) >= 3
    for row in rows:
        assert row.apart <= row.allowed, row


def test_a_row_tells_how_far_apart_two_vectors_are():
    row = Row("numbers", "peer", [1.0, 2.0], [1.0, 4.0], 0.1)
    assert row.apart == 0.5 and row.cells() == ["numbers", "peer", "2 numbers", "2 numbers", "5.0e-01", "1e-01"]
    assert Row("number", "peer", 3, 3, 0.0).cells()[2:] == ["3", "3", "0.0e+00", "0e+00"]


def test_a_part_whose_peer_is_missing_is_left_out(monkeypatch, capsys):
    monkeypatch.setitem(PARTS, "svm", (PARTS["svm"][0], "no-such-library"))
    assert rows_of(["svm"]) == []
    assert "svm is left out: no-such-library is not installed" in capsys.readouterr().err
