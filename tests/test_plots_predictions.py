"""Plots of predictions, classes, traces and maps: what is drawn, where, and what adds up."""

import re

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from supertopic import LDA, GeoSAGE, Gibbs, SLDAClassifier, SLDARegressor, SSTMRegressor, TopicModel
from supertopic.datasets import simulate
from supertopic.explore import (
    plot_calibration,
    plot_class_profiles,
    plot_map,
    plot_residuals,
    plot_select,
    plot_trace,
)
from supertopic.explore.plots.class_profiles import groups
from supertopic.explore.plots.residuals import like_order
from supertopic.metrics import topic_distance
from supertopic.selection import TopicSelection
from tests.plot_tools import assert_readable, at_rows, texts, written

pytestmark = pytest.mark.filterwarnings("ignore:n_topics=.* is less than the .* classes:UserWarning")
LABELS = np.array(["business and economy", "sport", "politics", "entertainment", "science"])


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    return simulate(n_documents=500, n_topics=20, n_words=200, response="softmax", n_classes=5)


@pytest.fixture(scope="module")
def labels(data):
    return LABELS[data.y]


@pytest.fixture(scope="module")
def stars(data):
    return data.doc_topic @ np.linspace(-5, 5, 20) + np.random.default_rng(0).normal(size=500)


@pytest.fixture(scope="module")
def classes(data, labels):
    return SLDAClassifier(20, max_iter=5, cross_fit=0).fit(data.counts, labels)


@pytest.fixture(scope="module")
def numbers(data, stars):
    return SLDARegressor(20, inference="vb", max_iter=5, cross_fit=0).fit(data.counts, stars)


# --- classes ----------------------------------------------------------------------------------------------------


def cells(ax):
    """The numbers written in cells, by (column, row from above)."""
    n_rows = round(ax.get_ylim()[1] + 0.5)
    return {
        (round(x), n_rows - 1 - round(y)): int(text.get_text())
        for text in texts(ax)
        for x, y in [text.get_position()]
        if text.get_text().isdigit() and text.get_ha() == "center"
    }


def test_profiles_are_the_mean_shares_of_classes(classes, labels):
    ax = plot_class_profiles(classes, labels)
    names = [text.get_text() for text in texts(ax) if text.get_rotation() == 45]
    assert names == ["business and econ…", "entertainment", "politics", "science", "sport"]
    means = np.array([classes.doc_topic_[labels == label].mean(axis=0) for label in np.sort(LABELS)])
    shown, rows = cells(ax), at_rows(ax)
    order = [int(next(t for t in rows[19 - row][5:] if t.isdigit())) for row in range(20)]
    assert sorted(order) == list(range(20))
    for row, k in enumerate(order):
        assert [shown[c, row] for c in range(5)] == [round(100 * value) for value in means[:, k]]
    best = (means - means.mean(axis=0)).argmax(axis=0)[order]
    assert (np.diff(best) >= 0).all()
    colours = ax.collections[0].get_array()
    np.testing.assert_allclose(colours, means.T[order][::-1], rtol=1e-6)
    assert_readable(ax)


def test_numbers_are_cut_into_bins_of_equally_many_documents(numbers, data, stars):
    ax = plot_class_profiles(numbers, stars, data.counts, n_bins=4)
    assert len([text for text in texts(ax) if text.get_rotation() == 45]) == 4
    names, member = groups(np.array([*stars, None], dtype=object), 4)
    assert member[-1] == -1 and np.bincount(member[:-1]).tolist() == [125] * 4
    assert names[0].startswith(f"{stars.min():.3g} to ")
    assert groups(np.array([1, 5, 3, 3], dtype=object), 5)[0] == ["1", "3", "5"]
    assert groups(np.array(["b", None, "a"], dtype=object), 5)[1].tolist() == [1, -1, 0]


