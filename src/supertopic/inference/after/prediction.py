"""Inference for documents without a label, given the topics as fixed distributions: what `transform` does."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend, Spread, reads_only
from supertopic.documents.corpus import Corpus, lengths_of, log_counts, logarithms
from supertopic.inference.batches import Batch, Partition
from supertopic.inference.design import mean_shares, shifted
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.kernels.e_step_mean import infer_documents_mean
from supertopic.kernels.e_step_token import infer_documents_token
from supertopic.kernels.e_step_words import infer_documents
from supertopic.kernels.one_topic import share_documents
from supertopic.priors.base import Rows
from supertopic.responses.base import Response

LIMITS = LocalLimits(max_passes=200, tol=3e-5)
_DOCUMENTS_AT_ONCE = 1024  # whose responsibilities are held at a time


@dataclass(frozen=True)
class PointModel:
    """The prior on topic shares, and how they are inferred; `shares` instead where a document has one topic.

    `at_mode` says that responses depend on the mode of theta, rather than on the frequencies Zbar of the topics. It
    goes with `collapsed`, whose gamma is a multiple of the mode. `log_counts` says that topics see the logarithms of
    counts (`supertopic.documents.corpus.log_counts`).
    """

    alpha: np.ndarray  # (K,) of all documents, or (R, K) and `which` row each document has
    shares: np.ndarray | None = None
    collapsed: bool = False
    at_mode: bool = False
    log_counts: bool = False
    which: np.ndarray | None = None  # (D,) int32

    def prior(self, n_documents: int) -> Rows:
        """alpha of so many documents."""
        return Rows.same(self.alpha, n_documents) if self.which is None else Rows(self.alpha, self.which)

    def of(self, some: slice) -> PointModel:
        """That of some of the documents."""
        return self if self.which is None else replace(self, which=self.which[some])

    def seen(self, counts: sp.csr_matrix) -> tuple[PointModel, sp.csr_matrix]:
        """Documents as topics see them, and the PointModel that takes them as they are."""
        return (replace(self, log_counts=False), log_counts(counts)) if self.log_counts else (self, counts)

    def seen_of(self, corpus: Corpus) -> tuple[PointModel, sp.csr_matrix]:
        """The same of a corpus, which keeps its logarithms."""
        return (replace(self, log_counts=False), corpus.logs.counts) if self.log_counts else (self, corpus.counts)


def infer_shares(
    point: PointModel, weights: np.ndarray, counts: sp.csr_matrix, backend: Backend, *, words: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Topic shares (D, K) float32 and, if asked for, each entry's shares phi (nnz, K) float32, else (0, K).

    weights : (V, K) float32, p(word | topic)
    """
    point, counts = point.seen(counts)
    return backend.form(shares_by_documents)(point, weights, counts, backend, words)


