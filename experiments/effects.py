"""How often intervals of differences in topic shares hold the truth; topics are learned from the same documents."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import softmax

from experiments.book import Outcome, reproduces
from supertopic import LDA
from supertopic.inference.after.share_regression import Pooled, ShareRegression
from supertopic.metrics import align_topics

CHANGE = np.array([0.5, -0.5, 0.0, 0.0, 0.0])  # of the logarithms of shares, from x = 0 to x = 1
N_DOCUMENTS, N_WORDS, LENGTH, HABITS = 600, 300, 60, 0.5
WAYS = ("moments", "composition", "least squares on doc_topic_")


def true_difference(n_authors: int) -> np.ndarray:
    """Of mean shares, over documents and authors that could have been drawn."""
    spread = np.sqrt(1.0 + HABITS**2 * bool(n_authors))
    own = np.random.default_rng(99).normal(size=(200_000, len(CHANGE))) * spread
    return softmax(own + CHANGE, axis=1).mean(axis=0) - softmax(own, axis=1).mean(axis=0)


def drawn(n_authors: int, seed: int) -> tuple[sp.csr_matrix, np.ndarray, pd.DataFrame]:
    """(counts, topics, frame of x and author); x is one of the author's, or of the document's where there are none."""
    rng, k = np.random.default_rng(seed), len(CHANGE)
    author = rng.integers(0, n_authors, N_DOCUMENTS) if n_authors else np.arange(N_DOCUMENTS)
    x = rng.permutation(np.arange(author.max() + 1) % 2)[author]
    habits = HABITS * rng.normal(size=(author.max() + 1, k))[author] * bool(n_authors)
    shares = softmax(rng.normal(size=(N_DOCUMENTS, k)) + habits + x[:, None] * CHANGE, axis=1)
    topics = rng.dirichlet(np.full(N_WORDS, 0.1), k)
    counts = np.stack([rng.multinomial(LENGTH, one @ topics) for one in shares])
    return sp.csr_matrix(counts), topics, pd.DataFrame({"x": x, "author": author.astype(str)})


def held(n_authors: int, inference: str, seed: int, truth: np.ndarray) -> list[np.ndarray]:
    """For each of `WAYS`, which topics' 90 % intervals hold the true difference."""
    counts, topics, frame = drawn(n_authors, seed)
    model = LDA(len(CHANGE), inference=inference, random_state=seed, n_jobs=1).fit(counts)
    order = align_topics(topics, model.components_).order
    cluster, found = "author" if n_authors else None, []
    for method in WAYS[:2]:
        effects = model.estimate_effect("~ x", frame, counts, cluster=cluster, method=method).contrast("x", 0, 1)
        found.append(effects.found().ends(0.9))
    columns = np.column_stack([np.ones(N_DOCUMENTS), frame["x"]])
    plain = Pooled(ShareRegression(columns, model.doc_topic_))
    found.append(plain.at(np.array([[0.0, 1.0]]), np.eye(len(CHANGE))).ends(0.9))
    return [(low[0, order] <= truth) & (truth <= high[0, order]) for low, high in found]


@reproduces("lda", "how often intervals of differences in topic shares hold the truth")
def effects(quick: bool) -> Outcome:
    """Takes about ten minutes on one core."""
    rows: list[list[Any]] = []
    for n_authors, name in ((0, "independent"), (30, "of 30 authors")):
        truth = true_difference(n_authors)
        for inference in ("vb", "gibbs"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [held(n_authors, inference, seed, truth) for seed in range(3 if quick else 100)]
            rows.append([name, inference, *(float(np.mean(one)) for one in zip(*found, strict=True))])
    claims = {
        "intervals by moments hold 0.9 of the differences, to 0.04": all(abs(row[2] - 0.9) <= 0.04 for row in rows),
        "least squares on posterior means hold fewer": all(row[4] < row[2] for row in rows),
    }
    note = (
        f"LDA with {len(CHANGE)} topics, as many as there are; {N_DOCUMENTS} documents of {LENGTH} words, of {N_WORDS} "
        "words in all; 100 simulated corpora in each row, five differences each. The lecture has none of this."
    )
    return Outcome(["documents", "topics by", *WAYS], rows, note, None, {} if quick else claims)
