"""Topics that come back among folds or refits, and how far their coefficients move: found_again and spread."""

import numpy as np
import pandas as pd
import pytest

from supertopic import SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.cli.response import unit_of
from supertopic.datasets import simulate
from supertopic.fitted.certainty import cross_fit
from supertopic.fitted.coefficients import effects
from supertopic.fitted.effects import means_of
from supertopic.fitted.fitted import Others
from supertopic.fitted.refits import drawn_again
from supertopic.inference.gibbs.chains import match_topics
from tests.cli_tools import misused, run

RNG = np.random.default_rng(3)
QUICK = {"inference": "vb", "max_iter": 10, "cross_fit": 3}


def documents(response="gaussian", n=150, n_topics=3, **more):
    found = simulate(n_documents=n, n_topics=n_topics, n_words=60, mean_length=40, response=response, seed=5, **more)
    return found.counts.counts, found.y


def similar(ours, theirs):
    """(K, K) cosines of the columns."""
    ours, theirs = (one / np.linalg.norm(one, axis=0) for one in (ours.astype(float), theirs.astype(float)))
    return ours.T @ theirs


def test_others_by_hand():
    values = np.array([[[1.0, 5.0]], [[3.0, 6.0]], [[8.0, 7.0]]])
    others = Others(values.astype(np.float32), np.array([[0.9, 0.6], [0.71, 0.69], [0.2, 0.8]]))
    np.testing.assert_allclose(others.found_again, [2 / 3, 1 / 3])
    found = others.spread(values)
    assert found.shape == (1, 2) and found[0, 0] == pytest.approx(np.std([1, 3], ddof=1)) and np.isnan(found[0, 1])


def test_folds_say_which_topics_come_back_and_how_far_coefficients_move(monkeypatch, tmp_path):
    counts, y = documents()
    fits, own = [], cross_fit.fold_fits
    monkeypatch.setattr(cross_fit, "fold_fits", lambda *a, **k: (fits.append(one.fit) or one for one in own(*a, **k)))
    model = SLDARegressor(8, **QUICK).fit(counts, y)  # more topics than there are: some do not come back
    ours, moved, alike = model.fitted_.weights, [], []
    for one in fits:
        order = match_topics(ours, one.weights)
        alike.append(np.diag(similar(ours, one.weights[:, order])) >= 0.7)
        moved.append(one.state.coef[0, order].astype(float))
    again = np.mean(alike, axis=0)
    table = model.summary()
    topics = table.loc[[f"topic {k}" for k in range(8)]]
    np.testing.assert_allclose(topics["found_again"], again)
    assert 0 < again.mean() < 1 and np.isnan(table.loc["intercept", "found_again"])
    coef = np.array([effects(model.fitted_, one).topics[0] for one in model.fitted_.others.coef])
    for k in range(8):
        told = coef[np.array(alike)[:, k], k]
        expected = np.std(told, ddof=1) if len(told) > 1 else np.nan
        assert topics["spread"].iloc[k] == pytest.approx(expected, rel=1e-4, nan_ok=True)
    for own_coef, one in zip(moved, coef, strict=True):  # in the units of the whole fit, around the average document
        raw = own_coef - own_coef @ model.fitted_.average_shares
        np.testing.assert_allclose(one / one.std(), raw / raw.std(), atol=1e-4)
    lines = " ".join(table.attrs["below"])
    assert "3 fits without a fold" in lines
    assert ("are given these topics" in lines) == (model.fitted_.certainty.topic_error == 1).all()
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(load(tmp_path / "model").summary(), table)


def test_effects_have_the_spread_of_what_other_fits_predict():
    """By moving each document, with the coefficients of each other fit."""
    counts, y = documents("poisson")
    model = SLDARegressor(3, response="poisson", **QUICK).fit(counts, y)
    fitted, shares = model.fitted_, model.doc_topic_.astype(float)
    found = model.effects().set_index("topic")
    own = fitted.state.coef.astype(float)
    for k in range(3):
        low, high = np.quantile(shares[:, k], [0.1, 0.9])
        told = []
        for coef in fitted.others.coef.astype(float)[fitted.others.found[:, k]]:
            coef = coef + (own - coef) @ shares.mean(axis=0)
            means = []
            for value in (low, high):
                moved = shares / (1.0 - shares[:, k, None]) * (1.0 - value)
                moved[:, k] = value
                means.append(means_of(fitted, moved @ coef.T).mean())
            told.append(means[1] / means[0])
        assert found.loc[k, "spread"] == pytest.approx(np.std(told, ddof=1), rel=1e-3)
    assert found["found_again"].between(0, 1).all()


