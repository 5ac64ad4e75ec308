"""Words on the page: those that predict beside topics, those of a topic beside the corpus, deviations of classes."""

import numpy as np
import pytest

from supertopic.inference.after.words import word_features
from tests.page_models import fitted, labels, reviews


@pytest.fixture
def opened(watched, tmp_path):
    """A function (kind, column, view) -> the page of a model on the documents of its fit."""

    def make(kind, column, view="topics"):
        frame = reviews()
        file = tmp_path / f"{kind}.html"
        fitted(kind).report(file, frame["text"].tolist(), labels(frame, column))
        return watched.open(file, view)

    return make


def test_words_beside_topics_have_a_view_of_their_own(opened):
    page, model, texts = opened("words", "rating"), fitted("words"), reviews()["text"].tolist()
    found = page.evaluate("supertopic.data.effects.words[0]")
    counts = model.fitted_.corpus(texts).counts
    features = word_features(counts, model.fitted_.words.scale).toarray()
    for v, value, n in found:
        holds = features[:, v] > 0
        assert n == holds.sum() and value == pytest.approx(np.ravel(model.word_coef_)[v] * features[holds, v].mean())
    in_all = [value * n for _, value, n in found]
    assert in_all == sorted(in_all, reverse=True)
    values = [value for _, value, _ in found]
    assert max(values) > 0 > min(values)
    shown = page.locator("[data-figure=word_effects] g > text:first-child").all_text_contents()
    v, _, n = found[0]
    assert shown[0] == f"{model.feature_names_in_[v]} ({n})" and len(shown) == len(found)


def test_models_without_words_of_their_own_have_no_such_view(opened):
    assert opened("gaussian", "rating").locator("[data-figure=word_effects]").count() == 0


def test_cards_show_words_beside_an_average_document(opened):
    page = opened("gaussian", "rating", "topics/0")
    bars = page.locator("[data-figure=topic_0_words] rect")
    assert page.locator("[data-figure=topic_0_words] rect.usual").count() == 15 and bars.count() == 30
    assert "Grey: on average" in page.inner_text(".card")


def test_topics_that_are_classes_are_called_so(opened):
    page = opened("sage_classes", "verdict", "topics/0")
    card = page.inner_text(".card")
    assert "Class 0" in card and "Topic 0" not in card
    assert "nearly those of" not in card and "hardly used" not in card
    assert page.locator(".card button[aria-pressed=true]").inner_text() == "Deviations"
    assert "takes from" in card and page.input_value(".card-head input") == "bad"
    assert "λ = 0.6 weighs relevance: near 1 frequent words" in card
    page.locator(".card input[type=range]").fill("0.2")
    page.wait_for_selector(".card button[aria-pressed=true]:text-is('Relevant')")
    assert "λ = 0.2" in page.inner_text(".card") and "takes from" not in page.inner_text(".card")


def test_cards_say_what_labels_made_of_a_topic(opened):
    page, info = opened("pc", "rating", "topics/0"), fitted("pc").topic_info()
    assert page.evaluate("supertopic.data.topics.map(t => t.moved)") == info["moved"].tolist()
    common = info["remark"].str.contains("words of all topics").tolist()
    assert page.evaluate("supertopic.data.topics.map(t => t.common)") == common
    assert {"new": "New:", "moved": "Moved:", "as in LDA": "As in LDA:"}[info["moved"][0]] in page.inner_text(".card")
    page.evaluate("supertopic.data.topics[1].common = true, location.hash = '#topics/1'")
    page.wait_for_selector(".card h2:text-is('Topic 1')")
    assert "words of all topics" in page.inner_text(".card .flag")
