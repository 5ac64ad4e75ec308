"""A new emission is one class: once it is defined, estimators take it by name, every engine fits it, files keep it."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from supertopic import LDA, VB, SLDAClassifier, SLDARegressor, load
from supertopic.backends.threads import Threads
from supertopic.datasets import simulate
from supertopic.emissions import base
from supertopic.emissions.dirichlet import DirichletTopics, integrable_prior
from supertopic.fitted import files
from supertopic.metrics import align_topics
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior

PRIOR = 0.3


class FrequencyTopics(base.Emission):
    """beta_k ~ Dirichlet(b), b_w = prior · V · (share of w in the corpus): topics are smoothed towards the corpus.

    Parameters (V, K + 1): lambda of each topic, and b in the last column.
    """

    name = "frequency"

    def __init__(self, prior):
        self.prior = float(prior)

    @classmethod
    def make(cls, *, topic_word_prior, collapsed):
        return cls(topic_word_prior)

    def first(self, counts, backend):
        seen = counts.sum(axis=1, dtype=np.float64) + 0.1
        smoothing = self.prior * len(seen) * seen / seen.sum()
        return np.column_stack([counts + smoothing[:, None], smoothing]).astype(np.float32)

    def expect(self, word_topic, backend, *, log=False, out=None):
        logs = digamma(word_topic[:, :-1]) - digamma(word_topic[:, :-1].sum(axis=0, dtype=np.float64))
        return (logs if log else np.exp(logs)).astype(np.float32)

    def evidence(self, word_topic, backend):
        found, smoothing = word_topic[:, :-1].astype(np.float64), word_topic[:, -1:].astype(np.float64)
        logs = digamma(found) - digamma(found.sum(axis=0))
        prior = gammaln(smoothing.sum()) - gammaln(smoothing).sum() + ((smoothing - 1) * logs).sum(axis=0)
        posterior = gammaln(found.sum(axis=0)) - gammaln(found).sum(axis=0) + ((found - 1) * logs).sum(axis=0)
        return float((prior - posterior).sum())

    def update(self, word_topic, counts, rate, backend):
        after = word_topic.copy()
        after[:, :-1] += np.float32(rate) * (counts + word_topic[:, -1:] - word_topic[:, :-1])
        return after

    def probabilities(self, word_topic, *, by_word=False):
        shares = (word_topic[:, :-1] / word_topic[:, :-1].sum(axis=0, dtype=np.float64)).astype(np.float32)
        return shares if by_word else np.ascontiguousarray(shares.T)


class FrequencyLDA(LDA):
    """LDA with the emission above."""

    def _model(self, schema):
        prior = DirichletPrior.parse(self.doc_topic_prior, self.n_topics)
        return Model(self.n_topics, base.make_emission("frequency", topic_word_prior=self.topic_word_prior), prior)


@pytest.fixture(scope="module", autouse=True)
def forget():
    yield
    del base._REGISTRY["frequency"], files.ESTIMATORS["FrequencyLDA"]


@pytest.fixture(scope="module")
def data():
    return simulate(n_documents=400, n_topics=3, n_words=120, mean_length=60, response="gaussian", seed=4)


def test_it_is_registered_by_its_name():
    assert base.registry()["frequency"] is FrequencyTopics
    assert {"dirichlet", "sage"} <= set(base.registry())
    assert base.make_emission("frequency", topic_word_prior=0.7).prior == 0.7
    with pytest.raises(ValueError, match="emission: got 'other', expected 'dirichlet' or 'sage' or 'frequency'"):
        base.make_emission("other", topic_word_prior=0.7)
    with pytest.raises(ValueError, match="emission: got \\['sage'\\], expected"):
        base.make_emission(["sage"], topic_word_prior=0.7)


def test_of_words_that_are_equally_frequent_it_is_the_dirichlet():
    """The contract, held against Dirichlet topics: same parameters, weights, evidence, M-step and probabilities."""
    rng = np.random.default_rng(0)
    counts = rng.gamma(0.5, 4.0, (40, 3)).astype(np.float32)
    counts *= np.float32(5.0) / counts.sum(axis=1, keepdims=True)
    ours, theirs = FrequencyTopics(PRIOR), DirichletTopics(PRIOR)
    with Threads(1) as backend:
        first, expected = ours.first(counts.copy(), backend), theirs.first(counts.copy(), backend)
        for rate in (1.0, 0.3):
            np.testing.assert_allclose(first[:, :-1], expected, rtol=1e-5)
            np.testing.assert_allclose(first[:, -1], PRIOR, rtol=1e-5)
            assert ours.evidence(first, backend) == pytest.approx(theirs.evidence(expected, backend), rel=1e-5)
            for log in (False, True):
                found = ours.expect(first, backend, log=log)
                np.testing.assert_allclose(found, theirs.expect(expected, backend, log=log), rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(ours.probabilities(first), theirs.probabilities(expected), rtol=1e-5)
            more = rng.gamma(0.5, 4.0, (40, 3)).astype(np.float32)
            first = ours.update(first, more.copy(), rate, backend)
            expected = theirs.update(expected, more.copy(), rate, backend)


FITS = {
    "lda-vb": (FrequencyLDA, {"inference": "vb", "max_iter": 20}),
    "lda-svi": (FrequencyLDA, {"inference": "svi", "max_iter": 5}),
    "slda-vb": (SLDARegressor, {"emission": "frequency", "inference": "vb", "max_iter": 20}),
    "slda-svi": (SLDARegressor, {"emission": "frequency", "inference": "svi", "max_iter": 10}),
}


@pytest.mark.parametrize("name", FITS)
def test_it_is_fitted_saved_and_loaded(name, data, tmp_path):
    kind, params = FITS[name]
    model, train = kind(3, topic_word_prior=PRIOR, **params), slice(0, 300)
    model.fit(data.counts[train], data.y[train])
    order = align_topics(data.components, model.components_).order
    assert np.abs(model.components_[order] - data.components).sum(axis=1).max() < 0.3
    assert np.isfinite(model.bound_).all() and model.bound_[-1] > model.bound_[0]
    kept = model.fitted_.state.word_topic
    assert kept.shape == (120, 4) and kept[:, -1].sum() == pytest.approx(PRIOR * 120, rel=1e-4)
    assert np.corrcoef(kept[:, -1], np.asarray(data.counts.counts[train].sum(axis=0)).ravel())[0, 1] > 0.99
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    assert isinstance(again.fitted_.spec.model.emission, FrequencyTopics)
    np.testing.assert_array_equal(again.transform(data.counts), model.transform(data.counts))
    if kind is SLDARegressor:
        assert model.score(data.counts[300:], data.y[300:]) > 0.5
        np.testing.assert_array_equal(again.predict(data.counts), model.predict(data.counts))


@pytest.mark.parametrize("kind", [FrequencyLDA, SLDARegressor])
def test_the_bound_never_falls(kind, data):
    given = {"emission": "frequency", "refit": False} if kind is SLDARegressor else {}
    model = kind(3, topic_word_prior=PRIOR, max_iter=25, tol=0, **given)
    model.set_params(inference=VB(doc_tol=1e-5, max_doc_iter=1000))
    bound = model.fit(data.counts, data.y).bound_
    assert len(bound) == 25 and np.diff(bound).min() > -2e-6 * abs(bound[-1]) and bound[-1] > bound[0] + 0.003


def test_classes_are_predicted_too():
    data = simulate(n_documents=300, n_topics=3, n_words=100, mean_length=60, response="softmax", seed=2)
    model = SLDAClassifier(3, emission="frequency", max_iter=15).fit(data.counts[:200], data.y[:200].astype(int))
    share = np.unique(data.y[200:], return_counts=True)[1].max() / 100
    assert model.score(data.counts[200:], data.y[200:].astype(int)) > share


def test_gibbs_refuses_it_in_one_sentence(data):
    message = "inference: got 'gibbs', which needs Dirichlet topics, but the emission is 'frequency'"
    for model in (FrequencyLDA(3, inference="gibbs"), SLDARegressor(3, inference="gibbs", emission="frequency")):
        with pytest.raises(ValueError) as caught:
            model.fit(data.counts, data.y)
        assert str(caught.value) == message


def test_gibbs_refuses_a_kind_of_dirichlet_that_it_does_not_know():
    kind = type("HalvedTopics", (DirichletTopics,), {})  # without a name of its own, so that it is not registered
    assert integrable_prior(DirichletTopics(0.2)) == 0.2 and kind.name == "dirichlet"
    with pytest.raises(ValueError, match="needs Dirichlet topics"):
        integrable_prior(kind(0.2))
