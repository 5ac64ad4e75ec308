"""The supervised sampler by groups of documents and words: against slow sweeps, over threads, and its distribution."""

from itertools import product

import numpy as np
import pytest

from supertopic import Gibbs, SLDARegressor, datasets
from supertopic.backends.threads import Threads
from supertopic.responses import base
from tests import naive_gibbs
from tests import naive_supervised as naive
from tests.cases import cases
from tests.joint import ALPHA, BETA, joint_test, sampler_of


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_sampler_and_naive_sweep_draw_the_same_topics(groups):
    """Both kinds of sweeps, by groups whose n_k lags: Gaussian and Poisson columns, a covariate, a missing label."""
    rng = np.random.default_rng(3)
    counts, covariates = rng.poisson(1.5, size=(9, 8)), rng.normal(size=(9, 1))
    counts[2] = 0
    for name in ("gaussian", "poisson"):
        sampler = sampler_of(name, counts, rng.poisson(3.0, size=9), covariates=covariates, seed=4, groups=groups)
        coef = rng.normal(size=sampler.coef.shape)
        topic = rng.integers(3, size=len(sampler.topic)).astype(np.uint16)
        sampler.take(topic.copy(), coef, sampler.dispersion, ALPHA)
        slope, curvature = rng.normal(size=(9, 1)) * 3, rng.gamma(2.0, size=(9, 1))
        slope[5] = curvature[5] = 0.0
        offset, own = covariates @ coef[:, 3:].T, coef[:, :3]

        def function(d, c, s, slope=slope, curvature=curvature, offset=offset):
            return slope[d, c] * s - curvature[d, c] * np.exp(s + offset[d, c])

        for number in range(3):
            sampler.draw_topics(slope, curvature, number)
            if name == "gaussian":
                linear = slope - curvature * offset
                naive_gibbs.documents_sweep(
                    sampler.tokens, topic, linear, curvature, own, 8, ALPHA, BETA, 4, number
                )  # fmt: skip
            else:
                naive.sweep(sampler.tokens, topic, function, own, np.tile(ALPHA, (9, 1)), BETA, 8, 4, number)
            np.testing.assert_array_equal(sampler.topic, topic)
            np.testing.assert_array_equal(sampler.topic_count, np.bincount(topic, minlength=3))
            np.testing.assert_array_equal(sampler.doc_topic.sum(1), counts.sum(1))


class Recorder(Threads):
    """Threads that write down which calls they were given to run at once."""

    def __init__(self, n_jobs):
        super().__init__(n_jobs)
        self.given = []

    def all(self, calls):
        self.given.append(list(calls))
        super().all(calls)


@pytest.mark.parametrize(("name", "kernel"), [("logit", "sweep_documents"), ("poisson", "sweep_likelihood")])
def test_a_large_corpus_is_swept_in_tasks_that_share_no_document_and_no_word(name, kernel):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.6, size=(2100, 50))
    assert counts.sum() > 50_000
    found = []
    for n_jobs in (1, 2):
        with Recorder(n_jobs) as backend:
            sampler = sampler_of(name, counts, rng.integers(2, size=2100), backend=backend)
            sampler.y[:] = np.arange(2100) % 2
            sampler.sweep(0)
        found.append((sampler.topic, sampler.coef))
        waves = [wave for wave in backend.given if getattr(wave[0][0], "__name__", "") == kernel]
        assert [len(wave) for wave in waves] == [4] * 4
        tokens, seen = sampler.tokens, []
        for wave in waves:
            documents, words = set(), set()
            for _, start, stop, doc_ptr, *_ in wave:
                task = range(doc_ptr[start], doc_ptr[stop])
                own = set(tokens.word[task].tolist())
                assert own and not words & own and not documents & set(range(start, stop))
                documents |= set(range(start, stop))
                words |= own
                seen += task
        assert sorted(seen) == list(range(len(tokens.word)))
        ranges = [wave for wave in backend.given if getattr(wave[0][0], "__name__", "") == "fill"]
        if name == "logit":  # Pólya-Gamma draws of all documents, in several ranges
            assert len(ranges) == 2 and all((len(wave) > 1) == (n_jobs > 1) for wave in ranges)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.fixture(scope="module")
def large():
    data = datasets.simulate(700, 4, 150, 80, response="gaussian", seed=3)
    assert data.counts.counts.sum() > 50_000
    return data.counts, data.y


@pytest.mark.parametrize("response", ["gaussian", "poisson"])
def test_same_model_whatever_the_threads(large, response):
    counts, y = large
    y = np.round(np.exp(y - y.max() + 2)) if response == "poisson" else y
    params = dict(response=response, inference=Gibbs(thin=2), max_iter=12, doc_topic_prior="auto")
    one, *others = (SLDARegressor(5, n_jobs=n, cross_fit=0, **params).fit(counts, y) for n in (1, 4))
    for other in others:
        for name in ("coef", "dispersion", "log_joint", "alpha"):
            np.testing.assert_array_equal(one.draws_[name], other.draws_[name])
        np.testing.assert_array_equal(one.components_, other.components_)
        np.testing.assert_array_equal(one.predict(counts), other.predict(counts))


def test_a_fit_gives_its_sweeps_to_its_threads(large, monkeypatch):
    """Every sweep of a fit hands all tasks of an epoch to the backend of `n_jobs` at once."""
    threads, run = [], Threads.all

    def record(self, calls):
        if getattr(calls[0][0], "__name__", "") == "sweep_documents":
            threads.append((self.n_threads, len(calls)))
        run(self, calls)

    monkeypatch.setattr(Threads, "all", record)
    SLDARegressor(3, inference="gibbs", max_iter=3, n_jobs=2, cross_fit=0).fit(*large)
    assert threads == [(2, 4)] * 4 * (2 + 3)  # two sweeps for the start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "groups"), cases(product(["gaussian", "logit", "poisson"], [2, 3]), [("gaussian", 3)])
)
def test_sweeps_by_groups_keep_the_joint_distribution(name, groups, monkeypatch):
    """The lag of n_k makes them approximate; with as many replicates as for exact sweeps, it is not seen.

    `test_visits_follow_the_exact_posterior` of the kernel shows that groups without a lag are exact.
    """
    monkeypatch.setattr(base, "LOG_SPREAD", 0.5)
    z = joint_test(name, ("normal", 4.0 if name == "logit" else 1.0), 1500, 3, groups=groups)
    assert z.max() < 4.0, z
