"""Rows of a prior on topic shares: which documents have which alpha, and sums over documents by row."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic.backends.threads import Threads
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.batches import Batch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.model import DocumentTerms, Model, State
from supertopic.priors.base import Rows
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses.continuous import Gaussian
from tests.priors import FixedRows


@pytest.fixture
def rows():
    which = np.random.default_rng(3).integers(0, 3, 1300).astype(np.int32)
    return Rows(np.array([[0.1, 0.2], [1.0, 2.0], [5.0, 4.0]]), which)


def test_pieces_hold_every_document_of_a_row_once(rows):
    order, ends, row = rows.pieces
    assert sorted(order) == list(range(1300))
    seen = [order[first:last] for first, last in pairwise(ends)]
    assert len(seen) == len(row) and max(map(len, seen)) <= 512
    for documents, number in zip(seen, row, strict=True):
        assert set(rows.which[documents]) == {number}
    np.testing.assert_array_equal(rows.sizes, np.bincount(rows.which))


N_TOPICS, N_WORDS = 3, 30
LIMITS = LocalLimits(20, 1e-4)


def documents_of(rows, weight, known=None):
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.4, (len(rows.which), N_WORDS)).astype(np.float32)
    counts[7] = 0
    counts = sp.csr_matrix(counts)
    y, weight = rng.normal(size=len(rows.which)), np.full(len(rows.which), weight)
    return Batch(counts, y, weight, N_TOPICS, known={"rows": rows} if known is None else known)


def step(batch, prior, weights, *, collapsed, per_token, backend):
    model = Model(
        N_TOPICS, DirichletTopics(0.1), prior, Gaussian(), coef_step=GLMStep(), collapsed=collapsed, per_token=per_token
    )
    state = State.first(model, weights, dispersion=np.array([0.5, 0.0, 1.0]), coef=np.float32([[1.0, -1.0, 0.3]]))
    partition = batch.split(1)[0]
    stats = local_step(partition, backend, model, state, weights, LIMITS, DocumentTerms())
    return stats, partition.found


@pytest.mark.parametrize(
    ("weight", "collapsed", "per_token"), [(0, False, False), (0, True, False), (1, False, False), (1, False, True)]
)
def test_a_step_infers_each_document_by_its_own_row(weight, collapsed, per_token):
    """Bit for bit what a step infers where all documents have that row's alpha; statistics add up.

    With terms for each token, the documents of a block stop together, so that they are only close.
    """
    same = {"rtol": 2e-3} if per_token else {"rtol": 0.0}
    rng = np.random.default_rng(1)
    rows = Rows(rng.uniform(0.1, 2.0, (3, N_TOPICS)), rng.integers(0, 3, 60).astype(np.int32))
    weights = rng.dirichlet(np.ones(N_WORDS), N_TOPICS).T.astype(np.float32, order="C")
    batch, how = documents_of(rows, weight), {"collapsed": collapsed, "per_token": per_token}
    with Threads(2) as backend:
        both, found = step(batch, FixedRows(rows.alpha[0]), weights, **how, backend=backend)
        bound, counts = 0.0, np.zeros_like(weights)
        for row, alpha in enumerate(rows.alpha):
            some = np.flatnonzero(rows.which == row)
            part = documents_of(rows, weight, known={}).rows(some)
            stats, own = step(part, DirichletPrior(alpha), weights, **how, backend=backend)
            np.testing.assert_allclose(found.doc_topic[some], own.doc_topic, **same)
            np.testing.assert_allclose(found.score[some], own.score, **same)
            bound, counts = bound + stats.bound, counts + stats.word_topic
    assert both.bound == pytest.approx(bound, rel=1e-5 if per_token else 1e-9)
    np.testing.assert_allclose(both.word_topic, counts, rtol=2e-3 if per_token else 1e-5, atol=1e-6)
