"""Text of strangers in every place of the page is shown and never executed."""

import numpy as np
import pandas as pd
import pytest

from supertopic import SLDAClassifier

ATTACKS = {
    "script": "<script>globalThis.owned = 1; alert(1)</script>",
    "closing": "</script><script>globalThis.owned = 1; alert(2)</script><!--",
    "image": "<img src=x onerror='globalThis.owned = 1; alert(3)'>",
    "quotes": "\"'`><svg onload=globalThis.owned=1> ${globalThis.owned=1} {{HASH}}",
    "link": "javascript:globalThis.owned=1",
    "rtl": "\u202egnorw si siht\u202c עברית العربية",
    "emoji": "👩‍👩‍👧‍👦🎬 e\u0301",
    "nul": "nul\x00 bell\x07 sep\u2028\u2029 end",
    "formula": "=HYPERLINK(1)",
}
HALF = "half \ud800 pair"  # pandas refuses it, lists do not
VIEWS = ("topics", "documents/0", "documents/3", "text", "groups", "fit", "map", "checks")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with an attack in each place: texts, words, classes, names, metadata, topic labels, title."""
    rng = np.random.default_rng(0)
    words = [*ATTACKS.values(), "w" * 1_000_000, *(f"plain{i}" for i in range(20))]
    counts = pd.DataFrame(rng.poisson(1.0, (60, len(words))), columns=words)
    classes = np.array([ATTACKS["script"], ATTACKS["closing"], ATTACKS["quotes"]])
    y = pd.Series(rng.choice(classes, 60), name=ATTACKS["image"])
    y[:3] = classes
    model = SLDAClassifier(3, cross_fit=0, max_iter=3).fit(counts, y)
    model.set_topic_labels([ATTACKS["closing"], ATTACKS["image"], ATTACKS["rtl"]])
    attacks = [*ATTACKS.values(), HALF]
    metadata = pd.DataFrame({text: [attacks[i % 8] for i in range(60)] for text in attacks[:4]})
    metadata[ATTACKS["nul"]] = rng.normal(size=60)
    texts = [attacks[i % len(attacks)] + " plain1 plain2 " + "z" * (50_000 if i == 3 else 3) for i in range(60)]
    names = [f"{attacks[i % len(attacks)]}.txt" for i in range(60)]
    file = tmp_path_factory.mktemp("page") / "re<b>port '\".html"
    model.report(file, counts, y, metadata=metadata, texts=texts, names=names, title=ATTACKS["closing"])
    return file


def owned(page):
    return page.evaluate("globalThis.owned !== undefined")


def test_nothing_is_executed(report, watched):
    page = watched.open(report)
    for view in VIEWS:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(report.as_uri() + f"#{view}")
        page.wait_for_timeout(150)
        assert not owned(page)
        assert page.evaluate("document.querySelectorAll('main img, main script, main b, main iframe').length") == 0
        page.set_viewport_size({"width": 390, "height": 800})
        page.wait_for_timeout(100)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 391, view  # a word of a million letters stays in its place


def test_texts_are_shown_as_they_are(report, watched):
    page = watched.open(report)
    assert page.title() == ATTACKS["closing"]
    assert page.inner_text("h1") == ATTACKS["closing"]
    assert page.input_value(".card-head input") in [ATTACKS["closing"], ATTACKS["image"], ATTACKS["rtl"]]
    page = watched.open(report, "documents/0")
    assert ATTACKS["script"] in page.inner_text("#document-title")
    assert page.inner_text("#document .text").startswith(ATTACKS["script"])
    assert ATTACKS["closing"] in page.inner_text("#document table.facts")
    page.goto(report.as_uri() + "#documents/2")
    page.wait_for_function("() => document.querySelector('#document-title').textContent.includes('onerror')")
    assert page.inner_text("#document .text").startswith(ATTACKS["image"])


def test_the_file_holds_no_text_of_the_data(report):
    page = report.read_text(encoding="utf-8")
    assert "globalThis.owned" not in page.replace("&lt;/script&gt;&lt;script&gt;globalThis.owned", "")
    assert page.count("<script") == 2 and page.count("</script") == 2


def test_typed_attacks_and_labels(report, watched):
    page = watched.open(report, "text")
    for attack in ATTACKS.values():
        page.fill("#typed", attack.replace("\x00", "") + " plain1 plain3")
        page.wait_for_timeout(200)
        assert page.locator(".result .answer").count() == 1
    assert not owned(page)
    page = watched.open(report, "topics")
    page.fill(".card-head input", ATTACKS["quotes"])
    page.keyboard.press("Enter")
    page.wait_for_timeout(100)
    assert page.input_value(".card-head input") == ATTACKS["quotes"]
    assert ATTACKS["quotes"][:40] in page.text_content("main")  # a long name is shortened where topics are listed
    assert not owned(page)


def test_files_out_of_the_page(report, watched):
    """Drawings of hostile words are valid XML, and pictures can be made of them."""
    page = watched.open(report, "topics")
    for kind, check in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"word,probability")):
        with page.expect_download() as waiting:
            page.click(f".card .figure .save button:text-is('{kind}')")
        data = waiting.value.path().read_bytes()
        assert data.startswith(check), kind
        if kind == "SVG":
            page.evaluate(
                "text => { const found = new DOMParser().parseFromString(text, 'image/svg+xml');"
                " if (found.querySelector('parsererror')) throw new Error('no valid XML'); }",
                data.decode(),
            )
