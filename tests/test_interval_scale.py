"""Intervals that are wider where noise is larger."""

import numpy as np
import pytest
from crepes import ConformalRegressor
from scipy.stats import norm

from supertopic import SLDARegressor, load
from supertopic.datasets import simulate
from supertopic.fitted.certainty.levels import scale_of
from supertopic.persistence import read_model, write_model
from supertopic.responses.base import registry
from supertopic.responses.interval_levels import WIDEST, interval_at, level_of
from supertopic.responses.interval_scale import Scale, cross_fitted, distances, fit_scale, levels_at


def documents(rng, n, shape="both"):
    """Features (n, 2) and distances whose scale depends on both, on none, or on the middle of the first."""
    features = rng.normal(size=(n, 2))
    log_scale = {"both": 0.5 * features[:, 0] - 0.4 * features[:, 1], "none": 0.0 * features[:, 0]}.get(
        shape, -np.abs(features[:, 0])
    )
    return features, np.abs(rng.normal(size=n)) * np.exp(log_scale)


def test_distances_and_levels_are_inverse():
    found = np.array([0.0, 0.2, 0.9, WIDEST, 1.0, 1.5, 7.0])
    again = levels_at(distances(found))
    np.testing.assert_allclose(np.delete(again, 4), np.delete(found, 4), atol=1e-12)
    assert again[4] == WIDEST and distances(np.array([0.9]))[0] == pytest.approx(norm.ppf(0.95))
    assert (np.diff(distances(np.linspace(0, 3, 500))) >= 0).all()


@pytest.mark.parametrize("shape", ["both", "middle"])
def test_the_scale_is_found(shape):
    rng = np.random.default_rng(0)
    features, distance = documents(rng, 6000, shape)
    scale = fit_scale(features, distance).of(features)
    true = np.exp(0.5 * features[:, 0] - 0.4 * features[:, 1]) if shape == "both" else np.exp(-np.abs(features[:, 0]))
    assert np.corrcoef(np.log(scale), np.log(true))[0, 1] > 0.95
    assert np.log(scale).mean() == pytest.approx(0.0, abs=1e-9)


