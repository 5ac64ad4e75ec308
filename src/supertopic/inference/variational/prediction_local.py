"""The local steps of prediction-constrained training: topic shares without y, and what documents say about the topics.

What a step finds about each document, its shares theta, stays with the partition (`Locals.doc_topic`), and the next
step starts from there: the mode is unique, so that a start changes the time and not the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from supertopic.backends.base import Backend, Combine, LocalOps, Spread, in_turn, reads_only
from supertopic.backends.cpu.entries import ByWord
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.batches import Batch, Block, EntryOrder, Locals, Partition, continue_from, gather
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.kernels.map_shares import add_gradient_by_word, settle_shares, solve_adjoint
from supertopic.model import Model, State
from supertopic.priors.base import Rows
from supertopic.responses.base import Response, known_moment


@dataclass
class PredictionStats:
    """What documents say about the objective at a State; the sum of two is what their union says."""

    topics: np.ndarray  # (V, K) float32: the gradient with respect to the topics b
    words: float  # sum_d log p(w_d, theta_d)
    labels: float  # sum_d weight_d log p(y_d | s_d)

    def __add__(self, other: PredictionStats) -> PredictionStats:
        return PredictionStats(**{name: value + getattr(other, name) for name, value in vars(self).items()})


@dataclass(frozen=True)
class Scales:
    """What the two terms of the objective are multiplied with, and how exactly shares and adjoints are found."""

    word: float  # of the words' log-likelihood
    label: float  # of the labels' log-likelihood
    shares: LocalLimits
    adjoint: LocalLimits


def settle_step(
    partition: Partition, backend: Backend, model: Model, state: State, weights: np.ndarray, limits: LocalLimits
) -> float:
    """Infer the shares of a partition's documents; return sum_d log p(w_d, theta_d)."""
    found, prior = _start(partition, model.n_topics), model.doc_topic_prior.rows(state.alpha, partition.batch)
    return sum(
        float(_settle(partition.batch, block, found[slice(*block)], prior, weights, limits, backend)[1].sum())
        for block in partition.batch.plain_blocks
    )


def prediction_step(
    partition: Partition, backend: Backend, model: Model, state: State, weights: np.ndarray, scales: Scales
) -> PredictionStats:
    """Infer the shares of a partition's documents, and follow the objective's gradient through them to the topics.

    weights : (V, K) float32, the topics b
    """
    batch, found = partition.batch, _start(partition, model.n_topics)
    stats, prior = PredictionStats(np.empty_like(weights), 0.0, 0.0), model.doc_topic_prior.rows(state.alpha, batch)
    clear = [partial(stats.topics.fill, 0.0)]  # by one thread, beside the inference of the first documents
    for block in batch.plain_blocks:
        theta, order = found[slice(*block)], EntryOrder(batch, block)
        given = (batch, block, theta, prior, weights, scales.shares, backend)
        ratio, values = _settle(*given, order.find, *clear)
        clear = []
        pull, labels = _pull_of_labels(batch, block, model, state, theta)
        stats.words += float(values.sum())
        stats.labels += labels
        gradient = (scales.label * pull).astype(np.float32)
        settled = (weights, prior, theta, ratio, gradient)
        adjoint, shift = _solve(batch, block, *settled, scales.adjoint, backend)
        adjoint += np.float32(scales.word)  # the words' own gradient: ratio·theta is EM's expected count over b
        _add_by_word(order.by_word, (ratio, shift, theta, adjoint), stats.topics, backend)
    in_turn([(call,) for call in clear])  # there were no documents
    return stats


class EpochShares:
    """Shares of all documents in an epoch: those that its batches start from, and those that they end with."""

    def __init__(self, spread: Spread, ops: LocalOps) -> None:
        self.ops, self.before = ops, gather(spread)
        self.after = np.empty_like(self.before)

    def begin(self, rows: np.ndarray, counts: object, batch: Spread) -> None:
        """Let the documents of a batch, which are the rows named, start."""
        batch.map(continue_from, self.ops.take(self.before, rows, counts), 0)

    def end(self, rows: np.ndarray, counts: object, batch: Spread) -> None:
        self.ops.put(self.after, rows, counts, gather(batch))


@reads_only
def of_shares(
    partition: Partition, backend: Backend, combine: Combine, function: Callable[..., Any], *arguments: Any
) -> Any:
    """The total of a function of the documents as a regression sees them, at the shares that the last step found."""
    batch, found = partition.batch, partition.found
    assert found is not None
    if found.labelled is None:
        found.labelled = with_known_shares(found.doc_topic, batch.extra, batch.y, batch.weight)
    return found.labelled.total_by(backend.all, function, *arguments, combine=combine)


