"""How sure a softmax is: linear predictors divided by a heat that grows with their spread."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from supertopic import SLDAClassifier, TopicModel, load
from supertopic.datasets import simulate
from supertopic.estimators.shared.certainty.softmax_heat import heated, keep_heat
from supertopic.responses.base import registry
from supertopic.responses.several import Several, parts_of

RNG = np.random.default_rng(0)


def estimator_of(response):
    return SimpleNamespace(_parts=lambda: [(None, part) for part in parts_of(response)])


def naive(score, zero, level, power):
    """The formula, a document at a time."""
    rows = []
    for s in score:
        off = (s - zero) - np.mean(s - zero)
        heat = level * np.sqrt(np.mean(off**2)) ** power
        rows.append(zero + (s - zero) / heat)
    return np.array(rows)


def drawn(level, power, seed=0, n=6000):
    """(predictors that are too bold by this heat, labels, their true probabilities); classes are equally frequent"""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n, 4)) * rng.choice([0.5, 2.0, 6.0], size=(n, 1))
    right = softmax(naive(score, np.zeros(4), level, power), axis=1)
    return score, (right.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).astype(float), right


@pytest.mark.parametrize(("level", "power"), [(0.8, 0.6), (2.0, 0.0), (1.0, 0.9)])
def test_a_heat_is_found_again(level, power):
    score, y, right = drawn(level, power)
    model = estimator_of(registry()["softmax"](4))
    keep_heat(model, y, score)
    found, moment = heated(model, score, np.exp(score))
    assert np.abs(softmax(found, axis=1) - right).mean() < 0.01
    assert np.abs(softmax(score, axis=1) - right).mean() > 0.05
    expected = naive(score, model._softmax_zero, *model._softmax_heat[0])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(moment, np.exp(expected), rtol=1e-6)  # points have no variance


def test_topics_that_say_nothing_leave_the_shares_of_the_classes():
    score, y, _ = drawn(0.5, 0.5)
    some = (y > 0) | (RNG.random(len(y)) < 0.3)  # one class is rare
    score, y = score[some], y[some]
    model = estimator_of(registry()["softmax"](4))
    keep_heat(model, y, score)
    shares = np.bincount(y.astype(int)) / len(y)
    nothing = np.log(shares)[None] + 3.0
    np.testing.assert_allclose(softmax(heated(model, nothing, np.exp(nothing))[0], axis=1)[0], shares, atol=2e-3)


def test_what_is_right_stays_as_it_is_and_an_earlier_fit_is_forgotten():
    model = estimator_of(registry()["softmax"](4))
    bold, labels, _ = drawn(2.0, 0.5)
    keep_heat(model, labels, bold)
    assert hasattr(model, "_softmax_heat")
    score, y, _ = drawn(1.0, 0.0, seed=1)
    keep_heat(model, y, score)
    assert not hasattr(model, "_softmax_heat")
    assert heated(model, score, score)[0] is score


def test_other_responses_beside_it_do_not_change():
    score, y, _ = drawn(2.0, 0.5)
    both = Several([registry()["gaussian"](), registry()["softmax"](4)])
    number = RNG.normal(size=(len(y), 1))
    all_scores, labels = np.hstack([number, score]), np.column_stack([number[:, 0], y])
    labels[::7, 1] = np.nan
    model = estimator_of(both)
    keep_heat(model, labels, all_scores)
    found, moment = heated(model, all_scores, np.hstack([number**2 + 1, np.exp(score)]))
    np.testing.assert_array_equal(found[:, 0], number[:, 0])
    np.testing.assert_array_equal(moment[:, 0], number[:, 0] ** 2 + 1)
    assert model._softmax_heat[0].tolist() == [1.0, 0.0]
    assert np.abs(found[:, 1:] - score).max() > 1


def classes(n_documents=300):
    data = simulate(n_documents, 4, n_words=120, mean_length=30, response="softmax", seed=2)
    return data.counts.counts, data.y


def test_probabilities_densities_and_files_have_it(tmp_path):
    X, y = classes()
    model = SLDAClassifier(4, response="softmax", max_iter=5, cross_fit=2, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    model._softmax_heat, model._softmax_zero = np.array([[1.5, 0.4]]), np.zeros(len(model.classes_))
    chances = model.predict_proba(X)
    assert np.abs(chances - before).max() > 0.05
    codes = np.searchsorted(model.classes_, y)
    np.testing.assert_allclose(model.log_density(X, y), np.log(chances[np.arange(len(y)), codes]), atol=1e-5)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), chances)
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    ("heat", "message"),
    [
        (np.array([[0.0, 0.5]]), "expected a level > 0 and a power from 0 to 1"),
        (np.array([[1.0, 1.5]]), "expected a level > 0 and a power from 0 to 1"),
        (np.ones((2, 2)), "_softmax_heat"),
    ],
)
def test_a_file_with_an_impossible_heat_is_refused(heat, message, tmp_path):
    X, y = classes(100)
    model = SLDAClassifier(3, response="softmax", max_iter=2, cross_fit=0, random_state=0).fit(X, y)
    model._softmax_heat, model._softmax_zero = heat, np.zeros(len(model.classes_))
    with pytest.raises(ValueError, match=message):  # the checks are those of a file that is read
        model.save(tmp_path / "model")


def test_several_responses_of_a_model():
    X, y = classes()
    table = pd.DataFrame({"grade": RNG.normal(size=len(y)), "class": [f"c{int(c)}" for c in y]})
    model = TopicModel(4, response={"grade": "gaussian", "class": "softmax"}, max_iter=5, cross_fit=2).fit(X, table)
    model._softmax_heat, model._softmax_zero = np.array([[1.0, 0.0], [3.0, 0.0]]), np.zeros(1 + len(set(y)))
    cooled, number = model.predict_proba(X)["class"], model.predict(X)["grade"]
    del model._softmax_heat, model._softmax_zero
    assert (cooled.max(axis=1) < model.predict_proba(X)["class"].max(axis=1)).mean() > 0.95
    np.testing.assert_array_equal(model.predict(X)["grade"], number)
