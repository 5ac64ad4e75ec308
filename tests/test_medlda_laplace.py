"""Max-margin coefficients under a Laplace prior."""

import cvxpy as cp
import numpy as np
import pytest

from supertopic import MedLDAClassifier, MedLDARegressor
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.inference.design import Design
from supertopic.inference.variational.m_step_margin import fit_margin, without_smallest
from supertopic.responses.margin import EpsilonInsensitive, Hinge

RNG = np.random.default_rng(0)
SHARES = RNG.dirichlet(np.full(8, 0.4), size=150)
SCORES = SHARES[:, :4] @ np.array([[3.0, 0, 0], [0, 3.0, 0], [0, 0, 3.0], [1.0, 1.0, 0]]) + 0.1 * RNG.normal(
    size=(150, 3)
)
PRIOR = CoefPrior("laplace", 0.7)


def solve(response, y, turns=300):
    dispersion = response.start(response.describe(y, np.ones(150))) if response.n_dispersion else np.zeros(0)
    design = Design(SHARES, np.full(150, np.inf), np.zeros((150, 0)))
    start = np.zeros((response.n_columns, 8))
    found = fit_margin(
        response, PRIOR, design, y, np.ones(150), start, np.zeros((0, 8, 8)), dispersion, turns=turns, tol=1e-7
    )  # fmt: skip
    return without_smallest(PRIOR, found.solution.coef), dispersion


def oracle(loss, coef):
    problem = cp.Problem(cp.Minimize(cp.sum(cp.abs(coef)) / PRIOR.scale + loss))
    problem.solve(cp.CLARABEL)
    return problem.value


def test_classes_reach_the_oracles_objective_with_zeros():
    y = SCORES.argmax(axis=1).astype(float)
    response = Hinge(3, C=0.5, cost=2.0)
    coef, _ = solve(response, y)
    free, own = cp.Variable((3, 8)), np.eye(3)[y.astype(int)]
    score = SHARES @ free.T
    loss = cp.sum(cp.max(score + 2.0 * (1 - own), axis=1) - cp.sum(cp.multiply(own, score), axis=1))
    found = np.abs(coef).sum() / PRIOR.scale + 0.5 * response.loss(y, SHARES @ coef.T).sum()
    assert found == pytest.approx(oracle(0.5 * loss, free), rel=5e-3)
    assert 0.2 < np.mean(coef == 0) < 0.9


@pytest.mark.parametrize("slack", ["n", "1"])
def test_two_classes(slack):
    y = (SCORES[:, 0] > SCORES[:, 1]).astype(float)
    coef, _ = solve(Hinge(2, C=0.5, cost=2.0, slack=slack), y)
    free = cp.Variable(8)
    best = oracle(0.5 * cp.sum(cp.pos(2.0 - cp.multiply(2 * y - 1, SHARES @ free))), free)
    found = np.abs(coef).sum() / PRIOR.scale + 0.5 * np.maximum(2.0 - (2 * y - 1) * (SHARES @ coef[0]), 0).sum()
    assert found == pytest.approx(best, rel=5e-3)


def test_regression():
    y = SCORES[:, 0]
    response = EpsilonInsensitive(C=2.0, epsilon=0.1, likelihood=False)
    coef, dispersion = solve(response, y)
    free, u = cp.Variable(8), (y - dispersion[1]) / dispersion[2]
    best = oracle(2.0 * cp.sum(cp.pos(cp.abs(u - SHARES @ free) - 0.1)), free)
    found = np.abs(coef).sum() / PRIOR.scale + 2.0 * response.loss(y, SHARES @ coef.T, dispersion).sum()
    assert found == pytest.approx(best, rel=5e-3)


@pytest.mark.parametrize("inference", ["vb", "gibbs"])
def test_fits_have_zeros(inference):
    data = simulate(400, 4, n_words=80, mean_length=40, response="softmax", coef=8 * np.eye(3, 4), seed=2)
    common = {"C": 1.0, "cost": 4.0, "max_iter": 12, "inference": inference}
    sparse = MedLDAClassifier(12, coef_prior="laplace", coef_scale=0.3, **common).fit(data.counts, data.y)
    dense = MedLDAClassifier(12, **common).fit(data.counts, data.y)
    assert np.mean(sparse.coef_ == 0) > 0.3 > np.mean(dense.coef_ == 0)
    assert sparse.score(data.counts, data.y) > 0.8


def test_refusals():
    data = simulate(20, 2, n_words=10, response="gaussian")
    with pytest.raises(ValueError, match="coef_prior: got 'flat', expected 'normal' or 'laplace'"):
        MedLDAClassifier(2, coef_prior="flat").fit(data.counts, data.y > 0)
    with pytest.raises(ValueError, match="coef_prior: got 'laplace' with likelihood='slda'"):
        MedLDARegressor(2, coef_prior="laplace").fit(data.counts, data.y)
