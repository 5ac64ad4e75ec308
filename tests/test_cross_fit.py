"""Cross-fitted certainty: slopes, intervals and errors from documents that the topics have not seen."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm
from statsmodels.api import GLM, WLS, add_constant, families

from supertopic import PC, SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.documents.corpus import Corpus
from supertopic.documents.known import Known
from supertopic.fitted.certainty import cross_fit, folds
from supertopic.fitted.fit import fit
from supertopic.fitted.predict import scores_of, users_dispersion
from supertopic.fitted.training import Training
from supertopic.inference.after import calibration
from supertopic.inference.after.calibration import Calibration, as_well, calibrate, told_apart
from supertopic.inference.after.known_scores import KnownScores
from supertopic.inference.after.splits import splits_of_parts
from supertopic.inference.design import shifted
from supertopic.inference.variational import prediction_constrained as pc
from supertopic.inference.variational import prediction_start
from supertopic.inference.variational.climb import Climb
from supertopic.responses.base import registry
from supertopic.responses.interval_levels import WIDEST, condense, interval_at, level_of, levels
from supertopic.responses.several import Several, units
from tests.cases import cases

RNG = np.random.default_rng(0)
CONTINUOUS = ("gamma", "inverse_gaussian", "weibull")


@pytest.fixture(autouse=True)
def same_numbers(monkeypatch):
    """Every test draws the same numbers, whatever has run before it."""
    monkeypatch.setitem(globals(), "RNG", np.random.default_rng(0))


def documents(response, n_documents=700, **more):
    """Short documents, so that topics have something to learn by heart."""
    data = simulate(n_documents, 5, n_words=300, mean_length=25, response=response, seed=9, **more)
    return data.counts.counts, data.y


def calibrate_one(problem, score):
    """By the likelihood alone."""
    none = np.zeros((len(score), 0))
    return calibration._calibrate_one(problem, score, None, none, CoefPrior(), np.zeros(0, dtype=bool))


# --- the calibration ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "poisson", "negative_binomial", "gamma", "logit", "ordinal"])
def test_predictors_that_are_too_bold_are_drawn_in(name):
    """Out-of-fold scores that are twice as far out as they should be, and shifted, have slope ½ and another level."""
    s = RNG.normal(size=4000)
    y = {
        "gaussian": s + 0.5 * RNG.normal(size=4000),
        "poisson": RNG.poisson(np.exp(s)).astype(float),
        "negative_binomial": RNG.negative_binomial(3, 1 / (1 + np.exp(s))).astype(float),
        "gamma": RNG.gamma(3.0, np.exp(-s) / 3),
        "logit": (RNG.random(4000) < 1 / (1 + np.exp(-s))).astype(float),
        "ordinal": np.digitize(s + RNG.normal(size=4000), [-0.5, 0.7]).astype(float),
    }[name]
    y[::9] = np.nan
    response = registry()[name](3 if name == "ordinal" else 2)
    weight = np.ones(4000)
    start = response.start(response.describe(y, weight))
    found = calibrate(response, y, weight, 2 * (s[:, None] - 0.3), start)
    unit = start[2] if name == "gaussian" else 1.0
    assert unit * found.slope[0] == pytest.approx(0.5, abs=0.05)
    if name == "gaussian":
        assert unit * found.intercept[0] + start[1] == pytest.approx(0.3, abs=0.05)
        assert unit**2 * found.dispersion[0] == pytest.approx(0.25, rel=0.06)
    if name == "negative_binomial":
        assert found.dispersion[0] == pytest.approx(3.0, rel=0.25)


def test_grades_that_nobody_has_do_not_hold_up_the_calibration(monkeypatch):
    """Cut-points between two grades without documents drift further apart in every turn, and gain nothing by it."""
    turns, fit = [], KnownScores.dispersion_at_mean
    monkeypatch.setattr(KnownScores, "dispersion_at_mean", lambda self, *a: turns.append(1) or fit(self, *a))
    response, score = registry()["ordinal"](5), np.array([[-0.4], [0.3]])
    told_apart(response, np.array([0.0, 3.0]), np.ones(2), score, np.array([-1.0, 0.0, 0.5, 1.0]))
    assert len(turns) < 20


def told(response, y, weight, *given):
    return told_apart(response, y, weight, *given).sum() / weight.sum()


def test_classes_are_judged_by_how_well_they_are_told():
    """Scores three times too bold tell the same; noise among them tells less, however timid they are made."""
    s, weight = RNG.normal(size=(1000, 1)), np.ones(1000)
    noisy = s + RNG.normal(size=s.shape)
    number = s[:, 0] + RNG.normal(size=1000)
    for name, y in {"logit": number > 0, "ordinal": np.digitize(number, [-0.5, 0.7])}.items():
        response, y = registry()[name](3 if name == "ordinal" else 2), y.astype(float)
        cuts = response.start(response.describe(y, weight))
        best = told(response, y, weight, s, cuts)
        assert told(response, y, weight, 9 * s, cuts) == pytest.approx(told(response, y, weight, 3 * s, cuts), abs=1e-3)
        assert told(response, y, weight, 3 * s, cuts) >= best - 1e-3
        assert told(response, y, weight, 3 * noisy, cuts) < best - 0.05
        raw = response.log_density(y, 9 * s, 81 * s**2, cuts).mean()
        assert raw < told(response, y, weight, 0.5 * noisy, cuts) < told(response, y, weight, 9 * s, cuts)
    few = (s[:20, 0] > 0).astype(float)  # separable: a slope without an end would tell them perfectly
    response = registry()["logit"](2)
    assert told(response, few, weight[:20], s[:20], np.zeros(0)) < -0.1


def test_numbers_are_judged_by_their_density():
    """Beside classes, and with labels missing: each response by its own labels."""
    s, weight = RNG.normal(size=(500, 2)), np.linspace(0.5, 1.5, 500)
    y = np.column_stack([s[:, 0] + RNG.normal(size=500), (s[:, 1] > 0).astype(float)])
    y[::5, 0] = y[1::7, 1] = np.nan
    gaussian, logit = registry()["gaussian"](2), registry()["logit"](2)
    numbers = gaussian.start(gaussian.describe(y[:, 0], weight))
    density = gaussian.log_density(y[:, 0], s[:, :1], s[:, :1] ** 2, numbers)
    alone = float(weight @ density / weight.sum())
    assert told(gaussian, y[:, 0], weight, s[:, :1], numbers) == pytest.approx(alone)
    both = told(Several([gaussian, logit]), y, weight, s, numbers)
    assert both == pytest.approx(alone + told(logit, y[:, 1], weight, s[:, 1:], np.zeros(0)))


@pytest.mark.parametrize("name", ["gamma", "inverse_gaussian", "weibull", "poisson", "negative_binomial"])
def test_means_have_slope_one_under_another_law(name, monkeypatch):
    """Labels that spread around a line, where the law has exp(s): the likelihood's slope is not that of the means."""
    rng = np.random.default_rng(4)
    s, weight = rng.exponential(size=8000), rng.uniform(0.5, 1.5, size=8000)
    y = 2 + 3 * s + rng.uniform(-2, 2, size=8000)
    y = y if name in CONTINUOUS else np.rint(y)
    response = registry()[name]()
    start = response.start(response.describe(y, weight))
    score = (-0.7 if name in ("gamma", "weibull") else 0.7) * (s[:, None] - 0.5)
    moment = np.exp(score + 0.02) if response.is_product[0] else score**2 + 0.04  # the predictors are not certain

    def slope_of_means(found):
        mean = response.predict(*found.moments(score, moment, response.is_product), found.dispersion)
        return np.polyfit(mean, y, 1, w=np.sqrt(weight))[0]

    likely = calibrate_one(KnownScores(response, y, weight, start), score)
    found = calibrate(response, y, weight, score, start, moment=moment)
    before, after = abs(slope_of_means(likely) - 1), abs(slope_of_means(found) - 1)
    assert before > 0.1 and after < 0.3 * before
    np.testing.assert_array_equal(found.dispersion, likely.dispersion)
    monkeypatch.setattr(calibration, "_slope_beyond_one", lambda *given: (1.0, 0.0))  # known without an error
    assert slope_of_means(calibrate(response, y, weight, score, start, moment=moment)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("unit", [1e-100, 1e140])
def test_labels_of_any_size_have_means(unit):
    """Fourth powers of such labels are zero or infinite; slopes are those of labels that lie around one."""
    rng, response = np.random.default_rng(7), registry()["gamma"]()
    s = rng.exponential(size=500)
    y = (2 + 3 * s + rng.uniform(-1, 1, size=500)) * unit
    start = response.start(response.describe(y, np.ones(500)))
    found = calibrate(response, y, np.ones(500), -0.5 * s[:, None], start)
    mean = response.predict(*found.moments(-0.5 * s[:, None], np.exp(-0.5 * s[:, None]), response.is_product), start)
    assert 0.5 < found.slope[0] < 2 and np.corrcoef(mean / unit, y / unit)[0, 1] > 0.8


@pytest.mark.parametrize("name", ["gaussian", "poisson", "negative_binomial", "gamma", "logit", "ordinal"])
def test_covariates_keep_their_own_slope_beside_topics(name):
    """What topics promise too much is drawn in; what covariates do stays as it is, for every response."""
    s, x = RNG.normal(size=(2, 4000))
    x = x + 0.5 * s
    line = 0.5 * s + 0.3 * x
    y = {
        "gaussian": line + 0.5 * RNG.normal(size=4000),
        "poisson": RNG.poisson(np.exp(line)).astype(float),
        "negative_binomial": RNG.negative_binomial(3, 1 / (1 + np.exp(line))).astype(float),
        "gamma": RNG.gamma(3.0, np.exp(-line) / 3),
        "logit": (RNG.random(4000) < 1 / (1 + np.exp(-line))).astype(float),
        "ordinal": np.digitize(line + RNG.normal(size=4000), [-0.5, 0.7]).astype(float),
    }[name]
    y[::9] = np.nan
    response, weight = registry()[name](3 if name == "ordinal" else 2), np.ones(4000)
    start = response.start(response.describe(y, weight))
    found = calibrate(response, y, weight, 2 * s[:, None], start, covariates=x[:, None])
    unit = start[2] if name == "gaussian" else 1.0
    assert unit * found.slope[0] == pytest.approx(0.25, abs=0.04)
    assert unit * found.beside[0, 0] == pytest.approx(0.3, abs=0.06)


@pytest.mark.parametrize("name", ["gaussian", "poisson", "logit", "softmax"])
def test_covariates_beside_topics_as_in_a_regression(name):
    """statsmodels finds the same numbers from a column of predictors and two covariates."""
    rng = np.random.default_rng(3)
    s, x = rng.normal(size=500), rng.normal(size=(500, 2))
    line = 0.4 * s + x @ [0.3, -0.5]
    y = {"gaussian": rng.normal(line), "poisson": rng.poisson(np.exp(line))}.get(name, rng.random(500) < expit(line))
    response = registry()[name]() if name in ("gaussian", "poisson") else registry()[name](2)
    y, columns = np.asarray(y, dtype=float), 1 if name != "softmax" else 2
    score = np.column_stack([-s, s])[:, -columns:]
    start = response.start(response.describe(y, np.ones(500)))
    found = calibrate(response, y, np.ones(500), score, start, covariates=x, prior=CoefPrior("normal", 1e3))
    family = {"gaussian": families.Gaussian(), "poisson": families.Poisson()}.get(name, families.Binomial())
    other = GLM(y, add_constant(np.column_stack([s, x])), family).fit().params
    unit = start[2] if name == "gaussian" else 1.0
    beside = found.beside[-1] - (found.beside[0] if columns == 2 else 0.0)
    np.testing.assert_allclose(unit * columns * found.slope[-1], other[1], rtol=0.01)
    np.testing.assert_allclose(unit * beside, other[2:], rtol=0.01)


def test_covariates_under_a_sparse_prior_have_exact_zeros():
    s, x = RNG.normal(size=400), RNG.normal(size=(400, 5))
    y = 0.5 * s + x[:, 0] + 0.3 * RNG.normal(size=400)
    response, weight = registry()["gaussian"](), np.ones(400)
    start = response.start(response.describe(y, weight))
    found = calibrate(response, y, weight, s[:, None], start, covariates=x, prior=CoefPrior("laplace", 0.01))
    assert found.beside[0, 0] > 0.5 and (found.beside[0, 1:] == 0).all()


def test_means_beside_covariates_have_slope_one_under_another_law():
    """The topics' slope is that with which y misses nothing of what they predict; covariates keep their own."""
    rng = np.random.default_rng(4)
    s, x, weight = rng.exponential(size=8000), rng.normal(size=8000), np.ones(8000)
    y = (2 + 3 * s + rng.uniform(-2, 2, size=8000)) * np.exp(0.3 * x)
    response, score = registry()["gamma"](), -0.7 * (s[:, None] - 0.5)
    start = response.start(response.describe(y, weight))
    found = calibrate(response, y, weight, score, start, covariates=x[:, None])
    assert found.beside[0, 0] == pytest.approx(-0.3, abs=0.03)
    own = found.moments(score, np.exp(score), response.is_product)
    mean = response.predict(*shifted(*own, x[:, None] @ found.beside.T, response.is_product), found.dispersion)
    assert np.polyfit(mean, y, 1)[0] == pytest.approx(1.0, abs=0.06)


def test_the_slope_of_what_means_miss_is_that_of_a_regression():
    rng = np.random.default_rng(6)
    mean, weight = rng.normal(size=300), rng.uniform(0.5, 1.5, size=300)
    y = 1.3 * mean + rng.normal(size=300) * (1 + mean**2)
    off = mean - np.average(mean, weights=weight)
    found = calibration._slope_beyond_one(off, weight * (y - mean), weight)
    other = WLS(y, add_constant(mean), weight).fit(cov_type="HC0")
    np.testing.assert_allclose(found, [other.params[1] - 1, other.bse[1]], rtol=1e-9)


def test_means_of_labels_far_out_do_not_turn_the_slope_over(monkeypatch):
    """One label that the law does not expect says little about all others: the slope stays that of the likelihood."""
    rng, response = np.random.default_rng(5), registry()["gamma"]()
    s = rng.normal(size=400)
    y = rng.gamma(3.0, np.exp(0.3 * s) / 3)
    y[np.argsort(s)[-3]] = 60.0
    start = response.start(response.describe(y, np.ones(400)))
    likely = calibrate_one(KnownScores(response, y, np.ones(400), start), -s[:, None])
    found = calibrate(response, y, np.ones(400), -s[:, None], start)
    assert found.slope[0] == likely.slope[0] < 0.5
    slopes = [likely.slope[0]]
    for error in (0.0, 0.5):  # known without an error, and with half of what is to be mended
        monkeypatch.setattr(calibration, "_slope_beyond_one", lambda *given, error=error: (1.0, error))
        slopes.append(calibrate(response, y, np.ones(400), -s[:, None], start).slope[0])
    assert slopes[1] > 0.7
    assert slopes[2] - slopes[0] == pytest.approx(0.75 * (slopes[1] - slopes[0]))


@pytest.mark.parametrize("first", [0.05, 3000.0])
def test_the_shape_of_counts_is_found_from_afar(first):
    s = RNG.normal(size=4000)
    y = RNG.negative_binomial(2, 1 / (1 + np.exp(s))).astype(float)
    found = calibrate(registry()["negative_binomial"](), y, np.ones(4000), s[:, None], np.array([first]))
    assert found.dispersion[0] == pytest.approx(2.0, rel=0.15) and found.slope[0] == pytest.approx(1.0, abs=0.1)
    assert found.dispersion[0] * np.exp(found.intercept[0] + found.slope[0] * s).mean() == pytest.approx(
        y.mean(), rel=0.05
    )


def test_scores_that_say_nothing_have_no_slope_and_several_responses_have_their_own():
    s, noise = RNG.normal(size=(2, 2000))
    y = np.column_stack([s + 0.1 * RNG.normal(size=2000), (RNG.random(2000) < 0.3).astype(float)])
    both = Several([registry()["gaussian"](), registry()["logit"](2)])
    start = both.start(both.describe(y, np.ones(2000)))
    found = calibrate(both, y, np.ones(2000), np.column_stack([s, noise]), start)
    assert start[2] * found.slope[0] == pytest.approx(1.0, abs=0.02)
    assert 0 <= found.slope[1] < 0.1
    assert 1 / (1 + np.exp(-found.intercept[1])) == pytest.approx(0.3, abs=0.03)


def test_predictors_of_another_fit_mean_the_same():
    """A Gaussian's are of y standardised by other labels, an ordinal's lie between cut-points of another width."""
    gaussian, ordinal = registry()["gaussian"](), registry()["ordinal"](4)
    zero, unit = units(gaussian, np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 0.5]))
    assert zero + unit * 0.7 == pytest.approx((2.0 + 3.0 * 0.7 - 5.0) / 0.5)
    zero, unit = units(ordinal, np.array([-1.0, 0.0, 1.0]), np.array([0.5, 2.5, 4.5]))
    np.testing.assert_allclose(zero + unit * np.array([-1.0, 0.0, 1.0]), [0.5, 2.5, 4.5])
    both = Several([gaussian, ordinal])
    own, new = np.array([1.0, 2.0, 3.0, -1.0, 0.0, 1.0]), np.array([1.0, 5.0, 0.5, 0.5, 2.5, 4.5])
    np.testing.assert_allclose(units(both, own, new)[1], [6.0, 2.0])


