"""A new prior on topic shares is one class: every engine fits by it, on threads, on processes and on a GPU."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from supertopic import LDA, SVI, SLDARegressor, load
from supertopic.backends.threads import Threads
from supertopic.coefficients import CoefPrior
from supertopic.documents.known import Known
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.after.prediction import PointModel, score
from supertopic.inference.gibbs.lda import fit_gibbs
from supertopic.inference.gibbs.supervised import fit_supervised_gibbs
from supertopic.inference.settings import EMSettings, GibbsSettings, PredictionSettings, StochasticSettings
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.inference.variational.prediction_constrained import PredictionStep, fit_prediction
from supertopic.inference.variational.stochastic import fit_stochastic
from supertopic.metrics import align_topics
from supertopic.model import Model
from supertopic.priors.base import Rows, SharePrior
from supertopic.priors.dirichlet import newton_asymmetric
from supertopic.responses.continuous import Gaussian
from tests.priors import documents, fit
from tests.process_backend import Processes


@dataclass(frozen=True)
class GroupPrior(SharePrior):
    """Two groups of documents, told apart by a column of metadata, with an alpha each."""

    start: np.ndarray  # (2, K)
    column: str = "group"
    learned: bool = True

    @property
    def columns(self):
        return (self.column,)

    @property
    def learns(self):
        return self.learned

    def prepared(self, known, level):
        return replace(self, start=np.tile(level.start, (2, 1)))

    def held(self):
        return replace(self, learned=False)

    def first_topics(self, n_topics):
        return replace(self, start=self.start[:, :n_topics])

    def rows(self, alpha, documents):
        return Rows(alpha, documents.known.column(self.column).values.astype(np.int32))

    def summarise(self, alpha, documents, log_theta):
        return np.column_stack([log_theta, self.rows(alpha, documents).sizes])

    def update(self, alpha, stats, scale=1.0, rate=1.0):
        if not self.learned:
            return alpha
        steps = {} if rate == 1.0 else {"max_steps": 1, "rate": rate}
        means = stats[:, :-1] / np.maximum(stats[:, -1:], 1.0)
        return np.array([newton_asymmetric(*one, **steps) for one in zip(alpha, means, strict=True)])

    def mean(self, alpha):
        return alpha.mean(axis=0)


ALPHA = np.array([[2.0, 0.2, 0.2], [0.2, 0.2, 1.0]])
ENGINES = {
    "vb": (fit_batch, EMSettings(max_iter=40), {}),
    "cvb0": (fit_batch, EMSettings(max_iter=40), {"collapsed": True}),
    "svi": (fit_stochastic, StochasticSettings(max_iter=20, batch_size=50), {}),
    "gibbs": (fit_gibbs, GibbsSettings(max_iter=120), {}),
    "partial": (fit_gibbs, GibbsSettings(max_iter=120, sampler="partial"), {}),
}
SUPERVISED = {
    "vb": (fit_batch, EMSettings(max_iter=40), {"coef_step": GLMStep()}),
    "gibbs": (fit_supervised_gibbs, GibbsSettings(max_iter=60), {}),
    "pc": (fit_prediction, PredictionSettings(max_iter=5), {"collapsed": True, "coef_step": PredictionStep()}),
}
COEF = np.array([1.0, -1.0, 3.0])


def data(n_documents=400, **more):
    group = np.arange(n_documents, dtype=np.int32) % 2
    return documents(ALPHA[group], known=Known.of(n_documents, metadata={"group": group}), **more)


def model_of(collapsed=False, **more):
    return Model(3, DirichletTopics(0.05, collapsed), GroupPrior(np.full((2, 3), 0.3)), collapsed=collapsed, **more)


def mean_shares(alpha):
    return alpha / alpha.sum(axis=1, keepdims=True)


def check_groups(found, model, topics):
    """Each group has its own alpha, close to what its documents come from."""
    order = align_topics(topics, model.emission.probabilities(found.state.word_topic))[0]
    alpha = found.state.alpha[:, order]
    np.testing.assert_allclose(mean_shares(alpha), mean_shares(ALPHA), atol=0.08)
    if not model.collapsed:  # whose alpha is learned in the first steps only
        np.testing.assert_allclose(alpha.sum(axis=1), ALPHA.sum(axis=1), rtol=0.35)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_fits_by_it(engine):
    run, settings, more = ENGINES[engine]
    batch, topics, _ = data()
    model = model_of(**more)
    with Threads(2) as backend:
        check_groups(fit(run, settings, model, batch, backend), model, topics)


@pytest.fixture(scope="module")
def three():
    backend = Processes(3)
    yield backend
    backend.stop()


@pytest.mark.parametrize("engine", ["vb", "cvb0"])
def test_processes_find_the_same(engine, three):
    run, settings, more = ENGINES[engine]
    batch, *_ = data()
    few = replace(settings, max_iter=12)
    with Threads(1) as one:
        fits = [fit(run, few, model_of(**more), batch, backend) for backend in (one, three)]
    np.testing.assert_allclose(fits[0].state.alpha, fits[1].state.alpha, rtol=1e-4)
    np.testing.assert_allclose(fits[0].trace, fits[1].trace, rtol=1e-5)


PUBLIC = {
    "lda": (LDA, {}), "gibbs": (LDA, {"inference": "gibbs", "max_iter": 60}),
    "svi": (LDA, {"inference": SVI(batch_size=50), "max_iter": 10}),
    "vb": (SLDARegressor, {"inference": "vb", "cross_fit": 3}),
    "pc": (SLDARegressor, {"inference": "pc", "max_iter": 4, "cross_fit": 3}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Documents without a word")
@pytest.mark.parametrize("name", PUBLIC)
def test_users_fit_predict_save_and_load_it(name, tmp_path):
    kind, params = PUBLIC[name]
    batch, topics, shares = data()
    metadata = {"group": np.arange(400) % 2, "other": np.arange(400) * 0.1}
    y = [] if kind is LDA else [shares @ COEF]
    model = kind(3, prevalence=GroupPrior(np.zeros((2, 0))), n_jobs=2, **params)
    model.fit(batch.counts, *y, metadata=metadata)
    alpha = model.fitted_.state.alpha[:, align_topics(topics, model.components_)[0]]
    np.testing.assert_allclose(mean_shares(alpha), mean_shares(ALPHA), atol=0.12)
    np.testing.assert_allclose(model.alpha_, model.fitted_.state.alpha.mean(axis=0))
    nothing = np.zeros((2, batch.counts.shape[1]))
    by_group = mean_shares(model.fitted_.state.alpha)
    np.testing.assert_allclose(model.transform(nothing, metadata={"group": [1, 0]}), by_group[::-1], atol=1e-5)
    np.testing.assert_allclose(model.transform(nothing), mean_shares(model.alpha_[None])[[0, 0]], atol=1e-5)
    model.save(tmp_path / "model.supertopic")
    again = load(tmp_path / "model.supertopic")
    assert type(again.prevalence) is GroupPrior
    for method in ["transform"] if kind is LDA else ["transform", "predict"]:
        expected = getattr(model, method)(batch.counts, metadata=metadata)
        np.testing.assert_array_equal(getattr(again, method)(batch.counts, metadata=metadata), expected)
        assert not np.array_equal(expected, getattr(model, method)(batch.counts))


@pytest.mark.parametrize("engine", SUPERVISED)
def test_it_stands_beside_a_response(engine):
    """Documents without words are predicted from the mean shares of their group."""
    run, settings, more = SUPERVISED[engine]
    batch, topics, _ = data(y=lambda shares: shares @ COEF + 0.1 * np.random.default_rng(7).normal(size=len(shares)))
    prior = GroupPrior(np.array([[0.5, 0.5, 0.5], [0.4, 0.4, 0.4]]), learned=engine != "pc")
    emission = DirichletTopics(0.05, engine == "pc")
    model = Model(3, emission, prior, Gaussian(), CoefPrior("normal", 3.0), **more)
    with Threads(2) as backend:
        found = fit(run, settings, model, batch, backend)
        weights = model.emission.probabilities(found.state.word_topic, by_word=True)
        rows = prior.rows(found.state.alpha, batch)
        point = PointModel(rows.alpha, collapsed=engine == "pc", at_mode=engine == "pc", which=rows.which)
        empty = batch.counts.copy()
        empty.data[:] = 0
        scores = [
            score(point, weights, found.state.coef, model.response, one, backend) for one in (batch.counts, empty)
        ]
    assert np.corrcoef(scores[0].score[:, 0], batch.y)[0, 1] > 0.9
    np.testing.assert_allclose(scores[1].mean_topics, mean_shares(found.state.alpha)[rows.which], atol=1e-4)
    if engine != "pc":
        check_groups(found, model, topics)
