"""Several chains of one sampler: they run in parallel, their topics are matched, and their agreement is measured.

The order of topics is arbitrary: topic 3 of one chain may be topic 7 of another. The topics of each chain are matched
with those of the chain with the highest log joint, by the assignment with the smallest total squared Hellinger
distance, and its draws are put in that order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm, rankdata

from supertopic.inference.requirements import one_process
from supertopic.inference.task import Fit, Task, Watch

_SEEDS_APART = 1009  # between chains, so that fits with neighbouring seeds have no chain in common
_BY_TOPIC = ("coef", "inclusion", "alpha", "shares")  # draws whose last axis begins with the topics


def fit_chains(task: Task, watch: Watch, engine: Callable[[Task, Watch], Fit], n_chains: int) -> Fit:
    """The State and trace of the best chain, and the draws of all chains, in the order of the best chain's topics.

    The draws of the best chain come first.

    Topics are not averaged over chains, because chains may be at different modes and the mean of two modes need not be
    one. `log_joint` and `alpha` are those of the best chain.
    """
    if n_chains == 1:
        return engine(task, watch)
    one_process("a sampler of several chains")(task)
    fits: list[Fit | None] = [None] * n_chains
    watches = [watch.fork(chain) for chain in range(n_chains)]

    def run_one(chain: int) -> None:
        with task.backend.alone() as alone:
            own = replace(task, seed=task.seed + _SEEDS_APART * chain, backend=alone)
            fits[chain] = engine(own, watches[chain])

    task.backend.all([(run_one, chain) for chain in range(n_chains)])
    for one in watches:
        one.finish()
    found = [fit for fit in fits if fit is not None]
    best = max(found, key=lambda fit: fit.trace[-1])
    found = [best, *(fit for fit in found if fit is not best)]
    watch.trace[:] = best.trace
    aligned = [_in_order(fit.draws, _match(best, fit)) for fit in found]
    draws = dict(best.draws)
    for name in ("coef", "dispersion", "coef_scale"):
        draws[name] = np.concatenate([one[name] for one in aligned])
    if "inclusion" in draws:
        draws["best_inclusion"] = best.draws["inclusion"]
        draws["inclusion"] = np.mean([one["inclusion"] for one in aligned], axis=0)
    return replace(best, draws=draws)


def _match(best: Fit, other: Fit) -> np.ndarray:
    """`match_topics`, which matches active topics with active ones where there is a budget."""
    n_topics = best.state.word_topic.shape[1]
    active = [(fit.draws["coef"] != 0).any(axis=(0, 1))[:n_topics] for fit in (best, other)]
    if active[0].sum() != active[1].sum():
        return match_topics(best.state.word_topic, other.state.word_topic)
    order = np.empty(n_topics, dtype=np.int64)
    for ours, theirs in (active, [~one for one in active]):
        if ours.any():
            order[ours] = np.flatnonzero(theirs)[
                match_topics(best.state.word_topic[:, ours], other.state.word_topic[:, theirs])
            ]
    return order


def match_topics(reference: np.ndarray, word_topic: np.ndarray) -> np.ndarray:
    """(K,): the column of `word_topic` (V, K) that is matched with each column of `reference`."""
    ours, theirs = (np.sqrt(counts / counts.sum(axis=0)) for counts in (reference, word_topic))
    return linear_sum_assignment(-(ours.T @ theirs))[1]


def _in_order(draws: dict[str, np.ndarray], order: np.ndarray) -> dict[str, np.ndarray]:
    """The draws with the topics in another order; the covariates, which come after the topics, stay in place."""
    ordered = dict(draws)
    for name in _BY_TOPIC:
        if name in draws:
            rest = np.arange(len(order), draws[name].shape[-1])
            ordered[name] = draws[name][..., np.concatenate([order, rest])]
    return ordered


def split_r_hat(draws: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's R̂ of draws (chains, S, …), with each chain split in halves; near 1 where all halves agree.

    It is infinite where no half moves and they stand at different values. It is NaN where it is not defined: where all
    draws are the same, and for fewer than four draws.
    """
    half = draws.shape[1] // 2
    if half < 2:
        return np.full(draws.shape[2:], np.nan)
    return _plain_r_hat(np.concatenate([draws[:, :half], draws[:, -half:]]))


def _plain_r_hat(halves: np.ndarray) -> np.ndarray:
    """R̂ of halves of chains (H, S, …)."""
    half = halves.shape[1]
    halves = halves - halves[0, 0]  # equal draws are zeros now, whose mean has no rounding error
    moves = halves.max(axis=1) > halves.min(axis=1)
    within = np.where(moves, halves.var(axis=1, ddof=1), 0.0).mean(axis=0)
    between = half * halves.mean(axis=1).var(axis=0, ddof=1)
    total = (half - 1) / half * within + between / half
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(total / within)


def rank_r_hat(draws: np.ndarray) -> np.ndarray:
    """Rank-normalised R̂ (Vehtari et al. 2021) of draws (chains, S, …): of where they are, or of how far they spread.

    It sees chains that differ in their tails, and draws without a variance. NaN and infinity are as in `split_r_hat`.
    """
    draws = np.asarray(draws, dtype=np.float64)
    half = draws.shape[1] // 2
    if half < 2:
        return np.full(draws.shape[2:], np.nan)
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    apart = np.abs(halves - np.median(halves, axis=(0, 1)))
    found = np.stack([_plain_r_hat(_normal_scores(one)) for one in (halves, apart)])
    return np.where(np.isnan(found).all(axis=0), np.nan, np.fmax(found[0], found[1]))


def _normal_scores(draws: np.ndarray) -> np.ndarray:
    """Draws (chains, S, …) by the quantiles of their ranks among all."""
    n = draws.shape[0] * draws.shape[1]
    ranks = rankdata(draws.reshape(n, -1), axis=0).reshape(draws.shape)
    return np.asarray(norm.ppf((ranks - 0.375) / (n + 0.25)))


def effective_size(draws: np.ndarray) -> np.ndarray:
    """The effective sample size of draws (chains, S, …): chains S / (1 + 2 sum of autocorrelations).

    The sum ends where a pair of neighbouring autocorrelations is negative (Geyer's initial positive sequence).
    """
    n_chains, n = draws.shape[:2]
    if n < 4:
        return np.full(draws.shape[2:], np.nan)
    off = draws - draws.mean(axis=1, keepdims=True)
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1) if n_chains > 1 else np.zeros_like(within)
    total = np.maximum((n - 1) / n * within + between, 1e-300)
    total_rho, going = np.zeros_like(within), np.ones(within.shape, dtype=bool)
    for lag in range(1, n - 1, 2):
        pair = np.zeros_like(within)
        for each in (lag - 1, lag):
            product = (off[:, : n - each] * off[:, each:]).sum(axis=1).mean(axis=0) / n
            pair += 1.0 - (within - product) / total
        going &= pair > 0
        total_rho += np.where(going, pair, 0.0)
    return np.minimum(
        n_chains * n / np.maximum(2.0 * total_rho - 1.0, 1.0 / np.log10(max(n_chains * n, 10))), n_chains * n
    )
