"""Two threads against one: ours, whose result is the same bit for bit, and the samplers of others."""

from __future__ import annotations

import numpy as np

from bench import ours
from bench.corpus import Documents
from bench.peers import installed
from bench.plan import Plan
from bench.report import Table, say, times

TARGET = 1.7


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "3. Two threads against one",
        ["K", "library", "inference", "s/pass, 1 thread", "s/pass, 2 threads", "speed-up", "same result", "target"],
        f"{documents.describe()}. Seconds per sweep or EM step, the first of each fit left out; best of "
        f"{plan.repeats + 1}, interleaved. \"Same result\": topics with two threads equal those with one, bit for bit.",
    )  # fmt: skip
    passes = {"gibbs": 8, "vb": 3}
    for n_topics in plan.topics((50, 200)):
        ours.warm_up(documents.train, n_topics)
        for inference in passes:
            say(f"ours, {inference}, K = {n_topics}")
            seconds, topics = {1: np.inf, 2: np.inf}, {}
            for _ in range(plan.repeats + 1):
                for n_jobs in (1, 2):
                    taken, topics[n_jobs] = per_pass(documents, n_topics, inference, passes[inference], n_jobs)
                    seconds[n_jobs] = min(seconds[n_jobs], taken)
            same = "yes" if np.array_equal(topics[1], topics[2]) else "NO"
            result.add(n_topics, "supertopic", inference, *cells(seconds), same, times(TARGET))
        for peer in installed("gibbs"):
            say(f"{peer.name}, K = {n_topics}")
            seconds, fits = {1: np.inf, 2: np.inf}, {}
            for _ in range(plan.repeats):
                for n_jobs in (1, 2):
                    fits[n_jobs] = peer.fit(documents.train, n_topics, passes["gibbs"], n_jobs)
                    seconds[n_jobs] = min(seconds[n_jobs], fits[n_jobs].seconds / passes["gibbs"])
            same = "yes" if np.array_equal(fits[1].word_topic, fits[2].word_topic) else "no"
            result.add(n_topics, peer.name, peer.inference, *cells(seconds), same, None)
    return result


def cells(seconds: dict[int, float]) -> tuple[str, str, str | None]:
    return f"{seconds[1]:.3f}", f"{seconds[2]:.3f}", times(seconds[1] / seconds[2])


def per_pass(documents: Documents, n_topics: int, inference: str, passes: int, n_jobs: int) -> tuple[float, np.ndarray]:
    """Mean seconds of the passes after the first, and what is known of the topics at the end."""
    seconds, final = [], {}

    def look(done: int, now: float, arrays: dict[str, np.ndarray]) -> None:
        seconds.append(now)
        final.update(arrays)

    ours.watch(ours.lda(n_topics, inference, passes + 1, n_jobs, burn_in=0), documents.train, look)
    return (seconds[-1] - seconds[0]) / passes, final["topic" if inference == "gibbs" else "word_topic"]
