"""Reading topics: typical documents, topics that go together, words by class and by other rankings, pyLDAvis."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, MixtureOfCategoricals, SLDARegressor, load, metrics
from supertopic.cli.response import marks_text
from supertopic.metrics.likeness import concentration, ownness, share_correlation, topic_tree
from supertopic.metrics.word_scores import RANKINGS, lift, relevance, word_score
from tests import naive_metrics as naive
from tests.cli_tools import run
from tests.plot_tools import assert_readable


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    words = [["cat", "dog", "bird", "fish"], ["bank", "fund", "stock", "bond"], ["goal", "match", "team", "coach"]]
    return [
        " ".join(rng.choice(words[i % 3], 12)) + " " + " ".join(rng.choice(words[(i // 3) % 3], 4)) for i in range(90)
    ]


@pytest.fixture(scope="module")
def model(texts):
    return LDA(3, max_iter=30, random_state=0).fit(texts)


def test_typical_documents_say_what_to_give(texts, model):
    for given, says in (
        ((0, 3), "texts: got 3, expected a text for each document; n=3 asks"),
        ((texts,), "topic: got a list, expected a number or a label; texts= takes"),
        ((0, "Money"), "texts is a single string"),
    ):
        with pytest.raises(ValueError, match=says):
            model.typical_documents(*given)


def test_typical_documents_have_the_largest_shares(texts, model):
    frame = pd.Series(texts, index=[f"d{i}" for i in range(90)])
    found = model.typical_documents(1, frame, n=4)
    order = np.argsort(-model.doc_topic_[:, 1], kind="stable")[:4]
    assert found.document.tolist() == [f"d{i}" for i in order] and found.text.tolist() == [texts[i] for i in order]
    np.testing.assert_allclose(found.share, model.doc_topic_[order, 1])
    whole = model.typical_documents(n=3, threshold=0.99)
    assert (whole.share >= 0.99).all() and "text" not in whole
    named = LDA(3, max_iter=3).fit(texts).set_topic_labels({2: "Money"})
    assert set(named.typical_documents("Money", texts).topic) == {2}
    assert len(model.typical_documents(0, texts[:5], X=texts[:5], n=9)) == 5


def test_correlations_are_those_of_log_ratios(model):
    theta = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
    np.testing.assert_allclose(share_correlation(theta), naive.clr_correlation(theta))
    assert share_correlation(np.full((5, 2), 0.5)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    frame = model.topic_correlation()
    assert frame.shape == (3, 3) and (np.diag(frame) == 1.0).all()


def naive_meetings(correlation):
    """Heights at which groups meet, by looking at all pairs of groups again and again."""
    groups, heights = [[k] for k in range(len(correlation))], []
    while len(groups) > 1:
        pairs = [(np.mean([1 - correlation[i, j] for i in a for j in b]), x, y)
                 for x, a in enumerate(groups) for y, b in enumerate(groups) if x < y]  # fmt: skip
        height, x, y = min(pairs)
        heights.append(height)
        groups = [one for place, one in enumerate(groups) if place not in (x, y)] + [groups[x] + groups[y]]
    return heights


def test_a_tree_of_topics_that_go_together(model, texts, tmp_path):
    shares = np.random.default_rng(0).dirichlet(np.ones(6), 50)
    correlation = share_correlation(shares)
    np.testing.assert_allclose(topic_tree(correlation)[:, 2], naive_meetings(correlation))
    tree = model.topic_correlation().attrs["tree"]
    pairs = model.topic_correlation().to_numpy()[[0, 0, 1], [1, 2, 2]]
    assert len(tree) == 2 and tree[0][2] == pytest.approx(1 - pairs.max())
    pytest.importorskip("matplotlib")
    ax = LDA(3, max_iter=3).fit(texts).set_topic_labels({2: "Money"}).plot.dendrogram()
    assert_readable(ax)
    assert "2 Money" in [label.get_text() for label in ax.get_yticklabels()]
    assert model.plot.dendrogram(texts[:20]).lines
    with pytest.raises(ValueError, match="got one topic"):
        LDA(1, max_iter=2).fit(texts).plot.dendrogram()


def test_words_by_other_rankings(model):
    average = model.fitted_.average_shares
    scores = {"lift": lift(model, average), "relevance": relevance(model, average), "score": word_score(model)}
    for name, found in scores.items():
        expected = getattr(naive, f"word_{name}")(model.components_.astype(float), average)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        top = model.top_words(2, by=name)
        assert top.columns.tolist() == ["topic", "rank", "word", "probability", name]
        assert top.groupby("topic")[name].apply(lambda values: values.is_monotonic_decreasing).all()
    assert len(RANKINGS) == 5 and model.top_words(2).columns.tolist() == ["topic", "rank", "word", "probability"]
    with pytest.raises(ValueError, match="expected one of 'probability'"):
        model.top_words(by="tfidf")


def test_topic_info_says_what_to_look_at_twice(texts):
    model = LDA(8, max_iter=30, random_state=0).fit(texts)
    info = model.topic_info(n=3)
    assert {"coherence", "exclusivity", "concentration", "remark"} <= set(info)
    np.testing.assert_allclose(info.concentration, concentration(model.doc_topic_))
    by_hand = [sum(share * share for share in column) / sum(column) for column in model.doc_topic_.astype(float).T]
    np.testing.assert_allclose(info.concentration, by_hand)
    fitted, topics = model.fitted_, model.fitted_.state.word_topic[:, [0, 1, 2, 3, 4, 5, 6, 2]]
    shares = np.where(np.arange(8) == 1, 0.001, fitted.doc_topic).astype(np.float32)
    model.fitted_ = replace(fitted, state=replace(fitted.state, word_topic=topics), doc_topic=shares)
    remark = model.topic_info(n=3).remark
    assert remark[1] == "hardly used" and remark[2] == "nearly the same as 7" and remark[7] == "nearly the same as 2"
    assert "Hardly used: 1." in marks_text(model) and "Nearly the same as 7: 2." in marks_text(model)


def test_words_by_class_are_rates_of_the_topics_tokens(texts, model):
    y = np.array(["a", "b", None] * 30, dtype=object)
    found = model.words_by_class(y, 0, n=4)
    shares = model.fitted_.words_by_topic(model.fitted_.training.corpus.counts)
    counts = model.fitted_.training.corpus.counts
    words = model.feature_names_in_
    for name in "ab":
        tokens = dict.fromkeys(words, 0.0)
        for d in np.flatnonzero(y == name):
            for at in range(counts.indptr[d], counts.indptr[d + 1]):
                tokens[words[counts.indices[at]]] += counts.data[at] * shares[at, 0]
        total = sum(tokens.values())
        np.testing.assert_allclose(found[name], [1000 * tokens[word] / total for word in found.word], rtol=1e-5)


def test_what_pyldavis_takes(texts, model, tmp_path):
    found = model.to_pyldavis()
    np.testing.assert_allclose(found["topic_term_dists"].sum(axis=1), 1.0)
    np.testing.assert_allclose(found["doc_topic_dists"].sum(axis=1), 1.0)
    assert found["doc_lengths"].sum() == found["term_frequency"].sum()
    assert len(found["vocab"]) == len(found["term_frequency"])
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    with pytest.raises(ValueError, match="holds no documents"):
        again.to_pyldavis()
    np.testing.assert_allclose(again.to_pyldavis(texts)["doc_topic_dists"], found["doc_topic_dists"], atol=1e-5)
    assert "coherence" not in again.topic_info() and "coherence" in again.topic_info(texts)
    assert MixtureOfCategoricals(2, max_iter=3).fit(texts).to_pyldavis()["doc_topic_dists"].shape == (90, 2)


def test_what_makes_no_sense_is_refused(texts, model):
    for ask in (
        lambda: model.typical_documents(3),
        lambda: model.typical_documents("War"),
        lambda: model.typical_documents(0, texts[:3]),
        lambda: model.typical_documents(0, threshold=2),
        lambda: model.typical_documents(0, n=0),
        lambda: model.words_by_class([None] * 90, 0),
        lambda: model.words_by_class(["a"] * 5, 0),
        lambda: metrics.relevance(model, np.ones(3) / 3, weight=2.0),
    ):
        with pytest.raises(ValueError):
            ask()


def test_words_of_all_topics_are_told_from_a_topics_own():
    """By hand: half of the tokens are of the first topic, which shares its words; the third has its own."""
    topics = np.array([[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    shares = np.array([0.5, 0.25, 0.25])
    expected = [np.log(0.5 / 0.375) / np.log(2), np.log(0.5 / 0.375) / np.log(4), 1.0]
    np.testing.assert_allclose(ownness(topics, shares, 2), expected)
    np.testing.assert_allclose(ownness(topics, shares, 4), expected)  # words that a topic never uses are not its own
    np.testing.assert_allclose(ownness(np.full((2, 4), 0.25), np.ones(2), 3), 0.0, atol=1e-12)
    np.testing.assert_array_equal(ownness(np.full((1, 4), 0.25), np.ones(1), 2), 1.0)  # there is no other


def test_what_labels_moved_is_said(tmp_path):
    """Words a, b, c, d and e, f, g, h are topics of all documents; a number leans on a and e alone."""
    rng = np.random.default_rng(0)
    shares = rng.random((400, 1))
    topics = np.repeat(np.hstack([shares, 1 - shares]) / 4, 4, axis=1)
    counts = np.stack([rng.multinomial(40, row) for row in topics])
    y = counts[:, 0] - counts[:, 4] + rng.normal(size=400)
    model = SLDARegressor(2, cross_fit=0, supervision=30).fit(counts, y)
    said, stayed = model.topic_info().moved, model.fitted_.stayed
    assert said.tolist() == [("as in LDA" if s >= 0.9 else "moved" if s >= 0.5 else "new") for s in stayed]
    still = SLDARegressor(2, cross_fit=0, supervision=0).fit(counts, y)
    assert still.topic_info().moved.tolist() == ["as in LDA"] * 2 and (still.fitted_.stayed > stayed).all()
    model.save(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(load(tmp_path / "m.supertopic").fitted_.stayed, stayed)
    printed = run("topics", tmp_path / "m.supertopic")
    assert all(
        f"{one[0].upper()}{one[1:]}: {', '.join(map(str, own.index))}." in printed.stdout
        for one, own in said.groupby(said)
    )
    listed = json.loads(run("topics", tmp_path / "m.supertopic", "--json").stdout)
    assert [topic["moved"] for topic in listed] == said.tolist() and {topic["remark"] for topic in listed} == {""}
    assert "moved" not in LDA(2, max_iter=2).fit(counts).topic_info()
