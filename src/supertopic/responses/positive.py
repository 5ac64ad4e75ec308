"""Responses on the positive half-line: waiting times, sums of money, lengths.

y = scale·u, where the scale is the mean of y and stays fixed; dispersion = (shape, scale). With the log link, gamma and
Weibull are exact product columns in x = -s (Weibull: x = -shape·s), and the coefficients are those of x. The others
use the delta method: a quadratic column that touches the log-density l at E[s],

    E[log p(y | s)]  ≈  l(m) + ½ l''(m) Var[s],   m = E[s]:     curvature = -l''(m),  slope = l'(m) + curvature·m
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from supertopic.later import Later
from supertopic.responses.base import (
    LARGEST_LABEL,
    Draws,
    Response,
    draw_log_normal,
    exp_of_product,
    only_known,
    only_labelled,
    product_variance,
)
from supertopic.responses.continuous import as_logarithm
from supertopic.responses.label_summary import LabelSummary
from supertopic.responses.search import N_POINTS, highest, part_of_the_way, points_around, zero_of_values

special, stats = Later("scipy.special"), Later("scipy.stats")

_FLOOR = 0.03  # of labels whose logarithm topics are trained for, as a part of their mean
_LEAST_MEAN = 1e-250  # of a prediction that intervals are made for


class Positive(Response, ABC):
    """The base of all: y > 0, with a shape and a scale."""

    kind = "number"
    lowest = 0.0
    n_dispersion = 2
    ranges = ((1e-4, 1e6), (1e-100, 2 * LARGEST_LABEL))
    n_summary = 2
    links: ClassVar[tuple[str, ...]] = ("log",)

    def __init__(self, n_classes: int = 0, link: str = "auto") -> None:
        super().__init__(n_classes)
        if link not in ("auto", *self.links):
            names = ", ".join(map(repr, ("auto", *self.links)))
            raise ValueError(f"link: got {link!r}, expected one of {names} for response={self.name!r}")
        self.link = self.links[0] if link == "auto" else link
        self.log_link = self.link == "log"

    def check(self, y: np.ndarray) -> None:
        wrong = y[~np.isnan(y) & (y <= 0)]
        if len(wrong):
            raise ValueError(f"y holds {wrong[0]:g}, but response={self.name!r} needs numbers > 0")

    def trained_as(self, y: np.ndarray, weight: np.ndarray) -> tuple[Response, np.ndarray]:
        _, mean = self.start(self.describe(y, weight))
        return as_logarithm(y, _FLOOR * mean)

    def start(self, labels: LabelSummary) -> np.ndarray:
        return np.array([1.0, labels.moments.mean])

    @abstractmethod
    def _density(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray, shape: float) -> np.ndarray:
        """(D,) E[log p(u | s)]."""

    @abstractmethod
    def _best_log_shape(self, mean: np.ndarray, now: float) -> float:
        """From the summary per unit of weight; no farther from `now` than a search reaches."""

    def _doubt(self, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
        """(D,) Var_s[E[y | s]] / E[y]²: what is not known of the mean."""
        return np.expm1(np.minimum(product_variance(score, moment), 300.0))

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        shape, scale = dispersion
        (density,) = only_known(y, self._density(y / scale, score[:, 0], moment[:, 0], shape) - np.log(scale))
        return density

    def update(self, summary: np.ndarray, dispersion: np.ndarray, rate: float) -> np.ndarray:
        if summary[0] == 0:
            return dispersion
        best = self._best_log_shape(summary / summary[0], dispersion[0])
        return np.array([part_of_the_way(dispersion[0], best, rate, *self.ranges[0]), dispersion[1]])

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        """The shape by one step of a slice sampler in its logarithm."""

        def likelihood(shape: float) -> float:
            return self.log_likelihood(y, score, weight, np.array([shape, dispersion[1]]))

        return np.array([draw_log_normal(draw, likelihood, dispersion[0], *self.ranges[0]), dispersion[1]])


class _Family(Positive):
    """The shape k enters the log-density as in an exponential family:

        E[log p(u | s)] = log_norm(k) + k·statistic(u, s) + rest(u)

    A subclass gives these three, and two sums over documents hold all there is to know of k.
    """

    @abstractmethod
    def _log_norm(self, shape: float) -> float: ...

    @abstractmethod
    def _statistic(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _rest(self, u: np.ndarray) -> np.ndarray: ...

    def _density(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray, shape: float) -> np.ndarray:
        return self._log_norm(shape) + shape * self._statistic(u, score, moment) + self._rest(u)

    def summarise(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """(sum_d w, sum_d w·statistic)."""
        y, weight, score, moment = only_labelled(y, weight, score, moment)
        return np.array([weight.sum(), weight @ self._statistic(y / dispersion[1], score[:, 0], moment[:, 0])])

    def _best_log_shape(self, mean: np.ndarray, now: float) -> float:
        return highest(lambda shape: self._log_norm(shape) + shape * mean[1], now)


class _Delta(_Family):
    """The delta method, from l(s) = statistic(u, s) at a known s and its first two derivatives in s."""

    is_product = np.zeros(1, dtype=bool)

    @abstractmethod
    def _known_statistic(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        """l(s)."""

    @abstractmethod
    def _slope(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        """l'(s)."""

    @abstractmethod
    def _curvature(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        """-l''(s), or something larger where that is not positive."""

    def _statistic(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
        variance = np.maximum(moment - score**2, 0.0)
        return self._known_statistic(u, score) - 0.5 * self._curvature(u, score) * variance

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        shape, scale = dispersion
        u = y[:, None] / scale
        curvature = shape * self._curvature(u, score)
        slope, curvature = only_known(y, shape * self._slope(u, score) + curvature * score, curvature)
        return slope, curvature

    def step(self, coef: np.ndarray, found: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """With a canonical link s has to stay above zero, which it does while all coefficients do."""
        if self.link == "log":
            return coef + (found - coef) / np.maximum(reach, 1.0)[:, None]
        return np.clip(found, coef / 4.0, coef * 4.0)

    def start_coef(self, labels: LabelSummary, dispersion: np.ndarray) -> np.ndarray:
        return np.array([0.0 if self.link == "log" else 1.0])  # the mean of u is 1


class Gamma(_Family):
    """u ~ Gamma(shape, mean exp(s)):  log p = shape (log shape - s - u exp(-s)) + (shape - 1) log u - log Gamma(shape).

    A product column in -s: slope = shape, curvature = shape·u. With `link="canonical"`, mean 1/s: `CanonicalGamma`.
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

    def _log_norm(self, shape: float) -> float:
        return float(shape * np.log(shape) - special.gammaln(shape))

    def _statistic(self, u: np.ndarray, score: np.ndarray, moment: np.ndarray) -> np.ndarray:
        return np.log(u) + score - u * moment

    def _rest(self, u: np.ndarray) -> np.ndarray:
        return -np.log(u)

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return dispersion[1] * exp_of_product(score[:, 0], moment[:, 0], -1.0)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        mean = np.maximum(self.predict(score, moment, dispersion), _LEAST_MEAN)
        shape = 1.0 / ((1 + 1 / dispersion[0]) * (1 + self._doubt(score[:, 0], moment[:, 0])) - 1)  # E[y²] is right
        low, high = 0.5 * (1 - probability), 0.5 * (1 + probability)
        return stats.gamma.ppf(low, shape, scale=mean / shape), stats.gamma.ppf(high, shape, scale=mean / shape)

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

    def _known_statistic(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.log(u) + np.log(s) - u * s

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

        given n ~ Poisson(w shape exp(-s)), it is a product column in x = -2s with slope n/2 and curvature ½ w shape u.
        """
        shape, scale = dispersion
        (strength,) = only_known(y, shape * weight[:, None])
        n = draw.poisson(strength * np.exp(np.minimum(-score, 300.0)))
        return 0.5 * n, np.where(strength > 0, 0.5 * strength * y[:, None] / scale, 0.0)

    def _log_norm(self, shape: float) -> float:
        return float(0.5 * np.log(shape))

    def _known_statistic(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        inverse = np.exp(-s) if self.link == "log" else np.sqrt(s)  # 1/mu
        return -0.5 * ((u * inverse - 1) / np.sqrt(u)) ** 2

    def _rest(self, u: np.ndarray) -> np.ndarray:
        return -0.5 * np.log(2 * np.pi) - 1.5 * np.log(u)

    def _slope(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        if self.link == "log":
            return u * np.exp(-2 * s) - np.exp(-s)
        return 0.5 / np.sqrt(s) - 0.5 * u

    def _curvature(self, u: np.ndarray, s: np.ndarray) -> np.ndarray:
        if self.link == "log":  # -l'' is negative far to the left of the mean; its expectation never is
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
            return dispersion[1] * np.exp(np.minimum(s + 0.5 * variance, 300.0))
        return dispersion[1] * (1.0 + 0.375 * variance / s**2) / np.sqrt(s)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        mean = np.maximum(self.predict(score, moment, dispersion), _LEAST_MEAN)
        doubt = self._doubt(score[:, 0], moment[:, 0])
        ratio = mean / (dispersion[0] * dispersion[1]) * (1 + doubt) ** 3 + doubt  # y's variance over its squared mean
        shape = mean / ratio
        low, high = 0.5 * (1 - probability), 0.5 * (1 + probability)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # scipy's search warns at times, with the right result
            return stats.invgauss.ppf(low, ratio, scale=shape), stats.invgauss.ppf(high, ratio, scale=shape)

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.link == "log":
            return coef + np.log(dispersion[1]), deviation
        return coef / dispersion[1] ** 2, deviation / dispersion[1] ** 2

    def spread(self, dispersion: np.ndarray) -> float:
        """The variance over the cubed mean."""
        return float(1.0 / (dispersion[0] * dispersion[1]))


def _power(u: np.ndarray, shape: float, factor: np.ndarray | float = 1.0) -> np.ndarray:
    """factor·u^shape, cut off where it would overflow."""
    return np.exp(np.minimum(shape * np.log(u) + np.log(np.maximum(factor, 1e-300)), 690.0))


class Weibull(Positive):
    """P(u > t) = exp(-(t exp(-s))^shape):  log p = log shape + (shape - 1) log u - shape·s - u^shape exp(-shape·s).

    A product column in -shape·s: slope = 1, curvature = u^shape.

    The derivative of the objective in the shape k is Q(k) - R(k), where Q falls and R rises,

        Q = sum_d w/k + sum_{u > 1} w log u   + sum_{u < 1} w moment u^k |log u|
        R =             sum_{u < 1} w |log u| + sum_{u > 1} w moment u^k log u

    log R - log Q has one zero. It is close to linear even for labels with a heavy tail, where u^k is not.
    """

    name = "weibull"
    ranges = ((1e-2, 1e6), Positive.ranges[1])  # smaller shapes have means beyond any number
    n_summary = 3 + 2 * N_POINTS
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

    def summarise(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """(sum_d w, the sums of w |log u|, those of w moment u^k |log u| at the points around k); u > 1, then u < 1."""
        y, weight, moment = only_labelled(y, weight, moment[:, 0])
        u = y / dispersion[1]
        sums, curves = [], []
        for side in (u > 1, u < 1):
            logs = weight[side] * np.abs(np.log(u[side]))
            sums.append(logs.sum())
            curves += [logs @ np.minimum(_power(u[side], k, moment[side]), 1e280) for k in points_around(dispersion[0])]
        return np.array([weight.sum(), *sums, *curves])

    def _best_log_shape(self, mean: np.ndarray, now: float) -> float:
        (above, below), (rising, falling) = mean[1:3], np.split(mean[3:], 2)
        q = 1.0 / points_around(now) + above + falling
        return zero_of_values(np.log(np.clip(below + rising, 1e-300, 1e300)) - np.log(np.minimum(q, 1e300)), now)

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        shape, scale = dispersion
        return scale * np.exp(special.gammaln(1 + 1 / shape)) * exp_of_product(score[:, 0], moment[:, 0], -1.0 / shape)

    def interval(
        self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, probability: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """From the Weibull distribution with the variance that log y has when s is uncertain."""
        center = np.log(dispersion[1]) - score[:, 0] / dispersion[0]
        shape = dispersion[0] / np.sqrt(1 + 6 / np.pi**2 * product_variance(score, moment)[:, 0])
        tails = 0.5 * (1 - probability), 0.5 * (1 + probability)
        low, high = (np.exp(np.minimum(center + np.log(-np.log1p(-tail)) / shape, 690.0)) for tail in tails)
        return low, high

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.log(dispersion[1]) - coef / dispersion[0], deviation / dispersion[0]
