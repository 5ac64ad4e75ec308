"""A complete fit with every registered response: monotone bound, parameter recovery, prediction."""

import numpy as np
import pytest

from supertopic import VB, SLDAClassifier, SLDARegressor
from supertopic.datasets import RESPONSES, simulate
from supertopic.metrics import align_topics
from supertopic.responses.base import registry
from tests.naive_responses import EXAMPLES

NAMES = [name for name, kind in registry().items() if kind.kind in ("number", "class")]
BOUNDS = [name for name in NAMES if EXAMPLES[name].how != "delta"]
TRUTH = {"gaussian": 0.25, "negative_binomial": 3.0, "gamma": 1 / 3, "inverse_gaussian": 1 / 3, "weibull": 2.0}
ROUND = np.array([[2.0, 0.0, -2.0], [-2.0, 2.0, 0.0], [0.0, -2.0, 2.0]])


def drawn(name, n_documents, seed=5):
    coef = ROUND if name == "softmax" else np.array([-2.0, 0.0, 1.5])
    return simulate(n_documents, 3, n_words=80, mean_length=40, response=name, coef=coef, seed=seed)


PRECISE = {"doc_tol": 1e-5, "max_doc_iter": 1000}


def estimator(name, **options):
    kind = SLDAClassifier if registry()[name].kind == "class" else SLDARegressor
    return kind(3, response=name, doc_topic_prior=0.2, **{"inference": "vb", "cross_fit": 0, **options})


def test_every_response_can_be_simulated():
    assert set(NAMES) == set(RESPONSES)


@pytest.mark.parametrize("per_token", [False, True])
@pytest.mark.parametrize("name", BOUNDS)
def test_the_bound_never_falls(name, per_token):
    data = drawn(name, 200)
    model = estimator(name, refit=False, tol=0, max_iter=20, inference=VB(**PRECISE, per_token=per_token))
    bound = model.fit(data.counts, data.y).bound_
    assert len(bound) == 20 and bound[-1] > bound[0]
    assert np.diff(bound).min() > -2e-6 * abs(bound[-1])


@pytest.mark.parametrize(
    ("emission", "prior"), [("dirichlet", "flat"), ("dirichlet", "laplace"), ("sage", "normal"), ("sage", "laplace")]
)
@pytest.mark.parametrize("name", BOUNDS)
def test_the_bound_never_falls_with_other_priors_and_emissions(name, emission, prior):
    data, options = drawn(name, 80), {"refit": False, "tol": 0, "max_iter": 10, "inference": VB(**PRECISE)}
    options |= {"emission": emission, "coef_prior": prior, "coef_scale": 0.3 if prior == "laplace" else 10.0}
    bound = estimator(name, **options).fit(data.counts, data.y).bound_
    assert len(bound) == 10 and bound[-1] > bound[0]
    assert np.diff(bound).min() > -2e-6 * abs(bound[-1])


def errors(name, n_documents):
    """Largest errors of topics, coefficients (as far as identified) and dispersion, averaged over two corpora."""
    found = []
    for seed in (5, 6):
        data = drawn(name, n_documents, seed)
        model = estimator(name, refit=False, max_iter=40).fit(data.counts, data.y)
        order = align_topics(data.components, model.components_).order
        coef = np.atleast_1d(model.intercept_)[:, None] + np.atleast_2d(model.coef_)[:, order]
        truth = np.atleast_2d(data.coef)
        if name == "softmax":  # a shift of all classes is not identified
            coef, truth = coef - coef.mean(axis=0), truth - truth.mean(axis=0)
        if name == "ordinal":  # nor is a shift of all topics and cut-points
            coef, truth = coef - coef.mean(), truth - truth.mean()
        if name == "negative_binomial":  # the mean is r exp(s)
            coef = coef - np.log(TRUTH[name])
        spread = abs(np.log(model.dispersion_ / TRUTH[name])) if name in TRUTH else 0.0
        topics = np.abs(model.components_[order] - data.components).sum(axis=1).max()
        found.append((topics, np.abs(coef - truth).max() / np.abs(truth).max(), spread))
    return np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_was_simulated_is_recovered_the_better_the_more_documents(name):
    few, many = errors(name, 100), errors(name, 2500)
    assert many[0] < 0.1 and many[1] < 0.15 and many[2] < 0.15, many
    assert many[0] < few[0] and many[1] < few[1], (few, many)


@pytest.mark.parametrize("name", NAMES)
def test_prediction_is_lda_inference_and_the_link(name):
    """New documents have no y: their shares are those of LDA with these topics, and E[y] follows from their score."""
    data = drawn(name, 150)
    model = estimator(name, max_iter=8).fit(data.counts, data.y)
    new = simulate(40, 3, n_words=80, mean_length=4000, seed=9).counts  # so long that Zbar hardly varies
    shares = model.transform(new)
    lengths = np.asarray(new.counts.sum(axis=1)).ravel()
    mean = (shares * (lengths + model.alpha_.sum())[:, None] - model.alpha_) / lengths[:, None]
    score = mean @ model.fitted_.state.coef.T.astype(float)
    expected = EXAMPLES[name].mean(score, model.fitted_.state.dispersion)
    found = model.predict_proba(new) if registry()[name].kind == "class" else model.predict(new)
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=5e-3)
