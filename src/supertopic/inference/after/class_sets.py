"""Which classes a document's prediction set holds: levels of classes that a fit has not seen.

A document's *level* is 1 - P(its class). The set of probability p holds the classes whose 1 - P is at most the level
that a share p of the documents do not exceed, ceil((n + 1) p) of n (`interval_levels`).

Where topics tell nothing, all documents have the same probabilities but for rounding, and where they tell little,
almost the same. A frequency among n documents has an error of up to ½/√n. Classes that lie closer to the level than
half of that are not told apart from it, and are in the set.

Such sets hold the true class on average over the classes: a frequent class is held oftener than p, one of few documents
hardly ever. *By class* (Vovk 2012), class c is in the set where 1 - P(c) is at most what a share p of the documents of
class c do not exceed. Each class is then held with probability p, and sets are larger. A class of n documents is in all
sets where (n + 1) p > n: so few do not tell.
"""

from __future__ import annotations

import numpy as np

from supertopic.inference.after.group_levels import levels_by_group
from supertopic.responses.interval_levels import level_of

_TIE = 0.25  # … over √n


def class_levels(chances: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) 1 - P(its class) of each document, from probabilities (n, C) and the places of the classes."""
    found: np.ndarray = 1.0 - chances[np.arange(len(codes)), codes]
    return found


def levels_by_class(chances: np.ndarray, codes: np.ndarray, groups: np.ndarray | None = None) -> list[np.ndarray]:
    """Of each class the sorted levels of its documents; with groups (n,), those that hold documents of new groups."""
    found = class_levels(chances, codes)
    own = [codes == c for c in range(chances.shape[1])]
    return [
        levels_by_group(found[rows], groups[rows]) if groups is not None and rows.any() else np.sort(found[rows])
        for rows in own
    ]


def classes_within_own(chances: np.ndarray, found: list[np.ndarray], probability: float) -> np.ndarray:
    """(D, C) bool: the classes of each document's set, each by the levels of its own documents."""
    columns = [classes_within(chances[:, [c]], own, probability)[:, 0] for c, own in enumerate(found)]
    return np.column_stack(columns)


def classes_within(chances: np.ndarray, found: np.ndarray, probability: float) -> np.ndarray:
    """(D, C) bool: the classes of each document's set, from probabilities (D, C) and the levels of other documents."""
    if not len(found):
        return np.ones(chances.shape, dtype=bool)
    return 1.0 - chances <= level_of(found, probability) + _TIE / np.sqrt(len(found))
