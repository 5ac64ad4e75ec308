"""The page of a large model is small enough, opens fast enough, and still predicts what Python predicts.

`python -m tests.test_page_sizes` prints how long it takes to open, by the clock. The test counts what the page's own
thread computes, since other tests run beside it.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import VB, SLDARegressor
from supertopic.documents.corpus import Corpus
from tests.browser import Watched, start_browser

pytestmark = pytest.mark.slow


def large(n_documents, n_words, n_topics, length):
    """(model, corpus, texts, y): words as frequent as in language, topics of one step of EM."""
    rng = np.random.default_rng(0)
    parts = [a + b for a in "ktmrslpdwv" for b in ("a", "o")]
    words = np.array(
        [f"{a}{b}{c}{d}" for a in parts for b in parts for c in parts for d in parts[:3]][:n_words], dtype=object
    )
    chances = np.cumsum(1 / np.arange(1, n_words + 1))
    drawn = np.searchsorted(chances, rng.uniform(0, chances[-1], (n_documents, length)))
    rows = np.repeat(np.arange(n_documents), length)
    counts = sp.csr_matrix((np.ones(drawn.size, dtype=np.float32), (rows, drawn.ravel())), shape=(n_documents, n_words))
    counts.sum_duplicates()
    corpus, y = Corpus(counts, words), rng.normal(size=n_documents)
    model = SLDARegressor(n_topics, cross_fit=0, refit=False, max_iter=1, inference=VB(init="uniform", max_doc_iter=2))
    model.fit(corpus[:400], y[:400])
    return model, corpus, [" ".join(words[row]) for row in drawn], y


def seconds_of_work(page, file):
    """Seconds that the main thread computes until the first view is drawn, whatever else the machine does."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(file.as_uri())
    page.wait_for_selector(".card .drawing svg")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"]


def test_five_thousand_documents_hundred_topics_twenty_thousand_words(browser, tmp_path):
    watched = Watched(browser.new_context().new_page())  # whose work is counted from its start
    model, corpus, texts, y = large(5_000, 20_000, 100, 120)
    file = tmp_path / "report.html"
    model.report(file, corpus, y, texts=texts)
    assert file.stat().st_size < 10e6
    assert seconds_of_work(watched.page, file) < 3.0
    found = [watched.page.evaluate("text => supertopic.predictText(text)[0].mean", text) for text in texts[:3]]
    np.testing.assert_allclose(found, model.predict(corpus[:3]), atol=1e-3)
    for view in ("documents/17", "groups", "fit", "map"):
        watched.page.goto(file.as_uri() + f"#{view}")
        watched.page.wait_for_selector(f"#view-{view.split('/')[0]}:visible .drawing svg")
    watched.page.context.close()
    assert watched.problems == []


def main():
    """Print how large the page of the first test is, and how long it takes to open."""
    with tempfile.TemporaryDirectory() as folder:
        model, corpus, texts, y = large(5_000, 20_000, 100, 120)
        file = Path(folder) / "report.html"
        model.report(file, corpus, y, texts=texts)
        playwright, browser = start_browser()
        print(f"{file.stat().st_size / 1e6:.1f} MB")
        for _ in range(5):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            start = time.perf_counter()
            worked = seconds_of_work(page, file)
            print(f"{time.perf_counter() - start:.2f} s until interactive, {worked:.2f} s of them the page's own work")
        browser.close()
        playwright.stop()


@pytest.mark.release
def test_thirty_thousand_documents(watched, tmp_path):
    model, corpus, texts, y = large(30_000, 3_000, 20, 25)
    file = tmp_path / "report.html"
    model.report(file, corpus, y, texts=texts)
    assert file.stat().st_size < 15e6
    page = watched.open(file, "documents/29999")
    assert page.inner_text("#document-title") == "Document 29999"
    page.fill(".filters input[type=search]", texts[123][:60].lower())
    page.wait_for_function("() => !document.querySelector('.count').textContent.includes('of 30,000 that match')")
    assert "Document 123" in page.inner_text(".list")
    page.goto(file.as_uri() + "#map")
    page.wait_for_selector("[data-figure=map] svg")


if __name__ == "__main__":
    main()
