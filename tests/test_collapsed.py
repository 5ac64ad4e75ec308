"""inference="cvb0": collapsed inference in the kernels, the emissions and the estimators."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import dirichlet
from sklearn.base import clone

from supertopic import CVB0, LDA, MedLDAClassifier, MedLDARegressor, load
from supertopic.backends.threads import Threads
from supertopic.datasets import simulate
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.kernels import e_step_words as kernel
from supertopic.metrics import align_topics
from tests import naive_collapsed as naive
from tests.cases import cases
from tests.test_kernels_e_step_mean import tilt
from tests.test_kernels_e_step_words import ALPHA, COUNTS, PRIOR, RESPONSES, WEIGHTS, WORDS, K, infer

SMALL = (WORDS, COUNTS.astype(float), WEIGHTS.astype(float), ALPHA.astype(float))


@pytest.mark.parametrize("passes", [1, 4, 30])
def test_the_kernel_is_the_slow_one(passes):
    gamma, phi, bound, done = infer(passes, collapsed=True)
    slow_gamma, slow_phi = naive.infer_document(*SMALL, passes)
    assert done[0] == passes
    np.testing.assert_allclose(gamma[0], slow_gamma, rtol=2e-5)
    np.testing.assert_allclose(phi, slow_phi, rtol=5e-5)
    assert bound[0] == pytest.approx(naive.bound(*SMALL, slow_phi), rel=1e-5)


@pytest.mark.parametrize("passes", [0, 1, 4])
def test_shares_in_two_factors_are_the_same(passes):
    gamma, theta, ratio, bound = np.zeros((1, K), "f4"), np.zeros((1, K), "f4"), np.zeros(3, "f4"), np.zeros(1)
    kernel.infer_plain_documents(
        0, 1, np.array([0, 3], np.int32), WORDS, COUNTS, WEIGHTS, *PRIOR, True, passes, 0.0, True,
        gamma, theta, ratio, bound, np.zeros((3, K), np.float32),
    )  # fmt: skip
    slow_gamma, slow_phi = naive.infer_document(*SMALL, passes)
    np.testing.assert_allclose(gamma[0], slow_gamma, rtol=2e-5)
    np.testing.assert_allclose(ratio[:, None] * theta * WEIGHTS[WORDS] / COUNTS[:, None], slow_phi, rtol=5e-5)
    assert bound[0] == pytest.approx(naive.bound(*SMALL, slow_phi), rel=1e-5)


def test_inference_ends_at_the_mode_and_the_bound_is_what_is_there():
    gamma, _, bound, _ = infer(3000, collapsed=True)
    found = gamma[0] / gamma[0].sum()

    def loss(logits):
        theta = np.exp(logits - logits.max())
        return -naive.log_posterior(*SMALL, theta / theta.sum())

    best = minimize(loss, np.zeros(K), method="BFGS", options={"gtol": 1e-8})
    mode = np.exp(best.x - best.x.max())
    np.testing.assert_allclose(found, mode / mode.sum(), atol=1e-4)
    assert bound[0] == pytest.approx(-best.fun, rel=1e-5)


@pytest.mark.parametrize("name", RESPONSES)
def test_with_a_response_shares_are_stationary(name):
    """A small change of any word's shares does not change the sum of the words' part and the response's part."""
    slope, curvature, coef, is_product = RESPONSES[name]
    out = tilt(*RESPONSES[name], passes=3000, collapsed=True)
    phi = out["phi"].astype(float)
    phi /= phi.sum(axis=1, keepdims=True)
    assert out["bound"][0] == pytest.approx(naive.bound(*SMALL, phi), rel=1e-4)
    assert not np.allclose(phi, infer(3000, collapsed=True)[1], atol=1e-3)  # the response has an effect

    def total(phi):
        n_tokens, mean = COUNTS.sum(), COUNTS @ phi / COUNTS.sum()
        value = naive.bound(*SMALL, phi)
        for c in range(len(coef)):
            row = np.array(coef[c])
            if is_product[c]:
                value += slope[c] * row @ mean - curvature[c] * (np.exp(row / n_tokens) @ mean) ** n_tokens
            else:
                variance = row**2 @ mean - (row @ mean) ** 2
                value += slope[c] * row @ mean - curvature[c] / 2 * ((row @ mean) ** 2 + variance / n_tokens)
        return value

    for j in range(len(WORDS)):
        for k in range(1, K):
            step = np.zeros_like(phi)
            step[j, 0], step[j, k] = 1e-4 * phi[j, 0] * phi[j, k], -1e-4 * phi[j, 0] * phi[j, k]
            assert abs(total(phi + step) - total(phi - step)) / 2e-4 < 5e-4


def test_a_document_without_words_says_nothing():
    out = np.zeros((1, K), np.float32), np.zeros((0, K), np.float32), np.ones(1), np.zeros(1, np.int32)
    empty = (0, 1, np.zeros(2, np.int32), WORDS, COUNTS, WEIGHTS, *PRIOR, True, 5, 0.0, True)
    kernel.infer_documents(*empty, *out, np.zeros((3, K), np.float32))
    np.testing.assert_array_equal(out[0][0], ALPHA)
    assert out[2][0] == 0.0


def test_topics_stand_at_their_mean():
    word_topic = np.random.default_rng(3).gamma(0.5, size=(40, 4)).astype(np.float32) + np.float32(0.25)
    emission = DirichletTopics(0.25, at_mean=True)
    mean = word_topic / word_topic.sum(axis=0, dtype=np.float64)
    with Threads(1) as backend:
        np.testing.assert_allclose(emission.expect(word_topic, backend), mean, rtol=1e-5)
        expected = sum(dirichlet(np.full(40, 1.25)).logpdf(topic / topic.sum()) for topic in mean.T)
        assert emission.evidence(word_topic, backend) == pytest.approx(expected, rel=1e-5)


