"""Are the defaults good? Every estimator as it comes beside the best of a search; the price of predicting."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from experiments.book import Outcome, reproduces
from experiments.slda_figures import counted
from experiments.slda_prediction import movies, with_texts
from supertopic import (
    DiscLDAClassifier,
    MedLDAClassifier,
    MedLDARegressor,
    SAGEClassifier,
    SLDAClassifier,
    SLDARegressor,
)
from supertopic.datasets import load
from supertopic.metrics import coherence, topic_diversity

N_TOPICS, N_TRAIN, N_TEST = 20, 1500, 1000


class Corpus(NamedTuple):
    """Documents to fit and documents to score, with what is to be predicted."""

    counts: sp.csr_matrix
    y: np.ndarray
    new: sp.csr_matrix
    truth: np.ndarray


def numbers(quick: bool) -> dict[str, Corpus]:
    """Corpora with a number for each document."""
    found = {"film ratings": _some(*movies(quick))}
    if quick:
        return {name: _few(corpus) for name, corpus in found.items()}
    found["hotel ratings"] = _some(*with_texts("tripadvisor", "rating", "balanced5k"))
    found["talks, log views"] = _some(*with_texts("ted_talks", "log_views"))
    counts, frame = _of_counts("we8there_bow")
    found["restaurant ratings"] = _halves(counts, frame["rating"].to_numpy(dtype=np.float64))
    return found


def classes(quick: bool) -> dict[str, Corpus]:
    """Corpora with a class for each document."""
    data = load("bbc_news", os.environ["SUPERTOPIC_DATA"])
    _, counts = counted(np.array(data.text, dtype=object))
    found = {"news, five subjects": _halves(counts, data.frame["label"].to_numpy().astype(str))}
    if quick:
        return {name: _few(corpus) for name, corpus in found.items()}
    counts, frame = _of_counts("poliblog5k_bow")
    found["blogs, two sides"] = _halves(counts, frame["rating"].to_numpy().astype(str))
    counts, frame = _of_counts("20newsgroups_bow")
    found["newsgroups, twenty"] = _halves(counts, frame["label"].to_numpy().astype(str))
    return found


def _few(corpus: Corpus) -> Corpus:
    return Corpus(*(part[:300] for part in corpus))


def _of_counts(name: str) -> tuple[sp.csr_matrix, Any]:
    data = load(name, os.environ["SUPERTOPIC_DATA"])
    return data.counts.counts, data.frame


def _halves(counts: sp.csr_matrix, y: np.ndarray) -> Corpus:
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_TEST]
    seen = np.flatnonzero(np.diff(counts[train].tocsc().indptr) >= 3)
    return Corpus(counts[train][:, seen].tocsr(), y[train], counts[test][:, seen].tocsr(), y[test])


def _some(counts: sp.csr_matrix, y: np.ndarray, new: sp.csr_matrix, truth: np.ndarray) -> Corpus:
    rng = np.random.default_rng(0)
    train, test = (rng.permutation(len(one))[:n] for one, n in ((y, N_TRAIN), (truth, N_TEST)))
    return Corpus(counts[train], y[train], new[test], truth[test])


REGRESSORS: dict[str, tuple[Any, dict[str, tuple]]] = {
    "SLDARegressor": (SLDARegressor(N_TOPICS), {"supervision": (0.3, 1.0, 3.0), "doc_topic_prior": (0.3, 1.0)}),
    "MedLDARegressor": (MedLDARegressor(N_TOPICS), {"C": (0.25, 1.0, 4.0), "doc_topic_prior": (0.1, 0.5)}),
}
CLASSIFIERS: dict[str, tuple[Any, dict[str, tuple]]] = {
    "SLDAClassifier": (SLDAClassifier(N_TOPICS), {"supervision": (0.3, 1.0, 3.0), "doc_topic_prior": (0.3, 1.0)}),
    "MedLDAClassifier": (MedLDAClassifier(N_TOPICS), {"C": (1.0, 4.0, 16.0), "doc_topic_prior": (0.1, 0.5)}),
    "SAGEClassifier": (SAGEClassifier(), {"gamma": (0.3, 1.0, 3.0)}),
    "DiscLDAClassifier": (DiscLDAClassifier(), {"doc_topic_prior": (0.3, 1.0, "auto")}),
}


def searched(estimator: Any, grid: Mapping[str, tuple], corpus: Corpus) -> dict[str, Any]:
    """The settings of a grid that score best on a third of the training documents."""
    held = np.random.default_rng(1).random(len(corpus.y)) < 1 / 3
    scores = {}
    for values in product(*grid.values()):
        params = dict(zip(grid, values, strict=True))
        short = {"cross_fit": 0} if "cross_fit" in estimator.get_params() else {}
        model = clone(estimator).set_params(**params, **short).fit(corpus.counts[~held], corpus.y[~held])
        scores[values] = model.score(corpus.counts[held], corpus.y[held])
    return dict(zip(grid, max(scores, key=lambda values: scores[values]), strict=True))


@reproduces("slda", "defaults beside the best of a search on training documents, with coherence and diversity")
def defaults(quick: bool) -> Outcome:
    """Takes about fifteen minutes on one core."""
    rows, gaps = [], []
    kinds: list[tuple[Callable[[bool], dict[str, Corpus]], dict]] = [(numbers, REGRESSORS), (classes, CLASSIFIERS)]
    for corpora, estimators in kinds:
        for (corpus_name, corpus), (name, (estimator, grid)) in product(corpora(quick).items(), estimators.items()):
            if quick and name not in ("SLDARegressor", "MedLDAClassifier"):
                continue
            if quick:
                estimator, grid = (
                    clone(estimator).set_params(max_iter=4),
                    {key: grid[key][:2] for key in list(grid)[:1]},
                )
            model = clone(estimator).fit(corpus.counts, corpus.y)
            chosen = searched(estimator, grid, corpus)
            best = clone(estimator).set_params(**chosen).fit(corpus.counts, corpus.y)
            scores = [float(one.score(corpus.new, corpus.truth)) for one in (model, best)]
            read = [float(np.mean(coherence(model, corpus.counts))), float(topic_diversity(model))]
            gaps.append(scores[1] - scores[0])
            settings = ", ".join(f"{key} {value:g}" for key, value in chosen.items())
            rows.append([corpus_name, name, *scores, settings, *read])
    note = (
        f"{N_TRAIN:,} documents to fit, {N_TEST:,} others to score (R², or the share of classes that are right), K = "
        f"{N_TOPICS}, seed 0. The search chooses among the settings of a small grid on a third of the training "
        "documents. NPMI of ten words in the training documents; diversity: the share of different words among the "
        "first of all topics. `SAGEClassifier` and `DiscLDAClassifier` have topics of their classes."
    )
    claims = {"no default is more than 0.01 below what the search finds": bool(max(gaps) <= 0.01)}
    columns = ["corpus", "estimator", "default", "after a search", "which chose", "NPMI", "diversity"]
    return Outcome(columns, rows, note, None, claims)


def _engines(quick: bool) -> dict[str, list[tuple[str, Any]]]:
    """The models of the frontier, each with its settings."""
    some = (1.0,) if quick else (0.3, 1.0, 3.0, 10.0)
    weights = (1.0, 10.0) if quick else (1.0, 3.0, 10.0, 30.0, 100.0)
    plain: dict[str, Any] = {"response": "gaussian", "cross_fit": 0, "max_iter": 8 if quick else None}
    sampled = {**plain, "max_iter": 20 if quick else 200, "inference": "gibbs"}
    return {
        '"pc"': [(f"{w:g}", SLDARegressor(N_TOPICS, inference="pc", supervision=w, **plain)) for w in some],
        '"vb"': [(f"{w:g}", SLDARegressor(N_TOPICS, inference="vb", supervision=w, **plain)) for w in weights],
        '"gibbs"': [(f"{w:g}", SLDARegressor(N_TOPICS, supervision=w, **sampled)) for w in weights[:3]],
        "MedLDA": [(f"C {c:g}", MedLDARegressor(N_TOPICS, C=c)) for c in ((1.0,) if quick else (0.25, 1.0, 4.0))],
    }


@reproduces("slda", "what predicting costs in coherence: R² against NPMI, for every engine along its weight of y")
def frontier(quick: bool) -> Outcome:
    """Takes about five minutes on one core."""
    rows, panels = [], {}
    for corpus_name, corpus in list(numbers(quick).items())[:2]:
        curves: dict[str, list[tuple[float, float, str]]] = {}
        for engine, models in _engines(quick).items():
            for label, model in models:
                model.fit(corpus.counts, corpus.y)
                found = float(np.mean(coherence(model, corpus.counts))), float(model.score(corpus.new, corpus.truth))
                curves.setdefault(engine, []).append((*found, label))
                rows.append([corpus_name, engine, label, found[1], found[0], float(topic_diversity(model))])
        panels[corpus_name] = curves
    note = (
        f"{N_TRAIN:,} documents to fit, {N_TEST:,} others to score, K = {N_TOPICS}, seed 0; NPMI of ten words in the "
        'training documents. "pc" at 1 is the default of `SLDARegressor`.'
    )
    columns = ["corpus", "engine", "weight of y", "R²", "NPMI", "diversity"]
    return Outcome(columns, rows, note, _draw(panels))


def _draw(panels: Mapping[str, Mapping[str, list[tuple[float, float, str]]]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8))
    for axes, (title, curves) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for engine, points in curves.items():
            x, y, labels = zip(*points, strict=True)
            axes.plot(x, y, marker="o", label=engine)
            for place in zip(x, y, labels, strict=True):
                axes.annotate(place[2], place[:2], xytext=(4, 3), textcoords="offset points", fontsize=8)
        axes.set(title=title, xlabel="coherence (NPMI)", ylabel="R² on new documents")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False)
    figure.tight_layout()
    return figure
