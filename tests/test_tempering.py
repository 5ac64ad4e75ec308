"""Probabilities of generative classifiers: tempered on documents that the fit has not seen."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax

from supertopic import DiscLDAClassifier, SAGEClassifier, load
from supertopic.datasets import simulate
from supertopic.documents.duplicates import word_hashes
from supertopic.fitted.certainty import tempering
from supertopic.fitted.certainty.tempering import fit_temperature, folds_by_words
from supertopic.responses.temperature import Evidence, Temperature

RNG = np.random.default_rng(0)
CLASSIFIERS = {
    "sage": lambda **more: SAGEClassifier(**more),
    "disclda": lambda **more: DiscLDAClassifier(1, n_shared_topics=1, max_iter=40, **more),
}


def bursty(n_documents=1500, n_words=150, seed=3):
    """Documents that repeat their words five times, so that each repetition looks like new evidence; three classes, and
    two labels of five are drawn at random.
    """
    data = simulate(n_documents, 4, n_words=n_words, mean_length=12, response="softmax", seed=seed)
    rng = np.random.default_rng(seed)
    return data.counts.counts * 5, np.where(rng.random(n_documents) < 0.4, rng.permutation(data.y), data.y)


@pytest.mark.parametrize("true", [Temperature(0.5, 0.0, 0.8), Temperature(1.0, 0.0), Temperature(3.0, 0.6, 0.3)])
def test_temperature_of_evidence_that_is_too_strong(true):
    words = 2 * RNG.normal(size=(6000, 4)) * RNG.exponential(4.0, size=(6000, 1))
    evidence = Evidence(words, np.log([0.7, 0.1, 0.1, 0.1]))
    codes = (true.probabilities(evidence).cumsum(axis=1) < RNG.random((6000, 1))).sum(axis=1)
    found = fit_temperature(evidence, codes)
    middle = np.quantile(evidence.spread, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(found.heat(middle), true.heat(middle), rtol=0.15)
    assert found.weight == pytest.approx(true.weight, abs=0.08)
    assert fit_temperature(evidence, codes, weigh=False).weight == 1.0


@pytest.mark.parametrize("free", [(0.3, 0.2, 0.7), (-1.0, 0.0, 1.0), (2.0, 1.0, 0.1)])
def test_slopes_of_the_likelihood_are_those_of_differences(free):
    codes, words = RNG.integers(0, 3, size=40), 3 * RNG.normal(size=(40, 3))
    words[:4] = 1.0  # they tell nothing
    counted = RNG.gamma(1.0, size=40)
    evidence, tells = Evidence(words, np.log([0.5, 0.3, 0.2])), np.arange(40)[:, None] >= 4

    def value(level, power, weight):
        heat = np.exp(level) * np.maximum(words.std(axis=1, keepdims=True), 1e-6) ** power
        p = softmax(words / heat + np.where(tells, weight, 1.0) * evidence.log_shares, axis=1)
        return counted @ np.log(p[np.arange(40), codes])

    found, slopes = Temperature(np.exp(free[0]), *free[1:]).climb(evidence, codes, counted)
    assert found == pytest.approx(value(*free), rel=1e-10)
    steps = [np.array(free) + 1e-5 * np.eye(3)[i] * np.array([[1], [-1]]) for i in range(3)]
    expected = [(value(*up) - value(*down)) / 2e-5 for up, down in steps]
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-6)


def test_a_document_without_words_keeps_the_class_shares():
    shares = np.array([[0.7, 0.3]])
    nothing = Evidence(np.zeros((1, 2)), np.log(shares[0]))
    np.testing.assert_allclose(Temperature(5.0, 0.5, 0.3).probabilities(nothing), shares)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_confidence_is_as_large_as_accuracy(kind):
    """Without tempering, confidence is near one at an accuracy of about a half."""
    X, y = bursty()
    model, raw = (CLASSIFIERS[kind](cross_fit=folds).fit(X[:900], y[:900]) for folds in (3, 0))
    accuracy = model.score(X[900:], y[900:])
    assert raw.predict_proba(X[900:]).max(axis=1).mean() > raw.score(X[900:], y[900:]) + 0.2
    assert model.predict_proba(X[900:]).max(axis=1).mean() == pytest.approx(accuracy, abs=0.07)
    assert accuracy > raw.score(X[900:], y[900:])  # words are not all new evidence, and three in four have one label
    assert raw.temperature_ == Temperature()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_without_tempering_probabilities_are_the_posterior():
    X, y = bursty(200)
    for model in (SAGEClassifier(cross_fit=0), SAGEClassifier(cross_fit=0, counts="log", background_share=0.5)):
        model.fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), model.transform(X), atol=2e-4)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_temperature_is_kept(kind, tmp_path):
    X, y = bursty(300)
    model = CLASSIFIERS[kind]().fit(X, y)
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    assert again.temperature_ == model.temperature_ != Temperature()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("n_rare", [1, 6])
def test_a_rare_class_leaves_the_others_tempered(kind, n_rare):
    """Its documents are in every fold's fit, or in the folds: the temperature is that of the many, nearly."""
    X, y = bursty(600)
    rare = y.copy()
    rare[:n_rare] = 7
    found, without = (CLASSIFIERS[kind]().fit(X, labels).temperature_ for labels in (rare, y))
    heats = [one.heat(10.0) for one in (found, without)]
    assert min(heats) > 1.5 and heats[0] == pytest.approx(heats[1], rel=0.6)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_few_documents_and_bad_folds(kind):
    X, y = bursty(30)
    assert CLASSIFIERS[kind](cross_fit=10).fit(X, y).temperature_ == Temperature()  # too small
    with pytest.raises(ValueError, match="cross_fit: got 1, expected 0, or 2 and more folds"):
        CLASSIFIERS[kind](cross_fit=1).fit(X, y)


