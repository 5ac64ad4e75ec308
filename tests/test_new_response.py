"""A new response is one class: beta regression, which the library does not have, through every part of it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma, expit, gammaln, logit, polygamma
from scipy.stats import beta as beta_law

import supertopic
from supertopic import SVI, VB, SLDARegressor
from supertopic.datasets import simulate
from supertopic.metrics import align_topics
from supertopic.responses.base import Response, only_known, only_labelled, register, registry, unregister
from supertopic.responses.search import N_POINTS, highest_of_values, part_of_the_way, points_around
from tests.cli_tools import misused, run, write_rated


class Beta(Response):
    """y in (0, 1) is Beta(mean·phi, (1 - mean)·phi) with mean = expit(s); dispersion = (phi,), the precision.

    The delta method, a quadratic column: at m = E[s], curvature = -E[l''(m)] over y, slope = l'(m) + curvature·m.
    """

    name = "beta"
    kind = "number"
    is_product = np.zeros(1, dtype=bool)
    n_dispersion = 1
    ranges = ((1e-6, 1e9),)
    n_summary = 1 + N_POINTS

    def check(self, y):
        wrong = y[(y <= 0) | (y >= 1)]
        if len(wrong):
            raise ValueError(f"y holds {wrong[0]:g}, but response='beta' needs numbers between 0 and 1")

    def start(self, labels):
        mean, variance = labels.moments.mean, labels.moments.variance
        return np.array([max(mean * (1 - mean) / max(variance, 1e-6) - 1, 0.1)])

    def start_coef(self, labels, dispersion):
        return np.array([logit(labels.moments.mean)])

    def step(self, coef, found, reach):
        return coef + (found - coef) / np.maximum(reach, 1.0)[:, None]

    def _shapes(self, score, phi):
        mean = np.clip(expit(score), 1e-9, 1 - 1e-9)
        return mean * phi, (1 - mean) * phi

    def slope_and_curvature(self, y, score, moment, dispersion):
        a, b = self._shapes(score, dispersion[0])
        per_score = a * b / dispersion[0]  # of a
        curvature = per_score**2 * (polygamma(1, a) + polygamma(1, b))
        first = per_score * (logit(y)[:, None] - digamma(a) + digamma(b))
        return only_known(y, first + curvature * score, curvature)

    def log_density(self, y, score, moment, dispersion):
        a, b = (shape[:, 0] for shape in self._shapes(score, dispersion[0]))
        _, curvature = self.slope_and_curvature(y, score, moment, dispersion)
        exact = gammaln(a + b) - gammaln(a) - gammaln(b) + (a - 1) * np.log(y) + (b - 1) * np.log1p(-y)
        return only_known(y, exact - 0.5 * curvature[:, 0] * np.maximum(moment - score**2, 0.0)[:, 0])[0]

    def summarise(self, y, score, moment, weight, dispersion):
        y, weight, score, moment = only_labelled(y, weight, score, moment)
        points = points_around(dispersion[0])
        values = [weight @ self.log_density(y, score, moment, np.array([phi])) for phi in points]
        return np.array([weight.sum(), *values])

    def update(self, summary, dispersion, rate):
        if summary[0] == 0:
            return dispersion
        best = highest_of_values(summary[1:] / summary[0], dispersion[0])
        return np.array([part_of_the_way(dispersion[0], best, rate, 1e-2, 1e6)])

    def predict(self, score, moment, dispersion):
        variance = np.maximum(moment - score**2, 0.0)
        return expit(score / np.sqrt(1 + np.pi * variance / 8))[:, 0]

    def interval(self, score, moment, dispersion, probability):
        mean, variance = self.predict(score, moment, dispersion), np.maximum(moment - score**2, 0.0)[:, 0]
        phi = 1.0 / (1.0 / (1.0 + dispersion[0]) + mean * (1 - mean) * variance) - 1.0  # y's variance is right
        tail, shapes = 0.5 * (1 - probability), (mean * phi, (1 - mean) * phi)
        return beta_law.ppf(tail, *shapes), beta_law.ppf(1 - tail, *shapes)


unregister("beta")  # other files walk the registry while they are imported
COEF, PRECISION = np.array([-2.0, 0.0, 1.5]), 20.0


@pytest.fixture(autouse=True)
def known():
    register(Beta)
    yield
    unregister("beta")


def drawn():
    """(the simulation, y): 2300 documents, every tenth label missing."""
    data = simulate(2300, 3, n_words=80, mean_length=60, response="gaussian", coef=COEF, seed=3)
    y = np.random.default_rng(3).beta(*Beta()._shapes(data.score, PRECISION))
    y[::10] = np.nan
    return data, y


def some(first, last):
    """(counts, y) of these documents."""
    data, y = drawn()
    return data.counts.counts[first:last], y[first:last]


@pytest.fixture(scope="module", params=[VB(), SVI(batch_size=200)], ids=repr)
def model(request):
    register(Beta)  # a fixture of the module begins before the one above
    options = {"max_iter": 40 if request.param == VB() else 20, "cross_fit": 2}
    return SLDARegressor(3, response="beta", inference=request.param, doc_topic_prior=0.2, **options).fit(
        *some(0, 1500)
    )


def test_it_is_in_the_registry_while_it_is_tested():
    assert registry()["beta"] is Beta


def test_slope_and_curvature_by_finite_differences():
    rng, response, dispersion = np.random.default_rng(0), Beta(), np.array([7.0])
    score = rng.normal(size=(5, 1))
    y = np.append(rng.random(4), np.nan)
    slope, curvature = response.slope_and_curvature(y, score, score**2, dispersion)
    up, down = (response.log_density(y, score + step, (score + step) ** 2, dispersion) for step in (1e-5, -1e-5))
    np.testing.assert_allclose((slope - curvature * score)[:, 0], (up - down) / 2e-5, rtol=1e-6, atol=1e-8)
    law = beta_law(*(shape[:4, 0] for shape in response._shapes(score, 7.0)))
    np.testing.assert_allclose(response.log_density(y, score, score**2, dispersion)[:4], law.logpdf(y[:4]))
    parts = [
        response.summarise(y[s], score[s], score[s] ** 2, np.ones(5)[s], dispersion) for s in np.split(np.r_[:5], [2])
    ]
    np.testing.assert_allclose(sum(parts), response.summarise(y, score, score**2, np.ones(5), dispersion))


def test_what_was_simulated_is_recovered(model):
    order = align_topics(drawn()[0].components, model.components_).order
    np.testing.assert_allclose(model.intercept_ + model.coef_[order], COEF, atol=0.1)
    assert model.dispersion_ == pytest.approx(PRECISION, rel=0.1)


def test_predictions_and_intervals_of_new_documents(model):
    counts, y = some(1500, 2300)
    known = ~np.isnan(y)
    mean, low, high = model.predict(counts, return_interval=0.9)
    assert np.all((low > 0) & (low < mean) & (mean < high) & (high < 1))
    assert 0.86 < np.mean((low <= y)[known] & (y <= high)[known]) < 0.95
    assert model.score(counts[known], y[known]) > 0.5


def test_it_is_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "beta.supertopic")
    again = supertopic.load(tmp_path / "beta.supertopic")
    counts, _ = some(1500, 1550)
    np.testing.assert_array_equal(again.predict(counts), model.predict(counts))
    assert again.dispersion_ == model.dispersion_ and again.response == "beta"


def test_gibbs_sampling_refuses_it_in_a_sentence():
    counts, y = some(0, 50)
    with pytest.raises(
        ValueError, match=r"^inference: got 'gibbs', which has no sampler for response='beta'; [^.\n]*$"
    ):
        SLDARegressor(3, response="beta", inference="gibbs").fit(counts, y)


def test_impossible_labels_are_refused_in_a_sentence():
    counts, y = some(0, 50)
    with pytest.raises(ValueError, match=r"y holds 1, but response='beta' needs numbers between 0 and 1$"):
        SLDARegressor(3, response="beta").fit(counts, np.where(np.arange(50) == 7, 1.0, y))


def test_the_command_line_offers_it(tmp_path):
    frame = write_rated(tmp_path / "data.csv")
    frame["share"] = (frame["price"].clip(0, 10) + 0.5) / 11
    frame.to_csv(tmp_path / "data.csv", index=False)
    ask = ("fit", tmp_path / "data.csv", "--model", "slda", "--text", "body", "--target", "share", "-k", 2)
    out = tmp_path / "model.supertopic"
    done = run(*ask, "--response", "beta", "--iterations", 10, "-o", out)
    assert done.exit_code == 0, done.output
    assert "beta, of column 'share'" in done.stdout + done.stderr
    assert supertopic.load(out).response == "beta"
    done = run("predict", out, tmp_path / "data.csv", "--text", "body", "--interval", 0.9, "--out", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert np.corrcoef(predicted["prediction"], frame["share"].fillna(frame["share"].mean()))[0, 1] > 0.8
    assert np.all((predicted["lower"] > 0) & (predicted["upper"] < 1))
    said = misused(*ask, "--response", "betta", "-o", out)
    assert "beta" in said and "Did you mean 'beta'?" in said
