"""Which counts a sampler can take."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def require_whole_counts(counts: sp.csr_matrix) -> None:
    """A sampler draws the topic of every single token; weights such as tf-idf have none."""
    for part in np.array_split(counts.data, max(1, counts.nnz >> 16)):  # in parts, for little memory
        wrong = part[part != np.rint(part)]
        if len(wrong) == 0:
            continue
        raise ValueError(
            f"X holds the fractional count {wrong[0]:g}, but inference='gibbs' needs whole counts; "
            "inference='vb' and 'svi' take weights"
        )
