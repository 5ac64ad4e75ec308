"""What follows the topics of a fit with a response: coefficients, an ensemble, certainty, words beside topics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from supertopic.fitted.certainty.chains import warn_unmixed
from supertopic.fitted.certainty.cross_fit import OutOfFold, cross_fit
from supertopic.fitted.certainty.levels import Unseen, with_levels
from supertopic.fitted.certainty.margin_probabilities import with_scaling
from supertopic.fitted.fit import fit
from supertopic.fitted.fitted import Fitted, Members
from supertopic.fitted.predict import covariate_coef, scores_of, shares_without_y
from supertopic.fitted.side_by_side import fit_side_by_side
from supertopic.fitted.spec import AsItIs
from supertopic.fitted.training import Training
from supertopic.inference.after import prediction
from supertopic.inference.after.calibration import Calibration
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.after.sparse_choice import choose_topics
from supertopic.inference.after.words import Joined, ScoredDocuments, WordStep, add_words, hold_out
from supertopic.responses.several import units


@dataclass(frozen=True)
class Coefficients:
    """Coefficients on topics that have not seen y, further members, out-of-fold certainty, words beside topics."""

    refit: bool = True
    n_members: int = 1  # fits whose linear predictors are averaged
    n_folds: int = 0  # behind what is said about certainty
    words: WordStep | None = None
    margin_folds: int = 0  # behind probabilities of a margin

    @property
    def refits(self) -> bool:
        return self.refit

    def of_part(self) -> Coefficients:
        return Coefficients(self.refit, self.n_members)

    def seen(self, training: Training, seed: int) -> Training:
        return training

    def __call__(self, fitted: Fitted, training: Training, seed: int) -> Fitted:
        if self.refit:
            fitted = refitted(fitted, training)
        if self.n_members > 1:
            fitted = with_members(fitted, training, seed, self.n_members, replace(self.of_part(), n_members=1))
        unseen = None
        if self.n_folds:
            fitted, unseen = cross_fit(fitted, training, self.n_folds, seed)
        if self.refit and self.words is not None:
            fitted = with_words(fitted, training, seed, self.words, unseen)
        if self.margin_folds:
            fitted = with_scaling(fitted, training, self.margin_folds, seed, replace(self, margin_folds=0))
        if fitted.spec.n_chains > 1:
            warn_unmixed(fitted, "draws_ holds draws of different posterior modes, the best chain's first")
        return fitted


def refitted(fitted: Fitted, training: Training) -> Fitted:
    """With the coefficients once more (`supertopic.inference.after.refit`)."""
    model = fitted.spec.model
    assert fitted.doc_topic is not None
    with fitted.spec.place.open() as backend:
        point, lengths = fitted.point_of(training.known), training.corpus.lengths
        shares = prediction.frequencies(point, fitted.doc_topic, lengths, backend)
        known = backend.form(with_known_shares)(shares, training.covariates, training.y, training.weight)
        over = partial(known.total_by, backend.all)
        state, terms = model.coef_step.refit(model, fitted.state, fitted.terms, over)
    return replace(fitted, state=state, terms=terms)


# --- several fits from different starts, whose linear predictors are averaged (`ensemble=`) -------------------------
#
#     s  =  (1/E) sum_e s_e,     s_e = coef_e·(Zbar_e, x)
#
# The first fit is the model's own: its topics and coefficients are the ones that are read, explained and plotted.


def with_members(fitted: Fitted, training: Training, seed: int, n_members: int, finish: Coefficients) -> Fitted:
    """With the other members, each with a seed of its own."""
    spec, own = fitted.spec, fitted.state

    def fit_member(number: int, n_jobs: int | None) -> Fitted:
        return fit(spec.part("member", number, n_jobs, finish=finish), training, (seed + number) % 2**32)

    parts = [partial(fit_member, number) for number in range(1, n_members)]
    states = [one.state for one in fit_side_by_side(spec.place, parts, training.corpus.counts.nnz)]
    members = Members(np.stack([state.word_topic for state in states]), np.stack([state.coef for state in states]))
    for coef, state in zip(members.coef, states, strict=True):
        zero, unit = units(spec.response, state.dispersion, own.dispersion)
        coef *= unit[:, None].astype(np.float32)
        coef[:, : fitted.n_topics] += zero[:, None].astype(np.float32)
    return replace(fitted, members=members)


# --- words beside topics (`words=True`), by `supertopic.inference.after.words` --------------------------------------


def with_words(fitted: Fitted, training: Training, seed: int, step: WordStep, unseen: OutOfFold | None) -> Fitted:
    """With words beside topics; the topics' coefficients shrink towards their level.

    unseen : the labelled documents as fits without them see them, which serve as their own pilot; None: a fit without
        some of the labels is the pilot
    """
    documents = _scored(fitted, training) if unseen is None else _scored_unseen(fitted, training, unseen)
    belonging = training.belonging
    if belonging is not None and unseen is not None:
        belonging = belonging[unseen.rows]
    held_out = hold_out(documents.y, seed, step.least, belonging)

    def pilot(held_out: np.ndarray) -> ScoredDocuments:
        if unseen is not None:
            return documents
        rest = training.rows(np.flatnonzero(~held_out))
        seen = training.without_labels(held_out) if step.pilot_sees_words else rest
        return _scored(fit(fitted.spec.part("pilot", 0), seen, seed).at(fitted.spec.place), training)

    before, columns = fitted.state.coef, slice(0, fitted.n_topics)
    with fitted.spec.place.open() as backend:
        state, words, joined = add_words(step, fitted.state, documents, held_out, pilot, backend.all)
    weight, members = joined.topic_weight, fitted.members
    if members is not None:
        shift = (state.coef[:, columns] - weight * before[:, columns]).mean(axis=1, dtype=np.float64)
        members = members.moved(fitted.n_topics, weight, shift)
    fitted = replace(fitted, state=state, words=words, members=members)
    if unseen is None or joined.unseen is None:
        return fitted
    rows = unseen.rows[held_out]
    beside = (training.corpus.lengths[rows], training.groups_of(rows))
    which = (rows, unseen.fold[held_out], documents.y[held_out])
    given = Unseen(*which, unseen.score[held_out], unseen.moment[held_out], *beside)
    return _with_levels(fitted, given, joined)


def _with_levels(fitted: Fitted, given: Unseen, joined: Joined) -> Fitted:
    """With what intervals need, from documents that neither topics nor words have seen."""
    assert joined.unseen is not None
    weight = np.full(given.score.shape[1], joined.topic_weight)
    beside = Calibration(joined.unseen - weight * given.score, weight, joined.dispersion)  # words add to each document
    score, moment = beside.moments(given.score, given.moment, fitted.spec.response.is_product)
    return with_levels(fitted, replace(given, score=score, moment=moment))


def _scored(fitted: Fitted, training: Training) -> ScoredDocuments:
    """The documents with their linear predictors."""
    others = training.covariates @ covariate_coef(fitted).T
    topics = scores_of(fitted, training.corpus, training.covariates, training.known).score - others
    given = (training.corpus.counts, training.y, training.weight)
    return ScoredDocuments(*given, topics, others, fitted.state.dispersion)


def _scored_unseen(fitted: Fitted, training: Training, unseen: OutOfFold) -> ScoredDocuments:
    """The labelled documents with the linear predictors of fits without them."""
    rows = unseen.rows
    others = training.covariates[rows] @ covariate_coef(fitted).T
    given = (training.corpus.counts[rows], training.y[rows], training.weight[rows])
    return ScoredDocuments(*given, unseen.score - others, others, fitted.state.dispersion)


# --- a sparse estimate ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SparseChoice:
    """Few topics with a coefficient, chosen among those that have one in most draws of a sampler (`Finish`)."""

    refit: bool = True
    budget: int | None = None  # topics that may have a coefficient
    spike: bool = False  # whether draws say how many have one
    concentrate: bool = True  # whether the sampler has kept to the budget
    refits: ClassVar[bool] = False

    def of_part(self) -> AsItIs:
        return AsItIs()

    def seen(self, training: Training, seed: int) -> Training:
        return training

    def __call__(self, fitted: Fitted, training: Training, seed: int) -> Fitted:
        """The sparse estimate; and a warning where chains disagree."""
        spec, state, extra = fitted.spec, fitted.state, training.covariates
        scale, pull = float(fitted.draws["coef_scale"].mean()), spec.schema.supervision
        assert fitted.sampled is not None
        seen = np.hstack([fitted.sampled, extra]).astype(np.float64)
        unseen = np.hstack([shares_without_y(fitted, training), extra]) if self.refit else seen
        empty = np.asarray(training.corpus.counts.sum(axis=1)).ravel() == 0
        weight = np.where(empty, 0.0, pull * training.weight)
        used = np.stack([self._mostly_used(fitted, column) for column in range(len(state.coef))])
        coef, information, dispersion = choose_topics(
            spec.response, seen, unseen, training.y, weight, state.dispersion, scale, fitted.n_topics, self.budget,
            used, self.refit,
        )  # fmt: skip
        # errors are those of labels that count once, however hard they pull at the topics
        learned = {"information": information / max(pull, 1e-12), "dispersion": dispersion}
        warn_unmixed(fitted, "coef_interval_, coef_mean_ and probabilities are those of the best chain alone")
        return replace(fitted, state=replace(state, coef=coef.astype(np.float32), **learned))

    def _mostly_used(self, fitted: Fitted, column: int) -> np.ndarray:
        """(K + P,) the topics to choose from, and all covariates.

        With a budget, they are the topics that have a coefficient in most draws. Of a spike and slab prior they are
        those that are in more than half of the draws (the median probability model), of a Laplace prior all.
        """
        n_topics = fitted.n_topics
        used = (fitted.draws["coef"][:, column] != 0).mean(axis=0)
        used = np.append(used, np.ones(int(fitted.spec.schema.constant)))
        if self.spike:
            return (used > 0.5) | (np.arange(len(used)) >= n_topics)
        rank = np.argsort(np.argsort(-used[:n_topics], kind="stable"))
        used[:n_topics] *= rank < (self.budget or n_topics) if self.concentrate else 1
        return used > 0
