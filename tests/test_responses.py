"""Every response against its own density: slopes, bounds, M-step, predictions. A new one needs a row in EXAMPLES."""

import copy

import numpy as np
import pytest
from scipy.optimize import minimize

from supertopic.responses.base import registry
from tests.naive_responses import EXAMPLES, VARIANCE, build, moments, over_normal, simulated


def ours():
    """The library's responses (another test file registers one of its own)."""
    return {
        n: r
        for n, r in registry().items()
        if r.__module__.startswith("supertopic.") and len(r(2).is_product) and r.kind != "margin"
    }


def test_every_response_and_link_is_tested():
    rows = set()
    for name, kind in ours().items():
        rows |= {name if link == "log" else f"{name} {link}" for link in getattr(kind, "links", ("log",))}
    assert rows == set(EXAMPLES)


@pytest.fixture(params=list(EXAMPLES))
def key(request):
    return request.param


@pytest.fixture
def example(key):
    return EXAMPLES[key]


@pytest.fixture
def response(key):
    return build(key)


@pytest.fixture
def y(example):
    return np.array(example.y)


@pytest.fixture
def dispersion(example):
    return np.array(example.dispersion)


def test_the_contract_of_shapes(response, example, y, dispersion):
    assert response.n_columns == example.score.shape[1] == len(response.is_product)
    assert response.n_dispersion == len(dispersion)
    assert response.start(response.describe(y, np.ones(4))).shape == dispersion.shape
    assert response.start_coef(response.describe(y, np.ones(4)), dispersion).shape == (response.n_columns,)
    assert response.kind == ("class" if example.n_classes else "number")
    again = copy.deepcopy(response)
    assert type(again) is type(response) and vars(again).keys() == vars(response).keys()


def keys(*how):
    return [key for key, example in EXAMPLES.items() if example.how in how]


