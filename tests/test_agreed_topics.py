"""Where prediction starts: topics that quick passes agree on."""

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import PC, SLDAClassifier, SLDARegressor
from supertopic.backends import make_backend
from supertopic.datasets import simulate
from supertopic.inference.first_topics import AGREEING, agreed_counts, matched_mean
from supertopic.metrics import stability


def topics_of(counts, n_topics, n_passes=AGREEING, n_jobs=1):
    counts = sp.csr_matrix(counts, dtype=np.float32)
    with make_backend("threads", n_jobs) as backend:
        found = agreed_counts(counts, n_topics, np.full(n_topics, 0.2), backend, n_passes=n_passes)
    return found / found.sum(axis=0)


@pytest.fixture(scope="module")
def corpus():
    return simulate(n_documents=300, n_topics=6, n_words=150, mean_length=40, doc_topic_prior=0.3, seed=1)


def test_topics_in_another_order_are_the_same_topics():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.1), 5).T
    shuffled = [topics[:, rng.permutation(5)] for _ in range(4)]
    np.testing.assert_allclose(matched_mean(shuffled), shuffled[0])


def test_the_mean_is_of_topics_that_are_alike():
    """By hand: two fits of two topics, the second one's in the other order and a little off."""
    one = np.array([[0.9, 0.0], [0.1, 0.2], [0.0, 0.8]])
    other = np.array([[0.0, 0.7], [0.4, 0.3], [0.6, 0.0]])
    np.testing.assert_allclose(matched_mean([one, other]), (one + other[:, ::-1]) / 2)


def test_they_are_the_same_for_all_threads_and_near_the_truth(corpus):
    found = topics_of(corpus.counts.counts, 6)
    np.testing.assert_array_equal(found, topics_of(corpus.counts.counts, 6, n_jobs=3))
    assert stability([corpus.components, found.T])[0] > 0.9


def test_samples_of_the_documents_agree_more_than_single_fits(corpus):
    rng, counts = np.random.default_rng(3), corpus.counts.counts
    samples = [counts[rng.permutation(300)[:240]] for _ in range(2)]
    many = stability([topics_of(sample, 9).T for sample in samples])[0]
    single = stability([topics_of(sample, 9, n_passes=1).T for sample in samples])[0]
    assert many > single + 0.02


def test_words_may_have_weights(corpus):
    counts = corpus.counts.counts * 0.5
    y = np.asarray(counts.sum(axis=1)).ravel()
    model = SLDARegressor(3, max_iter=2, cross_fit=0).fit(counts, y)
    assert np.isfinite(model.coef_).all()


def test_two_seeds_give_topics_that_are_alike(corpus):
    rng = np.random.default_rng(4)
    y = corpus.doc_topic @ rng.normal(size=6) + 0.1 * rng.normal(size=300)
    models = [SLDARegressor(6, random_state=seed, cross_fit=0).fit(corpus.counts.counts, y) for seed in (1, 2)]
    assert stability(models)[0] > 0.9


def test_focus_says_how_near_topics_stay_to_where_they_start(corpus):
    rng = np.random.default_rng(4)
    y, counts = corpus.doc_topic @ rng.normal(size=6) + 0.1 * rng.normal(size=300), corpus.counts.counts
    given = {"doc_topic_prior": 0.3, "cross_fit": 0, "max_iter": 8}
    ways = ("predict", "balance", "describe")
    models = [SLDARegressor(6, inference=PC(focus=focus), **given).fit(counts, y) for focus in ways]
    stayed = [model.fitted_.stayed.mean() for model in models]
    assert stayed[0] < stayed[1] < stayed[2]
    plain = SLDARegressor(6, **given).fit(counts, y)
    np.testing.assert_array_equal(plain.components_, models[1].components_)


def test_focus_is_one_of_three_and_not_of_classes(corpus):
    counts, classes = corpus.counts.counts, np.arange(300) % 3
    with pytest.raises(ValueError, match="focus: got 'both', expected 'predict' or 'balance' or 'describe'"):
        SLDARegressor(6, inference=PC(focus="both")).fit(counts, np.arange(300.0))
    with pytest.raises(ValueError, match="focus: got 'describe', which topics of three classes or more do not have"):
        SLDAClassifier(6, inference=PC(focus="describe"), cross_fit=0).fit(counts, classes)
