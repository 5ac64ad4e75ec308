"""Max-margin duals against an interior-point solver and the optimality conditions."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic.kernels import dual_descent as kernels
from supertopic.margin import solve_binary, solve_classes, solve_one_slack, solve_regression
from supertopic.margin.duals import climb

from . import naive_margin as naive

TIGHT = {"tol": 1e-8, "max_epochs": 20_000}
COSTS = {"regression": 0.1, "binary": 1.5, "classes": 1.5}


def shares(rng, n_documents, n_topics):
    return rng.dirichlet(np.full(n_topics, 0.3), size=n_documents)


def problem(kind, seed):
    """Random sizes and C; an empty document, triplets (one with another label), a missing label and a zero weight."""
    rng = np.random.default_rng(seed)
    n_documents, n_topics, n_classes = rng.integers(30, 90), rng.integers(2, 9), int(rng.integers(2, 6))
    C = (0.05, 1.0, 20.0, 1000.0)[seed % 4]
    x = shares(rng, n_documents, n_topics)
    x[3] = 0.0
    x[5] = x[6] = x[7]
    weight = rng.uniform(0.2, 2.0, size=n_documents)
    weight[1] = 0.0
    root = rng.normal(size=(n_topics, n_topics))
    precision = root @ root.T + 0.3 * np.eye(n_topics)
    if kind == "classes":
        score = x @ rng.normal(size=(n_topics, n_classes)) + 0.2 * rng.normal(size=(n_documents, n_classes))
        y, precision = score.argmax(axis=1).astype(float), rng.uniform(0.3, 3.0, size=(n_classes, n_topics))
    else:
        y = 2 * x @ rng.normal(size=n_topics) + 0.3 * rng.normal(size=n_documents)
        y = (y > np.median(y)).astype(float) if kind == "binary" else y
    y[6] = y.max() - y[7]
    y[4] = np.nan
    mean = rng.normal(size=n_topics)
    found = {"x": x, "y": y, "C": C, "weight": weight, "precision": precision, "mean": mean}
    return {**found, "n_classes": n_classes}


def solve(kind, data, **options):
    x, y, C, common = data["x"], data["y"], data["C"], {"weight": data["weight"], "precision": data["precision"]}
    if kind == "classes":
        return solve_classes(x, y, data["n_classes"], C, COSTS[kind], **common, **options)
    solver = solve_regression if kind == "regression" else solve_binary
    return solver(x, y, C, COSTS[kind], mean=data["mean"], **common, **options)


def arguments(kind, data):
    """The arguments of the naive functions after the features and labels."""
    tail = (
        (data["weight"], data["precision"]) if kind == "classes" else (data["weight"], data["mean"], data["precision"])
    )
    return data["C"], COSTS[kind], *tail


def optimum(kind, data):
    x, y = data["x"], data["y"]
    if kind == "classes":
        return naive.classes_optimum(x, y, len(data["precision"]), *arguments(kind, data))
    return getattr(naive, f"{kind}_optimum")(x, y, *arguments(kind, data))


def objective(kind, data, coef):
    return getattr(naive, f"{kind}_objective")(coef, data["x"], data["y"], *arguments(kind, data))


def dual_objective(kind, data, dual):
    x, y = data["x"], data["y"]
    if kind == "classes":
        return naive.classes_dual(dual, x, y, COSTS[kind], data["precision"])
    sign = 2 * np.nan_to_num(y) - 1
    if kind == "binary":
        return naive.regression_dual(sign * dual, x, COSTS[kind] * sign, 0.0, data["mean"], data["precision"])
    return naive.regression_dual(dual, x, y, COSTS[kind], data["mean"], data["precision"])


KINDS = ("regression", "binary", "classes")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_the_oracles(kind, seed):
    data = problem(kind, seed)
    fit = solve(kind, data, **TIGHT)
    assert fit.converged and fit.gap <= 1e-8 * fit.primal
    best = optimum(kind, data)
    assert objective(kind, data, fit.coef) == pytest.approx(best, rel=1e-6)
    assert fit.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_features_have_the_same_optimum(kind, seed):
    data = problem(kind, seed)
    data["x"][data["x"] < 0.1] = 0.0
    data["precision"] = np.ones_like(data["precision"]) if kind == "classes" else np.eye(data["x"].shape[1])
    best, dense = optimum(kind, data), data["x"]
    fit = solve(kind, {**data, "x": sp.csr_matrix(dense), "precision": None}, **TIGHT)
    assert fit.converged
    assert objective(kind, data, fit.coef) == pytest.approx(best, rel=1e-6)
    assert dual_objective(kind, data, fit.dual) == pytest.approx(best, rel=1e-6)
    with pytest.raises(ValueError, match="precision: got one with a sparse x, expected None"):
        solve(kind, {**data, "x": sp.csr_matrix(dense)})


@pytest.mark.parametrize("seed", range(4))
def test_one_slack_has_the_same_optimum(seed):
    data = problem("classes", seed)
    fit = solve_one_slack(
        data["x"], data["y"], len(data["precision"]), data["C"], COSTS["classes"],
        weight=data["weight"], precision=data["precision"], tol=1e-8,
    )  # fmt: skip
    assert fit.converged
    assert objective("classes", data, fit.coef) == pytest.approx(optimum("classes", data), rel=1e-6)
    assert dual_objective("classes", data, fit.dual) == pytest.approx(fit.primal, rel=1e-7)
    check_classes(data, fit)


def test_an_exchange_of_two_planes_ends_at_their_optimum():
    gram, offset = np.array([[2.0, 0.7], [0.7, 1.0]]), np.array([0.1, 0.4])
    weight, slack = np.array([1.0, 0.0]), np.zeros(2)
    kernels.weigh_planes(gram, offset, weight, slack, 1e-12, 1)
    before = offset - gram[:, 0]
    assert weight[1] == pytest.approx((before[1] - before[0]) / (2.0 + 1.0 - 2 * 0.7))
    assert weight.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(slack, offset - gram @ weight)
    assert slack[0] == pytest.approx(slack[1])  # neither of them would gain by another exchange


@pytest.mark.parametrize("tol", [0.3, 1e-3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_is_primal_minus_dual(kind, tol):
    """This holds at any dual, not only at the optimum, so the gap bounds the distance to the optimum."""
    data = problem(kind, 2)
    fit = solve(kind, data, tol=tol)
    assert fit.converged and 0 < fit.gap <= tol * fit.primal
    assert fit.primal == pytest.approx(objective(kind, data, fit.coef), rel=1e-12)
    assert fit.gap == pytest.approx(fit.primal - dual_objective(kind, data, fit.dual), rel=1e-7)


def check_box(dual, residual, epsilon, bound):
    """dual > 0 only where residual >= epsilon, dual = bound where residual > epsilon; symmetric for negative values."""
    slack, inside = 1e-4, 1e-4 * bound
    assert (np.abs(dual) <= bound).all()
    assert (residual[dual > inside] >= epsilon - slack).all()
    assert (residual[(dual < bound - inside) & (bound > 0)] <= epsilon + slack).all()
    assert (residual[dual < -inside] <= -epsilon + slack).all()
    assert (residual[(dual > -bound + inside) & (bound > 0)] >= -epsilon - slack).all()


def check_classes(data, fit):
    x, y, bound = data["x"], data["y"], data["C"] * data["weight"] * ~np.isnan(data["y"])
    own = np.nan_to_num(y).astype(int)
    rows = np.arange(len(x))
    assert (fit.dual >= 0).all() and (fit.dual[rows, own] == 0).all()
    assert (fit.dual.sum(axis=1) <= bound * (1 + 1e-12)).all()
    pull = naive.classes_pull(fit.dual, x, y, len(fit.coef))
    np.testing.assert_allclose(data["precision"] * fit.coef, pull, atol=1e-9 * data["C"])
    slope = x @ fit.coef.T + COSTS["classes"]
    slope[rows, own] -= COSTS["classes"]
    short = slope.max(axis=1, keepdims=True) - slope  # zero for the classes with the largest loss
    dual = fit.dual.copy()
    dual[rows, own] = bound - fit.dual.sum(axis=1)
    assert (short[dual > 1e-4 * bound[:, None]] <= 1e-3).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_conditions_of_an_optimum(kind, seed):
    data = problem(kind, seed)
    fit = solve(kind, data, tol=1e-10, max_epochs=20_000)
    assert fit.converged
    if kind == "classes":
        return check_classes(data, fit)
    x, y, bound = data["x"], data["y"], data["C"] * data["weight"] * ~np.isnan(data["y"])
    if kind == "binary":
        assert (fit.dual >= 0).all()
        sign = np.where(y == 1, 1.0, -1.0)
        pull = (sign * fit.dual) @ x
        margins = COSTS[kind] - sign * (x @ fit.coef)
        assert (fit.dual <= bound).all()
        assert (margins[fit.dual > 1e-4 * bound] >= -1e-4).all()
        assert (margins[(fit.dual < bound * (1 - 1e-4)) & (bound > 0)] <= 1e-4).all()
    else:
        pull = fit.dual @ x
        check_box(fit.dual, np.nan_to_num(y) - x @ fit.coef, COSTS[kind], bound)
    expected = data["precision"] @ (fit.coef - data["mean"])
    np.testing.assert_allclose(expected, pull, atol=1e-8 * (1 + np.abs(pull).max()))


def test_the_papers_posterior_mean():
    """Corollary 3: lambda = Sigma sum_d (mu_d - mu*_d + y_d / delta²) x_d, with Sigma⁻¹ = I + A'A / delta²."""
    rng = np.random.default_rng(0)
    x, variance = shares(rng, 60, 5), 0.3
    y = x @ rng.normal(size=5) + 0.5 * rng.normal(size=60)
    precision = np.eye(5) + x.T @ x / variance
    mean = np.linalg.solve(precision, x.T @ y / variance)
    fit = solve_regression(x, y, 2.0, 0.1, mean=mean, precision=precision, tol=1e-10)
    assert len(fit.support) > 0
    np.testing.assert_allclose(fit.coef, np.linalg.solve(precision, x.T @ (fit.dual + y / variance)), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 20])
