"""Embeddings beside topics: one block with a ridge of its own, chosen out of fold."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from supertopic import SVI, MedLDAClassifier, SLDAClassifier, SLDARegressor, SSTMRegressor, Stream, load
from supertopic.datasets import simulate
from supertopic.documents.embeddings import N_FOLDS, BlockSurvey
from supertopic.documents.known import Known
from supertopic.documents.labels import Target
from supertopic.explore.page.payload import collect
from supertopic.fitted.embeddings import EmbeddingSurvey, stands_for
from supertopic.metrics import predictive_r2

D, E = 500, 60
RNG = np.random.default_rng(5)
DATA = simulate(n_documents=D, n_words=120, n_topics=4, response="gaussian", seed=3)
X = DATA.counts.counts
BASIS = RNG.normal(size=(8, E))
HIDDEN = RNG.normal(size=(D, 8))
EMBEDDINGS = HIDDEN @ BASIS + 0.5 * RNG.normal(size=(D, E)) + 3.0
Y = DATA.y + 1.5 * HIDDEN[:, 0]


def survey(embeddings, targets, weight, fold, cuts=(0, D)):
    found = BlockSurvey(embeddings.shape[1], targets.shape[1])
    for a, b in pairwise(cuts):
        found.add(embeddings[a:b], targets[a:b], weight[a:b], fold[a:b])
    return found.found(tuple("ab"[: targets.shape[1]]))


def test_numbers_are_ridge_regressions_on_other_folds():
    """Held to scikit-learn's ridge, over the same penalties and both scalings."""
    fold, weight = RNG.integers(0, N_FOLDS, D), RNG.choice([0.5, 1.0, 2.0], D)
    wide = EMBEDDINGS * np.where(np.arange(E) < 30, 1.0, 20.0)
    found = survey(wide, Y[:, None], weight, fold)
    best, expected = np.inf, None
    for scaled in (False, True):
        for penalty in 10.0 ** np.arange(-3.0, 4.01, 0.5):
            numbers, lost, coefs = np.zeros(D), 0.0, []
            for number in range(N_FOLDS):
                rest, out = fold != number, fold == number
                mean = np.average(wide[rest], axis=0, weights=weight[rest])
                variance = weight[rest] @ (wide[rest] - mean) ** 2
                scale = 1 / np.sqrt(variance) if scaled else np.ones(E)
                unit = (variance * scale**2).mean()
                ridge = Ridge(penalty * unit).fit(wide[rest] * scale, Y[rest], sample_weight=weight[rest])
                lost += weight[out] @ (Y[out] - ridge.predict(wide[out] * scale)) ** 2
                coefs.append(ridge.coef_ * scale)
                numbers[out] = (wide[out] - np.average(wide, axis=0, weights=weight)) @ coefs[-1]
            if lost < best:
                best, expected, mean_coef = lost, numbers, np.mean(coefs, axis=0)
    numbers = found.numbers(wide.astype(np.float32), fold)[:, 0]
    unit = numbers.std() / expected.std()
    np.testing.assert_allclose(numbers, unit * expected, atol=2e-3)
    np.testing.assert_allclose(found.block.coef[0], unit * mean_coef, rtol=1e-3, atol=1e-5 * np.abs(mean_coef).max())
    assert 0.9 < np.average((numbers - np.average(numbers, weights=weight)) ** 2, weights=weight) < 1.1


def test_sums_of_batches_are_those_of_all():
    fold = RNG.integers(-1, N_FOLDS, D)
    targets = np.column_stack([Y, HIDDEN[:, 1]])
    whole = survey(EMBEDDINGS + 1e4, targets, np.ones(D), fold)
    parts = survey(EMBEDDINGS + 1e4, targets, np.ones(D), fold, (0, 3, 250, D))
    np.testing.assert_allclose(parts.folds, whole.folds, rtol=1e-6)
    np.testing.assert_allclose(parts.block.mean, whole.block.mean)
    none = whole.numbers(EMBEDDINGS + 1e4, np.full(D, -1))
    np.testing.assert_allclose(none, whole.block.numbers(EMBEDDINGS + 1e4))


