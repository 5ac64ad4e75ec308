"""Every model on the command line, several targets, covariates, and what the fit tells in JSON."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import typer

import supertopic
from supertopic.cli import app
from supertopic.cli.models import MODELS
from tests.cli_tools import fails, misused, run, write_rated


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The rated documents with places in two towns, an age, a group, and two sentences a document."""
    path = tmp_path_factory.mktemp("models") / "data.csv"
    frame, rng = write_rated(path), np.random.default_rng(0)
    north = frame["price"].fillna(5) > 5
    frame = frame.assign(
        lat=50 + 5 * north + 0.1 * rng.normal(size=len(frame)),
        lon=8 + 0.1 * rng.normal(size=len(frame)),
        age=rng.integers(20, 60, len(frame)),
        group=rng.choice(["left", "right"], len(frame)),
        body=[" ".join(text.split()[:15]) + ". " + " ".join(text.split()[15:]) + "." for text in frame["body"]],
    )
    frame["spent"] = frame["price"] + 0.5 * frame["age"] + 10 * (frame["group"] == "left")
    frame.to_csv(path, index=False)
    return path


def fit(data, out, *options):
    done = run("fit", data, "--text", "body", "--iterations", 8, "--force", "-o", out, *options)
    assert done.exit_code == 0, done.output
    return done


CASES = {
    "lda": ([], "LDA"),
    "mixture": ([], "MixtureOfCategoricals"),
    "sage": ([], "SAGETopics"),
    "sage-classifier": (["--target", "label"], "SAGEClassifier"),
    "faceted-sage": (["--target", "label,id3"], "FacetedSAGE"),
    "geo-sage": (["--target", "lat,lon", "--regions", 2], "GeoSAGE"),
    "slda": (["--target", "price"], "SLDARegressor"),
    "medlda": (["--target", "label"], "MedLDAClassifier"),
    "sstm": (["--target", "price", "--chains", 2, "--max-nonzero", 1, "--iterations", 60], "SSTMRegressor"),
    "disclda": (["--target", "label"], "DiscLDAClassifier"),
    "htmm": ([], "HTMM"),
}


def test_the_cases_are_all_models():
    assert set(CASES) == set(MODELS)


@pytest.mark.filterwarnings("ignore:the 2 chains have not mixed")
@pytest.mark.parametrize("name", CASES)
def test_every_command_takes_every_model(tmp_path, data, name):
    options, estimator = CASES[name]
    out, topics = tmp_path / "m.supertopic", [] if name == "sage-classifier" else ["-k", 2]
    told = json.loads(fit(data, out, "--model", name, *options, *topics, "--json").stdout)
    assert (told["model"], told["documents"], told["tokens"], told["file"]) == (estimator, 120, 3600, str(out))
    assert list(told["targets"]) == ("".join(options[1:2]).split(",") if options else [])
    model = supertopic.load(out)
    assert type(model).__name__ == estimator and told["topics"] == len(model.components_)
    if name == "sstm":
        assert (model.inference.n_chains, model.max_nonzero) == (2, 1) and np.count_nonzero(model.coef_) <= 1
        assert told["converged"] is None  # a sampler makes all its sweeps
    rows = pd.read_csv(io.StringIO(run("predict", out, data, "--text", "body").stdout))
    assert len(rows) == 120 and (rows["tokens"] == 30).all()
    shares = rows.filter(regex=r"^topic_\d+$")
    assert shares.shape[1] == 0 or shares.sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-4)
    assert run("topics", out).exit_code == run("explain", out, "money bank. A cat").exit_code == 0
    words = json.loads(run("explain", out, "money bank. A cat", "--json").stdout)["words"]
    assert {word["word"] for word in words} == {"money", "bank", "cat"}
    page = run("report", out, data, "--text", "body", *options[:2], "--out", tmp_path / "r.html", "--json")
    assert page.exit_code == 0, page.output
    assert json.loads(page.stdout)["documents"] == 120 and (tmp_path / "r.html").stat().st_size > 10_000
    done = run("evaluate", out, data, "--text", "body", *options[:2], "--json")
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    figures |= figures.get("targets", {}).get("label", {})
    assert 1 < figures["perplexity"] < 40
    good = {"lat,lon": "median_km", "price": "correlation"}.get("".join(options[1:2]), "accuracy" if options else None)
    assert good is None or (figures[good] < 300 if good == "median_km" else figures[good] > 0.5)


