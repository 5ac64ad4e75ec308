"""The quick passes every engine starts from: the kernel against its formula, and what they find."""

import numpy as np
import pytest

from supertopic.datasets import simulate
from supertopic.inference.online import online_counts
from supertopic.kernels.online import learn_batch
from supertopic.metrics import align_topics

RNG = np.random.default_rng(0)


def naive_batch(documents, counts, word_topic, topic_total, alpha, beta, rate, growth, passes):
    """SCVB0 as the paper writes it, on dense arrays, without the lazy scale."""
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


def test_a_batch_moves_the_counts_as_written_down():
    data = simulate(n_documents=30, n_topics=3, n_words=25, mean_length=20, seed=3).counts.counts
    alpha = np.array([0.3, 0.1, 0.7], dtype=np.float32)
    word_topic = RNG.gamma(1.0, size=(25, 3)).astype(np.float32)
    expected = word_topic.astype(float), word_topic.sum(axis=0).astype(float)
    total, scale = word_topic.sum(axis=0), np.float32(1.0)
    gained, touched = np.zeros_like(word_topic), np.zeros(25, dtype=bool)
    for step, documents in enumerate(np.array_split(np.arange(30), 3)):
        rate, growth = np.float32(0.5 / (step + 1)), np.float32(3.0)
        scale = np.float32(learn_batch(
            documents, data.indptr, data.indices, data.data, word_topic, total, alpha, np.float32(0.05), scale, rate,
            growth, 4, gained, touched, np.zeros(25, np.int32), np.zeros((4, 3), np.float32),
        ))  # fmt: skip
        expected = naive_batch(documents, data.toarray(), *expected, alpha, 0.05, rate, growth, 4)
    np.testing.assert_allclose(scale * word_topic, expected[0], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(total, expected[1], rtol=1e-4)
    assert not touched.any() and not gained.any()


@pytest.mark.parametrize("n_documents", [150, 2000])
def test_quick_passes_find_simulated_topics(n_documents):
    data = simulate(n_documents=n_documents, n_topics=4, n_words=100, mean_length=80, seed=3)
    found = online_counts(data.counts.counts, 4, np.full(4, 0.1), seed=0)
    assert found.sum() == pytest.approx(data.counts.n_tokens, rel=0.05)
    topics = (found / found.sum(axis=0)).T
    assert align_topics(data.components, topics).distance.mean() < 0.12
    twice = online_counts(data.counts.counts, 4, np.full(4, 0.1), seed=0, n_documents=2 * n_documents)
    np.testing.assert_allclose(twice, 2 * found, rtol=1e-6)
