"""Variational inference, batch and stochastic: the batch engine takes the stochastic step with the whole corpus.

Four verbs: the local step makes Stats of a batch of documents, Stats add up over blocks, the global step moves the
State, and the evidence says how good it is:

    L = sum_d E_q[log p(theta_d, z_d, w_d, y_d | topics) - log q(theta_d, z_d)]  +  E_q[log p(topics) - log q(topics)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import digamma, gammaln

from supertopic.backends.threads import Threads
from supertopic.inference.batches import Batch, Block
from supertopic.kernels.mixture import share_documents
from supertopic.kernels.response import respond_documents
from supertopic.kernels.topics import add_by_word
from supertopic.kernels.variational import infer_documents
from supertopic.model import Model, State, Stats

_PASSES_BETWEEN_REFRESHES = 5  # (slope, curvature) renewed this often: more often saves no passes


@dataclass(frozen=True)
class LocalLimits:
    """When a document's inference stops: a mean change of its topic counts below `tol`, or `max_passes`."""

    max_passes: int = 100
    tol: float = 1e-3


@dataclass(frozen=True)
class Step:
    """What one statistical step left behind."""

    before: State
    state: State
    doc_topic: np.ndarray  # (batch, K) float32 variational Dirichlet parameters gamma
    document_bound: float  # the documents' part of the bound at `before`, scaled up to the whole corpus

    def bound(self, model: Model, backend: Threads) -> float:
        """The evidence bound at the State the step started from."""
        return self.document_bound + global_evidence(model, self.before, backend)


@dataclass(frozen=True)
class Schedule:
    """Step t moves the topics by rate (delay + t)^-decay towards what its batch says; constant 1 in batch inference."""

    delay: float = 1.0
    decay: float = 0.0

    def rate(self, step: int) -> float:
        return float((self.delay + step) ** -self.decay)


def take_step(
    model: Model,
    state: State,
    batch: Batch,
    backend: Threads,
    limits: LocalLimits,
    *,
    n_documents: float | None = None,
    rate: float = 1.0,
    doc_topic: np.ndarray | None = None,
) -> Step:
    """One statistical step: topics' expectations, local step, global step.

    `n_documents` is the size of the corpus the batch stands for (itself, by default). Documents start afresh, or from
    the `doc_topic` of an earlier step on the same batch: the bound then cannot fall.
    """
    weights = model.emission.expect(state.word_topic, backend, log=model.single)
    stats, doc_topic = local_step(model, state, weights, batch, backend, limits, doc_topic)
    scale = (n_documents or len(batch)) / len(batch)
    return Step(state, global_step(model, state, stats, scale, rate), doc_topic, scale * stats.bound)


def local_step(
    model: Model,
    state: State,
    weights: np.ndarray,
    batch: Batch,
    backend: Threads,
    limits: LocalLimits,
    doc_topic: np.ndarray | None = None,
) -> tuple[Stats, np.ndarray]:
    """Stats of a batch and its documents' parameters, given the topics' weights (logarithms, for a mixture)."""
    fresh = doc_topic is None
    doc_topic = np.empty((len(batch), model.n_topics), dtype=np.float32) if doc_topic is None else doc_topic.copy()
    stats = Stats(np.zeros_like(weights), np.zeros(model.n_topics), 0.0, 0.0)
    most = max((len(block.order) for block in batch.blocks), default=0)
    shares = np.empty((most, model.n_topics), dtype=np.float32)
    for block in batch.blocks:
        phi = shares[: len(block.order)]
        documents = slice(block.start, block.stop)
        counts = batch.counts
        entries = slice(counts.indptr[block.start], counts.indptr[block.stop])
        task = _BlockTask(
            model, state, weights, limits, counts.indptr[block.start : block.stop + 1] - entries.start,
            counts.indices[entries], counts.data[entries], batch.y[documents], batch.longest,
            doc_topic[documents], phi, fresh,
        )  # fmt: skip
        task.run(backend)
        _add_words(task.counts, block, phi, stats.word_topic, backend)
        stats.bound += float(task.bound.sum())
    stats.n_documents = float(len(batch))
    stats.log_theta = doc_topic.sum(axis=0, dtype=np.float64) if model.single else _sum_log_theta(doc_topic)
    return stats, doc_topic


