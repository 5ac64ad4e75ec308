"""The solver of the M-step for the coefficients, against closed forms, scikit-learn and optimality conditions."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from supertopic.coefficients import CoefPrior
from supertopic.inference.design import weighted_gram
from supertopic.kernels.lasso import descend
from tests.naive_supervised import lasso

RNG = np.random.default_rng(5)
X = RNG.dirichlet(np.full(6, 0.4), size=200)
Y = X @ np.array([-2.0, 0.0, 0.0, 1.0, 0.0, 3.0]) + 0.3 * RNG.normal(size=200)
GRAM, CROSS = X.T @ X, X.T @ Y


def objective(prior, coef):
    return CROSS @ coef - 0.5 * coef @ GRAM @ coef + prior.log_density(coef)


def test_flat_is_least_squares():
    found = CoefPrior("flat").solve(GRAM, CROSS, np.zeros(6))
    np.testing.assert_allclose(found, np.linalg.lstsq(X, Y, rcond=None)[0], rtol=1e-4)


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_normal_is_ridge(scale):
    found = CoefPrior("normal", scale).solve(GRAM, CROSS, np.zeros(6))
    np.testing.assert_allclose(found, np.linalg.solve(GRAM + np.eye(6) / scale**2, CROSS), rtol=1e-4)


@pytest.mark.parametrize("start", [np.zeros(6), np.arange(6.0)])
def test_laplace_is_the_lasso(start):
    """Lasso minimises |y - X b|²/(2n) + a |b|, so a = 1/(scale n)."""
    found = CoefPrior("laplace", 0.2).solve(GRAM, CROSS, start)
    expected = Lasso(alpha=1 / (0.2 * len(Y)), fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y).coef_
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found == 0, expected == 0)
    assert 0 < np.sum(found == 0) < 6


@pytest.mark.parametrize("seed", range(5))
def test_descent_is_the_slow_one(seed):
    """Own penalties, one of them infinite and one zero; a coefficient without curvature; a start that is far off."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(15, 7))
    root[:, 6] = 0.0
    gram, cross, start = root.T @ root, rng.normal(size=7) * 10, rng.normal(size=7) * 5
    penalty = rng.gamma(1.0, 5.0, size=7)
    penalty[1], penalty[2] = np.inf, 0.0
    found, expected = start.copy(), lasso(gram, cross, penalty, start)
    sweeps = descend(gram, cross, penalty, found, np.empty(7), 3000, 1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_array_equal(found == 0, expected == 0)
    assert found[1] == found[6] == 0 and found[2] != 0 and 1 < sweeps < 3000
    prior = CoefPrior("laplace", 0.3)
    expected = lasso(prior.regular(gram), cross, np.full(7, 1 / 0.3), start)
    np.testing.assert_allclose(prior.solve(gram, cross, start), expected, atol=1e-6)
    assert descend(gram, cross, penalty, start, np.empty(7), 2, 0.0) == 2


@pytest.mark.parametrize("scale", [0.02, 0.2, 5.0])
def test_laplace_meets_the_conditions_of_an_optimum(scale):
    """The slope equals sign(eta)/scale where eta is not zero, and is at most 1/scale in size where it is zero."""
    found = CoefPrior("laplace", scale).solve(GRAM, CROSS, np.zeros(6))
    slope = CROSS - GRAM @ found
    np.testing.assert_allclose(slope[found != 0], np.sign(found[found != 0]) / scale, rtol=1e-3)
    assert np.all(np.abs(slope[found == 0]) <= 1 / scale + 1e-6)


def test_a_strong_laplace_prior_leaves_nothing():
    np.testing.assert_array_equal(CoefPrior("laplace", 0.9 / np.abs(CROSS).max()).solve(GRAM, CROSS, np.ones(6)), 0)


@pytest.mark.parametrize("prior", [CoefPrior("normal", 0.5), CoefPrior("laplace", 0.2), CoefPrior("flat")])
def test_solution_is_the_maximum_of_the_log_posterior(prior):
    found = prior.solve(GRAM, CROSS, np.zeros(6))
    for direction in np.vstack([np.eye(6), RNG.normal(size=(20, 6))]):
        for step in (-0.01, 0.01):
            assert objective(prior, found + step * direction) < objective(prior, found)


def test_gram_of_weighted_columns_is_as_written_down():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(30, 4))
    for weight in (rng.random(30), rng.normal(size=30), np.zeros(30)):
        expected = sum(w * np.outer(x, x) for w, x in zip(weight, columns, strict=True))
        np.testing.assert_allclose(weighted_gram(columns, weight), expected, atol=1e-12)
    np.testing.assert_array_equal(weighted_gram(columns[:0], weight[:0]), 0.0)


@pytest.mark.parametrize("n_level", [0, 3, 5])
def test_gradient_of_the_prior_is_that_of_its_precision(n_level):
    prior, coef = CoefPrior.parse("normal", 0.7, n_level), np.random.default_rng(1).normal(size=(2, 5))
    np.testing.assert_allclose(prior.gradient(coef), -coef @ prior.precision(np.full(5, 0.7**-2)), atol=1e-12)


def test_equations_of_a_curvature_that_is_negative_are_solved():
    gram, cross = np.array([[2.0, 0.5], [0.5, -1.0]]), np.array([1.0, 2.0])
    found = CoefPrior.parse("flat", 1.0).solve(gram, cross, np.zeros(2))
    np.testing.assert_allclose(gram @ found, cross, rtol=1e-5)


def test_deviation_is_the_root_of_the_inverse_hessian():
    flat = np.sqrt(np.diag(np.linalg.inv(GRAM)))
    np.testing.assert_allclose(CoefPrior("flat").deviation(GRAM), flat, rtol=1e-4)
    np.testing.assert_allclose(CoefPrior("laplace", 0.2).deviation(GRAM), flat, rtol=1e-4)
    ridge = np.sqrt(np.diag(np.linalg.inv(GRAM + 4 * np.eye(6))))
    np.testing.assert_allclose(CoefPrior("normal", 0.5).deviation(GRAM), ridge, rtol=1e-4)


@pytest.mark.parametrize("name", ["flat", "normal", "laplace"])
def test_a_topic_that_no_document_uses_gets_zero(name):
    gram, cross = GRAM.copy(), CROSS.copy()
    gram[2], gram[:, 2], cross[2] = 0, 0, 0
    found = CoefPrior(name, 10.0).solve(gram, cross, np.zeros(6))
    assert found[2] == 0 and np.isfinite(found).all()
    nothing = CoefPrior(name, 10.0).solve(np.zeros((6, 6)), np.zeros(6), np.zeros(6))
    np.testing.assert_array_equal(nothing, 0)


@pytest.mark.parametrize(
    ("name", "scale", "message"),
    [
        ("ridge", 1.0, r"^coef_prior: got 'ridge', expected one of 'flat', 'normal', 'laplace'$"),
        ("normal", 0.0, r"^coef_scale: got 0.0, expected a number > 0$"),
        ("normal", -1, r"^coef_scale: got -1, expected a number > 0$"),
        ("laplace", np.inf, r"^coef_scale: got inf, expected a number > 0$"),
        ("laplace", np.nan, r"^coef_scale: got nan, expected a number > 0$"),
        ("normal", "wide", r"^coef_scale: got 'wide', expected a number > 0$"),
    ],
)
def test_nonsense_is_refused(name, scale, message):
    with pytest.raises(ValueError, match=message):
        CoefPrior.parse(name, scale)
