"""Parts of documents: at random, by class, by group, by time."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, StratifiedKFold, TimeSeriesSplit

from supertopic.inference.after.splits import (
    parts_at_random,
    parts_of_groups,
    set_apart,
    splits_in_time,
    splits_of_parts,
)

RNG = np.random.default_rng(0)


def test_parts_at_random_are_of_a_size_and_differ_by_seed():
    rows = np.arange(103)
    part = parts_at_random(rows, 5, np.random.default_rng(1))
    assert sorted(np.bincount(part)) == [20, 20, 21, 21, 21]
    np.testing.assert_array_equal(part, parts_at_random(rows, 5, np.random.default_rng(1)))
    assert (part != parts_at_random(rows, 5, np.random.default_rng(2))).any()


def test_classes_are_cut_as_evenly_as_by_scikit_learn():
    classes = np.repeat([0, 1, 2], [100, 23, 7])
    part = parts_at_random(np.arange(130), 5, np.random.default_rng(0), classes)
    found = np.array([np.bincount(classes[part == number], minlength=3) for number in range(5)])
    theirs = [np.bincount(classes[out], minlength=3) for _, out in StratifiedKFold(5).split(classes, classes)]
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(theirs, axis=0))
    one = parts_at_random(np.arange(130), 5, np.random.default_rng(0), np.zeros(130))
    np.testing.assert_array_equal(one, parts_at_random(np.arange(130), 5, np.random.default_rng(0)))


def test_groups_stay_together_in_parts_as_even_as_scikit_learns():
    groups = RNG.geometric(0.05, size=600)
    part = parts_of_groups(groups, 5, np.random.default_rng(0))
    assert all(len(set(part[groups == one])) == 1 for one in set(groups))
    theirs = [len(out) for _, out in GroupKFold(5).split(groups, groups=groups)]
    assert sorted(np.bincount(part)) == sorted(theirs)


def test_groups_of_classes_are_spread_over_the_parts():
    """Each author writes one kind: parts by size alone would have too many of one."""
    kinds = RNG.integers(0, 2, size=40)
    groups = np.repeat(np.arange(40), RNG.integers(5, 30, size=40))
    part = parts_of_groups(groups, 4, np.random.default_rng(0), kinds[groups])
    shares = [kinds[groups][part == number].mean() for number in range(4)]
    assert np.ptp(shares) < 0.1 and np.ptp(np.bincount(part)) < 40


def test_each_part_is_left_out_once_and_rows_of_no_part_never():
    part = np.array([0, 1, -1, 1, 0, 2])
    found = splits_of_parts(part)
    assert [one.out.tolist() for one in found] == [[0, 4], [1, 3], [5]]
    assert [one.rest.tolist() for one in found] == [[1, 2, 3, 5], [0, 2, 4, 5], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize("as_dates", [False, True])
def test_the_past_predicts_the_future(as_dates):
    times = RNG.permutation(np.arange(100) // 2)
    given = (pd.Timestamp("2020-01-01") + pd.to_timedelta(times, unit="D")).to_numpy() if as_dates else times
    labelled = np.ones(100, dtype=bool)
    found = splits_in_time(given, labelled, 5)
    assert len(found) == 5 and sum(len(one.out) for one in found) == 50
    assert all(times[one.rest].max() < times[one.out].min() for one in found)
    theirs = [out for _, out in TimeSeriesSplit(5, test_size=10).split(np.sort(times))]
    assert [sorted(times[one.out]) for one in found] == [np.sort(times)[out].tolist() for out in theirs]


def test_rows_of_one_time_and_without_labels_have_their_place_in_time():
    times = np.repeat([1, 2, 3, 4], 10)
    labelled = np.arange(40) % 2 == 0
    found = splits_in_time(times, labelled, 5)
    assert [set(times[one.out]) for one in found] == [{3}, {4}]
    assert all(labelled[one.out].all() for one in found)
    assert [len(one.rest) for one in found] == [20, 30]
    assert splits_in_time(np.ones(40), labelled, 5) == []


def test_whole_groups_are_set_apart():
    groups = RNG.integers(0, 30, size=500)
    for share in (0.125, 0.5):
        found = set_apart(groups, share, np.random.default_rng(3))
        assert found.mean() == pytest.approx(share, abs=0.03)
        assert all(len(set(found[groups == one])) == 1 for one in range(30))
    assert set_apart(np.arange(8), 0.125, np.random.default_rng(0)).sum() == 1
