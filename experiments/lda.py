"""LDA as in the lecture: topics of NIPS papers, mixture model against LDA, perplexity over Gibbs sweeps."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.book import Outcome, reproduces
from experiments.drawing import curves, with_spread
from supertopic import LDA, Gibbs, MixtureOfCategoricals, Vectorizer
from supertopic.datasets import load
from supertopic.metrics import completion_split, score_completion

NIPS = "NIPS 1987-1999 (`nips12`, 1,740 papers, OCR text), stop words left out, 5,000 terms by tf-idf"


def papers(quick: bool) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return the counts of the NIPS papers (a fifth of them if quick) and the terms."""
    texts = load("nips12", os.environ["SUPERTOPIC_DATA"]).text[:: 5 if quick else 1]
    vectorizer = Vectorizer(stop_words="english", max_features=5000, min_df=5)
    counts = vectorizer.fit_transform(texts)
    return counts, np.asarray(vectorizer.get_feature_names_out(), dtype=object)


@reproduces("lda", "20 topics of NIPS papers, their 20 most frequent words")
def topics(quick: bool) -> Outcome:
    counts, terms = papers(quick)
    model = LDA(20, inference="gibbs", max_iter=40 if quick else 500, random_state=0).fit(counts)
    share = model.doc_topic_.mean(axis=0)
    rows = [
        [int(k), float(share[k]), " ".join(terms[np.argsort(-model.components_[k], kind="stable")[:20]])]
        for k in np.argsort(-share)
    ]
    figure = _word_sheet([row[2].split() for row in rows], [f"{row[1]:.0%}" for row in rows])
    subjects = {"a topic of neurons": "neurons synaptic cells", "a topic of reinforcement": "policy reward actions"}
    claims = {
        f"there is {name} ({words.replace(' ', ', ')})": any(set(words.split()) <= set(row[2].split()) for row in rows)
        for name, words in subjects.items()
    }
    note = (
        f"{NIPS}; collapsed Gibbs, seed 0. The lecture shows 20 topics of its own, learned from other counts of the "
        "same papers: neurons, reinforcement learning, speech, vision, circuits and mixtures stand among both."
    )
    return Outcome(["topic", "share", "words"], rows, note, figure, {} if quick else claims)


@reproduces("lda", "one topic per document (mixture of categoricals) against LDA: held-out perplexity by K")
def mixture(quick: bool) -> Outcome:
    counts, _ = papers(quick)
    train = np.arange(counts.shape[0]) % 5 > 0
    halves = completion_split(counts[~train], seed=0)
    sizes, seeds, steps = ((5, 20), (0,), 10) if quick else ((5, 10, 20, 50, 100), (0, 1, 2), 30)
    found = {name: np.zeros((len(seeds), len(sizes))) for name in ("LDA", "mixture of categoricals")}
    for row, seed in enumerate(seeds):
        for column, n_topics in enumerate(sizes):
            lda = LDA(n_topics, max_iter=steps, random_state=seed).fit(counts[train])
            found["LDA"][row, column] = np.exp(score_completion(lda.components_.T, lda.alpha_, *halves))
            mix = MixtureOfCategoricals(n_topics, max_iter=steps, random_state=seed).fit(counts[train])
            found["mixture of categoricals"][row, column] = _mixture_perplexity(mix, *halves)
    rows = [[name, None, *(with_spread(v, 0) for v in values.T)] for name, values in found.items()]
    claim = {"LDA has the lower perplexity at every K, with every seed": bool(np.all(np.subtract(*found.values()) < 0))}
    note = (
        f"{NIPS}. A fifth of the papers held out; half of each one's words give its topics, the other half is scored. "
        f"Mean ± deviation over seeds {', '.join(map(str, seeds))}. "
        "The lecture shows the two models and gives no figure for this."
    )
    figure = curves({"held-out perplexity": found}, sizes, "topics K")
    return Outcome(["perplexity", "lecture", *(f"K = {k}" for k in sizes)], rows, note, figure, claim)


@reproduces("lda", "perplexity over Gibbs sweeps, of the last sweep and averaged")
def perplexity(quick: bool) -> Outcome:
    counts, _ = papers(quick)
    train = np.arange(counts.shape[0]) % 5 > 0
    halves = completion_split(counts[~train], seed=0)
    steps, seeds = ((1, 4, 16), (0,)) if quick else ((1, 2, 5, 10, 20, 50, 100, 200), (0, 1, 2))
    found = {}
    for name, burn_in in (("the last sweep", lambda n: n - 1), ("the second half, averaged", lambda n: n // 2)):
        found[name] = np.zeros((len(seeds), len(steps)))
        for row, seed in enumerate(seeds):
            for column, sweeps in enumerate(steps):
                model = LDA(20, inference=Gibbs(burn_in=burn_in(sweeps), thin=1), max_iter=sweeps, random_state=seed)
                model.fit(counts[train])
                found[name][row, column] = np.exp(score_completion(model.components_.T, model.alpha_, *halves))
    rows = [[name, None, *(with_spread(v, 0) for v in values.T)] for name, values in found.items()]
    last, averaged = found.values()
    claims = {"averaging lowers it": bool(np.all(averaged[:, -1] < last[:, -1]))}
    if not quick:
        claims["more sweeps lower it"] = bool(np.all(last[:, -1] < last[:, 0]))
    note = (
        f"{NIPS}, K = 20, a fifth of the papers held out, mean ± deviation over seeds {', '.join(map(str, seeds))}. "
        "The lecture says what perplexity is and leaves the curve to the reader. Our samplers start not from random "
        "topics but from a few online passes, so that the curve has little left to fall."
    )
    figure = curves({"held-out perplexity": found}, steps, "sweeps", log=True)
    return Outcome(["held-out perplexity", "lecture", *map(str, steps)], rows, note, figure, claims)


def _mixture_perplexity(model: Any, seen: sp.csr_matrix, scored: sp.csr_matrix) -> float:
    """exp(-log p / words) of the second halves, with each document's topic inferred from the first half."""
    log_word = np.log(np.maximum(model.components_, 1e-12)).T
    chance = model.transform(seen)
    by_topic = scored @ log_word
    total = np.log(np.maximum(chance.astype(np.float64), 1e-300)) + by_topic
    top = total.max(axis=1, keepdims=True)
    log_p = top[:, 0] + np.log(np.exp(total - top).sum(axis=1))
    return float(np.exp(-log_p.sum() / scored.sum()))


def _word_sheet(columns: list[list[str]], heads: list[str]) -> Any:
    """Draw the words of each topic in a column, ten topics per row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 7.6))
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_title(
        "20 topics of NIPS papers: share of the words, and the 20 most frequent words", fontsize=10, loc="left"
    )
    for place, (head, words) in enumerate(zip(heads, columns, strict=True)):
        left, top = (place % 10) / 10, 1.0 - 0.52 * (place // 10)
        axes.text(left, top, head, weight="bold", fontsize=8, transform=axes.transAxes, va="top")
        text = "\n".join(words)
        axes.text(left, top - 0.035, text, fontsize=7.5, transform=axes.transAxes, va="top", linespacing=1.25)
    return figure
