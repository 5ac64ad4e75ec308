"""The command line with a max-margin response."""

import json

import pandas as pd
import pytest

import supertopic
from tests.cli_tools import fails, misused, run, write_rated


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("medlda")
    write_rated(folder / "data.csv")
    return folder


def fit(folder, column, *more):
    command = ("fit", folder / "data.csv", "--model", "medlda", "--text", "body", "--target", column, "-k", 2)
    done = run(*command, "--iterations", 5, "--force", "-o", folder / f"{column}.supertopic", *more)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize(
    ("column", "kind", "said", "figure"),
    [
        ("price", "MedLDARegressor", "taken as numbers (epsilon_insensitive); use --response hinge for classes", "r2"),
        ("label", "MedLDAClassifier", "taken as classes (hinge).", "accuracy"),
        ("id3", "MedLDAClassifier", "taken as classes (hinge)", "accuracy"),
    ],
)
def test_every_command_takes_the_model(folder, column, kind, said, figure):
    assert said in fit(folder, column).stderr
    path, data = folder / f"{column}.supertopic", folder / "data.csv"
    assert type(supertopic.load(path)).__name__ == kind
    figures = json.loads(run("evaluate", path, data, "--text", "body", "--target", column, "--json").stdout)
    assert figures[figure] > 0.6
    assert run("topics", path).exit_code == run("explain", path, "bank money dog").exit_code == 0
    out = folder / "predictions.csv"
    assert run("predict", path, data, "--text", "body", "--out", out, "--force").exit_code == 0
    assert len(pd.read_csv(out)) == 120 and "prediction" in pd.read_csv(out)


def test_numbers_or_classes_as_asked(folder):
    assert "taken as" not in fit(folder, "id3", "--response", "epsilon_insensitive").stderr
    assert type(supertopic.load(folder / "id3.supertopic")).__name__ == "MedLDARegressor"
    command = ("fit", folder / "data.csv", "--model", "medlda", "--text", "body", "-o", folder / "m.supertopic")
    said = misused(*command, "--target", "price", "--response", "gaussian")
    assert "'gaussian' is not one of epsilon_insensitive, hinge" in said
    assert "which is no number" in fails(*command, "--target", "label", "--response", "epsilon_insensitive")
