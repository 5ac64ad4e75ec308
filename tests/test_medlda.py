"""MedLDA: its steps against the naive Lagrangian, its objective, and the estimators."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression

from supertopic import CVB0, LDA, VB, MedLDAClassifier, MedLDARegressor, load
from supertopic.backends.threads import Threads
from supertopic.checkpoint import Checkpoint
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.documents.corpus import EmptyDocumentWarning
from supertopic.fitted.spec import Schema
from supertopic.inference.batches import Batch, continue_from
from supertopic.inference.design import Design
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.m_step_margin import fit_margin
from supertopic.model import State
from supertopic.responses.margin import EpsilonInsensitive, Hinge, Solution
from tests.naive_medlda import document_lagrangian, regression_objective

FITS = {
    "slda": (MedLDARegressor, {"likelihood": "slda", "C": 1.0}),
    "lda": (MedLDARegressor, {"likelihood": "lda", "C": 3.0}),
    "two": (MedLDAClassifier, {"C": 1.0, "cost": 8.0}),
    "three": (MedLDAClassifier, {"C": 1.0, "cost": 8.0}),
    "one slack": (MedLDAClassifier, {"C": 1.0, "cost": 8.0, "slack": "1"}),
}


def drawn(name, n_documents=250, seed=2):
    response = "gaussian" if name in ("slda", "lda") else "logit" if name == "two" else "softmax"
    coef = {"gaussian": None, "logit": np.array([-6.0, 6.0, -2.0, 2.0]), "softmax": 8 * np.eye(3, 4)}[response]
    data = simulate(n_documents, 4, n_words=80, mean_length=40, response=response, coef=coef, seed=seed)
    return data.counts.counts, data.y


@pytest.fixture(params=FITS)
def name(request):
    return request.param


def build(name, **params):
    kind, own = FITS[name]
    return kind(4, **{"max_iter": 8, "tol": 0.0, "inference": "vb", **own, **params})


@pytest.fixture(scope="module")
def fitted():
    return {name: build(name).fit(*drawn(name)) for name in FITS}


def model_for(estimator, y):
    """The Model that an estimator's parameters describe for these labels."""
    read = estimator._read_y(y, len(y))
    return estimator._model(Schema(read.targets, read.classes))


# --- the steps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["slda", "lda", "two", "three"])
def test_e_step_maximises_the_lagrangian(name):
    """The topic counts of tiny documents are those of the optimal phi, found by a general optimiser."""
    rng = np.random.default_rng(5)
    counts = sp.csr_matrix(np.array([[2, 0, 0, 3], [0, 4, 1, 0], [1, 0, 1, 0]], dtype=np.float32))
    model = build(name)
    y = np.array([0.0, 1.0, 2.0 if name == "three" else 0.0])
    model = model_for(model, y)
    n_columns = model.response.n_columns
    dispersion = np.array([0.3, 0.0, 1.0]) if model.response.n_dispersion else np.zeros(0)
    cov = np.zeros((0, 4, 4), dtype=np.float32)
    if name == "slda":
        root = rng.normal(size=(1, 4, 4))
        cov = (0.1 * root @ root.transpose(0, 2, 1)).astype(np.float32)
    weights = rng.dirichlet(np.ones(4), size=4).T.astype(np.float32, order="C")
    coef = 2 * rng.normal(size=(n_columns, 4)).astype(np.float32)
    state = State.first(model, weights, alpha=np.full(4, 0.3), coef=coef, coef_cov=cov, dispersion=dispersion)
    duals = model.coef_step.document_terms(3, n_columns)
    duals.dual = rng.normal(size=(3, n_columns))
    batch = Batch(counts, y, np.array([1.0, 0.5, 2.0]), 4)
    partition = batch.split(1)[0]
    local_step(partition, Threads(1), model, state, weights, LocalLimits(2000, 1e-7), duals)
    found = partition.found
    slope, curvature = model.response.slope_and_curvature(y, found.score, found.moment, dispersion)
    slope, curvature = slope * batch.weight[:, None] + duals.dual, curvature * batch.weight[:, None]
    for d in range(3):
        words = counts[d].indices
        given = (
            counts[d].data.astype(float), np.log(weights[words]), state.alpha, state.coef.astype(float),
            cov.astype(float) if len(cov) else np.zeros((n_columns, 4, 4)), slope[d], curvature[d],
        )  # fmt: skip

        def lost(free, words=words, given=given):
            return -document_lagrangian(softmax(free.reshape(len(words), 4), axis=1), *given)

        best = min(
            (minimize(lost, rng.normal(size=4 * len(words)), method="L-BFGS-B", tol=1e-12) for _ in range(3)),
            key=lambda m: m.fun,
        )
        phi = softmax(best.x.reshape(len(words), 4), axis=1)
        np.testing.assert_allclose(found.doc_topic[d], 0.3 + given[0] @ phi, atol=3e-3)


