"""Gibbs sampling with a response: against enumerated posteriors, and against the joint distribution it must keep."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import betaln, log_ndtr

from supertopic.backends.cpu.groups import sweep_groups
from supertopic.backends.threads import Threads
from supertopic.coefficients import CoefPrior
from supertopic.inference.gibbs.augmentation import SweepDraws
from supertopic.inference.gibbs.coefficients import draw_inclusion, draw_log_linear, draw_support
from supertopic.inference.gibbs.supervised import SamplerOptions, prior_precision
from supertopic.kernels import gibbs_layout, gibbs_likelihood
from supertopic.responses import base
from tests import naive_supervised as naive
from tests.cases import cases
from tests.joint import ALPHA, BETA, NAMES, joint_test, rank_test, sampler_of

TINY = np.array([[1, 2, 0], [1, 0, 1]])
SHORT = {"gaussian", "logit", "poisson"}  # one of each form of a likelihood; a probit's is beside them


def test_every_response_but_those_of_canonical_links_has_a_sampler():
    classes, positive = ["logit", "probit", "softmax", "ordinal"], ["gamma", "inverse_gaussian", "weibull"]
    assert sorted(NAMES) == sorted(["gaussian", "poisson", "negative_binomial", *classes, *positive])


def test_topics_under_a_collapsed_probit_follow_the_enumerated_posterior():
    follow_enumerated("probit", 3.0, SamplerOptions(integrate_latents=True))


@pytest.mark.parametrize("weight", [pytest.param(1.0, marks=pytest.mark.release), 2.5])
@pytest.mark.parametrize("name", cases(NAMES, SHORT))
def test_topics_follow_the_enumerated_posterior(name, weight):
    """Topics given coefficients: p(z | w, y), with the augmentation variables integrated out."""
    follow_enumerated(name, weight)


def follow_enumerated(name, weight, options=None):
    continuous = name in ("gamma", "weibull", "gaussian", "inverse_gaussian")
    y = np.array([2.5, 0.4]) if continuous else np.array([1.0, 0.0])
    if name in ("poisson", "negative_binomial"):
        y = np.array([3.0, 0.0])
    sampler = sampler_of(name, TINY, y, np.array([weight, weight]), options=options)
    if weight == 2.5 and sampler.model.response.whole_weights:
        with pytest.raises(ValueError, match="weights of labels"):
            sampler.model.response.check_sampler(sampler.weight)
        weight = 2.0
        sampler = sampler_of(name, TINY, y, np.array([weight, weight]), options=options)
    rng = np.random.default_rng(5)
    sampler.coef = rng.normal(size=sampler.coef.shape) * 1.5
    coef, dispersion, response = sampler.coef, sampler.dispersion, sampler.model.response
    states, expected = naive.enumerate_topics(
        TINY, ALPHA, BETA, lambda d, shares: weight * naive.log_density(name, y[d], coef @ shares, dispersion)
    )
    without = naive.enumerate_topics(TINY, ALPHA, BETA, lambda d, shares: 0.0)[1]
    assert np.abs(expected - without).sum() > 0.2  # the response matters
    n, seen = 20000, np.zeros(len(states))
    powers = len(ALPHA) ** np.arange(states.shape[1])[::-1]
    for number in range(n):
        score = sampler.design @ coef.T
        augmented = response.augment(sampler.y, score, sampler.weight, dispersion, SweepDraws(1, number))
        sampler.draw_topics(*augmented, number)
        seen[sampler.topic @ powers] += 1
    assert np.abs(seen / n - expected).sum() < 0.09, np.abs(seen / n - expected).sum()
    by_share = [np.bincount((states == k).sum(1), seen / n - expected) for k in range(3)]
    assert max(np.abs(difference).max() for difference in by_share) < 0.015


KINDS = [gibbs_likelihood.QUADRATIC, gibbs_likelihood.PRODUCT, gibbs_likelihood.PROBIT]


@pytest.mark.parametrize("length", [4, 60])
@pytest.mark.parametrize("kinds", [[kind] for kind in KINDS] + [KINDS])
@pytest.mark.parametrize("groups", [1, 3])
def test_same_topics_as_the_naive_sweep(kinds, length, groups):
    """Short documents need the functions themselves, long ones use their Taylor series."""
    rng = np.random.default_rng(length)
    n_docs, n_words, n_topics, n_columns = 6, 12, 5, len(kinds)
    counts = sp.csr_matrix(rng.multinomial(length, np.full(n_words, 1 / n_words), size=n_docs))
    tokens = gibbs_layout.lay_out_documents(counts.indptr, counts.indices, counts.data, n_words, groups)
    topic = rng.integers(n_topics, size=n_docs * length).astype(np.uint16)
    slope = rng.normal(size=(n_docs, n_columns)) * 3
    curvature, coef = rng.gamma(2.0, size=(n_docs, n_columns)), rng.normal(size=(n_columns, n_topics)) * 2
    alpha, beta, offset = rng.gamma(2.0, size=(2, n_topics)), 0.3, rng.normal(size=(n_docs, n_columns))
    which = np.array([0, 1, 1, 0, 1, 0], dtype=np.int32)

    def function(d, c, s):
        s = s + offset[d, c]
        b, omega = slope[d, c], curvature[d, c]
        if kinds[c] == gibbs_likelihood.QUADRATIC:
            return b * s - 0.5 * omega * s**2
        if kinds[c] == gibbs_likelihood.PRODUCT:
            return b * s - omega * np.exp(s)
        return abs(b) * log_ndtr(np.sign(b) * omega * s)

    word_topic = np.zeros((n_words, n_topics), np.int32)
    np.add.at(word_topic, (tokens.word, topic), 1)
    doc_topic = np.zeros((n_docs, n_topics), np.float32)
    gibbs_layout.count_document_topics(0, n_docs, tokens.doc_ptr, topic, doc_topic)
    expected, found = topic.astype(int), topic.copy()
    scratch = gibbs_likelihood.make_scratch(n_topics, n_columns)
    count, sizes, changed = word_topic.sum(0).astype(np.int64), np.ones((groups, groups)), []

    def call(i, j, own_count):
        def draw():
            changed.append(gibbs_likelihood.sweep_likelihood(
                tokens.doc_bounds[i], tokens.doc_bounds[i + 1], tokens.doc_ptr[j], tokens.doc_length, tokens.word,
                found, doc_topic, np.array(kinds), slope, curvature, offset, coef, word_topic, own_count, alpha, which,
                beta, 7, number, scratch,
            ))  # fmt: skip

        return (draw,)

    for number in range(3):
        count = sweep_groups(Threads(1), count, sizes, call)
        expected = naive.sweep(tokens, expected, function, coef, alpha[which], beta, n_words, 7, number)
        np.testing.assert_array_equal(found, expected)
    assert len(changed) == 3 * groups**2 and sum(changed) > 0
    np.testing.assert_array_equal(word_topic.sum(0), count)
    np.testing.assert_array_equal(doc_topic.sum(0), count)


def test_taylor_series_of_the_likelihood_and_its_remainder():
    """The polynomial differs from f by less than the stated bound, in both tails and between them."""
    for kind in KINDS:
        for s in [-200.0, -30.0, -8.0, -1.0, 0.0, 0.7, 3.0, 9.0]:
            for slope, curvature in [(1.0, 1.0), (-2.0, 1.7)]:
                *p, left_out = gibbs_likelihood._taylor(kind, s, slope, curvature, 0.1)
                for x in (-0.1, 0.03, 0.1):
                    value = x * (p[0] + x * (p[1] + x * (p[2] + x * p[3])))
                    f = gibbs_likelihood._function
                    exact = f(kind, s + x, slope, curvature) - f(kind, s, slope, curvature)
                    slack = 1e-12 * max(1.0, abs(f(kind, s, slope, curvature))) + 1e-9
                    assert abs(value - exact) <= left_out + slack, (kind, s, slope, x)


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_precisions_of_a_laplace_prior_keep_it(scale):
    """|coef| of Laplace(0, scale) is exponential, and stays so when precisions and coefficients are drawn in turn."""
    coef = np.random.default_rng(0).laplace(scale=scale, size=(1, 200_000))
    for number in range(3):
        draw = SweepDraws(3, number)
        coef = draw.normal(coef.size) / np.sqrt(prior_precision(CoefPrior("laplace", scale), coef, draw))
    sizes = np.abs(coef) / scale
    np.testing.assert_allclose([sizes.mean(), (sizes**2).mean(), (sizes > 3).mean()], [1, 2, np.exp(-3)], rtol=0.02)


@pytest.fixture(params=[300, pytest.param(1500, marks=pytest.mark.release)])
def replicates(request):
    """More of them see smaller errors."""
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(NAMES, SHORT))  # `test_samplers` has all, under other priors
def test_sweeps_keep_the_joint_distribution(name, replicates, monkeypatch):
    monkeypatch.setattr(base, "LOG_SPREAD", 0.5)
    scale = {"logit": 4.0, "softmax": 3.0}.get(name, 1.0)  # s has to be large for the tilt of a Pólya-Gamma to matter
    z = joint_test(name, ("normal", scale), replicates, 3)
    assert z.max() < 4.0, z


@pytest.mark.slow
@pytest.mark.release  # `test_samplers` has it with fewer replicates
@pytest.mark.parametrize("name", ["gaussian", "probit", "poisson"])
def test_sweeps_keep_the_joint_distribution_under_a_laplace_prior_and_covariates(name, replicates, monkeypatch):
    monkeypatch.setattr(base, "LOG_SPREAD", 0.5)
    z = joint_test(name, ("laplace", 1.5), replicates, 3, covariates=True)
    assert z.max() < 4.0, z


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(["gaussian", "probit"], ["probit"]))
def test_sweeps_of_sparse_models_keep_the_joint_distribution(name, replicates):
    """SSTM: the probit's latent integrated out of the topics' draws, the scale of the Laplace prior drawn."""
    options = SamplerOptions(integrate_latents=True, learn_scale=True)
    z = joint_test(name, ("laplace", 1.0), replicates, 3, covariates=True, options=options)
    assert z.max() < 4.0, z


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(["gaussian", "probit", "poisson"], ["probit", "poisson"]))
def test_sweeps_within_a_budget_keep_the_joint_distribution(name, replicates, monkeypatch):
    """The active set is drawn, too, and its distribution has to stay the same."""
    monkeypatch.setattr(base, "LOG_SPREAD", 0.5)
    options = SamplerOptions(integrate_latents=True, learn_scale=name != "poisson", budget=2)
    z = joint_test(name, ("laplace", 1.0), replicates, 3, covariates=True, options=options)
    assert z.max() < 4.0, z


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(["gaussian", "probit"], ["gaussian"]))
def test_sweeps_with_a_spike_keep_the_joint_distribution(name, replicates):
    """Each topic is in the active set or not, by a probability that is drawn."""
    options = SamplerOptions(integrate_latents=True, learn_scale=True, spike=True)
    z = joint_test(name, ("laplace", 1.0), replicates, 3, covariates=True, options=options)
    assert z.max() < 4.0, z


def test_inclusion_follows_its_enumerated_posterior():
    """All sets of three topics, and a covariate: ∝ B(1 + in, 1 + out) sqrt(|prior_S| / |P_S|) exp(½ l' P_S^-1 l)."""
    rng = np.random.default_rng(4)
    root = rng.normal(size=(12, 4))
    gram, cross, prior = root.T @ root / 4, rng.normal(size=4) * 2, rng.gamma(2.0, size=4)
    sets = [own for size in range(4) for own in combinations(range(3), size)]
    logs = []
    for own in sets:
        rows = [*own, 3]
        precision = gram[np.ix_(rows, rows)] + np.diag(prior[rows])
        fit = cross[rows] @ np.linalg.solve(precision, cross[rows])
        logs.append(0.5 * (np.log(prior[rows]).sum() - np.linalg.slogdet(precision)[1] + fit))
        logs[-1] += betaln(1 + len(own), 1 + 3 - len(own))
    expected = np.exp(logs) / np.exp(logs).sum()
    active, seen, n = np.ones(4, dtype=bool), np.zeros(len(sets)), 8000
    for number in range(n):
        active = draw_inclusion(gram, cross, prior, active, 3, SweepDraws(0, number))
        assert active[3]
        seen[sets.index(tuple(np.flatnonzero(active[:3])))] += 1
    assert expected.max() < 0.9
    np.testing.assert_allclose(seen / n, expected, atol=0.025)


def test_log_linear_coefficients_follow_their_posterior():
    """exp( sum_d slope s - curvature exp(s) - ½ prior coef² ) of one coefficient, on a grid."""
    design, slope = np.array([[1.0], [0.5], [-1.0]]), np.array([2.0, 0.0, 1.0])
    curvature, prior = np.array([0.3, 1.0, 0.8]), np.array([[0.4]])
    grid = np.linspace(-6, 6, 4001)
    s = design * grid
    density = slope @ s - curvature @ np.exp(s) - 0.5 * prior[0, 0] * grid**2
    share = np.exp(density - density.max()) / np.exp(density - density.max()).sum()
    mean = share @ grid
    coef, draws = np.zeros(1), np.empty(6000)
    for number in range(len(draws)):
        coef = draw_log_linear(design, slope, curvature, prior, coef, SweepDraws(4, number))
        draws[number] = coef[0]
    assert draws.mean() == pytest.approx(mean, abs=0.05)
    assert draws.var() == pytest.approx(share @ grid**2 - mean**2, rel=0.08)


def test_normal_equations_of_a_product_column_are_newtons():
    """cross - gram·coef is the slope of the log-likelihood where the coefficients were drawn."""
    sampler = sampler_of("poisson", TINY, np.array([3.0, 1.0]))
    sampler.take(np.array([0, 1, 1, 2, 0], np.uint16), sampler.coef, sampler.dispersion, ALPHA)
    sampler.draw_coef(SweepDraws(1, 0))
    coef, design = sampler.coef[0], sampler.design
    slope = design.T @ (sampler.y - np.exp(design @ coef))
    np.testing.assert_allclose(sampler.cross[0] - sampler.gram[0] @ coef, slope, atol=1e-10)
    assert np.abs(sampler.gram[0] @ coef).max() > 0.05


def test_the_log_joint_has_the_prior_of_the_active_set():
    """A coefficient of zero that is in the set costs the density of its slab, and changes the odds of the size."""
    sampler = sampler_of("gaussian", TINY, np.zeros(2), prior=("laplace", 0.7), options=SamplerOptions(spike=True))
    found = []
    for n_in in (1, 2):
        sampler.active[0] = np.arange(len(ALPHA)) < n_in
        found.append(sampler.log_joint())
    sizes = betaln(1 + 2, 1 + len(ALPHA) - 2) - betaln(1 + 1, 1 + len(ALPHA) - 1)
    assert found[1] - found[0] == pytest.approx(sizes - np.log(2 * 0.7))


def test_the_support_follows_its_enumerated_posterior():
    """Two topics of four and a covariate, coefficients integrated out: ∝ sqrt(|prior_S| / |P_S|) exp(½ l' P_S^-1 l)."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(12, 5))
    gram, cross, prior = root.T @ root / 4, rng.normal(size=5) * 2, rng.gamma(2.0, size=5)
    pairs = list(combinations(range(4), 2))
    logs = []
    for pair in pairs:
        own = [*pair, 4]
        precision = gram[np.ix_(own, own)] + np.diag(prior[own])
        fit = cross[own] @ np.linalg.solve(precision, cross[own])
        logs.append(0.5 * (np.log(prior[own]).sum() - np.linalg.slogdet(precision)[1] + fit))
    expected = np.exp(logs) / np.exp(logs).sum()
    active, seen, n = np.array([True, True, False, False, True]), np.zeros(len(pairs)), 6000
    for number in range(n):
        active = draw_support(gram, cross, prior, active, 4, SweepDraws(0, number))
        assert active[4]
        seen[pairs.index(tuple(np.flatnonzero(active[:4])))] += 1
    assert expected.max() < 0.9
    np.testing.assert_allclose(seen / n, expected, atol=0.025)


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.parametrize("name", NAMES)
def test_truth_ranks_evenly_among_the_draws(name, monkeypatch):
    monkeypatch.setattr(base, "LOG_SPREAD", 0.5)
    p = rank_test(name, ("normal", {"logit": 4.0, "softmax": 3.0}.get(name, 1.0)), 150, 9)
    assert p.min() > 1e-3, p
