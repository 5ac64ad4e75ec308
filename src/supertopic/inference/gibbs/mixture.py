"""Collapsed Gibbs sampling of a mixture of categoricals: one topic per document; shares and topics integrated out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from supertopic.emissions.dirichlet import integrable_prior
from supertopic.inference.gibbs.sampling import Sampling
from supertopic.inference.requirements import integrable_topics, on_the_cpu, one_process, whole_counts
from supertopic.inference.task import Fit, Task
from supertopic.kernels.one_topic import sweep_documents
from supertopic.model import MixtureState


class GibbsMixture(Sampling):
    """Topics and shares are means over the sweeps that are kept. The state is the topic of every document."""

    requires = (one_process("this sampler"), on_the_cpu("this sampler"), whole_counts, integrable_topics)
    every = 1

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        (n_documents, n_words), n_topics = task.counts.shape, task.model.n_topics
        self.prior, self.alpha = integrable_prior(task.model.emission), task.model.doc_topic_prior.start
        self.topic = np.full(n_documents, -1, dtype=np.int32)  # the first sweep draws each given those before it
        self.word_topic = np.zeros((n_words, n_topics))
        self.topic_tokens, self.topic_documents = np.zeros(n_topics), np.zeros(n_topics)
        self.sums = {"word_topic": np.zeros_like(self.word_topic), "shares": np.zeros(n_topics)}
        self.n_samples = 0

    def start(self) -> None:
        pass

    def sweep(self, number: int) -> None:
        counts = self.task.counts
        sweep_documents(
            counts.indptr, counts.indices, counts.data, self.alpha, self.prior, self.task.seed, number,
            self.topic, self.word_topic, self.topic_tokens, self.topic_documents,
        )  # fmt: skip

    def look(self, number: int) -> float:
        return log_joint(self.word_topic, self.topic_documents, self.alpha, self.prior) / self.task.n_tokens

    def keep(self) -> None:
        self.sums["word_topic"] += self.word_topic
        self.sums["shares"] += self.topic_documents
        self.n_samples += 1

    def result(self) -> Fit:
        topics = (self.prior + self.sums["word_topic"] / self.n_samples).astype(np.float32)
        shares = self.alpha + self.sums["shares"] / self.n_samples
        state = MixtureState.first(self.task.model, topics, shares=shares)
        return Fit(state, self.trace, self.done, {"log_joint": np.asarray(self.trace)})

    def arrays(self) -> dict[str, np.ndarray]:
        return {"topic": self.topic, **self.sums}

    def numbers(self) -> dict[str, Any]:
        return {"n_samples": self.n_samples}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.n_samples, self.topic, self.sums = numbers["n_samples"], arrays.pop("topic"), arrays
        counts = self.task.counts
        np.add.at(self.word_topic, (counts.indices, np.repeat(self.topic, np.diff(counts.indptr))), counts.data)
        self.topic_tokens += self.word_topic.sum(axis=0)
        self.topic_documents += np.bincount(self.topic, minlength=len(self.topic_documents))


fit_mixture_gibbs = GibbsMixture.fit


def log_joint(word_topic: np.ndarray, topic_documents: np.ndarray, alpha: np.ndarray, prior: float) -> float:
    """log p(words, topics) with shares and topics integrated out."""
    total = prior * len(word_topic)
    words = gammaln(word_topic + prior).sum() - word_topic.size * gammaln(prior)
    words += (gammaln(total) - gammaln(word_topic.sum(axis=0) + total)).sum()
    documents = gammaln(topic_documents + alpha).sum() - gammaln(alpha).sum()
    documents += gammaln(alpha.sum()) - gammaln(topic_documents.sum() + alpha.sum())
    return float(words + documents)
