"""Collapsed Gibbs sampling of LDA: topic shares are integrated out; topics are, too, or are drawn once per sweep.

The state is the topic of every token (`sampler`; `spread`, over partitions). The topics are averaged over sweeps, which
gives a better estimate than a single sample.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from supertopic.inference.gibbs.sampler import Sampler
from supertopic.inference.gibbs.spread import SpreadSampler
from supertopic.inference.task import Fit, Task, Watch
from supertopic.model import State

_SWEEPS_PER_CHECK = 10  # every so many sweeps, the log joint is computed and alpha is learned
_FIRST_ALPHA = 10  # sweeps before alpha is learned: earlier, it would fit the starting values


def fit_gibbs(task: Task, watch: Watch) -> Fit:
    """Run `max_iter` sweeps and average over every `thin`-th sweep after `burn_in`, counted back from the last one."""
    model, settings = task.model, task.settings
    sampler = _sampler_for(task)
    first = n_samples = 0
    sums = np.empty(sampler.word_topic.shape, dtype=np.float32)
    alphas: list[list[float]] = []
    found = watch.resume()
    if found is not None:
        first, n_samples, alphas = found[0]["done"], found[0]["n_samples"], found[0]["alphas"]
        sums, sampler.alpha = found[1]["sums"], found[1]["alpha"]
        sampler.take(found[1]["topic"])
    else:
        sampler.start(task, room=sums)
        sums[:] = 0.0
    for sweep in range(first, settings.max_iter):
        sampler.sweep(sweep, None if settings.collapsed else sampler.draw_topics(sweep))
        left = settings.max_iter - 1 - sweep
        if left % _SWEEPS_PER_CHECK == 0:
            histogram = sampler.topic_histogram()
            if sweep >= _FIRST_ALPHA:
                sampler.alpha = model.doc_topic_prior.update_from_counts(sampler.alpha, histogram, sampler.lengths)
            watch.trace.append(sampler.log_joint(histogram) / max(sampler.n_tokens, 1))
            alphas.append(sampler.alpha.tolist())
        if sweep >= settings.burn_in and left % settings.thin == 0:
            sampler.add_words(sums)
            n_samples += 1
        watch.step(sweep + 1, partial(_arrays, sampler, sums), n_samples=n_samples, alphas=alphas)
    sums /= np.float32(n_samples)
    sums += np.float32(sampler.prior)
    state = State.first(model, sums, alpha=sampler.alpha)
    draws = {"log_joint": np.asarray(watch.trace), "alpha": np.asarray(alphas)}
    return Fit(state, watch.trace, settings.max_iter, draws)


def _arrays(sampler: Sampler, sums: np.ndarray) -> dict[str, np.ndarray]:
    """What it takes to continue."""
    return {"topic": sampler.token_topics(), "sums": sums, "alpha": sampler.alpha}


def _sampler_for(task: Task) -> Sampler:
    """The sampler of the task's backend; refuses one that a cluster cannot run."""
    if not task.backend.remote:
        return task.backend.form(Sampler).of(task)
    if task.settings.collapsed:
        raise ValueError("sampler: got 'collapsed', which draws in one process; expected 'partial' for a Dask client")
    return SpreadSampler.of(task)
