"""The document-major Gibbs kernel with a response, against a slow one and against exact posteriors."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic.kernels import gibbs_documents, gibbs_layout
from tests import naive_gibbs as naive
from tests.cases import cases

RUNNING = 6  # the row of the scratch with the running sums of the weights


class Chain:
    """Sweeps over documents, one task at a time; with `partial` the topics are drawn by numpy between the sweeps.

    There is one n_k for all tasks, so that every draw is exact, whatever the groups; with `lag`, each task of an epoch
    has its own copy.
    """

    def __init__(self, counts, alpha, beta, b, omega, coef, seed=0, partial=False, groups=1, lag=False):
        counts = sp.csr_matrix(counts)
        self.n_docs, self.n_words = counts.shape
        self.tokens = gibbs_layout.lay_out_documents(
            counts.indptr, counts.indices, counts.data, self.n_words, groups=groups
        )
        self.docs = naive.documents_of(self.tokens)
        self.topic = np.empty(len(self.docs), np.uint16)
        self.alpha, self.beta, self.seed, self.partial = np.float32(np.atleast_2d(alpha)), beta, seed, partial
        self.which = (np.arange(self.n_docs) % len(self.alpha)).astype(np.int32)
        self.n_topics, self.lag = self.alpha.shape[1], lag
        gibbs_layout.random_topics(seed, self.n_topics, 0, len(self.topic), self.topic)
        self.b, self.omega, self.coef = (np.asarray(x, np.float32) for x in (b, omega, coef))
        self.scratch = gibbs_documents.make_scratch(self.n_topics, len(self.coef))
        self.sweeps, self.rng = 0, np.random.default_rng(seed)
        self.topics = np.zeros((0, 0), np.float32)
        self.recount()

    def recount(self):
        self.word_topic_count = np.zeros((self.n_words, self.n_topics), np.int32)
        gibbs_layout.add_words(self.tokens.word, self.topic, 0, len(self.topic), self.word_topic_count)
        self.topic_count = self.word_topic_count.sum(0).astype(np.int64)
        self.doc_topic = np.full((self.n_docs, self.n_topics), 7, np.float32)  # which is written over
        gibbs_layout.count_document_topics(0, self.n_docs, self.tokens.doc_ptr, self.topic, self.doc_topic)

    def sweep(self, cuts=()):
        """cuts : more places at which the ranges of documents are cut."""
        self.sweeps += 1
        if self.partial:
            self.recount()
            gammas = self.rng.gamma(self.word_topic_count + self.beta)
            self.topics = (gammas / gammas.sum(0)).astype(np.float32)
        bounds, groups = self.tokens.doc_bounds, len(self.tokens.doc_ptr)
        for epoch in range(groups):
            before, changes = self.topic_count.copy(), 0
            for i in range(groups):
                count = before.copy() if self.lag else self.topic_count
                inside = [cut for cut in cuts if bounds[i] < cut < bounds[i + 1]]
                for start, stop in pairwise([bounds[i], *inside, bounds[i + 1]]):
                    self.draw(start, stop, (i + epoch) % groups, count)
                changes = changes + count - before
            if self.lag:
                self.topic_count += changes
        return self

    def draw(self, start, stop, group, topic_count):
        """The tokens of documents start : stop in one word group."""
        gibbs_documents.sweep_documents(
            start, stop, self.tokens.doc_ptr[group], self.tokens.doc_length, self.tokens.word, self.topic,
            self.doc_topic, self.b, self.omega, self.coef, self.word_topic_count, topic_count, self.topics, self.alpha,
            self.which, np.float32(self.beta), np.float32(self.beta * self.n_words), not self.partial, self.seed,
            self.sweeps, self.scratch,
        )  # fmt: skip


def response(n_docs, n_columns, n_topics, seed=0, scale=3.0):
    """b, omega, coef; the first document has no label, the second a linear response."""
    rng = np.random.default_rng(seed)
    b, omega = rng.normal(size=(n_docs, n_columns)) * scale, rng.gamma(2.0, size=(n_docs, n_columns))
    b[0], omega[:2] = 0, 0
    return b, omega, rng.normal(size=(n_columns, n_topics))


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("n_columns", [0, 1, 2])
@pytest.mark.parametrize("n_topics", [3, 16, 45])
@pytest.mark.parametrize(("groups", "lag"), [(1, False), (3, False), (3, True)])
def test_same_topics_as_the_naive_sweep(partial, n_columns, n_topics, groups, lag):
    counts = np.random.default_rng(1).poisson(0.8, size=(10, 15))
    counts[4] = 0
    alpha = np.linspace(0.05, 0.5, n_topics)
    alpha = np.stack([alpha, 3 * alpha[::-1]])  # of documents of even and of odd number
    columns = response(10, n_columns, n_topics)
    chain = Chain(counts, alpha, 0.1, *columns, seed=5, partial=partial, groups=groups, lag=lag)
    expected = chain.topic.copy()
    for sweep in range(1, 4):
        chain.sweep()
        naive.documents_sweep(
            chain.tokens, expected, chain.b, chain.omega, chain.coef, 15, chain.alpha[chain.which], 0.1, 5, sweep,
            chain.topics if partial else None, lag,
        )  # fmt: skip
        np.testing.assert_array_equal(chain.topic, expected)


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_tokens_lie_by_word_group_and_document(groups):
    """Each token of the corpus once; no word in two groups; inside a group in the order of the corpus."""
    rng = np.random.default_rng(8)
    counts = sp.csr_matrix(rng.poisson(0.5, size=(20, 30)).astype(np.float32))
    for row in range(20):  # words in no order
        inside = slice(counts.indptr[row], counts.indptr[row + 1])
        order = rng.permutation(counts.indptr[row + 1] - counts.indptr[row])
        counts.indices[inside], counts.data[inside] = counts.indices[inside][order], counts.data[inside][order]
    tokens = gibbs_layout.lay_out_documents(counts.indptr, counts.indices, counts.data, 30, groups=groups)
    assert tokens.doc_ptr.shape == (groups, 21) and tokens.doc_ptr[0, 0] == 0
    assert np.all(tokens.doc_ptr[1:, 0] == tokens.doc_ptr[:-1, -1]) and tokens.doc_ptr[-1, -1] == len(tokens.word)
    words = [set(tokens.word[row[0] : row[-1]].tolist()) for row in tokens.doc_ptr]
    assert sum(map(len, words)) == len(set().union(*words)) and min(map(len, words)) > 0
    for doc in range(20):
        inside = slice(counts.indptr[doc], counts.indptr[doc + 1])
        expected = np.repeat(counts.indices[inside], counts.data[inside].astype(int))
        found = [tokens.word[row[doc] : row[doc + 1]] for row in tokens.doc_ptr]
        for own, group in zip(found, words, strict=True):
            assert own.tolist() == [word for word in expected.tolist() if word in group]
        assert tokens.doc_length[doc] == len(expected) == sum(map(len, found))
    sizes = [len(task) for epoch in naive.epochs(tokens) for task in epoch]
    assert sum(sizes) == len(tokens.word) and (groups > 2 or min(sizes) > 0.5 * max(sizes))


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
        if partial and doc == 0:
            chain.topics = np.array(rng.dirichlet(np.full(40, 0.5), size=n_topics).T, np.float32, order="C")
        chain.draw(doc, doc + 1, 0, chain.topic_count)
        last = chain.tokens.doc_ptr[0, doc + 1] - 1
        state = chain.topic.copy()
        state[last] = before[last]
        exact = naive.documents_conditional(
            chain.docs, chain.tokens.word, state, last, chain.b, chain.omega, chain.coef, 40, chain.alpha[0], 0.1,
            chain.topics if partial else None,
        )  # fmt: skip
        width = n_topics + -n_topics % 16
        running = chain.scratch[0][RUNNING, 32 : 32 + width].astype(float).reshape(-1, 16)
        weights = np.diff(running, axis=0, prepend=0).ravel()[:n_topics]
        np.testing.assert_allclose(weights / weights.sum(), exact / exact.sum(), rtol=1e-5, atol=3e-7)  # of sums


@pytest.mark.parametrize("groups", [1, 3])
def test_counts_follow_the_topics(groups):
    counts = np.random.default_rng(2).poisson(1.0, size=(9, 12))
    chain = Chain(counts, np.full(7, 0.2), 0.1, *response(9, 1, 7), groups=groups, lag=True)
    for _ in range(10):
        chain.sweep()
    words, topics, documents = chain.word_topic_count.copy(), chain.topic_count.copy(), chain.doc_topic.copy()
    chain.recount()
    np.testing.assert_array_equal(words, chain.word_topic_count)
    np.testing.assert_array_equal(topics, chain.topic_count)
    np.testing.assert_array_equal(documents, chain.doc_topic)
    np.testing.assert_array_equal(documents.sum(1), counts.sum(1))


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_ranges_do_not_matter(partial, groups):
    counts = np.random.default_rng(3).poisson(1.0, size=(9, 12))
    columns, how = response(9, 2, 7), dict(seed=2, partial=partial, groups=groups)
    one, other = (Chain(counts, np.full(7, 0.2), 0.1, *columns, **how) for _ in range(2))
    for _ in range(5):
        one.sweep()
        other.sweep(cuts=[2, 3, 7])
    np.testing.assert_array_equal(one.topic, other.topic)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("partial", "n_columns", "groups"),
    cases(
        [(partial, *other) for partial in (False, True) for other in ((0, 1), (1, 1), (2, 1), (1, 2))],
        [(False, 1, 2), (True, 2, 1)],  # the sweeps above are those of the slow version in every case
    ),
)
def test_visits_follow_the_exact_posterior(partial, n_columns, groups):
    """Groups change the order of the draws only, as long as n_k does not lag or the topics are given."""
    counts = np.array([[1, 1, 0], [2, 0, 0], [0, 1, 1]])
    alpha, beta = np.array([0.3, 0.8]), 0.4
    b, omega, coef = response(3, n_columns, 2)
    chain = Chain(counts, alpha, beta, b, omega, coef, partial=partial, groups=groups)

    def log_response(doc_topic):
        score = doc_topic @ coef.T / doc_topic.sum(1, keepdims=True)
        return (b * score - 0.5 * omega * score**2).sum()

    exact = naive.exact_posterior(chain.docs, chain.tokens.word, 3, 3, alpha, beta, log_response)
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
