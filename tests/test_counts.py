"""What topics see of how often a document has a word: counts, or logarithms where documents repeat themselves."""

import numpy as np
import pytest
import scipy.sparse as sp

import supertopic
from supertopic import SLDAClassifier, SLDARegressor, Stream, TopicModel
from supertopic.backends.threads import Threads
from supertopic.datasets import simulate
from supertopic.documents.corpus import log_counts
from supertopic.inference import repeats
from supertopic.inference.after.prediction import PointModel, infer_shares, response_shares
from supertopic.inference.first_topics import online_counts
from supertopic.persistence import read_model, write_model

from . import naive_pc

FAST = {"max_iter": 3, "cross_fit": 0}
SAME = {"doc_topic_prior": 1.0}  # by default, it follows what topics see


def bursty(n_documents=300, again=2.0, seed=0):
    """Documents of LDA in which every word that a document has comes again, `again` times on average, and labels."""
    data = simulate(n_documents, 4, 300, 60, 0.3, response="gaussian", seed=seed)
    counts = data.counts.counts.copy()
    counts.data = counts.data + np.random.default_rng(seed).poisson(again, counts.nnz).astype(np.float32)
    return counts, data.y


@pytest.fixture(scope="module")
def documents():
    return bursty()


def test_logarithms_of_counts():
    counts = sp.csr_matrix(np.array([[1, 0, 3], [0, 0, 0], [7, 2, 0]], dtype=np.float32))
    np.testing.assert_allclose(log_counts(counts).toarray(), np.log2(1 + counts.toarray()))
    assert log_counts(counts).dtype == np.float32


def test_repeats_are_those_of_the_naive_form(monkeypatch):
    counts, _ = bursty(60, 0.5)
    monkeypatch.setattr(repeats, "_AT_FIRST", 0.0)
    rows = np.random.default_rng(0).permutation(60)
    ours, theirs = counts[np.sort(rows[::2])], counts[np.sort(rows[1::2])]
    alpha = np.full(30, 0.1)
    with Threads(1) as backend:
        topics = online_counts(ours, 30, alpha, 0, backend) + 0.01
        topics /= topics.sum(axis=0)
        shares = infer_shares(PointModel(alpha, collapsed=True), topics, theirs, backend)[0]
    again, expected = naive_pc.repeats(theirs.toarray(), shares, topics, 0.3)
    assert again > 20
    assert repeats.repeats_beyond_topics(counts) == pytest.approx(again / expected, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_simulated_documents_repeat_words_as_topics_have_it(seed):
    """Words that come again are no surprise to LDA if LDA has drawn them."""
    data = simulate(600, 4, 300, 120, 0.3, seed=seed)
    assert repeats.repeats_beyond_topics(data.counts.counts) < 1.2
    assert repeats.repeats_beyond_topics(bursty(600, 0.5, seed)[0]) > 2.5


@pytest.mark.parametrize("seed", [0, 5])
def test_a_few_repeats_may_be_chance(seed):
    """In these few documents, words come again 1.9 times as often as they should, and never."""
    assert 0.8 < repeats.repeats_beyond_topics(simulate(100, 3, 30, 40, 0.2, 0.1, seed=seed).counts.counts) < 1.2


def test_documents_without_words_repeat_none():
    assert repeats.repeats_beyond_topics(sp.csr_matrix((4, 5), dtype=np.float32)) == 1.0


def test_auto_asks_the_documents(documents):
    assert SLDARegressor(4, **FAST).fit(*documents).counts_ == "log"
    drawn = simulate(300, 4, 300, 60, 0.3, response="gaussian")
    assert SLDARegressor(4, **FAST).fit(drawn.counts, drawn.y).counts_ == "raw"
    assert SLDARegressor(4, inference="vb", **FAST).fit(*documents).counts_ == "raw"


def test_weights_of_words_stay_as_they_are(documents):
    """Counts that are no whole numbers have been weighted by the user."""
    counts, y = documents
    assert SLDARegressor(4, **FAST).fit(counts * np.float32(0.5), y).counts_ == "raw"


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (SLDARegressor, {"cross_fit": 2}),
        (SLDARegressor, {"honest": 0.5}),
        (SLDARegressor, {"ensemble": 2}),
        (SLDARegressor, {"supervision": "auto", "max_iter": 1}),
        (SLDAClassifier, {}),
        (TopicModel, {"response": "gaussian"}),
    ],
)
def test_logarithms_are_as_if_the_user_had_taken_them(kind, more, documents):
    counts, y = documents
    if kind is SLDAClassifier:
        y = y > np.median(y)
    logs = log_counts(counts)
    by_model = kind(4, counts="log", **{**FAST, **SAME, **more}).fit(counts, y)
    by_user = kind(4, counts="raw", **{**FAST, **SAME, **more}).fit(logs, y)
    np.testing.assert_array_equal(by_model.components_, by_user.components_)
    np.testing.assert_array_equal(by_model.transform(counts[:20]), by_user.transform(logs[:20]))
    np.testing.assert_array_equal(by_model.coef_, by_user.coef_)
    np.testing.assert_array_equal(by_model.coef_std_, by_user.coef_std_)
    np.testing.assert_array_equal(by_model.predict(counts[:20]), by_user.predict(logs[:20]))


