"""Topics alone, and topics with words, beside a linear SVM on tf-idf whose cost is tuned: many classes, short texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from experiments.book import Outcome, reproduces
from experiments.newsgroups import newsgroups
from supertopic import MedLDAClassifier, SLDAClassifier, Vectorizer
from supertopic.datasets import load

N_TOPICS, NEAR = 40, 0.005
Split = tuple[Any, np.ndarray, Any, np.ndarray]  # counts and labels of training documents, and of new ones
CORPORA = {  # folder, label, its own split or none, rows at most
    "abstracts, 23 classes": ("ohsumed23", "label", True, None),
    "BBC news, 5 classes": ("bbc_news", "label", False, None),
    "restaurants' categories": ("yelp_restaurants25k", "category", False, 6000),
    "hotels' grades": ("tripadvisor", "rating", False, 6000),
}
WAYS: dict[str, Any] = {
    "softmax": lambda: SLDAClassifier(N_TOPICS, n_jobs=1),
    "softmax, three fits": lambda: SLDAClassifier(N_TOPICS, ensemble=3, n_jobs=1),
    "softmax, words": lambda: SLDAClassifier(N_TOPICS, words=True, n_jobs=1),
    "MedLDA": lambda: MedLDAClassifier(N_TOPICS, n_jobs=1),
    "SVM": lambda: GridSearchCV(
        make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC()),
        {"linearsvc__C": [0.1, 0.25, 0.5, 1.0, 2.0, 4.0]},
        cv=5,
    ),
}


def split_of(name: str, quick: bool) -> Split:
    """Counts of words of two training documents at least; a third of the documents are new where no split is known."""
    folder, label, known, most = CORPORA[name]
    data = load(folder)
    texts, y = np.array(data.text, dtype=object), data.frame[label].astype(str).to_numpy()
    order = np.random.default_rng(0).permutation(len(y))[: 400 if quick else most]
    train = (data.frame["split"] == "train").to_numpy()[order] if known else np.arange(len(order)) % 3 > 0
    seen, new = order[train], order[~train]
    vectorizer = Vectorizer(min_df=2)
    return vectorizer.fit_transform(texts[seen].tolist()), y[seen], vectorizer.transform(texts[new].tolist()), y[new]


def accuracy(name: str, way: str, quick: bool) -> float:
    """The share of new documents that are right."""
    if name in CORPORA:
        counts, y, new, truth = split_of(name, quick)
    else:
        counts, y, new, truth, _ = newsgroups()
    return float(WAYS[way]().fit(counts, y).score(new, truth))


@reproduces("slda", "classes: topics alone, and with words, beside a linear SVM whose cost is tuned")
def beside_svm(quick: bool) -> Outcome:
    """Takes about half an hour on two cores."""
    names = ["BBC news, 5 classes"] if quick else [*CORPORA, "newsgroups, 20 classes"]
    ways = ["softmax", "SVM"] if quick else list(WAYS)
    cases = [(name, way) for name in names for way in ways]
    found = dict(zip(cases, Parallel(n_jobs=-1)(delayed(accuracy)(*case, quick) for case in cases), strict=True))
    rows = [[name, *(found[name, way] for way in ways)] for name in names]
    claims = {} if quick else claims_of(rows)
    note = (
        f"Accuracy on new documents; K = {N_TOPICS}, defaults, one seed. Abstracts and newsgroups have a split; "
        "of the others a third is new, of 6,000 documents at most. Words of two training documents at least. The SVM "
        "stands on tf-idf with logarithms of counts, its cost is chosen by cross-validation."
    )
    return Outcome(["corpus", *ways], rows, note, None, claims)


def claims_of(rows: list[list[Any]]) -> dict[str, bool]:
    """What was wanted, from the rows of the table."""
    alone = [max(row[1], row[2], row[4]) - row[5] for row in rows]
    return {
        f"the best of topics alone within {NEAR} of the SVM everywhere": min(alone) >= -NEAR,
        "a softmax with words above it everywhere": all(row[3] > row[5] for row in rows),
    }
