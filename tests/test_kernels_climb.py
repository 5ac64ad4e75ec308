"""Kernels of prediction-constrained training beside those of shares: steps of Adam, and words that are dropped."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from supertopic.backends.threads import Threads
from supertopic.inference.batches import Batch
from supertopic.inference.variational.climb import PULLS, Climb
from tests import naive_pc


def test_steps_are_those_of_adam_by_the_book_whatever_the_number_of_threads():
    rng = np.random.default_rng(1)
    start = rng.dirichlet(np.ones(300), 3).T
    gradients, rates = list(rng.normal(size=(40, 300, 3))), list(np.linspace(0.05, 0.01, 40))
    ends = []
    for n_jobs in (1, 2):
        climb = Climb.of(start.astype(np.float32))
        with Threads(n_jobs) as threads:
            topics = climb.topics(threads.ops)
            for gradient, rate in zip(gradients, rates, strict=True):
                topics = climb.step(topics, gradient.astype(np.float32), 0.02, rate, threads.ops)
        ends.append([topics, *climb.arrays().values()])
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)
    logits, mean, square = naive_pc.adam(start, gradients, 0.02, rates)
    np.testing.assert_allclose(climb.logits, logits, atol=2e-4)
    np.testing.assert_allclose(climb.mean, mean, atol=1e-4 * np.abs(mean).max())
    np.testing.assert_allclose(climb.square, square, atol=1e-4 * square.max())
    np.testing.assert_allclose(topics, climb.topics(Threads(1).ops), rtol=2e-5)
    np.testing.assert_allclose(topics.sum(axis=0), 1.0, rtol=1e-5)
    assert np.abs(climb.average - logits).max() < np.abs(np.log(start) - logits).max()


def test_topics_are_pulled_towards_their_anchor_as_by_words_of_it():
    rng = np.random.default_rng(2)
    start, anchor = (rng.dirichlet(np.ones(200), 4).T.astype(np.float32, order="C") for _ in range(2))
    gradients, rates = list(rng.normal(size=(20, 200, 4))), list(np.linspace(0.05, 0.01, 20))
    climb = Climb.of(start, anchor)
    with Threads(2) as threads:
        topics = climb.topics(threads.ops)
        for gradient, rate in zip(gradients, rates, strict=True):
            topics = climb.step(topics, gradient.astype(np.float32), 0.02, rate, threads.ops)
    by_book = naive_pc.adam(start.astype(float), gradients, 0.02 + PULLS["balance"] / 4 * anchor, rates)
    np.testing.assert_allclose(climb.logits, by_book[0], atol=2e-4)
    np.testing.assert_allclose(climb.mean, by_book[1], atol=1e-4 * np.abs(by_book[1]).max())
    again = Climb.restore(climb.arrays(), climb.steps, 0.05)
    np.testing.assert_array_equal(again.anchor, anchor)


def test_without_labels_topics_end_at_their_anchor():
    rng = np.random.default_rng(3)
    start, anchor = (rng.dirichlet(np.ones(30), 2).T.astype(np.float32, order="C") for _ in range(2))
    climb = Climb.of(start, anchor)
    with Threads(1) as threads:
        topics = climb.topics(threads.ops)
        for rate in np.linspace(0.05, 0.0, 600):
            topics = climb.step(topics, np.zeros_like(start), 0.0, rate, threads.ops)
    np.testing.assert_allclose(topics, anchor, atol=2e-3)


def test_words_that_are_dropped_are_not_there():
    counts = sp.random(200, 50, 0.3, "csr", dtype=np.float32, random_state=0)
    batch, rows = Batch(counts, np.arange(200.0), np.ones(200), 2), np.arange(10, 190)
    some = batch.thinned(rows, 0.3, 5)
    np.testing.assert_array_equal(some.y, batch.y[rows])
    assert (some.counts.data > 0).all() and some.counts.has_sorted_indices
    dense, whole = some.counts.toarray(), counts[rows].toarray()
    np.testing.assert_array_equal(dense[dense > 0], whole[dense > 0])
    kept = (dense > 0)[whole > 0]
    assert abs(kept.mean() - 0.7) < 4 * np.sqrt(0.21 / len(kept))
    assert abs(np.corrcoef(kept[:-1], kept[1:])[0, 1]) < 4 / np.sqrt(len(kept))
    other = batch.thinned(rows, 0.3, 6).counts.toarray()
    assert abs(np.corrcoef(kept, (other > 0)[whole > 0])[0, 1]) < 4 / np.sqrt(len(kept))
    np.testing.assert_array_equal(batch.thinned(rows, 0.0, 5).counts.toarray(), whole)
