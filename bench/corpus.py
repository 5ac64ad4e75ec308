"""The documents that every library is fitted on, and the score that compares them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from supertopic.datasets import docstrings, load
from supertopic.documents.vectorizer import Vectorizer
from supertopic.metrics import completion_split, score_completion

ALPHA, BETA = 0.1, 0.01  # the fixed priors of every library in every table


@dataclass(frozen=True)
class Documents:
    """Training documents, and test documents to score topics on."""

    name: str
    train: sp.csr_matrix
    test: sp.csr_matrix

    @cached_property
    def n_tokens(self) -> int:
        return int(self.train.sum(dtype=np.float64))

    @cached_property
    def halves(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        return completion_split(self.test, seed=0)

    def score(self, word_topic: np.ndarray) -> float:
        """Held-out nats per token: topic shares come from half of each test document, the other half is scored.

        word_topic : (V, K), proportional to p(word | topic) for each topic
        """
        topics = word_topic / word_topic.sum(axis=0, dtype=np.float64)
        return score_completion(topics, ALPHA, *self.halves, n_jobs=-1)

    def describe(self) -> str:
        documents, words = self.train.shape
        return (
            f"{self.name}: {documents:,} training documents, {words:,} terms, {self.n_tokens:,} tokens, "
            f"{self.train.nnz:,} entries; {self.test.shape[0]:,} test documents"
        )


def read_documents() -> Documents:
    """Read 20 Newsgroups if SUPERTOPIC_DATA has it, otherwise the docstrings of installed packages."""
    if os.environ.get("SUPERTOPIC_DATA"):
        bunch = load("20newsgroups_bow")
        counts, in_train = bunch.counts.counts, (bunch.frame["split"] == "train").to_numpy()
        return choose_terms("20 Newsgroups", counts[in_train], counts[~in_train])
    texts = docstrings().text
    counts = Vectorizer(stop_words=None).fit_transform(texts)
    in_train = np.arange(len(texts)) % 3 > 0
    return choose_terms("docstrings", counts[in_train], counts[~in_train])


def choose_terms(name: str, train: sp.csr_matrix, test: sp.csr_matrix) -> Documents:
    """Keep the terms in at least 5 training documents and in at most half of them."""
    train, test = sp.csr_matrix(train, dtype=np.float32), sp.csr_matrix(test, dtype=np.float32)
    frequency = np.bincount(train.indices, minlength=train.shape[1])
    kept = np.flatnonzero((frequency >= 5) & (frequency <= train.shape[0] / 2))
    train, test = train[:, kept], test[:, kept]
    for counts in (train, test):
        counts.sort_indices()
    return Documents(name, train[np.diff(train.indptr) > 0], test)
