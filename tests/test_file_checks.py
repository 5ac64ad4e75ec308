"""What a model file may hold: each check of an array by itself (forged files as a whole: test_crafted_files.py)."""

import numpy as np
import pytest

from supertopic.fitted.checks import LARGEST, Shape, _check

SHARES = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])


def shape(**more):
    return Shape("DK", ("float64",), **more)


@pytest.mark.parametrize(
    ("array", "given", "words"),
    [
        (SHARES.astype(np.float32), shape(), "has the type float32, expected float64"),
        (SHARES.T, shape(), r"has the shape \(2, 3\), expected \(any, 2\)"),
        (SHARES[0], shape(), r"has the shape \(2,\), expected"),
        (np.where(SHARES == 1.0, np.nan, SHARES), shape(), "holds NaN, infinity"),
        (SHARES + np.inf, shape(), "holds NaN, infinity"),
        (SHARES * 2 * LARGEST, shape(), "a number beyond"),
        (-SHARES, shape(least=0.0), "expected numbers of at least 0"),
        (SHARES + 0.1, shape(sums=True), "rows that do not sum to one"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(array, given, words):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=words):
        _check("shares", array, given, {"K": 2})


def test_arrays_that_fit_pass_and_tell_their_sizes():
    sizes = {"K": 2}
    _check("shares", SHARES, shape(sums=True, least=0.0), sizes)
    assert sizes == {"K": 2, "D": 3}