def test_moments_of_a_calibrated_predictor():
    """E[s'²] and E[exp s'] of a normal s, by Monte Carlo."""
    draws = RNG.normal(0.4, 0.3, size=400_000)
    found = Calibration(np.array([0.2, 0.2]), np.array([0.5, 0.5]), np.zeros(0))
    score, moment = np.full((1, 2), 0.4), np.array([[0.4**2 + 0.3**2, np.exp(0.4 + 0.045)]])
    mean, power = found.moments(score, moment, np.array([False, True]))
    there = 0.2 + 0.5 * draws
    np.testing.assert_allclose(mean, 0.4)
    np.testing.assert_allclose(power[0], [(there**2).mean(), np.exp(there).mean()], rtol=3e-3)


def test_levels_are_the_probability_of_the_narrowest_interval():
    response, s = registry()["gaussian"](), RNG.normal(size=300)
    y = s + RNG.normal(size=300)
    y[:2] = s[:2] + np.array([4.0, -12.0])
    found = levels(response, y, s[:, None], s[:, None] ** 2, np.array([1.0, 0.0, 1.0]))
    away, widest = np.abs(y - s), norm.ppf(0.5 + 0.5 * WIDEST)
    np.testing.assert_allclose(found, np.where(away < widest, 2 * norm.cdf(away) - 1, away / widest), atol=2e-4)


