"""Prediction sets of classes."""

import numpy as np
import pytest

from supertopic import SLDAClassifier
from supertopic.datasets import simulate
from supertopic.inference.after.class_sets import class_levels, classes_within


@pytest.mark.parametrize("seed", range(8))
def test_sets_hold_their_promise_where_topics_tell_nothing(seed):
    """All probabilities are the frequencies of the classes, but for rounding and for what noise has added."""
    rng = np.random.default_rng(seed)
    codes, noise = rng.integers(0, 2, 4000), 1e-7 * rng.normal(size=4000)
    share = codes[:300].mean() + noise + (0.01 * rng.normal(size=4000) if seed % 2 else 0.0)
    chances = np.column_stack([1 - share, share])
    sets = classes_within(chances[300:], np.sort(class_levels(chances[:300], codes[:300])), 0.9)
    assert sets[np.arange(3700), codes[300:]].mean() > 0.89


def test_sets_of_classes_that_are_told_apart_hold_what_they_promise():
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.full(4, 0.5), size=12_000)
    codes = (chances.cumsum(axis=1) < rng.random((12_000, 1))).sum(axis=1)
    sets = classes_within(chances[2000:], np.sort(class_levels(chances[:2000], codes[:2000])), 0.8)
    assert 0.78 < sets[np.arange(10_000), codes[2000:]].mean() < 0.83
    assert sets.sum(axis=1).mean() < 2.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_the_sets_of_a_fit_to_noise_hold_their_promise(seed):
    counts = simulate(900, 4, n_words=200, mean_length=30, seed=seed).counts.counts
    y = np.random.default_rng(seed).integers(0, 2, 900)
    model = SLDAClassifier(4, inference="vb", max_iter=8, cross_fit=3).fit(counts[:300], y[:300])
    sets = model.predict_set(counts[300:], 0.9)
    assert sets[np.arange(600), y[300:]].mean() > 0.89
