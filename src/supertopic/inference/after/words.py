"""Words beside topics in the linear predictor: one pipeline, for likelihoods and for max-margin losses.

u is the document's tf-idf row of length 1. Topics generalise, words remember: with both, a model need not lose to a
regression on words. But the topics were fitted to these very labels, and promise more about them than about new ones
(R² 0.72 against 0.51 on movie reviews); beside such topics, too little would be left for the words to explain. So a
*pilot* fit does not see a quarter of the labels, and that quarter tells how much weight topics and words should have:

    1. hold out a quarter of the labelled documents,
    2. fit the model without them (the pilot),
    3. choose the weights of topics and words on the quarter that was held out,
    4. fit the words' coefficients to all documents with these weights.

Cross-fitted documents, which fits without them have scored, are their own pilot. They tell more: in step 4, too, the
words then stand beside topics that promise as much as they will keep.

`likelihood_words` and `margin_words` have steps 3 and 4 for the two kinds of models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Run
from supertopic.documents.corpus import lengths_of
from supertopic.inference.after.splits import Belonging
from supertopic.model import State

_HELD_OUT = 0.25  # share of the labelled documents that a pilot fit does not see


def word_scale(counts: sp.csr_matrix) -> np.ndarray:
    """(V,) log((1 + D) / (1 + documents with the word)) + 1."""
    with_word = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log((1 + counts.shape[0]) / (1 + with_word)) + 1


def word_features(counts: sp.csr_matrix, scale: np.ndarray) -> sp.csr_matrix:
    """(D, V) rows (1 + log count)·scale, of length 1."""
    data = np.log(np.maximum(counts.data, 1e-12, dtype=np.float64))
    data += 1.0
    np.maximum(data, 0.0, out=data)
    data *= scale[counts.indices]
    features = sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)
    squares = sp.csr_matrix((data * data, counts.indices, counts.indptr), shape=counts.shape)
    features.data /= np.repeat(np.sqrt(np.maximum(lengths_of(squares), 1e-300)), np.diff(counts.indptr))
    return features


def hold_out(y: np.ndarray, seed: int, least: int = 5, belonging: Belonging | None = None) -> np.ndarray:
    """(D,) True for about a quarter of the labelled documents; for none if that were fewer than `least`."""
    known, generator = ~np.isnan(y.reshape(len(y), -1)).any(axis=1), np.random.default_rng([seed, 5])
    if belonging is None:
        held_out = known & (generator.random(len(y)) < _HELD_OUT)
    else:
        held_out = belonging.apart(np.flatnonzero(known), _HELD_OUT, generator)
    return held_out if held_out.sum() >= least else np.zeros_like(held_out)


@dataclass(frozen=True)
class WordPart:
    """What words add to the linear predictors: coef·u."""

    coef: np.ndarray  # (C, V) float32
    scale: np.ndarray  # (V,) float64: weights of tf-idf

    def score(self, counts: sp.csr_matrix) -> np.ndarray:
        """(D, C)."""
        return word_features(counts, self.scale) @ self.coef.T.astype(np.float64)


@dataclass(frozen=True)
class ScoredDocuments:
    """Documents with the linear predictors that a model of topics gives them."""

    counts: sp.csr_matrix
    y: np.ndarray
    weight: np.ndarray  # (D,)
    topics: np.ndarray  # (D, C) the topics' part of the linear predictors
    others: np.ndarray  # (D, C) the covariates' part
    dispersion: np.ndarray  # of that model; it says in which units the linear predictors are


@dataclass(frozen=True)
class Joined:
    """Topics and words together."""

    coef: np.ndarray  # (C, K + P) of the topics and covariates, beside words
    topic_weight: float  # by which the topics' coefficients were multiplied
    word_coef: np.ndarray  # (C, V)
    dispersion: np.ndarray
    unseen: np.ndarray | None = None  # (n, C) linear predictors of the documents held out, by words fitted without them


class WordStep(Protocol):
    """How a kind of model weighs topics against words, and fits both."""

    least: int  # documents to be held out at least
    pilot_sees_words: bool  # whether the pilot is fitted to the words of documents held out, without their labels

    def can_hold_out(self, y: np.ndarray, held_out: np.ndarray) -> bool:
        """Whether the documents that are left are enough for a pilot fit."""
        ...

    def join(
        self, state: State, documents: ScoredDocuments, scale: np.ndarray, held_out: np.ndarray,
        pilot: ScoredDocuments | None, run: Run,
    ) -> Joined:  # fmt: skip
        """The weights by the pilot's held-out documents (default ones without a pilot), the fit by all documents."""
        ...


def add_words(
    step: WordStep, state: State, documents: ScoredDocuments, held_out: np.ndarray,
    fit_pilot: Callable[[np.ndarray], ScoredDocuments], run: Run,
) -> tuple[State, WordPart, Joined]:  # fmt: skip
    """The State with coefficients of topics that stand beside words, the words' part, and how both were joined.

    held_out : (D,) what the pilot does not see (`hold_out`)
    run : does calls, as many at a time as it can
    """
    pilot = fit_pilot(held_out) if held_out.any() and step.can_hold_out(documents.y, held_out) else None
    scale = word_scale(documents.counts)
    found = step.join(state, documents, scale, held_out, pilot, run)
    state = replace(
        state, coef=found.coef.astype(np.float32), coef_cov=np.float32(found.topic_weight**2) * state.coef_cov,
        dispersion=found.dispersion,
    )  # fmt: skip
    return state, WordPart(found.word_coef.astype(np.float32), scale), found