@pytest.mark.parametrize("name", ["poisson", "gaussian", "gamma"])
def test_intervals_hold_labels_that_the_response_does_not_expect(name):
    """Counts that vary far more than a Poisson's, and other misfits: intervals at the level of a share hold it."""
    rng, response = np.random.default_rng(8), registry()[name]()
    s = rng.normal(4.0, 0.2, size=4000)
    sign, numbers = {"poisson": (1, []), "gaussian": (1, [1.0, 0.0, 1.0]), "gamma": (-1, [1e4, 1.0])}[name]
    y = rng.negative_binomial(0.7, 0.7 / (0.7 + np.exp(s))) + (0.001 if name == "gamma" else 0.0)
    score = (np.exp(s) if name == "gaussian" else sign * s)[:, None]
    given = (score, np.exp(score) if response.is_product[0] else score**2, np.array(numbers))
    found = np.sort(levels(response, y[:2000], given[0][:2000], given[1][:2000], given[2]))
    assert found[-1] > 3
    for share in (0.5, 0.9, 0.99):
        low, high = interval_at(response, *given, level_of(found, share))
        held = (low <= y) & (y <= high)
        assert held[:2000].mean() == pytest.approx(share, abs=0.012)
        assert held[2000:].mean() == pytest.approx(share, abs=0.04)  # four standard errors
        assert name == "gaussian" or low.min() >= 0
        assert name != "poisson" or ((low == np.rint(low)) & (high == np.rint(high))).all()


