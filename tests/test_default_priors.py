"""Priors of "pc" that nobody has named: they follow how many tokens documents and words have."""

import numpy as np
import pytest
import scipy.sparse as sp

import supertopic
from supertopic import PC, MedLDAClassifier, SLDAClassifier, SLDARegressor, Stream
from supertopic.datasets import simulate
from supertopic.documents.corpus import EmptyDocumentWarning, log_counts
from supertopic.persistence import read_model, write_model
from supertopic.plain_values import encode

from .test_counts import bursty

FAST = {"max_iter": 2, "cross_fit": 0}


def priors(model):
    """(alpha, topic-word prior) of a fitted model."""
    return float(model.alpha_[0]), model.fitted_.spec.model.emission.prior


def drawn(n_documents=300, n_words=100, length=60, seed=0):
    data = simulate(n_documents, 4, n_words, length, 0.3, response="gaussian", seed=seed)
    return data.counts.counts, data.y


@pytest.mark.parametrize(
    ("n_topics", "length", "alpha"), [(40, 200, 25 / 40), (40, 15, None), (5, 200, 1.0), (20, 1, 5 / 20)]
)
def test_alpha_of_a_softmax_is_as_much_as_a_document_but_25_at_most(n_topics, length, alpha):
    counts, y = drawn(length=length)
    classes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = SLDAClassifier(n_topics, response="softmax", counts="log", **FAST).fit(counts, classes)
    tokens = log_counts(counts).sum() / counts.shape[0]
    assert priors(model)[0] == pytest.approx(tokens / n_topics if alpha is None else alpha)


@pytest.mark.parametrize(("n_topics", "length", "total"), [(40, 200, 4), (40, 60, None), (3, 200, 3), (20, 5, 9)])
def test_documents_of_other_responses_are_about_few_topics(n_topics, length, total):
    counts, y = drawn(200 * n_topics, length=length)
    model = SLDARegressor(n_topics, counts="raw", **FAST).fit(counts, y)
    tokens = counts.sum() / counts.shape[0]
    assert priors(model)[0] == pytest.approx((400 / tokens if total is None else total) / n_topics)


@pytest.mark.parametrize(
    ("n_documents", "focus", "total"),
    [
        (6000, "balance", 4),
        (4500, "balance", 16 / 2.25),
        (4500, "describe", 8 / 2.25),
        (500, "balance", 25),
        (6000, "predict", 25),
    ],
)
def test_topics_that_few_documents_tell_share_them(n_documents, focus, total):
    counts, y = drawn(n_documents, length=200)
    model = SLDARegressor(30, counts="raw", inference=PC(focus=focus), **FAST).fit(counts, y)
    assert priors(model)[0] == pytest.approx(total / 30)


def test_a_softmax_keeps_its_topics():
    counts, y = drawn(n_words=20)
    classes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    assert priors(SLDAClassifier(4, response="softmax", **FAST).fit(counts, classes))[1] == 0.05
    assert priors(SLDAClassifier(4, response="ordinal", **FAST).fit(counts, classes))[1] > 1


def test_topics_are_smoothed_by_what_words_are_seen():
    counts, y = drawn(n_words=20)
    found = priors(SLDARegressor(4, counts="raw", **FAST).fit(counts, y))[1]
    assert found == pytest.approx(counts.sum() / 20 / 200) and found > 1
    logs = priors(SLDARegressor(4, counts="log", **FAST).fit(counts, y))[1]
    assert logs == pytest.approx(log_counts(counts).sum() / 20 / 200) and logs < found
    assert priors(SLDARegressor(4, **FAST).fit(counts[:40], y[:40]))[1] == pytest.approx(counts[:40].sum() / 4000)
    assert priors(SLDARegressor(4, **FAST).fit(*drawn(30, 300)))[1] == 0.05


def test_of_long_documents_topics_are_smoothed_by_200_tokens():
    """In a document of a thousand words no one word says much."""
    counts, y = drawn(100, n_words=20, length=800)
    assert priors(SLDARegressor(4, counts="raw", **FAST).fit(counts, y))[1] == pytest.approx(100 * 200 / 20 / 200)


def test_what_users_name_stays():
    model = SLDARegressor(4, doc_topic_prior=0.3, topic_word_prior=0.7, **FAST).fit(*drawn())
    assert priors(model) == (0.3, 0.7) and model.alpha_.tolist() == [0.3] * 4


@pytest.mark.parametrize("inference", ["vb", "svi", "gibbs"])
def test_other_engines_keep_theirs(inference):
    counts, y = drawn(n_words=20)
    model = SLDARegressor(50, inference=inference, max_iter=4, cross_fit=0).fit(counts, y)
    assert priors(model) == (0.5, 0.05)
    assert MedLDAClassifier(50, **FAST).fit(counts, y > 0).alpha_[0] == 0.5


def test_a_stream_has_the_priors_of_all_its_documents():
    """The first batch tells how long documents are, and all of them how often words are seen."""
    counts, y = bursty(400)
    pairs = [(counts[start : start + 100], y[start : start + 100]) for start in range(0, 400, 100)]
    streamed = SLDARegressor(20, **FAST).fit(Stream.from_iterable(pairs))
    whole = SLDARegressor(20, **FAST).fit(counts, y)
    assert whole.counts_ == streamed.counts_ == "log"
    assert priors(streamed) == pytest.approx(priors(whole), rel=0.1)
    parts = SLDARegressor(20, inference=PC(total_documents=400), **FAST).partial_fit(*pairs[0])
    assert priors(parts) == pytest.approx(priors(streamed))


def test_a_stream_of_unknown_length_is_refused_nonsense():
    with pytest.raises(ValueError, match="total_documents: got -3"):
        SLDARegressor(4, inference=PC(total_documents=-3)).partial_fit(*drawn())


def test_folds_and_files_keep_them(tmp_path):
    counts, y = bursty(200)
    model = SLDAClassifier(12, max_iter=2, cross_fit=2, ensemble=2).fit(counts, y > 0)
    assert priors(model)[1] > 0.05
    model.save(tmp_path / "m.supertopic")
    again = supertopic.load(tmp_path / "m.supertopic")
    assert priors(again) == priors(model)
    np.testing.assert_array_equal(again.predict_proba(counts), model.predict_proba(counts))


@pytest.mark.parametrize("tokens", [[1.0], [1.0, -2.0], [float("nan"), 1.0], "many", {"a": 1}])
def test_files_with_nonsense_for_tokens_are_refused(tokens, tmp_path):
    model = SLDARegressor(3, **FAST).fit(*drawn())
    model.save(tmp_path / "m.supertopic")
    manifest, arrays = read_model(tmp_path / "m.supertopic")
    schema = {**manifest["schema"], "tokens": encode(tokens, "tokens")}
    write_model(tmp_path / "bad.supertopic", {**manifest, "schema": schema}, arrays)
    with pytest.raises(ValueError, match="okens"):
        supertopic.load(tmp_path / "bad.supertopic")


def test_documents_without_words_have_priors():
    counts = sp.csr_matrix(np.eye(6, dtype=np.float32)[:, :3])
    with pytest.warns(EmptyDocumentWarning):
        model = SLDARegressor(2, **FAST).fit(sp.vstack([counts] * 10).tocsr(), np.arange(60.0) - 7.5)
    assert priors(model) == (1.0, 0.05)
