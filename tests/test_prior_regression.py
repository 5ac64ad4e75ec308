"""A prior on topic shares by metadata: its gradient, its optimum, and coefficients that come back."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from supertopic.backends.threads import Threads
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.settings import EMSettings
from supertopic.inference.variational.batch import fit_batch
from supertopic.metrics import align_topics
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.priors.regression import RegressionPrior
from tests import naive_pc
from tests.priors import documents, fit


def column(known):
    return known["x"]


def prior_of(n_topics, n_coef=3, **more):
    start = np.zeros((n_coef, n_topics))
    start[0] = np.log(0.1)
    given = {"scale": np.array([3.0, 1.0, 0.5])[:n_coef]}
    return RegressionPrior(start, column, **{**given, **more})


@pytest.fixture(name="data", scope="module")
def _data():
    """Forty documents with nine different x, gammas, and coefficients."""
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(40), rng.integers(0, 3, 40), rng.integers(0, 3, 40) - 1.0])
    gamma = rng.gamma(0.5, size=(40, 4)) + 0.01
    batch = documents(np.ones((40, 4)), known={"x": x})[0]
    return batch, x, gamma, rng.normal(0.0, 0.4, (3, 4))


def log_theta(gamma):
    return digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))


def naive_value(coef, x, gamma):
    """F, a document at a time."""
    value = 0.0
    for own, logs in zip(x, log_theta(gamma), strict=True):
        alpha = np.exp(own @ coef)
        value += gammaln(alpha.sum()) - gammaln(alpha).sum() + alpha @ logs
    return value


def summarise(prior, coef, batch, gamma):
    rows = prior.rows(coef, batch)
    sums = np.zeros_like(rows.alpha)
    np.add.at(sums, rows.which, log_theta(gamma))
    return prior.summarise(coef, batch, sums)


def test_gradient_and_information_are_those_of_differences(data):
    batch, x, gamma, coef = data
    found = summarise(prior_of(4), coef, batch, gamma)
    assert found[0] == pytest.approx(naive_value(coef, x, gamma), rel=1e-9)
    expected = naive_pc.difference_gradient(lambda c: naive_value(c, x, gamma), coef)
    np.testing.assert_allclose(found[1:13].reshape(3, 4), expected, rtol=1e-5, atol=1e-4)
    blocks, alpha = found[13:].reshape(4, 3, 3), np.exp(x @ coef)
    for k in range(4):  # the expected curvature in a topic's own coefficients, but for that of log Gamma(A)
        weight = alpha[:, k] ** 2 * (digamma(alpha[:, k] + 1e-6) - digamma(alpha[:, k] - 1e-6)) / 2e-6
        np.testing.assert_allclose(blocks[k], (x * weight[:, None]).T @ x, rtol=1e-4)


def test_coefficients_have_a_normal_prior(data):
    """Its logarithm has the gradient that a step climbs, and a step without documents ends at its mean."""
    prior, alpha = prior_of(4), data[3]
    expected = naive_pc.difference_gradient(prior.evidence, alpha)
    np.testing.assert_allclose(-(alpha - prior.start) / prior.scale[:, None] ** 2, expected, rtol=1e-4, atol=1e-6)
    moved = np.zeros_like(alpha)
    moved[1] = 0.5
    nothing = np.zeros(1 + 12 + 4 * 9)
    np.testing.assert_allclose(prior.update(prior.start + moved, nothing), prior.start, atol=1e-12)


def test_statistics_add_up(data):
    batch, _, gamma, coef = data
    prior, parts = prior_of(4), (slice(0, 13), slice(13, 40))
    each = [summarise(prior, coef, batch.rows(some), gamma[some]) for some in parts]
    np.testing.assert_allclose(sum(each), summarise(prior, coef, batch, gamma), rtol=1e-9)


@pytest.mark.parametrize("size", [0.1, 3.0, 40.0])
def test_an_m_step_ends_at_the_maximum(size, data):
    batch, x, _, coef = data
    rng = np.random.default_rng(8)
    gamma = np.array([size * np.exp(own @ coef) + rng.multinomial(30, rng.dirichlet(np.exp(own @ coef))) for own in x])
    prior = prior_of(4)

    def again(there):
        return summarise(prior, there, batch, gamma)

    found = prior.start
    for _ in range(3):
        found = prior.maximise(found, again(found), again)

    def loss(flat):
        there = flat.reshape(3, 4)
        return -naive_value(there, x, gamma) - prior.evidence(there)

    best = minimize(loss, prior.start.ravel(), tol=1e-9)
    assert loss(found.ravel()) <= best.fun + 1e-4
    np.testing.assert_allclose(found, best.x.reshape(3, 4), atol=0.02)


def model_of(prior, n_topics=4, **more):
    return Model(n_topics, DirichletTopics(0.05), prior, **more)


def simulated(n_documents=1500, seed=1):
    """Documents of two groups and with a number, and the coefficients that their shares come from."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n_documents), rng.integers(0, 2, n_documents), rng.normal(size=n_documents).round(1)])
    coef = np.array([[-1.0, -1.5, -0.5, -1.2], [1.2, -0.8, 0.0, 0.4], [0.0, 0.5, -0.6, 0.3]])
    batch, topics, shares = documents(np.exp(x @ coef), known={"x": x}, seed=seed)
    return batch, topics, shares, coef


def test_coefficients_come_back():
    batch, topics, _, coef = simulated()
    model = model_of(prior_of(4, scale=np.array([3.0, 1.0, 1.0])))
    with Threads(2) as backend:
        found = fit(fit_batch, EMSettings(max_iter=60, tol=1e-6), model, batch, backend)
    order = align_topics(topics, model.emission.probabilities(found.state.word_topic))[0]
    np.testing.assert_allclose(found.state.alpha[1:, order], coef[1:], atol=0.25)
    np.testing.assert_allclose(found.state.alpha[0, order], coef[0], atol=0.35)


def test_without_slopes_it_is_the_dirichlet_prior_bit_for_bit():
    """Many rows with the same alpha, and one: kernels do the same."""
    batch, *_ = simulated(200)
    start = prior_of(4).start
    ours, plain = prior_of(4, learned=False), DirichletPrior(np.exp(start[0]))
    with Threads(2) as backend:
        fits = [fit(fit_batch, EMSettings(max_iter=8), model_of(one), batch, backend) for one in (ours, plain)]
    np.testing.assert_array_equal(fits[0].state.word_topic, fits[1].state.word_topic)
    np.testing.assert_allclose(fits[0].trace, fits[1].trace, rtol=1e-12)
