"""Variational EM for topics under labels that are seen, missing, or never seen (regions).

Document d: a ~ p(labels), theta ~ Dirichlet(alpha), z ~ theta, words ~ cell (a, z). q(a) q(theta, z | a), so that

    L = sum_d log sum_a exp(log p(a, what is seen of the labels) + bound of the words of d under a)  +  log priors

and q(a) is the softmax of the same terms. A document whose labels are known has one term and costs what LDA's does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, logsumexp

from supertopic.backends.threads import Threads
from supertopic.doc_topic_prior import DocTopicPrior
from supertopic.emissions.facets import CellDesign, Components, FacetPrior, first_components, fit_components
from supertopic.inference.batches import order_entries
from supertopic.inference.first_topics import online_counts
from supertopic.inference.task import has_converged
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.kernels.e_step_words import WEIGHT_OFFSET, infer_plain_documents
from supertopic.kernels.word_sums import add_shares_by_word

_LABEL_TURNS = 10  # of the fit that says what labels add, before there are topics
_ALPHA_AFTER = 3  # steps with alpha as it was: learned from first topics, some would be given up at once


class LabelModel(Protocol):
    """What is known of each document's combination of labels: A of them in all."""

    def logs(self) -> np.ndarray:
        """(D, A) log p(a, what is seen beside the words of d), minus infinity for a combination that cannot be."""
        ...

    def update(self, posterior: np.ndarray) -> None:
        """The M-step: parameters of its own, from q(a) of each document (D, A)."""
        ...

    def log_prior(self) -> float:
        """Log density of the parameters of its own."""
        ...


@dataclass
class FacetedFit:
    """What was found; `doc_topic` (D, K) are shares averaged over q(a), `posterior` (D, A) is q(a)."""

    components: Components
    alpha: np.ndarray
    doc_topic: np.ndarray
    posterior: np.ndarray
    trace: list[float] = field(default_factory=list)


class _Under:
    """The documents that may have one combination of labels, and their words' topic shares in two factors."""

    def __init__(self, counts: sp.csr_matrix, rows: np.ndarray, n_topics: int) -> None:
        whole = len(rows) == counts.shape[0]
        self.rows, self.counts = rows, counts if whole else counts[rows]
        self.by_word = order_entries(np.arange(len(rows)), self.counts)
        self.gamma, self.theta = np.empty((2, len(rows), n_topics), dtype=np.float32)
        self.ratio = np.empty(self.counts.nnz, dtype=np.float32)
        self.bound = np.zeros(len(rows))
        self.longest = int(np.diff(self.counts.indptr).max(initial=0))

    def infer(self, weights: np.ndarray, alpha: np.ndarray, limits: LocalLimits, fresh: bool, backend: Threads) -> None:
        csr = (self.counts.indptr, self.counts.indices, self.counts.data)
        given = (*csr, weights, alpha.astype(np.float32), False, limits.max_passes, limits.tol, fresh)

        def part(start: int, stop: int) -> None:
            rows = backend.scratch(self.longest, weights.shape[1])
            infer_plain_documents(start, stop, *given, self.gamma, self.theta, self.ratio, self.bound, rows)

        backend.over_weights(self.counts.indptr, part)

    def words(self, weights: np.ndarray, share: np.ndarray, backend: Threads) -> np.ndarray:
        """Expected counts (V, K) float32, each document's times its share of this combination."""
        ratio = self.ratio * np.repeat(share.astype(np.float32), np.diff(self.counts.indptr))
        found = np.zeros_like(weights)

        def part(start: int, stop: int) -> None:
            row = np.empty(weights.shape[1], dtype=np.float32)
            add_shares_by_word(
                start, stop, *self.by_word, ratio, self.theta, weights, WEIGHT_OFFSET, np.float32(1.0), found, row
            )

        backend.over_weights(self.by_word.start, part)
        return found


