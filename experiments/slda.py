"""sLDA with classes, counts and grades as responses, beside what else one would use.

    python -m experiments.slda [classes] [binary] [counts] [grades] [peers]

classes   20 Newsgroups, 20 classes, standard split: softmax sLDA and LDA + SVM, K = 50, 80, 110
binary    alt.atheism against talk.religion.misc: logit sLDA and LDA + SVM, K = 5 … 30, five seeds
counts    comments of TED talks, parameters of functions (docstrings): which response knows held-out counts best
peers     movie reviews as R's slda.em was run on them: half and half, stop words left out, rating standardised
grades    hotel reviews, ratings 1 to 5: ordinal, softmax and Gaussian responses, mean absolute error

Weights of the response (`supervision`) and the SVM's C are chosen on training documents; a row reads the test set once.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import LinearSVC

from supertopic import LDA, SLDAClassifier, SLDARegressor, Vectorizer
from supertopic.datasets import docstrings, load

WEIGHTS = (1.0, 3.0, 10.0, 30.0)


def row(*cells: Any) -> None:
    """A line of a table."""
    print(
        "| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |", flush=True
    )


def folder() -> Path:
    return Path(os.environ["SUPERTOPIC_DATA"])


def newsgroups(labels: tuple[str, ...] | None = None) -> tuple[Any, ...]:
    """(X, y) of the standard split, training and test; stop words and words of a single document left out."""
    data = load("20newsgroups_bow", folder())
    label = data.frame["label"].to_numpy()
    some = np.ones(len(label), dtype=bool) if labels is None else np.isin(label, labels)
    train = (data.frame["split"] == "train").to_numpy()
    X = data.counts.counts
    kept = np.array([word not in ENGLISH_STOP_WORDS for word in data.counts.vocabulary])
    kept &= np.asarray((X[train & some] > 0).sum(axis=0)).ravel() >= 2
    return X[train & some][:, kept], label[train & some], X[~train & some][:, kept], label[~train & some]


def lda_svm(n_topics: int, X: Any, y: np.ndarray, new: Any, truth: np.ndarray, seed: int) -> float:
    """Accuracy of a linear SVM on the topic shares of LDA, its C by cross-validation on the training documents."""
    lda = LDA(n_topics, random_state=seed).fit(X)
    svm = GridSearchCV(LinearSVC(), {"C": [0.1, 1.0, 10.0, 100.0]}, cv=3).fit(lda.transform(X), y)
    return float(svm.score(lda.transform(new), truth))


def choose(make: Any, X: Any, y: np.ndarray, score: Any) -> float:
    """The supervision that does best on a quarter of the training documents."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=0)
    return max(WEIGHTS, key=lambda weight: score(make(weight).fit(X[train], y[train]), X[test], y[test]))


def accuracy(model: Any, X: Any, y: np.ndarray) -> float:
    return float(model.score(X, y))


def classes() -> None:
    """Softmax against LDA + SVM. The weight is chosen at K = 50 and kept."""
    X, y, new, truth = newsgroups()
    weight = choose(lambda w: SLDAClassifier(50, supervision=w, max_iter=15), X, y, accuracy)
    row("20 classes", "K", "accuracy", "seconds")
    for n_topics in (50, 80, 110):
        start = time.perf_counter()
        row("LDA + SVM", n_topics, lda_svm(n_topics, X, y, new, truth, 0), int(time.perf_counter() - start))
        start = time.perf_counter()
        model = SLDAClassifier(n_topics, supervision=weight, max_iter=20).fit(X, y)
        row(f"sLDA, supervision {weight:g}", n_topics, accuracy(model, new, truth), int(time.perf_counter() - start))


def binary() -> None:
    """Five seeds each; the weight is chosen for each K with the first, by `supervision="auto"` (cross-validation)."""
    X, y, new, truth = newsgroups(("alt.atheism", "talk.religion.misc"))
    row("two classes", "K", "accuracy", "deviation")
    for n_topics in (5, 10, 20, 30):
        weight = SLDAClassifier(n_topics, supervision="auto").fit(X, y).supervision_
        plain = [lda_svm(n_topics, X, y, new, truth, seed) for seed in range(5)]
        ours = [
            accuracy(SLDAClassifier(n_topics, supervision=weight, random_state=seed).fit(X, y), new, truth)
            for seed in range(5)
        ]
        row("LDA + SVM", n_topics, float(np.mean(plain)), float(np.std(plain)))
        row(f"sLDA, supervision {weight:g}", n_topics, float(np.mean(ours)), float(np.std(ours)))


