"""SSTM on BBC news (entertainment and sport against the rest) and film reviews, beside LDA followed by ℓ1.

SUPERTOPIC_DATA=… python -m experiments.sstm folds | bbc | sparsity | reviews | screening

Documents are cut in two halves at random, after dropping repeated texts. Settings are chosen by folds of the first
half, and the second half is read once. The other way, first topics and then those that matter, is a pipeline:

    make_pipeline(LDA(50, inference="gibbs"), LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1))

and under a budget of topics `pipeline(50, 6)`, which lowers C until six are left and fits these again, unpenalised.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, lasso_path
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from supertopic import LDA, SSTMClassifier, SSTMRegressor, Vectorizer, datasets

POSITIVE = ("entertainment", "sport")
SWEEPS = 200
PAPER = {"coef_scale": 0.05, "sigma": 0.5}  # nu and sigma of its table 1
GRID = {"supervision": (1, 10), "doc_topic_prior": (0.1, 0.005)}
CHOSEN = {"supervision": 10, "doc_topic_prior": 0.005}  # by `folds`
TOPICS = (10, 20, 30, 50, 100)
SEEDS = range(5)


class FewLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression on the columns that an ℓ1 penalty, raised until `budget` are left, has chosen."""

    def __init__(self, budget: int = 5) -> None:
        self.budget = budget

    def fit(self, X: np.ndarray, y: np.ndarray) -> FewLogistic:
        for C in np.geomspace(1e4, 1e-2, 100):
            model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=C, random_state=0).fit(X, y)
            self.chosen_ = np.flatnonzero(model.coef_[0])
            if len(self.chosen_) <= self.budget:
                break
        self.model_ = (
            LogisticRegression(C=1e4, max_iter=5000).fit(X[:, self.chosen_], y) if len(self.chosen_) else model
        )
        self.classes_ = model.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X[:, self.chosen_] if len(self.chosen_) else X)


class FewLinear(RegressorMixin, BaseEstimator):
    """Least squares on the columns that the lasso, whose penalty is raised until `budget` are left, has chosen."""

    def __init__(self, budget: int = 5) -> None:
        self.budget = budget

    def fit(self, X: np.ndarray, y: np.ndarray) -> FewLinear:
        _, path, _ = lasso_path(X - X.mean(axis=0), y - y.mean(), alphas=200, eps=1e-4)
        within = np.flatnonzero((path != 0).sum(axis=0) <= self.budget)
        self.chosen_ = np.flatnonzero(path[:, within[-1]])
        self.model_ = LinearRegression().fit(X[:, self.chosen_], y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X[:, self.chosen_])


def pipeline(n_topics: int, budget: int, seed: int = 0, last: Any = FewLogistic) -> Pipeline:
    """LDA by collapsed Gibbs sampling as in the paper, ℓ1 selection, refit."""
    topics = LDA(
        n_topics, inference="gibbs", doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=SWEEPS, random_state=seed
    )
    return make_pipeline(topics, last(budget))


def sparse(n_topics: int, seed: int = 0, **params: Any) -> SSTMClassifier:
    """SSTM at the paper's nu, sigma and beta."""
    return SSTMClassifier(n_topics, max_iter=SWEEPS, thin=2, random_state=seed, **{**PAPER, **params})


def counted(texts: np.ndarray, new: np.ndarray, **options: Any) -> tuple[Any, Any, np.ndarray]:
    """Counts of both, over the words of the first, and these."""
    vectorizer = Vectorizer(stop_words="english", min_df=2, **options)
    X = vectorizer.fit_transform(list(texts))
    return X, vectorizer.transform(list(new)), np.asarray(vectorizer.get_feature_names_out())


def bbc_halves() -> tuple[np.ndarray, ...]:
    """Texts and labels of the first half, and of the second."""
    data = datasets.load("bbc_news")
    text, label = np.array(data.text, dtype=object), data.frame["label"].to_numpy()
    _, first = np.unique(text, return_index=True)
    order = np.random.default_rng(0).permutation(first)
    cut = len(order) // 2
    return text[order[:cut]], label[order[:cut]], text[order[cut:]], label[order[cut:]]


def error(model: Any, X: Any, y: np.ndarray, new: Any, truth: np.ndarray) -> float:
    return float(np.mean(model.fit(X, y).predict(new) != truth))


def folds(n_folds: int = 4) -> None:
    """The settings of `GRID` in folds of the training half, at K = 50 and six topics."""
    texts, label, _, _ = bbc_halves()
    y = np.isin(label, POSITIVE)
    parts = list(StratifiedKFold(n_folds, shuffle=True, random_state=1).split(texts, label))
    for values in product(*GRID.values()):
        params, errors = dict(zip(GRID, values, strict=True)), []
        for train, test in parts:
            X, new, _ = counted(texts[train], texts[test])
            errors.append(error(sparse(50, max_nonzero=6, **params), X, y[train], new, y[test]))
        print(f"{params}: error {np.mean(errors):.4f}", flush=True)


