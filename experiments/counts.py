"""Transformations of counts before a fit."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def logarithms(counts: sp.csr_matrix) -> sp.csr_matrix:
    """Return log2(1 + count), as in `SAGEClassifier(counts="log")`."""
    logs = counts.copy()
    logs.data = np.log2(1.0 + logs.data)
    return logs
