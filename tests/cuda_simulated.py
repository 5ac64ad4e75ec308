"""Checks of the GPU's kernels and forms in numba's CUDA simulator, each a function: `test_cuda.py` runs this file.

The simulator must be chosen before numba is imported, and other tests have imported it. Weights are such as half
precision holds exactly, so that results can be held to float32.
"""

import json
import sys
import time
import traceback
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

from supertopic.backends import make_backend
from supertopic.backends.cuda import documents as documents_module
from supertopic.backends.cuda import memory
from supertopic.backends.cuda.arrays import Matrix, padded
from supertopic.backends.cuda.documents import Documents
from supertopic.backends.cuda.e_step import Inferred, Prior, documents_of, infer_documents, weights_of
from supertopic.backends.cuda.emission import DeviceTopics
from supertopic.backends.cuda.kernels import gibbs
from supertopic.backends.cuda.kernels.map_shares import adjoint
from supertopic.backends.cuda.kernels.passes import lanes_of
from supertopic.backends.cuda.memory import empty, sent
from supertopic.backends.cuda.tokens import key_of
from supertopic.documents.known import Known
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.emissions.seeds import Seeds
from supertopic.inference.after import prediction
from supertopic.inference.batches import Batch
from supertopic.inference.design import Design
from supertopic.inference.device.design import DeviceDesign
from supertopic.inference.gibbs.sampler import Sampler
from supertopic.inference.task import Task
from supertopic.inference.variational.climb import Climb
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.inference.variational.m_step_margin import MarginStep
from supertopic.inference.variational.prediction_local import Scales, prediction_step
from supertopic.inference.variational.step import global_step
from supertopic.model import DocumentTerms, Model, State
from supertopic.priors.base import Rows
from supertopic.responses.continuous import Gaussian
from supertopic.responses.counts import Poisson
from supertopic.responses.margin import EpsilonInsensitive, Hinge
from tests import naive, naive_collapsed, naive_gibbs, naive_pc
from tests.test_new_prior import GroupPrior

N_TOPICS, N_WORDS = 40, 6  # two registers a lane, the second not full
FEW_TOPICS = 20  # where (K, K) matrices would take the simulator long
THREADS, CUDA = make_backend("threads", 1), make_backend("cuda", 1)
FEW_PASSES = LocalLimits(2, 1e-9)
PASSES = LocalLimits(5, 0.0)  # the last one after a leap
GROUP = np.array([1, 0, 0], dtype=np.int32)  # of each document
KNOWN = Known.of(3, metadata={"group": GROUP})


def data(n_topics=N_TOPICS):
    """Three documents, one empty, one with more than four words; weights of words, and alpha of two groups."""
    rng = np.random.default_rng(0)
    dense = np.array([[1, 2, 0, 1, 3, 1], [0, 0, 0, 0, 0, 0], [0, 1, 0, 2, 0, 0]], dtype=np.float32)
    weights = rng.integers(1, 200, (N_WORDS, n_topics)) / 256
    weights[np.arange(N_WORDS), rng.integers(0, n_topics, N_WORDS)] = 1.0
    alpha = rng.uniform(0.1, 0.9, n_topics).astype(np.float32).astype(np.float64)
    return sp.csr_matrix(dense), unpacked(Matrix.of(weights.astype(np.float32))), np.stack([alpha, 2.0 * alpha[::-1]])


