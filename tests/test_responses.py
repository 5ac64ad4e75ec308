"""Every response against its own density: slopes, bounds, M-step, predictions. A new one needs a row in EXAMPLES."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, gammaln, log_ndtr, ndtr, softmax

import supertopic.responses  # noqa: F401  (registers them)
from supertopic.responses.base import registry
from supertopic.responses.positive import CanonicalGamma
from supertopic.responses.several import Several

SCORE = np.array([[-1.2], [0.4], [1.5], [0.05]])
VARIANCE = np.array([[0.3], [0.02], [0.8], [0.4]])


@dataclass
class Example:
    """Labels of four documents, a dispersion, and what the model says in plain scipy for known columns s (…, D, C)."""

    y: list[float]
    dispersion: list[float]
    law: Callable  # (s, dispersion) -> a frozen distribution of y, or the probabilities (…, D, n_classes) of classes
    n_classes: int = 0
    how: str = "bound"  # "exact": log_density is E[log p] itself; "bound": below it; "delta": to second order
    learned: slice = field(default_factory=lambda: slice(0, 1))  # which numbers of the dispersion `update` moves
    refused: tuple[float, ...] = ()
    score: np.ndarray = field(default_factory=SCORE.copy)
    variance: np.ndarray = field(default_factory=VARIANCE.copy)
    draw_score: Callable = lambda rng, size: rng.normal(size=size)

    def log_p(self, y, s, dispersion):
        law = self.law(s, np.array(dispersion))
        if self.n_classes:
            return np.log(np.take_along_axis(law, np.broadcast_to(y, law.shape[:-1])[..., None].astype(int), -1))[
                ..., 0
            ]
        return law.logpmf(y) if hasattr(law.dist, "logpmf") else law.logpdf(y)

    def mean(self, s, dispersion):
        law = self.law(s, np.array(dispersion))
        return law if self.n_classes else law.mean()


def _gaussian(s, d):
    return stats.norm(d[1] + d[2] * s[..., 0], d[2] * np.sqrt(d[0]))


def _binary(link, s):
    return np.stack([link(-s[..., 0]), link(s[..., 0])], axis=-1)


def _ordinal(s, cuts):
    """Differences of Phi on the side where they are small, so that they stay exact."""
    ends = np.broadcast_to(np.inf, s.shape)
    edges = np.concatenate([-ends, cuts - s, ends], axis=-1)
    low, high = edges[..., :-1], edges[..., 1:]
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _gamma(mean, d):
    return stats.gamma(d[0], scale=d[1] * mean / d[0])


def _inverse_gaussian(mean, d):
    return stats.invgauss(mean / d[0], scale=d[0] * d[1])


# with a canonical link s is above zero, and the delta method wants it known to some ten percent
POSITIVE = {
    "score": np.array([[0.5], [1.0], [2.5], [1.5]]),
    "variance": np.array([[0.002], [0.01], [0.03], [0.02]]),
    "draw_score": lambda rng, size: 0.5 + rng.gamma(2.0, 0.5, size=size),
    "refused": (0.0, -2.0),
    "how": "delta",
}
SOFTMAX = {
    "score": np.array([[-1.2, 0.3, 0.9], [0.4, 0.1, -0.5], [1.5, -1.0, 0.0], [0.05, 0.2, 2.0]]),
    "variance": np.array([[0.3, 0.1, 0.05], [0.02, 0.4, 0.1], [0.3, 0.02, 0.2], [0.4, 0.1, 0.1]]),
}
EXAMPLES = {
    "gaussian": Example([-1.0, 0.3, 4.0, 2.0], [0.7, 1.5, 2.0], _gaussian, how="exact"),
    "poisson": Example(
        [0.0, 1.0, 7.0, 3.0], [], lambda s, d: stats.poisson(np.exp(s[..., 0])), how="exact", refused=(-1.0, 1.5)
    ),
    "negative_binomial": Example(
        [0.0, 1.0, 7.0, 3.0], [2.5], lambda s, d: stats.nbinom(d[0], expit(-s[..., 0])), refused=(-1.0, 1.5)
    ),
    "logit": Example([0.0, 1.0, 1.0, 0.0], [], lambda s, d: _binary(expit, s), 2),
    "probit": Example([0.0, 1.0, 1.0, 0.0], [], lambda s, d: _binary(ndtr, s), 2),
    "softmax": Example([0.0, 2.0, 1.0, 2.0], [], lambda s, d: softmax(s, axis=-1), 3, **SOFTMAX),
    "ordinal": Example([0.0, 2.0, 3.0, 1.0], [-0.7, 0.2, 1.1], _ordinal, 4, learned=slice(1, 3)),
    "gamma": Example(
        [0.4, 6.0, 1.2, 2.5], [1.7, 2.0], lambda s, d: _gamma(np.exp(-s[..., 0]), d), how="exact", refused=(0.0, -2.0)
    ),
    "gamma canonical": Example([0.4, 6.0, 1.2, 2.5], [1.7, 2.0], lambda s, d: _gamma(1 / s[..., 0], d), **POSITIVE),
    # all above their means, where the density is concave in s; below it has a test of its own
    "inverse_gaussian": Example(
        [0.8, 6.0, 12.0, 2.5], [1.7, 2.0], lambda s, d: _inverse_gaussian(np.exp(s[..., 0]), d), how="delta",
        refused=(0.0, -2.0), variance=0.1 * VARIANCE,
    ),
    "inverse_gaussian canonical": Example(
        [0.4, 6.0, 1.2, 2.5], [1.7, 2.0], lambda s, d: _inverse_gaussian(s[..., 0] ** -0.5, d), **POSITIVE
    ),
    "weibull": Example(
        [0.4, 6.0, 1.2, 2.5], [1.7, 2.0], lambda s, d: stats.weibull_min(d[0], scale=d[1] * np.exp(-s[..., 0] / d[0])),
        how="exact", refused=(0.0, -2.0),
    ),
}  # fmt: skip


def ours():
    """The library's responses (another test file registers one of its own)."""
    return {n: r for n, r in registry().items() if r.__module__.startswith("supertopic.") and len(r(2).is_product)}