def test_intervals_hold_in_every_tenth_of_the_documents():
    """One level for all holds 0.9 on average, and far less where noise is large."""
    rng = np.random.default_rng(1)
    features, distance = documents(rng, 24_000)
    known, new = slice(0, 4000), slice(4000, None)
    scale, over = cross_fitted(features[known], distance[known], np.arange(4000) % 5)
    q = level_of(np.sort(over), 0.9)
    held = distance[new] <= q * scale.of(features[new])
    plain = distance[new] <= level_of(np.sort(distance[known]), 0.9)
    assert held.mean() == pytest.approx(0.9, abs=0.015)
    worst = [
        min(h[tenth == number].mean() for number in range(10))
        for h in (held, plain)
        for tenth in (np.argsort(np.argsort(features[new, 0])) * 10 // 20_000,)
    ]
    assert worst[0] > 0.865 and worst[1] < 0.8


@pytest.mark.parametrize("n", [60, 300, 1000])
@pytest.mark.parametrize("shape", ["both", "none"])
def test_the_promise_on_average_is_kept(n, shape):
    """Over many draws, whatever the scale is worth."""
    held = []
    for seed in range(9000 // n):
        rng = np.random.default_rng(seed)
        features, distance = documents(rng, n + 1000, shape)
        scale, over = cross_fitted(features[:n], distance[:n], np.arange(n) % 5)
        held.append((distance[n:] <= level_of(np.sort(over), 0.9) * scale.of(features[n:])).mean())
    assert np.mean(held) == pytest.approx(0.9, abs=0.011)


def test_noise_that_is_the_same_everywhere_has_no_scale():
    found = [
        cross_fitted(*documents(np.random.default_rng(seed), 1500, "none"), np.arange(1500) % 5)[0].is_one
        for seed in range(10)
    ]
    assert np.mean(found) >= 0.8


def test_intervals_are_those_of_crepes():
    """Its normalised conformal regressor, given our scale."""
    rng = np.random.default_rng(3)
    features, distance = documents(rng, 2003)
    scale = fit_scale(*documents(np.random.default_rng(4), 3000))
    sigma, sign = scale.of(features), np.where(rng.random(2003) < 0.5, -1, 1)
    theirs = ConformalRegressor().fit(residuals=sign * distance, sigmas=sigma)
    new, _ = documents(rng, 50)
    ends = theirs.predict_int(np.zeros(50), sigmas=scale.of(new), confidence=0.9)
    half = level_of(np.sort(distance / sigma), 0.9) * scale.of(new)
    np.testing.assert_allclose(ends, np.column_stack([-half, half]), rtol=1e-9)


def test_few_documents_and_features_of_one_value_have_no_scale():
    rng = np.random.default_rng(5)
    assert fit_scale(*documents(rng, 100)).is_one
    features, distance = documents(rng, 3000)
    features[:, 1] = 7.0
    scale = fit_scale(features, distance)
    assert np.isfinite(scale.of(features)).all() and not scale.is_one
    np.testing.assert_array_equal(Scale.none(2).of(features), 1.0)


# --- in fits ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uneven():
    """A fit to numbers whose noise grows with their mean, and new documents."""
    data = simulate(6000, 4, 80, 40, doc_topic_prior=0.3, response="gaussian", seed=4)
    X, line = data.counts.counts, data.topic_shares @ np.array([-2.0, -1.0, 0.5, 2.0])
    y = line + np.exp(0.7 * line) * np.random.default_rng(0).normal(size=6000)
    model = SLDARegressor(6, max_iter=8, cross_fit=3, random_state=0).fit(X[:3000], y[:3000])
    return model, X[3000:], y[3000:]


def test_intervals_of_a_fit_are_wider_where_noise_is(uneven, tmp_path):
    model, X, y = uneven
    mean, low, high = model.predict(X, return_interval=0.9)
    held, tenth = (low <= y) & (y <= high), np.argsort(np.argsort(mean)) * 10 // len(y)
    assert held.mean() == pytest.approx(0.9, abs=0.025)
    assert min(held[tenth == number].mean() for number in range(10)) > 0.8
    width = high - low
    assert width[tenth == 9].mean() > 2 * width[tenth == 0].mean()
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X, return_interval=0.9), (mean, low, high))
    plain = model.fitted_.with_certainty(knots=None, widths=None)
    assert scale_of(plain, 0) is None
    model = load(tmp_path / "m")
    model.fitted_ = plain
    _, low, high = model.predict(X, return_interval=0.9)
    held = (low <= y) & (y <= high)
    assert min(held[tenth == number].mean() for number in range(10)) < 0.75  # one width for all


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("widths", None, "certainty.knots and certainty.widths: one of them is missing"),
        ("widths", lambda one: one * np.nan, "certainty.widths holds NaN"),
        ("widths", lambda one: one[:, :1], "certainty.widths has the shape"),
        ("knots", lambda one: one[:, :, ::-1], "certainty.knots holds numbers that do not ascend"),
    ],
)
def test_files_with_an_impossible_scale_are_refused(name, change, message, uneven, tmp_path):
    uneven[0].save(tmp_path / "m")
    manifest, arrays = read_model(tmp_path / "m")
    own = arrays.pop(f"certainty.{name}")
    if change is not None:
        arrays[f"certainty.{name}"] = np.ascontiguousarray(change(own))
    write_model(tmp_path / "m", manifest, arrays)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "m")


@pytest.mark.parametrize("name", ["gaussian", "poisson"])
def test_each_document_may_have_a_level_of_its_own(name):
    response, rng = registry()[name](), np.random.default_rng(0)
    score, levels = rng.normal(1.0, 0.5, size=(40, 1)), np.linspace(0.3, 3.0, 40)
    given = (
        score,
        np.exp(score) if response.is_product[0] else score**2,
        np.array([1.0, 0.0, 1.0])[: response.n_dispersion],
    )
    found = np.transpose(interval_at(response, *given, levels))
    for row, level in enumerate(levels):
        alone = interval_at(response, *(one[row : row + 1] for one in given[:2]), given[2], float(level))
        np.testing.assert_allclose(found[row], np.ravel(alone))
