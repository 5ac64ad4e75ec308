"""Steps of Adam on the logarithms of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.kernels.climb import PART, climb_words, scale_topics, weigh_gradient

if TYPE_CHECKING:
    from supertopic.backends.base import Backend, Run

_WORDS_AT_ONCE = 1024


def climb(
    topics: np.ndarray, gradient: np.ndarray, prior: float, pull: float, anchor: np.ndarray, rates: Sequence[float],
    kept: tuple[Any, Any, Any, Any], backend: Backend,
) -> np.ndarray:  # fmt: skip
    """As `LocalOps.climb`."""
    n_parts, given = -(-len(topics) // PART), np.array(rates, dtype=np.float32)
    sums = np.empty((n_parts, topics.shape[1]), dtype=np.float32)

    def weigh(start: int, stop: int) -> None:
        weigh_gradient(start, stop, topics, np.float32(prior), np.float32(pull), anchor, gradient, sums)

    def move(start: int, stop: int) -> None:
        climb_words(start, stop, gradient, totals, given, topics, *kept, sums)

    def scale(start: int, stop: int) -> None:
        scale_topics(start, stop, by, topics)

    backend.over_range(n_parts, weigh)
    totals = sums.sum(axis=0, dtype=np.float64).astype(np.float32)
    backend.over_range(n_parts, move)
    by = (1.0 / sums.sum(axis=0, dtype=np.float64)).astype(np.float32)
    backend.over_range(n_parts, scale)
    return topics


def distributions(logits: np.ndarray, run: Run) -> np.ndarray:
    """exp of the logits, columns sum to one. Parts of fixed size are added in their order, whoever makes them."""
    found, highest = np.empty_like(logits), logits.max(axis=0)
    parts = [found[first : first + _WORDS_AT_ONCE] for first in range(0, len(found), _WORDS_AT_ONCE)]
    sums = np.empty((len(parts), logits.shape[1]))

    def exponentiate(place: int) -> None:
        first, part = place * _WORDS_AT_ONCE, parts[place]
        np.exp(np.subtract(logits[first : first + len(part)], highest, out=part), out=part)
        part.sum(axis=0, dtype=np.float64, out=sums[place])

    run([(exponentiate, place) for place in range(len(parts))])
    total = sums.sum(axis=0).astype(np.float32)
    run([(np.divide, part, total, part) for part in parts])
    return found
