"""Topic shares and linear predictors of documents without a label, on the device."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend
from supertopic.backends.cuda.arrays import Matrix, padded, warps
from supertopic.backends.cuda.e_step import Inferred, Prior, documents_of, infer_documents, weights_of
from supertopic.backends.cuda.forms import form_of, no_form
from supertopic.backends.cuda.kernels.e_step_words import divide_rows
from supertopic.backends.cuda.kernels.token_moments import token_moments
from supertopic.backends.cuda.memory import empty, sent
from supertopic.inference.after.prediction import LIMITS, PointModel, Scores, score_documents, shares_by_documents
from supertopic.inference.batches import Batch
from supertopic.inference.design import mean_shares


@form_of(shares_by_documents)
def shares_on_device(
    point: PointModel, weights: np.ndarray, counts: sp.csr_matrix, backend: Backend, words: bool
) -> tuple[np.ndarray, np.ndarray]:
    """As `infer_shares`; the shares of single words are few, and come from the CPU."""
    if words:
        return shares_by_documents(point, weights, counts, backend, words)
    gamma = _infer(point, weights, counts)[1]
    divide_rows[warps(len(gamma))](*gamma.shape, gamma.width, gamma.flat)
    return np.asarray(gamma), np.empty((0, weights.shape[1]), dtype=np.float32)


@form_of(score_documents)
def score_on_device(
    point: PointModel, weights: np.ndarray, coef: np.ndarray, is_product: np.ndarray, counts: sp.csr_matrix,
    backend: Backend,
) -> Scores:  # fmt: skip
    batch, gamma, found, rows = _infer(point, weights, counts)
    documents, n_columns, n_documents = documents_of(batch), len(coef), len(batch)
    prior = point.prior(n_documents)
    mean = mean_shares(np.asarray(gamma), prior.by_document(prior.single), batch.lengths)
    score, moment = np.zeros((2, n_documents, n_columns))
    if n_columns and n_documents:
        first, second = empty(score.size, np.float64), empty(score.size, np.float64)
        token_moments(rows.registers)[warps(n_documents)](
            *documents.csr, rows.flat, found.theta.flat, found.ratio, n_columns, sent(padded(coef), np.float32),
            sent(is_product, np.bool_), first, second,
        )  # fmt: skip
        score[:] = np.asarray(first.copy_to_host()).reshape(score.shape)
        moment[:] = np.asarray(second.copy_to_host()).reshape(score.shape)
        empty_ones = np.isinf(batch.lengths)
        score[empty_ones] = mean[empty_ones] @ coef.T
        moment[empty_ones] = np.where(is_product, np.exp(score[empty_ones]), score[empty_ones] ** 2)
    return Scores(mean, score, moment)


def _infer(point: PointModel, weights: np.ndarray, counts: sp.csr_matrix) -> tuple[Batch, Matrix, Inferred, Matrix]:
    if point.shares is not None:
        raise no_form("a mixture's prediction")
    n_documents, n_topics = counts.shape[0], weights.shape[1]
    batch, rows = Batch(counts, np.full(n_documents, np.nan), np.zeros(n_documents), n_topics), weights_of(weights)
    documents, gamma = documents_of(batch), Matrix.empty(n_documents, n_topics)
    found = Inferred(documents, n_topics)
    infer_documents(documents, rows, Prior.of(point.prior(n_documents), point.collapsed), LIMITS, True, gamma, found)
    return batch, gamma, found, rows
