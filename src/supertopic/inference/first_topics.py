"""First topics for every engine: a few passes of stochastic collapsed inference over the corpus.

Measured on 20 Newsgroups (1.9 M tokens, one core): topics that a sampler from a random start reaches after 200 sweeps
stand after about half a second at K = 50, and variational EM ends in a better optimum. Above a few hundred topics the
passes themselves start to blur, and it is better to find fewer topics and split them (`gibbs` does).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend
from supertopic.inference.batches import order_entries
from supertopic.inference.task import Task
from supertopic.kernels.first_topics import learn_documents
from supertopic.kernels.word_sums import add_shares_by_word
from supertopic.model import MixtureState, State


class QuickPasses(NamedTuple):
    """How the passes go; `experiments/online_start.py` compares others."""

    epochs: int = 3  # at least
    steps: int = 100  # at least, so that few documents are passed more often
    batches: int = 40  # of an epoch at least, unless they would have fewer than 4 documents
    batch_size: int = 250  # documents of a batch at most
    largest: int = 25_000  # documents of an epoch at most
    passes: int = 8  # over the words of a document
    delay: float = 4.0  # step t moves the counts by (delay + t)^-decay
    decay: float = 0.6
    smoothing: float = 0.01  # beta


SETTINGS = QuickPasses()


def online_counts(
    counts: sp.csr_matrix,
    n_topics: int,
    alpha: np.ndarray,
    seed: int,
    backend: Backend,
    n_documents: float | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Expected counts of words by topic, (V, K) float32, scaled to `n_documents` (those given, by default)."""
    n_all = counts.shape[0]
    rng = np.random.default_rng([seed, 3])
    by_word = np.asarray(counts.sum(axis=0), dtype=np.float32).ravel()
    word_topic = np.empty((counts.shape[1], n_topics), dtype=np.float32) if out is None else out
    rng.random(out=word_topic, dtype=np.float32)
    word_topic += np.float32(0.5)
    word_topic *= by_word[:, None] / np.float32(n_topics)
    batches = _draw_batches(n_all, rng)
    learner = backend.form(Learner)(counts, word_topic, alpha, batches, SETTINGS.smoothing, SETTINGS.passes, backend)
    for step in range(len(batches)):
        learner.step((SETTINGS.delay + step) ** -SETTINGS.decay)
    word_topic[:] = learner.word_topic
    word_topic *= learner.scale * np.float32((n_documents or n_all) / n_all)
    return word_topic


