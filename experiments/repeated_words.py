"""Words that documents repeat: counts or their logarithms, by how often words come again."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline

from experiments.book import Outcome, reproduces
from experiments.five_splits import numbers
from experiments.slda_figures import counted
from supertopic import SLDAClassifier, SLDARegressor
from supertopic.datasets import load
from supertopic.inference.repeats import repeats_beyond_topics

_TRAIN, _TEST, _TOPICS = 4000, 1500, 50
_NUMBERS = ("film ratings", "hotel ratings", "talks, log views", "restaurant ratings")
_OTHERS = {  # the folder, the column, and whether it holds a number
    "papers, year": ("nips12", "year", True),
    "blogs, day of the year": ("poliblog5k_bow", "day", True),
    "longitude of a writer": ("geotext_bow", "longitude", True),
    "blogs, which side": ("poliblog5k_bow", "rating", False),
    "blogs, which of six": ("poliblog5k_bow", "blog", False),
    "BBC news, five subjects": ("bbc_news", "label", False),
}


@cache
def _documents(name: str) -> tuple[Any, np.ndarray, bool]:
    """(texts or counts, y, whether it is a number)."""
    if name in _NUMBERS:
        return (*numbers(name, False)[:2], True)
    folder, column, is_number = _OTHERS[name]
    data = load(folder, os.environ["SUPERTOPIC_DATA"])
    X = np.array(data.text, dtype=object) if "text" in data else data.counts.counts
    y = data.frame[column].to_numpy(dtype=np.float64 if is_number else object)
    return X, y, is_number


def _scores(name: str, seed: int, quick: bool) -> list[float]:
    """(repeats, score with counts, with their logarithms, of a linear model) of documents left out."""
    X, y, is_number = _documents(name)
    order = np.random.default_rng([20, seed]).permutation(len(y))
    n_test = min(_TEST, len(y) // 5)
    test, train = order[:n_test], order[n_test:][: 400 if quick else _TRAIN]
    seen, new = (X[train], X[test]) if sp.issparse(X) else counted(X[train], X[test])[1:]
    found = [repeats_beyond_topics(sp.csr_matrix(seen, dtype=np.float32))]
    common = {"random_state": seed, "n_jobs": 1, "cross_fit": 0, "max_iter": 3 if quick else None}
    for counts in ("raw", "log"):
        model: Any = SLDAClassifier(_TOPICS, counts=counts, **common)
        if is_number:
            model = SLDARegressor(_TOPICS, response="gaussian", counts=counts, **common)
        found.append(_score(model.fit(seen, y[train]).predict(new), y[test], is_number))
    linear = RidgeCV(np.logspace(-1, 1, 9)) if is_number else LogisticRegression(C=10.0, max_iter=1000)
    words = make_pipeline(TfidfTransformer(sublinear_tf=True), linear).fit(seen, y[train])
    return [*found, _score(words.predict(new), y[test], is_number)]


def _score(found: np.ndarray, y: np.ndarray, is_number: bool) -> float:
    """The squared correlation, which slopes do not change, or the share that is right."""
    return float(np.corrcoef(found, y)[0, 1] ** 2 if is_number else np.mean(found == y))


@reproduces("slda", "words that documents repeat: counts or their logarithms, by how often words come again")
def repeated_words(quick: bool) -> Outcome:
    names = [*_NUMBERS, *_OTHERS][: 1 if quick else None]
    seeds = range(1 if quick else 3)
    cases = [(name, seed) for name in names for seed in seeds]
    found = np.reshape(
        Parallel(n_jobs=-1)(delayed(_scores)(*case, quick) for case in cases), (len(names), len(seeds), 4)
    )
    means = found.mean(axis=1)
    rows = [[name, *map(float, row)] for name, row in zip(names, means, strict=True)]
    claims = {}
    if not quick:
        claims = {
            "documents repeat words more than topics explain (above 1.9)": bool((means[:, 0] > 1.9).all()),
            "logarithms are better on average": bool(means[:, 2].mean() > means[:, 1].mean()),
            "and nowhere worse by 0.005": bool((means[:, 2] > means[:, 1] - 0.005).all()),
        }
    note = (
        f"Up to {_TRAIN:,} documents to fit, up to {_TEST:,} others to score, {len(seeds)} splits, K = {_TOPICS}, "
        "`cross_fit=0`. Repeats: how many times as often as topics explain documents use a seldom word again. Scores: "
        "the squared correlation, or the share of classes that are right. Linear: a ridge on tf-idf with its penalty "
        "chosen by cross-validation, or a logistic regression with C = 10."
    )
    return Outcome(["corpus", "repeats", "counts", "logarithms", "linear"], rows, note, None, claims)
