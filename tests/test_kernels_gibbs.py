"""The word-major Gibbs kernels, against slow versions and exact posteriors, and for reproducibility."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from supertopic.kernels import gibbs_layout, gibbs_topics
from supertopic.kernels import gibbs_words as gibbs
from tests import naive_gibbs as naive
from tests.cases import cases

NO_TOPICS = np.zeros((0, 0), np.float32)


class Chain:
    """A Gibbs chain in a few lines, as an engine runs it."""

    def __init__(self, counts, alpha, beta, seed=0, dense=None, groups=None, threads=1, partial=False):
        """alpha : (K,), or (2, K) for documents of even and of odd number"""
        counts, alpha = sp.csr_matrix(counts), np.atleast_2d(alpha)
        self.n_topics, self.n_words = alpha.shape[1], counts.shape[1]
        self.which = (np.arange(counts.shape[0]) % len(alpha)).astype(np.int32)
        self.tokens = gibbs_layout.lay_out(counts.indptr, counts.indices, counts.data, self.n_words, groups=groups)
        self.topic = np.empty(len(self.tokens.doc), np.uint16)
        gibbs_layout.random_topics(seed, self.n_topics, 0, len(self.topic), self.topic)
        self.alpha = np.zeros((len(alpha), gibbs_layout.padded(self.n_topics)), np.float32)
        self.alpha[:, : self.n_topics] = alpha
        self.beta, self.seed, self.dense, self.threads, self.partial = beta, seed, dense, threads, partial
        self.sweeps = 0
        self.groups = len(self.tokens.doc_bounds) - 1
        self.scratch = [gibbs_layout.make_scratch(self.n_topics) for _ in range(self.groups)]
        self.word_topic_count = np.zeros((self.n_words, self.n_topics), np.int32)
        self.topics = np.zeros((self.n_words, self.n_topics), np.float32)
        self.recount()

    def recount(self):
        gibbs_layout.count_words(self.tokens.word_ptr, self.topic, 0, self.n_words, self.word_topic_count)
        self.topic_count = self.word_topic_count.sum(0).astype(np.int64)
        self.documents = gibbs_layout.count_topics(self.tokens, self.topic, self.n_topics, self.dense)

    def draw_topics(self):
        """Draw phi given z; word groups are added in order, so the number of threads has no effect."""
        bounds, peaks = self.tokens.word_bounds, np.zeros((self.groups, self.n_topics), np.float32)
        for j in range(self.groups):
            gibbs_topics.draw_log_gammas(
                self.word_topic_count, self.topic_count, self.beta, self.seed, self.sweeps,
                bounds[j], bounds[j + 1], self.topics, peaks[j],
            )  # fmt: skip
        totals, peak = np.zeros((self.groups, self.n_topics)), peaks.max(0)
        for j in range(self.groups):
            gibbs_topics.exponentiate(self.topics, peak, bounds[j], bounds[j + 1], totals[j])
        gibbs_topics.normalise(self.topics, totals.sum(0), 0, self.n_words)

    def sweep(self):
        self.sweeps += 1
        documents = self.documents
        if documents.doc_topic.shape[0] == 0:
            gibbs_layout.sort_lists(
                documents.entries, documents.start, documents.length, documents.shift, 0, len(documents.start)
            )
        if self.partial:
            self.draw_topics()
        words = self.tokens.word_bounds
        for epoch in range(self.groups):
            copies = [self.topic_count.copy() for _ in range(self.groups)]

            def task(i, epoch=epoch, copies=copies):
                j = (i + epoch) % self.groups
                return gibbs.sweep_task(
                    (words[j], words[j + 1]), self.tokens.word_ptr[i], self.tokens.doc, self.topic,
                    tuple(documents), self.word_topic_count, copies[i],
                    self.topics if self.partial else NO_TOPICS, self.alpha, self.which, np.float32(self.beta),
                    np.float32(self.beta * self.n_words), not self.partial,
                    self.seed, self.sweeps, 0, self.scratch[i],
                )  # fmt: skip

            if self.threads == 1:
                list(map(task, range(self.groups)))
            else:
                with ThreadPoolExecutor(self.threads) as pool:
                    list(pool.map(task, range(self.groups)))
            self.topic_count = self.topic_count + sum(copy - self.topic_count for copy in copies)
        return self


def small_corpus(n_docs=12, n_words=15, seed=1, rate=1.0):
    return np.random.default_rng(seed).poisson(rate, size=(n_docs, n_words))


def asymmetric(n_topics):
    return np.linspace(0.05, 0.4, n_topics).astype(np.float32)


MODES = [(dense, partial) for dense in (True, False) for partial in (False, True)]


@pytest.mark.parametrize("dense, partial", MODES)
@pytest.mark.parametrize("n_topics", [3, 16, 40, 300])
def test_same_topics_as_the_naive_sweep(dense, partial, n_topics):
    alpha = asymmetric(n_topics)
    if dense:  # lists have one alpha for all documents
        alpha = np.stack([alpha, 3 * alpha[::-1]])
    chain = Chain(small_corpus(), alpha, 0.1, seed=4, dense=dense, partial=partial)
    expected = chain.topic.copy()
    for sweep in range(1, 4):
        chain.sweep()
        naive.gibbs_sweep(
            chain.tokens, expected, n_topics, chain.alpha[chain.which, :n_topics].astype(float), 0.1, 4, sweep, dense,
            chain.topics if partial else None,
        )  # fmt: skip
        np.testing.assert_array_equal(chain.topic, expected)


@pytest.mark.parametrize("dense", [True, False])
def test_same_topics_where_a_token_is_much_of_its_topic(dense):
    """Its own count, which the conditional leaves out, weighs most where topics have few tokens."""
    for seed in range(60):
        chain = Chain(small_corpus(3, 4, seed, rate=0.7), asymmetric(3), 0.1, seed=seed, dense=dense)
        expected = chain.topic.copy()
        chain.sweep()
        naive.gibbs_sweep(chain.tokens, expected, 3, chain.alpha[0, :3].astype(float), 0.1, seed, 1, dense, None)
        np.testing.assert_array_equal(chain.topic, expected)


@pytest.mark.parametrize("dense, partial", MODES)
@pytest.mark.parametrize("groups", [1, 3])
def test_counts_follow_the_topics(dense, partial, groups):
    chain = Chain(small_corpus(30, 20), asymmetric(37), 0.1, dense=dense, partial=partial, groups=groups)
    for _ in range(20):
        chain.sweep()
    words, topic_count = chain.word_topic_count.copy(), chain.topic_count.copy()
    old = chain.documents
    if not dense:
        gibbs_layout.sort_lists(old.entries, old.start, old.length, old.shift, 0, len(old.start))
    chain.recount()
    new = chain.documents
    if not dense:
        gibbs_layout.sort_lists(new.entries, new.start, new.length, new.shift, 0, len(new.start))
    np.testing.assert_array_equal(words, chain.word_topic_count)
    np.testing.assert_array_equal(topic_count, chain.topic_count)
    for before, after in zip(old, new, strict=True):
        np.testing.assert_array_equal(before, after)


def test_tokens_are_those_of_the_matrix():
    counts = small_corpus(25, 18)
    counts[3] = 0
    matrix = sp.csr_matrix(counts)
    for groups in (1, 4):
        tokens = gibbs_layout.lay_out(matrix.indptr, matrix.indices, matrix.data.astype(float), 18, groups)
        rebuilt = np.zeros_like(counts)
        for i in range(groups):
            for word in range(18):
                docs = tokens.doc[tokens.word_ptr[i, word] : tokens.word_ptr[i, word + 1]]
                assert np.all((docs >= tokens.doc_bounds[i]) & (docs < tokens.doc_bounds[i + 1]))
                np.add.at(rebuilt, (docs, word), 1)
        np.testing.assert_array_equal(rebuilt, counts)


@pytest.mark.parametrize("dense, partial", MODES)
def test_threads_do_not_matter(dense, partial):
    corpus = small_corpus(60, 40, rate=2.0)
    alpha = asymmetric(50)
    results = [
        Chain(corpus, alpha, 0.05, dense=dense, partial=partial, groups=5, threads=threads) for threads in (1, 2, 3)
    ]
    for chain in results:
        for _ in range(5):
            chain.sweep()
        np.testing.assert_array_equal(chain.topic, results[0].topic)


@pytest.mark.parametrize("dense, partial", MODES)
def test_topics_and_sweep_number_resume_exactly(dense, partial):
    arguments = dict(alpha=asymmetric(50), beta=0.05, dense=dense, partial=partial, groups=3)
    whole, first, second = (Chain(small_corpus(60, 40), **arguments) for _ in range(3))
    for _ in range(8):
        whole.sweep()
    for _ in range(5):
        first.sweep()
    second.topic[:], second.sweeps = first.topic, first.sweeps
    second.recount()
    for _ in range(3):
        second.sweep()
    np.testing.assert_array_equal(second.topic, whole.topic)


TINY = np.array([[2, 1, 0], [0, 1, 1], [1, 0, 0]])


def visits(chain, n_sweeps):
    seen = np.zeros(chain.n_topics ** len(chain.topic))
    for _ in range(n_sweeps):
        seen[naive.state_index(chain.sweep().topic, chain.n_topics)] += 1
    return seen


@pytest.mark.slow
@pytest.mark.parametrize(("dense", "partial"), cases(MODES, [(True, True), (False, False)]))
def test_visits_follow_the_exact_posterior(dense, partial):
    alpha, beta = np.array([0.3, 0.8]), 0.4
    chain = Chain(TINY, alpha, beta, dense=dense, partial=partial)
    words = np.repeat(np.arange(3), np.diff(chain.tokens.word_ptr[0]))
    exact = naive.exact_posterior(chain.tokens.doc, words, 3, 3, alpha, beta)
    assert naive.total_variation(visits(chain, 60_000), exact) < 0.015


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 4.5])
def test_gamma_draws(shape):
    draws = np.array([gibbs_topics.log_gamma_draw(shape, np.uint64(naive.splitmix(i))) for i in range(20_000)])
    # In logs, where small shapes do not underflow; the boost makes log g of tiny shapes about -Exp(shape).
    uniforms = np.random.default_rng(0).gamma(shape + 1, size=20_000)
    other = np.log(uniforms) + np.log(np.random.default_rng(1).random(20_000)) / shape
    assert stats.ks_2samp(draws, other).pvalue > 1e-3
    assert abs(np.exp(draws).mean() - shape) < 5 * np.sqrt(shape / 20_000)


def test_topics_have_the_moments_of_their_dirichlet():
    chain = Chain(small_corpus(8, 5), asymmetric(3), 0.05, partial=True)
    total, square = 0.0, 0.0
    for sweep in range(4_000):
        chain.sweeps = sweep
        chain.draw_topics()
        total, square = total + chain.topics.astype(float), square + chain.topics.astype(float) ** 2
    shape = chain.word_topic_count + 0.05
    mean = shape / shape.sum(0)
    variance = mean * (1 - mean) / (shape.sum(0) + 1)
    error = np.sqrt(variance / 4_000)
    assert np.all(np.abs(total / 4_000 - mean) < 5 * error)
    np.testing.assert_allclose(square / 4_000 - (total / 4_000) ** 2, variance, rtol=0.25, atol=1e-4)


def test_a_topic_of_tiny_shapes_is_still_a_distribution():
    chain = Chain(np.zeros((1, 4), int), np.ones(2), 1e-5, partial=True)
    chain.draw_topics()
    np.testing.assert_allclose(chain.topics.sum(0), 1, rtol=1e-5)


def test_too_many_topics_are_named():
    matrix = sp.csr_matrix(TINY)
    tokens = gibbs_layout.lay_out(matrix.indptr, matrix.indices, matrix.data, 3)
    with pytest.raises(ValueError, match="n_topics is 70000"):
        gibbs_layout.count_topics(tokens, np.zeros(6, np.uint16), 70_000)


def geweke_statistics(topic, docs, words, n_topics):
    """Functions of (w, z) whose law must be the same under both simulators."""
    same_topic = topic[:, None] == topic[None, :]
    same_doc = docs[:, None] == docs[None, :]
    same_word = words[:, None] == words[None, :]
    return [
        (same_topic & same_doc).mean(),
        (same_topic & same_word).mean(),
        same_topic.mean(),
        (topic == 0).mean(),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("dense", "partial"), cases(MODES, [(True, False), (False, True)]))
def test_geweke(dense, partial):
    """Draws of (w, z) from the model, and alternating draws of w | z and z | w, have the same means (Geweke 2004)."""
    rng = np.random.default_rng(3)
    n_docs, length, n_words, n_rounds = 4, 5, 4, 3_000
    alpha, beta = np.array([0.3, 0.9, 0.5]), 0.6
    docs = np.repeat(np.arange(n_docs), length)

    def words_given(topic):
        phi = [rng.dirichlet(np.full(n_words, beta)) for _ in alpha]
        return np.array([np.searchsorted(np.cumsum(phi[k])[:-1], rng.random()) for k in topic])

    def topics_from_prior():
        return np.concatenate([rng.choice(3, size=length, p=rng.dirichlet(alpha)) for _ in range(n_docs)])

    forward, successive = [], []
    topic = topics_from_prior()
    for round_ in range(n_rounds):
        prior = topics_from_prior()
        forward.append(geweke_statistics(prior, docs, words_given(prior), 3))
        words = words_given(topic)
        counts = np.zeros((n_docs, n_words), int)
        np.add.at(counts, (docs, words), 1)
        chain = Chain(counts, alpha, beta, seed=round_, dense=dense, partial=partial)
        word_of = np.repeat(np.arange(n_words), np.diff(chain.tokens.word_ptr[0]))
        order = np.lexsort((docs, words))  # the kernel's order of tokens: by word, then document
        chain.topic[:] = topic[order]
        chain.recount()
        chain.sweep()
        docs_sorted, topic_sorted = chain.tokens.doc, chain.topic.astype(int)
        successive.append(geweke_statistics(topic_sorted, docs_sorted, word_of, 3))
        topic = topic_sorted[np.argsort(docs_sorted, kind="stable")]
    forward, successive = np.array(forward), np.array(successive)
    batches = successive.reshape(60, -1, 4).mean(1)  # autocorrelated: the error of the mean from batch means
    error = np.sqrt(forward.var(0) / n_rounds + batches.var(0, ddof=1) / 60)
    assert np.all(np.abs(forward.mean(0) - successive.mean(0)) < 4 * error)