def test_intervals_are_wider_at_a_higher_level():
    """Also from the response's own intervals to stretched ones, and where its median is the smallest count."""
    for name, s in (("poisson", -12.0), ("poisson", 2.0), ("negative_binomial", 0.5), ("weibull", 1.0)):
        response, score = registry()[name](), np.array([[s]])
        given = (score, np.exp(score) if response.is_product[0] else score**2, np.array([2.0, 1.0]))
        given = (*given[:2], given[2][: response.n_dispersion])
        ends = [interval_at(response, *given, level) for level in (0.5, 0.99, WIDEST - 1e-6, 1.0, 1.5, 4.0)]
        lows, highs = (np.array([end[side][0] for end in ends]) for side in (0, 1))
        assert (np.diff(lows) <= 1e-9).all() and (np.diff(highs) >= -1e-9).all() and highs[-1] > highs[2]
        assert lows.min() >= 0
        np.testing.assert_allclose(highs[3], max(highs[2], response.grain), rtol=2e-3)


def test_the_level_has_the_rank_that_a_guarantee_asks_for():
    found = np.linspace(0.01, 0.99, 99)
    assert level_of(found, 0.9) == pytest.approx(0.90)  # 90 of 99, ceil(100 · 0.9)
    assert level_of(found, 0.995) > 0.9999  # more than 99 documents can promise
    assert level_of(np.append(found, 7.0), 0.995) >= 7.0
    many = RNG.random(10_001)
    few = condense(many)
    assert len(few) == 2000 and set(few) <= set(many)
    assert level_of(few, 0.9) == pytest.approx(0.9, abs=0.02)


