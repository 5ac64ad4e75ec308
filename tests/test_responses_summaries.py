"""What responses sum over documents: it adds up, and it leads to the dispersion that all documents at once lead to."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from supertopic.responses.base import registry
from supertopic.responses.label_summary import LabelSummary
from supertopic.responses.search import N_POINTS, REACH, points_around, polynomial, zero_of_values
from supertopic.responses.several import Several
from tests.naive_responses import EXAMPLES, best_dispersion, build, first_coef, first_dispersion, moments, simulated

LEARNED = [key for key, example in EXAMPLES.items() if example.dispersion]
CUTS = np.array([-0.7, 0.2, 1.1])
PARTS = (0, 3, 3, 200, 201, 500)  # unequal ones, and an empty one


def drawn(key):
    """(y, score, moment, weight) of 500 documents, labels missing here and there and in the whole first part."""
    y, score, moment, weight = simulated(build(key), EXAMPLES[key], np.array(EXAMPLES[key].dispersion))
    y[:3] = y[10:200:7] = np.nan
    return y, score, moment, weight


def parts(*arrays):
    for first, last in pairwise(PARTS):
        yield tuple(array[first:last] for array in arrays)


@pytest.mark.parametrize("key", EXAMPLES)
def test_summaries_of_parts_add_up(key):
    response, dispersion = build(key), np.array(EXAMPLES[key].dispersion)
    whole = response.summarise(*drawn(key), dispersion)
    assert whole.shape == (response.n_summary,) and (response.n_summary > 0) == (response.n_dispersion > 0)
    pieces = [response.summarise(*part, dispersion) for part in parts(*drawn(key))]
    np.testing.assert_allclose(np.sum(pieces, axis=0), whole, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(pieces[0], 0)  # three documents without a label
    y, score, moment, weight = drawn(key)
    heavier = response.summarise(y, score, moment, 2 * weight, dispersion)
    np.testing.assert_allclose(heavier, 2 * whole, rtol=1e-12)


@pytest.mark.parametrize("key", LEARNED)
@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_a_multiple_of_a_summary_leads_to_the_same(key, rate):
    response, dispersion = build(key), np.array(EXAMPLES[key].dispersion)
    summary = response.summarise(*drawn(key), dispersion)
    once = response.update(summary, dispersion, rate)
    assert np.abs(once - dispersion).max() > 1e-4
    for factor in (1e-6, 3.7, 1e9):
        np.testing.assert_allclose(response.update(factor * summary, dispersion, rate), once, rtol=1e-6)
    np.testing.assert_array_equal(response.update(0 * summary, dispersion, rate), dispersion)


@pytest.mark.parametrize("key", LEARNED)
@pytest.mark.parametrize("factor", [0.6, 1.0, 1.4, 20.0])
def test_the_sums_lead_where_all_documents_lead(key, factor):
    """From where the dispersion is a little off, and from where the best one is out of reach."""
    response, dispersion, learned = build(key), np.array(EXAMPLES[key].dispersion), EXAMPLES[key].learned
    dispersion[learned] *= factor
    if key == "ordinal":
        dispersion = CUTS[0] + factor * (CUTS - CUTS[0])
    data = drawn(key)
    best = best_dispersion(key, *data, dispersion)
    tolerance = 1e-5 if key == "ordinal" else 1e-6
    np.testing.assert_allclose(response.fit_dispersion(*data, dispersion), best, rtol=tolerance)
    whole = response.update(response.summarise(*data, dispersion), dispersion, 1.0)
    if key != "ordinal":
        np.testing.assert_allclose(whole, best, rtol=tolerance)
    part = response.fit_dispersion(*data, dispersion, 0.3)
    if key == "gaussian":  # a variance moves along itself, everything else along its logarithm
        np.testing.assert_allclose(part, dispersion + 0.3 * (best - dispersion), rtol=tolerance)
        return
    now, there, moved = (np.diff(d) if key == "ordinal" else d[:1] for d in (dispersion, best, part))
    np.testing.assert_allclose(np.log(moved), np.log(now) + 0.3 * np.log(there / now), atol=3 * tolerance)


@pytest.mark.parametrize("key", LEARNED)
def test_update_after_update_ends_at_the_optimum(key):
    """Sums over parts, one update each time: from a dispersion ten times too large, to where the slow search stays."""
    response, dispersion = build(key), np.array(EXAMPLES[key].dispersion)
    dispersion[0] = 10 * dispersion[0] if key != "ordinal" else dispersion[0]
    for _ in range(30):
        summary = sum(response.summarise(*part, dispersion) for part in parts(*drawn(key)))
        dispersion = response.update(summary, dispersion, 1.0)
    np.testing.assert_allclose(dispersion, best_dispersion(key, *drawn(key), dispersion), rtol=1e-6)


def test_the_polynomial_of_a_negative_binomial_is_exact():
    """sum_d w E[log p(y)] of counts up to 10 000, small and large r: to 1e-10 all over the interval."""
    response, rng = build("negative_binomial"), np.random.default_rng(4)
    y = np.array([0.0, 0.0, 1.0, 3.0, 20.0, 500.0, 1e4])
    score = rng.normal(size=(7, 1))
    moment, weight = score**2 + 0.3, rng.gamma(2.0, size=7)
    for r in (0.01, 0.7, 30.0, 2000.0):
        through = polynomial(response.summarise(y, score, moment, weight, np.array([r]))[1:])
        for place in np.linspace(-1, 1, 41):
            exact = weight @ response.log_density(y, score, moment, np.array([r * np.exp(REACH * place)]))
            assert through(place) == pytest.approx(exact, rel=1e-10)


HEAVY = {
    "log-normal": lambda rng, n: np.exp(6 * rng.normal(size=n)),
    "Pareto": lambda rng, n: 1e-6 + rng.pareto(0.3, size=n),
    "Cauchy": lambda rng, n: 1e-9 + np.abs(rng.standard_cauchy(n)),
    "one outlier": lambda rng, n: np.append(rng.weibull(2.0, n - 1), 1e12),
}


@pytest.mark.parametrize("tail", HEAVY)
@pytest.mark.parametrize("n", [5, 1000])
def test_weibull_with_heavy_tails(tail, n):
    """The scale is the mean, so that nearly all u are tiny and few are huge: step by step what the slow search does."""
    response, rng = build("weibull"), np.random.default_rng(n)
    y, weight, score = HEAVY[tail](rng, n), rng.gamma(2.0, size=n), 0.3 * rng.normal(size=(n, 1))
    moment = moments(response, score, 0.1)
    dispersion = response.start(response.describe(y, weight))
    for _ in range(6):
        best = best_dispersion("weibull", y, score, moment, weight, dispersion)
        found = response.fit_dispersion(y, score, moment, weight, dispersion)
        np.testing.assert_allclose(found, best, rtol=1e-4)
        dispersion = found
    np.testing.assert_allclose(found, best, rtol=1e-6)  # a zero where the shape stands is found exactly


def test_a_zero_is_looked_for_between_its_neighbours():
    points = np.log(points_around(2.0))
    assert len(points) == N_POINTS and points[N_POINTS // 2] == pytest.approx(np.log(2.0))
    for place in (points[0] + 1e-9, points[3], points[5] + 0.01, points[8], points[-1] - 1e-9):
        assert zero_of_values(points - place, 2.0) == pytest.approx(place, abs=1e-9)
        steep = np.where(points > place, 1e300, -1e-300)  # no polynomial follows that
        found = zero_of_values(steep, 2.0)
        after = np.searchsorted(points, place, side="right")
        assert points[after - 1] - 1e-12 <= found <= points[after] + 1e-12
    assert zero_of_values(points + 9, 2.0) == pytest.approx(points[0])
    assert zero_of_values(points - 9, 2.0) == pytest.approx(points[-1])


def test_cut_points_by_finite_differences():
    """The five sums of each class: both its cut-points move, or the upper one alone."""
    response = registry()["ordinal"](4)
    y, score, moment, weight = drawn("ordinal")
    summary = response.summarise(y, score, moment, weight, CUTS)
    assert summary[0] == pytest.approx(weight[~np.isnan(y)].sum())
    first_both, first_own, both_both, both_own, own_own = summary[1:].reshape(5, 4)
    for c in range(4):
        rows = y == c

        def value(both, own, c=c, rows=rows):
            cuts = CUTS.copy()
            if c > 0:
                cuts[c - 1] += both
            if c < 3:
                cuts[c] += both + own
            return weight[rows] @ response.log_density(y[rows], score[rows], moment[rows], cuts)

        step, small = 1e-3, 1e-5
        assert first_both[c] == pytest.approx((value(small, 0) - value(-small, 0)) / (2 * small), rel=1e-5)
        twice = (value(step, 0) - 2 * value(0, 0) + value(-step, 0)) / step**2
        assert both_both[c] == pytest.approx(-twice, rel=1e-4)
        if c < 3:
            assert first_own[c] == pytest.approx((value(0, small) - value(0, -small)) / (2 * small), rel=1e-5)
            twice = (value(0, step) - 2 * value(0, 0) + value(0, -step)) / step**2
            assert own_own[c] == pytest.approx(-twice, rel=1e-4)
            mixed = value(step, step) - value(step, -step) - value(-step, step) + value(-step, -step)
            assert both_own[c] == pytest.approx(-mixed / (4 * step**2), rel=1e-4)


def six_classes(rng, n=2000):
    cuts = np.array([-1.0, -0.4, 0.1, 0.5, 1.6])
    score = rng.normal(size=(n, 1))
    y = np.searchsorted(cuts, score[:, 0] + rng.normal(size=n)).astype(float)
    return registry()["ordinal"](6), cuts, y, score, score**2 + 0.1, rng.gamma(2.0, size=n)


def test_steps_of_cut_points_are_newtons():
    """Near the optimum a step leaves the square of the error: no term of the Hessian is missing."""
    rng = np.random.default_rng(1)
    response, cuts, *data = six_classes(rng)
    best = response.fit_dispersion(*data, cuts)
    for _ in range(5):
        gaps = np.log(np.diff(best))
        error = rng.normal(size=4)
        near = best[0] + np.cumsum([0.0, *np.exp(gaps + 1e-2 * error / np.abs(error).max())])
        after = response.update(response.summarise(*data, near), near, 1.0)
        assert np.abs(np.log(np.diff(after)) - gaps).max() < 2e-4


@pytest.mark.parametrize("empty", [None, 2, 5])
def test_cut_points_from_anywhere(empty):
    """Gaps from e⁻¹² to e⁴, and a class without labels, whose gap closes (or opens, at the end)."""
    rng = np.random.default_rng(2)
    response, cuts, y, score, moment, weight = six_classes(rng)
    if empty is not None:
        y[y == empty] = np.nan
    data = (y, score, moment, weight)

    def value(found):
        return weight @ response.log_density(*data[:3], found) / weight.sum()

    best = value(response.fit_dispersion(*data, cuts))
    for _ in range(10):
        start = cuts[0] + np.cumsum([0.0, *np.exp(rng.uniform(-12.0, 4.0, size=4))])
        found = response.fit_dispersion(*data, start)
        assert value(found) == pytest.approx(best, abs=1e-5)
        gaps = np.diff(found)
        assert np.all((gaps > np.exp(-12.01)) & (gaps < np.exp(4.01)))
        stepped = response.update(response.summarise(*data, start), start, 1.0)
        assert np.abs(np.log(np.diff(stepped)) - np.log(np.diff(start))).max() <= 1 + 1e-9
    if empty == 2:
        assert np.diff(found)[1] < 1e-5
    if empty is None:
        np.testing.assert_allclose(best, value(best_dispersion_of(response, data, cuts)), rtol=1e-9)


def test_cut_points_with_scores_far_out():
    """Scores of a million in the wrong direction, gaps as short and as long as they get: still cut-points in order."""
    response, rng = registry()["ordinal"](5), np.random.default_rng(5)
    for size in (50.0, 1e4, 1e6):
        y, score = rng.integers(0, 5, 40).astype(float), size * rng.choice([-1.0, 1.0], size=(40, 1))
        for gaps in ([-12.0, 4.0, -12.0], [4.0, 4.0, 4.0], [-12.0, -12.0, -12.0]):
            cuts = np.cumsum([-0.5, *np.exp(gaps)])
            found = response.fit_dispersion(y, score, score**2, np.ones(40), cuts)
            assert np.isfinite(found).all() and np.all(np.diff(found) > 0)


def best_dispersion_of(response, data, cuts):
    """By Nelder and Mead, without a derivative."""

    def loss(gaps):
        found = cuts[0] + np.cumsum([0.0, *np.exp(gaps)])
        return -data[3] @ response.log_density(*data[:3], found) / data[3].sum()

    options = {"xatol": 1e-7, "fatol": 1e-13, "maxiter": 4000}
    found = minimize(loss, np.log(np.diff(cuts)), method="Nelder-Mead", options=options)
    return cuts[0] + np.cumsum([0.0, *np.exp(found.x)])


def test_several_have_their_summaries_side_by_side():
    keys = ["softmax", "gaussian", "weibull", "ordinal", "negative_binomial"]
    drawn_parts, singles = [drawn(key) for key in keys], [build(key) for key in keys]
    together, weight = Several(singles), drawn_parts[0][3]
    y = np.column_stack([part[0] for part in drawn_parts])
    score, moment = (np.hstack([part[i] for part in drawn_parts]) for i in (1, 2))
    dispersion = np.concatenate([EXAMPLES[key].dispersion for key in keys])
    summary = together.summarise(y, score, moment, weight, dispersion)
    assert summary.shape == (together.n_summary,)
    updated, labels = together.update(summary, dispersion, 0.4), together.describe(y, weight)
    assert len(labels) == len(list(labels)) == 5
    for part in together.parts():
        alone, own = part.response, dispersion[part.numbers]
        given = (y[:, part.label], score[:, part.columns], moment[:, part.columns], weight)
        np.testing.assert_array_equal(summary[part.sums], alone.summarise(*given, own))
        np.testing.assert_array_equal(updated[part.numbers], alone.update(summary[part.sums], own, 0.4))
        same(labels[part.label], alone.describe(given[0], weight))
    halves = together.describe(y[:200], weight[:200]) + together.describe(y[200:], weight[200:])
    for added, whole in zip(halves, labels, strict=True):
        same(added, whole)


def test_which_responses_climb_with_all_columns_together():
    softmax, gaussian = registry()["softmax"], build("gaussian")
    assert softmax(4).joint and not softmax(3).joint and not gaussian.joint
    assert Several([softmax(4), build("poisson")]).joint
    assert not Several([softmax(4), gaussian]).joint and not Several([build("poisson")] * 5).joint


def same(found, expected):
    for name in LabelSummary.__dataclass_fields__:
        a, b = getattr(found, name), getattr(expected, name)
        a, b = ((m.total, m.mean, m.squares) if hasattr(m, "squares") else m for m in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-10, err_msg=name)


WEIGHTS = {
    "some zero": lambda rng: rng.choice([0.0, 0.5, 2.0], size=500),
    "zero in one part": lambda rng: np.where(np.arange(500) < 200, 0.0, rng.gamma(2.0, size=500)),
    "zero throughout": lambda rng: np.zeros(500),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("key", EXAMPLES)
def test_labels_of_parts_add_up_and_start_a_fit(key, weights):
    response, y = build(key), drawn(key)[0]
    weight = WEIGHTS[weights](np.random.default_rng(6))
    whole = response.describe(y, weight)
    pieces = [response.describe(*part) for part in parts(y, weight)]
    added = pieces[0] + pieces[1] + pieces[2] + pieces[3] + pieces[4]
    same(added, whole)
    known = ~np.isnan(y)
    assert whole.n_labels == known.sum()
    assert (whole.low, whole.high) == (y[known].min(), y[known].max())
    some = known & (weight > 0)
    assert whole.positive.total == some.sum()
    np.testing.assert_allclose(whole.every.variance, y[known].var())
    if EXAMPLES[key].n_classes:
        np.testing.assert_array_equal(whole.class_counts, np.bincount(y[known].astype(int)))
        np.testing.assert_allclose(whole.class_weights, np.bincount(y[known].astype(int), weight[known]))
    for labels in (whole, added):
        start = response.start(labels)
        np.testing.assert_allclose(start, first_dispersion(key, y, weight), rtol=1e-10)
        np.testing.assert_allclose(
            response.start_coef(labels, start), first_coef(key, y, weight), rtol=1e-9, atol=1e-12
        )


def test_no_digits_are_lost_where_the_mean_is_large():
    y = 1e9 + np.random.default_rng(0).normal(size=1000)
    added = LabelSummary.of(y[:300], np.ones(300)) + LabelSummary.of(y[300:], np.ones(700))
    assert added.weighted.variance == pytest.approx(y.var(), rel=1e-6)


def test_counts_of_zero_start_below_one_in_all_documents():
    """Half a count among five documents, as the rate zero has no logarithm."""
    response = build("poisson")
    labels = response.describe(np.zeros(5), np.ones(5)) + response.describe(np.full(3, np.nan), np.ones(3))
    np.testing.assert_allclose(response.start_coef(labels, np.zeros(0)), np.log(0.1))


def test_max_margin_responses_add_up_as_well():
    y, score, moment, weight = drawn("gaussian")
    plain, margin = build("gaussian"), registry()["epsilon_insensitive"]()
    dispersion = plain.start(plain.describe(y, weight))
    summary = margin.summarise(y, score, moment, weight, dispersion)
    np.testing.assert_array_equal(summary, plain.summarise(y, score, moment, weight, dispersion))
    np.testing.assert_array_equal(margin.update(summary, dispersion, 0.5), plain.update(summary, dispersion, 0.5))
    for name in ("hinge", "hinge_each"):
        response = registry()[name](3)
        assert response.n_summary == response.n_dispersion == 0 and not response.joint
        labels = response.describe(np.array([0.0, 2.0, np.nan, 2.0]), np.array([1.0, 0.5, 1.0, 0.0]))
        np.testing.assert_array_equal((labels.class_counts, labels.class_weights), ([1, 0, 2], [1, 0, 0.5]))


def test_what_is_given_stays():
    """A variance that the user gives, the one cut-point of two classes."""
    y, score, moment, weight = drawn("gaussian")
    response = registry()["gaussian"](sigma=2.0)
    dispersion = response.start(response.describe(y, weight))
    assert response.spread(dispersion) == pytest.approx(4.0)
    np.testing.assert_array_equal(response.fit_dispersion(y, score, moment, weight, dispersion), dispersion)
    two = registry()["ordinal"](2)
    summary = two.summarise(np.array([0.0, 1.0]), np.ones((2, 1)), np.ones((2, 1)), np.ones(2), np.array([0.3]))
    assert summary.shape == (two.n_summary,)
    np.testing.assert_array_equal(two.update(summary, np.array([0.3]), 1.0), [0.3])
