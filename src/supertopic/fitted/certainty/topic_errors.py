"""Topics have errors, too: by how much a regression that takes them as known understates the errors of coefficients.

The fits of the folds are a jackknife that leaves out groups of documents. With c_g a topic's coefficient in the fit
without group g of G, and c its mean,

    variance = (G - 1)/G sum_g (c_g - c)²

has the error of the topics in it. One such variance is rough, since G is small. So its ratio to the variance given the
topics is averaged over the topics, and the mean ratio widens the errors of all of them. It has (G - 1)(n - 1) degrees
of freedom with n topics, and errors are then those of Student's t, which has a variance of nu/(nu - 2).

Only topics that every fold finds again can be compared. Where these are fewer than half, or n is one, topics depend on
the documents so much that a coefficient has a meaning for its own topics only: its errors stay those given the topics.
"""

from __future__ import annotations

import numpy as np

from supertopic.fitted.coefficients import covariance, effects
from supertopic.fitted.fitted import Fitted

_FOUND_AGAIN = 0.9  # least cosine of a topic and its like in a fold


def similarity(topics: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(K,) the cosine of each topic, a column of (V, K), and its like."""
    own = (np.asarray(one, dtype=np.float64) for one in (topics, others))
    first, second = (one / np.linalg.norm(one, axis=0) for one in own)
    return (first * second).sum(axis=0)


def widening(fitted: Fitted, coef: np.ndarray, similar: np.ndarray) -> np.ndarray:
    """(C,) what the errors of the topics' coefficients are multiplied with; never less than one.

    coef : (G, C, K + P), of the folds' fits, in the units and with the topics of `fitted`
    similar : (G, K), the similarity of their topics to its own
    """
    again = similar.min(axis=0) >= _FOUND_AGAIN
    n_again, n_folds = int(again.sum()), len(coef)
    freedom = (n_folds - 1) * (n_again - 1)
    if freedom < 3 or 2 * n_again < len(again):
        return np.ones(coef.shape[1])
    own = slice(1, 1 + len(again))
    moved = np.stack([effects(fitted, one).topics for one in coef])
    jackknife = (n_folds - 1) * moved.var(axis=0)
    given_topics = np.diagonal(covariance(fitted), axis1=1, axis2=2)[:, own]
    ratio = (jackknife / np.maximum(given_topics, 1e-300))[:, again].mean(axis=1)
    return np.sqrt(np.maximum(ratio * freedom / (freedom - 2), 1.0))
