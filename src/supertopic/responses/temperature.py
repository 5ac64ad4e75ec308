"""Temperatures: how sure of classes the linear predictors, or the words of a generative model, make us.

`supertopic.fitted.certainty` has what they are for and how they are found; this is what a prediction needs of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from supertopic.later import Later
from supertopic.responses.base import product_variance
from supertopic.responses.several import Part

special = Later("scipy.special")

LEAST_SPREAD = 1e-6  # below, words tell nothing
_SHARP = 4.0  # the power of probabilities that finds the leading class, or some where they are alike
_SUREST = 1.0 - 1e-12  # probabilities have finite log-odds


class Temperature(NamedTuple):
    """T = level · r^power, and the weight of the classes' shares."""

    level: float = 1.0
    power: float = 0.0
    weight: float = 1.0

    def heat(self, spread: np.ndarray) -> np.ndarray:
        """(D,) T of documents with spreads r."""
        return self.level * spread**self.power

    def scores(self, evidence: Evidence) -> np.ndarray:
        """(D, C) logarithms of the tempered joint probabilities."""
        tells = evidence.spread > LEAST_SPREAD
        weight = np.where(tells, self.weight, 1.0)[:, None]
        return evidence.log_words / self.heat(evidence.spread)[:, None] + weight * evidence.log_shares

    def probabilities(self, evidence: Evidence) -> np.ndarray:
        """(D, C) of the classes."""
        return special.softmax(self.scores(evidence), axis=1)

    def log_likelihood(self, evidence: Evidence, codes: np.ndarray) -> float:
        """Of labels (D,)."""
        return self.climb(evidence, codes, np.ones(len(codes)))[0]

    def climb(self, evidence: Evidence, codes: np.ndarray, counted: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-likelihood of labels (D,), each of which counts `counted` times, and its slopes.

        The slopes are those in the logarithm of the level, the power and the weight of the shares.
        d score / d log T = -log_words / T, so that a document's slope is that of its label less the mean over classes.
        """
        scores, own = self.scores(evidence), (np.arange(len(codes)), codes)
        scores -= scores.max(axis=1, keepdims=True)
        found = scores[own]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        mean = np.einsum("dc,dc->d", scores, evidence.log_words) / total
        spread = evidence.spread
        slope = counted * (mean - evidence.log_words[own]) / self.heat(spread)
        of_weight = evidence.log_shares[codes] - scores @ evidence.log_shares / total
        slopes = [slope.sum(), slope @ np.log(spread), (counted * of_weight)[spread > LEAST_SPREAD].sum()]
        return float(counted @ (found - np.log(total))), np.array(slopes)


class Heat(NamedTuple):
    """How sure a softmax is: T = level · r^power, and by how much of its log-odds the leading class is moved."""

    level: float = 1.0
    power: float = 0.0
    lead: float = 0.0

    def check(self) -> None:
        """Refuse numbers that no fit finds."""
        if not (0 < self.level < np.inf and 0 <= self.power <= 1 and -1 < self.lead < np.inf):
            raise ValueError(f"heat: got {[*self]}, expected a level > 0, a power from 0 to 1, and a lead above -1")

    def line(self, score: np.ndarray, zero: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intercept (D, C) and slope (D, 1) of a document's linear predictors (D, C)."""
        slope = 1.0 / Temperature(self.level, self.power).heat(Evidence(score - zero, zero).spread)[:, None]
        intercept = zero * (1.0 - slope)
        if not self.lead:
            return intercept, slope
        tempered = intercept + slope * score
        leading = _softmax(_SHARP * tempered)
        sure = np.minimum((leading * _softmax(tempered)).sum(axis=1, keepdims=True), _SUREST)
        log_odds = np.log(sure) - np.log1p(-sure)
        return intercept + self.lead * log_odds * (leading - _softmax(_SHARP * zero)), slope

    def log_likelihood(self, score: np.ndarray, zero: np.ndarray, codes: np.ndarray) -> float:
        """Of labels (D,)."""
        intercept, slope = self.line(score, zero)
        return float(np.log(_softmax(intercept + slope * score)[np.arange(len(codes)), codes] + 1e-300).sum())


class Evidence(NamedTuple):
    """What a model says about the classes of documents."""

    log_words: np.ndarray  # (D, C) log p(words | class), up to a number for each document
    log_shares: np.ndarray  # (C,) of the classes

    @property
    def spread(self) -> np.ndarray:
        """(D,) r > 0: how far the words tell classes apart; a number that is added to all classes changes nothing."""
        return np.maximum(self.log_words.std(axis=1), LEAST_SPREAD)


def _softmax(logs: np.ndarray) -> np.ndarray:
    """Along the last axis; predictors ask for it without SciPy."""
    found = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def on_a_line(
    intercept: np.ndarray, slope: np.ndarray, score: np.ndarray, moment: np.ndarray, is_product: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """E[s'] and E[s'²] or E[exp s'] of s' = intercept + slope·s, each (D, C), as if s were normal."""
    variance = np.where(is_product, product_variance(score, moment), np.maximum(moment - score**2, 0.0))
    mean, variance = intercept + slope * score, slope**2 * variance
    power = np.exp(np.clip(mean + 0.5 * variance, -300.0, 300.0))
    return mean, np.where(is_product, power, mean**2 + variance)


def cooled(
    parts: Sequence[Part], heat: np.ndarray, zeros: np.ndarray, score: np.ndarray, moment: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The moments (D, C) of linear predictors over the heat of their softmax; those of other responses stay.

    heat : (M, 3) numbers of a Heat by response; zeros : (C,) where predictors stay, whatever the heat
    """
    score, moment = score.copy(), moment.copy()
    for part, numbers in zip(parts, heat.tolist(), strict=True):
        if part.response.name == "softmax":
            own = part.columns
            line = Heat(*numbers).line(score[:, own], zeros[own])
            score[:, own], moment[:, own] = on_a_line(*line, score[:, own], moment[:, own], part.response.is_product)
    return score, moment
