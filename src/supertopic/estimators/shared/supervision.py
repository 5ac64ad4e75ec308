"""`supervision="auto"`: how hard the response should pull, by cross-validation on the training documents."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold

_GRID = (1.0, 3.0, 10.0, 30.0, 100.0)
_FOLDS = 3


def choose_supervision(
    estimator: Any, counts: sp.csr_matrix, y: Any, numbers: np.ndarray, weight: np.ndarray,
    covariates: np.ndarray | None,
) -> float:  # fmt: skip
    """The weight of a short grid whose fits predict best (the estimator's own `score`), the smallest of equals.

    numbers : y as the response takes it, NaN where missing; documents with all their labels are scored
    """
    labelled = ~np.isnan(numbers.reshape(len(numbers), -1)).any(axis=1)
    table = y.iloc if hasattr(y, "iloc") else np.asarray(y)
    folds = list(KFold(_FOLDS, shuffle=True, random_state=estimator._seed()).split(np.arange(counts.shape[0])))
    found = [target.response for target in estimator._targets]  # a part of y might be taken for something else
    response, means = found[0] if len(found) == 1 else found, []
    for supervision in _GRID:
        scores = []
        for train, test in folds:
            model = clone(estimator).set_params(
                supervision=supervision,
                response=response,
                vectorizer=None,
                checkpoint=None,
                verbose=0,
                cross_fit=0,
                ensemble=1,
            )
            extra = {} if covariates is None else {"covariates": covariates[train]}
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "covariates:")  # the fit itself has said it
                model.fit(counts[train], table[train], sample_weight=weight[train], **extra)
            known = test[labelled[test]]
            extra = {} if covariates is None else {"covariates": covariates[known]}
            scores.append(model.score(counts[known], table[known], **extra))
        means.append(float(np.mean(scores)))
    estimator.supervision_scores_ = dict(zip(_GRID, means, strict=True))
    return _GRID[int(np.argmax(np.round(means, 4)))]
