"""Whether what the models say about certainty is true, for every response on three corpora each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from experiments.book import Outcome, reproduces
from experiments.calibration import (
    MOST_TESTED,
    N_TOPICS,
    PROMISED,
    Corpus,
    averaged,
    certainty,
    claims_of,
    estimator_of,
)
from experiments.drawing import dots
from supertopic import Vectorizer
from supertopic.datasets import load

TRAINED = 1000
Column = np.ndarray


@cache
def _read(folder: str) -> tuple[Any, Any]:
    """(counts, the columns beside them) of the documents of a corpus, each once."""
    data = load(folder)
    if "text" not in data:
        return data.counts, data.frame
    frame = data.frame.assign(text=data.text).drop_duplicates("text")[: MOST_TESTED + TRAINED]
    counts = Vectorizer(stop_words="english", min_df=5, max_features=5000).fit_transform(list(frame["text"]))
    return counts, frame


def _quarters(y: Column) -> Column:
    return 1 + np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)


Source = tuple[str, str, Callable[[Any], Column]]
_NUMBERS: tuple[Source, ...] = (
    ("film ratings", "movie_reviews_scale", lambda frame: frame["rating"]),
    ("hotel stars", "tripadvisor", lambda frame: frame["rating"]),
    ("views of talks, logarithm", "ted_talks", lambda frame: frame["log_views"]),
)
_POSITIVE: tuple[Source, ...] = (
    ("film ratings, 1 to 11", "movie_reviews_scale", lambda frame: 1 + 10 * frame["rating"]),
    ("hotel stars", "tripadvisor", lambda frame: frame["rating"]),
    ("views of talks", "ted_talks", lambda frame: frame["views"]),
)
_COUNTS: tuple[Source, ...] = (
    ("film ratings, 0 to 10", "movie_reviews_scale", lambda frame: np.rint(10 * frame["rating"])),
    ("hotel stars that are missing", "tripadvisor", lambda frame: 5 - frame["rating"]),
    ("comments on talks", "ted_talks", lambda frame: frame["num_comments"]),
)
_PAIRS: tuple[Source, ...] = (
    ("films above the median", "movie_reviews_scale", lambda frame: frame["rating"] > frame["rating"].median()),
    ("hotels of four stars or five", "tripadvisor", lambda frame: frame["rating"] >= 4),
    ("side of political blogs", "poliblog5k_bow", lambda frame: frame["rating"]),
)
_GRADES: tuple[Source, ...] = (
    ("quarters of film ratings", "movie_reviews_scale", lambda frame: _quarters(frame["rating"].to_numpy())),
    ("hotel stars", "tripadvisor", lambda frame: frame["rating"]),
    ("restaurant stars", "we8there_bow", lambda frame: frame["rating"]),
)
_CLASSES: tuple[Source, ...] = (
    ("news sections", "bbc_news", lambda frame: frame["label"]),
    ("newsgroups", "20newsgroups", lambda frame: frame["label"]),
    ("political blogs", "poliblog5k_bow", lambda frame: frame["blog"]),
)
SOURCES: dict[str, tuple[Source, ...]] = {
    "gaussian": _NUMBERS,
    "gamma": _POSITIVE,
    "inverse_gaussian": _POSITIVE,
    "weibull": _POSITIVE,
    "poisson": _COUNTS,
    "negative_binomial": _COUNTS,
    "logit": _PAIRS,
    "probit": _PAIRS,
    "ordinal": _GRADES,
    "softmax": _CLASSES,
}


def _measure(
    response: str, place: int, weight: float | str, n_train: int, steps: int | None, seed: int
) -> list[float | None]:
    """What `certainty` returns."""
    name, folder, labels = SOURCES[response][place]
    counts, frame = _read(folder)
    corpus = Corpus(name, response, counts, np.asarray(labels(frame)))
    train, test = corpus.split(n_train, seed)
    model = estimator_of(response, weight, seed, max_iter=steps, n_jobs=1).fit(counts[train], corpus.y[train])
    return certainty(model, counts[test], corpus.y[test])


@reproduces("slda", "Every response: what the models say about certainty, and whether it is true")
def every_response(quick: bool) -> Outcome:
    """Takes about forty minutes on two cores."""
    weights: tuple[float | str, ...] = (10.0,) if quick else (1.0, 10.0, 100.0, "auto")
    n_train, steps, n_seeds = (400, 8, 1) if quick else (TRAINED, None, 4)
    cases = [
        (response, place, weight)
        for response, sources in SOURCES.items()
        for place, weight in product(range(1 if quick else len(sources)), weights)
    ]
    found = Parallel(n_jobs=-1)(
        delayed(_measure)(*case, n_train, steps, seed) for case in cases for seed in range(n_seeds)
    )
    rows: list[list[Any]] = []
    for number, (response, place, weight) in enumerate(cases):
        own = found[number * n_seeds : (number + 1) * n_seeds]
        rows.append([SOURCES[response][place][0], response, weight, *averaged(own)])
    claims = claims_of(rows, 3, quick)
    note = (
        f"K = {N_TOPICS}, defaults otherwise; {TRAINED:,} documents drawn at random, up to {MOST_TESTED:,} others to "
        "test on; means of four seeds. ±: the standard error of the mean slope, by how slopes differ between seeds. "
        "Slopes of two classes and of grades are those of 0, 1, … on their mean."
    )
    columns = ["corpus", "response", "supervision", "R² or accuracy", "slope", "±", "coverage", "error"]
    found = [(f"{row[1]}: {row[0]}", f"supervision {row[2]}", row[6]) for row in rows]
    picture = dots(found, "share of new documents in their interval or set", PROMISED, (0.88, 0.93))
    return Outcome(columns, rows, note, picture, claims)
