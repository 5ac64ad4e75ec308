"""Responses with two values."""

from __future__ import annotations

import numpy as np

from supertopic.later import Later
from supertopic.responses.base import Draws, Response, draw_latents, only_known

special = Later("scipy.special")


def half_tanh(c: np.ndarray) -> np.ndarray:
    """tanh(c/2) / (2c), which is ¼ at 0: the curvature of the Jaakkola–Jordan bound, and E of a Pólya-Gamma(1, c)."""
    c = np.maximum(np.abs(c), 1e-6)
    return np.tanh(0.5 * c) / (2 * c)


class Logit(Response):
    """P(y = 1) = 1 / (1 + exp(-s)), a quadratic column by the Jaakkola–Jordan bound, tight at c² = E[s²]:

    log p(y) >= (y - ½) s - c/2·tanh-term:   slope = y - ½,  curvature = tanh(c/2)/(2c)
    """

    name = "logit"
    kind = "class"
    two_classes = True
    follows_means = True
    is_product = np.zeros(1, dtype=bool)
    sampled = True

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        slope, curvature = only_known(y, y[:, None] - 0.5, half_tanh(np.sqrt(np.maximum(moment, 0.0))))
        return slope, curvature

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(y | s)^w = ∫ exp(w (y - ½) s - omega s²/2) PG(omega; w, 0): omega ~ PG(w, s) (Polson, Scott & Windle)."""
        (shape,) = only_known(y, weight[:, None])
        return np.where(shape > 0, shape * (y[:, None] - 0.5), 0.0), draw.polya_gamma(shape, score)

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """At the tight c the quadratic terms cancel: (y - ½) E[s] - log(2 cosh(c/2))."""
        c = np.sqrt(np.maximum(moment[:, 0], 0.0))
        (density,) = only_known(y, (y - 0.5) * score[:, 0] - np.logaddexp(0.5 * c, -0.5 * c))
        return density

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        (found,) = only_known(y, special.expit(score) * special.expit(-score))
        return found

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        variance = np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        one = special.expit(score[:, 0] / np.sqrt(1 + np.pi * variance / 8))  # MacKay: E of a logistic over a normal
        return np.column_stack([1 - one, one])


class Probit(Response):
    """P(y = 1) = Phi(s): y is the sign of a latent N(s, 1), and q(latent) is that normal truncated at zero.

    This gives a quadratic column:

    slope = E[latent],  curvature = 1,  and the bound is log Phi(±E[s]) - ½ Var[s].
    """

    name = "probit"
    kind = "class"
    two_classes = True
    is_product = np.zeros(1, dtype=bool)
    sampled = True
    whole_weights = True  # Phi(s)^w is a mixture of normals for these only

    @property
    def is_probit(self) -> np.ndarray:
        return np.ones(1, dtype=bool)

    def signs(self, y: np.ndarray) -> np.ndarray:
        (sign,) = only_known(y, 2 * y[:, None] - 1)
        return sign

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        sign = 2 * y[:, None] - 1
        towards = sign * score
        ratio = np.exp(-0.5 * towards**2 - 0.5 * np.log(2 * np.pi) - special.log_ndtr(towards))
        slope, curvature = only_known(y, score + sign * ratio, np.ones_like(score))
        return slope, curvature

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """The latents themselves, `weight` of them, N(s, 1) truncated to the sign of y (Albert & Chib)."""
        above = y[:, None] == 1
        latents = draw_latents(draw, score, np.where(above, 0.0, -np.inf), np.where(above, np.inf, 0.0), weight)
        slope, curvature = only_known(y, latents, weight[:, None] * np.ones_like(score))
        return slope, curvature

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        variance = moment[:, 0] - score[:, 0] ** 2
        (density,) = only_known(y, special.log_ndtr((2 * y - 1) * score[:, 0]) - 0.5 * variance)
        return density

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        towards = (2 * y[:, None] - 1) * score
        ratio = np.exp(-0.5 * towards**2 - 0.5 * np.log(2 * np.pi) - special.log_ndtr(towards))
        (found,) = only_known(y, ratio * (ratio + towards))
        return found

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        one = special.ndtr(score[:, 0] / np.sqrt(1 + np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)))
        return np.column_stack([1 - one, one])
