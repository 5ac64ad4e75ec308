"""What out-of-fold predictions say: their slope, and the dispersion around them.

Topics that were fitted to labels promise more about these labels than about new ones. Documents that a fit has not
seen, neither their words nor their labels, tell the truth: with s their linear predictors by fits without them,

    y ~ response(intercept + slope·s)        the *calibration*: predictions with slope one, and an honest dispersion

The likelihood answers for the means only as far as the response's law does: gamma and Weibull laws of the same labels
give other slopes. So where y is a number, intercept and slope are at last those with which y on the predicted mean has
slope one, as far as documents can tell.

Covariates are in the fit of every fold, and are known of new documents. They stand beside s, with coefficients of their
own that are found together with the slope: what topics promise too much, covariates do not.

    y ~ response(intercept + slope·s + beside·x)

How wide intervals have to be, `interval_levels` finds from the same predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize, root

from supertopic.coefficients import CoefPrior
from supertopic.inference.after.known_scores import KnownScores
from supertopic.inference.design import shifted
from supertopic.responses.base import Response
from supertopic.responses.several import parts_of
from supertopic.responses.temperature import on_a_line

_TURNS, _TURN_TOL = 100, 1e-4  # of the calibration and the dispersion at most, and the change after which they end
_GAIN_TOL = 1e-10  # … or the gain of the mean log-likelihood: cut-points without a label between them drift for ever


@dataclass(frozen=True)
class Calibration:
    """s' = intercept + slope·s, what covariates add to it, and the dispersion around it."""

    intercept: np.ndarray  # (C,)
    slope: np.ndarray  # (C,)
    dispersion: np.ndarray
    beside: np.ndarray | None = None  # (C, P)

    def moments(self, score: np.ndarray, moment: np.ndarray, is_product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[s'] and E[s'²] or E[exp s'], each (D, C), as if s were normal."""
        return on_a_line(self.intercept, self.slope, score, moment, is_product)


def calibrate(
    response: Response, y: np.ndarray, weight: np.ndarray, score: np.ndarray, dispersion: np.ndarray,
    steepest: float | None = None, moment: np.ndarray | None = None, covariates: np.ndarray | None = None,
    prior: CoefPrior | None = None, pooled: np.ndarray | None = None,
) -> Calibration:  # fmt: skip
    """The calibration of out-of-fold linear predictors (D, C): one slope, from 0 to `steepest`, for each response.

    moment : (D, C) E[s²] or E[exp s], which predicted means may depend on; None: the predictors are known
    covariates : (D, P), which have no part in the predictors
    prior : of the covariates' coefficients; None: flat
    pooled : (P,) bool: the covariates that are levels of categories, less their means; None: none of them
    """
    intercept, slope, dispersion = np.zeros(response.n_columns), np.ones(response.n_columns), dispersion.copy()
    covariates = np.zeros((len(y), 0)) if covariates is None else covariates
    beside = np.zeros((response.n_columns, covariates.shape[1]))
    pooled = np.zeros(covariates.shape[1], dtype=bool) if pooled is None else pooled
    prior = replace(prior or CoefPrior(), n_level=0)  # topics share a level, covariates do not
    for part in parts_of(response):
        if getattr(part.response, "link", "log") == "canonical":  # its linear predictor has to stay above zero
            continue
        labels = part.labels(y)
        known = ~np.isnan(labels) & (weight > 0)
        own = dispersion[part.numbers]
        problem = KnownScores(part.response, labels[known], weight[known], own)
        there = score[known][:, part.columns]
        found = _calibrate_one(problem, there, steepest, covariates[known], prior, pooled)
        beside[part.columns] = found.beside
        if part.response.kind == "number" and not part.response.least_squares and found.slope[0] > 0:
            power = problem.moments(there) if moment is None else moment[known][:, part.columns]
            found = _match_means(problem, there, power, found, covariates[known] @ beside[part.columns].T)
        intercept[part.columns], slope[part.columns] = found.intercept, found.slope
        dispersion[part.numbers] = found.dispersion
    return Calibration(intercept, slope, dispersion, beside)


def told_apart(
    response: Response, y: np.ndarray, weight: np.ndarray, score: np.ndarray, dispersion: np.ndarray
) -> np.ndarray:
    """(D,) weighted log-likelihoods of labels at linear predictors (D, C), those of classes at their best calibration.

    The noise of numbers has a dispersion, which takes up that predictors are too bold. Classes have none: without the
    calibration, which draws them in, bold predictors that tell classes apart well would seem worse than timid ones.
    """
    values = np.zeros(len(y))
    for part in parts_of(response):
        labels, own = part.labels(y), dispersion[part.numbers]
        known, there = ~np.isnan(labels) & (weight > 0), score[:, part.columns]
        given = (part.response, labels[known], weight[known])
        if part.response.kind == "class":
            found = calibrate(*given, there[known], own, steepest=1.0)  # few labels may be separable
            there, own = found.intercept + found.slope * there, found.dispersion
        values[known] += KnownScores(*given, own).log_densities(there[known], own)
    return values


def as_well(values: np.ndarray, best: np.ndarray, together: np.ndarray | None = None) -> bool:
    """Whether labels are told as well as at best, up to the standard error of the difference: (D,) of `told_apart`.

    together : (D,) codes of documents that belong together, which count as one
    """
    gain = values - best
    codes = np.arange(len(gain)) if together is None else np.unique(together, return_inverse=True)[1]
    noise = np.bincount(codes, gain - gain.mean())
    return bool(gain.sum() > -np.sqrt(noise @ noise))


def _calibrate_one(
    problem: KnownScores, score: np.ndarray, steepest: float | None, covariates: np.ndarray, prior: CoefPrior,
    pooled: np.ndarray,
) -> Calibration:  # fmt: skip
    """The most probable one of one response, by turns."""
    n_columns, level = score.shape[1], score.mean(axis=0)
    total = max(float(problem.weight.sum()), 1e-300)
    signs = (1.0, -1.0) if prior.sparse else (1.0,)  # positive and negative parts, whose prior has a gradient at zero
    shape = (len(signs), n_columns, covariates.shape[1])
    best = np.concatenate([level, [1.0], np.zeros(np.prod(shape, dtype=int))])
    bounds: list[Any] = [(None, None)] * n_columns + [(0.0, steepest)]
    bounds += [(0.0 if prior.sparse else None, None)] * (len(best) - len(bounds))

    # levels have next to no variance: searched for as they are, they would hardly move
    unit = np.where(pooled, covariates.var(axis=0) + prior.own / total, 1.0) ** -0.5

    def beside(free: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.tensordot(signs, free[n_columns + 1 :].reshape(shape), 1) * unit
        return found

    def predictors(free: np.ndarray) -> np.ndarray:
        there = free[:n_columns] + free[n_columns] * (score - level)
        return there + covariates @ beside(free).T if shape[2] else there

    def of_prior(free: np.ndarray) -> tuple[float, np.ndarray]:
        coef = free[n_columns + 1 :]
        if prior.sparse:
            return -coef.sum() / prior.scale, np.full(len(coef), -1.0 / prior.scale)
        return prior.log_density(beside(free)), (prior.gradient(beside(free)) * unit).ravel()

    last = np.inf
    for _ in range(_TURNS):

        def loss(free: np.ndarray, problem: KnownScores = problem) -> tuple[float, np.ndarray]:
            there, (value, own) = predictors(free), of_prior(free)
            slope = problem.slope(there)
            own = own + np.multiply.outer(signs, slope.T @ covariates * unit).ravel()
            gradient = np.concatenate([slope.sum(axis=0), [float((slope * (score - level)).sum())], own])
            return -(problem.log_density(there, problem.dispersion) + value) / total, -gradient / total

        found = minimize(loss, best, jac=True, method="L-BFGS-B", bounds=bounds)
        best = found.x
        there = predictors(best)
        doubt = _doubt(problem, there, covariates[:, pooled], prior)
        before, problem = problem.dispersion, replace(problem, dispersion=problem.dispersion_at_mean(there, doubt))
        best[:n_columns] += problem.response.level(before, problem.dispersion)
        gain = abs(last - found.fun) if pooled.any() else last - found.fun
        if np.allclose(before, problem.dispersion, rtol=_TURN_TOL) or gain < _GAIN_TOL:
            break
        last = found.fun
    steepness = np.full(n_columns, best[n_columns])
    return Calibration(best[:n_columns] - steepness * level, steepness, problem.dispersion, beside(best))


def _doubt(problem: KnownScores, score: np.ndarray, levels: np.ndarray, prior: CoefPrior) -> np.ndarray | float:
    """(D, C) the variances of linear predictors by what their labels leave open about levels (D, L).

    A level's coefficient, in its unit f, has the precision `prior.own` and f² for each curvature of its documents. Left
    out, the labels of few documents each would seem to lie as close to their predictions as levels follow them.
    """
    if not levels.shape[1]:
        return 0.0
    own, unit = levels > 0, np.ptp(levels, axis=0)[:, None] ** 2
    return own @ (unit / (prior.own + unit * (own.T @ problem.curvature(score))))


def _match_means(
    problem: KnownScores, score: np.ndarray, moment: np.ndarray, near: Calibration, others: np.ndarray
) -> Calibration:
    """The calibration with which y has the mean of the predictions, and slope one on them.

    With m the predicted means, and t those of the topics alone, sum_d w (y - m) = 0 and sum_d w (y - m) t = 0. That is
    the end of the way. With b the slope of y on the means `near`, only a part 1 - (error of b)²/(b - 1)² of it is gone,
    or nothing (as James and Stein estimate): one label far out can turn the slope over, and makes its error as large.
    """
    y, weight, response = problem.y, problem.weight, problem.response
    middle = np.average(score, axis=0, weights=weight)

    def moved(free: np.ndarray) -> Calibration:
        """By a number added, and by a factor of the slope around the mean of the predictors."""
        slope = free[1] * near.slope
        return Calibration(near.intercept + free[0] + (near.slope - slope) * middle, slope, near.dispersion)

    def misses(free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(D,) each: the topics' means, less their own mean, and what y has more than predicted, times the weight."""
        own = moved(free).moments(score, moment, response.is_product)
        alone = response.predict(*own, near.dispersion)
        mean = response.predict(*shifted(*own, others, response.is_product), near.dispersion) if others.any() else alone
        return alone - np.average(alone, weights=weight), weight * (y - mean)

    def surplus(free: np.ndarray) -> np.ndarray:
        off, rest = misses(free)
        return np.array([rest.sum(), rest @ off])

    start = np.array([0.0, 1.0])
    with np.errstate(all="ignore"):  # of labels whose fourth powers are no numbers
        beyond, error = _slope_beyond_one(*misses(start), weight)
        if not abs(beyond) > error:
            return near
        found = root(surplus, start, method="hybr")
    free = start + (1.0 - (error / beyond) ** 2) * (found.x - start)
    return moved(free) if found.success and free[1] > 0 else near


def _slope_beyond_one(off: np.ndarray, rest: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """(b - 1, its standard error, whatever the noise of each document is), from what the means miss of y."""
    total = max(float(weight @ off**2), 1e-300)
    rest = rest - weight * rest.sum() / weight.sum()
    beyond = float(rest @ off) / total
    return beyond, float(np.sqrt((rest - beyond * weight * off) ** 2 @ off**2)) / total
