"""Rows of a prior on topic shares: which documents have which alpha, and sums over documents by row."""

from itertools import pairwise

import numpy as np
import pytest

from supertopic.priors.base import Rows


@pytest.fixture
def rows():
    which = np.random.default_rng(3).integers(0, 3, 1300).astype(np.int32)
    return Rows(np.array([[0.1, 0.2], [1.0, 2.0], [5.0, 4.0]]), which)


def test_pieces_hold_every_document_of_a_row_once(rows):
    order, ends, row = rows.pieces
    assert sorted(order) == list(range(1300))
    seen = [order[first:last] for first, last in pairwise(ends)]
    assert len(seen) == len(row) and max(map(len, seen)) <= 512
    for documents, number in zip(seen, row, strict=True):
        assert set(rows.which[documents]) == {number}
    np.testing.assert_array_equal(rows.sizes, np.bincount(rows.which))
