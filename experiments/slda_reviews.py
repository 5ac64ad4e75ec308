"""sLDA on movie reviews compared with the lasso on words and R's slda.em; all settings are chosen inside the folds."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from experiments.book import Outcome, reproduces
from experiments.drawing import bars, with_spread
from experiments.slda_figures import REVIEWS, counted, reviews
from supertopic import LDA, SLDARegressor, Vectorizer
from supertopic.datasets import load
from supertopic.metrics import predictive_r2

SUPERVISION = (10.0, 30.0)
PENALTIES = np.logspace(-3, 3, 13)


def lasso_on(words: Any) -> Any:
    """The lasso on word features, with its penalty chosen by shuffled folds of the training documents.

    It uses double precision: in single precision (that of the counts) its solver does not converge and loses a third
    of its R².
    """
    inner = KFold(3, shuffle=True, random_state=0)
    double = FunctionTransformer(_as_double, accept_sparse=True)
    return make_pipeline(double, words, LassoCV(alphas=10, eps=0.003, cv=inner, tol=1e-2))


def _as_double(counts: Any) -> Any:
    return counts.astype(np.float64)


@reproduces("slda", "§3: predictive R² of sLDA beside the lasso on words")
def lasso(quick: bool) -> Outcome:
    texts, y, fold = reviews(quick)
    folds, n_topics, steps = ((0,), 10, 10) if quick else ((0, 1, 2, 3, 4), 20, 40)
    methods = {
        "sLDA": SLDARegressor(n_topics, inference="vb", supervision=10, max_iter=steps),
        "lasso, word frequencies": lasso_on(Normalizer("l1")),
        "lasso, tf-idf": lasso_on(TfidfTransformer(sublinear_tf=True)),
    }
    found: dict[str, list[float]] = {name: [] for name in methods}
    for number in folds:
        train = fold != number
        _, counts, new = counted(texts[train], texts[~train])
        for name, model in methods.items():
            predicted = model.fit(counts, y[train]).predict(new)
            found[name].append(float(predictive_r2(y[~train], predicted)))
    paper = {"sLDA": 0.500, "lasso, word frequencies": 0.457}
    rows = [
        [name, paper.get(name), with_spread(scores), ", ".join(f"{score:.3f}" for score in scores)]
        for name, scores in found.items()
    ]
    claims = {
        "sLDA predicts better than the lasso on word frequencies": bool(
            np.mean(found["sLDA"]) > np.mean(found["lasso, word frequencies"])
        )
    }
    note = (
        f"{REVIEWS}; folds {', '.join(map(str, folds))}. The paper's lasso has the words' frequencies, its sLDA the "
        f"best of several K; ours has K = {n_topics} and supervision 10, fixed beforehand (`slda.cross_validated` "
        "chooses them in each fold; its test folds are these). The lasso's penalty is chosen by three folds inside. A "
        "lasso on tf-idf stands beside the paper's."
    )
    return Outcome(["method", "paper", "R²", "folds"], rows, note, bars(found, "predictive R²", paper), claims)


def choose(
    counts: Any, y: np.ndarray, groups: np.ndarray, topics: tuple[int, ...], steps: int
) -> dict[int, tuple[float, float]]:
    """K -> (R² on a quarter of the training documents, the supervision that reached it)."""
    held_out = np.random.default_rng(7).random(groups.max() + 1)[groups] < 0.25
    found = {}
    for n_topics in topics:
        scores = []
        for supervision in SUPERVISION:
            model = SLDARegressor(n_topics, inference="vb", supervision=supervision, max_iter=steps)
            model.fit(counts[~held_out], y[~held_out])
            scores.append((model.score(counts[held_out], y[held_out]), supervision))
        found[n_topics] = max(scores)
    return found


def one_fold(texts: np.ndarray, y: np.ndarray, test: np.ndarray, topics: tuple[int, ...], quick: bool) -> dict:
    """Test R² by method; each method uses the test documents once."""
    _, counts, new = counted(texts[~test], texts[test])
    scores = {}
    on_words = {"ridge, tf-idf": make_pipeline(TfidfTransformer(sublinear_tf=True), RidgeCV(np.logspace(-1, 1, 9)))}
    if not quick:
        on_words["lasso, tf-idf"] = lasso_on(TfidfTransformer(sublinear_tf=True))
    for name, model in on_words.items():
        scores[name] = predictive_r2(y[test], model.fit(counts, y[~test]).predict(new))
    groups = np.unique(texts[~test], return_inverse=True)[1]
    chosen = choose(counts, y[~test], groups, topics, 6 if quick else 25)
    steps = 12 if quick else None
    for n_topics in topics:
        lda = LDA(n_topics, max_iter=steps).fit(counts)
        ridge = RidgeCV(PENALTIES).fit(lda.transform(counts), y[~test])
        scores[f"LDA + ridge, K = {n_topics}"] = predictive_r2(y[test], ridge.predict(lda.transform(new)))
        model = SLDARegressor(n_topics, inference="vb", supervision=chosen[n_topics][1], max_iter=steps).fit(
            counts, y[~test]
        )
        scores[f"sLDA, K = {n_topics}"] = model.score(new, y[test])
    best = max(topics, key=lambda k: chosen[k][0])
    scores["sLDA, K and supervision chosen inside"] = scores[f"sLDA, K = {best}"]
    scores["LDA + ridge, the same K"] = scores[f"LDA + ridge, K = {best}"]
    if not quick:
        with_words = SLDARegressor(best, inference="vb", supervision=chosen[best][1], words=True).fit(counts, y[~test])
        scores["sLDA with words=True"] = with_words.score(new, y[test])
    return scores


@reproduces("slda", "five-fold cross-validation, K and supervision chosen inside the training documents")
def cross_validated(quick: bool) -> Outcome:
    """Takes three quarters of an hour on one core."""
    texts, y, fold = reviews(quick)
    folds, topics = ((0,), (10,)) if quick else ((0, 1, 2, 3, 4), (5, 10, 20, 30, 50))
    found: dict[str, list[float]] = {}
    for number in folds:
        for name, score in one_fold(texts, y, fold == number, topics, quick).items():
            found.setdefault(name, []).append(float(score))
    best = "sLDA, K and supervision chosen inside"
    paper = {best: 0.500, "lasso, tf-idf": 0.457}
    rows = [
        [name, paper.get(name), with_spread(scores), ", ".join(f"{score:.3f}" for score in scores)]
        for name, scores in found.items()
    ]
    claims = {
        "sLDA predicts better than LDA + ridge with as many topics": bool(
            np.mean(found[best]) > np.mean(found["LDA + ridge, the same K"])
        )
    }
    note = (
        f"{REVIEWS}; folds {', '.join(map(str, folds))}, identical reviews in one fold. K and supervision "
        f"({', '.join(f'{w:g}' for w in SUPERVISION)}) are chosen on a quarter of the training documents, penalties of "
        "ridge and lasso by cross-validation inside; the test fold is looked at once."
    )
    return Outcome(["method", "paper", "R²", "folds"], rows, note, bars(found, "predictive R²", paper), claims)


@reproduces("slda", "movie reviews as R's slda.em was run on them: half and half, stop words left out")
def peers(quick: bool) -> Outcome:
    data = load("movie_reviews_scale", os.environ["SUPERTOPIC_DATA"])
    y, texts = data.frame["rating"].to_numpy(), np.array(data.text, dtype=object)
    if quick:
        y, texts = y[::4], texts[::4]
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=0)
    vectorizer = Vectorizer(max_features=5000, stop_words="english", min_df=1, max_df=1.0).fit(list(texts[train]))
    X, new = vectorizer.transform(list(texts[train])), vectorizer.transform(list(texts[test]))
    measured = {10: 0.339, 30: 0.359}
    sizes = (10,) if quick else (10, 30)
    found = {
        f"sLDA, supervision {weight:g}": [
            float(
                SLDARegressor(k, inference="vb", supervision=weight, max_iter=15 if quick else None)
                .fit(X, y[train])
                .score(new, y[test])
            )
            for k in sizes
        ]
        for weight in (1.0, 10.0)
    }
    rows = [["R slda.em, variance held at 0.25 of y's", *(measured[k] for k in sizes)]]
    rows += [[name, *scores] for name, scores in found.items()]
    claims = {} if quick else {"above slda.em at supervision 10": min(found["sLDA, supervision 10"]) > 0.359}
    note = (
        "Movie reviews (`movie_reviews_scale`), 5,000 terms; slda.em was measured once, on another half. Supervision 1 "
        "is the paper's model, its variance estimated (about 0.8 of y's); 10 weighs the rating more, as a variance "
        "held low does. Neither was chosen here. One split, seed 0."
    )
    return Outcome(["test R²", *(f"K = {k}" for k in sizes)], rows, note, None, claims)
