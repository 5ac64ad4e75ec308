"""Slopes and curvatures of the regression, by finite differences of the value; and word coefficients."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.feature_extraction.text import TfidfTransformer

from supertopic.coefficients import CoefPrior
from supertopic.inference.after import likelihood_words as words_module
from supertopic.inference.after.likelihood_words import WordProblem, choose_words, fit_words
from supertopic.inference.after.words import hold_out, word_features, word_scale
from supertopic.inference.design import Design
from supertopic.inference.regression import Labelled, regress
from supertopic.kernels.lasso import descend_words
from supertopic.responses.base import registry
from supertopic.responses.several import Several
from tests.naive_responses import EXAMPLES, build
from tests.naive_supervised import lasso

RNG = np.random.default_rng(8)
D, K, P = 40, 3, 2
RESPONSES = {
    "softmax": (registry()["softmax"](5), RNG.integers(0, 5, D).astype(float)),
    "quadratic and product": (
        Several([registry()["logit"](2), registry()["poisson"](), registry()["softmax"](3)]),
        np.column_stack([RNG.integers(0, 2, D), RNG.poisson(2.0, D), RNG.integers(0, 3, D)]).astype(float),
    ),
}


def design(lengths):
    return Design(RNG.dirichlet(np.ones(K), D), lengths, RNG.normal(size=(D, P)))


def test_word_features_are_tf_idf_rows_of_length_one_and_of_an_empty_document_zero():
    counts = sp.csr_matrix(RNG.poisson(0.7, (30, 9)) * np.repeat([1, 0, 1, 0], [10, 4, 14, 2])[:, None])
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    np.testing.assert_allclose(word_features(counts, word_scale(counts)).toarray(), expected.toarray(), rtol=1e-12)


@pytest.mark.parametrize("tokens", [4.0, np.inf])
@pytest.mark.parametrize("name", RESPONSES)
def test_gradient_is_the_slope_of_the_value(name, tokens):
    response, y = RESPONSES[name]
    documents, weight = design(np.full(D, tokens)), RNG.gamma(2.0, size=D)
    coef, prior = RNG.normal(size=(response.n_columns, K + P)), CoefPrior("normal", 0.7)

    def value(flat):
        score, moment = documents.moments(flat.reshape(coef.shape), response.is_product)
        return weight @ response.log_density(y, score, moment, np.zeros(0)) + prior.log_density(flat)

    score, moment = documents.moments(coef, response.is_product)
    slope, curvature = (weight[:, None] * said for said in response.slope_and_curvature(y, score, moment, np.zeros(0)))
    given = (coef, response.is_product, moment, slope, curvature)
    found = documents.gradient(*given) + prior.gradient(coef)
    np.testing.assert_allclose(found.ravel(), approx_fprime(coef.ravel(), value, 1e-6), rtol=1e-4, atol=1e-3)
    gram, cross = documents.normal_equations(*given)  # consistent with the slopes
    np.testing.assert_allclose(cross - np.einsum("ckj,cj->ck", gram, coef), documents.gradient(*given), atol=1e-8)


def test_many_classes_climb_to_where_they_solve_by_turns():
    """Five classes are updated jointly; doubling the weight of a quarter equals repeating that quarter."""
    response, y = RESPONSES["softmax"]
    documents, prior = design(np.full(D, np.inf)), CoefPrior("normal", 1.0)
    start = np.zeros((5, K + P))
    coef, _, _ = regress(
        response, prior, Labelled(documents, y, np.ones(D)).total, start, np.zeros(0), max_iter=500, tol=1e-14
    )

    def value(flat):
        score, moment = documents.moments(flat.reshape(coef.shape), response.is_product)
        return response.log_density(y, score, moment, np.zeros(0)).sum() + prior.log_density(flat)

    assert np.abs(approx_fprime(coef.ravel(), value, 1e-6)).max() < 1e-2
    heavy = np.where(np.arange(D) < 10, 2.0, 1.0)
    twice = np.concatenate([np.arange(D), np.arange(10)])
    again = Design(documents.mean[twice], np.full(D + 10, np.inf), documents.covariates[twice])
    how = {"max_iter": 500, "tol": 1e-14}
    one = regress(response, prior, Labelled(documents, y, heavy).total, start, np.zeros(0), **how)[0]
    other = regress(response, prior, Labelled(again, y[twice], np.ones(D + 10)).total, start, np.zeros(0), **how)[0]
    np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("key", ["logit", "probit", "negative_binomial", "ordinal", "softmax"])
def test_information_is_the_curvature_of_the_density(key):
    """At an exactly known score the information is -d²/ds² log p(y | s), column by column."""
    response, example = build(key), EXAMPLES[key]
    y, dispersion = np.array(example.y, dtype=float), np.array(example.dispersion)
    score = RNG.normal(size=(len(y), response.n_columns))

    def density(s):
        moment = np.where(response.is_product, np.exp(s), s**2)
        return response.log_density(y, s, moment, dispersion)

    found = response.information(y, score, np.where(response.is_product, np.exp(score), score**2), dispersion)
    for c in range(response.n_columns):
        step = np.zeros_like(score)
        step[:, c] = 1e-4
        curve = -(density(score + step) - 2 * density(score) + density(score - step)) / 1e-8
        np.testing.assert_allclose(found[:, c], curve, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("key", ["gaussian", "logit", "poisson", "softmax"])
def test_the_words_fit_is_where_its_slopes_vanish(key):
    """At the optimum d/dw of the log-likelihood is penalty·strength·(w + sparsity·sign w), or at most the sparsity's
    part where w is zero; the slope of the intercept is zero.
    """
    response, n = build(key), 200
    counts = sp.random(n, 12, density=0.4, random_state=1, format="csr", data_rvs=lambda n: RNG.integers(1, 4, n))
    features = word_features(counts, word_scale(counts))
    np.testing.assert_allclose(np.sqrt(features.multiply(features).sum(axis=1)).A1[np.diff(counts.indptr) > 0], 1.0)
    line = features @ (2 * RNG.normal(size=12))
    y = {
        "gaussian": line + 0.1 * RNG.normal(size=n),
        "logit": (RNG.random(n) < 1 / (1 + np.exp(-3 * line))).astype(float),
        "poisson": RNG.poisson(np.exp(1 + line)).astype(float),
        "softmax": np.digitize(line + 0.1 * RNG.normal(size=n), [-0.5, 0.5]).astype(float),
    }[key]
    weight = RNG.random(n)
    topics, others = 0.3 * RNG.normal(size=(2, n, response.n_columns))
    labels = WordProblem(response, y, weight, response.start(response.describe(y, weight)), topics, others, features)
    trust, penalty = 0.5, 0.5
    words = fit_words(labels, trust, penalty, tol=1e-12)
    mean = topics.mean(axis=0)
    base = mean + 0.5 * (topics - mean) + others
    np.testing.assert_allclose(words.score(labels), base + words.intercept + features @ words.coef.T)

    def value(intercept, coef):
        score = base + intercept + features @ coef.T
        moment = np.where(response.is_product, np.exp(score), score**2)
        return weight @ response.log_density(y, score, moment, labels.dispersion)

    shape = words.coef.shape
    slope = approx_fprime(words.coef.ravel(), lambda w: value(words.intercept, w.reshape(shape)), 1e-6).reshape(shape)
    moment = np.where(response.is_product, np.exp(base), base**2)
    ridge = penalty * np.average(response.information(y, base, moment, labels.dispersion), axis=0, weights=weight)
    pull = ridge[:, None] * (words.coef + words_module._SPARSITY * np.sign(words.coef))
    off = np.where(words.coef != 0, np.abs(slope - pull), np.abs(slope) - words_module._SPARSITY * ridge[:, None])
    assert off.max() < 0.02 * np.abs(slope).max()
    free = approx_fprime(words.intercept, lambda i: value(i, words.coef), 1e-6)
    assert np.abs(free).max() < 0.02 * np.abs(slope).max()


@pytest.mark.parametrize("seed", range(3))
def test_words_climb_a_quadratic_to_its_top(seed):
    """Beside the intercept, a column of ones without a penalty, they are a lasso with a ridge."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.4)
    x[:, 5] = 0.0
    slope, weight, start = rng.normal(size=30), rng.random(30) * (rng.random(30) < 0.8), rng.normal(size=8)
    ridge, sparse = 0.3, 2.0
    columns = np.column_stack([np.ones(30), x])
    curvature = columns.T @ (weight[:, None] * columns)
    cross = columns.T @ slope + curvature @ np.append(0.0, start)
    top = lasso(curvature + np.diag([0.0] + 8 * [ridge]), cross, np.array([0.0] + 8 * [sparse]), np.zeros(9))
    by_word, coef, left, intercept = sp.csc_matrix(x), start.copy(), slope.copy(), 0.0
    x_by_word = (by_word.indptr, by_word.indices, by_word.data)
    for _ in range(300):
        before, there = left.copy(), coef.copy()
        up = descend_words(*x_by_word, weight, ridge, sparse, 3, 0.0, coef, left, np.empty(8))
        np.testing.assert_allclose(left, before - weight * (up + x @ (coef - there)), atol=1e-12)
        intercept += up
    np.testing.assert_allclose(np.append(intercept, coef), top, atol=1e-8)
    assert 2 <= (coef == 0).sum() < 8


