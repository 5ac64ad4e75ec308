"""What training through the prediction costs: "pc" beside sLDA by variational EM, and what chooses or checks itself."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench import clock
from bench.corpus import Documents
from bench.plan import Plan
from bench.report import Table, say, times
from supertopic import LDA, SLDAClassifier, SLDARegressor, Vectorizer
from supertopic.datasets import load

PC, AUTO, FOLDS = 2.0, 3.0, 1.5  # targets: of an sLDA fit; of one fit with its folds; of the fit, for the folds alone

Data = tuple[Any, np.ndarray, Any, np.ndarray]  # training documents and labels, test documents and labels


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "11. Training through the prediction: what it costs beside sLDA, one thread",
        ["documents", "K", "fit", "seconds", "beside", "ratio", "target", "R² or share right"],
        "Fits to their own convergence, by default settings but what is named; the score is that of a fifth of the "
        "documents (20 Newsgroups: the test documents). \"vb\" and \"pc\" are without folds (`cross_fit=0`), and "
        "the ratio of \"pc\" is to \"vb\". \"Folds\": what five folds add to a fit, as a share of it. "
        "\"auto\": `supervision=\"auto\"` with folds, beside the default with folds. Beside them LDA by variational EM "
        "and a regression on its shares, as one would do without this library.",
    )  # fmt: skip
    for name, n_topics, kind, data in _corpora(plan.quick):
        say(f"{name}, {n_topics} topics")
        _warm_up(kind, data)
        seconds: dict[str, float] = {}
        score: dict[str, float] = {}
        for fit, params in {
            "vb": {"inference": "vb", "cross_fit": 0},
            "pc": {"inference": "pc", "cross_fit": 0},
            "default": {},
            "auto": {"supervision": "auto"},
        }.items():
            seconds[fit], score[fit] = _timed(kind(n_topics, n_jobs=1, **params), data)
            say(f"{fit}: {seconds[fit]:.1f} s, {score[fit]:.3f}")
        if kind is SLDARegressor:
            took, found = _timed(_TwoSteps(n_topics), data)
            result.add(name, n_topics, "LDA, then ridge", f"{took:.1f}", None, None, None, f"{found:.3f}")
        rows = (
            ("vb", "vb", None, 1.0, None),
            ("pc", "pc", "vb", seconds["pc"] / seconds["vb"], PC),
            ("default", "folds", "pc", (seconds["default"] - seconds["pc"]) / seconds["pc"], FOLDS),
            ("auto", "auto", "default", seconds["auto"] / seconds["default"], AUTO),
        )
        for fit, shown, beside, ratio, most in rows:
            compared = (None, None, None) if most is None else (beside, times(ratio), f"<= {times(most)}")
            result.add(name, n_topics, shown, f"{seconds[fit]:.1f}", *compared, f"{score[fit]:.3f}")
    return result


def _corpora(quick: bool) -> list[tuple[str, int, Any, Data]]:
    """Ratings of films, and classes of newsgroups; none without the corpora."""
    if not os.environ.get("SUPERTOPIC_DATA"):
        return []
    films = load("movie_reviews_scale")
    X = Vectorizer().fit_transform(list(films.text))
    y, every = films.frame["rating"].to_numpy(float), np.arange(len(films.text))
    test = every % 5 == 0
    films_data = (X[~test], y[~test], X[test], y[test])
    if quick:
        few = every % 5 == 1  # the file is sorted by author
        return [("films", 10, SLDARegressor, (X[few], y[few], X[test], y[test]))]
    news = load("20newsgroups_bow")
    train, label = (news.frame["split"] == "train").to_numpy(), news.frame["label"].to_numpy()
    news_data = (news.counts.counts[train], label[train], news.counts.counts[~train], label[~train])
    return [("films", 50, SLDARegressor, films_data), ("20 Newsgroups", 40, SLDAClassifier, news_data)]


def _warm_up(kind: Any, data: Data) -> None:
    """Compiles what the fits use."""
    X, y, _, _ = data
    some = slice(None, None, max(1, len(y) // 200))  # documents may be sorted by class
    for inference in ("vb", "pc"):
        kind(2, inference=inference, max_iter=1, cross_fit=0, n_jobs=1).fit(X[some], y[some])


def _timed(model: Any, data: Data) -> tuple[float, float]:
    """Seconds of the fit, and its score on the test documents."""
    X, y, new, truth = data
    start = clock.now()
    model.fit(X, y)
    return clock.now() - start, float(model.score(new, truth))


class _TwoSteps:
    """Topics that have not seen y, and a regression on their shares."""

    def __init__(self, n_topics: int) -> None:
        self.topics = LDA(n_topics, n_jobs=1)
        self.line = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))

    def fit(self, X: Any, y: np.ndarray) -> None:
        self.line.fit(self.topics.fit_transform(X), y)

    def score(self, X: Any, y: np.ndarray) -> float:
        return float(self.line.score(self.topics.transform(X), y))