@pytest.mark.parametrize("kind", [SLDAClassifier, TopicModel])
def test_classes_and_several_responses_have_a_spread_each(kind):
    counts, y = documents("softmax")
    if kind is TopicModel:
        y = pd.DataFrame({"class": np.array(list("abcdef"))[y.astype(int)], "length": y + RNG.normal(size=len(y))})
    model = kind(3, **QUICK).fit(counts, y)
    table = model.summary().drop(index="intercept", level="term")
    assert table.groupby("response")["spread"].nunique().min() > 1
    assert (table.groupby("term")["found_again"].nunique() == 1).all()
    assert model.effects()["spread"].notna().any()
    assert "spread:" in repr(model.effects()) and "again:" in unit_of(model) and "spread" not in unit_of(model)


def test_refits_draw_documents_again_and_take_other_seeds(tmp_path):
    counts, y = documents(n=120)
    model = SLDARegressor(6, **QUICK).fit(counts, y)
    before, coef = model.summary(), model.coef_.copy()
    assert model.find_again(3) is model
    found = model.summary()
    np.testing.assert_array_equal(model.coef_, coef)
    pd.testing.assert_frame_equal(
        found.drop(columns=["found_again", "spread"]), before.drop(columns=["found_again", "spread"])
    )
    assert not found["found_again"].equals(before["found_again"])
    assert "3 refits on documents drawn again" in " ".join(found.attrs["below"])
    rows = drawn_again(120, None, 3, 0)[1]
    other = SLDARegressor(6, **QUICK, random_state=2).fit(counts[rows], y[rows])
    order = match_topics(model.fitted_.weights, other.fitted_.weights)
    alike = np.diag(similar(model.fitted_.weights, other.fitted_.weights[:, order]))
    np.testing.assert_allclose(model.fitted_.others.similar[1], alike, rtol=1e-4)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    pd.testing.assert_frame_equal(again.effects(), model.effects())
    with pytest.raises(ValueError, match="no longer holds the documents"):
        again.find_again(3)
    with pytest.raises(ValueError, match="refits: got 1"):
        model.find_again(1)


def test_groups_are_drawn_whole():
    groups = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6])
    for rows in drawn_again(21, groups, 4, 0):
        size = np.bincount(groups[rows], minlength=6)
        assert (size % np.arange(1, 7) == 0).all() and (size // np.arange(1, 7)).sum() == 6


def test_without_other_fits_nothing_is_said():
    counts, y = documents(n=60)
    model = SLDARegressor(3, inference="vb", max_iter=3, cross_fit=0).fit(counts, y)
    assert "found_again" not in model.summary() and "found_again" not in model.effects()
    assert "found_again" in model.find_again(2).effects()


def test_the_command_line_refits(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([["sun", "rain", "wind"], ["bank", "fund", "stock"]])
    which = rng.integers(2, size=60)
    text = [" ".join(rng.choice(words[k], size=8)) for k in which]
    pd.DataFrame({"text": text, "price": which + 0.1 * rng.normal(size=60)}).to_csv(tmp_path / "d.csv", index=False)
    given = ("fit", tmp_path / "d.csv", "--target", "price", "--topics", 2, "--iterations", 5, "--quiet")
    run(*given, "--refits", 3, "--out", tmp_path / "m.supertopic")
    model = load(tmp_path / "m.supertopic")
    assert model.fitted_.notes["refits"] == 3
    shown = run("topics", tmp_path / "m.supertopic")
    assert "again" in shown.stdout.splitlines()[0] and "again: the share of 3 refits" in " ".join(shown.stderr.split())
    refused = misused("fit", tmp_path / "d.csv", "--topics", 2, "--refits", 3, "--out", tmp_path / "n.supertopic")
    assert "has no coefficients" in refused