class Documents:
    """Documents beside what their labels may be: the E-step."""

    def __init__(self, counts: sp.csr_matrix, logs: np.ndarray, n_topics: int, limits: LocalLimits) -> None:
        self.under = [_Under(counts, np.flatnonzero(column > -np.inf), n_topics) for column in logs.T]
        self.n_topics, self.limits = n_topics, limits
        self.posterior = np.zeros(logs.shape)

    def infer(self, tables: np.ndarray, alpha: np.ndarray, logs: np.ndarray, fresh: bool, backend: Threads) -> float:
        """E-step given p(word | cell) (cells, V); gives the documents' part of the bound."""
        joint = np.full(logs.shape, -np.inf)
        self.weights = [
            np.ascontiguousarray(tables[a * self.n_topics : (a + 1) * self.n_topics].T, dtype=np.float32)
            for a in range(len(self.under))
        ]
        for a, (under, weights) in enumerate(zip(self.under, self.weights, strict=True)):
            under.infer(weights, alpha, self.limits, fresh, backend)
            joint[under.rows, a] = logs[under.rows, a] + under.bound
        evidence = logsumexp(joint, axis=1)
        self.posterior = np.exp(joint - evidence[:, None])
        return float(evidence.sum())

    def words(self, backend: Threads) -> np.ndarray:
        """Expected counts of words by cell, (cells, V) float64."""
        parts = [
            under.words(weights, self.posterior[under.rows, a], backend).T.astype(np.float64)
            for a, (under, weights) in enumerate(zip(self.under, self.weights, strict=True))
        ]
        return np.concatenate(parts)

    def mean_log_theta(self) -> np.ndarray:
        """(K,) mean over documents of E[log theta]."""

        def logs(gamma: np.ndarray) -> np.ndarray:
            return digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))

        return self._average(logs).mean(axis=0)

    def doc_topic(self) -> np.ndarray:
        """(D, K) float32 E[theta]."""
        return self._average(lambda gamma: gamma / gamma.sum(axis=1, keepdims=True)).astype(np.float32)

    def _average(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """(D, K) of what a function says of gamma, averaged over q(a)."""
        total = np.zeros((len(self.posterior), self.n_topics))
        for a, under in enumerate(self.under):
            total[under.rows] += self.posterior[under.rows, a, None] * function(under.gamma.astype(np.float64))
        return total


def fit_faceted(
    counts: sp.csr_matrix, labels: LabelModel, design: CellDesign, prior: FacetPrior, alpha_prior: DocTopicPrior,
    seed: int, backend: Threads, limits: LocalLimits, max_iter: int, tol: float,
    report: Callable[..., None] = lambda *_, **__: None,
) -> FacetedFit:  # fmt: skip
    """EM until the bound per token gains less than `tol` of itself; one Newton step of every component per M-step.

    As in `engines.fit_batch`, documents start
    afresh in every E-step until that lets the bound fall; from then on they go on from where they were.
    """
    alpha, n_topics = alpha_prior.start.copy(), design.n_topics
    documents = Documents(counts, labels.logs(), n_topics, limits)
    n_tokens = max(float(counts.data.sum(dtype=np.float64)), 1.0)
    tables = _first_tables(counts, labels.logs(), design, prior, alpha, seed, backend)
    documents.infer(tables, alpha, labels.logs(), True, backend)
    found = first_components(documents.words(backend), design, prior)
    trace: list[float] = []
    fresh = True
    for done in range(max_iter):
        tables, logs = np.exp(found.logs(design)), labels.logs()
        evidence = labels.log_prior() - prior.penalties(found.eta, design)
        kept = [under.gamma.copy() for under in documents.under]
        bound = (documents.infer(tables, alpha, logs, fresh, backend) + evidence) / n_tokens
        if fresh and trace and bound < trace[-1]:
            fresh = False
            for under, gamma in zip(documents.under, kept, strict=True):
                under.gamma = gamma
            bound = (documents.infer(tables, alpha, logs, fresh, backend) + evidence) / n_tokens
        trace.append(bound)
        report(done + 1, per_token=bound)
        if has_converged(trace, tol) or done + 1 == max_iter:
            break
        found, _ = fit_components(documents.words(backend), design, prior, backend, found)
        labels.update(documents.posterior)
        if done + 1 >= _ALPHA_AFTER:
            alpha = alpha_prior.update(alpha, documents.mean_log_theta())
    return FacetedFit(found, alpha, documents.doc_topic(), documents.posterior, trace)


def _first_tables(
    counts: sp.csr_matrix, logs: np.ndarray, design: CellDesign, prior: FacetPrior, alpha: np.ndarray, seed: int,
    backend: Threads,
) -> np.ndarray:  # fmt: skip
    """First topics by cell (cells, V): LDA's of documents in which the words that their labels add are damped.

    LDA of the documents as they are finds the labels among its topics, and labels have nothing left to say then.
    """
    shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    by_label, alone = np.asarray(shares.T @ counts, dtype=np.float64), design.labels_alone
    start = first_components(by_label, alone, prior)
    found, _ = fit_components(by_label, alone, prior, backend, start, _LABEL_TURNS)
    adds = sum(found.eta[rows][group.component] for group, rows in zip(alone.groups, alone.slices, strict=True))
    label = np.repeat(shares.argmax(axis=1), np.diff(counts.indptr))
    sure = np.repeat(shares.max(axis=1) > 0.5, np.diff(counts.indptr))
    damped = counts.copy()
    damped.data = (counts.data * np.exp(np.where(sure, -adds[label, counts.indices], 0.0))).astype(np.float32)
    topics = online_counts(damped, design.n_topics, alpha, seed, backend).T + 0.01
    tables = (topics / topics.sum(axis=1, keepdims=True) * np.exp(adds)[:, None]).reshape(-1, counts.shape[1])
    return tables / tables.sum(axis=1, keepdims=True)