def test_an_ordered_categorical_keeps_its_order(data, stars):
    y = pd.Series(pd.cut(stars, 3, labels=["low", "middle", "high"]))
    model = SLDAClassifier(4, max_iter=2, cross_fit=0, response="ordinal").fit(data.counts, y)
    names = [text.get_text() for text in texts(plot_class_profiles(model, y)) if text.get_rotation() == 45]
    assert names == ["low", "middle", "high"]
    assert [t.get_text() for t in plot_map(model, y=y).get_legend().get_texts()] == names
    title = plot_residuals(model, data.counts, y).get_title(loc="left")
    assert title == f"{100 * model.score(data.counts, y):.0f} % right of 500"


# --- calibration ------------------------------------------------------------------------------------------------


def curves(ax):
    return [
        (np.asarray(c.lines[0].get_xdata()), np.asarray(c.lines[0].get_ydata()), c.get_label()) for c in ax.containers
    ]


def test_probabilities_are_compared_with_shares_of_classes(classes, data, labels):
    ax = plot_calibration(classes, data.counts, labels)
    found = curves(ax)
    assert [name for _, _, name in found] == ["business and econ…", "entertainment", "politics", "science", "sport"]
    chance = classes.predict_proba(data.counts)
    for c, (x, y, _) in enumerate(found):
        parts = np.array_split(np.argsort(chance[:, c], kind="stable"), 8)
        np.testing.assert_allclose(x, [chance[part, c].mean() for part in parts])
        np.testing.assert_allclose(y, [(labels[part] == classes.classes_[c]).mean() for part in parts])
    assert ax.get_xlim() == (-0.02, 1.02)
    assert_readable(ax)


def test_two_classes_have_one_curve_of_the_second(data, stars):
    good = np.where(stars > 0, "yes", "no").astype(object)
    good[::7] = None
    model = SLDAClassifier(5, max_iter=3, cross_fit=0).fit(data.counts, good)
    ax = plot_calibration(model, data.counts, good)
    ((x, y, _),) = curves(ax)
    known = good != None  # noqa: E711
    assert y.mean() == pytest.approx((good[known] == "yes").mean(), abs=0.01) and len(x) == 8
    assert ax.get_xlabel() == "predicted probability of yes" and ax.get_legend() is None


def test_intervals_are_compared_with_their_coverage(numbers, data, stars):
    ax = plot_calibration(numbers, data.counts, stars)
    ((x, y, _),) = curves(ax)
    for level in (0.5, 0.9):
        _, low, high = numbers.predict(data.counts, return_interval=level)
        place = int(np.argmin(np.abs(x - level)))
        assert x[place] == level and y[place] == pytest.approx(((low <= stars) & (stars <= high)).mean())
    assert_readable(ax)


# --- residuals --------------------------------------------------------------------------------------------------


def test_residuals_stand_above_their_predictions(numbers, data, stars):
    y = stars.copy()
    y[:10] = np.nan
    ax = plot_residuals(numbers, data.counts, y)
    places = np.asarray(ax.collections[0].get_offsets())
    guess = numbers.predict(data.counts)[10:]
    np.testing.assert_allclose(places, np.column_stack([guess, stars[10:] - guess]), rtol=1e-6)
    line = ax.containers[0].lines[0]
    parts = np.array_split(np.argsort(guess, kind="stable"), 10)
    np.testing.assert_allclose(line.get_ydata(), [(stars[10:] - guess)[part].mean() for part in parts])
    assert_readable(ax)


def test_classes_have_a_confusion_matrix(classes, data, labels):
    from sklearn.metrics import confusion_matrix

    ax = plot_residuals(classes, data.counts, labels)
    drawn = [text.get_text() for text in ax.get_xticklabels()]
    order = [next(name for name in classes.classes_ if str(name).startswith(one.rstrip("…"))) for one in drawn]
    expected = confusion_matrix(labels, classes.predict(data.counts), labels=order)
    found = np.zeros((5, 5))
    for text in texts(ax):
        column, row = text.get_position()
        found[int(row), int(column)] = int(text.get_text())
    share = 100 * expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, share, atol=0.5)
    totals = [f"{name} ({total})" for name, total in zip(drawn, expected.sum(axis=1), strict=True)]
    assert [text.get_text() for text in ax.get_yticklabels()] == totals
    assert ax.yaxis_inverted()
    assert ax.get_title(loc="left") == f"{100 * np.trace(expected) / 500:.0f} % right of 500"
    assert_readable(ax)


