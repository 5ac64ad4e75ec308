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
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from supertopic.backends import make_backend
from supertopic.backends.base import Run, in_turn
from supertopic.checks import check_whole
from supertopic.documents.corpus import Corpus

_LIMITS = ((np.log(0.05), np.log(1e4)), (0.0, 1.0))  # of the level's logarithm, and of the power
_STARTS = (0.0, 0.5)  # powers that two searches begin at
_LEAST = 5  # labelled documents in a fold


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
        return self.climb(evidence, codes)[0]

    def climb(self, evidence: Evidence, codes: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-likelihood of labels (D,), and its slopes in the logarithm of the level and in the power.

        d score / d log T = -log_words / T, so that a document's slope is that of its label less the mean over classes.
        """
        scores, own = self.scores(evidence), (np.arange(len(codes)), codes)
        scores -= scores.max(axis=1, keepdims=True)
        found = scores[own]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        mean = np.einsum("dc,dc->d", scores, evidence.log_words) / total
        slope = (mean - evidence.log_words[own]) / (self.level * evidence.sizes**self.power)
        return float((found - np.log(total)).sum()), np.array([slope.sum(), slope @ np.log(evidence.sizes)])


class Evidence(NamedTuple):
    """What a model says about the classes of documents."""

    log_words: np.ndarray  # (D, C) log p(words | class), up to a number for each document
    log_shares: np.ndarray  # (C,) of the classes
    sizes: np.ndarray  # (D,) above zero: tokens, or what else has the place of N


def cross_fitted_temperature(
    estimator: Any, corpus: Corpus, codes: np.ndarray, n_classes: int, **beside: np.ndarray
) -> Temperature:
    """The temperature of an estimator, by fits without a fold of the documents; 1 where these are too few.

    Documents of a class with fewer than one for each fold are in all fits: the others tell the temperature.

    codes : (D,) places of the labels among the classes, NaN where missing
    beside : what else `fit` takes for every document
    """
    n_folds, known = int(estimator.cross_fit), np.flatnonzero(~np.isnan(codes))
    places = codes[known].astype(np.intp)
    told = np.flatnonzero(np.bincount(places)[places] >= n_folds)
    if not n_folds or len(told) < _LEAST * n_folds:
        return Temperature()
    found = np.empty((len(told), n_classes))
    own = estimator.get_params(deep=False)
    alone = {"cross_fit": 0, "vectorizer": None, "verbose": 0, "checkpoint": None, "warm_start": False}
    for _, out in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(told, places[told]):
        rest = np.delete(np.arange(len(known)), told[out])
        other = clone(estimator).set_params(**{name: value for name, value in alone.items() if name in own})
        more = {name: values[known[rest]] for name, values in beside.items()}
        other.fit(corpus.counts[known[rest]], places[rest], **more)
        evidence = other.evidence(Corpus(corpus.counts[known[told[out]]]))
        found[out] = evidence.log_words
    with make_backend(estimator.backend, estimator.n_jobs) as backend:
        sizes = lengths_of(corpus)[known[told]]
        return fit_temperature(Evidence(found, evidence.log_shares, sizes), places[told], backend.all)


def lengths_of(corpus: Corpus) -> np.ndarray:
    """(D,) tokens of the documents, at least one."""
    return np.maximum(np.asarray(corpus.counts.sum(axis=1, dtype=np.float64)).ravel(), 1.0)


def fit_temperature(evidence: Evidence, codes: np.ndarray, run: Run = in_turn) -> Temperature:
    """The temperature under which labels (n,) are the most probable."""

    def loss(free: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = Temperature(float(np.exp(free[0])), float(free[1])).climb(evidence, codes)
        return -value / len(codes), -slopes / len(codes)

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
