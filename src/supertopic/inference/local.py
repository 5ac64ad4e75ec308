"""The local step: what a batch of documents says, given the State, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import digamma

from supertopic.backends.threads import Threads
from supertopic.inference.batches import Batch, Block, order_entries
from supertopic.inference.plain import add_plain_blocks
from supertopic.kernels.mixture import share_documents
from supertopic.kernels.response import respond_documents
from supertopic.kernels.topics import add_by_word
from supertopic.kernels.variational import infer_documents, sum_log_theta
from supertopic.model import Model, State, Stats

_PASSES_BETWEEN_REFRESHES = 5  # (slope, curvature) renewed this often: more often saves no passes


@dataclass(frozen=True)
class LocalLimits:
    """When a document's inference stops: a mean change of its topic counts below `tol`, or `max_passes`."""

    max_passes: int = 100
    tol: float = 1e-3


@dataclass
class Locals:
    """What a local step found out about each document of its batch."""

    doc_topic: np.ndarray  # (D, K) float32: Dirichlet parameters gamma; for a mixture, the posterior of the topic
    score: np.ndarray  # (D, C) E[s] of each response column
    moment: np.ndarray  # (D, C) E[s²], or E[exp s] of a product column


def local_step(
    model: Model,
    state: State,
    weights: np.ndarray,
    batch: Batch,
    backend: Threads,
    limits: LocalLimits,
    doc_topic: np.ndarray | None = None,
    out: np.ndarray | None = None,
) -> tuple[Stats, Locals]:
    """Stats of a batch and what it found about its documents, given the topics' weights (logarithms, for a mixture).

    The word counts are written over `out`, (V, K), where it is given: engines go from one pair of arrays to the other.
    """
    fresh = doc_topic is None
    n_topics, n_columns = model.n_topics, model.response.n_columns
    doc_topic = np.empty((len(batch), n_topics), dtype=np.float32) if doc_topic is None else doc_topic.copy()
    found = Locals(doc_topic, np.zeros((len(batch), n_columns)), np.zeros((len(batch), n_columns)))
    stats = Stats(
        word_topic=np.empty_like(weights) if out is None else out,
        log_theta=np.zeros(n_topics),
        n_documents=float(len(batch)),
        bound=0.0,
        gram=np.zeros((n_columns, n_topics, n_topics)),
        cross=np.zeros((n_columns, n_topics)),
    )
    stats.word_topic[:] = 0.0
    if model.single or (n_columns and np.any(batch.weight > 0)):  # no weight at all: y has no say, and this is LDA
        _add_blocks(model, state, weights, batch, backend, limits, found, stats, fresh)
    else:
        given = (limits.max_passes, limits.tol, fresh)
        add_plain_blocks(batch, weights, state.alpha.astype(np.float32), *given, doc_topic, stats, backend)
    if model.single:
        stats.log_theta = doc_topic.sum(axis=0, dtype=np.float64)
    else:
        stats.log_theta = _sum_log_theta(state.alpha.astype(np.float32), doc_topic, backend)
    return stats, found


def _add_blocks(
    model: Model, state: State, weights: np.ndarray, batch: Batch, backend: Threads, limits: LocalLimits, found: Locals,
    stats: Stats, fresh: bool,
) -> None:  # fmt: skip
    """Block by block, the topic shares of all entries of a block at hand: a response needs them."""
    indptr = batch.counts.indptr
    most = max((int(indptr[stop] - indptr[start]) for start, stop in batch.blocks), default=0)
    shares = np.empty((most, model.n_topics), dtype=np.float32)
    for block in batch.blocks:
        phi = shares[: indptr[block.stop] - indptr[block.start]]
        _BlockTask(model, state, weights, limits, batch, block, found, phi, fresh).run(backend, stats)


