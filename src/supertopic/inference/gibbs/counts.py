"""The check that counts are whole numbers, as samplers need them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def require_whole_counts(counts: sp.csr_matrix) -> None:
    """Raise ValueError unless all counts are whole: a sampler draws a topic for every token."""
    for part in np.array_split(counts.data, max(1, counts.nnz >> 16)):  # in parts, for little memory
        wrong = part[part != np.rint(part)]
        if len(wrong) == 0:
            continue
        raise ValueError(
            f"X holds the fractional count {wrong[0]:g}, but inference='gibbs' needs whole counts; "
            "inference='vb' and 'svi' take weights"
        )
