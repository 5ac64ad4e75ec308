"""Collapsed Gibbs: how long until our topics are as good, on held-out documents, as the peer's at its end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bench import ours
from bench.corpus import Documents
from bench.peers import installed
from bench.plan import Plan
from bench.report import Table, say, times

TARGETS = {50: 1.2, 200: 2.0, 1000: 4.0}


@dataclass
class Curve:
    """Seconds after each sweep, and at some sweeps the score of the last sample and of the mean of recent samples."""

    seconds: list[float] = field(default_factory=lambda: [0.0])
    last: dict[int, float] = field(default_factory=dict)
    mean: dict[int, float] = field(default_factory=dict)


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "1. Collapsed Gibbs: time to the peer's quality, one thread",
        [
            "K", "sweeps", "peer", "peer s", "peer M tok/s", "ours M tok/s", "peer nats", "ours, same sweeps",
            "same, averaged", "s to peer's nats", "ratio", "averaged, s", "averaged ratio", "target",
        ],
        f"{documents.describe()}. alpha = 0.1, beta = 0.01, fixed. Nats per held-out token (document completion, one "
        "scorer). The peer's time is that of its sweeps; ours begins before tokens are laid out, and has averaging in "
        f"it. \"Averaged\": mean of samples of the last half of the sweeps. Best of {plan.repeats}, interleaved.",
    )  # fmt: skip
    for peer in installed("gibbs"):
        for n_topics in plan.topics((50, 200, 1000)):
            sweeps = plan.sweeps(n_topics)
            ours.warm_up(documents.train, n_topics)
            peer_seconds, our_seconds, curve = np.inf, np.inf, None
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
            rate = documents.n_tokens * sweeps / 1e6
            by_last, by_mean = (first_at(scores, goal, best) for scores in (curve.last, curve.mean))
            our_seconds = float(best[sweeps])
            result.add(
                n_topics, sweeps, peer.name, f"{peer_seconds:.1f}", f"{rate / peer_seconds:.2f}",
                f"{rate / our_seconds:.2f}", f"{goal:.4f}", f"{curve.last[sweeps]:.4f}", f"{curve.mean[sweeps]:.4f}",
                by_last and f"{by_last:.1f}", times(by_last and peer_seconds / by_last),
                by_mean and f"{by_mean:.1f}", times(by_mean and peer_seconds / by_mean),
                times(TARGETS.get(n_topics)),
            )  # fmt: skip
    return result


def first_at(scores: dict[int, float], goal: float, seconds: np.ndarray) -> float | None:
    """Seconds at the first sweep that was scored and reached the goal."""
    reached = [sweep for sweep, nats in sorted(scores.items()) if nats <= goal]
    return float(seconds[reached[0]]) if reached else None


def check_sweeps(sweeps: int, thin: int) -> set[int]:
    """Sweeps to look at: a fifth apart, from a twentieth of the peer's sweeps to half as many again, and its own."""
    steps = sweeps / 20 * 1.2 ** np.arange(40)
    rounded = {max(thin, round(step / thin) * thin) for step in steps}
    return {sweep for sweep in rounded if sweep <= longest(sweeps, thin)} | {sweeps}


def longest(sweeps: int, thin: int) -> int:
    return sweeps + round(sweeps / 2 / thin) * thin


def sampler(n_topics: int, sweeps: int) -> tuple[ours.LDA, int]:
    """Our sampler, keeping the sum of every `thin`-th sample from the start: any window's mean is a difference."""
    thin = next(step for step in range(max(1, sweeps // 40), 0, -1) if sweeps % step == 0)
    return ours.lda(n_topics, "gibbs", longest(sweeps, thin), burn_in=0, thin=thin), thin


def trace(documents: Documents, n_topics: int, sweeps: int, goal: float) -> Curve:
    """Our curve, until both the last sample and the mean are as good as the goal and the peer's sweeps are done."""
    estimator, thin = sampler(n_topics, sweeps)
    checks = check_sweeps(sweeps, thin)
    middle = {sweep: sweep // 2 // thin * thin for sweep in checks}
    needed = checks | {sweep - thin for sweep in checks} | set(middle.values())
    sums: dict[int, np.ndarray] = {}
    curve = Curve()

    def look(done: int, seconds: float, arrays: dict[str, np.ndarray]) -> None:
        curve.seconds.append(seconds)
        if done in needed:
            sums[done] = arrays["sums"].copy()
        if done not in checks:
            return
        prior = estimator.topic_word_prior
        for scores, before in ((curve.last, done - thin), (curve.mean, middle[done])):
            if done == sweeps or all(nats > goal for nats in scores.values()):
                counts = sums[done] - sums[before] if before else sums[done]
                scores[done] = documents.score(counts / ((done - before) // thin) + prior)
        for sweep in [sweep for sweep in sums if sweep < done // 2 - thin]:
            del sums[sweep]
        if done >= sweeps and min(curve.last.values()) <= goal and min(curve.mean.values()) <= goal:
            raise ours.Enough

    ours.watch(estimator, documents.train, look)
    return curve


def retrace(documents: Documents, n_topics: int, sweeps: int, until: int) -> np.ndarray:
    """The seconds of the same fit once more, without looking at it."""
    seconds = [0.0]

    def look(done: int, now: float, arrays: dict[str, np.ndarray]) -> None:
        seconds.append(now)
        if done == until:
            raise ours.Enough

    ours.watch(sampler(n_topics, sweeps)[0], documents.train, look)
    return np.array(seconds)