def build(key):
    """The response of a row: its name and, after a blank, its link."""
    name, _, link = key.partition(" ")
    return registry()[name](EXAMPLES[key].n_classes, *([link] if link else []))


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


def moments(response, score, variance):
    """E[s²] or E[exp s] of normal columns s."""
    return np.where(response.is_product, np.exp(score + 0.5 * variance), score**2 + variance)


def over_normal(function, score, variance):
    """E[function(s)] for independent normal columns of s (D, C), by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(24 if score.shape[1] == 1 else 16)
    grid = np.stack(np.meshgrid(*[nodes] * score.shape[1], indexing="ij"), axis=-1).reshape(-1, 1, score.shape[1])
    weight = np.prod(np.meshgrid(*[weights / weights.sum()] * score.shape[1], indexing="ij"), axis=0).ravel()
    return np.tensordot(weight, function(score + grid * np.sqrt(variance)), axes=1)


def test_the_contract_of_shapes(response, example, y, dispersion):
    assert response.n_columns == example.score.shape[1] == len(response.is_product)
    assert response.n_dispersion == len(dispersion)
    assert response.start(y, np.ones(4)).shape == dispersion.shape
    assert response.start_coef(y, np.ones(4), dispersion).shape == (response.n_columns,)
    assert response.kind == ("class" if example.n_classes else "number")
    again = copy.deepcopy(response)
    assert type(again) is type(response) and vars(again).keys() == vars(response).keys()


def keys(*how):
    return [key for key, example in EXAMPLES.items() if example.how in how]


@pytest.mark.parametrize("key", keys("exact", "bound"))
def test_speak_is_the_derivative_of_the_bound(response, example, y, dispersion):
    """d/dE[s] = slope; d/dE[s²] = -curvature/2, d/dE[exp s] = -curvature: local parameters sit at their best, so
    moving them adds nothing.
    """
    score, moment, step = example.score, moments(response, example.score, example.variance), 1e-6
    slope, curvature = response.speak(y, score, moment, dispersion)
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
    slope, curvature = response.speak(y, score, moments(response, score, example.variance), dispersion)

    def density(step):
        return example.log_p(y, score + step, dispersion)[:, None]

    first = (density(1e-5) - density(-1e-5)) / 2e-5
    second = (density(1e-3) - 2 * density(0.0) + density(-1e-3)) / 1e-6
    np.testing.assert_allclose(curvature, -second, rtol=1e-4)
    np.testing.assert_allclose(slope - curvature * score, first, rtol=1e-6, atol=1e-8)


def test_inverse_gaussian_stays_concave_below_the_mean():
    """-l''(s) = shape (2 u exp(-2s) - exp(-s)) is negative for small u; its expectation over u never is."""
    response, y, score = build("inverse_gaussian"), np.array([0.02, 0.3]), np.array([[0.4], [-0.5]])
    slope, curvature = response.speak(y, score, score**2, np.array([1.7, 2.0]))
    np.testing.assert_allclose(curvature, 1.7 * np.exp(-score))
    expected = 1.7 * (y[:, None] / 2.0 * np.exp(-2 * score) - np.exp(-score))
    np.testing.assert_allclose(slope - curvature * score, expected)


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


def test_missing_labels_say_nothing(response, example, y, dispersion):
    score, moment = example.score, moments(response, example.score, example.variance)
    gone = np.where([True, False, True, False], np.nan, y)
    slope, curvature = response.speak(gone, score, moment, dispersion)
    whole = response.speak(y, score, moment, dispersion)
    np.testing.assert_array_equal(slope[::2], 0)
    np.testing.assert_array_equal(curvature[::2], 0)
    np.testing.assert_array_equal((slope[1::2], curvature[1::2]), (whole[0][1::2], whole[1][1::2]))
    density = response.log_density(gone, score, moment, dispersion)
    np.testing.assert_array_equal(
        density, np.where(np.isnan(gone), 0, response.log_density(y, score, moment, dispersion))
    )
    weight = np.array([3.0, 1.0, 2.0, 0.5])
    np.testing.assert_array_equal(
        response.update(gone, score, moment, weight, dispersion, 1.0),
        response.update(y[1::2], score[1::2], moment[1::2], weight[1::2], dispersion, 1.0),
    )
    for ask in (response.start, lambda y, w: response.start_coef(y, w, dispersion)):
        np.testing.assert_allclose(ask(gone, weight), ask(y[1::2], weight[1::2]))


def simulated(response, example, dispersion, variance=0.05):
    """(y, score, moment, weight) of 500 documents."""
    rng = np.random.default_rng(3)
    score = example.draw_score(rng, (500, response.n_columns))
    variance = rng.gamma(2.0, 0.5 * variance, size=score.shape) * score**2
    law, noise = example.law(score, dispersion), rng.random(500)
    y = (noise[:, None] > np.cumsum(law, axis=1)).sum(axis=1).astype(float) if example.n_classes else law.ppf(noise)
    return y, score, moments(response, score, variance), rng.choice([0.0, 0.5, 2.0], size=500)


def test_update_climbs_to_the_top(response, example, dispersion):
    y, score, moment, weight = simulated(response, example, dispersion)
    start = response.start(y, weight)
    if not len(start):
        np.testing.assert_array_equal(response.update(y, score, moment, weight, start, 1.0), start)
        return

    def value(learned):
        parameters = start.copy()
        parameters[example.learned] = learned
        return float(weight @ response.log_density(y, score, moment, parameters))

    start[example.learned] = 1.5 * np.abs(start[example.learned])
    part, best = (response.update(y, score, moment, weight, start, rate) for rate in (0.3, 1.0))
    kept = np.ones(len(start), dtype=bool)
    kept[example.learned] = False
    np.testing.assert_array_equal(best[kept], start[kept])
    assert value(best[example.learned]) > value(part[example.learned]) > value(start[example.learned])
    moved = (part - start)[example.learned] / (best - start)[example.learned]
    assert np.all((moved > 0) & (moved < 0.5))
    for _ in range(5):  # for those that move only so far in one step
        best = response.update(y, score, moment, weight, best, 1.0)
    top = minimize(lambda p: -value(p), best[example.learned] * 1.03, method="Nelder-Mead", options={"xatol": 1e-8})
    np.testing.assert_allclose(best[example.learned], top.x, rtol=1e-4)
    nothing = np.full(len(y), np.nan)
    np.testing.assert_array_equal(response.update(nothing, score, moment, weight, best, 1.0), best)
    np.testing.assert_array_equal(response.update(y, score, moment, 0 * weight, best, 1.0), best)


def test_update_counts_a_document_as_often_as_its_weight_says(response, example, dispersion):
    y, score, moment, _ = simulated(response, example, dispersion)
    weight = np.arange(len(y)) % 3
    twice = [np.repeat(array, weight, axis=0) for array in (y, score, moment)]
    np.testing.assert_allclose(
        response.update(y, score, moment, weight.astype(float), dispersion, 1.0),
        response.update(*twice, np.ones(len(twice[0])), dispersion, 1.0),
        rtol=1e-4,
    )


def test_prediction_is_the_expectation_over_the_score(response, example, dispersion):
    score, moment = example.score, moments(response, example.score, example.variance)
    expected = over_normal(lambda s: example.mean(s, dispersion), score, example.variance)
    np.testing.assert_allclose(response.predict(score, moment, dispersion), expected, rtol=0.03, atol=0.003)
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
    score, variance = example.score + (3.0 if key == "poisson" else 0.0), example.variance
    low, high = response.interval(score, moments(response, score, variance), dispersion, 0.9)
    rng = np.random.default_rng(8)
    s = score + rng.normal(size=(20_000, 4, 1)) * np.sqrt(variance)
    drawn = example.law(s, dispersion).ppf(rng.random((20_000, 4)))
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
        told = (*response.speak(y, score, moment, dispersion), response.log_density(y, score, moment, dispersion))
        for array in (*told, response.predict(score, moment, dispersion)):
            assert np.isfinite(array).all()
        for rate in (0.3, 1.0):
            assert np.isfinite(response.update(y, score, moment, np.ones(len(y)), dispersion, rate)).all()


def test_labels_all_alike_start_somewhere(response, example):
    """One class, one value, no weight at all: the first dispersion and coefficients are numbers still."""
    for weight in (np.ones(5), np.zeros(5)):
        for label in (0.0, 1.0) if example.n_classes or not example.refused or 0.0 not in example.refused else (3.0,):
            dispersion = response.start(np.full(5, label), weight)
            assert np.isfinite(dispersion).all()
            assert np.isfinite(response.start_coef(np.full(5, label), weight, dispersion)).all()


def test_first_coefficients_fit_best_without_topics(response, example, dispersion):
    """No other common coefficient does better on documents whose shares are known, for those that give one."""
    y, _, _, weight = simulated(response, example, dispersion)
    first = response.start(y, weight)
    start = response.start_coef(y, weight, first)
    if example.how == "bound" and response.name != "softmax":
        np.testing.assert_array_equal(start, 0)
        return

    def value(coef):
        score = np.broadcast_to(coef, (len(y), len(coef)))
        return weight @ response.log_density(y, score, moments(response, score, 0.0), first)

    for c in range(len(start)):
        for step in (-0.1, 0.1):
            assert value(start + step * (np.arange(len(start)) == c)) < value(start)


# --- what only some of them have ---


def test_two_ordered_classes_are_probit():
    score, y, none = EXAMPLES["probit"].score, np.array(EXAMPLES["probit"].y), np.zeros(0)
    probit, ordinal, moment = build("probit"), registry()["ordinal"](2), score**2 + VARIANCE
    for a, b in zip(probit.speak(y, score, moment, none), ordinal.speak(y, score, moment, np.zeros(1)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    ask = (score, moment)
    np.testing.assert_allclose(probit.log_density(y, *ask, none), ordinal.log_density(y, *ask, np.zeros(1)))
    np.testing.assert_allclose(probit.predict(*ask, none), ordinal.predict(*ask, np.zeros(1)))


def test_two_classes_of_a_softmax_are_a_logit():
    two, none = registry()["softmax"](2), np.zeros(0)
    score, variance = np.array([[0.3, -0.4], [-1.0, 2.0]]), np.array([[0.3, 0.1], [0.6, 0.9]])
    apart, spread = score[:, 1:] - score[:, :1], variance.sum(axis=1, keepdims=True)
    found = two.predict(score, moments(two, score, variance), none)
    np.testing.assert_allclose(found, build("logit").predict(apart, apart**2 + spread, none), rtol=1e-10)


def test_softmax_of_any_common_shift_is_the_same():
    response, none = registry()["softmax"](3), np.zeros(0)
    score = np.array([[0.3, -0.4, 1.0]])
    expected = softmax(score, axis=1)
    for shift in (-800.0, -300.0, 250.0):
        moment = np.exp(np.minimum(score + shift, 300.0))
        np.testing.assert_allclose(response.predict(score + shift, moment, none), expected, rtol=1e-9)


def test_softmax_of_huge_moments():
    """E[exp s] of 1e250 in one column, nothing to speak of in another."""
    response, y, none = registry()["softmax"](3), np.array([0.0, 1.0, 2.0]), np.zeros(0)
    score = np.tile([[570.0, 0.0, -570.0]], (3, 1))
    moment = np.tile([[1e250, 1.0, 1e-250]], (3, 1))
    slope, curvature = response.speak(y, score, moment, none)
    np.testing.assert_array_equal(slope, np.eye(3))
    np.testing.assert_allclose(curvature, 1e-250)
    np.testing.assert_allclose(response.log_density(y, score, moment, none), score[0] - 250 * np.log(10))
    np.testing.assert_allclose(response.predict(score, moment, none), [[1, 0, 0]] * 3, atol=1e-100)


def test_ordinal_far_in_the_tails():
    """log(Phi(b) - Phi(a)) and the mean between a and b, where both are 0 or 1 to double precision."""
    response, cuts = registry()["ordinal"](4), np.array([-0.7, 0.2, 1.1])
    y, score = np.array([0.0, 1.0, 1.0, 2.0, 3.0]), np.array([[45.0], [45.0], [-45.0], [30.0], [-45.0]])
    slope, _ = response.speak(y, score, score**2, cuts)
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    for d in range(len(y)):
        low, high = edges[int(y[d])], edges[int(y[d]) + 1]
        near = high if score[d, 0] > 0 else low  # Mills: the nearest end, and 1/distance beyond
        assert low <= slope[d, 0] <= high
        assert abs(slope[d, 0] - near) == pytest.approx(1 / abs(near - score[d, 0]), rel=0.01)
    found = response.log_density(y, score, score**2, cuts)
    np.testing.assert_allclose(found[0], log_ndtr(-0.7 - 45.0), rtol=1e-12)
    np.testing.assert_allclose(found[4], log_ndtr(-45.0 - 1.1), rtol=1e-12)
    np.testing.assert_allclose(found[1], log_ndtr(0.2 - 45) + np.log1p(-np.exp(log_ndtr(-45.7) - log_ndtr(-44.8))))
    np.testing.assert_allclose(found[2], log_ndtr(-44.3) + np.log1p(-np.exp(log_ndtr(-45.2) - log_ndtr(-44.3))))


def test_ordinal_bets_on_the_median():
    shares = np.array([[0.3, 0.3, 0.4], [0.5, 0.1, 0.4], [0.2, 0.2, 0.6]])
    np.testing.assert_array_equal(registry()["ordinal"](3).decide(shares), [1, 0, 2])
    np.testing.assert_array_equal(registry()["softmax"](3).decide(shares), [2, 0, 2])


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
@pytest.mark.parametrize(
    "name", ["gamma", "gamma canonical", "inverse_gaussian", "inverse_gaussian canonical", "weibull"]
)
def test_the_unit_of_y_changes_the_unit_alone(name, scale):
    """y in another unit: the same coefficients inside; outside, those of the law of y as scipy writes it."""
    response, example = build(name), EXAMPLES[name]
    coef, deviation, dispersion = np.array([0.7]), np.array([0.1]), np.array([1.7, 2.0 * scale])
    outside, error = response.unscale(coef, deviation, dispersion)
    mean = {
        "gamma": lambda c: np.exp(c), "gamma canonical": lambda c: 1 / c, "inverse_gaussian": lambda c: np.exp(c),
        "inverse_gaussian canonical": lambda c: c**-0.5, "weibull": lambda c: np.exp(c + gammaln(1 + 1 / 1.7)),
    }[name]  # fmt: skip
    np.testing.assert_allclose(mean(outside), example.mean(coef[:, None], dispersion))
    step = 1e-6
    per_unit = (response.unscale(coef + step, deviation, dispersion)[0] - outside) / step
    np.testing.assert_allclose(error, np.abs(per_unit) * deviation, rtol=1e-5)
    law = example.law(coef[:, None], dispersion)
    known = {"gamma": law.var() / law.mean() ** 2, "inverse_gaussian": law.var() / law.mean() ** 3, "weibull": 1.7}
    np.testing.assert_allclose(response.spread(dispersion), known[name.split()[0]])
    y = scale * np.array(example.y)
    np.testing.assert_allclose(response.start(y, np.ones(4)), [1.0, y.mean()])


def test_links_are_checked_and_chosen():
    gamma = registry()["gamma"]
    assert type(gamma()) is gamma and gamma(link="auto").link == gamma(link="log").link == "log"
    assert type(gamma(link="canonical")) is CanonicalGamma and gamma(link="canonical").link == "canonical"
    assert CanonicalGamma().link == "canonical"
    for name, wrong in (("gamma", "probit"), ("weibull", "canonical")):
        with pytest.raises(
            ValueError, match=rf"link: got '{wrong}', expected one of 'auto', 'log'.* for response='{name}'"
        ):
            registry()[name](link=wrong)


def test_a_step_keeps_a_canonical_link_above_zero_and_exp_within_reach():
    coef, found = np.array([[1.0, 2.0]]), np.array([[-3.0, 40.0]])
    for name in ("gamma canonical", "inverse_gaussian canonical"):
        np.testing.assert_array_equal(build(name).step(coef, found, np.array([9.0])), [[0.25, 8.0]])
    for name in ("poisson", "gamma", "weibull", "inverse_gaussian"):
        response = build(name)
        np.testing.assert_allclose(response.step(coef, found, np.array([4.0])), coef + (found - coef) / 4)
        np.testing.assert_array_equal(response.step(coef, found, np.array([0.5])), found)
    np.testing.assert_array_equal(build("logit").step(coef, found, np.array([4.0])), found)


def test_several_are_each_alone_side_by_side():
    keys = ["softmax", "gaussian", "weibull", "ordinal", "poisson"]
    parts, examples = [build(key) for key in keys], [EXAMPLES[key] for key in keys]
    together, weight = Several(parts), np.array([1.0, 0.5, 2.0, 1.0])
    y = np.column_stack([np.array(example.y) for example in examples])
    y[0, 1] = y[2, 2] = y[3, :] = np.nan
    y[3, 4] = 1.0
    score = np.hstack([example.score for example in examples])
    moment = np.hstack([moments(part, e.score, e.variance) for part, e in zip(parts, examples, strict=True)])
    dispersion = np.concatenate([example.dispersion for example in examples])
    assert together.n_columns == 7 and together.n_dispersion == len(dispersion)
    assert not together.steady and Several([build("gamma"), build("poisson")]).steady
    np.testing.assert_array_equal(together.is_product, [True] * 3 + [False, True, False, True])
    slope, curvature = together.speak(y, score, moment, dispersion)
    start, coef = together.start(y, weight), together.start_coef(y, weight, dispersion)
    updated = together.update(y, score, moment, weight, dispersion, 0.7)
    reach = np.arange(7.0)
    stepped = together.step(score.T, 2 * score.T, reach)
    density = np.zeros(4)
    for part, example in zip(together.parts(), examples, strict=True):
        alone, label = part.response, y[:, part.label]
        own = (label, score[:, part.columns], moment[:, part.columns])
        np.testing.assert_array_equal(dispersion[part.numbers], example.dispersion)
        np.testing.assert_array_equal(
            (slope[:, part.columns], curvature[:, part.columns]), alone.speak(*own, dispersion[part.numbers])
        )
        density += alone.log_density(*own, dispersion[part.numbers])
        np.testing.assert_array_equal(start[part.numbers], alone.start(label, weight))
        np.testing.assert_array_equal(coef[part.columns], alone.start_coef(label, weight, dispersion[part.numbers]))
        np.testing.assert_array_equal(updated[part.numbers], alone.update(*own, weight, dispersion[part.numbers], 0.7))
        sub = score.T[part.columns]
        np.testing.assert_array_equal(stepped[part.columns], alone.step(sub, 2 * sub, reach[part.columns]))
    np.testing.assert_allclose(together.log_density(y, score, moment, dispersion), density)
    together.check(y)
    y[1, 4] = -2.0
    with pytest.raises(ValueError, match="y holds -2, but response='poisson' needs counts"):
        together.check(y)
