"""Every response against its own density: slopes, bounds, M-step, predictions. A new one needs a row in EXAMPLES."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, log_ndtr, ndtr

import supertopic.responses  # noqa: F401  (registers them)
from supertopic.responses.base import registry


@dataclass
class Example:
    """Labels of four documents, a dispersion, and what the model says in plain scipy for known linear predictors s."""

    y: list[float]
    dispersion: list[float]
    log_p: Callable  # (y, s, dispersion) -> log p(y | s)
    mean: Callable  # (s, dispersion) -> E[y], or the probability of class 1
    n_classes: int = 0
    exact: bool = False  # the bound is E[log p] itself
    refused: tuple[float, ...] = ()


def _gaussian(s, dispersion):
    variance, center, scale = dispersion
    return stats.norm(center + scale * s, scale * np.sqrt(variance))


EXAMPLES = {
    "gaussian": Example(
        [-1.0, 0.3, 4.0, 2.0], [0.7, 1.5, 2.0], lambda y, s, d: _gaussian(s, d).logpdf(y),
        lambda s, d: _gaussian(s, d).mean(), exact=True,
    ),
    "negative_binomial": Example(
        [0.0, 1.0, 7.0, 3.0], [2.5], lambda y, s, d: stats.nbinom.logpmf(y, d[0], expit(-s)),
        lambda s, d: d[0] * np.exp(s), refused=(-1.0, 1.5),
    ),
    "logit": Example(
        [0.0, 1.0, 1.0, 0.0], [], lambda y, s, d: stats.bernoulli.logpmf(y, expit(s)), lambda s, d: expit(s), 2
    ),
    "probit": Example(
        [0.0, 1.0, 1.0, 0.0], [], lambda y, s, d: log_ndtr((2 * y - 1) * s), lambda s, d: ndtr(s), 2
    ),
}  # fmt: skip
SCORE = np.array([[-1.2], [0.4], [1.5], [0.05]])
VARIANCE = np.array([[0.3], [0.02], [0.8], [0.4]])
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()


def ours():
    """The library's responses (another test file registers one of its own)."""
    return {
        n: r
        for n, r in registry().items()
        if r.__module__.startswith("supertopic.") and len(r().is_product) and r.kind != "margin"
    }


def test_every_response_is_tested():
    assert set(ours()) == set(EXAMPLES)


@pytest.fixture(params=list(EXAMPLES))
def name(request):
    return request.param


@pytest.fixture
def example(name):
    return EXAMPLES[name]


@pytest.fixture
def response(name, example):
    return registry()[name](example.n_classes)


@pytest.fixture
def y(example):
    return np.array(example.y)


@pytest.fixture
def dispersion(example):
    return np.array(example.dispersion)


def over_normal(function):
    """E[function(s)] for normal s with mean SCORE and variance VARIANCE, by quadrature: (4,)."""
    values = [function(SCORE[:, 0] + node * np.sqrt(VARIANCE[:, 0])) for node in NODES]
    return NODE_WEIGHTS @ np.array(values)


def test_speak_is_the_derivative_of_the_bound(response, y, dispersion):
    """d/dE[s] = slope and d/dE[s²] = -curvature/2: local parameters sit at their best, so moving them adds nothing."""
    moment = SCORE**2 + VARIANCE
    slope, curvature = response.speak(y, SCORE, moment, dispersion)
    step = 1e-6

    def bound(ds, dm):
        return response.log_density(y, SCORE + ds, moment + dm, dispersion)

    np.testing.assert_allclose((bound(step, 0) - bound(-step, 0)) / (2 * step), slope[:, 0], rtol=1e-6, atol=1e-8)
    per_moment = np.where(response.is_product, 1.0, 0.5) * curvature
    np.testing.assert_allclose((bound(0, step) - bound(0, -step)) / (2 * step), -per_moment[:, 0], rtol=1e-6, atol=1e-8)


def test_with_a_known_score_the_bound_is_the_density(response, example, y, dispersion):
    exact = example.log_p(y, SCORE[:, 0], dispersion)
    np.testing.assert_allclose(response.log_density(y, SCORE, SCORE**2, dispersion), exact, rtol=1e-10)


def test_bound_is_below_the_expectation(response, example, y, dispersion):
    found = response.log_density(y, SCORE, SCORE**2 + VARIANCE, dispersion)
    expected = over_normal(lambda s: example.log_p(y, s, dispersion))
    assert np.all(found <= expected + 1e-10)
    if example.exact:
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    else:
        assert np.all(found > expected - 0.5 * VARIANCE[:, 0] * (1 + y)), "the bound is of no use"


