"""The command line overwrites nothing of the user's, and refuses columns and numbers that make no sense."""

import os

import numpy as np
import pandas as pd
import pytest

from supertopic import load

from .cli_tools import fails, misused, run


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array(["cat", "dog", "mat", "stocks", "market", "trade", "fish", "bird"])
    texts = [" ".join(words[rng.integers(4 * (i % 2), 4 + 4 * (i % 2), size=12)]) for i in range(40)]
    frame = pd.DataFrame({"body": texts, "label": ["a", "b"] * 20, "stars": rng.normal(size=40)})
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def fit(data, out, *more):
    return ["fit", data, "--text", "body", "-k", 2, "--iterations", 2, "--out", out, *more]


@pytest.fixture
def model(data, tmp_path):
    assert run(*fit(data, tmp_path / "m.supertopic")).exit_code == 0
    return tmp_path / "m.supertopic"


def test_an_input_is_never_the_output(data, model, tmp_path, monkeypatch):
    before = data.read_bytes()
    os.symlink(data, tmp_path / "link.csv")
    os.link(data, tmp_path / "hard.csv")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    for out in (
        data,
        tmp_path / "link.csv",
        tmp_path / "hard.csv",
        "../data.csv",
        tmp_path / "folder" / ".." / "data.csv",
    ):
        for force in ([], ["--force"]):
            assert "is read by this command" in fails(*fit(data, out, *force))
            assert "is read by this command" in fails("predict", model, data, "--text", "body", "--out", out, *force)
            assert "is read by this command" in fails("select", data, "--text", "body", "-k", 2, "--out", out, *force)
    glob = str(tmp_path / "d*.csv")
    assert "is read by this command" in fails(*fit(glob, data, "--force"))
    os.remove(tmp_path / "link.csv"), os.remove(tmp_path / "hard.csv")
    assert "is read by this command" in fails("predict", model, tmp_path, "--text", "body", "--out", data, "--force")
    assert data.read_bytes() == before


def test_a_model_is_not_replaced_by_its_predictions(data, model, tmp_path):
    before = model.read_bytes()
    os.link(model, tmp_path / "m.csv")
    assert "is read by this command" in fails("predict", model, data, "--out", tmp_path / "m.csv", "--force")
    assert model.read_bytes() == before


@pytest.mark.parametrize("content", [b"years of work\n", b"id,text\n1,a\n", b"\x80\x04pickle"])
def test_a_file_of_the_users_is_replaced_with_force_only(data, model, tmp_path, content):
    notes, table = tmp_path / "notes.txt", tmp_path / "table.csv"
    notes.write_bytes(content), table.write_bytes(content)
    assert "notes.txt is already there: choose" in fails(*fit(data, notes))
    assert "table.csv is already there: choose" in fails("predict", model, data, "--text", "body", "--out", table)
    assert "table.csv is already there" in fails("select", data, "--text", "body", "-k", 2, "--out", table)
    assert "notes.txt is already there" in fails("select", data, "--text", "body", "-k", 2, "--plot", notes)
    assert "notes.txt is already there: choose" in fails("demo", "--out", notes)
    assert "is the file of the page" in fails("demo", "--out", tmp_path / "one", "--page", tmp_path / "one")
    assert f"{model} is already there: choose another file, or replace it with --force" in fails(*fit(data, model))
    assert notes.read_bytes() == table.read_bytes() == content
    assert run(*fit(data, notes, "--force")).exit_code == 0
    assert run("predict", model, data, "--text", "body", "--out", table, "--force").exit_code == 0
    assert len(load(notes).components_) == 2 and "topic" in pd.read_csv(table)


def test_an_empty_file_is_replaced_and_a_model_with_force(data, model, tmp_path):
    (tmp_path / "empty").touch()
    assert run(*fit(data, model, "--force")).exit_code == 0
    assert run(*fit(data, tmp_path / "empty")).exit_code == 0


