"""The sLDA paper's figures on movie reviews: topics along their coefficients; R² and likelihood against K."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import RidgeCV

from experiments.book import Outcome, reproduces
from supertopic import LDA, SLDARegressor, Vectorizer
from supertopic.datasets import load
from supertopic.metrics import completion_split, predictive_r2, score_completion

REVIEWS = (
    "Movie reviews with ratings (`movie_reviews_scale`, 5,006), stop words kept, 5,000 terms by tf-idf, log(1 + rating)"
)


def reviews(quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts (a quarter of them when quick), log(1 + rating), and the number of the fold, one for equal texts."""
    data = load("movie_reviews_scale", os.environ["SUPERTOPIC_DATA"])
    texts = np.array(data.text, dtype=object)
    y = np.log1p(data.frame["rating"].to_numpy())
    groups = np.unique(texts, return_inverse=True)[1]
    fold = np.random.default_rng(0).integers(0, 5, groups.max() + 1)[groups]
    kept = np.arange(len(y)) % 4 == 0 if quick else np.ones(len(y), dtype=bool)
    return texts[kept], y[kept], fold[kept]


def counted(texts: np.ndarray, *others: np.ndarray) -> tuple[np.ndarray, sp.csr_matrix, *tuple[sp.csr_matrix, ...]]:
    """The terms that the texts choose, their counts, and those of others."""
    vectorizer = Vectorizer(max_features=5000, min_df=1, max_df=1.0)
    counts = vectorizer.fit_transform(texts.tolist())
    terms = np.asarray(vectorizer.get_feature_names_out())
    return terms, counts, *(vectorizer.transform(other.tolist()) for other in others)


@reproduces("slda", "figure 1: the topics of a 10-topic model laid out along their coefficients")
def figure1(quick: bool) -> Outcome:
    texts, y, _ = reviews(quick)
    terms, counts = counted(texts)
    model = SLDARegressor(10, supervision=10, max_iter=15 if quick else 60).fit(counts, y)
    frequency = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    rows = []
    for k in np.argsort(model.coef_):
        lift = model.components_[k] * np.log(model.components_[k] / frequency)  # stop words are in every topic
        words = " ".join(terms[np.argsort(-lift, kind="stable")[:10]])
        rows.append([float(model.coef_[k]), float(model.coef_std_[k]), words])
    note = f"{REVIEWS}; supervision 10, seed 0; words by p(w|k) log(p(w|k)/p(w)), since stop words are kept."
    return Outcome(["coefficient", "standard error", "words"], rows, note, _along(rows, "coefficient: log(1 + rating)"))


@reproduces("slda", "figure 2: predictive R² and held-out likelihood against K, LDA + regression beside it")
def figure2(quick: bool) -> Outcome:
    """One fold of the five when quick; `python -m experiments.movie_reviews` chooses K and supervision as well."""
    texts, y, fold = reviews(quick)
    sizes, folds = ((5, 20), (0,)) if quick else ((5, 10, 20, 30, 50), (0, 1, 2, 3, 4))
    found = {name: np.zeros((len(folds), len(sizes))) for name in ("sLDA", "LDA + ridge", "sLDA nats", "LDA nats")}
    for row, number in enumerate(folds):
        train = fold != number
        _, counts, new = counted(texts[train], texts[~train])
        halves = completion_split(new, seed=0)
        for column, n_topics in enumerate(sizes):
            steps = 12 if quick else 40
            model = SLDARegressor(n_topics, supervision=10, max_iter=steps).fit(counts, y[train])
            lda = LDA(n_topics, max_iter=steps).fit(counts)
            ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(lda.transform(counts), y[train])
            found["sLDA"][row, column] = model.score(new, y[~train])
            found["LDA + ridge"][row, column] = predictive_r2(y[~train], ridge.predict(lda.transform(new)))
            for name, fit in (("sLDA nats", model), ("LDA nats", lda)):
                found[name][row, column] = -score_completion(fit.components_.T, fit.alpha_, *halves)
    paper = {"sLDA": "0.50 at its best K", "LDA + ridge": "below sLDA", "sLDA nats": None, "LDA nats": None}
    rows = [[name, paper[name], *(_with_spread(v) for v in values.T)] for name, values in found.items()]
    claims = {
        "sLDA predicts better than LDA + regression at every K": bool(
            np.all(found["sLDA"].mean(axis=0) > found["LDA + ridge"].mean(axis=0))
        )
    }
    note = f"{REVIEWS}; five folds, mean ± deviation; supervision 10; nats: mean log-likelihood of a held-out word."
    return Outcome(["", "paper", *(f"K = {k}" for k in sizes)], rows, note, _two_panels(sizes, found), claims)


def _with_spread(values: np.ndarray) -> str:
    return f"{values.mean():.3f}" + (f" ± {values.std():.3f}" if len(values) > 1 else "")


def _along(rows: list[list[Any]], label: str) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.2))
    axes = figure.subplots()
    middle = float(np.mean([row[0] for row in rows]))
    for place, (coef, error, words) in enumerate(rows):
        axes.errorbar(coef, place, xerr=2 * error, fmt="o", color="tab:red" if coef < middle else "tab:blue")
        axes.text(1.02, place, words, transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    axes.set(xlabel=f"{label} (two standard errors)", yticks=[])
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _two_panels(sizes: Any, found: dict[str, np.ndarray]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6))
    for axes, names, label in zip(
        figure.subplots(1, 2),
        (("sLDA", "LDA + ridge"), ("sLDA nats", "LDA nats")),
        ("predictive R²", "held-out log-likelihood of a word"),
        strict=True,
    ):
        for name in names:
            spread = found[name].std(axis=0) if len(found[name]) > 1 else None
            axes.errorbar(
                sizes, found[name].mean(axis=0), spread, marker="o", capsize=3, label=name.removesuffix(" nats")
            )
        axes.set(xlabel="topics K", ylabel=label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.tight_layout()
    return figure
