"""Sandwich errors beside statsmodels and beside fits without each group."""

import numpy as np
import pytest
from scipy.special import expit
from statsmodels.api import GLM, OLS, MNLogit, families

from supertopic import SLDAClassifier, SLDARegressor, load
from supertopic.datasets import simulate
from supertopic.fitted.certainty import cross_fit, honest
from supertopic.inference.after.sandwich import hc3, jackknife

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


@pytest.mark.parametrize("family", ["poisson", "binomial"])
def test_errors_of_other_laws_are_those_of_fits_without_each_group(family):
    line = X @ [0.5, 0.5, 0.0, -0.5] + 0.3 * LEVEL
    y = RNG.poisson(np.exp(line)) if family == "poisson" else (RNG.random(240) < expit(line)).astype(float)
    law = families.Poisson() if family == "poisson" else families.Binomial()
    fit = GLM(y, X, law).fit(tol=1e-12)
    curvature = fit.fittedvalues if family == "poisson" else fit.fittedvalues * (1 - fit.fittedvalues)
    moved = np.array([GLM(y[g != GROUPS], X[g != GROUPS], law).fit().params - fit.params for g in np.unique(GROUPS)])
    found = jackknife(X, y - fit.fittedvalues, curvature, NONE, GROUPS)
    np.testing.assert_allclose(np.diag(found), np.diag(11 / 12 * moved.T @ moved), rtol=0.1)  # one step of each


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
    with pytest.raises(ValueError, match="groups: got one group only, expected two at least"):
        jackknife(X, X[:, 1], np.ones(240), NONE, np.zeros(240))


# --- in fits ----------------------------------------------------------------------------------------------------------

DATA = simulate(400, 4, 150, 60, doc_topic_prior=0.3, seed=5)
LINE = DATA.topic_shares @ np.array([-1.0, 0.0, 0.3, 1.0])
OF = RNG.integers(0, 30, size=400)
NOISE = RNG.normal(size=30)[OF]
FAST = {"inference": "vb", "coef_prior": "flat", "max_iter": 5, "random_state": 0}


@pytest.fixture
def kept(monkeypatch):
    """The documents behind the errors of a fit."""
    found = {}

    def keep(module):
        inner = module.robust_covariance

        def watched(fitted, documents, groups, **more):
            found.update(fitted=fitted, shares=documents.design.mean, y=documents.y, groups=groups)
            found["cov"] = inner(fitted, documents, groups, **more)
            return found["cov"]

        monkeypatch.setattr(module, "robust_covariance", watched)

    keep(honest)
    keep(cross_fit)
    return found


def of_contrasts(cov, model):
    """(K,) errors of what topics have beyond the average document, from the covariance of all topics."""
    away = np.eye(4) - model.fitted_.average_shares
    return np.sqrt(np.diag(away @ cov @ away.T))


def test_sample_splitting_has_errors_of_no_law(kept, tmp_path):
    y = LINE + (0.2 + np.abs(LINE)) * RNG.normal(size=400)
    model = SLDARegressor(4, honest=0.5, cross_fit=0, **FAST).fit(DATA.counts, y)
    theirs = OLS(kept["y"], kept["shares"]).fit().get_robustcov_results("HC3").cov_params()
    np.testing.assert_allclose(model.coef_std_, of_contrasts(theirs, model), rtol=1e-3)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").coef_std_, model.coef_std_)


@pytest.mark.filterwarnings("ignore:groups. labels are of 15 groups, fewer than 20")
def test_labels_of_groups_have_errors_by_groups(kept):
    model = SLDARegressor(4, honest=0.5, cross_fit=0, **FAST).fit(DATA.counts, LINE + NOISE, groups=OF)
    shares, y, groups = kept["shares"], kept["y"], kept["groups"]
    assert len(set(groups)) == 15
    whole = np.linalg.lstsq(shares, y, rcond=None)[0]
    moved = [whole - np.linalg.lstsq(shares[groups != g], y[groups != g], rcond=None)[0] for g in np.unique(groups)]
    expected = of_contrasts(14 / 15 * np.transpose(moved) @ moved, model)
    np.testing.assert_allclose(model.coef_std_, expected, rtol=1e-3)


def test_labels_that_the_law_does_not_expect_widen_errors(kept):
    wide, narrow = (
        SLDARegressor(4, response="poisson", cross_fit=3, **FAST).fit(DATA.counts, y)
        for y in (RNG.negative_binomial(0.5, 1 / 11, size=400), RNG.poisson(np.exp(1 + LINE)))
    )
    assert wide.fitted_.certainty.coef_cov is not None and narrow.fitted_.certainty.coef_cov is None
    plain = wide.fitted_.spec.model.coef_prior.covariance(wide.fitted_.state.information[0])
    assert np.diag(wide.fitted_.certainty.coef_cov[0]).mean() > 3 * np.diag(plain).mean()


@pytest.mark.filterwarnings("ignore:groups. labels are of 15 groups, fewer than 20")
@pytest.mark.parametrize("prior", ["flat"])
def test_classes_of_groups_are_those_of_statsmodels(prior, kept):
    """Of two classes by a softmax, whose differences are half those of a logit."""
    y = (LINE + NOISE > 0).astype(int)
    given = {**FAST, "coef_prior": prior, "response": "softmax"}
    SLDAClassifier(4, honest=0.5, cross_fit=0, **given).fit(DATA.counts, y, groups=OF)
    fit = MNLogit(kept["y"], kept["shares"]).fit(
        cov_type="cluster", cov_kwds={"groups": np.unique(kept["groups"], return_inverse=True)[1]}, disp=0, tol=1e-12
    )
    np.testing.assert_allclose(kept["cov"], np.stack([fit.cov_params() / 4] * 2), rtol=0.02)


@pytest.mark.slow
def test_noise_by_group_gives_few_findings():
    """One of ten coefficients at most is found where there is none; without `groups`, nearly one of two."""
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        data = simulate(1440, 3, 300, 40, doc_topic_prior=0.1, seed=seed)
        group = np.repeat(np.arange(60), 24)  # an author writes about one topic
        counts = data.counts.counts[np.argsort(data.topic_shares.argmax(axis=1), kind="stable")]
        y = rng.normal(size=60)[group] + 0.7 * rng.normal(size=1440)
        model = SLDARegressor(3, honest=0.5, cross_fit=0, inference="vb", max_iter=10, random_state=0)
        found += [np.abs(model.fit(counts, y, **by).coef_ / model.coef_std_) > 1.645 for by in ({"groups": group}, {})]
    shares = [np.mean(found[place::2]) for place in (0, 1)]
    assert shares[0] <= 0.1 and shares[1] >= 0.4
