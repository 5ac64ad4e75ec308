"""What out-of-fold predictions say: their slope, the dispersion around them, and how wide intervals have to be.

Topics that were fitted to labels promise more about these labels than about new ones. Documents that a fit has not
seen, neither their words nor their labels, tell the truth: with s their linear predictors by fits without them,

    y ~ response(intercept + slope·s)        the *calibration*: predictions with slope one, and an honest dispersion

For intervals, a document's *level* is the probability of the narrowest interval that holds its y. The interval of
probability p for a new document is the response's own at the level that a share p of the documents do not exceed,
ceil((n + 1) p) of n (cross-conformal prediction: Vovk 2015). It holds p of new documents whatever the response's tails
are, as far as documents are exchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from supertopic.inference.after.known_scores import KnownScores
from supertopic.responses.base import Response, product_variance
from supertopic.responses.several import parts_of

_TURNS, _TURN_TOL = 100, 1e-4  # of the calibration and the dispersion at most, and the change after which they end
_GAIN_TOL = 1e-10  # … or the gain of the mean log-likelihood: cut-points without a label between them drift for ever
_HALVINGS = 14  # of the search for a level
_MOST_LEVELS = 2000  # that are kept for each response
_HIGHEST = 1.0 - 1e-7  # level that stands for an interval without an end


@dataclass(frozen=True)
class Calibration:
    """s' = intercept + slope·s, and the dispersion around it."""

    intercept: np.ndarray  # (C,)
    slope: np.ndarray  # (C,)
    dispersion: np.ndarray

    def moments(self, score: np.ndarray, moment: np.ndarray, is_product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[s'] and E[s'²] or E[exp s'], each (D, C), as if s were normal."""
        variance = np.where(is_product, product_variance(score, moment), np.maximum(moment - score**2, 0.0))
        mean, variance = self.intercept + self.slope * score, self.slope**2 * variance
        power = np.exp(np.clip(mean + 0.5 * variance, -300.0, 300.0))
        return mean, np.where(is_product, power, mean**2 + variance)


def calibrate(
    response: Response, y: np.ndarray, weight: np.ndarray, score: np.ndarray, dispersion: np.ndarray,
    steepest: float | None = None,
) -> Calibration:  # fmt: skip
    """The calibration of out-of-fold linear predictors (D, C): one slope, from 0 to `steepest`, for each response."""
    intercept, slope, dispersion = np.zeros(response.n_columns), np.ones(response.n_columns), dispersion.copy()
    for part in parts_of(response):
        if getattr(part.response, "link", "log") == "canonical":  # its linear predictor has to stay above zero
            continue
        labels = y if y.ndim == 1 else y[:, part.label]
        known = ~np.isnan(labels) & (weight > 0)
        own = dispersion[part.numbers]
        problem = KnownScores(part.response, labels[known], weight[known], own)
        intercept[part.columns], slope[part.columns], dispersion[part.numbers] = _calibrate_one(
            problem, score[known][:, part.columns], steepest
        )
    return Calibration(intercept, slope, dispersion)


def told_apart(
    response: Response, y: np.ndarray, weight: np.ndarray, score: np.ndarray, dispersion: np.ndarray
) -> float:
    """The mean log-likelihood of labels at linear predictors (D, C), those of classes at their best calibration.

    The noise of numbers has a dispersion, which takes up that predictors are too bold. Classes have none: without the
    calibration, which draws them in, bold predictors that tell classes apart well would seem worse than timid ones.
    """
    value = 0.0
    for part in parts_of(response):
        labels, own = y if y.ndim == 1 else y[:, part.label], dispersion[part.numbers]
        known, there = ~np.isnan(labels) & (weight > 0), score[:, part.columns]
        given = (part.response, labels[known], weight[known])
        if part.response.kind == "class":
            found = calibrate(*given, there[known], own, steepest=1.0)  # few labels may be separable
            there, own = found.intercept + found.slope * there, found.dispersion
        value += KnownScores(*given, own).log_density(there[known], own)
    return value / float(weight.sum())


def _calibrate_one(
    problem: KnownScores, score: np.ndarray, steepest: float | None
) -> tuple[np.ndarray, float, np.ndarray]:
    """(intercept (C,), slope, dispersion) of one response, by turns."""
    n_columns, level = score.shape[1], score.mean(axis=0)
    total = max(float(problem.weight.sum()), 1e-300)
    best = np.concatenate([level, [1.0]])
    bounds, last = [(None, None)] * n_columns + [(0.0, steepest)], np.inf
    for _ in range(_TURNS):

        def loss(free: np.ndarray, problem: KnownScores = problem) -> tuple[float, np.ndarray]:
            there = free[:-1] + free[-1] * (score - level)
            slope = problem.slope(there)
            gradient = np.concatenate([slope.sum(axis=0), [float((slope * (score - level)).sum())]])
            return -problem.log_density(there, problem.dispersion) / total, -gradient / total

        found = minimize(loss, best, jac=True, method="L-BFGS-B", bounds=bounds)
        best = found.x
        there = best[:-1] + best[-1] * (score - level)
        given = (problem.response, problem.y, problem.weight)
        before, problem = problem.dispersion, KnownScores(*given, problem.dispersion_at_mean(there))
        best[:-1] += problem.response.level(before, problem.dispersion)
        if np.allclose(before, problem.dispersion, rtol=_TURN_TOL) or last - found.fun < _GAIN_TOL:
            break
        last = found.fun
    return best[:-1] - best[-1] * level, float(best[-1]), problem.dispersion


def levels(
    response: Response, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
) -> np.ndarray:
    """(n,) sorted: the probability of the narrowest interval that holds y, for each label there is."""
    known = ~np.isnan(y)
    y, score, moment = y[known], score[known], moment[known]
    low, high = np.zeros(len(y)), np.ones(len(y))
    for _ in range(_HALVINGS):
        middle: Any = 0.5 * (low + high)  # one for each document, which all responses can take
        ends = response.interval(score, moment, dispersion, middle)
        inside = (ends[0] <= y) & (y <= ends[1])
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.sort(high)


def condense(found: np.ndarray) -> np.ndarray:
    """At most `_MOST_LEVELS` of sorted levels, evenly spaced in rank, each rounded up to one that occurred."""
    if len(found) <= _MOST_LEVELS:
        return found
    places = np.ceil(np.arange(1, _MOST_LEVELS + 1) * len(found) / _MOST_LEVELS).astype(int) - 1
    return found[places]


def level_of(found: np.ndarray, probability: float) -> float:
    """The level whose intervals hold new documents with this probability."""
    rank = int(np.ceil((len(found) + 1) * probability))
    return _HIGHEST if rank > len(found) else float(min(found[rank - 1], _HIGHEST))
