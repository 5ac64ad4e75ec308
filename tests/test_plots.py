"""Plots of topics, words, deviations and documents: what is drawn, where, in which order; `model.plot`."""

import inspect
import re
import sys
from copy import copy

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from supertopic import (
    LDA,
    FacetedSAGE,
    MedLDAClassifier,
    SAGEClassifier,
    SAGETopics,
    SLDAClassifier,
    SLDARegressor,
    SSTMRegressor,
    TopicModel,
    explore,
)
from supertopic.datasets import simulate
from supertopic.emissions.sage import unpack
from supertopic.explore import (
    plot_deviations,
    plot_document,
    plot_topics,
    plot_variation,
    plot_words,
    variation_by_decile,
)
from supertopic.fitted.predict import scores_of
from tests.plot_tools import assert_readable, at_rows, texts, written
from tests.test_faceted import FRAME, TEXTS
from tests.test_facets import simulate as simulate_facets


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    return simulate(n_documents=300, n_topics=6, n_words=60, response="gaussian", dispersion=0.3)


@pytest.fixture(scope="module")
def numbers(data):
    return SLDARegressor(6, inference="vb", max_iter=10, cross_fit=0, random_state=1).fit(
        data.counts, pd.Series(data.y, name="stars")
    )


@pytest.fixture(scope="module")
def many():
    """Twenty topics with long words, five classes with long names."""
    found = simulate(n_documents=400, n_topics=20, n_words=200, response="softmax", n_classes=5)
    words = np.array([f"internationalisation$word{v}" if v % 3 else f"w{v}" for v in range(200)], dtype=object)
    counts = pd.DataFrame.sparse.from_spmatrix(found.counts.counts, columns=words).sparse.to_dense()
    names = np.array(["business and economy", "sport", "politics", "entertainment", "science"])[found.y]
    return SLDAClassifier(20, max_iter=4, cross_fit=0).fit(counts, names), counts, names


@pytest.fixture(scope="module")
def faceted():
    return FacetedSAGE(2, facets=["party"], prior="exponential").fit(TEXTS, FRAME)


# --- topics -----------------------------------------------------------------------------------------------------


def dots(ax, number=0):
    """(n, 2) positions of a scatter."""
    found = [c for c in ax.collections if type(c).__name__ == "PathCollection"]
    return np.asarray(found[number].get_offsets())


def test_topics_stand_at_their_effects_with_their_intervals(numbers):
    ax = plot_topics(numbers)
    table = numbers.effects().set_index("topic")
    order, table = table.index, table.sort_index()
    places = dots(ax)
    np.testing.assert_allclose(places[:, 0], table["effect"], rtol=1e-6)
    assert places[order, 1].tolist() == [5, 4, 3, 2, 1, 0]  # the largest effect on top
    lines = np.array(next(c for c in ax.collections if type(c).__name__ == "LineCollection").get_segments())
    np.testing.assert_allclose(lines[:, :, 0], table[["lower", "upper"]], rtol=1e-6)
    rows = at_rows(ax)
    for k, row in enumerate(places[:, 1]):
        number, words = rows[round(row)]
        assert number == str(k)
        shown = words.split(", ")
        assert shown == list(numbers.top_words(10).query("topic == @k")["word"])[: len(shown)] and len(shown) >= 3
    assert "effect on stars" in written(ax)
    assert ax.figure.get_size_inches()[0] == pytest.approx(3.3)
    ticks = ax.get_xticks()
    assert 0 in ticks and abs(ticks).max() <= 1.6 * table["effect"].abs().max()
    assert_readable(ax)


def test_the_average_document_is_the_origin(numbers, data):
    table, shares = numbers.coefficients_, numbers.fitted_.average_shares
    assert table.coef[0] @ shares == pytest.approx(0, abs=0.05)
    assert table.intercept[0] == pytest.approx(numbers.predict(data.counts).mean(), abs=0.05)


def test_areas_are_shares_and_intervals_that_hold_zero_are_grey(numbers):
    ax = plot_topics(numbers, probability=0.5)
    points = next(c for c in ax.collections if type(c).__name__ == "PathCollection")
    shares = numbers.fitted_.average_shares
    np.testing.assert_array_equal(np.argsort(points.get_sizes()), np.argsort(shares))
    table = numbers.effects(probability=0.5).sort_values("topic")
    grey = matplotlib.colors.to_rgba("#767676")
    given = (table[name] for name in ("lower", "upper", "effect"))
    for colour, a, b, value in zip(points.get_edgecolors(), *given, strict=True):
        expected = grey if a < 0 < b else matplotlib.colors.to_rgba("#0072B2" if value > 0 else "#D55E00")
        np.testing.assert_allclose(colour, expected)


