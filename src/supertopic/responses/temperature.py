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


class Evidence(NamedTuple):
    """What a model says about the classes of documents."""

    log_words: np.ndarray  # (D, C) log p(words | class), up to a number for each document
    log_shares: np.ndarray  # (C,) of the classes

    @property
    def spread(self) -> np.ndarray:
        """(D,) r > 0: how far the words tell classes apart; a number that is added to all classes changes nothing."""
        return np.maximum(self.log_words.std(axis=1), LEAST_SPREAD)


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

    heat : (M, 2) level and power by response; zeros : (C,) where predictors stay, whatever the heat
    """
    score, moment = score.copy(), moment.copy()
    for part, (level, power) in zip(parts, heat, strict=True):
        if part.response.name == "softmax":
            own, zero = part.columns, zeros[part.columns]
            slope = (1.0 / Temperature(level, power).heat(Evidence(score[:, own] - zero, zero).spread))[:, None]
            line = zero * (1.0 - slope), slope
            score[:, own], moment[:, own] = on_a_line(*line, score[:, own], moment[:, own], part.response.is_product)
    return score, moment
