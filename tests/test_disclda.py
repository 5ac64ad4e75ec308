"""DiscLDA: its EM step and its likelihoods against slow versions, what it predicts, and scikit-learn's rules."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from supertopic import LDA, DiscLDAClassifier, Vectorizer, load
from supertopic.backends.threads import Threads
from supertopic.documents.corpus import as_corpus
from supertopic.estimators.beyond.class_topics import first_class_state
from supertopic.fitted.fit import task_of
from supertopic.inference.batches import Batch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.metrics import completion_split, score_completion
from tests.naive import infer_document, word_bound
from tests.naive_disclda import allowed_topics, em_step, log_likelihood

TEXTS = ["goal match goal team the", "the team scored a goal", "vote party the vote", "party election the law"] * 5
LABELS = ["sport", "sport", "politics", "politics"] * 5
X = sp.csr_matrix(np.array([[2, 1, 0], [0, 1, 3], [1, 1, 1], [2, 0, 0]], dtype=np.float32))


def simulated(n_documents, seed, n_classes=3, n_own=2, n_shared=2, n_words=90, length=40, own_share=0.3):
    """(counts, labels, topics) of documents whose classes have own and shared topics."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(7).dirichlet(np.full(n_words, 0.08), n_classes * n_own + n_shared)
    y = rng.integers(0, n_classes, n_documents)
    alpha = np.concatenate([np.full(n_own, own_share / n_own), np.full(n_shared, (1 - own_share) / n_shared)])
    counts = np.stack([
        rng.multinomial(length, rng.dirichlet(2 * alpha) @ topics[allowed_topics(c, n_classes, n_own, n_shared)])
        for c in y
    ])  # fmt: skip
    return counts, np.array(["a", "b", "c", "d", "e", "f"])[y], topics


@pytest.fixture(scope="module")
def labelled():
    return simulated(400, 0)


@parametrize_with_checks(
    [DiscLDAClassifier(1, max_iter=3, cross_fit=0), DiscLDAClassifier(1, n_shared_topics=0, max_iter=3)]
)
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


