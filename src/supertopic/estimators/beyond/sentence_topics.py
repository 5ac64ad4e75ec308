"""HTMM: EM for documents whose sentences have one topic each. A sentence keeps the topic of the last, or draws anew.

    theta_d ~ Dirichlet(1 + a);   beta_k ~ Dirichlet(1 + b);   for the sentences s of document d:
    fresh_s ~ Bernoulli(eps), and fresh_1 = 1;   z_s ~ theta_d if fresh, else z_s = z_{s-1};   words of s ~ beta_{z_s}

z and fresh are summed out exactly by forward-backward passes. theta, beta and eps maximise the log posterior

    L = sum_d log p(words_d | theta_d, beta, eps)  +  a sum log theta  +  b sum log beta

With r_s(k) = p(z_s = k | words) and f_s(k) = p(z_s = k, fresh_s | words), the bound of L that the E-step gives is a sum
of separate terms for theta, beta and eps. It is maximised by

    theta_dk ∝ a + sum_s f_s(k)        beta_kw ∝ b + sum_s n_sw r_s(k)        eps = mean over s > 1 of sum_k f_s(k)

so that L never falls. a = b = 0 is maximum likelihood. The paper's alpha and eta are 1 + a and 1 + b.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend
from supertopic.inference.first_topics import online_counts
from supertopic.inference.loop import EM
from supertopic.inference.requirements import on_the_cpu, one_process
from supertopic.inference.task import Fit, Task, Watch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.kernels.sentences import infer_sentences, likelihood_after
from supertopic.model import State, restore_state

_EXACTLY = LocalLimits(max_passes=500, tol=1e-5)  # for new documents
_START_EPSILON, _LEAST_EPSILON = 0.5, 1e-4
_NOTHING = np.float32(1e-30)  # replaces a probability of zero where its logarithm is taken


@dataclass
class SentenceState(State):
    """The State of a hidden topic Markov model."""

    by_words: ClassVar[bool] = False

    epsilon: np.ndarray  # (1,) float64: how often a sentence draws a new topic


@dataclass(frozen=True)
class Sentences:
    """Sentences as rows of counts. Those of document d are the rows [first_d, first_{d+1})."""

    counts: sp.csr_matrix  # (S, V)
    first: np.ndarray  # (D + 1,) int64

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def by_document(self) -> sp.csr_matrix:
        """(D, V) counts of the documents."""
        n_sentences = self.counts.shape[0]
        members = sp.csr_matrix(
            (np.ones(n_sentences, dtype=np.float32), np.arange(n_sentences), self.first), (len(self), n_sentences)
        )
        found = sp.csr_matrix(members @ self.counts)
        found.sort_indices()
        return found

    def until(self, n_seen: np.ndarray) -> Sentences:
        """The first n_seen_d sentences of each document."""
        lengths = np.diff(self.first)
        place = np.arange(self.counts.shape[0]) - np.repeat(self.first[:-1], lengths)
        seen = place < np.repeat(n_seen, lengths)
        return Sentences(self.counts[seen], np.concatenate([[0], np.cumsum(n_seen)]))


@dataclass
class Inferred:
    """The posterior of documents, given the topics."""

    doc_topic: np.ndarray  # (D, K) float64, theta
    posterior: np.ndarray  # (S, K) float32, p(z_s = k | words)
    fresh: np.ndarray  # (S,) p(topic drawn anew | words)
    objective: np.ndarray  # (D,) log p(words | theta) + a sum log theta


def infer_posterior(
    sentences: Sentences, log_weights: np.ndarray, prior: np.ndarray, epsilon: float, backend: Backend,
    limits: LocalLimits = _EXACTLY, doc_topic: np.ndarray | None = None,
) -> Inferred:  # fmt: skip
    """Topic shares of documents, and topics of their sentences, given log p(word | topic) (V, K) float32.

    Documents start from equal shares, or from `doc_topic`.
    """
    n_topics, counts = log_weights.shape[1], sentences.counts
    doc_topic = np.full((len(sentences), n_topics), 1.0 / n_topics) if doc_topic is None else doc_topic.copy()
    found = Inferred(
        doc_topic,
        np.empty((counts.shape[0], n_topics), dtype=np.float32),
        np.empty(counts.shape[0]),
        np.empty(len(sentences)),
    )
    given = (sentences.first, counts.indptr, counts.indices, counts.data, log_weights, prior, epsilon)
    out = (found.doc_topic, found.posterior, found.fresh, found.objective)

    def part(start: int, stop: int) -> None:
        scratch = np.empty((3, _longest(sentences), n_topics))
        infer_sentences(start, stop, *given, limits.max_passes, limits.tol, *out, *scratch)

    backend.over_weights(sentences.first, part)
    return found


def completion(
    sentences: Sentences, log_weights: np.ndarray, prior: np.ndarray, epsilon: float, backend: Backend
) -> tuple[np.ndarray, np.ndarray]:
    """(D,) log p(second half of the sentences | first half, theta from the first half), and the tokens in that half."""
    n_seen = np.diff(sentences.first) // 2
    seen = sentences.until(n_seen)
    theta = infer_posterior(seen, log_weights, prior, epsilon, backend).doc_topic
    counts, logs = sentences.counts, np.empty(len(sentences))
    given = (sentences.first, n_seen, counts.indptr, counts.indices, counts.data, log_weights, epsilon, theta, logs)

    def part(start: int, stop: int) -> None:
        likelihood_after(start, stop, *given, *np.empty((3, _longest(sentences), len(prior))))

    backend.over_weights(sentences.first, part)
    n_tokens = sentences.by_document.sum(axis=1) - seen.by_document.sum(axis=1)
    return logs, np.asarray(n_tokens, dtype=np.float64).ravel()


class SentenceEM(EM):
    """EM until the objective per token rises by less than `tol` of itself.

    The rows of the task's counts are sentences. The priors of its model are a and b.
    """

    requires = (one_process("a model of sentences"), on_the_cpu("a model of sentences"))

    def __init__(self, task: Task, first: np.ndarray, epsilon: float | None) -> None:
        """first : (D + 1,) the sentences of document d are at [first_d, first_{d+1}); epsilon : learned if None"""
        super().__init__(task)
        self.sentences, self.epsilon = Sentences(task.counts, first), epsilon
        self.doc_topic: np.ndarray | None = None
        self.later = np.ones(task.counts.shape[0], dtype=bool)  # sentences that are not the first of their document
        self.later[first[:-1][np.diff(first) > 0]] = False

    def start(self) -> None:
        task, model = self.task, self.task.model
        if task.start:
            self._take(task.start.copy())
            return
        given = (model.n_topics, model.doc_topic_prior.start, task.seed, task.backend)
        counts = online_counts(self.sentences.by_document, *given)
        topics = model.emission.first(counts, task.backend)
        self._take(SentenceState.first(model, topics, epsilon=np.array([_START_EPSILON])))

    def _take(self, state: State) -> None:
        assert isinstance(state, SentenceState)
        self.state = state
        if self.epsilon is not None:
            self.state.epsilon = np.array([self.epsilon])

    def step(self) -> float:
        task, state, emission = self.task, self.state, self.task.model.emission
        weights = log_topics(state)
        given = (task.model.doc_topic_prior.start, float(state.epsilon[0]), task.backend, task.settings.limits)
        found = infer_posterior(self.sentences, weights, *given, self.doc_topic)
        # log prior of the topics; the prior of the emission is the pseudo-count b
        smoothing = getattr(emission, "prior", 0.0) * float(weights.sum(dtype=np.float64))
        counts = np.ascontiguousarray(task.counts.T @ found.posterior, dtype=np.float32)
        self.state = replace(state, word_topic=emission.update(state.word_topic, counts, 1.0, task.backend))
        if self.epsilon is None and self.later.any():
            self.state.epsilon = np.array([max(float(found.fresh[self.later].mean()), _LEAST_EPSILON)])
        self.doc_topic = found.doc_topic
        self.done += 1
        return (float(found.objective.sum()) + smoothing) / task.n_tokens

    def result(self) -> Fit:
        return Fit(self.state, self.trace, len(self.trace))

    def arrays(self) -> dict[str, np.ndarray]:
        assert self.doc_topic is not None
        return {**self.state.arrays(), "doc_topic": self.doc_topic}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.doc_topic = arrays.pop("doc_topic")
        self._take(restore_state(arrays))


def fit_sentences(first: np.ndarray, epsilon: float | None, task: Task, watch: Watch) -> Fit:
    return SentenceEM.fit(task, watch, first=first, epsilon=epsilon)


def log_topics(state: State) -> np.ndarray:
    """(V, K) float32, log p(word | topic)."""
    totals = state.word_topic.sum(axis=0, dtype=np.float64).astype(np.float32)
    return np.log(np.maximum(state.word_topic / np.maximum(totals, _NOTHING), _NOTHING))


def _longest(sentences: Sentences) -> int:
    """The largest number of sentences in a document."""
    return int(np.diff(sentences.first).max(initial=0))
