"""The supervised estimators: errors, scikit-learn's conventions, and real reviews."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import RidgeCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from supertopic import LDA, PC, VB, SLDAClassifier, SLDARegressor
from supertopic.datasets import load as load_corpus
from supertopic.datasets import simulate
from supertopic.documents.corpus import as_corpus
from supertopic.fitted.predict import scores_of
from supertopic.inference.after import prediction
from supertopic.metrics import predictive_r2

X = sp.csr_matrix(np.array([[2, 1, 0], [0, 1, 3], [1, 1, 1], [2, 0, 0]], dtype=np.float32))
REFUSED = {
    "text to the regressor": (SLDARegressor(2), ["a", "b", "a", "b"], "use SLDAClassifier instead of SLDARegressor"),
    "numbers to the classifier": (
        SLDAClassifier(2),
        [0.1, 0.7, 0.2, 1.5],
        "use SLDARegressor instead of SLDAClassifier",
    ),
    "one class": (SLDAClassifier(2), [1, 1, 1, 1], "y holds 1 class, "),
    "three classes": (SLDAClassifier(2, response="probit"), [0, 1, 2, 1], "'probit', which is for two classes, but y"),
    "order of the alphabet": (
        SLDAClassifier(2, response="ordinal"),
        ["a", "b", "c", "a"],
        "needs classes with an order",
    ),
    "two columns of labels": (SLDAClassifier(2), np.eye(4)[:, :2], "SLDAClassifier takes one column of labels"),
    "zero waiting time": (
        SLDARegressor(2, response="gamma"),
        [1, 0, 2, 3],
        "y holds 0, but response='gamma' needs",
    ),
    "negative time": (SLDARegressor(2, response="weibull"), [1, -2, 2, 3], "y holds -2, but response='weibull' needs"),
    "fractional poisson": (SLDARegressor(2, response="poisson"), [1, 1.5, 0, 2], "y holds 1.5, but response='poisson'"),
    "link": (
        SLDARegressor(2, response="gamma:magic"),
        [1.0, 2, 3, 4],
        "response: got 'gamma:magic', expected 'gamma' or 'gamma:log' or 'gamma:canonical'",
    ),
    "no link": (
        SLDARegressor(2, response="gaussian:log"),
        [1.5, 2, 3, 4],
        "response: got 'gaussian:log', expected 'gaussian'",
    ),
    "init": (
        SLDARegressor(2, inference=PC(init="magic")),
        [1.0, 2, 3, 4],
        "init: got 'magic', expected 'online' or 'uniform'",
    ),
    "names of responses": (SLDARegressor(2, response=["gaussian"]), np.eye(4)[:, :2], "got 1 names, expected one for"),
    "all missing": (SLDARegressor(2), [np.nan] * 4, "y is missing for every document; expected some labels"),
    "all labels missing": (SLDAClassifier(2), [None] * 4, "y is missing for every document; expected some labels"),
    "no y": (SLDARegressor(2), None, "requires y to be passed"),
    "wrong length": (SLDARegressor(2), [1.0, 2.0], "X has 4 documents, y has 2"),
    "three dimensions": (SLDARegressor(2), np.zeros((4, 2, 2)), "y has shape (4, 2, 2); expected one value per docu"),
    "infinite": (SLDARegressor(2), [1.0, np.inf, 0.0, 2.0], "y contains infinity; expected finite numbers"),
    "unknown response": (
        SLDARegressor(2, response="magic"),
        [1.0] * 4,
        "response: got 'magic', expected 'auto' or one",
    ),
    "a class's response": (SLDARegressor(2, response="logit"), [1.0] * 4, "response: got 'logit', expected 'auto' or"),
    "negative supervision": (
        SLDARegressor(2, supervision=-1),
        [1.0] * 4,
        "supervision: got -1, expected a number >= 0",
    ),
    "nan supervision": (SLDARegressor(2, supervision=np.nan), [1.0] * 4, "supervision: got nan, expected a number"),
    "negative count": (SLDARegressor(2, response="negative_binomial"), [1, -1, 0, 2], "y holds -1, but response="),
    "fractional count": (SLDARegressor(2, response="negative_binomial"), [1, 1.5, 0, 2], "y holds 1.5, but response="),
    "prior": (SLDARegressor(2, coef_prior="ridge"), [1.5, 2, 3, 4], "coef_prior: got 'ridge', expected one of"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_in_a_sentence(name):
    estimator, y, message = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        estimator.fit(X, y)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


NOT_FOR_US = {
    "check_sample_weight_equivalence_on_dense_data": "sample_weight weighs the response, not the words",
    "check_sample_weight_equivalence_on_sparse_data": "sample_weight weighs the response, not the words",
    "check_decision_proba_consistency": "feeds negative numbers, and words are counted",
    "check_class_weight_classifiers": "feeds negative numbers, and words are counted",
}


def expected_failures(estimator):
    left_out = (
        ("check_decision_proba_consistency", "check_class_weight_classifiers")
        if isinstance(estimator, SLDARegressor)
        else ()
    )
    return {name: reason for name, reason in NOT_FOR_US.items() if name not in left_out}


@parametrize_with_checks(
    [
        SLDAClassifier(2, max_iter=5, cross_fit=0),
        SLDARegressor(5, max_iter=8, cross_fit=2),
        SLDAClassifier(2, max_iter=5, cross_fit=2),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
@pytest.mark.filterwarnings("ignore:n_topics=[25] is (more|less) than:UserWarning")
@pytest.mark.filterwarnings("ignore:cross_fit. got .* labels:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.* holds .* distinct whole numbers:UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_ratings_of_films(data_dir):
    """R² on 300 held-out reviews, trained on 1,000 others, is above that of ridge regression on LDA's topics.

    The reviews are shuffled, since the file is sorted by author, and duplicates are removed.
    """
    data = load_corpus("movie_reviews_scale", data_dir)
    texts = np.array(data.text, dtype=object)
    order = np.random.default_rng(0).permutation(np.unique(texts, return_index=True)[1])[:1300]
    texts, y = texts[order].tolist(), data.frame["rating"].to_numpy()[order]
    model = SLDARegressor(10, supervision=10, max_iter=30, cross_fit=2).fit(texts[:1000], y[:1000])
    found = model.score(texts[1000:], y[1000:])
    plain = LDA(10).fit(texts[:1000])
    ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(plain.doc_topic_, y[:1000])
    assert found > 0.15
    assert found > predictive_r2(y[1000:], ridge.predict(plain.transform(texts[1000:])))


def test_the_default_engine_is_the_one_that_predicts_best_of_those_that_can():
    assert SLDARegressor()._inference() == SLDAClassifier()._inference() == "pc"
    others = ({"emission": "sage"}, {"inference": VB(per_token=True)}, {"doc_topic_prior": "auto"})
    assert [SLDARegressor(**params)._inference() for params in others] == ["vb"] * 3
    assert SLDARegressor(inference="gibbs")._inference() == "gibbs"
    with pytest.raises(ValueError, match="inference: got 'em', expected one of 'auto', 'vb', 'svi', 'gibbs', 'pc'"):
        SLDARegressor(inference="em")._inference()


@pytest.mark.parametrize("inference", ["vb", "svi", "gibbs", "pc"])
def test_training_documents_are_inferred_once_after_a_fit(inference, monkeypatch):
    """What the refit regresses on follows from `doc_topic_`; it is what a prediction would find."""
    data = simulate(60, 3, 40, 30, doc_topic_prior=0.3, response="gaussian", seed=2)
    counts, given = data.counts.counts.tolil(), []
    counts[7] = 0
    counts = counts.tocsr()
    frequencies, score = prediction.frequencies, prediction.score

    def keep(*arguments):
        given.append(frequencies(*arguments))
        return given[-1]

    monkeypatch.setattr(prediction, "frequencies", keep)
    monkeypatch.setattr(prediction, "score", None)
    with pytest.warns(UserWarning, match="1 of 60"):
        model = SLDARegressor(3, inference=inference, max_iter=12, cross_fit=0, random_state=0).fit(counts, data.y)
    monkeypatch.setattr(prediction, "score", score)
    expected = scores_of(model.fitted_, as_corpus(counts), np.zeros((60, 0))).mean_topics
    assert len(given) == 1
    np.testing.assert_allclose(given[0], expected, atol=1e-5)
    np.testing.assert_allclose(given[0].sum(axis=1), 1.0, atol=1e-5)
