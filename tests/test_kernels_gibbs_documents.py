"""The document-major Gibbs kernel with a response, against a slow one and against exact posteriors."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic.kernels import gibbs_documents, gibbs_layout
from tests import naive_gibbs as naive

RUNNING = 6  # the row of the scratch with the running sums of the weights


class Chain:
    """Sweeps over documents; with `partial` the topics are drawn by numpy between the sweeps."""

    def __init__(self, counts, alpha, beta, b, omega, coef, seed=0, partial=False):
        counts = sp.csr_matrix(counts)
        self.n_docs, self.n_words = counts.shape
        self.doc_ptr = np.concatenate(([0], np.cumsum(np.asarray(counts.sum(1)).ravel()))).astype(np.int64)
        self.token_word = np.empty(self.doc_ptr[-1], np.int32)
        gibbs_documents.expand_documents(counts.indptr, counts.indices, counts.data, self.doc_ptr, self.token_word)
        self.topic = np.empty(len(self.token_word), np.uint16)
        self.alpha, self.beta, self.seed, self.partial = np.asarray(alpha, np.float32), beta, seed, partial
        self.n_topics = len(alpha)
        gibbs_layout.random_topics(seed, self.n_topics, 0, len(self.topic), self.topic)
        self.b, self.omega, self.coef = (np.asarray(x, np.float32) for x in (b, omega, coef))
        self.scratch = gibbs_documents.make_scratch(self.n_topics, len(self.coef))
        self.sweeps, self.rng = 0, np.random.default_rng(seed)
        self.topics = np.zeros((0, 0), np.float32)
        self.recount()

    def recount(self):
        self.word_topic_count = np.zeros((self.n_words, self.n_topics), np.int32)
        gibbs_documents.count_words(self.token_word, self.topic, 0, len(self.topic), self.word_topic_count)
        self.topic_count = self.word_topic_count.sum(0).astype(np.int64)

    def sweep(self, cuts=None, doc_topic=None):
        self.sweeps += 1
        if self.partial:
            self.recount()
            gammas = self.rng.gamma(self.word_topic_count + self.beta)
            self.topics = (gammas / gammas.sum(0)).astype(np.float32)
        cuts = [0, self.n_docs] if cuts is None else cuts
        doc_topic = np.zeros((0, self.n_topics), np.float32) if doc_topic is None else doc_topic
        for start, stop in pairwise(cuts):
            gibbs_documents.sweep_documents(
                start, stop, self.doc_ptr, self.token_word, self.topic, doc_topic, self.b, self.omega, self.coef,
                self.word_topic_count, self.topic_count, self.topics, self.alpha, np.float32(self.beta),
                np.float32(self.beta * self.n_words), not self.partial, self.seed, self.sweeps, self.scratch,
            )  # fmt: skip
        return self


def response(n_docs, n_columns, n_topics, seed=0, scale=3.0):
    """b, omega, coef; the first document has no label, the second a linear response."""
    rng = np.random.default_rng(seed)
    b, omega = rng.normal(size=(n_docs, n_columns)) * scale, rng.gamma(2.0, size=(n_docs, n_columns))
    b[0], omega[:2] = 0, 0
    return b, omega, rng.normal(size=(n_columns, n_topics))


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("n_columns", [0, 1, 2])
@pytest.mark.parametrize("n_topics", [3, 16, 45])
def test_same_topics_as_the_naive_sweep(partial, n_columns, n_topics):
    counts = np.random.default_rng(1).poisson(0.8, size=(10, 15))
    counts[4] = 0
    alpha = np.linspace(0.05, 0.5, n_topics)
    chain = Chain(counts, alpha, 0.1, *response(10, n_columns, n_topics), seed=5, partial=partial)
    expected = chain.topic.copy()
    for sweep in range(1, 4):
        chain.sweep()
        naive.documents_sweep(
            chain.doc_ptr, chain.token_word, expected, chain.b, chain.omega, chain.coef, 15, chain.alpha, 0.1, 5,
            sweep, chain.topics if partial else None,
        )  # fmt: skip
        np.testing.assert_array_equal(chain.topic, expected)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(
    ("n_columns", "n_topics", "length", "coef_scale", "omega_scale"),
    [
        (0, 20, 30, 1.0, 1.0),
        (1, 50, 40, 1.0, 1.0),  # near: the cubic alone
        (1, 35, 12, 4.0, 2.0),  # in between: the score is moved now and then
        (1, 50, 3, 6.0, 5.0),  # few tokens, large coefficients: it is moved for nearly every token
        (1, 7, 25, 3.0, 60.0),  # a large curve
        (1, 200, 60, 3.0, 0.0),  # no curve
        (3, 33, 40, 1.5, 3.0),
        (3, 33, 20, 2.0, 3.0),
        (3, 16, 4, 3.0, 20.0),
    ],
)
def test_the_weights_are_those_of_the_conditional(partial, n_columns, n_topics, length, coef_scale, omega_scale):
    """Those of the last token of a document, after all others have moved, as running sums in the scratch."""
    rng = np.random.default_rng(n_topics)
    counts = rng.multinomial(length, np.full(40, 1 / 40), size=12)
    b, omega = rng.normal(size=(12, n_columns)) * (1 + omega_scale), omega_scale * rng.gamma(2.0, size=(12, n_columns))
    coef = coef_scale * rng.normal(size=(n_columns, n_topics))
    chain = Chain(counts, np.linspace(0.05, 0.5, n_topics), 0.1, b, omega, coef, seed=3, partial=partial)
    for doc in range(12):
        before = chain.topic.copy()
        chain.sweep(cuts=[doc, doc + 1])
        last = chain.doc_ptr[doc + 1] - 1
        state = chain.topic.copy()
        state[last] = before[last]
        exact = naive.documents_conditional(
            chain.doc_ptr, chain.token_word, state, doc, last, chain.b, chain.omega, chain.coef, 40, chain.alpha, 0.1,
            chain.topics if partial else None,
        )  # fmt: skip
        width = n_topics + -n_topics % 16
        running = chain.scratch[0][RUNNING, 32 : 32 + width].astype(float).reshape(-1, 16)
        weights = np.diff(running, axis=0, prepend=0).ravel()[:n_topics]
        np.testing.assert_allclose(weights / weights.sum(), exact / exact.sum(), rtol=1e-5, atol=3e-7)  # of sums


def test_counts_follow_the_topics_and_are_added_up():
    counts = np.random.default_rng(2).poisson(1.0, size=(9, 12))
    chain = Chain(counts, np.full(7, 0.2), 0.1, *response(9, 1, 7))
    doc_topic = np.zeros((9, 7), np.float32)
    for _ in range(10):
        chain.sweep(doc_topic=doc_topic)
    words, topics = chain.word_topic_count.copy(), chain.topic_count.copy()
    chain.recount()
    np.testing.assert_array_equal(words, chain.word_topic_count)
    np.testing.assert_array_equal(topics, chain.topic_count)
    np.testing.assert_array_equal(doc_topic.sum(1), 10 * counts.sum(1))


@pytest.mark.parametrize("partial", [False, True])
def test_ranges_do_not_matter(partial):
    counts = np.random.default_rng(3).poisson(1.0, size=(9, 12))
    one, other = (Chain(counts, np.full(7, 0.2), 0.1, *response(9, 2, 7), seed=2, partial=partial) for _ in range(2))
    for _ in range(5):
        one.sweep()
        other.sweep(cuts=[0, 2, 3, 9])
    np.testing.assert_array_equal(one.topic, other.topic)


@pytest.mark.slow
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("n_columns", [0, 1, 2])
def test_visits_follow_the_exact_posterior(partial, n_columns):
    counts = np.array([[1, 1, 0], [2, 0, 0], [0, 1, 1]])
    alpha, beta = np.array([0.3, 0.8]), 0.4
    b, omega, coef = response(3, n_columns, 2)
    chain = Chain(counts, alpha, beta, b, omega, coef, partial=partial)
    docs = np.repeat(np.arange(3), np.diff(chain.doc_ptr))

    def log_response(doc_topic):
        score = doc_topic @ coef.T / doc_topic.sum(1, keepdims=True)
        return (b * score - 0.5 * omega * score**2).sum()

    exact = naive.exact_posterior(docs, chain.token_word, 3, 3, alpha, beta, log_response)
    seen = np.zeros(2**6)
    for _ in range(60_000):
        seen[naive.state_index(chain.sweep().topic, 2)] += 1
    assert naive.total_variation(seen, exact) < 0.015


def test_exponentials():
    power = np.linspace(-80, 0, 1001).astype(np.float32)
    values = np.concatenate([power + 500, np.zeros(31, np.float32)]).astype(np.float32)
    shifted = values[:1001].astype(float)
    gibbs_documents.exponentials(values, 1001)
    np.testing.assert_allclose(values[:1001], np.exp(shifted - shifted.max()), rtol=7e-6)


def test_exponentials_of_the_very_unequal():
    values = np.full(32, -1e30, np.float32)
    values[1] = 1e30
    gibbs_documents.exponentials(values, 3)
    np.testing.assert_array_equal(values[:3], [0, 1, 0])
