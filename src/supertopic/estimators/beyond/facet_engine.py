"""Variational EM for topics under labels that are known, missing, or latent (regions).

Document d: a ~ p(labels), theta ~ Dirichlet(alpha), z ~ theta, words ~ cell (a, z). The posterior is approximated by
q(a) q(theta, z | a). The bound is then

    L = sum_d log sum_a exp(log p(a, what is known of the labels) + bound of the words of d under a)  +  log priors

and q(a) is the softmax of the same terms. A document whose labels are known has only one term, and costs as much as in
LDA.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, logsumexp

from supertopic.backends.base import Backend, Spread, reads_only, total
from supertopic.backends.cpu.entries import order_entries
from supertopic.estimators.beyond.components import CellDesign, Components, FacetPrior, first_components, fit_components
from supertopic.inference.batches import Batch
from supertopic.inference.first_topics import online_counts
from supertopic.inference.loop import EM
from supertopic.inference.requirements import on_the_cpu
from supertopic.inference.task import Fit, Task, Watch, has_converged
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.kernels.e_step_words import WEIGHT_OFFSET, infer_plain_documents
from supertopic.kernels.word_sums import add_shares_by_word
from supertopic.model import State
from supertopic.priors.base import Rows, SharePrior

_LABEL_TURNS = 10  # turns of the fit that finds the labels' deviations before there are topics
_ALPHA_AFTER = 3  # steps before alpha is learned: first topics are poor, and alpha would give some of them up at once


@dataclass(frozen=True)
class LabelModel(ABC):
    """A distribution over the A combinations of labels, and what is known about the labels of each document.

    A label model is never changed in place: the M-step returns a new one.
    """

    learned: ClassVar[tuple[str, ...]] = ()  # names of the fields (arrays) that the M-step changes

    @abstractmethod
    def logs(self) -> np.ndarray:
        """(D, A) log p(a, what is known of the labels of d); minus infinity where d cannot have combination a."""

    @abstractmethod
    def update(self, posterior: np.ndarray) -> Self:
        """The M-step: the parameters that fit q(a) (D, A) best."""

    @abstractmethod
    def log_prior(self) -> float:
        """Log density of the parameters."""


Labels = TypeVar("Labels", bound=LabelModel)


@dataclass(kw_only=True)
class FacetedFit(Fit, Generic[Labels]):
    """What was found. The State holds the topics without any label, as distributions over words."""

    components: Components
    labels: Labels
    doc_topic: np.ndarray  # (D, K) float32, topic shares averaged over q(a)
    posterior: np.ndarray  # (D, A), q(a)


@dataclass(frozen=True)
class _Parameters(Generic[Labels]):
    """All that the M-step changes."""

    components: Components
    labels: Labels
    alpha: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers by name: what a checkpoint keeps."""
        labels = {f"labels.{name}": getattr(self.labels, name) for name in self.labels.learned}
        return {"background": self.components.background, "eta": self.components.eta, "alpha": self.alpha, **labels}

    @classmethod
    def restore(cls, labels: Labels, arrays: dict[str, np.ndarray]) -> _Parameters[Labels]:
        """From `arrays`; `labels` has the fields that the M-step does not change."""
        learned = {name: arrays[f"labels.{name}"] for name in labels.learned}
        return cls(Components(arrays["background"], arrays["eta"]), replace(labels, **learned), arrays["alpha"])


