"""Cross-fitted certainty: what is said about certainty comes from documents that topics have not seen.

The labelled documents are cut into folds, and a short fit without a fold predicts it (`folds`). From the out-of-fold
predictions come the slope and the dispersion of the model, and the coefficients of its covariates
(`supertopic.inference.after.calibration`), the levels of its intervals (`supertopic.responses.interval_levels`),
and, with the folds' topics matched to those of the whole fit, the errors of its coefficients (`topic_errors`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from supertopic.documents.corpus import Corpus
from supertopic.fitted.certainty.folds import (
    FoldCoefficients,
    classes_of,
    fold_fits,
    folds_of,
    short,
    warn_few,
    with_groups,
)
from supertopic.fitted.certainty.levels import Unseen, with_levels
from supertopic.fitted.certainty.robust import robust_covariance
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.predict import scores_of
from supertopic.fitted.training import Training
from supertopic.inference.after.calibration import Calibration, calibrate
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.after.splits import Split, folds_left_out
from supertopic.inference.design import shifted
from supertopic.inference.variational.m_step_glm import information_at
from supertopic.responses.base import Response
from supertopic.responses.several import units

_LABELS_PER_COLUMN = 5  # of the covariates, at least


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Labelled documents as fits without them see them."""

    rows: np.ndarray  # (n,) which of the training documents
    fold: np.ndarray  # (n,)
    score: np.ndarray  # (n, C) linear predictors, in the units of the whole fit; those of a fold without covariates
    moment: np.ndarray  # (n, C)
    shares: np.ndarray  # (n, K) topic shares, the topics in the order of the whole fit's
    coef: FoldCoefficients


def cross_fit(fitted: Fitted, training: Training, n_folds: int, seed: int) -> tuple[Fitted, OutOfFold | None]:
    """With corrected coefficients and dispersion, and what intervals and errors need.

    Also the documents with corrected linear predictors; None where they are too few to be cut into folds. A warning
    says where they are too few for as many folds as were asked for.
    """
    splits = folds_of(training, n_folds, seed, classes_of(fitted, training))
    fitted = with_groups(fitted, training)
    warn_few(int(training.labelled.sum()), n_folds, splits)
    if splits is None:
        return fitted, None
    found = _predict_folds(fitted, training, splits, seed)
    state, response, prior, rows = fitted.state, fitted.spec.response, fitted.spec.model.coef_prior, found.rows
    y, weight, covariates = training.y[rows], training.weight[rows], training.covariates[rows]
    given = (found.score, state.dispersion)
    pooled = fitted.spec.schema.pooled
    beside = {"covariates": covariates, "prior": prior, "pooled": pooled}
    line = calibrate(response, y, weight, *given, moment=found.moment, **beside)
    assert line.beside is not None
    _warn_many(int((~pooled).sum()), len(rows))
    score, moment = _calibrated(fitted, found, y, weight, covariates, line)
    topics = line.slope[:, None] * fitted.topic_coef.astype(np.float64)
    coef = np.hstack([topics + line.intercept[:, None], line.beside])  # shares add up to one
    part = with_known_shares(found.shares, covariates, y, weight)
    learned = {
        "information": information_at(response, prior, part.total, coef, line.dispersion),
        "dispersion": line.dispersion,
    }
    members = fitted.members
    if members is not None:
        members = members.moved(fitted.n_topics, line.slope, line.intercept, line.beside)
    fitted = replace(fitted, state=replace(state, coef=coef.astype(np.float32), **learned), members=members)
    fitted = fitted.with_certainty(coef_cov=robust_covariance(fitted, part, training.groups_of(rows)))
    fitted = replace(fitted, others=found.coef.others(line.slope))
    fitted = fitted.with_certainty(topic_error=found.coef.widening(fitted, line.slope))
    unseen = Unseen(rows, found.fold, y, score, moment, training.corpus.lengths[rows], training.groups_of(rows))
    return with_levels(fitted, unseen), replace(found, score=score, moment=moment)


def _warn_many(n_columns: int, n_labels: int) -> None:
    """Say that covariates are so many that their coefficients are hardly known."""
    if n_columns * _LABELS_PER_COLUMN > n_labels:
        warnings.warn(
            f"covariates: {n_columns} columns for {n_labels} labels: predictions will be rough; say by groups= who "
            "documents belong to, and give hundreds of numbers as embeddings=",
            UserWarning,
            stacklevel=6,
        )


def _calibrated(
    fitted: Fitted, found: OutOfFold, y: np.ndarray, weight: np.ndarray, covariates: np.ndarray, line: Calibration
) -> tuple[np.ndarray, np.ndarray]:
    """The moments (n, C) of what is predicted with covariates, whose coefficients do not know a document's own label.

    Slope and intercept are two numbers, of which a label tells next to nothing. Covariates may be hundreds of columns,
    which know the labels by heart: those of a fold are predicted by a calibration without it.
    """
    response, prior = fitted.spec.response, fitted.spec.model.coef_prior
    numbers = np.unique(found.fold)
    if not covariates.shape[1] or len(numbers) < 2:
        return _with_covariates(line, found.score, found.moment, covariates, response)
    score, moment = np.zeros_like(found.score), np.zeros_like(found.moment)
    for number in numbers:
        out = found.fold == number
        given = (y[~out], weight[~out], found.score[~out], fitted.state.dispersion)
        beside = {"covariates": covariates[~out], "prior": prior, "pooled": fitted.spec.schema.pooled}
        without = calibrate(response, *given, moment=found.moment[~out], **beside)
        there = _with_covariates(without, found.score[out], found.moment[out], covariates[out], response)
        own = Calibration(*units(response, without.dispersion, line.dispersion), line.dispersion)
        score[out], moment[out] = own.moments(*there, response.is_product)
    return score, moment


def _with_covariates(
    line: Calibration, score: np.ndarray, moment: np.ndarray, covariates: np.ndarray, response: Response
) -> tuple[np.ndarray, np.ndarray]:
    assert line.beside is not None
    own = line.moments(score, moment, response.is_product)
    return shifted(*own, covariates @ line.beside.T, response.is_product)


def _predict_folds(fitted: Fitted, training: Training, splits: list[Split], seed: int) -> OutOfFold:
    """Every labelled document predicted by a fit without it."""
    dispersion, response = fitted.state.dispersion, fitted.spec.response
    score = np.zeros((len(training.y), response.n_columns))
    moment, shares = np.zeros_like(score), np.zeros((len(training.y), fitted.n_topics))
    coef = FoldCoefficients(fitted, len(splits))
    for one in fold_fits(fitted, training, splits, seed, settings=short(fitted)):
        nothing = np.zeros_like(training.covariates[one.out])
        scores = scores_of(one.fit, Corpus(training.corpus.counts[one.out]), nothing, training.known[one.out])
        own = Calibration(*units(response, one.fit.state.dispersion, dispersion), dispersion)
        score[one.out], moment[one.out] = own.moments(scores.score, scores.moment, response.is_product)
        shares[one.out] = scores.mean_topics[:, coef.take(one, one.fit.state)]
    out, fold = folds_left_out(splits)
    return OutOfFold(out, fold, score[out], moment[out], shares[out], coef)
