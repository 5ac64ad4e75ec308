"""`out_of_fold_`: labelled documents as fits without them predict them."""

import numpy as np
import pandas as pd
import pytest

from supertopic import MedLDAClassifier, MedLDAClassifierCV, SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.datasets import simulate
from supertopic.fitted.certainty import cross_fit
from supertopic.fitted.predict import predict

QUICK = {"inference": "vb", "max_iter": 8, "cross_fit": 3}


def documents(response="gaussian", n=120, **more):
    found = simulate(n_documents=n, n_topics=3, n_words=50, mean_length=25, response=response, seed=7, **more)
    return found.counts.counts, found.y


def test_numbers_are_those_behind_the_dispersion_and_in_files(tmp_path):
    counts, y = documents()
    y[::7] = np.nan
    model = SLDARegressor(3, **QUICK).fit(counts, y)
    found = model.out_of_fold_
    assert found.columns.tolist() == ["fold", "y", "prediction", "residual"]
    np.testing.assert_array_equal(found.index, np.flatnonzero(~np.isnan(y)))
    np.testing.assert_array_equal(found["y"], y[found.index])
    np.testing.assert_allclose(found["residual"], found["y"] - found["prediction"])
    assert sorted(found["fold"].unique()) == [0, 1, 2] and found["fold"].value_counts().min() > 30
    assert np.mean(found["residual"] ** 2) == pytest.approx(model.dispersion_, rel=0.05)
    assert np.polyfit(found["prediction"], found["y"], 1)[0] == pytest.approx(1.0, abs=0.01)
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(load(tmp_path / "model").out_of_fold_, found)


def test_predictions_are_those_of_the_fit_without_the_fold(monkeypatch):
    """But for the slope, which all folds have together."""
    counts, y = documents()
    fits = []
    own = cross_fit.fold_fits
    monkeypatch.setattr(cross_fit, "fold_fits", lambda *a, **k: (fits.append(one) or one for one in own(*a, **k)))
    found = SLDARegressor(3, **QUICK).fit(counts, y).out_of_fold_
    plain = np.full(len(y), np.nan)
    for one in fits:
        corpus = one.fit.corpus(counts[one.out])
        plain[one.out] = predict(one.fit, corpus, np.zeros((len(one.out), 0))).means[0]
        assert (found.loc[one.out, "fold"] == one.number).all()
    assert np.corrcoef(plain[found.index], found["prediction"])[0, 1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("response", ["logit", "softmax", "ordinal"])
def test_classes_have_a_column_of_probabilities_each(response):
    codes = documents(response, 150)[1]
    counts, labels = (
        documents(response, 150)[0],
        codes if response == "ordinal" else np.array(list("abcdef"))[codes.astype(int)],
    )
    model = SLDAClassifier(3, response=response, **QUICK).fit(counts, labels)
    found = model.out_of_fold_
    chances = found[[str(one) for one in model.classes_]].to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(found["y"], labels)
    place = np.searchsorted(model.classes_, found["y"].to_numpy())
    np.testing.assert_allclose(found["residual"], 1.0 - chances[np.arange(len(found)), place])
    if response != "ordinal":
        np.testing.assert_array_equal(found["prediction"], model.classes_[chances.argmax(axis=1)])


def test_several_responses_have_columns_with_their_names():
    counts, y = documents()
    frame = pd.DataFrame({"stars": y, "good": np.where(y > np.median(y), "yes", "no")})
    frame.loc[3, "good"] = None
    found = TopicModel(3, **QUICK).fit(counts, frame).out_of_fold_
    names = ["stars y", "stars prediction", "stars residual", "good y", "good prediction", "good residual"]
    assert found.columns.tolist() == ["fold", *names, "good no", "good yes"]
    assert pd.isna(found.loc[3, "good y"]) and np.isnan(found.loc[3, "good residual"])
    np.testing.assert_allclose(found["good no"] + found["good yes"], 1.0, atol=1e-5)


def test_documents_are_those_set_aside_or_those_that_words_have_not_seen():
    counts, y = documents(n=200)
    honest = SLDARegressor(3, honest=0.5, **QUICK).fit(counts, y).out_of_fold_
    assert len(honest) == 100 and honest["fold"].nunique() == 5
    np.testing.assert_array_equal(honest["y"], y[honest.index])
    with_words = SLDARegressor(3, words=True, **QUICK).fit(counts, y).out_of_fold_
    assert 35 <= len(with_words) <= 65  # about a quarter
    np.testing.assert_array_equal(with_words["y"], y[with_words.index])


def test_a_margin_has_those_of_its_probabilities():
    counts, labels = documents("logit", 90)
    model = MedLDAClassifier(3, cross_fit=3, max_iter=4).fit(counts, labels)
    found = model.out_of_fold_
    assert len(found) == 90 and found["residual"].between(0, 1).all()
    np.testing.assert_allclose(found[[str(one) for one in model.classes_]].sum(axis=1), 1.0, atol=1e-5)
    chosen = MedLDAClassifierCV(Cs=[1.0], costs=[16.0], cv=2, n_topics=3, cross_fit=3, max_iter=3).fit(counts, labels)
    pd.testing.assert_frame_equal(chosen.out_of_fold_, chosen.best_estimator_.out_of_fold_)


def test_without_folds_there_are_none():
    counts, y = documents()
    model = SLDARegressor(3, inference="vb", max_iter=3, cross_fit=0).fit(counts, y)
    assert not hasattr(model, "out_of_fold_")
    with pytest.raises(AttributeError, match="fitted without folds"):
        _ = model.out_of_fold_
