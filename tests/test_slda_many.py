"""sLDA with many classes, ordered classes, several responses, covariates, and tuning."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from supertopic import PC, VB, SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.documents.corpus import as_corpus
from supertopic.documents.known import Known
from supertopic.estimators.shared import supervised
from supertopic.fitted import finish, supervision
from supertopic.fitted.predict import shares_without_y
from supertopic.fitted.training import Training
from supertopic.inference.after.likelihood_words import LikelihoodWords
from supertopic.inference.after.words import word_scale
from tests.cases import cases

pytestmark = pytest.mark.filterwarnings("ignore:n_topics=.* is less than the .* classes:UserWarning")
RNG = np.random.default_rng(4)
D, K, V = 400, 3, 30
TOPICS = RNG.dirichlet(np.full(V, 0.08), K)
SHARES = RNG.dirichlet(np.full(K, 0.3), D)
X = sp.csr_matrix(np.stack([RNG.multinomial(60, theta @ TOPICS) for theta in SHARES]).astype(np.float32))
LINE = SHARES @ np.array([-2.0, 0.0, 2.0])
CLASSES = np.array(["a", "b", "c"])[SHARES.argmax(axis=1)]
GRADES = np.digitize(LINE + 0.3 * RNG.normal(size=D), [-1.0, 0.0, 1.0]) + 1
NUMBER = LINE + 0.2 * RNG.normal(size=D)
COUNT = RNG.poisson(np.exp(0.5 + LINE))
TIME = np.exp(LINE) * RNG.gamma(5.0, 0.2, D)


def test_many_classes(tmp_path):
    model = SLDAClassifier(K, cross_fit=0, max_iter=20).fit(X, CLASSES)
    assert model.score(X, CLASSES) > 0.9
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (D, 3) and model.coef_.shape == (3, K)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    assert sorted(model.coef_.argmax(axis=1)) == [0, 1, 2]  # each class has a topic of its own
    frame = model.explain(X[0])
    assert [name for name in frame if name.startswith("contribution")] == [f"contribution {c}" for c in "abc"]
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)


def test_ordered_classes_know_their_order():
    quick = {"max_iter": 20, "cross_fit": 0}
    model = SLDAClassifier(K, response="ordinal", **quick).fit(X, GRADES)
    softmax = SLDAClassifier(K, response="softmax", **quick).fit(X, GRADES)
    error = np.abs(model.predict(X) - GRADES).mean()
    assert error < 0.35 and error < np.abs(softmax.predict(X) - GRADES).mean() + 0.03
    assert np.all(np.diff(model.dispersion_) > 0) and len(model.dispersion_) == 3 and model.coef_.shape == (1, K)
    cumulative = np.cumsum(model.predict_proba(X), axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(cumulative < 0.5).sum(axis=1)])
    ordered = pd.Series(pd.Categorical(GRADES.astype(str), ["1", "2", "3", "4"], ordered=True))
    same = SLDAClassifier(K, response="ordinal", **quick).fit(X, ordered)
    np.testing.assert_allclose(same.coef_, model.coef_)


KINDS = {"poisson": COUNT, "negative_binomial": COUNT, "gamma": TIME, "inverse_gaussian": TIME, "weibull": TIME}


@pytest.mark.parametrize("response", cases(KINDS, ["poisson", "inverse_gaussian", "weibull"]))
def test_numbers_of_every_kind(response):
    y = KINDS[response]
    model = SLDARegressor(K, cross_fit=0, response=response, max_iter=25).fit(X, y)
    predicted = model.predict(X)
    assert np.corrcoef(np.log(predicted), LINE)[0, 1] > 0.95
    assert np.average(predicted) == pytest.approx(np.average(y), rel=0.15)
    mean, low, high = model.predict(X, return_interval=0.9)
    assert 0.8 < np.mean((low <= y) & (y <= high)) <= 0.99 and np.all(low <= mean) and np.all(mean <= high)
    shift = {"poisson": 0.5, "negative_binomial": 0.5}.get(response, 0.0)
    np.testing.assert_allclose(np.sort(model.intercept_ + model.coef_), shift + np.array([-2.0, 0.0, 2.0]), atol=0.6)
    plain = SLDARegressor(K, cross_fit=0, response="gaussian", max_iter=25).fit(X, y)
    assert model.log_density(X, y).mean() > plain.log_density(X, y).mean()


def test_several_numbers_at_once_some_missing():
    y = np.column_stack([NUMBER, COUNT.astype(float)])
    y[::4, 0], y[1::4, 1] = np.nan, np.nan
    model = SLDARegressor(K, cross_fit=0, response=["gaussian", "poisson"], max_iter=20).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == (D, 2) and model.coef_.shape == (2, K) and model.dispersion_.shape == (2,)
    missing = np.isnan(y)
    assert np.corrcoef(predicted[missing[:, 0], 0], NUMBER[missing[:, 0]])[0, 1] > 0.9
    assert np.corrcoef(predicted[missing[:, 1], 1], np.exp(LINE[missing[:, 1]]))[0, 1] > 0.9
    named = SLDARegressor(K, cross_fit=0, response={"n": "gaussian", "c": "poisson"}, max_iter=20).fit(
        X, pd.DataFrame(y, columns=["n", "c"])
    )
    np.testing.assert_array_equal(named.coef_, model.coef_)


def test_mixed_kinds_in_one_frame(tmp_path):
    y = pd.DataFrame({"number": NUMBER, "class": CLASSES, "grade": GRADES})
    kinds = {"number": "auto", "class": "auto", "grade": "ordinal"}
    model = TopicModel(K, response=kinds, max_iter=20, cross_fit=2).fit(X, y)
    predicted = model.predict(X)
    assert list(predicted) == ["number", "class", "grade"] and list(model.classes_) == ["class", "grade"]
    assert np.corrcoef(predicted["number"], NUMBER)[0, 1] > 0.9 and (predicted["class"] == CLASSES).mean() > 0.9
    assert list(model.coef_.index) == ["number", "class a", "class b", "class c", "grade"]
    assert model.score(X, y) > 0.8
    model.save(tmp_path / "m.supertopic")
    pd.testing.assert_frame_equal(load(tmp_path / "m.supertopic").predict(X), predicted)
    with pytest.raises(ValueError, match="response: got no entry for the column 'class' of y, but entries for "):
        TopicModel(K, response={"number": "auto"}).fit(X, y)


def test_covariates_take_what_is_theirs():
    extra = RNG.normal(size=(D, 2))
    y = NUMBER + extra @ np.array([1.5, -0.7])
    model = SLDARegressor(K, cross_fit=0, max_iter=20).fit(X, y, covariates=extra)
    np.testing.assert_allclose(model.covariate_coef_[0], [1.5, -0.7], atol=0.1)
    assert model.score(X, y, covariates=extra) > 0.93 > SLDARegressor(K, cross_fit=0, max_iter=20).fit(X, y).score(X, y)
    with pytest.raises(ValueError, match="covariates: got 0 columns, expected 2 as in fit"):
        model.predict(X)
    with pytest.raises(ValueError, match="covariates: got NaN or infinity"):
        model.predict(X, covariates=np.full((D, 2), np.nan))
    counts = SLDARegressor(K, cross_fit=0, response="poisson", max_iter=20).fit(X, COUNT, covariates=extra)
    np.testing.assert_allclose(counts.covariate_coef_, 0.0, atol=0.2)


def test_class_weight_moves_the_border():
    few = np.where(CLASSES == "a", 1, 0)
    plain = SLDAClassifier(K, cross_fit=0, max_iter=15).fit(X, few)
    heavy = SLDAClassifier(K, cross_fit=0, max_iter=15, class_weight={0: 1.0, 1: 20.0}).fit(X, few)
    assert heavy.predict(X).sum() > plain.predict(X).sum()
    balanced = SLDAClassifier(K, cross_fit=0, max_iter=15, class_weight="balanced").fit(X, few)
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()


def test_supervision_is_chosen_on_the_training_documents():
    model = SLDARegressor(K, cross_fit=0, supervision="auto", max_iter=5).fit(X, NUMBER)
    assert model.inference_ == "pc"
    grid, tried = [1.0, 3.0, 10.0, 30.0, 100.0], list(model.supervision_scores_)
    assert tried == grid[: len(tried)] and len(tried) == min(grid.index(model.supervision_) + 2, 5)
    em = SLDARegressor(K, cross_fit=0, supervision="auto", max_iter=5, inference="vb").fit(X, NUMBER)
    assert list(em.supervision_scores_) == grid
    assert model.supervision_scores_[model.supervision_] >= model.supervision_scores_[1.0]
    fixed = SLDARegressor(K, cross_fit=0, supervision=model.supervision_, max_iter=5).fit(X, NUMBER)
    np.testing.assert_array_equal(fixed.coef_, model.coef_)
    with pytest.raises(ValueError, match="supervision: got 'much', expected a number >= 0, or 'auto'"):
        SLDARegressor(K, cross_fit=0, supervision="much").fit(X, NUMBER)


def test_a_higher_weight_is_taken_where_it_gains_more_than_noise():
    noise = np.array([[0.50, 0.52, 0.49], [0.50, 0.47, 0.51], [0.50, 0.52, 0.51]])
    assert supervision._best(noise) == 0
    assert supervision._best(noise + np.array([0.0, 0.1, 0.1])) == 1
    assert supervision._best(noise + np.array([0.0, 0.1, 0.3])) == 2


def test_choosing_supervision_costs_about_two_fits(monkeypatch):
    steps, fit = [], supervised.fit

    def count(spec, training, *given, **options):
        found = fit(spec, training, *given, **options)
        steps.append(len(found.trace) * len(training.y))
        return found

    monkeypatch.setattr(supervised, "fit", count)
    monkeypatch.setattr(supervision, "fit", count)
    SLDARegressor(K, inference="vb", supervision="auto", max_iter=12, tol=0, cross_fit=0).fit(X, NUMBER)
    assert len(steps) == 16 and sum(steps[:-1]) <= 2 * steps[-1]
    steps.clear()
    model = SLDARegressor(K, inference="pc", supervision="auto", max_iter=12, cross_fit=0).fit(X, NUMBER)
    assert len(steps) == 3 * len(model.supervision_scores_) + 1  # two thirds of a fit each, until one is no better


def test_restarts_keep_the_highest_bound():
    alone = [SLDARegressor(K, cross_fit=0, max_iter=4, tol=0, random_state=seed).fit(X, NUMBER) for seed in (5, 6, 7)]
    best = SLDARegressor(K, cross_fit=0, max_iter=4, tol=0, random_state=5, inference=PC(n_init=3)).fit(X, NUMBER)
    assert best.bound_[-1] == max(model.bound_[-1] for model in alone)
    uniform = SLDARegressor(K, cross_fit=0, inference=PC(init="uniform"), max_iter=60).fit(X, NUMBER)
    assert uniform.score(X, NUMBER) > 0.5
    assert uniform.bound_[0] < alone[0].bound_[0]


def test_terms_per_token_are_near_and_no_worse():
    shared = SLDARegressor(K, cross_fit=0, inference="vb", max_iter=15, refit=False).fit(X, NUMBER)
    own = SLDARegressor(K, cross_fit=0, max_iter=15, refit=False, inference=VB(per_token=True)).fit(X, NUMBER)
    assert own.bound_[-1] > shared.bound_[-1]
    np.testing.assert_allclose(np.sort(own.coef_), np.sort(shared.coef_), atol=0.15)
    product = SLDARegressor(
        K, cross_fit=0, response="poisson", max_iter=15, refit=False, inference=VB(per_token=True)
    ).fit(X, COUNT)
    assert np.diff(product.bound_).min() > -1e-4


def test_nan_among_text_and_minus_one_on_a_scale():
    some = [label if i % 5 else float("nan") for i, label in enumerate(CLASSES)]
    assert list(SLDAClassifier(K, cross_fit=0, max_iter=2).fit(X, some).classes_) == ["a", "b", "c"]
    scale = np.clip(np.rint(LINE), -2, 2).astype(int)
    assert list(SLDAClassifier(K, cross_fit=0, response="softmax", max_iter=2).fit(X, scale).classes_) == [
        -2,
        -1,
        0,
        1,
        2,
    ]
    codes = np.where(np.arange(D) % 5 == 0, -1, SHARES.argmax(axis=1))
    assert list(SLDAClassifier(K, cross_fit=0, response="softmax", max_iter=2).fit(X, codes).classes_) == [-1, 0, 1, 2]


def test_words_join_the_topics(tmp_path):
    """A word that is independent of the topics determines y, so topics alone cannot predict it."""
    counts = sp.hstack([X, sp.csr_matrix(RNG.random((D, 1)) < 0.3).astype(np.float32)]).tocsr()
    y = NUMBER + 2.0 * counts[:, -1].toarray().ravel()
    plain = SLDARegressor(K, cross_fit=0, max_iter=15).fit(counts[:300], y[:300])
    model = SLDARegressor(K, cross_fit=0, max_iter=15, words=True).fit(counts[:300], y[:300])
    assert model.score(counts[300:], y[300:]) > plain.score(counts[300:], y[300:]) + 0.15
    assert model.word_coef_.shape == (1, V + 1) and model.word_coef_[0].argmax() == V
    own, without = model.fitted_.state.dispersion, plain.fitted_.state.dispersion
    np.testing.assert_array_equal(own[1:], without[1:])  # not the pilot's units
    assert model.predict(counts[:300]).mean() == pytest.approx(y[:300].mean(), abs=0.01 * y.std())
    frame = model.explain(counts[0])
    assert model.intercept_ + frame["contribution"].sum() == pytest.approx(model.predict(counts[:1])[0], rel=1e-4)
    model.save(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(load(tmp_path / "m.supertopic").predict(counts), model.predict(counts))
    classes = SLDAClassifier(K, cross_fit=0, max_iter=10, words=True).fit(counts[:300], (y > 0)[:300])
    assert classes.score(counts[300:], (y > 0)[300:]) > 0.85
    numbers = SLDARegressor(K, cross_fit=0, response="poisson", max_iter=10, words=True).fit(X, COUNT)
    assert numbers.predict(X).mean() == pytest.approx(COUNT.mean(), rel=0.03)
    few = np.where(np.arange(D) < 12, 20 * COUNT, np.nan)  # too few to hold some out: topics are trusted by half …
    some = SLDARegressor(K, cross_fit=0, response="poisson", max_iter=3, words=True).fit(X, few)
    assert some.predict(X[:12]).mean() == pytest.approx(20 * COUNT[:12].mean(), rel=0.1)  # … and keep their level
    with pytest.raises(ValueError, match="words: got True with refit=False"):
        SLDARegressor(K, words=True, refit=False).fit(X, NUMBER)
    with pytest.raises(ValueError, match="words: a canonical link"):
        SLDARegressor(K, cross_fit=0, words=True, response="gamma:canonical").fit(X, COUNT + 1)


@pytest.mark.parametrize("response", ["gaussian", "gamma", "weibull", "poisson"])
def test_linear_predictors_in_the_units_of_another_fit(response):
    """A response standardises y with the given labels; predictions do not depend on the units."""
    y, kind = (NUMBER if response == "gaussian" else COUNT + 1.0), {"response": response, "max_iter": 5}
    pilot = SLDARegressor(K, cross_fit=0, **kind).fit(X, np.where(np.arange(D) % 4, y, np.nan), covariates=LINE)
    whole = SLDARegressor(K, cross_fit=0, **kind).fit(X, y, covariates=LINE)
    training = Training(as_corpus(X), y, np.ones(D), np.asarray(LINE, dtype=float).reshape(D, -1), Known(D))
    documents, scale = finish._scored(pilot.fitted_, training), word_scale(X)
    step = LikelihoodWords(pilot.fitted_.spec.response)
    own, new = (step._problem(documents, scale, model.fitted_.state.dispersion) for model in (pilot, whole))
    (_, part), none = pilot.fitted_.spec.parts[0], np.zeros(D)
    users = [
        part.response.unscale((labels.topics + labels.others)[:, 0], none, labels.dispersion)[0]
        for labels in (own, new)
    ]
    np.testing.assert_allclose(users[1], users[0], rtol=1e-6, atol=1e-6)
    moved = np.abs(new.topics - own.topics).max()
    assert moved == 0 if response == "poisson" else moved > 1e-4


def test_density_of_labels_that_lack_a_class():
    """New labels are indices of the classes of the fit, and do not change the model."""
    model = SLDAClassifier(K, cross_fit=0, max_iter=10).fit(X, CLASSES)
    rows = np.flatnonzero(CLASSES != "a")
    expected = np.log(
        model.predict_proba(X[rows])[np.arange(len(rows)), np.searchsorted(["a", "b", "c"], CLASSES[rows])]
    )
    found = model.log_density(X[rows], CLASSES[rows])
    assert list(model.classes_) == ["a", "b", "c"]
    np.testing.assert_allclose(found, expected, atol=0.35)
    assert np.corrcoef(found, expected)[0, 1] > 0.98
    with pytest.raises(ValueError, match="y holds the class 'd', which is none of the 3 known ones"):
        model.log_density(X[:2], ["a", "d"])


def test_missing_classes_are_not_scored_when_supervision_is_chosen():
    """A missing label is not a class: no model could predict it, and it would count as an error."""
    codes = SHARES.argmax(axis=1)
    half = np.where(np.arange(D) % 2 == 0, np.nan, codes)
    model = SLDAClassifier(K, cross_fit=0, supervision="auto", max_iter=5).fit(X, half)
    assert max(model.supervision_scores_.values()) > 0.8


@pytest.mark.parametrize("inference", ["vb", "pc"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_refit_of_few_classes_goes_on_to_the_end(n_classes, inference):
    """The gradient of the posterior is zero there, also where classes are far apart and coefficients are large."""
    y = (LINE > 0).astype(int) if n_classes == 2 else SHARES.argmax(axis=1)
    model = SLDAClassifier(K, response="softmax", inference=inference, max_iter=5, cross_fit=0).fit(X, y)
    training = Training(as_corpus(X), y.astype(float), np.ones(D), np.zeros((D, 0)), Known(D))
    shares, coef = shares_without_y(model.fitted_, training), model.fitted_.state.coef
    score = shares @ coef.T.astype(float)
    probabilities = np.exp(score - score.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    slopes = (np.eye(n_classes)[y] - probabilities).T @ shares
    gradient = slopes + model.fitted_.spec.model.coef_prior.gradient(coef)
    assert np.abs(gradient).max() < 0.01
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-6)
    assert np.all(model.coef_std_ > 0)