def test_labels_say_nothing_of_their_own_number():
    known = Known.of(D, embeddings=EMBEDDINGS)
    changed = Y.copy()
    changed[7] += 0.01
    found = []
    for y in (Y, changed):
        one = EmbeddingSurvey((Target("y", "gaussian"),), 0)
        one.add(known, y, np.ones(D))
        fold = one.folds(known)
        numbers = one.found().numbers(known.embeddings, fold)
        found.append(numbers[fold == fold[7], 0] / np.linalg.norm(numbers[fold == fold[7]]))
    np.testing.assert_allclose(*found, rtol=1e-6)  # of the whole fold, but for the unit


def test_groups_stay_in_one_fold_in_every_batch():
    groups = np.array([f"author {d % 30}" for d in range(D)])
    one = EmbeddingSurvey((Target("y", "gaussian"),), 4)
    fold = one.folds(Known.of(D, groups=groups))
    assert len(np.unique(fold)) == N_FOLDS
    for author in np.unique(groups):
        assert len(np.unique(fold[groups == author])) == 1
    np.testing.assert_array_equal(one.folds(Known.of(D - 100, groups=groups[100:]), 1), fold[100:])


def test_what_y_stands_for():
    classes = Target("c", "softmax", classes=np.array(["a", "b", "c"]))
    found = stands_for(classes, np.array([0.0, 2.0, np.nan]))
    np.testing.assert_array_equal(found, [[1, 0], [0, 0], [np.nan, np.nan]])
    np.testing.assert_allclose(stands_for(Target("n", "poisson"), np.array([0.0, 3.0]))[:, 0], np.log([0.5, 3.5]))
    np.testing.assert_allclose(stands_for(Target("n", "gamma"), np.array([2.0]))[:, 0], np.log([2.0]))
    assert stands_for(Target("c", "logit", classes=np.array([0, 1])), np.array([1.0])).shape == (1, 1)


@pytest.mark.parametrize(
    "more", [{}, {"inference": "vb", "cross_fit": 0}, {"honest": 0.5}, {"words": True, "cross_fit": 2}]
)
def test_embeddings_predict_beside_topics(more, tmp_path):
    train, test = slice(0, 350), slice(350, D)
    given = {"n_topics": 4, "max_iter": 15, **more}
    without = SLDARegressor(**given).fit(X[train], Y[train])
    model = SLDARegressor(**given).fit(X[train], Y[train], embeddings=EMBEDDINGS[train])
    found = model.predict(X[test], embeddings=EMBEDDINGS[test])
    assert predictive_r2(Y[test], found) > predictive_r2(Y[test], without.predict(X[test])) + 0.15
    assert model.covariate_names_ == ["embeddings"] and list(model.covariate_coef_.columns) == ["embeddings"]
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X[test], embeddings=EMBEDDINGS[test]), found)
    wide = SLDARegressor(**given).fit(X[train], Y[train], covariates=EMBEDDINGS[train])
    np.testing.assert_array_equal(wide.predict(X[test], covariates=EMBEDDINGS[test]), found)


def test_topics_do_not_see_them():
    without = SLDARegressor(4, inference="vb", max_iter=6, cross_fit=0).fit(X, Y)
    model = SLDARegressor(4, inference="vb", max_iter=6, cross_fit=0).fit(X, Y, embeddings=EMBEDDINGS)
    np.testing.assert_allclose(model.components_, without.components_, rtol=1e-3, atol=1e-6)
    assert abs(model.covariate_coef_["embeddings"].iloc[0]) > 0.5


def test_explanations_call_them_by_name(tmp_path):
    names = [f"x{place}" for place in range(3)]
    frame = pd.DataFrame(RNG.normal(size=(D, 3)), columns=names)
    model = SLDARegressor(4, max_iter=5, cross_fit=0).fit(X, Y, covariates=frame, embeddings=EMBEDDINGS)
    assert model.covariate_names_ == [*names, "embeddings"]
    told = model.explain(X[:1], covariates=frame[:1], embeddings=EMBEDDINGS[:1])
    assert "embeddings" in set(told["word"])
    total = told["contribution"].sum() + model.intercept_
    assert abs(total - model.predict(X[:1], covariates=frame[:1], embeddings=EMBEDDINGS[:1])[0]) < 1e-3
    page = collect(model, X[:40], Y[:40], covariates=frame[:40], embeddings=EMBEDDINGS[:40])
    assert [one["name"] for one in page.facts["effects"]["covariates"]] == [*names, "embeddings"]
    with pytest.raises(ValueError, match="embeddings: got none"):
        model.report(tmp_path / "page.html", X[:40], Y[:40], covariates=frame[:40])
    assert model.summary().iloc[-1]["coef"] == pytest.approx(model.covariate_coef_["embeddings"].iloc[0])


