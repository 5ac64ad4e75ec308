"""Variational inference, batch and stochastic: the batch engine takes the stochastic step with the whole corpus.

Four verbs: the local step makes Stats of a batch of documents, Stats add up over blocks, the global step moves the
State, and the evidence says how good it is:

    L = sum_d E_q[log p(theta_d, z_d, w_d, y_d | topics) - log q(theta_d, z_d)]  +  E_q[log p(topics) - log q(topics)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln

from supertopic.backends.threads import Threads
from supertopic.inference.batches import Batch
from supertopic.inference.regression import Design, regress
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.local import Locals, local_step
from supertopic.inference.variational.m_step_margin import maximise_margin
from supertopic.model import Model, State, Stats

_M_STEPS, _FEW_M_STEPS = 10, 3  # turns of the response's M-step in one step of batch inference; with many columns


@dataclass(frozen=True)
class Step:
    """What one statistical step left behind."""

    before: State
    state: State
    found: Locals  # about the documents
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
    the `doc_topic` of an earlier step on the same batch: without a response, the bound then cannot fall.
    """
    weights = model.emission.expect(state.word_topic, backend, log=model.one_topic)
    stats, found = local_step(model, state, weights, batch, backend, limits, doc_topic)
    del weights  # as large as the topics, and the global step takes as much again
    scale = (n_documents or len(batch)) / len(batch)
    return Step(state, global_step(model, state, stats, found, batch, scale, rate), found, scale * stats.bound)


def global_step(
    model: Model, state: State, stats: Stats, found: Locals, batch: Batch, scale: float = 1.0, rate: float = 1.0
) -> State:
    """The State after a step of the given rate towards what a batch says, scaled up to the whole corpus."""
    if scale != 1.0:
        stats.word_topic *= np.float32(scale)
    after = replace(state, word_topic=model.emission.update(state.word_topic, stats.word_topic, rate))
    if state.shares is not None:
        after.shares = (1.0 - rate) * state.shares + rate * (state.alpha + scale * stats.log_theta)
    else:
        after.alpha = model.doc_topic_prior.update(state.alpha, stats.log_theta / stats.n_documents, rate)
    if model.response.max_margin:
        return maximise_margin(model, state, after, found.doc_topic, batch)
    return (
        respond_globally(model, state, after, stats, found, batch, scale, rate) if model.response.n_columns else after
    )


def respond_globally(
    model: Model, before: State, after: State, stats: Stats, found: Locals, batch: Batch, scale: float, rate: float
) -> State:
    """The response's M-step: its own parameters given the coefficients so far, then the coefficients.

    Where all documents are at hand and all tokens of one alike, both go on by turns: it costs little, and a single
    step towards coefficients that are far away would take another E-step each.
    """
    assert before.gram is not None and before.cross is not None and before.dispersion is not None
    response, prior, coef = model.response, model.coef_prior, before.coef.astype(np.float64)
    design = Design.of(found.doc_topic, before.alpha, batch.lengths, batch.extra)
    if rate == 1.0 and scale == 1.0 and not model.per_token:
        turns = _M_STEPS if response.n_columns <= 3 else _FEW_M_STEPS
        coef, gram, dispersion = regress(
            response, prior, design, batch.y, batch.weight, coef, before.dispersion, max_iter=turns, tol=1e-5
        )
        cross = stats.cross
    else:
        gram = (1.0 - rate) * before.gram + rate * scale * stats.gram
        cross = (1.0 - rate) * before.cross + rate * scale * stats.cross
        dispersion = response.update(batch.y, found.score, found.moment, batch.weight, before.dispersion, rate)
        coef = design.solve(prior, response, gram, cross, coef)
    return replace(after, gram=gram, cross=cross, dispersion=dispersion, coef=coef.astype(np.float32))


def global_evidence(model: Model, state: State, backend: Threads) -> float:
    """The part of the bound that belongs to no document: topics, and a mixture's topic shares."""
    topics = model.emission.evidence(state.word_topic, backend) + model.coef_prior.log_density(state.coef)
    topics += model.coef_prior.spread_evidence(state.coef_cov)
    if state.shares is None:
        return topics
    log_shares = digamma(state.shares) - digamma(state.shares.sum())
    norm = gammaln(state.alpha.sum()) - gammaln(state.alpha).sum()
    norm -= gammaln(state.shares.sum()) - gammaln(state.shares).sum()
    return topics + float(norm + ((state.alpha - state.shares) * log_shares).sum())


def start_state(
    model: Model, word_topic: np.ndarray, dispersion: np.ndarray | None = None, coef: np.ndarray | None = None
) -> State:
    """The State before the first step, from first topics.

    All topics start with one coefficient `coef` (C,): the first E-step is LDA's.
    """
    columns, n_topics, n_coef = model.response.n_columns, model.n_topics, model.n_topics + model.n_covariates
    start_coef = np.zeros((columns, n_coef), dtype=np.float32)
    if coef is not None:
        start_coef[:, :n_topics] = coef[:, None]
    return State(
        word_topic=word_topic,
        alpha=model.doc_topic_prior.start.copy(),
        coef=start_coef,
        coef_cov=np.zeros((0, n_topics, n_topics), dtype=np.float32),
        shares=np.full(n_topics, 1.0) if model.one_topic else None,
        gram=np.zeros((columns, n_coef, n_coef)) if columns else None,
        cross=np.zeros((columns, n_coef)) if columns else None,
        dispersion=dispersion,
    )
