"""Every experiment in its quick version: it runs, the paper's claims hold, and its files are written."""

import csv

import pytest

from experiments.book import carry_out, experiments
from supertopic import SLDAClassifier, SLDARegressor

pytest.importorskip("matplotlib")
CERTAINTY = ("slda.calibration", "slda.certainty", "slda.known_coefficients", "slda.defaults", "slda.without_folds")


@pytest.mark.release
@pytest.mark.data
@pytest.mark.filterwarnings("ignore")  # small versions stop early and have empty documents
@pytest.mark.parametrize("name", experiments())
def test_quick_version(name, data_dir, tmp_path, monkeypatch):
    if name not in CERTAINTY:  # the others do not use what comes from folds, which would take most of their time
        for kind in (SLDARegressor, SLDAClassifier):
            monkeypatch.setattr(kind, "_n_folds", lambda self: 0)
    outcome = carry_out(experiments()[name], True, tmp_path)
    assert [claim for claim, held in outcome.claims.items() if not held] == []
    with open(tmp_path / "figures" / f"{name}.csv", newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    assert table[0] == outcome.columns and len(table) == 1 + len(outcome.rows) > 1
    picture = tmp_path / "figures" / f"{name}.png"
    assert picture.exists() == (outcome.figure is not None)
    if outcome.figure is not None:
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 5000
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert f"## {name}: " in page and f"python -m experiments {name} --quick" in page and outcome.note in page