REFUSED = {
    "n_class_topics": (0, "n_class_topics: got 0, expected a whole number >= 1"),
    "n_shared_topics": (-1, "n_shared_topics: got -1, expected a whole number >= 0"),
    "class_prior": ("mine", "class_prior: got 'mine', expected 'empirical' or 'uniform'"),
    "doc_topic_prior": (-1, "doc_topic_prior: got -1, expected a positive number"),
    "topic_word_prior": (-1, "topic_word_prior: got -1, expected a number >= 0"),
    "max_iter": (0, "max_iter: got 0, expected a whole number >= 1"),
    "max_doc_iter": (1.5, "max_doc_iter: got 1.5, expected a whole number >= 1"),
    "tol": (np.nan, "tol: got nan, expected a number >= 0"),
    "doc_tol": (True, "doc_tol: got True, expected a number >= 0"),
    "n_jobs": (0, "n_jobs: got 0, expected a whole number other than 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_in_a_sentence(name):
    value, message = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        DiscLDAClassifier(**{name: value}).fit(X, [0, 1, 0, 1])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "y, message",
    [
        (None, "requires y to be passed"),
        ([1, 1, 1, 1], "y holds 1 class, 1; DiscLDAClassifier needs 2 or more"),
        ([None] * 4, "y is missing for every document; expected some labels"),
        (np.eye(4)[:, :2], "y has 2 columns; DiscLDAClassifier takes one column of labels"),
        ([0, 1], "X has 4 documents, y has 2"),
    ],
)
def test_wrong_labels_are_refused_in_a_sentence(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        DiscLDAClassifier().fit(X, y)


@pytest.mark.parametrize("shape", [(3, 2, 1), (2, 1, 2), (2, 2, 0)])
def test_em_steps_are_those_of_the_slow_version(shape):
    rng = np.random.default_rng(1)
    counts, y = rng.poisson(0.5, (14, 9)), np.arange(14) % shape[0]
    counts[:, 0] += 1
    alpha = np.linspace(0.2, 0.7, shape[1] + shape[2])
    model = DiscLDAClassifier(
        shape[1], n_shared_topics=shape[2], doc_topic_prior=alpha, topic_word_prior=0.1, max_iter=3, tol=0,
        doc_tol=1e-7, max_doc_iter=2000, cross_fit=0).fit(counts, y)  # fmt: skip
    spec = model.fitted_.spec
    task = task_of(spec, Batch(as_corpus(counts).counts, y.astype(float), np.ones(len(y)), spec.model.n_topics), seed=0)
    with task.backend:
        word_topic = first_class_state(task, model.structure()).word_topic.astype(np.float64)
    documents = [(np.flatnonzero(row), row[row > 0].astype(float)) for row in counts]
    bounds = []
    for _ in range(3):
        bound, word_topic = em_step(documents, y, word_topic, alpha, 0.1, shape)
        bounds.append(bound / counts.sum())
    np.testing.assert_allclose(model.bound_, bounds, rtol=2e-5)
    np.testing.assert_allclose(model.fitted_.state.word_topic, word_topic, rtol=2e-3, atol=2e-4)


def test_the_bound_never_falls(labelled):
    counts, y, _ = labelled
    for prior in (0.3, "auto", "symmetric"):
        trace = (
            DiscLDAClassifier(2, doc_topic_prior=prior, max_iter=40, tol=0, doc_tol=1e-5, cross_fit=0)
            .fit(counts, y)
            .bound_
        )
        assert len(trace) == 40 and np.diff(trace).min() > -1e-6 * abs(trace[-1]) and trace[-1] > trace[0]


def test_alpha_is_learned_for_all_classes_together(labelled):
    """With fixed topics, the learned alpha has a higher bound than other values near it."""
    counts, y, _ = labelled
    fits = {
        "auto": DiscLDAClassifier(2, max_iter=60, doc_topic_prior="auto", cross_fit=0),
        "fixed": DiscLDAClassifier(2, max_iter=60, doc_topic_prior=0.02, cross_fit=0),
    }
    found = {name: model.fit(counts, y) for name, model in fits.items()}
    assert found["auto"].alpha_.shape == (6,)
    assert found["auto"].bound_[-1] > found["fixed"].bound_[-1] + 1e-3
    own, shared = found["auto"].alpha_[:2].sum(), found["auto"].alpha_[2:].sum()
    assert own < shared  # as simulated: 0.6 against 1.4


def test_likelihoods_of_tiny_documents():
    """The bound of each class is that of the slow code. It is below the exact sum, and equal to it for one topic."""
    rng = np.random.default_rng(3)
    counts = rng.multinomial(4, np.full(5, 0.2), 12)
    y = np.array(["x", "y", "z"] * 3 + ["x", "y", "y"])
    shares = np.log(np.array([5, 6, 4]) / 15)
    for n_own, n_shared in ((2, 1), (1, 0)):
        model = DiscLDAClassifier(
            n_own, n_shared_topics=n_shared, doc_topic_prior=0.5, topic_word_prior=0.3, max_iter=20, cross_fit=0
        ).fit(counts, y)
        with Threads(1) as backend:
            found = model._class_posterior(model.fitted_, as_corpus(counts), backend)
        exact, bounds = np.empty((2, 12, 3))
        for row, c in np.ndindex(12, 3):
            words = np.flatnonzero(counts[row])
            given = (words, counts[row, words])
            topics = model.components_.T[:, allowed_topics(c, 3, n_own, n_shared)].astype(np.float64)
            exact[row, c] = log_likelihood(*given, topics, model.alpha_)
            bounds[row, c] = word_bound(
                *given, topics, model.alpha_, *infer_document(*given, topics, model.alpha_, 2000)
            )
        np.testing.assert_allclose(found.bound, bounds, atol=2e-3)
        assert np.all(found.bound <= exact + 1e-4)
        if n_own == 1:
            np.testing.assert_allclose(found.bound, exact, atol=1e-4)
        np.testing.assert_allclose(found.posterior, softmax(bounds + shares, axis=1), atol=2e-3)


@pytest.mark.parametrize("class_prior", ["empirical", "uniform"])
def test_one_topic_a_class_and_none_shared_is_naive_bayes(labelled, class_prior):
    counts, y, _ = labelled
    y = np.where(np.arange(len(y)) < 150, "a", y)  # unequal shares
    params = {"n_shared_topics": 0, "class_prior": class_prior, "topic_word_prior": 0.2, "cross_fit": 0}
    model = DiscLDAClassifier(1, **params).fit(counts, y)
    number = np.unique(y, return_counts=True)[1] + 1.0
    shares = number / number.sum() if class_prior == "empirical" else np.full(3, 1 / 3)
    other = MultinomialNB(alpha=0.2, class_prior=shares).fit(counts, y)
    np.testing.assert_allclose(model.components_, np.exp(other.feature_log_prob_), rtol=1e-4)
    np.testing.assert_allclose(model.predict_proba(counts), other.predict_proba(counts), atol=2e-3)


def test_words_of_a_class_stay_with_its_topics(labelled):
    """A word of one class only never has counts in the topics of another class; and no token is lost."""
    counts, y, _ = labelled
    marked = np.column_stack([counts, 3 * (y == "b")])
    model = DiscLDAClassifier(2, n_shared_topics=1, topic_word_prior=0.01, max_iter=10, cross_fit=0).fit(marked, y)
    expected = model.fitted_.state.word_topic.astype(np.float64) - 0.01
    np.testing.assert_allclose(expected.sum(), marked.sum(), rtol=1e-5)
    assert model.topic_classes_.tolist() == ["a", "a", "b", "b", "c", "c", None]
    assert np.abs(expected[-1, [0, 1, 4, 5]]).max() < 1e-6
    np.testing.assert_allclose(expected[-1].sum(), 3 * (y == "b").sum(), rtol=1e-5)


def test_simulated_topics_of_classes_are_found():
    counts, y, topics = simulated(2000, 1, length=60)
    model = DiscLDAClassifier(2, n_shared_topics=2, doc_topic_prior="auto", max_iter=60, cross_fit=0).fit(counts, y)
    for mine in (slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 8)):  # each class, and shared topics, in any order
        distance = np.abs(topics[mine, None] - model.components_[None, mine]).sum(axis=2) / 2
        assert distance.min(axis=1).max() < 0.2 and set(distance.argmin(axis=1)) == {0, 1}


def test_predicts_better_than_lda_and_svm_of_the_same_size():
    """Classes differ in a small part of their words, which topics without classes do not find."""
    counts, y, _ = simulated(900, 2, n_classes=6, n_own=1, n_shared=4, own_share=0.15)
    train, test = slice(0, 600), slice(600, 900)
    model = DiscLDAClassifier(1, n_shared_topics=4).fit(counts[train], y[train])
    lda = LDA(10, max_iter=60).fit(counts[train])
    best = max(
        LinearSVC(C=C).fit(lda.transform(counts[train]), y[train]).score(lda.transform(counts[test]), y[test])
        for C in (0.1, 1.0, 10.0)
    )
    assert model.score(counts[test], y[test]) > best + 0.05 > 1 / 6 + 0.1
    proba = model.predict_proba(counts[test])
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(counts[test]), model.classes_[proba.argmax(axis=1)])
    chances = proba[np.arange(300), np.searchsorted(model.classes_, y[test])]
    assert np.log(chances).mean() > np.log(1 / 6)


