"""The views of the page: each opens and links to others, works by keyboard, on a phone and in the dark, and exports."""

import json
import re
from importlib import resources

import numpy as np
import pytest

from supertopic import LDA, SAGETopics
from supertopic.explore.page.write import SCRIPTS, asset
from tests.cases import cases
from tests.page_models import KINDS, fitted, labels, reviews, scores_of_texts

VIEWS = ("topics", "documents/3", "text", "groups", "fit", "map", "checks")


OPENED = ["gaussian", "softmax", "hinge", "sstm", "several", "sage_classes", "lda"]


@pytest.mark.parametrize("kind", cases(OPENED, ["gaussian", "softmax", "several", "lda"]))
def test_every_view_opens(kind, pages, watched):
    page = watched.open(pages(kind))
    for view in VIEWS:
        page.goto(pages(kind).as_uri() + f"#{view}")
        page.wait_for_selector(f"#view-{view.split('/')[0]}:visible")
        page.wait_for_timeout(60)
        assert len(page.inner_text("main")) > 40, view
        assert "NaN" not in page.inner_text("main"), view
        assert "undefined" not in page.inner_text("main"), view
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


def test_topics_stand_in_the_order_of_their_effects(pages, watched):
    """The first sentences name the topics with the largest clear effects, and the axis is in their order."""
    model = fitted("gaussian")
    page = watched.open(pages("gaussian"))
    shown = [
        int(k) for k in page.evaluate("[...document.querySelectorAll('.axis-place .row')].map(r => r.dataset.topic)")
    ]
    assert shown == model.effects()["topic"].tolist()
    page.click(".lead .link >> nth=0")
    assert page.inner_text(".card h2") == f"Topic {shown[0]}"
    page.focus(".axis-place .row[aria-pressed=true]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".card h2") == f"Topic {shown[2]}"
    page.keyboard.press("Home")
    assert page.inner_text(".card h2") == f"Topic {shown[0]}"


def test_grades_are_wrong_by_their_distance(pages, watched):
    model, frame = fitted("ordinal"), reviews()
    page = watched.open(pages("ordinal"))
    shown = page.evaluate("[...document.querySelectorAll('.worst a')].map(a => a.innerText.split('\\n')[0])")
    chances, truth = model.predict_proba(frame["text"].tolist()), np.searchsorted(model.classes_, frame["stars"])
    off = (chances * np.abs(np.arange(chances.shape[1]) - truth[:, None])).sum(axis=1)
    assert shown == [f"Document {d}" for d in np.argsort(-off, kind="stable")[:6]]


def test_from_the_worst_prediction_to_its_reasons(pages, watched):
    model, frame = fitted("gaussian"), reviews()
    page = watched.open(pages("gaussian"))
    page.click(".worst a >> nth=0")
    page.wait_for_selector("#document-title")
    worst = int(np.argmax(np.abs(model.predict(frame["text"].tolist()) - frame["rating"])))
    assert page.inner_text("#document-title") == f"Document {worst}"
    text = page.inner_text("#document")
    assert re.search(r"the prediction is [\d.]+ too (high|low)", text)
    assert "Points upwards:" in text or "Points downwards:" in text
    page.wait_for_selector(f"[data-figure=document_{worst}_waterfall] svg")
    assert page.locator("#document mark").count() > 5
    page.click("#document .switch button:text-is('Topic')")
    assert page.locator("#document .by-topic mark").count() > 5


def test_a_wrong_class_is_explained_against_the_true_one(pages, watched):
    model, frame = fitted("softmax"), reviews()
    page = watched.open(pages("softmax"))
    page.click(".worst a >> nth=0")
    page.wait_for_selector("#document-title")
    d = int(page.inner_text("#document-title").split()[1])
    predicted, true = model.predict([frame["text"][d]])[0], frame["verdict"][d]
    assert predicted != true
    text = page.inner_text("#document")
    assert f"Why {predicted} and not {true}?" in text and f"For {predicted}:" in text
    assert f"From an average document to this one: {predicted}" in text
    places = [list(model.classes_).index(label) for label in (predicted, true)]
    shares = scores_of_texts(model, [frame["text"][d]]).mean_topics[0]
    best = int(np.argmax(shares * (model.coef_[places[0]] - model.coef_[places[1]])))
    page.click("#document .reason:has-text('Why') .link >> nth=0")
    assert page.inner_text(".card h2") == f"Topic {best}"
    page.go_back()
    page.select_option("#document select", label=true)
    page.wait_for_function(f"() => document.querySelector('#document').innerText.includes('to this one: {true}')")


def test_cards_say_what_the_prediction_changes_by(pages, watched):
    """In units of y, as a ratio, or in percentage points; the numbers are those of `effects`."""
    for kind, form in (("gaussian", "{:.2g}"), ("gamma", "× {:.3g}"), ("logit", "{:.1f} pp")):
        found = fitted(kind).effects().set_index("topic").loc[1]
        shown = watched.open(pages(kind), "topics/1").inner_text(".card").replace("−", "")
        assert form.format(abs(found["effect"])) in shown, kind
        assert "90 % interval" in shown.replace("\u00a0", " ")


def test_classes_stand_beside_all_topics(pages, watched):
    """Home is a matrix: its dots are the clear effects, and a class opens the axis of its own."""
    model = fitted("softmax")
    page = watched.open(pages("softmax"))
    table = model.effects()
    clear = table[
        ((table["lower"] > 0) | (table["upper"] < 0)) & (table["effect"].abs() > 0.02 * table["effect"].abs().max())
    ]
    drawn = page.evaluate(
        "[...document.querySelectorAll('.axis-place circle[data-class]')]"
        ".map(c => [+c.closest('.row').dataset.topic, +c.dataset.class, c.querySelector('title').textContent])"
    )
    names = list(model.classes_)
    assert {(k, names[c]) for k, c, _ in drawn} == set(zip(clear["topic"], clear["class"], strict=True))
    effect = table.set_index(["topic", "class"])["effect"]
    assert all(f"{abs(effect[k, names[c]]):.1f} pp" in said for k, c, said in drawn)
    page.click(".axis-place .head >> nth=1")
    assert "all=no" in page.url and "class=1" in page.url
    shown = page.evaluate("[...document.querySelectorAll('.axis-place .row')].map(r => +r.dataset.topic)")
    assert shown == table[table["class"] == names[1]]["topic"].tolist()


def test_a_posterior_is_shown_once(pages, watched):
    """The estimate of a topic lies within its interval, and nothing else is told of it."""
    page = watched.open(pages("sstm"))
    found = page.evaluate(
        "supertopic.data.topics.map((_, k) => { const a = supertopic.data.arrays;"
        " return [a.effect_low.data[k], a.effect.data[k], a.effect_high.data[k]]; })"
    )
    assert all(low <= value <= high for low, value, high in found)


def test_filters(pages, watched):
    model, frame = fitted("softmax"), reviews()
    page = watched.open(pages("softmax"), "documents")
    page.select_option("#filter-truth", label="good")
    page.select_option("#filter-decided", label="bad")
    wrong = int(((frame["verdict"] == "good") & (model.predict(frame["text"].tolist()) == "bad")).sum())
    page.wait_for_function(f"() => document.querySelector('.count').textContent.includes('of {wrong} that match')")
    page.select_option("#filter-truth", label="any")
    page.select_option("#filter-decided", label="any")
    page.fill(".filters input[type=search]", "WEDDING")
    wanted = int(frame["text"].str.lower().str.contains("wedding").sum())
    page.wait_for_function(f"() => document.querySelector('.count').textContent.includes('of {wanted} that match')")


def test_confusion_leads_to_documents(pages, watched):
    page = watched.open(pages("softmax"), "fit")
    page.wait_for_selector("[data-figure=confusion] .row")
    cell = page.locator("[data-figure=confusion] .row").nth(1)
    n = int(re.search(r"(\d+) documents", cell.get_attribute("aria-label")).group(1))
    cell.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#view-documents:not([hidden]) .count")
    assert f"of {n} that match" in page.inner_text(".count")


def test_measures_are_those_of_python(pages, watched):
    model, frame = fitted("gaussian"), reviews()
    page = watched.open(pages("gaussian"), "fit")
    shown = page.evaluate(
        "[...document.querySelectorAll('#view-fit .measure')].map(m => m.innerText.split('\\n').slice(0, 2))"
    )
    figures = dict(shown)
    assert float(figures["R²"]) == pytest.approx(model.score(frame["text"].tolist(), frame["rating"]), abs=1e-3)
    low, high = model.predict(frame["text"].tolist(), return_interval=0.9)[1:]
    inside = float(np.mean((frame["rating"] >= low) & (frame["rating"] <= high)))
    assert float(figures["coverage"].split()[0]) == pytest.approx(100 * inside, abs=0.1)
    assert "fitted to" in page.inner_text("#view-fit .flag")


def test_labels_are_kept_saved_and_read(pages, watched, tmp_path):
    page = watched.open(pages("gaussian"), "topics/1")
    page.fill(".card-head input", "Battles")
    page.keyboard.press("Enter")
    assert "Battles" in page.text_content(".axis-place svg")
    page.reload()
    page.wait_for_function("() => globalThis.supertopic !== undefined")
    assert page.input_value(".card-head input") == "Battles"
    page.goto(pages("gaussian").as_uri() + "#checks")
    with page.expect_download() as waiting:
        page.click("text=Save names")
    saved = tmp_path / "topic_labels.json"
    waiting.value.save_as(saved)
    assert json.loads(saved.read_text())["labels"] == {"1": "Battles"}
    assert fitted("gaussian").set_topic_labels(saved).topic_labels_ == [None, "Battles", None, None]
    fitted("gaussian").topic_labels_ = None
    saved.write_text(json.dumps({"labels": {"0": "Peace", "99": "nowhere"}}))
    page.set_input_files("input[type=file]", saved)
    page.click("nav a >> nth=0")
    page.wait_for_function("() => document.querySelector('.axis-place svg').textContent.includes('Peace')")


def test_order_of_words(pages, watched):
    page = watched.open(pages("sage"), "topics/0")
    model = fitted("sage")
    top = model.top_words(5).query("topic == 0")["word"].tolist()

    def shown():
        page.wait_for_timeout(80)
        return page.locator(".card [data-figure=topic_0_words] g > text:first-child").all_text_contents()

    page.click(".card button:text-is('Most probable')")
    assert shown()[:5] == top
    page.click(".card button:text-is('Relevant')")
    page.fill(".card input[type=range]", "1")
    assert shown()[:5] == top
    page.fill(".card input[type=range]", "0")
    weights = np.asarray(model.components_, dtype=float)
    mean = np.asarray(model.doc_topic_, dtype=float).mean(axis=0) @ weights
    assert shown()[0] == model.feature_names_in_[np.argmax(weights[0] / mean)]
    page.click(".card button:text-is('Deviations')")
    assert len(shown()) > 3
    page.click(".card button:text-is('Exclusive')")
    assert len(shown()) > 3


@pytest.mark.parametrize("view", VIEWS)
def test_exports(view, pages, watched):
    """Every view gives its table; every drawing itself."""
    page = watched.open(pages("gaussian"), view)
    if view == "text":
        page.fill("#typed", "A moving film about war")
    page.wait_for_timeout(250)
    section = f"#view-{view.split('/')[0]}"
    kinds = {}
    for kind in ("CSV", "SVG", "PNG"):
        buttons = page.locator(f"{section} button:text-is('{kind}'):visible")
        kinds[kind] = buttons.count()
        for i in {0, buttons.count() - 1} - {-1}:
            with page.expect_download() as waiting:
                buttons.nth(i).click()
            data = waiting.value.path().read_bytes()
            assert len(data) > 20
            if kind == "CSV":
                assert data.count(b"\r\n") >= 2
    assert kinds["CSV"] >= 1 and kinds["SVG"] == kinds["PNG"] >= 1


@pytest.mark.parametrize(("kind", "scheme", "width"), [("gaussian", "light", 1280), ("softmax", "dark", 390)])
def test_no_serious_violation_of_accessibility(kind, scheme, width, browser, tmp_path):
    from axe_playwright_python.sync_playwright import Axe

    frame, file = reviews()[:8], tmp_path / "report.html"  # axe takes long for long pages
    fitted(kind).report(file, frame["text"].tolist(), labels(frame, KINDS[kind][1]), metadata=frame[["year", "stars"]])
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_function("() => globalThis.supertopic !== undefined")
    for view in VIEWS:
        page.evaluate("view => { location.hash = view; }", view)
        page.wait_for_timeout(150)
        if view == "text":
            page.fill("#typed", "A moving film about a dull war")
            page.wait_for_timeout(250)
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        bad = [
            f"{view}: {one['id']} {one['nodes'][0]['html'][:160]} {one['nodes'][0]['failureSummary']}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert bad == []
    context.close()


def test_phone(pages, watched):
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    watched.open(pages("gaussian"))
    page.click(".worst a >> nth=0")
    page.wait_for_selector("#document-title")
    assert page.evaluate("document.querySelector('#document').getBoundingClientRect().top < innerHeight")
    assert page.evaluate("document.documentElement.scrollWidth <= 390")


def test_dark_can_be_chosen(pages, watched):
    page = watched.open(pages("gaussian"))
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_colours_of_topics_differ(pages, watched):
    """24 colours, apart for normal vision and for three kinds of colour blindness (Machado et al. 2009), in OKLab."""
    blind = [
        np.eye(3),
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
    cones = np.array(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]
    )  # fmt: skip
    lab = np.array(
        [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
         [0.0259040371, 0.7827717662, -0.8086757660]]
    )  # fmt: skip
    page = watched.open(pages("gaussian"))
    for _ in range(2):
        colors = page.evaluate("Array.from({length: 24}, (_, k) => supertopic.topicColor(k))")
        assert len(set(colors)) == 24
        rgb = np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        for matrix in blind:
            seen = np.cbrt(np.clip(linear @ np.array(matrix).T, 0, 1) @ cones.T) @ lab.T
            distance = np.linalg.norm(seen[:, None] - seen[None], axis=2) + np.eye(24)
            assert distance.min() > 0.05  # two colours side by side are told apart from 0.02 on
        page.click("#theme")


def test_models_without_a_response(watched, tmp_path):
    frame = reviews()
    for model in (LDA(3, max_iter=4), SAGETopics(3, max_iter=4)):
        file = tmp_path / "report.html"
        model.fit(frame["text"].tolist()).report(file, frame["text"].tolist(), frame["verdict"])
        page = watched.open(file, "groups")
        assert "verdict" in page.inner_text("#view-groups select >> nth=0")
        assert page.evaluate("text => supertopic.sharesOfText(text).length", "war and love") == 3


def test_scripts_are_in_order():
    """Our JavaScript: every file is used, lines are short, indented by two spaces, and nothing makes HTML of text."""
    folder = resources.files("supertopic.explore.page").joinpath("assets")
    names = (*SCRIPTS, "exported", "quiz")  # the last two belong to what else is written
    assert {path.name for path in folder.iterdir()} == {*(f"{name}.js" for name in names), "page.css", "page.html"}
    for name in names:
        text = asset(f"{name}.js")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\bvar ", text
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
        assert text.startswith("/* ") and text.endswith("\n") and "\t" not in text
        for number, line in enumerate(text.splitlines(), 1):
            assert len(line) <= 120 and line == line.rstrip(), f"{name}.js:{number}"
            indent = len(line) - len(line.lstrip(" "))
            assert indent % 2 == 0 or line.lstrip().startswith("*"), f"{name}.js:{number}"
