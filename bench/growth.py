"""How the time of a pass grows with documents, vocabulary, topics and classes, on drawn documents, one thread.

A pass is an EM step or a sweep, timed from the end of one to the end of the next, so that first topics and inference
after the fit are left out; the median of several counts. The exponent b of time ~ size^b is the slope of a line through
the logarithms of the sizes from a third of the largest on: below, what does not grow still weighs. Processor time, so
that other programs disturb little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.corpus import Documents
from bench.memory_grid import draw
from bench.plan import Plan
from bench.report import Table, say
from supertopic import LDA, Gibbs, MedLDAClassifier, SLDAClassifier, SLDARegressor
from supertopic.inference import task
from supertopic.inference.task import Watch

MOST = 1.1  # target: no exponent above
DOCUMENTS, WORDS, TOPICS, CLASSES = 2_000, 5_000, 50, 20
PASSES = 8  # the first is not counted

Fit = Callable[[Any, np.ndarray, int], Any]  # documents, labels, topics


def lda(X: Any, y: np.ndarray, n_topics: int) -> Any:
    return LDA(n_topics, max_iter=PASSES, tol=0, doc_topic_prior=0.1, n_jobs=1).fit(X)


def gibbs(X: Any, y: np.ndarray, n_topics: int) -> Any:
    return LDA(n_topics, inference=Gibbs(burn_in=0), max_iter=PASSES, doc_topic_prior=0.1, n_jobs=1).fit(X)


def gaussian(X: Any, y: np.ndarray, n_topics: int) -> Any:
    given = {"refit": False, "cross_fit": 0, "n_jobs": 1}
    model = SLDARegressor(n_topics, inference="vb", response="gaussian", max_iter=PASSES, tol=0, **given)
    return model.fit(X, y.astype(float))


def trained(X: Any, y: np.ndarray, n_topics: int) -> Any:
    given = {"refit": False, "cross_fit": 0, "n_jobs": 1}
    model = SLDARegressor(n_topics, inference="pc", response="gaussian", max_iter=PASSES, **given)
    return model.fit(X, y.astype(float))


def softmax(X: Any, y: np.ndarray, n_topics: int) -> Any:
    given = {"refit": False, "cross_fit": 0, "n_jobs": 1}
    return SLDAClassifier(n_topics, inference="vb", response="softmax", max_iter=PASSES, tol=0, **given).fit(X, y)


def margin(X: Any, y: np.ndarray, n_topics: int) -> Any:
    return MedLDAClassifier(n_topics, max_iter=PASSES, tol=0, refit=False, n_jobs=1).fit(X, y)


GRID: list[tuple[str, str, Fit, tuple[int, ...]]] = [
    ("LDA vb", "documents", lda, (2_000, 8_000, 32_000)),
    ("LDA vb", "words", lda, (2_000, 8_000, 32_000)),
    ("LDA vb", "topics", lda, (10, 50, 250, 1_000, 2_000)),
    ("LDA gibbs", "documents", gibbs, (2_000, 8_000, 32_000)),
    ("LDA gibbs", "topics", gibbs, (10, 50, 250, 1_000, 2_000)),
    ("sLDA gaussian", "topics", gaussian, (10, 50, 250, 1_000)),
    ("sLDA pc", "documents", trained, (2_000, 8_000, 32_000)),
    ("sLDA pc", "topics", trained, (10, 50, 250, 1_000)),
    ("sLDA softmax", "classes", softmax, (2, 8, 32, 100, 200)),
    ("MedLDA", "topics", margin, (10, 50, 250, 1_000)),
    ("MedLDA", "classes", margin, (2, 8, 32, 100, 200)),
]


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "Growth: how the time of a pass grows, one thread",
        ["fit", "with", "sizes", "seconds a pass", "exponent", "target"],
        f"Drawn documents of 100 tokens, words by Zipf's law; what does not vary: {DOCUMENTS:,} documents, {WORDS:,} "
        f"words, {TOPICS} topics, {CLASSES} classes. Processor time, the median of {PASSES - 1} passes. "
        "Exponent: of the sizes from a third of the largest on, or of the last two.",
    )  # fmt: skip
    for name, what, fit, sizes in GRID:
        if plan.quick:
            sizes = sizes[:3]
        say(f"{name} with {what}: {sizes}")
        seconds = [a_pass(fit, what, size) for size in sizes]
        shown = (", ".join(f"{size:,}" for size in sizes), ", ".join(f"{one:.3g}" for one in seconds))
        result.add(name, what, *shown, f"{exponent(sizes, seconds):.2f}", f"<= {MOST}")
    return result


def a_pass(fit: Fit, what: str, size: int) -> float:
    """Processor seconds of a pass."""
    given = {"documents": DOCUMENTS, "words": WORDS, "topics": TOPICS, "classes": CLASSES, what: size}
    X = draw(given["documents"], given["words"], seed=0)
    y = np.arange(X.shape[0]) % given["classes"]
    fit(X[: 5 * given["classes"]], y[: 5 * given["classes"]], 2)  # compiles
    ends: list[float] = []

    class Timed(Watch):
        def step(self, *arguments: Any, **more: Any) -> None:
            super().step(*arguments, **more)
            ends.append(time.process_time())

    with patch.object(task, "Watch", Timed):
        fit(X, y, given["topics"])
    return float(np.median(np.diff(ends)))


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """b of seconds ~ size^b, over the largest sizes."""
    large = max(2, sum(size >= sizes[-1] / 3 for size in sizes))
    return float(np.polyfit(np.log(sizes[-large:]), np.log(seconds[-large:]), 1)[0])
