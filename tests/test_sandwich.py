"""Sandwich errors beside statsmodels and beside fits without each group."""

import numpy as np
import pytest
from scipy.special import expit
from statsmodels.api import GLM, OLS, families

from supertopic.inference.after.sandwich import cr1, hc3, jackknife

RNG = np.random.default_rng(0)
X = np.column_stack([np.ones(240), RNG.normal(size=(240, 3))])
GROUPS = RNG.integers(0, 12, size=240)
LEVEL = RNG.normal(size=12)[GROUPS]
NONE = np.zeros((4, 4))


def least_squares(y, rows=slice(None)):
    coef = np.linalg.lstsq(X[rows], y[rows], rcond=None)[0]
    return coef, y - X @ coef


def test_errors_of_least_squares_are_those_of_statsmodels():
    y = X @ [1.0, 0.5, 0.0, -0.5] + RNG.normal(size=240) * (0.5 + np.abs(X[:, 1])) + LEVEL
    _, rest = least_squares(y)
    plain = OLS(y, X).fit()
    np.testing.assert_allclose(hc3(X, rest, np.ones(240), NONE), plain.get_robustcov_results("HC3").cov_params())
    clustered = plain.get_robustcov_results("cluster", groups=GROUPS)
    np.testing.assert_allclose(cr1(X, rest, np.ones(240), NONE, GROUPS), clustered.cov_params())


@pytest.mark.parametrize("family", ["poisson", "binomial"])
def test_errors_of_other_laws_are_those_of_statsmodels(family):
    line = X @ [0.5, 0.5, 0.0, -0.5] + 0.3 * LEVEL
    y = RNG.poisson(np.exp(line)) if family == "poisson" else (RNG.random(240) < expit(line)).astype(float)
    law = families.Poisson() if family == "poisson" else families.Binomial()
    fit = GLM(y, X, law).fit(cov_type="cluster", cov_kwds={"groups": GROUPS}, tol=1e-12)
    mean = fit.fittedvalues
    curvature = mean if family == "poisson" else mean * (1 - mean)
    np.testing.assert_allclose(cr1(X, y - mean, curvature, NONE, GROUPS), fit.cov_params(), rtol=1e-6)


def test_the_jackknife_leaves_out_each_group_in_turn():
    """Least squares move by exactly what the formula says."""
    y = X @ [1.0, 0.5, 0.0, -0.5] + RNG.normal(size=240) + LEVEL
    coef, rest = least_squares(y)
    moved = np.array([coef - least_squares(y, g != GROUPS)[0] for g in np.unique(GROUPS)])
    np.testing.assert_allclose(jackknife(X, rest, np.ones(240), NONE, GROUPS), 11 / 12 * moved.T @ moved)
    alone = jackknife(X, rest, np.ones(240), NONE, np.arange(240))
    np.testing.assert_allclose(alone, 239 / 240 * hc3(X, rest, np.ones(240), NONE))


def test_a_prior_draws_errors_in():
    y = X @ [1.0, 0.5, 0.0, -0.5] + RNG.normal(size=240)
    strong = np.diag([0.0, 1e6, 1e6, 1e6])
    coef = np.linalg.solve(X.T @ X + strong, X.T @ y)
    for found in (
        hc3(X, y - X @ coef, np.ones(240), strong),
        cr1(X, y - X @ coef, np.ones(240), strong, GROUPS),
        jackknife(X, y - X @ coef, np.ones(240), strong, GROUPS),
    ):
        assert found[0, 0] > 1e-3 and found[1, 1] < 1e-8


def test_noise_by_group_has_errors_that_hold_it():
    """Noise that goes together in 15 groups: plain errors are far too small, the jackknife's hold nine of ten."""
    held = {"hc3": 0, "jackknife": 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(15), 20)
        x = np.column_stack([np.ones(300), (rng.normal(size=15)[group] + rng.normal(size=300))])
        y = rng.normal(size=15)[group] + rng.normal(size=300)
        coef = np.linalg.lstsq(x, y, rcond=None)[0]
        given = (x, y - x @ coef, np.ones(300), np.zeros((2, 2)))
        for name, cov in {"hc3": hc3(*given), "jackknife": jackknife(*given, group)}.items():
            held[name] += abs(coef[1]) < 1.761 * np.sqrt(cov[1, 1])  # Student's t with 14 degrees of freedom
    assert held["hc3"] < 150 and 170 <= held["jackknife"] <= 194


def test_one_group_has_no_errors():
    for function in (cr1, jackknife):
        with pytest.raises(ValueError, match="two groups at least"):
            function(X, X[:, 1], np.ones(240), NONE, np.zeros(240))
