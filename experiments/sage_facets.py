"""SAGE with facets on real corpora: ideology of political blogs, and where Twitter's users live.

    python -m experiments.sage blogs [--topics 10 20 30] [--runs 5]
    python -m experiments.sage geotext

Blogs: 5,000 posts of six blogs (the paper has 20,827, unstemmed, 8,284 terms). Every pair of a blog from the left and
one from the right is left out once: nine tasks, each learned from the other four blogs. K, and C of the SVM, are those
that do best on the training blogs: of the four, each pair is left out once and predicted from the other two. "Blogs a
facet" lets each training blog add words of its own, so that the parties need not; a new blog adds none.

GeoText: learned from the 1,895 users that are offered as training users. Settings are chosen by four folds of these.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

from supertopic import FacetedSAGE, GeoSAGE
from supertopic.datasets import load
from supertopic.estimators.regions import distance_km

RIGHT, LEFT = ("at", "ha", "mm"), ("db", "tp", "tpm")
VARIANTS = {
    "SAGE": {"facets": ["rating"]},
    "no interactions": {"facets": ["rating"], "interactions": []},
    "blogs a facet": {"facets": ["rating", "blog"], "interactions": [("topic", "rating")]},
}
PENALTIES = (0.01, 0.1, 1.0)
NEIGHBOURS = (1, 5, 10, 20, 50)
WORD_WEIGHTS = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03)


class Blogs:
    """Accuracies on posts of blogs that are left out; what was measured once is not measured again."""

    def __init__(self) -> None:
        data = load("poliblog5k_bow")
        self.X, self.frame = data.counts.counts, data.frame[["rating", "blog"]]
        self.y, self.blog = self.frame["rating"].to_numpy(), self.frame["blog"].to_numpy()
        self.known: dict[tuple, float] = {}

    def accuracy(self, train: tuple[str, ...], test: tuple[str, ...], model: FacetedSAGE | Pipeline) -> float:
        key = (train, test, repr(model))
        if key not in self.known:
            rows, others = np.isin(self.blog, train), np.isin(self.blog, test)
            if isinstance(model, FacetedSAGE):
                new = ["blog"] if "blog" in model.facets else []
                fitted = model.fit(self.X[rows], self.frame[rows])
                self.known[key] = fitted.score(self.X[others], self.frame[others], "rating", new)
            else:
                self.known[key] = model.fit(self.X[rows], self.y[rows]).score(self.X[others], self.y[others])
        return self.known[key]

    def best(self, train: tuple[str, ...], models: list) -> object:
        """The model that does best where each pair of the training blogs is left out in its turn."""
        pairs = [(r, left) for r in RIGHT if r in train for left in LEFT if left in train]
        rests = [tuple(blog for blog in train if blog not in pair) for pair in pairs]

        def mean(model: FacetedSAGE | Pipeline) -> float:
            return float(np.mean([self.accuracy(rest, pair, model) for rest, pair in zip(rests, pairs, strict=True)]))

        return max(models, key=mean)


def svm(C: float) -> Pipeline:
    return make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(C=C))


def blogs(topics: list[int], n_runs: int) -> pd.DataFrame:
    task, rows = Blogs(), []
    for pair in product(RIGHT, LEFT):
        train = tuple(blog for blog in (*RIGHT, *LEFT) if blog not in pair)
        by_model = {}
        chosen = task.best(train, [FacetedSAGE(k, facets=["rating"]) for k in topics])
        for name, given in VARIANTS.items():
            models = [FacetedSAGE(chosen.n_topics, random_state=seed, **given) for seed in range(n_runs)]
            by_model[name] = [task.accuracy(train, pair, model) for model in models]
        machine = task.best(train, [svm(C) for C in PENALTIES])
        majority = pd.Series(task.y[np.isin(task.blog, pair)]).value_counts(normalize=True).iloc[0]
        row = {"left out": " ".join(pair), "majority": majority, "K": chosen.n_topics}
        row |= {name: float(np.median(values)) for name, values in by_model.items()}
        row |= {"linear SVM": task.accuracy(train, pair, machine)}
        rows.append(row)
        print(row, flush=True)
    return pd.DataFrame(rows).set_index("left out")


def geotext_users() -> tuple[sp.csr_matrix, np.ndarray, np.ndarray, np.ndarray]:
    """Counts, places, which users are for training, and the words; without the two terms that are none."""
    data = load("geotext_bow")
    words = np.flatnonzero(~np.isin(data.counts.vocabulary, ["-PUNCT-", "-OOV-"]))
    place = data.frame[["latitude", "longitude"]].to_numpy()
    return (
        data.counts.counts[:, words],
        place,
        (data.frame["split"] == "train").to_numpy(),
        data.counts.vocabulary[words],
    )


def geotext() -> pd.DataFrame:
    """Errors in km on the test users; every setting chosen by folds of the training users."""
    X, place, is_train, words = geotext_users()
    logs = X.copy()
    logs.data = np.log2(1.0 + logs.data).astype(np.float32)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X[is_train]))
    settings = [(k, name) for k in (1, 5) for name in ("raw", "log")]
    scores = {}
    for k, name in settings:
        counts = (X if name == "raw" else logs)[is_train]
        errors = {weight: [] for weight in WORD_WEIGHTS}
        for rows, others in folds:
            model = GeoSAGE(k).fit(counts[rows], place[is_train][rows])
            for weight in WORD_WEIGHTS:
                model.set_params(word_weight=weight)
                errors[weight].append(model.errors_km(counts[others], place[is_train][others]))
        for weight, found in errors.items():
            scores[k, name, weight] = float(np.mean(np.concatenate(found)))
            print(k, name, weight, round(scores[k, name, weight]), flush=True)
    k, name, weight = min(scores, key=scores.__getitem__)
    counts = X if name == "raw" else logs
    model = GeoSAGE(k, word_weight=weight).fit(counts[is_train], place[is_train])
    rows = {f"GeoSAGE, K = {k}, {name} counts, word_weight {weight}": model.predict(counts[~is_train])}
    rows |= baselines(X[is_train], place[is_train], X[~is_train], folds)
    print(region_words(model, words).to_string())
    errors = {name: distance_km(found, place[~is_train]) for name, found in rows.items()}
    return pd.DataFrame({name: {"mean": e.mean(), "median": np.median(e)} for name, e in errors.items()}).T


def baselines(X: sp.csr_matrix, place: np.ndarray, X_test: sp.csr_matrix, folds: list) -> dict[str, np.ndarray]:
    """Ridge and nearest neighbours on tf-idf, and the corpus mean: places of the test users."""
    weigh = TfidfTransformer(sublinear_tf=True).fit(X)
    train, test = weigh.transform(X), weigh.transform(X_test)
    ridge = RidgeCV(np.logspace(-2, 2, 9)).fit(train.toarray(), place)

    def error(n: int) -> float:
        parts = []
        for rows, others in folds:
            near = KNeighborsRegressor(n, metric="cosine").fit(train[rows], place[rows])
            parts.append(distance_km(near.predict(train[others]), place[others]))
        return float(np.mean(np.concatenate(parts)))

    n = min(NEIGHBOURS, key=error)
    near = {m: KNeighborsRegressor(m, metric="cosine").fit(train, place).predict(test) for m in (1, n)}
    return {
        "ridge on tf-idf": ridge.predict(test.toarray()),
        "nearest neighbour": near[1],
        f"mean of {n} nearest neighbours (chosen by folds)": near[n],
        "corpus mean": np.tile(place.mean(axis=0), (X_test.shape[0], 1)),
    }


def region_words(model: GeoSAGE, words: np.ndarray, n: int = 8) -> pd.DataFrame:
    """Where the regions are, and the words each adds most."""
    table = model.regions_.round(2)
    base = np.exp(model.background_)
    frame = model.deviations_["region"]
    tops = []
    for region in table.index:
        eta = frame[region].to_numpy()
        order = np.argsort(-base * np.exp(eta) * eta, kind="stable")[:n]
        tops.append(", ".join(str(words[w]) for w in order if eta[w] > 0))
    return table.assign(words=tops)