def _draw_batches(n_documents: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The documents of each step, all epochs one after another."""
    n_used = min(n_documents, SETTINGS.largest)
    n_batches = -(-n_used // int(np.clip(n_used // SETTINGS.batches, 4, SETTINGS.batch_size)))
    epochs = max(SETTINGS.epochs, -(-SETTINGS.steps // n_batches))
    orders = (rng.permutation(n_documents)[:n_used] for _ in range(epochs))
    return [documents for order in orders for documents in np.array_split(order, n_batches)]


class _Entries:
    """The entries of a step's documents in the order of their words, and how threads share both."""

    def __init__(self, documents: np.ndarray, counts: sp.csr_matrix, backend: Backend) -> None:
        lengths = counts.indptr[documents + 1] - counts.indptr[documents]
        self.documents = documents
        self.first = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.by_word = order_entries(documents, counts)
        self.of_documents, self.of_words = backend.cut(self.first), backend.cut(self.by_word.start)


class Learner:
    """Expected counts n_wk = scale · word_topic_wk, and n_k. The decay of words not in a batch goes into scale."""

    def __init__(
        self, counts: sp.csr_matrix, word_topic: np.ndarray, alpha: np.ndarray, batches: list[np.ndarray], beta: float,
        passes: int, backend: Backend,
    ) -> None:  # fmt: skip
        """batches : the documents of each step"""
        self.counts, self.word_topic, self.backend, self.passes = counts, word_topic, backend, passes
        self.alpha, self.beta, self.scale = alpha.astype(np.float32), np.float32(beta), np.float32(1.0)
        self.topic_count = word_topic.sum(axis=0, dtype=np.float64).astype(np.float32)
        self._longest = int(np.diff(counts.indptr).max(initial=0))
        self._batches = iter(batches)
        self._entries = self._next_entries()

    def _next_entries(self) -> _Entries | None:
        documents = next(self._batches, None)
        return None if documents is None else _Entries(documents, self.counts, self.backend)

    def step(self, rate: float) -> None:
        """Move the counts by `rate` towards those of the next batch, scaled up to all documents.

        The entries of the batch after it are put in order beside this step: that takes one thread.
        """
        indptr, indices, data = self.counts.indptr, self.counts.indices, self.counts.data
        n_words, n_topics = self.word_topic.shape
        entries = self._entries
        assert entries is not None
        documents, growth = entries.documents, self.counts.shape[0] / len(entries.documents)
        theta, gained = np.empty((2, len(documents), n_topics), dtype=np.float32)
        ratio = np.empty(entries.first[-1], dtype=np.float32)
        inverse = np.float32(1.0) / (self.topic_count + self.beta * np.float32(n_words))
        smoothing = self.beta / self.scale

        def learn(start: int, stop: int) -> None:
            rows = self.backend.scratch(self._longest, n_topics)
            learn_documents(
                start, stop, documents, entries.first, indptr, indices, data, self.word_topic, smoothing, inverse,
                self.alpha, self.passes, theta, gained, ratio, rows,
            )  # fmt: skip

        self.backend.all([(learn, *ends) for ends in entries.of_documents])
        self.scale *= np.float32(1.0 - rate)
        step = np.float32(rate * growth) / self.scale

        def add(start: int, stop: int) -> None:
            row = np.empty(n_topics, dtype=np.float32)
            add_shares_by_word(
                start, stop, *entries.by_word, ratio, theta, self.word_topic, smoothing, step, self.word_topic, row
            )

        def look_ahead() -> None:
            self._entries = self._next_entries()

        sums = [(add, *ends) for ends in entries.of_words]
        self.backend.all([*sums[:1], (look_ahead,), *sums[1:]])  # not first: it would keep the others from beginning
        self.topic_count *= np.float32(1.0 - rate)
        self.topic_count += np.float32(rate * growth) * gained.sum(axis=0)


def near_uniform_counts(counts: sp.csr_matrix, n_topics: int, seed: int) -> np.ndarray:
    """Each word's count shared out among the topics almost evenly: (V, K) float32."""
    by_word = np.asarray(counts.sum(axis=0), dtype=np.float32).ravel()
    noise = np.random.default_rng([seed, 3]).random((counts.shape[1], n_topics), dtype=np.float32)
    return by_word[:, None] * (np.float32(0.95) + np.float32(0.1) * noise) / np.float32(n_topics)


def first_state(task: Task) -> State:
    """Where a fit starts: topics from a few quick passes over the documents, or near uniform ones (`init`).

    All topics have one coefficient per column, so that the first E-step is LDA's; topics that start alike are told
    apart by their coefficients.
    """
    model, response, init = task.model, task.model.response, task.settings.init
    labels = response.describe(task.y, task.weight) if task.labels is None else task.labels
    dispersion = response.start(labels)
    response.check_dispersion(dispersion)
    if init == "uniform":
        counts = near_uniform_counts(task.counts, model.n_topics, task.seed)
    else:
        prior = model.doc_topic_prior.mean(model.doc_topic_prior.start)
        counts = online_counts(task.counts, model.n_topics, prior, task.seed, task.backend, task.n_documents)
    topics = model.emission.first(counts, task.backend)
    if model.one_topic:
        return MixtureState.first(model, topics, shares=np.ones(model.n_topics))
    state = State.first(model, topics, dispersion=dispersion)
    state.coef[:, : model.n_topics] = response.start_coef(labels, dispersion)[:, None]
    if init == "uniform":
        state.coef[:, : model.n_topics] += np.linspace(-1.0, 1.0, model.n_topics, dtype=np.float32)
    return state