def unpacked(matrix):
    """The numbers that passes read, lane by lane."""
    n_words, n, n_lanes = len(matrix), matrix.registers, lanes_of(matrix.registers)
    numbers = matrix.packed.copy_to_host().reshape(n_words, -1, n_lanes)
    found = np.zeros((n_words, matrix.width), dtype=np.float32)
    for place in range(32 // n_lanes * n):
        for lane in range(n_lanes):
            of_two = (numbers[:, place // 4, lane] >> np.uint64(32 * (place % 4 // 2))).astype(np.uint32)
            bits = of_two if place % 2 else of_two << np.uint32(16)
            found[:, place % n * 32 + place // n * n_lanes + lane] = bits.view(np.float32)
    return np.ascontiguousarray(found[:, : matrix.shape[1]])  # as weights of fits lie


def check_half_precision():
    """Rows of any width are read as they were to a part in 256, without a bias, and zeros as less than 1e-38."""
    rng, off = np.random.default_rng(0), []
    for n_topics in (20, 40, 70, 256, 257, 300):
        values = rng.exponential(1.0, (3, n_topics)).astype(np.float32) ** 8
        values[:, ::7] = 0.0
        found = unpacked(Matrix.of(values))
        np.testing.assert_allclose(found, values, rtol=1 / 256, atol=1e-38)
        off.append((found / np.maximum(values, 1e-38))[values > 0] - 1.0)
    assert abs(np.concatenate(off).mean()) < 2e-4  # of about 2,400 numbers: five standard errors


def unlabelled(counts):
    return Batch(
        counts, np.full(counts.shape[0], np.nan), np.zeros(counts.shape[0]), N_TOPICS, known=KNOWN
    )  # fmt: skip


def of_documents(counts):
    for d in range(counts.shape[0]):
        own = slice(counts.indptr[d], counts.indptr[d + 1])
        if own.stop > own.start:
            yield d, own, counts.indices[own], counts.data[own].astype(np.float64)


def check_words():
    hold_to_naive(False)


def check_collapsed_words():
    hold_to_naive(True)


def check_words_by_any_number_of_lanes():
    """Eight lanes read a word, sixteen, or all 32; teams of one, three and four warps."""
    for n_topics in (20, 70, 150):
        hold_to_naive(False, n_topics)


def hold_to_naive(collapsed, n_topics=N_TOPICS):
    """gamma, the words' shares, their sums and the bound of every document."""
    counts, weights, alpha = data(n_topics)
    batch = unlabelled(counts)
    documents, gamma = documents_of(batch), Matrix.empty(3, n_topics)
    found, rows, prior = Inferred(documents, n_topics), weights_of(weights), Prior.of(Rows(alpha, GROUP), collapsed)
    infer_documents(documents, rows, prior, PASSES, True, gamma, found)
    sums, expected = Matrix.empty(N_WORDS, n_topics), np.zeros((N_WORDS, n_topics))
    documents.add_by_word(found.ratio, found.theta, rows, sums)
    bound, slow = found.on_host("bound"), naive_collapsed if collapsed else naive
    for d, _, words, own in of_documents(counts):
        given = (words, own, weights.astype(np.float64), alpha[GROUP[d]])
        wanted, phi = slow.infer_document(*given, PASSES.max_passes)
        np.testing.assert_allclose(np.asarray(gamma)[d], wanted, rtol=2e-5)
        expected[words] += own[:, None] * phi
        value = naive_collapsed.bound(*given, phi) if collapsed else naive.word_bound(*given, wanted, phi)
        np.testing.assert_allclose(bound[d], value, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(gamma)[1], alpha[GROUP[1]], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(sums), expected, rtol=5e-5, atol=1e-7)
    assert bound[1] == 0.0


def model_of(response, n_topics=N_TOPICS):
    prior = GroupPrior(np.full((2, n_topics), 0.3))
    return Model(n_topics, DirichletTopics(0.1), prior, response=response, coef_step=GLMStep(), n_covariates=1)


def local_stats(response, y, weight, dispersion, limits=FEW_PASSES):
    """Two steps by each backend, the second from where the first ended; and what they found."""
    counts, weights, alpha = data(FEW_TOPICS)
    rng = np.random.default_rng(1)
    model = model_of(response, FEW_TOPICS)
    coef = rng.normal(size=(response.n_columns, FEW_TOPICS + 1)).astype(np.float32)
    state = State.first(model, weights, alpha=alpha, coef=coef, dispersion=np.array(dispersion))
    for backend in (THREADS, CUDA):
        batch = Batch(counts, y, weight, FEW_TOPICS, np.array([[0.5], [-1.0], [0.2]]), KNOWN)
        spread = backend.spread(batch)
        steps = [
            spread.map(local_step, model, state, weights, limits, DocumentTerms(), fresh)[0] for fresh in (True, False)
        ]
        yield steps, spread.partition.found


def hold_stats(*given):
    (expected, there), (found, here) = local_stats(*given)
    np.testing.assert_allclose(np.asarray(here.doc_topic), there.doc_topic, rtol=1e-4)
    np.testing.assert_allclose(here.score, there.score, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(here.moment, there.moment, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(found, expected, strict=True):
        for name, value in vars(theirs).items():
            np.testing.assert_allclose(getattr(ours, name), value, rtol=2e-4, atol=2e-5, err_msg=name)


def check_quadratic_response():
    hold_stats(Gaussian(), np.array([1.5, -0.3, np.nan]), np.array([1.0, 1.0, 1.0]), [0.4, 0.1, 1.2])


def check_leaps_beside_a_response():
    """Documents without a label leap, and those whose tilt stands still."""
    hold_stats(Gaussian(), np.array([1.5, np.nan, np.nan]), np.ones(3), [0.4, 0.1, 1.2], LocalLimits(5, 1e-3))


def check_margin():
    """Two steps of a max-margin model of three classes: multipliers, coefficients and topics."""
    counts, weights, alpha = data(FEW_TOPICS)
    hinge, found = Hinge(3, C=2.0, cost=3.0), []
    model = replace(model_of(hinge, FEW_TOPICS), coef_step=MarginStep(hinge), n_covariates=0)
    for backend in (THREADS, CUDA):
        batch = Batch(counts, np.array([2.0, np.nan, 0.0]), np.ones(3), FEW_TOPICS, known=KNOWN)
        spread, state = backend.spread(batch), State.first(model, weights, alpha=alpha)
        terms = model.coef_step.document_terms(3, 3)
        for _ in range(2):
            stats = spread.map(local_step, model, state, weights, LocalLimits(5, 1e-9), terms)[0]
            state, terms = global_step(model, state, stats, spread, terms, backend)
        found.append((state.coef, terms.dual, state.word_topic, stats.bound))
    assert np.abs(found[0][1]).max() > 0.1
    for ours, theirs in zip(*reversed(found), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-4)


def check_product_response():
    hold_stats(Poisson(), np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), [])


def check_shares_and_gradient():
    """A step of prediction-constrained training."""
    counts, weights, alpha = data()
    counts.data[1] = 0.0  # a word that is dropped
    model = model_of(Gaussian())
    coef = np.random.default_rng(2).normal(size=(1, N_TOPICS + 1)).astype(np.float32)
    state = State.first(model, weights, alpha=alpha, coef=coef, dispersion=np.array([0.4, 0.1, 1.2]))
    found = []
    for backend in (THREADS, CUDA):
        given = (np.array([1.0, -1.0, 0.3]), np.ones(3), N_TOPICS, np.array([[0.5], [-1.0], [0.2]]), KNOWN)
        batch = Batch(counts, *given)
        spread = backend.spread(batch)
        scales = Scales(0.7, 0.4, LocalLimits(3, 0.0), LocalLimits(3, 0.0))
        found.append((spread.map(prediction_step, model, state, weights, scales)[0], spread.partition.found.doc_topic))
    (theirs, there), (ours, here) = found
    np.testing.assert_allclose(np.asarray(here), there, rtol=1e-4)
    np.testing.assert_allclose([ours.words, ours.labels], [theirs.words, theirs.labels], rtol=1e-5)
    np.testing.assert_allclose(ours.topics, theirs.topics, rtol=2e-3, atol=2e-5)


def check_adjoint():
    """u of a dense solve, at shares that slow EM found."""
    counts, weights, alpha = data()
    documents = Documents.of(counts.indptr, counts.indices, counts.data, N_WORDS)
    theta, ratio = np.full((3, N_TOPICS), 1.0 / N_TOPICS), np.zeros(counts.nnz)
    coef, rows = np.random.default_rng(3).normal(size=N_TOPICS), weights.astype(np.float64)
    pull = np.array([0.5, 0.0, -2.0])
    for d, own, words, c in of_documents(counts):
        theta[d] = naive_pc.fixed_point(c, rows[words], alpha[GROUP[d]])
        ratio[own] = c / (rows[words] @ theta[d])
    given, pulled = Matrix.of(theta), Matrix.empty(3, N_TOPICS)
    shift, passes = empty(counts.nnz), empty(3, np.int32)
    adjoint(2)[given.teams](
        *documents.csr, Matrix.of(weights).flat, N_TOPICS, sent(padded(alpha), np.float32), sent(GROUP, np.int32),
        given.flat, sent(ratio, np.float32), 1, sent(pull, np.float32), sent(padded(coef[None]), np.float32), 12, 1e-5,
        0.25, pulled.flat, shift, passes,
    )  # fmt: skip
    for d, own, words, c in of_documents(counts):
        size = c.sum() + alpha[GROUP[d]].sum()
        u = naive_pc.dense_adjoint(pull[d] * coef, theta[d], c, rows[words], alpha[GROUP[d]])
        np.testing.assert_allclose(np.asarray(pulled)[d], theta[d] * (u / size + 0.25), rtol=1e-3, atol=1e-6)
        mean = (rows[words] * theta[d]) @ u / (rows[words] @ theta[d])
        np.testing.assert_allclose(shift.copy_to_host()[own], ratio[own] * mean / size, rtol=2e-3, atol=1e-5)


def check_regression():
    """Moments, normal equations and gradient of a quadratic and a product column, with covariates."""
    n_topics, rng = FEW_TOPICS, np.random.default_rng(4)
    lengths, which = np.array([4.0, np.inf, 7.0, 3.0]), np.array([1, 1, 0, 1], dtype=np.int32)
    prior = Rows(rng.uniform(0.1, 0.5, (2, n_topics)), which)
    alpha = prior.by_document(prior.alpha)
    gamma = (alpha + rng.dirichlet(np.ones(n_topics), 4) * np.where(np.isinf(lengths), 0, lengths)[:, None]).astype(
        "f4"
    )
    covariates, coef = rng.normal(size=(4, 2)), rng.normal(size=(2, n_topics + 2))
    is_product, (slope, curvature) = np.array([False, True]), rng.uniform(0.5, 1.5, (2, 4, 2))
    slow = Design.of(gamma, alpha, lengths, covariates)
    quick = DeviceDesign.of_rows(Matrix.of(gamma), prior, lengths, covariates)
    np.testing.assert_allclose(quick.predictors(coef), slow.predictors(coef), rtol=1e-5, atol=1e-6)
    moment = slow.moments(coef, is_product)[1]
    np.testing.assert_allclose(quick.moments(coef, is_product), slow.moments(coef, is_product), rtol=1e-5, atol=1e-6)
    given = (coef, is_product, moment, slope, curvature)
    for ours, theirs in zip(quick.normal_equations(*given), slow.normal_equations(*given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(quick.gradient(*given), slow.gradient(*given), rtol=1e-5, atol=1e-6)


def check_topics():
    """Expectations, evidence and the M-step of Dirichlet topics, at their mean and not."""
    rng = np.random.default_rng(5)
    word_topic, counts = rng.gamma(0.7, 2.0, (2, N_WORDS, N_TOPICS)).astype(np.float32)
    word_topic[0] = np.float32(0.1)  # a word that nobody uses
    for at_mean in (False, True):
        slow, quick = DirichletTopics(0.1, at_mean), DeviceTopics(0.1, at_mean)
        np.testing.assert_allclose(
            quick.expect(word_topic, CUDA), slow.expect(word_topic, THREADS), rtol=2e-5, atol=2e-18
        )
        np.testing.assert_allclose(quick.evidence(word_topic, CUDA), slow.evidence(word_topic, THREADS), rtol=1e-6)
    after = quick.update(word_topic, Matrix.of(counts), 0.3, CUDA)
    np.testing.assert_allclose(after, slow.update(word_topic, counts.copy(), 0.3, THREADS), rtol=1e-6)


def check_climb():
    rng = np.random.default_rng(6)
    topics = rng.dirichlet(np.ones(N_WORDS), N_TOPICS).T.astype(np.float32, order="C")
    gradient = rng.normal(size=topics.shape).astype(np.float32)
    anchor = rng.dirichlet(np.ones(N_WORDS), N_TOPICS).T.astype(np.float32, order="C")
    slow, quick = Climb.of(topics, anchor), Climb.of(topics, anchor).on(CUDA.ops)
    there, here = quick.topics(CUDA.ops), slow.topics(THREADS.ops)
    for _ in range(2):
        here = slow.step(here, gradient.copy(), 0.01, 0.05, THREADS.ops)
        there = quick.step(there, Matrix.of(gradient), 0.01, 0.05, CUDA.ops)
    np.testing.assert_allclose(there, here, rtol=2e-4)
    for name, value in slow.arrays().items():
        np.testing.assert_allclose(quick.arrays()[name], value, rtol=2e-4, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(quick.averaged(CUDA.ops), slow.averaged(THREADS.ops), rtol=1e-4)


def check_order():
    """Entries in the order of words, counted in several parts, and runs that are shorter than what a word has."""
    counts = sp.random(20, 7, 0.6, "csr", dtype=np.float32, random_state=7)
    counts = sp.csr_matrix(sp.hstack([counts, sp.csr_matrix((20, 1), dtype=np.float32)]))  # and a word that is nowhere
    batches = [np.arange(12, 3, -1), np.array([3]), np.arange(8, 20)]
    with patch.multiple(documents_module, _PART=5, RUN=4):
        whole = Documents.of(counts.indptr, counts.indices, counts.data, 8)
        hold_order(whole, counts)
        for most in (documents_module._MADE, 60):  # all batches together, and the last one alone
            with patch.object(documents_module, "_MADE", most):
                for found, rows in zip(whole.in_batches(batches), batches, strict=True):
                    hold_order(found, counts[rows])


def hold_order(found, counts):
    word_runs, run_start, entry, doc = (np.asarray(part) for part in found.by_word)
    before, last = np.asarray(found.indptr)[[0, -1]]
    order, size = np.argsort(counts.indices, kind="stable"), np.bincount(counts.indices, minlength=8)
    np.testing.assert_array_equal(entry[before:last], before + order)
    of_entry = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    np.testing.assert_array_equal(doc[before:last], of_entry[order])
    starts = [list(range(end - n, end, 4)) for n, end in zip(size, np.cumsum(size), strict=True)]
    n_runs = sum(map(len, starts))
    np.testing.assert_array_equal(word_runs, np.cumsum([0, *map(len, starts)]))
    np.testing.assert_array_equal(run_start[:n_runs], before + np.concatenate(starts))
    np.testing.assert_array_equal(run_start[n_runs:], last)


def check_thinning():
    """The same entries go as on the CPU."""
    counts = sp.random(9, 50, 0.8, "csr", dtype=np.float32, random_state=7)
    batch = Batch(counts, np.zeros(9), np.ones(9), 3)
    first, rows = np.array([1, 7]), np.array([0, 2, 5, 8])
    expected = batch.thinned(rows, 0.4, 12345).counts
    found = list(documents_of(batch).in_batches([first, rows], 0.4, 12345))[1]
    assert 20 < expected.nnz < counts[rows].nnz < found.n_entries
    np.testing.assert_array_equal(np.asarray(found.rows), rows)
    before, last = np.asarray(found.indptr)[[0, -1]]
    np.testing.assert_array_equal(np.asarray(found.indptr), before + expected.indptr)
    np.testing.assert_array_equal(np.asarray(found.indices)[before:last], expected.indices)
    np.testing.assert_array_equal(np.asarray(found.counts)[before:last], expected.data)
    lengths = np.diff(counts.indptr)[rows]
    np.testing.assert_array_equal(np.asarray(found.order), np.argsort(-lengths, kind="stable"))


def check_numbers_sent_once():
    """The same numbers are one array on the device, and only the last ones are kept."""
    first = memory.sent_once(np.arange(3), np.float32)
    assert memory.sent_once(np.arange(3.0), np.float32) is first
    assert memory.sent_once(np.arange(3.0), np.float64) is not first
    for number in range(memory._MOST_SENT):
        memory.sent_once(np.full(3, number), np.float32)
    assert len(memory._SENT) == memory._MOST_SENT
    np.testing.assert_array_equal(np.asarray(memory.sent_once(np.arange(3), np.float32)), [0, 1, 2])


def check_prediction():
    """Shares and moments of the linear predictors of documents without a label."""
    counts, weights, alpha = data()
    prediction.LIMITS, kept = LocalLimits(2, 0.0), prediction.LIMITS
    import supertopic.inference.device.prediction as device

    device.LIMITS = prediction.LIMITS
    point, response = prediction.PointModel(alpha, which=GROUP), Gaussian()
    coef = np.random.default_rng(8).normal(size=(1, N_TOPICS)).astype(np.float32)
    for is_product in (False, True):
        response.is_product = np.array([is_product])
        given = (point, weights, coef, response, counts)
        slow, quick = (prediction.score(*given, backend) for backend in (THREADS, CUDA))
        for name in ("mean_topics", "score", "moment"):
            np.testing.assert_allclose(getattr(quick, name), getattr(slow, name), rtol=1e-4, atol=1e-6, err_msg=name)
    ours = prediction.infer_shares(point, weights, counts, CUDA)[0]
    prediction.LIMITS = LocalLimits(3, 0.0)  # the device's last pass counts, too
    np.testing.assert_allclose(ours, prediction.infer_shares(point, weights, counts, THREADS)[0], rtol=1e-4)
    prediction.LIMITS = device.LIMITS = kept


def check_gibbs():
    """A sweep given the topics, held to one token after another; the counts that follow from it."""
    counts, _, alpha = data()
    prior = GroupPrior(alpha)
    task = Task(Model(N_TOPICS, DirichletTopics(0.1), prior), unlabelled(counts), None, 5, CUDA)
    sampler = Sampler.of(task).tokens
    topics = np.random.default_rng(9).dirichlet(np.full(N_WORDS, 0.5), N_TOPICS).T.astype(np.float32, order="C")
    words, lengths = np.repeat(counts.indices, counts.data.astype(int)), counts.sum(axis=1).A1.astype(int)
    first = np.random.default_rng(10).integers(0, N_TOPICS, len(words)).astype(np.uint16)
    doc, topic = np.repeat(np.arange(3), lengths), first.astype(int)
    by_lanes = sorted(range(N_TOPICS), key=lambda k: (k % 32, k // 32))
    for t in range(len(words)):
        others = np.bincount(topic[(doc == doc[t]) & (np.arange(len(words)) != t)], minlength=N_TOPICS)
        weights = ((others + alpha[GROUP[doc[t]]]) * topics[words[t]])[by_lanes]
        topic[t] = by_lanes[naive_gibbs.pick(weights, naive_gibbs.sweep_uniform(5, 3, t) * weights.sum())]
    sampler.take(first)
    sampler.draw(3, alpha, GROUP, 0.1, topics)
    np.testing.assert_array_equal(sampler.topic(), topic)
    expected = np.zeros((N_WORDS, N_TOPICS), dtype=int)
    np.add.at(expected, (words, topic), 1)
    np.testing.assert_array_equal(sampler.word_topic, expected)
    held = np.zeros((3, N_TOPICS), dtype=int)
    np.add.at(held, (doc, topic), 1)
    histogram = sampler.histogram()
    for k in range(N_TOPICS):
        np.testing.assert_array_equal(histogram[k], np.bincount(held[:, k], minlength=lengths.max() + 1))


def check_drawn_topics():
    """The mean and the variance of many draws are the Dirichlet's."""
    n_words, n_topics = 3, 600
    word_topic = np.tile(np.array([[0], [2], [40]], dtype=np.int32), (1, n_topics))
    logs = Matrix.empty(n_words, n_topics)
    kernel = gibbs.draw_log_gammas[n_words, logs.width]
    given = sent(padded(word_topic, dtype=np.int32), np.int32)
    kernel(n_words, n_topics, given, 0.5, key_of(1, 2), logs.width, logs.flat)
    drawn = np.exp(np.asarray(logs, dtype=np.float64))
    shape = np.array([0.5, 2.5, 40.5])
    errors = (drawn.mean(axis=1) - shape) / np.sqrt(shape / n_topics)
    assert np.abs(errors).max() < 3.5, errors
    np.testing.assert_allclose(drawn.var(axis=1), shape, rtol=0.35)


def check_first_topics():
    """Two steps of the quick passes."""
    counts, _, alpha = data()
    start = np.random.default_rng(11).uniform(0.5, 1.5, (N_WORDS, N_TOPICS)).astype(np.float32)
    found = []
    for backend in (THREADS, CUDA):
        batches = [np.array([2, 0]), np.array([1, 0])]
        learner = backend.ops.learner(counts, start.copy(), alpha[0], batches, 0.01, 2)
        for rate in (0.5, 0.3):
            learner.step(rate)
        found.append((np.asarray(learner.word_topic), np.ravel(learner.topic_count), learner.scale))
    for ours, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5)


def check_refusals():
    """One sentence each, before any work is done."""
    check_model = CUDA.ops.check
    good = model_of(Gaussian())
    bad = {"one topic each": {"one_topic": True}, "per_token=True": {"per_token": True}}
    bad["seed_words"] = {"emission": DirichletTopics(0.1, seeds=Seeds(*np.zeros((3, 1), dtype=np.int64)))}
    bad |= {"beside a margin": {"response": EpsilonInsensitive(0)}, "1024 topics": {"n_topics": 2000}}
    check_model(good)
    for words, change in bad.items():
        hold_refusal(lambda change=change: check_model(replace(good, **change)), words)
    hold_refusal(lambda: CUDA.form(len), "no form on a GPU (len)")


def hold_refusal(call, words):
    try:
        call()
    except ValueError as error:
        assert words in str(error) and "backend: got 'cuda'" in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def main():
    found = {}
    for name in sys.argv[1:] or [name.removeprefix("check_") for name in globals() if name.startswith("check_")]:
        before = time.process_time()
        try:
            globals()[f"check_{name}"]()
            found[name] = ""
        except Exception:
            found[name] = traceback.format_exc()
        print(f"{name}: {time.process_time() - before:.1f} s", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
