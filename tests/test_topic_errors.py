"""Errors of coefficients beyond those of a regression that takes its topics as known."""

import numpy as np
import pytest

from supertopic import SLDAClassifier, SLDARegressor, load
from supertopic.datasets import simulate
from supertopic.documents.corpus import Corpus
from supertopic.estimators.shared.certainty import honest
from supertopic.estimators.shared.certainty.topic_errors import similarity, widening
from tests.naive_supervised import jackknife_widening

DATA = simulate(300, 4, 200, 100, 0.2, 0.05, response="gaussian", coef=[-1.0, 0.0, 0.5, 1.5], dispersion=0.4, seed=3)
RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def fitted():
    return SLDARegressor(4, inference="vb", max_iter=5, cross_fit=0, random_state=0).fit(DATA.counts, DATA.y)


def own_errors(model):
    """The errors in the units of the model's own coefficients."""
    return model.coef_std_ * np.ptp(model._state.coef) / np.ptp(model.coef_)


def moved_by(model, far):
    """Coefficients of five folds around the model's own, about `far` of their errors away from them."""
    return model._state.coef + far * own_errors(model) * RNG.normal(size=(5, 1, model.n_topics))


def test_coefficients_that_move_further_than_their_errors_widen_them(fitted):
    coef = moved_by(fitted, 2.0)
    expected = jackknife_widening(coef[:, 0], fitted._average_shares(), own_errors(fitted))
    assert expected > 1.5
    np.testing.assert_allclose(widening(fitted, coef, np.full((5, 4), 0.95)), [expected])


def test_coefficients_that_hardly_move_do_not_make_errors_smaller(fitted):
    np.testing.assert_array_equal(widening(fitted, moved_by(fitted, 0.01), np.ones((5, 4))), [1.0])


def test_only_topics_that_every_fold_finds_again_say_something(fitted):
    coef, similar = moved_by(fitted, 2.0), np.ones((5, 4))
    similar[2, 1] = 0.5
    again = [0, 2, 3]
    expected = jackknife_widening(coef[:, 0], fitted._average_shares(), own_errors(fitted), again)
    np.testing.assert_allclose(widening(fitted, coef, similar), [expected])


def test_less_than_half_of_the_topics_say_nothing():
    model = SLDARegressor(6, inference="vb", max_iter=2, cross_fit=0, random_state=0).fit(DATA.counts, DATA.y)
    coef, similar = moved_by(model, 2.0), np.ones((5, 6))
    similar[1, [0, 2, 5]] = 0.5
    assert widening(model, coef, similar) > 1.5
    similar[2, 4] = 0.5
    np.testing.assert_array_equal(widening(model, coef, similar), [1.0])


def test_similarity_is_a_cosine():
    one, other = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[3.0, 1.0], [3.0, 0.0]])
    np.testing.assert_allclose(similarity(one, other), [1.0, 0.0])


@pytest.mark.parametrize("kind", [SLDARegressor, SLDAClassifier])
def test_the_folds_fits_are_matched_and_in_the_units_of_the_whole(kind, monkeypatch, tmp_path):
    """Recomputed from the folds' fits, as users see their coefficients."""
    y = DATA.y if kind is SLDARegressor else (DATA.y > np.median(DATA.y)).astype(int)
    folds, sibling = [], kind._sibling

    def watched(self, part, training, seed, **params):
        folds.append(sibling(self, part, training, seed, **params))
        return folds[-1]

    monkeypatch.setattr(kind, "_sibling", watched)
    model = kind(4, max_iter=6, cross_fit=4, random_state=0).fit(DATA.counts, y)
    nearest = [np.argmax(np.sqrt(model.components_) @ np.sqrt(one.components_).T, axis=1) for one in folds]
    own = np.array([np.ravel(one.coef_)[order] for one, order in zip(folds, nearest, strict=True)])
    plain = np.sqrt(np.diagonal(model._effects_covariance(), axis1=1, axis2=2))[0, 1:5] / model._topic_error
    np.testing.assert_allclose(np.ravel(model.coef_std_), plain * model._topic_error)
    slope = np.ptp(model._state.coef) / np.ptp(uncalibrated(kind, y)._state.coef)
    expected = jackknife_widening(slope * own, model._average_shares(), plain)
    assert model._topic_error[0] == pytest.approx(max(expected, 1.0), rel=1e-3)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").coef_std_, model.coef_std_)
    model.set_params(cross_fit=0).fit(DATA.counts, y)
    assert not hasattr(model, "_topic_error")


def uncalibrated(kind, y):
    return kind(4, max_iter=6, cross_fit=0, random_state=0).fit(DATA.counts, y)


def test_sample_splitting_has_the_errors_of_its_topics(monkeypatch):
    """Recomputed from fits without a fold: by least squares, from the labels that are set aside in all of them."""
    folds, kept, sibling = [], {}, SLDARegressor._sibling

    def watched(self, part, training, seed, **params):
        folds.append((sibling(self, part, training, seed, **params), training))
        return folds[-1][0]

    def keep(name, function):
        def call(*given):
            kept[name] = function(*given)
            return kept[name]

        return call

    monkeypatch.setattr(SLDARegressor, "_sibling", watched)
    monkeypatch.setattr("supertopic.estimators.shared.supervised.set_aside", keep("aside", honest.set_aside))
    monkeypatch.setattr(honest, "folds_of", keep("fold", honest.folds_of))
    given = {"inference": "vb", "honest": 0.5, "coef_prior": "flat", "max_iter": 6, "random_state": 0}
    model = SLDARegressor(4, cross_fit=4, **given).fit(DATA.counts, DATA.y)
    alone, own = SLDARegressor(4, cross_fit=0, **given).fit(DATA.counts, DATA.y), []
    assert len(folds) == 4
    for number, (other, training) in enumerate(folds):
        rest = kept["fold"] != number
        np.testing.assert_array_equal(np.isnan(training.y), kept["aside"][rest])
        used = rest & kept["aside"]
        assert 80 < used.sum() < 140
        shares = other._scores(Corpus(DATA.counts.counts[used]), np.zeros((used.sum(), 0))).mean_topics
        coef = np.linalg.lstsq(shares, DATA.y[used], rcond=None)[0]
        own.append(coef[np.argmax(np.sqrt(model.components_) @ np.sqrt(other.components_).T, axis=1)])
    expected = jackknife_widening(np.array(own), model._average_shares(), alone.coef_std_)
    assert expected > 1.02
    np.testing.assert_allclose(model._topic_error, [expected], rtol=1e-3)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_allclose(model.coef_std_, alone.coef_std_ * expected, rtol=1e-3)