@reads_only
def topic_sizes(partition: Partition, backend: Backend) -> np.ndarray:
    """(K,) tokens of each topic, at the shares that the last step found."""
    assert partition.found is not None
    lengths = partition.batch.lengths
    return np.where(np.isfinite(lengths), lengths, 0.0).astype(np.float32) @ partition.found.doc_topic


def _start(partition: Partition, n_topics: int) -> np.ndarray:
    """(D, K) shares to start from, in the partition: those of the last step, or even ones."""
    if partition.found is None:
        n_documents = len(partition.batch)
        partition.found = Locals.empty(n_documents, n_topics, 0)
        partition.found.doc_topic[:] = np.float32(1.0 / n_topics)
    partition.found.labelled = None
    return partition.found.doc_topic


def _settle(
    batch: Batch, block: Block, theta: np.ndarray, prior: Rows, weights: np.ndarray, limits: LocalLimits,
    backend: Backend, *also: Callable[[], None],
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(ratio of each entry, log p(w, theta) of each document); `theta` moves to the mode. also : done beside it."""
    csr, own = batch.entries(block), prior.which[slice(*block)]
    ratio, values = np.empty(len(csr[2]), dtype=np.float32), np.empty(len(theta))
    passes = np.empty(len(theta), dtype=np.int32)

    def settle(start: int, stop: int) -> None:
        rows = backend.scratch(batch.longest, theta.shape[1])
        given = (start, stop, *csr, weights, prior.single, own, limits.max_passes, limits.tol)
        settle_shares(*given, theta, ratio, values, passes, rows)

    backend.all([*((call,) for call in also), *((settle, *ends) for ends in backend.cut(csr[0]))])
    return ratio, values


def _pull_of_labels(
    batch: Batch, block: Block, model: Model, state: State, theta: np.ndarray
) -> tuple[np.ndarray, float]:
    """(D, K) the gradient of sum_d weight_d log p(y_d | s_d) with respect to theta, and its value."""
    some, coef = slice(*block), state.coef.astype(np.float64)
    topics, others = coef[:, : model.n_topics], coef[:, model.n_topics :]
    score = theta @ topics.T + batch.extra[some] @ others.T
    pull, value = pull_of_scores(model.response, state.dispersion, batch.y[some], batch.weight[some], score)
    return pull @ topics, value


def pull_of_scores(
    response: Response, dispersion: np.ndarray, y: np.ndarray, weight: np.ndarray, score: np.ndarray
) -> tuple[np.ndarray, float]:
    """(D, C) the gradient of sum_d weight_d log p(y_d | s_d) with respect to s, and its value."""
    moment = known_moment(score, response.is_product)
    slope, curvature = response.slope_and_curvature(y, score, moment, dispersion)
    pull = slope - curvature * np.where(response.is_product, moment, score)
    return weight[:, None] * pull, float(weight @ response.log_density(y, score, moment, dispersion))


def _solve(
    batch: Batch, block: Block, weights: np.ndarray, prior: Rows, theta: np.ndarray, ratio: np.ndarray,
    gradient: np.ndarray, limits: LocalLimits, backend: Backend,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(the adjoint u / N of each document, its mean a / N over the topics of each entry)."""
    csr, own = batch.entries(block), prior.which[slice(*block)]
    adjoint, shift, passes = np.empty_like(theta), np.empty_like(ratio), np.empty(len(theta), dtype=np.int32)

    def solve(start: int, stop: int) -> None:
        rows = backend.scratch(batch.longest, theta.shape[1])
        given = (start, stop, *csr, weights, prior.single, own, theta, ratio, gradient, limits.max_passes, limits.tol)
        solve_adjoint(*given, adjoint, shift, passes, rows)

    backend.over_weights(csr[0], solve)
    return adjoint, shift


def _add_by_word(by_word: ByWord, factors: tuple[np.ndarray, ...], topics: np.ndarray, backend: Backend) -> None:
    """Add the gradient of a block's documents to `topics` (V, K)."""
    ratio, shift, theta, adjoint = factors

    def add(start: int, stop: int) -> None:
        row = np.empty(topics.shape[1], dtype=np.float32)
        add_gradient_by_word(start, stop, *by_word, ratio, shift, theta, adjoint, topics, row)

    backend.over_weights(by_word.start, add)
