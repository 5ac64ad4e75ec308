"""The view of the fit: the promised 90 % beside what intervals hold, confusions in percent, errors and n."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.page_models import fitted, reviews
from tests.test_page_groups import saved


def test_coverage_stands_beside_what_is_promised(pages, watched):
    model, frame = fitted("gaussian"), reviews()
    low, high = model.predict(frame["text"].tolist(), return_interval=0.9)[1:]
    inside = ((frame["rating"] >= low) & (frame["rating"] <= high)).to_numpy()
    page = watched.open(pages("gaussian"), "fit")
    rows = saved(page, "coverage")[1:]
    assert rows[0][0] == f"all ({len(frame)})" and float(rows[0][1]) == pytest.approx(inside.mean())
    order = np.argsort(model.predict(frame["text"].tolist()), kind="stable")
    for row, part in zip(rows[1:], np.array_split(inside[order], 10), strict=True):
        assert f"({len(part)})" in row[0] and float(row[1]) == pytest.approx(part.mean())
        z2, n, share = 1.6448536**2, len(part), part.mean()
        reach = 1.6448536 * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
        assert float(row[3]) - float(row[2]) == pytest.approx(2 * reach, rel=1e-5)
    line = page.locator("[data-figure=coverage] line[stroke-dasharray='4 3']")
    assert line.count() == 1
    tick = page.locator("[data-figure=coverage] text:text-is('90 %')[text-anchor=middle]").get_attribute("x")
    assert float(line.get_attribute("x1")) == pytest.approx(float(tick))


def test_what_falls_short_is_said(watched, tmp_path):
    """Where a tenth of the intervals hold less than is promised beyond doubt, its place stands in the note."""
    model, frame = fitted("gaussian"), reviews()
    frame = pd.concat([frame] * 4, ignore_index=True)
    predicted = model.predict(frame["text"].tolist())
    y = frame["rating"].where(predicted > np.quantile(predicted, 0.1), 30.0)
    model.report(tmp_path / "r.html", frame["text"].tolist(), y)
    page = watched.open(tmp_path / "r.html", "fit")
    assert re.search(r"fall short near predictions of [−\d.]+ \(0 %\)", page.inner_text("[data-figure=coverage]"))


def test_confusions_are_percent_of_the_true_class_and_named(pages, watched):
    model, frame = fitted("softmax"), reviews()
    true, decided = frame["verdict"].to_numpy(), model.predict(frame["text"].tolist())
    page = watched.open(pages("softmax"), "fit")
    for cell in page.locator("[data-figure=confusion] .row").all():
        said = cell.get_attribute("aria-label")
        a, b, n = re.match(r"True (\w+), predicted (\w+): (\d+) documents", said).groups()
        assert int(n) == int(((true == a) & (decided == b)).sum())
        share = int(n) / (true == a).sum()
        shown = cell.locator("text").text_content()
        assert shown == "·" if n == "0" else abs(int(shown) - 100 * share) <= 0.5
    pairs = pd.crosstab(true, decided).stack()
    pairs = pairs[pairs.index.get_level_values(0) != pairs.index.get_level_values(1)].sort_values(ascending=False)
    first = page.inner_text(".mistakes li >> nth=0")
    assert f": {pairs.iloc[0]} documents" in first and "taken for" in first
    page.click(".mistakes .link >> nth=0")
    page.wait_for_function(
        f"() => document.querySelector('.count')?.textContent.includes('of {pairs.iloc[0]} that match')"
    )


def test_tenths_have_errors_and_n(pages, watched):
    page = watched.open(pages("softmax"), "fit")
    chances = np.asarray(fitted("softmax").predict_proba(reviews()["text"].tolist()))
    decided, true = chances.argmax(axis=1), np.searchsorted(fitted("softmax").classes_, reviews()["verdict"])
    order = np.argsort(chances.max(axis=1), kind="stable")
    rows = [[float(cell) for cell in row] for row in saved(page, "reliability")[1:]]
    assert [row[3] for row in rows] == [12] * 10
    for row, part in zip(rows, np.array_split(order, 10), strict=True):
        right = (decided == true)[part]
        assert row[0] == pytest.approx(chances.max(axis=1)[part].mean(), abs=1e-4)
        assert row[1:3] == pytest.approx([right.mean(), right.std(ddof=1) / np.sqrt(12)], abs=1e-6)


def test_counts_over_orders_of_magnitude_have_logarithmic_axes(watched, tmp_path):
    model, frame = fitted("poisson"), reviews()
    y = frame["visits"].to_numpy().copy()
    for most, logarithmic in ((9, False), (5000, True)):
        y[0] = most
        file = tmp_path / f"{most}.html"
        model.report(file, frame["text"].tolist(), np.minimum(y, most))
        page = watched.open(file, "fit")
        texts = page.locator("[data-figure=calibration] svg text").all_text_contents()
        assert ({"1", "10", "100", "1,000"} <= set(texts)) == logarithmic
