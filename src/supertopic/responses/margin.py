"""Max-margin responses: losses in place of densities, and the dual problems that their coefficients solve.

The objective has -C sum_d w_d loss_d in place of a likelihood's log p(y_d). The E-step gets its multipliers, the duals,
as slopes: a column of the linear predictor has the slope dual_dc. In all three problems

    P_c (coef_c - mean_c) = sum_d dual_dc x_d

where dual_d is mu_d - mu*_d (regression), s_d mu_d (two classes, s_d = ±1), and 1(c = y_d) sum_b mu_d^b - mu_d^c
(classes). C is per document: the paper's C where it sums the slacks, its C/D where it takes their mean.

A sampler uses exp(-C w loss) as a likelihood (Zhu, Chen, Perkins & Zhang 2014): with 2c = C w,

    exp(-2c max(0, zeta)) = ∫ exp(-(lambda + c zeta)²/(2 lambda)) / sqrt(2 pi lambda) d lambda

Given zeta, 1/lambda is inverse Gaussian with mean 1/(c |zeta|) and shape 1. Given lambda, this is quadratic in zeta.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from supertopic.later import Later
from supertopic.responses.base import Response, only_known
from supertopic.responses.continuous import Gaussian

margin = Later("supertopic.margin")  # which compiles

_MOST_CERTAIN = 1e6  # the largest 1/lambda: at zeta = 0 it has no mean, and single precision has to hold it
TOLERANCE = 3e-3  # of the duality gap, relative to the objective, in an M-step that is followed by others
_PLANES_TOLERANCE = 2e-2  # the same with cutting planes, most of which are needed for the last digits only


@dataclass(frozen=True)
class Solution:
    """Coefficients (C, n), the duals (D, C) that they come from, and cutting planes to start from next time."""

    coef: np.ndarray
    dual: np.ndarray
    planes: np.ndarray | None = None


class MaxMargin(Response, ABC):
    """The base of max-margin responses: what they have in addition to other responses."""

    constant_slopes = True
    max_margin = True
    likelihood = False  # of y, beside the loss
    tolerance = TOLERANCE  # of `solve` in an M-step

    @abstractmethod
    def solve(
        self, x: object, y: np.ndarray, weight: np.ndarray, mean: np.ndarray | None, precision: np.ndarray | None,
        dispersion: np.ndarray, start: Solution | None = None, tol: float = TOLERANCE,
    ) -> Solution:  # fmt: skip
        """The best mean of q(eta) for features x (D, n), where q(eta) = N(mean, precision⁻¹) without the losses.

        mean : (C, n), precision : (C, n, n), or (C, n) if it is diagonal; None for zeros and ones, which sparse x need
        start : the solution of a similar problem
        """

    @abstractmethod
    def pull(self, y: np.ndarray, score: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """(D, C) a slope of -C loss in the scores: the multipliers of a document on its own."""

    @abstractmethod
    def beside_words(self, C: float) -> tuple[MaxMargin, float]:
        """This loss with another C and a margin of one, for rows of length one; and the margin to multiply coef by."""

    @abstractmethod
    def fitness(self, y: np.ndarray, score: np.ndarray, dispersion: np.ndarray) -> float:
        """How well the scores predict the known labels; higher is better."""


def _augment_hinge(
    intercept: np.ndarray, sign: np.ndarray, score: np.ndarray, c: np.ndarray, draw: Any
) -> tuple[np.ndarray, np.ndarray]:
    """(slope, curvature) of exp(-2c max(0, zeta)) in s, where zeta = intercept - sign·s; arrays of one shape."""
    reach = np.maximum(c * np.abs(intercept - sign * score), 1e-12)
    certainty = np.minimum(draw.inverse_gaussian(1.0 / reach, np.ones_like(reach)), _MOST_CERTAIN)
    curvature = c**2 * certainty
    return sign * (c + curvature * intercept), curvature


class Hinge(MaxMargin):
    """loss = max_c [cost 1(c != y) + s_c] - s_y; for two classes max(0, cost ∓ s), with one column for the second.

    There is no likelihood: the slopes are the duals alone.
    """

    name = "hinge"
    kind = "margin"
    uses_moments = False  # and they take three times as long

    def __init__(self, n_classes: int = 0, C: float = 1.0, cost: float = 1.0, slack: str = "n") -> None:
        super().__init__(n_classes)
        self.C, self.cost, self.slack = C, cost, slack
        self.tolerance = _PLANES_TOLERANCE if slack == "1" else TOLERANCE
        self.is_product = np.zeros(1 if n_classes == 2 else n_classes, dtype=bool)

    def loss(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        """(D,), zero where y is missing."""
        code = np.where(np.isnan(y), 0, y).astype(int)
        if self.n_classes == 2:
            found = np.maximum(self.cost - np.where(code == 1, 1.0, -1.0) * score[:, 0], 0.0)
        else:
            own = np.arange(self.n_classes) == code[:, None]
            found = (score + np.where(own, 0.0, self.cost)).max(axis=1) - score[own]
        return only_known(y, found)[0]

    def pull(self, y: np.ndarray, score: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        if self.n_classes == 2:
            sign = np.where(y == 1, 1.0, -1.0)[:, None]
            slope = self.C * sign * (self.cost > sign * score)
        else:
            own = np.arange(self.n_classes) == y[:, None]
            worst = (score + np.where(own, 0.0, self.cost)).argmax(axis=1)
            slope = self.C * (own.astype(float) - (np.arange(self.n_classes) == worst[:, None]))
        return only_known(y, slope)[0]

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return -self.C * self.loss(y, score)

    def solve(
        self, x: Any, y: np.ndarray, weight: np.ndarray, mean: np.ndarray | None, precision: np.ndarray | None,
        dispersion: np.ndarray, start: Solution | None = None, tol: float = TOLERANCE,
    ) -> Solution:  # fmt: skip
        """As in `MaxMargin`, with a mean of zero and diagonal precisions, one for all columns or one for each."""
        diagonal = precision
        if precision is not None and precision.ndim == 3:
            diagonal = np.diagonal(precision, axis1=1, axis2=2)
        if diagonal is not None and len(diagonal) == 1:
            diagonal = diagonal[0]
        if self.slack == "1":
            return self._solve_one_slack(x, y, weight, diagonal, start, tol)
        common: Any = {"C": self.C, "cost": self.cost, "weight": weight, "precision": diagonal, "tol": tol}
        warm = None if start is None else start.dual
        if self.n_classes == 2:
            fit = margin.solve_binary(x, y, warm=None if warm is None else np.abs(warm[:, 0]), **common)
            sign = only_known(y, np.where(y == 1, 1.0, -1.0))[0]
            return Solution(fit.coef[None], (sign * fit.dual)[:, None])
        warm = None if warm is None else np.maximum(-warm, 0.0)  # what the own class holds is their sum
        fit = margin.solve_classes(x, y, self.n_classes, warm=warm, **common)
        return Solution(fit.coef, self._signed(y, fit.dual))

    def _solve_one_slack(
        self, x: np.ndarray, y: np.ndarray, weight: np.ndarray, precision: np.ndarray | None, start: Solution | None,
        tol: float,
    ) -> Solution:  # fmt: skip
        two = self.n_classes == 2  # the binary problem at C is that of two classes at C/2
        fit = margin.solve_one_slack(
            x, y, self.n_classes, 0.5 * self.C if two else self.C, self.cost, weight=weight, precision=precision,
            warm=None if start is None else start.planes, tol=tol,
        )  # fmt: skip
        coef, dual = fit.coef, self._signed(y, fit.dual)
        if two:
            coef, dual = coef[1:] - coef[:1], 2 * dual[:, 1:]
        return Solution(coef, dual, fit.planes)

    def beside_words(self, C: float) -> tuple[MaxMargin, float]:
        return Hinge(self.n_classes, C, 1.0), self.cost

    def fitness(self, y: np.ndarray, score: np.ndarray, dispersion: np.ndarray) -> float:
        """The share of labels that are predicted."""
        known = ~np.isnan(y)
        return float(np.mean(self.predict(score, score, dispersion).argmax(axis=1)[known] == y[known]))

    def _signed(self, y: np.ndarray, dual: np.ndarray) -> np.ndarray:
        """(D, C) the slopes of the columns from mu_d^c, which is zero for the own class."""
        own = (np.arange(self.n_classes) == y[:, None]).astype(np.float64)
        return own * dual.sum(axis=1, keepdims=True) - dual

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """(D, n_classes) scores, which are no probabilities."""
        return np.hstack([-score, score]) if self.n_classes == 2 else score


class HingeEach(Hinge):
    """loss = sum_c max(0, cost - s_c) for the own class c and max(0, cost + s_c) for others: one against the rest.

    The loss of several classes for a sampler. The coefficients, given the topics, are those of `Hinge`.
    """

    name = "hinge_each"

    def __init__(self, n_classes: int = 0, C: float = 1.0, cost: float = 1.0, slack: str = "n") -> None:
        super().__init__(n_classes, C, cost, slack)
        self.sampled = True

    def _signs(self, y: np.ndarray) -> np.ndarray:
        """(D, C) ±1."""
        own = np.ones(1) if self.n_classes == 2 else np.arange(self.n_classes)
        return np.where(y[:, None] == own, 1.0, -1.0)

    def loss(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        return only_known(y, np.maximum(self.cost - self._signs(y) * score, 0.0).sum(axis=1))[0]

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: object
    ) -> tuple[np.ndarray, np.ndarray]:
        c = np.broadcast_to(0.5 * self.C * weight[:, None], score.shape)
        slope, curvature = _augment_hinge(np.full(score.shape, self.cost), self._signs(y), score, c, draw)
        slope, curvature = only_known(y, slope, curvature)
        return slope, curvature


class EpsilonInsensitive(MaxMargin, Gaussian):
    """loss = max(0, |u - s| - epsilon), u = (y - center)/scale; with `likelihood`, u ~ N(s, variance) beside it."""

    name = "epsilon_insensitive"
    kind = "margin"
    sampled = False  # of the class, so that tests of likelihoods leave it out; instances are sampled

    def __init__(self, n_classes: int = 0, C: float = 1.0, epsilon: float = 0.1, likelihood: bool = True) -> None:
        super().__init__(n_classes)
        self.C, self.epsilon, self.likelihood = C, epsilon, likelihood
        self.sampled = True

    def loss(self, y: np.ndarray, score: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """(D,), zero where y is missing."""
        _, center, scale = dispersion
        return only_known(y, np.maximum(np.abs((y - center) / scale - score[:, 0]) - self.epsilon, 0.0))[0]

    def pull(self, y: np.ndarray, score: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        left = ((y - dispersion[1]) / dispersion[2])[:, None] - score
        return only_known(y, self.C * np.sign(left) * (np.abs(left) > self.epsilon))[0]

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.likelihood:
            return super().slope_and_curvature(y, score, moment, dispersion)
        return np.zeros_like(score), np.zeros_like(score)

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: object
    ) -> tuple[np.ndarray, np.ndarray]:
        """Two hinges, u - s - epsilon and s - u - epsilon, beside the likelihood."""
        slope, curvature = self.slope_and_curvature(y, score, score, dispersion)
        slope, curvature = weight[:, None] * slope, weight[:, None] * curvature
        u, c = ((np.nan_to_num(y) - dispersion[1]) / dispersion[2])[:, None], 0.5 * self.C * weight[:, None]
        for sign in (np.ones_like(score), -np.ones_like(score)):
            more = only_known(y, *_augment_hinge(sign * u - self.epsilon, sign, score, c, draw))
            slope, curvature = slope + more[0], curvature + more[1]
        return slope, curvature

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Any
    ) -> np.ndarray:
        return super().draw_dispersion(y, score, weight, dispersion, draw) if self.likelihood else dispersion

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        density = super().log_density(y, score, moment, dispersion) if self.likelihood else 0.0
        return density - self.C * self.loss(y, score, dispersion)

    def solve(
        self, x: object, y: np.ndarray, weight: np.ndarray, mean: np.ndarray | None, precision: np.ndarray | None,
        dispersion: np.ndarray, start: Solution | None = None, tol: float = TOLERANCE,
    ) -> Solution:  # fmt: skip
        """As in `MaxMargin`; y and the coefficients are standardised."""
        _, center, scale = dispersion
        fit = margin.solve_regression(
            x, (y - center) / scale, self.C, self.epsilon, weight=weight, mean=None if mean is None else mean[0],
            precision=None if precision is None else precision[0], tol=tol,
            warm=None if start is None else start.dual[:, 0],
        )  # fmt: skip
        return Solution(fit.coef[None], fit.dual[:, None])

    def beside_words(self, C: float) -> tuple[MaxMargin, float]:
        return EpsilonInsensitive(0, C, self.epsilon, self.likelihood), 1.0

    def fitness(self, y: np.ndarray, score: np.ndarray, dispersion: np.ndarray) -> float:
        """Minus the mean squared error of the standardised y."""
        known = ~np.isnan(y)
        return -float(np.mean(self._squares(y, score, score**2, dispersion)[known]))
