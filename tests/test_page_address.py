"""The address of the page holds what is chosen; a phone shows what is tapped; one search finds everything."""

import numpy as np
import pytest

from tests.page_models import fitted, reviews

CARD = "document.getElementById('card').getBoundingClientRect()"


def address(page):
    return page.evaluate("location.hash")


def test_each_choice_changes_the_address(pages, watched):
    page = watched.open(pages("softmax"), "topics/2")
    assert address(page) == "#topics/2"
    page.click(".card button:text-is('Exclusive')")
    page.click("#theme")
    assert address(page) == "#topics/2?theme=dark&words=frex"
    page.click("#tabs a:text-is('Documents')")
    page.select_option("#filter-truth", label="good")
    page.fill(".filters input[type=search]", "war")
    page.wait_for_function("() => location.hash.includes('text=war')")
    assert address(page).startswith("#documents/") and "truth=2" in address(page) and "topic=2" in address(page)
    page.click("#tabs a:text-is('Groups')")
    page.select_option("#view-groups select >> nth=0", label="year")
    assert "by=m0" in address(page)
    page.click("#tabs a:text-is('Map')")
    page.select_option("#view-map select", label="year")
    assert "colour=m0" in address(page)


def test_a_link_shows_what_was_chosen(pages, watched):
    page = watched.open(pages("softmax"), "documents/7?theme=dark&truth=2&text=war&words=frex&colour=m0")
    assert page.input_value("#filter-truth") == "2" and page.input_value(".filters input[type=search]") == "war"
    assert page.inner_text("#document-title") == "Document 7"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.click("#tabs a:text-is('Topics')")
    assert page.get_attribute(".card .switch button:text-is('Exclusive')", "aria-pressed") == "true"
    page.click("#tabs a:text-is('Map')")
    assert page.input_value("#view-map select") == "m0"
    page.evaluate("location.hash = '#documents/3?truth=0'")
    page.wait_for_function("() => document.getElementById('filter-truth').value === '0'")
    assert page.input_value(".filters input[type=search]") == ""


@pytest.mark.parametrize(
    "view",
    ["topics/999?class=77", "fit?class=x&theme=pink", "groups?by=m99", "map?colour=zz", "%E0%A4%A?&&=", "text?has=-1"],
)
def test_an_address_that_says_nothing_is_passed_over(view, pages, watched):
    page = watched.open(pages("softmax"), view)
    assert page.locator("main .view:visible").count() == 1
    assert len(page.inner_text("main")) > 40


def test_a_tapped_topic_opens_its_card_on_a_phone(pages, watched):
    watched.page.set_viewport_size({"width": 390, "height": 700})
    page = watched.open(pages("gaussian"))
    assert page.evaluate(f"{CARD}.top > innerHeight")
    page.emulate_media(reduced_motion="reduce")
    page.click(".axis-place .row >> nth=1")
    page.wait_for_function(f"() => {CARD}.top >= 0 && {CARD}.top < innerHeight / 2")
    page.evaluate("scrollTo(0, 0)")
    page.click(".lead .link >> nth=0")
    page.wait_for_function(f"() => {CARD}.top >= 0 && {CARD}.top < innerHeight / 2")


def test_the_active_tab_is_in_view_on_a_phone(pages, watched):
    watched.page.set_viewport_size({"width": 320, "height": 700})
    page = watched.open(pages("gaussian"), "checks")
    place = page.evaluate(
        "(b => [b.left, b.right])(document.querySelector('#tabs a[aria-current]').getBoundingClientRect())"
    )
    assert place[0] >= 0 and place[1] <= 320


def test_documents_open_at_the_worst_error_and_a_text_is_there_to_try(pages, watched):
    model, frame = fitted("gaussian"), reviews()
    page = watched.open(pages("gaussian"), "documents")
    worst = int(np.argmax(np.abs(model.predict(frame["text"].tolist()) - frame["rating"])))
    assert page.inner_text("#document-title") == f"Document {worst}"
    page.click("#tabs a:text-is('Try a text')")
    assert page.input_value("#typed") == frame["text"][worst]
    assert "Predicted rating" in page.inner_text("#view-text")


def test_one_search_finds_topics_words_and_documents(pages, watched):
    page, frame = watched.open(pages("softmax")), reviews()
    page.fill(".search input", "wedd")
    page.wait_for_selector(".found:visible")
    assert "Word wedding →" in page.inner_text(".found")
    n = int(frame["text"].str.lower().str.contains("wedd").sum())
    page.click(f".found button:text-is('All {n} documents')")
    page.wait_for_function(f"() => document.querySelector('.count').textContent.includes('of {n} that match')")
    assert page.locator(".found").is_hidden()
    page.fill(".search input", "wedd")
    page.click(".found p:has-text('Word') .link")
    page.wait_for_selector("#view-topics:visible")
    weights = np.asarray(fitted("softmax").components_)
    word = list(fitted("softmax").feature_names_in_).index("wedding")
    shares = np.asarray(fitted("softmax").doc_topic_).mean(axis=0)
    assert page.inner_text(".card h2") == f"Topic {np.argmax(weights[:, word] * shares)}"
    page.fill(".search input", "qqqq")
    page.wait_for_function("() => document.querySelector('.found').textContent.includes('Nothing')")
    page.keyboard.press("Escape")
    assert page.locator(".found").is_hidden()