def test_twenty_topics_and_five_classes_fit(many):
    model, _, _ = many
    ax = plot_topics(model)
    assert_readable(ax)
    assert ax.figure.get_size_inches()[0] == pytest.approx(3.3)
    names = [text.get_text() for text in texts(ax) if text.get_rotation() == 45]
    assert names == ["business and econ…", "entertainment", "politics", "science", "sport"]
    coef = model.effects().pivot(index="class", columns="topic", values="effect").loc[list(model.classes_)].to_numpy()
    places = np.array([dots(ax, c)[:, 0] for c in range(5)])
    step = np.diff(places - coef, axis=0)
    np.testing.assert_allclose(step, step[0, 0], rtol=1e-6)  # lanes are equally wide, in one unit
    best = coef.argmax(axis=0)[np.argsort(-dots(ax)[:, 1])]
    assert (np.diff(best) >= 0).all()  # topics stand in the order of the classes
    alone = plot_topics(model, target="sport")
    np.testing.assert_allclose(dots(alone)[:, 0], coef[4], rtol=1e-5)
    assert "effect on sport" in written(alone)
    dollars = [text for text in written(alone) if "$" in text]
    assert dollars and not any(re.search(r"(?<!\\)\$", text) for text in dollars)  # a dollar sign begins no formula


def test_topics_within_small_axes_keep_apart(numbers):
    _, (left, right) = plt.subplots(1, 2, figsize=(6, 0.8))
    assert plot_topics(numbers, ax=left) is left
    assert plot_words(numbers, topics=[0, 1], n=3, ax=right) is right
    for ax in (left, right):
        rows = np.array([text.get_window_extent().y0 for text in texts(ax)])
        heights = np.diff(np.unique(np.round(rows)))
        assert heights[heights > 1].min() * 72 / 100 > 0.7 * texts(ax)[0].get_fontsize()
        assert texts(ax)[0].get_fontsize() < 7


def test_exact_zeros_are_rings_and_posterior_intervals_are_drawn(data):
    model = SLDARegressor(6, coef_prior="laplace", coef_scale=0.02, max_iter=10, cross_fit=0).fit(data.counts, data.y)
    points = next(c for c in plot_topics(model).collections if type(c).__name__ == "PathCollection")
    hollow = (points.get_facecolors() == 1).all(axis=1)
    np.testing.assert_array_equal(hollow, model.coef_ == 0)
    assert hollow.any()
    model = SSTMRegressor(6, max_iter=20, max_nonzero=2).fit(data.counts, data.y)
    ax, found = plot_topics(model), model.effects().sort_values("topic")
    lines = np.array(next(c for c in ax.collections if type(c).__name__ == "LineCollection").get_segments())
    reach = ax.spines["bottom"].get_bounds()[1]
    np.testing.assert_allclose(lines[:, :, 0], np.clip(found[["lower", "upper"]], -reach, reach), rtol=1e-6)
    narrow = model.effects(probability=0.5).sort_values("topic")
    assert (narrow["upper"] - narrow["lower"] <= found["upper"] - found["lower"]).all()


# --- words ------------------------------------------------------------------------------------------------------


def test_words_have_bars_of_their_probabilities(numbers):
    ax = plot_words(numbers, topics=[4, 1], n=3)
    top = numbers.top_words(3)
    expected = pd.concat([top[top.topic == 4], top[top.topic == 1]])
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], expected["probability"], rtol=1e-6)
    share = numbers.fitted_.average_shares
    assert [text for text in written(ax) if text.startswith("topic")] == [
        f"topic {k} · {100 * share[k]:.0f} %" for k in (4, 1)
    ]
    assert [text for text in written(ax) if text in set(numbers.feature_names_in_)] == list(expected["word"])
    largest = expected["probability"].max()
    assert written(ax)[-1] == f"bars: probability, the longest {100 * largest:.1f} %"
    assert_readable(ax)


def test_frex_words_are_frequent_and_exclusive(numbers):
    from scipy.stats import rankdata

    ax = plot_words(numbers, topics=2, n=4, by="frex")
    phi = numbers.components_.astype(float)
    frequent = rankdata(phi[2], method="max") / 60
    exclusive = rankdata(phi[2] / phi.sum(axis=0), method="max") / 60
    order = np.argsort(-1 / (0.5 / frequent + 0.5 / exclusive), kind="stable")[:4]
    shown = [text for text in written(ax) if text in set(numbers.feature_names_in_)]
    assert shown == list(numbers.feature_names_in_[order])


