"""p-values of many coefficients, beside statsmodels."""

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from supertopic import SLDAClassifier, SLDARegressor
from supertopic.datasets import simulate
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


def test_a_summary_has_adjusted_values_of_all_its_rows():
    data = simulate(200, 4, 60, 40, response="gaussian", seed=0)
    counts, x = data.counts.counts, np.random.default_rng(0).normal(size=(200, 2))
    model = SLDARegressor(5, max_iter=3, cross_fit=2).fit(counts, data.y, covariates=x)
    table = model.summary(adjust="holm")
    rows = table.index != "intercept"
    expected = multipletests(2 * norm.sf(np.abs(table["coef"] / table["std"])[rows]), method="holm")[1]
    np.testing.assert_allclose(table["p"][rows], expected)
    assert np.isnan(table.loc["intercept", "p"]) and "p" not in model.summary()
    classes = SLDAClassifier(3, response="softmax", max_iter=3, cross_fit=0).fit(counts, np.arange(200) % 3)
    assert classes.summary(adjust="bh")["p"].notna().sum() == 9
    with pytest.raises(ValueError, match="adjust: got 'fdr', expected one of 'holm', 'bh'"):
        model.summary(adjust="fdr")
