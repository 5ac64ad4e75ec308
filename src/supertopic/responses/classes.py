"""Responses with several values: classes, and classes in an order."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri

from supertopic.responses.base import (
    Draws,
    Response,
    draw_latents,
    draw_log_normal,
    only_known,
    product_variance,
)


class Softmax(Response):
    """P(y = c) = exp(s_c) / sum_b exp(s_b), by the tangent of the logarithm at zeta = sum_b E[exp s_b]:

    log p(y) >= E[s_y] - sum_b E[exp s_b]/zeta - log zeta + 1:   slope = 1 for y's column,  curvature = 1/zeta
    """

    name = "softmax"
    kind = "class"
    sampled = True

    def __init__(self, n_classes: int = 0) -> None:
        super().__init__(n_classes)
        self.is_product = np.ones(n_classes, dtype=bool)

    def _is_class(self, y: np.ndarray) -> np.ndarray:
        return (y[:, None] == np.arange(self.n_classes)).astype(np.float64)

    def start_coef(self, y: np.ndarray, weight: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        shares = (weight + 1e-12) @ self._is_class(y)
        logs = np.log((shares + 0.5 * shares.sum() / (~np.isnan(y)).sum()) / shares.sum())
        return logs - logs.mean()

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        total = np.broadcast_to(moment.sum(axis=1, keepdims=True), score.shape)
        slope, curvature = only_known(y, self._is_class(y), 1.0 / np.maximum(total, 1e-300))
        return slope, curvature

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(y | s)^w ∝ ∫ exp(w s_y - e sum_b exp s_b) e^(w - 1) de:  e ~ Gamma(w, sum_b exp s_b).

        A token moves the s of all classes at once. A Pólya-Gamma for each class given the others (`augment_column`)
        says nothing of such moves; this does, and its columns are independent.
        """
        (shape,) = only_known(y, weight)
        top = score.max(axis=1)
        e = draw.gamma(np.where(shape > 0, shape, 1.0), np.exp(score - top[:, None]).sum(axis=1)) * np.exp(-top)
        curvature = np.where(shape > 0, e, 0.0)[:, None] * np.ones_like(score)
        return shape[:, None] * self._is_class(y), curvature

    def augment_column(
        self, y: np.ndarray, score: np.ndarray, column: int, weight: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """A logit in s_c - log sum_{b != c} exp s_b (Holmes & Held), by a Pólya-Gamma draw."""
        (shape,) = only_known(y, weight)
        rest = logsumexp(np.delete(score, column, axis=1), axis=1)
        omega = draw.polya_gamma(shape, score[:, column] - rest)
        return shape * (self._is_class(y)[:, column] - 0.5) + omega * rest, omega

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        own = (self._is_class(y) * score).sum(axis=1)
        (density,) = only_known(y, own - np.log(np.maximum(moment.sum(axis=1), 1e-300)))
        return density

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        share = moment / np.maximum(moment.sum(axis=1, keepdims=True), 1e-300)
        (found,) = only_known(y, share * (1.0 - share))
        return found

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """P(c) ∝ 1 / sum_b exp((s_b - s_c) / sqrt(1 + pi/8 (Var[s_b] + Var[s_c]))): in pairs, as in Logit."""
        variance = product_variance(score, moment)
        columns = []
        for c in range(self.n_classes):
            behind = (score - score[:, [c]]) / np.sqrt(1 + np.pi / 8 * (variance + variance[:, [c]]))
            columns.append(1.0 / np.exp(np.minimum(behind, 300.0)).sum(axis=1))
        shares = np.column_stack(columns)
        return shares / shares.sum(axis=1, keepdims=True)


class Ordinal(Response):
    """y is the place of a latent N(s, 1) among cut-points: P(y = c) = Phi(cut_c+1 - s) - Phi(cut_c - s).

    q(latent) is that normal between its cut-points: slope = E[latent], curvature = 1, and the bound is
    log P(y | E[s]) - ½ Var[s]. dispersion = the n_classes - 1 cut-points; the first stays, since topics have an
    intercept of their own.
    """

    name = "ordinal"
    kind = "class"
    is_product = np.zeros(1, dtype=bool)
    ordered = True
    sampled = True
    whole_weights = True

    @property
    def n_dispersion(self) -> int:  # type: ignore[override]
        return self.n_classes - 1

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        known = ~np.isnan(y)
        shares = np.bincount(y[known].astype(int), weight[known] + 1e-12, minlength=self.n_classes) + 1e-12
        below = np.cumsum(shares)[:-1] / shares.sum()
        return ndtri(np.clip(below, 1e-3, 1 - 1e-3)) + 1e-6 * np.arange(self.n_classes - 1)

    def _ends(self, y: np.ndarray, score: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where y's stretch of the line begins and ends, seen from s; turned round where that is to the right."""
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        place = np.where(np.isnan(y), 0, y).astype(int)
        return edges[place] - score, edges[place + 1] - score

    @staticmethod
    def _log_stretch(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """log(Phi(high) - Phi(low)), in the tail where the numbers are small."""
        flip = low > 0
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        top, bottom = log_ndtr(high), log_ndtr(low)
        return top + np.log1p(-np.exp(np.minimum(bottom - top, -1e-15)))

    def _slopes(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """phi(low), phi(high) over the stretch's probability."""
        log_stretch = self._log_stretch(low, high)
        constant = 0.5 * np.log(2 * np.pi)
        return np.exp(-0.5 * low**2 - constant - log_stretch), np.exp(-0.5 * high**2 - constant - log_stretch)

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        at_low, at_high = self._slopes(*self._ends(y, score[:, 0], dispersion))
        slope, curvature = only_known(y, score + (at_low - at_high)[:, None], np.ones_like(score))
        return slope, curvature

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """The latents themselves, N(s, 1) between y's cut-points, `weight` of them (Albert & Chib)."""
        low, high = self._ends(y, np.zeros(len(y)), dispersion)
        latents = draw_latents(draw, score, low[:, None], high[:, None], weight)
        slope, curvature = only_known(y, latents, weight[:, None] * np.ones_like(score))
        return slope, curvature

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        """The gaps between cut-points, each by a slice sampler's step in its logarithm, the latents integrated out.

        Given the latents a cut-point is uniform between those of its neighbours, and hardly moves among many documents.
        """
        gaps = np.diff(dispersion)
        for place in range(len(gaps)):

            def likelihood(gap: float, place: int = place) -> float:
                others = np.concatenate([gaps[:place], [gap], gaps[place + 1 :]])
                return self.log_likelihood(y, score, weight, dispersion[0] + np.cumsum([0.0, *others]))

            gaps[place] = draw_log_normal(draw, likelihood, gaps[place])
        return dispersion[0] + np.cumsum([0.0, *gaps])

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        variance = np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        (density,) = only_known(y, self._log_stretch(*self._ends(y, score[:, 0], dispersion)) - 0.5 * variance)
        return density

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        low, high = self._ends(y, score[:, 0], dispersion)
        at_low, at_high = self._slopes(low, high)
        low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
        (found,) = only_known(y, (high * at_high - low * at_low + (at_high - at_low) ** 2)[:, None])
        return found

    def update(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
        rate: float,
    ) -> np.ndarray:  # fmt: skip
        known = ~np.isnan(y) & (weight > 0)
        if not known.any() or self.n_classes < 3:
            return dispersion
        y, s, weight = y[known], score[known, 0], weight[known] / weight[known].sum()

        def loss(log_gaps: np.ndarray) -> tuple[float, np.ndarray]:
            gaps = np.exp(log_gaps)
            cuts = dispersion[0] + np.concatenate([[0.0], np.cumsum(gaps)])
            low, high = self._ends(y, s, cuts)
            at_low, at_high = self._slopes(low, high)
            by_class = np.stack(
                [np.bincount(y.astype(int), weight * at, minlength=self.n_classes) for at in (at_low, at_high)]
            )
            by_cut = by_class[1, :-1] - by_class[0, 1:]  # a cut-point ends one class and begins the next
            by_gap = np.cumsum(by_cut[::-1])[::-1][1:] * gaps
            return -float(weight @ self._log_stretch(low, high)), -by_gap

        now = np.log(np.diff(dispersion))
        best = minimize(loss, now, jac=True, method="L-BFGS-B", bounds=[(-12.0, 4.0)] * len(now)).x
        gaps = np.exp(now + rate * (best - now))
        return dispersion[0] + np.concatenate([[0.0], np.cumsum(gaps)])

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        spread = np.sqrt(1.0 + np.maximum(moment - score**2, 0.0))
        below = ndtr((dispersion - score) / spread)
        return np.diff(np.column_stack([np.zeros(len(score)), below, np.ones(len(score))]), axis=1)

    def decide(self, probabilities: np.ndarray) -> np.ndarray:
        """The median: of all guesses it has the least mean distance to y."""
        return (np.cumsum(probabilities, axis=1) < 0.5 - 1e-12).sum(axis=1)

    def spread(self, dispersion: np.ndarray) -> np.ndarray:
        """The cut-points."""
        return dispersion
