"""Properties of single responses: pairs of classes, ordered classes, links, units, several responses."""

import numpy as np
import pytest
from scipy.special import gammaincc, gammaln, log_ndtr, softmax

from supertopic.responses.base import registry
from supertopic.responses.counts import poisson_quantile
from supertopic.responses.positive import CanonicalGamma
from supertopic.responses.several import Several
from tests.cases import marked
from tests.naive_responses import EXAMPLES, VARIANCE, build, moments, simulated


def test_two_ordered_classes_are_probit():
    score, y, none = EXAMPLES["probit"].score, np.array(EXAMPLES["probit"].y), np.zeros(0)
    probit, ordinal, moment = build("probit"), registry()["ordinal"](2), score**2 + VARIANCE
    for a, b in zip(
        probit.slope_and_curvature(y, score, moment, none),
        ordinal.slope_and_curvature(y, score, moment, np.zeros(1)),
        strict=True,
    ):
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
    """E[exp s] is 1e250 in one column and small in another."""
    response, y, none = registry()["softmax"](3), np.array([0.0, 1.0, 2.0]), np.zeros(0)
    score = np.tile([[570.0, 0.0, -570.0]], (3, 1))
    moment = np.tile([[1e250, 1.0, 1e-250]], (3, 1))
    slope, curvature = response.slope_and_curvature(y, score, moment, none)
    np.testing.assert_array_equal(slope, np.eye(3))
    np.testing.assert_allclose(curvature, 1e-250)
    np.testing.assert_allclose(response.log_density(y, score, moment, none), score[0] - 250 * np.log(10))
    np.testing.assert_allclose(response.predict(score, moment, none), [[1, 0, 0]] * 3, atol=1e-100)


def test_ordinal_far_in_the_tails():
    """log(Phi(b) - Phi(a)) and the mean between a and b, where both Phi are 0 or 1 in double precision."""
    response, cuts = registry()["ordinal"](4), np.array([-0.7, 0.2, 1.1])
    y, score = np.array([0.0, 1.0, 1.0, 2.0, 3.0]), np.array([[45.0], [45.0], [-45.0], [30.0], [-45.0]])
    slope, _ = response.slope_and_curvature(y, score, score**2, cuts)
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


def test_ordinal_finds_its_cut_points_at_once():
    """A single update is enough, from cut-points that are much too close or too wide."""
    response, example, cuts = registry()["ordinal"](4), EXAMPLES["ordinal"], np.array([-0.7, 0.2, 1.1])
    y, score, moment, weight = simulated(response, example, cuts)
    found = [
        response.fit_dispersion(y, score, moment, weight, -0.7 + np.array([0, 1, 2]) * gap, 1.0)
        for gap in (0.01, 0.9, 8.0)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=2e-3)
    np.testing.assert_allclose(found[2], found[1], rtol=2e-3)


def test_ordinal_bets_on_the_median():
    shares = np.array([[0.3, 0.3, 0.4], [0.5, 0.1, 0.4], [0.2, 0.2, 0.6]])
    np.testing.assert_array_equal(registry()["ordinal"](3).decide(shares), [1, 0, 2])
    np.testing.assert_array_equal(registry()["softmax"](3).decide(shares), [2, 0, 2])


def test_inverse_gaussian_stays_concave_below_the_mean():
    """-l''(s) = shape (2 u exp(-2s) - exp(-s)) is negative for small u, but its expectation over u is positive."""
    response, y, score = build("inverse_gaussian"), np.array([0.02, 0.3]), np.array([[0.4], [-0.5]])
    slope, curvature = response.slope_and_curvature(y, score, score**2, np.array([1.7, 2.0]))
    np.testing.assert_allclose(curvature, 1.7 * np.exp(-score))
    expected = 1.7 * (y[:, None] / 2.0 * np.exp(-2 * score) - np.exp(-score))
    np.testing.assert_allclose(slope - curvature * score, expected)


