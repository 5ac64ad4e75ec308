"""Errors of coefficients beyond those of a regression that takes its topics as known."""

import numpy as np
import pytest

from supertopic import SLDAClassifier, SLDARegressor, load
from supertopic.datasets import simulate
from supertopic.fitted.certainty import folds, honest
from supertopic.fitted.certainty.topic_errors import similarity, widening
from supertopic.fitted.coefficients import effects, standard_errors
from supertopic.fitted.predict import shares_without_y
from tests.naive_supervised import jackknife_widening

DATA = simulate(300, 4, 200, 100, 0.2, 0.05, response="gaussian", coef=[-1.0, 0.0, 0.5, 1.5], dispersion=0.4, seed=3)
RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def fitted():
    return fit_topics(4, 5)


def fit_topics(n_topics, max_iter):
    model = SLDARegressor(n_topics, inference="vb", max_iter=max_iter, cross_fit=0, random_state=0)
    return model.fit(DATA.counts, DATA.y).fitted_


def own_errors(fitted):
    """The errors in the units of the model's own coefficients."""
    own = fitted.state.coef
    return standard_errors(fitted)[0, 1:] * np.ptp(own) / np.ptp(effects(fitted).topics)


def moved_by(fitted, far):
    """Coefficients of five folds around the model's own, about `far` of their errors away from them."""
    return fitted.state.coef + far * own_errors(fitted) * RNG.normal(size=(5, 1, fitted.n_topics))


def test_coefficients_that_move_further_than_their_errors_widen_them(fitted):
    coef = moved_by(fitted, 2.0)
    expected = jackknife_widening(coef[:, 0], fitted.average_shares, own_errors(fitted))
    assert expected > 1.5
    np.testing.assert_allclose(widening(fitted, coef, np.full((5, 4), 0.95)), [expected])


def test_coefficients_that_hardly_move_do_not_make_errors_smaller(fitted):
    np.testing.assert_array_equal(widening(fitted, moved_by(fitted, 0.01), np.ones((5, 4))), [1.0])


def test_only_topics_that_every_fold_finds_again_say_something(fitted):
    coef, similar = moved_by(fitted, 2.0), np.ones((5, 4))
    similar[2, 1] = 0.5
    again = [0, 2, 3]
    expected = jackknife_widening(coef[:, 0], fitted.average_shares, own_errors(fitted), again)
    np.testing.assert_allclose(widening(fitted, coef, similar), [expected])


def test_less_than_half_of_the_topics_say_nothing():
    model = fit_topics(6, 2)
    coef, similar = moved_by(model, 2.0), np.ones((5, 6))
    similar[1, [0, 2, 5]] = 0.5
    assert widening(model, coef, similar) > 1.5
    similar[2, 4] = 0.5
    np.testing.assert_array_equal(widening(model, coef, similar), [1.0])


def test_similarity_is_a_cosine():
    one, other = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[3.0, 1.0], [3.0, 0.0]])
    np.testing.assert_allclose(similarity(one, other), [1.0, 0.0])


@pytest.fixture
def fold_fits(monkeypatch):
    """The fits without a fold, in their order, each with the documents that it has seen."""
    kept, fit = [], folds.fit

    def watched(spec, training, seed):
        kept.append((fit(spec, training, seed), training))
        return kept[-1][0]

    monkeypatch.setattr(folds, "fit", watched)
    return kept


def nearest(model, other):
    """For each topic of a model, the one of another fit that is most like it."""
    return np.argmax(np.sqrt(model.components_) @ np.sqrt(other.components).T, axis=1)


@pytest.mark.parametrize("kind", [SLDARegressor, SLDAClassifier])
def test_the_folds_fits_are_matched_and_in_the_units_of_the_whole(kind, fold_fits, tmp_path):
    """Recomputed from the folds' fits, as users see their coefficients."""
    y = DATA.y if kind is SLDARegressor else (DATA.y > np.median(DATA.y)).astype(int)
    model = kind(4, max_iter=6, cross_fit=4, random_state=0).fit(DATA.counts, y)
    own = np.array([effects(one).topics[0, nearest(model, one)] for one, _ in fold_fits])
    wider = model.fitted_.certainty.topic_error
    plain = standard_errors(model.fitted_.with_certainty(topic_error=None))[0, 1:5]
    np.testing.assert_allclose(np.ravel(model.coef_std_), plain * wider)
    slope = np.ptp(model.fitted_.state.coef) / np.ptp(uncalibrated(kind, y).fitted_.state.coef)
    expected = jackknife_widening(slope * own, model.fitted_.average_shares, plain)
    assert len(own) == 4 and wider[0] == pytest.approx(max(expected, 1.0), rel=1e-3)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").coef_std_, model.coef_std_)
    model.set_params(cross_fit=0).fit(DATA.counts, y)
    assert model.fitted_.certainty.topic_error is None


def uncalibrated(kind, y):
    return kind(4, max_iter=6, cross_fit=0, random_state=0).fit(DATA.counts, y)


def test_sample_splitting_has_the_errors_of_its_topics(fold_fits, monkeypatch):
    """Recomputed from fits without a fold: by least squares, from the labels that are set aside in all of them."""
    kept = {}

    def keep(name, function):
        def call(*given):
            kept[name] = function(*given)
            return kept[name]

        return call

    monkeypatch.setattr(honest, "set_aside", keep("aside", honest.set_aside))
    monkeypatch.setattr(honest, "folds_of", keep("splits", honest.folds_of))
    given = {"inference": "vb", "honest": 0.5, "coef_prior": "flat", "max_iter": 6, "random_state": 0}
    model = SLDARegressor(4, cross_fit=4, **given).fit(DATA.counts, DATA.y)
    alone, own = SLDARegressor(4, cross_fit=0, **given).fit(DATA.counts, DATA.y), []
    assert len(fold_fits) == 4
    for number, (other, training) in enumerate(fold_fits):
        rest = np.isin(np.arange(len(DATA.y)), kept["splits"][number].rest)
        np.testing.assert_array_equal(training.y, DATA.y[rest & ~kept["aside"]])
        used = np.flatnonzero(rest & kept["aside"])
        assert 80 < len(used) < 140
        shares = shares_without_y(other, model.fitted_.training.rows(used))
        coef = np.linalg.lstsq(shares, DATA.y[used], rcond=None)[0]
        own.append(coef[nearest(model, other)])
    expected = jackknife_widening(np.array(own), model.fitted_.average_shares, alone.coef_std_)
    assert expected > 1.02
    np.testing.assert_allclose(model.fitted_.certainty.topic_error, [expected], rtol=1e-3)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_allclose(model.coef_std_, alone.coef_std_ * expected, rtol=1e-3)