def test_a_visit_solves_the_documents_part_exactly(n_classes):
    rng = np.random.default_rng(n_classes)
    for bound in (1e-3, 1.0, 1e3):
        value, weight, out = rng.normal(size=n_classes), rng.uniform(0.1, 10, size=n_classes), np.empty(n_classes)
        kernels._project(value, weight, bound, out)
        np.testing.assert_allclose(out, naive.simplex(value, weight, bound), rtol=1e-9, atol=1e-12 * bound)
        assert out.sum() == pytest.approx(bound, rel=1e-14)


def test_a_row_keeps_its_sum_where_digits_are_lost():
    """In a nearly empty document the differences between the values are below their rounding error."""
    value, out = np.array([1.0, 1.0 - 2e-16, 0.5, 1.0 - 1e-16]), np.empty(4)
    kernels._project(value, np.full(4, 3e15), 1.0, out)
    assert out.sum() == pytest.approx(1.0, rel=1e-14) and (out >= 0).all() and out[2] == 0


def test_a_leap_ends_where_the_bounds_are():
    """With a diagonal curvature each entry goes to its own optimum, or to the bound before it."""
    rng = np.random.default_rng(4)
    bend, gradient = rng.uniform(0.5, 2.0, size=(10, 1)), 2 * rng.normal(size=(10, 1))
    value, low, high = np.full((10, 1), 0.5), np.zeros((10, 1)), np.ones((10, 1))
    best = np.clip(value + gradient / bend, low, high)
    assert 3 < ((best == low) | (best == high)).sum() < 10
    np.testing.assert_allclose(climb(lambda way: bend * way, value, gradient, low, high), best, atol=1e-9)


