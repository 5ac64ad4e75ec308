"""SAGE on real corpora: 20 Newsgroups by size of the training set, and NIPS topics by held-out perplexity.

    python -m experiments.sage newsgroups
    python -m experiments.sage nips [--topics 10 25 50] [--runs 5]
    python -m experiments.sage estimators [--topics 25]
    python -m experiments.sage blogs, geotext                           (see sage_facets.py)

Newsgroups: Rennie's word counts, his split of 11,269 and 7,505 documents, all 53,975 terms of the training documents,
no stop-word list. Beside SAGE stand naive Bayes with a Dirichlet prior whose precision is fitted by Minka's Newton
(the paper's baseline) and naive Bayes whose smoothing is chosen by cross-validation. SAGE stands at its defaults; they
are what did best on held-out parts of the training documents.

NIPS: 10 % of the tokens, the 10,000 terms in most documents, a fifth of the documents held out. LDA stands at smoothing
0.2, the best of 0.1, 0.2 and 0.5 by the held-out measure at K = 25. `estimators` asks how far the estimators of the
held-out likelihood can be trusted: more particles or samples than usual, on 40 documents.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import digamma, gammaln, polygamma
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import MultinomialNB

from experiments.sage_facets import blogs, geotext
from supertopic import LDA, SAGEClassifier, SAGETopics, Vectorizer
from supertopic.datasets import load

SIZES = {0.05: 5, 0.1: 5, 0.2: 5, 0.5: 3, 1.0: 1}  # share of the training set: subsamples drawn
SMOOTHING = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
TOPIC_WORD_PRIOR = 0.2
MEASURES = ("left_to_right", "chib", "completion")


class DirichletNaiveBayes:
    """beta_k ~ Dirichlet(precision / V), words of class k ~ beta_k; the precision by maximum likelihood of the counts.

    log p(counts) = sum_k [lgamma(s) - lgamma(s + C_k) + sum_w lgamma(s/V + c_kw) - lgamma(s/V)], Newton in log s, as
    Minka (2003) for the precision of a Polya distribution whose mean is fixed at uniform.
    """

    def fit(self, X: sp.csr_matrix, y: np.ndarray) -> DirichletNaiveBayes:
        self.classes_, codes = np.unique(y, return_inverse=True)
        members = sp.csr_matrix((np.ones(len(y)), (codes, np.arange(len(y)))))
        counts = (members @ X).toarray()
        self.smoothing_ = fitted_precision(counts) / counts.shape[1]
        self.log_words_ = np.log(counts + self.smoothing_)
        self.log_words_ -= np.log((counts + self.smoothing_).sum(axis=1, keepdims=True))
        self.log_shares_ = np.log(np.bincount(codes) / len(codes))
        return self

    def score(self, X: sp.csr_matrix, y: np.ndarray) -> float:
        found = self.classes_[np.argmax(X @ self.log_words_.T + self.log_shares_, axis=1)]
        return float(np.mean(found == y))


def fitted_precision(counts: np.ndarray, tol: float = 1e-8) -> float:
    """The precision s that maximises the likelihood of class counts (K, V) under Dirichlet(s / V)."""
    n_classes, n_words = counts.shape
    totals, seen = counts.sum(axis=1), counts[counts > 0]

    def value(s: float) -> float:
        by_word = gammaln(s / n_words + seen).sum() - len(seen) * gammaln(s / n_words)
        return float(n_classes * gammaln(s) - gammaln(s + totals).sum() + by_word)

    s = float(n_words)
    for _ in range(200):
        a = s / n_words
        first = n_classes * digamma(s) - digamma(s + totals).sum()
        first += (digamma(a + seen).sum() - len(seen) * digamma(a)) / n_words
        second = n_classes * polygamma(1, s) - polygamma(1, s + totals).sum()
        second += (polygamma(1, a + seen).sum() - len(seen) * polygamma(1, a)) / n_words**2
        curvature = s * s * second + s * first  # in log s
        step = -s * first / curvature if curvature < 0 else np.sign(first)
        step = float(np.clip(step, -2, 2))
        while value(s * np.exp(step)) < value(s) and abs(step) > tol:
            step /= 2
        s *= np.exp(step)
        if abs(step) < tol:
            break
    return s


def newsgroups() -> pd.DataFrame:
    data = load("20newsgroups_bow")
    is_train, y = (data.frame["split"] == "train").to_numpy(), data.frame["label"].to_numpy()
    counts = data.counts.counts
    known = np.asarray(counts[is_train].sum(axis=0)).ravel() > 0
    X, X_test, y_train, y_test = counts[is_train][:, known], counts[~is_train][:, known], y[is_train], y[~is_train]
    rows = []
    for size, n_draws in SIZES.items():
        for draw in range(n_draws):
            chosen = np.random.default_rng(draw).permutation(len(y_train))[: round(size * len(y_train))]
            rows.append({"size": size, **compare(X[chosen], y_train[chosen], X_test, y_test)})
            print(rows[-1], flush=True)
    return pd.DataFrame(rows).groupby("size").mean()


def compare(X: sp.csr_matrix, y: np.ndarray, X_test: sp.csr_matrix, y_test: np.ndarray) -> dict[str, float]:
    """Accuracies of all classifiers that learn from X and y."""
    begin = time.perf_counter()
    sage = SAGEClassifier().fit(X, y)
    seconds = time.perf_counter() - begin
    corpus = SAGEClassifier(background="corpus").fit(X, y)
    exponential = SAGEClassifier(prior="exponential").fit(X, y)
    logs, logs_test = logarithms(X), logarithms(X_test)
    damped = {prior: SAGEClassifier(prior=prior, counts="log").fit(X, y) for prior in ("jeffreys", "exponential")}
    dirichlet = DirichletNaiveBayes().fit(X, y)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    smoothed = GridSearchCV(MultinomialNB(), {"alpha": SMOOTHING}, cv=folds).fit(X, y)
    return {
        "sage": sage.score(X_test, y_test),
        "zeros": sage.sparsity_,
        "sage, corpus background": corpus.score(X_test, y_test),
        "sage, exponential": exponential.score(X_test, y_test),
        "zeros, exponential": exponential.sparsity_,
        "sage, log counts": damped["jeffreys"].score(X_test, y_test),
        "sage, exponential, log counts": damped["exponential"].score(X_test, y_test),
        "dirichlet, fitted": dirichlet.score(X_test, y_test),
        "dirichlet, log counts": DirichletNaiveBayes().fit(logs, y).score(logs_test, y_test),
        "fitted smoothing": dirichlet.smoothing_,
        "smoothing by CV": smoothed.score(X_test, y_test),
        "CV's smoothing": smoothed.best_params_["alpha"],
        "seconds": seconds,
    }


def logarithms(counts: sp.csr_matrix) -> sp.csr_matrix:
    """log2(1 + count), as `SAGEClassifier(counts="log")` takes it."""
    logs = counts.copy()
    logs.data = np.log2(1.0 + logs.data)
    return logs


def nips_documents(share: float = 0.1, n_terms: int = 10_000, seed: int = 0) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Training and held-out documents."""
    counts = Vectorizer(min_df=1, max_df=1.0).fit_transform(load("nips12").text).tocsr()
    n_documents_of = np.bincount(counts.indices, minlength=counts.shape[1])
    counts = counts[:, np.sort(np.argsort(-n_documents_of, kind="stable")[:n_terms])]
    rng = np.random.default_rng(seed)
    counts.data = rng.binomial(counts.data.astype(np.int64), share).astype(np.float32)
    counts.eliminate_zeros()
    order = rng.permutation(counts.shape[0])
    held_out, training = np.sort(order[: len(order) // 5]), np.sort(order[len(order) // 5 :])
    return counts[training], counts[held_out]


def nips(n_topics: int, n_runs: int) -> pd.DataFrame:
    """Paired runs: both models start from the same seed. Perplexities, and who is below the other."""
    training, held_out = nips_documents()
    models = {"LDA": LDA(n_topics, topic_word_prior=TOPIC_WORD_PRIOR), "SAGE": SAGETopics(n_topics)}
    rows = []
    for seed in range(n_runs):
        for name, model in models.items():
            model.set_params(random_state=seed).fit(training)
            row = {"model": name, "run": seed, "nonzeros": 1.0 - getattr(model, "sparsity_", 0.0)}
            rows.append(row | {m: model.perplexity(held_out, m) for m in MEASURES})
            print({"K": n_topics, **rows[-1]}, flush=True)
    return pd.DataFrame(rows).pivot(index="model", columns="run", values=[*MEASURES, "nonzeros"])


def estimators(n_topics: int) -> pd.DataFrame:
    """Perplexity of 40 held-out documents by estimators that work harder and harder."""
    training, held_out = nips_documents()
    models = {"LDA": LDA(n_topics, topic_word_prior=TOPIC_WORD_PRIOR), "SAGE": SAGETopics(n_topics)}
    tries = [("left_to_right", {"n_particles": n}) for n in (5, 20, 100)]
    tries += [("chib", {"n_samples": n}) for n in (10, 100, 1000, 10_000)]
    rows = {}
    for name, model in models.items():
        model.fit(training)
        for method, given in tries:
            label = f"{method}, {next(iter(given.values()))}"
            rows.setdefault(label, {})[name] = model.perplexity(held_out[:40], method, **given)
            print(name, label, rows[label][name], flush=True)
    return pd.DataFrame(rows).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["newsgroups", "nips", "estimators", "blogs", "geotext"])
    parser.add_argument("--topics", type=int, nargs="+", default=None)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    if asked.what == "newsgroups":
        table = newsgroups().T
    elif asked.what == "nips":
        table = pd.concat({k: nips(k, asked.runs) for k in asked.topics or (10, 25, 50)})
    elif asked.what == "estimators":
        table = estimators(*(asked.topics or [25]))
    else:
        table = blogs(asked.topics or [10, 20, 30], asked.runs) if asked.what == "blogs" else geotext()
    print(table.round(4).to_string())


if __name__ == "__main__":
    main()
