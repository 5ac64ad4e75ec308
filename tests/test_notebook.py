"""Models and results in a notebook: words whole, coefficients with errors, pictures, nothing executed; `topic_info`."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from supertopic import HTMM, LDA, MedLDAClassifier, MedLDAClassifierCV, SAGEClassifier, SLDAClassifier, SLDARegressor
from supertopic.datasets import simulate
from supertopic.html_tables import TopicFrame, dots_svg, frame_html, number, shown
from supertopic.metrics import HeldOut, align_topics, coherence, exclusivity, frex
from supertopic.selection import TopicSelection

pytestmark = pytest.mark.filterwarnings("ignore:n_topics=.* is less than the .* classes:UserWarning")
LONG = "a" * 30
HOSTILE = ["<script>alert(1)</script>", "</td></table>", "'\"onload=x", "שלום", "a\x00b\u2028c", LONG, "ok", "more"]


class Page(HTMLParser):
    """Tags and the text of each cell."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.rows, self.depth = [], [], []
        self.feed(text)
        self.close()
        assert not self.depth, f"not closed: {self.depth}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("line", "circle", "rect", "polyline"):
            self.depth.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag not in ("line", "circle", "rect", "polyline"):
            assert self.depth.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        if "td" in self.depth or "th" in self.depth:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def data():
    return simulate(n_documents=200, n_topics=4, n_words=40, response="softmax", n_classes=5)


@pytest.fixture(scope="module")
def classes(data):
    names = np.array(["a", "b", "<i>", "d", "e"])[data.y]
    return SLDAClassifier(4, max_iter=4, cross_fit=0).fit(data.counts, names)


@pytest.fixture(scope="module")
def numbers(data):
    y = pd.Series(data.doc_topic @ [1.0, 2.0, 3.0, -4.0], name="stars")
    return SLDARegressor(4, max_iter=4, cross_fit=0).fit(data.counts, y)


def test_before_a_fit_the_diagram_of_scikit_learn_stays():
    assert "sk-container" in LDA(2)._repr_html_() and "sk-container" in MedLDAClassifierCV()._repr_html_()


def test_a_row_per_topic_with_effects_and_all_words(numbers):
    page = Page(numbers._repr_html_())
    head, *rows = page.rows
    assert head == ["topic", "share", "effect", "90 % interval", "words"]
    effect, shares = numbers.effects().set_index("topic")["effect"], numbers.fitted_.average_shares
    order = effect.index
    assert [int(row[0]) for row in rows] == order.tolist()
    words = numbers.top_words(10).groupby("topic")["word"].agg(", ".join)
    for row, k in zip(rows, order, strict=True):
        assert row[1].startswith(f"{100 * shares[k]:.1f} %")
        assert float(row[2].replace("−", "-")) == pytest.approx(effect[k], rel=0.06)
        assert row[4] == words[k] and len(row[4]) > 50  # not cut, as pandas would
    assert page.tags.count("svg") == 2 * len(rows)
    assert "SLDARegressor(cross_fit=0" in numbers._repr_html_() and "response gaussian of" in numbers._repr_html_()


def test_five_classes_show_their_effects(classes):
    page = Page(classes._repr_html_())
    assert page.rows[0][2:7] == ["effect <i>", "effect a", "effect b", "effect d", "effect e"]
    table = classes.effects().pivot(index="class", columns="topic", values="effect").loc[list(classes.classes_)]
    for row in page.rows[1:]:
        k = int(row[0])
        found = [float(cell.removesuffix(" pp").replace("−", "-")) for cell in row[2:7]]
        np.testing.assert_allclose(found, table[k], atol=0.06)
    assert "i" not in page.tags and page.tags.count("circle") == 5 * 4