def test_inverse_gaussian_intervals_without_a_warning():
    """The search for the upper end in scipy warns for one document in a hundred."""
    response, score = build("inverse_gaussian"), np.linspace(-3, 3, 2000)[:, None]
    low, high = response.interval(score, score**2, np.array([1.7, 2.0]), 0.9)
    law = EXAMPLES["inverse_gaussian"].law(score, np.array([1.7, 2.0]))
    np.testing.assert_allclose((law.cdf(low), law.cdf(high)), ([0.05] * 2000, [0.95] * 2000), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
@pytest.mark.parametrize(
    "name", ["gamma", "gamma canonical", "inverse_gaussian", "inverse_gaussian canonical", "weibull"]
)
def test_the_unit_of_y_changes_the_unit_alone(name, scale):
    """With y in another unit, internal coefficients are the same, and public ones match scipy's distribution of y."""
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
    np.testing.assert_allclose(response.start(response.describe(y, np.ones(4))), [1.0, y.mean()])


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
    assert not together.constant_slopes and Several([build("gamma"), build("poisson")]).constant_slopes
    np.testing.assert_array_equal(together.is_product, [True] * 3 + [False, True, False, True])
    slope, curvature = together.slope_and_curvature(y, score, moment, dispersion)
    labels = together.describe(y, weight)
    start, coef = together.start(labels), together.start_coef(labels, dispersion)
    updated = together.fit_dispersion(y, score, moment, weight, dispersion, 0.7)
    reach = np.arange(7.0)
    stepped = together.step(score.T, 2 * score.T, reach)
    density = np.zeros(4)
    for part, example in zip(together.parts(), examples, strict=True):
        alone, label = part.response, y[:, part.label]
        own = (label, score[:, part.columns], moment[:, part.columns])
        np.testing.assert_array_equal(dispersion[part.numbers], example.dispersion)
        np.testing.assert_array_equal(
            (slope[:, part.columns], curvature[:, part.columns]),
            alone.slope_and_curvature(*own, dispersion[part.numbers]),
        )
        density += alone.log_density(*own, dispersion[part.numbers])
        own_labels = alone.describe(label, weight)
        np.testing.assert_array_equal(start[part.numbers], alone.start(own_labels))
        np.testing.assert_array_equal(coef[part.columns], alone.start_coef(own_labels, dispersion[part.numbers]))
        np.testing.assert_array_equal(
            updated[part.numbers], alone.fit_dispersion(*own, weight, dispersion[part.numbers], 0.7)
        )
        sub = score.T[part.columns]
        np.testing.assert_array_equal(stepped[part.columns], alone.step(sub, 2 * sub, reach[part.columns]))
    np.testing.assert_allclose(together.log_density(y, score, moment, dispersion), density)
    together.check(y)
    y[1, 4] = -2.0
    with pytest.raises(ValueError, match="y holds -2, but response='poisson' needs counts"):
        together.check(y)


LINKS = [(name, link) for name, kind in registry().items() if kind.ranges for link in getattr(kind, "links", (None,))]


@pytest.mark.parametrize("n_draws", [25, marked(400)])
@pytest.mark.parametrize(("name", "link"), [("poisson", None), *LINKS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # predictions that overflow are cut
def test_whatever_a_dispersion_may_be_there_are_intervals(name, link, n_draws):
    """Fits keep dispersions within `ranges`, and a model file may hold no other."""
    response, rng = registry()[name](0, **({} if link is None else {"link": link})), np.random.default_rng(0)
    for _ in range(n_draws):
        dispersion = np.array([_between(least, most, rng) for least, most in response.ranges])
        response.check_dispersion(dispersion)
        score = rng.normal(size=(50, 1)) * 10 ** rng.uniform(-3, 2)
        score = np.abs(score) if link == "canonical" else score
        variance = rng.choice([0.0, 1.0]) * rng.exponential(size=(50, 1)) * 10 ** rng.uniform(-12, 2)
        moment = np.exp(np.minimum(score + variance / 2, 300)) if response.is_product[0] else score**2 + variance
        low, high = response.interval(score, moment, dispersion, 0.9)
        assert (low <= high).all() and np.isfinite(response.predict(score, moment, dispersion)).all()
    for place, (least, most) in enumerate(response.ranges):
        for wrong in (np.nan, most * 1.1, least * (0.9 if least > 0 else 1.1)):
            beyond = np.where(np.arange(len(dispersion)) == place, wrong, dispersion)
            with pytest.raises(
                ValueError, match=f"the dispersion of response='{name}' is .* in place {place}, expected"
            ):
                response.check_dispersion(beyond)


def _between(least, most, rng):
    """A number of a range; of a positive one by its logarithm."""
    if least <= 0:
        return rng.uniform(least, most) * 10.0 ** -rng.integers(0, 30)
    return np.exp(rng.uniform(np.log(least), np.log(most)))


@pytest.mark.parametrize("mean", [0.3, 40.0, 1e6, 9e8, 3e9, 1e11, 1e15])
def test_quantiles_of_large_counts(mean):
    """SciPy's own search fails from 1e10 on."""
    for share in (0.001, 0.05, 0.5, 0.95, 0.999):
        found = float(poisson_quantile(share, np.array([mean]))[0])
        below, above = gammaincc(found - 0.5, mean), gammaincc(found + 1.5, mean)  # P(Y <= found -+ 1)
        assert (below < share or found < 1) and above > share
