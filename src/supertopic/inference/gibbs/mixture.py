"""Collapsed Gibbs sampling of a mixture of categoricals: one topic per document; shares and topics integrated out."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from supertopic.emissions.dirichlet import integrable_prior
from supertopic.inference.gibbs.counts import require_whole_counts
from supertopic.inference.task import Fit, Task, Watch, require_one_process
from supertopic.kernels.one_topic import sweep_documents
from supertopic.model import MixtureState


def fit_mixture_gibbs(task: Task, watch: Watch) -> Fit:
    """Run `max_iter` sweeps; topics and shares are means over every `thin`-th sweep after `burn_in`."""
    require_one_process(task, "this sampler")
    model, settings, counts = task.model, task.settings, task.counts
    require_whole_counts(counts)
    prior = integrable_prior(model.emission)
    topic = np.full(counts.shape[0], -1, dtype=np.int32)  # the first sweep draws each given those before it
    word_topic = np.zeros((counts.shape[1], model.n_topics))
    topic_tokens, topic_documents = np.zeros(model.n_topics), np.zeros(model.n_topics)
    sums = {"word_topic": np.zeros_like(word_topic), "shares": np.zeros(model.n_topics)}
    first = n_samples = 0
    found = watch.resume()
    if found is not None:
        first, n_samples = found[0]["done"], found[0]["n_samples"]
        topic, sums = found[1].pop("topic"), found[1]
        tokens = np.repeat(topic, np.diff(counts.indptr))
        np.add.at(word_topic, (counts.indices, tokens), counts.data)
        topic_tokens += word_topic.sum(axis=0)
        topic_documents += np.bincount(topic, minlength=model.n_topics)
    alpha = model.doc_topic_prior.start
    n_tokens = max(float(counts.sum(dtype=np.float64)), 1.0)
    for sweep in range(first, settings.max_iter):
        sweep_documents(
            counts.indptr, counts.indices, counts.data, alpha, prior, task.seed, sweep,
            topic, word_topic, topic_tokens, topic_documents,
        )  # fmt: skip
        watch.trace.append(log_joint(word_topic, topic_documents, alpha, prior) / n_tokens)
        if sweep >= settings.burn_in and (settings.max_iter - 1 - sweep) % settings.thin == 0:
            sums["word_topic"] += word_topic
            sums["shares"] += topic_documents
            n_samples += 1
        watch.step(sweep + 1, lambda: {"topic": topic, **sums}, n_samples=n_samples)
    topics = (prior + sums["word_topic"] / n_samples).astype(np.float32)
    state = MixtureState.first(model, topics, shares=alpha + sums["shares"] / n_samples)
    return Fit(state, watch.trace, len(watch.trace), {"log_joint": np.asarray(watch.trace)})


def log_joint(word_topic: np.ndarray, topic_documents: np.ndarray, alpha: np.ndarray, prior: float) -> float:
    """log p(words, topics) with shares and topics integrated out."""
    total = prior * len(word_topic)
    words = gammaln(word_topic + prior).sum() - word_topic.size * gammaln(prior)
    words += (gammaln(total) - gammaln(word_topic.sum(axis=0) + total)).sum()
    documents = gammaln(topic_documents + alpha).sum() - gammaln(alpha).sum()
    documents += gammaln(alpha.sum()) - gammaln(topic_documents.sum() + alpha.sum())
    return float(words + documents)