class _Candidates:
    """The documents that may have one combination of labels, and phi of their words under it, in two factors."""

    def __init__(self, counts: sp.csr_matrix, rows: np.ndarray, n_topics: int) -> None:
        whole = len(rows) == counts.shape[0]
        self.rows, self.counts = rows, counts if whole else counts[rows]
        self.by_word = order_entries(np.arange(len(rows)), self.counts)
        self.gamma = np.empty((len(rows), n_topics), dtype=np.float32)
        self.longest = int(np.diff(self.counts.indptr).max(initial=0))

    def infer(self, weights: np.ndarray, prior: Rows, limits: LocalLimits, fresh: bool, backend: Backend) -> None:
        csr = (self.counts.indptr, self.counts.indices, self.counts.data)
        given = (*csr, weights, prior.single, prior.which, False, limits.max_passes, limits.tol, fresh)
        self.theta, self.ratio = np.empty_like(self.gamma), np.empty(self.counts.nnz, dtype=np.float32)
        self.bound = np.zeros(len(self.rows))

        def part(start: int, stop: int) -> None:
            rows = backend.scratch(self.longest, weights.shape[1])
            infer_plain_documents(start, stop, *given, self.gamma, self.theta, self.ratio, self.bound, rows)

        backend.over_weights(self.counts.indptr, part)

    def expected_counts(self, weights: np.ndarray, share: np.ndarray, backend: Backend) -> np.ndarray:
        """Expected counts (V, K) float32; those of a document are weighted by its `share` of this combination."""
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
    """The E-step: documents under every combination of labels that they may have.

    It is also a partition of documents (`supertopic.backends.base`). What stays with it between steps is `gamma`, and
    that of the step before.
    """

    def __init__(
        self, batch: Batch, logs: np.ndarray, limits: LocalLimits, first: int = 0, places: np.ndarray | None = None
    ) -> None:
        """first : number of the first document; places : (A,) where its candidates begin among those of all."""
        rows = [np.flatnonzero(column > -np.inf) for column in logs.T]
        self.candidates = [_Candidates(batch.counts, one, batch.n_topics) for one in rows]
        self.batch, self.n_topics, self.limits = batch, batch.n_topics, limits
        self.posterior = np.zeros(logs.shape)
        self.rows = slice(first, first + len(logs))
        self.places = np.zeros(logs.shape[1], dtype=np.int64) if places is None else places
        self.before: list[np.ndarray] | None = None

    @property
    def gamma(self) -> list[np.ndarray]:
        """Dirichlet parameters of the topic shares, of the candidates of each combination (rows, K)."""
        return [candidates.gamma.copy() for candidates in self.candidates]

    @gamma.setter
    def gamma(self, gamma: list[np.ndarray]) -> None:
        for candidates, part in zip(self.candidates, gamma, strict=True):
            candidates.gamma[:] = part  # a copy, since the E-step overwrites it

    def kept(self) -> tuple[list[np.ndarray], list[np.ndarray] | None, np.ndarray]:
        return self.gamma, self.before, self.posterior

    def holding(self, kept: Any, *, copied: bool) -> Self:
        own = copy(self)
        own.candidates = [copy(candidates) for candidates in self.candidates]
        if kept is not None:
            gamma, own.before, own.posterior = kept
            for candidates, part in zip(own.candidates, gamma, strict=True):
                candidates.gamma = part.copy() if copied else part
        return own

    def infer(self, tables: np.ndarray, prior: Rows, logs: np.ndarray, fresh: bool, backend: Backend) -> float:
        """E-step given p(word | cell) (cells, V); returns the documents' part of the bound."""
        joint = np.full(logs.shape, -np.inf)
        self.weights = np.empty((len(self.candidates), tables.shape[1], self.n_topics), dtype=np.float32)
        cells = tables.reshape(-1, self.n_topics, tables.shape[1])
        backend.all([(np.copyto, *pair) for pair in zip(self.weights, cells.transpose(0, 2, 1), strict=True)])
        for a, (candidates, weights) in enumerate(zip(self.candidates, self.weights, strict=True)):
            candidates.infer(weights, prior[candidates.rows], self.limits, fresh, backend)
            joint[candidates.rows, a] = logs[candidates.rows, a] + candidates.bound
        evidence = logsumexp(joint, axis=1)
        self.posterior = np.exp(joint - evidence[:, None])
        return float(evidence.sum())

    def expected_counts(self, backend: Backend) -> np.ndarray:
        """Expected counts of words by cell, (cells, V) float64."""
        found = np.empty((len(self.candidates), self.n_topics, self.weights.shape[1]))
        parts = [
            candidates.expected_counts(weights, self.posterior[candidates.rows, a], backend).T
            for a, (candidates, weights) in enumerate(zip(self.candidates, self.weights, strict=True))
        ]
        backend.all([(np.copyto, *pair) for pair in zip(found, parts, strict=True)])
        return found.reshape(-1, found.shape[2])

    def summarise(self, prior: SharePrior, alpha: np.ndarray) -> np.ndarray:
        """What the documents say about the prior on topic shares."""
        rows = prior.rows(alpha, self.batch)
        logs = self._average(lambda gamma: digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True)))
        order = np.argsort(rows.which, kind="stable")
        found = np.stack([logs[some].sum(axis=0) for some in np.split(order, np.cumsum(rows.sizes.astype(int))[:-1])])
        return prior.summarise(alpha, self.batch, found)

    def doc_topic(self) -> np.ndarray:
        """(D, K) float32 E[theta]."""
        return self._average(lambda gamma: gamma / gamma.sum(axis=1, keepdims=True)).astype(np.float32)

    def _average(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """(D, K): a function of gamma, averaged over q(a)."""
        total = np.zeros((len(self.posterior), self.n_topics))
        for a, candidates in enumerate(self.candidates):
            share = self.posterior[candidates.rows, a, None]
            total[candidates.rows] += share * function(candidates.gamma.astype(np.float64))
        return total


@dataclass(frozen=True)
class _Labelled:
    """Documents to be spread: what is known of their labels decides what each may be."""

    batch: Batch
    logs: np.ndarray  # (D, A)
    limits: LocalLimits

    @property
    def n_pieces(self) -> int:
        return self.batch.n_pieces

    def split(self, n_parts: int) -> list[Documents]:
        parts, places = [], np.zeros(self.logs.shape[1], dtype=np.int64)
        for part in self.batch.split(n_parts):
            logs = self.logs[part.rows]
            parts.append(Documents(part.batch, logs, self.limits, part.rows.start, places))
            places = places + (logs > -np.inf).sum(axis=0)
        return parts


@dataclass(frozen=True)
class _Stats:
    """What documents say; the sum of two is what their union says."""

    bound: float
    words: np.ndarray  # (cells, V) expected counts
    prior: np.ndarray  # what moves the prior on topic shares

    def __add__(self, other: _Stats) -> _Stats:
        return _Stats(self.bound + other.bound, self.words + other.words, self.prior + other.prior)


def _facet_step(
    documents: Documents, backend: Backend, prior: SharePrior, tables: np.ndarray, alpha: np.ndarray,
    logs: np.ndarray, fresh: bool, again: bool = False,
) -> _Stats:  # fmt: skip
    """The local step. Documents start afresh or from the last step; `again` repeats it, from what was before it."""
    if again:
        assert documents.before is not None
        documents.gamma = documents.before
    else:
        documents.before = documents.gamma
    rows = prior.rows(alpha, documents.batch)
    bound = documents.infer(tables, rows, logs[documents.rows], fresh, backend)
    return _Stats(bound, documents.expected_counts(backend), documents.summarise(prior, alpha))


@reads_only
def _prior_step(documents: Documents, backend: Backend, prior: SharePrior, alpha: np.ndarray) -> np.ndarray:
    return documents.summarise(prior, alpha)


def _take_gamma(documents: Documents, backend: Backend, gamma: np.ndarray, sizes: list[int]) -> None:
    """Let documents start from `gamma` (rows, K): that of all candidates of each combination, of which `sizes` say how
    many there are, one after another.
    """
    parts = np.split(gamma, np.cumsum(sizes)[:-1])
    ends = [(place, place + len(own.rows)) for place, own in zip(documents.places, documents.candidates, strict=True)]
    documents.gamma = [part[slice(*end)] for part, end in zip(parts, ends, strict=True)]


@reads_only
def _gamma_of(documents: Documents, backend: Backend, before: bool) -> list[np.ndarray]:
    """What the last step found, or what it started from."""
    assert documents.before is not None
    return documents.before if before else documents.gamma


@reads_only
def _posterior_of(documents: Documents, backend: Backend) -> np.ndarray:
    return documents.posterior


@reads_only
def _shares_of(documents: Documents, backend: Backend) -> np.ndarray:
    return documents.doc_topic()


class FacetEM(EM, Generic[Labels]):
    """EM until the bound per token gains less than `tol` of itself. An M-step has one Newton step of every component.

    As in `VariationalEM`, documents start afresh in every E-step until that lets the bound fall; from then on, they
    start from where they were. The last step has no M-step, so that q(a) and the topic shares belong to the parameters
    that are returned; a fit that was killed after it takes it once more.
    """

    requires = (on_the_cpu("a model of facets"),)

    def __init__(self, task: Task, labels: Labels, design: CellDesign, prior: FacetPrior) -> None:
        super().__init__(task)
        self.labels, self.design, self.prior, self.logs = labels, design, prior, labels.logs()
        self.spread = task.backend.spread(_Labelled(task.batch, self.logs, task.settings.limits))
        self.fresh, self.last = True, False

    def start(self) -> None:
        self.now = _first_parameters(self.labels, self.design, self.prior, self.task, self.spread)

    def has_ended(self) -> bool:
        return self.last

    def _would_end(self, trace: list[float]) -> bool:
        return len(trace) >= self.task.settings.max_iter or has_converged(trace, self.task.settings.tol)

    def step(self) -> float:
        now, run = self.now, self.task.backend.all
        shares = self.task.model.doc_topic_prior
        given = (shares, now.components.tables(self.design, run), now.alpha, now.labels.logs())
        evidence = now.labels.log_prior() - self.prior.penalties(now.components.eta, self.design, run)
        evidence += shares.evidence(now.alpha)
        stats = total(self.spread.map(_facet_step, *given, self.fresh))
        if self.fresh and self.trace and (stats.bound + evidence) / self.task.n_tokens < self.trace[-1]:
            self.fresh = False
            stats = total(self.spread.map(_facet_step, *given, self.fresh, True))
        bound = float((stats.bound + evidence) / self.task.n_tokens)
        self.done += 1
        self.last = self._would_end([*self.trace, bound])
        if not self.last:
            self._maximise(stats)
        return bound

    def _maximise(self, stats: _Stats) -> None:
        """The M-step: components, labels and alpha."""
        now, alpha, task = self.now, self.now.alpha, self.task
        prior, spread = task.model.doc_topic_prior, self.spread
        components = fit_components(stats.words, self.design, self.prior, task.backend, now.components)
        if self.done >= _ALPHA_AFTER and prior.learns:
            alpha = prior.maximise(alpha, stats.prior, lambda other: total(spread.map(_prior_step, prior, other)))
        self.now = _Parameters(components, now.labels.update(_of_all(self.spread, _posterior_of)), alpha)

    def result(self) -> FacetedFit[Labels]:
        now = self.now
        topics = np.ascontiguousarray(now.components.topics(self.design).T, dtype=np.float32)
        state = replace(State.first(self.task.model, topics), alpha=now.alpha)
        return FacetedFit(
            state, self.trace, len(self.trace), components=now.components, labels=now.labels,
            doc_topic=_of_all(self.spread, _shares_of), posterior=_of_all(self.spread, _posterior_of),
        )  # fmt: skip

    def arrays(self) -> dict[str, np.ndarray]:
        combinations = zip(*self.spread.map(_gamma_of, self.last), strict=True)
        gamma = [np.concatenate(parts) for parts in combinations]
        return {**self.now.arrays(), "gamma": np.concatenate(gamma)}

    def numbers(self) -> dict[str, Any]:
        return {"fresh": self.fresh}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.fresh = numbers["fresh"]
        self.spread.map(_take_gamma, arrays.pop("gamma"), (self.logs > -np.inf).sum(axis=0).tolist())
        self.now = _Parameters.restore(self.labels, arrays)
        if self._would_end(self.trace):
            self.done -= 1
            self.trace.pop()


def fit_faceted(labels: Labels, design: CellDesign, prior: FacetPrior, task: Task, watch: Watch) -> FacetedFit[Labels]:
    found = FacetEM.fit(task, watch, labels=labels, design=design, prior=prior)
    assert isinstance(found, FacetedFit)
    return found


def _of_all(spread: Spread, function: Callable[..., np.ndarray]) -> np.ndarray:
    return np.concatenate(list(spread.map(function)))


def _first_parameters(
    labels: Labels, design: CellDesign, prior: FacetPrior, task: Task, spread: Spread
) -> _Parameters[Labels]:
    """Where a fit starts: the components that an E-step with first topics suggests."""
    shares, logs, backend = task.model.doc_topic_prior, labels.logs(), task.backend
    alpha = shares.start.copy()
    tables = _first_tables(task.counts, logs, design, prior, shares.mean(alpha), task.seed, backend)
    stats = total(spread.map(_facet_step, shares, tables, alpha, logs, True))
    return _Parameters(first_components(stats.words, design, prior, backend.all), labels, alpha)


def _first_tables(
    counts: sp.csr_matrix, logs: np.ndarray, design: CellDesign, prior: FacetPrior, alpha: np.ndarray, seed: int,
    backend: Backend,
) -> np.ndarray:  # fmt: skip
    """First topics by cell (cells, V): topics of LDA on damped documents.

    The counts of a document are divided by what its labels contribute to each word. LDA on the documents as they are
    would find the labels as topics, and nothing would be left for the labels to explain.
    """
    shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    by_label, alone = np.asarray(shares.T @ counts, dtype=np.float64), design.labels_alone
    start = first_components(by_label, alone, prior, backend.all)
    found = fit_components(by_label, alone, prior, backend, start, _LABEL_TURNS)
    deviations = sum(found.eta[rows][group.component] for group, rows in zip(alone.groups, alone.slices, strict=True))
    label = np.repeat(shares.argmax(axis=1), np.diff(counts.indptr))
    sure = np.repeat(shares.max(axis=1) > 0.5, np.diff(counts.indptr))
    damped = counts.copy()
    damped.data = (counts.data * np.exp(np.where(sure, -deviations[label, counts.indices], 0.0))).astype(np.float32)
    topics = online_counts(damped, design.n_topics, alpha, seed, backend).T + 0.01
    tables = (topics / topics.sum(axis=1, keepdims=True) * np.exp(deviations)[:, None]).reshape(-1, counts.shape[1])
    return tables / tables.sum(axis=1, keepdims=True)
