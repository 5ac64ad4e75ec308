"""`supertopic effects`: a table, a figure and LaTeX of what goes with topics."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli_tools import ANIMALS, MONEY, fails, misused, run

pytest.importorskip("formulaic")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("effects")
    rng = np.random.default_rng(0)
    party = rng.choice(["left", "right"], 120)
    share = rng.uniform(0, 0.6, 120) + 0.4 * (party == "right")
    texts = [" ".join(rng.choice((ANIMALS, MONEY)[int(rng.uniform() < p)].split()) for _ in range(30)) for p in share]
    frame = pd.DataFrame({"text": texts, "party": party, "date": pd.date_range("2008-01-01", periods=120).astype(str)})
    frame["author"] = rng.integers(0, 30, 120)
    frame.loc[3, "party"] = None
    frame.to_csv(folder / "data.csv", index=False)
    done = run("fit", folder / "data.csv", "--topics", 2, "--out", folder / "m.supertopic", "--quiet", "--min-df", 1)
    assert done.exit_code == 0, done.output
    return folder


def test_a_table_a_figure_and_latex(files):
    out = [files / name for name in ("t.csv", "f.pdf", "t.tex")]
    done = run(
        "effects", files / "m.supertopic", files / "data.csv", "--formula", "~ party + spline(date, 3)",
        "--cluster", "author", "--contrast", "party=left:right", "--out", out[0], "--plot", out[1], "--latex", out[2],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "party: left → right" in done.stdout and "adjusted" in done.stdout
    assert "Errors by 28 groups of author." in done.stderr and "1 document without" in done.stderr
    table = pd.read_csv(out[0])
    rise = table.estimate.abs()
    assert (rise > 25).all() and (rise < 55).all() and table.estimate.sum() == pytest.approx(0, abs=1e-3)
    assert out[1].stat().st_size > 1000 and "estimate" in out[2].read_text()


def test_json_and_refits(files):
    done = run("effects", files / "m.supertopic", files / "data.csv", "--formula", "~ party", "--refits", 2, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [row["term"] for row in found["effects"]] == ["party=right"] * 2
    assert set(found["effects"][0]) >= {"estimate", "lower", "upper", "p_adjusted", "found_again"}


def test_a_curve_is_drawn_where_terms_are_splines(files, tmp_path):
    start = ["effects", files / "m.supertopic", files / "data.csv", "--formula", "~ spline(date, 3)", "--plot"]
    done = run(*start, tmp_path / "f.pdf")
    assert done.exit_code == 1 and "curve along a column" in done.stderr and "spline(date" in done.stdout
    assert not (tmp_path / "f.pdf").exists()
    assert run(*start, tmp_path / "f.pdf", "--curve", "date").exit_code == 0
    assert (tmp_path / "f.pdf").stat().st_size > 1000


def test_one_of_many_terms_is_drawn(files, tmp_path):
    start = [
        "effects",
        files / "m.supertopic",
        files / "data.csv",
        "--formula",
        "~ party",
        "--plot",
        tmp_path / "f.pdf",
    ]
    assert run(*start, "--term", "party=right").exit_code == 0
    done = run(*start, "--term", "party=left", "--force")
    assert done.exit_code == 1 and "expected one of 'party=right'" in done.stderr


def test_mistakes_are_one_sentence(files):
    start = ["effects", files / "m.supertopic", files / "data.csv", "--formula"]
    assert "'year'" in fails(*start, "~ year")
    assert "a mistake" in fails(*start, "~ party +")
    assert "expected one of 'left', 'right'" in fails(*start, "~ party", "--contrast", "party=left:up")
    assert "no COL=A:B" in misused(*start, "~ party", "--contrast", "party")
    assert "is read by this command" in fails(*start, "~ party", "--out", files / "data.csv")
