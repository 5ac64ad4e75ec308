"""Sparse deviations: derivatives, the Newton step, the two priors, ascent, recovery."""

from dataclasses import replace

import numpy as np
import pytest
from numba import config
from scipy.special import softmax

from supertopic.backends.threads import Threads
from supertopic.emissions.deviations import Deviations, SparsePrior, fit_deviations, penalties, penalty_table
from supertopic.kernels.deviations import FLOOR, fit_classes, newton_step, weigh
from tests import naive_sage

PRIORS = {"jeffreys": SparsePrior("jeffreys"), "exponential": SparsePrior("exponential", gamma=0.5)}


def fit(counts, prior, n_jobs=1, **options):
    with Threads(n_jobs) as backend:
        return fit_deviations(counts, prior, backend, **options)


def random_counts(seed=0, n_classes=3, n_words=60, tokens=400):
    rng = np.random.default_rng(seed)
    background = rng.dirichlet(np.full(n_words, 0.5))
    eta = np.where(rng.random((n_classes, n_words)) < 0.2, rng.normal(0, 2, (n_classes, n_words)), 0)
    counts = np.stack([rng.multinomial(tokens, softmax(np.log(background + 1e-9) + row)) for row in eta])
    counts[:, :2] = 0  # two words that never occur
    return counts.astype(np.float64)


def one_step(counts, background, eta, prior, n_steps=1):
    """The deviations of one class after one step of the kernel, or several."""
    eta, n_words = eta[None].copy(), len(background)
    numbers, scratch = np.empty((2, 1)), np.empty((4, n_words))
    words = np.empty(n_words, dtype=np.int32)
    fit_classes(
        0, 1, counts[None], np.exp(background), prior.rate, penalty_table(), n_steps, eta, *numbers, words, scratch
    )  # fmt: skip
    return eta[0]


@pytest.mark.parametrize("name", PRIORS)
def test_a_step_is_newtons_with_derivatives_by_differences(name):
    """Near the optimum the whole step is taken. One deviation is zero and stays so."""
    prior, rng = PRIORS[name], np.random.default_rng(1)
    counts = rng.integers(5, 60, 8).astype(np.float64)
    background = np.log(rng.dirichlet(np.full(8, 5.0)))
    eta = np.log(counts / counts.sum()) - background + 0.3
    eta[3] = 0.0
    free = np.flatnonzero(eta)
    weight = np.array([weigh(value, prior.rate, penalty_table())[0] for value in eta[free]])

    def value(part):
        return naive_sage.penalised(counts, background, at(part), np.insert(weight, 3, 0.0))

    def at(part):
        return np.insert(part, 3, 0.0)

    gradient, hessian = naive_sage.differences(value, eta[free])
    expected = eta[free] - np.linalg.solve(hessian, gradient)
    np.testing.assert_allclose(one_step(counts, background, eta, prior)[free], expected, rtol=1e-4, atol=1e-5)
    assert one_step(counts, background, eta, prior)[3] == 0.0


@pytest.mark.parametrize("rest", [0.0, 0.4])
def test_newton_step_solves_the_dense_system(rest):
    rng = np.random.default_rng(2)
    beta, total = rng.dirichlet(np.ones(30)) * (1 - rest), 250.0
    weight, gradient = rng.random(30) + 0.01, rng.normal(size=30)
    step = np.empty(30)
    slope = newton_step(30, total, rest, beta, weight, gradient, step)
    hessian = total * np.outer(beta, beta) - np.diag(total * beta + weight)
    np.testing.assert_allclose(step, -np.linalg.solve(hessian, gradient), rtol=1e-9)
    np.testing.assert_allclose(slope, gradient @ step)


@pytest.mark.skipif(config.DISABLE_JIT, reason="Python's exp raises an error where the compiled one is infinite")
def test_a_step_from_afar_is_shortened_until_it_raises_the_objective():
    """The whole step of the paper overflows here: one word has all counts, and its deviation starts far too low."""
    counts, background, eta = np.array([900.0, 0.0, 0.0]), np.log([1e-6, 0.5, 0.499999]), np.array([-2.0, 1.0, 1.0])
    weight = eta**-2.0

    def value(at):
        return naive_sage.penalised(counts, background, at, weight)

    gradient, hessian = naive_sage.differences(value, eta)
    assert value(eta - np.linalg.solve(hessian, gradient)) < value(eta)
    assert value(one_step(counts, background, eta, PRIORS["jeffreys"])) > value(eta)


@pytest.mark.parametrize("eta", [0.2, -1.0, 3.0, -7.5])
def test_jeffreys_weight_is_one_over_the_square(eta):
    weight, penalty = weigh(eta, 0.0, penalty_table())
    np.testing.assert_allclose(weight, eta**-2.0, rtol=1e-6)
    np.testing.assert_allclose(penalty - weigh(1.0, 0.0, penalty_table())[1], np.log(abs(eta)), atol=1e-6)


@pytest.mark.parametrize("gamma", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("eta", [0.003, -0.4, 2.0, -9.0])
def test_exponential_weight_is_that_of_the_best_gamma_distribution(eta, gamma):
    weight, penalty = weigh(eta, gamma, penalty_table())
    expected, bound = naive_sage.best_variance(eta, gamma)
    np.testing.assert_allclose(weight, expected, rtol=1e-4)
    fall = weigh(1.0, gamma, penalty_table())[1] - penalty
    np.testing.assert_allclose(fall, bound - naive_sage.best_variance(1.0, gamma)[1], atol=1e-6)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1e4])
