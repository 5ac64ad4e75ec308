"""p-values of many coefficients at once."""

from __future__ import annotations

import numpy as np
from scipy.stats import false_discovery_control

METHODS = ("holm", "bh")


def adjusted(p: np.ndarray, method: str) -> np.ndarray:
    """p-values (n,) adjusted for their number; NaN stays, and does not count.

    holm : by Holm's steps: rejecting those up to 0.05 is wrong once or more with probability 0.05 at most
    bh : by Benjamini and Hochberg: of those rejected at 0.05, one in twenty is expected to be wrong
    """
    if method not in METHODS:
        raise ValueError(f"adjust: got {method!r}, expected one of {', '.join(map(repr, METHODS))}, or None")
    found, known = np.array(p, dtype=np.float64), ~np.isnan(p)
    given = found[known]
    if method == "bh":
        found[known] = false_discovery_control(given) if len(given) else given
        return found
    order = np.argsort(given, kind="stable")
    steps = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    given[order] = np.minimum(steps, 1.0)
    found[known] = given
    return found
