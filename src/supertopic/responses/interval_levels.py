"""How wide intervals have to be: levels of documents that a fit has not seen.

A document's *level* is the probability of the narrowest of the response's own intervals that holds its y. The interval
of probability p for a new document is the response's own at the level that a share p of the documents do not exceed,
ceil((n + 1) p) of n (cross-conformal prediction: Vovk 2015). It holds p of new documents whatever the response's tails
are, as far as documents are exchangeable.

Labels may lie where a response expects none: Poisson intervals of any probability are far too narrow for counts that
vary more than a Poisson's. A level above one therefore stands for the interval of probability `WIDEST`, whose ends are
that many times as far from its median.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.responses.base import Response

WIDEST = 0.9999
_HALVINGS = 14  # of the search for a level
_MOST_LEVELS = 2000  # that are kept for each response
_ROUNDED = 1e-6  # of a count: an end that is a label itself, but for rounding, stays there
_ENDLESS = 2.0  # level that stands for an interval without an end, at least


def interval_at(
    response: Response, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray, level: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper ends, each (D,), of intervals at a level, or at one for each document."""
    far = np.asarray(level) >= 1.0
    inner: Any = np.where(far, WIDEST, level)
    ends = response.interval(score, moment, dispersion, inner)
    if not far.any():
        return ends
    middle, below, above = _widest(response, score, moment, dispersion)
    low, high = np.maximum(middle - level * below, response.lowest), middle + level * above
    if response.grain:
        low, high = np.ceil(low - _ROUNDED), np.floor(high + _ROUNDED)
    return np.where(far, low, ends[0]), np.where(far, high, ends[1])


def _widest(
    response: Response, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(the median, how far the widest interval reaches below it, and above it), each (D,)."""
    middle, _ = response.interval(score, moment, dispersion, 0.0)
    low, high = response.interval(score, moment, dispersion, WIDEST)
    return middle, np.maximum(middle - low, response.grain), np.maximum(high - middle, response.grain)


def levels(
    response: Response, y: np.ndarray, score: np.ndarray, moment: np.ndarray, dispersion: np.ndarray
) -> np.ndarray:
    """(n,) the level of the narrowest interval that holds y, without missing labels."""
    middle, below, above = _widest(response, score, moment, dispersion)
    stretch = np.maximum((y - middle) / above, (middle - y) / below)
    low, high = np.zeros(len(y)), np.full(len(y), WIDEST)
    for _ in range(_HALVINGS):
        between: Any = 0.5 * (low + high)  # one for each document, which all responses can take
        ends = response.interval(score, moment, dispersion, between)
        inside = (ends[0] <= y) & (y <= ends[1])
        low, high = np.where(inside, low, between), np.where(inside, between, high)
    return np.where(stretch > 1.0, stretch, high)


def condense(found: np.ndarray) -> np.ndarray:
    """Sorted, and at most `_MOST_LEVELS` of the levels, evenly spaced in rank, each rounded up to one that occurred."""
    found = np.sort(found)
    if len(found) <= _MOST_LEVELS:
        return found
    places = np.ceil(np.arange(1, _MOST_LEVELS + 1) * len(found) / _MOST_LEVELS).astype(int) - 1
    return found[places]


def level_of(found: np.ndarray, probability: float) -> float:
    """The level whose intervals hold new documents with this probability."""
    rank = int(np.ceil((len(found) + 1) * probability))
    return max(_ENDLESS, float(found[-1])) if rank > len(found) else float(found[rank - 1])
