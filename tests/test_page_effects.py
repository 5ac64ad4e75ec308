"""The page shows what goes with topics: the effects that `report(effects=)` was given."""

import csv

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA

pytest.importorskip("formulaic")


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    rng = np.random.default_rng(0)
    words = [["cat", "dog", "bird", "fish"], ["bank", "fund", "stock", "bond"]]
    party = np.array(["left", "right"])[np.arange(80) % 2]
    texts = [" ".join([*rng.choice(words[i % 2], 9), *rng.choice(words[i % 3 % 2], 6)]) for i in range(80)]
    model = LDA(2, max_iter=20, random_state=0).fit(texts).set_topic_labels({0: "<b>Zoo</b>"})
    frame = pd.DataFrame({"party": party, "day": np.arange(80.0)})
    effects = model.estimate_effect("~ party + spline(day, 3)", frame)
    file = tmp_path_factory.mktemp("effects") / "report.html"
    model.report(file, texts, metadata=frame, effects=effects)
    return model, texts, effects, file


def test_the_page_has_a_figure_for_each_term(reported, watched):
    _, _, effects, file = reported
    page = watched.open(file, "groups")
    assert page.locator("[data-figure^=effects]").count() == 1, "pieces of splines say nothing alone"
    text = page.inner_text("[data-figure=effects-0]")
    assert "What goes with party=right" in text and "90 % intervals" in text and "<b>Zoo</b>" in text
    with page.expect_download() as waiting:
        page.click("[data-figure=effects-0] button:text-is('CSV')")
    with open(waiting.value.path(), encoding="utf-8", newline="") as saved:
        rows = {int(row["topic"]): row for row in csv.DictReader(saved)}
    table = effects.summary()
    for _, row in table[table.term == "party=right"].iterrows():
        for name in ("estimate", "lower", "upper"):
            assert float(rows[row.topic][name]) == pytest.approx(row[name], rel=1e-3)
    assert watched.problems == []


def test_effects_without_columns_to_group_by(reported, watched, tmp_path):
    model, texts, effects, _ = reported
    model.report(tmp_path / "r.html", texts, effects=effects.contrast("party", "left", "right"))
    page = watched.open(tmp_path / "r.html", "groups")
    assert "party: left → right" in page.inner_text("[data-figure=effects-0]")
    with pytest.raises(ValueError, match="expected what estimate_effect returns"):
        model.report(tmp_path / "r.html", texts, effects=effects.summary())


def test_what_the_page_cannot_draw_is_refused_with_what_to_give(reported, tmp_path):
    model, texts, effects, _ = reported
    with pytest.raises(ValueError, match=r"got a curve, expected what estimate_effect .* plot\(path\) draws it"):
        model.report(tmp_path / "r.html", texts, effects=effects.curve("day"))
    splines = model.estimate_effect("~ spline(day, 3)", pd.DataFrame({"day": np.arange(80.0)}))
    with pytest.raises(ValueError, match=r"got pieces of splines alone, .* a contrast of two values"):
        model.report(tmp_path / "r.html", texts, effects=splines)
    assert not (tmp_path / "r.html").exists()
    model.report(tmp_path / "r.html", texts, effects=splines.contrast("day", 10, 70))
