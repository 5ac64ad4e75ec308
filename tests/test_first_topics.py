"""The SCVB0 passes that initialise every engine: the kernel against its formula, and the topics found."""

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic.backends.cpu.first_topics import Learner
from supertopic.backends.threads import Threads
from supertopic.datasets import simulate
from supertopic.inference.first_topics import online_counts
from supertopic.metrics import align_topics

RNG = np.random.default_rng(0)


def naive_batch(documents, counts, word_topic, topic_total, alpha, beta, rate, growth, passes):
    """SCVB0 as in the paper, on dense arrays, without the lazy scale."""
    n_words = len(word_topic)
    gained = np.zeros_like(word_topic)
    for d in documents:
        weights = (word_topic + beta) / (topic_total + n_words * beta)
        theta = np.ones(len(alpha))
        for _ in range(passes):
            phi = theta * weights
            phi /= phi.sum(axis=1, keepdims=True)
            theta = alpha + counts[d] @ phi
        phi = theta * weights
        phi /= phi.sum(axis=1, keepdims=True)
        gained += counts[d][:, None] * phi
    return (1 - rate) * word_topic + rate * growth * gained, (1 - rate) * topic_total + rate * growth * gained.sum(
        axis=0
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_move_the_counts_as_written_down(n_jobs):
    data = simulate(n_documents=30, n_topics=3, n_words=25, mean_length=20, seed=3).counts.counts
    alpha = np.array([0.3, 0.1, 0.7])
    word_topic = RNG.gamma(1.0, size=(25, 3)).astype(np.float32)
    expected = word_topic.astype(float), word_topic.sum(axis=0).astype(float)
    batches = np.array_split(RNG.permutation(30), 3)
    with Threads(n_jobs) as backend:
        learner = Learner(data, word_topic, alpha, batches, 0.05, 4, backend)
        for step, documents in enumerate(batches):
            rate = 0.5 / (step + 1)
            learner.step(rate)
            expected = naive_batch(documents, data.toarray(), *expected, alpha, 0.05, rate, 3.0, 4)
    np.testing.assert_allclose(learner.scale * word_topic, expected[0], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(learner.topic_count, expected[1], rtol=1e-4)


def test_threads_change_no_bit():
    counts = simulate(n_documents=300, n_topics=4, n_words=100, mean_length=80, seed=3).counts.counts
    counts = sp.vstack([counts, sp.csr_matrix((2, 100), dtype=np.float32)], format="csr")  # two empty documents
    found = []
    for n_jobs in (1, 2, 3):
        with Threads(n_jobs) as backend:
            found.append(online_counts(counts, 7, np.full(7, 0.1), 0, backend))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("n_documents", [150, 2000])
def test_quick_passes_find_simulated_topics(n_documents):
    data = simulate(n_documents=n_documents, n_topics=4, n_words=100, mean_length=80, seed=3)
    backend = Threads(1)
    found = online_counts(data.counts.counts, 4, np.full(4, 0.1), 0, backend)
    assert found.sum() == pytest.approx(data.counts.n_tokens, rel=0.05)
    topics = (found / found.sum(axis=0)).T
    assert align_topics(data.components, topics).distance.mean() < 0.12
    twice = online_counts(data.counts.counts, 4, np.full(4, 0.1), 0, backend, n_documents=2 * n_documents)
    np.testing.assert_allclose(twice, 2 * found, rtol=1e-6)
