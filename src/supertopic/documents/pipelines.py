"""The words of counts that come through a scikit-learn Pipeline.

CountVectorizer and its relatives hand a sparse matrix on, which has no room for names, and a Pipeline tells its steps
nothing about one another: no argument, attribute or callback leads from a step to the one before. The Pipeline that is
being fitted is on the call stack, though. It is taken from there only if the estimator itself is one of its steps.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.pipeline import Pipeline

from supertopic.checks import whole_text

_FITS = ("fit", "_fit", "fit_transform", "fit_predict")
_DEEPEST = 40  # calls between an estimator and its Pipeline are about ten


def words_from_pipeline(estimator: object, n_words: int) -> np.ndarray | None:
    """(V,) the names that the steps before an estimator give to its columns; None where there are none."""
    frame, depth = sys._getframe(1), 0
    while frame is not None and depth < _DEEPEST:
        # reading a caller's local variables keeps them alive until it returns: those of fits, not of the user's code
        owner = frame.f_locals.get("self") if frame.f_code.co_name in _FITS else None
        if isinstance(owner, Pipeline):
            places = [place for place, (_, step) in enumerate(owner.steps) if step is estimator]
            if places:
                return _names(owner[: places[0]], n_words) if places[0] else None
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    return None


def _names(before: Pipeline, n_words: int) -> np.ndarray | None:
    try:
        found = np.asarray(before.get_feature_names_out(), dtype=object)
    except (AttributeError, ValueError, TypeError):  # hashed words have no names, and some steps cannot tell them
        return None
    return np.array([whole_text(str(word)) for word in found], dtype=object) if len(found) == n_words else None
