"""Variational EM: the time until our bound reaches the peer's final bound, computed by the same evaluator."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bench import ours
from bench.corpus import Documents
from bench.peers import Fitted, installed
from bench.plan import Plan
from bench.report import Table, say, times

TARGET = 10.0


@dataclass
class Ascent:
    """Seconds and bound after each of our EM steps, and the held-out score at the peers' numbers of steps."""

    seconds: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    nats: float = np.nan

    def per_pass(self, passes: int) -> float:
        """Mean seconds of the passes after the first, which includes the search for the initial topics."""
        return (self.seconds[passes - 1] - self.seconds[0]) / (passes - 1)


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "2. Variational EM: time to an equal bound, one thread",
        [
            "K", "passes", "peer", "peer s", "peer s/pass", "ours s/pass", "peer bound", "ours, same passes",
            "peer nats", "ours, same passes ", "our passes", "our s", "ratio", "target",
        ],
        f"{documents.describe()}. alpha = 0.1, beta = 0.01, fixed; documents up to 100 passes, peers to a mean change "
        "of 1e-3, ours as by default. Bound per training token of anybody's topics by one E-step run to the end, nats "
        "per held-out token by one scorer. \"Our passes, s\": until our bound is as high as the peer's at its end; "
        f"finding first topics is in our time, but not in \"s/pass\". Peers once, ours best of {plan.repeats}.",
    )  # fmt: skip
    for n_topics in plan.topics((50, 200)):
        passes = plan.passes(n_topics)
        ours.warm_up(documents.train, n_topics)
        evaluate = ours.Evaluator(documents.train, n_topics)
        fits: dict[str, Fitted] = {}
        for peer in installed("vb"):
            say(f"{peer.name}, K = {n_topics}: {passes} passes")
            fits[peer.name] = peer.fit(documents.train, n_topics, passes)
        goals = {name: evaluate(fitted.word_topic) for name, fitted in fits.items()}
        highest = max(goals.values(), default=-np.inf)
        say(f"ours, K = {n_topics}: to a bound of {highest:.4f} per token")
        ascent = climb(documents, n_topics, passes, highest, evaluate)
        for _ in range(plan.repeats - 1):
            again = climb(documents, n_topics, len(ascent.seconds))
            ascent.seconds = np.minimum(ascent.seconds, again.seconds).tolist()
        for name, fitted in fits.items():
            step = first_step(ascent.bound, goals[name])
            ours_to_goal = None if step is None else ascent.seconds[step - 1]
            result.add(
                n_topics, passes, name, f"{fitted.seconds:.1f}", f"{fitted.seconds / passes:.2f}",
                f"{ascent.per_pass(passes):.2f}", f"{goals[name]:.4f}", f"{ascent.bound[passes - 1]:.4f}",
                f"{documents.score(fitted.word_topic):.4f}", f"{ascent.nats:.4f}", step,
                ours_to_goal and f"{ours_to_goal:.2f}", times(ours_to_goal and fitted.seconds / ours_to_goal),
                times(TARGET),
            )  # fmt: skip
    return result


def first_step(bounds: list[float], goal: float) -> int | None:
    """The first step (from 1) whose bound is as high as the goal."""
    reached = [step for step, bound in enumerate(bounds, 1) if bound >= goal]
    return reached[0] if reached else None


def climb(
    documents: Documents, n_topics: int, passes: int, goal: float = -np.inf, evaluate: ours.Evaluator | None = None
) -> Ascent:
    """Run our EM steps: as many as the peers, then until the goal is reached, but at most three times as many."""
    ascent = Ascent()

    def look(done: int, seconds: float, arrays: dict[str, np.ndarray]) -> None:
        ascent.seconds.append(seconds)
        if evaluate is not None:
            ascent.bound.append(evaluate(arrays["word_topic"]))
            if done == passes:
                ascent.nats = documents.score(arrays["word_topic"])
        if done >= passes and max(ascent.bound, default=np.inf) >= goal:
            raise ours.Enough

    ours.watch(ours.lda(n_topics, "vb", 3 * passes), documents.train, look)
    return ascent
