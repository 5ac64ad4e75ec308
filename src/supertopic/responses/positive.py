"""Responses on the positive half-line: waiting times, sums of money, lengths.

y = scale·u, where the scale is y's own mean and stays; dispersion = (shape, scale). With the log link, gamma and
Weibull are exact: their linear predictor enters through E[exp(-s)] alone, a product column of coefficients with the
sign (Weibull: and the shape) taken in. The others go by the delta method: a quadratic column that touches the
log-density at E[s],

    E[log p(y | s)]  ≈  l(m) + ½ l''(m) Var[s],   m = E[s]:     curvature = -l''(m),  slope = l'(m) + curvature·m
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from scipy.stats import gamma, invgauss

from supertopic.responses.base import (
    Draws,
    Response,
    draw_log_normal,
    exp_of_product,
    known_mean,
    only_known,
    product_variance,
)


class Positive(Response):
    """What they share: y > 0, its scale, and a shape found by a search along one line."""

    kind = "number"
    n_dispersion = 2
    links: ClassVar[tuple[str, ...]] = ("log",)

    def __init__(self, n_classes: int = 0, link: str = "auto") -> None:
        super().__init__(n_classes)
        if link not in ("auto", *self.links):
            names = ", ".join(map(repr, ("auto", *self.links)))
            raise ValueError(f"link: got {link!r}, expected one of {names} for response={self.name!r}")
        self.link = self.links[0] if link == "auto" else link

    def check(self, y: np.ndarray) -> None:
        wrong = y[~np.isnan(y) & (y <= 0)]
        if len(wrong):
            raise ValueError(f"y holds {wrong[0]:g}, but response={self.name!r} needs numbers > 0")

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([1.0, known_mean(y, weight)])

    def _density(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray, shape: float) -> np.ndarray:
        """(D,) E[log p(u | s)]."""
        raise NotImplementedError

    def _doubt(self, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
        """(D,) the variance over s of y's mean given s, over its squared mean."""
        return np.expm1(np.minimum(product_variance(score, moment), 300.0))

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        shape, scale = dispersion
        (density,) = only_known(y, self._density(y / scale, score[:, 0], moment[:, 0], shape) - np.log(scale))
        return density

    def update(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
        rate: float,
    ) -> np.ndarray:  # fmt: skip
        known = ~np.isnan(y) & (weight > 0)
        if not known.any():
            return dispersion
        u, now = y[known] / dispersion[1], np.log(dispersion[0])

        def loss(log_shape: float) -> float:
            density = self._density(u, score[known, 0], moment[known, 0], np.exp(log_shape))
            return -float((weight[known] * density).sum())

        best = minimize_scalar(loss, bounds=(now - 1.0, now + 1.0), method="bounded", options={"xatol": 1e-7}).x
        return np.array([np.exp(now + rate * (np.clip(best, np.log(1e-4), np.log(1e6)) - now)), dispersion[1]])

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        """The shape by a slice sampler's step in its logarithm."""

        def likelihood(shape: float) -> float:
            return self.log_likelihood(y, score, weight, np.array([shape, dispersion[1]]))

        return np.array([draw_log_normal(draw, likelihood, dispersion[0]), dispersion[1]])


