"""Priors on topic shares for tests, and fits of documents of which something is known."""

import numpy as np
import scipy.sparse as sp

from supertopic.inference.batches import Batch
from supertopic.inference.task import Task, Watch
from supertopic.priors.dirichlet import DirichletPrior


class FixedRows(DirichletPrior):
    """Each document's alpha is known beforehand, in a column `rows`."""

    def rows(self, alpha, documents):
        return documents.known["rows"]


def documents(alpha, *, n_words=60, length=80, seed=0, known=None, y=None):
    """(Batch, topics, shares) of documents whose shares come from alpha (D, K)."""
    rng = np.random.default_rng(seed)
    n_topics = alpha.shape[1]
    topics = rng.dirichlet(np.full(n_words, 0.1), n_topics)
    shares = np.array([rng.dirichlet(one) for one in alpha])
    counts = np.array([rng.multinomial(length, own / own.sum()) for own in shares @ topics], dtype=np.float32)
    y = np.full(len(alpha), np.nan) if y is None else y(shares)
    weight = np.where(np.isnan(y), 0.0, 1.0)
    return Batch(sp.csr_matrix(counts), y, weight, n_topics, known=known), topics, shares


def fit(engine, settings, model, batch, backend, seed=0):
    """A whole fit."""
    return engine(Task(model, batch, settings, seed, backend), Watch(lambda *_, **__: None, None))