# --- the estimators -----------------------------------------------------------------------------------------------


PROMISED = ["gaussian", "poisson", "negative_binomial", "gamma", "weibull"]


@pytest.mark.slow
@pytest.mark.parametrize("response", cases(PROMISED, ["gaussian", "negative_binomial"]))
def test_intervals_hold_what_they_promise(response):
    """Topics that are pulled hard give intervals that are too narrow, unless they are cross-fitted."""
    counts, y = documents(response, 1500)
    train, test = slice(0, 500), slice(500, None)
    model = SLDARegressor(10, response=response, inference="vb", supervision=30, cross_fit=5, max_iter=25).fit(
        counts[train], y[train]
    )
    _, low, high = model.predict(counts[test], return_interval=0.8)
    covered = np.mean((low <= y[test]) & (y[test] <= high))
    assert 0.76 < covered < (0.9 if response in ("poisson", "negative_binomial") else 0.85)


@pytest.mark.slow
def test_noise_gives_no_findings():
    counts, _ = documents("gaussian")
    beyond = []
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(size=700)
        model = SLDARegressor(10, inference="vb", supervision=30, cross_fit=5, random_state=seed, max_iter=25).fit(
            counts, noise
        )
        beyond.append(np.mean(np.abs(model.coef_) > 1.645 * model.coef_std_))
        assert model.dispersion_ > 0.85 * noise.var()
        plain = model.set_params(cross_fit=0).fit(counts, noise)
        assert np.mean(np.abs(plain.coef_) > 1.645 * plain.coef_std_) > 0.3  # it does without
    assert np.mean(beyond) < 0.16


