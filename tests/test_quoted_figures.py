"""README and docs quote outcomes: rows of tables cell by cell, other figures from an experiment that the page names."""

import csv
import re
from itertools import groupby
from pathlib import Path

import pytest

from experiments.book import FOLDER
from experiments.papers import PAGE

ROOT = FOLDER.parent
BENCH = (ROOT / "bench" / "RESULTS.md").read_text(encoding="utf-8")
UNCERTAINTY = ROOT / "docs" / "uncertainty.md"
# models.md has misprints of the papers; papers.md is written from the outcomes (test_papers_page.py).
PAGES = [ROOT / "README.md", *sorted({*ROOT.glob("docs/*.md")} - {PAGE, ROOT / "docs" / "models.md"})]


def outcome(name):
    """The rows of an outcome, by column."""
    with open(FOLDER / "figures" / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def lines_of(path):
    """The rows of a page's tables, without what makes cells bold."""
    text = path.read_text(encoding="utf-8").replace("**", "")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def benchmark(number):
    """The rows of a table of bench/RESULTS.md, by column."""
    table = re.search(rf"^## {number}\. .*?\n\n(\|.*?)\n\n", BENCH, re.MULTILINE | re.DOTALL)[1]
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def span(values, digits):
    """From the least to the greatest of the cells that are filled."""
    found = [float(value) for value in values if value]
    ends = sorted({f"{end(found):.{digits}f}" for end in (min, max)}, key=float) if found else []
    return " to ".join(ends)


def test_the_readme_has_the_five_splits():
    kept = {row["corpus"]: row for row in outcome("slda.five_splits")}
    kept["20 newsgroups"] = {**(classes := kept["newsgroups, 20 classes"]), "topics": classes["MedLDA"]}
    quoted = [line for line in lines_of(ROOT / "README.md") if line[0] in kept]
    columns = ("topics", "three fits", "words beside", "linear")
    assert [line[1:] for line in quoted] == [
        [kept[line[0]][column].split(" ± ")[0] for column in columns] for line in quoted
    ]
    assert len(quoted) == 7


def test_the_readme_has_the_benchmarks():
    samplers, steps = ({row["K"]: row for row in benchmark(number)} for number in (1, 2))
    peers = [row for row in benchmark(2) if row["K"] == "50"]
    expected = [
        [f"{float(samplers[k]['our M tok/s']):.1f}", f"tomotopy {float(samplers[k]['peer M tok/s']):.1f}"]
        for k in ("50", "1000")
    ]
    seconds = ", ".join(f"{row['peer']} {float(row['peer s/pass']):.1f}" for row in peers)
    expected.append([f"{float(steps['50']['ours s/pass']):.1f}", seconds])
    quoted = [line[1:] for line in lines_of(ROOT / "README.md") if line[0].startswith(("Gibbs", "variational"))]
    assert quoted == expected


def test_scaling_has_the_benchmarks():
    lines = {line[0]: line[1:] for line in lines_of(ROOT / "docs" / "scaling.md")}
    steps = {row["K"]: 1.938874 * int(row["K"]) / float(row["ours s/pass"]) for row in benchmark(2)}
    sweeps = {row["K"]: int(row["K"]) * float(row["our M tok/s"]) for row in benchmark(1)}
    for name, found in (('LDA, `inference="vb"`', steps), ('LDA, `inference="gibbs"`', sweeps)):
        quoted = [float(cell.replace(",", "")) for cell in lines[name][1:] if cell != "not measured"]
        assert quoted == pytest.approx([*found.values()], rel=3e-3)
    fits = [row for row in benchmark(10) if row["target"] in ("300x", "100x")][:3]
    for name, row in zip(
        ('`LDA`, "vb"', '`SLDARegressor`, "vb"', '`SLDARegressor`, "pc", 10 epochs'), fits, strict=True
    ):
        assert lines[name] == [row["GPU"], row["two cores"], row["ratio"], f"{row['target']}, missed"]


def test_uncertainty_has_every_response():
    kept = outcome("slda.every_response")
    lines = {line[0]: line[1:] for line in lines_of(UNCERTAINTY)}
    names = [name for name, _ in groupby(row["response"] for row in kept)]
    for name in names:
        rows = [row for row in kept if row["response"] == name]
        talks = [row["slope"] for row in rows if "talks" in row["corpus"]]
        others = [row["slope"] for row in rows if "talks" not in row["corpus"]]
        expected = [span((row["coverage"] for row in rows), 3), span(others, 2), span(talks, 2)]
        assert lines[f'"{name}"'] == [*expected, span((row["error"] for row in rows), 3)]
    assert len(names) == 10
    errors = span((row["±"] for row in kept if "talks" in row["corpus"]), 2)
    assert f"Slopes on talks have standard errors of {errors}." in UNCERTAINTY.read_text(encoding="utf-8")


def test_uncertainty_says_what_folds_cost():
    folds = span((row["folds"] for row in outcome("slda.calibration") if row["supervision"] != "auto"), 1)
    assert f"cost {folds} times a fit whose `supervision` is a number" in UNCERTAINTY.read_text(encoding="utf-8")


def test_uncertainty_has_coefficients_whose_truth_is_known():
    lines = [line for line in lines_of(UNCERTAINTY)]
    ways = groupby(sorted(outcome("slda.known_coefficients"), key=lambda row: row["fit"]), key=lambda row: row["fit"])
    for way, rows in ways:
        covered = [round(800 * float(row["covered"])) for row in rows]
        name = "defaults" if way == "the defaults" else f"`{way}`"
        quoted = next(line[1:] for line in lines if line[0] == name and len(line) == 5)
        assert [float(cell) for cell in quoted] == pytest.approx([count / 800 for count in covered], abs=0.00051)


def test_uncertainty_has_effects_whose_truth_is_known():
    kept = {(row["intervals"], row["documents"]): float(row["hold the true difference"])
            for row in outcome("lda.effects_coverage")}  # fmt: skip
    for name, way in (("`estimate_effect`", "estimate_effect, LDA"), ("least squares on `doc_topic_`", None)):
        found = [kept[way or "least squares on doc_topic_, LDA", who] for who in ("independent", "of 30 authors")]
        assert [name, *(f"{one:.3f}" for one in found)] in lines_of(UNCERTAINTY)


def test_uncertainty_has_fits_without_folds():
    lines = lines_of(UNCERTAINTY)
    for row in outcome("slda.without_folds"):
        found = [float(row[column]) for column in ("R²", "slope", "coverage", "findings in noise")]
        digits = (3, 2, 3, 2)
        assert [f"`{row['fit']}`", *(f"{one:.{n}f}" for one, n in zip(found, digits, strict=True))] in lines


def test_uncertainty_says_what_does_not_hold():
    text = re.sub(r"\s+", " ", UNCERTAINTY.read_text(encoding="utf-8"))
    kept = {row["what"]: float(row["mean"]) for row in outcome("slda.certainty")}
    worst = [
        f"{kept[f'{corpus}: worst tenth by {by}']:.2f}"
        for corpus in ("yelp_restaurants25k", "wine_price")
        for by in ("prediction", "length")
    ]
    law = kept['overdispersed noise under "poisson", honest=0.5: findings']
    for said in (
        "has {} of its labels in 90 % intervals, by length {}; of wines {} and {}.".format(*worst),
        f"it is found in {kept['noise by group, honest=0.5: findings']:.2f} of them",
        f"intervals hold {kept['… 90 % intervals hold documents of new groups']:.2f} of the documents of new groups",
        f'noise under "poisson" is found in {law:.2f} of the coefficients',
        f"by {kept['ohsumed23, SLDAClassifier: error']:.3f} on average for 23 classes",
        f"that of `SAGEClassifier` by {kept['ohsumed23, SAGEClassifier: error']:.3f}.",
    ):
        assert said in text


def kept_by(text):
    """The figures, with three digits, of the experiments that a page names, and of the benchmarks if it links them."""
    found = set(re.findall(r"\d\.\d{3}\b", BENCH)) if "bench/RESULTS.md" in text else set()
    for name in {path.stem for path in (FOLDER / "figures").glob("*.csv")} & set(re.findall(r"`([\w.]+)`", text)):
        cells = (FOLDER / "figures" / f"{name}.csv").read_text(encoding="utf-8")
        found |= {f"{float(number):.3f}" for number in re.findall(r"\d*\.\d+", cells)}
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_other_figures_are_of_an_experiment_that_the_page_names(path: Path):
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert set(re.findall(r"(?<![\d.])0\.\d{3}(?!\d)", prose)) <= kept_by(text)
