"""The lecture: topics of NIPS papers, one topic per document against many, perplexity over Gibbs sweeps."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.book import Outcome, reproduces
from supertopic import LDA, MixtureOfCategoricals, Vectorizer
from supertopic.datasets import load
from supertopic.metrics import completion_split, score_completion

NIPS = "NIPS 1987-1999 (`nips12`, 1,740 papers, OCR text), stop words left out, 5,000 terms by tf-idf"


def papers(quick: bool) -> tuple[sp.csr_matrix, np.ndarray]:
    """Counts of the NIPS papers, a fifth of them when quick, and the terms."""
    texts = load("nips12", os.environ["SUPERTOPIC_DATA"]).text[:: 5 if quick else 1]
    vectorizer = Vectorizer(stop_words="english", max_features=5000, min_df=5)
    counts = vectorizer.fit_transform(texts)
    return counts, np.asarray(vectorizer.get_feature_names_out(), dtype=object)


@reproduces("lda", "20 topics of NIPS papers, their 20 most frequent words")
def topics(quick: bool) -> Outcome:
    counts, terms = papers(quick)
    model = LDA(20, inference="gibbs", max_iter=100 if quick else 500, random_state=0).fit(counts)
    share = model.doc_topic_.mean(axis=0)
    rows = [
        [int(k), float(share[k]), " ".join(terms[np.argsort(-model.components_[k], kind="stable")[:20]])]
        for k in np.argsort(-share)
    ]
    figure = _word_sheet([row[2].split()[:12] for row in rows], [f"{row[1]:.0%}" for row in rows])
    return Outcome(["topic", "share", "words"], rows, f"{NIPS}; collapsed Gibbs, seed 0.", figure)


@reproduces("lda", "one topic per document (mixture of categoricals) against LDA: held-out perplexity by K")
def mixture(quick: bool) -> Outcome:
    counts, _ = papers(quick)
    train = np.arange(counts.shape[0]) % 5 > 0
    halves = completion_split(counts[~train], seed=0)
    sizes = (5, 20) if quick else (5, 10, 20, 50, 100)
    found: dict[str, list[float]] = {"LDA": [], "mixture of categoricals": []}
    for n_topics in sizes:
        lda = LDA(n_topics, max_iter=30, random_state=0).fit(counts[train])
        found["LDA"].append(float(np.exp(score_completion(lda.components_.T, lda.alpha_, *halves))))
        mix = MixtureOfCategoricals(n_topics, max_iter=30, random_state=0).fit(counts[train])
        found["mixture of categoricals"].append(_mixture_perplexity(mix, *halves))
    rows = [[name, *values] for name, values in found.items()]
    claim = {"LDA has the lower perplexity at every K": bool(np.all(np.subtract(*found.values()) < 0))}
    note = (
        f"{NIPS}. A fifth of the papers held out; half of each one's words give its topics, the other half is scored. "
        "The lecture shows the two models and gives no figure for this."
    )
    return Outcome(["perplexity", *(f"K = {k}" for k in sizes)], rows, note, _lines(sizes, found), claim)


@reproduces("lda", "perplexity over Gibbs sweeps, of the last sweep and averaged")
def perplexity(quick: bool) -> Outcome:
    counts, _ = papers(quick)
    train = np.arange(counts.shape[0]) % 5 > 0
    halves = completion_split(counts[~train], seed=0)
    steps = (1, 2, 4, 8, 16, 32) if quick else (1, 2, 5, 10, 20, 50, 100, 200)
    found: dict[str, list[float]] = {}
    for name, burn_in in (("the last sweep", lambda n: n - 1), ("the second half, averaged", lambda n: n // 2)):
        values = []
        for sweeps in steps:
            model = LDA(20, inference="gibbs", max_iter=sweeps, burn_in=burn_in(sweeps), thin=1, random_state=0)
            model.fit(counts[train])
            values.append(float(np.exp(score_completion(model.components_.T, model.alpha_, *halves))))
        found[name] = values
    rows = [[name, *values] for name, values in found.items()]
    claim = {"averaging lowers it": found["the second half, averaged"][-1] < found["the last sweep"][-1]}
    note = (
        f"{NIPS}, K = 20, seed 0, a fifth of the papers held out. Our samplers start not from random topics but from "
        "a few online passes, so that the curve is flat where the lecture's falls."
    )
    figure = _lines(steps, found, "sweeps", log=True)
    return Outcome(["held-out perplexity", *map(str, steps)], rows, note, figure, claim)


def _mixture_perplexity(model: Any, seen: sp.csr_matrix, scored: sp.csr_matrix) -> float:
    """exp(-log p / words) of the second halves, each document's topic inferred from the first."""
    log_word = np.log(np.maximum(model.components_, 1e-12)).T
    chance = model.transform(seen)
    by_topic = scored @ log_word
    total = np.log(np.maximum(chance.astype(np.float64), 1e-300)) + by_topic
    top = total.max(axis=1, keepdims=True)
    log_p = top[:, 0] + np.log(np.exp(total - top).sum(axis=1))
    return float(np.exp(-log_p.sum() / scored.sum()))


def _lines(x: Any, found: dict[str, list[float]], label: str = "topics K", log: bool = False) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.8))
    axes = figure.subplots()
    for name, values in found.items():
        axes.plot(x, values, marker="o", label=name)
    if log:
        axes.set_xscale("log")
    axes.set(xlabel=label, ylabel="held-out perplexity")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure


def _word_sheet(columns: list[list[str]], heads: list[str]) -> Any:
    """Words under one another, a column per topic, ten topics to a row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.6))
    axes = figure.subplots()
    axes.set_axis_off()
    for place, (head, words) in enumerate(zip(heads, columns, strict=True)):
        left, top = (place % 10) / 10, 1.0 - 0.52 * (place // 10)
        axes.text(left, top, head, weight="bold", fontsize=8, transform=axes.transAxes, va="top")
        text = "\n".join(words)
        axes.text(left, top - 0.045, text, fontsize=7.5, transform=axes.transAxes, va="top", linespacing=1.25)
    return figure
