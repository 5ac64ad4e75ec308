"""The cost of a response in a variational fit: sLDA against LDA with the same K, and against the authors' program."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from bench import clock
from bench.corpus import ALPHA, BETA, Documents
from bench.plan import Plan
from bench.report import Table, say, times
from bench.supervised import standardised_log_length
from supertopic import LDA, SLDAClassifier, SLDARegressor
from supertopic.datasets import load

MOST = 2.0  # target: at most this multiple of an LDA fit
AUTHORS = 209.0  # after these seconds class-slda (C++) had not finished its first EM step: 20 classes, K = 40, one core
LEAST = 10.0  # target: at least this many times faster
STEPS_ONLY = {"inference": "vb", "refit": False, "cross_fit": 0}


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "7. What a response costs a variational fit, one thread",
        ["fit", "K", "steps", "seconds", "beside", "steps", "seconds", "ratio", "target"],
        f"{documents.describe()}. Gaussian sLDA (y: logarithm of the document's length, standardised) and LDA, both "
        f"from their first topics until the bound gains less than 1e-4, alpha = {ALPHA}, beta = {BETA}; without the "
        "refit of the coefficients; ratio: ours to LDA's seconds, to be at most the target. Softmax, 20 classes: one "
        f"EM step at defaults; class-slda (C++) had not ended its first after {AUTHORS:.0f} s of processor time on "
        "another machine of this kind, all terms of the same documents; ratio: how many times faster. Best of "
        f"{plan.repeats}, interleaved.",
    )  # fmt: skip
    response = standardised_log_length(documents)
    for n_topics in plan.topics((20, 50)):
        lda = _maker(LDA, n_topics, n_jobs=1, topic_word_prior=BETA, doc_topic_prior=ALPHA)
        ours = _maker(SLDARegressor, n_topics, n_jobs=1, topic_word_prior=BETA, doc_topic_prior=ALPHA, **STEPS_ONLY)
        for make in (lda, ours):
            make(max_iter=2).fit(documents.train[:200], response[:200])
        plain, own = [], []
        for _ in range(plan.repeats):
            say(f"LDA and sLDA to convergence, K = {n_topics}")
            plain.append(_timed(lda(max_iter=100), documents.train, response))
            own.append(_timed(ours(max_iter=100), documents.train, response))
        (base, base_steps), (seconds, steps) = min(plain), min(own)
        result.add(
            "sLDA, gaussian", n_topics, steps, f"{seconds:.1f}", "LDA", base_steps, f"{base:.1f}",
            times(seconds / base), f"<= {times(MOST)}",
        )  # fmt: skip
    if os.environ.get("SUPERTOPIC_DATA"):
        say("sLDA with 20 classes, K = 40: six EM steps")
        one = _step_of_classes(40)
        result.add(
            "sLDA, softmax", 40, 1, f"{one:.1f}", "class-slda", "< 1", f"> {AUTHORS:.0f}", f"> {times(AUTHORS / one)}",
            f">= {times(LEAST)}",
        )  # fmt: skip
    return result


def _maker(kind: Any, n_topics: int, **options: Any) -> Any:
    return lambda **more: kind(n_topics, **options, **more)


def _timed(model: Any, X: Any, y: np.ndarray) -> tuple[float, int]:
    """Seconds of the fit, and its number of steps."""
    start = clock.now()
    model.fit(X, y)
    return clock.now() - start, model.n_iter_


def _step_of_classes(n_topics: int) -> float:
    """Seconds of an EM step, from fits with one and with six steps."""
    bunch = load("20newsgroups_bow")
    train = (bunch.frame["split"] == "train").to_numpy()
    X, y = bunch.counts.counts[train], bunch.frame["label"].to_numpy()[train]
    seconds = []
    for steps in (1, 6):
        model = SLDAClassifier(n_topics, max_iter=steps, tol=0, n_jobs=1, **STEPS_ONLY)
        seconds.append(_timed(model, X, y)[0])
    return (seconds[1] - seconds[0]) / 5
