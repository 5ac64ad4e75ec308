"""The local step: what a partition of documents says, given the State, block by block."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from supertopic.backends.base import Backend, Room, reads_only
from supertopic.inference.batches import EntryOrder, Locals, Partition
from supertopic.inference.variational.e_step_response import LocalLimits, ResponseBlock
from supertopic.inference.variational.e_step_words import add_word_blocks, variational_shares
from supertopic.kernels.e_step_words import WEIGHT_OFFSET, sum_log_theta
from supertopic.kernels.one_topic import share_documents
from supertopic.kernels.word_sums import add_by_word, add_shares_by_word
from supertopic.model import DocumentTerms, MixtureState, Model, State, Stats
from supertopic.priors.base import Rows, SharePrior


def local_step(
    partition: Partition, backend: Backend, model: Model, state: State, weights: np.ndarray, limits: LocalLimits,
    terms: DocumentTerms, fresh: bool = True, again: bool = False, out: Room | None = None,
) -> Stats:  # fmt: skip
    """Stats of a partition, given the topics' weights (logarithms, for a mixture); `partition.found` is renewed.

    Documents start afresh, or from what the last step found; `again` repeats the step, from what was found before it.
    The State's own topics are not used: `weights` may stand in their place. The word counts are written to `out` where
    it has their shape: engines alternate between two arrays, and some emissions have more parameters than topics.
    """
    batch, n_columns = partition.batch, model.response.n_columns
    remember(partition, again)
    prior = model.doc_topic_prior
    partition.found = found = Locals.empty(len(batch), model.n_topics, n_columns)
    if not fresh:
        assert partition.before is not None
        found.doc_topic[:] = partition.before.doc_topic
    stats = no_stats(model, len(batch), (out or Room()).like(weights))
    stats.word_topic[:] = 0.0
    if isinstance(state, MixtureState):
        _add_mixture_blocks(state, weights, partition, found, stats, backend)
        stats.prior = found.doc_topic.sum(axis=0, dtype=np.float64)
        return stats
    found.prior = rows = prior.rows(state.alpha, batch)
    if n_columns and np.any(batch.weight > 0):
        _add_response_blocks(model, state, weights, partition, limits, terms, fresh, stats, backend)
    else:  # without any weight, y has no influence, and this is LDA
        given = (model.collapsed, limits.max_passes, limits.tol, fresh)
        add_word_blocks(batch, weights, rows, *given, found.doc_topic, stats, backend)
    gamma = found.doc_topic
    if model.collapsed and model.doc_topic_prior.learns:
        # a mode has no evidence, and its counts are too soft: alpha is learned from the variational bound
        # (`supertopic.priors.dirichlet`)
        gamma = variational_shares(batch, weights, rows, limits.max_passes, limits.tol, gamma, backend)
    found.log_theta = sum_by_row(rows, gamma, backend)
    stats.prior = prior.summarise(state.alpha, batch, found.log_theta)
    return stats


@reads_only
def summarise_step(partition: Partition, backend: Backend, prior: SharePrior, alpha: np.ndarray) -> np.ndarray:
    """What documents would say about other parameters of the prior, at the shares that the last step found."""
    batch, found = partition.batch, partition.found
    assert found is not None and found.log_theta is not None
    return prior.summarise(alpha, batch, found.log_theta)


def remember(partition: Partition, again: bool) -> None:
    """What was found becomes what was found before, unless the step is repeated."""
    if not again and partition.found is not None:
        partition.before = partition.found
        partition.before.labelled = None


def no_stats(model: Model, n_documents: int, word_topic: np.ndarray) -> Stats:
    """Stats of documents that have not been added yet; `word_topic` is where their word counts will be."""
    n_columns, n_coef = model.response.n_columns, model.n_topics + model.n_covariates
    return Stats(
        word_topic=word_topic,
        prior=np.zeros(0),
        n_documents=float(n_documents),
        bound=0.0,
        gram=np.zeros((n_columns, n_coef, n_coef)),
        cross=np.zeros((n_columns, n_coef)),
        response=np.zeros(model.response.n_summary),
    )


def _shares_of_blocks(partition: Partition, n_topics: int) -> np.ndarray:
    """Room for the topic shares of all entries of the largest block."""
    indptr = partition.batch.counts.indptr
    most = max((int(indptr[stop] - indptr[start]) for start, stop in partition.batch.blocks), default=0)
    return np.empty((most, n_topics), dtype=np.float32)


def _add_response_blocks(
    model: Model, state: State, weights: np.ndarray, partition: Partition, limits: LocalLimits, terms: DocumentTerms,
    fresh: bool, stats: Stats, backend: Backend,
) -> None:  # fmt: skip
    """Documents with a response. The topic shares of a block's entries are held if each token has a term of its own."""
    batch, found = partition.batch, partition.found
    assert found is not None and found.prior is not None
    blocks, shares = batch.response_blocks, np.empty((0, model.n_topics), dtype=np.float32)
    if model.per_token:
        blocks, shares = batch.blocks, _shares_of_blocks(partition, model.n_topics)
    slope = terms.slope(partition.rows)
    for documents in blocks:
        some = slice(*documents)
        own = slope[some] if isinstance(slope, np.ndarray) else slope
        locals_ = Locals(found.doc_topic[some], found.score[some], found.moment[some])
        block = ResponseBlock.of(model, state, limits, weights, batch, documents, found.prior, locals_, own, shares)
        order = EntryOrder(batch, documents)
        block.infer(backend, fresh, order.find)
        block.add_to(stats, backend.all)
        if model.per_token:
            _add_words(order, block.phi, stats.word_topic, backend)
        else:
            _add_factors(order, block, stats.word_topic, backend)


