"""Engines: a killed fit continues with the same result, and a new response needs only one class."""

import numpy as np
import pytest

from supertopic import LDA, SVI, Gibbs, MixtureOfCategoricals
from supertopic.backends.threads import Threads
from supertopic.checkpoint import Checkpoint
from supertopic.datasets import simulate
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.batches import Batch, gather
from supertopic.inference.task import has_converged
from supertopic.inference.variational.local import LocalLimits, local_step
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.inference.variational.step import take_step
from supertopic.model import DocumentTerms, Model, State
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses import base
from tests.cases import cases

FITS = {
    "vb": (LDA, {"inference": "vb", "max_iter": 12, "tol": 0}),
    "svi": (LDA, {"inference": SVI(batch_size=64), "max_iter": 3}),
    "gibbs": (LDA, {"inference": Gibbs(thin=3), "max_iter": 40}),
    "gibbs-partial": (LDA, {"inference": Gibbs(sampler="partial"), "max_iter": 40}),
    "gibbs-lists": (LDA, {"inference": "gibbs", "max_iter": 30, "n_topics": 150}),
    "mixture": (MixtureOfCategoricals, {"inference": "vb", "max_iter": 12, "tol": 0}),
    "mixture-gibbs": (MixtureOfCategoricals, {"inference": "gibbs", "max_iter": 20}),
}


class Stop(Exception):
    pass


def unlabelled(counts, n_topics):
    return Batch(counts, np.full(counts.shape[0], np.nan), np.ones(counts.shape[0]), n_topics)


@pytest.fixture
def counts():
    return simulate(n_documents=400, n_topics=4, n_words=120, mean_length=40, seed=6).counts.counts


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("n_saves", cases([1, 4], [4]))
def test_interrupted_fit_ends_with_the_same_model(name, n_saves, counts, tmp_path, monkeypatch):
    kind, params = FITS[name]
    params = {"n_topics": 4, **params}
    whole = kind(**params).fit(counts)
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
        kind(checkpoint=path, **params).fit(counts)
    assert path.exists()
    monkeypatch.setattr(Checkpoint, "save", save)
    monkeypatch.setattr(Checkpoint, "due", due)
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        kind(checkpoint=path, **{**params, "random_state": 9}).fit(counts)
    resumed = kind(checkpoint=path, n_jobs=2, **params).fit(counts)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.bound_, whole.bound_)
    np.testing.assert_array_equal(resumed.alpha_, whole.alpha_)
    assert not path.exists()


VARIANCE = 1e-3


class Thermometer(base.Response):
    """A Gaussian response with known variance, as a user might write it; nothing else is needed."""

    name = "thermometer"
    is_product = np.zeros(1, dtype=bool)

    def slope_and_curvature(self, y, score, moment, dispersion):
        known = ~np.isnan(y)
        return np.where(known, y / VARIANCE, 0.0)[:, None], np.where(known, 1 / VARIANCE, 0.0)[:, None]

    def log_density(self, y, score, moment, dispersion):
        fit = -0.5 * (y**2 - 2 * y * score[:, 0] + moment[:, 0]) / VARIANCE - 0.5 * np.log(2 * np.pi * VARIANCE)
        return np.where(np.isnan(y), 0.0, fit)


@pytest.fixture
def thermometer():
    yield Thermometer()
    base.unregister("thermometer")


