"""Coefficients as users see them: an intercept, what each topic adds to it, and the errors of both.

A model has one coefficient for each topic, and a document's topic shares sum to one. A number that is added to all
coefficients therefore is an intercept. Users see it apart:

    linear predictor = intercept + coef·shares + covariate_coef·(x - covariate_mean)

The intercept is the linear predictor of the average training document, and the coefficient of a topic is its difference
from that. Under a prior that makes some coefficients exactly zero, the intercept is the level that these differ from
(`supertopic.coefficients`): a zero then is a topic without effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from supertopic.coefficients import CoefPrior
from supertopic.responses.base import Response
from supertopic.responses.several import parts_of


@dataclass(frozen=True)
class Effects:
    """The coefficients of a fit or of a draw, on the scale of y."""

    intercept: np.ndarray  # (C,)
    topics: np.ndarray  # (C, K)
    others: np.ndarray  # (C, P) per unit of the covariates as the regression takes them


def find_effects(
    response: Response, prior: CoefPrior, coef: np.ndarray, dispersion: np.ndarray, shares: np.ndarray
) -> Effects:
    """From a model's own coefficients (C, K + P), which have the intercept in those of the topics.

    shares : (K,) of the average training document
    """
    coef, n_topics = coef.astype(np.float64), len(shares)
    level = prior.origin(coef[:, :n_topics], shares)
    apart = prior.apart(coef[:, :n_topics], level)
    intercept, others = level.copy(), coef[:, n_topics:].copy()
    for part in parts_of(response):
        rows, numbers = part.columns, dispersion[part.numbers]
        unit = units_of(part.response, numbers)
        intercept[rows] = part.response.unscale(level[rows, None], np.zeros((1, 1)), numbers)[0][:, 0]
        if part.response.shares_shift and not prior.sparse:
            apart[rows] -= apart[rows].mean(axis=0)
        if part.response.shares_shift:
            others[rows] -= others[rows].mean(axis=0)
        apart[rows] *= unit
        others[rows] *= unit
    return Effects(intercept, apart, others)


def effects_covariance(
    response: Response, prior: CoefPrior, information: np.ndarray, dispersion: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """(C, 1 + K + P, 1 + K + P) of the intercept, the topics' coefficients and the others, given the topics.

    shares : (K,) of the average training document, which are taken as known
    """
    n_topics, n_coef = len(shares), information.shape[1]
    contrast = np.vstack([np.zeros(n_coef), np.eye(n_coef)])
    if not prior.sparse or prior.n_level:
        contrast[0, :n_topics] = shares
        contrast[1 : 1 + n_topics, :n_topics] -= shares
    found = np.stack([contrast @ prior.covariance(one) @ contrast.T for one in information])
    for part in parts_of(response):
        found[part.columns] *= units_of(part.response, dispersion[part.numbers]) ** 2
    return found


def units_of(response: Response, dispersion: np.ndarray) -> float:
    """What a linear predictor of one more means on the scale of y."""
    zero, one = response.unscale(np.array([0.0, 1.0]), np.zeros(2), dispersion)[0]
    return float(one - zero)
