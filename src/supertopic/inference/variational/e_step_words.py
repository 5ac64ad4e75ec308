"""The E-step of documents without a response, which never holds the topic shares phi of their words.

With theta = exp E[log theta] and ratio = count / (weights·theta), both of a document,

    sum over documents of c_w phi_wk  =  weights_wk sum_d ratio_dw theta_dk:

so that one number per entry and K per document are kept until the sums by word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from supertopic.backends.base import Backend
from supertopic.backends.cpu.entries import ByWord, order_entries
from supertopic.inference.batches import Batch, Block
from supertopic.kernels.e_step_words import WEIGHT_OFFSET, infer_plain_documents
from supertopic.kernels.word_sums import add_shares_by_word
from supertopic.model import Stats
from supertopic.priors.base import Rows


def add_word_blocks(
    batch: Batch, weights: np.ndarray, prior: Rows, collapsed: bool, max_passes: int, tol: float, fresh: bool,
    doc_topic: np.ndarray, stats: Stats, backend: Backend,
) -> None:  # fmt: skip
    """Infer all documents into `doc_topic` (D, K), and add what they say to the word counts and bound of `stats`."""
    bound = np.zeros(len(batch))
    sums: list[tuple[Callable[..., Any], int, int]] = []  # by word, of the block before: they run beside the next block
    for block in batch.plain_blocks:
        task = _Block(batch, block, weights, backend)
        infer = partial(task.infer, prior, collapsed, max_passes, tol, fresh, doc_topic, bound)
        backend.all([*((infer, *ends) for ends in backend.cut(task.indptr)), (task.order,), *sums])
        sums = [(partial(task.add, stats.word_topic), *ends) for ends in backend.cut(task.by_word.start)]
    backend.all(sums)
    stats.bound += float(bound.sum())


def variational_shares(
    batch: Batch, weights: np.ndarray, prior: Rows, max_passes: int, tol: float, start: np.ndarray, backend: Backend
) -> np.ndarray:  # fmt: skip
    """(D, K) gamma of q(theta) = Dirichlet(gamma) of all documents, from `start` on; nothing is added to any sum."""
    gamma, bound = start.copy(), np.zeros(len(batch))
    for block in batch.plain_blocks:
        task = _Block(batch, block, weights, backend)
        infer = partial(task.infer, prior, False, max_passes, tol, False, gamma, bound)
        backend.all([(infer, *ends) for ends in backend.cut(task.indptr)])
    return gamma


class _Block:
    """Documents of a batch, and the two factors of their words' shares."""

    by_word: ByWord

    def __init__(self, batch: Batch, block: Block, weights: np.ndarray, backend: Backend) -> None:
        self.batch, self.block, self.weights, self.backend = batch, block, weights, backend
        self.indptr, self.indices, self.counts = batch.entries(block)
        self.theta = np.empty((len(self.indptr) - 1, weights.shape[1]), dtype=np.float32)
        self.ratio = np.empty(len(self.counts), dtype=np.float32)

    def infer(
        self, prior: Rows, collapsed: bool, max_passes: int, tol: float, fresh: bool, doc_topic: np.ndarray,
        bound: np.ndarray, start: int, stop: int,
    ) -> None:  # fmt: skip
        rows = self.backend.scratch(self.batch.longest, self.weights.shape[1])
        documents = slice(*self.block)
        infer_plain_documents(
            start, stop, self.indptr, self.indices, self.counts, self.weights, prior.single, prior.which[documents],
            collapsed, max_passes, tol, fresh, doc_topic[documents], self.theta, self.ratio, bound[documents], rows,
        )  # fmt: skip

    def order(self) -> None:
        self.by_word = order_entries(np.arange(*self.block), self.batch.counts)

    def add(self, word_topic: np.ndarray, start: int, stop: int) -> None:
        row = np.empty(self.weights.shape[1], dtype=np.float32)
        add_shares_by_word(
            start, stop, *self.by_word, self.ratio, self.theta, self.weights, WEIGHT_OFFSET, np.float32(1.0),
            word_topic, row,
        )  # fmt: skip