def test_a_leap_from_the_optimum_stays_there():
    """What rounding leaves of a gradient that is the same everywhere is no way to go."""
    gram = np.array([[11278.837331, -14968.830416, -12035.759639],
                     [-14968.830416, 26230.276548, 21470.308481],
                     [-12035.759639, 21470.308481, 24846.886798]])  # fmt: skip
    value, gradient = np.array([[0.61885665, 0.31833048, 0.06281287]]), np.full((1, 3), 589.0520652965063)
    gradient[0, 0] = np.nextafter(gradient[0, 0], 0.0)
    found = climb(lambda way: way @ gram, value, gradient, np.zeros((1, 3)), np.ones((1, 3)), balanced=True)
    np.testing.assert_allclose(found, value, atol=1e-9)


def test_two_classes_are_the_binary_problem_at_twice_C():
    data = problem("binary", 1)
    x, y, weight = data["x"], data["y"], data["weight"]
    binary = solve_binary(x, y, 2.0, 1.5, weight=weight, tol=1e-11)
    classes = solve_classes(x, y, 2, 1.0, 1.5, weight=weight, tol=1e-11)
    np.testing.assert_allclose(classes.coef[1] - classes.coef[0], binary.coef, rtol=1e-4)
    other = classes.dual[np.arange(len(x)), 1 - np.nan_to_num(y).astype(int)]
    live = np.isfinite(y)
    np.testing.assert_allclose((2 * np.nan_to_num(y) - 1) * other @ x * 2, binary.coef, rtol=1e-4)
    assert classes.primal == pytest.approx(binary.primal / 2, rel=1e-9)
    assert (other[~live] == 0).all()


