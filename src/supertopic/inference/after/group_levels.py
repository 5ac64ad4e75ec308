"""Levels of intervals that hold documents of a new group.

A document of a known author is told from the author's other ones; that of a new author is not. Out-of-fold predictions
without the author's documents have levels as those of a new author have, if authors are exchangeable. With G groups,
n_g documents in group g, a document of a new group has a level up to the quantile p of

    sum_g 1/((G + 1) n_g) sum over documents of g of (its level)  +  1/(G + 1) at infinity

with probability p at least (Dunn, Wasserman and Ramdas 2023; Lee, Barber and Willett 2023). Few groups promise little:
below 1/(1 - p) groups that quantile is infinite. No more is then asked than that the interval holds a share p of the
documents of each group there is.
"""

from __future__ import annotations

import numpy as np

from supertopic.inference.after.splits import codes_of

_PLACES = 1999  # levels that stand for the distribution


def levels_by_group(found: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(1999,) sorted levels, of which `level_of` takes those for new groups.

    found : (n,) levels of documents, in any order;  groups : (n,) labels
    """
    code = codes_of(groups)
    n_groups, size = int(code.max()) + 1, np.bincount(code)
    order = np.argsort(found, kind="stable")
    total = np.cumsum(1.0 / ((n_groups + 1) * size[code[order]]))
    probability = np.arange(1, _PLACES + 1) / (_PLACES + 1)
    place = np.searchsorted(total, probability * (1.0 - 1e-9))
    together = np.append(found[order], np.inf)[np.minimum(place, len(found))]
    own = [np.quantile(found[code == number], probability, method="inverted_cdf") for number in range(n_groups)]
    return np.minimum(together, np.max(own, axis=0))
