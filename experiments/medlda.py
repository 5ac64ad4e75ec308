"""MedLDA beside what else one would use: 20 Newsgroups, film and hotel reviews, and the paper's simulations.

SUPERTOPIC_DATA=… python -m experiments.medlda [classes] [words] [collapsed] [chosen] [binary] [reviews] [hotels]
                                               [simulations] [support]

Prints a row per model: corpus, model, K, the mean over seeds or folds of accuracy or R², its deviation, and the seconds
of one fit on one thread. Whatever is not a default is chosen on the training documents, in the run itself where that is
said.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC, LinearSVR

from supertopic import (
    LDA,
    MedLDAClassifier,
    MedLDAClassifierCV,
    MedLDARegressor,
    SLDAClassifier,
    SLDARegressor,
    Vectorizer,
)
from supertopic.datasets import load, simulate_margin
from supertopic.metrics import doc_topic_entropy

DATA = os.environ.get("SUPERTOPIC_DATA", "")
PAIR = ("alt.atheism", "talk.religion.misc")


def row(
    corpus: str, model: str, n_topics: int | str, scores: list[float], seconds: list[float], more: str = ""
) -> None:
    """Print a line of the table."""
    figures = f"{np.mean(scores):.4f} {np.std(scores):7.4f} {np.mean(seconds):8.1f}"
    print(f"{corpus:10} {model:26} {n_topics!s:>3} {figures}  {more}", flush=True)


def timed(make: Callable[[int], Any], parts: list[tuple[Any, ...]]) -> tuple[list[float], list[float], Any]:
    """Scores and seconds of a model fitted on each (X, y, new X, new y), and the last of the fits."""
    scores, seconds, model = [], [], None
    for seed, (X, y, new, truth) in enumerate(parts):
        start = time.perf_counter()
        model = make(seed).fit(X, y)
        seconds.append(time.perf_counter() - start)
        scores.append(model.score(new, truth))
    return scores, seconds, model


def newsgroups(labels: tuple[str, ...] | None = None, stop_words: bool = False, least: int = 2) -> tuple[Any, ...]:
    """Training and test documents in the standard split; words of fewer than `least` training documents left out."""
    frame = pd.read_parquet(f"{DATA}/20newsgroups_bow/data.parquet")
    frame = frame if labels is None else frame[frame.label.isin(labels)]
    with open(f"{DATA}/20newsgroups_bow/vocab.txt", encoding="utf-8") as file:
        words = file.read().splitlines()
    start = np.concatenate([[0], frame.ids.map(len).cumsum()])
    counts, ids = (np.concatenate(frame[name].to_numpy()) for name in ("counts", "ids"))
    X = sp.csr_matrix((counts.astype(np.float32), ids, start), shape=(len(frame), len(words)))
    train, y = (frame.split == "train").to_numpy(), frame.label.to_numpy()
    kept = np.array([stop_words or word not in ENGLISH_STOP_WORDS for word in words])
    kept &= np.asarray((X[train] > 0).sum(axis=0)).ravel() >= least
    return X[train][:, kept], y[train], X[~train][:, kept], y[~train]


def films() -> list[tuple[Any, ...]]:
    """The five folds of `experiments.movie_reviews`."""
    data = load("movie_reviews_scale", Path(DATA))
    texts, y = np.array(data.text, dtype=object), np.log(data.frame["rating"].to_numpy() + 0.1)
    groups = np.unique(texts, return_inverse=True)[1]
    fold = np.random.default_rng(0).integers(0, 5, groups.max() + 1)[groups]
    parts = []
    for number in range(5):
        vectorizer = Vectorizer(max_features=5000, min_df=1, max_df=1.0)
        train = vectorizer.fit_transform(texts[fold != number].tolist())
        parts.append(
            (train, y[fold != number], vectorizer.transform(texts[fold == number].tolist()), y[fold == number])
        )
    return parts


def hotels_data() -> tuple[Any, ...]:
    """The paper's recipe: stop words and terms of fewer than five occurrences left out, log rating."""
    frame = pd.read_parquet(f"{DATA}/tripadvisor/data.parquet")
    frame = frame[frame.subset == "balanced5k"]
    train, y = (frame.split == "train").to_numpy(), np.log(frame.rating.to_numpy())
    counter = CountVectorizer(stop_words="english", token_pattern=r"[a-z]+")
    X = counter.fit_transform(frame.text[train]).astype(np.float32)
    often = np.asarray(X.sum(axis=0)).ravel() >= 5
    new = counter.transform(frame.text[~train]).astype(np.float32)
    return X[:, often], y[train], new[:, often], y[~train]


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


