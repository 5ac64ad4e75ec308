"""The pipeline beside SSTM: topics first, then those that matter by ℓ1, then these alone again, unpenalised.

In scikit-learn's words, and with a penalty instead of a budget,

    make_pipeline(
        LDA(50, inference="gibbs", doc_topic_prior="auto"), StandardScaler(),
        LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1),
    )

In folds of BBC's training half a learned α and topics brought to one scale did better than α = 0.1 and plain shares.
The path in the penalty has small steps, so that it finds as many topics as are allowed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, lasso_path
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c

from supertopic import LDA


class FewLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression on the columns that an ℓ1 penalty, lowered until there are `budget`, has chosen."""

    def __init__(self, budget: int = 5) -> None:
        self.budget = budget

    def fit(self, X: np.ndarray, y: np.ndarray) -> FewLogistic:
        scaled = StandardScaler().fit_transform(X)
        for C in l1_min_c(scaled, y, loss="log") * np.geomspace(1.02, 1e4, 400):
            model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, random_state=0).fit(scaled, y)
            if np.count_nonzero(model.coef_) >= self.budget:  # more, where several come at once: the largest
                break
        self.chosen_ = np.argsort(-np.abs(model.coef_[0]), kind="stable")[: self.budget]
        self.model_ = LogisticRegression(C=1e4, max_iter=5000).fit(X[:, self.chosen_], y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X[:, self.chosen_])


class FewLinear(RegressorMixin, BaseEstimator):
    """Least squares on the columns that the lasso, whose penalty is raised until `budget` are left, has chosen."""

    def __init__(self, budget: int = 5) -> None:
        self.budget = budget

    def fit(self, X: np.ndarray, y: np.ndarray) -> FewLinear:
        _, path, _ = lasso_path(StandardScaler().fit_transform(X), y - y.mean(), alphas=400, eps=1e-4)
        within = np.flatnonzero((path != 0).sum(axis=0) <= self.budget)
        self.chosen_ = np.flatnonzero(path[:, within[-1]])
        self.model_ = LinearRegression().fit(X[:, self.chosen_], y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X[:, self.chosen_])


def topics_first(
    n_topics: int, X: Any, y: np.ndarray, new: Any, budgets: tuple[int, ...], seed: int, last: Any, sweeps: int
) -> list[np.ndarray]:
    """What the pipeline predicts of new documents under each budget; LDA by collapsed Gibbs sampling."""
    topics = LDA(
        n_topics, inference="gibbs", doc_topic_prior="auto", topic_word_prior=0.1, max_iter=sweeps, random_state=seed,
        n_jobs=1,
    )  # fmt: skip
    shares, new_shares = topics.fit_transform(X), topics.transform(new)
    return [last(budget).fit(shares, y).predict(new_shares) for budget in budgets]
