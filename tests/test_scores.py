"""Scores of documents of which some have no label."""

import numpy as np
import pandas as pd
import pytest

from supertopic import (
    DiscLDAClassifier,
    Gibbs,
    MedLDAClassifier,
    MedLDARegressor,
    SAGEClassifier,
    SLDAClassifier,
    SLDARegressor,
    SSTMClassifier,
    SSTMRegressor,
    TopicModel,
)
from supertopic.datasets import simulate

DATA = simulate(80, 3, 40, 30, response="logit", coef=np.array([-3.0, 0.0, 3.0]), seed=1)
X, TEXT = DATA.counts, np.where(np.asarray(DATA.y) > 0, "yes", "no")
NUMBER = DATA.topic_shares @ np.array([-1.0, 0.0, 2.0])
GONE = np.arange(80) % 3 == 0

CLASSIFIERS = {
    "slda": SLDAClassifier(3, max_iter=3),
    "medlda": MedLDAClassifier(3, max_iter=3),
    "sstm": SSTMClassifier(3, max_iter=10, inference=Gibbs(burn_in=4)),
    "sage": SAGEClassifier(max_iter=5),
    "disclda": DiscLDAClassifier(2, max_iter=3),
}
REGRESSORS = {
    "slda": SLDARegressor(3, max_iter=3),
    "medlda": MedLDARegressor(3, max_iter=3),
    "sstm": SSTMRegressor(3, max_iter=10, inference=Gibbs(burn_in=4)),
}


def without(y, missing):
    return np.array([missing if gone else value for value, gone in zip(y, GONE, strict=True)], dtype=object)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_missing_labels_are_left_out_of_an_accuracy(name):
    model = CLASSIFIERS[name].fit(X, TEXT)
    weight = np.linspace(0.5, 2.0, 80)
    alone = model.score(X[~GONE], TEXT[~GONE])
    assert 0.3 < alone <= 1.0
    for missing in (None, np.nan, pd.NA):
        assert model.score(X, without(TEXT, missing)) == alone
    weighted = model.score(X, without(TEXT, None), sample_weight=weight)
    assert weighted == pytest.approx(model.score(X[~GONE], TEXT[~GONE], sample_weight=weight[~GONE]), rel=1e-12)
    with pytest.raises(ValueError, match="y is missing for every document"):
        model.score(X, [None] * 80)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_of_another_kind_are_named(name):
    """An accuracy of zero would look like a bad model."""
    model, coded = CLASSIFIERS[name].fit(X, TEXT), (TEXT == "yes").astype(int)
    with pytest.warns(UserWarning, match="such as '[01]', none of them a class of this model; expected 'no', 'yes'$"):
        assert model.score(X, coded) == 0.0
    assert model.score(X[:9], [*TEXT[:8], "perhaps"]) <= 8 / 9  # one that is new: without a word


def test_labels_of_another_kind_are_named_beside_others():
    y = pd.DataFrame({"kind": TEXT, "number": NUMBER})
    model = TopicModel(3, max_iter=3, cross_fit=0).fit(X, y)
    with pytest.warns(UserWarning, match="none of them a class of this model"):
        model.score(X, y.assign(kind="other"))


@pytest.mark.parametrize("name", REGRESSORS)
def test_missing_numbers_are_left_out_of_r2(name):
    model = REGRESSORS[name].fit(X, NUMBER)
    alone = model.score(X[~GONE], NUMBER[~GONE])
    for missing in (None, np.nan, pd.NA):
        assert model.score(X, without(NUMBER, missing)) == pytest.approx(alone, rel=1e-9)


def test_missing_values_are_left_out_column_by_column():
    y = pd.DataFrame({"kind": TEXT, "number": NUMBER})
    model = TopicModel(3, max_iter=3).fit(X, y)
    some = y.copy()
    some.loc[GONE, "kind"] = None
    both = y.astype(object)
    both[GONE] = None
    half = [model.score(X, some), model.score(X, both)]
    kind = np.mean(model.predict(X)["kind"][~GONE] == TEXT[~GONE])
    number = 2 * model.score(X, y) - np.mean(model.predict(X)["kind"] == TEXT)
    assert half[0] == pytest.approx((kind + number) / 2, rel=1e-9)
    assert half[1] == pytest.approx(model.score(X[~GONE], y[~GONE]), rel=1e-9)


def test_places_of_an_ordered_categorical_are_scored():
    grades = pd.Series(pd.Categorical(np.where(NUMBER > 0.5, "good", "bad"), ["bad", "good"], ordered=True))
    model = SLDAClassifier(3, max_iter=10, response="ordinal").fit(X, grades)
    assert model.score(X, grades) == np.mean(model.predict(X) == grades.cat.codes)
