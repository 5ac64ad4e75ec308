"""Random draws against distribution functions, moments, extremes, and the way a range is cut.

Seeds are fixed, so a bound of 2.2 / sqrt(n) on the Kolmogorov distance (chance 1e-4 for a right sampler) is not a
gamble: it holds today and until a formula changes.
"""

import numpy as np
import pytest
from numba import config, njit
from scipy import stats
from scipy.special import log_ndtr

from supertopic.inference.gibbs.coefficients import draw_coefficients
from supertopic.kernels import draws
from tests.naive_draws import polya_gamma_cdf, polya_gamma_moments, polya_gamma_sum_error

N = 200_000
BOUND = 2.2
INF = np.inf
KERNELS = {
    "normal": (draws.draw_normal, ()),
    "exponential": (draws.draw_exponential, (2.0,)),
    "gamma": (draws.draw_gamma, (0.4, 3.0)),
    "inverse_gaussian": (draws.draw_inverse_gaussian, (2.0, 3.0)),
    "polya_gamma": (draws.draw_polya_gamma, (1.0, 0.7)),
    "polya_gamma_real": (draws.draw_polya_gamma, (2.3, 0.7)),
    "polya_gamma_sum": (draws.draw_polya_gamma, (12.3, 0.7)),
    "truncated_normal": (draws.draw_truncated_normal, (0.5, 2.0, 1.0, INF)),
}


def sample(kernel, *parameters, n=N, seed=11, sweep=3, purpose=5):
    out = np.empty(n)
    kernel(0, n, seed, sweep, purpose, *(np.full(n, float(value)) for value in parameters), out)
    return out


def distance(drawn, cdf, n_places=200):
    """sqrt(n) times the largest gap to the distribution function at so many places; ~Kolmogorov's law."""
    drawn = np.sort(drawn)
    places = drawn[(np.linspace(0.0005, 0.9995, n_places) * len(drawn)).astype(int)]
    share = np.searchsorted(drawn, places, side="right") / len(drawn)
    return np.abs(share - cdf(places)).max() * np.sqrt(len(drawn))


def moment_z(drawn, mean, variance):
    return abs(drawn.mean() - mean) / np.sqrt(variance / len(drawn))


@pytest.mark.parametrize(
    ("kernel", "parameters", "law"),
    [
        (draws.draw_normal, (), stats.norm()),
        (draws.draw_exponential, (2.5,), stats.expon(scale=0.4)),
        *[(draws.draw_gamma, (a, 2.0), stats.gamma(a, scale=0.5)) for a in (0.02, 0.3, 0.999, 1.0, 3.7, 500.0, 1e7)],
        *[(draws.draw_gamma, (d / 2, 0.5), stats.chi2(d)) for d in (1, 4)],
        *[
            (draws.draw_inverse_gaussian, (m, s), stats.invgauss(m / s, scale=s))
            for m, s in ((1.0, 1.0), (3.0, 0.5), (0.2, 7.0), (1e3, 1.0), (1.0, 1e4))
        ],
        (draws.draw_inverse_gaussian, (INF, 2.5), stats.invgamma(0.5, scale=1.25)),
        (draws.draw_inverse_gaussian, (1e30, 2.5), stats.invgamma(0.5, scale=1.25)),
        (draws.draw_inverse_gaussian, (2.0, 2e8), stats.norm(2.0, np.sqrt(8 / 2e8))),
        *[
            (draws.draw_truncated_normal, (1.0, 2.0, 1 + 2 * a, 1 + 2 * b), stats.truncnorm(a, b, loc=1.0, scale=2.0))
            for a, b in (
                (-INF, INF),
                (0.0, INF),
                (-INF, -0.3),
                (-1.0, INF),
                (2.0, INF),
                (-INF, -6.0),
                (-0.5, 0.4),
                (-1.1, 1.2),
                (-2.0, 1.5),
                (0.3, 0.9),
                (0.1, 4.0),
                (-9.0, -5.0),
                (3.0, 3.001),
            )
        ],
    ],
)
def test_draws_follow_their_law(kernel, parameters, law):
    assert distance(sample(kernel, *parameters), law.cdf) < BOUND