def test_twenty_topics_of_long_words_fit(many):
    ax = plot_words(many[0])
    assert_readable(ax)
    assert ax.figure.get_size_inches()[1] < 9  # a page
    assert sum(text.startswith("topic ") for text in written(ax)) == 20


# --- deviations -------------------------------------------------------------------------------------------------


def blocks(ax):
    """{title: {word: length of its bar}}"""
    found, names = {}, written(ax)
    for container in ax.containers:
        title = container.get_label()
        start = names.index(title) - len(container)
        found[title] = {
            word: bar.get_width() for word, bar in zip(names[start : start + len(container)], container, strict=True)
        }
    return found


def test_a_block_for_every_component_of_a_topic(faceted):
    ax = plot_deviations(faceted, topic=1, n=6)
    found = blocks(ax)
    assert list(found) == ["background", "topic 1", "left", "right", "topic 1 × left", "topic 1 × right"]
    words, frame = list(faceted.feature_names_in_), faceted.deviations_["party"]["left"]
    shown = found["left"]
    assert 0 < len(shown) <= 6 and min(shown.values()) < 0 < max(shown.values())
    for word, length in shown.items():
        assert length == pytest.approx(frame[word])
    change = np.abs(np.exp(faceted.background_) * np.expm1(frame.to_numpy()))
    assert set(shown) == {words[w] for w in np.argsort(-change, kind="stable")[:6] if frame.iloc[w] != 0}
    lengths = np.array(list(found["background"].values()))
    expected = np.sort(np.exp(faceted.background_))[::-1][:6]
    np.testing.assert_allclose(lengths / lengths[0], expected / expected[0])
    assert_readable(ax)
    assert f"topic {faceted.doc_topic_.mean(axis=0).argmax()}" in blocks(plot_deviations(faceted))


def test_topics_and_classes_have_blocks_too():
    labels = FRAME["party"].to_numpy()
    classes = SAGEClassifier(prior="exponential").fit(TEXTS, labels)
    assert list(blocks(plot_deviations(classes))) == ["background", "left", "right"]
    model = SAGETopics(3, max_iter=3).fit(TEXTS)
    ax = plot_deviations(model, topic=2)
    assert list(blocks(ax)) == ["background", "topic 2"]


def test_variation_by_frequency():
    counts, _, _, _ = simulate_facets(n_documents=200)
    sage, lda = SAGETopics(3, max_iter=10).fit(counts), LDA(3, max_iter=10).fit(counts)
    found = variation_by_decile(sage, counts)
    assert list(found.index) == list(range(1, 11)) and found.sum() == pytest.approx(1)
    order = np.argsort(np.asarray(counts.sum(axis=0)).ravel(), kind="stable")
    variation = np.abs(unpack(sage.fitted_.state.word_topic)[0]).sum(axis=1)
    assert found[1] == pytest.approx(variation[order[:15]].sum() / variation.sum())
    logs = np.log(lda.components_)
    variation = np.abs(logs - logs.mean(axis=0)).sum(axis=0)
    assert variation_by_decile(lda, counts)[10] == pytest.approx(
        variation[order[-15:]].sum() / variation.sum(), rel=1e-4
    )
    ax = plot_variation({"SAGE": sage, "LDA": lda}, counts)
    assert [bar.get_height() for bar in ax.patches[:10]] == pytest.approx(list(found))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["SAGE", "LDA"]
    with pytest.raises(ValueError, match="n_bins: got 0, expected a whole number >= 1"):
        variation_by_decile(lda, counts, 0)


# --- documents --------------------------------------------------------------------------------------------------


def waterfall(ax):
    """(first, bars as (start, width), last) in data units."""
    marks = next(line for line in ax.lines if line.get_marker() == "D").get_xdata()
    return marks[0], [(bar.get_x(), bar.get_width()) for bar in ax.patches], marks[1]


def assert_adds_up(ax, total):
    first, bars, last = waterfall(ax)
    place = first
    for start, width in bars:
        assert start == pytest.approx(place, abs=1e-9)
        place += width
    assert place == pytest.approx(last, abs=1e-6) and last == pytest.approx(total, abs=2e-3)
    return first, bars


