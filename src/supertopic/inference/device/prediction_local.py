"""Prediction-constrained training on the device: its batches, its local steps, and the climb along their gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from supertopic.backends.base import Backend
from supertopic.backends.cuda.arrays import Matrix, padded
from supertopic.backends.cuda.documents import Documents
from supertopic.backends.cuda.e_step import documents_of, weights_of, which_of
from supertopic.backends.cuda.forms import form_of
from supertopic.backends.cuda.kernels.map_shares import adjoint, settle
from supertopic.backends.cuda.memory import empty, sent, sent_once
from supertopic.inference.batches import Locals, Partition
from supertopic.inference.device.design import with_known_shares_on_device
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.prediction_local import (
    PredictionStats,
    Scales,
    prediction_step,
    pull_of_scores,
    settle_step,
)
from supertopic.model import Model, State


@form_of(settle_step)
def settle_on_device(
    partition: Partition, backend: Backend, model: Model, state: State, weights: Any, limits: LocalLimits
) -> float:
    return _sum(
        _settle(partition, _prior(partition, model, state), weights_of(weights), limits)[1], len(partition.batch)
    )


@form_of(prediction_step)
def prediction_step_on_device(
    partition: Partition, backend: Backend, model: Model, state: State, weights: Any, scales: Scales
) -> PredictionStats:
    """As `prediction_step`; the gradient is where the weights are, on the device or on the host."""
    batch, rows = partition.batch, weights_of(weights)
    documents, n_columns = documents_of(batch), model.response.n_columns
    prior = _prior(partition, model, state)
    ratio, values = _settle(partition, prior, rows, scales.shares)
    assert partition.found is not None
    theta: Any = partition.found.doc_topic
    design = with_known_shares_on_device(theta, batch.extra, batch.y, batch.weight).design
    coef = state.coef.astype(np.float64)
    pull, labels = pull_of_scores(model.response, state.dispersion, batch.y, batch.weight, design.predictors(coef))
    words = _sum(values, len(batch))  # the host has just waited; after the next kernel, it would have to once more
    pulled, shift = Matrix.empty(*theta.shape), empty(documents.n_entries)
    adjoint(rows.registers)[theta.teams](
        *documents.csr, rows.flat, model.n_topics, *prior, theta.flat, ratio, n_columns,
        sent(scales.label * pull, np.float32), sent_once(padded(coef[:, : model.n_topics]), np.float32),
        scales.adjoint.max_passes, scales.adjoint.tol, scales.word, pulled.flat, shift, empty(len(batch), np.int32),
    )  # fmt: skip
    gradient = Matrix.empty(*rows.shape)
    documents.subtract_by_word((ratio, pulled), (shift, theta), gradient)
    found: Any = gradient if isinstance(weights, Matrix) else np.asarray(gradient)
    return PredictionStats(found, words, labels)


def _prior(partition: Partition, model: Model, state: State) -> tuple[Any, Any]:
    """(alpha by row, the row of each document) on the device."""
    rows = model.doc_topic_prior.rows(state.alpha, partition.batch)
    return sent_once(padded(rows.alpha), np.float32), which_of(rows)


def _settle(partition: Partition, prior: tuple[Any, Any], rows: Matrix, limits: LocalLimits) -> tuple[Any, Any]:
    """(ratio of each entry, log p(w, theta) of each document), on the device; the shares stay in the partition."""
    documents, n_topics = documents_of(partition.batch), rows.shape[1]
    theta = _start(partition, documents, n_topics)
    ratio, values = empty(documents.n_entries), empty(documents.n_documents, np.float64)
    if documents.n_documents:
        settle(rows.registers)[theta.teams](
            *documents.csr, rows.packed, rows.flat, n_topics, *prior, limits.max_passes, limits.tol,
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
