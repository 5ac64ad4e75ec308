"""Words beside topics in the linear predictor:  s = coef·(Zbar, x) + word_coef·u.

u is the document's tf-idf row of length 1. Topics summarise, words remember: with both, a model need not lose to a
regression on words. Given the topics, both sets of coefficients are fitted jointly, by turns, each to what the other
leaves: the response's quadratic surrogate (`regression`) is a weighted least-squares problem in s, and the words' part
of it an elastic net (scikit-learn's coordinate descent), whose penalty a held-out part of the documents chooses.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Ridge

from supertopic.coefficients import CoefPrior
from supertopic.inference.regression import Design, regress
from supertopic.responses.base import Response

_PENALTIES = np.logspace(-1.5, 1.5, 7)  # of a ridge regression on rows of length 1
_SPARSITY = 0.01  # share of the absolute values in the elastic net's penalty
_TURNS = 8


def word_scale(counts: sp.csr_matrix) -> np.ndarray:
    """(V,) log((1 + D) / (1 + documents with the word)) + 1."""
    with_word = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.log((1 + counts.shape[0]) / (1 + with_word)) + 1


def word_features(counts: sp.csr_matrix, scale: np.ndarray) -> sp.csr_matrix:
    """(D, V) rows (1 + log count)·scale, of length 1."""
    features = counts.astype(np.float64).tocsr(copy=True)
    features.data = (1 + np.log(np.maximum(features.data, 1e-12))).clip(0.0) * scale[features.indices]
    squares = np.asarray(features.multiply(features).sum(axis=1)).ravel()
    features.data /= np.repeat(np.sqrt(np.maximum(squares, 1e-300)), np.diff(features.indptr))
    return features


@dataclass(frozen=True)
class JointFit:
    """Coefficients of topics and covariates, and of words."""

    coef: np.ndarray  # (C, K + P)
    word_coef: np.ndarray  # (C, V)
    information: np.ndarray
    dispersion: np.ndarray


def regress_with_words(
    response: Response, prior: CoefPrior, design: Design, features: sp.csr_matrix, y: np.ndarray, weight: np.ndarray,
    coef: np.ndarray, dispersion: np.ndarray,
) -> JointFit:  # fmt: skip
    """The joint fit, by turns; words begin, since topics are the smaller and more supervised set."""
    word_coef = np.zeros((response.n_columns, features.shape[1]))
    start = coef
    coef, information, dispersion = regress(response, prior, design, y, weight, coef, dispersion)
    penalty, by_word = None, features.tocsc()
    for _ in range(_TURNS):
        offset = features @ word_coef.T
        score, moment = replace(design, offset=offset).moments(coef, response.is_product)
        dispersion = response.update(y, score, moment, weight, dispersion, 1.0)
        target, strength = _working_response(response, y, score, moment, weight, dispersion)
        topics_part = score - offset
        if penalty is None:
            penalty = _choose_penalty(features, target - topics_part, strength)
        rest = target - topics_part
        found = np.stack([_net(by_word, rest[:, c], strength[:, c], penalty, word_coef[c]) for c in range(len(coef))])
        reach = np.abs(features @ (found - word_coef).T).max(axis=0, initial=0.0)
        word_coef = response.step(word_coef, found, reach)
        shifted_design = replace(design, offset=features @ word_coef.T)
        coef, information, dispersion = regress(response, prior, shifted_design, y, weight, start, dispersion)
    return JointFit(coef, word_coef, information, dispersion)


def _working_response(
    response: Response, y: np.ndarray, score: np.ndarray, moment: np.ndarray, weight: np.ndarray, dispersion: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(target, weight), each (D, C), of the least-squares problem that the response is, seen from here."""
    slope, curvature = response.speak(y, score, moment, dispersion)
    strength = np.where(response.is_product, curvature * moment, curvature)
    step = np.where(response.is_product, slope - strength, slope - strength * score)
    return score + step / np.maximum(strength, 1e-12), weight[:, None] * strength


def _choose_penalty(features: sp.csr_matrix, target: np.ndarray, strength: np.ndarray) -> float:
    """The ridge penalty that predicts a held-out quarter of the documents best."""
    known = np.flatnonzero(strength.sum(axis=1) > 0)
    held_out = np.random.default_rng(0).random(len(known)) < 0.25
    train, test = known[~held_out], known[held_out]
    if len(train) < 2 or len(test) < 2:
        return 1.0
    losses = []
    for penalty in _PENALTIES:
        loss = 0.0
        for c in range(target.shape[1]):
            scale = max(strength[train, c].mean(), 1e-300)
            model = Ridge(penalty, fit_intercept=False, solver="sparse_cg", tol=1e-3)
            model.fit(features[train], target[train, c], sample_weight=strength[train, c] / scale)
            loss += float((strength[test, c] / scale) @ (target[test, c] - model.predict(features[test])) ** 2)
        losses.append(loss)
    return float(_PENALTIES[int(np.argmin(losses))])


def _net(
    features: sp.csc_matrix, target: np.ndarray, strength: np.ndarray, penalty: float, start: np.ndarray
) -> np.ndarray:
    """Elastic net with the ridge part `penalty`, and a small share of absolute values for exact zeros.

    It goes on from where the last turn ended, and need not come to its end in one.
    """
    total = max(strength.sum(), 1e-300)
    alpha = penalty * strength.mean() / total / (1 - _SPARSITY)
    model = ElasticNet(alpha=alpha, l1_ratio=_SPARSITY, fit_intercept=False, tol=1e-3, max_iter=100, warm_start=True)
    model.coef_ = start.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(features, target, sample_weight=strength).coef_
