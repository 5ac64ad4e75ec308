"""Responses on the real line."""

from __future__ import annotations

import numpy as np

from supertopic.later import Later
from supertopic.responses.base import LARGEST_LABEL, Draws, Response, only_known, only_labelled
from supertopic.responses.label_summary import LabelSummary

stats = Later("scipy.stats")

VARIANCE_PRIOR = (2.0, 0.2)  # shape and scale of a sampler's inverse gamma: four observations, of variance 0.1


class Gaussian(Response):
    """y = center + scale·u,  u ~ N(s, variance):  exact, a quadratic column; slope = u/variance, curvature = 1/variance

    dispersion = (variance, center, scale); center and scale are the mean and the deviation of y, and stay fixed.
    """

    name = "gaussian"
    kind = "number"
    is_product = np.zeros(1, dtype=bool)
    constant_slopes = True
    least_squares = True
    follows_means = True
    n_dispersion = 3
    ranges = ((1e-30, 1e30), (-2 * LARGEST_LABEL, 2 * LARGEST_LABEL), (1e-100, 2 * LARGEST_LABEL))
    n_summary = 2
    sampled = True

    def __init__(self, n_classes: int = 0, sigma: float | None = None) -> None:
        """sigma : the deviation of y around its mean given the topics, on the scale of y; by default it is learned."""
        super().__init__(n_classes)
        self.sigma = sigma

    def start(self, labels: LabelSummary) -> np.ndarray:
        found = labels.moments
        scale = np.sqrt(found.variance) if found.squares > 0 else 1.0
        return np.array([1.0 if self.sigma is None else (self.sigma / scale) ** 2, found.mean, scale])

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        variance, center, scale = dispersion
        slope = (y[:, None] - center) / scale / variance
        slope, curvature = only_known(y, slope, np.full_like(slope, 1.0 / variance))
        return slope, curvature

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        variance, _, scale = dispersion
        squares = self._squares(y, score, moment, dispersion)
        (density,) = only_known(y, -0.5 * (np.log(2 * np.pi * variance) + squares / variance) - np.log(scale))
        return density

    def _squares(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """E[(u - s)²] = u (u - 2 E[s]) + E[s²]."""
        u = (y - dispersion[1]) / dispersion[2]
        found = u - 2 * score[:, 0]
        found *= u
        found += moment[:, 0]
        return found

    def summarise(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """(sum_d w, sum_d w E[(u - s)²])."""
        y, weight, score, moment = only_labelled(y, weight, score, moment)
        return np.array([weight.sum(), weight @ self._squares(y, score, moment, dispersion)])

    def update(self, summary: np.ndarray, dispersion: np.ndarray, rate: float) -> np.ndarray:
        total, squares = summary
        if total == 0 or self.sigma is not None:
            return dispersion
        return np.array([(1 - rate) * dispersion[0] + rate * max(squares / total, 1e-6), *dispersion[1:]])

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        """variance ~ InverseGamma(a + sum w/2, b + sum w (u - s)²/2), with VARIANCE_PRIOR = (a, b)."""
        if self.sigma is not None:
            return dispersion
        squares, counted = only_known(y, weight * self._squares(y, score, score**2, dispersion), weight)
        shape, scale = VARIANCE_PRIOR[0] + 0.5 * counted.sum(), VARIANCE_PRIOR[1] + 0.5 * squares.sum()
        precision = draw.gamma(np.array([shape]), np.array([scale]))
        return np.array([1.0 / precision[0], *dispersion[1:]])

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return dispersion[1] + dispersion[2] * score[:, 0]

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        variance, _, scale = dispersion
        spread = np.sqrt(variance + np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)) * scale
        mean, reach = self.predict(score, moment, dispersion), stats.norm.ppf(0.5 + 0.5 * probability)
        return mean - reach * spread, mean + reach * spread

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return dispersion[1] + dispersion[2] * coef, dispersion[2] * deviation

    def spread(self, dispersion: np.ndarray) -> float:
        return float(dispersion[0] * dispersion[2] ** 2)


def as_logarithm(y: np.ndarray, floor: float) -> tuple[Gaussian, np.ndarray]:
    """What topics are trained for in place of a law of numbers from zero on: a number, log(y + floor).

    Under such laws, one label far out pulls at the topics as hard as many others, and means of logarithms can be
    estimated from words. The floor keeps labels at zero, or next to it, among the others. It is small: where words tell
    much, logarithms are as straight in the linear predictor as the law's own mean.
    """
    return Gaussian(), np.log(y + floor)
