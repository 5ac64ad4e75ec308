"""The settings of the SCVB0 passes that initialise every fit, changed one at a time.

    python -m experiments.online_start [--topics 20,200] [--seeds 2] [--corpora 20newsgroups_bow,...]

A quarter of the documents is held out. Only the *training* documents of 20 Newsgroups are used, three quarters to fit
and a quarter to score. A short fit (Gibbs: 30 sweeps, the last half averaged; variational EM: 10 steps) starts from the
passes with each setting, and the held-out documents are scored by completion. The tables show the differences to the
current settings (mean of twice the seeds), in thousandths of a nat per token (above 0: worse), for each K, and the
processor time of the passes alone, as a multiple of the time with the current settings.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

from supertopic import LDA, Gibbs, Vectorizer
from supertopic.backends.threads import Threads
from supertopic.datasets import load
from supertopic.inference import first_topics as online
from supertopic.metrics import completion_split, score_completion

CORPORA = ("20newsgroups_bow", "associated_press_bow", "bbc_news")
ALPHA, BETA = 0.1, 0.01
FITS = {"gibbs": 30, "vb": 10}
OTHERS: tuple[dict[str, float], ...] = (
    {"epochs": 5},
    {"epochs": 2, "steps": 50},
    {"batches": 20, "epochs": 5, "batch_size": 500},
    {"batches": 20, "steps": 60, "batch_size": 500},
    {"batches": 80, "batch_size": 125},
    {"passes": 4},
    {"passes": 12},
    {"delay": 2.0},
    {"delay": 16.0},
    {"decay": 0.5},
    {"decay": 0.75},
    {"smoothing": 0.001},
    {"smoothing": 0.1},
)


class Split(NamedTuple):
    """Documents to fit, and the two halves of each held-out document."""

    train: sp.csr_matrix
    observed: sp.csr_matrix
    heldout: sp.csr_matrix


class Cell(NamedTuple):
    """One setting on one corpus, averaged over K and seeds."""

    score: dict[str, np.ndarray]  # nats per token by inference, (K, seeds)
    seconds: float  # of the passes


def read(name: str) -> Split:
    """Hold out a quarter; keep the terms in at least 5 and at most half of the remaining documents."""
    bunch = load(name)
    if "counts" in bunch:
        counts = bunch.counts.counts
        if "split" in bunch.frame:
            counts = counts[(bunch.frame["split"] == "train").to_numpy()]
    else:  # duplicates must not be on both sides
        counts = Vectorizer(min_df=1, max_df=1.0, stop_words="english").fit_transform(list(dict.fromkeys(bunch.text)))
    kept = np.random.default_rng(11).random(counts.shape[0]) >= 0.25
    train, test = (sp.csr_matrix(counts[rows], dtype=np.float32) for rows in (kept, ~kept))
    frequency = np.bincount(train.indices, minlength=train.shape[1])
    words = np.flatnonzero((frequency >= 5) & (frequency <= train.shape[0] / 2))
    train, test = train[:, words], test[:, words]
    train.sort_indices()
    return Split(train[np.diff(train.indptr) > 0], *completion_split(test, seed=0))


def measure(split: Split, settings: online.QuickPasses, topics: list[int], seeds: int) -> Cell:
    """Held-out nats per token after short fits, and processor time of the passes summed over K (minimum over seeds)."""
    score = {inference: np.empty((len(topics), seeds)) for inference in FITS}
    seconds = np.empty((len(topics), seeds))
    no_shares = patch.object(LDA, "_infer")  # topic shares of the training documents are not needed
    with patch.object(online, "SETTINGS", settings), no_shares:
        for i, n_topics in enumerate(topics):
            for seed in range(seeds):
                before = time.process_time()
                with Threads(1) as backend:
                    online.online_counts(split.train, n_topics, np.full(n_topics, ALPHA), seed, backend)
                seconds[i, seed] = time.process_time() - before
                for inference, iterations in FITS.items():
                    engine = Gibbs(thin=1) if inference == "gibbs" else inference
                    model = LDA(
                        n_topics, inference=engine, doc_topic_prior=ALPHA, topic_word_prior=BETA,
                        max_iter=iterations, tol=0.0, random_state=seed,
                    ).fit(split.train)  # fmt: skip
                    score[inference][i, seed] = score_completion(
                        model.components_.T, ALPHA, split.observed, split.heldout
                    )
    return Cell(score, float(seconds.min(axis=1).sum()))


def row(name: str, cell: Cell, usual: Cell) -> str:
    parts = []
    for inference in FITS:
        worse = 1e3 * (cell.score[inference] - usual.score[inference].mean(axis=1, keepdims=True))
        parts.append(" / ".join(f"{value:+.1f}" for value in worse.mean(axis=1)))
    return f"| {name} | {' | '.join(parts)} | {cell.seconds / usual.seconds:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.online_start")
    parser.add_argument("--topics", default="20,200")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    options = parser.parse_args()
    topics = [int(part) for part in options.topics.split(",")]
    for name in options.corpora.split(","):
        split = read(name)
        measure(split, online.SETTINGS, topics[:1], 1)  # compiles
        usual = measure(split, online.SETTINGS, topics, 2 * options.seeds)
        noise = " and ".join(f"{1e3 * usual.score[inference].std(axis=1, ddof=1).mean():.1f}" for inference in FITS)
        documents, words = split.train.shape
        print(f"\n{name}: {documents:,} documents, {words:,} terms, {int(split.train.sum()):,} tokens; K = ", end="")
        print(f"{' / '.join(map(str, topics))}. One seed's standard deviation: {noise}.\n")
        print(f"| setting | {' | '.join(FITS)} | time |\n|---|{'---|' * len(FITS)}---|", flush=True)
        print(row(f"as they are ({usual.seconds:.2f} s)", usual, usual), flush=True)
        for other in OTHERS:
            cell = measure(split, online.SETTINGS._replace(**other), topics, options.seeds)
            print(row(", ".join(f"{setting} = {value}" for setting, value in other.items()), cell, usual), flush=True)


if __name__ == "__main__":
    main()
