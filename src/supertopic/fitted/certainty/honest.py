"""Sample splitting: topics from one part of the labels, coefficients and their errors from the other.

Topics that were fitted to labels are correlated with the noise in these labels. A regression of the same labels on such
topics finds that noise again, and its errors are too small, whatever formula they come from. Labels that were set aside
know nothing of the topics: given the topics and all words, a regression on them is an ordinary one, and its errors are
those of any textbook. The words of the documents set aside have no part in the topics either. Topics fit the words that
they have seen better than others, so that shares of such documents tell less of y, and predictions of new documents
would lie too near the mean.

These errors take the topics and the shares of documents as known. Fits without a fold of the documents, in which the
same labels are set aside, say how much further coefficients move than that (`topic_errors`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from supertopic.fitted.certainty.folds import FoldCoefficients, classes_of, fold_fits, folds_of, short, with_groups
from supertopic.fitted.certainty.levels import Unseen, with_levels
from supertopic.fitted.certainty.robust import robust_covariance
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import scores_of, shares_without_y
from supertopic.fitted.spec import Finish
from supertopic.fitted.training import Training
from supertopic.inference.after.calibration import Calibration
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.after.splits import parts_at_random
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.model import State
from supertopic.plural import counted
from supertopic.responses.several import units

_FOLDS = 5  # of the regressions behind the levels of intervals
_LEAST = 25  # labelled documents in each of the two parts
_LEAST_GROUPS = 2  # behind errors by groups


@dataclass(frozen=True)
class HonestCoefficients:
    """Coefficients, their errors and the dispersion from labels set aside (`Finish`).

    Intervals come from regressions without a fold of them; fits without a fold say how much wider the errors are.
    """

    share: float  # of the labels
    n_folds: int
    without_fold: Finish  # what follows the fits without a fold
    refits: ClassVar[bool] = True

    def of_part(self) -> Finish:
        return self.without_fold

    def seen(self, training: Training, seed: int) -> Training:
        return training.rows(np.flatnonzero(~set_aside(training, self.share, seed)))

    def __call__(self, fitted: Fitted, training: Training, seed: int) -> Fitted:
        aside = set_aside(training, self.share, seed)
        given, response = training.rows(np.flatnonzero(aside)), fitted.spec.response
        fitted = with_groups(fitted, given)
        shares = shares_without_y(fitted, given)
        whole = _regress(fitted, given, shares, np.ones(len(given.y), dtype=bool))
        score = np.zeros((len(given.y), response.n_columns))
        moment = np.zeros_like(score)
        fold = _parts(given, seed, classes_of(fitted, given))
        for number in np.unique(fold):
            out = fold == number
            part = replace(fitted, state=_regress(fitted, given, shares, ~out))
            some = given.rows(np.flatnonzero(out))
            scores = scores_of(part, some.corpus, some.covariates, some.known)
            own = Calibration(*units(response, part.state.dispersion, whole.dispersion), whole.dispersion)
            score[out], moment[out] = own.moments(scores.score, scores.moment, response.is_product)
        topics, fitted = fitted, replace(fitted, state=whole)
        documents = with_known_shares(shares, given.covariates, given.y, given.weight)
        groups = given.groups_of(np.arange(len(given.y)))
        fitted = fitted.with_certainty(coef_cov=robust_covariance(fitted, documents, groups, always=True))
        classes = classes_of(fitted, training)
        splits = folds_of(training, self.n_folds, seed, classes) if self.n_folds else None
        if splits is not None:
            coef = FoldCoefficients(fitted, len(splits))
            hidden = np.flatnonzero(aside)
            seen = [replace(one, rest=np.setdiff1d(one.rest, hidden)) for one in splits]
            for one in fold_fits(topics, training, seen, seed, settings=short(topics)):
                rest = training.rows(np.intersect1d(splits[one.number].rest, hidden))
                among = shares_without_y(one.fit, rest)
                coef.take(one, _regress(one.fit, rest, among, np.ones(len(rest.y), dtype=bool)))
            fitted = replace(fitted, others=coef.others()).with_certainty(topic_error=coef.widening(fitted))
        unseen = Unseen(np.flatnonzero(aside), fold, given.y, score, moment, given.corpus.lengths, groups)
        return with_levels(fitted, unseen)


def set_aside(training: Training, share: float, seed: int) -> np.ndarray:
    """(D,) bool: the labelled documents whose labels the topics do not see."""
    labelled, generator = np.flatnonzero(training.labelled), np.random.default_rng([seed, 11])
    if training.belonging is not None:
        aside = training.belonging.apart(labelled, share, generator)
    else:
        aside = np.zeros(len(training.y), dtype=bool)
        aside[generator.permutation(labelled)[: round(share * len(labelled))]] = True
    n_aside = int(aside.sum())
    if min(n_aside, len(labelled) - n_aside) < _LEAST:
        raise ValueError(
            f"honest: got {share:g}, which cuts {len(labelled)} labelled documents into {len(labelled) - n_aside} and "
            f"{n_aside}; expected at least {_LEAST} in each part"
        )
    if training.groups is not None:
        n_groups, n_own = (len(np.unique(training.groups.values[rows])) for rows in (labelled, np.flatnonzero(aside)))
        if n_own < _LEAST_GROUPS:
            raise ValueError(
                f"honest: got {share:g}, which leaves {counted(n_own, 'group')} of {n_groups} for coefficients and "
                f"their errors, expected at least {_LEAST_GROUPS}; give more groups or a larger share"
            )
    return aside


def _parts(given: Training, seed: int, classes: np.ndarray | None) -> np.ndarray:
    """(n,) the part of each document, for regressions without it; documents that belong together are in one."""
    generator, belonging = np.random.default_rng([seed, 13]), given.belonging
    rows = np.arange(len(given.y))
    plain = generator.permutation(len(rows)) % _FOLDS
    if classes is not None:
        plain = parts_at_random(rows, _FOLDS, generator, classes)
    return plain if belonging is None else belonging.parts(rows, plain, generator, classes)


def _regress(fitted: Fitted, given: Training, shares: np.ndarray, rows: np.ndarray) -> State:
    """The State with coefficients of a regression on some of the documents."""
    part = with_known_shares(shares[rows], given.covariates[rows], given.y[rows], given.weight[rows])
    return GLMStep().refit(fitted.spec.model, fitted.state, fitted.terms, part.total)[0]
