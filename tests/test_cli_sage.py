"""The command line with SAGE's classes."""

import json

import pandas as pd
import pytest

import supertopic
from tests.cli_tools import fails, misused, run, write_rated


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sage")
    write_rated(folder / "data.csv")
    return folder


def command(folder, column):
    given = ("--model", "sage-classifier", "--text", "body", "--target", column)
    return ("fit", folder / "data.csv", *given, "-o", folder / f"{column}.supertopic")


@pytest.mark.parametrize(("column", "classes"), [("label", ["cheap", "dear"]), ("id3", [0, 1, 2])])
def test_every_command_takes_the_model(folder, column, classes):
    done = run(*command(folder, column))
    assert done.exit_code == 0, done.output
    assert f"Fitted SAGEClassifier with {len(classes)} classes" in done.stdout and "until converged" in done.stdout
    assert "5 of 120 rows" in done.stderr
    path, data = folder / f"{column}.supertopic", folder / "data.csv"
    model = supertopic.load(path)
    assert model.classes_.tolist() == classes
    figures = json.loads(run("evaluate", path, data, "--text", "body", "--target", column, "--json").stdout)
    assert figures["accuracy"] > 0.7
    out = folder / "predictions.csv"
    assert run("predict", path, data, "--text", "body", "--out", out, "--force").exit_code == 0
    table = pd.read_csv(out)
    assert list(table) == ["prediction", *(f"p_{label}" for label in classes), "tokens"] and len(table) == 120
    texts = pd.read_csv(data)["body"].tolist()
    assert table["prediction"].tolist() == model.predict(texts).tolist()
    shown = run("topics", path).stdout
    assert "class" in shown and all(str(label) in shown for label in classes)


def test_a_text_is_explained_by_the_classes_of_its_words(folder):
    run(*command(folder, "label"))
    told = json.loads(run("explain", folder / "label.supertopic", "bank money dog", "--json").stdout)
    assert told["prediction"] == "dear" and told["p_dear"] > 0.5
    says = {word["word"]: dict(zip(("cheap", "dear"), word["shares"], strict=True)) for word in told["words"]}
    assert says["bank"]["dear"] > 0.5 > says["dog"]["dear"]
    assert "Prediction: dear" in run("explain", folder / "label.supertopic", "bank money dog").stdout


def test_what_has_no_place_is_refused(folder):
    assert "the model sage-classifier does not take it" in misused(*command(folder, "label"), "--topics", 7)
    assert "the model sage-classifier does not take it" in misused(*command(folder, "label"), "--inference", "vb")
    assert "'logit' is not one of classes" in misused(*command(folder, "label"), "--response", "logit")
    assert "say which column with --target" in misused(*command(folder, "label")[:6], "-o", folder / "x.supertopic")
    assert "which is no class; use --model slda or medlda for numbers" in fails(*command(folder, "price"))
    assert "does not take it" in misused("select", *command(folder, "label")[1:8])
