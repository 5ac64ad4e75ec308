"""Phrases: two neighbouring words that stand together more often than their own frequencies explain.

The normalised pointwise mutual information of words a and b among N words (Bouma 2009),

npmi = log(n_ab N / (n_a n_b)) / -log(n_ab / N),

is 1 where they never stand alone and 0 where they are independent. Stop words part neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

__all__ = ["Phrases", "choose_pairs", "counts_outside", "threshold_of", "with_pairs"]

THRESHOLD = 0.5  # of "front desk", "prime minister"; "last year" and "very good" are below
_LEAST_COUNT = 10  # of a pair
_LINK = "\x1f"  # between the words of a pair, in a table of terms

Sequence = list[str | None]  # the words of a text; None where a stop word was


def threshold_of(value: object) -> float | None:
    """The least npmi of the parameter `phrases`; None for no phrases."""
    if isinstance(value, (bool, np.bool_)):
        return THRESHOLD if value else None
    if not isinstance(value, (int, float, np.integer, np.floating)) or not 0 < float(value) <= 1:
        raise ValueError(f"phrases: got {value!r:.40}, expected True, False or a threshold between 0 and 1")
    return float(value)


def with_pairs(words: Sequence) -> list[str]:
    """The words of a text, and their pairs, as terms to be counted."""
    return [word for word in words if word is not None] + [
        f"{one}{_LINK}{next_one}" for one, next_one in pairwise(words) if one is not None and next_one is not None
    ]


def choose_pairs(terms: np.ndarray, tf: np.ndarray, df: np.ndarray, least: float, threshold: float) -> dict[int, str]:
    """Which of the terms that `with_pairs` gave are phrases, in their place, and what they are called.

    tf, df : how often terms stand, and in how many documents; least : documents that a phrase stands in
    """
    place = {term: number for number, term in enumerate(terms)}
    is_pair = np.array([_LINK in term for term in terms], dtype=bool)
    total = max(float(tf[~is_pair].sum()), 2.0)
    found = {}
    for number in np.flatnonzero(is_pair & (tf >= _LEAST_COUNT) & (df >= least)).tolist():
        one, _, other = terms[number].partition(_LINK)
        if one == other or one not in place or other not in place:  # a stream prunes seldom words
            continue
        share = tf[number] / total
        if np.log(share * total**2 / (tf[place[one]] * tf[place[other]])) >= -threshold * np.log(share):
            found[number] = f"{one} {other}"
    return found


def counts_outside(terms: np.ndarray, tf: np.ndarray, phrases: dict[int, str]) -> np.ndarray:
    """How often each term stands outside of phrases; of pairs that are no phrases, zero."""
    place = {term: number for number, term in enumerate(terms)}
    left = np.array([0.0 if _LINK in term else count for term, count in zip(terms, tf, strict=True)])
    for number in phrases:
        left[number] = tf[number]
        for word in terms[number].split(_LINK):
            left[place[word]] -= tf[number]
    return left


class Phrases:
    """Words that are read as one, such as "front desk"."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = frozenset(names)

    def joined(self, words: Sequence) -> list[tuple[str, int, int]]:
        """(term, first, last): words and phrases, from left to right, with the places of their words."""
        found, place = [], 0
        while place < len(words):
            word, last = words[place], place
            following = words[place + 1] if place + 1 < len(words) else None
            if word is not None and following is not None and (phrase := f"{word} {following}") in self.names:
                word, last = phrase, place + 1
            if word is not None:
                found.append((word, place, last))
            place = last + 1
        return found