def words() -> None:
    """Topics and words together, against an SVM on all words."""
    everything, few = newsgroups(stop_words=True, least=1), newsgroups(least=1)
    svm = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(C=1.0))
    row("20 classes", "SVM, tf-idf, all terms", "", *timed(lambda seed: svm, [everything])[:2])
    row("20 classes", "SVM, tf-idf, no stop words", "", *timed(lambda seed: svm, [few])[:2])
    for n_topics in (40, 70):
        scores, seconds, _ = timed(
            lambda seed, k=n_topics: MedLDAClassifier(k, words=True, n_jobs=1, random_state=seed), [few]
        )
        row("20 classes", "MedLDA, words=True", n_topics, scores, seconds)


def collapsed() -> None:
    """The sampler; C, cost, alpha and the sweeps were chosen on a quarter of the training documents, at K = 40."""
    for n_topics in (40,):
        scores, seconds, _ = timed(
            lambda seed, k=n_topics: MedLDAClassifier(
                k, inference="gibbs", C=2.0, cost=64.0, doc_topic_prior=1.0, max_iter=40, n_jobs=1, random_state=seed
            ),
            [newsgroups()],
        )
        row("20 classes", "MedLDA, gibbs", n_topics, scores, seconds)


def chosen() -> None:
    """C and cost on a quarter of the training documents; beside the SVM with a C chosen by folds of them."""
    X, y, new, truth = newsgroups()
    svm = GridSearchCV(make_pipeline(Normalizer(), LinearSVC()), {"linearsvc__C": (0.3, 1.0, 3.0, 10.0)}, cv=3)
    row("20 classes", "SVM on words, C by CV", "", *timed(lambda seed: svm, [(X, y, new, truth)])[:2])
    for n_topics in (40,):
        start = time.perf_counter()
        held_out = np.random.default_rng(0).random(len(y)) < 0.25
        folds = [(np.flatnonzero(~held_out), np.flatnonzero(held_out))]
        model = MedLDAClassifierCV(MedLDAClassifier(n_topics, n_jobs=1), Cs=(4.0, 16.0), costs=(128.0, 512.0), cv=folds)
        model.fit(X, y)
        print(model.cv_results_.round(4).to_string(), flush=True)
        found = f"C = {model.C_:g}, cost = {model.cost_:g}, {model.best_score_:.4f} in the folds"
        seconds = [time.perf_counter() - start]
        row("20 classes", "MedLDA, C, cost by CV", n_topics, [model.score(new, truth)], seconds, found)


def binary() -> None:
    """Two classes; K and the rest of MedLDA's settings by folds of the training documents.

    Folds are runs of documents as they stand: neighbours are of one time and thread, as they are in the test split.
    """
    data = newsgroups(PAIR)
    parts, folds = 5 * [data], StratifiedKFold(5)
    row("2 classes", "SVM on words", "", *timed(svm_on_words, parts[:1])[:2])
    svm = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(C=1.0))
    row("2 classes", "SVM, tf-idf", "", *timed(lambda seed: svm, parts[:1])[:2])
    for n_topics in (10, 20):
        models = {
            "LDA + SVM": lambda seed, k=n_topics: make_pipeline(
                LDA(k, n_jobs=1, random_state=seed), SVC(kernel="linear", C=10.0)
            ),
            "sLDA": lambda seed, k=n_topics: SLDAClassifier(k, n_jobs=1, random_state=seed),
            "MedLDA, defaults": lambda seed, k=n_topics: MedLDAClassifier(k, n_jobs=1, random_state=seed),
        }
        for name, make in models.items():
            row("2 classes", name, n_topics, *timed(make, parts)[:2])
    found = []
    for settings in ParameterGrid(
        {"n_topics": (10, 20), "topic_word_prior": (0.05, 0.2), "init": ("online", "uniform")}
    ):
        fits = [MedLDAClassifier(**settings, n_jobs=1, random_state=seed) for seed in range(2)]
        found.append((float(np.mean([cross_val_score(fit, *data[:2], cv=folds).mean() for fit in fits])), settings))
        print(f"  folds {found[-1][0]:.4f} {settings}", flush=True)
    score, best = max(found, key=lambda one: one[0])
    made = timed(lambda seed: MedLDAClassifier(**best, n_jobs=1, random_state=seed), parts)
    row("2 classes", "MedLDA, chosen", best["n_topics"], *made[:2], f"{best}, {score:.4f} in the folds")
    made = timed(lambda seed: MedLDAClassifier(**best, words=True, n_jobs=1, random_state=seed), parts)
    row("2 classes", "MedLDA, chosen, words", best["n_topics"], *made[:2])


