"""p-values of many coefficients, beside statsmodels."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from supertopic.inference.after.multiplicity import adjusted


@pytest.mark.parametrize(("method", "theirs"), [("holm", "holm"), ("bh", "fdr_bh")])
@pytest.mark.parametrize("seed", range(3))
def test_adjusted_values_are_those_of_statsmodels(method, theirs, seed):
    p = np.random.default_rng(seed).beta(0.3, 1.0, size=25)
    p[3] = p[7]
    np.testing.assert_allclose(adjusted(p, method), multipletests(p, method=theirs)[1])
    some = np.where(np.arange(25) % 4 == 0, np.nan, p)
    known = ~np.isnan(some)
    found = adjusted(some, method)
    np.testing.assert_array_equal(np.isnan(found), ~known)
    np.testing.assert_allclose(found[known], multipletests(p[known], method=theirs)[1])


def test_nothing_and_nonsense():
    assert len(adjusted(np.zeros(0), "holm")) == len(adjusted(np.zeros(0), "bh")) == 0
    with pytest.raises(ValueError, match="adjust: got 'bonferroni', expected one of 'holm', 'bh', or None"):
        adjusted(np.ones(2), "bonferroni")