def test_m_step_of_the_full_regression_maximises_its_objective():
    """No other mean, covariance or variance is better; documents have weights and missing labels."""
    rng = np.random.default_rng(0)
    mean, lengths = rng.dirichlet(np.ones(3), size=40), rng.integers(1, 20, 40).astype(float)
    u = mean @ [3.0, -1.0, 0.0] + rng.normal(size=40)
    u[3] = np.nan
    weight, C, epsilon, scale = rng.choice([0.5, 1.0, 2.0], 40), 2.0, 0.2, 1.5
    response = EpsilonInsensitive(C=C, epsilon=epsilon)
    found = fit_margin(
        response, CoefPrior("normal", scale), Design(mean, lengths, np.zeros((40, 0))), u, weight, np.zeros((1, 3)),
        np.zeros((0, 3, 3)), np.array([1.0, 0.0, 1.0]), turns=200,
    )  # fmt: skip
    coef, cov, variance = found.solution.coef[0], found.coef_cov[0], found.dispersion[0]

    def value(coef, cov, variance):
        return regression_objective(coef, cov, variance, mean, lengths, u, weight, C, epsilon, scale)

    best = value(coef, cov, variance)
    for _ in range(50):
        step = rng.normal(size=3)
        root = np.eye(3) + 0.1 * rng.normal(size=(3, 3))
        assert value(coef + 0.1 * step, cov, variance) < best
        assert value(coef, root @ cov @ root.T, variance) < best
    assert value(coef, cov, 0.95 * variance) < best + 0.02 > value(coef, cov, 1.05 * variance)
    precision = np.linalg.inv(cov)
    known = ~np.isnan(u)
    pull = (weight * u / variance)[known] @ mean[known] + found.solution.dual[:, 0] @ mean
    np.testing.assert_allclose(precision @ coef, pull, rtol=1e-8)
    assert np.all(np.abs(found.solution.dual[:, 0]) <= C * weight + 1e-12)


@pytest.mark.parametrize(("n_classes", "slack"), [(2, "n"), (2, "1"), (3, "n"), (3, "1")])
def test_m_step_of_classes(n_classes, slack):
    """coef = scale² sum_d dual_d x_d, no other coefficients are better, and the loss is the textbook loss."""
    rng = np.random.default_rng(1)
    x, y = rng.dirichlet(np.ones(4), size=60), rng.integers(0, n_classes, 60).astype(float)
    y[:5] = np.nan
    weight, prior = rng.choice([0.5, 1.0, 2.0], 60), CoefPrior("normal", 1.7)
    response = Hinge(n_classes, C=0.7, cost=5.0, slack=slack)
    design = Design(x, np.full(60, np.inf), np.zeros((60, 0)))
    start = np.zeros((response.n_columns, 4))
    nothing = np.zeros(0)
    found = fit_margin(response, prior, design, y, weight, start, np.zeros((0, 4, 4)), nothing).solution
    np.testing.assert_allclose(found.coef, 1.7**2 * found.dual.T @ x, rtol=1e-6, atol=1e-6)
    assert not found.dual[:5].any()

    def value(coef):
        total = 0.5 * (coef**2).sum() / 1.7**2
        for d in range(5, 60):
            s = x[d] @ coef.T
            if n_classes == 2:
                loss = max(0.0, 5.0 - (1 if y[d] == 1 else -1) * s[0])
            else:
                loss = max((5.0 if c != y[d] else 0.0) - s[int(y[d])] + s[c] for c in range(n_classes))
            total += 0.7 * weight[d] * loss
        return total

    score = x @ found.coef.T
    loss = -float(weight @ response.log_density(y, score, score**2, nothing))
    best = value(found.coef)
    np.testing.assert_allclose(0.5 * (found.coef**2).sum() / 1.7**2 + loss, best)
    for _ in range(50):
        assert value(found.coef + 0.3 * rng.normal(size=start.shape)) > best - 3e-3 * best
    again = response.solve(x, y, weight, start, np.eye(4)[None] / 1.7**2, nothing, found)
    np.testing.assert_allclose(value(again.coef), best, rtol=3e-3)


