"""What local steps on the device share: documents, the prior on topic shares, and the E-step of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, gammaln, polygamma

from supertopic.backends.cuda.arrays import Matrix, padded, warps
from supertopic.backends.cuda.documents import Documents
from supertopic.backends.cuda.kernels import topics
from supertopic.backends.cuda.kernels.e_step_words import add_prior_terms, infer_words
from supertopic.backends.cuda.kernels.lanes import WEIGHT_OFFSET
from supertopic.backends.cuda.memory import empty, keep_with, sent, sent_once
from supertopic.priors.base import Rows


def documents_of(batch: Any) -> Documents:
    """The documents of a batch on the device."""
    return counts_on_device(batch.counts)


def counts_on_device(counts: sp.csr_matrix) -> Documents:
    """Documents on the device; sent once, and kept with the counts until the backend is left."""
    return keep_with(counts, lambda: Documents.of(counts.indptr, counts.indices, counts.data, counts.shape[1]))


@dataclass(frozen=True)
class CountsOnDevice:
    """Counts that the device alone has, in the place of a CSR matrix of a batch."""

    on_device: Documents  # where `keep_with` looks

    @property
    def shape(self) -> tuple[int, int]:
        return self.on_device.n_documents, self.on_device.n_words


def weights_of(weights: Any) -> Matrix:
    """Weights of the E-step on the device; those of the host are sent there."""
    return weights if isinstance(weights, Matrix) else Matrix.of(weights + WEIGHT_OFFSET)


@dataclass
class Prior:
    """alpha of some documents on the device, and functions of it that the bound needs."""

    alpha: Any  # (R · width,) float32
    which: Any  # (D,) int32, or one zero: the row of each document
    gammas: Any  # (R · width · 3,) float64
    collapsed: bool

    @classmethod
    def of(cls, rows: Rows, collapsed: bool) -> Prior:
        value = padded(rows.single, 1.0).astype(np.float64)
        first = gammaln(value + 1.0) if collapsed else gammaln(value)
        gammas = np.stack([first, digamma(value), polygamma(1, value)], axis=-1)
        return cls(sent(value, np.float32), which_of(rows), sent(gammas, np.float64), collapsed)


def which_of(rows: Rows) -> Any:
    """The row of each document on the device, as `lanes.row_of` takes it."""
    return sent_once(np.zeros(1), np.int32) if len(rows.alpha) == 1 else sent(rows.which, np.int32)


class Inferred:
    """Room for what an E-step finds: factors of the words' shares, the bound, psi(sum gamma) and passes."""

    def __init__(self, documents: Documents, n_topics: int) -> None:
        n_documents = documents.n_documents
        self.theta, self.ratio = Matrix.empty(n_documents, n_topics), empty(documents.n_entries)
        self.words = empty(n_documents, np.float64)  # their part of the bound
        self.bound, self.psi_total = empty(n_documents, np.float64), empty(n_documents, np.float64)
        self.passes = empty(n_documents, np.int32)
        self._n_documents = n_documents

    @classmethod
    def of(cls, documents: Documents, n_topics: int) -> Inferred:
        """Room that is kept with the documents, since new room of this size takes time."""
        kept = vars(documents)
        if "room" not in kept or kept["room"].theta.shape[1] != n_topics:
            kept["room"] = cls(documents, n_topics)
        return kept["room"]

    def on_host(self, name: str) -> np.ndarray:
        return np.asarray(getattr(self, name).copy_to_host())[: self._n_documents]


def infer_documents(
    documents: Documents, weights: Matrix, prior: Prior, limits: Any, fresh: bool, gamma: Matrix,
    found: Inferred,
) -> None:  # fmt: skip
    """The E-step of documents without a response."""
    if not documents.n_documents:
        return
    infer_words(gamma.registers)[gamma.teams](
        *documents.csr, weights.packed, weights.flat, gamma.shape[1], prior.alpha, prior.which, prior.collapsed,
        limits.max_passes, limits.tol, fresh, gamma.flat, found.theta.flat, found.ratio, found.words,
        found.passes,
    )  # fmt: skip
    add_terms(prior, gamma, found)


def add_terms(prior: Prior, gamma: Matrix, found: Inferred) -> None:
    """Add what the topic shares add to the bound, and find psi(sum gamma)."""
    add_prior_terms[warps(len(gamma))](
        *gamma.shape, prior.alpha, prior.which, prior.gammas, prior.collapsed, gamma.flat, found.theta.flat,
        gamma.width, found.words, found.bound, found.psi_total,
    )  # fmt: skip


def sum_log_theta(gamma: Matrix, prior: Prior, found: Inferred) -> np.ndarray:
    """(K,) sum over documents, which have one alpha, of psi(gamma_dk) - psi(sum_k gamma_dk)."""
    if not len(gamma):
        return np.zeros(gamma.shape[1])
    return gamma.sums(topics.sum_documents, prior.alpha, prior.gammas, gamma.flat, found.psi_total, gamma.width)
