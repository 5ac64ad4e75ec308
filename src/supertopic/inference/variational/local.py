"""The local step: what a batch of documents says, given the State, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from supertopic.backends.threads import Threads
from supertopic.inference.batches import Batch, Block, order_entries
from supertopic.inference.variational.e_step_response import LabelledBlock, LocalLimits
from supertopic.inference.variational.e_step_words import add_plain_blocks
from supertopic.kernels.e_step_words import sum_log_theta
from supertopic.kernels.one_topic import share_documents
from supertopic.kernels.word_sums import add_by_word
from supertopic.model import Model, State, Stats


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

    The word counts are written over `out` where it is given and of their shape: engines go from one pair of arrays to
    the other, and some emissions have more parameters than topics.
    """
    fresh = doc_topic is None
    n_topics, n_columns, n_coef = model.n_topics, model.response.n_columns, model.n_topics + model.n_covariates
    doc_topic = np.empty((len(batch), n_topics), dtype=np.float32) if doc_topic is None else doc_topic.copy()
    found = Locals(doc_topic, np.zeros((len(batch), n_columns)), np.zeros((len(batch), n_columns)))
    stats = Stats(
        word_topic=np.empty_like(weights) if out is None or out.shape != weights.shape else out,
        log_theta=np.zeros(n_topics),
        n_documents=float(len(batch)),
        bound=0.0,
        gram=np.zeros((n_columns, n_coef, n_coef)),
        cross=np.zeros((n_columns, n_coef)),
    )
    stats.word_topic[:] = 0.0
    if model.one_topic or (n_columns and np.any(batch.weight > 0)):  # no weight at all: y has no say, and this is LDA
        _add_blocks(model, state, weights, batch, backend, limits, found, stats, fresh)
    else:
        given = (model.collapsed, limits.max_passes, limits.tol, fresh)
        add_plain_blocks(batch, weights, state.alpha.astype(np.float32), *given, doc_topic, stats, backend)
    if model.one_topic:
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
        self.lengths, self.covariates = batch.lengths[documents], batch.extra[documents]
        self.doc_topic = found.doc_topic[documents]
        self.score, self.moment = found.score[documents], found.moment[documents]
        self.dual = None if state.dual is None else state.dual[documents]
        self.phi, self.fresh = phi, fresh
        self.alpha = state.alpha.astype(np.float32)
        self.bound = np.zeros(len(self.doc_topic))

    def run(self, backend: Threads, stats: Stats) -> None:
        """Infer, and add what was found to `stats`."""
        if self.model.one_topic:
            backend.over_weights(self.indptr, self._share)
        else:
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

    def _respond(self, backend: Threads, stats: Stats) -> None:
        """Inference with a response; then what the documents say of the coefficients."""
        block = LabelledBlock(
            self.model, self.state, self.limits, self.indptr, self.indices, self.counts, self.weights, self.alpha,
            self.y, self.weight, self.lengths, self.covariates, self.doc_topic, self.phi, self.bound, self.score,
            self.moment, self.longest, self.dual,
        )  # fmt: skip
        gram, cross = block.infer(backend, self.fresh)
        stats.gram += gram
        stats.cross += cross

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