@pytest.mark.parametrize("by", ["topics", "words"])
def test_bars_add_up_from_the_average_document_to_the_prediction(numbers, data, by):
    doc = data.counts[7]
    ax = plot_document(numbers, doc, by=by, n=3)
    first, bars = assert_adds_up(ax, numbers.predict(doc)[0])
    assert first == pytest.approx(numbers.coefficients_.intercept[0])
    assert len(bars) == 4
    sizes = np.abs([width for _, width in bars[:3]])
    assert (np.diff(sizes) <= 0).all()  # the largest first
    rows = at_rows(ax)
    assert rows[5][0] == "average document" and rows[0][0] == "this document"
    assert re.match(r"\d+ other (topics|words)", rows[1][0])
    assert float(rows[0][1].replace("−", "-")) == pytest.approx(numbers.predict(doc)[0], abs=0.06)
    shown = [float(rows[row][1].replace("−", "-")) for row in (4, 3, 2)]
    np.testing.assert_allclose(shown, [width for _, width in bars[:3]], atol=0.06)
    assert_readable(ax)


def test_a_class_is_explained_by_its_own_predictor(many):
    model, counts, _ = many
    doc = counts.iloc[[3]]
    score = scores_of(model.fitted_, model.fitted_.corpus(doc), np.zeros((1, 0))).score[0]
    ax = plot_document(model, doc)
    assert "linear predictor of " + str(model.classes_[score.argmax()])[:5] in ax.get_xlabel()
    # softmax's scores are known but for a constant
    ends = [waterfall(plot_document(model, doc, target=name))[2] for name in ("science", "sport")]
    assert ends[0] - ends[1] == pytest.approx(score[3] - score[4], abs=2e-3)
    assert_adds_up(plot_document(model, doc, target="science"), ends[0])
    assert_readable(ax)


def test_words_and_covariates_have_bars(data):
    extra = np.column_stack([np.arange(300.0), data.y])
    model = SLDARegressor(4, max_iter=4, cross_fit=0).fit(data.counts, data.y, covariates=extra)
    doc, own = data.counts[5], extra[[5]]
    ax = plot_document(model, doc, covariates=own)
    assert_adds_up(ax, model.predict(doc, covariates=own)[0])
    shown = {row[0]: float(row[1].replace("−", "-")) for row in at_rows(ax).values()}
    added = np.asarray(model.covariate_coef_)[0] * (own[0] - model.covariate_mean_)
    assert shown["covariate x0"] == pytest.approx(added[0], abs=0.06)
    assert shown["covariate x1"] == pytest.approx(added[1], abs=0.06)
    model = SLDARegressor(4, max_iter=4, words=True).fit(data.counts, data.y)
    for by in ("topics", "words"):
        ax = plot_document(model, doc, by=by)
        assert_adds_up(ax, model.predict(doc)[0])
        assert ("words themselves" in [row[0] for row in at_rows(ax).values()]) == (by == "topics")


def test_an_ensemble_adds_up_too(data):
    model = SLDARegressor(4, max_iter=3, cross_fit=0, ensemble=2).fit(data.counts, data.y)
    for by in ("topics", "words"):
        ax = plot_document(model, data.counts[5], by=by)
        assert_adds_up(ax, model.predict(data.counts[5])[0])
        assert "other fits of the ensemble" in [row[0] for row in at_rows(ax).values()]


def test_a_margin_is_explained_too(data):
    model = MedLDAClassifier(4, max_iter=4).fit(data.counts, np.where(data.y > 0, "good", "bad"))
    ax = plot_document(model, data.counts[2])
    assert_adds_up(ax, model.decision_function(data.counts[2])[0])
    assert ax.get_xlabel() == "linear predictor of good"


# --- refusals, and the accessor ---------------------------------------------------------------------------------


def refused(message, function, *args, kind=ValueError, **kwargs):
    with pytest.raises(kind, match=re.escape(message)):
        function(*args, **kwargs)


