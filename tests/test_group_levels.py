"""Intervals for documents of a group that the fit has not seen."""

import numpy as np
import pytest

from supertopic.inference.after.group_levels import levels_by_group
from supertopic.responses.interval_levels import level_of


def documents(rng, n_groups, sizes):
    """Levels of documents whose groups differ in how far their labels lie from predictions."""
    groups = np.repeat(np.arange(n_groups), rng.integers(*sizes, size=n_groups))
    off = 1.5 * rng.normal(size=n_groups)[groups] + rng.normal(size=len(groups))
    return np.abs(off), groups


@pytest.mark.parametrize(("n_groups", "least"), [(30, 0.88), (12, 0.87), (4, 0.75)])
def test_documents_of_a_new_group_are_held(n_groups, least):
    """Levels of documents one by one promise too much: they know the groups."""
    by_group, one_by_one = [], []
    for seed in range(100):
        found, groups = documents(np.random.default_rng(seed), n_groups + 1, (5, 40))
        known, new = groups < n_groups, groups == n_groups
        level = level_of(levels_by_group(found[known], groups[known]), 0.9)
        by_group.append(np.mean(found[new] <= level))
        one_by_one.append(np.mean(found[new] <= level_of(np.sort(found[known]), 0.9)))
    assert least < np.mean(by_group) < 0.99
    assert np.mean(one_by_one) < np.mean(by_group)


def test_groups_of_one_document_are_documents():
    found = np.random.default_rng(0).exponential(size=99)
    table = levels_by_group(found, np.arange(99))
    for probability in (0.3, 0.5, 0.8, 0.9):
        assert level_of(table, probability) == pytest.approx(level_of(np.sort(found), probability), rel=0.02)


def test_a_large_group_weighs_as_much_as_a_small_one():
    found = np.concatenate([np.full(900, 0.1), np.full(10, 0.7), np.full(20, 0.8), np.full(9, 0.3)])
    table = levels_by_group(found, np.repeat([3, 1, 2, 0], [900, 10, 20, 9]))
    # four in five masses of 0.2 each: 0.1, 0.3, 0.7, 0.8
    assert [level_of(table, p) for p in (0.15, 0.35, 0.55, 0.75)] == [0.1, 0.3, 0.7, 0.8]


def test_few_groups_are_asked_for_no_more_than_each_of_them_needs():
    rng = np.random.default_rng(1)
    found = np.concatenate([scale * rng.random(200) for scale in (0.3, 0.5, 1.0)])
    groups = np.repeat([0, 1, 2], 200)
    assert level_of(levels_by_group(found, groups), 0.9) == pytest.approx(np.quantile(found[400:], 0.9), rel=0.02)