def test_shares_are_averaged_over_the_classes(labelled):
    counts, y, _ = labelled
    model = DiscLDAClassifier(2, n_shared_topics=2, max_iter=20, cross_fit=0).fit(counts, y)
    shares, proba = model.transform(counts), model.predict_proba(counts)
    np.testing.assert_array_equal(shares, model.doc_topic_)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    by_class = shares[:, :6].reshape(-1, 3, 2).sum(axis=2)
    assert np.all(by_class <= proba + 1e-4)  # the shares of a class's topics are at most the probability of the class
    sure = proba.max(axis=1) > 0.999999
    assert sure.any() and np.delete(by_class[sure], 0, axis=1)[proba[sure].argmax(axis=1) == 0].max(initial=0) < 1e-4


def test_explanations_and_words(labelled):
    model = DiscLDAClassifier(1, n_shared_topics=1, max_iter=10, vectorizer=Vectorizer(stop_words=None))
    model.fit(TEXTS, LABELS)
    frame = model.explain("goal team the law")
    np.testing.assert_allclose(frame.filter(like="topic ").sum(axis=1), 1, rtol=1e-5)
    assert list(frame.columns[:2]) == ["word", "count"] and set(frame["word"]) == {"goal", "team", "the", "law"}
    top = model.top_words(3)
    assert list(top.columns) == ["topic", "class", "rank", "word", "probability"]
    assert top["class"].tolist() == ["politics"] * 3 + ["sport"] * 3 + [None] * 3
    assert model.topics()["class"].tolist() == ["politics", "sport", None]
    assert "sport" in model._repr_html_()
    assert model.predict(["the goal", "the vote"]).tolist() == ["sport", "politics"]
    with pytest.raises(ValueError, match="doc: got 2 documents, expected one"):
        model.explain(["goal", "vote"])