def test_hostile_words_are_shown_and_never_run(data):
    counts = sp.csr_matrix(data.counts.counts[:, :8])
    frame = pd.DataFrame(counts.toarray(), columns=HOSTILE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LDA(2, max_iter=2).fit(frame)
    for text in (model._repr_html_(), model.topics()._repr_html_(), model.topic_info()._repr_html_()):
        page = Page(text)
        assert "script" not in page.tags and "\x00" not in text and "\u2028" not in text
        cells = " ".join(cell for row in page.rows for cell in row)
        assert "<script>alert(1)</script>" in cells and "</td></table>" in cells and LONG in cells and "שלום" in cells
    assert len(shown("x" * 1_000_000)) < 250
    assert "bdi" in Page(model._repr_html_()).tags


def test_pictures_place_dots_by_value():
    text = dots_svg(np.array([1.0, -2.0, 0.0]), np.array([[0.5, -3.0, -1.0], [1.5, 1.0, 1.0]]), np.full(3, 2.0), 100)
    circles = [float(x) for x in re.findall(r"<circle cx='([\d.]+)'", text)]
    assert circles == pytest.approx([50 + 23, 150 - 46, 250], abs=0.06)
    lines = re.findall(r"<line x1='([\d.]+)' x2='([\d.]+)' y1='8'", text)
    assert [float(x) for x in lines[0]] == pytest.approx([50 + 11.5, 50 + 34.5], abs=0.06)
    assert float(lines[1][0]) == pytest.approx(150 - 46, abs=0.06)  # cut at the end of its lane
    fills = re.findall(r"fill='(#\w+|none)' stroke='(#\w+)'", text)
    assert fills == [("#0072B2", "#0072B2"), ("#8a8a8a", "#8a8a8a"), ("none", "#8a8a8a")]


def test_numbers_have_the_digits_that_matter():
    assert [number(x) for x in (3, 1234, -0.12345, 12.34, 1234.5, np.nan, 1e-9, 0.0)] == [
        "3", "1,234", "−0.123", "12.3", "1,234", "–", "1e−09", "0.00"
    ]  # fmt: skip
    rows = Page(frame_html(pd.DataFrame({"a": [0.5, -12.0], "b": ["x", "y"], "c": [1, 2]}))).rows
    assert rows == [["", "a", "b", "c"], ["0", "0.5", "x", "1"], ["1", "−12.0", "y", "2"]]
    assert "… 20 more rows" in frame_html(pd.DataFrame({"a": range(120)}))


# --- topic_info -------------------------------------------------------------------------------------------------


def test_topic_info_has_all_that_is_known_of_a_topic(numbers, classes, data):
    found = numbers.topic_info(data.counts, n=5)
    known = ["coherence", "exclusivity", "concentration", "remark", "words", "frex"]
    assert list(found.columns) == ["share", "coef", "coef_std", *known[:3], "moved", *known[3:]]
    assert found.index.tolist() == [0, 1, 2, 3] and found.index.name == "topic"
    np.testing.assert_allclose(found["share"], numbers.doc_topic_.mean(axis=0), rtol=1e-5)
    table = numbers.coefficients_
    np.testing.assert_allclose(found["coef"], table.coef[0])
    np.testing.assert_allclose(found["coef_std"], table.std[0])
    np.testing.assert_allclose(found["coherence"], coherence(numbers, data.counts, top_n=5))
    np.testing.assert_allclose(found["exclusivity"], exclusivity(numbers, top_n=5))
    assert found["words"].tolist() == numbers.top_words(5).groupby("topic")["word"].agg(", ".join).tolist()
    order = np.argsort(-frex(numbers, 0.5), axis=1, kind="stable")[:, :5]
    assert found["frex"].tolist() == [", ".join(row) for row in numbers.feature_names_in_[order]]
    pd.testing.assert_frame_equal(numbers.topic_info(n=5), found)  # the documents of the fit, where none are given
    names = list(classes.topic_info().columns)
    assert names[1:5] == ["coef <i>", "coef_std <i>", "coef a", "coef_std a"]
    assert list(LDA(2, max_iter=2).fit(data.counts).topic_info().columns) == ["share", *known]
    with pytest.raises(ValueError, match="n: got 0, expected a whole number >= 1"):
        numbers.topic_info(n=0)


def test_frames_of_topics_stay_frames_with_words_whole(numbers):
    found = numbers.topics(10)
    assert isinstance(found, TopicFrame) and isinstance(found.sort_values("share"), TopicFrame)
    assert found["words"].iloc[0] in re.sub("<.*?>", "", found.head(2)._repr_html_())
    assert type(found["words"]) is pd.Series and found.to_csv().startswith("topic,share")


# --- other results ----------------------------------------------------------------------------------------------


def test_a_selection_shows_its_curve_and_its_choice():
    table = pd.DataFrame({"coherence": [0.1, 0.3], "coherence_se": [0.01, np.nan]}, pd.Index([5, 10], name="n_topics"))
    text = TopicSelection(table, 10, "coherence")._repr_html_()
    page = Page(text)
    assert page.rows[2] == ["10", "0.300", "–"] and "polyline" in page.tags
    assert text.count("font-weight:bold") == 3  # the cells of the chosen row


def test_metrics_show_themselves(numbers, classes):
    rows = Page(HeldOut(np.array([-20.0, -40.0]), np.array([10, 10]))._repr_html_()).rows
    assert rows[0] == ["documents", "scored tokens", "nats per token", "perplexity"]
    assert rows[1] == ["2", "20", "3.00", "20.1"]
    found = align_topics(numbers, classes)
    rows = Page(found._repr_html_()).rows
    assert [int(row[1]) for row in rows[1:]] == found.order.tolist()


def test_every_kind_of_model_has_a_view(data):
    labels = np.where(data.y > 1, "x", "y")
    search = MedLDAClassifierCV(MedLDAClassifier(3, max_iter=2), Cs=[1.0], costs=[16.0], cv=2).fit(data.counts, labels)
    page = Page(search._repr_html_())
    assert page.rows[0][1:] == ["C", "cost", "score", "score_se"] and ["topic", "share"] in [r[:2] for r in page.rows]
    assert repr(search.plot).startswith("plots of MedLDAClassifier")
    assert "effects on <bdi>y</bdi>" in search._repr_html_()
    page = Page(SAGEClassifier().fit(data.counts, labels)._repr_html_())
    assert [row[1] for row in page.rows[1:]] == ["x", "y"]
    text = ["one two. three four.", "two three. one four."] * 4
    assert Page(HTMM(2, max_iter=2).fit(text)._repr_html_()).rows[0] == ["topic", "share", "words"]