@dataclass
class _BlockTask:
    """The E-step of one block: its slice of the batch, and where its documents' results go."""

    model: Model
    state: State
    weights: np.ndarray
    limits: LocalLimits
    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray
    y: np.ndarray
    longest: int
    doc_topic: np.ndarray
    phi: np.ndarray
    fresh: bool

    def __post_init__(self) -> None:
        self.alpha = self.state.alpha.astype(np.float32)
        self.bound = np.zeros(len(self.doc_topic))
        self.passes = np.zeros(len(self.doc_topic), dtype=np.int32)

    def run(self, backend: Threads) -> None:
        if self.model.single:
            backend.over_weights(self.indptr, self._share)
        elif self.model.response.n_columns == 0:
            backend.over_weights(self.indptr, self._infer)
        else:
            self._run_with_response(backend)

    def _share(self, start: int, stop: int) -> None:
        assert self.state.shares is not None
        log_shares = digamma(self.state.shares) - digamma(self.state.shares.sum())
        share_documents(
            start, stop, self.indptr, self.indices, self.counts, self.weights, log_shares,
            self.doc_topic, self.phi, self.bound,
        )  # fmt: skip

    def _infer(self, start: int, stop: int) -> None:
        rows = np.empty((self.longest, self.model.n_topics), dtype=np.float32)
        infer_documents(
            start, stop, self.indptr, self.indices, self.counts, self.weights, self.alpha,
            self.limits.max_passes, self.limits.tol, self.fresh,
            self.doc_topic, self.phi, self.bound, self.passes, rows,
        )  # fmt: skip

    def _run_with_response(self, backend: Threads) -> None:
        """Inference without y first: a fresh start for every document, and all that unlabelled ones need."""
        backend.over_weights(self.indptr, self._infer)
        response, state = self.model.response, self.state
        score = np.zeros((len(self.doc_topic), response.n_columns))
        moment = np.zeros_like(score)
        nothing = np.zeros_like(score)

        def respond(start: int, stop: int, slope: np.ndarray, curvature: np.ndarray) -> None:
            rows = np.empty((self.longest, self.model.n_topics), dtype=np.float32)
            respond_documents(
                start, stop, self.indptr, self.indices, self.counts, self.weights, self.alpha,
                _PASSES_BETWEEN_REFRESHES, self.limits.tol,
                slope, curvature, state.coef, state.coef_cov, response.is_product,
                self.doc_topic, self.phi, self.bound, self.passes, score, moment, rows,
            )  # fmt: skip

        respond(0, len(self.doc_topic), nothing, nothing)  # the scores to start from
        for _ in range(0, self.limits.max_passes, _PASSES_BETWEEN_REFRESHES):
            slope, curvature = response.speak(self.y, score, moment)
            backend.over_weights(self.indptr, partial(respond, slope=slope, curvature=curvature))
            if self.passes.max(initial=0) < _PASSES_BETWEEN_REFRESHES:
                break
        self.bound += response.log_density(self.y, score, moment)


def _add_words(counts: np.ndarray, block: Block, phi: np.ndarray, word_topic: np.ndarray, backend: Threads) -> None:
    def add(start: int, stop: int) -> None:
        row = np.empty(phi.shape[1], dtype=np.float32)
        add_by_word(start, stop, block.words, block.word_start, block.order, counts, phi, word_topic, row)

    backend.over_weights(block.word_start, add)


def _sum_log_theta(gamma: np.ndarray) -> np.ndarray:
    """sum_d psi(gamma_dk) - psi(sum_k gamma_dk), a few documents at a time to stay small."""
    total = np.zeros(gamma.shape[1])
    for start in range(0, len(gamma), 1024):
        part = gamma[start : start + 1024].astype(np.float64)
        total += (digamma(part) - digamma(part.sum(axis=1, keepdims=True))).sum(axis=0)
    return total


def global_step(model: Model, state: State, stats: Stats, scale: float, rate: float) -> State:
    """The State after a step of the given rate towards the Stats of a batch, scaled up to the whole corpus."""
    if scale != 1.0:
        stats.word_topic *= np.float32(scale)
    word_topic = model.emission.update(state.word_topic, stats.word_topic, rate)
    if model.single:
        assert state.shares is not None
        towards = state.alpha + scale * stats.log_theta
        return replace(state, word_topic=word_topic, shares=(1.0 - rate) * state.shares + rate * towards)
    alpha = model.doc_topic_prior.update(state.alpha, stats.log_theta / stats.n_documents, rate)
    return replace(state, word_topic=word_topic, alpha=alpha)


def global_evidence(model: Model, state: State, backend: Threads) -> float:
    """The part of the bound that belongs to no document: topics, and a mixture's topic shares."""
    topics = model.emission.evidence(state.word_topic, backend)
    if state.shares is None:
        return topics
    log_shares = digamma(state.shares) - digamma(state.shares.sum())
    norm = gammaln(state.alpha.sum()) - gammaln(state.alpha).sum()
    norm -= gammaln(state.shares.sum()) - gammaln(state.shares).sum()
    return topics + float(norm + ((state.alpha - state.shares) * log_shares).sum())


def start_state(model: Model, word_topic: np.ndarray) -> State:
    """The State before the first step, from first topics."""
    columns = model.response.n_columns
    alpha = model.doc_topic_prior.start.copy()
    return State(
        word_topic=word_topic,
        alpha=alpha,
        coef=np.zeros((columns, model.n_topics), dtype=np.float32),
        coef_cov=np.zeros((0, model.n_topics, model.n_topics), dtype=np.float32),
        shares=np.full(model.n_topics, 1.0) if model.single else None,
    )