def test_perplexity_sums_over_the_classes():
    """Left to right, which is exact for documents of one or two words, against the sum over classes and assignments."""
    rng = np.random.default_rng(5)
    counts, y = rng.multinomial(3, np.full(4, 0.25), 30), np.arange(30) % 3
    y[:5] = 0
    model = DiscLDAClassifier(1, n_shared_topics=1, doc_topic_prior=0.4, max_iter=5).fit(counts, y)
    short = counts[:6].copy()
    short[short.cumsum(axis=1) > 2] = 0
    number = np.bincount(y) + 1.0
    total = 0.0
    for document in short:
        words = np.flatnonzero(document)
        logs = [
            log_likelihood(words, document[words], model.components_.T[:, allowed_topics(c, 3, 1, 1)], model.alpha_)
            for c in range(3)
        ]
        total += np.log(np.exp(logs) @ number / number.sum())
    expected = np.exp(-total / short.sum())
    np.testing.assert_allclose(model.perplexity(short, "left_to_right", n_particles=4000), expected, rtol=0.01)


def test_completion_knows_the_class_from_the_first_half(labelled):
    """p(second half | first) = sum_c p(c | first half) p(second half | c, theta from the first half)."""
    counts, y, _ = labelled
    model = DiscLDAClassifier(1, n_shared_topics=1, max_iter=20, cross_fit=0).fit(counts[:300], y[:300])
    seen, scored = completion_split(counts[300:], 4)
    proba, total = model.predict_proba(seen), np.zeros((100, 3))
    for c in range(3):
        topics = model.components_.T[:, allowed_topics(c, 3, 1, 1)]
        for d in range(100):
            total[d, c] = -score_completion(topics, model.alpha_, seen[d], scored[d]) * scored[d].sum()
    logs = np.log((proba * np.exp(total - total.max(axis=1, keepdims=True))).sum(axis=1)) + total.max(axis=1)
    expected = np.exp(-logs.sum() / scored.sum())
    np.testing.assert_allclose(model.perplexity(counts[300:], random_state=4), expected, rtol=1e-4)


def test_documents_without_a_label_are_left_out(labelled):
    counts, y, _ = labelled
    some = np.array([None if i % 3 == 0 else label for i, label in enumerate(y)], dtype=object)
    known = np.array([label is not None for label in some])
    left_out = DiscLDAClassifier(max_iter=5, cross_fit=0).fit(counts, some)
    np.testing.assert_array_equal(
        left_out.components_, DiscLDAClassifier(max_iter=5, cross_fit=0).fit(counts[known], y[known]).components_
    )
    assert left_out.doc_topic_.shape == (400, 10)


