"""What the defaults predict on five splits of each corpus: one fit, three averaged, words beside, a linear model."""

from __future__ import annotations

import os
from functools import cache
from typing import Any, NamedTuple

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
from supertopic.documents.corpus import Corpus
from supertopic.metrics import coherence, topic_diversity

SPLITS = 5
FIRST = ("film ratings", "hotel ratings", "talks, log views", "restaurant ratings")  # what users would predict
OTHERS = ("talks, log comments", "papers, year", "blogs, day", "tweets, longitude")  # the other numbers there are
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
        "talks, log comments": ("ted_talks", "num_comments"),
        "papers, year": ("nips12", "year"),
        "blogs, day": ("poliblog5k_bow", "day"),
        "tweets, longitude": ("geotext_bow", "longitude"),
    }[name]
    data = load(folder, os.environ["SUPERTOPIC_DATA"])
    kept = (
        (data.frame["subset"] == "balanced5k").to_numpy() if "subset" in data.frame else np.ones(len(data.frame), bool)
    )
    X = np.array(data.text, dtype=object) if "text" in data else _words(data.counts)
    y = data.frame[column].to_numpy(dtype=np.float64)[kept]
    y = np.log1p(y) if column == "num_comments" else y
    return X[kept], y, np.random.default_rng(0).permutation(len(y)) % SPLITS


def _words(counts: Corpus) -> sp.csr_matrix:
    """Counts without what stands for punctuation and for words that are not in the vocabulary."""
    return counts.counts[:, ~np.isin(counts.vocabulary, ["-PUNCT-", "-OOV-"])]


class Found(NamedTuple):
    """What a model predicts of documents that it has not seen, and how its topics read."""

    score: float
    npmi: float = np.nan  # in the documents of training; nan where a model has no topics
    diversity: float = np.nan


def _of_number(name: str, way: str, number: int, quick: bool) -> Found:
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
    return _found(model.fit(train, y[~test]), train, new, y[test])


def _of_class(way: str, number: int) -> Found:
    """The share of newsgroups that are right, on the standard split; the seed is the number."""
    data = newsgroups()
    model: Any = {
        "softmax": SLDAClassifier(40, random_state=number, n_jobs=1),
        "MedLDA": MedLDAClassifier(40, random_state=number, n_jobs=1),
        "linear": make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(C=1.0)),
    }[way]
    return _found(model.fit(data.X, data.y), data.X, data.new, data.truth)


def _found(model: Any, X: Any, new: Any, truth: np.ndarray) -> Found:
    score = float(model.score(new, truth))
    if not hasattr(model, "components_"):
        return Found(score)
    return Found(score, float(np.mean(coherence(model, X))), float(topic_diversity(model)))


def _cell(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


def _claims(means: dict[tuple[str, str], float]) -> dict[str, bool]:
    """What holds of the mean scores, by corpus and way."""
    softmax, medlda = (means["newsgroups, 20 classes", way] for way in ("softmax", "MedLDA"))

    def below(names: tuple[str, ...], way: str, room: float) -> set[str]:
        """The corpora on which the way is further below the linear model than that."""
        return {name for name in names if means[name, way] <= means[name, "linear"] - room}

    return {
        "ratings and views: topics within 0.02 of the linear model": not below(FIRST, "topics", 0.02),
        "ratings and views: three fits, or words, within 0.01 of it or above": not (
            below(FIRST, "three fits", 0.01) & below(FIRST, "words beside", 0.01)
        ),
        "other numbers: topics within 0.02 of it": not below(OTHERS, "topics", 0.02),
        "other numbers: words beside within 0.02 of it": not below(OTHERS, "words beside", 0.02),
        "0.80 of the newsgroups by a softmax, within 0.02 of MedLDA": softmax >= max(0.80, medlda - 0.02),
    }


@reproduces("slda", "five splits of each corpus: what the defaults predict, beside a linear model on words")
def five_splits(quick: bool) -> Outcome:
    """Takes about two hours on one core."""
    names = FIRST[:1] if quick else FIRST + OTHERS
    ways = [*WAYS, "linear"][:: 3 if quick else 1]
    splits = range(1 if quick else SPLITS)
    cases = [(name, way, number) for name in names for way in ways for number in splits]
    classes = [] if quick else [(way, number) for way in ("softmax", "MedLDA", "linear") for number in splits]
    tasks = [delayed(_of_class)(*case) for case in classes]  # the longest first
    scores = Parallel(n_jobs=-1)(tasks + [delayed(_of_number)(*case, quick) for case in cases])
    found: dict[tuple[str, str], list[Found]] = {}
    for (name, way, _), one in zip(
        [*(("newsgroups, 20 classes", *case) for case in classes), *cases], scores, strict=True
    ):
        found.setdefault((name, way), []).append(one)
    columns = [*ways, *([] if quick else ["softmax", "MedLDA"])]
    rows = []
    for name in dict.fromkeys(name for name, _ in found):
        read = np.mean([one[1:] for one in found.get((name, "topics")) or found[name, "softmax"]], axis=0)
        cells = [_cell([one.score for one in found[name, way]]) if (name, way) in found else None for way in columns]
        rows.append([name, *cells, *map(float, read)])
    means = {case: float(np.mean([one.score for one in values])) for case, values in found.items()}
    note = (
        f"R² of the split left out, or the share of classes that are right; mean ± deviation of {len(splits)}. K = "
        f"{10 if quick else 50}, 5,000 terms by tf-idf of the training documents (restaurants, blogs, "
        "tweets: all terms there are); newsgroups: K = 40, the standard split, five seeds. All settings are defaults; "
        "`slda.prediction_constrained` says what they were chosen on. Linear: a ridge on tf-idf whose penalty is "
        "chosen by cross-validation, or an SVM with C = 1. NPMI (ten words, training documents) and diversity (25 "
        "words) are those of one fit's topics, the softmax's on newsgroups."
    )
    return Outcome(["corpus", *columns, "NPMI", "diversity"], rows, note, None, {} if quick else _claims(means))
