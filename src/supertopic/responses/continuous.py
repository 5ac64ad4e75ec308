"""Responses on the real line."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from supertopic.responses.base import Draws, Response, only_known

VARIANCE_PRIOR = (2.0, 0.2)  # shape and scale of a sampler's inverse gamma: four observations, of variance 0.1


class Gaussian(Response):
    """y = center + scale·u,  u ~ N(s, variance):  exact, slope = u/variance, curvature = 1/variance.

    dispersion = (variance, center, scale); center and scale are y's own mean and deviation, and stay.
    """

    name = "gaussian"
    kind = "number"
    is_product = np.zeros(1, dtype=bool)
    constant_slopes = True
    n_dispersion = 3
    sampled = True

    def __init__(self, n_classes: int = 0, sigma: float | None = None) -> None:
        """sigma : the deviation of y round its mean, on y's own scale, where that is not to be learned."""
        super().__init__(n_classes)
        self.sigma = sigma

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        known = ~np.isnan(y)
        if np.any(
            weight[known] > 0
        ):  # weights of zero throughout leave no y at all; its scale still has to be a number
            known &= weight > 0
        else:
            weight = np.ones_like(weight)
        center = np.average(y[known], weights=weight[known])
        scale = np.sqrt(np.average((y[known] - center) ** 2, weights=weight[known]))
        scale = scale if scale > 0 else 1.0
        return np.array([1.0 if self.sigma is None else (self.sigma / scale) ** 2, center, scale])

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
        """E[(u - s)²]."""
        u = (y - dispersion[1]) / dispersion[2]
        return u**2 - 2 * u * score[:, 0] + moment[:, 0]

    def update(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
        rate: float,
    ) -> np.ndarray:  # fmt: skip
        known = ~np.isnan(y) & (weight > 0)
        if not known.any() or self.sigma is not None:
            return dispersion
        best = np.average(self._squares(y, score, moment, dispersion)[known], weights=weight[known])
        return np.array([(1 - rate) * dispersion[0] + rate * max(best, 1e-6), *dispersion[1:]])

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
        mean, reach = self.predict(score, moment, dispersion), norm.ppf(0.5 + 0.5 * probability)
        return mean - reach * spread, mean + reach * spread

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return dispersion[1] + dispersion[2] * coef, dispersion[2] * deviation

    def spread(self, dispersion: np.ndarray) -> float:
        return float(dispersion[0] * dispersion[2] ** 2)