@pytest.mark.parametrize("c", [0.0, -0.8, 4.0, 20.0])
@pytest.mark.parametrize("b", [0.05, 0.4, 1.0, 1.6, 4.3, 25.0, 300.0])
def test_polya_gamma_follows_its_law(b, c):
    drawn = sample(draws.draw_polya_gamma, b, c)
    mean, variance = polya_gamma_moments(b, c)
    if c:
        # The closed forms of Polson, Scott and Windle hold the sums to account.
        assert mean == pytest.approx(b / (2 * c) * np.tanh(c / 2), rel=1e-9)
        assert variance == pytest.approx(b / (4 * c**3) * (np.sinh(c) - c) / np.cosh(c / 2) ** 2, rel=1e-9)
    assert moment_z(drawn, mean, variance) < 4
    fourth = ((drawn - mean) ** 4).mean()
    assert abs(((drawn - mean) ** 2).mean() - variance) < 4 * np.sqrt((fourth - variance**2) / N)
    assert distance(drawn, lambda x: polya_gamma_cdf(x, b, abs(c)), n_places=30) < BOUND


@pytest.mark.parametrize("c", [0.0, 1e-9, 0.03, 0.0999, 0.1001, 1.0, 9.0])
def test_polya_gamma_moments(c):
    assert draws._polya_gamma_moments(c) == pytest.approx(polya_gamma_moments(1.0, c), rel=1e-9)


def test_series_of_polya_gamma_is_decided_right():
    """Just below and just above the whole alternating sum, taken here term by term with more digits."""
    for b in (1e-6, 0.05, 0.4, 1.0, 1.4, 3.0):
        for y in (0.01, 0.5, 1.0, 2.0, 3.7, 6.0, 9.0, 12.0, 14.0):
            n = np.arange(1, 200, dtype=np.longdouble)
            ratio = (n - 1 + b) * (2 * n + b) / (n * (2 * n - 2 + b)) * np.exp(-(4 * n - 2 + 2 * b) / y)
            total = float(1 + (np.cumprod(ratio) * (-1) ** n).sum())
            assert 0 < total <= 1
            assert draws._jacobi_accepts(total * (1 - 1e-6), y, b)
            assert total == 1 or not draws._jacobi_accepts(total * (1 + 1e-6), y, b)
        assert not draws._jacobi_accepts(2.0**-54, 1e12, b)


def test_polya_gamma_of_large_c_is_inverse_gaussian():
    """(1 + e^-c)^b is 1 in double precision: PG(b, c) = IG(b / (2c), b^2 / 4), whatever b."""
    for b, c in ((1e-3, 100.0), (1.0, 1e4), (50.0, -1e6), (7.3, 1e9)):
        law = stats.invgauss((b / (2 * abs(c))) / (b * b / 4), scale=b * b / 4)
        if b / abs(c) > 1e-4:
            assert distance(sample(draws.draw_polya_gamma, b, c), law.cdf) < BOUND
        drawn = sample(draws.draw_polya_gamma, b, c)
        assert moment_z(drawn, b / (2 * abs(c)), b / (4 * abs(c) ** 3) * 2) < 4


@pytest.mark.parametrize("c", [0.0, 1.0, 3.0, 5.0, 8.0, 12.0])
def test_polya_gamma_by_four_gammas_errs_by_less_than_it_says(c):
    """Where exact pieces end, the distribution function of four gammas and the matched fifth is right to 6e-7."""
    b = (draws.PG_PIECES + 1e-6) / np.log1p(np.exp(-c))
    for factor in (1, 3, 30):
        assert polya_gamma_sum_error(b * factor, c, draws.PG_GAMMAS) < 6e-7


@pytest.mark.parametrize(
    ("location", "scale", "lower", "upper"),
    [(0.0, 1.0, 40.0, INF), (0.0, 1.0, 40.0, 40.01), (5.0, 0.1, -INF, 0.0), (0.0, 1.0, 300.0, 301.0)],
)
def test_truncated_normal_far_in_the_tail(location, scale, lower, upper):
    drawn = sample(draws.draw_truncated_normal, location, scale, lower, upper)
    # Mirrored to the right tail; 1 - exp(log sf(x) - log sf(edge)), over its value at the far end.
    flip = -1 if upper < location else 1
    edge, end = sorted((flip * (lower - location) / scale, flip * (upper - location) / scale))

    def share(z):
        return -np.expm1(log_ndtr(-z) - log_ndtr(-edge))

    assert distance(flip * (drawn - location) / scale, lambda z: share(z) / (share(end) if end < INF else 1)) < BOUND


