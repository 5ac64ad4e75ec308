"""The cost of SAGE: classes over all terms, topics with a facet, and scaling with terms and with non-zeros."""

from __future__ import annotations

import os

import numpy as np

from bench import clock
from bench.corpus import Documents
from bench.plan import Plan
from bench.report import Table, say, times
from supertopic import FacetedSAGE, SAGEClassifier
from supertopic.backends.threads import Threads
from supertopic.datasets import load
from supertopic.emissions.deviations import Deviations, SparsePrior, fit_deviations

N_CLASSES, TURNS = 20, 10
MOST = 2.2  # largest ratio of times for twice the size: linear, with a margin for cache effects


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "8. SAGE: classes, facets, and how their cost grows",
        ["fit", "terms", "classes or K", "non-zeros", "seconds", "ratio", "target"],
        "Classes: `SAGEClassifier` on 20 Newsgroups, all terms of 11,269 documents, reading left out; the public "
        "Python code does not end three classes of 18,685 terms in 90 s. Facets: `FacetedSAGE` on 5,000 political "
        f"blogs, labels and interactions, until converged, two threads. A turn: {N_CLASSES} classes, one step for "
        "the background and one Newton step for all deviations, one thread; ratio to the row above, which has half as "
        "many terms or non-zeros. A term costs more once the rows of a class no longer fit the cache of a core, so "
        f"that a doubling that crosses it costs more than twice. Best of {plan.repeats}.",
    )
    if os.environ.get("SUPERTOPIC_DATA"):
        say("20 classes of all terms; topics with a facet")
        terms, seconds = _classes(plan.repeats)
        result.add("SAGEClassifier", f"{terms:,}", 20, None, f"{seconds:.2f}", None, "< 5 s")
        terms, seconds = _facets(5 if plan.quick else 100)
        result.add("FacetedSAGE", f"{terms:,}", 30, None, f"{seconds:.1f}", None, "< 120 s")
    largest = 20_000 if plan.quick else 160_000
    before = None
    for n_terms in (largest // 4, largest // 2, largest):
        say(f"a turn over {n_terms:,} terms")
        seconds = turn(n_terms, 0.1, plan.repeats)
        ratio = times(seconds / before if before else None)
        cells = (f"{n_terms:,}", N_CLASSES, f"{int(0.1 * n_terms * N_CLASSES):,}", f"{seconds:.4f}")
        result.add("a turn, more terms", *cells, ratio, f"<= {times(MOST)}" if ratio else None)
        before = seconds
    before = None
    for share in (0.125, 0.25, 0.5, 1.0):
        seconds = turn(largest // 4, share, plan.repeats)
        ratio = times(seconds / before if before else None)
        cells = (f"{largest // 4:,}", N_CLASSES, f"{int(share * largest // 4 * N_CLASSES):,}", f"{seconds:.4f}")
        result.add("a turn, more non-zeros", *cells, ratio, f"<= {times(MOST)}" if ratio else None)
        before = seconds
    return result


def turn(n_terms: int, share: float, repeats: int) -> float:
    """Seconds of one iteration over classes with a share of non-zeros, built so that none becomes zero."""
    rng = np.random.default_rng(0)
    background = rng.dirichlet(np.ones(n_terms))
    eta = np.where(rng.random((N_CLASSES, n_terms)) < share, rng.choice([-1.0, 1.0], (N_CLASSES, n_terms)), 0.0)
    expected = background * np.exp(eta)
    counts = 50.0 * n_terms * expected / expected.sum(axis=1, keepdims=True)
    start = Deviations(np.log(background), eta)
    found = []
    with Threads(1) as backend:
        for _ in range(repeats + 1):  # the first one compiles
            begin = clock.now()
            fit_deviations(counts, SparsePrior(), backend, start=start, max_iter=TURNS, tol=-np.inf)
            found.append((clock.now() - begin) / TURNS)
    return min(found[1:])


def _classes(repeats: int) -> tuple[int, float]:
    """Number of terms, and seconds of a fit."""
    data = load("20newsgroups_bow")
    train = (data.frame["split"] == "train").to_numpy()
    X, y = data.counts.counts[train], data.frame["label"].to_numpy()[train]
    X = X[:, np.asarray(X.sum(axis=0)).ravel() > 0]
    SAGEClassifier(max_iter=1).fit(X[::50], y[::50])
    found = []
    for _ in range(repeats):
        begin = clock.now()
        SAGEClassifier(n_jobs=2).fit(X, y)
        found.append(clock.now() - begin)
    return X.shape[1], min(found)


def _facets(max_iter: int) -> tuple[int, float]:
    """Number of terms, and seconds of a fit."""
    data = load("poliblog5k_bow")
    X, labels = data.counts.counts, data.frame[["rating"]]
    FacetedSAGE(2, max_iter=1).fit(X[:100], labels[:100].assign(rating=["a", "b"] * 50))
    begin = clock.now()
    FacetedSAGE(30, n_jobs=2, max_iter=max_iter).fit(X, labels)
    return X.shape[1], clock.now() - begin
