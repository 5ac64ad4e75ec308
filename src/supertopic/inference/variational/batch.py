"""Variational EM over the whole corpus."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from supertopic.backends.base import Room, Spread, total
from supertopic.inference.batches import continue_from, gather
from supertopic.inference.first_topics import first_state
from supertopic.inference.task import Fit, Task, Watch, has_converged
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.step import global_evidence, global_step
from supertopic.model import DocumentTerms, State, restore_state
from supertopic.priors.dirichlet import SETTLED


def fit_batch(task: Task, watch: Watch) -> Fit:
    """Variational EM, until the bound per token rises by less than `tol` of itself.

    Documents start afresh in every step: documents that continue stick to their first topics. Where that lets the bound
    fall, which happens at the end if at all, they continue from the step before, and then it cannot fall. An objective
    that is not monotone anyway (`CoefStep.monotone`) is not watched in this way: EM stops once several steps together
    gain nothing.

    Objectives of collapsed inference with different alpha cannot be compared (`supertopic.priors.dirichlet`). There,
    alpha is learned until it has settled, for half of the steps at most, and the objective is watched from then on.
    """
    model, settings, step = task.model, task.settings, task.model.coef_step
    spread = task.backend.spread(task.batch)
    state, terms, first, fresh, settled = _start(task, watch, spread)
    n_tokens = task.n_tokens
    spare = np.empty_like(state.word_topic)
    for done in range(first, settings.max_iter):
        watched = watch.trace[settled:]
        if has_converged(watched, settings.tol, step.patience):  # first: a kill may come right after the last step
            break
        if model.collapsed and done >= settled:
            model = replace(model, doc_topic_prior=model.doc_topic_prior.held())
        evidence = global_evidence(model, state, task.backend)
        # in place: after this the parameters themselves are not needed any more
        weights = model.emission.expect(state.word_topic, task.backend, log=model.one_topic, out=state.word_topic)
        given = (model, state, weights, settings.limits, terms)
        stats = total(spread.map(local_step, *given, fresh, False, Room(spare)))
        bound = (stats.bound + evidence) / n_tokens
        if fresh and step.monotone and watched and watched[-1] - bound > settings.tol * abs(bound):
            fresh = False
            stats = total(spread.map(local_step, *given, False, True, Room(spare)))
            bound = (stats.bound + evidence) / n_tokens
        before = state.alpha
        state, terms = global_step(model, state, stats, spread, terms, task.backend)
        if done < settled and np.max(np.abs(state.alpha - before) / before) < SETTLED:
            settled = done + 1
        spare = weights
        del weights, given, stats
        watch.trace.append(bound)
        watch.step(done + 1, partial(_arrays, state, terms, spread), fresh=fresh, settled=settled)
    return Fit(state, watch.trace, len(watch.trace), terms=terms)


def _start(task: Task, watch: Watch, spread: Spread) -> tuple[State, Any, int, bool, int]:
    """(State, DocumentTerms, steps done, whether documents start afresh, steps before the objective is watched), of a
    killed fit or of a new one.
    """
    model, step, n_columns = task.model, task.model.coef_step, task.model.response.n_columns
    learns = model.collapsed and model.doc_topic_prior.learns
    settled = task.settings.max_iter // 2 if learns else 0
    resumed = watch.resume()
    if resumed is None:
        terms = task.start_terms or step.document_terms(len(task.batch), n_columns)
        return task.start.copy() if task.start else first_state(task), terms, 0, True, settled
    about, arrays = resumed
    spread.map(continue_from, arrays.pop("doc_topic"), n_columns)
    terms = step.restore_terms(arrays)
    return restore_state(arrays), terms, about["done"], about["fresh"], about.get("settled", settled)


def _arrays(state: State, terms: DocumentTerms, spread: Spread) -> dict[str, np.ndarray]:
    """What it takes to continue."""
    return {**state.arrays(), **terms.arrays(), "doc_topic": gather(spread)}