class _Delta(Positive):
    """A log-density l(s) with its first two derivatives, in the scale of u and for a shape of 1: l scales with it."""

    is_product = np.zeros(1, dtype=bool)

    def _slope(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _curvature(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        """-l''(s), or something larger where that is not positive."""
        raise NotImplementedError

    def _exact(self, u: np.ndarray, s: np.ndarray, shape: float) -> np.ndarray:
        """log p(u | s)."""
        raise NotImplementedError

    def _density(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray, shape: float) -> np.ndarray:
        variance = np.maximum(moment - score**2, 0.0)
        return self._exact(u, score, shape) - 0.5 * shape * self._curvature(u, score) * variance

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        shape, scale = dispersion
        u = y[:, None] / scale
        curvature = shape * self._curvature(u, score)
        slope, curvature = only_known(y, shape * self._slope(u, score) + curvature * score, curvature)
        return slope, curvature

    def step(self, coef: np.ndarray, found: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """With a canonical link s has to stay above zero, and does while all coefficients do."""
        if self.link == "log":
            return coef + (found - coef) / np.maximum(reach, 1.0)[:, None]
        return np.clip(found, coef / 4.0, coef * 4.0)

    def start_coef(self, y: np.ndarray, weight: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return np.array([0.0 if self.link == "log" else 1.0])  # the mean of u is 1


class Gamma(Positive):
    """u ~ Gamma(shape, mean exp(s)):  log p = shape (log shape - s - u exp(-s)) + (shape - 1) log u - log Gamma(shape).

    Column: exp(-s), slope = shape, curvature = shape·u. With `link="canonical"`, mean 1/s: `CanonicalGamma`.
    """

    name = "gamma"
    links: ClassVar[tuple[str, ...]] = ("log", "canonical")
    is_product = np.ones(1, dtype=bool)
    constant_slopes = True
    sampled = True

    def __new__(cls, n_classes: int = 0, link: str = "auto") -> Any:
        return super().__new__(CanonicalGamma if link == "canonical" else cls)

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        shape, scale = dispersion
        slope, curvature = only_known(y, np.full_like(score, shape), shape * y[:, None] / scale)
        return slope, curvature

    def _density(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray, shape: float) -> np.ndarray:
        constant = shape * np.log(shape) - gammaln(shape) + (shape - 1) * np.log(u)
        return constant + shape * (score - u * moment)

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return dispersion[1] * exp_of_product(score[:, 0], moment[:, 0], -1.0)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        mean = self.predict(score, moment, dispersion)
        shape = 1.0 / ((1 + 1 / dispersion[0]) * (1 + self._doubt(score[:, 0], moment[:, 0])) - 1)  # E[y²] is right
        low, high = 0.5 * (1 - probability), 0.5 * (1 + probability)
        return gamma.ppf(low, shape, scale=mean / shape), gamma.ppf(high, shape, scale=mean / shape)

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.log(dispersion[1]) - coef, deviation

    def spread(self, dispersion: np.ndarray) -> float:
        """The variance over the squared mean."""
        return float(1.0 / dispersion[0])


class CanonicalGamma(_Delta, Gamma):
    """u ~ Gamma(shape, mean 1/s), s > 0:  log p = shape (log s - u s) + terms without s."""

    links = ("canonical",)
    is_product = np.zeros(1, dtype=bool)
    constant_slopes = False
    sampled = False

    def _exact(self, u: np.ndarray, s: np.ndarray, shape: float) -> np.ndarray:
        constant = shape * np.log(shape) - gammaln(shape) + (shape - 1) * np.log(u)
        return constant + shape * (np.log(s) - u * s)

    def _slope(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        return 1.0 / s - u

    def _curvature(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        return s**-2.0 + 0.0 * u

    def _doubt(self, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
        return np.maximum(moment / score**2 - 1.0, 0.0)

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        s, variance = score[:, 0], np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        return dispersion[1] * (1.0 + variance / s**2) / s

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return coef / dispersion[1], deviation / dispersion[1]


class InverseGaussian(_Delta):
    """log p(u) = -shape (u - mu)² / (2 mu² u) + ½ log(shape / (2 pi u³)),  mu = exp(s), or 1/sqrt(s) (canonical)."""

    name = "inverse_gaussian"
    links = ("log", "canonical")
    sampled = True

    def __init__(self, n_classes: int = 0, link: str = "auto") -> None:
        super().__init__(n_classes, link)
        self.sampled = self.link == "log"

    @property
    def sampled_power(self) -> np.ndarray:
        return np.array([-2.0])

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(u | s)^w ∝ exp(-½ w shape u exp(-2s)) sum_n (w shape exp(-s))^n / n!, the series of an exponential:

        given n ~ Poisson(w shape exp(-s)), a product column in x = -2s of slope n/2 and curvature ½ w shape u.
        """
        shape, scale = dispersion
        (strength,) = only_known(y, shape * weight[:, None])
        n = draw.poisson(strength * np.exp(np.minimum(-score, 300.0)))
        return 0.5 * n, np.where(strength > 0, 0.5 * strength * y[:, None] / scale, 0.0)

    def _exact(self, u: np.ndarray, s: np.ndarray, shape: float) -> np.ndarray:
        inverse = np.exp(-s) if self.link == "log" else np.sqrt(s)  # 1/mu
        root = (u * inverse - 1) / np.sqrt(u)
        return 0.5 * (np.log(shape / (2 * np.pi)) - 3 * np.log(u) - shape * root**2)

    def _slope(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        if self.link == "log":
            return u * np.exp(-2 * s) - np.exp(-s)
        return 0.5 / np.sqrt(s) - 0.5 * u

    def _curvature(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        if self.link == "log":  # -l'' falls below zero far to the left of the mean; its expectation never does
            return np.maximum(2 * u * np.exp(-2 * s) - np.exp(-s), np.exp(-s))
        return 0.25 * s**-1.5 + 0.0 * u

    def _doubt(self, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
        variance = np.maximum(moment - score**2, 0.0)
        return np.expm1(np.minimum(variance, 100.0)) if self.link == "log" else 0.25 * variance / score**2

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        if self.link != "log":
            return super().information(y, score, moment, dispersion)
        (found,) = only_known(y, dispersion[0] * np.exp(-score))  # its expectation over y
        return found

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        s, variance = score[:, 0], np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        if self.link == "log":
            return dispersion[1] * np.exp(s + 0.5 * variance)
        return dispersion[1] * (1.0 + 0.375 * variance / s**2) / np.sqrt(s)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        mean, doubt = self.predict(score, moment, dispersion), self._doubt(score[:, 0], moment[:, 0])
        ratio = mean / (dispersion[0] * dispersion[1]) * (1 + doubt) ** 3 + doubt  # y's variance over its squared mean
        shape = mean / ratio
        low, high = 0.5 * (1 - probability), 0.5 * (1 + probability)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # scipy's search complains at times, and finds them
            return invgauss.ppf(low, ratio, scale=shape), invgauss.ppf(high, ratio, scale=shape)

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.link == "log":
            return coef + np.log(dispersion[1]), deviation
        return coef / dispersion[1] ** 2, deviation / dispersion[1] ** 2

    def spread(self, dispersion: np.ndarray) -> float:
        """The variance over the cubed mean."""
        return float(1.0 / (dispersion[0] * dispersion[1]))


def _power(u: np.ndarray, shape: float, factor: np.ndarray | float = 1.0) -> np.ndarray:
    """factor·u^shape, as far as there are numbers."""
    return np.exp(np.minimum(shape * np.log(u) + np.log(np.maximum(factor, 1e-300)), 690.0))


class Weibull(Positive):
    """P(u > t) = exp(-(t exp(-s))^shape):  log p = log shape + (shape - 1) log u - shape·s - u^shape exp(-shape·s).

    Column: exp(-shape·s), slope = 1, curvature = u^shape.
    """

    name = "weibull"
    is_product = np.ones(1, dtype=bool)
    constant_slopes = True
    sampled = True

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        shape, scale = dispersion
        slope, curvature = only_known(y, np.ones_like(score), _power(y[:, None] / scale, shape))
        return slope, curvature

    def _density(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray, shape: float) -> np.ndarray:
        return np.log(shape) + (shape - 1) * np.log(u) + score - _power(u, shape, moment)

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        shape, scale = dispersion
        return scale * np.exp(gammaln(1 + 1 / shape)) * exp_of_product(score[:, 0], moment[:, 0], -1.0 / shape)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The variance of log y is that of the Weibull with this shape."""
        center = dispersion[1] * np.exp(-score[:, 0] / dispersion[0])
        shape = dispersion[0] / np.sqrt(1 + 6 / np.pi**2 * product_variance(score, moment)[:, 0])
        low, high = 0.5 * (1 - probability), 0.5 * (1 + probability)
        return center * (-np.log1p(-low)) ** (1 / shape), center * (-np.log1p(-high)) ** (1 / shape)

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.log(dispersion[1]) - coef / dispersion[0], deviation / dispersion[0]
