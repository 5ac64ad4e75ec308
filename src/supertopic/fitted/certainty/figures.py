"""How good predictions of documents are that a fit has not seen: a few numbers, which a model keeps.

    skill = 1 - sum_d loss_d / sum_d loss0_d,

with the squared error of a number, or the Brier score of a class; loss0 is that of always guessing the mean, or the
frequencies of the classes. It is R² for numbers. Its error is that of a ratio of two means (the delta method).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import Self

import numpy as np

from supertopic.inference.after.splits import codes_of
from supertopic.responses.interval_levels import level_of

PROMISED = 0.9
_REACH = 1.645  # standard errors
_TENTHS, _LEAST = 10, 20  # of the documents by their predictions, and how many a tenth has to have
_CLEARLY = 2.6  # standard errors below what is promised: one of ten tenths is, in one of twenty models


LEFT_OUT = "each predicted by a fit without it"  # the documents of figures that a model keeps


@dataclass(frozen=True)
class Figures:
    """Of one response."""

    n: float  # documents
    skill: float
    skill_low: float  # the ends of an interval of 90 %
    skill_high: float
    right: float  # the share of documents whose class is right; NaN for numbers
    right_low: float
    right_high: float
    error: float  # the root of the mean squared error; NaN for classes
    guess: float  # the same of always guessing the mean; of classes, the share of the most frequent one
    held: float  # by intervals that are to hold 90 %; NaN without
    weak_at: float  # the prediction near which they hold least, if clearly too few; the class least often right
    weak_held: float  # how many they hold there; how often that class is right

    @classmethod
    def of_numbers(
        cls, y: np.ndarray, mean: np.ndarray, held: np.ndarray | None, groups: np.ndarray | None = None
    ) -> Self:
        """held : (n,) bool, whether the interval of each document holds its label"""
        loss, guess = (y - mean) ** 2, (y - y.mean()) ** 2
        weak = (np.nan, np.nan) if held is None else _weakest(mean, held)
        share = np.nan if held is None else float(held.mean())
        errors = np.sqrt(loss.mean()), np.sqrt(guess.mean())
        return cls(len(y), *_skill(loss, guess, groups), np.nan, np.nan, np.nan, *errors, share, *weak)

    @classmethod
    def of_classes(
        cls, y: np.ndarray, decided: np.ndarray, chances: np.ndarray | None, n_classes: int,
        groups: np.ndarray | None = None,
    ) -> Self:  # fmt: skip
        """y, decided : (n,) places of the classes; chances : (n, C); without, the skill is that of the decisions"""
        known = np.eye(n_classes)[y.astype(int)]
        often, right = known.mean(axis=0), (decided == y).astype(np.float64)
        loss, guess = 1.0 - right, 1.0 - known[:, often.argmax()]
        if chances is not None:
            loss, guess = ((known - chances) ** 2).sum(axis=1), ((known - often) ** 2).sum(axis=1)
        share, reach = right.mean(), _REACH * _error_of_mean(right, groups)
        ends = max(share - reach, 0.0), min(share + reach, 1.0)
        by_class = [right[y == c].mean() if (y == c).sum() >= _LEAST else np.inf for c in range(len(often))]
        weak = int(np.argmin(by_class))
        told = (weak, by_class[weak]) if by_class[weak] < share - 0.1 else (np.nan, np.nan)
        return cls(len(y), *_skill(loss, guess, groups), share, *ends, np.nan, often.max(), np.nan, *told)

    @classmethod
    def from_row(cls, row: np.ndarray) -> Self:
        return cls(*map(float, row))

    def row(self) -> np.ndarray:
        return np.array(astuple(self), dtype=np.float64)


N_FIGURES = len(fields(Figures))


def held_by_others(levels: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """(n,) bool: whether intervals hold a document, as wide as the levels (n,) of the documents of other parts say."""
    part = (np.arange(len(levels)) if groups is None else codes_of(groups)) % 5
    found = np.zeros(len(levels), dtype=bool)
    for one in np.unique(part):
        rest = np.sort(levels[part != one])
        found[part == one] = levels[part == one] <= level_of(rest if len(rest) else np.sort(levels), PROMISED)
    return found


def _skill(loss: np.ndarray, guess: np.ndarray, groups: np.ndarray | None) -> tuple[float, float, float]:
    """The skill and the ends of its interval; all NaN where every label is the same."""
    if not (whole := guess.mean()) > 0:
        return np.nan, np.nan, np.nan
    skill = 1.0 - loss.mean() / whole
    reach = _REACH * _error_of_mean((loss - (1.0 - skill) * guess) / whole, groups)
    return skill, skill - reach, min(skill + reach, 1.0)


def _error_of_mean(values: np.ndarray, groups: np.ndarray | None) -> float:
    """The standard error of a mean; groups (n,) go together."""
    centred, n = values - values.mean(), len(values)
    if groups is not None:
        centred = np.bincount(codes_of(groups), weights=centred)
    return float(np.sqrt((centred**2).sum() * len(centred) / max(len(centred) - 1, 1)) / n)


def _weakest(mean: np.ndarray, held: np.ndarray) -> tuple[float, float]:
    """(where, how many are held) in the tenth of the documents that intervals hold least; NaN: none is clearly so."""
    if len(mean) < _TENTHS * _LEAST:
        return np.nan, np.nan
    parts = np.array_split(np.argsort(mean, kind="stable"), _TENTHS)
    least = min(parts, key=lambda rows: held[rows].mean())
    share = float(held[least].mean())
    short = (PROMISED - share) * np.sqrt(len(least) / (PROMISED * (1 - PROMISED)))
    return (float(mean[least].mean()), share) if short > _CLEARLY else (np.nan, np.nan)
