"""MedLDA's EM by exact steps: the objective of a fit never falls.

The quick engine tells documents once per step what the M-steps before said on average, and the objective may fall. Here
every document solves its own problem,

    max over (phi, gamma)   words' bound - C w loss(E[eta]·E[Zbar])   (+ w E[log p(y | eta·Zbar)])

by turns: its topics given its multipliers, then its multipliers, the running mean of the loss's slopes at its topics.
Of what these turns and the step before found, the best is kept. Coefficients and alpha move only where that gains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from supertopic.backends.threads import Threads
from supertopic.inference.batches import Batch
from supertopic.inference.first_topics import first_state
from supertopic.inference.regression import Design
from supertopic.inference.task import Fit, Task, Watch, has_converged
from supertopic.inference.variational.e_step_response import LabelledBlock, LocalLimits
from supertopic.inference.variational.m_step_margin import fit_margin
from supertopic.inference.variational.step import global_evidence
from supertopic.kernels.e_step_words import sum_log_theta
from supertopic.model import Model, State
from supertopic.responses.margin import MaxMargin, Solution

_TURNS = 8  # of a document's topics and multipliers in one step
_TOLERANCE = 1e-5  # of the M-step's duality gap, relative to the objective
_SMALLEST_WEIGHT = np.float32(1e-18)  # as in the kernels


def fit_exact(task: Task, watch: Watch) -> Fit:
    """As `fit_batch`, by exact steps; the shares of all entries are held (entries × K numbers, twice)."""
    model, settings = task.model, task.settings
    batch = Batch(task.counts, task.y, task.weight, model.n_topics, task.covariates)
    documents = _Documents(model, batch, settings.limits)
    first, resumed = 0, watch.resume()
    if resumed is not None:
        first, documents.phi = resumed[0]["done"], resumed[1].pop("phi")
        state = State(**resumed[1])
    else:
        state = task.start.copy() if task.start else first_state(task)
    n_tokens = max(float(task.counts.data.sum(dtype=np.float64)), 1.0)
    for done in range(first, settings.max_iter):
        weights = model.emission.expect(state.word_topic, task.backend, log=False)
        value = documents.settle(state, weights, task.backend)
        watch.trace.append((value + global_evidence(model, state, task.backend)) / n_tokens)
        state = documents.maximise(state)
        watch.step(done + 1, partial(dict, state.arrays(), phi=documents.phi))
        if has_converged(watch.trace, settings.tol):
            break
    return Fit(state, watch.trace, len(watch.trace))


@dataclass
class _Documents:
    """All documents, and the best topic shares of their words so far."""

    model: Model
    batch: Batch
    limits: LocalLimits
    phi: np.ndarray | None = None  # (entries, K)

    def __post_init__(self) -> None:
        counts = self.batch.counts
        entries = np.arange(counts.nnz)
        shape = (counts.shape[0], counts.nnz)
        self.by_document = sp.csr_matrix((counts.data.astype(np.float64), entries, counts.indptr), shape=shape)
        own = (counts.data, (counts.indices, entries))
        self.by_word = sp.csr_matrix(own, shape=(counts.shape[1], counts.nnz))

    def settle(self, state: State, weights: np.ndarray, backend: Threads) -> float:
        """The E-step; the documents' part of the objective."""
        response, indptr = cast(MaxMargin, self.model.response), self.batch.counts.indptr
        logs = np.log(np.maximum(weights, _SMALLEST_WEIGHT))[self.batch.counts.indices]
        value = np.full(len(self.batch), -np.inf) if self.phi is None else self._value(state, logs, self.phi)
        best = np.empty_like(logs) if self.phi is None else self.phi.copy()
        gamma = np.empty((len(self.batch), self.model.n_topics), dtype=np.float32)
        dual = np.zeros((len(self.batch), response.n_columns)) if state.dual is None else state.dual
        for turn in range(_TURNS):
            trial, score = self._infer(state, weights, gamma, dual, turn == 0, backend)
            found = self._value(state, logs, trial)
            better = found > value
            value = np.where(better, found, value)
            entries = np.repeat(better, np.diff(indptr))
            best[entries] = trial[entries]
            slope = self.batch.weight[:, None] * response.pull(self.batch.y, score, state.learned()[1])
            dual = dual + (slope - dual) / (turn + 2)
        self.phi = best
        return float(value.sum())

    def _infer(
        self, state: State, weights: np.ndarray, gamma: np.ndarray, dual: np.ndarray, fresh: bool, backend: Threads
    ) -> tuple[np.ndarray, np.ndarray]:
        """Shares of the words and scores (D, C) at given multipliers; `gamma` is where to start, and changed."""
        batch, counts = self.batch, self.batch.counts
        phi = np.empty((counts.nnz, self.model.n_topics), dtype=np.float32)
        score, moment = np.zeros((2, len(batch), self.model.response.n_columns))
        block = LabelledBlock(
            self.model, state, self.limits, counts.indptr, counts.indices, counts.data, weights,
            state.alpha.astype(np.float32), batch.y, batch.weight, batch.lengths, batch.extra, gamma, phi,
            np.zeros(len(batch)), score, moment, batch.longest, dual,
        )  # fmt: skip
        block.infer(backend, fresh)
        return phi, score

    def _value(self, state: State, logs: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """(D,) each document's part of the objective at gamma = alpha + sum of phi, the best gamma there is."""
        share = phi.astype(np.float64)
        words = self.by_document @ (share * (logs - np.log(np.maximum(share, 1e-300)))).sum(axis=1)
        gamma = state.alpha + self.by_document @ share
        words += gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))
        words += gammaln(state.alpha.sum()) - gammaln(state.alpha).sum()
        return words + self._response_value(self._design(state, gamma), state)

    def _design(self, state: State, gamma: np.ndarray) -> Design:
        return Design.of(gamma, state.alpha, self.batch.lengths, self.batch.extra)

    def _response_value(self, design: Design, state: State) -> np.ndarray:
        """(D,) -C w loss, and w E[log p(y)] where there is a likelihood."""
        response = self.model.response
        score, moment = design.moments(state.coef.astype(np.float64), response.is_product)
        for c, cov in enumerate(state.coef_cov.astype(np.float64)):
            pairs = ((design.mean @ cov) * design.mean).sum(axis=1)
            moment[:, c] += pairs + (design.mean @ np.diag(cov) - pairs) / design.lengths
        return self.batch.weight * response.log_density(self.batch.y, score, moment, state.learned()[1])

    def maximise(self, before: State) -> State:
        """The M-step: topics; then alpha and the coefficients, each where it gains."""
        assert self.phi is not None
        sums = self.by_document @ self.phi.astype(np.float64)
        gamma = before.alpha + sums
        state = replace(before, word_topic=self.model.emission.update(before.word_topic, self.by_word @ self.phi, 1.0))
        state = self._move_coefficients(state, self._design(state, gamma))
        log_theta = np.zeros(self.model.n_topics)
        single = gamma.astype(np.float32)
        sum_log_theta(0, len(single), before.alpha.astype(np.float32), single, log_theta)
        alpha = self.model.doc_topic_prior.update(before.alpha, log_theta / len(single), 1.0)

        def evidence(alpha: np.ndarray) -> float:
            return float(len(single) * (gammaln(alpha.sum()) - gammaln(alpha).sum()) + alpha @ log_theta)

        return replace(state, alpha=alpha) if evidence(alpha) > evidence(before.alpha) else state

    def _move_coefficients(self, state: State, design: Design) -> State:
        response, prior = cast(MaxMargin, self.model.response), self.model.coef_prior
        start = None if state.dual is None else Solution(state.coef, state.dual, state.planes)
        found = fit_margin(
            response, prior, design, self.batch.y, self.batch.weight, state.coef, state.coef_cov, state.learned()[1],
            start, tol=_TOLERANCE,
        )  # fmt: skip
        moved = replace(
            state, coef=found.solution.coef.astype(np.float32), coef_cov=found.coef_cov.astype(np.float32),
            gram=found.gram, dispersion=found.dispersion,
        )  # fmt: skip

        def value(state: State) -> float:
            known = float(self._response_value(design, state).sum())
            return known + prior.log_density(state.coef) + prior.spread_evidence(state.coef_cov)

        kept = moved if value(moved) > value(state) else state
        support = np.any(found.solution.dual, axis=1)
        counts = np.zeros(0, np.int64) if state.n_support is None else state.n_support
        return replace(
            kept, dual=found.solution.dual, planes=found.solution.planes, support=support,
            n_support=np.append(counts, np.count_nonzero(support)),
        )  # fmt: skip
