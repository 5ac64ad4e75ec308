"""`supervision="auto"`: how hard the response should pull, along a warm path of short fits without some documents.

The labelled documents are cut into three folds. For each, one fit without the fold's documents, words and labels, goes
through the grid: a few steps at 1, then a few more from there at 3, and so on; at each weight it predicts the fold. A
higher weight is taken where it predicts better than the one before it by more than the standard error of this
difference over the folds, so that noise chooses 1, which is the paper's model.

The fits of "pc" are whole ones, since short ones mislead: after eight epochs, film ratings are told best at 100, and in
the end at 1. The grid then ends at the first weight that is not taken.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold

from supertopic.checkpoint import Checkpoint

_GRID = (1.0, 3.0, 10.0, 30.0, 100.0)
_FOLDS = 3
_FIRST, _NEXT = 1 / 3, 1 / 6  # of the steps of a fit: at the first weight of the path, and at each other


def choose_supervision(
    estimator: Any, counts: sp.csr_matrix, y: Any, numbers: np.ndarray, weight: np.ndarray,
    covariates: np.ndarray | None, seed: int,
) -> float:  # fmt: skip
    """The weight of a short grid that predicts best (by the estimator's own `score`), or the smallest of equals.

    numbers : y as the response takes it, NaN where missing; documents with all their labels are scored
    """
    labelled = ~np.isnan(numbers.reshape(len(numbers), -1)).any(axis=1)
    table = y.iloc if hasattr(y, "iloc") else np.asarray(y)
    folds = KFold(_FOLDS, shuffle=True, random_state=seed).split(np.arange(counts.shape[0]))
    parts = []
    for train, test in folds:
        known = test[labelled[test]]
        own, new = ({} if covariates is None else {"covariates": covariates[rows]} for rows in (train, known))
        fitted = (counts[train], table[train], {"sample_weight": weight[train], **own})
        parts.append((_Path(estimator, seed), fitted, (counts[known], table[known], new)))
    columns: list[list[float]] = []
    for place, supervision in enumerate(_GRID):
        column = []
        for fold, (path, (X, labels, more), (unseen, truth, with_them)) in enumerate(parts):
            checkpoint = Checkpoint.aside(estimator.checkpoint, "choice", fold * len(_GRID) + place)
            model = path.fit(supervision, checkpoint, X, labels, **more)
            column.append(model.score(unseen, truth, **with_them))
        columns.append(column)
        if estimator._engine().at_mode and _best(np.array(columns).T) < place:
            break
    found = np.array(columns).T
    estimator.supervision_scores_ = dict(zip(_GRID, found.mean(axis=0).tolist(), strict=False))
    return _GRID[_best(found)]


class _Path:
    """One estimator that goes on from weight to weight where its engine can, and starts afresh where it cannot."""

    def __init__(self, estimator: Any, seed: int) -> None:
        engine = estimator._engine()
        steps = engine.read(estimator).max_iter
        self.warm = estimator._inference() == "vb"
        self.steps = [steps if engine.at_mode else min(engine.short, steps)]
        if self.warm:
            self.steps = [max(1, round(part * steps)) for part in (_FIRST, _NEXT)]
        short = {"cross_fit": 0, "ensemble": 1, "n_init": 1, "words": False}
        alone = {"vectorizer": None, "verbose": 0, "warm_start": self.warm, "random_state": seed}
        found = [target.response for target in estimator._targets]  # a part of y might be taken for something else
        response = found[0] if len(found) == 1 else found
        self.model = clone(estimator).set_params(response=response, **short, **alone)

    def fit(self, supervision: float, checkpoint: Checkpoint | None, *documents: Any, **more: Any) -> Any:
        steps = self.steps[-1] if hasattr(self.model, "_state") else self.steps[0]
        self.model.set_params(supervision=supervision, max_iter=steps, checkpoint=checkpoint)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "covariates:")  # the fit itself has said it
            return self.model.fit(*documents, **more)


def _best(scores: np.ndarray) -> int:
    """The column of `scores` (folds, weights) that is chosen."""
    best = 0
    for column in range(1, scores.shape[1]):
        gain = scores[:, column] - scores[:, best]
        if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)):
            best = column
    return best