def test_folds_of_prediction_constrained_fits_come_as_far_as_the_whole(monkeypatch):
    """Others would be less bold, and the slope that they give too steep; the whole fit says when to stop."""
    counts, y = documents("gaussian", 200)
    given = []
    monkeypatch.setattr(folds, "fit", lambda spec, *rest: given.append(spec.settings) or fit(spec, *rest))
    model = SLDARegressor(3, cross_fit=2, max_iter=5).fit(counts, y)
    penalties = model.fitted_.terms.penalties
    assert list(penalties) == [0]
    assert [one.penalties for one in given] == [penalties] * 2
    assert [(one.best_epoch, one.stride) for one in given] == [(model.fitted_.terms.epochs, 1.0)] * 2
    given.clear()
    SLDARegressor(3, cross_fit=2, max_iter=15, inference=PC(validation_fraction=0.0)).fit(counts, y)
    assert [(one.best_epoch, one.stride) for one in given] == [(6, 2.5)] * 2
    given.clear()
    SLDARegressor(3, cross_fit=2, max_iter=0).fit(counts, y)
    assert [(one.best_epoch, one.stride) for one in given] == [(0, 1.0)] * 2


def fit_with(model, counts, y, **settings):
    """A fit whose engine reads these settings."""
    corpus, read = Corpus(counts), model._read_y(y, len(y))
    spec = model._spec(model._schema(read, corpus))
    spec = replace(spec, settings=replace(spec.settings, **settings))
    return fit(
        spec, Training(corpus, read.column, np.ones(len(y)), np.zeros((len(y), 0)), Known(len(y))), model.random_state
    )


