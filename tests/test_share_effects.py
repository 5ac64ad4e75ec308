"""Effects of moving topic shares: against moving them one document at a time, and intervals that hold the truth."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from supertopic.inference.after import effects as module
from supertopic.inference.after.effects import (
    Documents,
    Regression,
    column_effects,
    effects_of_draws,
    share_effects,
)
from tests import naive_effects

MEANS = {
    "identity": (lambda s: 3.0 + 2.0 * s, 1, False),
    "log": (np.exp, 1, True),
    "logit": (lambda s: 100.0 * np.hstack([1.0 - expit(s), expit(s)]), 1, False),
    "softmax": (lambda s: 100.0 * softmax(s, axis=1), 3, False),
}


def documents(n=40, k=4, p=2, seed=0):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(k, 0.4), n)
    others = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)])[:, :p]
    return Documents.of(shares, others.astype(float))


def regression(link, found, seed=1):
    mean, n_columns, ratio = MEANS[link]
    rng = np.random.default_rng(seed)
    n = found.n_topics + found.others.shape[1]
    roots = rng.normal(size=(n_columns, n, n)) / 5
    return Regression(rng.normal(size=(n_columns, n)), mean, roots @ roots.transpose(0, 2, 1), ratio)


@pytest.mark.parametrize("link", MEANS)
def test_effects_are_those_of_moving_one_document_after_the_other(link):
    given = documents()
    given.shares[0], given.shares[1] = [1, 0, 0, 0], [0, 0, 1, 0]  # nothing is left that could give way in proportion
    given = Documents.of(given.shares, given.others)
    how = regression(link, given)
    for found, first in ((share_effects(given, how), 0), (column_effects(given, how), 4)):
        for m in range(len(found.low)):
            args = (given.shares, given.others, how.coef, how.mean)
            ends = (found.low[m], found.high[m])
            wanted = naive_effects.effect(*args, first + m, ends, how.ratio)
            error = naive_effects.effect_error(*args, how.covariance, first + m, ends, how.ratio)
            np.testing.assert_allclose(found.effect[m], wanted, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(found.std_error[m], error, rtol=1e-4, atol=1e-7)


def test_ends_are_quantiles_of_the_shares_and_both_values_of_a_flag():
    given = documents(200)
    found = share_effects(given, regression("identity", given), low=0.25, high=0.75)
    np.testing.assert_allclose(found.low, np.quantile(given.shares, 0.25, axis=0))
    np.testing.assert_allclose(found.high, np.quantile(given.shares, 0.75, axis=0))
    columns = column_effects(given, regression("identity", given))
    assert (columns.low[1], columns.high[1]) == (0.0, 1.0)


def test_intervals_of_ratios_are_those_of_their_logarithms():
    given = documents()
    found = share_effects(given, regression("log", given), probability=0.95)
    reach = 1.959964 * found.std_error / found.effect
    np.testing.assert_allclose(np.log(found.upper / found.effect), reach, rtol=1e-5)
    np.testing.assert_allclose(np.log(found.effect / found.lower), reach, rtol=1e-5)


def test_without_a_covariance_no_error_is_known():
    given = documents()
    how = regression("identity", given)
    found = share_effects(given, Regression(how.coef, how.mean))
    assert np.isnan(found.std_error).all() and np.isnan(found.lower).all()
    np.testing.assert_array_equal(found.effect, share_effects(given, how).effect)


def test_one_topic_moves_nothing():
    given = Documents.of(np.ones((5, 1)))
    assert share_effects(given, Regression(np.array([[2.0]]), lambda s: s)).effect == pytest.approx(0.0)


def test_chunks_and_parts_of_the_documents_change_little(monkeypatch):
    given = documents(3000)
    how = regression("softmax", given)
    whole = share_effects(given, how)
    monkeypatch.setattr(module, "_CHUNK", 500)
    monkeypatch.setattr(module, "GRADIENT_DOCUMENTS", 1000)
    parts = share_effects(given, how)
    np.testing.assert_allclose(parts.effect, whole.effect, rtol=1e-9)
    np.testing.assert_allclose(parts.std_error, whole.std_error, rtol=0.05)
    assert not np.array_equal(parts.std_error, whole.std_error)


def test_draws_have_the_spread_of_the_coefficients():
    given = documents(300, p=0)
    how = regression("identity", given)
    rng = np.random.default_rng(5)
    coefs = rng.multivariate_normal(how.coef[0], how.covariance[0], 4000)[:, None]
    found = effects_of_draws(given, [Regression(coef, how.mean) for coef in coefs])
    wanted = share_effects(given, how)
    np.testing.assert_allclose(found.std_error, wanted.std_error, rtol=0.06)
    np.testing.assert_allclose(found.effect, wanted.effect, atol=0.1 * wanted.std_error.max())
    np.testing.assert_allclose(found.lower, wanted.lower, atol=0.1 * wanted.std_error.max())


def fitted(link, design, coef, rng):
    """Maximum likelihood (a few Newton steps) on simulated y, with its covariance."""
    n_columns = len(coef)
    mean = MEANS[link][0]
    score = design @ coef.T
    if link == "identity":
        y = score[:, 0] + rng.normal(size=len(score))
        inverse = np.linalg.inv(design.T @ design)
        found = inverse @ design.T @ y
        variance = ((y - design @ found) ** 2).sum() / (len(y) - len(found))
        return Regression(found[None], mean, variance * inverse[None])
    if link == "log":
        y = rng.poisson(np.exp(score[:, 0]))
        weights, fit = (lambda m: m), np.exp
    else:
        y = (rng.uniform(size=len(score)) < expit(score[:, 0])).astype(float)
        weights, fit = (lambda m: m * (1 - m)), expit
    found = np.zeros(design.shape[1]) + (np.log(y.mean()) if link == "log" else 0.0)
    for _ in range(25):
        m = fit(design @ found)
        information = design.T @ (weights(m)[:, None] * design)
        found = found + np.linalg.solve(information, design.T @ (y - m))
    assert n_columns == 1
    return Regression(found[None], mean, np.linalg.inv(information)[None], MEANS[link][2])


@pytest.mark.parametrize("link", ["identity", "log", "logit"])
def test_intervals_hold_what_they_promise(link):
    """Over data sets of 600 documents, 90 % intervals hold the effects of the true coefficients."""
    rng = np.random.default_rng(11)
    held, n_sets = [], 120
    for _ in range(n_sets):
        given = Documents.of(rng.dirichlet(np.full(5, 0.5), 600), rng.normal(size=(600, 1)))
        coef = rng.normal(size=(1, 6))
        how = fitted(link, np.hstack([given.shares, given.others]), coef, rng)
        found, truth = share_effects(given, how), share_effects(given, Regression(coef, how.mean, ratio=how.ratio))
        held.append((found.lower <= truth.effect) & (truth.effect <= found.upper))
    assert 0.86 <= np.mean(held) <= 0.94
