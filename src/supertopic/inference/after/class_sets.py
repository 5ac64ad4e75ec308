"""Which classes a document's prediction set holds: levels of classes that a fit has not seen.

A document's *level* is 1 - P(its class). The set of probability p holds the classes whose 1 - P is at most the level
that a share p of the documents do not exceed, ceil((n + 1) p) of n (`interval_levels`).

Where topics tell nothing, all documents have the same probabilities but for rounding, and where they tell little,
almost the same. A frequency among n documents has an error of up to ½/√n. Classes that lie closer to the level than
half of that are not told apart from it, and are in the set.
"""

from __future__ import annotations

import numpy as np

from supertopic.responses.interval_levels import level_of

_TIE = 0.25  # … over √n


def class_levels(chances: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) 1 - P(its class) of each document, from probabilities (n, C) and the places of the classes."""
    found: np.ndarray = 1.0 - chances[np.arange(len(codes)), codes]
    return found


def classes_within(chances: np.ndarray, found: np.ndarray, probability: float) -> np.ndarray:
    """(D, C) bool: the classes of each document's set, from probabilities (D, C) and the levels of other documents."""
    return 1.0 - chances <= level_of(found, probability) + _TIE / np.sqrt(len(found))
