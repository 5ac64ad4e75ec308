"""How the time of a pass grows with documents, vocabulary, topics and classes, on drawn documents, one thread.

A pass is an EM step or a sweep. Its time is the difference between fits of few and of more passes, divided by the
number of passes between them, so that first topics and the inference after the fit are left out. The exponent b of
time ~ size^b is the slope of a line through the logarithms of the sizes from a third of the largest on: below, what
does not grow still weighs. Processor time, so that other programs disturb little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.corpus import Documents
from bench.memory_grid import draw
from bench.plan import Plan
from bench.report import Table, say
from supertopic import LDA, MedLDAClassifier, SLDAClassifier, SLDARegressor

MOST = 1.1  # target: no exponent above
DOCUMENTS, WORDS, TOPICS, CLASSES = 2_000, 5_000, 50, 20
FEW, MORE = 1, 4  # passes of the two fits

Fit = Callable[[Any, np.ndarray, int, int], Any]  # documents, labels, topics, passes


def lda(X: Any, y: np.ndarray, n_topics: int, passes: int) -> Any:
    return LDA(n_topics, max_iter=passes, tol=0, doc_topic_prior=0.1, n_jobs=1).fit(X)


def gibbs(X: Any, y: np.ndarray, n_topics: int, passes: int) -> Any:
    return LDA(n_topics, inference="gibbs", max_iter=passes + 1, burn_in=0, doc_topic_prior=0.1, n_jobs=1).fit(X)


def gaussian(X: Any, y: np.ndarray, n_topics: int, passes: int) -> Any:
    given = {"refit": False, "cross_fit": 0, "n_jobs": 1}
    return SLDARegressor(n_topics, inference="vb", max_iter=passes, tol=0, **given).fit(X, y.astype(float))


def softmax(X: Any, y: np.ndarray, n_topics: int, passes: int) -> Any:
    given = {"refit": False, "cross_fit": 0, "n_jobs": 1}
    return SLDAClassifier(n_topics, inference="vb", response="softmax", max_iter=passes, tol=0, **given).fit(X, y)


def margin(X: Any, y: np.ndarray, n_topics: int, passes: int) -> Any:
    return MedLDAClassifier(n_topics, max_iter=passes, tol=0, refit=False, n_jobs=1).fit(X, y)


GRID: list[tuple[str, str, Fit, tuple[int, ...]]] = [
    ("LDA vb", "documents", lda, (2_000, 8_000, 32_000)),
    ("LDA vb", "words", lda, (2_000, 8_000, 32_000)),
    ("LDA vb", "topics", lda, (10, 50, 250, 1_000, 2_000)),
    ("LDA gibbs", "documents", gibbs, (2_000, 8_000, 32_000)),
    ("LDA gibbs", "topics", gibbs, (10, 50, 250, 1_000, 2_000)),
    ("sLDA gaussian", "topics", gaussian, (10, 50, 250, 1_000)),
    ("sLDA softmax", "classes", softmax, (2, 8, 32, 100, 200)),
    ("MedLDA", "topics", margin, (10, 50, 250, 1_000)),
    ("MedLDA", "classes", margin, (2, 8, 32, 100, 200)),
]


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "Growth: how the time of a pass grows, one thread",
        ["fit", "with", "sizes", "seconds a pass", "exponent", "target"],
        f"Drawn documents of 100 tokens, words by Zipf's law; what does not vary: {DOCUMENTS:,} documents, {WORDS:,} "
        f"words, {TOPICS} topics, {CLASSES} classes. Processor time of fits of {MORE} passes less that of {FEW}. "
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
    """Processor seconds of a pass, the smaller of two measurements."""
    given = {"documents": DOCUMENTS, "words": WORDS, "topics": TOPICS, "classes": CLASSES, what: size}
    X = draw(given["documents"], given["words"], seed=0)
    y = np.arange(X.shape[0]) % given["classes"]
    fit(X[: 2 * given["classes"]], y[: 2 * given["classes"]], 2, 1)  # compiles

    def timed(passes: int) -> float:
        start = time.process_time()
        fit(X, y, given["topics"], passes)
        return time.process_time() - start

    return min(max(timed(MORE) - timed(FEW), 1e-6) / (MORE - FEW) for _ in range(2))


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """b of seconds ~ size^b, over the largest sizes."""
    large = max(2, sum(size >= sizes[-1] / 3 for size in sizes))
    return float(np.polyfit(np.log(sizes[-large:]), np.log(seconds[-large:]), 1)[0])
