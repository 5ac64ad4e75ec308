"""Responses with several values: classes, and classes in an order."""

from __future__ import annotations

import numpy as np

from supertopic.later import Later
from supertopic.responses.base import (
    Draws,
    Response,
    draw_latents,
    draw_log_normal,
    only_known,
    only_labelled,
    product_variance,
)
from supertopic.responses.continuous import Gaussian
from supertopic.responses.label_summary import LabelSummary

optimize, special = Later("scipy.optimize"), Later("scipy.special")

_SHORTEST, _LONGEST = -12.0, 4.0  # logarithms of the gaps between cut-points
_RIDGE = 1e-6  # added to the curvature per document: a gap that no label depends on stays where it is
_STEPS, _STEP_TOL = 60, 1e-6  # Newton steps of `fit_dispersion`, and the step in a log gap after which it ends


def _finite(ends: np.ndarray) -> np.ndarray:
    """Zero in place of infinity: what it is multiplied by is zero there."""
    return np.where(np.isfinite(ends), ends, 0.0)


def _sum_after(values: np.ndarray) -> np.ndarray:
    """(n - 1,) for each value but the last, the sum of those after it."""
    return np.cumsum(values[:0:-1])[::-1]


def _step_within(hessian: np.ndarray, slope: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """The step x between `least` and `most` with the highest slope·x - ½ x'·hessian·x."""
    values, vectors = np.linalg.eigh(hessian)
    root = np.sqrt(np.maximum(values, 0.0) + _RIDGE)  # rounding may leave an eigenvalue below zero
    return optimize.lsq_linear(root[:, None] * vectors.T, slope @ vectors / root, (least, most), method="bvls").x


class Softmax(Response):
    """P(y = c) = exp(s_c) / sum_b exp(s_b), with product columns, by the tangent of log at zeta = sum_b E[exp s_b]:

    log p(y) >= E[s_y] - sum_b E[exp s_b]/zeta - log zeta + 1:   slope = 1 in the column of y,  curvature = 1/zeta
    """

    name = "softmax"
    kind = "class"
    sampled = True
    shares_shift = True

    def __init__(self, n_classes: int = 0) -> None:
        super().__init__(n_classes)
        self.is_product = np.ones(n_classes, dtype=bool)

    def _is_class(self, y: np.ndarray) -> np.ndarray:
        return (y[:, None] == np.arange(self.n_classes)).astype(np.float64)

    @property
    def joint(self) -> bool:
        return self.n_classes > 3

    @property
    def coupled(self) -> bool:
        return True

    def start_coef(self, labels: LabelSummary, dispersion: np.ndarray) -> np.ndarray:
        shares = labels.class_weights + 1e-12 * labels.class_counts
        logs = np.log((shares + 0.5 * shares.sum() / labels.n_labels) / shares.sum())
        return logs - logs.mean()

    def slope_and_curvature(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        inverse = 1.0 / np.maximum(moment.sum(axis=1, keepdims=True), 1e-300)
        slope, curvature = only_known(y, self._is_class(y), np.broadcast_to(inverse, score.shape))
        return slope, curvature

    def augment(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(y | s)^w ∝ ∫ exp(w s_y - e sum_b exp s_b) e^(w - 1) de:  e ~ Gamma(w, sum_b exp s_b).

        A token moves the s of all classes at once. A Pólya-Gamma variable for each class given the others
        (`augment_column`) does not allow for such moves. This augmentation does, and its columns are independent.
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
        rest = special.logsumexp(np.delete(score, column, axis=1), axis=1)
        omega = draw.polya_gamma(shape, score[:, column] - rest)
        return shape * (self._is_class(y)[:, column] - 0.5) + omega * rest, omega

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        own = score[np.arange(len(y)), np.where(np.isnan(y), 0, y).astype(int)]
        (density,) = only_known(y, own - np.log(np.maximum(moment.sum(axis=1), 1e-300)))
        return density

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        share = moment / np.maximum(moment.sum(axis=1, keepdims=True), 1e-300)
        (found,) = only_known(y, share * (1.0 - share))
        return found

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """P(c) ∝ 1 / sum_b exp((s_b - s_c) / sqrt(1 + pi/8 (Var[s_b] + Var[s_c]))): each pair as in Logit."""
        variance = product_variance(score, moment)
        columns = []
        for c in range(self.n_classes):
            behind = (score - score[:, c, None]) / np.sqrt(1 + np.pi / 8 * (variance + variance[:, c, None]))
            columns.append(1.0 / np.exp(np.minimum(behind, 300.0)).sum(axis=1))
        shares = np.column_stack(columns)
        return shares / shares.sum(axis=1, keepdims=True)

    def unscale(self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Less the mean over the classes: a number that is added to all of them changes nothing."""
        return coef - coef.mean(axis=0), deviation


class Ordinal(Response):
    """y is the place of a latent N(s, 1) among cut-points: P(y = c) = Phi(cut_c+1 - s) - Phi(cut_c - s).

    q(latent) is that normal between its cut-points, which gives a quadratic column: slope = E[latent], curvature = 1,
    and the bound is log P(y | E[s]) - ½ Var[s]. dispersion = the n_classes - 1 cut-points. The first stays fixed, since
    the topics' coefficients have an intercept of their own.
    """

    name = "ordinal"
    kind = "class"
    is_product = np.zeros(1, dtype=bool)
    ordered = True
    sampled = True
    whole_weights = True

    def __init__(self, n_classes: int = 0) -> None:
        super().__init__(n_classes)
        self.n_dispersion, self.n_summary = n_classes - 1, 1 + 5 * n_classes

    def start(self, labels: LabelSummary) -> np.ndarray:
        shares = labels.class_weights + 1e-12 * labels.class_counts + 1e-12
        below = np.cumsum(shares)[:-1] / shares.sum()
        return special.ndtri(np.clip(below, 1e-3, 1 - 1e-3)) + 1e-6 * np.arange(self.n_classes - 1)

    def trained_as(self, y: np.ndarray, weight: np.ndarray) -> tuple[Response, np.ndarray]:
        """A number, the mean of a N(0, 1) between the cut-points of the labels' own shares.

        Means of numbers can be estimated; what cut-points tell beyond that is little for topics to learn.
        """
        cuts = self.start(self.describe(y, weight))
        at_low, at_high = self._slopes(*self._ends(y, np.zeros(len(y)), cuts))
        return Gaussian(), np.where(np.isnan(y), np.nan, at_low - at_high)

    def _ends(self, y: np.ndarray, score: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The two cut-points around the latent variable, less s."""
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        place = np.where(np.isnan(y), 0, y).astype(int)
        return edges[place] - score, edges[place + 1] - score

    @staticmethod
    def _log_stretch(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """log(Phi(high) - Phi(low))."""
        flip = low > 0  # the lower tail has small numbers, which keep their digits
        low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        top, bottom = special.log_ndtr(high), special.log_ndtr(low)
        return top + np.log1p(-np.exp(np.minimum(bottom - top, -1e-15)))

    def _slopes(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """phi(low) and phi(high), over Phi(high) - Phi(low)."""
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
        """The latents themselves, `weight` of them, N(s, 1) between the cut-points of y (Albert & Chib)."""
        low, high = self._ends(y, np.zeros(len(y)), dispersion)
        latents = draw_latents(draw, score, low[:, None], high[:, None], weight)
        slope, curvature = only_known(y, latents, weight[:, None] * np.ones_like(score))
        return slope, curvature

    def draw_dispersion(
        self, y: np.ndarray, score: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, draw: Draws
    ) -> np.ndarray:
        """The gaps between cut-points, each by one step of a slice sampler in its logarithm.

        The latents are integrated out. Given them, a cut-point is uniform between the nearest two, and hardly moves
        when there are many documents.
        """
        gaps = np.diff(dispersion)
        for place in range(len(gaps)):

            def likelihood(gap: float, place: int = place) -> float:
                others = np.concatenate([gaps[:place], [gap], gaps[place + 1 :]])
                return self.log_likelihood(y, score, weight, dispersion[0] + np.cumsum([0.0, *others]))

            gaps[place] = draw_log_normal(draw, likelihood, gaps[place], 1e-30, 1e30)
        return dispersion[0] + np.cumsum([0.0, *gaps])

    def log_density(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        variance = np.maximum(moment[:, 0] - score[:, 0] ** 2, 0.0)
        (density,) = only_known(y, self._log_stretch(*self._ends(y, score[:, 0], dispersion)) - 0.5 * variance)
        return density

    def information(self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        low, high = self._ends(y, score[:, 0], dispersion)
        at_low, at_high = self._slopes(low, high)
        low, high = _finite(low), _finite(high)
        (found,) = only_known(y, (high * at_high - low * at_low + (at_high - at_low) ** 2)[:, None])
        return found

    def summarise(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
    ) -> np.ndarray:
        """sum_d w; then, for each class, the derivatives of sum_d w log P(y | s) at the cut-points as they stand.

        A class lies between a cut-point a and the next one b, seen from s. A gap below the class moves both, the gap
        between them moves b alone. So a class has five sums: the first derivatives along (both, b), and minus the
        second ones along (both, both), (both, b) and (b, b).
        """
        y, weight, s = only_labelled(y, weight, score[:, 0])
        low, high = self._ends(y, s, dispersion)
        at_low, at_high = self._slopes(low, high)
        low, high, both = _finite(low), _finite(high), at_high - at_low
        per_document = (
            both,
            at_high,
            both**2 + high * at_high - low * at_low,
            at_high * (both + high),
            at_high * (at_high + high),
        )
        codes = y.astype(int)
        sums = [np.bincount(codes, weight * value, minlength=self.n_classes) for value in per_document]
        return np.concatenate([[weight.sum()], *sums])

    def update(self, summary: np.ndarray, dispersion: np.ndarray, rate: float) -> np.ndarray:
        """One Newton step in the logarithms of the gaps, none of which moves by more than 1.

        log P is concave in the gaps. Their logarithms add the first derivative to the diagonal of the Hessian; it is
        left out, so that the Hessian stays negative. It is zero at the optimum, near which the steps are Newton's.
        """
        if summary[0] == 0 or self.n_classes < 3:
            return dispersion
        both, own, both_both, both_own, own_own = summary[1:].reshape(5, self.n_classes)[:, 1:] / summary[0]
        now = np.clip(np.log(np.diff(dispersion)), _SHORTEST, _LONGEST)
        gaps = np.exp(now)
        # gap j ends class j + 1 (the first class has no gap), and lies below all the classes after that one
        slope = gaps * (own[:-1] + _sum_after(both))
        upper = np.triu(np.broadcast_to(both_own[:-1], (len(gaps), len(gaps))), 1) + np.diag(own_own[:-1])
        upper += np.triu(np.broadcast_to(_sum_after(both_both), upper.shape))
        hessian = np.outer(gaps, gaps) * (upper + np.triu(upper, 1).T)
        step = _step_within(hessian, slope, np.maximum(-1.0, _SHORTEST - now), np.minimum(1.0, _LONGEST - now))
        return self._cuts(dispersion, now + step, rate)

    @staticmethod
    def _cuts(dispersion: np.ndarray, log_gaps: np.ndarray, rate: float) -> np.ndarray:
        """Cut-points between `dispersion` (rate 0) and those with these gaps (rate 1)."""
        now = np.log(np.diff(dispersion))
        return dispersion[0] + np.concatenate([[0.0], np.cumsum(np.exp(now + rate * (log_gaps - now)))])

    def fit_dispersion(
        self, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
        rate: float = 1.0,
    ) -> np.ndarray:  # fmt: skip
        best = dispersion
        for _ in range(_STEPS):
            before, best = best, self.update(self.summarise(y, score, moment, weight, best), best, 1.0)
            if np.allclose(np.log(np.diff(before)), np.log(np.diff(best)), rtol=0, atol=_STEP_TOL):
                break
        return best if best is dispersion else self._cuts(dispersion, np.log(np.diff(best)), rate)

    def predict(self, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        spread = np.sqrt(1.0 + np.maximum(moment - score**2, 0.0))
        below = special.ndtr((dispersion - score) / spread)
        return np.diff(np.column_stack([np.zeros(len(score)), below, np.ones(len(score))]), axis=1)

    def decide(self, probabilities: np.ndarray) -> np.ndarray:
        """The median, which has the least expected distance to y."""
        return (np.cumsum(probabilities, axis=1) < 0.5 - 1e-12).sum(axis=1)

    def origin_and_unit(self, dispersion: np.ndarray) -> tuple[float, float]:
        """In steps from the first cut-point to the last: fits that tell classes apart better have larger gaps."""
        gap = float(np.diff(dispersion).mean()) if len(dispersion) > 1 else 1.0
        return -float(dispersion[0]) / gap, 1.0 / gap

    def spread(self, dispersion: np.ndarray) -> np.ndarray:
        """The cut-points."""
        return dispersion
