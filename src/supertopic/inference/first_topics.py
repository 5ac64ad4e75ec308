"""First topics for every engine: a few passes of stochastic collapsed inference over the corpus.

Passes from another random start find other topics. Topics that come back are the mean of several, matched topic by
topic (`agreed_counts`): their random numbers are always the same, so that they do not depend on the seed of the fit.

Measured on 20 Newsgroups (1.9 M tokens, one core): topics that a sampler from a random start reaches after 200 sweeps
stand after about half a second at K = 50, and variational EM ends in a better optimum. Above a few hundred topics the
passes themselves start to blur, and it is better to find fewer topics and split them (`gibbs` does).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from supertopic.backends.base import Backend
from supertopic.inference.spectral_topics import spectral_counts
from supertopic.inference.task import Task
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
AGREEING = 8  # passes, where topics should come back
_ROUNDS = 2  # of matching: with the first, then with the mean


def online_counts(
    counts: sp.csr_matrix, n_topics: int, alpha: np.ndarray, seed: int, backend: Backend,
    n_documents: float | None = None, out: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Expected counts of words by topic, (V, K) float32, scaled to `n_documents` (those given, by default)."""
    n_all = counts.shape[0]
    rng = np.random.default_rng([seed, 3])
    by_word = np.asarray(counts.sum(axis=0), dtype=np.float32).ravel()
    word_topic = np.empty((counts.shape[1], n_topics), dtype=np.float32) if out is None else out
    rng.random(out=word_topic, dtype=np.float32)
    word_topic += np.float32(0.5)
    word_topic *= by_word[:, None] / np.float32(n_topics)
    batches = _draw_batches(n_all, rng)
    learner = backend.ops.learner(counts, word_topic, alpha, batches, SETTINGS.smoothing, SETTINGS.passes)
    for step in range(len(batches)):
        learner.step((SETTINGS.delay + step) ** -SETTINGS.decay)
    word_topic[:] = learner.word_topic
    word_topic *= learner.scale * np.float32((n_documents or n_all) / n_all)
    return word_topic


def agreed_counts(
    counts: sp.csr_matrix, n_topics: int, alpha: np.ndarray, backend: Backend, n_documents: float | None = None,
    n_passes: int = AGREEING,
) -> np.ndarray:  # fmt: skip
    """The mean (V, K) of `online_counts` with several seeds."""
    return matched_mean([online_counts(counts, n_topics, alpha, s, backend, n_documents) for s in range(n_passes)])


def matched_mean(topics: Sequence[np.ndarray]) -> np.ndarray:
    """The mean (V, K) float32 of the topics of several fits, each matched one to one with the mean by its cosines."""
    mean = topics[0]
    for _ in range(_ROUNDS):
        own = (mean / np.linalg.norm(mean, axis=0)).T
        matched = np.zeros_like(mean)
        for other in topics:
            cosines = own @ (other / np.linalg.norm(other, axis=0))
            matched += other[:, linear_sum_assignment(cosines, maximize=True)[1]]
        mean = matched / np.float32(len(topics))
    return mean


def _draw_batches(n_documents: int, rng: np.random.Generator) -> list[np.ndarray]:
    """The documents of each step, all epochs one after another."""
    n_used = min(n_documents, SETTINGS.largest)
    n_batches = -(-n_used // int(np.clip(n_used // SETTINGS.batches, 4, SETTINGS.batch_size)))
    epochs = max(SETTINGS.epochs, -(-SETTINGS.steps // n_batches))
    orders = (rng.permutation(n_documents)[:n_used] for _ in range(epochs))
    return [documents for order in orders for documents in np.array_split(order, n_batches)]


def near_uniform_counts(counts: sp.csr_matrix, n_topics: int, seed: int) -> np.ndarray:
    """Each word's count shared out among the topics almost evenly: (V, K) float32."""
    by_word = np.asarray(counts.sum(axis=0), dtype=np.float32).ravel()
    noise = np.random.default_rng([seed, 3]).random((counts.shape[1], n_topics), dtype=np.float32)
    return by_word[:, None] * (np.float32(0.95) + np.float32(0.1) * noise) / np.float32(n_topics)


def first_state(task: Task, n_passes: int = 1) -> State:
    """Where a fit starts: topics from a few quick passes over the documents, of anchor words, or near uniform (`init`).

    All topics have one coefficient per column, so that the first E-step is LDA's; topics that start alike are told
    apart by their coefficients.

    n_passes : above 1, topics that so many passes agree on
    """
    model, response, init = task.model, task.model.response, task.settings.init
    labels = response.describe(task.y, task.weight) if task.labels is None else task.labels
    dispersion = response.start(labels)
    response.check_dispersion(dispersion)
    if init == "uniform":
        counts = near_uniform_counts(task.counts, model.n_topics, task.seed)
    elif init == "spectral":
        counts = spectral_counts(task.counts, model.n_topics) * np.float32(
            (task.n_documents or len(task.batch)) / len(task.batch)
        )
    else:
        prior = model.doc_topic_prior.mean(model.doc_topic_prior.start)
        given, more = (task.counts, model.n_topics, prior), (task.backend, task.n_documents)
        counts = agreed_counts(*given, *more, n_passes) if n_passes > 1 else online_counts(*given, task.seed, *more)
    topics = model.emission.first(counts, task.backend)
    if model.one_topic:
        return MixtureState.first(model, topics, shares=np.ones(model.n_topics))
    state = State.first(model, topics, dispersion=dispersion)
    state.coef[:, : model.n_topics] = response.start_coef(labels, dispersion)[:, None]
    if init == "uniform":
        state.coef[:, : model.n_topics] += np.linspace(-1.0, 1.0, model.n_topics, dtype=np.float32)
    return state