def test_places_and_labels(tmp_path, data):
    out, frame = tmp_path / "m.supertopic", pd.read_csv(data)
    fit(data, out, "--model", "geo-sage", "--target", "lat,lon", "-k", 1, "--regions", 2)
    rows = pd.read_csv(io.StringIO(run("predict", out, data, "--text", "body").stdout))
    np.testing.assert_allclose(rows[["latitude", "longitude"]], supertopic.load(out).predict(frame["body"]), rtol=1e-5)
    assert run("topics", out).stdout.count("50%") == 2 or "latitude" in run("topics", out).stdout
    assert run("explain", out, "money bank").stdout.startswith("Prediction: latitude 5")
    assert "give two columns" in fails("evaluate", out, data, "--text", "body", "--target", "lat")
    fit(data, out, "--model", "faceted-sage", "--target", "label,id3", "-k", 1)
    model = supertopic.load(out)
    rows = pd.read_csv(io.StringIO(run("predict", out, data, "--text", "body").stdout))
    assert rows["prediction_label"].tolist() == model.predict(frame["body"], "label").tolist()
    assert rows["p_id3_2"].to_numpy() == pytest.approx(model.predict_proba(frame["body"], "id3")[:, 2], abs=1e-5)
    assert "label = dear" in run("topics", out).stdout
    assert "but the model predicts 'label', 'id3'" in fails(
        "evaluate", out, data, "--text", "body", "--target", "price"
    )


def test_sentences(tmp_path, data):
    out = tmp_path / "m.supertopic"
    fit(data, out, "--model", "htmm", "-k", 2)
    rows = pd.read_csv(io.StringIO(run("predict", out, data, "--text", "body", "--sentences", "--keep", "age").stdout))
    assert list(rows) == ["age", "sentence", "topic", "probability", "fresh", "text"] and len(rows) == 240
    assert rows["age"].tolist() == np.repeat(pd.read_csv(data)["age"], 2).tolist()
    fit(data, out, "-k", 2)
    assert "only a model htmm" in misused("predict", out, data, "--text", "body", "--sentences")


def test_several_targets(tmp_path, data):
    out, frame = tmp_path / "m.supertopic", pd.read_csv(data)
    done = fit(data, out, "--target", "stars,price", "-k", 2)
    assert "Fitting slda, since --target stars,price" in done.stderr
    assert "taken as an ordered rating (ordinal)" in done.stderr and "taken as plain numbers (gaussian)" in done.stderr
    model = supertopic.load(out)
    assert type(model).__name__ == "TopicModel" and model.response == {"stars": "ordinal", "price": "gaussian"}
    rows = pd.read_csv(io.StringIO(run("predict", out, data, "--text", "body").stdout))
    assert {"prediction_stars", "p_stars_1", "p_stars_5", "prediction_price"} <= set(rows)
    assert rows["prediction_price"].to_numpy() == pytest.approx(model.predict(frame["body"])["price"], rel=1e-4)
    figures = json.loads(run("evaluate", out, data, "--text", "body", "--target", "stars,price", "--json").stdout)[
        "targets"
    ]
    assert 0.8 < figures["price"]["coverage_90"] <= 1
    wide = pd.read_csv(io.StringIO(run("predict", out, data, "--text", "body", "--interval", 0.9).stdout))
    assert (wide["lower_price"] < wide["prediction_price"]).all() and "lower_stars" not in wide
    assert figures["price"]["r2"] > 0.7 and figures["stars"]["accuracy"] > figures["stars"]["largest_class"]
    shown = run("evaluate", out, data, "--text", "body", "--target", "price").stdout
    assert "Predictions of price" in shown and "Predictions of stars" not in shown
    said = run("explain", out, "money bank").stdout
    assert "Prediction of stars: " in said and "Prediction of price: " in said
    header = run("topics", out).stdout.splitlines()[0]
    assert "effect stars" in header and "effect price" in header
    fit(data, out, "--target", "stars,price", "--response", "softmax,gaussian", "-k", 2, "--iterations", 1)
    assert supertopic.load(out).response == {"stars": "softmax", "price": "gaussian"}


