"""C and the margin by cross-validation."""

import numpy as np
import pytest
from sklearn.base import clone

from supertopic import Corpus, MedLDAClassifier, MedLDAClassifierCV, MedLDARegressor, MedLDARegressorCV, load
from supertopic.datasets import simulate

TWO = simulate(240, 4, n_words=60, mean_length=30, response="logit", coef=np.array([-6.0, 6.0, -2.0, 2.0]), seed=4)
NUMBER = simulate(240, 4, n_words=60, mean_length=30, response="gaussian", seed=4)
COUNTS = TWO.counts.counts


def test_the_best_mean_score_wins_and_all_documents_are_fitted(tmp_path):
    model = MedLDAClassifierCV(MedLDAClassifier(4, max_iter=6), Cs=(4.0, 0.0), costs=(8.0, 32.0)).fit(COUNTS, TWO.y)
    table = model.cv_results_
    assert list(table["C"]) == [0.0, 4.0, 0.0, 4.0] and list(table["cost"]) == [8.0, 8.0, 32.0, 32.0]
    assert model.best_score_ == table["score"].max() and model.C_ == 4.0
    chosen = table[(table["C"] == model.C_) & (table["cost"] == model.cost_)]
    assert chosen["score"].item() == model.best_score_
    best = model.best_estimator_
    assert (best.C, best.cost, best.warm_start, len(best.doc_topic_)) == (4.0, model.cost_, False, 240)
    np.testing.assert_array_equal(model.predict(COUNTS), best.predict(COUNTS))
    np.testing.assert_array_equal(model.decision_function(COUNTS), best.decision_function(COUNTS))
    np.testing.assert_array_equal(model.transform(COUNTS), best.transform(COUNTS))
    assert model.score(COUNTS, TWO.y) == best.score(COUNTS, TWO.y)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(COUNTS), model.predict(COUNTS))
    assert list(model.classes_) == [0, 1] and clone(model).get_params()["estimator__n_topics"] == 4


def test_fits_go_on_along_C():
    """The second fit of a path starts from the topics of the first; with one C there is no warm start."""
    base, folds = MedLDAClassifier(4, max_iter=3, tol=0.0), [(np.arange(160), np.arange(160, 240))]
    alone = MedLDAClassifierCV(base, Cs=(8.0,), costs=(8.0,), cv=folds).fit(COUNTS, TWO.y)
    after = MedLDAClassifierCV(base, Cs=(2.0, 8.0), costs=(8.0,), cv=folds).fit(COUNTS, TWO.y)
    cold = clone(base).set_params(C=8.0, cost=8.0).fit(COUNTS, TWO.y)
    np.testing.assert_array_equal(alone.best_estimator_.components_, cold.components_)
    first = clone(base).set_params(C=2.0, cost=8.0, warm_start=True).fit(COUNTS, TWO.y)
    if after.C_ == 8.0:
        first.set_params(C=8.0).fit(COUNTS, TWO.y)
    np.testing.assert_array_equal(after.best_estimator_.components_, first.components_)


def test_numbers_texts_and_words():
    model = MedLDARegressorCV(MedLDARegressor(4, likelihood="lda", max_iter=6), Cs=(0.0, 3.0), epsilons=(0.1,), cv=2)
    model.fit(Corpus(NUMBER.counts.counts), NUMBER.y)
    assert model.C_ == 3.0 and model.epsilon_ == 0.1
    assert model.score(NUMBER.counts.counts, NUMBER.y) > 0.3
    texts = [" ".join(f"w{word}" for word in row.indices for _ in range(int(row[0, word]))) for row in COUNTS]
    base = MedLDAClassifier(4, max_iter=4, words=True)
    found = MedLDAClassifierCV(base, Cs=(1.0, 4.0), costs=(8.0,), cv=2).fit(texts, TWO.y.astype(str))
    assert found.best_estimator_.word_coef_.shape[1] == found.best_estimator_.n_features_in_
    assert found.score(texts, TWO.y.astype(str)) > 0.8


@pytest.mark.parametrize("given", [{"Cs": ()}, {"Cs": (1.0, -1.0)}, {"costs": 3.0}, {"costs": ("high",)}])
def test_nonsense_is_refused(given):
    (name,) = given
    with pytest.raises(ValueError, match=f"{name}: got .*, expected a list of finite numbers >= 0"):
        MedLDAClassifierCV(**given).fit(COUNTS, TWO.y)


def test_folds_leave_out_whole_groups_and_the_past_predicts_the_future(monkeypatch):
    groups, taken = np.arange(240) // 24, []
    own = MedLDAClassifierCV._walk
    monkeypatch.setattr(
        MedLDAClassifierCV, "_walk", lambda self, *given: taken.append(given[6:]) or own(self, *given)
    )  # fmt: skip
    base = MedLDAClassifier(4, max_iter=2)
    model = MedLDAClassifierCV(base, Cs=(2.0,), costs=(8.0,), cv=3).fit(COUNTS, TWO.y, groups=groups)
    assert len(taken) == 4 and model.best_estimator_.fitted_.training.groups is not None
    for train, test in taken[:3]:
        assert not set(groups[train]) & set(groups[test]) and len(train) + len(test) == 240
    taken.clear()
    years = {"year": np.arange(240)[::-1]}
    MedLDAClassifierCV(base, Cs=(2.0,), costs=(8.0,), cv=3).fit(COUNTS, TWO.y, metadata=years, times="year")
    assert len(taken) == 4 and all(train.min() > test.max() for train, test in taken[:3])
    with pytest.raises(ValueError, match="groups: got one group"):
        MedLDAClassifierCV(base, Cs=(2.0,), costs=(8.0,), cv=3).fit(COUNTS, TWO.y, groups=np.zeros(240))
