"""MedLDA by Gibbs sampling: exp(-C loss) as a likelihood, by data augmentation."""

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import MedLDAClassifier, MedLDARegressor, load
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.batches import Batch
from supertopic.inference.gibbs.augmentation import SweepDraws
from supertopic.inference.gibbs.supervised import SupervisedSampler
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses.margin import EpsilonInsensitive, HingeEach
from tests.cases import cases
from tests.naive_supervised import enumerate_topics

ALPHA, BETA = np.array([0.5, 0.8, 0.3]), 0.4
TINY = np.array([[1, 2, 0], [1, 0, 1]])
Y = np.array([1.0, 0.0])
RESPONSES = {
    "two": (HingeEach(2, C=1.5, cost=0.8), np.zeros(0)),
    "three": (HingeEach(3, C=1.5, cost=0.8), np.zeros(0)),
    "slda": (EpsilonInsensitive(C=2.0, epsilon=0.3, likelihood=True), np.array([0.6, 0.2, 1.5])),
    "lda": (EpsilonInsensitive(C=2.0, epsilon=0.3, likelihood=False), np.array([0.6, 0.2, 1.5])),
}


def log_pseudo(name, y, s):
    """-C loss (and the likelihood) of one document, in a slow version."""
    response, dispersion = RESPONSES[name]
    if name in ("two", "three"):
        signs = [1 if y == 1 else -1] if name == "two" else [1 if c == y else -1 for c in range(3)]
        return -response.C * sum(max(0.0, response.cost - sign * one) for sign, one in zip(signs, s, strict=True))
    u = (y - dispersion[1]) / dispersion[2]
    value = -response.C * max(0.0, abs(u - s[0]) - response.epsilon)
    return value - (0.5 * (u - s[0]) ** 2 / dispersion[0] if name == "slda" else 0.0)


def sampler_of(name, weight):
    response, dispersion = RESPONSES[name]
    prior = DirichletPrior(ALPHA, "nothing")
    model = Model(len(ALPHA), DirichletTopics(BETA), prior, response, CoefPrior("normal", 1.3))
    sampler = SupervisedSampler(model, Batch(sp.csr_matrix(TINY.astype(np.float32)), Y, weight, len(ALPHA)), 0)
    sampler.take(np.zeros(5, np.uint16), sampler.coef, dispersion, ALPHA)
    return sampler


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(RESPONSES, ["three", "slda"]))
def test_topics_follow_the_enumerated_posterior(name, weight=2.5):
    sampler = sampler_of(name, np.full(2, weight))
    sampler.coef = coef = np.random.default_rng(5).normal(size=sampler.coef.shape) * 1.5
    given = (TINY, ALPHA, BETA)
    states, expected = enumerate_topics(*given, lambda d, shares: weight * log_pseudo(name, Y[d], coef @ shares))
    without = enumerate_topics(*given, lambda d, shares: 0.0)[1]
    assert np.abs(expected - without).sum() > 0.2  # the response matters
    n, seen, powers = 20000, np.zeros(len(states)), len(ALPHA) ** np.arange(states.shape[1])[::-1]
    for number in range(n):
        score = sampler.design @ coef.T
        augmented = sampler.model.response.augment(Y, score, sampler.weight, sampler.dispersion, SweepDraws(1, number))
        sampler.draw_topics(*augmented, number)
        seen[sampler.topic @ powers] += 1
    assert np.abs(seen / n - expected).sum() < 0.09, np.abs(seen / n - expected).sum()
    by_share = [np.bincount((states == k).sum(1), seen / n - expected) for k in range(3)]
    assert max(np.abs(difference).max() for difference in by_share) < 0.015


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(["two", "slda"], ["slda"]))
def test_coefficients_follow_their_posterior_on_a_grid(name):
    """Given the topics: two tokens of the one document and one of the other have the second topic."""
    weight = np.array([1.0, 2.0])
    sampler = sampler_of(name, weight)
    sampler.take(np.array([0, 1, 1, 0, 1], np.uint16), sampler.coef, sampler.dispersion, ALPHA)
    grid = np.linspace(-6, 6, 241)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    logs = -0.5 * (first**2 + second**2) / 1.3**2
    for d in range(2):
        one = sampler.design[d, 0] * first + sampler.design[d, 1] * second
        logs += weight[d] * np.vectorize(lambda s, d=d: log_pseudo(name, Y[d], [s]))(one)
    share = np.exp(logs - logs.max())
    share /= share.sum()
    draws = np.empty((20000, 3))
    for number in range(len(draws)):
        sampler.draw_coef(SweepDraws(2, number))
        draws[number] = sampler.coef[0]
    mean = np.array([(share * first).sum(), (share * second).sum()])
    spread = np.array([(share * first**2).sum(), (share * second**2).sum()]) - mean**2
    np.testing.assert_allclose(draws[:, :2].mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(draws[:, :2].var(axis=0), spread, rtol=0.08)
    assert draws[:, 2].var() == pytest.approx(1.3**2, rel=0.05)  # a topic without tokens keeps its prior


def test_a_missing_label_says_nothing():
    for response, dispersion in RESPONSES.values():
        score = np.ones((2, response.n_columns))
        augmented = response.augment(np.array([np.nan, 1.0]), score, np.ones(2), dispersion, SweepDraws(0, 0))
        for array in augmented:
            assert not array[0].any() and array[1].all()
        if response.n_dispersion and not response.likelihood:
            np.testing.assert_array_equal(
                response.draw_dispersion(Y, score, np.ones(2), dispersion, SweepDraws(0, 0)), dispersion
            )


@pytest.mark.parametrize("kind", ["number", "two", "three"])
def test_margins_are_learned(kind, tmp_path):
    response = {"number": "gaussian", "two": "logit", "three": "softmax"}[kind]
    coef = {"number": None, "two": np.array([-6.0, 6.0, -2.0, 2.0]), "three": 8 * np.eye(3, 4)}[kind]
    data = simulate(500, 4, n_words=80, mean_length=40, response=response, coef=coef, seed=2)
    counts, y = data.counts.counts, data.y
    common = {"inference": "gibbs", "max_iter": 30, "doc_topic_prior": 0.3}
    model = MedLDARegressor(4, C=1.0, **common) if kind == "number" else MedLDAClassifier(4, C=1.0, cost=8.0, **common)
    variational = model.__class__(**{**model.get_params(), "inference": "vb"}).fit(counts[:300], y[:300])
    model.fit(counts[:300], y[:300])
    assert model.score(counts[300:], y[300:]) > variational.score(counts[300:], y[300:]) - 0.05
    assert len(model.support_) == model.n_support_[-1] > 0
    assert model.draws_["coef"].shape[0] == 3
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(counts), model.predict(counts))
    again = model.__class__(**model.get_params()).fit(counts[:300], y[:300])
    np.testing.assert_array_equal(again.draws_["coef"], model.draws_["coef"])