@pytest.mark.parametrize("share", [0.0, 0.125])
def test_longer_steps_come_as_far_in_fewer_epochs(share, monkeypatch):
    """The sum of the steps' rates, up to the best epoch and over all documents, is that of the long fit."""
    counts, y = documents("gaussian", 200)
    rates = []
    monkeypatch.setattr(Climb, "rates", lambda self, rate, of=Climb.rates: rates.append(rate) or of(self, rate))

    def path(best_epoch, stride):
        rates.clear()
        model = SLDARegressor(3, cross_fit=0, max_iter=24, inference=PC(validation_fraction=share), random_state=0)
        fit_with(model, counts, y, best_epoch=best_epoch, stride=stride)
        first = best_epoch * -(-round(200 * (1 - share)) // 16)
        return sum(rates[:first]), sum(rates[first:])

    (far, last), (as_far, last_too) = path(20, 1.0), path(5, 4.0)
    assert as_far == pytest.approx(far, rel=0.05)  # a step that is four times as long falls four times as fast
    assert last_too == pytest.approx(last, rel=0.5) if share else last == last_too == 0  # two epochs, or six


@pytest.mark.parametrize(("inference", "max_iter"), [("pc", 20), ("vb", 12)])
def test_grades_of_folds_in_the_units_of_the_whole(inference, max_iter, monkeypatch):
    """Predictors of fits whose cut-points lie closer together are stretched."""
    counts, y = documents("ordinal", 200)
    half, others, scores = np.arange(200) % 2, {}, []
    calibrate_them = cross_fit.calibrate
    monkeypatch.setattr(cross_fit, "folds_of", lambda *given: splits_of_parts(half))

    def watched(spec, training, seed):
        found = fit(spec, training, seed)
        others[int((training.corpus.counts != counts[half == 0]).nnz == 0)] = found  # which fold it is without
        return found

    monkeypatch.setattr(folds, "fit", watched)
    monkeypatch.setattr(
        cross_fit, "calibrate", lambda *given, **more: scores.append(given[3:]) or calibrate_them(*given, **more)
    )
    SLDAClassifier(3, response="ordinal", inference=inference, cross_fit=2, max_iter=max_iter).fit(counts, y)
    found, cuts = scores[0]
    assert set(others) == {0, 1}
    for number, other in others.items():
        own = scores_of(other, Corpus(counts[half == number]), np.zeros((100, 0))).score
        gaps = np.ptp(cuts) / np.ptp(other.state.dispersion)
        assert abs(gaps - 1) > 0.01
        assert np.ptp(found[half == number]) == pytest.approx(gaps * np.ptp(own), rel=1e-5)


def test_a_fit_that_knows_its_best_epoch_trains_like_the_one_that_found_it(monkeypatch):
    """The same documents are held out, steps are as long, and the last epochs over all documents follow."""
    counts, y = documents("gaussian", 200)
    y = y + 0.5 * y.std() * np.random.default_rng(2).normal(size=200)
    rates, rows = [], []
    monkeypatch.setattr(prediction_start, "AGREEING", 1)  # as in a fold
    monkeypatch.setattr(Climb, "rates", lambda self, rate, of=Climb.rates: rates.append(rate) or of(self, rate))
    monkeypatch.setattr(pc, "_split", lambda task, of=pc._split: rows.append(of(task)) or of(task))
    monkeypatch.setattr(
        pc, "as_well", lambda values, best, together: values.sum() > best.sum()
    )  # so that one is the best
    whole = SLDARegressor(8, cross_fit=0, max_iter=20, random_state=0).fit(counts, y)
    found, n_batches = rates.copy(), -(-175 // 16)  # an eighth of the documents is held out
    epochs = whole.fitted_.terms.epochs
    best, last = epochs * n_batches, round(0.3 * epochs) * -(-200 // 16)
    assert last and len(found) > best + last  # epochs after the best one
    rates.clear()
    again = fit_with(SLDARegressor(8, cross_fit=0, max_iter=20, random_state=0), counts, y, best_epoch=epochs)
    assert again.terms.epochs == epochs
    assert rates == found[:best] + found[-last:]
    np.testing.assert_array_equal(rows[0][1], rows[1][1])
    assert users_dispersion(again) == pytest.approx(whole.dispersion_, rel=0.02)  # of the documents held out


def test_a_fit_that_knows_its_best_epoch_asks_words_once_what_to_follow(monkeypatch):
    """Its last epochs, over all documents, follow what those before have followed."""
    counts, y = documents("gaussian", 300)
    guided, rows, trained = [], [], []
    monkeypatch.setattr(pc, "_split", lambda task, of=pc._split: rows.append(of(task)) or of(task))
    monkeypatch.setattr(pc, "guided", lambda *given, of=pc.guided: guided.append(of(*given)) or guided[-1])
    monkeypatch.setattr(
        pc.Trainer, "epoch", lambda self, *at, of=pc.Trainer.epoch: trained.append(self) or of(self, *at)
    )
    model = SLDARegressor(3, cross_fit=0, max_iter=20, random_state=0)
    fit_with(model, counts, y, best_epoch=2, stride=2.0)
    (train, held), (ours, theirs) = guided[0], rows[0]
    assert len(guided) == 1 and len(held) and np.abs(train.y - y[ours]).max() > 0.01
    np.testing.assert_array_equal(trained[0].train.y, train.y)
    np.testing.assert_array_equal(trained[-1].train.y[ours], train.y)
    np.testing.assert_array_equal(trained[-1].train.y[theirs], held.y)
    guided.clear()
    model.fit(counts, y)
    assert len(guided) == 2


def test_a_fold_is_predicted_by_a_fit_without_its_documents(monkeypatch):
    """Every document with a label is absent from one fit of a fold, with its words; those without are in all."""
    counts, y = documents("gaussian", 60)
    y[::6] = np.nan
    seen = []

    def watched(spec, training, seed):
        assert training.corpus.counts.shape[0] == len(training.y)
        seen.append(training.y)
        return fit(spec, training, seed)

    monkeypatch.setattr(folds, "fit", watched)
    SLDARegressor(3, cross_fit=4, max_iter=2).fit(counts, y)
    known = y[~np.isnan(y)]
    assert [sum(one in labels for labels in seen) for one in known] == [3] * len(known)
    assert [np.isnan(labels).sum() for labels in seen] == [10] * 4


def test_classes_have_calibrated_chances_and_prediction_sets(tmp_path):
    counts, y = documents("softmax", 1400)
    train, test = slice(0, 600), slice(600, None)
    model = SLDAClassifier(10, supervision=30, cross_fit=5, max_iter=15).fit(counts[train], y[train])
    chances = model.predict_proba(counts[test])
    sure, right = chances.max(axis=1), model.predict(counts[test]) == y[test]
    assert abs(sure.mean() - right.mean()) < 0.06
    sets = model.predict_set(counts[test], 0.9)
    assert 0.86 < sets[np.arange(800), y[test].astype(int)].mean() < 0.95
    assert sets.sum(axis=1).mean() < 3
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_set(counts[test], 0.9), sets)
    with pytest.raises(ValueError, match="fit with cross_fit=5"):
        model.set_params(cross_fit=0).fit(counts[train], y[train]).predict_set(counts[test])


@pytest.mark.parametrize("inference", ["svi", "gibbs"])
def test_other_engines_covariates_missing_labels_and_files(inference, tmp_path):
    counts, y = documents("gaussian", 300)
    extra = RNG.normal(size=(300, 1))
    y = y + 2 * extra[:, 0]
    y[::5] = np.nan
    model = SLDARegressor(4, inference=inference, cross_fit=3, max_iter=20).fit(counts, y, covariates=extra)
    assert model.covariate_coef_[0, 0] == pytest.approx(2.0, abs=0.4)
    found = model.predict(counts, return_interval=0.9, covariates=extra)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict(counts, return_interval=0.9, covariates=extra), found
    )


def test_several_responses_have_levels_each():
    counts, y = documents("gaussian", 300)
    grade = np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(float)
    both = np.column_stack([y, grade])
    model = TopicModel(4, response=["gaussian", "ordinal"], cross_fit=3, max_iter=8).fit(counts, both)
    assert (
        model.fitted_.certainty.levels.shape[0] == 2 and np.isfinite(model.fitted_.certainty.levels).any(axis=1).all()
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"cross_fit": -1}, "cross_fit: got -1, expected a whole number >= 0"),
        ({"cross_fit": 1}, "cross_fit: got 1, expected 0, or 2 and more folds"),
        ({"ensemble": 0}, "ensemble: got 0, expected a whole number >= 1"),
    ],
)
def test_senseless_folds_are_refused_before_the_fit(params, message):
    counts, y = documents("gaussian", 60)
    model = SLDARegressor(2, **params)
    with pytest.raises(ValueError, match=message):
        model.fit(counts, y)
    assert not hasattr(model, "_state")


