"""DiscLDA: variational EM for topics of single classes beside topics that all classes share.

    y ~ Categorical(pi);   theta ~ Dirichlet(alpha) over K0 + K1 places;   z ~ theta;   w ~ beta_{T_y(z)}

T_y maps the first K0 places to the topics of class y, and the last K1 to the shared topics. Given y, this is LDA on
some columns of the topics. The local step is therefore that of LDA, class by class, and the expected counts of shared
columns are summed over the classes:

    log p(w, y)  >=  log pi_y + L(gamma, phi; columns of y)

Prediction computes the same bound, once for each class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from supertopic.backends.base import Backend, total
from supertopic.inference.after import prediction
from supertopic.inference.batches import continue_from, gather
from supertopic.inference.first_topics import near_uniform_counts, online_counts
from supertopic.inference.loop import EM
from supertopic.inference.requirements import on_the_cpu
from supertopic.inference.task import Fit, Task, Watch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.step import global_evidence
from supertopic.kernels.e_step_words import infer_plain_documents
from supertopic.model import DocumentTerms, State, restore_state
from supertopic.priors.base import Rows

_EXACTLY = LocalLimits(max_passes=200, tol=1e-4)  # for new documents: small differences decide their classes
_DOCUMENTS_AT_ONCE = 1024


@dataclass(frozen=True)
class Structure:
    """Which topics a document of a class may have. Columns are the topics of class 0, class 1, …, and shared ones."""

    n_classes: int
    n_own: int  # K0
    n_shared: int  # K1

    @property
    def n_topics(self) -> int:
        return self.n_classes * self.n_own + self.n_shared

    def columns(self, place: int) -> np.ndarray:
        """(K0 + K1,) the columns of the class with number `place`."""
        own = np.arange(place * self.n_own, (place + 1) * self.n_own)
        return np.concatenate([own, np.arange(self.n_classes * self.n_own, self.n_topics)])


def first_class_state(task: Task, structure: Structure) -> State:
    """Where a fit starts: topics of a class from quick passes over its documents; shared topics are near uniform.

    If shared topics started as different topics, too, they would explain the documents without the classes.
    """
    n_own, n_shared = structure.n_own, structure.n_shared
    found = np.zeros((task.counts.shape[1], structure.n_topics), dtype=np.float32)
    alpha, parts = task.model.doc_topic_prior.start, n_own + n_shared
    for place in range(structure.n_classes):
        members = task.counts[task.y == place]
        own = online_counts(members, n_own, alpha[:n_own], task.seed, task.backend)
        found[:, structure.columns(place)[:n_own]] = own * np.float32(n_own / parts)
    if n_shared:
        shared = near_uniform_counts(task.counts, n_shared, task.seed)
        found[:, -n_shared:] = shared * np.float32(n_shared / parts)
    return State.first(task.model, task.model.emission.first(found, task.backend))


class _Class:
    """The training documents of one class."""

    def __init__(self, task: Task, structure: Structure, place: int) -> None:
        rows = np.flatnonzero(task.y == place)
        self.rows, self.columns = rows, structure.columns(place)
        self.spread = task.backend.spread(task.batch.rows(rows))


class ClassEM(EM):
    """EM over all classes, until the bound per token rises by less than `tol` of itself.

    The task's model is the model of one class, with K0 + K1 topics; all classes have the same alpha. Its y holds the
    numbers of the classes. As in `VariationalEM`, documents start afresh in every E-step until the bound would fall.
    """

    requires = (on_the_cpu("a model with topics of single classes"),)

    def __init__(self, task: Task, structure: Structure) -> None:
        super().__init__(task)
        self.structure, self.fresh = structure, True
        self.groups = [_Class(task, structure, place) for place in range(structure.n_classes)]

    def start(self) -> None:
        self.state = self.task.start.copy() if self.task.start else first_class_state(self.task, self.structure)

    def step(self) -> float:
        n_tokens, tol = self.task.n_tokens, self.task.settings.tol
        bound, after = self._step()
        if self.fresh and self.trace and self.trace[-1] - bound / n_tokens > tol * abs(self.trace[-1]):
            self.fresh = False
            bound, after = self._step(again=True)
        self.state = after
        self.done += 1
        return bound / n_tokens

    def _step(self, again: bool = False) -> tuple[float, State]:
        """The bound, and the next State."""
        model, backend, state = self.task.model, self.task.backend, self.state
        weights = model.emission.expect(state.word_topic, backend)
        word_topic, prior = np.zeros_like(weights), np.zeros(model.n_topics + 1)
        bound, terms = global_evidence(model, state, backend), DocumentTerms()
        for group in self.groups:
            own = np.ascontiguousarray(weights[:, group.columns])
            given = (model, replace(state, word_topic=own), own, self.task.settings.limits, terms, self.fresh, again)
            stats = total(group.spread.map(local_step, *given))
            word_topic[:, group.columns] += stats.word_topic
            prior += stats.prior
            bound += stats.bound
        after = replace(state, word_topic=model.emission.update(state.word_topic, word_topic, 1.0, backend))
        after.alpha = model.doc_topic_prior.update(state.alpha, prior)
        return bound, after

    def result(self) -> Fit:
        return Fit(self.state, self.trace, len(self.trace))

    def arrays(self) -> dict[str, np.ndarray]:
        """The State, and the Dirichlet parameters of the documents' shares (D, K0 + K1)."""
        doc_topic = np.empty((len(self.task.batch), self.task.model.n_topics), dtype=np.float32)
        for group in self.groups:
            doc_topic[group.rows] = gather(group.spread)
        return {**self.state.arrays(), "doc_topic": doc_topic}

    def numbers(self) -> dict[str, Any]:
        return {"fresh": self.fresh}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.fresh, doc_topic = numbers["fresh"], arrays.pop("doc_topic")
        self.state = restore_state(arrays)
        for group in self.groups:
            group.spread.map(continue_from, doc_topic[group.rows], 0)


