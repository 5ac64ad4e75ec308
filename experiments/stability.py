"""Do topics come back, can they be read, and do they predict? Six corpora, other seeds and other documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.linear_model import RidgeCV

from experiments.book import Outcome, reproduces
from experiments.slda_prediction import Split, with_texts
from supertopic import LDA, PC, SLDARegressor, metrics
from supertopic.metrics import coherence, predictive_r2

N_TOPICS, N_TRAIN, N_SEEDS, SAMPLE = 20, 6000, 5, 0.8
CORPORA = {  # folder, what is predicted, part
    "restaurants": ("yelp_restaurants25k", "rating", None),
    "films": ("imdb_ratings20k", "rating", None),
    "wine": ("wine_price", "log_price", None),
    "listings": ("airbnb_singapore_price", "log_price", None),
    "hotels": ("tripadvisor", "rating", "balanced5k"),
    "talks": ("ted_talks", "log_views", None),
}
COLUMNS = ["corpus", "topics", "R²", "by seed", "by sample", "largest share", "NPMI"]


class Found(NamedTuple):
    """A fit, as the table sees it."""

    topics: np.ndarray  # (K, V)
    r2: float
    largest: float  # share of a new document, on average
    npmi: float


Way = Callable[[Split, int], Found]


def supervised(split: Split, seed: int, **params: Any) -> Found:
    """Topics of `SLDARegressor`; its defaults, but for what is said about certainty."""
    counts, y, new, truth = split
    model = SLDARegressor(**{"n_topics": N_TOPICS, "cross_fit": 0, "random_state": seed, "n_jobs": 1, **params}).fit(
        counts, y
    )
    return _found(model, counts, new, float(model.score(new, truth)))


def unsupervised(split: Split, seed: int, **params: Any) -> Found:
    """Topics of LDA by Gibbs sampling, and a ridge on the shares."""
    counts, y, new, truth = split
    model = LDA(**{"n_topics": N_TOPICS, "inference": "gibbs", "random_state": seed, "n_jobs": 1, **params}).fit(counts)
    ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(model.transform(counts), y)
    return _found(model, counts, new, float(predictive_r2(truth, ridge.predict(model.transform(new)))))


def _found(model: Any, counts: sp.csr_matrix, new: sp.csr_matrix, r2: float) -> Found:
    largest = float(np.asarray(model.transform(new)).max(axis=1).mean())
    return Found(model.components_, r2, largest, float(np.mean(coherence(model, counts))))


def compared(way: Way, split: Split, n_seeds: int) -> list[float]:
    """Means over seeds, and how much topics agree between them, and between samples of the documents."""
    counts, y, *new = split
    tasks = [(split, seed) for seed in range(n_seeds)]
    for seed in range(n_seeds):
        rows = np.random.default_rng(seed).permutation(len(y))[: int(SAMPLE * len(y))]
        tasks.append(((counts[rows], y[rows], *new), seed))
    fits = Parallel(n_jobs=-1)(delayed(way)(*task) for task in tasks)
    seeds, samples = fits[:n_seeds], fits[n_seeds:]
    agreed = [float(metrics.stability([fit.topics for fit in group]).mean()) for group in (seeds, samples)]
    r2, largest, npmi = (float(np.mean([found[place] for found in seeds])) for place in (1, 2, 3))
    return [r2, *agreed, largest, npmi]


def documents(name: str, n_train: int) -> Split:
    """The split of its own, with so many documents to train on."""
    counts, y, new, truth = with_texts(*CORPORA[name])
    kept = np.random.default_rng(0).permutation(len(y))[:n_train]
    return counts[kept], y[kept], new, truth


@reproduces("slda", "do topics come back with other seeds and documents, can they be read, and do they predict?")
def stability(quick: bool) -> Outcome:
    """Takes about an hour on one core."""
    names = ["talks"] if quick else list(CORPORA)
    few: dict[str, Any] = {"n_topics": 5, "max_iter": 6} if quick else {}
    ways: dict[str, Way] = {
        '"pc"': lambda split, seed: supervised(split, seed, **few),
        "LDA": lambda split, seed: unsupervised(split, seed, **few),
    }
    n_seeds = 2 if quick else N_SEEDS
    rows: list[list[Any]] = []
    for name in names:
        split = documents(name, 300 if quick else N_TRAIN)
        rows += [[name, label, *compared(way, split, n_seeds)] for label, way in ways.items()]
    note = (
        f"K = {few.get('n_topics', N_TOPICS)}, at most {N_TRAIN:,} training documents, 5,000 terms by tf-idf; "
        f"{n_seeds} seeds, and as many samples of {SAMPLE:.0%} of the documents. Defaults, `cross_fit=0`; LDA by Gibbs "
        "sampling, a ridge on its shares. Stability is that of `supertopic.metrics`; shares are a test document's."
    )
    return Outcome(COLUMNS, rows, note, None, {} if quick else claims_of(rows))


def claims_of(rows: list[list[Any]]) -> dict[str, bool]:
    """What was wanted of "pc", from the rows of the table."""
    ours, lda = (np.array([row[2:] for row in rows if row[1] == label]) for label in ('"pc"', "LDA"))
    _, seeds, samples, largest, npmi = ours.T
    return {
        "by seed at least 0.80 on average": bool(seeds.mean() >= 0.80),
        "by sample at least 0.75 on average": bool(samples.mean() >= 0.75),
        "the largest share is 0.30 or more everywhere": bool((largest >= 0.30).all()),
        "NPMI at most 0.005 below LDA's everywhere": bool((npmi >= lda[:, 4] - 0.005).all()),
        "R² above LDA's everywhere": bool((ours[:, 0] > lda[:, 0]).all()),
    }


@reproduces("slda", "what it costs that topics come back: PC(focus=), from prediction to description")
def focus(quick: bool) -> Outcome:
    """Takes three minutes on one core."""
    names = ["talks"] if quick else ["wine", "restaurants"]
    few: dict[str, Any] = {"n_topics": 5, "max_iter": 6} if quick else {}
    rows: list[list[Any]] = []
    for name in names:
        split = documents(name, 300 if quick else 2500)
        for where in ("predict", "balance", "describe"):
            way = partial(supervised, inference=PC(focus=where), **few)
            rows.append([name, where, *compared(way, split, 2)])
    note = (
        f"K = {few.get('n_topics', N_TOPICS)}, at most 2,500 training documents, 5,000 terms by tf-idf; two seeds, "
        f"two samples of {SAMPLE:.0%} of the documents. Else as `slda.stability`."
    )
    return Outcome(
        COLUMNS, rows, note, None, {} if quick else {"by sample, each more than the one before": _rises(rows)}
    )


def _rises(rows: list[list[Any]]) -> bool:
    """Whether topics agree more from one focus to the next, in each corpus."""
    samples = np.array([row[4] for row in rows]).reshape(-1, 3)
    return bool((np.diff(samples, axis=1) > 0).all())
