"""The E-step kernels against slow versions, enumeration of z and finite differences."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from scipy.special import digamma, gammaln

from supertopic.backends.cpu.entries import order_entries
from supertopic.backends.threads import Threads
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.variational.local import sum_by_row
from supertopic.kernels import e_step_words as kernel
from supertopic.kernels.e_step_token import infer_documents_token
from supertopic.kernels.word_sums import add_by_word, add_shares_by_word
from supertopic.priors.base import Rows
from tests import naive
from tests.cases import cases

K, V = 3, 6
RNG = np.random.default_rng(7)
ALPHA = np.array([0.3, 0.6, 0.2], dtype=np.float32)
WEIGHTS = RNG.dirichlet(np.ones(V), K).T.astype(np.float32, order="C")
WORDS = np.array([0, 2, 5], dtype=np.int32)
COUNTS = np.array([1, 3, 2], dtype=np.float32)


def one_row(alpha):
    """The prior of one document, as kernels take it."""
    return alpha[None], np.zeros(1, np.int32)


PRIOR = one_row(ALPHA)


def infer(passes, tol=0.0, collapsed=False):
    """Inference without a response on the small document: gamma, phi, bound, passes."""
    out = np.zeros((1, K), np.float32), np.zeros((3, K), np.float32), np.zeros(1), np.zeros(1, np.int32)
    kernel.infer_documents(
        0, 1, np.array([0, 3], np.int32), WORDS, COUNTS, WEIGHTS, *PRIOR, collapsed, passes, tol, True,
        *out, np.zeros((3, K), np.float32),
    )  # fmt: skip
    return out


def respond(slope, curvature, coef, is_product, *, passes=60, tol=0.0, coef_cov=None, start=None, counts=COUNTS):
    """Run the kernel on the small document, from `infer` or from `start`; return all its outputs in a dictionary."""
    gamma, phi, bound, _ = infer(2)
    out = {
        "gamma": gamma if start is None else start["gamma"],
        "phi": phi if start is None else start["phi"],
        "bound": bound,
        "passes": np.zeros(1, np.int32),
        "score": np.zeros((1, len(coef))),
        "moment": np.zeros((1, len(coef))),
    }
    infer_documents_token(
        0, 1, np.array([0, 3], np.int32), WORDS, counts, WEIGHTS, *PRIOR, passes, tol,
        np.array([slope]), np.array([curvature]), np.asarray(coef, np.float32),
        np.zeros((0, K, K), np.float32) if coef_cov is None else coef_cov, np.asarray(is_product),
        *out.values(), np.zeros((3, K), np.float32),
    )  # fmt: skip
    return out


RESPONSES = {
    "quadratic": ([1.5], [4.0], [[2.0, -1.0, 0.5]], [False]),
    "linear": ([-3.0], [0.0], [[2.0, -1.0, 0.5]], [False]),
    "steep": ([30.0], [400.0], [[2.0, -1.0, 0.5]], [False]),
    "product": ([2.0], [0.7], [[1.0, -2.0, 0.5]], [True]),
    "two columns": ([1.5, -1.0], [4.0, 2.0], [[2.0, -1.0, 0.5], [0.0, 1.0, -2.0]], [False, False]),
    "mixed": ([1.5, 2.0], [4.0, 0.7], [[2.0, -1.0, 0.5], [1.0, -2.0, 0.5]], [False, True]),
}


@njit
def _elementwise(x):
    exps, digammas = np.empty_like(x), np.empty_like(x)
    for i in range(len(x)):
        exps[i], digammas[i] = kernel._exp(x[i]), kernel._exp_digamma(x[i])
    return exps, digammas


def test_polynomial_exponential_and_digamma():
    x = np.concatenate([np.logspace(-1.3, 1.5, 500), np.logspace(2, 6, 100)]).astype(np.float32)
    exps, digammas = _elementwise(x)
    exact = x.astype(np.float64)
    small = x < 80
    np.testing.assert_allclose(exps[small], np.exp(exact[small]), rtol=1e-5)
    np.testing.assert_allclose(digammas, np.exp(digamma(exact)), rtol=1e-5)
    assert _elementwise(np.array([-50.0], np.float32))[0][0] == pytest.approx(np.exp(-40), rel=1e-5)


def test_plain_inference_equals_the_slow_one():
    for passes in (1, 5, 40):  # the second after a leap, the last at the end
        gamma, phi, bound, done = infer(passes)
        slow_gamma, slow_phi = naive.infer_document(WORDS, COUNTS, WEIGHTS.astype(float), ALPHA.astype(float), passes)
        assert done[0] == passes
        np.testing.assert_allclose(gamma[0], slow_gamma, rtol=2e-5)
        np.testing.assert_allclose(phi, slow_phi, rtol=5e-5)
        expected = naive.word_bound(WORDS, COUNTS, WEIGHTS, ALPHA, gamma[0].astype(float), phi.astype(float))
        assert bound[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("alpha", [ALPHA, np.array([0.3, 0.05, 0.3], np.float32), np.array([40, 7, 40], np.float32)])
@pytest.mark.parametrize("passes", [0, 1, 6])
def test_factors_of_shares_multiply_to_the_slow_ones(passes, alpha):
    """The series is used for a topic with almost no tokens in the document (small alpha, or small weights)."""
    weights = WEIGHTS * np.array([1.0, 1e-6, 1.0], np.float32)
    gamma, theta, ratio, bound = (
        np.zeros((1, K), np.float32),
        np.zeros((1, K), np.float32),
        np.zeros(3, "f4"),
        np.zeros(1),
    )
    kernel.infer_plain_documents(
        0, 1, np.array([0, 3], np.int32), WORDS, COUNTS, weights, *one_row(alpha), False, passes, 0.0, True,
        gamma, theta, ratio, bound, np.zeros((3, K), np.float32),
    )  # fmt: skip
    slow_gamma, slow_phi = naive.infer_document(WORDS, COUNTS, weights.astype(float), alpha.astype(float), passes)
    np.testing.assert_allclose(gamma[0], slow_gamma, rtol=2e-5)
    phi = ratio[:, None] * theta * weights[WORDS] / COUNTS[:, None]
    np.testing.assert_allclose(phi, slow_phi, rtol=5e-5)
    expected = naive.word_bound(WORDS, COUNTS, weights, alpha.astype(float), slow_gamma, slow_phi)
    assert bound[0] == pytest.approx(expected, rel=1e-5)


def infer_among_many(passes, tol, gamma=None, n_topics=160, n_words=60, seed=3):
    """A document of two topics of many: gamma, the bound and passes of the kernel; what slow inference is given."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(200, 0.1), n_topics).T.astype(np.float32, order="C")
    words = np.flatnonzero(rng.multinomial(300, weights[:, :2].mean(axis=1) / weights[:, :2].mean(axis=1).sum()))
    words = words[:n_words].astype(np.int32)
    counts, alpha = rng.integers(1, 5, len(words)).astype(np.float32), np.full(n_topics, 0.1, np.float32)
    fresh, size = gamma is None, len(words)
    found = np.zeros((1, n_topics), np.float32) if fresh else gamma.copy()
    bound, done = np.zeros(1), np.zeros(1, np.int32)
    kernel.infer_documents(
        0, 1, np.array([0, size], np.int32), words, counts, weights, *one_row(alpha), False, passes, tol, fresh, found,
        np.zeros((size, n_topics), np.float32), bound, done, np.zeros((size, n_topics), np.float32),
    )  # fmt: skip
    return found, bound[0], done[0], (words, counts, weights.astype(np.float64), alpha.astype(np.float64))


