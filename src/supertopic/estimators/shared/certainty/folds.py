"""Fits without a fold of the labelled documents: neither their words nor their labels.

Each starts where every fit starts. (Fits that start from the whole fit's topics would leak: these do not forget the
labels.) They are shorter than the whole fit, so that five of them cost little more than it does, and yet have to be as
bold: fits that trained less predict new documents less far from the mean, and the slope that they give is too steep.
"pc" therefore takes longer steps in fewer epochs, so that the topics come as far.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from supertopic.estimators.shared.certainty.topic_errors import similarity, widening
from supertopic.estimators.shared.fitting.side_by_side import fit_side_by_side
from supertopic.estimators.shared.fitting.training import Training
from supertopic.inference.gibbs.chains import match_topics
from supertopic.model import State
from supertopic.progress import track
from supertopic.responses.several import units

LEAST = 5  # labelled documents of a fold: with fewer there is nothing to be learned from them


@dataclass(frozen=True)
class Fold:
    """A fold and the fit without it."""

    number: int
    out: np.ndarray  # rows of the documents that are left out
    rest: np.ndarray  # of all others
    fit: Any  # the estimator


def folds_of(training: Training, n_folds: int, seed: int) -> np.ndarray | None:
    """(D,) the fold of each labelled document, -1 of the others, which are in every fit.

    Few labels have fewer folds, so that each has `LEAST` of them; None where not even two have.
    """
    labelled = np.flatnonzero(training.labelled)
    n_folds = min(n_folds, len(labelled) // LEAST)
    if n_folds < 2:
        return None
    fold = np.full(len(training.y), -1)
    fold[np.random.default_rng([seed, 7]).permutation(labelled)] = np.arange(len(labelled)) % n_folds
    return fold


def warn_few(n_labels: int, n_folds: int, fold: np.ndarray | None) -> None:
    """Say that labels are too few for the folds that were asked for, and what follows from that."""
    if fold is None:
        follows = (
            f"fewer than the {2 * LEAST} that two folds need: coefficients, errors and predictions are those of labels "
            "that the topics have seen, and promise too much"
        )
    elif (found := int(fold.max()) + 1) < n_folds:
        follows = f"enough for {found} folds only: errors and intervals from so few are rough"
    else:
        return
    warnings.warn(f"cross_fit: got {n_folds} with {n_labels} labels, {follows}", UserWarning, stacklevel=6)


def fold_fits(estimator: Any, training: Training, fold: np.ndarray, seed: int, **given: Any) -> Iterator[Fold]:
    """The folds in their order, each with the fit without it; `given` are what its parameters differ in."""
    n_folds = int(fold.max()) + 1

    def fit_without(number: int, n_jobs: int) -> Any:
        rest = training.rows(np.flatnonzero(fold != number))
        return estimator._sibling(("fold", number), rest, seed, n_jobs=n_jobs, **given)

    parts = [partial(fit_without, number) for number in range(n_folds)]
    with track(f"{type(estimator).__name__} cross-fit", n_folds, int(estimator.verbose)) as report:
        for number, fit in enumerate(fit_side_by_side(estimator, parts, training.corpus.counts.nnz)):
            yield Fold(number, np.flatnonzero(fold == number), np.flatnonzero(fold != number), fit)
            report(number + 1)


def length_of_folds(estimator: Any) -> dict[str, Any]:
    """How long the fits without a fold are, as `fold_fits` takes it."""
    engine = estimator._engine()
    if not engine.at_mode:
        return {"max_iter": max(engine.short, round(engine.fold * estimator.n_iter_))}
    epochs, penalties = estimator._terms.epochs, estimator._terms.penalties  # the whole fit has found when to stop
    short = min(epochs, engine.longest_fold)
    return {"more": {"best_epoch": short, "stride": epochs / short if short else 1.0, "penalties": penalties}}


class FoldCoefficients:
    """Coefficients of the fits without a fold, with the topics and in the units of the whole fit."""

    def __init__(self, estimator: Any, n_folds: int) -> None:
        self.estimator, self.topics = estimator, estimator._weights()
        self.coef = np.zeros((n_folds, *estimator._state.coef.shape))  # 0 for covariates
        self.similar = np.zeros((n_folds, estimator.n_topics))

    def take(self, fold: Fold, state: State) -> np.ndarray:
        """Keep the coefficients of a State with the fold's topics; returns the order in which these are the whole's."""
        own = self.estimator
        order = match_topics(self.topics, fold.fit._weights())
        unit = units(own._response(), state.dispersion, own._state.dispersion)[1]
        self.coef[fold.number, :, : len(order)] = unit[:, None] * state.coef[:, order]
        self.similar[fold.number] = similarity(self.topics, fold.fit._weights()[:, order])
        return order

    def widening(self, slope: np.ndarray | float = 1.0) -> np.ndarray:
        """(C,) what the errors of the whole fit's coefficients are multiplied with, whose slope was corrected."""
        return widening(self.estimator, np.reshape(slope, (-1, 1)) * self.coef, self.similar)
