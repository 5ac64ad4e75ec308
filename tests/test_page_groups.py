"""The view of groups: differences from the mean with numbers and n, values as they are, times, intervals."""

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA
from tests.page_models import fitted, reviews


def saved(page, figure):
    """The rows of a figure's CSV."""
    with page.expect_download() as waiting:
        page.click(f"[data-figure={figure}] button:text-is('CSV')")
    with open(waiting.value.path(), encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """A report with columns of all kinds."""
    frame = reviews()
    n = len(frame)
    metadata = pd.DataFrame(
        {
            "stars": frame["stars"],
            "row": np.arange(n) + 1000,
            "key": [f"id-{i}" for i in range(n)],
            "seen": pd.date_range("2020-01-01", periods=n, freq="7D"),
            "who": np.where(np.arange(n) % 3, "ann", "bob"),
            "length": np.linspace(0.5, 9.5, n),
        }
    )
    file = tmp_path_factory.mktemp("groups") / "report.html"
    fitted("gaussian").report(file, frame["text"].tolist(), frame["rating"], metadata=metadata)
    return file, metadata, np.asarray(fitted("gaussian").transform(frame["text"].tolist()), dtype=float)


def test_cells_are_differences_from_the_mean_of_all(grouped, watched):
    file, metadata, _ = grouped
    page = watched.open(file, "groups?by=m0")
    shares = page.evaluate("Array.from(supertopic.data.arrays.shares.data)")
    shares = np.reshape(shares, (len(metadata), -1)) / 65535
    rows = page.evaluate(
        "[...document.querySelectorAll('[data-figure=groups] .row')].map(r => [r.dataset.topic, "
        "[...r.querySelectorAll('text')].map(t => t.textContent)])"
    )
    stars = metadata["stars"].to_numpy()
    for topic, texts in rows:
        share = shares[:, int(topic)]
        wanted = [100 * (share[stars == value].mean() - share.mean()) for value in (1, 2, 3, 4)]
        found = [float(text.replace("−", "-")) for text in texts[1:5]]
        np.testing.assert_allclose(found, wanted, atol=0.051)
    heads = page.text_content("[data-figure=groups] svg")
    assert all(f"{value} ({(stars == value).sum()})" in heads for value in (1, 2, 3, 4))


def test_intervals_are_those_of_means(grouped, watched):
    file, metadata, _ = grouped
    page = watched.open(file, "groups?by=m4")
    shares = np.reshape(page.evaluate("Array.from(supertopic.data.arrays.shares.data)"), (len(metadata), -1)) / 65535
    first = page.locator("[data-figure=groups] .row").first
    k = int(first.get_attribute("data-topic"))
    first.click()
    for name, low, high in ((row[0], float(row[3]), float(row[4])) for row in saved(page, "topic_by_group")[1:]):
        own = shares[(metadata["who"] == name).to_numpy(), k]
        error = own.std(ddof=1) / np.sqrt(len(own))
        assert (low + high) / 2 == pytest.approx(own.mean(), abs=1e-6)
        assert high - low == pytest.approx(2 * 1.6448536 * error, rel=1e-5)
    ann, bob = (shares[(metadata["who"] == name).to_numpy()] for name in ("ann", "bob"))
    error = np.hypot(*(part.std(axis=0, ddof=1) / np.sqrt(len(part)) for part in (ann, bob)))
    clear = np.abs(bob.mean(axis=0) - ann.mean(axis=0)) > 1.6448536 * error
    rows = saved(page, "contrast")[1:]
    assert [float(row[3]) > 0 or float(row[4]) < 0 for row in rows] == clear[[int(row[0]) for row in rows]].tolist()
    grey = page.evaluate(
        "[...document.querySelectorAll('[data-figure=contrast] circle')].filter(c => c.getAttribute('fill') === "
        "getComputedStyle(document.documentElement).getPropertyValue('--zero')).length"
    )
    assert grey == int((~clear).sum())


def test_groups_are_values_times_or_tenths_and_no_identifiers(grouped, watched):
    file, *_ = grouped
    page = watched.open(file, "groups")
    assert page.locator("#view-groups select >> nth=0").inner_text().split("\n") == [
        "rating (true)", "stars", "seen", "who", "length",
    ]  # fmt: skip
    names = {}
    for column, name in (("m0", "stars"), ("m3", "seen"), ("m5", "length")):
        page.select_option("#view-groups select >> nth=0", value=column)
        names[name] = [row[0] for row in saved(page, "topic_by_group")[1:]]
    assert names["stars"] == ["1", "2", "3", "4"]
    assert names["seen"] == ["2020", "2021", "2022"]
    assert len(names["length"]) == 10 and names["length"][0] == "0.5 to 1.41"


def test_documents_that_belong_together_count_as_one(watched, tmp_path):
    """The errors of means and of their differences are those of sums over authors, by hand."""
    frame = reviews(60)
    texts, author, side = frame["text"].tolist(), np.arange(60) // 4, np.where(np.arange(60) % 4, "b", "a")
    model = LDA(3, max_iter=3).fit(texts, groups=author)
    model.report(tmp_path / "r.html", texts, metadata={"side": side})
    page = watched.open(tmp_path / "r.html", "groups?by=m0")
    shares = np.reshape(page.evaluate("Array.from(supertopic.data.arrays.shares.data)"), (60, -1)) / 65535
    part = {}
    for name in "ab":
        own = np.where((side == name)[:, None], shares - shares[side == name].mean(axis=0), 0.0) / (side == name).sum()
        part[name] = np.sqrt(15 / 14) * np.add.reduceat(own, np.arange(0, 60, 4))
    rows = saved(page, "topic_by_group")[1:]
    assert "each of the 15 groups" in page.inner_text("[data-figure=topic_by_group]")
    for name, low, high in ((row[0], float(row[3]), float(row[4])) for row in rows):
        errors = np.sqrt((part[name] ** 2).sum(axis=0))
        assert min(abs((high - low) / 2 / 1.6448536 - errors)) < 1e-6
    error = np.sqrt(((part["b"] - part["a"]) ** 2).sum(axis=0))
    for topic, _, _, low, high in saved(page, "contrast")[1:]:
        assert (float(high) - float(low)) / 2 == pytest.approx(1.6448536 * error[int(topic)], rel=1e-5)
    model.fitted_ = replace(model.fitted_, training=None, notes={**model.fitted_.notes, "n_groups": 15})
    model.report(tmp_path / "alone.html", texts, metadata={"side": side})
    page = watched.open(tmp_path / "alone.html", "groups?by=m0")
    assert "though the fit knew 15 groups" in page.inner_text("[data-figure=contrast]")