def test_few_labels_are_cut_into_fewer_folds_or_a_warning_says_so():
    counts, y = documents("gaussian", 40)
    y[24:] = np.nan
    with pytest.warns(UserWarning, match="cross_fit: got 5 with 24 labels, enough for 4 folds only"):
        model = SLDARegressor(2, cross_fit=5, max_iter=3).fit(counts, y)
    assert np.isfinite(model.fitted_.certainty.levels).sum() == 24
    y[9:] = np.nan
    with pytest.warns(UserWarning, match="cross_fit: got 5 with 9 labels, fewer than the 10 that two folds need"):
        model = SLDARegressor(2, cross_fit=5, max_iter=3).fit(counts, y)
    assert not hasattr(model, "_conformal") and np.isfinite(model.predict(counts)).all()


@pytest.mark.parametrize(
    ("of_topics", "more"),
    [(0.0, {}), (2.0, {}), (0.0, {"ensemble": 2}), (0.0, {"words": True}), (2.0, {"words": True})],
)
def test_a_covariate_keeps_its_effect_beside_topics(of_topics, more):
    """The slope of out-of-fold predictors is that of the topics, which may tell nothing; the covariate has its own."""
    counts, told = documents("gaussian", 300)
    x = RNG.normal(size=(300, 1))
    y = x[:, 0] + of_topics * told / told.std() + RNG.normal(size=300)
    model = SLDARegressor(10, supervision=30, inference="vb", cross_fit=3, max_iter=10, **more)
    model.fit(counts, y, covariates=x)
    assert model.covariate_coef_[0, 0] == pytest.approx(1.0, abs=0.2)
    assert model.covariate_std_[0, 0] == pytest.approx((model.dispersion_ / 300) ** 0.5, rel=0.25)
    more_of_it = model.predict(counts, covariates=x + 1) - model.predict(counts, covariates=x)
    np.testing.assert_allclose(more_of_it, model.covariate_coef_[0, 0], rtol=1e-4)


def test_an_epoch_is_as_good_as_the_best_within_the_noise_of_its_labels():
    rng = np.random.default_rng(2)
    best, change = rng.normal(size=400), rng.normal(size=400)
    change -= change.mean()
    error = change.std() / 20  # of a mean of 400
    assert as_well(best + change - 0.9 * error, best) and not as_well(best + change - 1.1 * error, best)
    assert as_well(best + 1e-9, best) and not as_well(best, best)
    assert not as_well(best - 1e-9, best)  # all labels are told worse, if by little
    twice, codes = np.repeat(change, 2), np.repeat(np.arange(400), 2)
    of_pairs = twice - 0.9 * error  # of documents that are there twice: their error is that of 400
    assert not as_well(of_pairs, np.zeros(800)) and as_well(of_pairs, np.zeros(800), codes)


@pytest.mark.filterwarnings("ignore:covariates. .* columns for .* labels")
@pytest.mark.parametrize("response", ["gaussian", "poisson", "logit"])
def test_covariates_of_many_columns_do_not_know_the_labels_that_they_are_measured_on(response):
    """Noise by 100 categories: an estimate of each from its two or three labels is no knowledge of either."""
    rng, counts = np.random.default_rng(3), simulate(240, 3, 60, 30, seed=1).counts.counts
    names = pd.get_dummies(rng.permutation(np.arange(240) % 100).astype(str), drop_first=True, dtype=float)
    y = {"gaussian": rng.normal(size=240), "poisson": rng.poisson(3.0, 240), "logit": rng.integers(0, 2, 240)}[response]
    kind = SLDAClassifier if response == "logit" else SLDARegressor
    model = kind(3, response=response, max_iter=3, random_state=0).fit(counts, y, covariates=names)
    found = model.out_of_fold_
    if response == "logit":
        assert (found["prediction"] == y).mean() < 0.6
        assert model.fitted_.certainty.figures[0][5] < 0.65  # the upper end of those that are right
        return
    assert ((found["y"] - found["prediction"]) ** 2).mean() > 0.95 * y.var()
    new = rng.normal(size=240) if response == "gaussian" else rng.poisson(3.0, 240)
    _, low, high = model.predict(counts, covariates=names, return_interval=0.9)
    assert ((low <= new) & (new <= high)).mean() > 0.85


def test_many_covariates_warn():
    counts, rng = simulate(60, 3, 60, 30, seed=1).counts.counts, np.random.default_rng(0)
    with pytest.warns(UserWarning, match="covariates: 20 columns for 60 labels: predictions will be rough"):
        SLDARegressor(3, max_iter=3, cross_fit=2).fit(counts, rng.normal(size=60), covariates=rng.normal(size=(60, 20)))