def test_folds_know_words_and_labels_and_no_rows():
    X, y = bursty(200)
    places, rows = y.astype(np.intp), np.append(RNG.permutation(200), np.arange(50))
    places[:2] = 3  # fewer than folds
    fold = folds_by_words(X, places, 4)
    np.testing.assert_array_equal(folds_by_words(X[rows], places[rows], 4), fold[rows])
    assert (fold[:2] == -1).all() and (fold[2:] >= 0).all()
    for code in range(3):
        assert np.ptp(np.bincount(fold[places == code], minlength=4)) <= 1
    assert folds_by_words(X[:19], places[2:21], 4) is None
    twice = sp.vstack([X[2:12]] * 20).tocsr()  # a document that is there twice is no new one
    assert folds_by_words(twice, np.tile(places[2:12], 20), 4) is None


def test_words_have_their_own_hash_in_any_order():
    X = bursty(200)[0].astype(np.float32)
    dense, found = X.toarray(), word_hashes(X)
    turned = X.copy()
    for first, last in zip(X.indptr, X.indptr[1:], strict=False):
        turned.indices[first:last], turned.data[first:last] = X.indices[first:last][::-1], X.data[first:last][::-1]
    np.testing.assert_array_equal(word_hashes(turned), found)
    np.testing.assert_array_equal(word_hashes(sp.csr_matrix(dense.astype(np.float64))), found)
    assert len(np.unique(found)) == len(np.unique(dense, axis=0))
    assert len(np.unique(word_hashes(sp.csr_matrix([[1, 2], [2, 1], [0, 0], [0, 1], [1, 0], [1, 1], [2, 2.5]])))) == 7


@pytest.mark.parametrize("prior", ["jeffreys", "exponential"])
def test_a_weight_is_a_document_as_often(prior):
    X, y = bursty(150)
    weight = RNG.integers(0, 3, size=150)
    rows = RNG.permutation(np.repeat(np.arange(150), weight))
    once = SAGEClassifier(prior=prior).fit(X, y, sample_weight=weight)
    often = SAGEClassifier(prior=prior).fit(X[rows], y[rows])
    np.testing.assert_allclose(once.temperature_, often.temperature_, rtol=1e-4)
    assert once.temperature_.level != 1.0
    np.testing.assert_allclose(once.predict_proba(X), often.predict_proba(X), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_groups_are_left_out_whole_and_the_past_predicts_the_future(kind, monkeypatch):
    X, y = bursty(200)
    groups, splits, own = np.arange(200) // 20, [], tempering._splits
    monkeypatch.setattr(tempering, "_splits", lambda *given: splits.append(own(*given)) or splits[-1])
    model = CLASSIFIERS[kind](cross_fit=3).fit(X, y, groups=groups)
    assert len(splits[0]) == 3 and model.temperature_ != Temperature()
    for rest, out in splits[0]:
        assert not set(groups[rest]) & set(groups[out]) and len(rest) + len(out) == 200
    CLASSIFIERS[kind](cross_fit=3).fit(X, y, metadata={"year": np.arange(200)[::-1]}, times="year")
    assert all(rest.min() > out.max() for rest, out in splits[1])
    assert CLASSIFIERS[kind](cross_fit=3).fit(X, y, groups=np.zeros(200)).temperature_ == Temperature()


def test_a_class_of_one_group_is_not_left_out():
    X, y = bursty(200)
    groups = np.where(y == y.max(), 7, np.arange(200) % 5)
    assert np.isfinite(SAGEClassifier(cross_fit=3).fit(X, y, groups=groups).temperature_).all()
