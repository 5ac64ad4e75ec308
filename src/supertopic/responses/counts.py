"""Counts: Poisson and negative binomial."""

from __future__ import annotations

import numpy as np

from supertopic.later import Later
from supertopic.responses.base import (
    Draws,
    Response,
    draw_log_normal,
    only_known,
    only_labelled,
    product_variance,
)
from supertopic.responses.binary import half_tanh
from supertopic.responses.continuous import as_logarithm
from supertopic.responses.label_summary import LabelSummary
from supertopic.responses.search import N_POINTS, highest_of_values, part_of_the_way, points_around

special, stats = Later("scipy.special"), Later("scipy.stats")

_MOST = float(np.exp(300.0))  # whatever the coefficients, predictions are numbers
_LARGE = 1e12  # counts of this size are as good as continuous, and a search among them can take minutes
_COUNTABLE = 1e9  # the largest mean of a Poisson distribution whose quantiles SciPy finds


def quantile(share: float, r: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Of a negative binomial of shape r; where its mean is large, of the gamma distribution that it becomes."""
    searched = np.minimum(mean, _LARGE)
    found = stats.nbinom.ppf(share, r, r / (r + searched))
    return np.asarray(np.where(mean > _LARGE, stats.gamma.ppf(share, r) / r * mean, found))


def poisson_quantile(share: float, mean: np.ndarray) -> np.ndarray:
    """Of a Poisson distribution; where its mean is large, by the Cornish-Fisher expansion around the normal."""
    z = special.ndtri(share)
    expanded = np.rint(mean + z * np.sqrt(mean) + (z**2 - 1) / 6)
    return np.asarray(np.where(mean > _COUNTABLE, expanded, stats.poisson.ppf(share, np.minimum(mean, _COUNTABLE))))


class Count(Response):
    """The base of both: y is a whole number, zero or more."""

    kind = "number"
    log_link = True
    lowest = 0.0
    grain = 1.0

    def check(self, y: np.ndarray) -> None:
        wrong = y[~np.isnan(y) & ((y < 0) | (y != np.rint(y)))]
        if len(wrong):
            raise ValueError(f"y holds {wrong[0]:g}, but response={self.name!r} needs counts: whole numbers >= 0")

    def trained_as(self, y: np.ndarray, weight: np.ndarray) -> tuple[Response, np.ndarray]:
        return as_logarithm(y, self.grain)


class Poisson(Count):
    """y ~ Poisson(exp(s)):  exact, a product column with slope = y, curvature = 1."""

    name = "poisson"
    is_product = np.ones(1, dtype=bool)
    constant_slopes = True
    sampled = True

    def start_coef(self, labels: LabelSummary, dispersion: np.ndarray) -> np.ndarray:
        return np.array([np.log(max(labels.moments.mean, 0.5 / labels.n_labels))])

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        slope, curvature = only_known(y, y[:, None], np.ones_like(score))
        return slope, curvature

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        (density,) = only_known(y, y * score[:, 0] - moment[:, 0] - special.gammaln(y + 1))
        return density

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return np.minimum(moment[:, 0], _MOST)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """As if the mean were gamma distributed: y is then negative binomial."""
        mean, doubt = (
            np.minimum(moment[:, 0], _MOST),
            np.expm1(np.minimum(product_variance(score, moment)[:, 0], 300.0)),
        )
        r = 1.0 / np.maximum(doubt, 1e-9)
        ends = [
            np.where(doubt > 1e-9, quantile(tail, r, mean), poisson_quantile(tail, mean))
            for tail in (0.5 * (1 - probability), 0.5 * (1 + probability))
        ]
        return ends[0], ends[1]


class NegativeBinomial(Count):
    """p(y) = Gamma(y + r) / (y! Gamma(r)) p^y (1-p)^r, where s is the log-odds of p; the mean is r·exp(s).

    By the bound of `Logit` with c² = E[s²], a quadratic column:

        slope = (y - r)/2,  curvature = (y + r) tanh(c/2)/(2c);   dispersion = (r,)
    """

    name = "negative_binomial"
    is_product = np.zeros(1, dtype=bool)
    n_dispersion = 1
    ranges = ((1e-3, 1e4),)
    n_summary = 1 + N_POINTS
    sampled = True

    def start(self, labels: LabelSummary) -> np.ndarray:
        mean, variance = labels.plain_moments.mean, labels.plain_moments.variance
        return np.array([np.clip(mean**2 / max(variance - mean, 1e-2 * max(mean, 1e-3)), 0.05, 100.0)])

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        r = dispersion[0]
        curvature = (y[:, None] + r) * half_tanh(np.sqrt(np.maximum(moment, 0.0)))
        slope, curvature = only_known(y, 0.5 * (y[:, None] - r), curvature)
        return slope, curvature

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """omega ~ PG(w (y + r), s), as in Logit."""
        r = dispersion[0]
        slope, shape = only_known(y, weight[:, None] * 0.5 * (y[:, None] - r), weight[:, None] * (y[:, None] + r))
        return slope, draw.polya_gamma(shape, score)

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        """r by one step of a slice sampler in log r."""

        def likelihood(r: float) -> float:
            return self.log_likelihood(y, score, weight, np.array([r]))

        return np.array([draw_log_normal(draw, likelihood, dispersion[0], *self.ranges[0])])

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        r = dispersion[0]
        gammas = special.gammaln(y + r) - special.gammaln(r)
        (density,) = only_known(y, gammas + self._without_gamma(y, score[:, 0], moment[:, 0], r))
        return density

    @staticmethod
    def _without_gamma(y: np.ndarray, mean: np.ndarray, square: np.ndarray, r: float | np.ndarray) -> np.ndarray:
        """(D,) the bound less log Gamma(y + r) - log Gamma(r): linear in r."""
        c = np.sqrt(np.maximum(square, 0.0))
        return 0.5 * (y - r) * mean - (y + r) * np.logaddexp(0.5 * c, -0.5 * c) - special.gammaln(y + 1)

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        (found,) = only_known(y, (y[:, None] + dispersion[0]) * special.expit(score) * special.expit(-score))
        return found

    def summarise(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """(sum_d w, sum_d w E[log p(y)] at the points around r).

        As a function of log r its singularities lie where r is zero or a negative number, at a distance of pi.
        """
        y, weight, score, moment = only_labelled(y, weight, score, moment)
        at_zero, at_one = (weight @ self._without_gamma(y, score[:, 0], moment[:, 0], r) for r in (0.0, 1.0))
        points = points_around(dispersion[0])
        return np.array([weight.sum(), *(_gammas(y, weight, points) + at_zero + points * (at_one - at_zero))])

    def summarise_at_mean(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """E[y] = r exp s says much more about s + log r than about r. At a given s, r could hardly move."""
        y, weight, score, moment = only_labelled(y, weight, score, moment)
        points = points_around(dispersion[0])
        shift = np.log(dispersion[0] / points)[:, None]
        square = moment[:, 0] + shift * (2 * score[:, 0] + shift)
        apart = self._without_gamma(y, score[:, 0] + shift, square, points[:, None]) @ weight
        return np.array([weight.sum(), *(_gammas(y, weight, points) + apart)])

    def fit_dispersion_at_mean(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        return self.update(self.summarise_at_mean(y, score, moment, weight, dispersion), dispersion, 1.0)

    def level(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        return np.log(before / after)

    def update(self, summary: np.ndarray, dispersion: np.ndarray, rate: float) -> np.ndarray:
        if summary[0] == 0:
            return dispersion
        best = highest_of_values(summary[1:] / summary[0], dispersion[0])
        return np.array([part_of_the_way(dispersion[0], best, rate, *self.ranges[0])])

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        variance = np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        return dispersion[0] * np.exp(np.minimum(score[:, 0] + 0.5 * variance, 300.0))  # of a normal s

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.predict(score, moment, dispersion), np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        r = 1.0 / ((1 + 1 / dispersion[0]) * np.exp(np.minimum(variance, 300.0)) - 1)  # so that E[y²] is right
        tail = 0.5 * (1 - probability)
        return quantile(tail, r, mean), quantile(1 - tail, r, mean)

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log E[y] = s + log r. The errors are those of log E[y], which is orthogonal to r: not knowing r adds nothing.

        (The information about s at a given r is the one about log E[y] at that r. It is too large for s itself.)
        """
        return coef + np.log(dispersion[0]), deviation


def _gammas(y: np.ndarray, weight: np.ndarray, points: np.ndarray) -> np.ndarray:
    """sum_d w (log Gamma(y + r) - log Gamma(r)) at values of r; many documents share few distinct counts."""
    distinct, place = np.unique(y, return_inverse=True)
    by_count = np.bincount(place, weight, minlength=len(distinct))
    return np.array([by_count @ (special.gammaln(distinct + r) - special.gammaln(r)) for r in points])