def test_documents_are_told_an_average_of_the_duals():
    """The duals of step t have weight 2/(t + 2) in the running average, and at least a tenth."""
    counts, y = drawn("two", 60)
    model = build("two")
    model = model_for(model, y)
    batch = Batch(counts, y.astype(float), np.ones(60), 4)
    rng = np.random.default_rng(0)
    gamma = (0.3 + rng.dirichlet(np.ones(4), 60) * batch.lengths[:, None]).astype(np.float32)
    before = State.first(model, np.ones((80, 4), np.float32), alpha=np.full(4, 0.3))
    step, spread = model.coef_step, Threads(1).spread(batch)
    spread.map(continue_from, gamma, 1)
    spread.partition.found.prior = model.doc_topic_prior.rows(before.alpha, batch)

    def update(state, duals):
        return step.update(model, state, state, None, spread, duals, None, 1.0, 1.0)

    state, first = update(before, step.document_terms(60, 1))
    assert first.n_support.tolist() == [np.count_nonzero(first.dual)] == [first.support.sum()]
    for steps, mix in ((1, 2 / 3), (5, 2 / 7), (50, 0.1)):
        told = replace(first, dual=rng.normal(size=(60, 1)), n_support=np.full(steps, 60))
        start = Solution(state.coef, told.dual)
        design = Design.of(gamma, state.alpha[None], batch.lengths, batch.extra)
        alone = fit_margin(
            model.response, model.coef_prior, design, batch.y, batch.weight, state.coef, state.coef_cov,
            state.dispersion, start,
        ).solution  # fmt: skip
        _, after = update(state, told)
        np.testing.assert_allclose(after.dual, (1 - mix) * told.dual + mix * alone.dual)
        np.testing.assert_array_equal(after.support, alone.dual[:, 0] != 0)
        assert len(after.n_support) == steps + 1


def test_spread_of_the_coefficients_in_the_evidence():
    """E[log p(eta) - log q(eta)] of a normal q, without the constant of the prior's mode, by Monte Carlo."""
    rng = np.random.default_rng(0)
    root, mean, prior = rng.normal(size=(3, 3)), rng.normal(size=3), CoefPrior("normal", 1.5)
    cov = root @ root.T + 0.1 * np.eye(3)
    draws = rng.multivariate_normal(mean, cov, size=400_000)
    q, p = multivariate_normal(mean, cov), multivariate_normal(np.zeros(3), 1.5**2 * np.eye(3))
    found = prior.log_density(mean) + prior.spread_evidence(cov[None].astype(np.float32))
    assert found == pytest.approx(float(np.mean(p.logpdf(draws) - q.logpdf(draws))), abs=0.02)
    assert prior.spread_evidence(np.zeros((0, 3, 3))) == 0


# --- the whole fit ----------------------------------------------------------------------------------------------------


def test_objective_rises_as_far_as_the_one_step_approximation_lets_it(name, fitted):
    """The E-step uses the duals of the previous step, so the objective may sometimes decrease slightly."""
    trace = fitted[name].bound_
    assert trace[-1] > trace[0]
    assert np.diff(trace).min() > -0.1 * (trace.max() - trace.min())


