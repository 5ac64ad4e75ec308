"""Coefficients and their standard errors on the scale that users know."""

from __future__ import annotations

import numpy as np

from supertopic.responses.base import Response
from supertopic.responses.several import parts_of


def users_coefficients(
    response: Response, n_topics: int, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(C, K + P) coefficients and standard errors; those of topics have the intercept in them."""
    coef, deviation = coef.copy(), deviation.copy()
    for part in parts_of(response):
        topics, others = (part.columns, slice(0, n_topics)), (part.columns, slice(n_topics, None))
        numbers = dispersion[part.numbers]
        coef[topics], deviation[topics] = part.response.unscale(coef[topics], deviation[topics], numbers)
        coef[others], deviation[others] = without_intercept(part.response, coef[others], deviation[others], numbers)
    return coef, deviation


def without_intercept(
    response: Response, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of covariates or words: the intercept belongs to the topics."""
    zero = response.unscale(np.zeros(1), np.zeros(1), dispersion)[0]
    coef, deviation = response.unscale(coef, deviation, dispersion)
    return coef - zero, deviation