def passes_without_leaps(given):
    """How many passes it takes to come within 1e-5 of where they end."""
    ways = [naive.infer_document(*given, 0, leaps=False)[0]]
    for _ in range(399):
        ways.append(naive.infer_document(*given, 0, leaps=False, start=ways[-1])[0])
    return next(n for n, gamma in enumerate(ways) if abs(gamma - ways[-1]).mean() < 1e-5)


@pytest.mark.parametrize(("n_topics", "part"), [(40, 0.6), (160, 0.25)])
def test_leaps_and_topics_that_settle_among_themselves_save_passes(n_topics, part):
    """To where a pass changes nothing any more."""
    gamma, bound, passes, given = infer_among_many(500, 1e-6, n_topics=n_topics)
    assert 4 < passes < part * passes_without_leaps(given)
    words, counts, weights, alpha = given
    phi = weights[words] * np.exp(digamma(gamma[0]))
    phi /= phi.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(alpha + counts @ phi, gamma[0], atol=2e-3)
    again, same, few, _ = infer_among_many(500, 1e-5, gamma, n_topics=n_topics)
    assert few <= 2 and same == pytest.approx(bound, rel=1e-6)
    np.testing.assert_allclose(again, gamma, atol=2e-3)


def test_a_leap_goes_where_passes_lead_and_leaves_a_tenth():
    alpha, end, way = np.float32([0.5, 0.5, 0.5]), np.float32([3.0, 2.0, 0.6]), np.float32([-1.0, 2.0, 0.3])
    steps = [end - way * np.float32(0.5**n) for n in range(3)]  # every pass is half of the way that is left
    kernel._leap(alpha, steps[0], steps[1], steps[2])
    np.testing.assert_allclose(steps[2], end, rtol=1e-5)
    steps = np.float32([[3.0, 1.0, 1.0], [2.0, 1.5, 1.5], [1.0, 2.0, 2.0]])  # none gets shorter: the longest leap
    kernel._leap(alpha, *steps)
    np.testing.assert_allclose(steps[2], [0.5 + 0.1 * (1.0 - 0.5), 17.0, 17.0], rtol=1e-5)


