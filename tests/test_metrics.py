"""Coherence and the other metrics, against simple versions and gensim; errors."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from supertopic import metrics
from supertopic.documents.vectorizer import Vectorizer
from supertopic.fitted.fitted import Vocabulary
from supertopic.metrics.coherence import count_documents
from tests import naive_metrics as naive

RNG = np.random.default_rng(7)
WORD_TOPIC = RNG.dirichlet(np.full(4, 0.5), 3).T.astype(np.float32, order="C")
ALPHA = np.array([0.3, 0.5, 0.2])


def fitted(components, alpha=0.1, **others):
    """The attributes of a fitted estimator that metrics need."""
    model = SimpleNamespace(components_=np.asarray(components), alpha_=alpha, **others)
    model.fitted_ = Vocabulary(model.components_.shape[1], vectorizer=others.get("vectorizer_"))
    return model


# ------------------------------------------------------------------ coherence

LETTERS = list("abcdefghijklmnop")


def shuffled_texts(n_docs, rng, repeat=False):
    """Texts of one-letter words; neighbours in the alphabet co-occur more often."""
    texts = []
    for _ in range(n_docs):
        centre, size = rng.integers(16), rng.integers(1, 14)
        near = np.exp(-0.3 * np.minimum((np.arange(16) - centre) % 16, (centre - np.arange(16)) % 16))
        texts.append(list(rng.choice(LETTERS, size, replace=repeat, p=near / near.sum())))
    return texts


def letter_model(rng, make=CountVectorizer):
    vectorizer = make(token_pattern=r"\w", stop_words=None).fit([" ".join(LETTERS)])
    return fitted(rng.dirichlet(np.ones(16), 4), vectorizer_=vectorizer)


def letters_of(model, top_n):
    return [[LETTERS[i] for i in np.argsort(-row)[:top_n]] for row in model.components_]


@pytest.mark.parametrize("measure", ["npmi", "cv", "umass"])
@pytest.mark.parametrize(("window", "make"), [(0, CountVectorizer), (3, CountVectorizer), (5, Vectorizer)])
def test_coherence_against_the_obvious(measure, window, make):
    rng = np.random.default_rng(3)
    model, texts = letter_model(rng, make), shuffled_texts(150, rng, repeat=True)
    width = window if window and measure != "umass" else 10**6
    contexts = [context for text in texts for context in naive.windows(text, width)]
    score = {"npmi": naive.mean_npmi, "cv": naive.cv, "umass": naive.umass}[measure]
    expected = [score(contexts, top) for top in letters_of(model, 5)]
    got = metrics.coherence(model, [" ".join(t) for t in texts], measure, top_n=5, window=window)
    np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize(("measure", "theirs"), [("npmi", "c_npmi"), ("cv", "c_v")])
@pytest.mark.parametrize("window", [3, 110])
def test_coherence_against_gensim(measure, theirs, window):
    # Texts without repeats: gensim drops a word from the sliding window when one copy leaves it, though
    # another copy may still be inside; the simple version above keeps it, as the definition says.
    models = pytest.importorskip("gensim.models")
    corpora = pytest.importorskip("gensim.corpora")
    rng = np.random.default_rng(4)
    model, texts = letter_model(rng), shuffled_texts(200, rng)
    dictionary = corpora.Dictionary([LETTERS])
    reference = models.CoherenceModel(
        topics=letters_of(model, 6), texts=texts, dictionary=dictionary, coherence=theirs,
        window_size=window, topn=6, processes=1,
    ).get_coherence_per_topic()  # fmt: skip
    got = metrics.coherence(model, [" ".join(t) for t in texts], measure, top_n=6, window=window)
    np.testing.assert_allclose(got, reference, atol=1e-3)


def test_umass_against_gensim():
    # gensim averages over the pairs and adds 1e-12 to a probability where the paper adds 1 to a count, so
    # its formula is applied to our co-occurrence counts.
    models = pytest.importorskip("gensim.models")
    corpora = pytest.importorskip("gensim.corpora")
    rng = np.random.default_rng(5)
    model, texts = letter_model(rng), shuffled_texts(200, rng, repeat=True)
    dictionary = corpora.Dictionary([LETTERS])
    reference = models.CoherenceModel(
        topics=letters_of(model, 6), corpus=[dictionary.doc2bow(t) for t in texts], dictionary=dictionary,
        coherence="u_mass", topn=6,
    ).get_coherence_per_topic()  # fmt: skip
    counts = model.fitted_.corpus([" ".join(t) for t in texts]).counts
    together, total = count_documents(counts, np.argsort(-model.components_, axis=1)[:, :6])
    rows, columns = np.tril_indices(6, k=-1)
    alone = np.diagonal(together, axis1=1, axis2=2)[:, columns]
    scores = np.log((together[:, rows, columns] / total + 1e-12) / (alone / total))
    np.testing.assert_allclose(scores.mean(axis=1), reference, atol=1e-9)


def test_coherence_default_windows_and_counts():
    rng = np.random.default_rng(6)
    model, texts = letter_model(rng), [" ".join(t) for t in shuffled_texts(100, rng, repeat=True)]
    counts = model.vectorizer_.transform(texts)
    same = metrics.coherence(model, counts, "cv", 5)
    # all texts are shorter than 110 words
    np.testing.assert_allclose(metrics.coherence(model, texts, "cv", 5), same)
    by_text = metrics.coherence(model, texts, "npmi", 5)
    np.testing.assert_array_equal(by_text, metrics.coherence(model, texts, "npmi", 5, window=10))
    assert not np.allclose(by_text, metrics.coherence(model, counts, "npmi", 5))


@pytest.mark.parametrize("measure", ["npmi", "cv", "umass"])
def test_coherence_of_absent_and_ubiquitous_words(measure):
    model = fitted([[0.4, 0.3, 0.2, 0.1]])
    with pytest.warns(UserWarning, match="1 of 3 top words stand nowhere in X"):
        score = metrics.coherence(model, [[1, 1, 0, 0], [2, 1, 0, 1]], measure, top_n=3)
    assert np.all(np.isfinite(score))


# ------------------------------------------------------------------ the small figures


def test_topic_diversity():
    components = np.array([[0.5, 0.3, 0.1, 0.1], [0.3, 0.5, 0.1, 0.1], [0.1, 0.0, 0.4, 0.5]])
    assert metrics.topic_diversity(fitted(components), top_n=2) == pytest.approx(4 / 6)
    assert metrics.topic_diversity(components, top_n=1) == 1.0


def test_exclusivity_prefers_words_of_one_topic():
    own = np.array([[0.6, 0.3, 0.05, 0.05], [0.05, 0.05, 0.3, 0.6]])
    shared = np.array([[0.4, 0.4, 0.15, 0.05], [0.4, 0.4, 0.05, 0.15]])
    assert metrics.exclusivity(own, 2).min() > metrics.exclusivity(shared, 2).max()
    # topic 0: word 0 has frequency rank 4/4 and share 12/13 (rank 4/4), word 1 ranks 3/4 and 6/7 (3/4)
    np.testing.assert_allclose(metrics.exclusivity(own, 2)[0], (1 + 0.75) / 2)
    # word 2 has rank 3/4 by frequency and 2/4 by share when a rare word is more exclusive
    third = np.array([[0.50, 0.26, 0.24], [0.80, 0.19, 0.01]])
    np.testing.assert_allclose(metrics.exclusivity(third, 1, 0.25)[0], 1 / (0.75 / (1 / 3) + 0.25 / 1))


def test_doc_topic_entropy():
    theta = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert metrics.doc_topic_entropy(theta) == pytest.approx(np.log(2) / 2)
    model = fitted(np.eye(2), doc_topic_=theta, transform=lambda X: np.full((len(X), 2), 0.5))
    assert metrics.doc_topic_entropy(model) == pytest.approx(np.log(2) / 2)
    assert metrics.doc_topic_entropy(model, [[1, 0]]) == pytest.approx(np.log(2))


def test_predictive_r2():
    y = np.array([1.0, 2.0, 3.0, 6.0])
    assert metrics.predictive_r2(y, y) == 1.0
    assert metrics.predictive_r2(y, np.full(4, 3.0)) == 0.0
    assert metrics.predictive_r2(y, [1, 2, 3, 4]) == pytest.approx(1 - 4 / 14)


def named(topics, words):
    return SimpleNamespace(components_=np.array(topics), feature_names_in_=np.array(words, dtype=object))


def test_models_with_other_words_are_compared_by_name():
    """As many words in another order, then others as well: what one does not know has probability zero there."""
    one = named([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], ["cat", "dog", "bond"])
    turned = named([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], ["bond", "dog", "cat"])
    assert metrics.align_topics(one, turned).order.tolist() == [1, 0]
    assert metrics.align_topics(one, turned).distance == pytest.approx([0, 0], abs=1e-7)
    later = named([[0.0, 0.5, 0.0, 0.5], [0.5, 0.0, 0.4, 0.1]], ["fund", "wolf", "bond", "cat"])
    assert metrics.topic_distance(one, later) == pytest.approx(
        np.sqrt(1 - np.array([[0.35**0.5, 0.07**0.5 + 0.04**0.5], [0.05**0.5, 0.01**0.5 + 0.28**0.5]]))
    )
    assert metrics.stability([one, turned]) == pytest.approx([1.0])
    with pytest.raises(ValueError, match="no word in common"):
        metrics.align_topics(one, named(np.eye(2), ["fish", "bird"]))


def test_align_topics_finds_the_permutation():
    a = RNG.dirichlet(np.full(30, 0.1), 6)
    permutation = RNG.permutation(7)
    b = np.vstack([a, RNG.dirichlet(np.full(30, 0.1), 1)])[permutation]
    alignment = metrics.align_topics(a, b)
    np.testing.assert_array_equal(b[alignment.order], a)
    np.testing.assert_allclose(alignment.distance, 0, atol=1e-7)
    np.testing.assert_allclose(metrics.topic_distance(np.eye(2), np.eye(2)), 1 - np.eye(2))
    p, q = np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])
    expected = np.sqrt(0.5 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum())
    assert metrics.topic_distance(p, q)[0, 0] == pytest.approx(expected)


# ------------------------------------------------------------------ refusals

GOOD = fitted(WORD_TOPIC.T, ALPHA)
X = [[1, 2, 0, 1], [0, 1, 1, 1]]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: metrics.perplexity(GOOD, X, "harmonic"),
            "method must be one of 'completion', 'left_to_right', 'chib'",
        ),
        (lambda: metrics.perplexity(GOOD, [[1, 2, 3]]), "X has 3 features, but model is expecting 4"),
        (lambda: metrics.perplexity(GOOD, [[0, 0, 0, 0]]), "no tokens of the model's vocabulary"),
        (lambda: metrics.perplexity(GOOD, [[0.5, 1, 1, 1]], "chib"), "method='chib' needs whole counts"),
        (
            lambda: metrics.perplexity(GOOD, [[0.5, 1, 1, 1]], "left_to_right"),
            "'left_to_right' needs whole counts",
        ),
        (
            lambda: metrics.perplexity(GOOD, X, "left_to_right", n_particles=0),
            "n_particles must be a whole number",
        ),
        (lambda: metrics.perplexity(GOOD, X, "chib", n_samples=1.5), "n_samples must be a whole number"),
        (lambda: metrics.perplexity(GOOD, X, n_jobs=0), "n_jobs must be a whole number"),
        (lambda: metrics.perplexity(GOOD, X, random_state=-1), "random_state must be a non-negative integer"),
        (lambda: metrics.perplexity(SimpleNamespace(), X), "SimpleNamespace has no components_"),
        (lambda: metrics.log_likelihood(WORD_TOPIC, ALPHA, np.full((1, 4), np.nan)), "NaN or infinite"),
        (lambda: metrics.log_likelihood(WORD_TOPIC, ALPHA, -np.ones((1, 4))), "negative entries"),
        (lambda: metrics.log_likelihood(WORD_TOPIC, ALPHA, np.ones((0, 4))), "X is empty"),
        (lambda: metrics.log_likelihood(WORD_TOPIC.T, 0.1, np.ones((1, 3))), "must sum to 1"),
        (lambda: metrics.log_likelihood(WORD_TOPIC * np.nan, 0.1, X), "NaN"),
        (lambda: metrics.log_likelihood(WORD_TOPIC, ALPHA[:2], X), "one entry per topic"),
        (lambda: metrics.log_likelihood(WORD_TOPIC, 0.0, X), "alpha must be finite and positive"),
        (lambda: metrics.log_likelihood(WORD_TOPIC, ALPHA, X, membership="both"), "membership must be"),
        (lambda: metrics.score_completion(WORD_TOPIC, ALPHA, X, X[:1]), "same documents, got 2 and 1"),
        (lambda: metrics.coherence(GOOD, X, "c_uci"), "measure must be one of 'npmi', 'umass', 'cv'"),
        (lambda: metrics.coherence(GOOD, X, top_n=1), "top_n must be at least 2"),
        (lambda: metrics.coherence(GOOD, X, top_n=9), "from 1 to the 4 words, got 9"),
        (lambda: metrics.coherence(GOOD, [[1, 2, 3]], top_n=2), "X has 3 features, but model is expecting 4"),
        (lambda: metrics.coherence(GOOD, X, top_n=2, window=-1), "window must be"),
        (lambda: metrics.topic_diversity(GOOD, top_n=0), "top_n must be"),
        (lambda: metrics.exclusivity(GOOD, 2, 2.0), "frequency_weight must lie between 0 and 1"),
        (lambda: metrics.doc_topic_entropy([[0.5, 0.2]]), "rows that sum to 1"),
        (lambda: metrics.predictive_r2([1, 2], [1]), "same length"),
        (lambda: metrics.predictive_r2([1, np.nan], [1, 2]), "y_true must be finite"),
        (lambda: metrics.predictive_r2([1, 1], [1, 2]), "y_true is constant"),
        (lambda: metrics.align_topics(np.eye(3), np.eye(3)[:2]), "swap them"),
        (lambda: metrics.topic_distance(np.eye(3), np.eye(2)), "over the same words"),
    ],
)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
