"""The sLDA paper's figures on movie reviews: topics by their coefficients; R² and likelihood by K."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import RidgeCV

from experiments.book import Outcome, reproduces
from experiments.drawing import curves, with_spread
from supertopic import LDA, SLDARegressor, Vectorizer
from supertopic.datasets import load
from supertopic.metrics import completion_split, predictive_r2, score_completion

REVIEWS = (
    "Movie reviews with ratings (`movie_reviews_scale`, 5,006), stop words kept, 5,000 terms by tf-idf, log(1 + rating)"
)


def reviews(quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts (a quarter of them if quick), log(1 + rating), and fold numbers; equal texts are in the same fold."""
    data = load("movie_reviews_scale", os.environ["SUPERTOPIC_DATA"])
    texts = np.array(data.text, dtype=object)
    y = np.log1p(data.frame["rating"].to_numpy())
    groups = np.unique(texts, return_inverse=True)[1]
    fold = np.random.default_rng(0).integers(0, 5, groups.max() + 1)[groups]
    kept = np.arange(len(y)) % 4 == 0 if quick else np.ones(len(y), dtype=bool)
    return texts[kept], y[kept], fold[kept]


def counted(texts: np.ndarray, *others: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix, *tuple[sp.csr_matrix, ...]]:
    """Return the vocabulary of the texts, their counts, and the counts of the other texts."""
    vectorizer = Vectorizer(stop_words=None, max_features=5000, min_df=1, max_df=1.0)
    counts = vectorizer.fit_transform(texts.tolist())
    terms = np.asarray(vectorizer.get_feature_names_out())
    return terms, counts, *(vectorizer.transform(other.tolist()) for other in others)


@reproduces("slda", "figure 1: the topics of a 10-topic model laid out along their coefficients")
def figure1(quick: bool) -> Outcome:
    texts, y, _ = reviews(quick)
    terms, counts = counted(texts)
    model = SLDARegressor(10, inference="vb", supervision=10, max_iter=10 if quick else 60).fit(counts, y)
    frequency = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    rows = []
    for k in np.argsort(model.coef_):
        residual = (model.components_[k] - frequency) / np.sqrt(frequency)  # because stop words are in every topic
        words = " ".join(terms[np.argsort(-residual, kind="stable")[:10]])
        rows.append([float(model.coef_[k]), float(model.coef_std_[k]), words])
    first, last = rows[0], rows[-1]
    apart = (last[0] - first[0]) / float(np.hypot(first[1], last[1]))
    claims = {"the ends lie more than ten standard errors apart": apart > 10}
    note = (
        f"{REVIEWS}; supervision 10, seed 0. Words by (p(w|k) - p(w)) / √p(w), since stop words are kept. "
        "Coefficients are differences from the average document, as the paper's, which centres its response."
    )
    drawn = _along(rows, "coefficient: log(1 + rating)")
    return Outcome(["coefficient", "standard error", "words"], rows, note, drawn, claims)


@reproduces("slda", "figure 2: predictive R² and held-out likelihood against K, LDA + regression beside it")
def figure2(quick: bool) -> Outcome:
    """One of the five folds if quick; `slda.cross_validated` also chooses K and supervision."""
    texts, y, fold = reviews(quick)
    sizes, folds, steps = ((5, 20), (0,), 10) if quick else ((5, 10, 20, 30, 50), (0, 1, 2, 3, 4), 25)
    r2, nats = ({name: np.zeros((len(folds), len(sizes))) for name in ("sLDA", "LDA + ridge")} for _ in range(2))
    for row, number in enumerate(folds):
        train = fold != number
        _, counts, new = counted(texts[train], texts[~train])
        halves = completion_split(new, seed=0)
        for column, n_topics in enumerate(sizes):
            model = SLDARegressor(n_topics, inference="vb", supervision=10, max_iter=steps).fit(counts, y[train])
            lda = LDA(n_topics, max_iter=steps).fit(counts)
            ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(lda.transform(counts), y[train])
            r2["sLDA"][row, column] = model.score(new, y[~train])
            r2["LDA + ridge"][row, column] = predictive_r2(y[~train], ridge.predict(lda.transform(new)))
            for name, fit in (("sLDA", model), ("LDA + ridge", lda)):
                nats[name][row, column] = -score_completion(fit.components_.T, fit.alpha_, *halves)
    paper = {"sLDA": "0.500 at its best K", "LDA + ridge": "below sLDA"}
    rows = [[f"{name}, R²", paper[name], *(with_spread(v) for v in values.T)] for name, values in r2.items()]
    rows += [[f"{name}, nats a word", None, *(with_spread(v) for v in values.T)] for name, values in nats.items()]
    means = {name: values.mean(axis=0) for name, values in r2.items()}
    claims = {
        "sLDA predicts better than LDA + regression at every K": bool(np.all(means["sLDA"] > means["LDA + ridge"]))
    }
    if not quick:
        level = nats["sLDA"].mean(axis=0) > nats["LDA + ridge"].mean(axis=0) - 0.01
        claims["sLDA's topics fit held-out words as well as LDA's (within 0.01 nats) at every K"] = bool(np.all(level))
    note = (
        f"{REVIEWS}; {len(folds)} of five folds, mean ± deviation, {steps} EM steps; supervision 10 at every K, the "
        "paper's is 1. Nats: mean log-likelihood of a word of the second half of a held-out document, given the "
        "first. The paper draws the curves and prints 0.500 for its best K alone; its second corpus, Digg, is not to "
        "be had."
    )
    figure = curves({"predictive R²": r2, "held-out log-likelihood of a word": nats}, sizes, "topics K")
    return Outcome(["", "paper", *(f"K = {k}" for k in sizes)], rows, note, figure, claims)


def _along(rows: list[list[Any]], label: str) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 4.2))
    axes = figure.subplots()
    middle = float(np.mean([row[0] for row in rows]))
    for place, (coef, error, words) in enumerate(rows):
        axes.errorbar(coef, place, xerr=2 * error, fmt="o", color="tab:red" if coef < middle else "tab:blue")
        axes.text(1.02, place, words, transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    axes.axvline(middle, color="tab:gray", linewidth=0.8, linestyle=":")
    axes.set(xlabel=f"{label}, ± two standard errors", ylabel="topics", yticks=[])
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure
