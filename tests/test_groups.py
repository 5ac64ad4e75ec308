"""Documents that belong together are never cut apart, and the past predicts the future."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import t as student

from supertopic import MedLDAClassifier, SLDAClassifier, SLDARegressor
from supertopic.datasets import simulate
from supertopic.fitted import finish, supervision
from supertopic.fitted.certainty import folds, honest
from supertopic.fitted.fit import fit
from supertopic.inference.after.multiplicity import adjusted
from supertopic.inference.variational import prediction_constrained, prediction_guide

DATA = simulate(400, 4, 150, 40, doc_topic_prior=0.3, response="gaussian", seed=2)
X, Y = DATA.counts.counts, DATA.y
GROUPS = np.random.default_rng(1).integers(0, 40, size=400)
FAST = {"max_iter": 3, "random_state": 0}


@pytest.fixture
def fits(monkeypatch):
    """The documents of all fits that are parts of others."""
    seen = []
    for module in (folds, supervision, finish):
        monkeypatch.setattr(
            module, "fit", lambda spec, given, *at, **by: seen.append(given) or fit(spec, given, *at, **by)
        )
    return seen


def groups_of(training):
    return set(training.groups.values)


def test_folds_leave_out_whole_groups(fits):
    model = SLDARegressor(4, cross_fit=4, **FAST).fit(X, Y, groups=GROUPS)
    names = [set(np.asarray(given.groups.levels)[given.groups.values]) for given in fits]
    assert model.n_groups_ == 40 and "errors are those of 40 groups" in str(model.summary())
    assert len(names) == 4 and all(20 < len(one) < 40 for one in names)
    assert [sum(group in one for one in names) for group in set(GROUPS.tolist())] == [3] * 40
    fits.clear()
    few = np.repeat(["a", "b", "c"], [300, 50, 50])
    with pytest.warns(UserWarning, match="groups: labels are of 3 groups, fewer than 20"):
        SLDARegressor(4, cross_fit=3, **FAST).fit(X, Y, groups=few)
    assert [len(groups_of(given)) for given in fits] == [2] * 3
    fits.clear()
    with (
        pytest.warns(UserWarning, match="groups: labels are of 3 groups"),
        pytest.warns(UserWarning, match="cross_fit: got 5 with 400 labels, enough for 3 folds only"),
    ):
        SLDARegressor(4, cross_fit=5, **FAST).fit(X, Y, groups=few)
    assert len(fits) == 3


def test_the_choice_of_the_supervision_leaves_out_whole_groups(fits):
    SLDARegressor(4, inference="vb", supervision="auto", cross_fit=0, **FAST).fit(X, Y, groups=GROUPS)
    assert {len(groups_of(given)) for given in fits} <= {26, 27}


def test_margins_have_probabilities_from_whole_groups(fits):
    MedLDAClassifier(4, cross_fit=3, **FAST).fit(X, Y > 0, groups=GROUPS)
    assert [len(groups_of(given)) in (26, 27) for given in fits] == [True] * 3


def test_documents_held_out_are_of_other_groups(monkeypatch):
    rows, guides = [], []
    split, parts = prediction_constrained._split, prediction_guide._parts
    monkeypatch.setattr(prediction_constrained, "_split", lambda task: rows.append(split(task)) or rows[-1])

    def guided(batch, own, seed):
        guides.append((batch.belonging.together[own], parts(batch, own, seed)))
        return guides[-1][1]

    monkeypatch.setattr(prediction_guide, "_parts", guided)
    SLDARegressor(4, cross_fit=0, **FAST).fit(X, Y, groups=GROUPS)
    train, held = rows[0]
    assert 25 < len(held) < 75 and not set(GROUPS[train]) & set(GROUPS[held])
    assert len(guides) == 2  # for the search, and for the last epochs
    for groups, part in guides:
        assert len(set(part)) == 3 and all(len(set(part[groups == one])) == 1 for one in set(groups))


def test_labels_set_aside_are_of_other_groups(monkeypatch):
    found, aside = [], honest.set_aside
    monkeypatch.setattr(honest, "set_aside", lambda *given: found.append(aside(*given)) or found[-1])
    SLDARegressor(4, honest=0.5, cross_fit=0, **FAST).fit(X, Y, groups=GROUPS)
    assert found[0].mean() == pytest.approx(0.5, abs=0.05)
    assert not set(GROUPS[found[0]]) & set(GROUPS[~found[0]])


def test_words_are_judged_by_other_groups(monkeypatch):
    found, hold_out = [], finish.hold_out
    monkeypatch.setattr(finish, "hold_out", lambda *given: found.append(hold_out(*given)) or found[-1])
    SLDARegressor(4, words=True, cross_fit=2, **FAST).fit(X, Y, groups=GROUPS)
    assert found[0].mean() == pytest.approx(0.25, abs=0.05)
    assert not set(GROUPS[found[0]]) & set(GROUPS[~found[0]])


def test_near_duplicates_are_in_one_fold_unasked(fits):
    twice = sp.vstack([X, X[:50]]).tocsr()
    SLDARegressor(4, cross_fit=4, **FAST).fit(twice, np.append(Y, Y[:50]))
    for given in fits:
        seen = {row.tobytes() for row in given.corpus.counts.toarray()}
        left = {row.tobytes() for row in twice.toarray()} - seen
        assert len(given.y) + sum(row.tobytes() in left for row in twice.toarray()) == 450


@pytest.mark.parametrize("times", [None, np.arange(450) % 400])
def test_training_takes_near_duplicates_as_they_come(times, monkeypatch):
    """Documents to predict come again, too: regressions that never saw a text twice were shrunk too much."""
    rows, parts = [], []
    split, cut = prediction_constrained._split, prediction_guide._parts
    monkeypatch.setattr(prediction_constrained, "_split", lambda task: rows.append(split(task)) or rows[-1])
    monkeypatch.setattr(prediction_guide, "_parts", lambda *given: parts.append(cut(*given)) or parts[-1])
    twice = sp.vstack([X, X[:50]]).tocsr()
    SLDARegressor(4, cross_fit=0, **FAST).fit(twice, np.append(Y, Y[:50]), times=times)
    place, held = dict(zip(rows[0][0], parts[0], strict=True)), set(rows[0][1])
    assert any(place[n] != place[400 + n] for n in range(50) if n in place and 400 + n in place)
    assert times is not None or any((n in held) != (400 + n in held) for n in range(50))


@pytest.mark.parametrize("dates", [False, True])
def test_the_past_predicts_the_future(fits, dates, monkeypatch):
    moment, rows = np.random.default_rng(4).permutation(400), []
    times = np.datetime64("2001-03-01") + moment if dates else moment
    split = prediction_constrained._split
    monkeypatch.setattr(prediction_constrained, "_split", lambda task: rows.append(split(task)) or rows[-1])
    model = SLDARegressor(4, cross_fit=3, **FAST).fit(X, Y, times=times)
    assert [len(given.y) for given in fits] == [200, 266, 333]
    ordered = X[np.argsort(moment)].toarray()
    for given in fits:
        n = len(given.y)
        assert {row.tobytes() for row in given.corpus.counts.toarray()} == {row.tobytes() for row in ordered[:n]}
    train, held = rows[0]
    assert len(held) == 50 and moment[held].min() > moment[train].max()
    assert np.isfinite(model.fitted_.certainty.levels).sum() == 200  # documents that were predicted from their past


def noise_by_group(n_groups=60, size=20, seed=0):
    rng = np.random.default_rng(seed)
    data = simulate(n_groups * size, 5, 300, 40, doc_topic_prior=0.2, seed=seed)
    group = np.repeat(np.arange(n_groups), size)
    return data.counts.counts, rng.normal(size=n_groups)[group] + 0.7 * rng.normal(size=len(group)), group, rng


@pytest.mark.slow
def test_intervals_hold_documents_of_new_groups():
    held = []
    for seed in range(4):
        counts, y, group, rng = noise_by_group(seed=seed)
        old = np.isin(group, rng.permutation(60)[:30])
        model = SLDARegressor(6, max_iter=8, cross_fit=3, random_state=0).fit(counts[old], y[old], groups=group[old])
        _, low, high = model.predict(counts[~old], return_interval=0.9)
        held.append(((low <= y[~old]) & (y[~old] <= high)).mean())
    assert np.mean(held) > 0.87


@pytest.mark.slow
def test_sets_hold_documents_of_new_groups():
    counts, y, group, rng = noise_by_group()
    classes, old = (y > 0).astype(int), np.isin(group, rng.permutation(60)[:30])
    model = SLDAClassifier(6, max_iter=8, random_state=0).fit(counts[old], classes[old], groups=group[old])
    sets = model.predict_set(counts[~old], 0.9)
    assert sets[np.arange(len(sets)), classes[~old]].mean() > 0.88


@pytest.mark.filterwarnings("ignore:groups. labels are of")
def test_errors_of_few_groups_are_those_of_students_t():
    few = np.arange(400) % 8
    model = SLDARegressor(4, cross_fit=4, **FAST).fit(X, Y, groups=few)
    reach = student.ppf(0.95, 7)
    table = model.summary(adjust="holm")
    topics = table.loc[[f"topic {k}" for k in range(4)]]
    np.testing.assert_allclose(topics["upper"] - topics["coef"], reach * topics["std"], rtol=1e-6)
    raw = 2 * student.sf(np.abs(topics["coef"] / topics["std"]), 7)
    assert topics["p"].to_numpy() == pytest.approx(adjusted(raw, "holm"))
    found = model.effects()
    np.testing.assert_allclose(found["upper"] - found["effect"], reach * found["std_error"], rtol=1e-6)
    ends = model.coefficients_.ends(0.9)
    np.testing.assert_allclose(ends[1] - model.coefficients_.coef, reach * model.coefficients_.std, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:groups. labels are of")
def test_honest_errors_are_of_the_groups_set_aside():
    model = SLDARegressor(4, honest=0.5, cross_fit=0, **FAST).fit(X, Y, groups=GROUPS)
    aside = np.unique(GROUPS[model.out_of_fold_.index])
    assert model.n_groups_ == len(aside) < 25
    assert f"errors are those of {len(aside)} groups" in str(model.summary())


@pytest.mark.parametrize("forged", ["many", 0, 2.5, float("nan")])
def test_a_file_with_an_impossible_number_of_groups_is_refused(forged, tmp_path):
    model = SLDARegressor(4, cross_fit=2, **FAST).fit(X, Y, groups=GROUPS)
    model.save(tmp_path / "fine")
    model.fitted_ = replace(model.fitted_, notes={**model.fitted_.notes, "n_groups": forged})
    with pytest.raises(ValueError, match="n_groups: got"):  # the checks are those of a file that is read
        model.save(tmp_path / "forged")
