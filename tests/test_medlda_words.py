"""MedLDA with words and topics in the discriminant."""

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import MedLDAClassifier, MedLDARegressor, load
from supertopic.datasets import simulate
from supertopic.inference.after.margin_words import Balance, choose_balance, fit_margin_words
from supertopic.inference.after.words import word_features, word_scale
from supertopic.responses.margin import EpsilonInsensitive, Hinge

DATA = simulate(600, 4, n_words=80, mean_length=40, response="gaussian", seed=3)
MARKS = np.random.default_rng(5).integers(0, 3, size=600)  # three words independent of the topics, one in each document
COUNTS = sp.hstack([DATA.counts.counts, sp.csr_matrix(np.eye(3, dtype=np.float32)[MARKS])]).tocsr()
TRAIN, TEST = slice(0, 400), slice(400, None)
LINE = DATA.y + 1.5 * MARKS
SETTINGS = {"max_iter": 10, "words": True}


def answers(kind):
    return {"number": LINE, "two": (np.median(LINE) < LINE).astype(int), "three": np.digitize(LINE, [0.5, 2.0])}[kind]


def build(kind, **params):
    if kind == "number":
        return MedLDARegressor(4, C=1.0, **{**SETTINGS, **params})
    return MedLDAClassifier(4, C=1.0, cost=8.0, **{**SETTINGS, **params})


@pytest.fixture(scope="module")
def fitted():
    return {kind: build(kind).fit(COUNTS[TRAIN], answers(kind)[TRAIN]) for kind in ("number", "two", "three")}


@pytest.mark.parametrize("kind", ["number", "two", "three"])
def test_words_tell_what_topics_cannot(kind, fitted, tmp_path):
    y, model = answers(kind), fitted[kind]
    plain = build(kind, words=False).fit(COUNTS[TRAIN], y[TRAIN])
    assert model.score(COUNTS[TEST], y[TEST]) > plain.score(COUNTS[TEST], y[TEST]) + 0.1
    assert model.word_coef_.shape == (len(np.atleast_2d(model.coef_)), 83)
    added = model.intercept_ + model.explain(COUNTS[:1]).filter(like="contribution").sum().to_numpy()
    score = model.predict(COUNTS[:1]) if kind == "number" else np.ravel(model.decision_function(COUNTS[:1]))
    np.testing.assert_allclose(added, score, rtol=1e-3, atol=1e-3)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(COUNTS), model.predict(COUNTS))
    again = build(kind).fit(COUNTS[TRAIN], y[TRAIN])
    np.testing.assert_array_equal(again.word_coef_, model.word_coef_)


def test_intervals_come_from_documents_held_out(fitted):
    """Words overfit the training documents, so training errors would make the intervals too narrow."""
    _, low, high = fitted["number"].predict(COUNTS[TEST], return_interval=0.9)
    assert 0.84 < np.mean((low <= LINE[TEST]) & (LINE[TEST] <= high)) < 0.97


def test_a_later_fit_forgets_the_words(fitted):
    y = answers("two")
    model = build("two", warm_start=True).fit(COUNTS[TRAIN], y[TRAIN])
    model.set_params(words=False).fit(COUNTS[TRAIN], y[TRAIN])
    assert not hasattr(model, "word_coef_")
    with pytest.raises(ValueError, match="words: got True with refit=False"):
        build("two", refit=False).fit(COUNTS[TRAIN], y[TRAIN])


def test_few_documents_are_not_held_out():
    model = build("two", max_iter=3).fit(COUNTS[:12], np.arange(12) % 2)
    assert np.isfinite(model.decision_function(COUNTS[:12])).all()


@pytest.mark.parametrize("response", [Hinge(2), EpsilonInsensitive()])
def test_the_balance_goes_to_who_knows(response):
    """Topics that do not predict held-out documents get weight zero, and perfect topics get all the weight."""
    y = answers("two").astype(float)
    dispersion = response.start(response.describe(y, np.ones(600))) if response.n_dispersion else np.zeros(0)
    features = word_features(COUNTS, word_scale(COUNTS))
    train = (features[TRAIN], y[TRAIN], np.ones(400))
    truth = (y[TEST, None] - y.mean()) / y.std()
    noise = np.random.default_rng(0).normal(size=(200, 1)) * 3
    silent, _ = choose_balance(response, dispersion, train, (noise, features[TEST], y[TEST]))
    telling, score = choose_balance(response, dispersion, train, (truth, features[TEST], y[TEST]))
    assert silent.share < 0.2 < telling.share
    words = features[TEST] @ fit_margin_words(response, *train, dispersion, telling.C).T
    np.testing.assert_allclose(score, telling.share * truth + (1 - telling.share) * words)
    assert Balance().share < 1


def test_of_balances_that_are_as_good_the_nearest_to_the_default_is_taken():
    """If topics predict only one document more correctly than words, they do not get all the weight."""
    response, y = Hinge(2), answers("two").astype(float)
    features = word_features(COUNTS, word_scale(COUNTS))
    known = sp.csr_matrix(np.hstack([features.toarray(), 3 * y[:, None]]))  # a word that determines y
    topics = 40.0 * np.where(y[TEST, None] > 0.5, 1.0, -1.0)
    train = (known[TRAIN], y[TRAIN], np.ones(400))
    words = known[TEST].tolil()
    words[0, -1] = 3 * (1 - y[TEST][0])  # words are wrong once, topics never
    balance, _ = choose_balance(response, np.zeros(0), train, (topics, words.tocsr(), y[TEST]))
    assert balance.share == pytest.approx(Balance().share)
