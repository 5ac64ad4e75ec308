"""`compare`: topics of two models matched by their words, what came and went, effects that moved; command and page."""

import json

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, SLDAClassifier, SLDARegressor
from tests.cli_tools import run

THEMES = [
    "tea cup milk spoon kettle",
    "war army gun tank siege",
    "song choir piano band tune",
    "ship sail port crew wave",
]


def documents(themes, slopes, n=400, seed=0):
    """Texts about one or two of the themes, and y by their shares and slopes."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(themes), 0.4), n)
    texts = [
        " ".join(rng.choice(themes[k].split()) for k in rng.choice(len(themes), size=40, p=row)) + " day year"
        for row in shares
    ]
    return texts, shares @ np.array(slopes) + 0.2 * rng.normal(size=n)


def fit(themes, slopes, seed=0, **more):
    texts, y = documents(themes, slopes, seed=seed)
    return SLDARegressor(len(themes), max_iter=30, random_state=seed, **more).fit(texts, y)


@pytest.fixture(scope="module")
def before():
    return fit(THEMES[:3], [2.0, -2.0, 0.0])


@pytest.fixture(scope="module")
def now():
    """Songs are gone, ships are new, and tea goes with less than it did."""
    return fit([THEMES[0], THEMES[1], THEMES[3]], [0.5, -2.0, 0.0], seed=1)


def test_what_came_went_and_moved(before, now):
    found = now.compare(before)
    rows = found.topics.set_index("status")
    new, gone = rows.loc[["new"]], rows.loc[["gone"]]
    assert set(new["label"].iloc[0].split(", ")) <= set(THEMES[3].split()) and len(new) == 1
    assert set(gone["label"].iloc[0].split(", ")) <= set(THEMES[2].split()) and len(gone) == 1
    same = rows.loc[["same"]]
    moved = same[same["moved"]]
    assert len(same) == 2 and any(word in moved["label"].iloc[0] for word in THEMES[0].split())
    assert found.changed and "2 topics are the same, 1 new, 1 gone. Effects moved:" in str(found)


def test_numbers_are_those_of_the_models(before, now):
    found = now.compare(before).topics
    own, other = now.effects().set_index("topic"), before.effects().set_index("topic")
    for row in found.to_dict("records"):
        if not pd.isna(row["topic"]):
            assert row["effect"] == pytest.approx(own.loc[row["topic"], "effect"])
        if not pd.isna(row["before"]):
            assert row["effect_before"] == pytest.approx(other.loc[row["before"], "effect"])


def test_a_model_is_the_same_as_itself_and_as_another_seed(before):
    found = before.compare(before)
    assert not found.changed and (found.topics["topic"] == found.topics["before"]).all()
    assert found.topics["similarity"].to_numpy() == pytest.approx(1.0)
    texts, y = documents(THEMES[:3], [2.0, -2.0, 0.0], seed=5)  # other documents of the same kind
    assert not SLDARegressor(3, max_iter=30, random_state=4).fit(texts, y).compare(before).changed


def test_labels_classes_and_models_without_effects(before):
    texts, y = documents(THEMES[:3], [2.0, -2.0, 0.0])
    named = before.set_topic_labels({0: "zero"})
    assert "zero" in set(named.compare(before).topics["label"])
    named.set_topic_labels([None] * 3)
    shares = LDA(3, max_iter=30, random_state=0).fit(texts).compare(before)
    assert "Effects" not in str(shares) and "effect" not in shares.topics and not shares.changed
    three = SLDAClassifier(3, max_iter=20, random_state=0, cross_fit=0).fit(texts, np.digitize(y, [-1, 1]))
    found = three.compare(three)
    assert found.columns == ("0", "1", "2") and len(found.topics) == 9
    with pytest.raises(ValueError, match="another response"):
        SLDARegressor(3, response="poisson", cross_fit=0, max_iter=5).fit(texts, np.round(np.exp(y))).compare(before)


def test_what_cannot_be_compared_is_refused(before):
    with pytest.raises(ValueError, match="words in common"):
        before.compare(LDA(2, max_iter=2).fit(["alpha beta", "gamma delta"] * 5))
    with pytest.raises(ValueError, match="expected a fitted model"):
        before.compare("last.supertopic")


def test_the_command_has_an_exit_code_for_weekly_jobs(tmp_path, before, now):
    for name, model in (("before", before), ("now", now)):
        model.save(tmp_path / name)
    done = run("compare", tmp_path / "before", tmp_path / "now", "--check")
    assert done.exit_code == 3 and "1 new, 1 gone" in done.stdout and "moved" in done.stdout
    assert run("compare", tmp_path / "before", tmp_path / "now").exit_code == 0
    same = run("compare", tmp_path / "now", tmp_path / "now", "--check", "--json")
    assert same.exit_code == 0
    told = json.loads(same.stdout)
    assert told["changed"] is False and len(told["topics"]) == 3 and told["topics"][0]["status"] == "same"


def test_the_page_shows_both(watched, tmp_path, before, now):
    texts, y = documents(THEMES, [0.5, -2.0, 0.0, 0.0], n=40)
    now.report(tmp_path / "r.html", texts, y, compare=before)
    page = watched.open(tmp_path / "r.html", "compared")
    said = page.inner_text("#view-compared")
    assert "2 topics are the same, 1 new, 1 gone" in said and "Effects on the prediction, before and now" in said
    marks = page.locator("#view-compared svg [role=button]")
    assert marks.count() == 3  # the topic that is gone has no card
    assert page.locator("#view-compared svg path").count() == 2  # lines of topics that both models have
    marks.nth(0).focus()
    page.keyboard.press("Enter")
    assert page.locator("#view-topics").is_visible()
    now.report(tmp_path / "r.html", texts, y)
    assert watched.open(tmp_path / "r.html").locator("[data-view=compared]").count() == 0