def counted() -> dict[str, tuple[list[str], np.ndarray]]:
    """Texts with a count."""
    talks, functions = load("ted_talks", folder()), docstrings()
    return {
        "TED talks, comments": (list(talks.text), talks.frame["num_comments"].to_numpy().astype(float)),
        "docstrings, parameters": (list(functions.text), functions.n_parameters.astype(float)),
    }


def counts() -> None:
    """Mean log-probability (log-density for the Gaussian: counts are one apart) of held-out counts, three splits."""
    row("corpus", "response", "held-out log-probability", "splits")
    for name, (texts, y) in counted().items():
        for response in ("negative_binomial", "poisson", "gaussian"):
            figures = []
            for seed in range(3):
                train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=seed)
                vectorizer = Vectorizer(max_features=5000, stop_words="english").fit([texts[i] for i in train])
                X, new = (vectorizer.transform([texts[i] for i in part]) for part in (train, test))
                model = SLDARegressor(20, response=response, max_iter=25).fit(X, y[train])
                figures.append(float(model.log_density(new, y[test]).mean()))
            row(name, response, float(np.mean(figures)), ", ".join(f"{f:.3f}" for f in figures))


def grades() -> None:
    """Mean absolute error of hotel ratings; the Gaussian's prediction is taken as it is, and to the nearest rating."""
    data = load("tripadvisor", folder())
    some = (data.frame["subset"] == "balanced5k").to_numpy()
    train = (data.frame["split"] == "train").to_numpy()[some]
    texts, y = np.array(data.text, dtype=object)[some], data.frame["rating"].to_numpy()[some]
    vectorizer = Vectorizer(max_features=5000, min_df=5).fit(list(texts[train]))
    X, new = vectorizer.transform(list(texts[train])), vectorizer.transform(list(texts[~train]))

    def error(model: Any, X: Any, y: np.ndarray) -> float:
        return float(np.abs(model.predict(X) - y).mean())

    row("hotel ratings", "mean absolute error", "its standard error")
    makes = {
        "ordinal": lambda w: SLDAClassifier(20, response="ordinal", supervision=w, max_iter=30),
        "softmax": lambda w: SLDAClassifier(20, response="softmax", supervision=w, max_iter=30),
        "gaussian": lambda w: SLDARegressor(20, supervision=w, max_iter=30),
    }
    for name, make in makes.items():
        weight = choose(make, X, y[train], lambda *given: -error(*given))
        predicted = make(weight).fit(X, y[train]).predict(new)
        for rule in ("", ", rounded") if name == "gaussian" else ("",):
            wrong = np.abs((np.clip(np.rint(predicted), 1, 5) if rule else predicted) - y[~train])
            row(f"{name}{rule}, supervision {weight:g}", float(wrong.mean()), float(wrong.std() / np.sqrt(len(wrong))))


def peers() -> None:
    """R² beside that of R's slda.em (variance 0.25), measured once on another machine."""
    data = load("movie_reviews_scale", folder())
    y = data.frame["rating"].to_numpy()
    texts = np.array(data.text, dtype=object)
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=0)
    vectorizer = Vectorizer(max_features=5000, stop_words="english", min_df=1, max_df=1.0).fit(list(texts[train]))
    X, new = vectorizer.transform(list(texts[train])), vectorizer.transform(list(texts[test]))
    row("half and half", "K", "R²", "R slda.em")
    for n_topics, theirs in ((10, 0.339), (30, 0.359)):
        for weight in (1.0, 10.0):
            model = SLDARegressor(n_topics, supervision=weight).fit(X, y[train])
            row(f"sLDA, supervision {weight:g}", n_topics, accuracy(model, new, y[test]), theirs)


PARTS = {"classes": classes, "binary": binary, "counts": counts, "peers": peers, "grades": grades}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