def test_a_diagonal_is_a_matrix_and_a_row_is_all_rows():
    data = problem("regression", 1)
    diagonal = np.arange(1.0, 1 + data["x"].shape[1])
    run = partial(solve_regression, data["x"], data["y"], 1.0, 0.1, mean=data["mean"], tol=1e-10)
    np.testing.assert_allclose(run(precision=diagonal).coef, run(precision=np.diag(diagonal)).coef, rtol=1e-5)
    data = problem("classes", 1)
    n_classes, diagonal = len(data["precision"]), np.arange(1.0, 1 + data["x"].shape[1])
    run = partial(solve_classes, data["x"], data["y"], n_classes, 1.0)
    full = np.tile(diagonal, (n_classes, 1))
    np.testing.assert_array_equal(run(precision=diagonal).coef, run(precision=full).coef)


def moving_classes(n_documents=1500, n_topics=20, n_classes=8, step=0.005):
    """Features and labels, and slightly changed features (half a per cent of every row is drawn again)."""
    rng = np.random.default_rng(3)
    x = shares(rng, n_documents, n_topics)
    y = (x @ rng.normal(size=(n_topics, n_classes)) + 0.1 * rng.normal(size=(n_documents, n_classes))).argmax(axis=1)
    return x, y, (1 - step) * x + step * shares(rng, n_documents, n_topics)


def test_warm_starts_save_two_thirds_of_the_work():
    x, y, later = moving_classes()
    number = x @ np.linspace(-2, 2, 20) + 0.1 * np.sin(np.arange(len(x)))
    for run in (
        partial(solve_regression, y=number, C=10.0, epsilon=0.05),
        partial(solve_binary, y=y == 0, C=10.0),
        partial(solve_classes, y=y, n_classes=8, C=10.0),
    ):
        first = run(x)
        cold, warm = run(later), run(later, warm=first.dual)
        assert warm.converged and cold.converged
        assert 3 * warm.epochs <= cold.epochs
        assert 3 * warm.visits <= cold.visits
        assert run(x, warm=first.dual).epochs == 0
    first = solve_one_slack(x, y, 8, 10.0)
    cold, warm = solve_one_slack(later, y, 8, 10.0), solve_one_slack(later, y, 8, 10.0, warm=first.planes)
    assert warm.converged and 3 * warm.epochs <= cold.epochs


