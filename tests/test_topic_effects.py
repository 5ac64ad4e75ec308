"""`model.estimate_effect`: what goes with topics, as a user asks for it."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, SLDARegressor, load, select_topics
from supertopic.documents.columns import read_columns
from supertopic.fitted import metadata_effects, refits
from tests import naive_prevalence as naive
from tests.fits import FITS, METADATA, data
from tests.plot_tools import assert_readable

pytest.importorskip("formulaic")


@pytest.fixture(scope="module")
def world():
    """Documents of two parties, by authors, over a year: Rs have more of the first topic."""
    rng = np.random.default_rng(0)
    n, author = 400, np.repeat(np.arange(40), 10)
    party = (author % 2)[:, None]
    logs = rng.normal(size=(n, 3)) + np.array([1.0, 0.0, 0.0]) * party + 0.3 * rng.normal(size=(40, 3))[author]
    theta = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    topics = np.kron(np.eye(3), np.full(20, 0.9 / 20)) + 0.1 / 60
    counts = np.stack([rng.multinomial(60, one) for one in theta @ topics])
    frame = pd.DataFrame(
        {
            "party": np.array(["D", "R"])[party.ravel()],
            "date": pd.date_range("2008-01-01", periods=n, freq="D").astype(str),
            "author": [f"a{one}" for one in author],
            "words": [np.arange(3)] * n,  # no column that a formula could have
        }
    )
    names = [f"{'abc'[v // 20]}{v}" for v in range(60)]
    return pd.DataFrame(counts, columns=names), frame, theta


@pytest.fixture(scope="module")
def model(world):
    return LDA(3, max_iter=40, random_state=0).fit(world[0])


def first(model):
    """The number of the topic of words a0, a1, …"""
    return int(np.argmax(model.components_[:, :20].sum(axis=1)))


def test_tables_say_their_probability_and_small_p_values(world, model):
    effects = model.estimate_effect("~ party + date", world[1])
    assert "Intervals of 95 %, p-values for all rows together (Holm)." in str(effects.summary(0.95, adjust="holm"))
    assert "Intervals of 99.9 %." in str(effects.summary(0.999, adjust=None))
    found = effects.summary().assign(p=1e-9)
    assert "<0.0001" in str(found) and "$<$0.0001" in found.to_latex()
    text = effects.curve("date", n_points=3).to_latex(probability=0.5)
    assert "& 2008-01-01 &" in text and r"Intervals of 50 \%." in text


def test_as_many_groups_as_columns_have_no_errors(world, model):
    frame = world[1].assign(part=[f"p{one % 6}" for one in range(400)])
    with pytest.raises(ValueError, match="got 6 groups of 'part', expected more than the 6 columns that"):
        model.estimate_effect("~ part", frame, cluster="part")
    model.estimate_effect("~ party", frame, cluster="part")


def test_a_contrast_beyond_the_documents_warns(world, model):
    effects = model.estimate_effect("~ party + date", world[1])
    assert "'date': by year." in effects.notes and not any(
        "by year" in one for one in model.estimate_effect("~ party + spline(date, 3)", world[1]).notes
    )
    with pytest.warns(UserWarning, match="date goes from 2008-01-01 to 2009-02-03 in the documents; beyond"):
        effects.contrast("date", "2008-02-01", "2010-01-01")
    effects.contrast("date", "2008-02-01", "2009-01-01")
    effects.contrast("party", "D", "R")


def test_a_difference_that_is_there_is_found(world, model):
    _, frame, theta = world
    effects = model.estimate_effect("~ party", frame)
    found = effects.summary(0.95).set_index("topic").loc[first(model)]
    assert list(effects.summary().columns) == [
        "topic", "label", "term", "estimate", "std_error", "lower", "upper", "p", "p_adjusted",
    ]  # fmt: skip
    of_r = frame.party == "R"
    true = 100 * (theta[of_r, 0].mean() - theta[~of_r, 0].mean())
    assert found.lower < true < found.upper and found.p_adjusted < 0.001
    assert found.term == "party=R" and found.label.count(" ") == 2


def test_errors_by_groups_and_all_else_in_notes(world, model):
    counts, frame, _ = world
    plain, grouped = (model.estimate_effect("~ party", frame, cluster=one) for one in (None, "author"))
    assert (grouped.summary().std_error > plain.summary().std_error).all()
    assert "Errors by 40 groups of author." in grouped.summary().attrs["below"]
    by_fit = LDA(3, max_iter=40, random_state=0).fit(counts, metadata=frame[["party", "author"]], groups="author")
    pd.testing.assert_frame_equal(by_fit.estimate_effect("~ party").summary(), grouped.summary())
    few = model.estimate_effect("~ party", frame.assign(half=frame.author.str[-1] > "4"), cluster="half")
    assert "so few" in few.summary().attrs["below"][1]


def test_missing_values_are_left_out_and_said(world, model):
    counts, frame, _ = world
    holes = frame.assign(party=frame.party.astype(object))
    holes.loc[:9, "party"] = None
    found = model.estimate_effect("~ party", holes).summary()
    rest = model.estimate_effect("~ party", frame[10:], counts[10:]).summary()
    np.testing.assert_allclose(found.estimate, rest.estimate, rtol=1e-4)
    assert "10 documents without words or with missing values are left out." in found.attrs["below"]
    holes.loc[1:9, "party"] = "D"
    one = model.estimate_effect("~ party", holes).notes
    assert "1 document without words or with missing values is left out." in one


def test_contrasts_and_curves_are_marginal_means(world, model):
    _, frame, _ = world
    effects = model.estimate_effect("~ party * spline(date, 3)", frame)
    table = read_columns("metadata", frame[["party", "date"]], 400)
    numbers = {name: effects.design.numbers(name, one) for name, one in table.items()}
    coef = effects.pooled.own.coef
    ends = [naive.marginal_mean(effects.design, numbers, coef, {"party": x}) for x in (0.0, 1.0)]
    contrast = effects.contrast("party", "D", "R").summary()
    np.testing.assert_allclose(contrast.estimate, 100 * (ends[1] - ends[0]))
    assert set(contrast.term) == {"party: D → R"}
    curve = effects.curve("date", by="party", topics=[1], n_points=4).summary()
    day = {"date": effects.design.value("date", "2008-01-01"), "party": 1.0}
    row = curve[(curve.party == "R")].iloc[0]
    assert row.share == pytest.approx(100 * naive.marginal_mean(effects.design, numbers, coef, day)[1])
    assert row.date == pd.Timestamp("2008-01-01") and len(curve) == 8 and row.lower < row.share < row.upper
    means = effects.curve("party").summary()
    assert means.groupby("party").share.sum().tolist() == pytest.approx([100.0, 100.0], abs=1e-3)
    moved = effects.contrast("date", "2008-02-01", "2008-12-01").summary()
    assert moved.estimate.sum() == pytest.approx(0.0, abs=1e-3)


def test_mean_shares_and_their_bands_stay_between_nothing_and_all(world, model):
    _, frame, _ = world
    effects = model.estimate_effect("~ party * spline(date, 3)", frame)
    curve = effects.curve("date", by="party", n_points=5)
    bold = replace(curve, found=curve.found._replace(estimate=8.0 * curve.found.estimate - 2.7))
    assert bold.found.estimate.min() < 0 and bold.found.estimate.max() > 1
    table = bold.summary(0.99)
    assert (table.lower >= 0).all() and (table.upper <= 100).all() and (table.upper > table.lower).all()
    assert ((table.lower <= table.share) & (table.share <= table.upper)).all()
    beyond = table[table.share == 0].iloc[0]
    reach = curve.found._replace(estimate=0 * curve.found.estimate).ends(0.99)[1]
    assert beyond.upper == pytest.approx(100 * reach.T.ravel()[beyond.name])
    np.testing.assert_array_equal(curve.summary().share, 100 * curve.found.estimate.T.ravel())
    sums = {"against": {0: 1, 1: -1}, "all": [0, 1, 2], "two": [0, 2]}
    several = effects.of_topics(sums).curve("date", n_points=3)
    wild = replace(several, found=several.found._replace(estimate=several.found.estimate * 5 - 2)).summary()
    ends = wild.groupby("topic")[["lower", "upper"]].agg(["min", "max"])
    assert ends.loc["against"].between(-100, 100).all() and ends.loc["two"].between(0, 100).all()
    assert (ends.loc["all"] == 100).all()


def test_several_topics_as_one_and_topics_against_each_other(world, model):
    _, frame, _ = world
    effects = model.estimate_effect("~ party", frame)
    own = effects.summary().estimate
    found = effects.of_topics({"both": [0, 1], "against": {2: 1, 0: -1}}).summary()
    np.testing.assert_allclose(found.estimate, [own[0] + own[1], own[2] - own[0]])
    assert found.topic.tolist() == ["both", "against"] and " − " in found.label[1]
    whole = effects.of_topics({"all": [0, 1, 2]}).summary()
    assert abs(whole.estimate[0]) < 1e-3 and whole.std_error[0] < 1e-3
    assert effects.of_topics([2]).summary().topic.tolist() == [2]


def test_labels_of_topics_are_used(world, model):
    counts, frame, _ = world
    named = LDA(3, max_iter=5).fit(counts).set_topic_labels({1: "War"})
    effects = named.estimate_effect("~ party", frame)
    assert effects.summary().label[1] == "War"
    pd.testing.assert_frame_equal(effects.of_topics(["War"]).summary(), effects.of_topics([1]).summary())


def test_refits_are_pooled_and_say_what_is_found_again(world):
    counts, frame, _ = world
    tables = []
    for n_jobs in (1, 2):
        model = LDA(3, max_iter=20, random_state=0, n_jobs=n_jobs).fit(counts)
        tables.append(model.estimate_effect("~ party", frame, cluster="author", refits=3).summary())
    pd.testing.assert_frame_equal(*tables)
    once = model.estimate_effect("~ party", frame, cluster="author").summary()
    np.testing.assert_array_equal(tables[0].estimate, once.estimate)
    assert (tables[0].std_error > once.std_error).all() and (tables[0].found_again == 1.0).all()


def test_an_honest_version_and_composition_agree(world, model):
    _, frame, _ = world
    own, honest, composed = (
        model.estimate_effect("~ party", frame, **more).summary().estimate
        for more in ({}, {"honest": True, "cluster": "author"}, {"method": "composition"})
    )
    k = first(model)
    assert honest[k] == pytest.approx(own[k], rel=0.3)
    assert 0.8 * own[k] < composed[k] < own[k], "a posterior leans toward the average document"


def test_the_topics_of_another_fit_are_put_in_order(world, model):
    rows, order = np.arange(400), np.array([2, 0, 1])
    question = metadata_effects.Question(rows, np.column_stack([np.ones(400), rows]), None, 0, 0)
    corpus = model.fitted_.training.corpus
    own, other = (metadata_effects.evidence(model.fitted_, corpus, question, one).coef for one in (np.arange(3), order))
    np.testing.assert_allclose(other, own[:, order])


def test_halves_regress_documents_that_their_topics_have_not_seen(world, model, monkeypatch):
    _, frame, _ = world
    taken, fits = [], []
    own = refits.fit
    regression = metadata_effects.evidence
    monkeypatch.setattr(refits, "fit", lambda spec, rows, seed: fits.append(rows) or own(spec, rows, seed))
    monkeypatch.setattr(
        metadata_effects, "evidence", lambda fitted, corpus, question, order: taken.append(question.rows)
        or regression(fitted, corpus, question, order),
    )  # fmt: skip
    model.estimate_effect("~ party", frame, honest=True, cluster="author")
    assert sorted(np.concatenate(taken).tolist()) == list(range(400))
    counts = world[0].to_numpy()
    for rows, one in zip(taken, fits, strict=True):
        assert len(rows) == len(one.corpus) == 200
        assert len(set(frame.author[rows])) == 20, "groups stay together"
        np.testing.assert_array_equal(one.corpus.counts.toarray(), np.delete(counts, rows, axis=0))


def test_halves_that_cannot_answer_are_refused_before_any_fit(world, model, monkeypatch):
    _, frame, _ = world
    monkeypatch.setattr(refits, "fit", lambda *_: pytest.fail("fitted"))
    few = frame.assign(third=np.arange(400) % 3, rare=["a"] * 399 + ["b"])
    for formula, cluster, says in (
        ("~ date", "third", r"all documents in a half of them \(honest=True\) are of one group of 'third'"),
        ("~ rare", None, r"'rare=b' depend on .* apart in a half of them \(honest=True\)"),
    ):
        with pytest.raises(ValueError, match=says):
            model.estimate_effect(formula, few, cluster=cluster, honest=True)


def test_permutations_add_p_values(world, model):
    _, frame, _ = world
    effects = model.estimate_effect("~ party", frame, permutations=99)
    found = effects.summary()
    assert found.p_permuted[first(model)] == pytest.approx(0.01)
    assert (found.p_adjusted >= found.p_permuted).all()
    pd.testing.assert_series_equal(effects.contrast("party", "D", "R").summary().p_permuted, found.p_permuted)
    some = effects.of_topics([2, 0]).summary()
    np.testing.assert_array_equal(some.p_permuted, found.p_permuted[[2, 0]])
    crossed = model.estimate_effect("~ party * date", frame, permutations=99)
    moved = crossed.contrast("party", "D", "R").of_topics({"first": [first(model)]}).summary()
    assert moved.p_permuted[0] == pytest.approx(0.01)
    assert "p_permuted" not in model.estimate_effect("~ party", frame).contrast("party", "D", "R").summary()


def test_supervised_topics_and_models_of_files(world, tmp_path):
    counts, frame, theta = world
    model = SLDARegressor(3, max_iter=5, cross_fit=0).fit(counts, theta[:, 0])
    own = model.estimate_effect("~ party", frame, refits=2).summary()
    assert own.found_again.between(0, 1).all()
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    with pytest.raises(ValueError, match="holds no documents, as one from a file; give metadata and X"):
        again.estimate_effect("~ party", frame)
    with pytest.raises(ValueError, match="metadata: got none, and a file keeps none"):
        again.estimate_effect("~ party", X=counts)
    with pytest.raises(ValueError, match="still holds the documents"):
        again.estimate_effect("~ party", frame, counts, refits=2)
    found = again.estimate_effect("~ party", frame, counts).summary()
    np.testing.assert_allclose(found.estimate, own.estimate, rtol=1e-4)
    LDA(3, max_iter=5).fit(counts).save(tmp_path / "l.supertopic")
    assert (
        "found_again" in load(tmp_path / "l.supertopic").estimate_effect("~ party", frame, counts, refits=2).summary()
    )


@pytest.mark.filterwarnings("ignore")  # one of the documents is empty, and fits are short
@pytest.mark.parametrize("name", FITS)
def test_every_estimator_has_effects(name):
    kind, parameters, _ = FITS[name]
    X, y = data(name)
    model = kind(**({} if name == "disclda" else {"n_topics": 2}), **parameters)
    beside = {"metadata": METADATA} if "prevalence" in parameters else {}
    model.fit(X, *([] if y is None else [y]), **beside)
    found = model.estimate_effect(["x"], {"x": [0.0, 1.0, 0.0, 0.0, 1.0]}, X).summary()
    assert len(found) == len(model.components_) and np.isfinite(found.estimate).all()


def test_tables_and_figures(world, model, tmp_path):
    pytest.importorskip("matplotlib")
    _, frame, _ = world
    effects = model.estimate_effect("~ party + spline(date, 3)", frame)
    assert_readable(effects.plot())
    assert_readable(effects.contrast("party", "D", "R").plot())
    for panel in effects.curve("date", by="party", topics=[0, 1]).plot():
        assert_readable(panel)
    for panel in effects.curve("party").plot():
        assert_readable(panel)
    for name in ("one.pdf", "two.svg"):
        effects.contrast("party", "D", "R").plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(ValueError, match="there is none without a spline"):
        model.estimate_effect("~ spline(date, 3)", frame).plot()
    text = io.StringIO()
    effects.to_latex(text, caption="Topics")
    assert r"\begin{table}" in text.getvalue() and "party=R" in text.getvalue()
    assert "<table>" in effects._repr_html_() and "<table>" in effects.curve("party")._repr_html_()


@pytest.mark.parametrize(
    ("formula", "more", "says"),
    [
        ("~ nothing", {}, "no column of metadata"),
        ("~ party + C(party)", {}, "one of the two"),
        ("~ words", {}, "expected numbers, texts or dates"),
        ("~ party", {"cluster": "nobody"}, "no column of metadata"),
        ("~ party", {"cluster": ["a"] * 400}, "one group"),
        ("~ party", {"method": "stm"}, "expected 'moments'"),
        ("~ party", {"refits": -1}, "whole number"),
        ("~ party", {"honest": True, "permutations": 9}, "permutations"),
        ("~ party + author", {}, "no document tells them apart"),
    ],
)
def test_what_cannot_be_answered_is_refused(world, model, formula, more, says):
    with pytest.raises(ValueError, match=says):
        model.estimate_effect(formula, world[1], **more)


def test_wrong_questions_of_a_result_are_refused(world, model):
    effects = model.estimate_effect("~ party", world[1])
    for ask in (
        lambda: effects.contrast("party", "D", "X"),
        lambda: effects.contrast("age", 1, 2),
        lambda: effects.curve("age"),
        lambda: effects.curve("party", by="date"),
        lambda: effects.of_topics([7]),
        lambda: effects.of_topics({}),
        lambda: effects.summary(probability=1.0),
        lambda: effects.summary(adjust="tukey"),
        lambda: effects.plot(term="age"),
    ):
        with pytest.raises(ValueError):
            ask()
    with pytest.raises(ValueError, match="expected a table"):
        model.estimate_effect("~ party")


def test_a_table_of_texts_becomes_figures_tables_and_a_page(world, tmp_path, monkeypatch):
    """The lines that a user of stm writes, with fewer topics and refits."""
    counts, frame, _ = world
    monkeypatch.chdir(tmp_path)
    texts = [" ".join(np.repeat(counts.columns, row)) for row in counts.to_numpy()[:120]]
    frame[:120].drop(columns="words").assign(text=texts).to_csv("blogs.csv", index=False)

    df = pd.read_csv("blogs.csv", parse_dates=["date"])
    select_topics(LDA(n_jobs=1, max_iter=3), df.text, n_topics=[2, 3], cv=2).plot("figS1.pdf")
    model = LDA(3, inference="gibbs", n_jobs=1, random_state=1, max_iter=20).fit(df.text, metadata=df)
    model.set_topic_labels({0: "Iraq war", 2: "Economy"})
    eff = model.estimate_effect("~ party * spline(date, 3)", df, cluster="author", refits=2)
    table = eff.summary(probability=0.95)
    eff.contrast("party", "D", "R").plot("fig1.pdf")
    eff.curve("date", by="party", topics=["Economy"]).plot("fig2.pdf")
    eff.to_latex("table1.tex")
    model.report("report.html", df.text, metadata=df, effects=eff)

    assert set(table.label) >= {"Iraq war", "Economy"} and table.p_adjusted.ge(table.p).all()
    assert {"found_again", "lower", "upper"} <= set(table) and "Errors by 12 groups of author" in str(table)
    assert all(Path(f"{name}.pdf").read_bytes().startswith(b"%PDF") for name in ("figS1", "fig1", "fig2"))
    assert "Economy" in Path("table1.tex").read_text()
    assert Path("report.html").stat().st_size > 50_000
