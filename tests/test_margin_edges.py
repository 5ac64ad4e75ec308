"""Edge cases of max-margin problems: zero or huge C, empty documents, one class, missing labels, bad input."""

from functools import partial

import numpy as np
import pytest

from supertopic.margin import solve_binary, solve_classes, solve_one_slack, solve_regression

from . import naive_margin as naive
from .test_margin import moving_classes, shares


def solvers(n_classes):
    """Every solver as a function of x and y, where y is a class."""
    return {
        "regression": partial(solve_regression, epsilon=0.1),
        "binary": lambda x, y, **options: solve_binary(x, np.minimum(y, 1), **options),
        "classes": partial(solve_classes, n_classes=n_classes),
        "one slack": partial(solve_one_slack, n_classes=n_classes),
    }


SOLVERS = list(solvers(1))


def check_sane(fit):
    assert np.isfinite(fit.coef).all() and np.isfinite(fit.dual).all()
    assert np.isfinite(fit.primal) and np.isfinite(fit.gap) and fit.gap >= -1e-9 * fit.primal


@pytest.mark.parametrize("name", SOLVERS)
def test_without_C_the_coefficients_are_the_prior_mean(name):
    x, y, _ = moving_classes(50)
    fit = solvers(8)[name](x, y, C=0.0)
    assert fit.converged and fit.primal == fit.gap == 0 and len(fit.support) == 0
    assert (fit.coef == 0).all()


def test_without_C_a_mean_stays():
    x, y, _ = moving_classes(50)
    np.testing.assert_array_equal(solve_regression(x, y, 0.0, 0.1, mean=np.arange(20.0)).coef, np.arange(20.0))


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("separable", [True, False])
def test_a_huge_C_ends(name, separable):
    rng = np.random.default_rng(0)
    x = shares(rng, 120, 4)
    y = (x @ rng.normal(size=(4, 3))).argmax(axis=1) if separable else rng.integers(3, size=120)
    fit = solvers(3)[name](x, y, C=1e6, max_epochs=400)
    check_sane(fit)
    assert fit.converged or fit.epochs == 400


@pytest.mark.parametrize("name", SOLVERS)
def test_empty_documents(name):
    """Without features there are no coefficients: every document has the same loss, also in the dual."""
    fit = solvers(3)[name](np.zeros((5, 4)), np.array([0, 1, 2, 1, np.nan]), C=2.0)
    check_sane(fit)
    assert fit.converged and (fit.coef == 0).all()
    assert fit.primal == pytest.approx({"regression": 2 * (0.9 + 1.9 + 0.9)}.get(name, 8.0))
    assert 4 not in fit.support


@pytest.mark.parametrize("name", SOLVERS)
def test_nothing_to_learn_from(name):
    for x, y in (
        (np.zeros((0, 3)), np.zeros(0)),
        (np.ones((4, 3)), np.full(4, np.nan)),
        (np.zeros((2, 0)), np.zeros(2)),
    ):
        check_sane(solvers(3)[name](x, y, C=1.0))


