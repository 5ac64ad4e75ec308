"""What users see of the coefficients: an intercept, what topics add to it, errors of both, and explanations."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from supertopic import (
    LDA,
    MedLDAClassifier,
    MedLDARegressor,
    SLDAClassifier,
    SLDARegressor,
    TopicModel,
    Vectorizer,
    load,
)
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.documents.corpus import as_corpus
from supertopic.fitted.coefficients import effects_covariance, find_effects
from supertopic.fitted.predict import scores_of
from supertopic.responses.base import registry

SHARES = np.array([0.5, 0.3, 0.15, 0.05])
CLASSES = {"logit": 2, "probit": 2, "softmax": 3, "ordinal": 4}
NUMBERS = ("gaussian", "poisson", "negative_binomial", "gamma", "inverse_gaussian", "weibull")


def data(response, n_topics=4, n_documents=120, **more):
    found = simulate(
        n_documents=n_documents, n_topics=n_topics, n_words=60, mean_length=40, response=response,
        n_classes=CLASSES.get(response, 2), seed=3, **more,
    )  # fmt: skip
    return found.counts.counts, found.y


def linear_predictor(model, counts):
    """(D, C) on the scale of y, as the prediction has it."""
    fitted = model.fitted_
    score = scores_of(fitted, as_corpus(counts), np.zeros((counts.shape[0], fitted.spec.schema.n_covariates))).score
    parts = [
        part.response.unscale(score[:, part.columns].T, np.zeros(1), fitted.state.dispersion[part.numbers])[0].T
        for _, part in fitted.spec.parts
    ]
    return np.hstack(parts)


def mean_topics(model, counts):
    """What the response is that of: E[Zbar] = (gamma - alpha)/N, or for "pc" theta itself."""
    if model.fitted_.spec.engine.at_mode:
        return model.transform(counts)
    lengths = np.asarray(counts.sum(axis=1)).ravel()[:, None]
    return (model.transform(counts) * (lengths + model.alpha_.sum()) - model.alpha_) / lengths


@pytest.mark.parametrize("inference", ["pc", "vb"])
@pytest.mark.parametrize("response", [*NUMBERS, *CLASSES])
def test_intercept_and_coefficients_make_the_linear_predictor(response, inference):
    counts, y = data(response)
    kind = SLDAClassifier if response in CLASSES else SLDARegressor
    model = kind(4, response=response, inference=inference, max_iter=6, cross_fit=0).fit(counts, y)
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    np.testing.assert_allclose(coef @ model.doc_topic_.mean(axis=0), 0, atol=1e-5 * np.abs(coef).max())
    expected = linear_predictor(model, counts)
    found = intercept + mean_topics(model, counts) @ coef.T
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3 * np.abs(expected).max())
    assert np.all(model.coef_std_ > 0) and np.shape(model.coef_std_) == np.shape(model.coef_)


def test_gaussian_coefficients_are_about_the_mean_of_y():
    counts, y = data("gaussian")
    model = SLDARegressor(4, max_iter=8).fit(counts, 100 + y)
    assert abs(model.intercept_ - 100 - y.mean()) < 0.5 * y.std()
    assert model.coef_.min() < 0 < model.coef_.max() < 50
    shifted = SLDARegressor(4, max_iter=8).fit(counts, y)
    np.testing.assert_allclose(model.coef_, shifted.coef_, atol=1e-4 * np.abs(shifted.coef_).max())
    assert model.topics()["effect"].is_monotonic_decreasing and model.summary()["effect"][1:5].is_monotonic_decreasing


def test_medlda_and_topic_model_have_an_intercept():
    counts, y = data("gaussian")
    regressor = MedLDARegressor(4, max_iter=5).fit(counts, y + 10)
    shares = regressor.doc_topic_.mean(axis=0)
    assert abs(shares @ regressor.coef_) < 1e-5 * np.abs(regressor.coef_).max()
    found = regressor.intercept_ + mean_topics(regressor, counts) @ regressor.coef_
    np.testing.assert_allclose(found, regressor.predict(counts), rtol=1e-3)
    _, labels = data("softmax")
    classifier = MedLDAClassifier(4, max_iter=5).fit(counts, labels)
    np.testing.assert_allclose(classifier.coef_ @ classifier.doc_topic_.mean(axis=0), 0, atol=1e-4)
    assert classifier.intercept_.shape == (3,)
    several = TopicModel(4, max_iter=5, cross_fit=0).fit(counts, pd.DataFrame({"n": y, "c": labels.astype(str)}))
    assert list(several.intercept_.index) == list(several.coef_.index)
    np.testing.assert_allclose(several.coef_ @ several.doc_topic_.mean(axis=0), 0, atol=1e-4)


def test_errors_are_those_of_the_difference_to_the_average_document():
    """Against a regression in other coordinates: y = a + sum_k b_k (theta_k - p_k), of which only K - 1 are free."""
    rng = np.random.default_rng(0)
    theta, scale = rng.dirichlet(5 * SHARES, 300), 2.5
    shares = theta.mean(axis=0)
    dispersion = np.array([0.3, 7.0, scale])  # variance, centre, scale
    information = theta.T @ theta / dispersion[0]
    response, prior = registry()["gaussian"](), CoefPrior("flat", n_level=4)
    found = effects_covariance(response, prior, prior.covariance(information)[None], dispersion, shares)[0]

    basis = np.linalg.svd(shares[None])[2][1:].T  # (K, K - 1): all b with p·b = 0
    design = np.column_stack([np.ones(len(theta)), theta @ basis])
    cov = np.linalg.inv(design.T @ design) * dispersion[0] * scale**2
    back = np.zeros((5, 4))
    back[0, 0], back[1:, 1:] = 1.0, basis
    np.testing.assert_allclose(found, back @ cov @ back.T, rtol=1e-3, atol=1e-6)
    assert found[0, 0] == pytest.approx(dispersion[0] * scale**2 / len(theta), rel=1e-3)  # the error of a mean


def test_a_gamma_has_more_of_y_where_its_own_coefficient_is_less():
    coef = np.array([[0.5, -0.2, 0.1, 0.0, 2.0]])
    found = find_effects(registry()["gamma"](), CoefPrior("normal", 1.0, 4), coef, np.array([2.0, 3.0]), SHARES)
    assert found.intercept[0] == pytest.approx(np.log(3) - coef[0, :4] @ SHARES)
    np.testing.assert_allclose(found.topics[0], coef[0, :4] @ SHARES - coef[0, :4])
    assert found.others[0, 0] == -2.0


# --- sparse priors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_topics", [7, 8])
@pytest.mark.parametrize("response", ["gaussian", "poisson", "logit"])
def test_zeros_under_a_laplace_prior_are_zeros(response, n_topics, tmp_path):
    counts, y = data(response, n_topics=3)
    kind = SLDAClassifier if response == "logit" else SLDARegressor
    scale = {"gaussian": 0.1, "poisson": 0.3, "logit": 0.6}[response]
    given = {"coef_prior": "laplace", "coef_scale": scale, "inference": "vb", "max_iter": 8, "cross_fit": 2}
    model = kind(n_topics, response=response, **given).fit(counts, y)
    coef = np.ravel(model.coef_)
    assert 1 <= np.count_nonzero(coef) < n_topics and np.sum(coef == 0) >= 2
    raw = model.fitted_.state.coef[0]
    np.testing.assert_allclose(raw[coef == 0], raw[coef == 0][0], rtol=1e-5)  # all at the level, which is the intercept
    found = np.ravel(model.intercept_) + mean_topics(model, counts) @ coef
    expected = linear_predictor(model, counts)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3 * np.abs(expected).max())
    model.save(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(load(tmp_path / "m.supertopic").coef_, model.coef_)


def test_a_class_of_a_softmax_has_zeros_of_its_own():
    counts, y = data("softmax", n_topics=3)
    model = SLDAClassifier(7, coef_prior="laplace", coef_scale=0.6, max_iter=8, cross_fit=0).fit(counts, y)
    zero = model.coef_ == 0
    assert zero.any(axis=1).all() and not zero.all()
    assert np.any(zero.any(axis=0) & ~zero.all(axis=0))  # a topic that matters for some classes alone
    score = model.intercept_ + mean_topics(model, counts) @ model.coef_.T
    expected = np.log(model.predict_proba(counts))
    np.testing.assert_allclose(np.diff(score, axis=1), np.diff(expected, axis=1), atol=0.1)


def test_the_level_is_where_most_documents_are():
    prior = CoefPrior("laplace", 1.0, 4)
    found = prior.origin(np.array([[1.0, 2.0, 2.0, 5.0], [-1.0, 0.0, 3.0, 4.0], [4.0, 3.0, 0.0, -1.0]]), SHARES)
    np.testing.assert_array_equal(found, [2.0, 0.0, 3.0])
    np.testing.assert_array_equal(prior.apart(np.array([[1.0, 2.0, 2.0 + 1e-7, 5.0]]), found[:1]), [[-1, 0, 0, 3]])
    assert CoefPrior("laplace", 1.0).origin(np.array([[1.0, 2.0, 2.0, 5.0]]), SHARES)[0] == 0


# --- files and batches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["slda-gaussian-gibbs", "slda-softmax-gibbs", "medlda-classes-gibbs"])
def test_draws_in_files_are_relative_to_the_average_document(name):
    model = load(Path(__file__).parent / "golden" / "fits" / f"{name}.supertopic")
    coef, intercept = model.draws_["coef"], model.draws_["intercept"]
    assert intercept.shape == coef.shape[:2]
    np.testing.assert_allclose(coef @ model.doc_topic_.mean(axis=0), 0, atol=1e-5 * np.abs(coef).max())


def test_a_fit_forgets_the_shares_of_the_one_before():
    counts, y = data("gaussian")
    model = SLDARegressor(3, max_iter=3, refit=False, warm_start=False).fit(counts, y)
    again = model.set_params(n_topics=4).fit(counts, y)
    fresh = SLDARegressor(4, max_iter=3, refit=False).fit(counts, y)
    np.testing.assert_array_equal(again.coef_, fresh.coef_)
    assert again.intercept_ == fresh.intercept_
    steps = SLDARegressor(3).partial_fit(counts, y)
    assert abs(steps.coef_ @ steps.alpha_) < 1e-6 * np.abs(steps.coef_).max() + 1e-9


# --- explanations -----------------------------------------------------------------------------------------------------

GOOD, BAD = "superb moving funny brilliant warm", "boring awful waste terrible dull"


@pytest.fixture(scope="module")
def reviews():
    rng = np.random.default_rng(1)
    good, bad, plain = GOOD.split(), BAD.split(), ["film", "actor", "plot", "scene", "camera", "music"]
    share = rng.beta(0.7, 0.7, 150)
    texts = [
        " ".join([*rng.choice(plain, 6), *(rng.choice(good if rng.random() < p else bad) for _ in range(12))])
        for p in share
    ]
    y = 3 + 2 * (share - share.mean()) + 0.1 * rng.normal(size=150)
    return SLDARegressor(3, vectorizer=Vectorizer(min_df=1), max_iter=20).fit(texts, y), texts, y


def test_words_of_a_bad_review_lower_the_prediction(reviews):
    model, _, y = reviews
    text = f"{BAD} {BAD} mess unheard"
    frame = model.explain(text)
    known = frame[~frame["word"].isin(["mess", "unheard"])]
    assert model.predict([text])[0] < y.mean() - 0.5
    assert (known["contribution"] < 0).all()
    assert model.intercept_ + frame["contribution"].sum() == pytest.approx(model.predict([text])[0], abs=1e-3)
    raised = model.explain(GOOD)
    assert (raised["contribution"] > 0).all()


def test_explanations_are_in_order_and_name_unknown_words(reviews):
    model, texts, _ = reviews
    frame = model.explain(texts[0] + " zzz unheard unheard")
    size = frame["contribution"].abs().to_numpy()
    assert np.all(np.diff(size) <= 0)
    assert frame["word"].tolist()[-2:] == ["zzz", "unheard"] and frame["count"].tolist()[-2:] == [1, 2]
    assert frame.iloc[-2:].filter(like="topic").isna().all(axis=None) and size[-2:].tolist() == [0, 0]
    assert frame["contribution"].notna().all()
    plain = LDA(2, vectorizer=Vectorizer(stop_words="english")).fit(texts)
    assert set(plain.explain("the zzz and of plot")["word"]) == {"plot", "zzz"}  # stop words are not unknown


def test_explanations_show_the_largest_topics(reviews):
    _, texts, y = reviews
    model = SLDARegressor(9, max_iter=4, cross_fit=0).fit(texts, y)
    whole = model.explain(texts[3], n_topics=None)
    assert list(whole.filter(like="topic ")) == [f"topic {k}" for k in range(9)]
    short = model.explain(texts[3])
    shown = list(short)[3:]
    assert len(shown) == 4 and shown[-1] == "other topics"
    np.testing.assert_allclose(short[shown].sum(axis=1), 1, rtol=1e-5)
    sizes = whole["count"].to_numpy() @ whole.filter(like="topic ").to_numpy()
    assert shown[:-1] == [f"topic {k}" for k in np.argsort(-sizes)[:3]]
    np.testing.assert_allclose(short[shown[:3]], whole[shown[:3]])
    with pytest.raises(ValueError, match="n_topics: got 0, expected a whole number >= 1"):
        model.explain(texts[3], n_topics=0)


def test_a_document_of_unknown_words_is_explained_by_none(reviews):
    frame = reviews[0].explain("zzz yyy")
    assert frame["word"].tolist() == ["zzz", "yyy"] and frame["contribution"].tolist() == [0, 0]
    row = sp.csr_matrix(np.ones((1, reviews[0].n_features_in_)))
    assert len(reviews[0].explain(row)) == reviews[0].n_features_in_