def subjects(model: SSTMClassifier, X: Any, label: np.ndarray, words: np.ndarray) -> list[str]:
    """A line per topic that has a coefficient: it, the subject that has most of the topic, and the topic's words."""
    shares, lines = model.transform(X), []
    for topic in np.flatnonzero(model.coef_[0]):
        subject = max(np.unique(label), key=lambda one: shares[label == one, topic].mean())
        listed = " ".join(words[np.argsort(-model.components_[topic])[:8]])
        lines.append(f"{model.coef_[0, topic]:+.2f} {subject:13} {listed}")
    return lines


def bbc() -> None:
    """The paper's table 1: K = 50, six topics; five seeds of the sampler."""
    texts, label, new_texts, new_label = bbc_halves()
    X, new, words = counted(texts, new_texts)
    y, truth = np.isin(label, POSITIVE), np.isin(new_label, POSITIVE)
    print(f"{X.shape[0]} and {new.shape[0]} documents, {X.shape[1]} words; {CHOSEN}")
    errors = []
    for seed in SEEDS:
        model = sparse(50, seed, max_nonzero=6, **CHOSEN)
        errors.append(error(model, X, y, new, truth))
        used = np.flatnonzero(model.coef_[0])
        share = model.transform(new)[:, used].sum(axis=1).mean()
        print(f"seed {seed}: error {errors[-1]:.4f} with {len(used)} topics, {share:.2f} of the tokens")
        print("\n".join(subjects(model, X, label, words)), flush=True)
    others = [error(pipeline(50, 6, seed), X, y, new, truth) for seed in SEEDS]
    for name, found in (("SSTM", errors), ("pipeline", others)):
        print(f"{name}: mean {np.mean(found):.4f}, deviation {np.std(found, ddof=1):.4f}")


def sparsity() -> None:
    """The paper's figure 2: 10 % and 15 % of the topics."""
    texts, label, new_texts, new_label = bbc_halves()
    X, new, _ = counted(texts, new_texts)
    y, truth = np.isin(label, POSITIVE), np.isin(new_label, POSITIVE)
    params = {**CHOSEN, "fit_intercept": True}
    for n_topics, part in product(TOPICS, (0.1, 0.15)):
        budget = max(1, int(part * n_topics + 1e-9))
        ours = [error(sparse(n_topics, seed, sparsity=part, **params), X, y, new, truth) for seed in SEEDS[:1]]
        theirs = [error(pipeline(n_topics, budget, seed), X, y, new, truth) for seed in SEEDS[:1]]
        print(
            f"K {n_topics:3} {part:.0%} ({budget:2}): {np.mean(ours):.4f}, pipeline {np.mean(theirs):.4f}", flush=True
        )


def reviews() -> None:
    """The paper's figure 4: squared error of the rating."""
    data = datasets.load("movie_reviews_scale")
    text, rating = np.array(data.text, dtype=object), data.frame["rating"].to_numpy()
    _, first = np.unique(text, return_index=True)
    order = np.random.default_rng(0).permutation(first)
    cut = len(order) // 2
    X, new, _ = counted(text[order[:cut]], text[order[cut:]], max_features=5000)
    y, truth = rating[order[:cut]], rating[order[cut:]]
    print(f"{X.shape[0]} and {new.shape[0]} documents, {X.shape[1]} words; variance of y {truth.var():.5f}")
    for n_topics, part in product((20, 50, 100), (0.1, 0.6)):
        budget = int(part * n_topics)
        models = {
            "SSTM": SSTMRegressor(n_topics, max_iter=SWEEPS, doc_topic_prior=0.1, sparsity=part, supervision=5),
            "pipeline": pipeline(n_topics, budget, last=FewLinear),
            "dense": SSTMRegressor(n_topics, max_iter=SWEEPS, doc_topic_prior=0.1, supervision=5),
        }
        found = {name: np.mean((model.fit(X, y).predict(new) - truth) ** 2) for name, model in models.items()}
        print(
            f"K {n_topics:3} {part:.0%}: " + ", ".join(f"{name} {mse:.5f}" for name, mse in found.items()), flush=True
        )


def screening() -> None:
    """How long the paper's screening takes: 50 settings in five folds on BBC, by the time of one fit on one thread."""
    texts, label, _, _ = bbc_halves()
    train, test = next(KFold(5, shuffle=True, random_state=0).split(texts))
    X, new, _ = counted(texts[train], texts[test])
    sparse(50, max_nonzero=6, **CHOSEN).set_params(max_iter=3).fit(X, np.isin(label[train], POSITIVE))
    start = time.perf_counter()
    sparse(50, max_nonzero=6, **CHOSEN).fit(X, np.isin(label[train], POSITIVE)).predict(new)
    seconds = time.perf_counter() - start
    hours = 125 * seconds / 3600
    print(f"one fit of {SWEEPS} sweeps {seconds:.1f} s; 50 settings in five folds on two cores {hours:.2f} h")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["bbc"]:
        {"folds": folds, "bbc": bbc, "sparsity": sparsity, "reviews": reviews, "screening": screening}[name]()