@pytest.mark.parametrize("name", ["classes", "one slack"])
def test_one_class(name):
    x = shares(np.random.default_rng(0), 40, 4)
    alone = solvers(1)[name](x, np.zeros(40), C=1.0)
    assert alone.converged and alone.primal == 0 and len(alone.support) == 0
    only = solvers(3)[name](x, np.ones(40), C=1.0, tol=1e-8)  # no document has another class
    assert only.converged
    best = naive.classes_optimum(x, np.ones(40), 3, 1.0, 1.0, np.ones(40), np.ones((3, 4)))
    assert only.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_document_twice_is_a_document_of_weight_two(name):
    x, y, _ = moving_classes(60)
    run = partial(solvers(8)[name], C=1.0, tol=1e-9)
    twice = run(np.vstack([x, x]), np.concatenate([y, y]))
    heavy = run(x, y, weight=np.full(60, 2.0))
    assert twice.primal == pytest.approx(heavy.primal, rel=1e-8)
    np.testing.assert_allclose(twice.coef, heavy.coef, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_missing_label_is_a_missing_document(name):
    x, y, _ = moving_classes(60)
    known = np.arange(60) % 3 > 0
    run = partial(solvers(8)[name], C=1.0, tol=1e-9)
    without, missing = run(x[known], y[known]), run(x, np.where(known, y, np.nan))
    assert missing.primal == pytest.approx(without.primal, rel=1e-8)
    assert known[missing.support].all()


def test_a_nearly_empty_document_does_no_harm():
    x, y, _ = moving_classes(200)
    x[:20] *= np.logspace(-160, -3, 20)[:, None]
    for name in ("binary", "classes"):
        fit = solvers(8)[name](x, y, C=10.0, tol=1e-8)
        check_sane(fit)
        assert fit.converged


X, Y = np.full((3, 2), 0.5), np.array([0.0, 1.0, 0.0])
REGRESSION, CLASSES = partial(solve_regression, C=1.0, epsilon=0.1), partial(solve_classes, n_classes=2, C=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: REGRESSION(X[0], Y), r"x: got shape \(2,\)"),
        (lambda: REGRESSION(X * np.nan, Y), "x: .* finite"),
        (lambda: REGRESSION(X, Y[:2]), r"y: got shape \(2,\), expected \(3,\)"),
        (lambda: REGRESSION(X, np.array([np.inf, 0.0, 1.0])), "y: .* finite"),
        (lambda: REGRESSION(X, Y, C=-1.0), "C: got -1.0, expected a finite number >= 0"),
        (lambda: REGRESSION(X, Y, C=np.inf), "C: got inf"),
        (lambda: REGRESSION(X, Y, epsilon=-0.1), "epsilon: got -0.1"),
        (lambda: REGRESSION(X, Y, tol=np.nan), "tol: got nan"),
        (lambda: REGRESSION(X, Y, floor=-1), "floor: got -1"),
        (lambda: REGRESSION(X, Y, max_epochs=0), "max_epochs: got 0"),
        (lambda: REGRESSION(X, Y, weight=np.array([1.0, -1.0, 1.0])), "weight: .* >= 0"),
        (lambda: REGRESSION(X, Y, weight=np.ones(2)), r"weight: got shape \(2,\)"),
        (lambda: REGRESSION(X, Y, mean=np.zeros(3)), r"mean: got shape \(3,\), expected \(2,\)"),
        (lambda: REGRESSION(X, Y, precision=np.ones((3, 3))), r"precision: got shape \(3, 3\)"),
        (lambda: REGRESSION(X, Y, precision=np.array([1.0, 0.0])), "precision: got 0, expected numbers > 0"),
        (lambda: REGRESSION(X, Y, precision=-np.eye(2)), "precision: .* not symmetric positive definite"),
        (lambda: REGRESSION(X, Y, precision=np.array([[2.0, 1.0], [0.0, 2.0]])), "precision: .* not symmetric"),
        (lambda: REGRESSION(X, Y, warm=np.zeros(2)), r"warm: got shape \(2,\), expected \(3,\)"),
        (lambda: solve_binary(X, Y + 1, C=1.0), "y: got 2, expected whole numbers 0 to 1"),
        (lambda: solve_binary(X, Y, C=1.0, cost=-1.0), "cost: got -1.0"),
        (lambda: CLASSES(X, Y + 0.5), "y: got 0.5, expected whole numbers 0 to 1"),
        (lambda: CLASSES(X, Y, n_classes=0), "n_classes: got 0"),
        (lambda: CLASSES(X, Y, precision=np.zeros((2, 2))), "precision: .* > 0"),
        (lambda: CLASSES(X, Y, warm=np.full((3, 2), np.nan)), "warm: .* finite"),
        (lambda: solve_one_slack(X, Y, 2, 1.0, warm=np.full((1, 3), 2)), "warm: .* classes 0 to 1"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