@pytest.mark.parametrize("n_topics", cases([40, 160], [40]))
def test_leaps_end_at_optima_that_are_as_good(n_topics):
    """A document's bound has several optima. Leaps end at a better one as often as at a worse one."""
    gains = []
    for seed in range(30):
        _, bound, _, given = infer_among_many(500, 1e-6, n_topics=n_topics, seed=seed)
        gains.append(bound - naive.word_bound(*given, *naive.infer_document(*given, 300, leaps=False)))
    assert np.mean(gains) > 0 and np.min(gains) > -5  # nats, of bounds of about -750
    assert np.mean(np.array(gains) > -0.01) > 0.6


def test_topics_without_tokens_are_held_with_their_part_in_every_word():
    own, others, present = np.arange(1, 7, dtype=np.float32).reshape(3, 2), np.ones(2, np.float32), np.array([4, 8, 9])
    prior, count, weight = np.array([[0.1, 0.1, 0.1], [2.1, 0.1, 3.1], [5.0, 7.0, 6.0]], np.float32)
    assert kernel._hold_absent(3, own, others, present, prior, count, weight) == 2  # the second of three has no tokens
    assert own[:2].tolist() == [[1.0, 2.0], [5.0, 6.0]] and others.tolist() == [1.0 + 3.0 * 7.0, 1.0 + 4.0 * 7.0]
    assert present[:2].tolist() == [4, 9] and weight[:2].tolist() == [5.0, 6.0]


def test_the_bound_of_many_topics_never_falls_over_passes():
    bounds = [infer_among_many(passes, 0.0)[1] for passes in range(1, 12)]
    assert (np.diff(bounds) > -1e-4 * abs(bounds[-1]) / 100).all()


