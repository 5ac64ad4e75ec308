"""What topics add to the linear predictor, on the scale that users know.

    linear predictor = intercept + shares·coef (+ covariates, + words)

The intercept is the linear predictor of an average document, so that a coefficient says what a topic adds to it. With a
sparse prior the intercept is the model's own level, so that an exact zero is a topic without an effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from supertopic.fitted.coefficients import CoefficientTable, word_effects
from supertopic.fitted.fitted import Fitted
from supertopic.inference.after.words import word_features

_MOST_WORDS = 12  # with the largest, and with the smallest, effects


@dataclass(frozen=True)
class Effects:
    """Coefficients of C columns, and how the inner linear predictor s becomes the user's: origin + unit·s."""

    names: list[str]  # (C,)
    intercept: np.ndarray  # (C,)
    coef: np.ndarray  # (C, K)
    std: np.ndarray  # (C, K); NaN where it is not known
    origin: np.ndarray  # (C,)
    unit: np.ndarray  # (C,)
    offset: np.ndarray  # (C,) the inner part of covariates at their mean
    prior: str


def effects_of(fitted: Fitted, table: CoefficientTable) -> Effects:
    """The effects of a fitted model with coefficients."""
    n_topics, inner = fitted.n_topics, np.asarray(fitted.state.coef, dtype=np.float64)
    offset = _mean_covariates(fitted) @ inner[:, n_topics:].T
    unit, even = _units(fitted), np.full(n_topics, 1.0 / n_topics)
    score = _centred(fitted, (inner[:, :n_topics] @ even + offset[0])[None])[0]
    return Effects(
        names=[name or fitted.spec.schema.targets[0].name for name in table.names],
        intercept=table.intercept,
        coef=table.coef,
        std=np.full_like(table.coef, np.nan) if table.std is None else table.std,
        origin=table.intercept + table.coef @ even - unit * score,
        unit=unit,
        offset=offset[0],
        prior=fitted.spec.model.coef_prior.name,
    )


def users_scores(fitted: Fitted, found: Effects, score: np.ndarray) -> np.ndarray:
    """(D, C) linear predictors on the user's scale."""
    return found.origin + found.unit * _centred(fitted, score)


def _mean_covariates(fitted: Fitted) -> np.ndarray:
    """(1, P) covariates at their mean, as the state's coefficients take them: zeros, and a constant behind them."""
    schema = fitted.spec.schema
    return np.concatenate([np.zeros(len(schema.scaling.mean)), np.ones(int(schema.constant))])[None]


def _units(fitted: Fitted) -> np.ndarray:
    """(C,) the user's unit of every column."""
    units = np.ones(len(fitted.state.coef))
    for _, part in fitted.spec.parts:
        ends = part.response.unscale(np.array([0.0, 1.0]), np.zeros(2), fitted.state.dispersion[part.numbers])[0]
        units[part.columns] = (ends[1] - ends[0]) * fitted.spec.unit
    return units


def _centred(fitted: Fitted, score: np.ndarray) -> np.ndarray:
    """Scores of a softmax less their mean over the classes: only differences mean something."""
    score = np.array(score, dtype=np.float64)
    for _, part in fitted.spec.parts:
        if part.response.name == "softmax":
            score[:, part.columns] -= score[:, part.columns].mean(axis=1, keepdims=True)
    return score


def word_lists(fitted: Fitted, counts: sp.csr_matrix) -> list[list[list[float]]]:
    """For each column, the words beside topics that add most to it and take most from it: [word, what it adds, n].

    What a word adds to the linear predictor is the mean over the n documents that hold it. Words are in order of what
    they add to all documents together.
    """
    coef = word_effects(fitted)
    if coef is None or fitted.words is None:
        return []
    features = word_features(counts, fitted.words.scale)
    n, total = np.bincount(counts.indices, minlength=counts.shape[1]), np.asarray(features.sum(axis=0)).ravel()
    lists = []
    for row in coef * fitted.spec.unit:
        whole = row * total
        order = np.argsort(whole, kind="stable")
        chosen = [*order[:_MOST_WORDS], *order[::-1][:_MOST_WORDS]]
        chosen = sorted({int(v) for v in chosen if whole[v] != 0}, key=lambda v: -whole[v])
        lists.append([[v, float(whole[v] / n[v]), int(n[v])] for v in chosen])
    return lists
