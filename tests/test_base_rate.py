"""No prior shrinks the base rate: topics that say nothing predict the mean of y, or the shares of the classes."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import kstest

from supertopic import SVI, SLDAClassifier, SLDARegressor
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.inference.gibbs.augmentation import SweepDraws
from supertopic.inference.gibbs.coefficients import draw_center
from tests.cases import cases

RNG = np.random.default_rng(3)
D, K = 400, 4
X = simulate(D, K, 60, 40, seed=2).counts
Y = {
    "gaussian": 50 + RNG.normal(size=D),
    "poisson": RNG.poisson(20.0, D),
    "negative_binomial": RNG.negative_binomial(3, 3 / (3 + 20.0), D),
    "gamma": 30 * RNG.gamma(5.0, 0.2, D),
    "inverse_gaussian": 1 / RNG.gamma(20.0, 0.001, D),
    "weibull": 30 * RNG.weibull(2.0, D),
    "logit": (RNG.random(D) < 0.1).astype(int),
    "probit": (RNG.random(D) < 0.1).astype(int),
    "softmax": RNG.choice(4, D, p=[0.02, 0.1, 0.2, 0.68]),
    "ordinal": RNG.choice(4, D, p=[0.02, 0.1, 0.2, 0.68]),
}
SHORT = [*((name, "normal") for name in Y), ("gaussian", "laplace"), ("softmax", "laplace")]
CLASSES = ("logit", "probit", "softmax", "ordinal")


def base_rates(name, **options):
    """(predicted mean, true mean) of y, or shares of the classes."""
    y = Y[name]
    if name in CLASSES:
        model = SLDAClassifier(K, response=name, max_iter=15, cross_fit=2, **options).fit(X, y)
        return model.predict_proba(X), np.bincount(y) / D
    model = SLDARegressor(K, response=name, max_iter=15, cross_fit=2, **options).fit(X, y)
    return model.predict(X)[:, None] / y.mean(), np.ones(1)


@pytest.mark.parametrize(("name", "prior"), cases(product(Y, ["normal", "laplace"]), SHORT))
def test_a_tight_prior_predicts_the_mean(name, prior):
    found, truth = base_rates(name, coef_prior=prior, coef_scale=0.01)
    np.testing.assert_allclose(found.mean(axis=0), truth, atol=0.01)
    np.testing.assert_allclose(found, np.broadcast_to(truth, found.shape), atol=0.03)


@pytest.mark.parametrize("name", ["poisson", "logit", "negative_binomial", "softmax"])
def test_without_a_refit_and_in_mini_batches_too(name):
    for options in ({"refit": False}, {"inference": SVI(batch_size=100), "refit": False}):
        found, truth = base_rates(name, coef_prior="normal", coef_scale=0.01, **options)
        np.testing.assert_allclose(found.mean(axis=0), truth, atol=0.05)


@pytest.mark.parametrize(("name", "prior"), cases(product(Y, ["normal", "laplace"]), SHORT))
def test_a_sampler_does_not_shrink_it_either(name, prior):
    found, truth = base_rates(name, coef_prior=prior, coef_scale=0.02, inference="gibbs", refit=False)
    np.testing.assert_allclose(found.mean(axis=0), truth, atol=0.05)


@pytest.mark.parametrize("n_level", [0, 3])
@pytest.mark.parametrize("name", ["flat", "normal", "laplace"])
def test_the_solution_is_a_mode(name, n_level):
    """No small step from it raises the posterior, which the level has a part in."""
    prior, rng = CoefPrior(name, 0.5, n_level), np.random.default_rng(0)
    root = rng.normal(size=(5, 8))
    gram, cross = root @ root.T, 5 * rng.normal(size=5)
    best = prior.solve(gram, cross, np.zeros(5))

    def value(coef):
        return cross @ coef - 0.5 * coef @ gram @ coef + prior.log_density(coef[None])

    steps = np.concatenate([np.eye(5), -np.eye(5), rng.normal(size=(40, 5)), [[1, 1, 1, 0, 0], [-1, -1, -1, 0, 0]]])
    assert all(value(best + 1e-3 * step) < value(best) + 1e-6 for step in steps)
    if name == "normal":
        numeric = [(value(best + 1e-5 * e) - value(best - 1e-5 * e)) / 2e-5 for e in np.eye(5)]
        np.testing.assert_allclose(numeric, 0, atol=1e-3)
        gradient = [(prior.log_density((best + h)[None]) - prior.log_density((best - h)[None])) / 2e-5
                    for h in 1e-5 * np.eye(5)]  # fmt: skip
        np.testing.assert_allclose(prior.gradient(best[None])[0], gradient, rtol=1e-5, atol=1e-6)


def test_a_level_is_drawn_from_its_law():
    values, scale = np.array([0.3, -1.0, 2.0, 0.5]), 0.7
    draws = [draw_center(values, scale, SweepDraws(1, sweep)) for sweep in range(4000)]
    grid = np.linspace(-8, 9, 20001)
    density = np.exp(-np.abs(values[:, None] - grid).sum(axis=0) / scale)
    running = np.cumsum(density) / density.sum()
    assert kstest(draws, lambda x: np.interp(x, grid, running)).pvalue > 0.01
