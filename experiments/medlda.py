"""MedLDA on 20 Newsgroups (20 classes, and two of them) and on film reviews, beside what else one would use.

SUPERTOPIC_DATA=… python experiments/medlda.py [classes] [binary] [reviews]

Prints a row per model: corpus, model, K, the mean over seeds or folds of accuracy or R², its deviation, and the seconds
of one fit on one thread. All parameters are defaults, which were chosen on splits of the training documents.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from supertopic import LDA, MedLDAClassifier, MedLDARegressor, SLDAClassifier, SLDARegressor

DATA = os.environ["SUPERTOPIC_DATA"]
PAIR = ("alt.atheism", "talk.religion.misc")


def row(
    corpus: str, model: str, n_topics: int | str, scores: list[float], seconds: list[float], more: str = ""
) -> None:
    """Print a line of the table."""
    figures = f"{np.mean(scores):.4f} {np.std(scores):7.4f} {np.mean(seconds):8.1f}"
    print(f"{corpus:10} {model:22} {n_topics!s:>3} {figures}  {more}", flush=True)


def timed(make: Callable[[int], Any], parts: list[tuple[Any, ...]]) -> tuple[list[float], list[float], Any]:
    """Scores and seconds of a model fitted on each (X, y, new X, new y), and the last of the fits."""
    scores, seconds, model = [], [], None
    for seed, (X, y, new, truth) in enumerate(parts):
        start = time.perf_counter()
        model = make(seed).fit(X, y)
        seconds.append(time.perf_counter() - start)
        scores.append(model.score(new, truth))
    return scores, seconds, model


def newsgroups(labels: tuple[str, ...] | None = None) -> tuple[Any, ...]:
    """Training and test documents in the standard split, stop words and words of a single document left out."""
    frame = pd.read_parquet(f"{DATA}/20newsgroups_bow/data.parquet")
    frame = frame if labels is None else frame[frame.label.isin(labels)]
    with open(f"{DATA}/20newsgroups_bow/vocab.txt", encoding="utf-8") as file:
        words = file.read().splitlines()
    start = np.concatenate([[0], frame.ids.map(len).cumsum()])
    counts, ids = (np.concatenate(frame[name].to_numpy()) for name in ("counts", "ids"))
    X = sp.csr_matrix((counts.astype(np.float32), ids, start), shape=(len(frame), len(words)))
    train, y = (frame.split == "train").to_numpy(), frame.label.to_numpy()
    kept = np.array([word not in ENGLISH_STOP_WORDS for word in words])
    kept &= np.asarray((X[train] > 0).sum(axis=0)).ravel() >= 2
    return X[train][:, kept], y[train], X[~train][:, kept], y[~train]


def reviews(n_folds: int = 5, n_terms: int = 5000) -> list[tuple[Any, ...]]:
    """Folds of the film reviews, stop words kept, terms by tf-idf in the training part."""
    frame = pd.read_parquet(f"{DATA}/movie_reviews_scale/data.parquet").drop_duplicates("text")
    texts, y = frame.text.to_numpy(), frame.rating.to_numpy()
    parts = []
    for train, test in KFold(n_folds, shuffle=True, random_state=0).split(texts):
        counter = CountVectorizer(token_pattern=r"[a-z]+")
        X = counter.fit_transform(texts[train])
        weight = np.asarray(X.sum(axis=0)).ravel() * np.log(len(train) / np.asarray((X > 0).sum(axis=0)).ravel())
        kept = np.sort(np.argsort(-weight)[:n_terms])
        parts.append((X[:, kept], y[train], counter.transform(texts[test])[:, kept], y[test]))
    return parts


def svm_on_words(seed: int) -> Any:
    return make_pipeline(Normalizer(), LinearSVC(C=1.0))


def classes() -> None:
    parts = [newsgroups()]
    row("20 classes", "SVM on words", "", *timed(svm_on_words, parts)[:2])
    for n_topics in (40, 70):
        scores, seconds, pipe = timed(
            lambda seed, k=n_topics: make_pipeline(LDA(k, n_jobs=1, random_state=seed), SVC(kernel="linear", C=10.0)),
            parts,
        )
        row("20 classes", "LDA + SVM", n_topics, scores, seconds, f"{pipe[-1].n_support_.sum()} support documents")
        for slack in ("n", "1"):
            scores, seconds, model = timed(
                lambda seed, k=n_topics, s=slack: MedLDAClassifier(k, slack=s, n_jobs=1, random_state=seed), parts
            )
            support = f"{model.n_support_[-1]} support documents, {model.n_iter_} steps"
            row("20 classes", f"MedLDA, slack {slack}", n_topics, scores, seconds, support)


def binary() -> None:
    parts = 5 * [newsgroups(PAIR)]
    row("2 classes", "SVM on words", "", *timed(svm_on_words, parts[:1])[:2])
    for n_topics in (10, 20):
        models = {
            "LDA + SVM": lambda seed, k=n_topics: make_pipeline(
                LDA(k, n_jobs=1, random_state=seed), SVC(kernel="linear", C=10.0)
            ),
            "sLDA": lambda seed, k=n_topics: SLDAClassifier(k, n_jobs=1, random_state=seed),
            "MedLDA": lambda seed, k=n_topics: MedLDAClassifier(k, n_jobs=1, random_state=seed),
        }
        for name, make in models.items():
            row("2 classes", name, n_topics, *timed(make, parts)[:2])


def films() -> None:
    parts = reviews()
    for n_topics in (5, 10, 15):
        models = {
            "sLDA": lambda seed, k=n_topics: SLDARegressor(k, n_jobs=1),
            "sLDA, supervision 10": lambda seed, k=n_topics: SLDARegressor(k, supervision=10, n_jobs=1),
            "MedLDA": lambda seed, k=n_topics: MedLDARegressor(k, n_jobs=1),
        }
        for name, make in models.items():
            row("reviews", name, n_topics, *timed(make, parts)[:2])


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["classes", "binary", "reviews"]
    print(f"{'corpus':10} {'model':22} {'K':>3} {'score':>6} {'dev.':>7} {'seconds':>8}")
    for part in wanted:
        {"classes": classes, "binary": binary, "reviews": films}[part]()
