"""The registry of experiments: names, output files, and sections that are replaced by a new run."""

import csv
import sys

import numpy as np
import pytest
from joblib import parallel_config

from experiments import __main__ as command
from experiments.book import FOLDER, Experiment, Outcome, carry_out, experiments
from experiments.calibration import averaged, calibration_error, claims_of, slope_of


def test_every_experiment_has_a_paper_and_says_what_it_is():
    found = experiments()
    assert {name.split(".")[0] for name in found} >= {"lda", "slda"}
    assert all(experiment.what and experiment.run.__name__ == name.split(".")[1] for name, experiment in found.items())


def test_a_run_leaves_a_table_a_picture_and_a_section(tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    def run(quick):
        rows = [["ours", 0.51234, None], ["theirs", 0.5, "±"]]
        return Outcome(["who", "figure", "more"], rows, f"A note, quick {quick}.", Figure(), {"ours is higher": True})

    outcome = carry_out(Experiment("paper.figure7", "figure 7", run), True, tmp_path)
    assert outcome.rows[0][1] == 0.51234
    with open(tmp_path / "figures" / "paper.figure7.csv", newline="") as file:
        assert list(csv.reader(file))[1] == ["ours", "0.51234", ""]
    assert (tmp_path / "figures" / "paper.figure7.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "RESULTS.md").read_text()
    assert "## paper.figure7: figure 7\n" in page and "| ours | 0.512 | – |" in page
    assert "ours is higher: **yes**" in page and "`python -m experiments paper.figure7 --quick`" in page


def called(monkeypatch, *words):
    """The exit code of `python -m experiments` with these words."""
    monkeypatch.setattr(sys, "argv", ["experiments", *words])
    try:
        command.main()
    except SystemExit as end:
        return end.code
    return 0


def test_a_quick_version_does_not_replace_committed_results(tmp_path, monkeypatch, capsys):
    """Neither by the command's default folder nor by its name; figure 4 of SSTM was lost that way."""
    run = Experiment("paper.figure7", "figure 7", lambda quick: pytest.fail("it ran"))
    with pytest.raises(ValueError, match="committed results"):
        carry_out(run, True, tmp_path / ".." / FOLDER)
    folders = []
    monkeypatch.setattr(command, "carry_out", lambda one, quick, out: folders.append(out) or Outcome(["a"], [], ""))
    assert called(monkeypatch, "lda.topics", "--quick") == 0
    assert called(monkeypatch, "lda.topics", "--quick", "--out", str(FOLDER)) == 2
    assert "committed results" in capsys.readouterr().err and len(folders) == 1 and folders[0] != FOLDER
    assert " --quick`," not in (FOLDER / "RESULTS.md").read_text(encoding="utf-8")


def test_an_unknown_name_is_refused_and_known_ones_are_listed(monkeypatch, capsys):
    assert called(monkeypatch, "lda.figure99") == 2 and "no experiment lda.figure99" in capsys.readouterr().err
    assert called(monkeypatch, "--list") == 0
    said = capsys.readouterr().out
    assert "lda.topics" in said and "slda.figure2" in said


def test_the_slope_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    found = rng.normal(2.0, 1.0, size=300)
    y = 1.0 + 0.7 * found + rng.normal(size=300)
    assert slope_of(y, found) == pytest.approx(np.polyfit(found, y, 1)[0])
    assert slope_of(y, np.full(300, 2.0)) is None


def test_means_over_seeds_have_the_error_of_the_slope():
    found = averaged([[0.5, 1.2, 0.9, None], [0.3, 0.8, 0.8, None], [0.1, 1.0, 0.7, None]])
    assert found == pytest.approx([0.3, 1.0, 0.2 / np.sqrt(3), 0.8, None])
    assert averaged([[0.5, None, 0.9, 0.02]]) == [0.5, None, None, 0.9, 0.02]


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, [True, True, True]),
        ({2: 0.1}, [True, False, True]),
        ({3: 0.95}, [False, True, True]),
        ({4: 0.05}, [True, True, False]),
    ],
)
def test_claims_hold_if_they_hold_in_every_row(change, holds):
    """Rows of score, slope, its error, coverage, calibration error; one number of the second row changes."""
    rows = [[0.5, 0.91, 0.01, 0.9, None], [0.5, 1.3, 0.2, 0.92, 0.03]]
    rows[1] = [change.get(place, value) for place, value in enumerate(rows[1])]
    assert list(claims_of(rows, 0, quick=False).values()) == holds
    assert list(claims_of([["films", *row] for row in rows], 1, quick=True).values()) == [True]


def test_the_calibration_error_by_hand():
    chances, right = np.array([0.9, 0.6, 0.8, 0.5]), np.array([True, False, True, True])
    assert calibration_error(chances, right, bins=2) == pytest.approx(0.5 * abs(0.55 - 0.5) + 0.5 * abs(0.85 - 1.0))


def test_the_table_of_stability_compares_seeds_and_samples():
    from experiments.stability import Found, claims_of, compared

    given = []

    def way(split, seed):
        given.append((len(split[1]), seed))
        return Found(np.roll(np.eye(3, 6), seed, axis=1)[:, :6], 0.1 * seed, 0.4, 0.2)

    y = np.arange(10.0)
    with parallel_config(backend="sequential"):
        r2, seeds, samples, largest, npmi = compared(way, (np.zeros((10, 4)), y, None, None), 2)
    assert given == [(10, 0), (10, 1), (8, 0), (8, 1)]
    assert (r2, largest, npmi) == (pytest.approx(0.05), pytest.approx(0.4), pytest.approx(0.2))
    assert seeds == samples == pytest.approx(2 / 3)  # two of three topics are the same
    rows = [["a", '"pc"', 0.5, 0.9, 0.7, 0.4, 0.1], ["b", '"pc"', 0.5, 0.7, 0.7, 0.4, 0.1]]
    rows += [["a", "LDA", 0.4, 0.9, 0.9, 0.4, 0.1], ["b", "LDA", 0.4, 0.9, 0.9, 0.4, 0.106]]
    assert list(claims_of(rows).values()) == [True, False, True, False, True]