@pytest.fixture(scope="module")
def lda():
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(100, 0.1), 4)
    counts = np.stack([rng.multinomial(60, share @ topics) for share in rng.dirichlet(np.full(4, 0.3), 500)])
    return topics, counts


def test_the_objective_never_falls_and_topics_are_found(lda):
    topics, counts = lda
    model = LDA(4, inference=CVB0(doc_tol=1e-4, max_doc_iter=500), doc_topic_prior=0.3, max_iter=60, tol=0)
    trace = model.fit(counts).bound_
    assert np.all(np.diff(trace) > -2e-6 * np.abs(trace[1:])) and trace[-1] > trace[0] + 0.001
    order = align_topics(topics, model.components_).order
    assert np.abs(model.components_[order] - topics).sum(axis=1).max() < 0.3
    shares = model.transform(counts)
    slow = naive.infer_document(
        np.flatnonzero(counts[0]), counts[0][counts[0] > 0].astype(float), model.components_.T.astype(float),
        np.full(4, 0.3), 500,
    )[0]  # fmt: skip
    np.testing.assert_allclose(shares[0], slow / slow.sum(), atol=1e-3)


LEARNED = [("symmetric", 0.1, 0.1), ("auto", 0.1, 0.3)]


@pytest.mark.parametrize(
    ("prior", "truth", "within"), cases([*LEARNED, ("symmetric", 0.05, 0.2), ("symmetric", 0.3, 0.3)], LEARNED)
)
def test_a_learned_alpha_is_near_the_truth_and_the_objective_never_falls_once_it_is_held(prior, truth, within):
    """The counts at the mode would give 0.2 for 0.1, and the density at the mode 0."""
    data = simulate(1500, 10, 300, 80, doc_topic_prior=truth, seed=4)
    model = LDA(10, inference="cvb0", doc_topic_prior=prior).fit(data.counts)
    np.testing.assert_allclose(model.alpha_, truth, rtol=within)
    assert 5 < model.n_iter_ < 60
    longer = LDA(10, inference=CVB0(doc_tol=1e-4, max_doc_iter=500), doc_topic_prior=prior, tol=0, max_iter=60)
    trace = longer.fit(data.counts).bound_[30:]  # alpha is held after half of the steps at the latest
    assert np.all(np.diff(trace) > -2e-6 * np.abs(trace[1:]))


MODELS = {
    "classes": MedLDAClassifier(4, inference="cvb0", C=2.0, cost=64.0, max_iter=10),
    "one slack": MedLDAClassifier(4, inference="cvb0", slack="1", max_iter=6),
    "sage": MedLDAClassifier(4, inference="cvb0", emission="sage", max_iter=6),
    "regression": MedLDARegressor(4, inference="cvb0", max_iter=10),
    "regression on LDA": MedLDARegressor(4, inference="cvb0", likelihood="lda", max_iter=10),
}


@pytest.mark.parametrize("name", cases(MODELS, ["classes", "regression"]))
def test_max_margin_fits_predicts_and_comes_back(name, tmp_path):
    response, coef = ("gaussian", None) if "regression" in name else ("softmax", 8 * np.eye(3, 4))
    data = simulate(500, 4, 120, 60, response=response, coef=coef, seed=1)
    counts, y = data.counts.counts, data.y
    model = MODELS[name].set_params(n_jobs=2).fit(counts[:350], y[:350])
    score = model.score(counts[350:], y[350:])
    shuffled = np.random.default_rng(0).permutation(y[:350])
    by_chance = clone(model).fit(counts[:350], shuffled).score(counts[350:], y[350:])
    assert score > by_chance + 0.2
    assert len(model.support_) == model.n_support_[-1] > 0
    alone = clone(model).set_params(n_jobs=1).fit(counts[:350], y[:350])
    np.testing.assert_array_equal(alone.components_, model.components_)
    model.save(tmp_path / "model.supertopic")
    again = load(tmp_path / "model.supertopic")
    np.testing.assert_array_equal(again.predict(counts[350:]), model.predict(counts[350:]))
    np.testing.assert_array_equal(again.transform(counts[350:]), model.transform(counts[350:]))


@pytest.mark.parametrize("kind", [MedLDARegressor, MedLDAClassifier])
def test_what_a_document_says_is_inferred_in_the_same_way_everywhere(kind):
    """The shares used for a prediction are those of `transform`, minus the prior."""
    response, coef = ("gaussian", None) if kind is MedLDARegressor else ("softmax", 8 * np.eye(3))
    data = simulate(200, 3, 80, 50, response=response, coef=coef, seed=2)
    model = kind(3, inference="cvb0", max_iter=8).fit(data.counts, data.y)
    lengths = np.asarray(data.counts.counts.sum(axis=1)).ravel()
    gamma = model.transform(data.counts) * (lengths + model.alpha_.sum())[:, None]
    expected = (gamma - model.alpha_) / lengths[:, None] @ model.coef_.T + model.intercept_
    found = model.predict(data.counts)[:, None] if kind is MedLDARegressor else model.decision_function(data.counts)
    np.testing.assert_allclose(found, np.atleast_2d(expected.T).T, atol=1e-3 * np.abs(model.coef_).max())


def test_exact_steps_are_of_another_engine():
    with pytest.raises(ValueError, match="exact: got True, which needs inference='vb'"):
        MedLDAClassifier(2, inference="cvb0", exact=True).fit(np.eye(4) + 1, [0, 1, 0, 1])