def test_nonsense_is_refused_in_a_sentence(numbers, faceted, many, data):
    lda = LDA(2, max_iter=2).fit(TEXTS)
    refused("model: got LDA, which has no coefficients (plot_words shows its words)", plot_topics, lda)
    refused("model: got LDA, which has no coefficients; expected one that has", plot_document, lda, "a")
    refused("model: got LDA, expected a SAGE model, which has deviations", plot_deviations, lda)
    refused("ax: got int, expected a matplotlib Axes", plot_topics, numbers, ax=3, kind=TypeError)
    refused("ax: got Figure, expected a matplotlib Axes", plot_words, numbers, ax=plt.figure(), kind=TypeError)
    refused("model: got int, expected a fitted supertopic model for plot_topics", plot_topics, 3, kind=TypeError)
    refused("target: got 'war', expected 'business and economy' or", plot_topics, many[0], target="war")
    refused("n: got 0, expected a whole number >= 1", plot_topics, numbers, n=0)
    refused("by: got 'luck', expected 'probability' or 'frex'", plot_words, numbers, by="luck")
    refused("topics: got 6, expected whole numbers from 0 to 5", plot_words, numbers, topics=[0, 6])
    refused("topics: got an empty list", plot_words, numbers, topics=[])
    refused("probability: got 1.5, expected a number between 0 and 1", plot_topics, numbers, probability=1.5)
    refused("topic: got 2, expected a whole number from 0 to 1", plot_deviations, faceted, topic=2)
    refused("topic: got -1, expected a whole number from 0 to 1", plot_deviations, faceted, topic=-1)
    refused("doc: got 2 documents, expected one", plot_document, numbers, data.counts[:2])
    refused("by: got 'letters', expected 'topics' or 'words'", plot_document, numbers, data.counts[0], by="letters")
    refused("models: got SLDARegressor, expected a dict", plot_variation, numbers, data.counts, kind=TypeError)


def test_a_model_that_is_not_fitted_says_so():
    from sklearn.exceptions import NotFittedError

    refused("not fitted yet", plot_topics, SLDARegressor(3), kind=NotFittedError)


def test_plots_are_methods_of_models(numbers, data):
    ax = numbers.plot.topics(n=2)
    np.testing.assert_allclose(dots(ax), dots(plot_topics(numbers, n=2)))
    functions = {name for name in explore.__all__ if name.startswith("plot_")}
    others = {"plot_select", "plot_variation", "plot_topic_effects", "plot_topic_curves"}  # take something else
    assert {f"plot_{name}" for name in dir(numbers.plot)} == functions - others
    assert "model" not in inspect.signature(numbers.plot.document).parameters
    assert "average document" in numbers.plot.document.__doc__
    assert repr(numbers.plot).startswith("plots of SLDARegressor: ") and "topics" in repr(numbers.plot)
    refused("plot has no 'pie'; expected one of calibration, ", getattr, numbers.plot, "pie", kind=AttributeError)


def test_labels_that_the_user_gave_stand_before_words(numbers, data):
    given = copy(numbers)
    given.topic_labels_ = ["$pace <b>", None, "war", "", "a very long label that does not fit beside anything", "x"]
    lines = {row[0]: row[1] for row in at_rows(given.plot.topics()).values()}
    assert (
        lines["2"].startswith("war: word") and lines["1"].startswith("word") and lines["0"].startswith(r"\$pace <b>: ")
    )
    titles = [container.get_label() for container in given.plot.words().containers]
    names = [r"\$pace <b>", "topic 1", "war", "topic 3", "a very long lab…", "x"]
    assert [title.split(" · ")[0] for title in titles] == names
    assert any(text.startswith("a very long") for text in written(given.plot.words()))
    assert "2 war" in written(given.plot.map())
    assert any(line.startswith("war · ") for line in written(given.plot.document(data.counts[3])))
    for ax in (given.plot.topics(), given.plot.words(), given.plot.map(), given.plot.class_profiles(data.y)):
        assert_readable(ax)
    assert given.topic_info()["label"].tolist()[:3] == ["$pace <b>", "", "war"]
    assert "$pace &lt;b&gt;" in given._repr_html_()


def test_several_responses_have_lanes_of_their_own_unit(data):
    y = pd.DataFrame({"stars": 100 * data.y, "good": np.where(data.y > 0, "yes", "no")})
    model = TopicModel(3, max_iter=3, cross_fit=0).fit(data.counts, y)
    ax = model.plot.topics()
    assert [text.get_text() for text in texts(ax) if text.get_rotation() == 45] == ["stars", "good"]
    lanes = [text.get_text() for text in texts(ax) if text.get_text().startswith("±")]
    assert len(set(lanes)) == 2
    refused("target: got None, expected 'stars' or 'good'", plot_document, model, data.counts[0])


def test_matplotlib_is_needed_only_to_draw(numbers, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.setitem(sys.modules, name, None)
    refused("plots need matplotlib: pip install 'supertopic[plots]'", plot_topics, numbers)
    refused("plots need matplotlib: pip install 'supertopic[plots]'", numbers.plot.words)