@pytest.mark.parametrize("kind", KINDS)
def test_a_dual_of_another_C_is_made_feasible(kind):
    data = problem(kind, 2)
    before = solve(kind, data)
    data["C"] /= 100
    data["weight"][10] = 0.0
    after = solve(kind, data, warm=before.dual, **TIGHT)
    cold = solve(kind, data, **TIGHT)
    assert (after.dual[10] == 0).all()
    assert after.primal == pytest.approx(cold.primal, rel=1e-7)
    assert after.gap == pytest.approx(after.primal - dual_objective(kind, data, after.dual), abs=1e-7 * after.primal)


def test_work_is_linear_in_documents():
    """C per document decreases as 1/D, so that the difficulty of the problem does not change."""
    rng = np.random.default_rng(8)
    truth = rng.normal(size=(15, 6))
    x = shares(rng, 8000, 15)
    y = (x @ truth + 0.1 * rng.normal(size=(8000, 6))).argmax(axis=1)
    number = x @ truth[:, 0] + 0.1 * rng.normal(size=8000)
    for run in (
        lambda n: solve_classes(x[:n], y[:n], 6, 4000.0 / n),
        lambda n: solve_binary(x[:n], y[:n] == 0, 4000.0 / n),
        lambda n: solve_regression(x[:n], number[:n], 4000.0 / n, 0.05),
    ):
        few, many = run(1000), run(8000)
        assert many.visits / 8000 <= 1.5 * few.visits / 1000


def test_documents_at_rest_are_not_visited():
    x, y, _ = moving_classes()
    fit = solve_classes(x, y, 8, 10.0)
    assert fit.visits < 0.5 * fit.epochs * len(x)


def test_same_seed_same_bits():
    x, y, _ = moving_classes(300)
    a, b, c = (solve_classes(x, y, 8, 10.0, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.dual, b.dual)
    assert (a.dual != c.dual).any()


def test_single_precision_features():
    x, y, _ = moving_classes(300)
    a, b = (
        solve_classes(features, y, 8, 1.0) for features in (x.astype(np.float32), x.astype(np.float32).astype(float))
    )
    np.testing.assert_array_equal(a.coef, b.coef)
    assert a.coef.dtype == np.float64


def test_inputs_are_left_alone():
    x, y, _ = moving_classes(100)
    dual = np.ones((100, 8))
    solve_classes(x, y, 8, 1.0, warm=dual)
    assert (dual == 1).all()


def test_worst_classes_and_their_sums():
    """The parts of a cutting plane against the formula; ties go to the first class."""
    rng = np.random.default_rng(3)
    x, coef, bound = rng.random((40, 5)), rng.normal(size=(4, 5)), rng.random(40)
    label = rng.integers(0, 4, 40).astype(np.int32)
    coef[3] = coef[1]
    slope = x @ coef.T + 0.7 * (np.arange(4) != label[:, None])
    worst, sums = np.empty(40, np.int32), np.empty((4, 5))
    loss = kernels.worst_classes(x, x @ coef.T, label, 0.7, bound, worst, sums)
    np.testing.assert_array_equal(worst, slope.argmax(axis=1))
    assert loss == pytest.approx(bound @ (slope.max(axis=1) - slope[np.arange(40), label]))
    expected = np.array([(bound * (worst == c)) @ x for c in range(4)])
    np.testing.assert_allclose(sums, expected)
    kernels.sum_by_class(x, bound, worst, sums)
    np.testing.assert_allclose(sums, expected)