def test_a_series_stands_for_small_shares_in_the_bound():
    alpha, theta = np.array([0.3, 1e-3, 7.0, 7.0], np.float32), np.array([1e-5, 0.2, 3.0, 5.0], np.float32)
    gammas = np.zeros((4, 3))
    kernel._gammas_of(alpha, gammas)
    prior = alpha.astype(float)
    for part in (1e-14, 1e-9, 1e-4, 0.99e-3, 1.01e-3, 0.3, 20.0):
        shares = (part * alpha).astype(np.float32)
        gamma = prior + shares
        expected = gammaln(prior.sum()) - gammaln(gamma.sum())
        expected += (gammaln(gamma) - gammaln(prior) - shares * np.log(theta.astype(float))).sum()
        # Above 3e-9: at 0.99e-3 the series itself is off by sum_k share_k^3 psi''(alpha_k) / 6 = 3.3e-9.
        assert kernel._dirichlet_terms(alpha, gammas, theta, shares) == pytest.approx(expected, rel=1e-7, abs=4e-9)


def test_expected_log_shares_are_summed_as_written_down():
    alpha = np.array([0.3, 0.3, 0.02], np.float32)
    gamma = alpha + RNG.gamma(0.2, size=(40, K)).astype(np.float32) ** 4  # many of them close to zero
    prior = Rows(np.array([alpha, alpha / 3], np.float64), RNG.integers(0, 2, 40).astype(np.int32))
    gamma[prior.which == 1] -= alpha * np.float32(2 / 3)
    with Threads(2) as backend:
        sums = sum_by_row(prior, gamma, backend)
    exact = gamma.astype(np.float64)
    logs = digamma(exact) - digamma(exact.sum(axis=1, keepdims=True))
    expected = [logs[prior.which == row].sum(axis=0) for row in range(2)]
    np.testing.assert_allclose(sums, expected, rtol=1e-6)


@pytest.mark.parametrize("name", RESPONSES)
def test_score_moments_equal_enumeration(name):
    slope, curvature, coef, is_product = RESPONSES[name]
    out = respond(slope, curvature, coef, is_product)
    for c in range(len(coef)):
        mean, moment = naive.score_moments(COUNTS, out["phi"].astype(float), np.array(coef[c]), is_product[c])
        assert out["score"][0, c] == pytest.approx(mean, rel=1e-4, abs=1e-6 * np.abs(coef[c]).max())
        assert out["moment"][0, c] == pytest.approx(moment, rel=1e-4, abs=1e-6 * np.abs(coef[c]).max() ** 2)


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("passes", [1, 3, 60])
def test_bound_is_the_words_part_of_the_evidence(name, passes):
    out = respond(*RESPONSES[name], passes=passes)
    expected = naive.word_bound(WORDS, COUNTS, WEIGHTS, ALPHA, out["gamma"][0].astype(float), out["phi"].astype(float))
    assert out["bound"][0] == pytest.approx(expected, rel=2e-5)


def evidence(name, gamma, phi):
    slope, curvature, coef, is_product = RESPONSES[name]
    return naive.word_bound(WORDS, COUNTS, WEIGHTS, ALPHA, gamma, phi) + naive.response_bound(
        COUNTS, phi, slope, curvature, np.array(coef), is_product
    )


@pytest.mark.parametrize("name", RESPONSES)
def test_fixed_point_is_stationary(name):
    """The derivative of the evidence is zero in all directions of phi on the simplex and of gamma."""
    out = respond(*RESPONSES[name])
    gamma, phi = out["gamma"][0].astype(float), out["phi"].astype(float)
    phi /= phi.sum(axis=1, keepdims=True)
    step = 1e-4
    for j in range(3):
        for k in range(1, K):
            slopes = []
            for sign in (1, -1):
                moved = phi.copy()
                moved[j, 0] -= sign * step * phi[j, 0] * phi[j, k]
                moved[j, k] += sign * step * phi[j, 0] * phi[j, k]
                slopes.append(evidence(name, gamma, moved))
            assert abs(slopes[0] - slopes[1]) / (2 * step) < 2e-4
    for k in range(K):
        ahead, behind = gamma.copy(), gamma.copy()
        ahead[k] += step
        behind[k] -= step
        assert abs(evidence(name, ahead, phi) - evidence(name, behind, phi)) / (2 * step) < 1e-3