def test_classes_that_are_confused_stand_side_by_side():
    counts = np.diag([90, 80, 70, 60, 50])
    counts[0, 3] = counts[3, 1] = counts[1, 4] = counts[4, 2] = 20
    assert like_order(counts).tolist() == [0, 3, 1, 4, 2]


def test_letters_in_files_are_type_42(classes, data, labels, tmp_path):
    plot_residuals(classes, data.counts, labels).figure.savefig(tmp_path / "a.pdf")
    assert b"/FontType 42" in (tmp_path / "a.pdf").read_bytes() or b"/CIDFontType2" in (tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()
    with plt.rc_context({"pdf.fonttype": 3}):  # what users chose since stays
        plot_residuals(classes, data.counts, labels)
        assert plt.rcParams["pdf.fonttype"] == 3


@pytest.mark.parametrize(("n_classes", "width"), [(5, 3.3), (20, 7.0)])
def test_figures_are_as_wide_as_a_column_or_a_page(n_classes, width):
    found = simulate(n_documents=300, n_topics=6, n_words=60, response="softmax", n_classes=n_classes)
    names = np.array([f"class {c}" for c in range(n_classes)])[found.y]
    model = SLDAClassifier(6, inference="vb", max_iter=2, cross_fit=0).fit(found.counts.counts, names)
    for ax in (model.plot.class_profiles(names), model.plot.residuals(found.counts.counts, names), model.plot.topics()):
        assert ax.figure.get_size_inches()[0] == pytest.approx(width)
        assert_readable(ax, 3.5)


def test_one_of_several_responses_is_drawn(data, stars, labels):
    y = pd.DataFrame({"stars": stars, "kind": labels})
    model = TopicModel(4, max_iter=2, cross_fit=0).fit(data.counts, y)
    ax = plot_residuals(model, data.counts, y, target="stars")
    guess = model.predict(data.counts)["stars"].to_numpy()
    np.testing.assert_allclose(np.asarray(ax.collections[0].get_offsets())[:, 1], stars - guess, rtol=1e-6)
    assert ax.get_xlabel() == "prediction of stars"
    assert plot_residuals(model, data.counts, labels, target="kind").get_xlabel().startswith("predicted")
    assert len(curves(plot_calibration(model, data.counts, y, target="kind"))) == 5
    refused("target: got None, expected one of 'stars', 'kind'", plot_residuals, model, data.counts, y)
    two = SLDARegressor(4, max_iter=2, cross_fit=0).fit(data.counts, pd.DataFrame({"a": stars, "b": -stars}))
    ax = plot_residuals(two, data.counts, np.column_stack([stars, -stars]), target="b")
    np.testing.assert_allclose(
        np.asarray(ax.collections[0].get_offsets())[:, 1], -stars - two.predict(data.counts)[:, 1], rtol=1e-6
    )


# --- traces -----------------------------------------------------------------------------------------------------


def test_the_bound_by_step(numbers):
    ax = plot_trace(numbers)
    (line,) = ax.lines
    assert line.get_xdata().tolist() == list(range(1, numbers.n_iter_ + 1))
    np.testing.assert_array_equal(line.get_ydata(), numbers.bound_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "bound per token")


def test_draws_of_chains(data, stars):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SSTMRegressor(6, max_iter=40, inference=Gibbs(n_chains=2)).fit(data.counts, stars)
    ax = plot_trace(model, "coef")
    draws = model.draws_["coef"][:, 0, :6]
    half = len(draws) // 2
    solid = {tuple(line.get_ydata()) for line in ax.lines if line.get_linestyle() == "-"}
    dashed = {tuple(line.get_ydata()) for line in ax.lines if line.get_linestyle() == "--"}
    assert solid == {tuple(column) for column in draws[:half].T} and dashed == {tuple(c) for c in draws[half:].T}
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    mean = draws.mean(axis=0)
    largest = sorted(np.argsort(-np.abs(mean))[:5], key=lambda k: -mean[k])
    assert named == [f"topic {k}" for k in largest]
    joint = plot_trace(model)
    assert joint.get_xlabel() == "sweep" and joint.lines[0].get_xdata().tolist() == [10, 20, 30, 40]
    assert "burn-in ends" in written(joint) and joint.lines[1].get_xdata()[0] == 20
    refused("what: got 'luck', expected one of 'bound', ", plot_trace, model, "luck")


# --- maps -------------------------------------------------------------------------------------------------------


def test_topics_lie_where_classical_scaling_puts_them(numbers):
    ax = plot_map(numbers)
    places = np.asarray(ax.collections[0].get_offsets())
    distance = topic_distance(numbers, numbers)
    centre = np.eye(20) - 1 / 20
    gram = -0.5 * centre @ distance**2 @ centre
    values, vectors = np.linalg.eigh(gram)
    best = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    np.testing.assert_allclose(places @ places.T, best, atol=1e-8)
    kept = values[-2:].sum() / values[values > 0].sum()
    assert ax.get_title(loc="left") == f"{100 * kept:.0f} % of squared distances kept"
    area = ax.collections[0].get_sizes()
    assert np.argmax(area) == numbers.doc_topic_.mean(axis=0).argmax()
    assert sorted(int(text.split()[0]) for text in written(ax) if " " in text) == list(range(20))
    inside = [text for text in texts(ax) if text.get_text().isdigit()]
    assert len(inside) > 5
    for text in inside:
        np.testing.assert_allclose(text.get_position(), places[int(text.get_text())])
    assert_readable(ax)


def test_documents_lie_among_their_topics(classes, labels):
    ax = plot_map(classes, y=labels)
    circles = next(c for c in ax.collections if len(c.get_sizes()) == 20)
    places = np.asarray(circles.get_offsets())
    dots = {c.get_label(): np.asarray(c.get_offsets()) for c in ax.collections if c is not circles}
    for label in LABELS:
        expected = classes.doc_topic_[labels == label].astype(float) @ places
        np.testing.assert_allclose(dots[label], expected, rtol=1e-5, atol=1e-8)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["business and ec…", "entertainment", "politics", "science", "sport"]
    assert_readable(ax)
    colour = {c.get_label(): c.get_facecolor()[0, :3] for c in ax.collections if c is not circles}
    best = classes.classes_[np.asarray(classes.coef_).argmax(axis=0)]
    for k, label in enumerate(best):  # a topic has the colour of its class's documents
        np.testing.assert_allclose(circles.get_facecolors()[k, :3], colour[label])
    alone = plot_map(classes)
    np.testing.assert_allclose(alone.collections[0].get_facecolors(), circles.get_facecolors())
    assert [text.get_text() for text in alone.get_legend().get_texts()] == shown
    other = plot_map(classes, y=np.where(labels == "sport", "yes", "no"))  # colours of other labels leave topics grey
    assert len(np.unique(other.collections[-1].get_facecolors(), axis=0)) == 1
    x, y = ax.get_xlim(), ax.get_ylim()
    box = ax.get_window_extent()
    assert (x[1] - x[0]) / box.width == pytest.approx((y[1] - y[0]) / box.height)  # equal units


def test_twenty_classes_fit(data):
    y = np.array([f"newsgroup.of.subject.{k:02d}" for k in range(20)])[np.argmax(data.doc_topic, axis=1)]
    model = SLDAClassifier(20, max_iter=2, cross_fit=0).fit(data.counts, y)
    for ax in (
        model.plot.topics(),
        model.plot.class_profiles(y),
        model.plot.residuals(data.counts, y),
        model.plot.map(y=y),
        model.plot.calibration(data.counts, y),
        model.plot.document(data.counts[0]),
    ):
        assert_readable(ax)
        assert ax.figure.get_size_inches()[0] < 10
    shown = [text.get_text() for text in texts(model.plot.topics()) if text.get_rotation() == 45]
    assert shown[:2] == ["newsgrou…ubject.00", "newsgrou…ubject.01"]  # what tells them apart stays


# --- selections, refusals ---------------------------------------------------------------------------------------


def selection():
    columns = {}
    for name in ("prediction", "nats_per_token", "coherence", "stability"):
        columns |= {name: [0.1, 0.3, 0.2], f"{name}_se": [0.01, 0.02, 0.03]}
    return TopicSelection(pd.DataFrame(columns, pd.Index([5, 10, 20], name="n_topics")), 10, "prediction", "R²")


def test_four_measures_two_by_two():
    axes = plot_select(selection())
    assert axes.shape == (2, 2) and axes[0, 0].figure.get_size_inches()[0] == pytest.approx(3.3)
    titles = [ax.get_title(loc="left") for ax in axes.ravel()]
    assert titles == ["R² ↑", "held-out nats per token ↓", "NPMI coherence ↑", "stability over seeds ↑"]
    assert axes[0, 0].title.get_fontweight() != "bold" and axes[0, 0]._left_title.get_fontweight() == "bold"
    bars = axes[0, 1].containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], [[0.09, 0.11], [0.28, 0.32], [0.17, 0.23]])
    for ax in axes.ravel():
        assert_readable(ax)
    own = plt.subplots(2, 2)[1]
    assert (plot_select(selection(), ax=own) == own).all()
    refused("ax: got ndarray, expected 4 matplotlib Axes", plot_select, selection(), ax=own[0], kind=TypeError)
    refused("selection: got int, expected what select_topics returns", plot_select, 3, kind=TypeError)


