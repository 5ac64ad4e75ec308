"""`supertopic update`: a saved model goes on from new documents; topics keep their numbers, and what moved is said."""

import json

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, GeoSAGE, SLDARegressor, load
from tests.cli_tools import fails, misused, run
from tests.test_compare import THEMES, documents

SEED = 1


def week(path, themes, slopes, seed):
    texts, y = documents(themes, slopes, n=150, seed=seed)
    pd.DataFrame({"body": texts, "stars": y, "age": np.arange(150) % 7, "author": np.arange(150) % 20}).to_csv(
        path, index=False
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of three themes, whose topics stand in another order than with the seed of its file; then a week in
    which songs give way to ships.
    """
    folder = tmp_path_factory.mktemp("update")
    frame = pd.read_csv(week(folder / "last.csv", THEMES[:3], [2.0, -2.0, 0.0], 0))
    y, age = frame["stars"], frame[["age"]]
    model = SLDARegressor(3, inference="vb", max_iter=20, cross_fit=0).fit(frame["body"], y, covariates=age)
    model.set_params(random_state=SEED).save(folder / "last.supertopic")
    week(folder / "week.csv", [THEMES[0], THEMES[1], THEMES[3]], [2.0, -2.0, 0.0], 1)
    return folder


def places(model, *words):
    names = list(model.feature_names_in_)
    return [int(model.components_[:, names.index(word)].argmax()) for word in words]


def test_a_week_later(folder, tmp_path):
    out, before = tmp_path / "this.supertopic", load(folder / "last.supertopic")
    given = ["update", folder / "last.supertopic", folder / "week.csv", "--text", "body", "--out", out]
    done = run(*given, "--check", "--quiet")
    assert done.exit_code == 3 and "2 topics are the same, 1 new, 1 gone" in done.stdout, done.output
    model = load(out)
    assert places(model, "tea", "war", "ship") == places(before, "tea", "war", "song")
    assert model.vectorizer.get_params() == before.vectorizer_.get_params() and model.n_features_in_ == 17
    assert "is already there" in fails(*given)
    assert model.fitted_.data != before.fitted_.data
    told = json.loads(run(*given, "--force", "--json", "--quiet").stdout)
    assert told["changed"] is True and told["documents"] == 150 and len(told["topics"]) == 4
    assert load(folder / "last.supertopic").n_iter_ == before.n_iter_


def test_what_cannot_go_on_is_refused(folder, tmp_path):
    old, out = folder / "last.supertopic", tmp_path / "this.supertopic"
    week_of = [folder / "week.csv", "--text", "body", "--out", out]
    assert "is read by this command" in fails("update", old, folder / "week.csv", "--out", old, "--force")
    assert "no column" in fails("update", old, *week_of, "--target", "grade").lower()
    LDA(2, max_iter=2).fit(np.eye(4)).save(tmp_path / "counts")
    assert "was fitted to counts" in fails("update", tmp_path / "counts", *week_of)
    texts = pd.read_csv(folder / "week.csv")["body"][:40]
    GeoSAGE(2, max_iter=2, n_regions=2).fit(texts, np.column_stack([np.arange(40.0), np.arange(40.0)])).save(
        tmp_path / "geo"
    )
    assert not out.exists()
    assert "begins anew" in run("update", tmp_path / "geo", *week_of, "--target", "stars,age").output


def test_the_settings_of_an_update_repeat_it(folder, tmp_path):
    out = tmp_path / "this.supertopic"
    given = [folder / "last.supertopic", folder / "week.csv", "--text", "body"]
    assert run("update", *given, "--out", out).exit_code == 0
    settings = (tmp_path / "this.supertopic.toml").read_text(encoding="utf-8")
    assert "supertopic update --config THIS_FILE --force" in settings and "last.supertopic" in settings
    first = out.read_bytes()
    out.unlink()
    assert "this.supertopic.toml is already there" in fails("update", *given, "--out", out)
    assert run("update", "--config", tmp_path / "this.supertopic.toml", "--force").exit_code == 0
    assert out.read_bytes() == first
    (tmp_path / "wrong.toml").write_text("topics = 3")
    assert "is no option of supertopic update" in misused(
        "update", *given, "-o", out, "--config", tmp_path / "wrong.toml"
    )


def test_groups_times_and_what_is_unknown_are_those_of_the_first_fit(folder, tmp_path):
    frame = pd.read_csv(folder / "last.csv").assign(day=np.arange(150))
    frame.to_csv(tmp_path / "last.csv", index=False)
    given = ["--text", "body", "--quiet"]
    asked = ["--target", "stars", "--covariates", "age", "--handle-unknown", "ignore", "-k", 3, "--iterations", 3]
    beside = ["--groups", "author", "--times", "day"]
    assert run("fit", tmp_path / "last.csv", *given, *asked, *beside, "-o", tmp_path / "m").exit_code == 0
    assert run("update", tmp_path / "m", tmp_path / "last.csv", *given, "-o", tmp_path / "n").exit_code == 0
    fitted = load(tmp_path / "n").fitted_
    assert fitted.notes["beside"] == {"groups": "author", "times": "day"}
    assert fitted.spec.schema.columns.unknown == "ignore"
    told = json.loads(run("info", tmp_path / "n", "--json").stdout)
    assert (told["targets"], told["groups"], told["times"]) == ({"stars": "gaussian"}, "author", "day")
    shown = run("info", tmp_path / "n").stdout
    assert "stars (gaussian)" in shown and "author" in shown and "day" in shown
    frame.drop(columns="author").to_csv(tmp_path / "less.csv", index=False)
    done = run("update", tmp_path / "m", tmp_path / "less.csv", *given[:2], "-o", tmp_path / "o")
    assert done.exit_code == 0 and "The first fit had --groups author, a column that DATA has not" in done.stderr
    assert load(tmp_path / "o").fitted_.notes["beside"] == {"times": "day"}
    alone = [*given, "--groups", "", "--times", "", "-o", tmp_path / "p"]
    assert run("update", tmp_path / "m", tmp_path / "last.csv", *alone).exit_code == 0
    assert "beside" not in load(tmp_path / "p").fitted_.notes