@pytest.mark.parametrize("name", ["lda", "two", "three", "one slack"])
@pytest.mark.parametrize("inference", [VB, CVB0])
def test_objective_is_the_words_bound_less_the_losses(name, inference):
    """For topics before any supervision, the words' bound is LDA's bound at the same topics."""
    counts, y = drawn(name)
    alike = {"max_iter": 1, "doc_topic_prior": 0.5, "inference": inference(doc_tol=1e-2)}
    model = build(name, refit=False, **alike).fit(counts, y)
    plain = LDA(4, topic_word_prior=0.05, tol=0.0, **alike).fit(counts)
    if name == "lda":
        u = (y - y.mean()) / y.std()
        loss = 3.0 * np.maximum(np.abs(u) - 0.1, 0).sum()
    else:
        loss = 8.0 * len(y)
    np.testing.assert_allclose(model.bound_[0], plain.bound_[0] - loss / counts.sum(), rtol=1e-5)


@pytest.mark.parametrize("inference", [VB, CVB0])
def test_no_loss_is_no_supervision(name, inference):
    counts, y = drawn(name)
    if name == "slda":
        return
    alike = {"max_iter": 8, "doc_topic_prior": 0.5, "inference": inference(doc_tol=1e-4, max_doc_iter=500)}
    model = build(name, C=0.0, **alike).fit(counts, y)
    plain = LDA(4, topic_word_prior=0.05, tol=0.0, **alike).fit(counts)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-3, atol=1e-6)
    assert len(model.support_) == 0 and not model.n_support_.any()


def test_margin_is_learned(name, fitted):
    """R² or accuracy on new documents is better than without topics, and close to that with known topics."""
    counts, y = drawn(name, 400, seed=2)
    model = build(name, max_iter=20).fit(counts[:250], y[:250])
    floor = 0.6 if name in ("slda", "lda") else np.bincount(y[250:].astype(int)).max() / 150 + 0.1
    assert model.score(counts[250:], y[250:]) > floor


def test_more_cost_serves_the_classes_more():
    counts, y = drawn("three")
    topics = [build("three", cost=cost, max_iter=20).fit(counts, y).doc_topic_ for cost in (0.0, 32.0)]
    plain, served = (LogisticRegression(C=100).fit(shares, y).score(shares, y) for shares in topics)
    assert served >= plain


def test_support_is_who_breaks_the_margin(name, fitted):
    """Support documents have non-zero dual variables; documents that satisfy their margin have none."""
    model = fitted[name]
    assert model.n_support_.shape == (8,) and model.n_support_[-1] == len(model.support_) > 0
    assert np.isin(model.support_, np.flatnonzero(model.dual_coef_.any(axis=1))).all()
    assert len(model.support_) < 250


@pytest.mark.parametrize("name", ["two", "three"])
def test_one_slack_or_many_is_one_model(name):
    counts, y = drawn(name)
    many, one = (build(name, slack=slack, max_iter=1).fit(counts, y) for slack in ("n", "1"))
    assert np.mean(one.predict(counts) == many.predict(counts)) > 0.98
    many, one = (build(name, slack=slack, doc_topic_prior=0.1).fit(counts, y) for slack in ("n", "1"))
    np.testing.assert_allclose(one.bound_, many.bound_, rtol=2e-3)  # the duals of an optimum are not unique


# --- as users meet them -----------------------------------------------------------------------------------------------


def test_decision_is_the_linear_predictor_and_words_add_up_to_it(name, fitted):
    counts, _ = drawn(name)
    model = fitted[name]
    frame = model.explain(counts[:1])
    added = model.intercept_ + frame.filter(like="contribution").sum().to_numpy()
    if name in ("slda", "lda"):
        np.testing.assert_allclose(added, model.predict(counts[:1]), rtol=1e-3)
        return
    values = model.decision_function(counts[:1])
    np.testing.assert_allclose(added, np.ravel(values), rtol=1e-3, atol=1e-3)
    best = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(counts[:1]), model.classes_[best])
    assert not hasattr(model, "predict_proba")


