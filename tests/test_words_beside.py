"""Words beside topics in models whose documents are cross-fitted."""

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import MedLDAClassifier, SLDAClassifier, SLDARegressor
from supertopic.datasets import simulate
from supertopic.estimators.shared import supervised
from supertopic.fitted import finish
from supertopic.fitted.certainty import folds
from supertopic.fitted.fit import fit

K = 4
DATA = simulate(900, K, 120, 40, doc_topic_prior=0.3, seed=11)
RNG = np.random.default_rng(2)
ALONE = RNG.random((900, 4)) < 0.3  # words that have nothing to do with topics
X = sp.hstack([DATA.counts.counts, sp.csr_matrix(ALONE)], format="csr").astype(np.float32)
LINE = DATA.topic_shares @ np.array([-1.5, -0.5, 0.5, 1.5])
Y = LINE + ALONE @ np.array([1.5, -1.5, 1.5, -1.5]) + 0.5 * RNG.normal(size=900)
GIVEN = {"n_topics": K, "max_iter": 10, "random_state": 0}
TRAIN, TEST = slice(600), slice(600, 900)


@pytest.fixture(scope="module")
def joined():
    return SLDARegressor(words=True, **GIVEN).fit(X[TRAIN], Y[TRAIN])


def test_words_tell_what_topics_cannot(joined):
    alone = SLDARegressor(**GIVEN).fit(X[TRAIN], Y[TRAIN])
    assert joined.score(X[TEST], Y[TEST]) > alone.score(X[TEST], Y[TEST]) + 0.1
    assert set(np.argsort(-np.abs(joined.word_coef_.ravel()))[:4]) == {120, 121, 122, 123}


def test_cross_fitted_documents_are_their_own_pilot(monkeypatch):
    """The fits of the folds serve; there is no other."""
    fits = []
    for module in (supervised, folds, finish):
        monkeypatch.setattr(
            module, "fit", lambda spec, given, *rest: fits.append(len(given.y)) or fit(spec, given, *rest)
        )
    SLDARegressor(words=True, cross_fit=3, **{**GIVEN, "max_iter": 2}).fit(X[TRAIN], Y[TRAIN])
    assert fits == [600, 400, 400, 400]
    fits.clear()
    SLDARegressor(words=True, cross_fit=0, **{**GIVEN, "max_iter": 2}).fit(X[TRAIN], Y[TRAIN])
    assert fits == [600, 600]


def test_intervals_come_from_documents_that_neither_topics_nor_words_have_seen(joined):
    levels = joined.fitted_.certainty.levels[0]
    assert 100 < len(levels) < 200  # a quarter of the documents
    _, lower, upper = joined.predict(X[TEST], return_interval=0.9)
    assert np.mean((lower <= Y[TEST]) & (Y[TEST] <= upper)) == pytest.approx(0.9, abs=0.05)
    slope = np.polyfit(joined.predict(X[TEST]), Y[TEST], 1)[0]
    assert 0.9 < slope < 1.15


def test_classes_have_words_too():
    two = (Y > 0).astype(int)
    model = SLDAClassifier(words=True, **GIVEN).fit(X[TRAIN], two[TRAIN])
    alone = SLDAClassifier(**GIVEN).fit(X[TRAIN], two[TRAIN])
    assert model.score(X[TEST], two[TEST]) > alone.score(X[TEST], two[TEST]) + 0.03
    covered = [label in found for label, found in zip(two[TEST], model.predict_set(X[TEST], 0.9), strict=True)]
    assert np.mean(covered) > 0.85


def test_covariates_keep_their_part():
    extra = RNG.normal(size=(900, 1))
    y = Y + 2.0 * extra[:, 0]
    model = SLDARegressor(words=True, **GIVEN).fit(X[TRAIN], y[TRAIN], covariates=extra[TRAIN])
    assert model.covariate_coef_.ravel()[0] == pytest.approx(2.0, abs=0.15)
    assert model.score(X[TEST], y[TEST], covariates=extra[TEST]) > 0.8
    error = np.mean((y[TEST] - model.predict(X[TEST], covariates=extra[TEST])) ** 2)
    assert model.dispersion_ == pytest.approx(error, rel=0.25)  # it would hold covariates that are counted twice


def test_members_of_an_ensemble_stand_beside_words():
    model = SLDARegressor(words=True, ensemble=2, cross_fit=3, **GIVEN).fit(X[TRAIN], Y[TRAIN])
    assert model.score(X[TEST], Y[TEST]) > 0.6
    slope, level = np.polyfit(model.predict(X[TEST]), Y[TEST], 1)
    assert slope == pytest.approx(1.0, abs=0.12) and level == pytest.approx(0.0, abs=0.15)


@pytest.mark.parametrize("kind", [SLDARegressor, MedLDAClassifier])
def test_threads_change_nothing(kind):
    """Weights of topics and words are tried side by side, and chosen as if they were tried in turn."""
    data = simulate(120, 3, n_words=60, mean_length=30, response="gaussian", seed=3)
    y = data.y if kind is SLDARegressor else (data.y > np.median(data.y)).astype(int)
    one, two = (kind(3, words=True, cross_fit=0, max_iter=4, n_jobs=n).fit(data.counts, y) for n in (1, 2))
    assert np.count_nonzero(one.word_coef_)
    np.testing.assert_array_equal(one.word_coef_, two.word_coef_)
    np.testing.assert_array_equal(one.coef_, two.coef_)
