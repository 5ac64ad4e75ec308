"""The pipeline compared with SSTM: LDA, selection of topics by an ℓ1 penalty, and an unpenalised refit on these topics.

In scikit-learn, and with a penalty instead of a budget, this is

    make_pipeline(
        LDA(50, inference="gibbs", doc_topic_prior="auto"), StandardScaler(),
        LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1),
    )

In folds of BBC's training half, a learned α and standardised topic shares did better than α = 0.1 and plain shares.
The path of penalties has small steps, so that it can select exactly the allowed number of topics.
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
    """Logistic regression on `budget` columns, selected by lowering an ℓ1 penalty until there are so many."""

    def __init__(self, budget: int = 5) -> None:
        self.budget = budget

    def fit(self, X: np.ndarray, y: np.ndarray) -> FewLogistic:
        scaled = StandardScaler().fit_transform(X)
        for C in l1_min_c(scaled, y, loss="log") * np.geomspace(1.02, 1e4, 400):
            model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, random_state=0).fit(scaled, y)
            if np.count_nonzero(model.coef_) >= self.budget:  # if several enter at once, keep the largest
                break
        self.chosen_ = np.argsort(-np.abs(model.coef_[0]), kind="stable")[: self.budget]
        self.model_ = LogisticRegression(C=1e4, max_iter=5000).fit(X[:, self.chosen_], y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X[:, self.chosen_])


class FewLinear(RegressorMixin, BaseEstimator):
    """Least squares on at most `budget` columns, selected by the lasso with the smallest penalty that allows it."""

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
    """Predictions of the pipeline for new documents under each budget; LDA by collapsed Gibbs sampling."""
    topics = LDA(
        n_topics, inference="gibbs", doc_topic_prior="auto", topic_word_prior=0.1, max_iter=sweeps, random_state=seed,
        n_jobs=1,
    )  # fmt: skip
    shares, new_shares = topics.fit_transform(X), topics.transform(new)
    return [last(budget).fit(shares, y).predict(new_shares) for budget in budgets]
