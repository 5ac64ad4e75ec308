"""What goes with topics: shares of a fitted model's documents regressed on a formula of their metadata.

The shares lean on no prior (`inference.after.free_shares`), or are drawn from their posterior, which is what R's stm
does (the method of composition). Refits, on documents that are drawn again and with other seeds, say how far estimates
depend on the topics that happened to be found. Halves find topics on some documents, and regress the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from supertopic.documents.corpus import Corpus, lengths_of
from supertopic.fitted.certainty.topic_errors import similarity
from supertopic.fitted.fitted import ALIKE, Fitted
from supertopic.fitted.refits import drawn_again, fits_of_rows
from supertopic.fitted.spec import AsItIs
from supertopic.inference.after.free_shares import free_shares
from supertopic.inference.after.share_regression import Composed, Evidence, Halves, Pooled, ShareRegression
from supertopic.model import MixtureState


@dataclass(frozen=True, eq=False)
class Question:
    """Which documents are compared, by which columns, and how."""

    rows: np.ndarray  # (n,) places of the documents
    columns: np.ndarray  # (n, P)
    groups: np.ndarray | None  # (n,) whole numbers
    draws: int  # of the method of composition; 0: shares that lean on no prior
    seed: int

    def of(self, places: np.ndarray) -> Question:
        """The same of some of its documents."""
        groups = None if self.groups is None else self.groups[places]
        return Question(self.rows[places], self.columns[places], groups, self.draws, self.seed)

    @property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of its documents in two halves, which cut no group apart."""
        unit = np.arange(len(self.rows)) if self.groups is None else self.groups
        distinct, unit = np.unique(unit, return_inverse=True)
        first = np.zeros(len(distinct), dtype=bool)
        order = np.random.default_rng([self.seed, 43]).permutation(len(distinct))
        first[order[: len(distinct) // 2]] = True
        return np.flatnonzero(first[unit]), np.flatnonzero(~first[unit])


class Answer(NamedTuple):
    """What was found, and the share of other fits (K,) that find each topic again; None without other fits."""

    pooled: Pooled
    found_again: np.ndarray | None


def answer(fitted: Fitted, corpus: Corpus, question: Question, *, refits: int = 0, halves: bool = False) -> Answer:
    """Coefficients of all topics.

    refits : further fits, on documents drawn again and with other seeds
    halves : topics from half of the documents, coefficients from the other, and the other way round
    """
    alike: list[np.ndarray] = []
    if halves:
        parts = []
        for one, order, places in _half_fits(fitted, question):
            alike.append(similarity(fitted.weights, one.weights[:, order]) >= ALIKE)
            parts.append(evidence(one, corpus, question.of(places), order))
        own: Evidence = Halves(parts, np.stack(alike))
    else:
        own = evidence(fitted, corpus, question, np.arange(fitted.weights.shape[1]))
    pooled = Pooled(own)
    if refits:
        alike, others = [], []
        for one, order in _refits(fitted, question, refits):
            alike.append(similarity(fitted.weights, one.weights[:, order]) >= ALIKE)
            others.append(evidence(one, corpus, question, order).coef)
        pooled = Pooled(own, np.stack(others), np.stack(alike))
    return Answer(pooled, np.mean(alike, axis=0) if alike else None)


def evidence(fitted: Fitted, corpus: Corpus, question: Question, order: np.ndarray) -> Evidence:
    """The regression of the documents' shares of these topics; order : (K,) which topics, in which order."""
    seen = (corpus.logs if fitted.spec.schema.counts == "log" else corpus).counts[question.rows]
    columns, groups = question.columns, question.groups
    if not question.draws:
        shares = free_shares(fitted.components, fitted.average_shares, seen)
        return ShareRegression(columns, shares[:, order], groups)
    shares = _posterior_means(fitted, corpus, question.rows)[:, order]
    total = (lengths_of(seen) + fitted.prior_shares.sum())[:, None]
    rng = np.random.default_rng([question.seed, 37])

    def draw() -> np.ndarray:
        if isinstance(fitted.state, MixtureState):
            return rng.multinomial(1, shares / shares.sum(axis=1, keepdims=True)).astype(np.float64)
        gammas = rng.standard_gamma(np.maximum(shares * total, 1e-6))
        return gammas / gammas.sum(axis=1, keepdims=True)

    return Composed([ShareRegression(columns, draw(), groups) for _ in range(question.draws)])


def _posterior_means(fitted: Fitted, corpus: Corpus, rows: np.ndarray) -> np.ndarray:
    if fitted.training is not None and corpus is fitted.training.corpus and fitted.doc_topic is not None:
        return fitted.doc_topic[rows].astype(np.float64)
    with fitted.spec.place.open() as backend:
        return fitted.infer(Corpus(corpus.counts[rows]), backend).astype(np.float64)


def _refits(fitted: Fitted, question: Question, n: int) -> Iterator[tuple[Fitted, np.ndarray]]:
    """Fits on documents, or groups of them, that are drawn again, and the order of their topics."""
    training = fitted.training
    assert training is not None
    groups = None
    if question.groups is not None:  # documents that are not compared stand for themselves
        groups = np.arange(len(training.corpus))
        groups[question.rows] = len(groups) + question.groups
    drawn = drawn_again(len(training.corpus), groups, n, question.seed)
    yield from fits_of_rows(fitted, "refit", drawn, question.seed, AsItIs())


def _half_fits(fitted: Fitted, question: Question) -> Iterator[tuple[Fitted, np.ndarray, np.ndarray]]:
    """Two fits, each without half of the compared documents (or of their groups); the places of this half."""
    training = fitted.training
    assert training is not None
    kept = [np.setdiff1d(np.arange(len(training.corpus)), question.rows[places]) for places in question.halves]
    fits = fits_of_rows(fitted, "half", kept, question.seed, AsItIs())
    for places, (half, matched) in zip(question.halves, fits, strict=True):
        yield half, matched, places
