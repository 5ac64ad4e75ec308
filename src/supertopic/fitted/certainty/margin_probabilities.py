"""Probabilities from the decision values of a max-margin model: Platt's scaling, on documents left out.

The margin of a training document is what the fit has made it. Decision values of documents that a fit has not seen
are those of new documents: fits without a fold each give them. One slope, and a level for each class,

    P(y = c) = softmax(level + slope·decision)_c,     of two classes  1 / (1 + exp(-level - slope·decision))

are fitted to them by maximum likelihood.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit, softmax

from supertopic.fitted.certainty.figures import Figures
from supertopic.fitted.certainty.folds import LEAST, classes_of, fold_fits, folds_of
from supertopic.fitted.certainty.levels import left_out
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import scores_of
from supertopic.fitted.spec import Finish
from supertopic.fitted.training import Training
from supertopic.inference.after.calibration import calibrate
from supertopic.inference.after.splits import folds_left_out
from supertopic.responses.base import registry


def with_scaling(fitted: Fitted, training: Training, n_folds: int, seed: int, finish: Finish) -> Fitted:
    """With the levels and the slope, (C + 1,), and how good they are; finish : what follows the fits without a fold."""
    splits, n_labels = folds_of(training, n_folds, seed, classes_of(fitted, training)), int(training.labelled.sum())
    if splits is None:
        raise ValueError(
            f"cross_fit: got {n_folds} folds of {n_labels} documents with a label, expected {LEAST} in each fold"
        )
    score, (rows, fold) = np.zeros((len(training.y), fitted.spec.response.n_columns)), folds_left_out(splits)
    for one in fold_fits(fitted, training, splits, seed, finish=finish):
        some = training.rows(one.out)
        score[one.out] = scores_of(one.fit, some.corpus, some.covariates, some.known).score
    classes = fitted.classes
    assert classes is not None
    response = registry()["logit" if len(classes) == 2 else "softmax"](len(classes))
    found = calibrate(response, training.y[rows], training.weight[rows], score[rows], np.zeros(0))
    scaling, y = np.append(found.intercept, found.slope[0]), training.y[rows]
    margin, chances = fitted.spec.response, scaled_probabilities(scaling, score[rows])
    decided = margin.decide(margin.predict(score[rows], score[rows] ** 2, fitted.state.dispersion))
    groups = training.groups_of(rows)
    figures = Figures.of_classes(y, decided, chances, len(classes), groups)
    fitted = fitted.with_certainty(scaling=scaling, figures=figures.row()[None])
    return replace(fitted, left_out=left_out(rows, fold, y, [chances], groups))


def scaled_probabilities(scaling: np.ndarray, score: np.ndarray) -> np.ndarray:
    """(D, number of classes) of decision values (D, C)."""
    line = scaling[:-1] + scaling[-1] * score
    if line.shape[1] > 1:
        return softmax(line, axis=1)
    second = expit(line[:, 0])
    return np.column_stack([1.0 - second, second])