def test_truncated_normal_keeps_the_digits_near_a_bound_at_zero():
    """N(-1e9, 1) above 0 is exponential with rate 1e9; measured from the location it would be a grid of 1e-7."""
    assert distance(sample(draws.draw_truncated_normal, -1e9, 1.0, 0.0, INF) * 1e9, stats.expon().cdf) < BOUND
    assert distance(sample(draws.draw_truncated_normal, 1e9, 1.0, -INF, 0.0) * -1e9, stats.expon().cdf) < BOUND


EXTREMES = [
    (draws.draw_gamma, ([1e-300, 1e-8, 1e-3, 1.0, 1e12], [1e-300, 1.0, 1e300])),
    (draws.draw_inverse_gaussian, ([1e-300, 1e-8, 1.0, 1e8, 1e300, INF], [1e-300, 1e-8, 1.0, 1e8, 1e300])),
    (draws.draw_polya_gamma, ([1e-300, 1e-8, 1e-2, 1.0, 7.7, 1e3, 1e9], [0.0, 1e-300, 1e-9, 1.0, 40, 1e4, 1e9, 1e300])),
]


def grid_of(values):
    return [np.repeat(axis.ravel(), 300).astype(float) for axis in np.meshgrid(*values, indexing="ij")]


@pytest.mark.parametrize(("kernel", "values"), EXTREMES)
def test_extreme_parameters_give_positive_finite_draws(kernel, values):
    parameters = grid_of(values)
    out = np.empty(len(parameters[0]))
    kernel(0, len(out), 1, 1, 1, *parameters, out)
    assert np.isfinite(out).all() and (out > 0).all()


def test_extreme_scales_are_right_not_only_finite():
    """Medians where the law is known: no cancellation leaves the right order of magnitude."""
    chi2_median = stats.chi2(1).median()
    for mean, shape in ((1e8, 1.0), (1e300, 1e-3), (INF, 1e8)):
        median = np.median(sample(draws.draw_inverse_gaussian, mean, shape, n=20_000))
        assert median == pytest.approx(shape / chi2_median, rel=0.05)
    tight = sample(draws.draw_inverse_gaussian, 1e-8, 1.0, n=20_000)
    assert tight.std() == pytest.approx(np.sqrt(1e-24), rel=0.03) and tight.mean() == pytest.approx(1e-8, rel=1e-5)
    assert np.median(sample(draws.draw_polya_gamma, 1.0, 1e9, n=20_000)) == pytest.approx(0.5e-9, rel=1e-4)
    assert sample(draws.draw_polya_gamma, 1e9, 3.0, n=100).mean() == pytest.approx(1e9 / 6 * np.tanh(1.5), rel=1e-4)


def test_truncated_normal_stays_inside_its_bounds():
    location, scale, lower, width = grid_of(
        [[-1e8, 0.0, 3.0], [1e-6, 1.0, 1e6], [-INF, -50.0, -1.0, 0.0, 7.0], [0.0, 1e-12, 1.0, INF]]
    )
    upper = np.where(np.isinf(lower), 0.0, lower) + width
    out = np.empty(len(lower))
    draws.draw_truncated_normal(0, len(out), 1, 1, 1, location, scale, lower, upper, out)
    assert np.isfinite(out).all() and (out >= lower).all() and (out <= upper).all()


@pytest.mark.skipif(config.DISABLE_JIT, reason="Python's square root raises an error where the compiled one is NaN")
@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        (draws.draw_exponential, (-1.0,)),
        (draws.draw_gamma, (0.0, 1.0)),
        (draws.draw_gamma, (1.0, -1.0)),
        (draws.draw_inverse_gaussian, (-1.0, 1.0)),
        (draws.draw_inverse_gaussian, (1.0, 0.0)),
        (draws.draw_polya_gamma, (-1.0, 1.0)),
        (draws.draw_polya_gamma, (1.0, np.nan)),
        (draws.draw_truncated_normal, (0.0, 1.0, 2.0, 1.0)),
        (draws.draw_truncated_normal, (0.0, 0.0, -1.0, 1.0)),
        (draws.draw_truncated_normal, (np.nan, 1.0, 0.0, 1.0)),
    ],
)
def test_illegal_parameters_give_nan(kernel, parameters):
    assert np.isnan(sample(kernel, *parameters, n=20)).all()


def test_polya_gamma_of_nothing_is_zero():
    assert (sample(draws.draw_polya_gamma, 0.0, 1.0, n=20) == 0).all()


