"""The E-step with one response term for all tokens, against enumeration, finite differences and per-token terms."""

import numpy as np
import pytest

from supertopic.kernels.e_step_mean import infer_documents_mean
from tests import naive
from tests.test_kernels_e_step_words import (
    ALPHA,
    COUNTS,
    PRIOR,
    RESPONSES,
    WEIGHTS,
    WORDS,
    K,
    infer,
    infer_among_many,
    one_row,
    respond,
)

N = COUNTS.sum()
POINT = np.zeros((0, K, K), np.float32)


def tilt(
    slope, curvature, coef, is_product, *, passes=200, tol=0.0, fresh=True, coef_cov=POINT, start=None, collapsed=False
):
    """The kernel on the one small document; all its outputs in a dictionary."""
    out = start or {
        "factors": np.full((1, len(coef)), np.nan),
        "gamma": np.zeros((1, K), np.float32),
        "weighed": np.zeros((1, K), np.float32),
        "ratio": np.zeros(3, np.float32),
        "phi": np.zeros((3, K), np.float32),
        "bound": np.zeros(1),
        "passes": np.zeros(1, np.int32),
        "score": np.zeros((1, len(coef))),
        "moment": np.zeros((1, len(coef))),
    }
    infer_documents_mean(
        0, 1, np.array([0, 3], np.int32), WORDS, COUNTS, WEIGHTS, *PRIOR, collapsed, passes, tol, fresh,
        np.array([slope]), np.array([curvature]), np.asarray(coef, np.float32), coef_cov, np.asarray(is_product),
        np.ones(1, bool), *out.values(), np.zeros((3, K), np.float32),
    )  # fmt: skip
    return out


def evidence(name, gamma, phi):
    """The words' part, plus the response's expected log-likelihood if all N tokens are drawn from their mean."""
    slope, curvature, coef, is_product = RESPONSES[name]
    mean = (COUNTS @ phi / N)[None]
    return naive.word_bound(WORDS, COUNTS, WEIGHTS, ALPHA, gamma, phi) + naive.response_bound(
        [N], mean, slope, curvature, np.array(coef), is_product
    )


def shares(out):
    phi = out["phi"].astype(float)
    return out["gamma"][0].astype(float), phi / phi.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", RESPONSES)
def test_moments_are_those_of_tokens_drawn_from_their_mean(name):
    slope, curvature, coef, is_product = RESPONSES[name]
    out = tilt(slope, curvature, coef, is_product)
    mean = (COUNTS @ shares(out)[1] / N)[None]
    for c in range(len(coef)):
        first, moment = naive.score_moments([N], mean, np.array(coef[c]), is_product[c])
        assert out["score"][0, c] == pytest.approx(first, rel=1e-4, abs=1e-6 * np.abs(coef[c]).max())
        assert out["moment"][0, c] == pytest.approx(moment, rel=1e-4, abs=1e-6 * np.abs(coef[c]).max() ** 2)


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("passes", [0, 1, 3, 200])
def test_bound_is_the_words_part_of_the_evidence(name, passes):
    out = tilt(*RESPONSES[name], passes=passes)
    expected = naive.word_bound(WORDS, COUNTS, WEIGHTS, ALPHA, *shares(out))
    assert out["bound"][0] == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize("name", RESPONSES)
