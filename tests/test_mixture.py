"""Mixture of categoricals: the sampler's stationary distribution and the E-step, against enumeration."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma, logsumexp

from supertopic import MixtureOfCategoricals
from supertopic.datasets import simulate
from supertopic.inference.gibbs.mixture import log_joint
from supertopic.kernels.one_topic import share_documents, sweep_documents
from tests import naive

DOCUMENTS = [[0, 0, 1], [1, 2], [2, 2, 0, 3], [3]]
COUNTS = sp.csr_matrix(np.stack([np.bincount(d, minlength=4) for d in DOCUMENTS]).astype(np.float32))
ALPHA, PRIOR = np.array([0.7, 1.5]), 0.4


def test_log_joint_is_the_slow_one():
    topics = np.array([0, 1, 1, 0])
    word_topic = np.zeros((4, 2))
    for z, document in zip(topics, DOCUMENTS, strict=True):
        np.add.at(word_topic, (document, z), 1)
    expected = naive.mixture_log_joint(topics, DOCUMENTS, 2, 4, ALPHA, PRIOR)
    assert log_joint(word_topic, np.bincount(topics) * 1.0, ALPHA, PRIOR) == pytest.approx(expected)


def test_sampler_visits_each_assignment_as_often_as_the_posterior_says():
    assignments = list(itertools.product(range(2), repeat=4))
    logs = [naive.mixture_log_joint(np.array(z), DOCUMENTS, 2, 4, ALPHA, PRIOR) for z in assignments]
    posterior = np.exp(logs - logsumexp(logs))
    topic = np.full(4, -1, dtype=np.int32)
    counts = np.zeros((4, 2)), np.zeros(2), np.zeros(2)
    visits = np.zeros(16)
    n_sweeps = 60_000
    for sweep in range(n_sweeps):
        sweep_documents(COUNTS.indptr, COUNTS.indices, COUNTS.data, ALPHA, PRIOR, 5, sweep, topic, *counts)
        visits[topic @ [8, 4, 2, 1]] += 1
    assert np.abs(visits / n_sweeps - posterior).sum() / 2 < 0.012
    np.testing.assert_array_equal(counts[1], counts[0].sum(axis=0))
    np.testing.assert_array_equal(counts[2], np.bincount(topic, minlength=2))


def test_responsibilities_are_bayes_rule():
    rng = np.random.default_rng(0)
    log_weights = np.log(rng.dirichlet(np.ones(4), 3).T).astype(np.float32)
    shares = np.array([3.0, 1.0, 2.0])
    log_shares = digamma(shares) - digamma(shares.sum())
    doc_topic, phi, bound = np.zeros((4, 3), np.float32), np.zeros((COUNTS.nnz, 3), np.float32), np.zeros(4)
    csr = COUNTS.indptr, COUNTS.indices, COUNTS.data
    share_documents(0, 4, *csr, log_weights, log_shares, doc_topic, phi, bound)
    logs = COUNTS @ log_weights.astype(float) + log_shares
    np.testing.assert_allclose(bound, logsumexp(logs, axis=1), rtol=1e-6)
    np.testing.assert_allclose(doc_topic, np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), rtol=1e-5)
    np.testing.assert_array_equal(phi, np.repeat(doc_topic, np.diff(COUNTS.indptr), axis=0))


@pytest.mark.parametrize("inference", ["vb", "gibbs"])
def test_clusters_are_recovered(inference):
    rng = np.random.default_rng(1)
    topics = simulate(n_topics=3, n_words=80, seed=2).components
    labels = rng.choice(3, size=300, p=[0.5, 0.3, 0.2])
    counts = np.stack([rng.multinomial(30, topics[z]) for z in labels])
    model = MixtureOfCategoricals(3, inference=inference).fit(counts)
    found = model.doc_topic_.argmax(axis=1)
    agreement = max(np.mean(np.array(order)[found] == labels) for order in itertools.permutations(range(3)))
    assert agreement > 0.97
    np.testing.assert_allclose(np.sort(model.weights_), [0.2, 0.3, 0.5], atol=0.07)