def test_intervals_hold_nine_of_ten():
    counts, y = drawn("lda", 500)
    for name in ("slda", "lda"):
        model = build(name).fit(counts[:250], y[:250])
        _, low, high = model.predict(counts[250:], return_interval=0.9)
        assert 0.84 < np.mean((low <= y[250:]) & (y[250:] <= high)) < 0.96


def test_missing_labels_are_as_good_as_no_weight(name):
    counts, y = drawn(name)
    gone = y.astype(object)
    gone[::3] = None
    weight = np.ones(len(y))
    weight[::3] = 0.0
    if name in ("slda", "lda"):
        gone = gone.astype(float)
    some = build(name, max_iter=4).fit(counts, gone)
    none = build(name, max_iter=4).fit(counts, y, sample_weight=weight)
    np.testing.assert_allclose(some.coef_, none.coef_, rtol=1e-4, atol=1e-4)
    assert not np.isin(some.support_, np.arange(0, len(y), 3)).any()


def test_threads_change_nothing(name):
    counts, y = drawn(name)
    fits = [build(name, n_jobs=n).fit(counts, y) for n in (1, 2, 3)]
    for fit in fits[1:]:
        for attribute in ("components_", "coef_", "bound_", "doc_topic_", "support_", "dual_coef_"):
            np.testing.assert_array_equal(getattr(fit, attribute), getattr(fits[0], attribute))


def test_saving_keeps_everything(name, fitted, tmp_path):
    counts, _ = drawn(name)
    model = fitted[name]
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is type(model) and again.get_params() == model.get_params()
    for attribute in ("coef_", "components_", "bound_", "support_", "n_support_", "dual_coef_"):
        np.testing.assert_array_equal(getattr(again, attribute), getattr(model, attribute))
    np.testing.assert_array_equal(again.predict(counts), model.predict(counts))


class Stop(Exception):
    pass


@pytest.mark.parametrize("n_saves", [1, 4])
def test_interrupted_fit_ends_with_the_same_model(name, n_saves, fitted, tmp_path, monkeypatch):
    counts, y = drawn(name)
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
        build(name, checkpoint=path).fit(counts, y)
    monkeypatch.setattr(Checkpoint, "save", save)
    monkeypatch.setattr(Checkpoint, "due", due)
    resumed = build(name, checkpoint=path, n_jobs=2).fit(counts, y)
    for attribute in ("components_", "coef_", "bound_", "n_support_", "dual_coef_"):
        np.testing.assert_array_equal(getattr(resumed, attribute), getattr(fitted[name], attribute))
    assert not path.exists()


def test_going_on_from_an_earlier_fit(name):
    """The duals are reused for the same documents, and not for others."""
    counts, y = drawn(name)
    model = build(name, max_iter=3, warm_start=True).fit(counts, y)
    first = model.bound_[0]
    assert model.fit(counts, y).bound_[0] > first
    assert len(model.fit(counts[:200], y[:200]).dual_coef_) == 200


def test_text_and_class_weight():
    texts = ["good film good plot", "bad film awful plot", "good good acting", "awful awful bad"] * 10
    y = np.array(["good", "bad", "good", "bad"] * 10)
    model = MedLDAClassifier(3, C=1.0, max_iter=10, class_weight={"good": 2.0, "bad": 1.0}).fit(texts, y)
    assert model.score(["a good film", "an awful film"], ["good", "bad"]) == 1
    assert np.abs(model.dual_coef_[y == "bad"]).max() <= 1 + 1e-9 < 2 + 1e-9
    assert model.top_words(3).shape == (9, 4)


def test_empty_documents_take_part():
    counts, y = drawn("three", 60)
    counts = sp.vstack([counts, sp.csr_matrix((2, 80))]).tocsr().astype(np.float32)
    with pytest.warns(EmptyDocumentWarning, match="get the prior mean: 2 of 62"):
        model = build("three", max_iter=3).fit(counts, np.append(y, [0, 1]))
    assert np.isfinite(model.coef_).all()


def test_a_loss_is_no_density(fitted):
    with pytest.raises(TypeError, match="has a loss, no density of y"):
        fitted["three"].log_density(*drawn("three"))