def test_a_target_alone_means_a_supervised_model(tmp_path, data):
    out = tmp_path / "m.supertopic"
    assert (
        "Fitting slda, since --target price is to be predicted; another model with --model."
        in fit(data, out, "--target", "price", "-k", 2).stderr
    )
    assert type(supertopic.load(out)).__name__ == "SLDARegressor"
    assert "slda" not in fit(data, out, "--model", "medlda", "--target", "price", "-k", 2).stderr
    select = ["--topics", "2", "--folds", 2, "--seeds", 1, "--iterations", 2, "--supervision", 3]
    done = run("select", data, "--text", "body", "--target", "price", *select)
    assert done.exit_code == 0 and "Fitting slda" in done.stderr


def test_words_beside_topics(tmp_path, data):
    out = tmp_path / "m.supertopic"
    fit(data, out, "--target", "price", "-k", 2, "--words")
    assert supertopic.load(out).words is True and hasattr(supertopic.load(out), "word_coef_")
    assert "lda does not take it" in misused("fit", data, "--text", "body", "--words", "-o", out)


def test_covariates_are_numbers_and_categories(tmp_path, data):
    out, frame = tmp_path / "m.supertopic", pd.read_csv(data)
    fit(data, out, "--target", "spent", "--covariates", "age,group", "-k", 2)
    model = supertopic.load(out)
    expected = model.predict(frame["body"], covariates=frame[["age", "group"]])
    rows = pd.read_csv(io.StringIO(run("predict", out, data, "--text", "body", "--keep", "age").stdout))
    np.testing.assert_allclose(rows["prediction"], expected, rtol=1e-4)
    figures = json.loads(run("evaluate", out, data, "--text", "body", "--target", "spent", "--json").stdout)
    assert figures["r2"] > 0.9  # most of it is age and group
    shown = run("topics", out).stdout
    assert "covariate" in shown and "group=right" in shown
    young, old = (
        json.loads(run("explain", out, "money bank cat", "--json", "--covariates", f"age={age},group=left").stdout)
        for age in (20, 60)
    )
    assert old["prediction"] - young["prediction"] == pytest.approx(20, abs=4)
    for told in (young, old):
        added = sum(word["contribution"] for word in told["words"]) + sum(told["covariates"].values())
        assert told["average"] + added == pytest.approx(told["linear_predictor"])
        assert told["linear_predictor"] == pytest.approx(told["prediction"], rel=1e-3)
    assert "Covariates: age=" in run("explain", out, "money bank cat").stdout
    given = ["--target", "spent", "--covariates", "age,group", "-k", 2, "--folds", 2, "--seeds", 1, "--iterations", 3]
    chosen = json.loads(run("select", data, "--text", "body", *given, "--json", "-q").stdout)
    assert chosen["table"][0]["prediction"] > 0.8  # topics alone have less
    assert "expected age=…, group=…" in misused("explain", out, "money", "--covariates", "agee=2")
    assert "expected a number" in misused("explain", out, "money", "--covariates", "age=old")
    frame.assign(age=[np.nan] + [30] * 119).to_csv(tmp_path / "gap.csv", index=False)
    assert "column 'age' is empty in 1 of 120 rows (the first is 1)" in fails(
        "predict", out, tmp_path / "gap.csv", "--text", "body", "-o", tmp_path / "p.csv"
    )
    frame.assign(group="up").to_csv(tmp_path / "new.csv", index=False)
    assert (
        "'up', which was not there in fit; expected 'left', 'right' (new ones add nothing after fit --handle-unknown"
        in fails("predict", out, tmp_path / "new.csv", "--text", "body", "-o", tmp_path / "p.csv")
    )
    fit(data, out, "-k", 2)
    assert "fitted without covariates" in misused("predict", out, data, "--text", "body", "--covariates", "age")


