"""Words beside topics in a max-margin discriminant (Zhu, Ahmed & Xing 2012, §5.2.3):

    s = share · coef·(Zbar, x) + (1 - share) · margin · word_coef·u

u is the document's tf-idf row of length 1 (`after.words`), and word_coef an SVM's on these rows alone,

    min ½ |word_coef|² + C sum_d w_d loss_d(word_coef·u_d).

One SVM on both kinds of features is worse: topics have seen the labels of the documents it is fitted to, so it believes
them too much (20 Newsgroups, accuracy on held-out training documents: words 0.908, both in one SVM 0.907, this 0.917).
The share of the topics and C are chosen on documents that a model has not been fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Run, in_turn
from supertopic.inference.after.words import Joined, ScoredDocuments, word_features, word_scale
from supertopic.model import State
from supertopic.responses.margin import MaxMargin

_TOL = 1e-3  # of the duality gap
_C = (0.25, 0.5, 1.0, 2.0)
_SHARES = np.linspace(0.0, 1.0, 21)


@dataclass(frozen=True)
class Balance:
    """The share of the topics in the discriminant, and C of the words."""

    share: float = 0.3
    C: float = 1.0


def fit_margin_words(
    response: MaxMargin, features: sp.csr_matrix, y: np.ndarray, weight: np.ndarray, dispersion: np.ndarray, C: float
) -> np.ndarray:
    """(C, V) margin·word_coef: of words alone, in the units of the topics' coefficients."""
    alone, margin = response.beside_words(C)
    return margin * alone.solve(features, y, weight, None, None, dispersion, tol=_TOL).coef


def choose_balance(
    response: MaxMargin, dispersion: np.ndarray, train: tuple[sp.csr_matrix, np.ndarray, np.ndarray],
    test: tuple[np.ndarray, sp.csr_matrix, np.ndarray], run: Run = in_turn,
) -> tuple[Balance, np.ndarray]:  # fmt: skip
    """The balance nearest to the default of those that predict held-out documents best, and their scores by it.

    train : features, y, weight; test : the topics' score of documents that topics have not seen, their features, y
    """
    topics, features, y = test
    words: dict[float, np.ndarray] = {}

    def fit(C: float) -> None:
        words[C] = features @ fit_margin_words(response, *train, dispersion, C).T

    run([(fit, C) for C in _C])
    found = [(Balance(float(share), C), share * topics + (1 - share) * words[C]) for C, share in product(_C, _SHARES)]
    fitness = np.array([response.fitness(y, score, dispersion) for _, score in found])
    least = fitness.max()
    if response.n_classes:  # accuracies are whole numbers of documents: what is within a standard error is as good
        least -= np.sqrt(least * (1 - least) / max(np.count_nonzero(~np.isnan(y)), 1))
    good = [one for one, fit in zip(found, fitness, strict=True) if fit >= least]
    balance, score = min(good, key=lambda one: (abs(one[0].share - Balance.share), abs(np.log(one[0].C / Balance.C))))
    return balance, score


class MarginWords:
    """Words beside the topics of a max-margin model."""

    least = 10
    pilot_sees_words = False

    def __init__(self, response: MaxMargin) -> None:
        self.response = response

    def can_hold_out(self, y: np.ndarray, held_out: np.ndarray) -> bool:
        """The pilot is fitted without the held-out documents, so that all classes have to be among the others."""
        labels = y[~held_out & ~np.isnan(y)]
        return len(labels) >= held_out.sum() and len(np.unique(labels)) >= self.response.n_classes

    def join(
        self, state: State, documents: ScoredDocuments, scale: np.ndarray, held_out: np.ndarray,
        pilot: ScoredDocuments | None, run: Run,
    ) -> Joined:  # fmt: skip
        """The variance, where there is one, is that of the held-out documents: words know the others by heart."""
        y, weight, dispersion = documents.y, documents.weight, state.dispersion
        balance = Balance()
        if pilot is not None:
            own = word_scale(documents.counts[~held_out])
            features = [word_features(documents.counts[rows], own) for rows in (~held_out, held_out)]
            train = (features[0], y[~held_out], weight[~held_out])
            test = (pilot.topics[held_out], features[1], y[held_out])
            balance, score = choose_balance(self.response, pilot.dispersion, train, test, run)
            moved = self.response.fit_dispersion(y[held_out], score, score**2, weight[held_out], pilot.dispersion)
            dispersion = np.concatenate([moved[:1], dispersion[1:]])
        features = word_features(documents.counts, scale)
        words = fit_margin_words(self.response, features, y, weight, state.dispersion, balance.C)
        return Joined(balance.share * state.coef, balance.share, (1 - balance.share) * words, dispersion)
