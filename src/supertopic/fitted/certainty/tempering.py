"""Probabilities of classes from generative models, tempered on documents that the fit has not seen.

A generative model multiplies the probabilities of all words of a document as if each were new evidence. Its posterior
p(class | words) is therefore far too sure of itself, the more so the longer the document. Two numbers mend it (Guo et
al. 2017 have one, for inputs of one size):

    p(class | words) ∝ share p(words | class)^(1/T),      T = level · N^power,      N tokens

They maximise the likelihood of the labels of left-out documents, by fits without their words and labels. Words weigh
less against the shares of the classes then, so that common classes are predicted more often than by the posterior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone

from supertopic.backends import make_backend
from supertopic.backends.base import Run, in_turn
from supertopic.checks import check_whole
from supertopic.documents.corpus import Corpus
from supertopic.documents.duplicates import word_hashes

_LIMITS = ((np.log(0.05), np.log(1e4)), (0.0, 1.0))  # of the level's logarithm, and of the power
_STARTS = (0.0, 0.5)  # powers that two searches begin at
_LEAST = 5  # different documents in a fold


class Temperature(NamedTuple):
    """T = level · N^power."""

    level: float = 1.0
    power: float = 0.0

    def scores(self, evidence: Evidence) -> np.ndarray:
        """(D, C) logarithms of the tempered joint probabilities."""
        heat = self.level * evidence.sizes**self.power
        return evidence.log_words / heat[:, None] + evidence.log_shares

    def probabilities(self, evidence: Evidence) -> np.ndarray:
        """(D, C) of the classes."""
        return softmax(self.scores(evidence), axis=1)

    def log_likelihood(self, evidence: Evidence, codes: np.ndarray) -> float:
        """Of labels (D,)."""
        return self.climb(evidence, codes, np.ones(len(codes)))[0]

    def climb(self, evidence: Evidence, codes: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-likelihood of labels (D,), and its slopes in the logarithm of the level and in the power.

        d score / d log T = -log_words / T, so that a document's slope is that of its label less the mean over classes.
        """
        scores, own = self.scores(evidence), (np.arange(len(codes)), codes)
        scores -= scores.max(axis=1, keepdims=True)
        found = scores[own]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        mean = np.einsum("dc,dc->d", scores, evidence.log_words) / total
        slope = weight * (mean - evidence.log_words[own]) / (self.level * evidence.sizes**self.power)
        return float(weight @ (found - np.log(total))), np.array([slope.sum(), slope @ np.log(evidence.sizes)])


class Evidence(NamedTuple):
    """What a model says about the classes of documents."""

    log_words: np.ndarray  # (D, C) log p(words | class), up to a number for each document
    log_shares: np.ndarray  # (C,) of the classes
    sizes: np.ndarray  # (D,) above zero: tokens, or what else has the place of N


def cross_fitted_temperature(
    estimator: Any, corpus: Corpus, codes: np.ndarray, n_classes: int, weight: np.ndarray | None = None
) -> Temperature:
    """The temperature of an estimator, by fits without a fold of the documents; 1 where these are too few.

    codes : (D,) places of the labels among the classes, NaN where missing
    weight : (D,) how often each document counts, where `fit` takes that
    """
    counted = np.ones(len(codes)) if weight is None else weight
    known = np.flatnonzero(~np.isnan(codes) & (counted > 0))
    places, counted, n_folds = codes[known].astype(np.intp), counted[known], int(estimator.cross_fit)
    fold = folds_by_words(corpus.counts[known], places, n_folds) if n_folds else None
    if fold is None:
        return Temperature()
    found = np.empty((len(known), n_classes))
    own = estimator.get_params(deep=False)
    alone = {"cross_fit": 0, "vectorizer": None, "verbose": 0, "checkpoint": None, "warm_start": False}
    for number in range(n_folds):
        rest, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        other = clone(estimator).set_params(**{name: value for name, value in alone.items() if name in own})
        more = {} if weight is None else {"sample_weight": counted[rest]}
        other.fit(corpus.counts[known[rest]], places[rest], **more)
        evidence = other.evidence(Corpus(corpus.counts[known[out]]))
        found[out] = evidence.log_words
    told = np.flatnonzero(fold >= 0)
    with make_backend(estimator.backend, estimator.n_jobs) as backend:
        evidence = Evidence(found[told], evidence.log_shares, lengths_of(corpus)[known[told]])
        return fit_temperature(evidence, places[told], backend.all, counted[told])


def folds_by_words(counts: sp.csr_matrix, places: np.ndarray, n_folds: int) -> np.ndarray | None:
    """(n,) the fold of each document by its words, whatever its row; None where documents are too few.

    The same words with the same label have the same fold: a fit that has seen them once knows them, and it does not
    matter whether a document is there twice or has twice the weight. Every class is spread over the folds. Classes with
    fewer different documents than there are folds have -1: they are in all fits, and the others tell the temperature.
    """
    keys = np.column_stack([places.astype(np.uint64), word_hashes(counts)])
    different, which = np.unique(keys, axis=0, return_inverse=True)
    of_class = different[:, 0].astype(np.intp)
    told = np.bincount(of_class)[of_class] >= n_folds
    if np.count_nonzero(told) < _LEAST * n_folds:
        return None
    fold = np.where(told, np.cumsum(told) % n_folds, -1)
    return fold[which.ravel()]


def lengths_of(corpus: Corpus) -> np.ndarray:
    """(D,) tokens of the documents, at least one."""
    return np.maximum(np.asarray(corpus.counts.sum(axis=1, dtype=np.float64)).ravel(), 1.0)


def fit_temperature(
    evidence: Evidence, codes: np.ndarray, run: Run = in_turn, weight: np.ndarray | None = None
) -> Temperature:
    """The temperature under which labels (n,), each of which counts `weight` times, are the most probable."""
    counted = np.ones(len(codes)) if weight is None else weight
    counted = counted / counted.sum()

    def loss(free: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = Temperature(float(np.exp(free[0])), float(free[1])).climb(evidence, codes, counted)
        return -value, -slopes

    ends: dict[float, Any] = {}

    def search(power: float) -> None:
        ends[power] = minimize(loss, [0.0, power], jac=True, method="L-BFGS-B", bounds=_LIMITS)

    run([(search, power) for power in _STARTS])
    level, power = min((ends[power] for power in _STARTS), key=lambda end: end.fun).x
    return Temperature(float(np.exp(level)), float(power))


def check_folds(estimator: Any) -> None:
    """Refuse a number of folds that makes no sense."""
    check_whole("cross_fit", estimator.cross_fit, least=0)
    if estimator.cross_fit == 1:
        raise ValueError("cross_fit: got 1, expected 0, or 2 and more folds")
