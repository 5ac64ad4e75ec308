"""Categories of many levels beside topics: their levels are drawn towards their mean, as far as folds say.

    t_d = a + rest_d + u_l(d) + noise,     u_l ~ N(0, deviation²)

t is what y stands for on the scale of its linear predictor, and `rest` what a linear model of words and of the other
covariates tells of a document that it has not seen: levels are to tell what these do not. Given the strength, which is
the variance of the noise over that of the levels, the n_l documents of level l with the mean m_l of t - rest say

    u_l = n_l (m_l - a) / (n_l + strength),     a = sum_l g_l m_l / sum_l g_l,     g_l = n_l strength / (n_l + strength)

The strength is the one under which folds are told best. Where the best is no level at all, the category has no part.

A normal prior of one scale is on all coefficients. Levels have their own deviation under it by their unit: a dummy less
its mean, times deviation / scale.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from supertopic.coefficients import CoefPrior
from supertopic.documents.covariates import Scaling
from supertopic.documents.labels import Target
from supertopic.fitted.certainty.folds import folds_of
from supertopic.fitted.coefficients import units_of
from supertopic.fitted.embeddings import stands_for
from supertopic.fitted.linear_words import left_out
from supertopic.fitted.spec import Schema
from supertopic.fitted.training import Training
from supertopic.inference.after.splits import Split
from supertopic.responses.base import registry

STRENGTHS = (*10.0 ** np.arange(-0.5, 3.51, 0.5), np.inf)  # in documents
_FOLDS = 5


def pooled(schema: Schema, training: Training, prior: CoefPrior, seed: int) -> tuple[Schema, Training]:
    """With the levels of categories in the unit of their deviation; a warning names those that tell nothing."""
    columns, scaling, covariates = schema.columns, schema.scaling, training.covariates.copy()
    places = {name: columns.places[name] for name in columns.pooled}
    others = np.delete(covariates, np.r_[(*places.values(),)], axis=1)
    splits = folds_of(training, _FOLDS, seed) or []
    rest, unit = _left_to_tell(schema, replace(training, covariates=others), splits)
    factor = scaling.factor.copy()
    for name, place in places.items():
        codes = covariates[:, place].argmax(axis=1)
        deviation, rest = deviation_of_levels(codes, rest, unit, training.weight, splits)
        if not deviation:
            warnings.warn(
                f"covariates: {name!r} has no part in the fit: its levels tell nothing of documents left out",
                UserWarning,
                stacklevel=3,
            )
        own = np.where(factor[place] > 0, deviation / prior.scale, 0.0)
        covariates[:, place] *= own / np.where(factor[place] > 0, factor[place], 1.0)
        factor[place] = own
    return replace(schema, scaling=Scaling(scaling.mean, factor)), replace(training, covariates=covariates)


def _left_to_tell(schema: Schema, training: Training, splits: Sequence[Split]) -> tuple[np.ndarray, np.ndarray]:
    """(D, C) t less what words and other covariates tell, NaN without a label; (C,) t for one of a linear predictor."""
    rests, units, y = [], [], training.y.reshape(len(training.y), -1)
    for target, labels in zip(schema.targets, y.T, strict=True):
        for t in stands_for(target, np.where(training.weight > 0, labels, np.nan)).T:
            told = left_out(training, t, splits)
            rests.append(t - np.where(np.isnan(told), np.nanmean(t), told))
            units.append(_unit(target, t, labels, training.weight))
    return np.column_stack(rests), np.array(units)


def _unit(target: Target, t: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> float:
    """How far t moves with the linear predictor, about: of classes, the slope p (1 - p) of a logit."""
    response = target.make()
    if target.classes is not None:
        return float(np.nanstd(t) if registry()[target.response].ordered else np.nanvar(t))
    return 1.0 if response.log_link else abs(units_of(response, response.start(response.describe(labels, weight))))


def deviation_of_levels(
    codes: np.ndarray, rest: np.ndarray, unit: np.ndarray, weight: np.ndarray, splits: Sequence[Split]
) -> tuple[float, np.ndarray]:
    """The levels' deviation in linear predictors, and what they leave to tell (D, C).

    codes : (D,) levels; rest : (D, C); unit : (C,)
    """
    best: tuple[float, float, np.ndarray] = (np.inf, 0.0, rest)
    total = np.nansum(weight[:, None] * (rest - np.nanmean(rest, axis=0)) ** 2, axis=0)
    for strength in STRENGTHS if splits else ():
        left = np.column_stack([one - levels_left_out(codes, one, weight, splits, strength) for one in rest.T])
        known = ~np.isnan(left)
        lost = np.nansum(weight[:, None] * left**2, axis=0)
        noise = lost / np.maximum(weight @ known, 1e-300) / unit**2
        loss = float((lost / np.maximum(total, 1e-300)).sum())
        if loss < best[0]:
            best = (loss, float(np.sqrt(noise.mean() / strength)), np.where(known, left, rest))
    return best[1:]


def levels_left_out(
    codes: np.ndarray, t: np.ndarray, weight: np.ndarray, splits: Sequence[Split], strength: float
) -> np.ndarray:
    """(D,) a + u of the documents of each fold by those of the others; NaN where these do not have the level."""
    found, n_levels = np.full(len(t), np.nan), int(codes.max(initial=0)) + 1
    for one in splits:
        rest = one.rest[~np.isnan(t[one.rest])]
        n = np.bincount(codes[rest], weight[rest], n_levels)
        total = np.bincount(codes[rest], weight[rest] * t[rest], n_levels)
        shrunk = 1.0 + n / strength
        level = (total / shrunk).sum() / max((n / shrunk).sum(), 1e-300)
        levels = np.where(n > 0, level + (total - n * level) / (n + strength), np.nan)
        found[one.out] = levels[codes[one.out]]
    return found
