"""Streams with labels: every supervised estimator with stochastic inference learns from batches that are never held."""

import numpy as np
import pandas as pd
import pytest

from supertopic import PC, SVI, MedLDAClassifier, SLDAClassifier, SLDARegressor, Stream, TopicModel, load
from supertopic.checkpoint import Checkpoint
from supertopic.datasets import simulate
from supertopic.inference.after.refit import SpilledDocuments, with_known_shares
from supertopic.inference.regression import equations
from supertopic.responses.base import registry
from tests.cases import cases
from tests.cli_tools import run

SIZE = 50


def documents(response, n_documents=600, **more):
    data = simulate(n_documents, 3, n_words=60, mean_length=40, response=response, seed=4, **more)
    return data.counts.counts, data.y


def stream(counts, y):
    """Pairs of batches."""
    starts = range(0, counts.shape[0], SIZE)
    return Stream.from_callable(lambda: ((counts[i : i + SIZE], y[i : i + SIZE]) for i in starts))


@pytest.mark.parametrize("response", cases(["gaussian", "poisson", "negative_binomial", "gamma"], ["poisson", "gamma"]))
def test_a_regressor_learns_from_a_stream_as_from_memory(response):
    counts, y = documents(response)
    params = {"n_topics": 3, "response": response, "inference": SVI(learning_delay=5.0), "max_iter": 8}
    held = SLDARegressor(**params).set_params(inference__batch_size=SIZE).fit(counts[:500], y[:500])
    streamed = SLDARegressor(**params).fit(stream(counts[:500], y[:500]))
    assert streamed.score(counts[500:], y[500:]) > held.score(counts[500:], y[500:]) - 0.05
    assert np.corrcoef(held.predict(counts[500:]), streamed.predict(counts[500:]))[0, 1] > 0.95
    assert streamed.dispersion_ == pytest.approx(held.dispersion_, rel=0.25)


@pytest.mark.parametrize("response", ["logit", "softmax", "ordinal"])
def test_a_classifier_learns_from_a_stream(response):
    """Classes come in text, and no batch has all of them."""
    counts, y = documents(response)
    order = np.argsort(y[:500], kind="stable")
    labels = y.astype(int) if response == "ordinal" else np.array([f"class {value:.0f}" for value in y], dtype=object)
    params = {"n_topics": 3, "response": response, "inference": SVI(learning_delay=5.0), "max_iter": 8}
    streamed = SLDAClassifier(**params).fit(stream(counts[order], labels[order]))
    assert streamed.classes_.tolist() == np.unique(labels).tolist()
    most = np.unique(labels[500:], return_counts=True)[1].max() / 100
    assert streamed.score(counts[500:], labels[500:]) > most


def test_missing_labels_weights_of_classes_and_several_responses():
    counts, y = documents("gaussian")
    grade = np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(float)
    frame = pd.DataFrame({"size": y, "grade": grade})
    frame.loc[::7, "size"] = np.nan
    starts = range(0, 600, SIZE)
    batches = Stream.from_callable(lambda: ((counts[i : i + SIZE], frame[i : i + SIZE]) for i in starts))
    model = TopicModel(3, response={"size": "gaussian", "grade": "ordinal"}, inference="svi", max_iter=6).fit(batches)
    assert model.predict(counts[:5]).shape == (5, 2)
    assert model.score(counts, frame.fillna({"size": y.mean()})) > 0.3
    two = SLDAClassifier(3, inference="svi", class_weight={0: 1.0, 1: 5.0}, max_iter=3)
    plain = SLDAClassifier(3, inference="svi", max_iter=3)
    labels = (y > np.quantile(y, 0.8)).astype(int)
    assert (
        two.fit(stream(counts, labels)).predict(counts).mean()
        > plain.fit(stream(counts, labels)).predict(counts).mean()
    )


def test_the_refit_over_a_stream_is_the_refit_in_memory():
    """From the same topics, coefficients fitted over spilled blocks are those fitted to all documents at once."""
    counts, y = documents("poisson")
    params = {"n_topics": 3, "response": "poisson", "inference": "svi", "max_iter": 2}
    model = SLDARegressor(**params).fit(stream(counts, y))
    spilled = SpilledDocuments(3, 0, 1)
    shares = model.transform(counts).astype(np.float64)
    for start in range(0, 600, 70):
        rows = slice(start, start + 70)
        spilled.append(shares[rows], np.zeros((len(y[rows]), 0)), y[rows], np.ones(len(y[rows])))
    whole = with_known_shares(shares, np.zeros((600, 0)), y, np.ones(600))
    given = (registry()["poisson"](), np.array([[0.1, 0.2, -0.3]]), np.zeros(0))
    found, expected = spilled.total(equations, *given), equations(whole, *given)
    spilled.close()
    np.testing.assert_allclose(found.gram, expected.gram)
    np.testing.assert_allclose(found.cross, expected.cross)


@pytest.mark.parametrize("n_saves", [1, 7])
def test_a_killed_fit_of_a_stream_goes_on(n_saves, tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    counts, y = documents("gaussian")
    params = {"n_topics": 3, "inference": "svi", "max_iter": 2}
    whole = SLDARegressor(**params).fit(stream(counts, y))
    save, saves = Checkpoint.save, []

    def save_and_stop(self, *state):
        save(self, *state)
        saves.append(1)
        if len(saves) == n_saves:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "due", lambda self: True)
        patch.setattr(Checkpoint, "save", save_and_stop)
        with pytest.raises(Stop):
            SLDARegressor(checkpoint=tmp_path / "fit", **params).fit(stream(counts, y))
    resumed = SLDARegressor(checkpoint=tmp_path / "fit", **params).fit(stream(counts, y))
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert not (tmp_path / "fit").exists()


