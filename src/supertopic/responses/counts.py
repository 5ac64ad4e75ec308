"""Responses that count."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, gammaln
from scipy.stats import nbinom, poisson

from supertopic.responses.base import Draws, Response, draw_log_normal, known_mean, only_known, product_variance
from supertopic.responses.binary import half_tanh


class Count(Response):
    """What counts share: whole numbers, none below zero."""

    kind = "number"

    def check(self, y: np.ndarray) -> None:
        wrong = y[~np.isnan(y) & ((y < 0) | (y != np.rint(y)))]
        if len(wrong):
            raise ValueError(f"y holds {wrong[0]:g}, but response={self.name!r} needs counts: whole numbers >= 0")


class Poisson(Count):
    """y ~ Poisson(exp(s)):  exact, a product column with slope = y, curvature = 1."""

    name = "poisson"
    is_product = np.ones(1, dtype=bool)
    constant_slopes = True
    sampled = True

    def start_coef(self, y: np.ndarray, weight: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return np.array([np.log(max(known_mean(y, weight), 0.5 / (~np.isnan(y)).sum()))])

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        slope, curvature = only_known(y, y[:, None], np.ones_like(score))
        return slope, curvature

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        (density,) = only_known(y, y * score[:, 0] - moment[:, 0] - gammaln(y + 1))
        return density

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return moment[:, 0]

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of a mean that varies as if it were gamma distributed, y is negative binomial."""
        mean, doubt = moment[:, 0], np.expm1(np.minimum(product_variance(score, moment)[:, 0], 300.0))
        r = 1.0 / np.maximum(doubt, 1e-9)
        ends = [
            np.where(doubt > 1e-9, nbinom.ppf(tail, r, r / (r + mean)), poisson.ppf(tail, mean))
            for tail in (0.5 * (1 - probability), 0.5 * (1 + probability))
        ]
        return ends[0], ends[1]


class NegativeBinomial(Count):
    """p(y) = Gamma(y + r) / (y! Gamma(r)) p^y (1-p)^r, log-odds s of p, mean r·exp(s); with c² = E[s²] as in Logit:

    slope = (y - r)/2,  curvature = (y + r) tanh(c/2)/(2c);   dispersion = (r,)
    """

    name = "negative_binomial"
    is_product = np.zeros(1, dtype=bool)
    n_dispersion = 1
    sampled = True

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        known = ~np.isnan(y) & (weight > 0) if np.any(weight > 0) else ~np.isnan(y)
        mean, variance = y[known].mean(), y[known].var()
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
        """r by a slice sampler's step in log r."""

        def likelihood(r: float) -> float:
            return self.log_likelihood(y, score, weight, np.array([r]))

        return np.array([draw_log_normal(draw, likelihood, dispersion[0])])

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        (density,) = only_known(y, self._bound(y, score[:, 0], moment[:, 0], dispersion[0]))
        return density

    @staticmethod
    def _bound(y: np.ndarray, mean: np.ndarray, square: np.ndarray, r: float) -> np.ndarray:
        c = np.sqrt(np.maximum(square, 0.0))
        words = gammaln(y + r) - gammaln(r) - gammaln(y + 1)
        return words + 0.5 * (y - r) * mean - (y + r) * np.logaddexp(0.5 * c, -0.5 * c)

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        (found,) = only_known(y, (y[:, None] + dispersion[0]) * expit(score) * expit(-score))
        return found

    def update(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
        rate: float,
    ) -> np.ndarray:  # fmt: skip
        known = ~np.isnan(y) & (weight > 0)
        if not known.any():
            return dispersion

        def loss(log_r: float) -> float:
            bound = self._bound(y[known], score[known, 0], moment[known, 0], np.exp(log_r))
            return -float((weight[known] * bound).sum())

        now = np.log(dispersion[0])
        best = minimize_scalar(loss, bounds=(now - 1.0, now + 1.0), method="bounded").x
        return np.exp(np.array([now + rate * (np.clip(best, np.log(1e-3), np.log(1e4)) - now)]))

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        variance = np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        return dispersion[0] * np.exp(score[:, 0] + 0.5 * variance)  # of a normal s

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.predict(score, moment, dispersion), np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        r = 1.0 / ((1 + 1 / dispersion[0]) * np.exp(np.minimum(variance, 300.0)) - 1)  # so that E[y²] is right
        tail = 0.5 * (1 - probability)
        return nbinom.ppf(tail, r, r / (r + mean)), nbinom.ppf(1 - tail, r, r / (r + mean))
