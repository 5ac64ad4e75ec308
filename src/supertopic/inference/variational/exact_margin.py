"""MedLDA's EM by exact steps: the objective of a fit never falls.

The quick engine (`batch`) gives documents the average of the duals of the M-steps before, and the objective may fall.
Here every document solves its own problem,

    max over (phi, gamma)   words' bound - C w loss(E[eta]·E[Zbar])   (+ w E[log p(y | eta·Zbar)])

in turns: its topics given its multipliers, then its multipliers, the running mean of the loss's slopes at its topics.
The best result of these turns and of the step before is kept. Coefficients and alpha move only where that gains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from supertopic.backends.base import Backend
from supertopic.inference.batches import Batch, Block, Locals
from supertopic.inference.design import Design
from supertopic.inference.first_topics import first_state
from supertopic.inference.loop import EM
from supertopic.inference.requirements import on_the_cpu
from supertopic.inference.task import Fit, Task
from supertopic.inference.variational.e_step_response import LocalLimits, ResponseBlock
from supertopic.inference.variational.local import sum_by_row
from supertopic.inference.variational.m_step_margin import Duals, MarginStep, fit_margin
from supertopic.inference.variational.step import global_evidence
from supertopic.kernels.e_step_words import WEIGHT_OFFSET
from supertopic.model import Model, State, restore_state
from supertopic.priors.base import Rows
from supertopic.responses.margin import MaxMargin

_TURNS = 8  # of a document's topics and multipliers in one step
_TOLERANCE = 1e-5  # of the M-step's duality gap, relative to the objective


class ExactMarginEM(EM):
    """As `VariationalEM`, by exact steps; the shares of all entries are held (entries × K numbers, twice)."""

    requires = (on_the_cpu("an exact fit"),)

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        step = task.model.coef_step
        assert isinstance(step, MarginStep)
        self.coef_step = step
        self.documents = _Documents(task.model, step.response, task.batch, task.settings.limits)

    def start(self) -> None:
        task, warm = self.task, self.task.start_terms
        self.state = task.start.copy() if task.start else first_state(task)
        nothing = self.coef_step.document_terms(len(task.batch), task.model.response.n_columns)
        self.duals = warm if isinstance(warm, Duals) else nothing

    def step(self) -> float:
        model, backend, state, duals = self.task.model, self.task.backend, self.state, self.duals
        weights = model.emission.expect(state.word_topic, backend, log=False)
        value = self.documents.settle(state, duals, weights, backend)
        objective = (value + global_evidence(model, state, backend)) / self.task.n_tokens
        self.state, self.duals = self.documents.maximise(state, duals, backend)
        self.done += 1
        return objective

    def result(self) -> Fit:
        return Fit(self.state, self.trace, len(self.trace), terms=self.duals)

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.documents.phi is not None
        return {**self.state.arrays(), **self.duals.arrays(), "phi": self.documents.phi}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.documents.phi, self.duals = arrays.pop("phi"), self.coef_step.restore_terms(arrays)
        self.state = restore_state(arrays)


fit_exact = ExactMarginEM.fit


@dataclass
class _Documents:
    """All documents, and the best topic shares of their words so far."""

    model: Model
    response: MaxMargin
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

    def settle(self, state: State, duals: Duals, weights: np.ndarray, backend: Backend) -> float:
        """The E-step; the documents' part of the objective."""
        indptr = self.batch.counts.indptr
        logs = np.log(weights + WEIGHT_OFFSET)[self.batch.counts.indices]
        value = np.full(len(self.batch), -np.inf) if self.phi is None else self._value(state, logs, self.phi)
        best = np.empty_like(logs) if self.phi is None else self.phi.copy()
        found = Locals.empty(len(self.batch), self.model.n_topics, self.response.n_columns)
        dual = duals.dual
        for turn in range(_TURNS):
            trial = self._infer(state, weights, found, dual, turn == 0, backend)
            reached = self._value(state, logs, trial)
            better = reached > value
            value = np.where(better, reached, value)
            entries = np.repeat(better, np.diff(indptr))
            best[entries] = trial[entries]
            slope = self.batch.weight[:, None] * self.response.pull(self.batch.y, found.score, state.dispersion)
            dual = dual + (slope - dual) / (turn + 2)
        self.phi = best
        return float(value.sum())

    def _infer(
        self, state: State, weights: np.ndarray, found: Locals, dual: np.ndarray, fresh: bool, backend: Backend
    ) -> np.ndarray:
        """Shares of the words at given multipliers; `found` is where documents start, and is renewed."""
        phi = np.empty((self.batch.counts.nnz, self.model.n_topics), dtype=np.float32)
        found.score[:] = found.moment[:] = 0.0
        everything = Block(0, len(self.batch))
        given = (self.batch, everything, self._prior(state))
        block = ResponseBlock.of(self.model, state, self.limits, weights, *given, found, dual, phi)
        block.infer(backend, fresh)
        return phi

    def _value(self, state: State, logs: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """(D,) each document's part of the objective at gamma = alpha + sum of phi, the best gamma there is."""
        share = phi.astype(np.float64)
        words = self.by_document @ (share * (logs - np.log(np.maximum(share, 1e-300)))).sum(axis=1)
        alpha = self._alpha(state)
        gamma = alpha + self.by_document @ share
        words += gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))
        words += gammaln(alpha.sum(axis=1)) - gammaln(alpha).sum(axis=1)
        return words + self._response_value(self._design(state, gamma), state)

    def _prior(self, state: State) -> Rows:
        return self.model.doc_topic_prior.rows(state.alpha, self.batch)

    def _alpha(self, state: State) -> np.ndarray:
        """(D, K), or (1, K) for all documents."""
        prior = self._prior(state)
        return prior.by_document(prior.alpha)

    def _design(self, state: State, gamma: np.ndarray) -> Design:
        return Design.of(gamma, self._alpha(state), self.batch.lengths, self.batch.extra)

    def _response_value(self, design: Design, state: State) -> np.ndarray:
        """(D,) -C w loss, and w E[log p(y)] where there is a likelihood."""
        response = self.model.response
        score, moment = design.moments(state.coef.astype(np.float64), response.is_product)
        for c, cov in enumerate(state.coef_cov.astype(np.float64)):
            pairs = ((design.mean @ cov) * design.mean).sum(axis=1)
            moment[:, c] += pairs + (design.mean @ np.diag(cov) - pairs) / design.lengths
        return self.batch.weight * response.log_density(self.batch.y, score, moment, state.dispersion)

    def maximise(self, before: State, duals: Duals, backend: Backend) -> tuple[State, Duals]:
        """The M-step: topics; then alpha and the coefficients, each where it gains."""
        assert self.phi is not None
        sums = self.by_document @ self.phi.astype(np.float64)
        gamma, prior, shares = self._alpha(before) + sums, self.model.doc_topic_prior, self._prior(before)
        topics = self.model.emission.update(before.word_topic, self.by_word @ self.phi, 1.0, backend)
        state = replace(before, word_topic=topics)
        state, duals = self._move_coefficients(state, duals, self._design(state, gamma))
        log_theta = sum_by_row(shares, gamma.astype(np.float32), backend)
        summarise = partial(prior.summarise, documents=self.batch, log_theta=log_theta)
        moved = replace(state, alpha=prior.maximise(state.alpha, summarise(state.alpha), summarise))

        def evidence(state: State) -> float:
            return self._prior(state).log_density(log_theta) + prior.evidence(state.alpha)

        return moved if evidence(moved) > evidence(state) else state, duals

    def _move_coefficients(self, state: State, duals: Duals, design: Design) -> tuple[State, Duals]:
        prior = self.model.coef_prior
        found = fit_margin(
            self.response, prior, design, self.batch.y, self.batch.weight, state.coef, state.coef_cov,
            state.dispersion, duals.start(state.coef), tol=_TOLERANCE,
        )  # fmt: skip
        moved = found.enter(state)

        def value(state: State) -> float:
            known = float(self._response_value(design, state).sum())
            return known + prior.log_density(state.coef) + prior.spread_evidence(state.coef_cov)

        return moved if value(moved) > value(state) else state, duals.after(found.solution, mix=1.0)
