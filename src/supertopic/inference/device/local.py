"""The local step of variational inference on the device: all documents of a partition at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from supertopic.backends.base import Backend
from supertopic.backends.cuda.arrays import Matrix, padded, warps
from supertopic.backends.cuda.e_step import (
    Inferred,
    Prior,
    add_terms,
    documents_of,
    infer_documents,
    sum_log_theta,
    weights_of,
)
from supertopic.backends.cuda.forms import form_of
from supertopic.backends.cuda.kernels.e_step_mean import UNSET, infer_mean
from supertopic.backends.cuda.memory import empty, sent
from supertopic.inference.batches import Locals, Partition, continue_from, doc_topic_of
from supertopic.inference.design import Design
from supertopic.inference.device.design import DeviceDesign
from supertopic.inference.variational.e_step_response import LocalLimits, ResponseBlock
from supertopic.inference.variational.local import local_step, no_stats, remember, sum_by_row, summarise_step
from supertopic.model import DocumentTerms, Model, State, Stats
from supertopic.priors.base import Rows

form_of(doc_topic_of)(doc_topic_of)
form_of(continue_from)(continue_from)
form_of(summarise_step)(summarise_step)


@form_of(local_step)
def local_step_on_device(
    partition: Partition, backend: Backend, model: Model, state: State, weights: Any, limits: LocalLimits,
    terms: DocumentTerms, fresh: bool = True, again: bool = False, out: Any = None,
) -> Stats:  # fmt: skip
    """As `local_step`; the word counts are where the weights are, on the device or on the host."""
    batch, n_columns, shares = partition.batch, model.response.n_columns, model.doc_topic_prior
    documents, rows, given = documents_of(batch), weights_of(weights), shares.rows(state.alpha, batch)
    prior = Prior.of(given, model.collapsed)
    remember(partition, again)
    assert fresh or partition.before is not None
    nothing = np.zeros((2, len(batch), n_columns))
    before: Any = partition.before
    gamma: Any = Matrix.empty(len(batch), model.n_topics) if fresh else before.doc_topic.copy()
    partition.found = Locals(gamma, nothing[0], nothing[1], given)
    kept = out if isinstance(out, Matrix) and out.shape == rows.shape and out is not rows else Matrix.empty(*rows.shape)
    stats = no_stats(model, len(batch), kept)  # type: ignore[arg-type]
    found = Inferred.of(documents, model.n_topics)
    if n_columns and np.any(batch.weight > 0):
        block = DeviceBlock.of_batch(partition, model, state, rows, limits, terms, found, prior)
        block.infer(backend, fresh)
        block.add_to(stats, backend.all)
    else:
        infer_documents(documents, rows, prior, limits, fresh, gamma, found)
        stats.bound += float(found.on_host("bound").sum())
    documents.add_by_word(found.ratio, found.theta, rows, kept)
    if model.collapsed and shares.learns:
        gamma, prior = gamma.copy(), Prior.of(given, False)
        infer_documents(documents, rows, prior, limits, False, gamma, found)
    partition.found.log_theta = _sum_by_row(gamma, given, prior, found, backend)
    stats.prior = shares.summarise(state.alpha, batch, partition.found.log_theta)
    if not isinstance(weights, Matrix):
        stats.word_topic = np.asarray(kept)
    return stats


def _sum_by_row(gamma: Matrix, rows: Rows, prior: Prior, found: Inferred, backend: Backend) -> np.ndarray:
    """As `sum_by_row`; where documents differ in alpha, on the host."""
    if len(rows.alpha) == 1:
        return sum_log_theta(gamma, prior, found)[None]
    return sum_by_row(rows, np.asarray(gamma), backend)


class DeviceBlock(ResponseBlock):
    """All documents of a partition with their responses. Slopes and curvatures are found on the host."""

    room: Inferred
    on_device: Prior
    partition: Partition

    @classmethod
    def of_batch(
        cls, partition: Partition, model: Model, state: State, weights: Matrix, limits: LocalLimits,
        terms: DocumentTerms, room: Inferred, prior: Prior,
    ) -> DeviceBlock:  # fmt: skip
        batch, found, nothing = partition.batch, partition.found, np.zeros(0)
        assert found is not None
        labels = (batch.y, batch.weight, batch.lengths, batch.extra)
        csr, slope = (batch.counts.indptr, batch.counts.indices, batch.counts.data), terms.slope(partition.rows)
        given = (model, state, limits, weights, *csr, *labels, 0, found.prior, found, nothing, slope)
        block = cls(*given)  # type: ignore[arg-type]
        block.room, block.on_device, block.partition = room, prior, partition
        block.factors, block.goals = None, None
        return block

    factors: Any
    goals: Any

    def _run_mean(
        self, backend: Backend, max_passes: int, fresh: bool, slope: np.ndarray, curvature: np.ndarray,
        active: np.ndarray, factors: np.ndarray, also: list[Callable[[], None]],
    ) -> None:  # fmt: skip
        documents, found, room = documents_of(self.partition.batch), self.found, self.room
        n_documents, n_columns = found.score.shape
        if self.factors is None:
            self.factors = sent(np.where(np.isnan(factors), UNSET, factors), np.float64)
            self.goals = empty(factors.size, np.float64)
            self.score, self.moment = sent(found.score, np.float64), sent(found.moment, np.float64)
        gamma, weights, coef = found.doc_topic, self.weights, self.coef.astype(np.float32)
        infer_mean(gamma.registers)[warps(n_documents)](  # type: ignore[attr-defined]
            documents.order, sent(active, np.uint8), *documents.csr[1:], weights.packed, weights.flat,  # type: ignore[attr-defined]
            gamma.shape[1], self.on_device.alpha, self.on_device.which, self.on_device.collapsed, max_passes,
            self.limits.tol, fresh, n_columns, sent(slope, np.float64), sent(curvature, np.float64),
            sent(padded(coef), np.float32),
            sent(coef.min(axis=1), np.float32), sent(coef.max(axis=1), np.float32),
            sent(self.model.response.is_product, np.bool_), self.factors, self.goals,
            gamma.flat, room.theta.flat, room.ratio, room.words, room.passes, self.score, self.moment,  # type: ignore[attr-defined]
        )  # fmt: skip
        add_terms(self.on_device, gamma, room)  # type: ignore[arg-type]
        self.bound[:], self.passes[:] = room.on_host("bound"), room.on_host("passes")
        found.score[:] = np.asarray(self.score.copy_to_host()).reshape(found.score.shape)
        found.moment[:] = np.asarray(self.moment.copy_to_host()).reshape(found.score.shape)

    def _design(self) -> Design:
        return DeviceDesign.of_rows(self.found.doc_topic, self.prior, self.lengths, self.covariates)
