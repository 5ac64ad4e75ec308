"""HTMM: likelihoods, posteriors and EM steps against the list of all paths; forms of input; recovery."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from supertopic import HTMM, Vectorizer, load
from supertopic.backends.threads import Threads
from supertopic.documents.corpus import EmptyDocumentWarning
from supertopic.estimators.beyond.sentence_topics import Sentences, completion, infer_posterior, log_topics
from supertopic.estimators.beyond.sentences import gather, split_sentences
from supertopic.inference.first_topics import online_counts
from supertopic.inference.variational.e_step_response import LocalLimits
from tests.naive_htmm import em_step, likelihood, posteriors

ONE_PASS = LocalLimits(max_passes=1, tol=0.0)
TEXTS = [
    "The cat sat on a mat. A dog chased the cat! Markets fell.",
    "Stocks rose. Markets closed higher. The dog slept on the mat.",
    "Cats and dogs. The mat is for the cat.",
] * 3


def counted(documents, n_words):
    """Sentences (lists of words, by document) as counts."""
    rows = [np.bincount(np.asarray(words, dtype=int), minlength=n_words) for doc in documents for words in doc]
    first = np.concatenate([[0], np.cumsum([len(doc) for doc in documents])])
    return Sentences(sp.csr_matrix(np.array(rows, dtype=np.float32)), first)


def simulated(n_documents, seed, n_topics=4, n_words=60, n_sentences=15, length=6, epsilon=0.3):
    """(sentences, documents, topics, topic of each sentence), topics kept between sentences."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(9).dirichlet(np.full(n_words, 0.15), n_topics)
    rows, assigned = [], []
    for _ in range(n_documents):
        theta, z = rng.dirichlet(np.full(n_topics, 0.5)), -1
        for s in range(n_sentences):
            if s == 0 or rng.random() < epsilon:
                z = rng.choice(n_topics, p=theta)
            rows.append(rng.multinomial(length, topics[z]))
            assigned.append(z)
    return sp.csr_matrix(np.array(rows)), np.repeat(np.arange(n_documents), n_sentences), topics, np.array(assigned)


@pytest.fixture(scope="module")
def tiny():
    """Documents of one to four sentences over five words, with shares, topics and epsilon."""
    rng = np.random.default_rng(0)
    documents = [[rng.integers(0, 5, rng.integers(1, 4)).tolist() for _ in range(n)] for n in (1, 2, 3, 4, 4, 3)]
    documents[3][1] = []  # a sentence without a word
    return documents, rng.dirichlet(np.ones(3), 6), rng.dirichlet(np.ones(5), 3).T, 0.35


def inferred(tiny, prior=0.7, epsilon=None):
    documents, theta, topics, default = tiny
    with Threads(1) as backend:
        return infer_posterior(
            counted(documents, 5), np.log(topics).astype(np.float32), np.full(3, prior),
            default if epsilon is None else epsilon, backend, ONE_PASS, theta,
        )  # fmt: skip


def test_likelihood_and_posteriors_are_sums_over_all_paths(tiny):
    documents, theta, topics, epsilon = tiny
    found = inferred(tiny)
    row = 0
    for d, sentences in enumerate(documents):
        posterior, fresh, log_p = posteriors(sentences, theta[d], topics, epsilon)
        rows = slice(row, row + len(sentences))
        np.testing.assert_allclose(found.objective[d], log_p + 0.7 * np.log(theta[d]).sum(), rtol=1e-5)
        np.testing.assert_allclose(found.posterior[rows], posterior, atol=1e-5)
        np.testing.assert_allclose(found.fresh[rows], fresh.sum(axis=1), atol=1e-5)
        expected = 0.7 + fresh.sum(axis=0)
        np.testing.assert_allclose(found.doc_topic[d], expected / expected.sum(), atol=1e-5)
        row += len(sentences)