def test_embeddings_of_noise_change_next_to_nothing():
    noise, train, test = RNG.normal(size=(D, 200)), slice(0, 350), slice(350, D)
    without = SLDARegressor(4, max_iter=15, cross_fit=2).fit(X[train], Y[train]).predict(X[test])
    model = SLDARegressor(4, max_iter=15, cross_fit=2).fit(X[train], Y[train], embeddings=noise[train])
    lost = predictive_r2(Y[test], without) - predictive_r2(Y[test], model.predict(X[test], embeddings=noise[test]))
    assert lost < 0.01


@pytest.mark.parametrize("kind", [SLDAClassifier, MedLDAClassifier, SSTMRegressor])
def test_other_models_take_embeddings(kind, tmp_path):
    y = Y if kind is SSTMRegressor else np.array(["low", "middle", "high"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
    given = {"max_iter": 40} if kind is SSTMRegressor else {"max_iter": 8}
    model = kind(4, **given).fit(X[:350], y[:350], embeddings=EMBEDDINGS[:350])
    without = kind(4, **given).fit(X[:350], y[:350])
    gain = model.score(X[350:], y[350:], embeddings=EMBEDDINGS[350:]) - without.score(X[350:], y[350:])
    assert gain > 0.05
    model.save(tmp_path / "m")
    again = load(tmp_path / "m").predict(X[350:], embeddings=EMBEDDINGS[350:])
    np.testing.assert_array_equal(again, model.predict(X[350:], embeddings=EMBEDDINGS[350:]))


def test_embeddings_of_a_stream_and_of_batches():
    given = {"inference": "svi", "max_iter": 4, "cross_fit": 0}
    whole = SLDARegressor(4, **given).fit(X, Y, embeddings=EMBEDDINGS)
    blocks = [(X[a:b], Y[a:b], {"embeddings": EMBEDDINGS[a:b]}) for a, b in ((0, 90), (90, D))]
    parts = SLDARegressor(4, **given).fit(Stream.from_iterable(blocks))
    step = SLDARegressor(4, inference=SVI(total_documents=D))
    for _ in range(30):
        step.partial_fit(X, Y, embeddings=EMBEDDINGS)
    for other in (parts, step):
        coef = other.covariate_coef_["embeddings"].iloc[0]
        np.testing.assert_allclose(coef, whole.covariate_coef_["embeddings"].iloc[0], rtol=0.15)
    found = pd.concat(parts.predict(Stream.from_iterable(blocks)))["prediction"]
    np.testing.assert_allclose(found, parts.predict(X, embeddings=EMBEDDINGS), rtol=1e-4, atol=1e-4)


def test_nonsense_is_refused():
    model = SLDARegressor(3, max_iter=2, cross_fit=0).fit(X, Y, embeddings=EMBEDDINGS)
    with pytest.raises(ValueError, match="embeddings: got none, expected 60 dimensions as in fit"):
        model.predict(X)
    with pytest.raises(ValueError, match="embeddings: got 5 dimensions, expected 60 as in fit"):
        model.predict(X, embeddings=EMBEDDINGS[:, :5])
    with pytest.raises(ValueError, match="embeddings: got some, but the model was fitted without embeddings"):
        SLDARegressor(3, max_iter=2, cross_fit=0).fit(X, Y).predict(X, embeddings=EMBEDDINGS)
    with pytest.raises(ValueError, match="embeddings: got 5 labelled documents, expected 20 at least"):
        SLDARegressor(3).fit(X, np.where(np.arange(D) < 5, Y, np.nan), embeddings=EMBEDDINGS)
    with pytest.raises(ValueError, match="covariates: got 60 columns without names beside embeddings"):
        SLDARegressor(3).fit(X, Y, covariates=EMBEDDINGS, embeddings=EMBEDDINGS)
