"""Shares regressed on columns: against naive versions and statsmodels, and intervals that hold what is true."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from scipy.stats import kstest
from scipy.stats import t as student

from supertopic.inference.after.free_shares import free_shares
from supertopic.inference.after.share_regression import (
    Composed,
    Halves,
    Pooled,
    ShareRegression,
    dependent_columns,
    permuted_p,
)
from tests import naive_prevalence as naive

sm = pytest.importorskip("statsmodels.api")


def problem(n=60, k=3, seed=0, groups=None):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=n), rng.integers(0, 2, n)])
    y = rng.dirichlet(np.ones(k), n) + 0.1 * x[:, 1:2]
    return ShareRegression(x, y, None if groups is None else rng.integers(0, groups, n))


def test_free_shares_are_weighted_least_squares():
    rng = np.random.default_rng(0)
    topics, average = rng.dirichlet(np.full(30, 0.3), 4), rng.dirichlet(np.ones(4))
    counts = rng.poisson(0.5, (20, 30)).astype(np.float32)
    counts[3] = 0
    found = free_shares(topics, average, sp.csr_matrix(counts))
    np.testing.assert_allclose(found, naive.free_shares(topics, average, counts), atol=1e-5)
    np.testing.assert_allclose(np.delete(found.sum(axis=1), 3), 1.0, atol=1e-5)
    assert np.isnan(found[3]).all()


def test_free_shares_of_expected_words_are_the_shares_themselves():
    rng = np.random.default_rng(1)
    topics, theta = rng.dirichlet(np.full(50, 0.1), 5), rng.dirichlet(np.full(5, 0.3), 40)
    found = free_shares(topics, np.full(5, 0.2), sp.csr_matrix(100 * theta @ topics))
    np.testing.assert_allclose(found, theta, atol=1e-5)


def test_topics_that_are_the_same_have_equal_free_shares():
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(50, 0.1), 3)[[0, 1, 2, 2]]
    theta = rng.dirichlet(np.ones(4), 10)
    found = free_shares(topics, np.full(4, 0.25), sp.csr_matrix(theta @ topics))
    np.testing.assert_allclose(found[:, 2], found[:, 3], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("groups", [None, 8])
def test_errors_are_the_naive_ones(groups):
    one, weights = problem(groups=groups), np.array([1.0, 0.0, -2.0])
    coef, covariance = naive.sandwich(one.columns, one.shares @ weights, one.groups)
    np.testing.assert_allclose(one.coef @ weights, coef, atol=1e-12)
    np.testing.assert_allclose(one.covariance(weights), covariance, rtol=1e-9)
    if groups is None:
        theirs = sm.OLS(one.shares @ weights, one.columns).fit(cov_type="HC3")
        np.testing.assert_allclose(np.diag(covariance), theirs.bse**2, rtol=1e-9)


def test_draws_are_pooled_by_rubins_rule():
    draws, weights = [problem(seed=seed) for seed in range(5)], np.array([0.0, 1.0, 0.0])
    parts = [naive.sandwich(one.columns, one.shares @ weights, None) for one in draws]
    coef, covariance = naive.rubin(*zip(*parts, strict=True))
    found = Composed(draws)
    np.testing.assert_allclose(found.coef @ weights, coef)
    np.testing.assert_allclose(found.covariance(weights), covariance)


def test_halves_count_where_they_have_the_topic():
    parts, weights = [problem(seed=seed) for seed in range(2)], np.array([1.0, 1.0, 0.0])
    found = Halves(parts, np.array([[True, True, False], [True, False, False]]))
    np.testing.assert_allclose(found.coef[:, 0], (parts[0].coef[:, 0] + parts[1].coef[:, 0]) / 2)
    np.testing.assert_allclose(found.coef[:, 1], parts[0].coef[:, 1])
    assert np.isnan(found.coef[:, 2]).all()
    expected = parts[0].covariance(np.array([0.5, 1.0, 0.0])) + parts[1].covariance(np.array([0.5, 0.0, 0.0]))
    np.testing.assert_allclose(found.covariance(weights), expected)
    both = Halves(parts, np.ones((2, 3), dtype=bool)).covariance(weights)
    np.testing.assert_allclose(both, sum(one.covariance(weights) for one in parts) / 4)


def test_refits_that_have_the_topic_widen_its_interval():
    own, weights = problem(), np.eye(3)
    others = np.stack([own.coef + 0.1 * (1 + r) for r in range(4)])
    seen = np.array([[True, True, False], [True, False, False], [True, True, False], [True, True, True]])
    rows = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, -1.0]])
    found = Pooled(own, others, seen).at(rows, weights)
    for t, row in enumerate(rows):
        for m in range(3):
            used = seen[:, m] if seen[:, m].sum() > 1 else np.ones(4, dtype=bool)
            variance = row @ own.covariance(weights[:, m]) @ row
            moved = [row @ one[:, m] for one in others[used]]
            expected = naive.with_refits(row @ own.coef[:, m], variance, moved)
            assert found.std_error[t, m] == pytest.approx(np.sqrt(expected))
            part = expected - variance
            freedom = expected**2 / (variance**2 / own.freedom + part**2 / len(moved))
            assert found.freedom[t, m] == pytest.approx(freedom)
    lower, upper = found.ends(0.9)
    np.testing.assert_allclose(upper - lower, 2 * student.ppf(0.95, found.freedom) * found.std_error)


def test_columns_that_others_determine_are_found():
    one = problem().columns
    assert dependent_columns(one) == []
    assert len(dependent_columns(np.column_stack([one, one[:, 0] + one[:, 1]]))) == 1


@pytest.mark.parametrize("groups", [None, 25])
def test_permutations_are_right_where_nothing_goes_with_topics(groups):
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = np.column_stack([np.ones(50), rng.normal(size=50)])
        member = None if groups is None else np.arange(50) // 2
        y = rng.standard_t(3, size=(50, 1)) + (0 if member is None else rng.normal(size=(25, 1))[member])
        found.append(permuted_p(ShareRegression(x, y, member), np.eye(2), np.eye(1), 99, seed)[1, 0])
    assert kstest(found, "uniform").pvalue > 0.01
    x[:, 1] += y[:, 0]
    assert permuted_p(ShareRegression(x, y, member), np.eye(2), np.eye(1), 99, 0)[1, 0] == pytest.approx(0.01)


@pytest.mark.parametrize("groups", [None, 12])
def test_permutations_are_the_naive_ones(groups):
    one = problem(n=40, groups=groups, seed=3)
    rng = np.random.default_rng([7, 29])
    rows = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, -2.0], [1.0, 0.5, 0.5]])
    expected = [naive.permuted_p(one.columns, one.shares[:, 0], one.groups, row, 50, rng) for row in rows]
    np.testing.assert_allclose(permuted_p(one, rows, np.eye(3)[:, :1], 50, 7)[:, 0], expected)


def coverage(n_authors, n_sets=120, n=400, k=4, v=200):
    """How often 90 % intervals hold the truth, with the topics known: shares without a prior, and posterior means."""
    truth, held, leaning = np.array([0.5, -0.5, 0.0, 0.0]), [], []
    rng = np.random.default_rng(99)
    own = rng.normal(size=(200_000, k)) * np.sqrt(1.0 + 0.25 * bool(n_authors))
    means = [
        (np.exp(own + x * truth) / np.exp(own + x * truth).sum(axis=1, keepdims=True)).mean(axis=0) for x in (0, 1)
    ]
    effect = means[1] - means[0]
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        author = rng.integers(0, n_authors, n) if n_authors else np.arange(n)
        x = rng.permutation(np.arange(author.max() + 1) % 2)[author]
        habits = 0.5 * rng.normal(size=(author.max() + 1, k))[author] * bool(n_authors)
        logs = rng.normal(size=(n, k)) + habits + x[:, None] * truth
        theta = softmax(logs, axis=1)
        topics = rng.dirichlet(np.full(v, 0.1), k)
        counts = np.stack([rng.multinomial(30, one @ topics) for one in theta])
        shares = free_shares(topics, theta.mean(axis=0), sp.csr_matrix(counts))
        columns = np.column_stack([np.ones(n), x])
        groups = author if n_authors else None
        ends = Pooled(ShareRegression(columns, shares, groups)).at(np.array([[0.0, 1.0]]), np.eye(k)).ends(0.9)
        held.append((ends[0][0] <= effect) & (effect <= ends[1][0]))
        naive_ends = Pooled(ShareRegression(columns, (30 * shares + 1.0) / 34)).at(np.array([[0.0, 1.0]]), np.eye(k))
        ends = naive_ends.ends(0.9)
        leaning.append((ends[0][0] <= effect) & (effect <= ends[1][0]))
    return np.mean(held), np.mean(leaning)


@pytest.mark.slow
@pytest.mark.parametrize("n_authors", [0, 30])
def test_intervals_hold_the_truth(n_authors):
    held, leaning = coverage(n_authors)
    assert 0.86 < held < 0.94
    if n_authors:
        assert leaning < 0.8, "posterior means as if documents were independent"
