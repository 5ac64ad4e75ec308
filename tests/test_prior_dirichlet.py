"""alpha: Newton in linear time and Minka's fixed point against a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from supertopic.priors.dirichlet import DirichletPrior, minka_fixed_point, newton_asymmetric, newton_symmetric

RNG = np.random.default_rng(2)


def expected_log(alpha, mean_log_theta):
    return gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * mean_log_theta).sum()


@pytest.mark.parametrize("truth", [[0.1, 0.1, 0.1], [2.0, 0.05, 0.5, 1.0], [30.0, 10.0], [0.01] * 20])
@pytest.mark.parametrize("start", [1e-3, 0.1, 20.0])
def test_newton_finds_the_maximum_from_anywhere(truth, start):
    truth = np.asarray(truth)
    mean_log_theta = digamma(truth) - digamma(truth.sum())  # so that the maximum is at the truth
    found = newton_asymmetric(np.full(len(truth), start), mean_log_theta)
    np.testing.assert_allclose(found, truth, rtol=1e-5)


def test_newton_finds_the_maximum_of_real_statistics():
    mean_log_theta = np.log(RNG.dirichlet([0.4, 0.2, 0.9, 0.1], 50) + 1e-12).mean(axis=0)
    found = newton_asymmetric(np.full(4, 0.1), mean_log_theta)
    best = minimize(lambda x: -expected_log(np.exp(x), mean_log_theta), np.zeros(4), tol=1e-10)
    assert expected_log(found, mean_log_theta) >= -best.fun - 1e-8
    alike = newton_symmetric(np.full(4, 0.1), mean_log_theta)
    best = minimize(lambda x: -expected_log(np.full(4, np.exp(x[0])), mean_log_theta), np.zeros(1), tol=1e-10)
    assert np.ptp(alike) == 0
    assert expected_log(alike, mean_log_theta) >= -best.fun - 1e-8


def log_dirichlet_multinomial(alpha, counts):
    lengths = counts.sum(axis=1)
    terms = gammaln(alpha.sum()) - gammaln(alpha.sum() + lengths)
    return (terms + (gammaln(counts + alpha) - gammaln(alpha)).sum(axis=1)).sum()


@pytest.mark.parametrize("symmetric", [False, True])
def test_minka_climbs_to_the_maximum(symmetric):
    alpha = np.array([0.8, 0.1, 0.3])
    counts = np.stack(
        [RNG.multinomial(n, theta) for n, theta in zip(RNG.poisson(40, 400), RNG.dirichlet(alpha, 400), strict=True)]
    )
    histogram = np.stack([np.bincount(counts[:, k], minlength=counts.max() + 1) for k in range(3)])
    lengths = counts.sum(axis=1)
    found = np.full(3, 1.0)
    values = [log_dirichlet_multinomial(found, counts)]
    for _ in range(30):
        found = minka_fixed_point(found, histogram, lengths, symmetric=symmetric, max_steps=5)
        values.append(log_dirichlet_multinomial(found, counts))
    assert np.all(np.diff(values) > -1e-8)
    size = 1 if symmetric else 3
    best = minimize(
        lambda x: -log_dirichlet_multinomial(np.exp(np.broadcast_to(x, 3)), counts), np.zeros(size), tol=1e-10
    )
    assert values[-1] == pytest.approx(-best.fun, abs=1e-2)


def test_mini_batches_move_only_part_of_the_way():
    truth = np.array([0.5, 0.2])
    mean_log_theta = digamma(truth) - digamma(truth.sum())
    prior = DirichletPrior.parse("auto", 2)
    stats = np.append(7.0 * mean_log_theta, 7.0)  # of seven documents
    moved = prior.update(prior.start, stats, rate=0.1)
    whole = prior.update(prior.start, stats)
    np.testing.assert_allclose(whole, truth, rtol=1e-6)
    assert np.all(np.abs(moved - prior.start) < 0.5 * np.abs(whole - prior.start))
    assert DirichletPrior.parse(0.3, 2).update(truth, stats) is truth


def test_a_damped_step_is_a_part_of_newtons():
    truth, start = np.array([0.5, 0.2]), np.array([0.4, 0.3])
    mean_log_theta = digamma(truth) - digamma(truth.sum())
    whole, part = (newton_asymmetric(start, mean_log_theta, 1, rate) for rate in (1.0, 0.1))
    np.testing.assert_allclose(part - start, 0.1 * (whole - start))
    start = np.full(2, 0.4)
    whole, part = (newton_symmetric(start, mean_log_theta, 1, rate) for rate in (1.0, 0.1))
    np.testing.assert_allclose(np.log(part / start), 0.1 * np.log(whole / start))
