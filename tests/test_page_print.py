"""What a browser prints is looked at as a reader would: the text of the PDF, and the colours on its sheets."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from tests.cases import cases
from tests.page_models import KINDS, fitted, labels, reviews

UP, DOWN, ACCENT = (33, 102, 172), (179, 88, 6), (31, 90, 166)  # of the light theme


@pytest.fixture
def printed(watched, tmp_path):
    """A function (kind, view, dark) -> (the page after printing, text of the PDF, colours of its sheets (N, 3))."""
    for tool in ("pdftotext", "pdftoppm"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs a browser: no {tool} on the path")

    def make(kind, view="", dark=False):
        frame, file, pdf = reviews(), tmp_path / f"{kind}.html", tmp_path / f"{kind}.pdf"
        fitted(kind).report(file, frame["text"].tolist(), labels(frame, KINDS[kind][1]), metadata=frame[["year"]])
        page = watched.open(file, view)
        if dark:
            page.click("#theme")
        page.wait_for_timeout(150)  # figures follow the width of their places
        before = page.inner_html("body")
        page.pdf(path=pdf, format="A4", print_background=True)
        page.wait_for_timeout(150)
        assert page.inner_html("body") == before
        text = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, check=True).stdout.decode()
        subprocess.run(["pdftoppm", "-r", "60", pdf, tmp_path / "sheet"], check=True)
        return page, text, np.vstack([pixels(sheet) for sheet in sorted(tmp_path.glob("sheet*.ppm"))])

    return make


def pixels(file):
    """(N, 3) the colours of a binary PPM."""
    data = file.read_bytes()
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    return np.frombuffer(data[head.end() :], dtype=np.uint8).reshape(-1, 3).astype(int)


def share(colors, wanted):
    """The share of the sheets that has a colour."""
    return (np.abs(colors - wanted).max(axis=1) < 40).mean()


@pytest.mark.parametrize("dark", [False, True])
def test_the_first_view_is_printed_as_a_report(printed, dark):
    page, text, colors = printed("gaussian", dark=dark)
    effects = fitted("gaussian").effects().set_index("topic")["effect"]
    for side, k in (("Higher", effects.idxmax()), ("Lower", effects.idxmin())):
        assert f"{side} rating goes with {fitted('gaussian').top_words(1)['word'][k]}" in text
    axis, fit = text.index("Effects of the topics"), text.index("In numbers")
    assert axis < fit
    model = fitted("gaussian")
    for k in range(4):  # each topic: a row of the axis, a card with its words as bars
        assert re.search(rf"^ *{k} +\w+, \w+", text[axis:fit], re.MULTILINE), k
        assert f"Topic {k}" in text[axis:fit]
        for word in model.top_words(3).loc[lambda words, k=k: words["topic"] == k, "word"]:
            assert len(re.findall(rf"\b{word}\b", text[axis:fit])) >= 1, word
    assert "mean absolute error" in text[fit:] and re.search(r"R² +mean", text[fit:])
    assert "Documents" not in text.splitlines()[2] and "CSV" not in text and "Give it a name" not in text
    assert share(colors, (255, 255, 255)) > 0.5 and share(colors, (20, 24, 29)) < 0.01  # light, whatever the screen
    assert share(colors, UP) > 1e-4 and share(colors, DOWN) > 1e-4 and share(colors, ACCENT) > 1e-3
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else None)


@pytest.mark.parametrize("kind", cases(["softmax", "lda", "several"], ["softmax"]))
def test_other_models_are_printed_with_their_figures(printed, kind):
    _, text, _ = printed(kind)
    heads = {"softmax": "Topics and classes", "lda": "Topics by their share", "several": "Effects of the topics"}
    assert heads[kind] in text
    assert text.count("Most typical documents") == 4
    assert (kind == "lda") == ("In numbers" not in text)
    assert kind == "lda" or "Look at" in text


def test_another_view_is_printed_as_it_is_shown(printed):
    page, text, _ = printed("gaussian", "documents/3")
    assert page.inner_text("#document-title") in text and "Effects of the topics" not in text
    waterfall = text[text.index("From an average document") :]
    bars = page.locator("figure[data-figure='document_3_waterfall'] svg text").all_text_contents()
    assert len(bars) > 8 and all(one.split()[-1] in waterfall for one in bars if one.strip())
