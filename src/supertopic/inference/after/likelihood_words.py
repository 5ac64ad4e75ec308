"""Words beside topics under a likelihood:  s = level + trust·(coef·Zbar - level) + word_coef·u.

Given the trust in topics and the penalty, the words' coefficients maximise

    sum_d weight E[log p(y | s)] - penalty·(½ |word_coef|² + sparsity·|word_coef|_1),

by L-BFGS on the positive and negative parts of word_coef, which end at exact zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from supertopic.inference.after.known_scores import KnownScores
from supertopic.inference.after.words import Joined, ScoredDocuments, word_features
from supertopic.model import State
from supertopic.responses.base import Response
from supertopic.responses.several import units

_PENALTIES = np.logspace(-1, 1, 5)  # of a ridge regression on rows of length 1
_TRUSTS = (0.25, 0.5, 0.75, 1.0)
_SPARSITY = 0.2
MIDDLING = (_TRUSTS[1], 1.0)  # trust and penalty without a pilot


@dataclass(frozen=True)
class WordProblem(KnownScores):
    """Documents as the words' fit sees them."""

    topics: np.ndarray  # (D, C) the topics' part of the linear predictors …
    others: np.ndarray  # (D, C) … and the covariates'
    features: sp.csr_matrix

    def only(self, rows: np.ndarray) -> WordProblem:
        """Those documents, the others without weight (they keep their place)."""
        return replace(self, weight=np.where(rows, self.weight, 0.0))

    @property
    def level(self) -> np.ndarray:
        """(C,) mean of the topics' part."""
        return self.topics.mean(axis=0)

    def trusting(self, trust: float) -> np.ndarray:
        """(D, C) linear predictors without words, the topics' part drawn towards its mean."""
        return self.level + trust * (self.topics - self.level) + self.others


@dataclass(frozen=True)
class Words:
    """What words add: score = trusting(trust) + intercept + features·coef'."""

    trust: float
    penalty: float
    intercept: np.ndarray  # (C,)
    coef: np.ndarray  # (C, V)

    def score(self, problem: WordProblem) -> np.ndarray:
        """(D, C) linear predictors of topics and words."""
        return problem.trusting(self.trust) + self.intercept + problem.features @ self.coef.T


def fit_words(
    problem: WordProblem, trust: float, penalty: float, start: Words | None = None, tol: float = 1e-7
) -> Words:
    """The words' coefficients and an intercept, given the weight of the topics."""
    n_columns, n_words = problem.response.n_columns, problem.features.shape[1]
    topics = problem.trusting(trust)
    total = max(float(problem.weight.sum()), 1e-300)
    ridge = penalty * _strength(problem, topics)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        intercept, (plus, minus) = flat[:n_columns], flat[n_columns:].reshape(2, n_columns, n_words)
        coef = plus - minus
        score = topics + intercept + problem.features @ coef.T
        value = problem.log_density(score, problem.dispersion)
        value -= 0.5 * ridge @ (coef**2).sum(axis=1) + _SPARSITY * ridge @ (plus + minus).sum(axis=1)
        slope = problem.slope(score)
        by_word = (problem.features.T @ slope).T - ridge[:, None] * coef
        sparse = _SPARSITY * ridge[:, None]
        gradient = np.concatenate([slope.sum(axis=0), (by_word - sparse).ravel(), (-by_word - sparse).ravel()])
        return -value / total, -gradient / total

    first = np.zeros(n_columns * (1 + 2 * n_words))
    if start is not None:
        first = np.concatenate([start.intercept, np.maximum(start.coef, 0).ravel(), np.maximum(-start.coef, 0).ravel()])
    bounds = (np.repeat([-np.inf, 0.0], [n_columns, len(first) - n_columns]), np.full(len(first), np.inf))
    options = {"maxiter": 500, "ftol": tol, "gtol": tol}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=np.transpose(bounds), options=options).x
    plus, minus = found[n_columns:].reshape(2, n_columns, n_words)
    return Words(trust, penalty, found[:n_columns], plus - minus)


def _strength(problem: WordProblem, score: np.ndarray) -> np.ndarray:
    """(C,) mean curvature of a document's log-density: what a penalty is measured in."""
    known = problem.weight > 0
    information = problem.response.information(problem.y, score, problem.moments(score), problem.dispersion)
    return np.maximum(np.average(information[known], axis=0, weights=problem.weight[known]), 1e-6)


def choose_words(pilot: WordProblem, held_out: np.ndarray) -> tuple[Words, np.ndarray]:
    """The trust and penalty that suit the held-out labels best, as the pilot's fit, and the dispersion seen there.

    By turns: the penalty at middling trust, then the trust, then the penalty's neighbours.
    """
    seen, unseen = pilot.only(~held_out), pilot.only(held_out)
    tried: dict[tuple[float, float], tuple[float, Words, np.ndarray]] = {}
    best = MIDDLING

    def try_all(settings: list[tuple[float, float]]) -> tuple[float, float]:
        for setting in settings:
            if setting not in tried:
                words = fit_words(seen, *setting, start=tried[best][1] if best in tried else None)
                score = words.score(pilot)
                dispersion = unseen.dispersion_at(score)
                tried[setting] = unseen.log_density(score, dispersion), words, dispersion
        return max(tried, key=lambda setting: tried[setting][0])

    best = try_all([(best[0], float(penalty)) for penalty in _PENALTIES])
    best = try_all([(trust, best[1]) for trust in _TRUSTS])
    best = try_all([(best[0], best[1] * factor) for factor in (0.56, 1.78)])
    return tried[best][1:]


class LikelihoodWords:
    """Words beside the topics of a model with a likelihood."""

    least = 5

    def __init__(self, response: Response) -> None:
        self.response = response

    def can_hold_out(self, y: np.ndarray, held_out: np.ndarray) -> bool:
        """The pilot's documents stay in its fit; only their labels are hidden."""
        return True

    def join(
        self, state: State, documents: ScoredDocuments, scale: np.ndarray, held_out: np.ndarray,
        pilot: ScoredDocuments | None,
    ) -> Joined:  # fmt: skip
        problem = self._problem(documents, scale, state.dispersion)
        chosen, settings, seen_there, unseen = None, MIDDLING, None, None
        if pilot is not None:
            there = self._problem(pilot, scale, state.dispersion)
            chosen, seen_there = choose_words(there, held_out)
            settings, unseen = (chosen.trust, chosen.penalty), chosen.score(there)[held_out]
        words = fit_words(problem, *settings, start=chosen)
        coef, topics = state.coef.astype(np.float64), slice(0, len(state.alpha))
        coef[:, topics] = problem.level[:, None] + words.trust * (coef[:, topics] - problem.level[:, None])
        coef[:, topics] += words.intercept[:, None]
        if seen_there is None or self.response.kind != "number":  # all documents tell cut-points better
            seen_there = problem.dispersion_at(words.score(problem))
        return Joined(coef, words.trust, words.coef, seen_there, unseen)

    def _problem(self, documents: ScoredDocuments, scale: np.ndarray, dispersion: np.ndarray) -> WordProblem:
        """The documents in the units of `dispersion`.

        Responses that standardise y use the labels they see, so that a pilot's linear predictors have other units: of
        unscale(s) = zero + unit·s, each has its own zero and unit.
        """
        zero, unit = units(self.response, documents.dispersion, dispersion)
        topics, others = zero + unit * documents.topics, unit * documents.others
        features = word_features(documents.counts, scale)
        return WordProblem(self.response, documents.y, documents.weight, dispersion, topics, others, features)