def test_threads_change_nothing(labelled):
    counts, y, _ = labelled
    one, several = (DiscLDAClassifier(max_iter=3, cross_fit=2, n_jobs=n).fit(counts, y) for n in (1, 3))
    np.testing.assert_array_equal(one.components_, several.components_)
    np.testing.assert_array_equal(one.bound_, several.bound_)
    np.testing.assert_array_equal(one.predict_proba(counts), several.predict_proba(counts))


def test_the_seed_decides(labelled):
    counts, y, _ = labelled
    fits = [
        DiscLDAClassifier(max_iter=4, random_state=seed, cross_fit=0).fit(counts, y).components_ for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_a_warm_start_goes_on_as_if_never_stopped(labelled):
    counts, y, _ = labelled
    given = {"tol": 0, "doc_topic_prior": 0.2}
    whole = DiscLDAClassifier(max_iter=6, **given, cross_fit=0).fit(counts, y)
    halves = DiscLDAClassifier(max_iter=3, warm_start=True, **given, cross_fit=0).fit(counts, y)
    assert not np.array_equal(whole.components_, halves.components_)
    np.testing.assert_array_equal(whole.components_, halves.fit(counts, y).components_)
    other = halves.fit(counts, np.where(y == "a", "b", y))  # other classes: the fit starts afresh
    assert other.components_.shape == (8, 90)


def test_a_killed_fit_goes_on(labelled, tmp_path, monkeypatch):
    counts, y, _ = labelled
    given = {"max_iter": 8, "tol": 0, "cross_fit": 0, "checkpoint": tmp_path / "fit"}
    whole = DiscLDAClassifier(**given).fit(counts, y)
    monkeypatch.setattr("supertopic.checkpoint.Checkpoint.due", lambda self: True)
    monkeypatch.setattr("supertopic.inference.loop.has_converged", _stop_after(4))
    with pytest.raises(KeyboardInterrupt):
        DiscLDAClassifier(**given).fit(counts, y)
    monkeypatch.setattr("supertopic.inference.loop.has_converged", lambda *_: False)
    again = DiscLDAClassifier(**given).fit(counts, y)
    np.testing.assert_array_equal(whole.components_, again.components_)
    np.testing.assert_array_equal(whole.bound_, again.bound_)
    assert not (tmp_path / "fit").exists()


def _stop_after(n_steps):
    def stop(trace, tol):
        if len(trace) == n_steps:
            raise KeyboardInterrupt
        return False

    return stop


def test_limits_of_a_document_are_passed_on(labelled):
    counts, y, _ = labelled
    model = DiscLDAClassifier(max_iter=1, max_doc_iter=7, doc_tol=0.5, cross_fit=0)
    assert model.fit(counts, y).fitted_.spec.settings.limits == LocalLimits(7, 0.5)
    rough, fine = (
        DiscLDAClassifier(max_iter=3, max_doc_iter=n, cross_fit=0).fit(counts, y).bound_[0] for n in (1, 100)
    )
    assert rough < fine


def test_saved_and_loaded(tmp_path):
    model = DiscLDAClassifier(1, class_prior="uniform", max_iter=5).fit(TEXTS, LABELS)
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    assert again.get_params() == model.get_params() and again.classes_.tolist() == ["politics", "sport"]
    np.testing.assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    np.testing.assert_array_equal(again.doc_topic_, model.doc_topic_)
    assert again.perplexity(TEXTS) == model.perplexity(TEXTS)


@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_a_document_without_a_word_has_the_shares_of_the_classes():
    labels = ["sport"] * 15 + ["politics"] * 5
    model = DiscLDAClassifier(1, max_iter=5).fit(TEXTS, labels)
    np.testing.assert_allclose(model.predict_proba([""])[0], [6 / 22, 16 / 22], rtol=1e-6)
