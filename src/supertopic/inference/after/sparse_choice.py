"""The posterior mode of coefficients under a Laplace prior, whose zeros are exact, and its path in the prior's scale.

argmax_coef  sum_d w_d log p(y_d | coef·x_d) - sum_k |coef_k| / scale

by Newton steps whose quadratic is solved with the penalty left as it is (coordinate descent), halved until they gain.
"""

from __future__ import annotations

import numpy as np

from supertopic.kernels.lasso import descend
from supertopic.responses.base import Response, known_moment
from supertopic.responses.several import parts_of

_STEPS = 50
_SHRINK = 0.85  # of the scale along the path
_APART = 1e-4  # between the points at which a log density is taken for its derivatives


def sparse_mode(
    response: Response, design: np.ndarray, y: np.ndarray, weight: np.ndarray, dispersion: np.ndarray,
    penalty: np.ndarray, start: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(coef (K,), gram (K, K)) of a response of one column; penalty (K,), infinite where one has to be zero."""
    coef = np.where(np.isinf(penalty), 0.0, start).astype(np.float64)
    paid = np.where(np.isinf(penalty), 0.0, penalty)
    slope, gram = np.empty(len(coef)), np.zeros((len(coef), len(coef)))
    value = response.log_likelihood(y, (design @ coef)[:, None], weight, dispersion) - paid @ np.abs(coef)
    for _ in range(_STEPS):
        first, second = _derivatives(response, y, design @ coef, weight, dispersion)
        gram = (design * second[:, None]).T @ design
        gram[np.diag_indices(len(coef))] += 1e-9 * max(np.trace(gram) / len(coef), 1e-12)
        found = coef.copy()
        descend(gram, design.T @ first + gram @ coef, penalty, found, slope, 2000, 1e-9)
        size, before = 1.0, value
        while size > 1e-4:
            there = coef + size * (found - coef)
            value = response.log_likelihood(y, (design @ there)[:, None], weight, dispersion) - paid @ np.abs(there)
            if value >= before:
                coef = there
                break
            size *= 0.5
        if value - before < 1e-9 * (1.0 + abs(value)):
            break
    return coef, gram


def _derivatives(
    response: Response, y: np.ndarray, s: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First derivative of each document's weighted log p(y | s), and minus the second, kept above zero."""

    def density(score: np.ndarray) -> np.ndarray:
        score = score[:, None]
        moment = known_moment(score, response.is_product)
        return response.log_density(y, score, moment, dispersion)

    low, here, high = density(s - _APART), density(s), density(s + _APART)
    second = -(high - 2 * here + low) / _APART**2
    return weight * (high - low) / (2 * _APART), weight * np.maximum(second, 1e-6 * (~np.isnan(y)))


def mode_within_budget(
    response: Response, design: np.ndarray, y: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, scale: float,
    n_topics: int, budget: int | None,
) -> tuple[np.ndarray, np.ndarray, float]:  # fmt: skip
    """(coef, gram, scale): the mode at this scale, or at the first smaller one that leaves `budget` topics at most.

    The coefficients of the topics that are left are then found again at the scale asked for: the smaller one chooses
    topics, and would shrink what they say (the relaxed lasso). Columns behind the topics, covariates, are not counted.
    """
    coef = np.zeros(design.shape[1])
    penalty = np.full(design.shape[1], 1.0 / scale)
    coef, gram = sparse_mode(response, design, y, weight, dispersion, penalty, coef)
    if budget is None or np.count_nonzero(coef[:n_topics]) <= budget:
        return coef, gram, scale
    chosen = scale
    while np.count_nonzero(coef[:n_topics]) > budget:
        chosen *= _SHRINK
        penalty[:n_topics] = 1.0 / chosen
        coef, gram = sparse_mode(response, design, y, weight, dispersion, penalty, coef)
    penalty[:] = 1.0 / scale
    penalty[:n_topics][coef[:n_topics] == 0] = np.inf
    coef, gram = sparse_mode(response, design, y, weight, dispersion, penalty, coef)
    return coef, gram, chosen


def choose_topics(
    response: Response, seen: np.ndarray, unseen: np.ndarray, y: np.ndarray, weight: np.ndarray,
    dispersion: np.ndarray, scale: float, n_topics: int, budget: int | None, used: np.ndarray, refit: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """(coef (C, n), information (C, n, n), dispersion): a sparse estimate for every column.

    The mode given shares that have seen y chooses topics; `refit` finds their coefficients on shares that have not.

    Parameters
    ----------
    seen, unseen : (D, n) topic shares and covariates, the shares averaged over draws, and inferred without y
    used : (C, n) bool, the topics to choose from
    """
    n_coef, dispersion = seen.shape[1], dispersion.copy()
    coef, information = np.zeros((response.n_columns, n_coef)), np.zeros((response.n_columns, n_coef, n_coef))
    for part in parts_of(response):
        c, own = part.columns.start, dispersion[part.numbers]
        labels = part.labels(y)
        given = (part.response, seen * used[c], labels, weight)
        coef[c], information[c], _ = mode_within_budget(*given, own, scale, n_topics, budget)
        penalty = np.where(coef[c] == 0, np.inf, 1.0 / scale)
        for _ in range(3):  # the penalty is weighed against the variance of what is left
            score = (unseen @ coef[c])[:, None]
            own = part.response.fit_dispersion(labels, score, score**2, weight, own)
            if not refit:
                break
            coef[c], information[c] = sparse_mode(part.response, unseen, labels, weight, own, penalty, coef[c])
        dispersion[part.numbers] = own
    return coef, information, dispersion