def _add_mixture_blocks(
    state: MixtureState, weights: np.ndarray, partition: Partition, found: Locals, stats: Stats, backend: Backend
) -> None:
    """Documents of one topic each."""
    batch, log_shares = partition.batch, digamma(state.shares) - digamma(state.shares.sum())
    shares, bound = _shares_of_blocks(partition, weights.shape[1]), np.zeros(len(batch))
    for documents in batch.blocks:
        indptr, indices, counts = batch.entries(documents)
        phi, some = shares[: len(counts)], slice(*documents)
        given = (indptr, indices, counts, weights, log_shares, found.doc_topic[some], phi, bound[some])
        order = EntryOrder(batch, documents)
        backend.all([(order.find,), *((share_documents, *ends, *given) for ends in backend.cut(indptr))])
        _add_words(order, phi, stats.word_topic, backend)
        stats.bound += float(bound[some].sum())


def _add_words(order: EntryOrder, phi: np.ndarray, word_topic: np.ndarray, backend: Backend) -> None:
    """Add the expected counts of a block's words to `word_topic` (V, K)."""
    (words, first, entry, _), counts = order.by_word, order.batch.entries(order.block)[2]

    def add(start: int, stop: int) -> None:
        row = np.empty(phi.shape[1], dtype=np.float32)
        add_by_word(start, stop, words, first, entry, counts, phi, word_topic, row)

    backend.over_weights(first, add)


def _add_factors(order: EntryOrder, block: ResponseBlock, word_topic: np.ndarray, backend: Backend) -> None:
    """As `_add_words`, where shares are the product of two factors."""

    def add(start: int, stop: int) -> None:
        row = np.empty(word_topic.shape[1], dtype=np.float32)
        add_shares_by_word(
            start, stop, *order.by_word, block.ratio, block.weighed, block.weights, WEIGHT_OFFSET, np.float32(1.0),
            word_topic, row,
        )  # fmt: skip

    backend.over_weights(order.by_word.start, add)


def sum_by_row(prior: Rows, gamma: np.ndarray, backend: Backend) -> np.ndarray:
    """(R, K) the sum of E[log theta] = psi(gamma_dk) - psi(sum_k gamma_dk) over documents with the same alpha.

    Pieces of fixed size are summed, so that the sum does not depend on threads.
    """
    documents, ends, row = prior.pieces
    sums = np.empty((len(row), gamma.shape[1]))
    given = (documents, ends, row, prior.single, gamma, sums)
    backend.over_range(len(row), lambda start, stop: sum_log_theta(start, stop, *given))
    return prior.total(sums)