def test_a_new_response_is_one_class(thermometer):
    """Given the coefficients, labelled documents get more of the topics that fit y, and unlabelled ones do not."""
    coef = np.array([[-1.0, 0.0, 1.0, 2.0]], dtype=np.float32)
    data = simulate(n_documents=300, n_topics=4, n_words=100, mean_length=40, response="gaussian", coef=coef[0], seed=8)
    y = data.y.copy()
    y[::3] = np.nan
    model = Model(4, DirichletTopics(0.05), DirichletPrior.parse(0.2, 4), thermometer, coef_step=GLMStep())
    assert base.registry()["thermometer"] is Thermometer
    batch = Batch(data.counts.counts, y, np.ones(300), 4)
    topics = (data.components.T * 1e4 + 0.05).astype(np.float32)
    limits = LocalLimits(200, 1e-5)
    for n_jobs in (1, 2):
        with Threads(n_jobs) as backend:
            plain, told = State.first(model, topics), State.first(model, topics, coef=coef)
            without = gather(take_step(model, plain, batch, backend, limits).spread)
            step = take_step(model, told, batch, backend, limits)
            found = gather(step.spread)
            shares = [gamma / gamma.sum(axis=1, keepdims=True) for gamma in (without, found)]
            errors = [np.abs(share @ coef[0] - data.y) for share in shares]
            labelled = ~np.isnan(y)
            assert errors[1][labelled].mean() < 0.6 * errors[0][labelled].mean()
            np.testing.assert_array_equal(without[~labelled], found[~labelled])
            bounds = [
                take_step(model, told, batch, backend, LocalLimits(n, 0.0)).bound(model, backend) for n in (5, 25, 200)
            ]
            assert np.all(np.diff(bounds) > 0)
            assert bounds[-1] == pytest.approx(step.bound(model, backend), rel=1e-5)


@pytest.mark.parametrize(
    ("trace", "patience", "ends"),
    [
        ([-9.0, -8.0, -8.0], 1, False),  # once may be a plateau
        ([-9.0, -8.0, -8.0, -8.0], 1, True),
        ([-9.0, -8.0, -8.0, -7.0, -7.0], 1, False),
        ([-8.0, -8.0], 1, False),
        ([-9.0, -8.0, -8.1, -8.2], 2, False),
        ([-9.0, -8.0, -8.1, -8.2, -8.3], 2, True),
    ],
)
def test_em_ends_after_two_steps_without_a_gain(trace, patience, ends):
    assert has_converged(trace, 1e-4, patience) == ends
    assert not has_converged(trace, 0.0, patience)


def test_statistics_add_up():
    counts = simulate(n_documents=60, n_topics=3, n_words=50, seed=1).counts.counts
    model = Model(3, DirichletTopics(0.1), DirichletPrior.parse(0.2, 3))
    rng = np.random.default_rng(0)
    state = State.first(model, rng.gamma(1.0, size=(50, 3)).astype(np.float32) + np.float32(0.1))
    with Threads(1) as backend:
        weights = model.emission.expect(state.word_topic, backend)
        parts = [
            local_step(unlabelled(part, 3).split(1)[0], backend, model, state, weights, LocalLimits(), DocumentTerms())
            for part in (counts, counts[:25], counts[25:])
        ]
    both = parts[1] + parts[2]
    np.testing.assert_allclose(both.word_topic, parts[0].word_topic, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(both.prior, parts[0].prior, rtol=1e-6)
    assert (both.n_documents, both.bound) == (60, pytest.approx(parts[0].bound))


def test_long_corpora_are_cut_into_blocks(monkeypatch):
    from supertopic.inference import batches

    counts = simulate(n_documents=100, n_topics=3, n_words=50, seed=1).counts.counts
    whole = [kind(3, max_iter=3).fit(counts) for kind in (LDA, MixtureOfCategoricals)]
    monkeypatch.setattr(batches, "_SHARE_BYTES", 4 * 3 * 60)
    monkeypatch.setattr(batches, "_PLAIN_BYTES", 4 * 3 * 60)
    assert min(len(unlabelled(counts, 3).blocks), len(unlabelled(counts, 3).plain_blocks)) > 10
    for model, n_jobs in zip(whole, (1, 2), strict=True):
        cut = type(model)(3, max_iter=3, n_jobs=n_jobs).fit(counts)
        np.testing.assert_allclose(cut.components_, model.components_, rtol=1e-4, atol=1e-7)
