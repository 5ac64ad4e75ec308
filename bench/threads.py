"""Two threads against one: our engines, whose results are identical, and the samplers of other libraries."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from bench import ours
from bench.corpus import Documents
from bench.peers import Peer, installed
from bench.plan import Plan
from bench.report import Table, say, times
from supertopic.backends.threads import Threads

TARGET = 1.7
PASSES = {"gibbs": 8, "vb": 3}
WHOLE = {"gibbs": 20, "vb": 5}  # passes of a complete fit: few, so that start and end have a large share


class Run(NamedTuple):
    """Wall seconds per pass, cores used, the topics (or the topics of tokens), seconds of a complete fit."""

    seconds: float
    cores: float
    topics: np.ndarray
    whole: float | None = None


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "3. Two threads against one",
        [
            "K", "library", "inference", "s/pass, 1 thread", "s/pass, 2 threads", "cores had", "speed-up",
            "same result", "whole fit, s, 1 thread", "2 threads", "whole speed-up", "target",
        ],
        f"{documents.describe()}. Wall seconds per sweep or EM step, the first of each of our fits left out; best of "
        f"{plan.repeats + 1}, interleaved. \"Cores had\": processor over wall time of the run with two threads; well "
        "below 2, others kept the second core, and the speed-up says nothing. \"Same result\": bit for bit. \"Whole "
        f"fit\": `LDA.fit` with its start and the shares of all documents at its end, {WHOLE['gibbs']} sweeps or "
        f"{WHOLE['vb']} EM steps.",
    )  # fmt: skip
    result.note += (
        f" All that two threads of this machine can give: {ceiling(multiply):.2f} times as many products of vectors in "
        f"the first-level cache as one, and {ceiling(hash_on):.2f} times as long chains of scalar ones. Where the "
        "first is far below 2, the two share the units of one core, which keeps programs of vectors from doubling."
    )
    for n_topics in plan.topics((50, 200)):
        ours.warm_up(documents.train, n_topics)
        fits = [("supertopic", inference, run_ours) for inference in PASSES]
        fits += [(peer.name, peer.inference, run_peer(peer)) for peer in installed("gibbs")]
        for library, inference, fit in fits:
            say(f"{library}, {inference}, K = {n_topics}")
            runs: dict[int, list[Run]] = {1: [], 2: []}
            for _ in range(plan.repeats + 1):
                for n_jobs in runs:
                    runs[n_jobs].append(fit(documents, n_topics, inference, n_jobs))
            one, two = (min(runs[n_jobs], key=lambda run: run.seconds) for n_jobs in runs)
            result.add(
                n_topics, library, inference, f"{one.seconds:.3f}", f"{two.seconds:.3f}", f"{two.cores:.1f}",
                times(one.seconds / two.seconds), "yes" if np.array_equal(one.topics, two.topics) else "no",
                *whole_fits(runs[1], runs[2]), times(TARGET) if library == "supertopic" else None,
            )  # fmt: skip
    return result


@njit(nogil=True, fastmath=True)
def multiply(n: int) -> float:
    """Compute n products of two vectors that fit in the first-level cache."""
    a, b = np.ones(2048, np.float32), np.ones(2048, np.float32)
    total = np.float32(0.0)
    for _ in range(n):
        for k in range(len(a)):
            total += a[k] * b[k]
        a[0] = total * np.float32(1e-9)
    return total


@njit(nogil=True)
def hash_on(n: int) -> int:
    """Compute 16 n steps, each of which depends on the previous one."""
    x = np.uint64(1)
    for i in range(16 * n):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(i)
    return x


def ceiling(work: Callable[[int], float], n: int = 500_000) -> float:
    """Speed-up of two threads over one on independent work: the largest that any program could reach."""
    work(1)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(5):
        for n_jobs in seconds:
            with Threads(n_jobs) as backend:
                before = time.perf_counter()
                backend.all([(work, n), (work, n)])
                seconds[n_jobs].append(time.perf_counter() - before)
    return min(seconds[1]) / min(seconds[2])


def whole_fits(one: list[Run], two: list[Run]) -> tuple[str | None, str | None, str | None]:
    """Seconds of the fastest run with one and with two threads, and their ratio."""
    seconds = [min((run.whole for run in runs if run.whole is not None), default=None) for runs in (one, two)]
    if seconds[0] is None or seconds[1] is None:
        return None, None, None
    return f"{seconds[0]:.2f}", f"{seconds[1]:.2f}", times(seconds[0] / seconds[1])


def run_ours(documents: Documents, n_topics: int, inference: str, n_jobs: int) -> Run:
    wall, processor, final = [], [], {}

    def look(done: int, now: float, arrays: dict[str, np.ndarray]) -> None:
        wall.append(time.perf_counter())
        processor.append(time.process_time())
        final.update(arrays)

    engine = {"inference__burn_in": 0} if inference == "gibbs" else {}
    ours.watch(ours.lda(n_topics, inference, PASSES[inference] + 1, n_jobs, **engine), documents.train, look)
    seconds = wall[-1] - wall[0]
    topics = final["topic" if inference == "gibbs" else "word_topic"]
    before = time.perf_counter()
    ours.lda(n_topics, inference, WHOLE[inference], n_jobs).fit(documents.train)
    whole = time.perf_counter() - before
    return Run(seconds / PASSES[inference], (processor[-1] - processor[0]) / seconds, topics, whole)


def run_peer(peer: Peer) -> Callable[[Documents, int, str, int], Run]:
    def fit(documents: Documents, n_topics: int, inference: str, n_jobs: int) -> Run:
        fitted = peer.fit(documents.train, n_topics, PASSES[inference], n_jobs)
        return Run(fitted.seconds / PASSES[inference], fitted.cores, fitted.word_topic)

    return fit