@pytest.mark.parametrize("key", keys("exact", "bound"))
def test_slope_and_curvature_are_the_derivatives_of_the_bound(response, example, y, dispersion):
    """d/dE[s] = slope; d/dE[s²] = -curvature/2, d/dE[exp s] = -curvature: local parameters sit at their best, so
    moving them adds nothing.
    """
    score, moment, step = example.score, moments(response, example.score, example.variance), 1e-6
    slope, curvature = response.slope_and_curvature(y, score, moment, dispersion)
    for c in range(response.n_columns):
        along = step * (np.arange(response.n_columns) == c)

        def derivative(ds, dm, along=along):
            up, down = (response.log_density(y, score + i * ds, moment + i * dm, dispersion) for i in (1, -1))
            return (up - down) / (2 * along.sum())

        np.testing.assert_allclose(derivative(along, 0), slope[:, c], rtol=1e-6, atol=1e-8)
        per_moment = curvature[:, c] * (1.0 if response.is_product[c] else 0.5)
        np.testing.assert_allclose(derivative(0, along), -per_moment, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("key", keys("delta"))
def test_delta_method_touches_the_density(response, example, y, dispersion):
    """slope = l'(m) + curvature·m, curvature = -l''(m), by scipy's own l."""
    score = example.score
    slope, curvature = response.slope_and_curvature(y, score, moments(response, score, example.variance), dispersion)

    def density(step):
        return example.log_p(y, score + step, dispersion)[:, None]

    first = (density(1e-5) - density(-1e-5)) / 2e-5
    second = (density(1e-3) - 2 * density(0.0) + density(-1e-3)) / 1e-6
    np.testing.assert_allclose(curvature, -second, rtol=1e-4)
    np.testing.assert_allclose(slope - curvature * score, first, rtol=1e-6, atol=1e-8)


def test_with_a_known_score_the_bound_is_the_density(response, example, y, dispersion):
    exact = example.log_p(y, example.score, dispersion)
    found = response.log_density(y, example.score, moments(response, example.score, 0.0), dispersion)
    np.testing.assert_allclose(found, exact, rtol=1e-10)


def test_bound_is_below_the_expectation(response, example, y, dispersion):
    def gap(part):
        found = response.log_density(y, example.score, moments(response, example.score, part), dispersion)
        return over_normal(lambda s: example.log_p(y, s, dispersion), example.score, part) - found

    whole = gap(example.variance)
    if example.how == "exact":
        np.testing.assert_allclose(whole, 0, atol=1e-8)
    elif example.how == "bound":
        assert np.all(whole >= -1e-10)
        assert np.all(whole < 0.5 * example.variance.sum(axis=1) * (1 + y)), "the bound is of no use"
    else:  # the next term of the series is of the order of variance²
        np.testing.assert_allclose(gap(0.1 * example.variance), 0.01 * whole, rtol=0.5)


def test_missing_labels_change_nothing(response, example, y, dispersion):
    score, moment = example.score, moments(response, example.score, example.variance)
    gone = np.where([True, False, True, False], np.nan, y)
    slope, curvature = response.slope_and_curvature(gone, score, moment, dispersion)
    whole = response.slope_and_curvature(y, score, moment, dispersion)
    np.testing.assert_array_equal(slope[::2], 0)
    np.testing.assert_array_equal(curvature[::2], 0)
    np.testing.assert_array_equal((slope[1::2], curvature[1::2]), (whole[0][1::2], whole[1][1::2]))
    density = response.log_density(gone, score, moment, dispersion)
    np.testing.assert_array_equal(
        density, np.where(np.isnan(gone), 0, response.log_density(y, score, moment, dispersion))
    )
    weight = np.array([3.0, 1.0, 2.0, 0.5])
    np.testing.assert_array_equal(
        response.fit_dispersion(gone, score, moment, weight, dispersion, 1.0),
        response.fit_dispersion(y[1::2], score[1::2], moment[1::2], weight[1::2], dispersion, 1.0),
    )
    for ask in (response.start, lambda labels: response.start_coef(labels, dispersion)):
        np.testing.assert_allclose(ask(response.describe(gone, weight)), ask(response.describe(y[1::2], weight[1::2])))


def test_update_climbs_to_the_top(response, example, dispersion):
    y, score, moment, weight = simulated(response, example, dispersion)
    start = response.start(response.describe(y, weight))
    if not len(start):
        np.testing.assert_array_equal(response.fit_dispersion(y, score, moment, weight, start, 1.0), start)
        return

    def value(learned):
        parameters = start.copy()
        parameters[example.learned] = learned
        return float(weight @ response.log_density(y, score, moment, parameters))

    start[example.learned] = 1.5 * np.abs(start[example.learned])
    part, best = (response.fit_dispersion(y, score, moment, weight, start, rate) for rate in (0.3, 1.0))
    kept = np.ones(len(start), dtype=bool)
    kept[example.learned] = False
    np.testing.assert_array_equal(best[kept], start[kept])
    assert value(best[example.learned]) > value(part[example.learned]) > value(start[example.learned])
    moved = (part - start)[example.learned] / (best - start)[example.learned]
    assert np.all((moved > 0) & (moved < 0.5))
    for _ in range(5):  # for those that move only so far in one step
        best = response.fit_dispersion(y, score, moment, weight, best, 1.0)
    top = minimize(lambda p: -value(p), best[example.learned] * 1.03, method="Nelder-Mead", options={"xatol": 1e-8})
    np.testing.assert_allclose(best[example.learned], top.x, rtol=1e-4)
    nothing = np.full(len(y), np.nan)
    np.testing.assert_array_equal(response.fit_dispersion(nothing, score, moment, weight, best, 1.0), best)
    np.testing.assert_array_equal(response.fit_dispersion(y, score, moment, 0 * weight, best, 1.0), best)


def test_update_counts_a_document_as_often_as_its_weight_says(response, example, dispersion):
    y, score, moment, _ = simulated(response, example, dispersion)
    weight = np.arange(len(y)) % 3
    twice = [np.repeat(array, weight, axis=0) for array in (y, score, moment)]
    np.testing.assert_allclose(
        response.fit_dispersion(y, score, moment, weight.astype(float), dispersion, 1.0),
        response.fit_dispersion(*twice, np.ones(len(twice[0])), dispersion, 1.0),
        rtol=1e-4,
    )


# of a normal s most are exact; the others by an approximation of their own
ROUGHLY = {"logit": 0.03, "softmax": 0.03, "gamma canonical": 1e-3, "inverse_gaussian canonical": 1e-3}


def test_prediction_is_the_expectation_over_the_score(key, response, example, dispersion):
    score, moment = example.score, moments(response, example.score, example.variance)
    expected = over_normal(lambda s: example.mean(s, dispersion), score, example.variance)
    near = 0.003 if key == "softmax" else 0.0
    found = response.predict(score, moment, dispersion)
    np.testing.assert_allclose(found, expected, rtol=ROUGHLY.get(key, 1e-8), atol=near)
    known = response.predict(score, moments(response, score, 0.0), dispersion)
    np.testing.assert_allclose(known, example.mean(score, dispersion), rtol=1e-9)
    if example.n_classes:
        np.testing.assert_allclose(response.predict(score, moment, dispersion).sum(axis=1), 1)


def test_interval_holds_what_it_says(response, example, dispersion):
    score, moment = example.score, moments(response, example.score, 0.0)
    if example.n_classes:
        with pytest.raises(TypeError, match="has no intervals"):
            response.interval(score, moment, dispersion, 0.9)
        return
    law = example.law(score, dispersion)
    low, high = response.interval(score, moment, dispersion, 0.9)
    if hasattr(law.dist, "logpmf"):  # of a count, no more than the values at the ends allow
        assert np.all(law.cdf(high) - law.cdf(low - 1) >= 0.9)
        assert np.all(law.cdf(high - 1) < 0.95) and np.all(law.sf(low) < 0.95)
    else:
        np.testing.assert_allclose(law.cdf(low), 0.05, rtol=1e-6)
        np.testing.assert_allclose(law.cdf(high), 0.95, rtol=1e-6)


@pytest.mark.parametrize("key", [key for key, example in EXAMPLES.items() if not example.n_classes])
def test_interval_of_uncertain_scores(key, response, example, dispersion):
    """Draws of s, then of y: nine of ten lie inside, though what is not known of s is a good part of y's variance."""
    score = example.score + (3.0 if key == "poisson" else 0.0)
    variance = VARIANCE if key == "inverse_gaussian" else example.variance
    low, high = response.interval(score, moments(response, score, variance), dispersion, 0.9)
    rng = np.random.default_rng(8)
    s = score + rng.normal(size=(20_000, 4, 1)) * np.sqrt(variance)
    drawn = example.law(s, dispersion).rvs(random_state=rng)
    held = ((drawn >= low) & (drawn <= high)).mean(axis=0)
    assert np.all((held > 0.87) & (held < 0.97))


def test_impossible_labels_are_refused_in_a_sentence(response, key, example, y):
    response.check(np.append(y, np.nan))
    for wrong in example.refused:
        with pytest.raises(ValueError, match=rf"y holds {wrong:g}, but response='{key.split()[0]}' needs [^.\n]*$"):
            response.check(np.append(y, wrong))


EXTREME = {"number": [1e-200, 1e-3, 1.0, 1e3, 1e60], "count": [0.0, 1.0, 10.0, 1e6, 1e15]}


def test_extremes_are_finite(response, key, example, dispersion):
    """Scores of ±50, labels tiny and huge, moments up to 1e100: numbers, and none of numpy's warnings."""
    some = EXTREME["count" if "poisson" in key or "binomial" in key else "number"]
    scores = [1e-12, 1e-3, 1.0, 50.0] if "canonical" in key else [-50.0, -1.0, 0.0, 50.0]
    pairs = [(y, s) for y in (range(example.n_classes) if example.n_classes else some) for s in scores]
    y, s = np.array(pairs, dtype=float).T
    score = np.column_stack([s] + [-s] * (response.n_columns - 1))
    for variance in (0.0, 1e-3 * score**2, 0.1 * score**2):
        moment = moments(response, score, variance)
        told = (
            *response.slope_and_curvature(y, score, moment, dispersion),
            response.log_density(y, score, moment, dispersion),
        )
        for array in (*told, response.predict(score, moment, dispersion)):
            assert np.isfinite(array).all()
        for rate in (0.3, 1.0):
            assert np.isfinite(response.fit_dispersion(y, score, moment, np.ones(len(y)), dispersion, rate)).all()


def test_labels_all_alike_start_somewhere(response, example):
    """One class, one value, no weight at all: the first dispersion and coefficients are numbers still."""
    for weight in (np.ones(5), np.zeros(5)):
        for label in (0.0, 1.0) if example.n_classes or not example.refused or 0.0 not in example.refused else (3.0,):
            labels = response.describe(np.full(5, label), weight)
            dispersion = response.start(labels)
            assert np.isfinite(dispersion).all()
            assert np.isfinite(response.start_coef(labels, dispersion)).all()


def test_first_coefficients_fit_best_without_topics(response, example, dispersion):
    """No other common coefficient does better on documents whose shares are known, for those that give one."""
    y, _, _, weight = simulated(response, example, dispersion)
    labels = response.describe(y, weight)
    first = response.start(labels)
    start = response.start_coef(labels, first)
    if example.how == "bound" and response.name != "softmax":
        np.testing.assert_array_equal(start, 0)
        return

    def value(coef):
        score = np.broadcast_to(coef, (len(y), len(coef)))
        return weight @ response.log_density(y, score, moments(response, score, 0.0), first)

    for c in range(len(start)):
        for step in (-0.1, 0.1):
            assert value(start + step * (np.arange(len(start)) == c)) < value(start)
