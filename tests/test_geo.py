"""GeoSAGE: distances, regions and their M-step, places of new authors, what it shows, files."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.base import clone

from supertopic import GeoSAGE, load
from supertopic.documents.corpus import EmptyDocumentWarning
from supertopic.estimators.beyond.regions import Regions, distance_km, nearest_on_average
from supertopic.persistence import read_model, write_model

CENTRES = np.array([[40.7, -74.0], [34.0, -118.2], [29.8, -95.4]])


@pytest.fixture(scope="module")
def authors():
    """Three regions, 120 words, 400 authors: ten words are more frequent in each region."""
    rng = np.random.default_rng(0)
    region = rng.integers(0, 3, 400)
    place = CENTRES[region] + rng.normal(0, 0.7, (400, 2))
    weights = np.tile(rng.dirichlet(np.full(120, 2.0)), (3, 1))
    for r in range(3):
        weights[r, 10 * r : 10 * r + 10] *= 8
    weights /= weights.sum(axis=1, keepdims=True)
    counts = sp.csr_matrix(np.stack([rng.multinomial(60, weights[r]) for r in region]).astype(np.float32))
    return counts, place, region


def test_distances_are_great_circles():
    paris, london, new_york = np.array([48.8566, 2.3522]), np.array([51.5074, -0.1278]), np.array([40.7128, -74.0060])
    assert distance_km(paris, london) == pytest.approx(343.6, abs=1)
    assert distance_km(london, new_york) == pytest.approx(5570, abs=5)
    assert distance_km(np.array([0.0, 0.0]), np.array([0.0, 180.0])) == pytest.approx(np.pi * 6371, rel=1e-9)
    assert distance_km(paris, paris) == 0


def random_regions(place, seed=0):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(3, 2, 2))
    cov = half @ half.transpose(0, 2, 1) + np.eye(2)
    return Regions(place, np.array([0.2, 0.5, 0.3]), CENTRES.copy(), cov, 0.5 * np.eye(2))


def test_densities_of_places(authors):
    place = authors[1].copy()
    place[3] = np.nan
    regions = random_regions(place)
    logs = regions.logs()
    for r in range(3):
        expected = np.log(regions.shares[r]) + multivariate_normal(regions.mean[r], regions.cov[r]).logpdf(place[:3])
        np.testing.assert_allclose(logs[:3, r], expected, rtol=1e-9)
    np.testing.assert_allclose(logs[3], np.log(regions.shares))


def test_the_m_step_of_regions_is_a_maximum(authors):
    """Given q(r), no small change of shares, means or covariances raises the objective."""
    rng = np.random.default_rng(1)
    place = authors[1].copy()
    place[:40] = np.nan
    regions, posterior = random_regions(place), rng.dirichlet(np.ones(3), 400)
    regions = regions.update(posterior)

    def value(regions):
        return float((posterior * regions.logs()).sum() + regions.log_prior())

    best = value(regions)
    for name in ("shares", "mean", "cov"):
        kept = getattr(regions, name)
        for _ in range(10):
            step = rng.normal(0, 0.03, kept.shape)
            step = step + step.transpose(0, 2, 1) if name == "cov" else step
            changed = kept * np.exp(step) if name == "shares" else kept + step
            changed = changed / changed.sum() if name == "shares" else changed
            assert value(replace(regions, **{name: changed})) < best


def test_the_place_nearest_on_average():
    np.testing.assert_allclose(nearest_on_average(np.array([[1.0, 0, 0]]), CENTRES), CENTRES[:1], atol=1e-3)
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet(np.ones(3), 5)
    scale = np.array([1.0, np.cos(np.radians(CENTRES[:, 0].mean()))])
    for weight, found in zip(posterior, nearest_on_average(posterior, CENTRES, 2000), strict=True):
        grid = found + rng.normal(0, 0.5, (50, 2))
        cost = [weight @ np.linalg.norm((CENTRES - at) * scale, axis=1) for at in [found, *grid]]
        assert np.argmin(cost) == 0 or cost[0] - min(cost) < 1e-3


def test_a_degree_of_longitude_is_shorter_in_the_north():
    """Three towns at 62 degrees, of which none has half the weight: the least expected distance, by brute force.

    Taking the earth for flat costs 2.4 km of 581, degrees for alike 12.
    """
    towns, posterior = np.array([[60.0, 0.0], [60.0, 24.0], [66.0, 12.0]]), np.array([[0.36, 0.3, 0.34]])
    grid = np.stack(np.meshgrid(np.linspace(59, 67, 161), np.linspace(0, 24, 241), indexing="ij"), axis=-1)
    expected = sum(p * distance_km(grid, town) for p, town in zip(posterior[0], towns, strict=True))
    found = nearest_on_average(posterior, towns)[0]
    cost = sum(p * distance_km(found, town) for p, town in zip(posterior[0], towns, strict=True))
    assert cost < expected.min() + 4.0


def test_no_region_dies_out(authors):
    """Shares have one pseudo-document per region: they are the mode under a Dirichlet(2) prior."""
    regions = random_regions(authors[1][:50])
    regions = regions.update(np.tile([0.25, 0.75, 0.0], (50, 1)))
    np.testing.assert_allclose(regions.shares, np.array([13.5, 38.5, 1.0]) / 53)


@pytest.mark.parametrize("interactions", [True, False])
def test_places_of_new_authors(authors, interactions):
    counts, place, _ = authors
    told = place[:300].copy()
    told[:50] = np.nan
    model = GeoSAGE(2, interactions=interactions, max_iter=25).fit(counts[:300], told)
    assert 3 <= len(model.regions_) <= 8
    errors = model.errors_km(counts[300:], place[300:])
    assert np.median(errors) < 150 and model.score(counts[300:], place[300:]) == -errors.mean()
    assert errors.mean() < 0.3 * distance_km(place[300:], np.nanmean(told, axis=0)).mean()
    assert np.diff(model.bound_).min() > -1e-4 * abs(model.bound_[-1])
    nearest = distance_km(model.regions_[["latitude", "longitude"]].to_numpy()[:, None], CENTRES).argmin(axis=0)
    frame = model.deviations_["region"]
    for r in range(3):
        top = np.argsort(-frame[nearest[r]].to_numpy())[:5]
        assert np.all((top >= 10 * r) & (top < 10 * r + 10))
    assert list(model.deviations_) == (["topic", "region", "topic × region"] if interactions else ["topic", "region"])
    posterior = model.predict_region(counts[300:])
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    unsure = clone(model).set_params(word_weight=0.1).fit(counts[:300], told).predict_region(counts[300:])
    assert unsure.max(axis=1).mean() < posterior.max(axis=1).mean()


def test_words_weigh_less_than_bayes_rule_has_it(authors):
    counts, place, _ = authors
    model = GeoSAGE(1, max_iter=5, word_weight=1.0).fit(counts, place)
    logs, sure = np.log(model.regions_["share"].to_numpy()), np.log(model.predict_region(counts))
    found = model.set_params(word_weight=0.3).predict_region(counts)
    between = np.exp(sure).min(axis=1) > 1e-200
    assert between.sum() > 10
    np.testing.assert_allclose(found[between], softmax(0.3 * (sure - logs) + logs, axis=1)[between], rtol=1e-6)
    with pytest.warns(EmptyDocumentWarning):
        nothing = model.predict_region(np.zeros((1, 120)))
    np.testing.assert_allclose(nothing[0], np.exp(logs), rtol=1e-6)


def test_what_regions_show_is_what_the_places_say(authors):
    counts, place, _ = authors
    half = place.copy()
    half[:20, 1] = np.nan  # a latitude without a longitude does not count as a place
    neither = half.copy()
    neither[:20] = np.nan
    model, other = GeoSAGE(1, max_iter=20).fit(counts, half), GeoSAGE(1, max_iter=20).fit(counts, neither)
    np.testing.assert_array_equal(model.predict(counts), other.predict(counts))
    weight = model.region_posterior_[20:]
    middle = weight.T @ place[20:] / weight.sum(axis=0)[:, None]
    regions = model.regions_
    large = regions["share"].to_numpy() > 0.1
    np.testing.assert_allclose(regions[["latitude", "longitude"]].to_numpy()[large], middle[large], atol=0.02)
    rng = np.random.default_rng(0)
    for mean, cov, spread in zip(
        middle[large], model.fitted_.more["region_cov"][large], regions["spread_km"][large], strict=True
    ):
        away = distance_km(rng.multivariate_normal(mean, cov, 20_000), mean)
        assert spread == pytest.approx(np.sqrt(np.mean(away**2)), rel=0.03)


def test_regions_that_hardly_anybody_lives_in_are_left_out(authors):
    place = authors[1]
    regions = Regions.of(place, None, 30, 0)
    assert regions.shares.min() >= 0.005 and regions.shares.sum() == pytest.approx(1) and len(regions.shares) < 30
    np.testing.assert_allclose(regions.prior_cov, np.cov(place.T) / len(regions.shares))


def test_frames_files_and_threads(authors, tmp_path):
    counts, place, _ = authors
    frame = pd.DataFrame({"who": range(400), "longitude": place[:, 1], "latitude": place[:, 0]})
    one, other = GeoSAGE(2, max_iter=4).fit(counts, frame), GeoSAGE(2, max_iter=4, n_jobs=3).fit(counts, place)
    np.testing.assert_array_equal(one.predict(counts), other.predict(counts))
    one.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(again.predict(counts), one.predict(counts))
    pd.testing.assert_frame_equal(again.regions_, one.regions_)
    assert one.regions_["share"].sum() == pytest.approx(1) and (one.regions_["spread_km"] < 300).all()
    assert len(GeoSAGE(1, n_regions=5, max_iter=2).fit(counts, place).regions_) == 5


@pytest.mark.parametrize("forged", [{"a": 1}, "x", -1.0, None])
def test_a_forged_weight_of_words_is_refused(forged, tmp_path):
    manifest, arrays = read_model(Path(__file__).parent / "golden" / "fits" / "geo-sage.supertopic")
    write_model(tmp_path / "m", {**manifest, "params": {**manifest["params"], "word_weight": forged}}, arrays)
    with pytest.raises(ValueError, match="word_weight"):
        load(tmp_path / "m")


@pytest.mark.parametrize("place", ["a line", "a point"])
def test_places_on_a_line_or_all_the_same_are_regions(place):
    x = np.linspace(0, 1, 12) if place == "a line" else np.ones(12)
    counts = np.random.default_rng(0).poisson(1.0, (12, 6))
    model = GeoSAGE(2, n_regions=2, max_iter=4).fit(counts, np.column_stack([40 + x, 2 * x]))
    assert np.isfinite(model.predict(counts)).all() and np.isfinite(model.bound_).all()
    assert np.abs(model.predict(counts) - [40.5, 1.0]).max() < 1.5


PLACES = np.array([[40.0, -74.0], [34.0, -118.0], [30.0, -95.0], [41.0, -87.0]])
COUNTS = np.array([[2, 1, 0], [0, 1, 3], [1, 1, 1], [2, 0, 0]])
REFUSED = {
    "y": ({}, None, "requires y to be passed"),
    "shape": ({}, PLACES[:, 0], "y: got the shape (4,), expected (documents, 2)"),
    "length": ({}, PLACES[:3], "y: got 3 places, expected one for each of the 4 documents of X"),
    "text": ({}, [["a", "b"]] * 4, "y: got values that are no numbers"),
    "huge": ({}, [[10**400, 0]] * 4, "y: got values that are no numbers"),
    "text in a frame": (
        {},
        pd.DataFrame({"latitude": ["a"] * 4, "longitude": [1] * 4}),
        "y: got values that are no numbers; expected latitude and longitude in degrees",
    ),
    "order": (
        {},
        PLACES[:, ::-1],
        "y: got a latitude beyond 90 or a longitude beyond 180 degrees (latitude comes first)",
    ),
    "known": ({}, np.full((4, 2), np.nan), "y: got 0 known places, expected 2 or more"),
    "columns": ({}, pd.DataFrame(PLACES, columns=["latitude", "lon"]), "y: got no column 'longitude'"),
    "regions": ({"n_regions": 0}, PLACES, "n_regions: got 0, expected a whole number >= 1"),
    "most": ({"max_regions": None}, PLACES, "max_regions: got None, expected a whole number >= 1"),
    "weight": ({"word_weight": 0}, PLACES, "word_weight: got 0, expected a number > 0"),
    "prior": ({"prior": "laplace"}, PLACES, "prior: got 'laplace', expected 'jeffreys' or 'exponential'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_in_a_sentence(name):
    given, y, message = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        GeoSAGE(2, **given).fit(COUNTS, y)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250
