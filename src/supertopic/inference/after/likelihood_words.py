"""Words beside topics under a likelihood:  s = level + trust·(coef·Zbar - level) + word_coef·u.

Given the trust in topics and the penalty, the words' coefficients maximise

    sum_d weight E[log p(y | s)] - penalty·(½ |word_coef|² + sparsity·|word_coef|_1),

which ends at exact zeros. In turns, each column's log-density is replaced by a quadratic in s at the present words, and
its words climb it one after the other (`supertopic.kernels.lasso.descend_words`). On 11,000 newsgroups and 21,500
words, this takes a tenth of the time of SciPy's L-BFGS-B on the positive and negative parts of word_coef.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Run, in_turn
from supertopic.inference.after.known_scores import KnownScores
from supertopic.inference.after.words import Joined, ScoredDocuments, word_features
from supertopic.kernels.lasso import descend_words
from supertopic.model import State
from supertopic.responses.base import Response
from supertopic.responses.several import units

_PENALTIES = np.logspace(-1, 1, 5)  # of a ridge regression on rows of length 1
_TRUSTS = (0.25, 0.5, 0.75, 1.0)
_SPARSITY = 0.2
_TURNS, _SWEEPS = 200, 20  # at most, and sweeps of a turn at most …
_NEAR = 0.05  # … or until steps are so short, as a part of the first ones
_SHORTEST = 1e-3  # part of a turn; if that leads down, too, there is no way up
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
    problem: WordProblem, trust: float, penalty: float, start: Words | None = None, tol: float = 1e-6
) -> Words:
    """The words' coefficients and an intercept, given the weight of the topics, until a turn gains less than tol."""
    n_columns, n_words = problem.response.n_columns, problem.features.shape[1]
    first = start or Words(trust, penalty, np.zeros(n_columns), np.zeros((n_columns, n_words)))
    climb = _Climb(problem, replace(first, trust=trust, penalty=penalty))
    for _ in range(_TURNS):
        before = climb.value
        for column in range(n_columns):
            climb.turn(column)
        if climb.value - before < tol * max(abs(climb.value), 1.0):
            break
    return climb.words


class _Climb:
    """Words on their way up, column after column."""

    def __init__(self, problem: WordProblem, start: Words) -> None:
        self.problem, self.total = problem, max(float(problem.weight.sum()), 1e-300)
        self.words = replace(start, intercept=start.intercept.copy(), coef=start.coef.copy())  # changed in place
        self.ridge = start.penalty * problem.mean_information(problem.trusting(start.trust))  # a penalty's unit
        self.by_word, self.scratch = problem.features.tocsc(), np.empty(problem.features.shape[1])
        self.score = start.score(problem)
        self.lost = np.array([self.penalty_of(column, coef) for column, coef in enumerate(start.coef)])
        self.value = self.value_of(self.score, self.lost)

    def penalty_of(self, column: int, coef: np.ndarray) -> float:
        return float(self.ridge[column] * (0.5 * coef @ coef + _SPARSITY * np.abs(coef).sum()))

    def value_of(self, score: np.ndarray, lost: np.ndarray) -> float:
        """What words maximise, per unit of weight; lost : (C,) the penalties of the columns."""
        return (self.problem.log_density(score, self.problem.dispersion) - float(lost.sum())) / self.total

    def turn(self, column: int) -> None:
        """One column's words to where the quadratic is highest, or half as far, and so on, where that leads down."""
        problem, coef, ridge, x = self.problem, self.words.coef[column], self.ridge[column], self.by_word
        slopes = (problem.slope(self.score), problem.curvature(self.score))
        slope, weight = (np.ascontiguousarray(of[:, column]) for of in slopes)
        there, given = coef.copy(), (weight, ridge, _SPARSITY * ridge, _SWEEPS, _NEAR)
        up = descend_words(x.indptr, x.indices, x.data, *given, there, slope, self.scratch)
        by, part = there - coef, 1.0
        move = up + x @ by
        while part > _SHORTEST:
            score, lost = self.score.copy(), self.lost.copy()
            score[:, column] += part * move
            lost[column] = self.penalty_of(column, coef + part * by)
            if (value := self.value_of(score, lost)) >= self.value:
                self.words.intercept[column] += part * up
                coef += part * by
                self.score, self.lost, self.value = score, lost, value
                return
            part *= 0.5


def choose_words(pilot: WordProblem, held_out: np.ndarray, run: Run = in_turn) -> tuple[Words, np.ndarray]:
    """The trust and penalty that suit the held-out labels best, as the pilot's fit, and the dispersion seen there.

    By turns: the penalty at middling trust, then the trust, then the penalty's neighbours. In a turn, all fits start
    from the best one of the turn before, and run side by side.
    """
    seen, unseen = pilot.only(~held_out), pilot.only(held_out)
    tried: dict[tuple[float, float], tuple[float, Words, np.ndarray]] = {}
    best = MIDDLING

    def fit(setting: tuple[float, float], start: Words | None) -> None:
        words = fit_words(seen, *setting, start=start)
        score = words.score(pilot)
        dispersion = unseen.dispersion_at(score)
        tried[setting] = unseen.log_density(score, dispersion), words, dispersion

    def try_all(settings: list[tuple[float, float]]) -> tuple[float, float]:
        new, start = [one for one in settings if one not in tried], tried[best][1]
        run([(fit, one, start) for one in new])
        for one in new:  # in their order, whoever ended first: of equal ones, the first is the best
            tried[one] = tried.pop(one)
        return max(tried, key=lambda setting: tried[setting][0])

    fit(best, None)
    best = try_all([(best[0], float(penalty)) for penalty in _PENALTIES])
    best = try_all([(trust, best[1]) for trust in _TRUSTS])
    best = try_all([(best[0], best[1] * factor) for factor in (0.56, 1.78)])
    return tried[best][1:]


class LikelihoodWords:
    """Words beside the topics of a model with a likelihood."""

    least = 5
    pilot_sees_words = True

    def __init__(self, response: Response) -> None:
        self.response = response

    def can_hold_out(self, y: np.ndarray, held_out: np.ndarray) -> bool:
        """The pilot's documents stay in its fit; only their labels are hidden."""
        return True

    def join(
        self, state: State, documents: ScoredDocuments, scale: np.ndarray, held_out: np.ndarray,
        pilot: ScoredDocuments | None, run: Run,
    ) -> Joined:  # fmt: skip
        problem = self._problem(documents, scale, state.dispersion)
        chosen, settings, seen_there, unseen = None, MIDDLING, None, None
        if pilot is not None:
            there = self._problem(pilot, scale, state.dispersion)
            chosen, seen_there = choose_words(there, held_out, run)
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