def test_unknown_covariates_are_ignored_where_the_fit_was_asked_to(tmp_path, data):
    out, frame = tmp_path / "m.supertopic", pd.read_csv(data)
    asked = ["--target", "spent", "--covariates", "age,group", "-k", 2]
    fit(data, out, *asked, "--handle-unknown", "ignore")
    assert 'handle-unknown = "ignore"' in (tmp_path / "m.supertopic.toml").read_text(encoding="utf-8")
    rows = frame.assign(age=[np.nan, 30.0] * 60, group=["up", None, "left"] * 40)
    rows.to_csv(tmp_path / "gap.csv", index=False)
    expected = supertopic.load(out).predict(frame["body"], covariates=rows[["age", "group"]])
    given = [tmp_path / "gap.csv", "--text", "body"]
    found = pd.read_csv(io.StringIO(run("predict", out, *given).stdout))
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-4)
    assert run("evaluate", out, *given, "--target", "spent").exit_code == 0
    assert run("report", out, *given, "--out", tmp_path / "page.html").exit_code == 0
    assert "'age' is empty in 60 of 120 rows" in fails("fit", *given, *asked, "-o", tmp_path / "no")
    (tmp_path / "fit.toml").write_text('handle-unknown = "ignore"\n', encoding="utf-8")
    fit(data, tmp_path / "n.supertopic", *asked, "--config", tmp_path / "fit.toml")
    assert supertopic.load(tmp_path / "n.supertopic").fitted_.spec.schema.columns.unknown == "ignore"
    streamed = [*asked, "--stream", "--inference", "svi", "--handle-unknown", "ignore"]
    fit(data, tmp_path / "s.supertopic", *streamed)
    rows[:1].to_csv(tmp_path / "one.csv", index=False)  # a column of it is all empty
    assert run("predict", tmp_path / "s.supertopic", tmp_path / "one.csv", "--text", "body").exit_code == 0


def test_every_command_has_json():
    for name, command in typer.main.get_command(app).commands.items():
        assert "--json" in {option for p in command.params for option in p.opts}, name


BAD = {
    "a place is two columns": (["--model", "geo-sage", "--target", "lat"], "as --target LATITUDE,LONGITUDE"),
    "no place": (["--model", "geo-sage"], "learns from places: give two columns of degrees"),
    "no labels": (["--model", "faceted-sage"], "say which column with --target"),
    "one target": (
        ["--model", "medlda", "--target", "price,stars"],
        "the model medlda takes one column;",
    ),
    "names of responses": (["--target", "price,stars", "--response", "a,b,c"], "got 3 names for 2 columns"),
    "no covariates": (["--covariates", "age"], "the model lda does not take them; slda and sstm do"),
    "the target": (["--target", "price", "--covariates", "price"], "'price' is the target"),
    "unknown": (["--target", "price", "--covariates", "age", "--handle-unknown", "skip"], "not one of error, ignore"),
    "unknown what": (
        ["--target", "price", "--handle-unknown", "ignore"],
        "is about --covariates, of which there are none",
    ),
    "regions": (["--regions", "3"], "the model lda does not take it; geo-sage does"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_has_no_place_is_refused(tmp_path, data, name):
    options, sentence = BAD[name]
    assert sentence in misused("fit", data, "--text", "body", "-o", tmp_path / "m.supertopic", *options)


def test_columns_that_are_no_places(tmp_path, data):
    command = ["fit", data, "--text", "body", "-o", tmp_path / "m.supertopic"]
    assert "column 'label' holds 'cheap', expected degrees" in fails(
        *command, "--model", "geo-sage", "--target", "label,lon"
    ).replace("'dear'", "'cheap'")
    frame = pd.read_csv(data)
    frame.assign(lat=1000 * frame["lat"]).to_csv(tmp_path / "far.csv", index=False)
    far = ["fit", tmp_path / "far.csv", *command[2:], "--model", "geo-sage", "--target", "lat,lon"]
    assert "a latitude beyond 90" in fails(*far)
    assert "no column 'prise'; did you mean 'price'?" in fails(*command, "--model", "slda", "--target", "stars,prise")


def test_predictions_as_json(tmp_path, data):
    out = tmp_path / "m.supertopic"
    fit(data, out, "-k", 2)
    rows = [json.loads(line) for line in run("predict", out, data, "--text", "body", "--json").stdout.splitlines()]
    assert len(rows) == 120 and set(rows[0]) == {"topic", "tokens", "topic_0", "topic_1"}
    told = json.loads(run("predict", out, data, "--text", "body", "--json", "-o", tmp_path / "p.csv").stdout)
    assert (told["file"], told["documents"], told["tokens"]) == (str(tmp_path / "p.csv"), 120, 3600)
    assert len(pd.read_csv(tmp_path / "p.csv")) == 120


def test_the_package_is_a_command_and_completes_names():
    done = subprocess.run([sys.executable, "-m", "supertopic", "--version"], capture_output=True, text=True)
    assert done.stdout == f"supertopic {supertopic.__version__}\n"
    env = {"_SUPERTOPIC_COMPLETE": "complete_bash", "COMP_WORDS": "supertopic fit --model fac", "COMP_CWORD": "3"}
    command = [sys.executable, "-m", "supertopic"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    assert done.stdout.split() == ["faceted-sage"]