def test_missing_labels_say_nothing(response, y, dispersion):
    moment = SCORE**2 + VARIANCE
    gone = np.where([True, False, True, False], np.nan, y)
    slope, curvature = response.speak(gone, SCORE, moment, dispersion)
    whole = response.speak(y, SCORE, moment, dispersion)
    np.testing.assert_array_equal(slope[::2], 0)
    np.testing.assert_array_equal(curvature[::2], 0)
    np.testing.assert_array_equal((slope[1::2], curvature[1::2]), (whole[0][1::2], whole[1][1::2]))
    density = response.log_density(gone, SCORE, moment, dispersion)
    np.testing.assert_array_equal(
        density, np.where(np.isnan(gone), 0, response.log_density(y, SCORE, moment, dispersion))
    )
    weight = np.array([3.0, 1.0, 2.0, 0.5])
    np.testing.assert_array_equal(
        response.update(gone, SCORE, moment, weight, dispersion, 1.0),
        response.update(y[1::2], SCORE[1::2], moment[1::2], weight[1::2], dispersion, 1.0),
    )


def simulated(example, dispersion):
    rng = np.random.default_rng(3)
    score, variance = rng.normal(size=(500, 1)), rng.gamma(2.0, 0.05, size=(500, 1))
    noise = rng.random(500)
    if example.n_classes:
        y = (noise < example.mean(score[:, 0], dispersion)).astype(float)
    elif len(dispersion) == 1:
        y = stats.nbinom.ppf(noise, dispersion[0], expit(-score[:, 0]))
    else:
        y = _gaussian(score[:, 0], dispersion).ppf(noise)
    return y, score, score**2 + variance, rng.choice([0.0, 0.5, 2.0], size=500)


def test_update_climbs_to_the_top(response, example, dispersion):
    y, score, moment, weight = simulated(example, dispersion)

    def value(parameters):
        return float(weight @ response.log_density(y, score, moment, parameters))

    start = response.start(y, weight)
    assert start.shape == dispersion.shape
    if not len(start):
        return
    start[0] *= 1.5
    part, best = (response.update(y, score, moment, weight, start, rate) for rate in (0.3, 1.0))
    assert value(best) > value(part) > value(start)
    assert 0 < (part[0] - start[0]) / (best[0] - start[0]) < 0.5
    for _ in range(5):  # for those that move only so far in one step
        best = response.update(y, score, moment, weight, best, 1.0)
    for factor in (0.99, 1.01):
        moved = best.copy()
        moved[0] *= factor
        assert value(moved) < value(best)
    np.testing.assert_allclose(response.update(y, score, moment, weight, best, 1.0), best, rtol=1e-4)
    nothing = np.full(len(y), np.nan)
    np.testing.assert_array_equal(response.update(nothing, score, moment, weight, best, 1.0), best)


def test_update_counts_a_document_as_often_as_its_weight_says(response, example, dispersion):
    y, score, moment, _ = simulated(example, dispersion)
    weight = np.arange(len(y)) % 3
    twice = [np.repeat(array, weight, axis=0) for array in (y, score, moment)]
    np.testing.assert_allclose(
        response.update(y, score, moment, weight.astype(float), dispersion, 1.0),
        response.update(*twice, np.ones(len(twice[0])), dispersion, 1.0),
        rtol=1e-4,
    )


def test_prediction_is_the_expectation_over_the_score(response, example, dispersion):
    found = response.predict(SCORE, SCORE**2 + VARIANCE, dispersion)
    if example.n_classes:
        np.testing.assert_allclose(found.sum(axis=1), 1)
        found = found[:, 1]
    np.testing.assert_allclose(found, over_normal(lambda s: example.mean(s, dispersion)), rtol=0.03)
    known = response.predict(SCORE, SCORE**2, dispersion)
    np.testing.assert_allclose(known[:, 1] if example.n_classes else known, example.mean(SCORE[:, 0], dispersion))


def test_interval_holds_what_it_says(response, example, dispersion):
    if example.n_classes:
        with pytest.raises(TypeError, match="has no intervals"):
            response.interval(SCORE, SCORE**2, dispersion, 0.9)
        return
    low, high = response.interval(SCORE, SCORE**2, dispersion, 0.9)
    grid = np.linspace(-30, 60, 90_001)[:, None]
    inside = (grid >= low) & (grid <= high)
    density = np.exp(example.log_p(grid, SCORE[:, 0], dispersion))
    held = (density * inside).sum(axis=0) * (1e-3 if example.exact else 1.0)
    assert np.all(held >= 0.9 - 1e-3)  # and of a count, no more than the values at the ends allow
    assert np.all(held < (0.9 + 1e-3 if example.exact else 1.0))


def test_impossible_labels_are_refused_in_a_sentence(response, name, example, y):
    response.check(np.append(y, np.nan))
    for wrong in example.refused:
        with pytest.raises(ValueError, match=rf"y holds {wrong:g}, but response='{name}' needs [^.\n]*$"):
            response.check(np.append(y, wrong))
