"""`check`: where new documents lie outside what a fit has seen."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, SLDARegressor, Vectorizer, load
from supertopic.documents.corpus import as_corpus
from supertopic.fitted.seen import Seen
from tests.cli_tools import fails, misused, run

ALL = {"stop_words": None, "min_df": 1, "max_df": 1.0}
WORDS = np.array([f"word{v}" for v in range(300)])
CHANCES = 1.0 / np.arange(1, 301) / (1.0 / np.arange(1, 301)).sum()


def texts(n, seed, low=20, high=60, words=WORDS, chances=CHANCES):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, size=rng.integers(low, high), p=chances)) for _ in range(n)]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 5, size=300), "place": rng.choice(["here", "there"], size=300)})
    beside = {"covariates": frame[["age"]], "metadata": frame}
    given = {"inference": "vb", "max_iter": 3, "cross_fit": 0, "vectorizer": Vectorizer(**ALL)}
    return SLDARegressor(3, **given).fit(texts(300, 0), rng.normal(size=300), **beside)


def test_documents_like_those_of_the_fit_are(model):
    frame = pd.DataFrame({"age": np.random.default_rng(5).normal(40, 5, size=100), "place": ["here", "there"] * 50})
    found = model.check(texts(100, 1), covariates=frame[["age"]], metadata=frame)
    assert found.ok and found.shifts == ()
    assert str(found) == "The 100 documents lie where those of the fit do."


def test_other_lengths_are_said(model):
    found = model.check(texts(80, 2, low=3, high=12))
    assert not found.ok and [one.what for one in found.shifts] == ["length"]
    assert found.shifts[0].share == 1.0 and "80 of 80 documents have fewer than 20 tokens" in str(found)
    assert "may promise too much" in found._repr_html_() and found._repr_html_().count("<div>") == 2
    assert "more than" in str(model.check(texts(80, 2, low=200, high=300)))


def test_other_words_are_said(model):
    rare = model.check(texts(80, 3, chances=CHANCES[::-1]))
    assert [one.what for one in rare.shifts] == ["frequent words"]
    strange = model.check(texts(80, 3, words=np.concatenate([WORDS[:60], [f"other{v}" for v in range(240)]])))
    assert "vocabulary" in [one.what for one in strange.shifts] and "are not in the vocabulary" in str(strange)


def test_other_covariates_and_metadata_are_said(model):
    frame = pd.DataFrame({"age": np.full(60, 70.0) + np.arange(60) / 60, "place": ["here"] * 40 + ["nowhere"] * 20})
    found = model.check(texts(60, 4), covariates=frame[["age"]], metadata=frame)
    assert [one.what for one in found.shifts] == ["age", "age", "place"]  # as a covariate and as metadata
    ends = np.quantile(model.fitted_.training.metadata["age"].values, [0.01, 0.99])
    assert f"60 of 60 documents have age above {ends[1]:.4g}" in str(found)
    assert "20 of 60 documents have values of place that the fit has not seen: 'nowhere'." in str(found)


def test_what_is_kept_by_hand():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5 * 100 / np.arange(1, 41), size=(200, 40)) * (rng.uniform(size=(200, 40)) < 0.5)
    seen = Seen.of(as_corpus(counts))
    total = counts.sum(axis=0)
    order = np.argsort(-total, kind="stable")
    n = next(n for n in range(1, 41) if total[order[:n]].sum() >= total.sum() / 2)
    np.testing.assert_array_equal(np.flatnonzero(seen.frequent), np.sort(order[:n]))
    np.testing.assert_allclose(seen.ends[0], np.quantile(counts.sum(axis=1), [0.01, 0.99]))
    share = counts[:, seen.frequent].sum(axis=1) / counts.sum(axis=1)
    np.testing.assert_allclose(seen.ends[1], np.quantile(share, [0.01, 0.99]), rtol=1e-6)
    documents = (counts > 0).sum(axis=0)
    m = documents.min()
    series = 1.0 + sum(1.0 / j for j in range(1, m))
    assert seen.unknown[0] == pytest.approx(min(0.5 * m * total[documents == m].sum() / total.sum() * series, 1.0))


def test_predict_warns_of_many_documents_that_are_other_ones(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(texts(100, 1), covariates=np.full((100, 1), 40.0))
        model.predict(texts(9, 2, low=3, high=12), covariates=np.full((9, 1), 40.0))  # too few to say
    with pytest.warns(UserWarning, match=r"80 of 80 documents have fewer than 20 tokens.*check\(X\) tells more"):
        model.predict(texts(80, 2, low=3, high=12), covariates=np.full((80, 1), 40.0))


def test_few_documents_are_no_shift(model):
    assert model.check(texts(2, 2, low=3, high=12)).ok and not model.check(texts(5, 2, low=3, high=12)).ok


def test_files_keep_it_and_models_of_words_have_it(model, tmp_path):
    model.save(tmp_path / "model")
    new, frame = texts(80, 2, low=3, high=12), pd.DataFrame({"place": ["nowhere"] * 80})
    assert load(tmp_path / "model").check(new, metadata=frame) == model.check(new, metadata=frame)
    assert not LDA(3, max_iter=2, vectorizer=Vectorizer(**ALL)).fit(texts(100, 0)).check(new).ok


def test_models_of_batches_keep_nothing():
    found = LDA(3, inference="svi").partial_fit(texts(50, 0))
    with pytest.raises(ValueError, match="keeps nothing of the documents"):
        found.check(texts(10, 2))


def test_the_command_has_an_exit_code_for_scripts(model, tmp_path):
    model.save(tmp_path / "m")
    age = np.random.default_rng(5).normal(40, 5, size=100)
    frame = pd.DataFrame({"body": texts(100, 1), "age": age, "place": ["here", "there"] * 50})
    frame.to_csv(tmp_path / "same.csv", index=False)
    frame.assign(body=texts(100, 2, low=3, high=12), place="nowhere").to_csv(tmp_path / "other.csv", index=False)
    frame.drop(columns="place").to_csv(tmp_path / "less.csv", index=False)
    given = [tmp_path / "m", tmp_path / "same.csv", "--text", "body"]
    done = run("check", *given)
    assert done.exit_code == 0 and done.stdout == "The 100 documents lie where those of the fit do.\n"
    done = run("check", tmp_path / "m", tmp_path / "other.csv", "--text", "body")
    assert done.exit_code == 3 and "100 of 100 documents have fewer than 20 tokens" in done.stdout
    told = json.loads(run("check", tmp_path / "m", tmp_path / "other.csv", "--text", "body", "--json").stdout)
    assert (told["ok"], told["documents"]) == (False, 100)
    assert [one["what"] for one in told["shifts"]] == ["length", "frequent words", "place"] and told["shifts"][0][
        "share"
    ] == 1.0
    assert json.loads(run("check", *given, "--json").stdout) == {"ok": True, "documents": 100, "shifts": []}
    assert run("check", tmp_path / "m", tmp_path / "less.csv", "--text", "body").exit_code == 0
    assert "no column 'ages'" in fails("check", *given, "--covariates", "ages")
    assert "Missing argument" in misused("check", tmp_path / "m")