@pytest.mark.parametrize("eta", [0.0007, 0.3, -2.0])
def test_weight_times_deviation_is_the_slope_of_the_penalty(eta, rate):
    step = 1e-6 * abs(eta)
    rise = weigh(eta + step, rate, penalty_table())[1] - weigh(eta - step, rate, penalty_table())[1]
    np.testing.assert_allclose(weigh(eta, rate, penalty_table())[0] * eta, rise / (2 * step), rtol=1e-4)


@pytest.mark.parametrize("background", ["fitted", "corpus"])
@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("seed", range(3))
def test_the_penalised_objective_never_falls(name, background, seed):
    prior = SparsePrior(name, gamma=0.5, background=background)
    counts = random_counts(seed)
    found = fit(counts, prior, max_iter=60, tol=0.0)
    assert len(found.trace) > 20
    assert np.diff(found.trace).min() > -1e-9 * abs(found.trace[-1])
    value = sum(naive_sage.likelihood(c, found.background, e) for c, e in zip(counts, found.eta, strict=True))
    by_word = counts.sum(axis=0)
    value += np.where(by_word > 0, by_word, prior.unseen) @ found.background
    np.testing.assert_allclose(found.trace[-1], value - penalties(found.eta, prior.rate), rtol=1e-10)


@pytest.mark.parametrize("name", PRIORS)
def test_what_is_left_is_stationary_and_small_deviations_are_exactly_zero(name):
    counts, prior = random_counts(3), replace(PRIORS[name], unseen=100.0)
    found = fit(counts, prior, max_iter=5000, tol=-np.inf)
    beta = softmax(found.background + found.eta, axis=1)
    totals = counts.sum(axis=1, keepdims=True)
    free = found.eta != 0
    weight = np.array([weigh(value, prior.rate, penalty_table())[0] for value in found.eta[free]])
    slope = (counts - totals * beta)[free]
    np.testing.assert_allclose(slope, weight * found.eta[free], atol=2e-2)
    if name == "jeffreys":
        np.testing.assert_allclose(slope * found.eta[free], 1.0, atol=2e-2)
    assert 0.3 < np.mean(~free) < 1 and np.abs(found.eta[free]).min() > FLOOR
    unseen = np.where(counts.sum(axis=0) > 0, 0.0, prior.unseen)  # they count in the background, in no class
    expected = (totals * beta).sum(axis=0) + unseen.sum() * np.exp(found.background)
    np.testing.assert_allclose(expected, counts.sum(axis=0) + unseen, rtol=2e-2)
    np.testing.assert_allclose(np.exp(found.background).sum(), 1)


def test_many_steps_are_one_step_many_times():
    """Deviations become zero during the fit, and the total of the words that do not deviate has to be kept right."""
    counts, background = random_counts(8)[0], np.log(np.full(60, 1 / 60))
    once = many = np.log((counts + 0.01) / (counts.sum() / 60))
    many = one_step(counts, background, many, PRIORS["jeffreys"], n_steps=12)
    for _ in range(12):
        once = one_step(counts, background, once, PRIORS["jeffreys"])
    assert 10 < np.count_nonzero(many == 0) < 60
    np.testing.assert_allclose(many, once, rtol=1e-9)


def test_zeros_of_the_start_stay():
    counts = random_counts(4)
    start = Deviations(np.log(np.full(60, 1 / 60)), np.ones((3, 60)))
    start.eta[:, ::2] = 0.0
    found = fit(counts, PRIORS["jeffreys"], start=start, max_iter=5)
    assert np.all(found.eta[:, ::2] == 0.0) and np.all(start.eta[:, 1::2] == 1.0)


def test_simulated_deviations_are_recovered():
    """Words are rare except where they deviate. (Of frequent words, Jeffreys' prior keeps all beyond two errors.)"""
    rng = np.random.default_rng(5)
    n_classes, n_words = 20, 1500
    true = np.where(rng.random((n_classes, n_words)) < 0.08, rng.uniform(4, 5, (n_classes, n_words)), 0.0)
    counts = rng.poisson(0.1 * np.exp(true)).astype(np.float64)
    found = fit(counts, PRIORS["jeffreys"], tol=1e-6, max_iter=500).eta != 0
    assert (found & (true != 0)).sum() / found.sum() > 0.9
    assert (found & (true != 0)).sum() / (true != 0).sum() > 0.9


def test_threads_change_nothing():
    counts = random_counts(6, n_classes=7)
    one, several = fit(counts, PRIORS["jeffreys"]), fit(counts, PRIORS["jeffreys"], n_jobs=3)
    np.testing.assert_array_equal(one.eta, several.eta)
    np.testing.assert_array_equal(one.background, several.background)
    assert one.trace == several.trace


def test_a_class_without_words_is_the_background():
    counts = random_counts(7)
    counts[1] = 0
    found = fit(counts, PRIORS["jeffreys"])
    assert np.all(found.eta[1] == 0) and np.all(np.isfinite(found.eta)) and np.all(np.isfinite(found.background))


@pytest.mark.parametrize(
    "bad, message",
    [
        ({"name": "laplace"}, "prior: got 'laplace', expected 'jeffreys' or 'exponential'"),
        ({"gamma": 0}, "gamma: got 0, expected a number > 0"),
        ({"gamma": np.nan}, "gamma: got nan, expected a number > 0"),
        ({"unseen": -1.0}, "unseen: got -1.0, expected a number > 0"),
        ({"background": "flat"}, "background: got 'flat', expected 'fitted' or 'corpus'"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(bad, message):
    with pytest.raises(ValueError, match=message):
        SparsePrior(**bad)