def test_a_turn_that_leads_down_is_shortened():
    """Newton's step on a Poisson response, from where means are far too small, would overshoot by far."""
    n, response = 60, build("poisson")
    counts = sp.random(n, 10, density=0.4, random_state=2, format="csr", data_rvs=lambda n: RNG.integers(1, 4, n))
    features, y = word_features(counts, word_scale(counts)), RNG.poisson(50.0, n).astype(float)
    far = np.full((n, 1), -4.0)
    labels = WordProblem(response, y, np.ones(n), np.zeros(0), far, 0 * far, features)
    words = fit_words(labels, 1.0, 1e-3, tol=1e-10)
    assert np.average(np.exp(words.score(labels)[:, 0])) == pytest.approx(y.mean(), rel=1e-4)


def test_topics_that_promise_too_much_are_trusted_less():
    """Topics either predict only the labels used in the pilot fit, or predict all labels."""
    response, n = build("gaussian"), 400
    counts = sp.random(n, 30, density=0.3, random_state=1, format="csr", data_rvs=lambda n: RNG.integers(1, 4, n))
    features = word_features(counts, word_scale(counts))
    held_out = hold_out(np.zeros(n), 0)
    assert 0.15 < held_out.mean() < 0.35
    truth = RNG.normal(size=n)
    y = truth + features @ RNG.normal(size=30) + 0.3 * RNG.normal(size=n)
    dispersion = response.start(response.describe(y, np.ones(n)))
    centre, scale = dispersion[1], dispersion[2]

    def trust(topics):
        labels = WordProblem(
            response, y, np.ones(n), dispersion, (topics[:, None] - centre) / scale, np.zeros((n, 1)), features
        )
        words, seen = choose_words(labels, held_out)
        left = (words.score(labels)[:, 0] - (y - centre) / scale)[held_out]
        assert seen[0] == pytest.approx((left**2).mean())
        return words.trust

    assert trust(truth) == 1.0
    assert trust(np.where(held_out, 0.1 * y + RNG.normal(size=n), y)) == 0.25
