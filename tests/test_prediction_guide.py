"""What prediction-constrained training follows: estimates of means in place of labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import PC, SLDAClassifier, SLDARegressor
from supertopic.backends.threads import Threads
from supertopic.datasets import simulate
from supertopic.inference import ridge
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.after.words import word_features, word_scale
from supertopic.inference.batches import Batch
from supertopic.inference.regression import regress
from supertopic.inference.variational import prediction_guide
from supertopic.inference.variational.prediction_guide import estimate, followed_columns, guided
from supertopic.responses.base import registry
from supertopic.responses.binary import Logit
from supertopic.responses.classes import Ordinal
from supertopic.responses.continuous import Gaussian
from supertopic.responses.several import Several

DATA = simulate(300, 4, 80, 50, doc_topic_prior=0.2, seed=3)
COUNTS, RNG = DATA.counts.counts, np.random.default_rng(0)
LINE = DATA.topic_shares @ np.array([-2.0, -1.0, 1.0, 2.0])
Y = LINE + RNG.normal(size=300)
PARTS = np.random.default_rng([0, 9]).permutation(300) % 3
NOBODY = np.zeros(0, dtype=np.int64)


def batch(y, weight=None, rows=slice(None), covariates=None):
    weight = np.ones(len(y)) if weight is None else weight
    return Batch(COUNTS[rows], y[rows], weight[rows], 4, None if covariates is None else covariates[rows])


def slow_ridge(features, y, weight, penalty):
    """(coef, level) that minimise sum weight (y - level - coef·x)² + penalty |coef|², as written down."""
    x = np.column_stack([features, np.ones(len(y))])
    ridge = np.diag(np.append(np.full(features.shape[1], penalty), 0.0))
    found = np.linalg.solve(x.T @ (weight[:, None] * x) + ridge, x.T @ (weight * y))
    return found[:-1], found[-1]


def slow_estimates(features, y, weight, penalty, parts):
    """(mean estimates, error of left-out labels) of regressions that leave out one part each."""
    means, error = np.zeros(len(y)), 0.0
    for part in range(3):
        rest = parts != part
        coef, level = slow_ridge(features[rest], y[rest], weight[rest] / weight[rest].mean(), penalty)
        found = np.clip(features @ coef + level, y.min(), y.max())
        means += found / 3
        error += weight[~rest] @ (y - found)[~rest] ** 2
    return means, error


@pytest.mark.parametrize("penalty", [0.1, 30.0])
def test_a_regression_on_some_rows_is_the_slow_one(penalty, monkeypatch):
    monkeypatch.setattr(ridge, "_TOL", 1e-12)
    features, rows = word_features(COUNTS, word_scale(COUNTS)), np.flatnonzero(RNG.random(300) < 0.6)
    weight = RNG.uniform(0.5, 2.0, len(rows))
    found = ridge.fit_ridge(features, rows, Y[rows], weight, penalty)
    coef, level = slow_ridge(features.toarray()[rows], Y[rows], weight, penalty)
    np.testing.assert_allclose(found.coef, coef, atol=1e-8)
    assert found.intercept == pytest.approx(level, abs=1e-8)
    np.testing.assert_allclose(found.predict(features), features @ coef + level, atol=1e-8)


def test_threads_find_the_same_estimates():
    features, weight, calls = word_features(COUNTS, word_scale(COUNTS)), np.ones(300), []
    with Threads(3) as backend:
        ours = estimate(features, Y, weight, PARTS, run=lambda some: calls.append(len(some)) or backend.all(some))
    alone = estimate(features, Y, weight, PARTS)
    np.testing.assert_array_equal(ours.means, alone.means)
    assert ours.place == alone.place and ours.skill == alone.skill
    assert calls[0] == 6 and set(calls[1:]) <= {3}  # two penalties at once, and then one after the other


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0, 5.0])
def test_estimates_are_those_of_the_best_slow_regressions(noise):
    y, weight = LINE + noise * RNG.normal(size=300), RNG.uniform(0.5, 2.0, 300)
    features = word_features(COUNTS, word_scale(COUNTS))
    found, parts = estimate(features, y, weight, PARTS), PARTS
    penalties, constant = prediction_guide._PENALTIES, weight @ (y - np.average(y, weights=weight)) ** 2
    tried = [slow_estimates(features.toarray(), y, weight, penalty, parts) for penalty in penalties]
    assert found.skill == pytest.approx(1 - min(error for _, error in tried) / constant, abs=0.01)
    assert found.place == np.argmin([error for _, error in tried])
    np.testing.assert_allclose(found.means, tried[found.place][0], atol=0.02 * y.std())


def test_a_known_penalty_is_taken_as_it_is():
    """What was found is entered, and found again without a search; another one is not left."""
    none, found = batch(Y, rows=NOBODY), {}
    train, _ = guided(batch(Y), none, Gaussian(), 0, found)
    assert list(found) == [0]
    np.testing.assert_array_equal(guided(batch(Y), none, Gaussian(), 0, dict(found))[0].y, train.y)
    other = {0: 8 if found[0] < 8 else 0}
    assert np.abs(guided(batch(Y), none, Gaussian(), 0, dict(other))[0].y - train.y).max() > 1e-3


@pytest.mark.parametrize("response", [Gaussian(), Logit(2)])
def test_noise_stays_as_it_is(response):
    """Words tell nothing of it. Estimates would, of what they have learned by heart, and topics would follow."""
    noise = np.random.default_rng(5).normal(size=300)
    y = noise if response.kind == "number" else (noise > 0).astype(float)
    train, held = guided(batch(y, rows=slice(250)), batch(y, rows=slice(250, 300)), response, 0)
    np.testing.assert_array_equal(train.y, y[:250])
    np.testing.assert_array_equal(held.y, y[250:])


def test_estimates_are_nearer_to_the_means_than_labels_are():
    train, _ = guided(batch(Y), batch(Y, rows=NOBODY), Gaussian(), 0)
    assert np.mean((train.y - LINE) ** 2) < 0.6 * np.mean((Y - LINE) ** 2)


def test_documents_held_out_are_judged_by_half_and_have_no_say():
    first, other = Y.copy(), Y.copy()
    other[200:] += RNG.normal(size=100)
    found = [guided(batch(y, rows=slice(200)), batch(y, rows=slice(200, 300)), Gaussian(), 0) for y in (first, other)]
    np.testing.assert_array_equal(found[0][0].y, found[1][0].y)
    np.testing.assert_allclose(found[1][1].y - found[0][1].y, 0.5 * (other - first)[200:], atol=1e-12)
    assert np.mean((found[0][1].y - LINE[200:]) ** 2) < np.mean((Y - LINE)[200:] ** 2)


def test_a_label_that_is_missing_or_weighs_nothing_stays_out():
    y, weight = Y.copy(), np.ones(300)
    y[:40], weight[40:80] = np.nan, 0.0
    train, _ = guided(batch(y, weight), batch(y, weight, NOBODY), Gaussian(), 0)
    assert np.isnan(train.y[:40]).all()
    np.testing.assert_array_equal(train.y[40:80], y[40:80])
    moved = y.copy()
    moved[40:80] = 1e6
    again, _ = guided(batch(moved, weight), batch(y, weight, NOBODY), Gaussian(), 0)
    np.testing.assert_array_equal(again.y[80:], train.y[80:])


def test_covariates_are_in_the_estimates():
    extra = RNG.normal(size=(300, 1))
    y = Y + 5.0 * extra[:, 0]
    train, _ = guided(batch(y, covariates=extra), batch(y, None, NOBODY, extra), Gaussian(), 0)
    assert np.mean((train.y - LINE - 5.0 * extra[:, 0]) ** 2) < 0.7


@pytest.mark.parametrize("factor, shift", [(1e180, 0.0), (1e-180, 0.0), (1.0, 1e6)])
def test_units_of_the_labels_make_no_difference(factor, shift):
    plain, other = (
        guided(batch(y, rows=slice(200)), batch(y, rows=slice(200, 300)), Gaussian(), 0)
        for y in (Y, factor * Y + shift)
    )
    for one, moved in zip(plain, other, strict=True):
        np.testing.assert_allclose((moved.y - shift) / factor, one.y, rtol=1e-6, atol=1e-6)


def test_labels_that_are_all_alike_stay():
    train, held = guided(batch(np.ones(300), rows=slice(200)), batch(np.ones(300), rows=slice(200, 300)), Gaussian(), 0)
    np.testing.assert_allclose(np.concatenate([train.y, held.y]), 1.0)


def test_probabilities_stay_between_the_classes():
    y = (LINE > 0).astype(float)
    train, _ = guided(batch(y), batch(y, rows=NOBODY), Logit(2), 0)
    assert train.y.min() == 0 and train.y.max() == 1 and len(np.unique(train.y)) > 100


def test_other_responses_and_few_or_many_labels_stay_as_they_are(monkeypatch):
    likely = {name for name, response in registry().items() if response.follows_means and not response.max_margin}
    assert likely == {"gaussian", "logit"}
    given = batch(np.abs(Y)), batch(np.abs(Y), rows=NOBODY)
    assert guided(*given, registry()["poisson"](), 0)[0] is given[0]
    few = np.where(np.arange(300) < 29, Y, np.nan)
    assert guided(batch(few), given[1], Gaussian(), 0)[0].y[0] == Y[0]
    monkeypatch.setattr(prediction_guide, "_MOST", 299)
    np.testing.assert_array_equal(guided(batch(Y), given[1], Gaussian(), 0)[0].y, Y)


def test_of_several_responses_only_those_are_followed_that_can_be():
    y = np.column_stack([Y, RNG.poisson(np.exp(0.5 * LINE)), Y])
    train, _ = guided(batch(y), batch(y, rows=NOBODY), Several([Gaussian(), registry()["poisson"](), Gaussian()]), 0)
    np.testing.assert_array_equal(train.y[:, 1], y[:, 1])
    np.testing.assert_array_equal(train.y[:, 0], train.y[:, 2])
    assert np.abs(train.y[:, 0] - Y).min() > 0


def test_coefficients_and_noise_are_those_of_the_labels():
    """Training follows estimates, which have less noise; what is told does not."""
    given = {"n_topics": 4, "inference": "pc", "cross_fit": 0, "random_state": 0, "max_iter": 10}
    for refit in (False, True):
        model = SLDARegressor(refit=refit, **given).fit(COUNTS, Y)
        shares = model.transform(COUNTS)
        slope, level = np.polyfit(shares @ model.coef_, Y, 1)
        assert slope == pytest.approx(1.0, abs=0.05)
        assert level + model.intercept_ == pytest.approx(2 * model.intercept_, abs=0.1)
        assert model.dispersion_ == pytest.approx(1.0, rel=0.3)


def test_features_of_documents_held_out_are_weighed_as_in_training():
    """The weights of words come from the documents to train on alone."""
    rare = sp.csr_matrix(COUNTS[:200])
    rare.data[rare.indices == 0] = 0
    rare.eliminate_zeros()
    train = Batch(rare, Y[:200], np.ones(200), 4)
    held = [batch(Y, rows=slice(200, 200 + n)) for n in (10, 100)]
    found = [guided(train, one, Gaussian(), 0)[1].y[:10] for one in held]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_ordered_classes_are_followed_as_numbers(monkeypatch):
    """Topics are those of a number, the mean of a normal variable in the class's share of it. Coefficients and
    cut-points are those of the classes, given the topics.
    """
    grades = np.digitize(Y, [-1.5, 0.0, 1.5])
    params = {"n_topics": 4, "max_iter": 3, "inference": PC(validation_fraction=0.0), "cross_fit": 0, "random_state": 0}
    model = SLDAClassifier(response="ordinal", **params).fit(COUNTS, grades)
    normal, shares = np.sort(np.random.default_rng(1).normal(size=10**6)), np.bincount(grades) / 300
    means = [part.mean() for part in np.split(normal, np.round(10**6 * np.cumsum(shares)[:-1]).astype(int))]
    number = SLDARegressor(**params, response="gaussian").fit(COUNTS, np.array(means)[grades])
    np.testing.assert_allclose(model.components_, number.components_, atol=1e-3)
    np.testing.assert_allclose(model.bound_, number.bound_, atol=5e-3)
    monkeypatch.setattr(Ordinal, "trained_as", lambda self, y, weight: (self, y))
    own = SLDAClassifier(response="ordinal", **params).fit(COUNTS, grades)
    assert np.abs(model.components_ - own.components_).max() > 0.01
    known = with_known_shares(model.transform(COUNTS), np.zeros((300, 0)), grades.astype(float), np.ones(300))
    given = (
        model.fitted_.spec.response,
        model.fitted_.spec.model.coef_prior,
        known.total,
        model.fitted_.state.coef,
        model.fitted_.state.dispersion,
    )
    coef, _, cuts = regress(*given)
    np.testing.assert_allclose(model.fitted_.state.coef, coef, atol=2e-3 * np.abs(coef).max())
    np.testing.assert_allclose(np.diff(model.fitted_.state.dispersion), np.diff(cuts), rtol=2e-3)


LOGARITHMS = ("poisson", "negative_binomial", "gamma", "inverse_gaussian", "weibull")


def test_ordered_classes_and_numbers_from_zero_on_are_trained_as_something_else():
    y, weight = np.array([0.0, 1.0, np.nan, 2.0, 1.0]), np.ones(5)
    made = {name: response(3) for name, response in registry().items()}
    found = {name: response.trained_as(y, weight) for name, response in made.items()}
    changed = {name for name, response in made.items() if found[name][0] is not response}
    assert changed == {"ordinal", *LOGARITHMS} and {found[name][0].name for name in changed} == {"gaussian"}
    assert all(labels is y for name, (_, labels) in found.items() if name not in changed)
    numbers, both = Several([Gaussian(), Logit(2)]), np.column_stack([y, y])
    assert numbers.trained_as(both, weight) == (numbers, both)
    mixed, labels = Several([Ordinal(3), Logit(2)]).trained_as(both, weight)
    assert [part.name for part in mixed.responses] == ["gaussian", "logit"] and len(mixed.is_product) == 2
    np.testing.assert_array_equal(labels, np.column_stack([found["ordinal"][1], y]))
    assert labels[0, 0] < labels[1, 0] < labels[3, 0] and np.isnan(labels[2, 0])


@pytest.mark.parametrize("name", LOGARITHMS)
def test_numbers_from_zero_on_are_followed_as_logarithms(name):
    """Topics are those of log(y + 1), or of log(y + 0.03 mean); coefficients are those of y, given the topics."""
    y = 1.0 + RNG.poisson(2.0 * np.exp(0.5 * LINE))
    params = {"n_topics": 4, "max_iter": 3, "inference": PC(validation_fraction=0.0), "cross_fit": 0, "random_state": 0}
    model = SLDARegressor(response=name, **params).fit(COUNTS, y)
    floor = 1.0 if name in ("poisson", "negative_binomial") else 0.03 * y.mean()
    number = SLDARegressor(response="gaussian", **params).fit(COUNTS, np.log(y + floor))
    np.testing.assert_array_equal(model.components_, number.components_)
    known = with_known_shares(model.transform(COUNTS), np.zeros((300, 0)), y, np.ones(300))
    given = (
        model.fitted_.spec.response,
        model.fitted_.spec.model.coef_prior,
        known.total,
        model.fitted_.state.coef,
        model.fitted_.state.dispersion,
    )
    coef, _, _ = regress(*given)
    np.testing.assert_allclose(model.fitted_.state.coef, coef, atol=5e-3 * np.abs(coef).max())


def test_the_floor_of_logarithms_is_a_part_of_the_mean_of_labels_that_count():
    y, weight = np.array([1e-9, 2.0, 50.0, np.nan]), np.array([1.0, 3.0, 0.0, 1.0])
    _, found = registry()["gamma"]().trained_as(y, weight)
    np.testing.assert_allclose(found, np.log(y + 0.03 * 1.5), rtol=1e-6)
    np.testing.assert_allclose(np.diff(registry()["gamma"]().trained_as(1e9 * y, weight)[1]), np.diff(found))
    _, found = registry()["poisson"]().trained_as(np.array([0.0, 1.0, np.nan]), np.ones(3))
    np.testing.assert_allclose(found, [0.0, np.log(2.0), np.nan])


def test_too_many_labels_are_followed_as_they_are(monkeypatch):
    """A decision for all documents: it does not change where some of them are held out."""
    monkeypatch.setattr(prediction_guide, "_MOST", 280)
    response, batches = Gaussian(), (batch(Y, rows=slice(270)), batch(Y, rows=slice(270, 300)))
    assert guided(*batches, response, 0)[0] is batches[0]
    assert followed_columns(response, batch(Y)) == []
    monkeypatch.setattr(prediction_guide, "_MOST", 300)
    assert followed_columns(response, *batches) == [0]
