"""Prediction sets of classes."""

import numpy as np
import pytest

from supertopic import SLDAClassifier, load
from supertopic.datasets import simulate
from supertopic.inference.after.class_sets import class_levels, classes_within, classes_within_own, levels_by_class


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


# --- by class ---------------------------------------------------------------------------------------------------------


def test_sets_by_class_by_hand():
    rng = np.random.default_rng(1)
    chances, new = rng.dirichlet(np.ones(3), size=60), rng.dirichlet(np.ones(3), size=40)
    codes = np.repeat([0, 1, 2], [40, 17, 3])
    found = classes_within_own(new, levels_by_class(chances, codes), 0.8)
    for c, n in enumerate((40, 17, 3)):
        levels = sorted(1.0 - chances[codes == c, c])
        rank = int(np.ceil((n + 1) * 0.8))
        level = np.inf if rank > n else levels[rank - 1] + 0.25 / np.sqrt(n)
        np.testing.assert_array_equal(found[:, c], 1.0 - new[:, c] <= level)
    assert found[:, 2].all() and not found[:, 0].all()
    assert classes_within_own(new, levels_by_class(chances[:57], codes[:57]), 0.8)[:, 2].all()  # a class without any


def test_a_class_of_one_in_a_hundred_is_held_by_class():
    rng = np.random.default_rng(0)
    codes = rng.choice(3, size=12_000, p=[0.5, 0.49, 0.01])
    score = rng.normal(size=(12_000, 3)) + 1.5 * np.eye(3)[codes] + np.log([0.5, 0.49, 0.01])
    chances = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    seen, new = slice(0, 4000), slice(4000, None)
    plain = classes_within(chances[new], np.sort(class_levels(chances[seen], codes[seen])), 0.9)
    own = classes_within_own(chances[new], levels_by_class(chances[seen], codes[seen]), 0.9)
    rare = codes[new] == 2
    assert plain[rare, 2].mean() < 0.3
    for c in range(3):
        assert own[codes[new] == c, c].mean() > 0.85


def test_a_fit_holds_its_rare_class_on_request(tmp_path):
    rng = np.random.default_rng(0)
    kind = np.where(np.arange(900) % 50 == 0, 2, np.arange(900) % 2)
    topics = rng.dirichlet(np.full(60, 0.15), size=4)
    shares = [rng.dirichlet(np.ones(4) + 2.0 * (np.arange(4) == k)) for k in kind]
    counts = np.stack([rng.multinomial(30, share @ topics) for share in shares])
    labels = np.array(["no", "yes", "rare"])[kind]
    fit, new = np.arange(900) < 600, np.arange(900) >= 600
    model = SLDAClassifier(4, inference="vb", max_iter=10, cross_fit=3).fit(counts[fit], labels[fit])
    rare, place = labels[new] == "rare", list(model.classes_).index("rare")
    plain, own = model.predict_set(counts[new]), model.predict_set(counts[new], by_class=True)
    assert plain[rare, place].mean() < 0.5 < 0.8 < own[rare, place].mean()
    told = model.out_of_fold_
    assert told[told["y"] == "rare"].groupby("fold").size().tolist() == [4, 4, 4]  # folds have alike many of a class
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_set(counts[new], by_class=True), own)
