"""Whether what the models say about certainty is true: intervals, slopes, probabilities, and findings in noise.

Every figure is measured on documents that the fit has not seen, with defaults but for `supervision`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from experiments.book import Outcome, reproduces
from experiments.drawing import dots
from supertopic import SLDAClassifier, SLDARegressor, Vectorizer
from supertopic.datasets import load, simulate
from supertopic.metrics import align_topics
from supertopic.responses.base import registry

N_TOPICS = 20
PROMISED = 0.9  # of intervals and prediction sets
MOST_TESTED = 8000  # documents: with 2,000 in ten bins, even a perfect model's confidence seems to be off by 0.026


@dataclass(frozen=True, eq=False)
class Corpus:
    """Counts and labels of a corpus, and the response that suits them."""

    name: str
    response: str
    counts: Any
    y: np.ndarray

    def split(self, n_train: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        order = np.random.default_rng(seed).permutation(len(self.y))
        return order[:n_train], order[n_train : n_train + MOST_TESTED]


def corpora(n: int) -> list[Corpus]:
    """The first n of four corpora: a number, a count, stars and sections."""
    sources = (
        ("film ratings", "gaussian", "movie_reviews_scale", "rating"),
        ("comments on talks", "negative_binomial", "ted_talks", "num_comments"),
        ("hotel stars", "ordinal", "tripadvisor", "rating"),
        ("news sections", "softmax", "bbc_news", "label"),
    )
    found = []
    for name, response, folder, column in sources[:n]:
        data = load(folder)
        frame = data.frame.assign(text=data.text).drop_duplicates("text")[: MOST_TESTED + 4000]
        counts = Vectorizer(stop_words="english", min_df=5, max_features=5000).fit_transform(list(frame["text"]))
        found.append(Corpus(name, response, counts, frame[column].to_numpy()))
    return found


def calibration_error(chances: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """Mean distance of confidence and accuracy, over bins of equally many documents."""
    parts = np.array_split(np.argsort(chances), bins)
    return float(sum(len(p) * abs(chances[p].mean() - right[p].mean()) for p in parts) / len(chances))


def slope_of(y: np.ndarray, found: np.ndarray) -> float | None:
    """Of y on the prediction; None where that is always the same."""
    off = found - found.mean()
    return float(off @ y) / float(off @ off) if off.any() else None


def estimator_of(response: str, supervision: float | str, seed: int, **params: Any) -> Any:
    """A regressor, or a classifier where the response is one of classes."""
    kind = SLDAClassifier if registry()[response].kind == "class" else SLDARegressor
    return kind(N_TOPICS, response=response, supervision=supervision, random_state=seed, **params)


def certainty(model: Any, X: Any, y: np.ndarray) -> list[float | None]:
    """[R² or accuracy, slope of y on the prediction, coverage, calibration error] on new documents."""
    if not hasattr(model, "classes_"):
        found, low, high = model.predict(X, return_interval=PROMISED)
        r2 = 1 - ((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        return [float(r2), slope_of(y, found), float(((low <= y) & (y <= high)).mean()), None]
    chances, truth = model.predict_proba(X), np.searchsorted(model.classes_, y)
    right = chances.argmax(axis=1) == truth
    covered = model.predict_set(X, PROMISED)[np.arange(len(y)), truth]
    error = calibration_error(chances.max(axis=1), right)
    in_order = len(model.classes_) == 2 or model.response_ == "ordinal"
    slope = slope_of(truth.astype(float), chances @ np.arange(chances.shape[1])) if in_order else None
    return [float(right.mean()), slope, float(covered.mean()), error]


def averaged(found: list[list[float | None]]) -> list[float | None]:
    """Means over the seeds, and, after the mean of the slopes, its standard error; None where a number is missing."""
    columns = [None if None in column else np.array(column) for column in zip(*found, strict=True)]
    means = [None if column is None else float(column.mean()) for column in columns]
    slopes, n_seeds = columns[1], len(found)
    error = None if slopes is None or n_seeds < 2 else float(slopes.std(ddof=1) / np.sqrt(n_seeds))
    return [*means[:2], error, *means[2:]]


def claims_of(rows: list[list[Any]], first: int, quick: bool) -> dict[str, bool]:
    """What holds of all rows; first : the column of `averaged`. Few documents do not tell a slope, nor an error."""
    _, slope, near, covered, error = (
        np.array([row[first + place] for row in rows if row[first + place] is not None]) for place in range(5)
    )
    room = 0.05 if quick else 0.03
    claims = {
        f"intervals and sets of 0.9 hold 0.9 of new documents, to {room:g}": np.abs(covered - PROMISED).max() < room
    }
    if not quick:
        off = np.abs(slope - 1.0) <= np.maximum(0.1, 2.0 * near)
        claims["the slope of y on the prediction is 0.9 to 1.1, or within two errors of 1"] = off.all()
        claims["confidence is right to 0.04 on average"] = error.max() <= 0.04
    return {claim: bool(holds) for claim, holds in claims.items()}


def measure(corpus: Corpus, n_train: int, supervision: float | str, seed: int, steps: int | None) -> list[float | None]:
    """What `certainty` returns, the share of findings in noise, and what the folds cost, in fits."""
    train, test = corpus.split(n_train, seed)
    X, y = corpus.counts, corpus.y

    def fit(response: str, labels: np.ndarray, **more: Any) -> tuple[Any, float]:
        model, start = estimator_of(response, supervision, seed, max_iter=steps, n_jobs=1, **more), time.process_time()
        model.fit(X[train], labels)
        return model, time.process_time() - start

    (model, whole), (_, alone) = fit(corpus.response, y[train]), fit(corpus.response, y[train], cross_fit=0)
    findings = None
    if not hasattr(model, "classes_"):
        other, _ = fit("gaussian", np.random.default_rng([seed, 1]).normal(size=len(train)))
        findings = float(np.mean(np.abs(other.coef_) > 1.645 * other.coef_std_))
    return [*certainty(model, X[test], y[test]), findings, whole / alone - 1.0]


@reproduces("slda", "What the models say about certainty, and whether it is true")
def calibration(quick: bool) -> Outcome:
    """Takes about half an hour on two cores."""
    weights: tuple[float | str, ...] = (10.0,) if quick else (1.0, 10.0, 100.0, "auto")
    sizes = (500,) if quick else (500, 1000, 4000)
    steps = 15 if quick else None
    cases = [
        (corpus, n_train, weight)
        for corpus in corpora(2 if quick else 4)
        for n_train, weight in product(sizes, weights)
        if n_train + 500 <= len(corpus.y)
    ]
    tasks = [(*case, seed) for case in cases for seed in range(1 if quick else 2 if case[1] > 1000 else 4)]
    found = Parallel(n_jobs=-1)(delayed(measure)(*task, steps) for task in tasks)
    rows: list[list[Any]] = []
    for case in cases:
        own = [one for one, task in zip(found, tasks, strict=True) if task[:3] == case]
        rows.append([case[0].name, case[0].response, *case[1:], *averaged(own)])
    findings = max(row[9] for row in rows if row[9] is not None)
    claims = {
        **claims_of(rows, 4, quick),
        "noise has no more findings than a test at 10 % may have": findings <= 0.16,
    }
    note = (
        f"K = {N_TOPICS}, defaults otherwise; documents drawn at random, up to {MOST_TESTED:,} others to test on; "
        "means of four seeds, two for 4,000 documents. ±: the standard error of the mean slope, by how slopes differ "
        "between seeds. Findings: topics whose coefficient differs from the mean by more than 1.645 standard "
        "errors where y is pure noise. Calibration error: mean distance of confidence and accuracy over ten bins. "
        "Slopes of grades are those of 0, 1, … on their mean. Folds: processor time of the fits behind all this, in "
        "fits without them."
    )
    columns = [
        "corpus",
        "response",
        "documents",
        "supervision",
        "R² or accuracy",
        "slope",
        "±",
        "coverage",
        "error",
        "noise",
        "folds",
    ]
    found = [(f"{row[0]}, {row[2]:,} documents", f"supervision {row[3]}", row[7]) for row in rows]
    picture = dots(found, "share of new documents in their interval or set", PROMISED, (0.88, 0.93))
    return Outcome(columns, rows, note, picture, claims)


def known_truth(response: str, seed: int, **params: Any) -> tuple[np.ndarray, np.ndarray]:
    """(errors of simulated topics' coefficients in standard errors, and in units of the range of the true ones)"""
    coef, noise = [-1.0, 0.0, 0.5, 1.5], 0.4 if response == "gaussian" else None
    data = simulate(600, 4, 300, 120, 0.3, 0.05, response=response, coef=coef, dispersion=noise, seed=seed)
    kind = SLDAClassifier if response == "logit" else SLDARegressor
    model = kind(4, response=response, random_state=seed, **params).fit(data.counts, data.y)
    order = align_topics(data.components, model.components_).order
    truth = data.coef - data.topic_shares.mean(axis=0) @ data.coef
    off = np.ravel(model.coef_)[order] - truth
    return off / np.ravel(model.coef_std_)[order], off / np.ptp(truth)


@reproduces("slda", "Coefficients of simulated topics: how often their intervals hold the truth")
def known_coefficients(quick: bool) -> Outcome:
    """Takes about half an hour on two cores."""
    ways: dict[str, dict[str, Any]] = {
        "the defaults": {},
        "honest=0.5": {"honest": 0.5},
        'inference="vb"': {"inference": "vb"},
    }
    rows = []
    responses = ("gaussian", "poisson", "negative_binomial", "logit")[: 1 if quick else 4]
    for response, (way, params) in product(responses, ways.items()):
        fits = (delayed(known_truth)(response, seed, n_jobs=1, **params) for seed in range(3 if quick else 200))
        found = Parallel(n_jobs=-1)(fits)
        z, off = (np.concatenate(part) for part in zip(*found, strict=True))
        rows.append([response, way, float(np.mean(np.abs(z) < 1.645)), float(z.mean()), float(np.abs(off).mean())])
    note = (
        "600 documents of 120 tokens, 300 words, four topics, coefficients -1, 0, 0.5, 1.5 of the tokens' topics; fits "
        "with four topics, matched to the truth; 200 data sets for each row. Covered: 90 % intervals, "
        "`coef_` ± 1.645 `coef_std_`, that hold the true difference to the average document. The error is the mean "
        "distance of the two as a part of the range of true coefficients."
    )
    claims = {"nine of ten intervals hold the truth, to 0.04": all(abs(row[2] - 0.9) <= 0.04 for row in rows)}
    return Outcome(["response", "fit", "covered", "mean z", "error"], rows, note, None, {} if quick else claims)


@reproduces("slda", "what folds and halves of the labels are for: film ratings, with and without them")
def without_folds(quick: bool) -> Outcome:
    """Takes a few minutes on one core."""
    corpus, n_seeds = corpora(1)[0], 1 if quick else 4
    ways: dict[str, dict[str, Any]] = {
        f'inference="vb", supervision={weight}, cross_fit={folds}': {
            "inference": "vb", "supervision": float(weight), "cross_fit": folds,
        }
        for weight, folds in product((1, 100), (0, 5))
    } | {"honest=0.5": {"supervision": 1.0, "honest": 0.5}}  # fmt: skip
    rows: list[list[Any]] = []
    for way, params in ways.items():
        found, findings = [], []
        for seed in range(4 * n_seeds):
            train, test = corpus.split(1000, seed)
            model = estimator_of("gaussian", seed=seed, n_jobs=1, max_iter=5 if quick else None, **params)
            if seed < n_seeds:
                model.fit(corpus.counts[train], corpus.y[train])
                found.append(certainty(model, corpus.counts[test], corpus.y[test])[:3])
            model.fit(corpus.counts[train], np.random.default_rng([seed, 1]).normal(size=len(train)))
            findings.append(np.abs(model.coef_) > 1.645 * model.coef_std_)
        means = (None if None in one else float(np.mean(one)) for one in zip(*found, strict=True))
        rows.append([way, *means, float(np.mean(findings))])
    note = (
        f"Film reviews, K = {N_TOPICS}, 1,000 documents to learn from, means of four splits. Findings, of sixteen: "
        "topics whose coefficient is over 1.645 standard errors from zero, where y is noise; a test of 10 % has 0.1."
    )
    claims = {
        "without folds, intervals hold less than 0.8 at supervision 100": rows[2][3] < 0.8,
        "with folds, intervals hold 0.9, to 0.03": all(abs(rows[place][3] - PROMISED) < 0.03 for place in (1, 3)),
        "without folds, noise is found, at supervision 100": rows[2][4] > 0.5,
        "honest=0.5 finds noise as often as promised, to 0.05": abs(rows[4][4] - 0.1) < 0.05,
    }
    columns = ["fit", "R²", "slope", "coverage", "findings in noise"]
    return Outcome(columns, rows, note, None, {} if quick else claims)
