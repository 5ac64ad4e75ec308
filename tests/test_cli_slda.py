"""The command line with a response: fit, topics, predict, evaluate, explain, select on a small corpus."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import supertopic
from supertopic.cli import response as shown
from supertopic.metrics import predictive_r2
from tests.cli_tools import MONEY, fails, misused, run, write_rated


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of rated documents, a model for a number and a model for two classes."""
    folder = tmp_path_factory.mktemp("slda")
    write_rated(folder / "data.csv")
    for name, column in (("number", "price"), ("class", "label")):
        done = fit(folder, column, "-o", folder / f"{name}.supertopic", "--iterations", 20)
        (folder / f"{name}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    return folder


def fit(folder, column, *more):
    given = ("--model", "slda", "--text", "body", "--target", column, "-k", 2, "--force")
    done = run("fit", folder / "data.csv", *given, *more)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def data(folder):
    return folder / "data.csv"


@pytest.fixture
def frame(data):
    return pd.read_csv(data)


@pytest.fixture
def number(folder):
    return folder / "number.supertopic"


@pytest.fixture
def classes(folder):
    return folder / "class.supertopic"


def test_fit_says_the_response_and_why(folder, number):
    said = (folder / "number.txt").read_text(encoding="utf-8")
    assert "Column 'price' holds numbers from" in said and "taken as plain numbers (gaussian)" in said
    assert "Column 'price' is empty in 5 of 120 rows" in said
    assert "response    gaussian, of column 'price'" in said and "--target price" in said
    assert "holds 2 distinct texts: taken as classes (logit)" in (folder / "class.txt").read_text(encoding="utf-8")
    model = supertopic.load(number)
    assert (type(model).__name__, model.response, model.n_topics) == ("SLDARegressor", "gaussian", 2)
    assert [target.name for target in model.fitted_.spec.schema.targets] == ["price"]  # the page's title names it


def test_fit_says_that_repeated_words_count_less(folder, tmp_path):
    """A writer who uses every word three times in a row repeats more than topics explain."""
    frame = pd.read_csv(folder / "data.csv")
    frame["body"] = [" ".join(f"{word} {word} {word}" for word in text.split()) for text in frame["body"].fillna("")]
    rng = np.random.default_rng(0)
    frame["body"] = [f"{text} " + " ".join(3 * [f"name{rng.integers(200)}"]) for text in frame["body"]]
    frame.to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "model.supertopic"
    done = fit(tmp_path, "price", "-o", out, "--iterations", 2, "--min-df", 1)
    assert "tokens" in done.stdout and "repeated ones count less" in done.stdout
    assert "count less" not in (folder / "number.txt").read_text(encoding="utf-8")
    assert supertopic.load(out).counts_ == "log"


def test_options_of_the_response_reach_the_model(tmp_path, folder):
    done = fit(folder, "id3", "--response", "gaussian", "--supervision", 7, "--iterations", 2, "-o", tmp_path / "m.st")
    assert "taken as" not in done.stderr
    model = supertopic.load(tmp_path / "m.st")
    assert (type(model).__name__, model.response, model.supervision) == ("SLDARegressor", "gaussian", 7)
    assert "(negative_binomial)" in fit(folder, "sold", "--iterations", 2, "-o", tmp_path / "m.st").stderr
    fit(folder, "id2", "--iterations", 2, "--response", "probit", "-o", tmp_path / "m.st")
    assert supertopic.load(tmp_path / "m.st").classes_.tolist() == [0, 1]


def test_topics_are_sorted_by_their_effect(number, classes):
    model = supertopic.load(number)
    effects = model.effects().set_index("topic")
    lines = run("topics", number, "--words", 3).stdout.splitlines()
    assert lines[0].split() == ["topic", "share", "effect", "90", "%", "interval", "again", "words"]
    rows = [line.replace("−", "-").split() for line in lines[2 : 2 + model.n_topics]]
    assert [int(row[0]) for row in rows] == effects.index.tolist()
    best = effects.iloc[0]
    for place, name in ((2, "effect"), (3, "lower"), (5, "upper")):
        assert float(rows[0][place]) == pytest.approx(best[name], rel=0.06)
    assert rows[0][6] == f"{model.effects()['found_again'][0]:.0%}" and rows[0][7].rstrip(",") in MONEY
    for k, topic in enumerate(json.loads(run("topics", number, "--json").stdout)):
        assert topic["coef"] == pytest.approx(model.coef_[k]) and topic["coef_std"] == pytest.approx(model.coef_std_[k])
        assert topic["effect"] == pytest.approx(effects["effect"][k])
    tidy = pd.read_csv(io.StringIO(run("topics", number, "--csv").stdout))
    figures = ["effect", "effect_lower", "effect_upper", "coef", "coef_std", "found_again"]
    assert list(tidy) == ["topic", "share", *figures, "rank", "word", "probability"]
    assert tidy.drop_duplicates("topic")["coef"].to_numpy() == pytest.approx(model.coef_)
    header = run("topics", classes).stdout.splitlines()[0]
    assert "effect on dear" in header
    assert "in percentage points of dear." in " ".join(run("topics", classes).stderr.split())


def test_a_topic_stands_beside_the_class_that_it_goes_with(data):
    frame = pd.read_csv(data)
    three = np.array(["x", "y", "z"])[np.argsort(np.argsort(frame["price"])) * 3 // len(frame)]
    model = supertopic.SLDAClassifier(4, max_iter=5, cross_fit=0).fit(frame["body"].tolist(), three)
    assert list(shown.figures_of_topics(model))[:2] == ["effect_x", "effect_lower_x"]
    columns, order = shown.effect_columns(model)
    table = model.effects()
    best = table.loc[table.groupby("topic")["effect"].idxmax()]
    assert columns["goes with"] == best["class"].tolist()
    assert columns["effect"] == [f"{value:+.1f} pp".replace("-", "−") for value in best["effect"]]
    assert order == best.sort_values(["class", "effect"], ascending=[True, False])["topic"].tolist()
    assert shown.figures_of_topics(supertopic.LDA()) is None
    text = frame["body"].tolist()[0]
    words = model.explain_words(text)
    added, average = shown.contributions(model, words, "y")
    assert added.tolist() == words["contribution y"].tolist() and average == pytest.approx(model.intercept_[1])
    assert shown.contributions(model, words, "w") is None


def test_predictions_of_numbers(tmp_path, data, frame, number):
    model = supertopic.load(number)
    done = run("predict", number, data, "--text", "body", "--interval", 0.8, "--keep", "price")
    table = pd.read_csv(io.StringIO(done.stdout))
    assert list(table) == ["price", "prediction", "lower", "upper", "topic", "tokens", "topic_0", "topic_1"]
    expected = model.predict(frame["body"], return_interval=0.8)
    np.testing.assert_allclose(table[["prediction", "lower", "upper"]], np.column_stack(expected), rtol=1e-5)
    plain = pd.read_csv(io.StringIO(run("predict", number, data, "--text", "body").stdout))
    assert list(plain) == ["prediction", "topic", "tokens", "topic_0", "topic_1"] and len(plain) == 120
    assert "no probability between 0 and 1" in misused("predict", number, data, "--interval", 2)
    assert "'prediction' is the name of a column" in misused("predict", number, data, "--keep", "prediction")


def test_predictions_of_classes(data, frame, classes):
    model = supertopic.load(classes)
    table = pd.read_csv(io.StringIO(run("predict", classes, data, "--text", "body").stdout))
    assert list(table)[:4] == ["prediction", "p_cheap", "p_dear", "topic"]
    assert table["prediction"].tolist() == model.predict(frame["body"]).tolist()
    np.testing.assert_allclose(table[["p_cheap", "p_dear"]], model.predict_proba(frame["body"]), rtol=1e-5)
    assert "and this model predicts classes" in misused("predict", classes, data, "--interval", 0.9)


def test_evaluate_numbers(data, frame, number):
    figures = json.loads(run("evaluate", number, data, "--text", "body", "--target", "price", "--json").stdout)
    known = frame.dropna()
    truth, (prediction, low, high) = known["price"], supertopic.load(number).predict(known["body"], return_interval=0.9)
    assert figures["labelled_documents"] == 115 and figures["documents"] == 120
    assert figures["r2"] == pytest.approx(predictive_r2(truth, prediction)) and figures["r2"] > 0.8
    assert figures["mae"] == pytest.approx(np.abs(truth - prediction).mean())
    assert figures["rmse"] == pytest.approx(np.sqrt(((truth - prediction) ** 2).mean()))
    assert figures["correlation"] == pytest.approx(np.corrcoef(truth, prediction)[0, 1])
    assert figures["coverage_90"] == pytest.approx(((low <= truth) & (truth <= high)).mean())
    assert "perplexity" in figures and "accuracy" not in figures
    shown = run("evaluate", number, data, "--text", "body", "--target", "price").stdout
    assert f"{figures['r2']:.4f}" in shown and "coverage 90" in shown
    without = run("evaluate", number, data, "--text", "body")
    assert "say with --target" in without.stderr and "r2" not in without.stdout


def test_evaluate_classes(tmp_path, data, frame, classes):
    figures = json.loads(run("evaluate", classes, data, "--text", "body", "--target", "label", "--json").stdout)
    known, model = frame.dropna(), supertopic.load(classes)
    prediction, probability = model.predict(known["body"]), model.predict_proba(known["body"])
    hit = known["label"].to_numpy() == prediction
    assert figures["accuracy"] == pytest.approx(hit.mean()) and figures["accuracy"] > 0.85
    assert figures["classes"] == ["cheap", "dear"]
    assert figures["confusion"] == pd.crosstab(known["label"], prediction).to_numpy().tolist()
    own = probability[np.arange(115), (known["label"] == "dear").to_numpy().astype(int)]
    assert figures["log_loss"] == pytest.approx(-np.log(own).mean())
    (a, b), (c, d) = figures["confusion"]
    assert figures["macro_f1"] == pytest.approx((2 * a / (2 * a + b + c) + 2 * d / (2 * d + b + c)) / 2)
    assert figures["largest_class"] == pytest.approx(max(a + b, c + d) / 115)
    assert "by the class predicted" in run("evaluate", classes, data, "--text", "body", "--target", "label").stdout
    frame.loc[0, "label"] = "odd"
    frame.to_csv(tmp_path / "odd.csv", index=False)
    done = run("evaluate", classes, tmp_path / "odd.csv", "--text", "body", "--target", "label", "--json")
    figures = json.loads(done.stdout)
    assert "never seen, such as 'odd'" in done.stderr and figures["log_loss"] is None
    assert figures["classes"] == ["cheap", "dear", "odd"] and sum(figures["confusion"][2]) == 1
    assert figures["accuracy"] == pytest.approx(np.r_[False, hit[1:]].mean())
    unknown = fails("evaluate", classes, data, "--text", "body", "--target", "id2")
    assert "column 'id2' holds '0', but the model knows the classes 'cheap', 'dear'" in unknown


def test_explain_adds_up(number, classes):
    text = "money bank bank cat and a dog"
    model = supertopic.load(number)
    told = json.loads(run("explain", number, text, "--json").stdout)
    assert told["prediction"] == pytest.approx(model.predict([text])[0])
    added = {word["word"]: word["contribution"] for word in told["words"]}
    assert sum(added.values()) + told["average"] == pytest.approx(told["linear_predictor"])
    assert told["linear_predictor"] == pytest.approx(told["prediction"], abs=1e-3)  # gaussian
    assert told["average"] == pytest.approx(model.intercept_)
    assert [len(word["shares"]) for word in told["words"]] == [2] * 4
    lines = run("explain", number, text).stdout.splitlines()
    assert lines[0] == f"Prediction: {told['prediction']:.4g}"
    assert "bank +" in lines[2] and "cat -" in lines[3] and "dog -" in lines[3]
    told = json.loads(run("explain", classes, text, "--json").stdout)
    assert told["p_cheap"] + told["p_dear"] == pytest.approx(1) and told["prediction"] in ("cheap", "dear")
    likely = f"Prediction: {told['prediction']} (probability {told['p_' + told['prediction']]:.2f})"
    assert run("explain", classes, text).stdout.startswith(likely)


SELECT = ["--model", "slda", "--text", "body", "--topics", "2,1", "--iterations", 3, "--folds", 2, "--seeds", 2]


def test_select_shows_writes_and_draws(tmp_path, data):
    command = ["select", data, *SELECT, "--target", "price"]
    done = run(*command, "--out", tmp_path / "t.csv", "--plot", tmp_path / "c.png")
    assert done.exit_code == 0, done.output
    assert (
        "taken as plain numbers (gaussian)" in done.stderr and "2 topics: the best by cross-validated R²" in done.stdout
    )
    assert [line.split()[0] for line in done.stdout.splitlines()[2:4]] == ["1", "→"]
    table = pd.read_csv(tmp_path / "t.csv")
    measures = ["prediction", "nats_per_token", "coherence", "stability"]
    assert list(table) == ["n_topics", *[f"{m}{s}" for m in measures for s in ("", "_se")], "seconds"]
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    told = json.loads(run(*command, "--json").stdout)
    assert (told["best"], told["criterion"], told["scoring"]) == (2, "prediction", "R²")
    assert [row["n_topics"] for row in told["table"]] == [1, 2]
    assert told["table"][1]["prediction"] == pytest.approx(table["prediction"][1])
    assert told["table"][1]["stability_se"] is None  # a single pair has no standard error


def test_select_classes_and_without_a_response(data):
    done = run("select", data, *SELECT, "--target", "label", "--seeds", 1)
    assert done.exit_code == 0 and "accuracy" in done.stdout and "stability" not in done.stdout
    done = run("select", data, "--text", "body", "--topics", "1,2", "--iterations", 5, "--folds", 2)
    assert done.exit_code == 0 and "2 topics: the best by held-out nats per token" in done.stdout
    assert "R²" not in done.stdout


FITTED = ["--model", "slda", "--text", "body", "-k", 2]
BAD = {
    "a typo in the column": (["--target", "prise"], "no column 'prise'; did you mean 'price'?"),
    "an empty column": (["--target", "nothing"], "column 'nothing' is empty in all 120 rows"),
    "text as numbers": (
        ["--target", "label", "--response", "gaussian"],
        "which is no number, but --response gaussian is for numbers; use --response logit",
    ),
    "numbers as classes": (["--target", "price", "--response", "logit"], "use --response gaussian"),
    "fractions as counts": (
        ["--target", "price", "--response", "negative_binomial"],
        "needs counts: whole numbers >= 0",
    ),
    "the documents": (["--target", "body"], "--target: 'body' is the column of the documents"),
    "prose": (["--target", "essay"], "distinct texts in 120 rows, which are no classes; is it the right --target?"),
    "amounts of money": (
        ["--target", "dollars"],
        "column 'dollars' holds '$1,200', which is text; write numbers alone, without a sign of money",
    ),
    "negative supervision": (["--target", "price", "--supervision", "-1"], "supervision: got -1, expected a number"),
}


@pytest.mark.parametrize("name", BAD)
def test_data_that_cannot_be_learned_from(tmp_path, frame, name):
    options, sentence = BAD[name]
    frame.assign(nothing=None, essay=frame["body"], dollars="$1,200").to_csv(tmp_path / "data.csv", index=False)
    for command in (["fit", *FITTED, "-o", tmp_path / "m.supertopic"], ["select", *FITTED, "--folds", 2]):
        found = fails(command[0], tmp_path / "data.csv", *command[1:], *options)
        assert sentence in found.replace("\n", " ")
    assert not (tmp_path / "m.supertopic").exists()


def test_wrong_usage(tmp_path, data, number):
    fitted = ["fit", data, *FITTED, "-o", tmp_path / "m.supertopic"]
    assert "Did you mean 'gaussian'?" in misused(*fitted, "--target", "price", "--response", "gausian")
    medlda = [part if part != "slda" else "medlda" for part in fitted]
    assert "the model medlda holds its documents" in misused(*medlda, "--target", "price", "--stream")
    assert "'high' is neither a number" in misused(*fitted, "--target", "price", "--supervision", "high")
    assert "say which column with --target" in misused("select", data, *FITTED)
    assert "the model lda has no response" in misused("select", data, "--model", "lda", "--target", "price")
    assert "'x' is no whole number of 1 or more" in misused("select", data, "--topics", "5,x")
    assert "'0' is no whole number" in misused("select", data, "--topics", "0,5")
    assert "there is no number" in misused("select", data, "--topics", ",")
    assert "unknown extension" in misused("select", data, "--plot", tmp_path / "c.docx")
    assert "unknown extension" in misused("select", data, "--out", tmp_path / "t.docx")
    assert "does not exist: create it first" in fails("select", data, "--plot", tmp_path / "no" / "c.png")
    run("fit", data, "--text", "body", "-k", 2, "--iterations", 2, "-o", tmp_path / "lda.supertopic")
    lda = misused("evaluate", tmp_path / "lda.supertopic", data, "--target", "price")
    assert "a model of kind LDA has no response" in lda


@pytest.mark.data
def test_comments_of_talks_are_counts(tmp_path, data_dir):
    """From a table of real talks to scores on held-out talks."""
    talks = pd.read_parquet(data_dir / "ted_talks" / "data.parquet", columns=["text", "num_comments", "split"])
    for part in ("train", "test"):
        talks[talks["split"] == part].to_csv(tmp_path / f"{part}.csv", index=False)
    model = tmp_path / "m.supertopic"
    done = run("fit", tmp_path / "train.csv", "--model", "slda", "--target", "num_comments", "-k", 10,
               "--supervision", 10, "--iterations", 15, "-o", model)  # fmt: skip
    assert done.exit_code == 0 and "taken as counts (negative_binomial)" in done.stderr
    done = run("evaluate", model, tmp_path / "test.csv", "--target", "num_comments", "--json")
    figures = json.loads(done.stdout)
    assert figures["labelled_documents"] == 765 and figures["correlation"] > 0.15
    assert 0.8 < figures["coverage_90"] < 0.97