def shares_by_documents(
    point: PointModel, weights: np.ndarray, counts: sp.csr_matrix, backend: Backend, words: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`infer_shares` on the CPU."""
    n_topics = weights.shape[1]
    elsewhere = None if words else _spread(counts, n_topics, backend)
    if elsewhere is not None:
        return np.concatenate(list(elsewhere.map(_shares_of, point, weights))), np.empty((0, n_topics), np.float32)
    doc_topic = np.empty((counts.shape[0], n_topics), dtype=np.float32)
    phi = np.empty((counts.nnz if words else 0, n_topics), dtype=np.float32)
    bound = np.empty(len(doc_topic))
    csr = (counts.indptr, counts.indices, counts.data)
    if point.shares is not None:
        log_weights = np.log(np.maximum(weights, np.float32(1e-30)))
        log_shares = np.log(point.shares / point.shares.sum())

        def share(start: int, stop: int) -> None:
            share_documents(start, stop, *csr, log_weights, log_shares, doc_topic, phi, bound)

        backend.over_weights(counts.indptr, share)
        return doc_topic, phi

    prior, passes = point.prior(len(doc_topic)), np.empty(len(doc_topic), dtype=np.int32)
    longest = int(np.diff(counts.indptr).max(initial=0))

    def infer_range(start: int, stop: int) -> None:
        rows = np.empty((longest, n_topics), dtype=np.float32)
        infer_documents(
            start, stop, *csr, weights, prior.single, prior.which, point.collapsed, LIMITS.max_passes, LIMITS.tol,
            True, doc_topic, phi, bound, passes, rows,
        )  # fmt: skip

    backend.over_weights(counts.indptr, infer_range)
    doc_topic /= doc_topic.sum(axis=1, keepdims=True)
    return doc_topic, phi


def _spread(counts: sp.csr_matrix, n_topics: int, backend: Backend) -> Spread | None:
    """The documents in partitions on other machines; None if they are better inferred here."""
    nothing = np.zeros(counts.shape[0])
    batch = Batch(counts, nothing, nothing, n_topics)
    return backend.spread(batch) if backend.remote and batch.n_pieces > 1 else None


@reads_only
def _shares_of(partition: Partition, backend: Backend, point: PointModel, weights: np.ndarray) -> np.ndarray:
    return infer_shares(point.of(partition.rows), weights, partition.batch.counts, backend)[0]


@reads_only
def _scores_of(
    partition: Partition, backend: Backend, point: PointModel, weights: np.ndarray, coef: np.ndarray, response: Response
) -> Scores:
    return score(point.of(partition.rows), weights, coef, response, partition.batch.counts, backend)


def response_shares(point: PointModel, phi: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(n, K) what each of one document's n words, counted (n,) times, adds to the shares that the response depends on.

    Their sum is Zbar, or the mode of theta: there, the prior's pseudo-counts are spread over all tokens.
    """
    counts = logarithms(counts) if point.log_counts else counts
    n_tokens = max(float(counts.sum()), 1e-300)
    prior = point.prior(1).of_document(0) * point.at_mode
    return counts[:, None] * (phi + prior / n_tokens) / (n_tokens + prior.sum())


def frequencies(point: PointModel, shares: np.ndarray, lengths: np.ndarray, backend: Backend) -> np.ndarray:
    """(D, K) the shares that the response depends on, of documents (D,) tokens long whose theta has been inferred.

    They are the mode of theta itself, or E[Zbar] = (gamma - alpha) / N, where theta = gamma / (N + sum alpha).
    """
    if point.at_mode:
        return shares
    prior = point.prior(len(shares))
    alpha, total = prior.single, prior.by_document(prior.alpha.sum(axis=1))
    longer, inverse = ((n / np.maximum(lengths, 1e-30)).astype(np.float32) for n in (lengths + total, 1.0))
    found = np.empty_like(shares)

    def find(first: int, last: int) -> None:
        for start in range(first, last, _DOCUMENTS_AT_ONCE):  # few enough to stay in the cache
            some = slice(start, min(start + _DOCUMENTS_AT_ONCE, last))
            own = prior[some].by_document(alpha)
            found[some] = np.maximum(shares[some] * longer[some, None] - inverse[some, None] * own, 0.0)

    backend.over_range(len(shares), find)
    for d in np.flatnonzero(lengths == 0).tolist():
        found[d] = prior.of_document(d) / prior.of_document(d).sum()
    return found


@dataclass(frozen=True)
class Scores:
    """Linear predictors s = coef·Zbar of documents without a label, and what they are made of."""

    mean_topics: np.ndarray  # (D, K) E[Zbar]; the prior mean for an empty document
    score: np.ndarray  # (D, C) E[s]
    moment: np.ndarray  # (D, C) E[s²], or E[exp s] of a product column

    def shifted(self, offset: np.ndarray, is_product: np.ndarray) -> Scores:
        """The same with a known part `offset` (D, C) added to s."""
        return Scores(self.mean_topics, *shifted(self.score, self.moment, offset, is_product))


def score(
    point: PointModel, weights: np.ndarray, coef: np.ndarray, response: Response, counts: sp.csr_matrix,
    backend: Backend,
) -> Scores:  # fmt: skip
    """Infer without y, a few documents at a time, and take the moments of every column's linear predictor.

    coef : (C, K) float32, of the topics
    """
    point, counts = point.seen(counts)
    if point.at_mode:
        shares = infer_shares(point, weights, counts, backend)[0]
        exact = shares @ coef.T.astype(np.float64)
        return Scores(shares, exact, np.where(response.is_product, np.exp(np.minimum(exact, 300.0)), exact**2))
    elsewhere = _spread(counts, weights.shape[1], backend)
    if elsewhere is not None:
        return _joined(list(elsewhere.map(_scores_of, point, weights, coef, response)))
    columns = (coef, response.is_product) if response.uses_moments else (coef[:0], response.is_product[:0])
    found = backend.form(score_documents)(point, weights, *columns, counts, backend)
    if response.uses_moments:
        return found
    means = found.mean_topics @ coef.T
    return Scores(found.mean_topics, means, means**2)


def score_documents(
    point: PointModel, weights: np.ndarray, coef: np.ndarray, is_product: np.ndarray, counts: sp.csr_matrix,
    backend: Backend,
) -> Scores:  # fmt: skip
    """The moments of these columns on the CPU."""
    return _joined(
        [
            _score_part(point.of(some), weights, coef, is_product, counts[some], backend)
            for some in (slice(i, i + _DOCUMENTS_AT_ONCE) for i in range(0, counts.shape[0], _DOCUMENTS_AT_ONCE))
        ]
    )


def _joined(parts: list[Scores]) -> Scores:
    return Scores(*(np.concatenate([getattr(part, name) for part in parts]) for name in Scores.__annotations__))


def _score_part(
    point: PointModel, weights: np.ndarray, coef: np.ndarray, is_product: np.ndarray, counts: sp.csr_matrix,
    backend: Backend,
) -> Scores:  # fmt: skip
    n_documents, n_topics = counts.shape[0], weights.shape[1]
    gamma = np.empty((n_documents, n_topics), dtype=np.float32)
    by_mean = point.collapsed and len(coef) > 0
    weighed, ratio = np.empty_like(gamma), np.empty(counts.nnz, dtype=np.float32)
    phi = np.empty((0 if by_mean else counts.nnz, n_topics), dtype=np.float32)
    bound, passes = np.empty(n_documents), np.empty(n_documents, dtype=np.int32)
    found, moment, nothing, factors = np.zeros((4, n_documents, len(coef)))
    certain = np.zeros((0, n_topics, n_topics), dtype=np.float32)
    prior, active = point.prior(n_documents), np.ones(n_documents, dtype=bool)
    longest = int(np.diff(counts.indptr).max(initial=0))
    csr = (counts.indptr, counts.indices, counts.data)
    limits = (LIMITS.max_passes, LIMITS.tol)

    def infer_range(first: int, last: int) -> None:
        rows = np.empty((longest, n_topics), dtype=np.float32)
        given = (first, last, *csr, weights, prior.single, prior.which)
        if by_mean:
            infer_documents_mean(
                *given, True, *limits, True, nothing, nothing, coef, certain, is_product, active, factors,
                gamma, weighed, ratio, phi, bound, passes, found, moment, rows,
            )  # fmt: skip
            return
        infer_documents(*given, point.collapsed, *limits, True, gamma, phi, bound, passes, rows)
        if len(coef):
            infer_documents_token(
                *given, *limits, nothing, nothing, coef, certain, is_product,
                gamma, phi, bound, passes, found, moment, rows,
            )  # fmt: skip

    backend.over_weights(counts.indptr, infer_range)
    lengths = lengths_of(counts)
    alpha = prior.by_document(prior.single)
    return Scores(mean_shares(gamma, alpha, np.where(lengths > 0, lengths, np.inf)), found, moment)
