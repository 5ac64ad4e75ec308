"""Variational EM over the whole corpus."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from supertopic.backends.base import Spread, total
from supertopic.inference.batches import continue_from, gather
from supertopic.inference.first_topics import first_state
from supertopic.inference.task import Fit, Task, Watch, has_converged
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.step import global_evidence, global_step
from supertopic.model import DocumentTerms, State, restore_state


def fit_batch(task: Task, watch: Watch) -> Fit:
    """Variational EM, until the bound per token rises by less than `tol` of itself.

    Documents start afresh in every step: documents that continue stick to their first topics. Where that lets the bound
    fall, which happens at the end if at all, they continue from the step before, and then it cannot fall. An objective
    that is not monotone anyway (`CoefStep.monotone`) is not watched in this way: EM stops once several steps together
    gain nothing.
    """
    model, settings, step = task.model, task.settings, task.model.coef_step
    spread = task.backend.spread(task.batch)
    state, terms, first, fresh = _start(task, watch, spread)
    n_tokens = task.n_tokens
    spare = np.empty_like(state.word_topic)
    for done in range(first, settings.max_iter):
        if has_converged(watch.trace, settings.tol, step.patience):  # first: a kill may come right after the last step
            break
        evidence = global_evidence(model, state, task.backend)
        # in place: after this the parameters themselves are not needed any more
        weights = model.emission.expect(state.word_topic, task.backend, log=model.one_topic, out=state.word_topic)
        given = (model, state, weights, settings.limits, terms)
        stats = total(spread.map(local_step, *given, fresh, False, spare))
        bound = (stats.bound + evidence) / n_tokens
        if fresh and step.monotone and watch.trace and watch.trace[-1] - bound > settings.tol * abs(bound):
            fresh = False
            stats = total(spread.map(local_step, *given, False, True, spare))
            bound = (stats.bound + evidence) / n_tokens
        state, terms = global_step(model, state, stats, spread, terms, task.backend)
        spare = weights
        del weights, given, stats
        watch.trace.append(bound)
        watch.step(done + 1, partial(_arrays, state, terms, spread), fresh=fresh)
    return Fit(state, watch.trace, len(watch.trace), terms=terms)


def _start(task: Task, watch: Watch, spread: Spread) -> tuple[State, Any, int, bool]:
    """(State, DocumentTerms, steps done, whether documents start afresh), of a killed fit or of a new one."""
    step, n_columns = task.model.coef_step, task.model.response.n_columns
    resumed = watch.resume()
    if resumed is None:
        terms = task.start_terms or step.document_terms(len(task.batch), n_columns)
        return task.start.copy() if task.start else first_state(task), terms, 0, True
    about, arrays = resumed
    spread.map(continue_from, arrays.pop("doc_topic"), n_columns)
    terms = step.restore_terms(arrays)
    return restore_state(arrays), terms, about["done"], about["fresh"]


def _arrays(state: State, terms: DocumentTerms, spread: Spread) -> dict[str, np.ndarray]:
    """What it takes to continue."""
    return {**state.arrays(), **terms.arrays(), "doc_topic": gather(spread)}