@pytest.mark.parametrize("way", ["stream", "partial_fit"])
def test_logarithms_of_documents_that_come_in_batches(way, documents):
    counts, y = documents

    def fit(X, **params):
        model = SLDARegressor(4, **FAST, **SAME, **params)
        if way == "stream":
            return model.fit(Stream.from_iterable([(X[:150], y[:150]), (X[150:], y[150:])]))
        return model.partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])

    by_model, by_user = fit(counts), fit(log_counts(counts), counts="raw")
    assert by_model.counts_ == "log"
    np.testing.assert_array_equal(by_model.predict(counts), by_user.predict(log_counts(counts)))


def test_later_batches_are_seen_as_the_first_one_was(documents):
    """One topic model cannot see logarithms today and counts tomorrow."""
    drawn = simulate(300, 4, 300, 60, 0.3, response="gaussian")
    model = SLDARegressor(4, **FAST).partial_fit(*documents).partial_fit(drawn.counts.counts, drawn.y)
    assert model.counts_ == "log"


def test_contributions_of_words_add_up_to_the_prediction(documents):
    counts, y = documents
    model = SLDARegressor(4, counts="log", words=True, max_iter=3, cross_fit=2).fit(counts, y)
    for row in range(3):
        found = model.explain(counts[row])
        assert sorted(found["count"]) == sorted(counts[row].data)  # counts are shown, no logarithms
        total = model.intercept_ + found["contribution"].sum()
        assert total == pytest.approx(model.predict(counts[row])[0], abs=1e-5)


@pytest.mark.parametrize("at_mode", [False, True])
@pytest.mark.parametrize("logs", [False, True])
def test_what_words_add_to_shares_sums_to_them(at_mode, logs):
    rng = np.random.default_rng(0)
    counts, phi, alpha = np.array([1.0, 4.0, 2.0]), rng.dirichlet(np.ones(3), 3), np.array([0.5, 1.0, 0.25])
    found = response_shares(PointModel(alpha, at_mode=at_mode, log_counts=logs), phi, counts).sum(axis=0)
    seen = np.log2(1 + counts) if logs else counts
    expected = (seen @ phi + alpha) / (seen.sum() + alpha.sum()) if at_mode else seen @ phi / seen.sum()
    np.testing.assert_allclose(found, expected)


def test_model_files_keep_what_topics_saw(documents, tmp_path):
    counts, y = documents
    model = SLDARegressor(4, **FAST).fit(counts, y)
    model.save(tmp_path / "model")
    again = supertopic.load(tmp_path / "model")
    assert (again.counts, again.counts_) == ("auto", "log")
    np.testing.assert_array_equal(again.predict(counts), model.predict(counts))
    manifest, arrays = read_model(tmp_path / "model")
    write_model(tmp_path / "raw", {**manifest, "schema": {**manifest["schema"], "counts": "raw"}}, arrays)
    raw = supertopic.load(tmp_path / "raw")
    assert raw.counts_ == "raw"
    np.testing.assert_array_equal(raw.transform(log_counts(counts)), model.transform(counts))
    write_model(tmp_path / "forged", {**manifest, "schema": {**manifest["schema"], "counts": "squares"}}, arrays)
    with pytest.raises(ValueError, match="counts: got 'squares', expected 'raw' or 'log'"):
        supertopic.load(tmp_path / "forged")
    forged = {**manifest, "params": {**manifest["params"], "inference": "vb"}}
    write_model(tmp_path / "forged", forged, arrays)
    with pytest.raises(ValueError, match="counts: got 'log', expected 'raw'"):
        supertopic.load(tmp_path / "forged")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"counts": "logs"}, "counts: got 'logs' with inference='pc', expected 'auto' or 'raw' or 'log'"),
        ({"counts": "log", "inference": "vb"}, "counts: got 'log' with inference='vb', expected 'auto' or 'raw'"),
        ({"counts": "log", "emission": "sage"}, "counts: got 'log' with inference='vb', expected 'auto' or 'raw'"),
    ],
)
def test_what_cannot_be_seen_is_refused(params, message, documents):
    with pytest.raises(ValueError, match=message):
        SLDARegressor(4, **params).fit(*documents)
