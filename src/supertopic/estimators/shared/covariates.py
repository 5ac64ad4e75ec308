"""Covariates as users give them, and as a regression takes them."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_covariates(covariates: Any, n_documents: int) -> np.ndarray:
    """(D, P) finite numbers; (D, 0) for None."""
    if covariates is None:
        return np.zeros((n_documents, 0))
    try:
        extra = np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("covariates: got values that are no numbers, expected a table (documents, columns)") from None
    extra = extra[:, None] if extra.ndim == 1 else extra
    if extra.ndim != 2 or len(extra) != n_documents:
        raise ValueError(f"covariates: got shape {extra.shape}, expected ({n_documents}, columns)")
    if not np.isfinite(extra).all():
        raise ValueError("covariates: got NaN or infinity, expected finite numbers")
    return extra
