"""Who talks about what, beside a structural topic model of another library: fit, effects, held-out words, signs.

The other needs an interpreter of its own, named by the variable `PEERS_PYTHON`; where it is not there, it is left out
and the note says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.preprocessing import SplineTransformer

from experiments.book import Outcome, reproduces
from supertopic import LDA
from supertopic.datasets import load
from supertopic.metrics import align_topics

PEER, MINUTES = "topica", 20.0
COLUMNS = [
    "corpus", "model", "fit, s", "effects, s", "held-out nats a word", "± over seeds", "topics where it is sure",
    "… by groups", "… where both are", "of these, same sign",
]  # fmt: skip
N_TOPICS, PRIOR, SURE, DRAWS, SEEDS = 20, 0.1, 1.645, 25, 3


class Corpus(NamedTuple):
    """Documents whose authors have a party, and how the party is asked for."""

    name: str
    shown: str
    groups: str
    formula: str
    term: str  # of the party that one reads about
    day: bool  # whether a day is known


CORPORA = (
    Corpus("poliblog5k_bow", "blogs", "blog", "~ rating + spline(day, 5)", "rating=Liberal", True),
    Corpus("senate_speeches_bow", "senate", "senator", "~ party", "party=R", False),
)


class Found(NamedTuple):
    topics: np.ndarray  # (K, V)
    party: np.ndarray  # (K, 2) estimate and error
    seconds: tuple[float, float]  # of the processor: the fit and the effects
    by_groups: np.ndarray | None = None  # (K, 2) with errors by groups


def held_out(topics: np.ndarray, counts: sp.csr_matrix) -> float:
    """Nats a word of a random half of each document, by the topics and the shares that the other half has."""
    topics = topics + 1e-8
    topics /= topics.sum(axis=1, keepdims=True)
    whole = np.asarray(counts.todense(), dtype=np.int64)
    seen = np.random.default_rng(0).binomial(whole, 0.5)
    shares = np.full((len(whole), len(topics)), 1.0 / len(topics))
    for _ in range(100):
        shares = PRIOR + shares * ((seen / (shares @ topics)) @ topics.T)
        shares /= shares.sum(axis=1, keepdims=True)
    left = whole - seen
    return float(-(left * np.log(shares @ topics)).sum() / left.sum())


def ours(counts: sp.csr_matrix, frame: pd.DataFrame, corpus: Corpus, prevalence: bool, seed: int) -> Found:
    start = time.process_time()
    model = LDA(N_TOPICS, prevalence=corpus.formula if prevalence else None, n_jobs=1, random_state=seed)
    model.fit(counts, metadata=frame)
    middle = time.process_time()

    def party(cluster: str | None) -> np.ndarray:
        asked = model.estimate_effect(corpus.formula, frame, counts, cluster=cluster, method="composition", draws=DRAWS)
        table = asked.summary(0.9)
        return table[table["term"] == corpus.term].set_index("topic").loc[range(N_TOPICS), ["estimate", "std_error"]]

    alone = np.asarray(party(None))
    end = time.process_time()
    return Found(model.components_, alone, (middle - start, end - middle), np.asarray(party(corpus.groups)))


def peer(name: str, folder: Path, minutes: float) -> Found | str:
    """What another library finds, or in a word why it found nothing."""
    python, script = os.environ.get("PEERS_PYTHON", sys.executable), Path(__file__).parent / "stm_peer.py"
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    alone.pop("PYTHONPATH", None)
    try:
        done = subprocess.run(
            [python, str(script), name, str(folder)], capture_output=True, text=True, timeout=60 * minutes, env=alone
        )
    except subprocess.TimeoutExpired:
        return f"{name} was not done in {minutes:g} minutes"
    if done.returncode:
        return f"{name}: {done.stderr.strip().splitlines()[-1]:.80}"
    topics, party, seconds = (np.load(folder / f"{what}.npy") for what in ("topics", "party", "seconds"))
    return Found(topics, party, (float(seconds[0]), float(seconds[1])))


def sure(party: np.ndarray) -> np.ndarray:
    """(K,) whether the party of a topic is clear."""
    return np.abs(party[:, 0]) > SURE * party[:, 1]


def signs(one: Found, other: Found) -> tuple[int, int]:
    """(topics of which both models are sure whose they are, those of them with the same sign)."""
    order = align_topics(one.topics, other.topics).order
    both = sure(one.party) & sure(other.party[order])
    return int(both.sum()), int((both & (one.party[:, 0] * other.party[order, 0] > 0)).sum())


def beside(corpus: Corpus, n_most: int | None, seeds: int) -> tuple[list[list[Any]], str]:
    """Rows of the table, and what is to be said of them."""
    data = load(corpus.name, os.environ["SUPERTOPIC_DATA"])
    known = data.frame["party"].isin(["D", "R"]) if "party" in data.frame else np.ones(len(data.frame), dtype=bool)
    rows = np.random.default_rng(0).permutation(np.flatnonzero(known))[:n_most]
    cut = len(rows) * 9 // 10
    counts, frame = sp.csr_matrix(data.counts.counts)[rows], data.frame.iloc[rows].reset_index(drop=True)
    seen, new, frame = counts[:cut], counts[cut:], frame[:cut].drop(columns="text_snippet", errors="ignore")
    column, value = corpus.term.split("=")
    design = (frame[column] == value).to_numpy(dtype=float)[:, None]
    if corpus.day:
        days = SplineTransformer(n_knots=4, degree=3, include_bias=False).fit_transform(frame[["day"]])
        design = np.column_stack([design, days[:, :5]])
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        place = Path(folder)
        sp.save_npz(place / "counts.npz", seen.astype(float))
        np.save(place / "design.npy", design)
        waiting = pool.submit(peer, PEER, place, MINUTES)
        found = {
            f"ours, {'prevalence' if prior else 'LDA'}": [
                ours(seen, frame, corpus, prior, seed) for seed in range(1, 1 + seeds)
            ]
            for prior in (False, True)
        }
        theirs = waiting.result()
    if not isinstance(theirs, str):
        found[PEER] = [theirs]
    mine, table = found["ours, prevalence"][0], []
    for name, fits in found.items():
        one, nats = fits[0], [held_out(fit.topics, new) for fit in fits]
        groups = None if one.by_groups is None else int(sure(one.by_groups).sum())
        spread = float(np.std(nats, ddof=1)) if len(nats) > 1 else None
        both: tuple[Any, Any] = (None, None) if one is mine else signs(mine, one)
        table.append(
            [corpus.shown, name, *one.seconds, float(np.mean(nats)), spread, int(sure(one.party).sum()), groups, *both]
        )
    told = (
        f"{corpus.shown}: {cut:,} documents to fit, {len(rows) - cut} held out, {frame[corpus.groups].nunique()} groups"
    )
    return table, told + (f" ({theirs})" if isinstance(theirs, str) else "")


@reproduces("lda", "effects on topics beside a structural topic model of another library, blogs and speeches")
def stm_beside(quick: bool) -> Outcome:
    """Takes some minutes on one core."""
    table, told, n_seeds = [], [], 2 if quick else SEEDS
    for corpus in CORPORA:
        rows, one = beside(corpus, 500 if quick else None, n_seeds)
        table += rows
        told.append(one)
    note = (
        f"{'; '.join(told)}. K = {N_TOPICS}, the party, and of blogs a spline of the day with five columns, one "
        f"thread; seconds of the processor, of the first seed. Held-out words, mean over {n_seeds} seeds of ours "
        f"(that of {PEER} begins with anchor words), are scored by one rule for all: shares from half of a document's "
        f"words under a Dirichlet of {PRIOR}, without metadata. Effects by composition with {DRAWS} draws; sure is "
        f"{SURE} errors from zero, as if documents were independent, and then with errors by blog or senator."
    )
    return Outcome(COLUMNS, table, note)