@pytest.mark.parametrize("epsilon", ["auto", 0.4])
def test_em_steps_are_those_of_the_slow_version(tiny, epsilon):
    documents, _, _, _ = tiny
    sentences = counted(documents, 5)
    labels = np.repeat(np.arange(6), np.diff(sentences.first))
    given = {"epsilon": epsilon, "doc_topic_prior": 0.3, "topic_word_prior": 0.2, "tol": 0, "max_doc_iter": 1}
    model = HTMM(3, max_iter=4, **given).fit(sentences.counts, documents=labels)
    with Threads(1) as backend:
        topics = online_counts(sentences.by_document, 3, np.full(3, 0.3), 0, backend).astype(np.float64) + 0.2
    topics, theta = topics / topics.sum(axis=0), np.full((6, 3), 1 / 3)
    eps, objectives = 0.5 if epsilon == "auto" else epsilon, []
    for _ in range(4):
        objective, theta, topics, learned = em_step(documents, theta, topics, eps, np.full(3, 0.3), 0.2)
        eps = learned if epsilon == "auto" else epsilon
        objectives.append(objective / sentences.counts.sum())
    np.testing.assert_allclose(model.bound_, objectives, rtol=1e-5)
    np.testing.assert_allclose(model.components_.T, topics, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(model.epsilon_, eps, rtol=1e-4)


def test_long_sentences_do_not_underflow():
    """Long sentences, one after another, whose topics have a very small share in the document."""
    topics = np.array([[1 - 2e-9, 1e-9], [1e-9, 1 - 2e-9], [1e-9, 1e-9]])
    documents = [[[0] * 300, [1] * 300, [0] * 300, [2]]]
    theta = np.array([[1 - 1e-12, 1e-12]])
    for epsilon in (1e-4, 0.5, 1.0):
        with Threads(1) as backend:
            given = (counted(documents, 3), np.log(topics).astype(np.float32), np.full(2, 0.1), epsilon, backend)
            found = infer_posterior(*given, ONE_PASS, theta)
        np.testing.assert_allclose(found.posterior[:3], [[1, 0], [0, 1], [1, 0]], atol=1e-6)
        np.testing.assert_allclose(found.fresh[:3], 1, atol=1e-6)
        expected = 2 * np.log(epsilon) + np.log(1e-12) + np.log(1e-9)  # two changes, one of them to a rare topic
        np.testing.assert_allclose(found.objective - 0.1 * np.log(theta).sum(), expected, atol=0.01)


def test_the_objective_never_falls():
    counts, labels, _, _ = simulated(60, 1)
    for given in ({}, {"max_doc_iter": 1}, {"epsilon": 0.7, "topic_word_prior": 0.0}):
        trace = HTMM(4, max_iter=40, tol=0, **given).fit(counts, documents=labels).bound_
        assert len(trace) == 40 and np.diff(trace).min() > -1e-6 * abs(trace[-1]) and trace[-1] > trace[0] + 0.01


def test_epsilon_one_forgets_the_order_and_is_lda_over_sentences(tiny):
    """theta_k prod_w beta_kw for each sentence on its own."""
    documents, theta, topics, _ = tiny
    found = inferred(tiny, epsilon=1.0)
    row = 0
    for d, sentences in enumerate(documents):
        drawn, total = np.zeros(3), 0.0
        for words in sentences:
            joint = theta[d] * np.prod(topics[words], axis=0)
            np.testing.assert_allclose(found.posterior[row], joint / joint.sum(), atol=1e-5)
            assert found.fresh[row] == pytest.approx(1)
            drawn, total, row = drawn + joint / joint.sum(), total + np.log(joint.sum()), row + 1
        np.testing.assert_allclose(found.objective[d], total + 0.7 * np.log(theta[d]).sum(), rtol=1e-5)
        np.testing.assert_allclose(found.doc_topic[d], (0.7 + drawn) / (0.7 + drawn).sum(), atol=1e-5)
    counts, labels, _, _ = simulated(30, 2, length=2)  # short sentences: their neighbours matter
    shuffled = np.concatenate([np.random.default_rng(d).permutation(15) + 15 * d for d in range(30)])
    for epsilon in (1.0, 0.3):
        fits = [
            HTMM(4, epsilon=epsilon, max_iter=20).fit(counts[rows], documents=labels).components_
            for rows in (shuffled, slice(None))
        ]
        assert (np.abs(fits[0] - fits[1]).max() < 1e-4) == (epsilon == 1.0)


def test_second_halves_given_first_ones(tiny):
    documents, _, topics, epsilon = tiny
    sentences = counted(documents, 5)
    with Threads(1) as backend:
        given = (np.log(topics).astype(np.float32), np.full(3, 0.7), epsilon, backend)
        logs, n_tokens = completion(sentences, *given)
        for d, document in enumerate(documents):
            half = document[: len(document) // 2]
            theta = infer_posterior(counted([half], 5), *given).doc_topic[0] if half else np.full(3, 1 / 3)
            both, seen = (likelihood(part, theta, topics, epsilon) if part else 1.0 for part in (document, half))
            np.testing.assert_allclose(logs[d], np.log(both) - np.log(seen), rtol=1e-4)
            assert n_tokens[d] == sum(map(len, document)) - sum(map(len, half))


def test_simulated_topics_and_epsilon_are_recovered():
    counts, labels, topics, assigned = simulated(200, 3, n_sentences=40)
    model = HTMM(4).fit(counts, documents=labels)
    distance = np.abs(topics[:, None] - model.components_[None]).sum(axis=2) / 2
    order = distance.argmin(axis=1)
    assert sorted(order) == [0, 1, 2, 3] and distance.min(axis=1).max() < 0.1
    assert abs(model.epsilon_ - 0.3) < 0.05
    frame = model.sentences(counts, documents=labels)
    right = (order[assigned] == frame["topic"]).mean()
    apart = HTMM(4, epsilon=1.0).fit(counts, documents=labels)
    assert right > 0.9 and model.score(counts, documents=labels) > apart.score(counts, documents=labels) + 0.02
    # `fresh` is high where the topic changed
    changed = np.concatenate([[True], (assigned[1:] != assigned[:-1])]) | (frame["sentence"] == 0)
    assert frame["fresh"][changed].mean() > frame["fresh"][~changed].mean() + 0.5


def test_new_documents_climb_to_their_mode(tiny):
    documents, _, topics, epsilon = tiny
    with Threads(1) as backend:
        given = (counted(documents, 5), np.log(topics).astype(np.float32), np.full(3, 0.7), epsilon, backend)
        found = infer_posterior(*given)
        nudged = infer_posterior(*given, ONE_PASS, found.doc_topic)
    np.testing.assert_allclose(nudged.doc_topic, found.doc_topic, atol=1e-4)
    for other in np.random.default_rng(0).dirichlet(np.ones(3), 20):
        with Threads(1) as backend:
            assert np.all(
                infer_posterior(*given, ONE_PASS, np.tile(other, (6, 1))).objective <= nudged.objective + 1e-6
            )


# --- forms of input --------------------------------------------------------------------------------------------


def test_sentences_are_split():
    text = 'Dr. Smith came, e.g. by bus. He said "No!" Then\nhe left... Why? In 3.5 hours.\n\nA new part'
    assert split_sentences(text) == [
        "Dr. Smith came, e.g. by bus.", 'He said "No!"', "Then\nhe left...", "Why?", "In 3.5 hours.", "A new part",
    ]  # fmt: skip
    assert split_sentences("") == split_sentences(" \n\n ") == []
    assert split_sentences("a tokenised text . it has spaces . yes") == ["a tokenised text .", "it has spaces .", "yes"]


def test_all_ways_to_give_documents_are_one():
    nested = [split_sentences(text) for text in TEXTS]
    flat = [sentence for document in nested for sentence in document]
    labels = [f"d{d}" for d, document in enumerate(nested) for _ in document]
    vectorizer = Vectorizer(min_df=1, max_df=1.0)
    models = [HTMM(2, max_iter=4, vectorizer=vectorizer).fit(X) for X in (TEXTS, nested, pd.Series(TEXTS))]
    models.append(HTMM(2, max_iter=4, vectorizer=vectorizer).fit(flat, documents=labels))
    counts = models[0].vectorizer_.transform(flat)
    models.append(HTMM(2, max_iter=4).fit(counts, documents=labels))
    for model in models[1:]:
        np.testing.assert_array_equal(model.components_, models[0].components_)
        np.testing.assert_array_equal(model.doc_topic_, models[0].doc_topic_)
    assert models[0].doc_topic_.shape == (9, 2)
    np.testing.assert_array_equal(models[0].transform(nested), models[-1].transform(counts, documents=labels))
    frame = models[0].sentences(TEXTS[:2])
    assert frame["text"].tolist() == nested[0] + nested[1] and frame["sentence"].tolist() == [0, 1, 2, 0, 1, 2]
    assert models[0].score(TEXTS) == models[-1].score(counts, documents=labels)


def test_counts_without_documents_are_documents_of_one_sentence():
    counts = np.random.default_rng(0).poisson(1.0, (20, 6))
    np.testing.assert_array_equal(
        HTMM(2, max_iter=3).fit(counts).components_, HTMM(2, max_iter=3).fit(counts, documents=range(20)).components_
    )


@parametrize_with_checks([HTMM(2, max_iter=5)])
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


REFUSED = {
    "n_topics": (0, "n_topics: got 0, expected a whole number >= 1"),
    "epsilon": (0, "epsilon: got 0, expected 'auto' or a number > 0 and <= 1"),
    "doc_topic_prior": ("auto", "doc_topic_prior: got 'auto', expected a positive number, or K of them"),
    "topic_word_prior": (-1, "topic_word_prior: got -1, expected a number >= 0"),
    "max_iter": (0, "max_iter: got 0, expected a whole number >= 1"),
    "max_doc_iter": (True, "max_doc_iter: got True, expected a whole number >= 1"),
    "tol": (-1, "tol: got -1, expected a number >= 0"),
    "doc_tol": (np.inf, "doc_tol: got inf, expected a number >= 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_in_a_sentence(name):
    value, message = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        HTMM(**{"n_topics": 2, name: value}).fit(TEXTS)
    assert "\n" not in str(caught.value)


def test_documents_that_do_not_fit_the_rows_are_refused():
    counts = np.ones((3, 4))
    with pytest.raises(ValueError, match=re.escape("documents: got shape (2,), expected one entry for each of the 3")):
        HTMM(2).fit(counts, documents=[0, 1])
    with pytest.raises(ValueError, match="documents: the rows of document 0 do not stand together; sort X by document"):
        HTMM(2).fit(counts, documents=[0, 1, 0])
    with pytest.raises(ValueError, match="X holds no words at all"):
        HTMM(2).fit(np.zeros((3, 4)), documents=[0, 0, 1])
    assert gather(iter(TEXTS)).first.tolist() == gather(TEXTS).first.tolist()


def test_documents_without_words_keep_their_row():
    model = HTMM(2, max_iter=5).fit(TEXTS)
    with pytest.warns(EmptyDocumentWarning, match=re.escape("1 of 2 (row 1)")):
        shares = model.transform([TEXTS[0], ""])
    np.testing.assert_allclose(shares[1], 0.5)
    with pytest.warns(EmptyDocumentWarning, match="2 of 2"):
        np.testing.assert_allclose(model.transform(["", ""]), 0.5)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_nothing(n_jobs):
    counts, labels, _, _ = simulated(40, 4)
    one, several = (HTMM(3, max_iter=6, n_jobs=n).fit(counts, documents=labels) for n in (1, n_jobs))
    np.testing.assert_array_equal(one.components_, several.components_)
    np.testing.assert_array_equal(one.doc_topic_, several.doc_topic_)
    np.testing.assert_array_equal(one.bound_, several.bound_)


def test_the_seed_decides():
    counts, labels, _, _ = simulated(40, 4)
    fits = [HTMM(3, max_iter=3, random_state=seed).fit(counts, documents=labels).components_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_a_killed_fit_goes_on(tmp_path, monkeypatch):
    counts, labels, _, _ = simulated(40, 4)
    given = {"n_topics": 3, "max_iter": 8, "tol": 0, "checkpoint": tmp_path / "fit"}
    whole = HTMM(**given).fit(counts, documents=labels)

    def stop(trace, tol):
        if len(trace) == 4:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr("supertopic.checkpoint.Checkpoint.due", lambda self: True)
    monkeypatch.setattr("supertopic.inference.loop.has_converged", stop)
    with pytest.raises(KeyboardInterrupt):
        HTMM(**given).fit(counts, documents=labels)
    monkeypatch.setattr("supertopic.inference.loop.has_converged", lambda *_: False)
    again = HTMM(**given).fit(counts, documents=labels)
    np.testing.assert_array_equal(whole.components_, again.components_)
    assert again.epsilon_ == whole.epsilon_ and len(again.bound_) == 8


def test_the_checkpoint_of_other_documents_is_refused(tmp_path, monkeypatch):
    counts, labels, _, _ = simulated(10, 4)
    monkeypatch.setattr("supertopic.checkpoint.Checkpoint.due", lambda self: True)
    monkeypatch.setattr("supertopic.checkpoint.Checkpoint.finish", lambda self: None)
    HTMM(3, max_iter=2, checkpoint=tmp_path / "fit").fit(counts, documents=labels)
    with pytest.raises(ValueError, match="is the checkpoint of another fit"):
        HTMM(3, max_iter=2, checkpoint=tmp_path / "fit").fit(counts, documents=labels // 2)


def test_a_warm_start_goes_on_from_the_topics():
    counts, labels, _, _ = simulated(40, 4)
    model = HTMM(3, max_iter=3, warm_start=True, tol=0).fit(counts, documents=labels)
    reached, epsilon = model.bound_[-1], model.epsilon_
    model.fit(counts, documents=labels)
    assert model.bound_[-1] > reached and model.epsilon_ != epsilon
    assert model.set_params(epsilon=0.8).fit(counts, documents=labels).epsilon_ == 0.8


def test_saved_and_loaded(tmp_path):
    model = HTMM(2, max_iter=5).fit(TEXTS)
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    assert again.epsilon_ == model.epsilon_ and again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    pd.testing.assert_frame_equal(again.sentences(TEXTS), model.sentences(TEXTS))
    np.testing.assert_allclose(np.exp(log_topics(model.fitted_.state)), model.components_.T, rtol=1e-5)


def test_explanations():
    model = HTMM(2, max_iter=20).fit(TEXTS)
    frame = model.explain("The cat sat. Markets fell.")
    assert frame["sentence"].tolist() == sorted(frame["sentence"]) and set(frame["sentence"]) == {0, 1}
    np.testing.assert_allclose(frame[["topic 0", "topic 1"]].sum(axis=1), 1, rtol=1e-5)
    assert frame.groupby("sentence")["topic 0"].nunique().max() == 1
    pd.testing.assert_frame_equal(frame, model.explain(["The cat sat.", "Markets fell."]))
    with pytest.raises(ValueError, match="doc: got 2 documents, expected one"):
        model.explain(np.ones((2, model.n_features_in_)))
    assert model.alpha_.tolist() == [1.5, 1.5] and len(model.top_words(3)) == 6
