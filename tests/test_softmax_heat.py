"""How sure a softmax is: linear predictors divided by a heat that grows with their spread."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from supertopic import SLDAClassifier, TopicModel, load
from supertopic.datasets import simulate
from supertopic.documents.labels import Target
from supertopic.fitted.certainty.softmax_heat import heated, with_heat
from supertopic.responses.base import registry
from supertopic.responses.several import Several

RNG = np.random.default_rng(0)
SOFTMAX = registry()["softmax"](4)


@pytest.fixture(scope="module")
def fitted():
    """What one fit has found, to be used with other responses."""
    X, y = classes(60)
    return SLDAClassifier(4, response="softmax", max_iter=1, cross_fit=0).fit(X, y).fitted_


def used_with(fitted, response, *targets):
    """The same with another response."""
    spec = fitted.spec
    schema = replace(spec.schema, targets=targets or spec.schema.targets)
    return replace(fitted, spec=replace(spec, model=replace(spec.model, response=response), schema=schema))


def naive(score, zero, level, power, lead=0.0):
    """The formula, a document at a time."""
    rows = []
    for s in score:
        off = (s - zero) - np.mean(s - zero)
        heat = level * np.sqrt(np.mean(off**2)) ** power
        tempered = zero + (s - zero) / heat
        chances, leading = softmax(tempered), softmax(tempered) ** 4
        leading, before = leading / leading.sum(), softmax(zero) ** 4 / (softmax(zero) ** 4).sum()
        sure = float(chances @ leading)
        rows.append(tempered + lead * np.log(sure / (1 - sure)) * (leading - before))
    return np.array(rows)


def drawn(level, power, lead=0.0, seed=0, n=6000):
    """(predictors that are too bold by this heat, labels, their true probabilities); classes are equally frequent"""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n, 4)) * rng.choice([0.5, 2.0, 6.0], size=(n, 1))
    right = softmax(naive(score, np.zeros(4), level, power, lead), axis=1)
    return score, (right.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).astype(float), right


@pytest.mark.parametrize(
    ("level", "power", "lead"), [(0.8, 0.6, 0.0), (2.0, 0.0, 0.0), (1.0, 0.9, 0.0), (0.8, 0.6, -0.5), (2.5, 0.3, 0.8)]
)
def test_a_heat_is_found_again(level, power, lead, fitted):
    score, y, right = drawn(level, power, lead)
    model = with_heat(used_with(fitted, SOFTMAX), y, score)
    found, moment = heated(model, score, np.exp(score))
    assert np.abs(softmax(found, axis=1) - right).mean() < 0.01
    assert np.abs(softmax(score, axis=1) - right).mean() > 0.05
    assert (model.certainty.heat[0, 2] == 0.0) == (lead == 0.0)
    expected = naive(score, model.certainty.zero, *model.certainty.heat[0])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(moment, np.exp(expected), rtol=1e-6)  # points have no variance


def test_topics_that_say_nothing_leave_the_shares_of_the_classes(fitted):
    score, y, _ = drawn(0.5, 0.5)
    some = (y > 0) | (RNG.random(len(y)) < 0.3)  # one class is rare
    score, y = score[some], y[some]
    model = with_heat(used_with(fitted, SOFTMAX), y, score)
    model = model.with_certainty(heat=np.add(model.certainty.heat, [0.0, 0.0, 0.4]))
    shares = np.bincount(y.astype(int)) / len(y)
    nothing = model.certainty.zero[None] + 3.0
    np.testing.assert_allclose(softmax(heated(model, nothing, np.exp(nothing))[0], axis=1)[0], shares, atol=2e-3)


def test_what_is_right_stays_as_it_is_and_an_earlier_fit_is_forgotten(fitted):
    bold, labels, _ = drawn(2.0, 0.5)
    model = with_heat(used_with(fitted, SOFTMAX), labels, bold)
    assert model.certainty.heat is not None
    score, y, _ = drawn(1.0, 0.0, seed=1)
    model = with_heat(model, y, score)
    assert model.certainty.heat is None and model.certainty.zero is None
    assert heated(model, score, score)[0] is score


def test_other_responses_beside_it_do_not_change(fitted):
    score, y, _ = drawn(2.0, 0.5)
    both = Several([registry()["gaussian"](), SOFTMAX])
    number = RNG.normal(size=(len(y), 1))
    all_scores, labels = np.hstack([number, score]), np.column_stack([number[:, 0], y])
    labels[::7, 1] = np.nan
    targets = Target("number", "gaussian"), Target("class", "softmax", np.arange(4))
    model = with_heat(used_with(fitted, both, *targets), labels, all_scores)
    found, moment = heated(model, all_scores, np.hstack([number**2 + 1, np.exp(score)]))
    np.testing.assert_array_equal(found[:, 0], number[:, 0])
    np.testing.assert_array_equal(moment[:, 0], number[:, 0] ** 2 + 1)
    assert model.certainty.heat[0].tolist() == [1.0, 0.0, 0.0]
    assert np.abs(found[:, 1:] - score).max() > 1


def classes(n_documents=300):
    data = simulate(n_documents, 4, n_words=120, mean_length=30, response="softmax", seed=2)
    return data.counts.counts, data.y


def with_given_heat(model, heat):
    """The model has a heat that no fit has found."""
    zero = np.zeros(model.fitted_.spec.response.n_columns)
    model.fitted_ = model.fitted_.with_certainty(heat=np.array(heat), zero=zero)


def test_probabilities_densities_and_files_have_it(tmp_path):
    X, y = classes()
    model = SLDAClassifier(4, response="softmax", max_iter=5, cross_fit=2, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    with_given_heat(model, [[1.5, 0.4, -0.3]])
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
        ([[0.0, 0.5, 0.0]], "expected a level > 0, a power from 0 to 1, and a lead above -1"),
        ([[1.0, 1.5, 0.0]], "expected a level > 0, a power from 0 to 1, and a lead above -1"),
        ([[1.0, 1.0, -1.0]], "expected a level > 0, a power from 0 to 1, and a lead above -1"),
        ([[1.0, 1.0], [1.0, 1.0]], r"certainty.heat has the shape \(2, 2\), expected \(1, 3\)"),
    ],
)
def test_a_file_with_an_impossible_heat_is_refused(heat, message, tmp_path):
    X, y = classes(100)
    model = SLDAClassifier(3, response="softmax", max_iter=2, cross_fit=0, random_state=0).fit(X, y)
    with_given_heat(model, heat)
    with pytest.raises(ValueError, match=message):  # the checks are those of a file that is read
        model.save(tmp_path / "model")


def test_several_responses_of_a_model():
    X, y = classes()
    table = pd.DataFrame({"grade": RNG.normal(size=len(y)), "class": [f"c{int(c)}" for c in y]})
    model = TopicModel(4, response={"grade": "gaussian", "class": "softmax"}, max_iter=5, cross_fit=2).fit(X, table)
    with_given_heat(model, [[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    cooled, number = model.predict_proba(X)["class"], model.predict(X)["grade"]
    model.fitted_ = model.fitted_.with_certainty(heat=None, zero=None)
    assert (cooled.max(axis=1) < model.predict_proba(X)["class"].max(axis=1)).mean() > 0.95
    np.testing.assert_array_equal(model.predict(X)["grade"], number)
