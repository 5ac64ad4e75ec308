"""Collapsed Gibbs: the time until our topics reach, on held-out documents, the score of the peer's final topics."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bench import clock, ours
from bench.corpus import Documents
from bench.peers import installed
from bench.plan import Plan
from bench.report import Table, say, times

TARGETS = {50: 1.2, 200: 2.0, 1000: 4.0}


@dataclass
class Curve:
    """Seconds after each sweep; at some sweeps, the score of the last sample and of the mean of recent samples."""

    seconds: list[float] = field(default_factory=lambda: [0.0])
    last: dict[int, float] = field(default_factory=dict)
    mean: dict[int, float] = field(default_factory=dict)


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "1. Collapsed Gibbs: time to the peer's quality, one thread",
        [
            "K", "sweeps", "peer", "peer s", "our s", "our whole fit, s", "peer M tok/s", "our M tok/s", "peer nats",
            "our nats, same sweeps", "same, averaged", "s to peer's nats", "ratio", "averaged, s", "averaged ratio",
            "target", "whole fit to peer's nats, s", "whole ratio",
        ],
        f"{documents.describe()}. alpha = 0.1, beta = 0.01, fixed. Nats per held-out token (document completion, one "
        "scorer). The peer's time is that of its sweeps. Our time also includes the layout of the tokens, their first "
        "topics, and the sum of the samples after every sweep; tokens per second are those of the sweeps "
        "alone. \"Averaged\": mean of the samples of the last half of the sweeps so far. \"Whole fit\": as many sweeps "
        "by `LDA.fit`, to the topic shares of the training documents; to the peer's nats, with as many sweeps as the "
        f"averaged samples took. Best of {plan.repeats}, interleaved; whole fits once.",
    )  # fmt: skip
    for peer in installed("gibbs"):
        for n_topics in plan.topics((50, 200, 1000)):
            sweeps = plan.sweeps(n_topics)
            ours.warm_up(documents.train, n_topics)
            peer_seconds, curve = np.inf, None
            for _ in range(plan.repeats):
                say(f"{peer.name}, K = {n_topics}: {sweeps} sweeps")
                fitted = peer.fit(documents.train, n_topics, sweeps)
                peer_seconds = min(peer_seconds, fitted.seconds)
                if curve is None:
                    goal = documents.score(fitted.word_topic)
                    say(f"ours, K = {n_topics}: to {goal:.4f} nats per token")
                    curve = trace(documents, n_topics, sweeps, goal)
                    best = np.array(curve.seconds)
                else:
                    best = np.minimum(best, retrace(documents, n_topics, sweeps, len(best) - 1))
            of_last, of_mean = (first_sweep(scores, goal) for scores in (curve.last, curve.mean))
            by_last, by_mean = (sweep and float(best[sweep]) for sweep in (of_last, of_mean))
            whole, least = whole_fit(documents, n_topics, sweeps), of_mean and whole_fit(documents, n_topics, of_mean)
            tokens = documents.n_tokens / 1e6
            result.add(
                n_topics, sweeps, peer.name, f"{peer_seconds:.1f}", f"{best[sweeps]:.1f}", f"{whole:.1f}",
                f"{tokens * sweeps / peer_seconds:.2f}", f"{tokens * (sweeps - 1) / (best[sweeps] - best[1]):.2f}",
                f"{goal:.4f}", f"{curve.last[sweeps]:.4f}", f"{curve.mean[sweeps]:.4f}",
                by_last and f"{by_last:.1f}", times(by_last and peer_seconds / by_last),
                by_mean and f"{by_mean:.1f}", times(by_mean and peer_seconds / by_mean),
                times(TARGETS.get(n_topics)), least and f"{least:.1f}", times(least and peer_seconds / least),
            )  # fmt: skip
    return result


def first_sweep(scores: dict[int, float], goal: float) -> int | None:
    """The first scored sweep that reached the goal."""
    return next((sweep for sweep, nats in sorted(scores.items()) if nats <= goal), None)


def whole_fit(documents: Documents, n_topics: int, sweeps: int) -> float:
    """Seconds of `LDA.fit`."""
    start = clock.now()
    ours.lda(n_topics, "gibbs", sweeps).fit(documents.train)
    return clock.now() - start


def check_sweeps(sweeps: int) -> set[int]:
    """The sweeps that are scored: about a fifth apart, up to 1.5 times the peer's number, and that number."""
    steps = {round(1.2**power) for power in range(60)}
    return {step for step in steps if step <= longest(sweeps)} | {sweeps}


def longest(sweeps: int) -> int:
    return sweeps + sweeps // 2


def sampler(n_topics: int, sweeps: int) -> ours.LDA:
    """Our sampler, which adds up all samples from the first: the mean of any window is then a difference of sums."""
    return ours.lda(n_topics, "gibbs", longest(sweeps), inference__burn_in=0, inference__thin=1)


def trace(documents: Documents, n_topics: int, sweeps: int, goal: float) -> Curve:
    """Our curve, until the last sample and the mean have both reached the goal, and for at least the peer's sweeps."""
    estimator = sampler(n_topics, sweeps)
    checks = check_sweeps(sweeps)
    needed = checks | {sweep - 1 for sweep in checks} | {sweep // 2 for sweep in checks}
    sums: dict[int, np.ndarray] = {}
    curve = Curve()

    def look(done: int, seconds: float, arrays: dict[str, np.ndarray]) -> None:
        curve.seconds.append(seconds)
        if done in needed:
            sums[done] = arrays["sums"].copy()
        if done not in checks:
            return
        for scores, before in ((curve.last, done - 1), (curve.mean, done // 2)):
            if done == sweeps or all(nats > goal for nats in scores.values()):
                counts = sums[done] - sums[before] if before else sums[done]
                scores[done] = documents.score(counts / (done - before) + estimator.topic_word_prior)
        for sweep in [sweep for sweep in sums if sweep < done // 2]:
            del sums[sweep]
        if done >= sweeps and min(curve.last.values()) <= goal and min(curve.mean.values()) <= goal:
            raise ours.Enough

    ours.watch(estimator, documents.train, look)
    return curve


def retrace(documents: Documents, n_topics: int, sweeps: int, until: int) -> np.ndarray:
    """The seconds of the same fit once more, without scoring it."""
    seconds = [0.0]

    def look(done: int, now: float, arrays: dict[str, np.ndarray]) -> None:
        seconds.append(now)
        if done == until:
            raise ours.Enough

    ours.watch(sampler(n_topics, sweeps), documents.train, look)
    return np.array(seconds)