def test_a_checkpoint_is_no_model_and_a_model_no_checkpoint(data, model, tmp_path):
    from supertopic.persistence import write_file

    write_file(tmp_path / "c", "checkpoint", {"fingerprint": {}}, {})
    assert "is already there: choose another file" in fails(*fit(data, tmp_path / "c"))
    assert "is already there and is no checkpoint" in fails(*fit(data, tmp_path / "n", "--checkpoint", model))
    assert "is already there and is no checkpoint" in fails(*fit(data, tmp_path / "n", "--checkpoint", data))
    assert "is the file of the model" in fails(*fit(data, tmp_path / "n", "--checkpoint", tmp_path / "n"))
    assert "another fit" in fails(*fit(data, tmp_path / "n", "--checkpoint", tmp_path / "c"))
    given = ["--checkpoint", tmp_path / "d", "--checkpoint-every", 0]
    assert run(*fit(data, tmp_path / "n", *given)).exit_code == 0 and not (tmp_path / "d").exists()


@pytest.mark.parametrize("jobs", [-5, 0, -2])
def test_numbers_of_threads_that_make_no_sense(data, model, tmp_path, jobs):
    assert f"{jobs} is no number of threads" in misused(*fit(data, tmp_path / "n", "--jobs", jobs))
    assert f"{jobs} is no number of threads" in misused("predict", model, data, "--jobs", jobs)
    assert run(*fit(data, tmp_path / "n", "--jobs", -1)).exit_code == 0


def test_the_target_is_not_the_text(data, tmp_path):
    given = fit(data, tmp_path / "n", "--model", "slda", "--target", "body")
    assert "--target: 'body' is the column of the documents" in fails(*given)
    assert "--target: 'body' is the column of the documents" in fails(*given, "--inference", "svi", "--stream")


@pytest.mark.parametrize("separator", [",", "\t"])
def test_two_columns_of_one_name(data, tmp_path, separator):
    frame = pd.read_csv(data)
    path = tmp_path / ("double.csv" if separator == "," else "double.tsv")
    frame.columns = ["body", "stars", "stars"]
    frame.to_csv(path, index=False, sep=separator)
    given = ["--model", "slda", "--target", "stars"]
    assert "The table has two columns 'stars'" in fails(*fit(path, tmp_path / "n", *given))
    assert run(*fit(path, tmp_path / "n")).exit_code == 0  # they are not asked for
    stdin = path.read_text()
    if separator == ",":
        assert "The table has two columns 'stars'" in fails(*fit("-", tmp_path / "o", *given), stdin=stdin)


@pytest.mark.parametrize("wrong", ["inf", "-inf", "1e200", "1" + "0" * 400])
def test_a_target_that_is_not_finite_is_refused(data, tmp_path, wrong):
    out = tmp_path / "s.supertopic"
    given = ["--model", "slda", "--target", "stars"]
    assert run(*fit(data, out, *given)).exit_code == 0
    text = data.read_text().splitlines()
    text[3] = text[3].rsplit(",", 1)[0] + f",{wrong}"
    (tmp_path / "wrong.csv").write_text("\n".join(text) + "\n")
    evaluate = ["evaluate", out, tmp_path / "wrong.csv", "--text", "body", "--target", "stars"]
    assert "expected numbers up to 1e+15" in fails(*evaluate)
    assert "expected numbers up to 1e+15" in fails(
        *fit(tmp_path / "wrong.csv", tmp_path / "n", *given, "--response", "gaussian")
    )


@pytest.mark.parametrize(
    ("written", "asked", "said"),
    [("utf-16", "utf-8", "utf-16"), ("latin-1", "utf-8", "latin-1"), ("utf-8", "ascii", "utf-8")],
)
def test_another_encoding_is_named_as_an_option(tmp_path, written, asked, said):
    (tmp_path / "data.csv").write_bytes("body\ncafé noir\n".encode(written))
    done = run("fit", tmp_path / "data.csv", "--text", "body", "--encoding", asked, "--out", tmp_path / "m")
    assert done.exit_code == 1 and f"give --encoding {said}" in " ".join(done.stderr.split())
