"""Held-out likelihood: the estimators against exact sums, the split and the completion scorer."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma
from scipy.stats import hypergeom

from supertopic import metrics
from supertopic.fitted.fitted import Vocabulary
from supertopic.kernels import heldout as kernels
from tests import naive_metrics as naive
from tests.cases import marked

RNG = np.random.default_rng(7)
WORD_TOPIC = RNG.dirichlet(np.full(4, 0.5), 3).T.astype(np.float32, order="C")
ALPHA = np.array([0.3, 0.5, 0.2])


def fitted(components, alpha=0.1, **others):
    """The attributes of a fitted estimator that metrics need."""
    model = SimpleNamespace(components_=np.asarray(components), alpha_=alpha, **others)
    model.fitted_ = Vocabulary(model.components_.shape[1], vectorizer=others.get("vectorizer_"))
    return model


def random_counts(n_docs, n_words, mean, rng=RNG):
    return sp.csr_matrix(rng.poisson(mean, (n_docs, n_words)).astype(np.float32))


# ------------------------------------------------------------------ estimates of p(w)


@pytest.mark.parametrize(
    ("method", "options", "repeats"),
    [
        ("left_to_right", {"n_particles": 1}, 40_000),
        ("left_to_right", {"n_particles": 4}, 20_000),
        ("chib", {"n_samples": 1}, 100_000),
        ("chib", {"n_samples": 8}, 40_000),
    ],
)
@pytest.mark.parametrize(
    ("counts", "n_topics"), [([2, 0, 1, 2], 3), marked(([1, 1, 1, 0], 3)), marked(([3, 0, 0, 2], 2))]
)
def test_estimates_are_unbiased(method, options, repeats, counts, n_topics, monkeypatch):
    monkeypatch.setattr(metrics.heldout, "STARTS", 2)
    monkeypatch.setattr(metrics.heldout, "SWEEPS", 5)
    monkeypatch.setattr(metrics.heldout, "BLOCK", 2)
    word_topic, alpha = WORD_TOPIC[:, :n_topics], ALPHA[:n_topics]
    exact = naive.document_probability(word_topic, alpha, np.repeat(np.arange(4), counts))
    # the same document many times: each row has different uniforms
    documents = sp.csr_matrix(np.tile(np.float32(counts), (repeats, 1)))
    scored = metrics.log_likelihood(word_topic, alpha, documents, method, random_state=1, **options)
    estimates = np.exp(scored.log_likelihood)
    error = estimates.std() / np.sqrt(repeats)
    assert error < 0.03 * exact
    assert abs(estimates.mean() - exact) < 4 * error
    assert np.all(scored.n_tokens == sum(counts))


@pytest.mark.parametrize(
    ("alpha", "word_topic", "fixed_z", "block", "n_samples"),
    [
        # chosen by enumeration: sweeps in order before the middle would shift the mean by 11 % of a standard deviation
        ([0.03, 0.03], [[0.211, 0.003], [0.452, 0.977], [0.108, 0.007]], [1, 0, 0], 2, 2),
        # ... and a first draw of the block in order would shift it by 28 %
        ([0.05, 0.93], [[0.648, 0.516], [0.193, 0.472], [0.138, 0.001]], [0, 1, 0], 3, 1),
        ([0.3, 0.5, 0.2], WORD_TOPIC, [2, 0, 1, 1], 2, 1),
        ([0.3, 0.5, 0.2], WORD_TOPIC, [0, 1, 1], 1, 3),
    ],
)
def test_chib_through_any_assignment(alpha, word_topic, fixed_z, block, n_samples):
    alpha, word_topic, fixed_z = np.array(alpha), np.array(word_topic, dtype=float), np.array(fixed_z)
    tokens, repeats = np.arange(len(fixed_z)), 40_000
    mean, square = naive.chib_moments(word_topic, alpha, tokens, fixed_z, block, n_samples)
    assert mean == pytest.approx(naive.document_probability(word_topic, alpha, tokens), rel=1e-10)
    z, middle = np.empty((2, len(tokens)), np.int64)
    prior_count, middle_count, joint = np.empty((3, len(alpha)))
    keys = np.random.default_rng(0).integers(2**63, size=repeats, dtype=np.uint64)
    p = np.exp([
        kernels.through_assignment(
            len(tokens), alpha, block, fixed_z, z, middle, prior_count, middle_count, word_topic, tokens, joint,
            np.empty(n_samples), key, 0,
        )
        for key in keys
    ])  # fmt: skip
    assert abs(p.mean() - mean) < 4 * p.std() / np.sqrt(repeats)
    assert abs((p**2).mean() - square) < 4 * (p**2).std() / np.sqrt(repeats)


def test_chib_hardly_varies_where_topics_are_hard_to_tell_apart():
    # small alpha and topics with mostly the same words: sweeps hardly leave the topics they start with
    rng = np.random.default_rng(5)
    background, deviations = rng.dirichlet(np.full(300, 0.5)), rng.normal(0, 1, (8, 300)) * (rng.random((8, 300)) < 0.1)
    word_topic = (background * np.exp(deviations)).T
    word_topic /= word_topic.sum(axis=0)
    documents = np.stack([rng.multinomial(120, word_topic @ rng.dirichlet(np.full(8, 0.05))) for _ in range(20)])
    alpha = np.full(8, 0.05)
    runs = [metrics.log_likelihood(word_topic, alpha, documents, "chib", n_samples=50, random_state=s)[0]
            for s in range(5)]  # fmt: skip
    sure = metrics.log_likelihood(word_topic, alpha, documents, "left_to_right", n_particles=200)[0]
    # one start only: 0.75 and -0.04; starts of a few sweeps: 1.5 and -1.6; one block: 0.51 and -0.12. Too low is the
    # only way in which the logarithm of an unbiased estimate can err on average
    assert np.std(runs, axis=0).mean() < 0.6
    assert (np.mean(runs, axis=0) - sure).mean() > 0


@pytest.mark.parametrize("method", ["left_to_right", "chib"])
def test_one_token_is_exact(method):
    scored = metrics.log_likelihood(WORD_TOPIC, ALPHA, np.eye(4), method, n_samples=5000)
    # in both cases there is nothing to average over
    np.testing.assert_allclose(scored.log_likelihood, np.log(WORD_TOPIC @ (ALPHA / ALPHA.sum())), atol=1e-6)


@pytest.mark.parametrize("method", ["left_to_right", "chib", "completion"])
def test_empty_and_impossible_documents(method):
    word_topic = np.array([[0.5, 0.25], [0.5, 0.75], [0.0, 0.0]])
    scored = metrics.log_likelihood(word_topic, 0.5, [[0, 0, 0], [2, 1, 0], [0, 0, 3]], method)
    assert scored.log_likelihood[0] == 0 and scored.n_tokens[0] == 0
    assert np.isfinite(scored.log_likelihood[1])
    assert scored.log_likelihood[2] == -np.inf


def test_a_topic_that_cannot_make_a_word():
    word_topic = np.array([[1.0, 0.5], [0.0, 0.5]])
    exact = naive.document_probability(word_topic, ALPHA[:2], [0, 0, 1, 1])
    for method in ("left_to_right", "chib"):
        documents = np.tile([2, 2], (20_000, 1))
        p = np.exp(metrics.log_likelihood(word_topic, ALPHA[:2], documents, method, n_samples=20)[0])
        assert abs(p.mean() - exact) < 4 * p.std() / np.sqrt(len(p))


@pytest.mark.parametrize("method", ["completion", "left_to_right", "chib"])
@pytest.mark.parametrize("membership", ["mixed", "single"])
def test_same_for_any_number_of_threads(method, membership):
    counts = random_counts(23, 4, 2.0)
    runs = [
        metrics.log_likelihood(WORD_TOPIC, ALPHA, counts, method, membership=membership, n_samples=50, n_jobs=n_jobs)
        for n_jobs in (1, 2, 3, -1, 10**20)
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.log_likelihood, runs[0].log_likelihood)
    other_seed = metrics.log_likelihood(WORD_TOPIC, ALPHA, counts, method, random_state=5, n_samples=50)
    assert not np.array_equal(other_seed.log_likelihood, runs[0].log_likelihood)


# ------------------------------------------------------------------ completion


def test_exp_digamma():
    x = np.logspace(-1.2, 5, 500).astype(np.float32)
    out = np.empty_like(x)
    kernels.exp_digamma(x, out, np.empty(len(x), np.int32))
    np.testing.assert_allclose(out, np.exp(digamma(x.astype(float))), rtol=1e-5)
    x[:] = 1e-3  # exp(psi) = exp(-1000): zero, not NaN
    kernels.exp_digamma(x, out, np.empty(len(x), np.int32))
    assert np.all((out >= 0) & (out < 1e-30))


def test_completion_is_the_variational_predictive(monkeypatch):
    monkeypatch.setattr(metrics.heldout, "TOLERANCE", 1e-6)
    monkeypatch.setattr(metrics.heldout, "MAX_PASSES", 5000)
    word_topic = RNG.dirichlet(np.full(12, 0.3), 3).T
    observed, heldout = (random_counts(30, 12, 1.5) for _ in range(2))
    expected = [
        naive.completion(word_topic, ALPHA, o, h) for o, h in zip(observed.toarray(), heldout.toarray(), strict=True)
    ]
    score = metrics.score_completion(word_topic, ALPHA, observed, heldout)
    assert score == pytest.approx(-np.sum(expected) / heldout.sum(), abs=1e-5)


def test_default_tolerance_is_near_convergence(monkeypatch):
    word_topic = RNG.dirichlet(np.full(200, 0.05), 20).T
    observed, heldout = metrics.completion_split(random_counts(40, 200, 0.5), 0)
    score = metrics.score_completion(word_topic, 0.1, observed, heldout)
    monkeypatch.setattr(metrics.heldout, "TOLERANCE", 1e-7)
    monkeypatch.setattr(metrics.heldout, "MAX_PASSES", 5000)
    assert score == pytest.approx(metrics.score_completion(word_topic, 0.1, observed, heldout), abs=3e-3)


def test_split_halves_token_by_token():
    counts = random_counts(200, 30, 1.3)
    observed, heldout = metrics.completion_split(counts, 3)
    np.testing.assert_array_equal((observed + heldout).toarray(), counts.toarray())
    lengths = counts.sum(axis=1)
    np.testing.assert_array_equal(observed.sum(axis=1), lengths // 2)
    assert np.all(observed.data == np.floor(observed.data)) and np.all(observed.data > 0)
    again, _ = metrics.completion_split(counts, 3)
    np.testing.assert_array_equal(again.toarray(), observed.toarray())
    # keyed by the document: a later document does not change an earlier one
    first, _ = metrics.completion_split(counts[:20], 3)
    np.testing.assert_array_equal(first.toarray(), observed[:20].toarray())
    other, _ = metrics.completion_split(counts, 4)
    assert (other != observed).nnz > 0


def test_split_gives_every_token_the_same_chance():
    n = 20_000
    observed, _ = metrics.completion_split(np.tile([1, 3, 1, 2], (n, 1)), 0)
    # hypergeometric: 3 of 7 tokens are observed
    mean, expected = observed.toarray().mean(axis=0), np.array([1, 3, 1, 2]) * 3 / 7
    np.testing.assert_allclose(mean, expected, atol=4 * np.sqrt(0.5 / n))


def test_split_of_large_counts_is_hypergeometric_and_quick():
    counts = np.tile([70_000, 3, 200_000], (4000, 1))
    observed, heldout = (half.toarray().astype(np.float64) for half in metrics.completion_split(counts, 0))
    np.testing.assert_array_equal(observed + heldout, counts)
    np.testing.assert_array_equal(observed.sum(axis=1), 270_003 // 2)
    expected = hypergeom(270_003, 70_000, 270_003 // 2)
    assert observed[:, 0].mean() == pytest.approx(expected.mean(), abs=4 * expected.std() / np.sqrt(4000))
    assert observed[:, 0].std() == pytest.approx(expected.std(), rel=0.05)
    start = time.process_time()
    observed, heldout = metrics.completion_split([[1e9, 1, 99_999.5], [1e9, 0, 0], [1e9, 1e9, 1e9]], 0)
    assert time.process_time() - start < 1
    assert observed.data.min() > 0 and heldout.data.min() > 0
    np.testing.assert_allclose(observed.sum(axis=1).ravel(), [[5.0005e8, 5e8, 1.5e9]], rtol=1e-6)
    np.testing.assert_allclose((observed + heldout).toarray()[0], [1e9, 1, 99_999.5], rtol=1e-6)


@pytest.mark.parametrize("method", ["left_to_right", "chib"])
def test_documents_that_take_for_ever_are_refused(method):
    with pytest.raises(ValueError, match=f"method='{method}': X has a document of 1,000,002 tokens, and the time"):
        metrics.log_likelihood(WORD_TOPIC, ALPHA, [[1e6, 2, 0, 0], [1, 1, 0, 0]], method)


def test_split_of_short_and_fractional_documents():
    observed, heldout = metrics.completion_split([[0, 0], [1, 0], [1, 1], [2.5, 0.25]], 0)
    np.testing.assert_array_equal(heldout[:2].toarray(), [[0, 0], [1, 0]])
    assert observed[2].sum() == heldout[2].sum() == 1
    np.testing.assert_allclose((observed + heldout).toarray()[3], [2.5, 0.25])
    assert observed[3].nnz > 0 and heldout[3].nnz > 0
    scored = metrics.log_likelihood(WORD_TOPIC, ALPHA, [[1, 0, 0, 0]])
    assert scored.log_likelihood[0] == pytest.approx(np.log(WORD_TOPIC[0] @ (ALPHA / ALPHA.sum())), abs=1e-6)


def test_true_topics_beat_wrong_ones():
    rng = np.random.default_rng(0)
    components = rng.dirichlet(np.full(100, 0.1), 5)
    theta = rng.dirichlet(np.full(5, 0.2), 200)
    X = sp.csr_matrix(np.array([rng.multinomial(80, p / p.sum()) for p in theta @ components]))
    right, wrong = fitted(components, 0.2), fitted(rng.dirichlet(np.full(100, 0.1), 5) + 1e-3, 0.2)
    wrong.components_ /= wrong.components_.sum(axis=1, keepdims=True)
    for method in ("completion", "left_to_right", "chib"):
        options = {"n_particles": 5, "n_samples": 200, "n_jobs": 2}
        good, bad = (metrics.perplexity(m, X[:20], method, **options) for m in (right, wrong))
        assert good < 60 < 100 < bad


def test_left_to_right_and_chib_agree():
    rng = np.random.default_rng(1)
    components = rng.dirichlet(np.full(50, 0.2), 4)
    theta = rng.dirichlet(np.full(4, 0.5), 5)
    X = sp.csr_matrix(np.array([rng.multinomial(15, p / p.sum()) for p in theta @ components]))
    documents, estimates = sp.vstack([X] * 400), []
    for method in ("left_to_right", "chib"):
        scored = metrics.log_likelihood(components.T, 0.5, documents, method, n_particles=20, n_samples=200)
        estimates.append(np.exp(scored.log_likelihood.reshape(400, 5)))
    left, chib = estimates
    error = np.sqrt((left.var(axis=0) + chib.var(axis=0)) / 400)
    assert np.all(error < 0.1 * left.mean(axis=0))
    assert np.all(np.abs(left.mean(axis=0) - chib.mean(axis=0)) < 4 * error)


# ------------------------------------------------------------------ one topic per document


def test_mixture_of_categoricals_is_exact():
    counts = random_counts(25, 4, 1.5).toarray()
    weight = ALPHA / ALPHA.sum()
    joint = [naive.mixture_probability(WORD_TOPIC.astype(float), weight, c) for c in counts]
    for method in ("left_to_right", "chib"):
        scored = metrics.log_likelihood(WORD_TOPIC, ALPHA, counts, method, membership="single")
        np.testing.assert_allclose(scored.log_likelihood, np.log(joint), rtol=1e-6, atol=1e-9)
    observed, _ = metrics.completion_split(counts, 0)
    given = [naive.mixture_probability(WORD_TOPIC.astype(float), weight, c) for c in observed.toarray()]
    scored = metrics.log_likelihood(WORD_TOPIC, ALPHA, counts, membership="single")
    np.testing.assert_allclose(scored.log_likelihood, np.log(joint) - np.log(given), rtol=1e-5, atol=1e-8)
    model = fitted(WORD_TOPIC.T, ALPHA, membership_="single")
    assert metrics.perplexity(model, counts, "chib") == pytest.approx(np.exp(-np.log(joint).sum() / counts.sum()))
