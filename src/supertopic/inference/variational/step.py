"""One statistical step of variational inference. Batch inference takes the stochastic step with the whole corpus.

The local step makes Stats of documents, Stats add up over partitions, the global step moves the State, and the evidence
says how good it is:

    L = sum_d E_q[log p(theta_d, z_d, w_d, y_d | topics) - log q(theta_d, z_d)]  +  E_q[log p(topics) - log q(topics)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln

from supertopic.backends.base import Backend, Spread, total
from supertopic.inference.batches import Batch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.local import local_step, summarise_step
from supertopic.model import DocumentTerms, MixtureState, Model, State, Stats
from supertopic.priors.base import SharePrior


@dataclass(frozen=True)
class Step:
    """The result of one statistical step."""

    before: State
    state: State
    spread: Spread  # the documents, and what was found about them
    document_bound: float  # the documents' part of the bound at `before`, scaled up to the whole corpus

    def bound(self, model: Model, backend: Backend) -> float:
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
    model: Model, state: State, batch: Batch, backend: Backend, limits: LocalLimits, *,
    n_documents: float | None = None, rate: float = 1.0,
) -> Step:  # fmt: skip
    """One statistical step on a batch: topics' expectations, local step, global step.

    `n_documents` is the size of the corpus that the batch stands for (itself, by default).
    """
    spread, scale = backend.spread(batch), (n_documents or len(batch)) / len(batch)
    terms = model.coef_step.document_terms(len(batch), model.response.n_columns)
    weights = model.emission.expect(state.word_topic, backend, log=model.one_topic)
    stats = total(spread.map(local_step, model, replace(state, word_topic=weights), weights, limits, terms))
    del weights  # as large as the topics, and the global step needs as much again
    bound = scale * stats.bound
    after, _ = global_step(model, state, stats, spread, terms, backend, scale, rate)
    return Step(state, after, spread, bound)


def global_step(
    model: Model, state: State, stats: Stats, spread: Spread, terms: DocumentTerms, backend: Backend,
    scale: float = 1.0, rate: float = 1.0,
) -> tuple[State, DocumentTerms]:  # fmt: skip
    """The State after a step of the given rate towards what documents say, scaled up to the whole corpus."""
    if scale != 1.0:
        stats.word_topic *= np.float32(scale)
    after = replace(state, word_topic=model.emission.update(state.word_topic, stats.word_topic, rate, backend))
    if isinstance(after, MixtureState):
        after.shares = (1.0 - rate) * after.shares + rate * (state.alpha + scale * stats.prior)
    else:
        after.alpha = move_prior(model.doc_topic_prior, state.alpha, stats.prior, spread, scale, rate)
    return model.coef_step.update(model, state, after, stats, spread, terms, backend, scale, rate)


def move_prior(
    prior: SharePrior, alpha: np.ndarray, stats: np.ndarray, spread: Spread, scale: float = 1.0, rate: float = 1.0
) -> np.ndarray:
    """The parameters of the prior on topic shares after a step."""
    if not prior.learns:
        return alpha
    if scale != 1.0 or rate != 1.0:
        return prior.update(alpha, stats, scale, rate)
    return prior.maximise(alpha, stats, lambda other: total(spread.map(summarise_step, prior, other)))


def global_evidence(model: Model, state: State, backend: Backend) -> float:
    """The part of the bound that belongs to no document: topics, coefficients, and a mixture's topic shares."""
    topics = model.emission.evidence(state.word_topic, backend) + model.coef_prior.log_density(state.coef)
    topics += model.coef_prior.spread_evidence(state.coef_cov) + model.doc_topic_prior.evidence(state.alpha)
    if not isinstance(state, MixtureState):
        return topics
    log_shares = digamma(state.shares) - digamma(state.shares.sum())
    norm = gammaln(state.alpha.sum()) - gammaln(state.alpha).sum()
    norm -= gammaln(state.shares.sum()) - gammaln(state.shares).sum()
    return topics + float(norm + ((state.alpha - state.shares) * log_shares).sum())