def refused(message, function, *args, kind=ValueError, **kwargs):
    with pytest.raises(kind, match=re.escape(message)):
        function(*args, **kwargs)


def test_nonsense_is_refused_in_a_sentence(numbers, classes, data, stars, labels):
    few = "y: got 3 values, expected one for each of the 500 documents"
    refused(few, plot_class_profiles, classes, labels[:3])
    refused(few, plot_residuals, numbers, data.counts, stars[:3])
    refused(few, plot_map, classes, y=labels[:3])
    refused("X: got None, expected the documents of y", plot_calibration, numbers, None, stars)
    refused("y: got None, expected one value for each document", plot_residuals, numbers, data.counts, None)
    refused("y is missing for every document", plot_residuals, numbers, data.counts, np.full(500, np.nan))
    refused("y is missing for every document", plot_class_profiles, numbers, [None] * 500)
    refused("y: got shape (500, 2), expected one value", plot_class_profiles, numbers, np.zeros((500, 2)))
    refused("y: got the class 'war', which is none of the 5", plot_residuals, classes, data.counts, ["war"] * 500)
    refused("y: got 'sport', expected numbers", plot_residuals, numbers, data.counts, ["sport"] * 500)
    refused("target: got 'a', but the model has one response", plot_residuals, numbers, data.counts, stars, target="a")
    refused("ax: got list, expected a matplotlib Axes", plot_trace, numbers, ax=[1], kind=TypeError)
    lda = LDA(3, max_iter=2).fit(data.counts)
    refused("model: got LDA, which predicts no y", plot_calibration, lda, data.counts, labels)
    del lda.doc_topic_
    refused("X: got None, but the model keeps no shares of its training documents", plot_class_profiles, lda, labels)
    where = np.random.default_rng(0).normal([40, 10], size=(500, 2))
    geo = GeoSAGE(2, n_regions=2, max_iter=1).fit(data.counts, where)
    refused("model: got GeoSAGE, which predicts no y", plot_residuals, geo, data.counts, stars)