@pytest.mark.parametrize("name", RESPONSES)
def test_evidence_never_falls_over_passes(name):
    out = respond(*RESPONSES[name], passes=1)
    values = [evidence(name, out["gamma"][0].astype(float), out["phi"].astype(float))]
    for _ in range(12):
        out = respond(*RESPONSES[name], passes=1, start=out)
        values.append(evidence(name, out["gamma"][0].astype(float), out["phi"].astype(float)))
    assert np.all(np.diff(values) > -1e-5), values
    assert values[-1] > values[0]


@pytest.mark.parametrize(("curvature", "is_product"), [(300.0, False), (40.0, True)])
def test_a_word_that_stands_there_often_does_not_overshoot(curvature, is_product):
    """The occurrences of a word share one phi, which would oscillate for ever without Newton steps."""
    counts = np.array([2, 40, 5], np.float32)
    out = respond([30.0], [curvature], [[3.0, -3.0, 0.5]], [is_product], counts=counts, passes=60, tol=1e-3)
    assert out["passes"][0] < 60


def test_no_label_is_plain_lda_to_the_bit():
    out = respond([0.0], [0.0], [[2.0, -1.0, 0.5]], [False])
    gamma, phi, bound, _ = infer(2)
    np.testing.assert_array_equal(out["gamma"], gamma)
    np.testing.assert_array_equal(out["phi"], phi)
    assert out["bound"][0] == bound[0] and out["passes"][0] == 0
    mean, moment = naive.score_moments(COUNTS, phi.astype(float), np.array([2.0, -1.0, 0.5]), False)
    assert (out["score"][0, 0], out["moment"][0, 0]) == pytest.approx((mean, moment), rel=1e-4)


def test_uncertain_coefficients_enter_the_second_moment():
    """E[s²] with cov S: the terms of the mean plus phi_sum' S phi_sum/N² + diag(S)·phi_sum/N² (incl. the token)."""
    slope, curvature, coef, is_product = RESPONSES["quadratic"]
    root = RNG.normal(size=(K, K)).astype(np.float32)
    cov = (root @ root.T)[None] * np.float32(0.3)
    out = respond(slope, curvature, coef, is_product, coef_cov=cov, passes=200)
    phi = out["phi"].astype(float)
    phi_sum, n_tokens = COUNTS @ phi, COUNTS.sum()
    _, moment = naive.score_moments(COUNTS, phi, np.array(coef[0]), False)
    extra = (phi_sum @ cov[0] @ phi_sum + np.diag(cov[0]) @ phi_sum) / n_tokens**2
    assert out["moment"][0, 0] == pytest.approx(moment + extra, rel=1e-4)

    # the fixed point includes it: the gradient of the complete evidence is zero
    def total(p):
        sums = COUNTS @ p
        spread = sums @ cov[0] @ sums + np.diag(cov[0]) @ sums
        return evidence("quadratic", out["gamma"][0].astype(float), p) - 0.5 * curvature[0] * spread / n_tokens**2

    for j in range(3):
        moved = [phi.copy(), phi.copy()]
        for sign, p in zip((1, -1), moved, strict=True):
            p[j, 0] += sign * 1e-4 * phi[j, 0] * phi[j, 1]
            p[j, 1] -= sign * 1e-4 * phi[j, 0] * phi[j, 1]
        assert abs(total(moved[0]) - total(moved[1])) / 2e-4 < 5e-4


