"""What experiments do to counts before a model sees them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def logarithms(counts: sp.csr_matrix) -> sp.csr_matrix:
    """log2(1 + count), as `SAGEClassifier(counts="log")` takes it."""
    logs = counts.copy()
    logs.data = np.log2(1.0 + logs.data)
    return logs