def reviews(topics: tuple[int, ...] = (5, 10, 15)) -> None:
    """Film reviews, the folds of `experiments.movie_reviews`; sLDA at supervision 10."""
    parts = films()
    for n_topics in topics:
        models = {
            "sLDA, supervision 10": lambda seed, k=n_topics: SLDARegressor(k, supervision=10, n_jobs=1),
            "MedLDA": lambda seed, k=n_topics: MedLDARegressor(k, n_jobs=1),
        }
        for name, make in models.items():
            scores, seconds, _ = timed(make, parts)
            row("films", name, n_topics, scores, seconds, " ".join(f"{score:.3f}" for score in scores))


def hotels() -> None:
    """Hotel reviews; the SVR's C by folds of the training documents, the default K."""
    parts = [hotels_data()]
    search = {"linearsvr__C": (0.3, 1.0, 3.0, 10.0)}
    folds = KFold(3, shuffle=True, random_state=0)
    tf = GridSearchCV(make_pipeline(Normalizer(), LinearSVR(epsilon=0.1, max_iter=5000)), search, cv=folds)
    row("hotels", "SVR on words", "", *timed(lambda seed: tf, parts)[:2])
    for together in (False, True):
        made = timed(lambda seed, w=together: MedLDARegressor(words=w, n_jobs=1), parts)
        row("hotels", "MedLDA, words=True" if together else "MedLDA", 20, *made[:2])
    row("hotels", "sLDA, supervision 10", 20, *timed(lambda seed: SLDARegressor(supervision=10, n_jobs=1), parts)[:2])


def simulations() -> None:
    """Figure 9: half of 2,000 documents for training. In setting 1, η is multiplied by K as the paper does in 3."""
    lengths = {1: (25, 50, 150, 300, 500), 2: (50, 100, 150, 200, 250), 3: (50, 100, 150, 200, 250, 300, 350)}
    for setting, sizes in lengths.items():
        for size in sizes:
            parts = []
            for seed in range(3):
                data = simulate_margin(setting, size, seed=seed, sharpness=40.0 if setting == 1 else None)
                X, y = data.counts.counts, data.y
                parts.append((X[:1000], y[:1000], X[1000:], y[1000:]))
            svm = GridSearchCV(LinearSVC(max_iter=5000), {"C": (1e-4, 1e-3, 1e-2, 1e-1)}, cv=3)
            medlda = MedLDAClassifier(40 if setting == 1 else 20, doc_topic_prior=1.0, C=1.0, cost=16.0, n_jobs=1)
            models = {"SVM on counts": svm, "MedLDA": medlda, "MedLDA, words": clone(medlda).set_params(words=True)}
            for name, model in models.items():
                scores, seconds, _ = timed(lambda seed, m=model: clone(m), parts)
                row(f"setting {setting}", f"L = {size}, {name}", "", scores, seconds)


def support() -> None:
    """Who carries the models, and how concentrated documents are, at K = 70."""
    X, y, _, _ = newsgroups()
    lda = LDA(70, n_jobs=1).fit(X)
    machine = SVC(kernel="linear", C=10.0).fit(lda.doc_topic_, y)
    print(
        f"LDA + SVM: {machine.n_support_.sum()} support documents, entropy {doc_topic_entropy(lda, X):.3f}", flush=True
    )
    slda = SLDAClassifier(70, n_jobs=1, max_iter=20).fit(X, y)
    print(f"sLDA: entropy {doc_topic_entropy(slda, X):.3f}", flush=True)
    medlda = MedLDAClassifier(70, n_jobs=1).fit(X, y)
    counts = medlda.n_support_
    print(
        f"MedLDA: {counts[-1]} at the end, {counts.mean():.0f} on the way, entropy {doc_topic_entropy(medlda, X):.3f}"
    )


EXPERIMENTS = {
    "classes": classes,
    "words": words,
    "collapsed": collapsed,
    "chosen": chosen,
    "binary": binary,
    "reviews": reviews,
    "hotels": hotels,
    "simulations": simulations,
    "support": support,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(EXPERIMENTS)
    print(f"{'corpus':10} {'model':26} {'K':>3} {'score':>6} {'dev.':>7} {'seconds':>8}")
    for part in wanted:
        EXPERIMENTS[part]()
