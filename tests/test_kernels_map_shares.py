"""Shares at the mode and their adjoint, held to a dense solve and to differences through the fixed point."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic.backends.cpu.entries import order_entries
from supertopic.kernels import map_shares
from supertopic.kernels.map_shares import add_gradient_by_word, settle_shares, solve_adjoint
from tests import naive_pc

N_WORDS, N_TOPICS = 14, 4


@pytest.fixture(name="data")
def _data():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.8, (6, N_WORDS)).astype(np.float32)
    dense[3] = 0.0  # an empty document
    counts = sp.csr_matrix(dense)
    counts.data[2] = 0.0  # a word that is dropped
    topics = rng.dirichlet(np.full(N_WORDS, 0.3), N_TOPICS).T.astype(np.float32, order="C") + np.float32(1e-4)
    alpha = np.array([[0.5, 0.2, 0.8, 0.4], [2.0, 0.1, 0.3, 1.5]], dtype=np.float32)[[0, 1, 1, 0, 0, 1]]
    return counts, topics / topics.sum(axis=0), alpha, rng.normal(size=(6, N_TOPICS)).astype(np.float32)


def prior_of(alpha):
    """(distinct rows of alpha, the row of each document), of alpha (K,) or (D, K)."""
    rows, which = np.unique(np.atleast_2d(alpha), axis=0, return_inverse=True)
    return rows, which.ravel().astype(np.int32) if alpha.ndim == 2 else np.zeros(1000, dtype=np.int32)


def settle(counts, topics, alpha, passes=5000, tol=1e-8):
    theta = np.full((counts.shape[0], topics.shape[1]), 1.0 / topics.shape[1], dtype=np.float32)
    ratio, value = np.empty(counts.nnz, dtype=np.float32), np.empty(counts.shape[0])
    done, rows = np.empty(counts.shape[0], dtype=np.int32), np.empty(topics.shape, dtype=np.float32)
    csr = (counts.indptr, counts.indices, counts.data)
    given = (*csr, topics, *prior_of(alpha), passes, tol, theta, ratio, value, done, rows)
    map_shares.settle_shares(0, counts.shape[0], *given)
    return theta, ratio, value, done


def adjoint_of(counts, topics, alpha, theta, ratio, g):
    u, shift = np.empty_like(theta), np.empty_like(ratio)
    done, rows = np.empty(len(theta), dtype=np.int32), np.empty(topics.shape, dtype=np.float32)
    csr = (counts.indptr, counts.indices, counts.data)
    solve_adjoint(0, len(theta), *csr, topics, *prior_of(alpha), theta, ratio, g, 100, 1e-6, u, shift, done, rows)
    return u, shift, done


def documents(counts, topics):
    for d in range(counts.shape[0]):
        own = slice(counts.indptr[d], counts.indptr[d + 1])
        words = counts.indices[own]
        yield d, words, counts.data[own].astype(np.float64), topics[words].astype(np.float64)


def test_shares_are_the_fixed_point_and_the_mode(data):
    counts, topics, alpha, _ = data
    theta, _, value, _ = settle(counts, topics, alpha)
    prior = alpha.astype(np.float64)
    for d, _, own, rows in documents(counts, topics):
        expected = naive_pc.fixed_point(own, rows, prior[d])
        np.testing.assert_allclose(theta[d], expected, atol=2e-5)

        def log_posterior(shares, own=own, rows=rows, prior=prior[d]):
            return own @ np.log(rows @ shares) + prior @ np.log(shares)

        assert value[d] == pytest.approx(log_posterior(expected), rel=1e-5)
        rng = np.random.default_rng(d)
        for _ in range(20):  # no other shares are more probable
            other = 0.9 * expected + 0.1 * rng.dirichlet(np.ones(N_TOPICS))
            assert log_posterior(other) <= log_posterior(expected) + 1e-9


def test_leaps_save_half_of_the_passes():
    rng = np.random.default_rng(4)
    topics = rng.dirichlet(np.full(60, 0.3), 12).T.astype(np.float32, order="C") + np.float32(1e-4)
    alpha = np.full(12, 0.1, dtype=np.float32)
    counts = sp.csr_matrix(rng.poisson(0.7, (30, 60)).astype(np.float32))
    theta, _, _, passes = settle(counts, topics, alpha, 1000, 1e-4)
    plain, prior = np.zeros(30), alpha.astype(np.float64)
    for d, _, own, rows in documents(counts, topics):
        shares, change = np.full(12, 1 / 12), np.inf
        while change >= 1e-4:
            before, shares = shares, naive_pc.em_map(shares, own, rows, prior)
            change, plain[d] = np.abs(shares - before).sum(), plain[d] + 1
        assert np.abs(theta[d] - naive_pc.fixed_point(own, rows, prior)).sum() < 2e-3
    assert passes.mean() < 0.6 * plain.mean()


def test_of_many_topics_those_that_move_save_passes(monkeypatch):
    """600 topics; a document has words of two. The shares are those of EM, found in fewer passes."""
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(400, 0.05), 600).T + 1e-5
    topics = (topics / topics.sum(axis=0)).astype(np.float32, order="C")
    shares = np.zeros((8, 600))
    for row in shares:
        row[rng.choice(600, 2, replace=False)] = rng.dirichlet(np.full(2, 2.0))
    words = [rng.multinomial(80, row / row.sum()) for row in shares @ topics.T.astype(np.float64)]
    counts, alpha = sp.csr_matrix(np.array(words, dtype=np.float32)), np.full(600, 0.025, dtype=np.float32)
    theta, _, value, passes = settle(counts, topics, alpha, 1000, 1e-3)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-5)
    for d, _, own, rows in documents(counts, topics):
        assert np.abs(theta[d] - naive_pc.fixed_point(own, rows, alpha.astype(np.float64))).sum() < 1e-2
    monkeypatch.setattr(map_shares, "_MANY_TOPICS", 1000)
    monkeypatch.setattr(map_shares, "settle_shares", getattr(settle_shares, "py_func", settle_shares))
    by_all, _, value_by_all, passes_by_all = settle(counts, topics, alpha, 1000, 1e-3)
    assert np.abs(theta - by_all).sum(axis=1).max() < 2e-2
    np.testing.assert_allclose(value, value_by_all, rtol=1e-4)
    assert passes.mean() < 0.75 * passes_by_all.mean()


def test_adjoint_is_the_dense_solution(data):
    counts, topics, alpha, g = data
    theta, ratio, _, _ = settle(counts, topics, alpha)
    u, shift, _ = adjoint_of(counts, topics, alpha, theta, ratio, g)
    for d, _, own, rows in documents(counts, topics):
        prior = alpha[d].astype(np.float64)
        shares = naive_pc.fixed_point(own, rows, prior)
        expected = naive_pc.dense_adjoint(g[d].astype(np.float64), shares, own, rows, prior)
        size = own.sum() + prior.sum()
        np.testing.assert_allclose(u[d] * size, expected, atol=2e-3 * np.abs(expected).max())
        phi = shares * rows / (rows @ shares)[:, None]
        known = own > 0
        mine = shift[counts.indptr[d] : counts.indptr[d + 1]] * size
        np.testing.assert_allclose(mine[known], (phi @ expected)[known], atol=2e-3 * np.abs(expected).max())


def test_gradient_by_word_is_that_of_differences_through_the_fixed_point(data):
    counts, topics, alpha, g = data
    theta, ratio, _, _ = settle(counts, topics, alpha)
    u, shift, _ = adjoint_of(counts, topics, alpha, theta, ratio, g)
    found, row = np.zeros_like(topics), np.empty(N_TOPICS, dtype=np.float32)
    by_word = order_entries(np.arange(counts.shape[0]), counts)
    for start, stop in ((0, 5), (5, len(by_word.words))):
        add_gradient_by_word(start, stop, *by_word, ratio, shift, theta, u, found, row)
    prior = alpha.astype(np.float64)

    def loss(all_topics):
        return sum(
            g[d] @ naive_pc.fixed_point(own, all_topics[words], prior[d])
            for d, words, own, _ in documents(counts, topics)
        )

    expected = naive_pc.difference_gradient(loss, topics.astype(np.float64), 1e-5)
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())
    analytic = np.zeros(topics.shape)
    for d, words, own, rows in documents(counts, topics):
        shares = naive_pc.fixed_point(own, rows, prior[d])
        dense = naive_pc.dense_adjoint(g[d].astype(np.float64), shares, own, rows, prior[d])
        analytic[words] += naive_pc.topic_gradient(dense, shares, own, rows, prior[d])
    np.testing.assert_allclose(analytic, expected, atol=1e-4 * np.abs(expected).max())


def test_jacobian_is_that_of_the_map(data):
    counts, topics, alpha, _ = data
    _, _, own, rows = next(documents(counts, topics))
    prior, theta = alpha[0].astype(np.float64), np.array([0.1, 0.4, 0.3, 0.2])
    columns = [
        naive_pc.difference_gradient(lambda t, k=k: naive_pc.em_map(t, own, rows, prior)[k], theta)
        for k in range(N_TOPICS)
    ]
    # em_map's own normalisation of theta does not appear: its shares do not depend on theta's scale
    np.testing.assert_allclose(naive_pc.jacobian(theta, own, rows, prior), columns, atol=1e-7)


def test_a_document_without_a_gradient_costs_nothing(data):
    counts, topics, alpha, g = data
    theta, ratio, _, _ = settle(counts, topics, alpha)
    g[1] = 0.0
    u, shift, done = adjoint_of(counts, topics, alpha, theta, ratio, g)
    assert done[1] == 0 and not u[1].any() and not shift[counts.indptr[1] : counts.indptr[2]].any()
    assert done[0] > 0
