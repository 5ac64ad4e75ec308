"""Who talks about what, beside structural topic models of other libraries: fit, effects, held-out words, signs.

The others need an interpreter of their own, named by the variable `PEERS_PYTHON`; where it has none of them, they are
left out and the note says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
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

PEERS = ("topica", "structural-topic-model")
COLUMNS = ["model", "fit, s", "effects, s", "held-out nats a word", "topics where both are sure", "of these, same sign"]
N_TOPICS, PRIOR, SURE, DRAWS = 20, 0.1, 1.645, 25


class Found(NamedTuple):
    topics: np.ndarray  # (K, V)
    party: np.ndarray  # (K, 2) estimate and error
    seconds: tuple[float, float]  # of the processor: the fit and the effects


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


def ours(counts: sp.csr_matrix, frame: pd.DataFrame, prevalence: str | None) -> Found:
    start = time.process_time()
    model = LDA(N_TOPICS, prevalence=prevalence, n_jobs=1, random_state=1).fit(counts, metadata=frame)
    middle = time.process_time()
    effects = model.estimate_effect("~ rating + spline(day, 5)", frame, counts, method="composition", draws=DRAWS)
    table = effects.summary(0.9)
    end = time.process_time()
    party = table[table["term"] == "rating=Liberal"].set_index("topic").loc[range(N_TOPICS)]
    return Found(model.components_, party[["estimate", "std_error"]].to_numpy(), (middle - start, end - middle))


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


def signs(one: Found, other: Found) -> tuple[int, int]:
    """(topics of which both models are sure whose they are, those of them with the same sign)."""
    order = align_topics(one.topics, other.topics).order
    first, second = (party[:, 0] / party[:, 1] for party in (one.party, other.party[order]))
    sure = (np.abs(first) > SURE) & (np.abs(second) > SURE)
    return int(sure.sum()), int((sure & (first * second > 0)).sum())


@reproduces("lda", "effects on topics beside structural topic models of other libraries, political blogs")
def stm_beside(quick: bool) -> Outcome:
    """Takes some minutes on one core."""
    data = load("poliblog5k_bow", os.environ["SUPERTOPIC_DATA"])
    rows = np.random.default_rng(0).permutation(len(data.frame))[: 500 if quick else None]
    cut = len(rows) * 9 // 10
    counts, frame = (
        sp.csr_matrix(data.counts.counts)[rows],
        data.frame.iloc[rows].reset_index(drop=True)[["rating", "day"]],
    )
    seen, new, known = counts[:cut], counts[cut:], frame[:cut]
    days = SplineTransformer(n_knots=4, degree=3, include_bias=False).fit_transform(known[["day"]])
    design = np.column_stack([known["rating"] == "Liberal", days[:, :5]]).astype(float)
    found: dict[str, Found | str] = {
        "ours, LDA": ours(seen, known, None),
        "ours, prevalence": ours(seen, known, "~ rating + spline(day, 5)"),
    }
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in PEERS]
        for place in places:
            place.mkdir()
            sp.save_npz(place / "counts.npz", seen.astype(float))
            np.save(place / "design.npy", design)
        with ThreadPoolExecutor() as pool:  # side by side, each on one core
            found |= zip(PEERS, pool.map(peer, PEERS, places, repeat(1.0 if quick else 5.0)), strict=True)
    mine, table, missing = found["ours, prevalence"], [], []
    for name, one in found.items():
        if isinstance(one, str) or isinstance(mine, str):
            missing.append(str(one))
            continue
        both: tuple[Any, Any] = (None, None) if one is mine else signs(mine, one)
        table.append([name, *one.seconds, held_out(one.topics, new), *both])
    note = (
        f"{cut:,} posts to fit and {len(rows) - cut} held out; K = {N_TOPICS}, party and a spline of the day with five "
        "columns, one thread; seconds of the processor. Held-out words are scored by one rule for all: shares from "
        f"half of a post's words under a Dirichlet of {PRIOR}, without metadata. Effects by composition with {DRAWS} "
        "draws; sure is 1.645 errors from zero, as if posts were independent. " + "".join(f"{one}. " for one in missing)
    ).strip()
    return Outcome(COLUMNS, table, note)
