"""Prediction-constrained training on the device: its batches, its local steps, and the climb along their gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from supertopic.backends.base import Backend, Run, in_turn
from supertopic.backends.cuda.arrays import Matrix, distributions, padded
from supertopic.backends.cuda.documents import Documents
from supertopic.backends.cuda.forms import form_of
from supertopic.backends.cuda.kernels import topics
from supertopic.backends.cuda.kernels.map_shares import adjoint, settle
from supertopic.backends.cuda.kernels.regression import add_parts
from supertopic.backends.cuda.memory import empty, sent, sent_once
from supertopic.inference.batches import Batch, Locals, Partition, rows_of
from supertopic.inference.device.design import with_known_shares_on_device
from supertopic.inference.device.documents import CountsOnDevice, documents_of, weights_of
from supertopic.inference.variational.climb import SETTINGS, Climb
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.prediction_constrained import draw_epoch, mini_batches
from supertopic.inference.variational.prediction_local import (
    EpochShares,
    PredictionStats,
    Scales,
    prediction_step,
    pull_of_scores,
    settle_step,
)
from supertopic.model import Model, State


@form_of(mini_batches)
def mini_batches_on_device(
    batch: Batch, size: int, seed: list[int], backend: Backend
) -> Iterator[tuple[np.ndarray, Batch]]:
    """As `mini_batches`; the documents of a batch are made on the device from all documents, which lie there."""
    order, key = draw_epoch(len(batch), size, seed)
    for rows, documents in zip(order, documents_of(batch).in_batches(order, SETTINGS.dropped, key), strict=True):
        counts: Any = CountsOnDevice(documents)
        covariates = None if batch.covariates is None else batch.covariates[rows]
        known = rows_of(batch.known, rows)
        yield rows, Batch(counts, batch.y[rows], batch.weight[rows], batch.n_topics, covariates, known)


@form_of(settle_step)
def settle_on_device(
    partition: Partition, backend: Backend, model: Model, state: State, weights: Any, limits: LocalLimits
) -> float:
    return _sum(_settle(partition, state.alpha, weights_of(weights), limits)[1], len(partition.batch))


@form_of(prediction_step)
def prediction_step_on_device(
    partition: Partition, backend: Backend, model: Model, state: State, weights: Any, scales: Scales
) -> PredictionStats:
    """As `prediction_step`; the gradient is where the weights are, on the device or on the host."""
    batch, rows = partition.batch, weights_of(weights)
    documents, n_columns = documents_of(batch), model.response.n_columns
    ratio, values = _settle(partition, state.alpha, rows, scales.shares)
    assert partition.found is not None
    theta: Any = partition.found.doc_topic
    design = with_known_shares_on_device(theta, batch.extra, batch.y, batch.weight).design
    coef = state.coef.astype(np.float64)
    pull, labels = pull_of_scores(model.response, state.dispersion, batch.y, batch.weight, design.predictors(coef))
    words = _sum(values, len(batch))  # the host has just waited; after the next kernel, it would have to once more
    pulled, shift = Matrix.empty(*theta.shape), empty(documents.n_entries)
    adjoint(rows.registers)[theta.teams](
        *documents.csr, rows.flat, model.n_topics, _prior(state.alpha), theta.flat, ratio, n_columns,
        sent(scales.label * pull, np.float32), sent_once(padded(coef[:, : model.n_topics]), np.float32),
        scales.adjoint.max_passes, scales.adjoint.tol, scales.word, pulled.flat, shift, empty(len(batch), np.int32),
    )  # fmt: skip
    gradient = Matrix.empty(*rows.shape)
    documents.subtract_by_word((ratio, pulled), (shift, theta), gradient)
    found: Any = gradient if isinstance(weights, Matrix) else np.asarray(gradient)
    return PredictionStats(found, words, labels)


@form_of(EpochShares)
class DeviceEpochShares(EpochShares):
    """Shares that stay on the device."""

    def __init__(self, spread: Any) -> None:
        self.before = spread.partition.found.doc_topic
        self.after: Any = Matrix.empty(*self.before.shape)

    def begin(self, rows: np.ndarray, batch: Any) -> None:
        own: Any = Matrix.empty(len(rows), self.before.shape[1])
        taken = documents_of(batch.partition.batch).rows
        own.by_topic(topics.take_rows, taken, self.before.flat, own.width, own.flat)
        batch.partition.found = Locals(own, *np.zeros((2, len(rows), 0)))

    def end(self, rows: np.ndarray, batch: Any) -> None:
        own, taken = batch.partition.found.doc_topic, documents_of(batch.partition.batch).rows
        own.by_topic(topics.put_rows, taken, own.flat, own.width, self.after.flat)


def _prior(alpha: np.ndarray) -> Any:
    return sent_once(padded(alpha), np.float32)


def _settle(partition: Partition, alpha: np.ndarray, rows: Matrix, limits: LocalLimits) -> tuple[Any, Any]:
    """(ratio of each entry, log p(w, theta) of each document), on the device; the shares stay in the partition."""
    documents, n_topics = documents_of(partition.batch), rows.shape[1]
    theta = _start(partition, documents, n_topics)
    ratio, values = empty(documents.n_entries), empty(documents.n_documents, np.float64)
    if documents.n_documents:
        settle(rows.registers)[theta.teams](
            *documents.csr, rows.packed, rows.flat, n_topics, _prior(alpha), limits.max_passes, limits.tol,
            theta.flat, ratio, values, empty(documents.n_documents, np.int32),
        )  # fmt: skip
    return ratio, values


def _sum(values: Any, n: int) -> float:
    """The sum of n numbers of the device, which the host waits for."""
    return float(np.asarray(values.copy_to_host())[:n].sum())


def _start(partition: Partition, documents: Documents, n_topics: int) -> Matrix:
    """Shares to start from, in the partition: those of the last step, or even ones."""
    if partition.found is None:
        even = Matrix.empty(documents.n_documents, n_topics)
        even.fill(1.0 / n_topics)
        partition.found = Locals(even, *np.zeros((2, documents.n_documents, 0)))  # type: ignore[arg-type]
    partition.found.labelled = None
    return partition.found.doc_topic  # type: ignore[return-value]


@form_of(Climb)
class DeviceClimb(Climb):
    """A climb whose arrays are matrices of the device."""

    @classmethod
    def of(cls, given: Any) -> DeviceClimb:
        logits = Matrix.of(np.log(np.asarray(given) + np.float32(1e-12)))
        nothing = (Matrix.empty(*logits.shape) for _ in range(2))
        found = cls(logits, *nothing, logits.copy())  # type: ignore[call-arg, arg-type]
        found.mean.fill(0.0)
        found.square.fill(0.0)
        return found

    @classmethod
    def restore(cls, arrays: dict[str, np.ndarray], steps: int) -> DeviceClimb:
        host = Climb.restore(arrays, steps)
        kept = (Matrix.of(value) for value in (host.logits, host.mean, host.square, host.average))
        return cls(*kept, steps)  # type: ignore[call-arg, arg-type]

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value) for name, value in super().arrays().items()}

    def topics(self, run: Run = in_turn) -> Any:
        return distributions(self.logits)

    def averaged(self, run: Run = in_turn) -> Any:
        return distributions(self.average)

    def step(self, given: Any, gradient: Any, prior: float, rate: float, backend: Backend) -> Any:
        n_topics, by = given.shape[1], (given.width,)
        parts, totals = empty(given.n_parts * given.width, np.float64), empty(given.width, np.float64)
        given.by_topic(topics.weigh_gradient, n_topics, given.flat, gradient.flat, float(prior), *by, parts)
        add_parts[given.registers, 32](given.n_parts, given.width, parts, totals)
        self.steps += 1
        all_of = (self.logits, self.mean, self.square, self.average)
        arrays: Any = tuple(one.flat for one in all_of)
        rates = tuple(np.float32(one) for one in self.rates(rate))
        given.by_topic(topics.climb, n_topics, gradient.flat, totals, *by, rates, given.flat, *arrays, parts)
        add_parts[given.registers, 32](given.n_parts, given.width, parts, totals)
        given.by_topic(topics.divide_topics, totals, *by, given.flat)
        given.changed()
        return given