def test_partial_fit_learns_and_goes_on_after_load(tmp_path):
    counts, y = documents("gaussian")
    extra = np.random.default_rng(0).normal(size=(600, 1))
    y = y + extra[:, 0]
    straight, broken = (SLDARegressor(3, inference=PC()) for _ in range(2))
    for start in range(0, 600, SIZE):
        rows = slice(start, start + SIZE)
        straight.partial_fit(counts[rows], y[rows], covariates=extra[rows])
        broken.partial_fit(counts[rows], y[rows], covariates=extra[rows])
        broken.save(tmp_path / "model")
        broken = load(tmp_path / "model")
    np.testing.assert_array_equal(broken.components_, straight.components_)
    np.testing.assert_array_equal(broken.coef_, straight.coef_)
    assert straight.score(counts, y, covariates=extra) > 0.5
    assert straight.covariate_coef_[0, 0] == pytest.approx(1.0, abs=0.3)


def test_partial_fit_of_classes_takes_all_classes_with_the_first_batch():
    counts, y = documents("softmax")
    order = np.argsort(y, kind="stable")
    model = SLDAClassifier(3, inference=SVI(learning_delay=5.0))
    for start in range(0, 600, SIZE):
        rows = order[start : start + SIZE]
        model.partial_fit(counts[rows], y[rows], classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(counts[:4]).shape == (4, 3)
    with pytest.raises(ValueError, match="y holds the class 2"):
        two = SLDAClassifier(3).partial_fit(counts[order[:SIZE]], y[order[:SIZE]], classes=[0, 1])
        two.partial_fit(counts[order[-SIZE:]], y[order[-SIZE:]])


REFUSED = {
    "no y": (SLDARegressor(2, inference="svi"), {"bare": True}, "X is a stream without responses"),
    "engine": (
        SLDARegressor(2, inference="vb"),
        {},
        "inference: got 'vb', but a Stream is fitted with inference='svi' or 'pc' only",
    ),
    "max-margin": (MedLDAClassifier(2), {}, "a Stream is fitted with inference='svi' only"),
    "auto": (
        SLDARegressor(2, inference="svi", supervision="auto"),
        {},
        "supervision: got 'auto', which needs all documents",
    ),
    "words": (SLDARegressor(2, inference="svi", words=True), {}, "words: got True, which needs all documents"),
    "balanced": (
        SLDAClassifier(2, inference="svi", class_weight="balanced"),
        {},
        "class_weight: got 'balanced', which needs all",
    ),
    "text": (SLDARegressor(2, inference="svi"), {"text": True}, "y holds 'high', which is no number"),
    "empty": (SLDARegressor(2, inference="svi"), {"missing": True}, "y is missing for every document"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_stream_that_cannot_be_fitted_is_refused(name):
    model, how, message = REFUSED[name]
    counts, y = documents("gaussian", 100)
    y = np.full(100, "high", dtype=object) if how.get("text") else np.full(100, np.nan) if how.get("missing") else y
    source = Stream.from_callable(lambda: iter([counts])) if how.get("bare") else stream(counts, y)
    with pytest.raises(ValueError, match=message):
        model.fit(source)


def test_y_beside_a_stream_is_refused():
    counts, y = documents("gaussian", 100)
    with pytest.raises(ValueError, match="y: got a value beside a Stream"):
        SLDARegressor(2, inference="svi").fit(stream(counts, y), y)


def test_the_command_line_streams_parts_with_a_target(tmp_path):
    rng = np.random.default_rng(0)
    good, bad = ["fine", "superb", "lovely", "bright", "clever"], ["dull", "awful", "boring", "weak", "poor"]
    for part in range(4):
        share = rng.random(80)
        texts = [" ".join(rng.choice(good if rng.random() < s else bad) for _ in range(30)) for s in share]
        frame = pd.DataFrame({"review": texts, "score": share + 0.05 * rng.normal(size=80)})
        frame.to_parquet(tmp_path / f"part{part}.parquet")
    parts, out = str(tmp_path / "part*.parquet"), str(tmp_path / "model.supertopic")
    given = ("--model", "slda", "--text", "review", "--target", "score", "--topics", "2", "--iterations", "10")
    done = run("fit", parts, *given, "--stream", "--batch-size", "40", "--out", out, "--quiet")
    assert done.exit_code == 0, done.output
    assert "gaussian, of column 'score'" in done.stdout
    frame = pd.read_parquet(tmp_path / "part0.parquet")
    assert load(out).score(frame["review"], frame["score"]) > 0.5
    done = run("fit", parts, *given, "--inference", "svi", "--out", out, "--force")
    assert done.exit_code == 0 and "as a stream" in done.stderr, done.output


def test_the_number_of_documents_that_was_announced_stands():
    """Second passes over the same documents do not make errors smaller; without a number, documents seen count."""
    data = simulate(200, 3, 50, 40, response="gaussian", seed=1)
    errors = {}
    for total in (200, 2000, None):
        model = SLDARegressor(3, inference=SVI(total_documents=total, learning_delay=1.0))
        found = []
        for _ in range(30):
            for rows in (slice(0, 100), slice(100, 200)):
                model.partial_fit(data.counts[rows], data.y[rows])
            found.append(np.median(model.coef_std_))
        errors[total] = found[9], found[-1]
    assert errors[200][1] == pytest.approx(errors[200][0], rel=0.15)
    assert errors[2000][1] == pytest.approx(errors[200][1] / np.sqrt(10), rel=0.3)
    assert errors[None][1] < 0.75 * errors[None][0]