class _BlockTask:
    """The E-step of one block: its slice of the batch, and where its documents' results go."""

    def __init__(
        self, model: Model, state: State, weights: np.ndarray, limits: LocalLimits, batch: Batch, block: Block,
        found: Locals, phi: np.ndarray, fresh: bool,
    ) -> None:  # fmt: skip
        documents = slice(block.start, block.stop)
        indptr = batch.counts.indptr[block.start : block.stop + 1]
        entries = slice(indptr[0], indptr[-1])
        self.model, self.state, self.weights, self.limits = model, state, weights, limits
        self.batch, self.documents = batch, np.arange(block.start, block.stop)
        self.indptr = indptr - indptr[0]
        self.indices, self.counts = batch.counts.indices[entries], batch.counts.data[entries]
        self.y, self.weight, self.longest = batch.y[documents], batch.weight[documents], batch.longest
        self.doc_topic = found.doc_topic[documents]
        self.score, self.moment = found.score[documents], found.moment[documents]
        self.phi, self.fresh = phi, fresh
        self.alpha = state.alpha.astype(np.float32)
        self.bound = np.zeros(len(self.doc_topic))
        self.passes = np.zeros(len(self.doc_topic), dtype=np.int32)

    def run(self, backend: Threads, stats: Stats) -> None:
        """Infer, and add what was found to `stats`."""
        if self.model.single:
            backend.over_weights(self.indptr, self._share)
        else:
            backend.over_weights(self.indptr, self._infer)
        if self.model.response.n_columns:
            self._respond(backend, stats)
        self._add_words(stats.word_topic, backend)
        stats.bound += float(self.bound.sum())

    def _share(self, start: int, stop: int) -> None:
        assert self.state.shares is not None
        log_shares = digamma(self.state.shares) - digamma(self.state.shares.sum())
        share_documents(
            start, stop, self.indptr, self.indices, self.counts, self.weights, log_shares,
            self.doc_topic, self.phi, self.bound,
        )  # fmt: skip

    def _infer(self, start: int, stop: int) -> None:
        """Inference without y: all that documents without a label need, and the start of the others."""
        rows = np.empty((self.longest, self.model.n_topics), dtype=np.float32)
        forgetful = not self.fresh and self.model.response.n_columns > 0  # more passes would unlearn what y has said
        infer_documents(
            start, stop, self.indptr, self.indices, self.counts, self.weights, self.alpha,
            1 if forgetful else self.limits.max_passes, self.limits.tol, self.fresh,
            self.doc_topic, self.phi, self.bound, self.passes, rows,
        )  # fmt: skip

    def _respond(self, backend: Threads, stats: Stats) -> None:
        """Go on with y; then what the documents say of the coefficients."""
        response, state = self.model.response, self.state
        dispersion = np.zeros(0) if state.dispersion is None else state.dispersion
        weight = self.weight[:, None]

        def respond(start: int, stop: int, slope: np.ndarray, curvature: np.ndarray) -> None:
            rows = np.empty((self.longest, self.model.n_topics), dtype=np.float32)
            respond_documents(
                start, stop, self.indptr, self.indices, self.counts, self.weights, self.alpha,
                _PASSES_BETWEEN_REFRESHES, self.limits.tol,
                slope, curvature, state.coef, state.coef_cov, response.is_product,
                self.doc_topic, self.phi, self.bound, self.passes, self.score, self.moment, rows,
            )  # fmt: skip

        nothing = np.zeros_like(self.score)
        respond(0, len(self.doc_topic), nothing, nothing)  # the scores to start from
        for _ in range(0, self.limits.max_passes, _PASSES_BETWEEN_REFRESHES):
            slope, curvature = response.speak(self.y, self.score, self.moment, dispersion)
            slope, curvature = weight * slope, weight * curvature
            backend.over_weights(self.indptr, partial(respond, slope=slope, curvature=curvature))
            if self.passes.max(initial=0) < _PASSES_BETWEEN_REFRESHES:
                break
        self.bound += self.weight * response.log_density(self.y, self.score, self.moment, dispersion)
        slope, curvature = response.speak(self.y, self.score, self.moment, dispersion)
        self._add_moments(weight * slope, weight * curvature, stats)

    def _add_moments(self, slope: np.ndarray, curvature: np.ndarray, stats: Stats) -> None:
        """cross += sum_d slope E[Zbar], gram += sum_d curvature E[Zbar Zbar'], where

        N² E[Zbar Zbar'] = phi_sum phi_sum' + diag(phi_sum) - sum_j c_j phi_j phi_j'
        """
        lengths = np.add.reduceat(np.append(self.counts, 0), self.indptr[:-1]) * (np.diff(self.indptr) > 0)
        lengths = np.where(lengths > 0, lengths, np.inf).astype(np.float64)  # an empty document has no tokens to vary
        mean = (self.doc_topic - self.alpha) / lengths[:, None].astype(np.float32)
        mean[np.diff(self.indptr) == 0] = self.alpha / self.alpha.sum()
        stats.cross += slope.T @ mean
        per_entry = np.repeat(1.0 / lengths**2, np.diff(self.indptr)) * self.counts
        for c in range(curvature.shape[1]):
            outer = (mean * curvature[:, c : c + 1].astype(np.float32)).T @ mean
            own = (per_entry * np.repeat(curvature[:, c], np.diff(self.indptr))).astype(np.float32)
            outer -= (self.phi * own[:, None]).T @ self.phi
            stats.gram[c] += outer
            stats.gram[c][np.diag_indices_from(outer)] += (curvature[:, c] / lengths) @ mean

    def _add_words(self, word_topic: np.ndarray, backend: Threads) -> None:
        words, first, entry, _ = order_entries(self.documents, self.batch.counts)

        def add(start: int, stop: int) -> None:
            row = np.empty(self.phi.shape[1], dtype=np.float32)
            add_by_word(start, stop, words, first, entry, self.counts, self.phi, word_topic, row)

        backend.over_weights(first, add)


def _sum_log_theta(alpha: np.ndarray, gamma: np.ndarray, backend: Threads) -> np.ndarray:
    """sum_d psi(gamma_dk) - psi(sum_k gamma_dk): parts of fixed size, so that the sum does not depend on threads."""
    starts = range(0, len(gamma), 512)
    sums = np.zeros((len(starts), gamma.shape[1]))
    backend.all([
        (sum_log_theta, start, min(start + 512, len(gamma)), alpha, gamma, sums[part])
        for part, start in enumerate(starts)
    ])  # fmt: skip
    return sums.sum(axis=0)