@njit
def most_uniforms(kind, one, two, three, four):
    """The most uniforms that one draw took: the stream steps by GOLDEN, whose inverse mod 2^64 counts the steps."""
    inverse = np.uint64(0xF1DE83E19937733D)
    most = np.uint64(0)
    key = draws._key(7, 7, 7)
    for i in range(len(one)):
        stream = draws._stream(key, i)
        if kind == 0:
            _, end = draws._gamma(stream, one[i])
        elif kind == 1:
            _, end = draws._polya_gamma_piece(stream, one[i], two[i])
        else:
            _, end = draws._truncated_normal(stream, one[i], two[i], three[i], four[i])
        most = max(most, (end - stream) * inverse)
    return most


def test_rejection_loops_stay_far_from_their_cap():
    """A loop that gives up has taken 200 tries of 2 (truncated normal) to 4 (PG) uniforms: here, never a quarter."""
    rng = np.random.default_rng(0)
    n = 400_000
    ones = np.ones(n)
    anything = 10.0 ** rng.uniform(-12, 8, (4, n))
    c = np.where(rng.random(n) < 0.3, 0.0, 10.0 ** rng.uniform(-3, 4, n))
    piece = np.minimum(anything[0], 1.0) / np.log1p(np.exp(-np.minimum(c, 20.0)))
    edge = rng.normal(0, 10, n)
    assert most_uniforms(0, anything[0], ones, ones, ones) < 50
    assert most_uniforms(1, piece, c, ones, ones) < 200
    assert most_uniforms(2, 0 * ones, ones, edge, edge + anything[3]) < 100
    assert most_uniforms(2, 0 * ones, ones, edge, INF * ones) < 100


@pytest.mark.parametrize("name", KERNELS)
def test_a_cut_range_gives_the_same_bits(name):
    kernel, parameters = KERNELS[name]
    whole = sample(kernel, *parameters, n=1000)
    cut = np.full(1000, np.nan)
    arrays = [np.full(1000, float(value)) for value in parameters]
    for start, stop in ((613, 1000), (0, 1), (1, 613)):
        kernel(start, stop, 11, 3, 5, *arrays, cut)
    np.testing.assert_array_equal(whole, cut)


@pytest.mark.parametrize("name", KERNELS)
def test_streams_of_seeds_sweeps_purposes_and_neighbours_are_uncorrelated(name):
    kernel, parameters = KERNELS[name]
    n = 100_000
    here = stats.rankdata(sample(kernel, *parameters, n=n))
    others = [
        sample(kernel, *parameters, n=n, **change)
        for change in ({"seed": 12}, {"sweep": 4}, {"purpose": 6}, {"seed": 3, "sweep": 11}, {"sweep": 5, "purpose": 3})
    ]
    for other in others:
        assert abs(np.corrcoef(here, stats.rankdata(other))[0, 1]) < 4 / np.sqrt(n)
    for lag in (1, 2, 64):
        assert abs(np.corrcoef(here[lag:], here[:-lag])[0, 1]) < 4 / np.sqrt(n)


def test_coefficients_have_the_posterior_mean_and_covariance():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 5))
    precision = root @ root.T
    linear = rng.normal(size=3)
    drawn = np.array([draw_coefficients(precision, linear, 1, sweep, 2) for sweep in range(20_000)])
    covariance = np.linalg.inv(precision)
    white = (drawn - covariance @ linear) @ np.linalg.cholesky(precision)
    np.testing.assert_allclose(white.mean(0), 0, atol=4 / np.sqrt(len(drawn)))
    np.testing.assert_allclose(white.T @ white / len(drawn), np.eye(3), atol=6 / np.sqrt(len(drawn)))
    np.testing.assert_array_equal(drawn[7], draw_coefficients(precision, linear, 1, 7, 2))


@pytest.mark.parametrize(
    ("precision", "linear", "words"),
    [
        (np.eye(3), np.zeros(2), r"shape \(3, 3\) and linear \(2,\)"),
        (np.diag([1.0, -2.0]), np.zeros(2), "eigenvalue -2"),
        (np.eye(2), np.array([0.0, np.nan]), "NaN"),
    ],
)
def test_coefficients_say_what_is_wrong(precision, linear, words):
    with pytest.raises(ValueError, match=words):
        draw_coefficients(precision, linear, 0, 0, 0)
