"""Slopes and curvatures of the regression, by finite differences of the value itself; and the words beside topics."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from supertopic.coefficients import CoefPrior
from supertopic.inference.regression import Design, regress
from supertopic.inference.words import regress_with_words, word_features, word_scale
from supertopic.responses.base import registry
from supertopic.responses.several import Several
from tests.naive_responses import EXAMPLES, build

RNG = np.random.default_rng(8)
D, K, P = 40, 3, 2
RESPONSES = {
    "softmax": (registry()["softmax"](5), RNG.integers(0, 5, D).astype(float)),
    "quadratic and product": (
        Several([registry()["logit"](2), registry()["poisson"](), registry()["softmax"](3)]),
        np.column_stack([RNG.integers(0, 2, D), RNG.poisson(2.0, D), RNG.integers(0, 3, D)]).astype(float),
    ),
}


def design(n_columns, lengths, offset):
    mean = RNG.dirichlet(np.ones(K), D)
    return Design(mean, lengths, RNG.normal(size=(D, P)), RNG.normal(size=(D, n_columns)) if offset else None)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("tokens", [4.0, np.inf])
@pytest.mark.parametrize("name", RESPONSES)
def test_gradient_is_the_slope_of_the_value(name, tokens, offset):
    response, y = RESPONSES[name]
    documents, weight = design(response.n_columns, np.full(D, tokens), offset), RNG.gamma(2.0, size=D)
    coef, prior = RNG.normal(size=(response.n_columns, K + P)), CoefPrior("normal", 0.7)

    def value(flat):
        score, moment = documents.moments(flat.reshape(coef.shape), response.is_product)
        return weight @ response.log_density(y, score, moment, np.zeros(0)) + prior.log_density(flat)

    score, moment = documents.moments(coef, response.is_product)
    slope, curvature = (weight[:, None] * said for said in response.speak(y, score, moment, np.zeros(0)))
    given = (coef, response.is_product, moment, slope, curvature)
    found = documents.gradient(*given) + prior.gradient(coef)
    np.testing.assert_allclose(found.ravel(), approx_fprime(coef.ravel(), value, 1e-6), rtol=1e-4, atol=1e-3)
    gram, cross = documents.normal_equations(*given)  # and these say the same
    np.testing.assert_allclose(cross - np.einsum("ckj,cj->ck", gram, coef), documents.gradient(*given), atol=1e-8)


def test_many_classes_climb_to_where_they_solve_by_turns():
    """Five classes climb together; a fourth of a sample twice as heavy is the sample with that fourth twice."""
    response, y = RESPONSES["softmax"]
    documents, prior = design(5, np.full(D, np.inf), False), CoefPrior("normal", 1.0)
    start = np.zeros((5, K + P))
    coef, _, _ = regress(response, prior, documents, y, np.ones(D), start, np.zeros(0), max_iter=500, tol=1e-14)

    def value(flat):
        score, moment = documents.moments(flat.reshape(coef.shape), response.is_product)
        return response.log_density(y, score, moment, np.zeros(0)).sum() + prior.log_density(flat)

    assert np.abs(approx_fprime(coef.ravel(), value, 1e-6)).max() < 1e-2
    heavy = np.where(np.arange(D) < 10, 2.0, 1.0)
    twice = np.concatenate([np.arange(D), np.arange(10)])
    again = Design(documents.mean[twice], np.full(D + 10, np.inf), documents.covariates[twice])
    how = {"max_iter": 500, "tol": 1e-14}
    one = regress(response, prior, documents, y, heavy, start, np.zeros(0), **how)[0]
    other = regress(response, prior, again, y[twice], np.ones(D + 10), start, np.zeros(0), **how)[0]
    np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("key", ["logit", "probit", "negative_binomial", "ordinal", "softmax"])
def test_information_is_the_curvature_of_the_density(key):
    """At a score known exactly: -d²/ds² log p(y | s), column by column."""
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


@pytest.mark.parametrize("key", ["gaussian", "logit", "poisson"])
def test_words_and_topics_are_fitted_jointly(key):
    """Both slopes vanish together: that of the topics, and that of the words but for the net's penalty."""
    response = build(key)
    counts = sp.random(200, 12, density=0.4, random_state=1, format="csr", data_rvs=lambda n: RNG.integers(1, 4, n))
    features = word_features(counts, word_scale(counts))
    np.testing.assert_allclose(np.sqrt(features.multiply(features).sum(axis=1)).A1[np.diff(counts.indptr) > 0], 1.0)
    mean = RNG.dirichlet(np.ones(K), 200)
    line = mean @ [-1.0, 0.0, 1.0] + features @ RNG.normal(size=12)
    y = {
        "gaussian": line + 0.1 * RNG.normal(size=200),
        "logit": (RNG.random(200) < 1 / (1 + np.exp(-3 * line))).astype(float),
        "poisson": RNG.poisson(np.exp(1 + line)).astype(float),
    }[key]
    weight, prior = np.ones(200), CoefPrior("normal", 10.0)
    dispersion = response.start(y, weight)
    start = np.repeat(response.start_coef(y, weight, dispersion)[:, None], K, axis=1)
    documents = Design(mean, np.full(200, np.inf), np.zeros((200, 0)))
    fit = regress_with_words(response, prior, documents, features, y, weight, start, dispersion)

    def value(coef, words):
        both = Design(mean, np.full(200, np.inf), np.zeros((200, 0)), features @ words.T)
        score, moment = both.moments(coef, response.is_product)
        return response.log_density(y, score, moment, fit.dispersion).sum()

    best = value(fit.coef, fit.word_coef)
    alone = regress(response, prior, documents, y, weight, start, dispersion)
    assert best > value(alone[0], np.zeros_like(fit.word_coef)) + 5
    scale = abs(best) + 1
    topics = approx_fprime(fit.coef.ravel(), lambda c: value(c.reshape(fit.coef.shape), fit.word_coef), 1e-6)
    assert np.abs(topics - fit.coef.ravel() / prior.scale**2).max() / scale < 2e-2

    def steepest(coef, words):
        return np.abs(approx_fprime(words.ravel(), lambda w: value(coef, w.reshape(1, -1)), 1e-6)).max()

    left = steepest(fit.coef, fit.word_coef)  # what the penalty holds back
    assert left < 0.2 * steepest(alone[0], np.zeros_like(fit.word_coef))
