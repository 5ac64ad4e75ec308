"""Supervised LDA: statistics by enumeration, the bound, parameter recovery, and the estimators."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, logit
from scipy.stats import nbinom, norm
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV

from supertopic import LDA, SVI, VB, SLDAClassifier, SLDARegressor, load
from supertopic.backends.threads import Threads
from supertopic.checkpoint import Checkpoint
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.design import Design, TokenDesign
from supertopic.inference.regression import Labelled, regress
from supertopic.inference.variational.step import global_evidence
from supertopic.metrics import predictive_r2
from supertopic.model import Model, State
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses.base import registry
from tests.cases import cases

KINDS = {
    "gaussian": partial(SLDARegressor, inference="vb"),
    "negative_binomial": partial(SLDARegressor, inference="vb"),
    "logit": partial(SLDAClassifier, inference="vb"),
    "probit": partial(SLDAClassifier, inference="vb"),
}


def drawn(response, n_documents=250, n_topics=4, seed=2, **options):
    data = simulate(n_documents, n_topics, n_words=80, mean_length=40, response=response, seed=seed, **options)
    return data.counts.counts, data.y, data


@pytest.fixture(scope="module")
def numbers():
    return drawn("gaussian")[:2]


@pytest.fixture(scope="module")
def labels():
    return drawn("logit", coef=np.array([-6.0, 6.0, -2.0, 2.0]))[:2]


@pytest.fixture(scope="module")
def regressor(numbers):
    return SLDARegressor(4, inference="vb", max_iter=15, cross_fit=0).fit(*numbers)


@pytest.fixture(scope="module")
def classifier(labels):
    return SLDAClassifier(4, inference="vb", max_iter=15, cross_fit=0).fit(*labels)


# --- the statistics and the bound -------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("is_product", [False, True])
def test_normal_equations_equal_enumeration(own, is_product):
    """gram and cross by enumeration of all topics; for a product column, the gradient and curvature of E[exp s]."""
    rng = np.random.default_rng(0)
    n_topics, coef = 3, np.array([[0.5, -1.0, 1.5, 0.3]])
    counts = sp.csr_matrix(np.array([[1, 3, 0, 2], [0, 0, 0, 0], [4, 0, 1, 0], [0, 0, 1, 0]], dtype=np.float32))
    phi = rng.dirichlet(np.ones(n_topics), counts.nnz)
    lengths = np.where(counts.sum(axis=1).A1 > 0, counts.sum(axis=1).A1, np.inf)
    mean = np.array([counts[d].data @ phi[counts.indptr[d] : counts.indptr[d + 1]] for d in range(4)])
    mean /= lengths[:, None]
    mean[1] = [0.2, 0.5, 0.3]
    covariates = rng.normal(size=(4, 1))
    slope, curvature = rng.normal(size=(4, 1)), rng.gamma(1.0, size=(4, 1))

    gram, cross, moments = np.zeros((4, 4)), np.zeros(4), np.zeros((4, 2))
    for d in range(4):
        tokens = np.repeat(phi[counts.indptr[d] : counts.indptr[d + 1]], counts[d].data.astype(int), axis=0)
        tokens = tokens if own else [mean[d]] * len(tokens)
        for z in itertools.product(range(n_topics), repeat=len(tokens)):
            probability = np.prod([p[k] for p, k in zip(tokens, z, strict=True)])
            shares = np.bincount(z, minlength=n_topics) / len(z) if z else mean[d]
            row = np.append(shares, covariates[d])
            s = coef[0] @ row
            weight = probability * curvature[d, 0] * (np.exp(s) if is_product else 1.0)
            gram += weight * np.outer(row, row)
            cross += probability * slope[d, 0] * row + is_product * (
                weight * np.outer(row, row) @ coef[0] - weight * row
            )
            moments[d] += probability * np.array([s, np.exp(s) if is_product else s * s])

    parts = (mean, lengths, covariates)
    design = TokenDesign(*parts, phi=phi, counts=counts.data, indptr=counts.indptr) if own else Design(*parts)
    product = np.array([is_product])
    if not own:
        np.testing.assert_allclose(np.hstack(design.moments(coef, product)), moments, rtol=1e-6)
    found_gram, found_cross = design.normal_equations(coef, product, moments[:, 1:], slope, curvature)
    np.testing.assert_allclose(found_gram[0], gram, rtol=1e-6)
    np.testing.assert_allclose(found_cross[0], cross, rtol=1e-6, atol=1e-9)


def test_the_bound_has_the_prior_of_coefficients():
    model = Model(
        3, DirichletTopics(0.1), DirichletPrior.parse(0.5, 3), registry()["gaussian"](), CoefPrior("normal", 0.5)
    )  # fmt: skip
    state = State.first(model, np.full((4, 3), 0.7, dtype=np.float32))
    with Threads(1) as backend:
        without = global_evidence(model, state, backend)
        state.coef[:] = [[0.5, -1.0, 2.0]]
        assert global_evidence(model, state, backend) - without == pytest.approx(-0.5 * 5.25 / 0.25)


@pytest.mark.parametrize("name", KINDS)
def test_bound_never_falls_with_more_supervision(name):
    counts, y, _ = drawn(name)
    model = KINDS[name](
        4, response=name, supervision=10, refit=False, tol=0, max_iter=25, doc_topic_prior=0.2, cross_fit=0,
        inference=VB(doc_tol=1e-5, max_doc_iter=1000),
    ).fit(counts, y)  # fmt: skip
    assert len(model.bound_) == 25
    assert model.bound_[-1] > model.bound_[0]
    assert np.diff(model.bound_).min() > -2e-6 * abs(model.bound_[-1])


# --- what is recovered ------------------------------------------------------------------------------------------------


def test_one_topic_is_a_model_of_the_intercept_alone():
    for name, mean_of in {
        "gaussian": lambda y, m: y.mean(),
        "negative_binomial": lambda y, m: np.log(y.mean()),
        "logit": lambda y, m: logit(y.mean()),
        "probit": lambda y, m: norm.ppf(y.mean()),
    }.items():
        counts, y, _ = drawn(name, coef=np.array([-1.0, 0.5, 1.0, 2.0]))
        model = KINDS[name](1, response=name, coef_prior="flat", max_iter=3, cross_fit=0).fit(counts, y)
        np.testing.assert_allclose(np.ravel(model.intercept_), mean_of(y, model), rtol=1e-3, err_msg=name)
        assert np.ravel(model.coef_) == np.ravel(model.coef_std_) == 0
        if name == "gaussian":
            assert model.dispersion_ == pytest.approx(y.var(), rel=1e-4)
            assert model.coefficients_.intercept_std[0] == pytest.approx(y.std() / np.sqrt(len(y)), rel=1e-3)


def test_refit_on_known_shares_is_a_generalised_linear_model():
    for name in KINDS:
        _, y, data = drawn(name, 600, 3, coef=np.array([-1.0, 0.5, 1.5]))
        shares, y, response = data.topic_shares, y.astype(float), registry()[name](2)
        weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(y))
        design = Design(shares, np.full(len(y), np.inf), np.zeros((len(y), 0)))
        start = np.zeros((1, 3)), response.start(response.describe(y, weight))
        coef, gram, dispersion = regress(
            response, CoefPrior("flat"), Labelled(design, y, weight).total, *start, max_iter=2000, tol=1e-12
        )
        deviation = CoefPrior("flat").deviation(gram[0])
        if name == "gaussian":
            expected = LinearRegression(fit_intercept=False).fit(shares, y, weight)
            found, _ = response.unscale(coef[0], deviation, dispersion)
            residuals = np.average((y - expected.predict(shares)) ** 2, weights=weight)
            assert response.spread(dispersion) == pytest.approx(residuals, rel=1e-4)
            expected = expected.coef_
        elif name == "logit":
            found = coef[0]
            fitted = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-10).fit(shares, y, weight)
            expected = fitted.coef_[0]
        else:

            def loss(p, name=name, shares=shares, y=y, weight=weight):
                s = shares @ p[:3]
                if name == "probit":
                    return -weight @ log_ndtr((2 * y - 1) * s)
                return -weight @ nbinom.logpmf(y, np.exp(p[3]), expit(-s))

            best = minimize(loss, np.zeros(3 if name == "probit" else 4), tol=1e-10).x
            found, expected = np.append(coef[0], np.log(dispersion)), best
        np.testing.assert_allclose(found, expected, rtol=5e-3, atol=2e-3, err_msg=name)


def test_refit_is_what_the_estimator_does(numbers, regressor):
    counts, y = numbers
    shares = mean_topics(regressor, counts)
    expected = RidgeCV([1e-8], fit_intercept=False).fit(shares, y).coef_
    np.testing.assert_allclose(regressor.intercept_ + regressor.coef_, expected, rtol=0.01, atol=0.01)
    assert regressor.dispersion_ == pytest.approx(np.mean((y - shares @ expected) ** 2), rel=0.01)
    raw = SLDARegressor(4, inference="vb", max_iter=15, refit=False, cross_fit=0).fit(counts, y)
    np.testing.assert_array_equal(raw.components_, regressor.components_)
    assert predictive_r2(y, regressor.predict(counts)) >= predictive_r2(y, raw.predict(counts))


def mean_topics(model, counts):
    """E[Zbar] = (gamma - alpha)/N from `transform`, which returns gamma divided by its sum."""
    lengths = np.asarray(counts.sum(axis=1)).ravel()[:, None]
    return (model.transform(counts) * (lengths + model.alpha_.sum()) - model.alpha_) / lengths


def test_prediction_is_inference_without_y(numbers, labels, regressor, classifier):
    line = regressor.intercept_ + mean_topics(regressor, numbers[0]) @ regressor.coef_
    np.testing.assert_allclose(regressor.predict(numbers[0]), line, rtol=1e-3, atol=1e-3)
    score = classifier.intercept_[0] + mean_topics(classifier, labels[0]) @ classifier.coef_[0]
    np.testing.assert_allclose(classifier.decision_function(labels[0]), score, rtol=1e-3, atol=5e-3)
    chance = classifier.predict_proba(labels[0])
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    np.testing.assert_array_equal(classifier.predict(labels[0]), classifier.classes_[(score > 0).astype(int)])
    assert np.all((chance[:, 1] > 0.5) == (score > 0))
    # the prediction of a document does not depend on the others
    np.testing.assert_allclose(regressor.predict(numbers[0][3:4]), regressor.predict(numbers[0])[3:4], rtol=1e-6)


def test_empty_documents_take_part_as_the_prior_mean(numbers):
    counts, y = numbers
    more = sp.vstack([counts, sp.csr_matrix((2, counts.shape[1]), dtype=counts.dtype)]).tocsr()
    with pytest.warns(UserWarning, match="without a word"):
        model = SLDARegressor(4, inference="vb", max_iter=10, refit=False, cross_fit=0).fit(
            more, np.append(y, [y.mean(), np.nan])
        )
    with pytest.warns(UserWarning, match="without a word"):
        plain = SLDARegressor(4, inference="vb", max_iter=10, refit=False, cross_fit=0).fit(
            more, np.append(y, [np.nan, np.nan])
        )
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=0.05, atol=0.05)
    assert not np.array_equal(model.coef_, plain.coef_)
    with pytest.warns(UserWarning, match="without a word"):
        found = model.predict(more)[-1]
    assert found == pytest.approx(model.intercept_ + model.coef_ @ model.alpha_ / model.alpha_.sum(), rel=1e-4)


# --- missing labels, weights, supervision -----------------------------------------------------------------------------


def test_missing_numbers_are_as_good_as_no_weight(numbers):
    counts, y = numbers
    gone = np.arange(len(y)) % 3 == 0
    model = SLDARegressor(4, inference="vb", max_iter=8, cross_fit=0).fit(counts, np.where(gone, np.nan, y))
    weightless = SLDARegressor(4, inference="vb", max_iter=8, cross_fit=0).fit(
        counts, y, sample_weight=np.where(gone, 0.0, 1.0)
    )
    np.testing.assert_array_equal(model.components_, weightless.components_)
    np.testing.assert_allclose(model.coef_, weightless.coef_, rtol=1e-6)
    objects = SLDARegressor(4, inference="vb", max_iter=8, cross_fit=0).fit(
        counts, [None if g else v for g, v in zip(gone, y, strict=True)]
    )
    np.testing.assert_array_equal(objects.coef_, model.coef_)
    assert model.doc_topic_.shape == (len(y), 4)
    fewer = SLDARegressor(4, inference="vb", max_iter=8, cross_fit=0).fit(counts[~gone], y[~gone])
    assert not np.array_equal(fewer.components_, model.components_), "the words of the others were not used"


def test_missing_labels_in_several_spellings(labels):
    counts, y = labels
    gone = np.arange(len(y)) % 4 == 0
    spellings = {
        "nan": np.where(gone, np.nan, y),
        "none": np.array([None if g else int(v) for g, v in zip(gone, y, strict=True)], dtype=object),
        "na": pd.array([pd.NA if g else int(v) for g, v in zip(gone, y, strict=True)], dtype="Int64"),
        "series": pd.Series(np.where(gone, np.nan, y)).astype("Int64"),
        "text": np.array([None if g else ["no", "yes"][int(v)] for g, v in zip(gone, y, strict=True)], dtype=object),
    }
    models = {
        name: SLDAClassifier(4, inference="vb", max_iter=6, cross_fit=0).fit(counts, value)
        for name, value in spellings.items()
    }
    for name, model in models.items():
        assert list(model.classes_) == (["no", "yes"] if name == "text" else [0, 1])
        np.testing.assert_array_equal(model.coef_, models["nan"].coef_)
    numbers = pd.Series(np.where(gone, np.nan, y)).astype("Int64")
    plain = {"response": "gaussian", "max_iter": 3}
    same = [
        SLDARegressor(4, inference="vb", **plain, cross_fit=0).fit(counts, one).coef_
        for one in (numbers, np.where(gone, np.nan, y))
    ]
    np.testing.assert_array_equal(*same)


def test_minus_one_is_a_class_like_any_other(labels):
    counts, y = labels
    two = SLDAClassifier(4, inference="vb", max_iter=6, cross_fit=0).fit(counts, np.where(y == 1, 1, -1))
    assert list(two.classes_) == [-1, 1]
    three = SLDAClassifier(4, inference="vb", response="softmax", max_iter=6, cross_fit=0).fit(
        counts, np.where(np.arange(len(y)) % 4 == 0, -1, y).astype(int)
    )
    assert list(three.classes_) == [-1, 0, 1] and three.predict_proba(counts).shape[1] == 3


@pytest.mark.parametrize("name", KINDS)
def test_no_supervision_is_lda_to_the_bit(name):
    counts, y, _ = drawn(name)
    same = {"max_iter": 8, "tol": 0, "inference": VB(doc_tol=1e-2), "topic_word_prior": 0.05, "random_state": 3}
    plain = LDA(4, doc_topic_prior="auto", **same).fit(counts)
    model = KINDS[name](4, response=name, supervision=0, doc_topic_prior="auto", cross_fit=0, **same).fit(counts, y)
    np.testing.assert_array_equal(model.components_, plain.components_)


def test_more_supervision_serves_y_more():
    counts, y, _ = drawn("gaussian", 400, 8, dispersion=0.05)
    scores = [
        SLDARegressor(3, inference="vb", supervision=s, max_iter=40, cross_fit=0).fit(counts, y).score(counts, y)
        for s in (0, 3, 30)
    ]
    assert scores[0] < scores[1] < scores[2], scores


@pytest.mark.parametrize("name", cases(["gaussian", "negative_binomial"], ["gaussian"]))
def test_intervals_hold_nine_of_ten(name):
    counts, y, _ = drawn(name, 1500, seed=4)
    model = SLDARegressor(4, inference="vb", response=name, max_iter=30).fit(counts[:1000], y[:1000])
    mean, low, high = model.predict(counts[1000:], return_interval=0.9)
    assert np.all((low <= mean) & (mean <= high))
    held = np.mean((y[1000:] >= low) & (y[1000:] <= high))
    assert 0.86 < held < (0.94 if name == "gaussian" else 0.98), held
    with pytest.raises(ValueError, match=r"^return_interval: got 90, expected a probability between 0 and 1$"):
        model.predict(counts, return_interval=90)


# --- estimators -------------------------------------------------------------------------------------------------------


def test_contributions_sum_to_the_linear_predictor(labels, numbers, classifier, regressor):
    for d in (0, 7, 50):
        frame = classifier.explain(labels[0][d], n_topics=None)
        assert frame.columns[2] == "contribution"
        found = classifier.decision_function(labels[0][d])[0]
        assert classifier.intercept_[0] + frame["contribution"].sum() == pytest.approx(found, rel=1e-4, abs=1e-5)
    # one word of it, by hand
    row = frame.iloc[0]
    by_hand = row["count"] / frame["count"].sum() * (row.filter(like="topic ").to_numpy(float) @ classifier.coef_[0])
    assert row["contribution"] == pytest.approx(by_hand)
    for d in (0, 7):
        predicted = regressor.predict(numbers[0][d])[0]
        added = regressor.intercept_ + regressor.explain(numbers[0][d])["contribution"].sum()
        assert added == pytest.approx(predicted, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("classes", [["bad", "good"], [3, 8], [0.0, 1.0]])
def test_saving_keeps_classes_and_predictions(classes, labels, tmp_path):
    counts, y = labels
    model = SLDAClassifier(4, inference="vb", max_iter=5, cross_fit=2).fit(counts, np.array(classes)[y])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is SLDAClassifier and again.get_params() == model.get_params()
    for name in ("classes_", "coef_", "coef_std_", "components_", "bound_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(counts), model.predict(counts))
    np.testing.assert_array_equal(again.predict_proba(counts), model.predict_proba(counts))


@pytest.mark.parametrize("name", ["gaussian", "negative_binomial"])
def test_saving_keeps_intervals(name, tmp_path):
    counts, y, _ = drawn(name)
    model = SLDARegressor(4, inference="vb", response=name, max_iter=5, cross_fit=2).fit(counts, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.dispersion_ == model.dispersion_
    for a, b in zip(
        again.predict(counts, return_interval=0.8), model.predict(counts, return_interval=0.8), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", KINDS)
def test_threads_change_nothing(name):
    counts, y, _ = drawn(name)
    folds = {"cross_fit": 2 if name in ("gaussian", "softmax") else 0}
    fits = [KINDS[name](4, response=name, max_iter=6, n_jobs=n, **folds).fit(counts, y) for n in (1, 2, 3)]
    for fit in fits[1:]:
        for attribute in ("components_", "coef_", "coef_std_", "bound_", "alpha_", "doc_topic_"):
            np.testing.assert_array_equal(getattr(fit, attribute), getattr(fits[0], attribute))
        np.testing.assert_array_equal(fit.predict(counts), fits[0].predict(counts))


class Stop(Exception):
    pass


@pytest.mark.parametrize("n_saves", cases([1, 4], [4]))
@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (SLDARegressor, {"max_iter": 10, "tol": 0, "cross_fit": 0}),
        (SLDARegressor, {"inference": SVI(batch_size=64), "max_iter": 3, "cross_fit": 0}),
        (SLDAClassifier, {"max_iter": 10, "tol": 0, "cross_fit": 0}),
        (SLDAClassifier, {"inference": SVI(batch_size=64), "max_iter": 3, "cross_fit": 0}),
    ],
)
def test_interrupted_fit_ends_with_the_same_model(kind, params, n_saves, numbers, labels, tmp_path, monkeypatch):
    counts, y = numbers if kind is SLDARegressor else labels
    whole = kind(4, **params).fit(counts, y)
    saves, due, save = [], Checkpoint.due, Checkpoint.save
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)

    def save_and_stop(self, *state):
        save(self, *state)
        saves.append(1)
        if len(saves) == n_saves:
            raise Stop

    monkeypatch.setattr(Checkpoint, "save", save_and_stop)
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(Stop):
        kind(4, checkpoint=path, **params).fit(counts, y)
    monkeypatch.setattr(Checkpoint, "save", save)
    monkeypatch.setattr(Checkpoint, "due", due)
    other = y.copy()
    other[:2] = other[1::-1] if other[0] != other[1] else 1 - other[:2]
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        kind(4, checkpoint=path, **params).fit(counts, other)
    resumed = kind(4, checkpoint=path, n_jobs=2, **params).fit(counts, y)
    for name in ("components_", "coef_", "coef_std_", "bound_", "alpha_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert not path.exists()


def test_negative_sample_weight_is_refused(numbers):
    with pytest.raises(ValueError, match="sample_weight"):
        SLDARegressor(2).fit(*numbers, sample_weight=-np.ones(len(numbers[1])))
