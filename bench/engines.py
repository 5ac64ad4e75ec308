"""Two threads against one, for whole fits of every supervised engine."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bench.corpus import Documents
from bench.plan import Plan
from bench.report import Table, say, times
from supertopic import (
    DiscLDAClassifier,
    FacetedSAGE,
    MedLDAClassifier,
    MedLDARegressor,
    SAGEClassifier,
    SLDAClassifier,
    SLDARegressor,
    SSTMRegressor,
)

TARGET = 1.7
TOPICS = 50


class Labels(NamedTuple):
    """What words tell of the documents: a number, and the same in 20 classes, in five grades, as a count."""

    number: np.ndarray
    classes: np.ndarray
    grades: np.ndarray
    counts: np.ndarray


class Run(NamedTuple):
    seconds: float
    cores: float  # processor over wall time
    topics: np.ndarray


Fit = Callable[[Any, Labels, int], Any]  # documents, labels, threads
ALONE: dict[str, Any] = {"cross_fit": 0, "max_iter": 6}
FITS: dict[str, Fit] = {
    'sLDA "pc", gaussian, five folds': lambda X, y, n: SLDARegressor(
        TOPICS, response="gaussian", max_iter=6, n_jobs=n
    ).fit(X, y.number),
    'sLDA "pc", gaussian': lambda X, y, n: SLDARegressor(TOPICS, response="gaussian", n_jobs=n, **ALONE).fit(
        X, y.number
    ),
    'sLDA "pc", gaussian, words': lambda X, y, n: SLDARegressor(
        TOPICS, response="gaussian", words=True, n_jobs=n, **ALONE
    ).fit(X, y.number),
    'sLDA "pc", negative_binomial': lambda X, y, n: SLDARegressor(
        TOPICS, response="negative_binomial", n_jobs=n, **ALONE
    ).fit(X, y.counts),
    'sLDA "pc", ordinal': lambda X, y, n: SLDAClassifier(TOPICS, response="ordinal", n_jobs=n, **ALONE).fit(
        X, y.grades
    ),
    'sLDA "pc", softmax': lambda X, y, n: SLDAClassifier(TOPICS, response="softmax", n_jobs=n, **ALONE).fit(
        X, y.classes
    ),
    'sLDA "vb", gaussian': lambda X, y, n: SLDARegressor(
        TOPICS, inference="vb", response="gaussian", n_jobs=n, **ALONE
    ).fit(X, y.number),
    'sLDA "vb", negative_binomial': lambda X, y, n: SLDARegressor(
        TOPICS, inference="vb", response="negative_binomial", n_jobs=n, **ALONE
    ).fit(X, y.counts),
    'sLDA "vb", softmax': lambda X, y, n: SLDAClassifier(
        TOPICS, inference="vb", response="softmax", n_jobs=n, **ALONE
    ).fit(X, y.classes),
    'sLDA "gibbs", gaussian': lambda X, y, n: SLDARegressor(
        TOPICS, inference="gibbs", response="gaussian", n_jobs=n, cross_fit=0, max_iter=20
    ).fit(X, y.number),
    "MedLDA": lambda X, y, n: MedLDAClassifier(TOPICS, max_iter=6, n_jobs=n).fit(X, y.classes),
    "MedLDA, numbers": lambda X, y, n: MedLDARegressor(TOPICS, max_iter=6, n_jobs=n).fit(X, y.number),
    "SSTM": lambda X, y, n: SSTMRegressor(TOPICS, max_iter=20, n_jobs=n).fit(X, y.number),
    "DiscLDA": lambda X, y, n: DiscLDAClassifier(max_iter=4, n_jobs=n).fit(X, y.classes),
    "SAGE, classes": lambda X, y, n: SAGEClassifier(max_iter=6, n_jobs=n).fit(X, y.classes),
    "SAGE, facets": lambda X, y, n: FacetedSAGE(20, max_iter=4, n_jobs=n).fit(X, y.classes),
}


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "12. Supervised engines: two threads against one",
        ["fit", "s, 1 thread", "s, 2 threads", "cores had", "speed-up", "same result", "target"],
        f"{documents.describe()}. Whole fits of {TOPICS} topics (facets: 20; DiscLDA: its default) and few passes, "
        f"wall seconds, best of {plan.repeats}, interleaved. What words tell is drawn: a weight for each word. \"Cores "
        "had\": processor over wall time of the run with two threads.",
    )  # fmt: skip
    X = documents.train[:1000] if plan.quick else documents.train
    labels = draw_labels(X)
    for name, fit in FITS.items():
        say(name)
        run(fit, X[:200], Labels(*(y[:200] for y in labels)), 2)  # compiles
        runs: dict[int, list[Run]] = {1: [], 2: []}
        for _ in range(plan.repeats):
            for n_jobs in runs:
                runs[n_jobs].append(run(fit, X, labels, n_jobs))
        one, two = (min(runs[n_jobs], key=lambda one: one.seconds) for n_jobs in runs)
        same = "yes" if np.array_equal(one.topics, two.topics) else "no"
        ratio = times(one.seconds / two.seconds)
        result.add(name, f"{one.seconds:.2f}", f"{two.seconds:.2f}", f"{two.cores:.1f}", ratio, same, times(TARGET))
    return result


def draw_labels(X: sp.csr_matrix) -> Labels:
    rng = np.random.default_rng(0)
    line = np.log1p(X) @ rng.normal(size=X.shape[1])
    place = np.argsort(np.argsort(line)) / len(line)
    counts = rng.poisson(np.exp(2.0 * place))
    return Labels(place + 0.1 * rng.normal(size=len(line)), (20 * place).astype(int), (5 * place).astype(int), counts)


def run(fit: Fit, X: sp.csr_matrix, labels: Labels, n_jobs: int) -> Run:
    wall, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few passes do not converge
        model = fit(X, labels, n_jobs)
    seconds = time.perf_counter() - wall
    return Run(seconds, (time.process_time() - processor) / seconds, np.asarray(model.components_))
