"""Exact steps: MedLDA's objective never decreases, and the problem of each document is solved."""

from dataclasses import replace

import numpy as np
import pytest

from supertopic import VB, MedLDAClassifier, MedLDARegressor
from supertopic.checkpoint import Checkpoint
from supertopic.inference.variational import exact_margin as margin_exact
from supertopic.responses.margin import EpsilonInsensitive, Hinge
from tests.test_medlda import FITS, Stop, drawn

STEPS = 15


@pytest.fixture(scope="module", params=FITS)
def traces(request):
    """The objective over the steps, with the fast engine and with exact steps."""
    kind, own = FITS[request.param]
    strong = own | ({"C": 30.0} if "cost" not in own else {"C": 4.0, "cost": 30.0, "doc_topic_prior": 0.1})
    given = {"max_iter": STEPS, "tol": 0.0, "inference": VB(doc_tol=1e-3), "n_jobs": 1, **strong}
    X, y = drawn(request.param, 120)
    return [np.asarray(kind(4, exact=exact, **given).fit(X, y).bound_) for exact in (False, True)]


def test_the_objective_never_falls(traces):
    exact = traces[1]
    assert len(exact) == STEPS
    assert np.diff(exact).min() >= -1e-7 * np.abs(exact).max()
    assert exact[-1] > exact[0]


def test_it_ends_no_lower_than_quick_steps(traces):
    """This is not guaranteed, since they may reach different optima; at alpha = 0.5 fast steps end higher on two."""
    quick, exact = traces
    assert exact[-1] >= quick.max() - 0.01 * abs(quick.max())


def test_the_quick_engine_does_fall_somewhere():
    """Otherwise the option would be of no use. Where it falls depends on last bits, so several data sets are tried."""
    falls = []
    for seed in (2, 3, 4):
        X, y = drawn("two", 120, seed=seed)
        bound = MedLDAClassifier(4, inference="vb", C=20.0, cost=100.0, max_iter=STEPS, tol=0.0).fit(X, y).bound_
        falls.append(np.diff(bound).min() / np.abs(bound).max())
    assert min(falls) < -1e-5


@pytest.mark.parametrize("response", [Hinge(2, 3.0, 2.0), Hinge(4, 3.0, 2.0), EpsilonInsensitive(0, 3.0, 0.5)])
def test_pull_is_the_slope_of_the_loss(response):
    rng = np.random.default_rng(0)
    columns = len(response.is_product)
    score, dispersion = 2 * rng.normal(size=(50, columns)), np.array([1.0, 0.5, 2.0])
    y = rng.normal(size=50) if response.name == "epsilon_insensitive" else rng.integers(0, response.n_classes, 50) * 1.0
    y[:3] = np.nan
    if response.name == "epsilon_insensitive":

        def loss(score):
            return -response.C * response.loss(y, score, dispersion)
    else:

        def loss(score):
            return -response.C * response.loss(y, score)

    slope = response.pull(y, score, dispersion)
    for c in range(columns):
        step = np.zeros(columns)
        step[c] = 1e-6
        numeric = (loss(score + step) - loss(score - step)) / 2e-6
        np.testing.assert_allclose(slope[:, c], numeric, atol=1e-6)


def test_exact_steps_go_on_after_a_kill(tmp_path, monkeypatch):
    X, y = drawn("three", 60)
    given = {"C": 1.0, "cost": 8.0, "exact": True, "inference": "vb", "max_iter": 6, "tol": 0.0, "n_jobs": 1}
    whole = MedLDAClassifier(4, **given).fit(X, y)
    saves, save = [], Checkpoint.save

    def save_and_stop(self, *state):
        save(self, *state)
        saves.append(1)
        if len(saves) == 3:
            raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "due", lambda self: True)
        patched.setattr(Checkpoint, "save", save_and_stop)
        with pytest.raises(Stop):
            MedLDAClassifier(4, **given, checkpoint=tmp_path / "fit").fit(X, y)
    resumed = MedLDAClassifier(4, **given, checkpoint=tmp_path / "fit").fit(X, y)
    for attribute in ("components_", "coef_", "bound_", "n_support_"):
        np.testing.assert_array_equal(getattr(resumed, attribute), getattr(whole, attribute))


@pytest.mark.parametrize("given", [{"inference": "gibbs"}, {"emission": "sage"}])
def test_exact_steps_refuse_what_they_cannot_do(given):
    X, y = drawn("slda", 30)
    with pytest.raises(ValueError, match="exact"):
        MedLDARegressor(3, exact=True, **given).fit(X, y)


def test_coefficients_that_would_lower_the_objective_stay_where_they_were(monkeypatch):
    """The solver alternates and stops at a tolerance, so its result may be worse than the starting point."""
    X, y = drawn("two", 80)
    given = {
        "C": 1.0,
        "cost": 8.0,
        "exact": True,
        "inference": "vb",
        "max_iter": 8,
        "tol": 0.0,
        "n_jobs": 1,
        "refit": False,
    }
    solve, calls = margin_exact.fit_margin, []

    def spoiled(*args, **params):
        found = solve(*args, **params)
        calls.append(found)
        if len(calls) < 4:
            return found
        return replace(found, solution=replace(found.solution, coef=-5.0 * found.solution.coef))

    monkeypatch.setattr(margin_exact, "fit_margin", spoiled)
    model = MedLDAClassifier(4, **given).fit(X, y)
    assert len(calls) == 8
    assert np.diff(model.bound_).min() >= -1e-7 * np.abs(model.bound_).max()
    coef = model.intercept_[:, None] + model.coef_
    np.testing.assert_allclose(coef.ravel(), calls[2].solution.coef.ravel(), rtol=1e-5)
