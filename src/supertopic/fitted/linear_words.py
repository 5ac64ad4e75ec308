"""A linear model on all words, which stands beside a model with topics: what is given up for being able to read it.

Ridge regression of numbers, or of which class it is, on tf-idf of logarithms of counts, and on the same covariates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from supertopic.fitted.certainty.folds import folds_of
from supertopic.fitted.training import Training
from supertopic.inference.after.splits import Split

_FOLDS = 5
_MOST = 20_000  # documents of a fit
_PENALTY, _TOLERANCE = 1.0, 1e-2


def score_in_folds(training: Training, y: np.ndarray, n_classes: int) -> float:
    """R² of y (D,), or the share of right classes, of documents left out by folds of the kind that the model has."""
    splits = folds_of(training, _FOLDS, 0)
    if splits is None:
        return np.nan
    return _score(_features(training.corpus.counts, training.covariates), y, n_classes, splits)


def score_of_new(training: Training, new: Training, y: np.ndarray, y_new: np.ndarray, n_classes: int) -> float:
    """The same of new documents, by a model of those of the fit."""
    counts = sp.vstack([training.corpus.counts, new.corpus.counts]).tocsr()
    extra = np.vstack([training.covariates, new.covariates])
    both = np.concatenate([y, y_new])
    split = Split(np.arange(len(y)), np.arange(len(y), len(both)))
    return _score(_features(counts, extra), both, n_classes, [split])


def left_out(training: Training, t: np.ndarray, splits: Sequence[Split]) -> np.ndarray:
    """(D,) numbers t of documents, NaN where they are not known, as told by a regression without a fold of them."""
    return _left_out(_features(training.corpus.counts, training.covariates), t, 0, splits)


def _features(counts: sp.csr_matrix, extra: np.ndarray) -> sp.csr_matrix:
    from sklearn.feature_extraction.text import TfidfTransformer

    found = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    return sp.hstack([found, sp.csr_matrix(extra)]).tocsr() if extra.shape[1] else found


def _score(features: sp.csr_matrix, y: np.ndarray, n_classes: int, splits: Sequence[Split]) -> float:
    found = _left_out(features, y, n_classes, splits)
    told = ~np.isnan(found)
    if not told.any():
        return np.nan
    if n_classes:
        return float(np.mean(found[told] == y[told]))
    spread = np.sum((y[told] - y[told].mean()) ** 2)
    return float(1.0 - np.sum((y[told] - found[told]) ** 2) / spread) if spread else np.nan


def _left_out(features: sp.csr_matrix, y: np.ndarray, n_classes: int, splits: Sequence[Split]) -> np.ndarray:
    """(D,) y of the documents of each fold by a model of the others; NaN where there is none."""
    from sklearn.linear_model import Ridge, RidgeClassifier

    kind = RidgeClassifier if n_classes else Ridge
    known, found = ~np.isnan(y), np.full(len(y), np.nan)
    for one in splits:
        rest, out = one.rest[known[one.rest]], one.out[known[one.out]]
        rest = rest[:: max(len(rest) // _MOST, 1)]
        if not len(out) or len(np.unique(y[rest])) < 2:
            continue
        model = kind(_PENALTY, solver="sparse_cg", tol=_TOLERANCE)
        found[out] = model.fit(features[rest], y[rest]).predict(features[out])
    return found
