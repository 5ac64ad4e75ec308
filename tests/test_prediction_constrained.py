"""Prediction-constrained training: its gradient, early stopping, what it finds, and that it is a model like others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from supertopic import PC, SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.backends.threads import Threads
from supertopic.checkpoint import Checkpoint
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.batches import Batch, Partition
from supertopic.inference.variational import prediction_constrained, prediction_start
from supertopic.inference.variational.climb import SETTINGS, Climb
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.prediction_local import Scales, prediction_step
from supertopic.model import DocumentTerms, Model, State
from supertopic.priors.base import Rows
from supertopic.responses.base import registry
from tests import naive_pc
from tests.cases import cases
from tests.priors import FixedRows

EXACT = LocalLimits(3000, 1e-9)


def tiny(response_name):
    """(model, state, batch) of six documents over eight words, with one covariate and one label missing."""
    rng = np.random.default_rng(3)
    counts = sp.csr_matrix(rng.poisson(1.5, (6, 8)).astype(np.float32))
    response = registry()[response_name](3 if response_name == "softmax" else 2)
    y = {
        "gaussian": rng.normal(size=6), "poisson": rng.poisson(2.0, 6), "logit": [0, 1, 1, 0, 1, 0],
        "softmax": [0, 1, 2, 0, 1, 2],
    }[response_name]  # fmt: skip
    y = np.asarray(y, dtype=np.float64)
    y[4] = np.nan
    weight = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 0.0])
    rows = Rows(np.array([[0.5, 0.3, 0.7], [0.1, 1.3, 0.2]]), np.array([0, 0, 1, 0, 1, 1], dtype=np.int32))
    batch = Batch(counts, y, weight, 3, rng.normal(size=(6, 1)), {"rows": rows})
    prior = FixedRows(np.array([0.5, 0.3, 0.7]))
    model = Model(3, DirichletTopics(0.1, True), prior, response, CoefPrior("normal", 1.0), n_covariates=1)
    dispersion = np.array([0.5, 0.2, 1.5]) if response_name == "gaussian" else np.zeros(0)
    state = State.first(model, np.zeros((0, 3), dtype=np.float32), dispersion=dispersion)
    state.coef[:] = rng.normal(size=state.coef.shape)
    return model, state, batch


def naive_objective(model, state, batch, topics, word, label):
    value, scores = 0.0, []
    for d in range(len(batch)):
        own = slice(batch.counts.indptr[d], batch.counts.indptr[d + 1])
        counts, rows = batch.counts.data[own].astype(np.float64), topics[batch.counts.indices[own]]
        alpha = model.doc_topic_prior.rows(state.alpha, batch).of_document(d)
        theta = naive_pc.fixed_point(counts, rows, alpha)
        value += word * (counts @ np.log(rows @ theta) + alpha @ np.log(theta))
        scores.append(state.coef.astype(np.float64) @ np.concatenate([theta, batch.extra[d]]))
    return value + label * model.response.log_likelihood(batch.y, np.array(scores), batch.weight, state.dispersion)


@pytest.mark.parametrize("response", ["gaussian", "poisson", "logit", "softmax"])
def test_gradient_is_that_of_differences_of_the_whole_objective(response):
    model, state, batch = tiny(response)
    topics = np.ascontiguousarray(np.random.default_rng(5).dirichlet(np.full(8, 0.7), 3).T) + 0.01
    topics /= topics.sum(axis=0)
    word, label = 0.3, 1.7
    with Threads(1) as backend:
        partition = Partition(batch, slice(0, 6))
        scales = Scales(word, label, EXACT, LocalLimits(100, 1e-7))
        stats = prediction_step(partition, backend, model, state, topics.astype(np.float32), scales)

    def objective(at):
        return naive_objective(model, state, batch, at, word, label)

    expected = naive_pc.difference_gradient(objective, topics, 1e-5)
    np.testing.assert_allclose(stats.topics, expected, atol=3e-3 * np.abs(expected).max())
    assert word * stats.words + label * stats.labels == pytest.approx(objective(topics), rel=1e-4)

    def of_logits(logits):
        b = np.exp(logits) / np.exp(logits).sum(axis=0)
        return objective(b) + 0.2 * np.log(b).sum()

    expected = naive_pc.difference_gradient(of_logits, np.log(topics), 1e-5)
    found = naive_pc.logit_gradient(topics, stats.topics, 0.2)
    np.testing.assert_allclose(found, expected, atol=3e-3 * np.abs(expected).max())


def test_a_step_goes_uphill_and_topics_stay_distributions():
    topics = np.random.default_rng(0).dirichlet(np.ones(9), 2).T.astype(np.float32, order="C")
    climb, gradient = Climb.of(topics), np.zeros_like(topics)
    np.testing.assert_allclose(climb.topics(Threads(1).ops), topics, rtol=1e-4)
    gradient[3, 1] = 1.0
    after = climb.step(topics.copy(), gradient, 0.0, 0.1, Threads(1).ops)
    assert after[3, 1] > topics[3, 1] and (np.delete(after[:, 1], 3) < np.delete(topics[:, 1], 3)).all()
    np.testing.assert_allclose(after[:, 0], topics[:, 0], rtol=1e-4)


# --- simulated documents: a rare topic, which plain topics have no reason to find, makes y


def rare_topic(n_documents=500, n_words=60, length=150, seed=0):
    """(counts, y, covariate, share of the rare topic): one word in six tells y."""
    common = np.random.default_rng(9).dirichlet(np.full(n_words, 0.3), 4)
    rng = np.random.default_rng(seed)
    rare = np.zeros((2, n_words))
    rare[0, :3], rare[1, 3:6] = 1 / 3, 1 / 3
    shares, told = rng.dirichlet(np.full(4, 0.3), n_documents), rng.random(n_documents)
    mixed = 0.84 * shares @ common + 0.16 * (told[:, None] * rare[0] + (1 - told)[:, None] * rare[1])
    counts = np.stack([rng.multinomial(length, row) for row in mixed])
    x = rng.normal(size=n_documents)
    y = 4 * told + 0.7 * x + 0.3 * rng.normal(size=n_documents)
    return sp.csr_matrix(counts.astype(np.float32)), y, x[:, None], told


X, Y, COVARIATE, TOLD = rare_topic()
NEW, NEW_Y, NEW_COVARIATE, NEW_TOLD = rare_topic(seed=1)
PLAIN = (Y - 0.7 * COVARIATE[:, 0], NEW_Y - 0.7 * NEW_COVARIATE[:, 0])


@pytest.fixture(name="fitted", scope="module")
def _fitted():
    return SLDARegressor(4, inference="pc").fit(X, PLAIN[0])


def test_a_rare_topic_that_tells_y_is_found(fitted):
    """With four topics there is none left for it, unless y asks for one: sLDA does not leave its start."""
    assert fitted.score(NEW, PLAIN[1]) > 0.5
    for params in ({"inference": "vb"}, {"inference": "pc", "supervision": 0, "max_iter": 10}):
        assert SLDARegressor(4, cross_fit=0, **params).fit(X, PLAIN[0]).score(NEW, PLAIN[1]) < 0.1
    top, bottom = fitted.components_[fitted.coef_.argmax()], fitted.components_[fitted.coef_.argmin()]
    assert top[:3].sum() > top[3:6].sum() and bottom[3:6].sum() > 3 * bottom[:3].sum()


def test_the_trace_ends_at_an_epoch_as_good_as_the_best_and_dispersion_is_honest(fitted, monkeypatch):
    assert fitted.n_iter_ == len(fitted.bound_) and fitted.bound_[-1] > fitted.bound_.max() - 0.1
    whole = SLDARegressor(4, inference="pc", cross_fit=0).fit(X, PLAIN[0])
    with monkeypatch.context() as patch:
        patch.setattr(prediction_constrained.Course, "_trained_on_all", lambda course: course.best)
        best = SLDARegressor(4, inference="pc", cross_fit=0).fit(X, PLAIN[0])
    held = np.random.default_rng([0, 6]).permutation(len(Y))[: round(len(Y) / 8)]
    assert best.dispersion_ == pytest.approx(np.mean((best.predict(X) - PLAIN[0])[held] ** 2), rel=0.1)
    assert whole.dispersion_ == pytest.approx(best.dispersion_, rel=1e-6)
    assert np.abs(whole.components_ - best.components_).max() > 1e-4
    lower, upper = fitted.predict(NEW, return_interval=0.9)[1:]
    assert 0.83 < np.mean((lower <= PLAIN[1]) & (PLAIN[1] <= upper)) < 0.97


def test_no_epoch_at_all_leaves_topics_that_know_nothing_of_y():
    params = {"inference": PC(validation_fraction=0), "max_iter": 0, "cross_fit": 0}
    start = SLDARegressor(4, **params).fit(X, PLAIN[0])
    assert start.fitted_.terms.epochs == 0 and start.score(NEW, PLAIN[1]) < 0.1
    np.testing.assert_array_equal(start.components_, SLDARegressor(4, **params).fit(X, -PLAIN[0]).components_)


def test_noise_leaves_the_topics_where_they_started():
    """No epoch predicts noise better than topics that have not seen it."""
    noise = np.random.default_rng(3).normal(size=len(Y))
    model = SLDARegressor(8, inference="pc").fit(X, noise)
    assert model.fitted_.terms.epochs == 0 and model.n_iter_ == len(model.bound_) == 1
    folds = SLDARegressor(8, inference="pc", cross_fit=0).fit(X, noise)
    np.testing.assert_array_equal(folds.components_, model.components_)
    classes = SLDAClassifier(8, inference="pc", cross_fit=0).fit(X, noise > 0)
    assert classes.fitted_.terms.epochs == 0
    np.testing.assert_allclose(classes.components_, model.components_)  # of the same words: labels have no say in them


def test_training_raises_the_objective_without_documents_held_out():
    model = SLDARegressor(8, inference=PC(validation_fraction=0), max_iter=20, cross_fit=0).fit(X, PLAIN[0])
    assert model.n_iter_ == 20 == len(model.bound_)
    assert model.bound_[-5:].mean() > model.bound_[:3].mean() + 0.1


def test_shares_are_the_mode_and_explanations_add_up(fitted, tmp_path):
    shares = fitted.transform(NEW[:3])
    topics = fitted.components_.T.astype(np.float64)
    for d in range(3):
        row = NEW[d]
        expected = naive_pc.fixed_point(row.data.astype(np.float64), topics[row.indices], fitted.alpha_)
        np.testing.assert_allclose(shares[d], expected, atol=2e-3)
    np.testing.assert_allclose(fitted.predict(NEW[:3]), fitted.intercept_ + shares @ fitted.coef_, rtol=1e-4)
    frame = fitted.explain(NEW[0])
    assert fitted.intercept_ + frame["contribution"].sum() == pytest.approx(fitted.predict(NEW[:1])[0], rel=1e-3)
    fitted.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))
    np.testing.assert_array_equal(again.transform(NEW), fitted.transform(NEW))


def test_threads_do_not_change_the_result():
    one, two = (SLDARegressor(4, inference="pc", max_iter=2, n_jobs=n_jobs).fit(X, PLAIN[0]) for n_jobs in (1, 2))
    np.testing.assert_array_equal(two.components_, one.components_)
    np.testing.assert_array_equal(two.coef_, one.coef_)


def test_covariates_weights_and_missing_labels():
    y = Y.copy()
    y[::3] = np.nan
    with_covariate = SLDARegressor(8, inference="pc", cross_fit=0).fit(X, y, covariates=COVARIATE)
    assert with_covariate.covariate_coef_[0, 0] == pytest.approx(0.7, abs=0.1)
    assert with_covariate.score(NEW, NEW_Y, covariates=NEW_COVARIATE) > 0.6
    wrong = PLAIN[0].copy()
    wrong[::2] = wrong[::2][::-1]
    weight = np.ones(len(wrong))
    weight[::2] = 0.0
    assert SLDARegressor(8, inference="pc", cross_fit=0).fit(X, wrong, sample_weight=weight).score(NEW, PLAIN[1]) > 0.4


@pytest.mark.parametrize("response", cases(["logit", "probit", "softmax", "ordinal"], ["logit", "ordinal"]))
def test_classes(response):
    n_classes = 2 if response in ("logit", "probit") else 3
    cuts = np.linspace(0, 1, n_classes + 1)[1:-1]
    model = SLDAClassifier(8, response=response, inference="pc", cross_fit=0).fit(X, np.digitize(TOLD, cuts))
    assert model.score(NEW, np.digitize(NEW_TOLD, cuts)) > {2: 0.8, 3: 0.6}[n_classes]


def test_a_softmax_starts_from_max_margin_topics_of_the_training_documents(monkeypatch):
    starts, margin_topics = [], prediction_start._margin_topics

    def margin(task, train):
        starts.append((len(train), margin_topics(task, train)))
        return starts[-1][1]

    monkeypatch.setattr(prediction_start, "_margin_topics", margin)
    codes = np.digitize(TOLD, [0.2, 0.4, 0.6, 0.8]).astype(float)
    codes[:100] = np.nan
    given = {"inference": "pc", "cross_fit": 0, "max_iter": 2}
    SLDAClassifier(6, **given).fit(X, codes)
    ((n_train, topics),) = starts
    assert n_train == 450 and topics.shape == (60, 6)  # an eighth of 400 labelled documents is held out
    np.testing.assert_allclose(topics.sum(axis=0), 1.0, rtol=1e-5)
    plain = SLDAClassifier(6, response="ordinal", **given).fit(X, codes)
    assert len(starts) == 1 and len(plain.classes_) == 5


POSITIVE = ["poisson", "negative_binomial", "gamma", "inverse_gaussian", "weibull"]


@pytest.mark.parametrize("response", cases(POSITIVE, POSITIVE[1:3]))
def test_numbers_of_every_kind(response):
    rng = np.random.default_rng(0)
    mean = np.exp(2.0 * TOLD)
    y = rng.poisson(mean) if "o" in response[:3] or "neg" in response else mean * rng.gamma(5.0, 0.2, len(mean))
    model = SLDARegressor(8, response=response, inference="pc", cross_fit=0).fit(X, y)
    assert np.corrcoef(np.log(model.predict(NEW)), NEW_TOLD)[0, 1] > 0.7


@pytest.mark.parametrize("cross_fit", [0, 2])
def test_counts_without_overdispersion_have_the_right_level(cross_fit):
    """The mean is r exp s, and documents held out say much about the mean and little about r: s has to follow r."""
    data = simulate(400, 4, 150, 60, response="poisson", coef=[0.0, 0.5, 1.0, 2.0], seed=2)
    model = SLDARegressor(4, response="negative_binomial", max_iter=8, cross_fit=cross_fit).fit(data.counts, data.y)
    assert model.dispersion_ > 20
    assert model.predict(data.counts).mean() == pytest.approx(data.y.mean(), rel=0.02)


def test_several_responses_at_once():
    y = pd.DataFrame({"number": PLAIN[0], "class": np.where(TOLD > 0.5, "high", "low")})
    y.loc[::4, "number"] = np.nan
    model = TopicModel(8, inference="pc", cross_fit=0).fit(X, y)
    predicted = model.predict(NEW)
    assert np.mean(predicted["class"] == np.where(NEW_TOLD > 0.5, "high", "low")) > 0.8
    assert np.corrcoef(predicted["number"], PLAIN[1])[0, 1] > 0.7


def test_words_beside_topics(fitted):
    model = SLDARegressor(4, inference="pc", words=True, max_iter=10, cross_fit=0).fit(X, PLAIN[0])
    assert model.score(NEW, PLAIN[1]) > fitted.score(NEW, PLAIN[1]) - 0.05


def test_a_warm_start_goes_on_from_topics_that_have_not_seen_the_labels_held_out(monkeypatch):
    model = SLDARegressor(3, inference="pc", warm_start=True, max_iter=15, cross_fit=0).fit(X, PLAIN[0])
    searched, finished, starts = model.fitted_.terms.topics, model.components_.T, []
    of = Climb.of
    monkeypatch.setattr(Climb, "of", lambda topics, *more: starts.append(topics) or of(topics, *more))
    assert model.fit(X, PLAIN[0]).score(NEW, PLAIN[1]) > 0.6
    np.testing.assert_array_equal(starts[0], searched)
    assert np.abs(searched - finished).max() > 1e-4
    again = SLDARegressor(3, inference="pc", warm_start=True, max_iter=15, cross_fit=0).fit(X, PLAIN[0])
    again.fitted_ = replace(again.fitted_, terms=DocumentTerms())  # as after `load`
    starts.clear()
    again.fit(X, PLAIN[0])
    np.testing.assert_allclose(starts[0], finished, rtol=1e-5)


class Stop(Exception):
    pass


def stop_at(patch, wanted):
    """The fit is killed right after it has written this many checkpoints; the list has one entry for each."""
    save, saves = Checkpoint.save, []

    def save_and_stop(self, *state):
        save(self, *state)
        saves.append(1)
        if len(saves) == wanted:
            raise Stop

    patch.setattr(Checkpoint, "due", lambda self: True)
    patch.setattr(Checkpoint, "save", save_and_stop)
    return saves


@pytest.mark.parametrize("n_saves", cases([1, 4, "search", "over all", "last"], ["search", "last"]))
def test_a_killed_fit_ends_with_the_same_model(fitted, n_saves, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    search = min(fitted.n_iter_ + SETTINGS.patience, 40)
    last = search + max(1, round(SETTINGS.last_epochs * fitted.n_iter_))
    wanted = {"search": search, "over all": search + 1, "last": last}.get(n_saves, n_saves)
    with monkeypatch.context() as patch:
        saves = stop_at(patch, wanted)
        with pytest.raises(Stop):
            SLDARegressor(4, inference="pc", checkpoint=path).fit(X, PLAIN[0])
    again = SLDARegressor(4, inference="pc", checkpoint=path).fit(X, PLAIN[0])
    assert not path.exists() and len(saves) == wanted
    np.testing.assert_array_equal(again.components_, fitted.components_)
    np.testing.assert_array_equal(again.bound_, fitted.bound_)
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_a_killed_fit_whose_start_is_the_best(tmp_path, monkeypatch):
    noise, params = np.random.default_rng(3).normal(size=len(Y)), {"inference": "pc", "cross_fit": 0}
    whole, path = SLDARegressor(8, **params).fit(X, noise), tmp_path / "fit.checkpoint"
    with monkeypatch.context() as patch:
        stop_at(patch, 4)
        with pytest.raises(Stop):
            SLDARegressor(8, checkpoint=path, **params).fit(X, noise)
    again = SLDARegressor(8, checkpoint=path, **params).fit(X, noise)
    assert again.fitted_.terms.epochs == whole.fitted_.terms.epochs == 0
    np.testing.assert_array_equal(again.coef_, whole.coef_)


def test_a_killed_fit_without_documents_held_out(tmp_path, monkeypatch):
    params = {"inference": PC(validation_fraction=0), "max_iter": 3}
    whole, path = SLDARegressor(8, **params).fit(X, PLAIN[0]), tmp_path / "fit.checkpoint"
    with monkeypatch.context() as patch:
        stop_at(patch, 1)
        with pytest.raises(Stop):
            SLDARegressor(8, checkpoint=path, **params).fit(X, PLAIN[0])
    np.testing.assert_array_equal(SLDARegressor(8, checkpoint=path, **params).fit(X, PLAIN[0]).coef_, whole.coef_)


def test_refusals():
    for params, what in (
        ({"emission": "sage"}, "Dirichlet topics"),
        ({"doc_topic_prior": "auto"}, "doc_topic_prior"),
        ({"inference": PC(validation_fraction=1.0)}, "validation_fraction"),
        ({"inference": PC(validation_fraction=-0.1)}, "validation_fraction"),
    ):
        with pytest.raises(ValueError, match=what):
            SLDARegressor(8, **{"inference": "pc", **params}).fit(X, PLAIN[0])


def test_progress_is_per_label(capsys):
    texts, y = ["good fun film", "dull bad plot"] * 20, [1.5, -1.5] * 20
    SLDARegressor(2, max_iter=2, cross_fit=0, verbose=2).fit(texts, y)
    said = capsys.readouterr().err
    assert " per_label " in said and "per_token" not in said


def test_training_goes_on_while_labels_held_out_have_not_told_an_epoch_from_the_best(fitted, monkeypatch):
    """Of two hundred documents, 25 are held out: their noise ended training at its first epochs."""
    some = np.arange(200)
    short = SLDARegressor(4, inference="pc", cross_fit=0).fit(X[some], PLAIN[0][some])
    with monkeypatch.context() as patch:
        patch.setattr(prediction_constrained, "as_well", lambda values, best, together: values.sum() > best.sum())
        strict = SLDARegressor(4, inference="pc", cross_fit=0).fit(X[some], PLAIN[0][some])
    assert short.n_iter_ > strict.n_iter_
    assert short.bound_[-1] <= short.bound_.max() == strict.bound_.max()
