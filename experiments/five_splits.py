"""What the defaults predict on five splits of each corpus: one fit, three averaged, words beside, a linear model."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from experiments.book import Outcome, reproduces
from experiments.newsgroups import newsgroups
from experiments.slda_figures import counted, reviews
from supertopic import MedLDAClassifier, SLDAClassifier, SLDARegressor
from supertopic.datasets import load

SPLITS = 5
WAYS: dict[str, dict[str, Any]] = {
    "topics": {},
    "three fits": {"ensemble": 3},
    "words beside": {"words": True},
}
Documents = tuple[Any, np.ndarray, np.ndarray]  # texts or counts, y, and the split in which each is tested


@cache
def numbers(name: str, quick: bool) -> Documents:
    """A corpus whose documents have a number."""
    if name == "film ratings":
        texts, y, fold = reviews(quick)
        return texts, np.expm1(y), fold
    folder, column = {
        "hotel ratings": ("tripadvisor", "rating"),
        "talks, log views": ("ted_talks", "log_views"),
        "restaurant ratings": ("we8there_bow", "rating"),
    }[name]
    data = load(folder, os.environ["SUPERTOPIC_DATA"])
    kept = (
        (data.frame["subset"] == "balanced5k").to_numpy() if "subset" in data.frame else np.ones(len(data.frame), bool)
    )
    X = np.array(data.text, dtype=object) if "text" in data else data.counts.counts
    y = data.frame[column].to_numpy(dtype=np.float64)[kept]
    return X[kept], y, np.random.default_rng(0).permutation(len(y)) % SPLITS


def _number_score(name: str, way: str, number: int, quick: bool) -> float:
    """R² of the split that is left out."""
    X, y, fold = numbers(name, quick)
    test = fold == number
    train, new = (X[~test], X[test]) if sp.issparse(X) else counted(X[~test], X[test])[1:]
    if way == "linear":
        model: Any = make_pipeline(TfidfTransformer(sublinear_tf=True), RidgeCV(np.logspace(-1, 1, 9)))
    else:
        model = SLDARegressor(
            10 if quick else 50, max_iter=6 if quick else None, random_state=number, n_jobs=1, **WAYS[way]
        )
    return float(model.fit(train, y[~test]).score(new, y[test]))


def _class_score(way: str, number: int) -> float:
    """The share of newsgroups that are right, on the standard split; the seed is the number."""
    data = newsgroups()
    model: Any = {
        "softmax": SLDAClassifier(40, random_state=number, n_jobs=1),
        "MedLDA": MedLDAClassifier(40, random_state=number, n_jobs=1),
        "linear": make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(C=1.0)),
    }[way]
    return float(model.fit(data.X, data.y).score(data.new, data.truth))


def _cell(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


@reproduces("slda", "five splits of each corpus: what the defaults predict, beside a linear model on words")
def five_splits(quick: bool) -> Outcome:
    """Takes about an hour on one core."""
    names = ("film ratings", "hotel ratings", "talks, log views", "restaurant ratings")[: 1 if quick else 4]
    ways = [*WAYS, "linear"][:: 3 if quick else 1]
    splits = range(1 if quick else SPLITS)
    cases = [(name, way, number) for name in names for way in ways for number in splits]
    classes = [] if quick else [(way, number) for way in ("softmax", "MedLDA", "linear") for number in splits]
    tasks = [delayed(_class_score)(*case) for case in classes]  # the longest first
    scores = Parallel(n_jobs=-1)(tasks + [delayed(_number_score)(*case, quick) for case in cases])
    found: dict[tuple[str, str], list[float]] = {}
    for (name, way, _), score in zip(
        [*(("newsgroups, 20 classes", *case) for case in classes), *cases], scores, strict=True
    ):
        found.setdefault((name, way), []).append(score)
    columns = [*ways, *([] if quick else ["softmax", "MedLDA"])]
    rows = [
        [name, *(_cell(found[name, way]) if (name, way) in found else None for way in columns)]
        for name in dict.fromkeys(name for name, _ in found)
    ]
    means = {case: float(np.mean(values)) for case, values in found.items()}
    claims = {}
    if not quick:
        claims = {
            "topics within 0.02 of the linear model": all(
                means[n, "topics"] > means[n, "linear"] - 0.02 for n in names
            ),
            "three fits, or words, within 0.01 of it or above": all(
                max(means[n, "three fits"], means[n, "words beside"]) > means[n, "linear"] - 0.01 for n in names
            ),
            "0.80 of the newsgroups by a softmax, within 0.02 of MedLDA": (
                means["newsgroups, 20 classes", "softmax"]
                >= max(0.80, means["newsgroups, 20 classes", "MedLDA"] - 0.02)
            ),
        }
    note = (
        f"R² of the split left out, or the share of classes that are right; mean ± deviation of {len(splits)}. K = "
        f"{10 if quick else 50}, 5,000 terms by tf-idf of the training documents (restaurants: all bigrams there are); "
        "newsgroups: K = 40, the standard split, five seeds. All settings are defaults, and "
        "`slda.prediction_settings` says what they were chosen on. Linear: a ridge on tf-idf whose penalty is chosen "
        "by cross-validation, or an SVM with C = 1."
    )
    return Outcome(["corpus", *columns], rows, note, None, claims)
