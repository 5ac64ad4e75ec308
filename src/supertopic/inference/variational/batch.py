"""Variational EM over the whole corpus."""

from __future__ import annotations

from functools import partial

import numpy as np

from supertopic.inference.batches import Batch
from supertopic.inference.first_topics import first_state
from supertopic.inference.task import Fit, Task, Watch, has_converged
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.step import global_evidence, global_step
from supertopic.model import State

_MARGIN_PATIENCE = 5  # steps without a gain after which a max-margin fit stops


def fit_batch(task: Task, watch: Watch) -> Fit:
    """Variational EM over the whole corpus, until the bound per token rises by less than `tol` of itself.

    Documents start afresh in every step, since going on from where they were makes them stick to their first topics.
    Once that lets the bound fall, which is at the end if at all, they do go on from where they were: then it cannot.
    A max-margin objective may fall all the same, since the E-step takes the duals as they were: it goes on until
    several steps together gain nothing.
    """
    model, settings = task.model, task.settings
    doc_topic = None
    first, fresh = 0, True
    resumed = watch.resume()
    if resumed is not None:
        first, fresh, doc_topic = resumed[0]["done"], resumed[0]["fresh"], resumed[1].pop("doc_topic")
        state = State(**resumed[1])
    else:
        state = task.start.copy() if task.start else first_state(task)
    batch = Batch(task.counts, task.y, task.weight, model.n_topics, task.covariates)
    n_tokens = max(float(task.counts.data.sum(dtype=np.float64)), 1.0)
    spare = np.empty_like(state.word_topic)
    for done in range(first, settings.max_iter):
        evidence = global_evidence(model, state, task.backend)
        # in place: after this the parameters themselves are not needed any more
        weights = model.emission.expect(state.word_topic, task.backend, log=model.one_topic, out=state.word_topic)
        given = (model, state, weights, batch, task.backend, settings.limits)
        stats, found = local_step(*given, None if fresh else doc_topic, spare)
        bound = (stats.bound + evidence) / n_tokens
        if (
            fresh
            and not model.response.max_margin
            and watch.trace
            and watch.trace[-1] - bound > settings.tol * abs(bound)
        ):
            fresh = False
            stats, found = local_step(*given, doc_topic, spare)
            bound = (stats.bound + evidence) / n_tokens
        state, doc_topic = global_step(model, state, stats, found, batch), found.doc_topic
        spare = weights
        del weights, given, stats, found
        watch.trace.append(bound)
        watch.step(done + 1, partial(dict, state.arrays(), doc_topic=doc_topic), fresh=fresh)
        if has_converged(watch.trace, settings.tol, _MARGIN_PATIENCE if model.response.max_margin else 1):
            break
    return Fit(state, watch.trace, len(watch.trace))