def test_shares_of_words_are_the_product_of_two_factors(name):
    out = tilt(*RESPONSES[name], passes=3)
    product = out["ratio"][:, None] * WEIGHTS[WORDS] * out["weighed"]
    np.testing.assert_allclose(product, COUNTS[:, None] * out["phi"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", RESPONSES)
def test_fixed_point_is_stationary(name):
    out = tilt(*RESPONSES[name])
    gamma, phi = shares(out)
    step = 1e-4
    for j in range(3):
        for k in range(1, K):
            values = []
            for sign in (1, -1):
                moved = phi.copy()
                moved[j, 0] -= sign * step * phi[j, 0] * phi[j, k]
                moved[j, k] += sign * step * phi[j, 0] * phi[j, k]
                values.append(evidence(name, gamma, moved))
            assert abs(values[0] - values[1]) / (2 * step) < 3e-4


@pytest.mark.parametrize("name", RESPONSES)
def test_evidence_is_below_that_of_terms_per_token_and_near_it(name):
    slope, curvature, coef, is_product = RESPONSES[name]
    gamma, phi = shares(tilt(slope, curvature, coef, is_product))
    own = naive.word_bound(WORDS, COUNTS, WEIGHTS, ALPHA, gamma, phi)
    own += naive.response_bound(COUNTS, phi, slope, curvature, np.array(coef), is_product)
    assert evidence(name, gamma, phi) <= own + 1e-9
    exact = respond(slope, curvature, coef, is_product)
    best = naive.word_bound(WORDS, COUNTS, WEIGHTS, ALPHA, *shares(exact))
    best += naive.response_bound(COUNTS, shares(exact)[1], slope, curvature, np.array(coef), is_product)
    assert own < best + 1e-4


@pytest.mark.parametrize("name", RESPONSES)
def test_settles_from_both_starts(name):
    """Undamped updates of the factors would oscillate for ever where the curvature is large."""
    fresh = tilt(*RESPONSES[name], passes=200, tol=1e-4)
    assert fresh["passes"][0] < 200
    factors = fresh["factors"].copy()
    again = tilt(*RESPONSES[name], passes=200, tol=1e-4, fresh=False, start=fresh)
    assert again["passes"][0] < 20
    np.testing.assert_allclose(again["factors"], factors, rtol=0.02, atol=1e-3)


def test_no_label_is_plain_lda():
    out = tilt([0.0], [0.0], [[2.0, -1.0, 0.5]], [False], passes=5)
    gamma, phi, bound, _ = infer(5)  # the fifth pass after a leap
    np.testing.assert_allclose(out["gamma"], gamma, rtol=1e-5)
    np.testing.assert_allclose(out["phi"], phi, rtol=1e-5)
    assert out["bound"][0] == pytest.approx(bound[0], rel=1e-5)


@pytest.mark.parametrize(("slope", "curvature"), [(9.0, 0.0), (9.0, 25.0)])
def test_leaps_save_passes_and_end_where_single_passes_do(slope, curvature):
    """A pass that is asked for alone does not leap, and is followed by the last one, which every call makes."""
    _, _, _, (words, counts, weights, alpha) = infer_among_many(1, 0.0, n_topics=20, seed=8)
    coef, size = np.linspace(-1, 1, 20, dtype=np.float32)[None], len(words)

    def run(passes, fresh, gamma, factors):
        done, score, moment = np.zeros(1, np.int32), np.zeros((1, 1)), np.zeros((1, 1))
        infer_documents_mean(
            0, 1, np.array([0, size], np.int32), words, counts, weights.astype(np.float32),
            *one_row(alpha.astype(np.float32)), False, passes, 1e-4, fresh, np.array([[slope]]),
            np.array([[curvature]]), coef,
            np.zeros((0, 20, 20), np.float32), np.array([False]), np.ones(1, bool), factors, gamma,
            np.zeros((1, 20), np.float32), np.zeros(size, np.float32), np.zeros((0, 20), np.float32), np.zeros(1), done,
            score, moment, np.zeros((size, 20), np.float32),
        )  # fmt: skip
        return done[0], score[0, 0]

    leaping, one_by_one = [(np.zeros((1, 20), np.float32), np.full((1, 1), np.nan)) for _ in range(2)]
    passes, score = run(500, True, *leaping)
    run(1, True, *one_by_one)
    single, change = 1, np.inf
    while change > 1e-4:
        before = one_by_one[0].copy()
        single, expected = single + 1, run(1, False, *one_by_one)[1]
        change = abs(one_by_one[0] - before).mean()
    assert 4 < passes < 0.6 * (2 * single)
    assert score == pytest.approx(expected, abs=1e-3)


def test_uncertain_coefficients_enter_the_second_moment():
    """E[s²] gains E[Zbar' S Zbar] = mean' S mean + (diag(S)·mean - mean' S mean)/N; the fixed point includes it."""
    slope, curvature, coef, is_product = RESPONSES["quadratic"]
    root = np.random.default_rng(1).normal(size=(K, K)).astype(np.float32)
    cov = (root @ root.T)[None] * np.float32(0.3)
    out = tilt(slope, curvature, coef, is_product, coef_cov=cov)
    gamma, phi = shares(out)

    def extra(phi):
        mean = COUNTS @ phi / N
        pairs = mean @ cov[0] @ mean
        return pairs + (np.diag(cov[0]) @ mean - pairs) / N

    moment = naive.score_moments([N], (COUNTS @ phi / N)[None], np.array(coef[0]), False)[1]
    assert out["moment"][0, 0] == pytest.approx(moment + extra(phi), rel=1e-4)
    for j in range(3):
        values = []
        for sign in (1, -1):
            moved = phi.copy()
            moved[j, 0] += sign * 1e-4 * phi[j, 0] * phi[j, 1]
            moved[j, 1] -= sign * 1e-4 * phi[j, 0] * phi[j, 1]
            values.append(evidence("quadratic", gamma, moved) - 0.5 * curvature[0] * extra(moved))
        assert abs(values[0] - values[1]) / 2e-4 < 5e-4


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("steep", [1.0, 10.0])
def test_settles_whatever_the_spread_of_the_coefficients(scale, steep):
    """Undamped updates of the covariance term would oscillate between topics for ever."""
    slope, curvature, coef, is_product = RESPONSES["quadratic"]
    root = np.random.default_rng(1).normal(size=(K, K)).astype(np.float32)
    cov = (root @ root.T)[None] * np.float32(scale)
    given = (slope, [steep * curvature[0]], coef, is_product)
    out = tilt(*given, coef_cov=cov, passes=400, tol=1e-4)
    assert out["passes"][0] < 400 or scale * steep > 100  # there, rounding of the mean changes a tilt by 1e-3
    more = tilt(*given, coef_cov=cov, passes=2000)
    np.testing.assert_allclose(COUNTS @ shares(out)[1] / N, COUNTS @ shares(more)[1] / N, atol=2e-3)


def test_empty_document_gets_the_prior_mean():
    coef, is_product = np.array([[2.0, -1.0, 0.5], [1.0, 0.0, 0.0]], np.float32), np.array([False, True])
    gamma, score, moment, bound = np.zeros((1, K), np.float32), np.zeros((1, 2)), np.zeros((1, 2)), np.ones(1)
    infer_documents_mean(
        0, 1, np.zeros(2, np.int32), WORDS, COUNTS, WEIGHTS, *PRIOR, False, 5, 0.0, True, np.ones((1, 2)),
        np.ones((1, 2)), coef, POINT, is_product, np.ones(1, bool), np.zeros((1, 2)), gamma,
        np.zeros((1, K), np.float32), np.zeros(0, np.float32), np.zeros((0, K), np.float32), bound,
        np.zeros(1, np.int32), score, moment, np.zeros((3, K), np.float32),
    )  # fmt: skip
    np.testing.assert_array_equal(gamma[0], ALPHA)
    expected = coef @ (ALPHA / ALPHA.sum())
    np.testing.assert_allclose(score[0], expected, rtol=1e-6)
    np.testing.assert_allclose(moment[0], [expected[0] ** 2, np.exp(expected[1])], rtol=1e-6)
    assert bound[0] == 0.0
