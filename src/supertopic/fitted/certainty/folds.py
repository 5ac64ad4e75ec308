"""Fits without a fold of the labelled documents: neither their words nor their labels.

Each starts where every fit starts. (Fits that start from the whole fit's topics would leak: these do not forget the
labels.) They are shorter than the whole fit, so that five of them cost little more than it does, and yet have to be as
bold: fits that trained less predict new documents less far from the mean, and the slope that they give is too steep.
"pc" therefore takes longer steps in fewer epochs, so that the topics come as far.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from supertopic.fitted.certainty.topic_errors import similarity, widening
from supertopic.fitted.fit import fit
from supertopic.fitted.fitted import Fitted, Others
from supertopic.fitted.side_by_side import fit_side_by_side
from supertopic.fitted.training import Training
from supertopic.inference.after.splits import Split, parts_at_random, splits_of_parts
from supertopic.inference.gibbs.chains import match_topics
from supertopic.inference.variational.prediction_start import Searched
from supertopic.model import State
from supertopic.plural import counted
from supertopic.progress import track
from supertopic.responses.several import units

LEAST = 5  # labelled documents of a fold: with fewer there is nothing to be learned from them


FEW_GROUPS = 20


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold and the fit without it."""

    number: int
    out: np.ndarray  # rows of the documents that are left out
    rest: np.ndarray  # of the documents of the fit
    fit: Fitted


def classes_of(fitted: Fitted, training: Training) -> np.ndarray | None:
    """(D,) the class of each document, to spread evenly over folds; None where y is no column of classes."""
    targets = fitted.spec.schema.targets
    return training.y.reshape(-1) if len(targets) == 1 and targets[0].classes is not None else None


def folds_of(training: Training, n_folds: int, seed: int, classes: np.ndarray | None = None) -> list[Split] | None:
    """The labelled documents in folds; those without a label are in every fit, or (`times=`) in those after them.

    Documents that belong together are in one fold. Few labels, or groups, have fewer folds, so that each has `LEAST`
    labels; None where not even two have. Classes (D,) are spread evenly over the folds.
    """
    labelled, belonging = np.flatnonzero(training.labelled), training.belonging
    n_folds = min(n_folds, len(labelled) // LEAST)
    if belonging is not None:
        n_folds = min(n_folds, len(np.unique(belonging.together[labelled])))
    if n_folds < 2:
        return None
    generator = np.random.default_rng([seed, 7])
    if belonging is not None:
        return belonging.splits(labelled, n_folds, generator, classes)
    part = np.full(len(training.y), -1)
    kinds = None if classes is None else classes[labelled]
    part[labelled] = parts_at_random(labelled, n_folds, generator, kinds)
    return splits_of_parts(part)


def with_groups(fitted: Fitted, training: Training) -> Fitted:
    """With the number of groups of the labels; a warning says where they are few, and what follows from that."""
    found = training.groups_of(np.flatnonzero(training.labelled))
    if found is None:
        return fitted
    n_groups = len(np.unique(found))
    if n_groups < FEW_GROUPS:
        warnings.warn(
            f"groups: labels are of {counted(n_groups, 'group')}, fewer than {FEW_GROUPS}: what is said about "
            "documents of new groups, and errors, are rough and may promise too much",
            UserWarning,
            stacklevel=6,
        )
    return replace(fitted, notes={**fitted.notes, "n_groups": n_groups})


def warn_few(n_labels: int, n_folds: int, splits: list[Split] | None) -> None:
    """Say that labels are too few for the folds that were asked for, and what follows from that."""
    if splits is None:
        follows = (
            f"fewer than the {2 * LEAST} that two folds need: coefficients, errors and predictions are those of labels "
            "that the topics have seen, and promise too much"
        )
    elif (found := len(splits)) < n_folds:
        follows = f"enough for {found} folds only: errors and intervals from so few are rough"
    else:
        return
    warnings.warn(f"cross_fit: got {n_folds} with {n_labels} labels, {follows}", UserWarning, stacklevel=6)


def fold_fits(fitted: Fitted, training: Training, splits: list[Split], seed: int, **changes: Any) -> Iterator[Fold]:
    """The folds in their order, each with the fit without it; `changes` are what its Spec differs in."""
    spec = fitted.spec

    def fit_without(number: int, n_jobs: int | None) -> Fitted:
        return fit(spec.part("fold", number, n_jobs, **changes), training.rows(splits[number].rest), seed)

    parts = [partial(fit_without, number) for number in range(len(splits))]
    with track(f"{spec.name} cross-fit", len(splits), int(spec.place.verbose)) as report:
        for number, one in enumerate(fit_side_by_side(spec.place, parts, training.corpus.counts.nnz)):
            yield Fold(number, splits[number].out, splits[number].rest, one)
            report(number + 1)


def short(fitted: Fitted) -> Any:
    """The settings of the fits without a fold."""
    engine, settings, terms = fitted.spec.engine, fitted.spec.settings, fitted.terms
    if not isinstance(terms, Searched):
        return settings.lasting(max(engine.short, round(engine.fold * fitted.n_iter)))
    epochs = min(terms.epochs, engine.longest_fold)  # the whole fit has found when to stop
    stride = terms.epochs / epochs if epochs else 1.0
    return replace(settings, best_epoch=epochs, stride=stride, penalties=terms.penalties)


class FoldCoefficients:
    """Coefficients of the fits without a fold, with the topics and in the units of the whole fit."""

    def __init__(self, fitted: Fitted, n_folds: int) -> None:
        self.fitted = fitted
        self.coef = np.zeros((n_folds, *fitted.state.coef.shape))  # 0 for covariates
        self.similar = np.zeros((n_folds, fitted.n_topics))

    def take(self, fold: Fold, state: State) -> np.ndarray:
        """Keep the coefficients of a State with the fold's topics; returns the order in which these are the whole's."""
        own, theirs = self.fitted, fold.fit.weights
        order = match_topics(own.weights, theirs)
        unit = units(own.spec.response, state.dispersion, own.state.dispersion)[1]
        self.coef[fold.number, :, : len(order)] = unit[:, None] * state.coef[:, order]
        self.similar[fold.number] = similarity(own.weights, theirs[:, order])
        return order

    def others(self, slope: np.ndarray | float = 1.0) -> Others:
        """The fits without a fold, as the whole fit keeps them."""
        coef = np.reshape(slope, (-1, 1)) * self.coef
        return Others(coef.astype(np.float32), self.similar.astype(np.float32))

    def widening(self, fitted: Fitted, slope: np.ndarray | float = 1.0) -> np.ndarray:
        """(C,) what the errors of the whole fit's coefficients are multiplied with.

        fitted : the whole fit, whose slope was corrected
        """
        return widening(fitted, np.reshape(slope, (-1, 1)) * self.coef, self.similar)