def test_empty_document_gets_the_prior_mean():
    coef = np.array([[2.0, -1.0, 0.5], [1.0, 0.0, 0.0]], np.float32)
    gamma, phi, rows = np.zeros((1, K), np.float32), np.zeros((0, K), np.float32), np.zeros((3, K), np.float32)
    bound, passes, score, moment = np.zeros(1), np.zeros(1, np.int32), np.zeros((1, 2)), np.zeros((1, 2))
    document = (0, 1, np.zeros(2, np.int32), WORDS, COUNTS, WEIGHTS, *PRIOR)
    kernel.infer_documents(*document, False, 5, 0.0, True, gamma, phi, bound, passes, rows)
    np.testing.assert_array_equal(gamma[0], ALPHA)
    infer_documents_token(
        *document, 5, 0.0, np.ones((1, 2)), np.ones((1, 2)), coef, np.zeros((0, K, K), np.float32),
        np.array([False, True]), gamma, phi, bound, passes, score, moment, rows,
    )  # fmt: skip
    np.testing.assert_array_equal(gamma[0], ALPHA)
    assert bound[0] == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(score[0], coef @ (ALPHA / ALPHA.sum()), rtol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_topics_are_expected_as_written_down(n_jobs):
    word_topic = RNG.gamma(0.5, size=(60, 4)).astype(np.float32) + np.float32(0.05)  # 0.05 · 60: log Gamma is not 0
    word_topic[3] = np.float32(0.05)  # a word without counts in any topic
    log_beta, evidence = naive.dirichlet_topics(word_topic.astype(float), float(np.float32(0.05)))
    with Threads(n_jobs) as backend:
        emission = DirichletTopics(float(np.float32(0.05)))
        weights, logs = emission.expect(word_topic, backend), emission.expect(word_topic, backend, log=True)
        value = emission.evidence(word_topic, backend)
    np.testing.assert_allclose(weights, np.exp(log_beta), rtol=2e-5)
    np.testing.assert_allclose(logs, log_beta, rtol=1e-5)
    assert value == pytest.approx(evidence, rel=1e-6)


def test_words_are_added_up_by_word():
    counts = sp.random(30, 20, density=0.2, random_state=3, format="csr", dtype=np.float32)
    counts.data[:] = RNG.integers(1, 5, counts.nnz)
    phi = RNG.dirichlet(np.ones(4), counts.nnz).astype(np.float32)
    words, first, entry, _ = order_entries(np.arange(30), counts)
    word_topic = np.zeros((20, 4), np.float32)
    add_by_word(0, len(words), words, first, entry, counts.data, phi, word_topic, np.zeros(4, np.float32))
    expected = np.zeros((20, 4))
    np.add.at(expected, counts.indices, counts.data[:, None] * phi)
    np.testing.assert_allclose(word_topic, expected, rtol=1e-5)


def test_entries_lie_by_word_and_document():
    counts = sp.random(30, 20, density=0.2, random_state=3, format="csr", dtype=np.float32)
    documents = np.array([7, 2, 29, 11])
    some = counts[documents]
    words, first, entry, doc = order_entries(documents, counts)
    np.testing.assert_array_equal(words, np.unique(some.indices))
    order = np.argsort(some.indices, kind="stable")
    np.testing.assert_array_equal(entry, order)
    np.testing.assert_array_equal(doc, np.repeat(np.arange(4), np.diff(some.indptr))[order])
    np.testing.assert_array_equal(np.repeat(words, np.diff(first)), some.indices[order])


@pytest.mark.parametrize("same", [False, True])
def test_shares_are_added_up_from_their_factors(same):
    counts = sp.random(30, 20, density=0.4, random_state=3, format="csr", dtype=np.float32)
    documents = RNG.permutation(30)[:25]
    ratio = RNG.gamma(1.0, size=counts[documents].nnz).astype(np.float32)
    theta, weights = RNG.gamma(1.0, size=(25, 5)).astype(np.float32), RNG.gamma(1.0, size=(20, 5)).astype(np.float32)
    out = weights.copy() if same else np.ones_like(weights)
    by_word = order_entries(documents, counts)
    product = sp.csr_matrix((ratio, counts[documents].indices, counts[documents].indptr), shape=(25, 20)).T @ theta
    expected = out + 0.5 * (weights + 0.25) * product
    for ends in ((0, 6), (6, len(by_word.words))):
        given = (out if same else weights, np.float32(0.25), np.float32(0.5))
        add_shares_by_word(*ends, *by_word, ratio, theta, *given, out, np.zeros(5, np.float32))
    np.testing.assert_allclose(out, expected, rtol=1e-5)