def fit_classes(structure: Structure, task: Task, watch: Watch) -> Fit:
    return ClassEM.fit(task, watch, structure=structure)


@dataclass(frozen=True)
class ClassPosterior:
    """What is known about the classes of new documents."""

    posterior: np.ndarray  # (D, C) p(class | words), with the bound in place of log p(words | class)
    bound: np.ndarray  # (D, C) bound of log p(words | class)
    doc_topic: np.ndarray  # (D, K) float32, topic shares averaged over the posterior


def infer_classes(
    structure: Structure, weights: np.ndarray, alpha: np.ndarray, log_shares: np.ndarray, counts: sp.csr_matrix,
    backend: Backend,
) -> ClassPosterior:  # fmt: skip
    """Posterior over the classes, by one inference per class, given p(word | topic) (V, K) and log pi (C,)."""
    tables = [np.ascontiguousarray(weights[:, structure.columns(place)]) for place in range(structure.n_classes)]
    bound = np.empty((counts.shape[0], structure.n_classes))
    posterior = np.empty_like(bound)
    doc_topic = np.zeros((counts.shape[0], structure.n_topics), dtype=np.float32)
    for start in range(0, counts.shape[0], _DOCUMENTS_AT_ONCE):
        rows = slice(start, start + _DOCUMENTS_AT_ONCE)
        some = counts[rows]
        found = [_infer(table, alpha, some, backend) for table in tables]
        bound[rows] = np.column_stack([part for _, part in found])
        posterior[rows] = softmax(bound[rows] + log_shares, axis=1)
        for place, (shares, _) in enumerate(found):
            doc_topic[rows, structure.columns(place)] += shares * posterior[rows, place, None].astype(np.float32)
    return ClassPosterior(posterior, bound, doc_topic)


def _infer(
    weights: np.ndarray, alpha: np.ndarray, counts: sp.csr_matrix, backend: Backend
) -> tuple[np.ndarray, np.ndarray]:
    """Topic shares (D, K0 + K1) and bounds (D,) of documents, if they are of one class."""
    n_documents, n_topics = counts.shape[0], weights.shape[1]
    gamma, theta = np.empty((2, n_documents, n_topics), dtype=np.float32)
    ratio, bound = np.empty(counts.nnz, dtype=np.float32), np.empty(n_documents)
    longest = int(np.diff(counts.indptr).max(initial=0))
    csr, prior = (counts.indptr, counts.indices, counts.data), Rows.same(alpha, n_documents)
    given = (*csr, weights, prior.single, prior.which, False, _EXACTLY.max_passes, _EXACTLY.tol, True)

    def part(start: int, stop: int) -> None:
        infer_plain_documents(start, stop, *given, gamma, theta, ratio, bound, backend.scratch(longest, n_topics))

    backend.over_weights(counts.indptr, part)
    return gamma / gamma.sum(axis=1, keepdims=True), bound


def word_shares(
    structure: Structure, weights: np.ndarray, alpha: np.ndarray, posterior: np.ndarray, counts: sp.csr_matrix,
    backend: Backend,
) -> np.ndarray:  # fmt: skip
    """(entries, K) topic shares of the words of one document, averaged over its class posterior (C,)."""
    shares = np.zeros((counts.nnz, structure.n_topics))
    point = prediction.PointModel(alpha)
    for place, chance in enumerate(posterior):
        columns = structure.columns(place)
        phi = prediction.infer_shares(point, np.ascontiguousarray(weights[:, columns]), counts, backend, words=True)[1]
        shares[:, columns] += chance * phi
    return shares
