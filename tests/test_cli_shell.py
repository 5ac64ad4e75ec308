"""The command line in scripts: nothing said, results on standard output, options in a file."""

import io
import tomllib

import pandas as pd
import pytest

from supertopic import load
from tests.cli_tools import fails, misused, run, write_corpus


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("shell") / "data.csv"
    write_corpus(path)
    return path


@pytest.fixture(scope="module")
def model(data):
    out = data.with_name("m.supertopic")
    done = run("fit", data, "-k", 2, "--iterations", 3, "--min-df", 1, "--max-df", 0.9, "--quiet", "--out", out)
    assert done.exit_code == 0 and done.stderr == "" and "Fitted LDA" in done.stdout
    return out


def test_quiet_is_quiet_unless_there_is_an_error(data, model):
    assert "Reading the documents from column 'body'" in run("predict", model, data).stderr
    for command in (["predict", model, data], ["topics", model], ["evaluate", model, data], ["explain", model, "cat"]):
        assert run(*command, "--quiet").stderr == ""
    assert fails("topics", "none", "-q") == "Error: none does not exist: check the path of the model"
    assert "Reading the documents" in run("predict", model, data).stderr  # the next command speaks again


def test_results_go_to_standard_output(data, model):
    page = run("report", model, data, "--out", "-")
    assert page.stdout.startswith("<!doctype html>") and "Wrote" not in page.stderr
    table = run("effects", model, data, "--formula", "~ label", "--out", "-").stdout
    assert {"topic", "estimate"} <= set(pd.read_csv(io.StringIO(table)))
    refused = "Error: --out: got -, which is standard output, expected the name of a file"
    assert fails("fit", data, "--out", "-", "-q") == refused


def test_settings_beside_a_model_repeat_its_fit(tmp_path, data, model):
    written = tomllib.loads((model.parent / "m.supertopic.toml").read_text(encoding="utf-8"))
    assert written == {
        "data": str(data), "out": str(model), "topics": 2, "iterations": 3, "min-df": "1", "max-df": "0.9"
    }  # fmt: skip
    again = tmp_path / "again.supertopic"
    assert run("fit", "--config", f"{model}.toml", "--out", again).exit_code == 0
    assert (load(again).components_ == load(model).components_).all()


def test_the_command_line_goes_before_a_file_of_settings(tmp_path, data):
    file, out = tmp_path / "fit.toml", tmp_path / "m.supertopic"
    file.write_text(f"data = {str(data)!r}\ntopics = 4\nmin_df = 1\nmetadata = ['id', 'label']\niterations = 2\n")
    assert run("fit", "--config", file, "--topics", 3, "--out", out).exit_code == 0
    written = tomllib.loads((tmp_path / "m.supertopic.toml").read_text(encoding="utf-8"))
    assert len(load(out).components_) == written["topics"] == 3 and written["metadata"] == "id,label"
    out.unlink()
    assert "m.supertopic.toml is already there" in fails("fit", "--config", file, "--out", out)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "fit.toml cannot be read: No such file or directory"),
        ("topics =", "fit.toml cannot be read: it is no TOML"),
        ("topcis = 3", "'topcis' is no option of supertopic fit; did you mean 'topics'?"),
        ("[topics]\nn = 3", "'topics' is no option of supertopic fit"),
        ("topics = 0", "Invalid value for '--topics' / '-k'"),
    ],
)
def test_wrong_settings_are_a_sentence(tmp_path, data, monkeypatch, text, sentence):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "fit.toml").write_text(text)
    assert sentence in misused("fit", data, "--config", "fit.toml", "--out", "m.supertopic")
