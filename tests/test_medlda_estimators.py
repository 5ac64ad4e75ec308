"""MedLDA estimators: errors, and scikit-learn's conventions."""

import re

import matplotlib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from supertopic import LDA, MedLDAClassifier, MedLDARegressor, load
from supertopic.backends.threads import Threads
from supertopic.datasets import load as load_corpus
from supertopic.datasets import simulate
from supertopic.inference.after.prediction import score_documents
from supertopic.margin import solve_classes

matplotlib.use("Agg")

X = sp.csr_matrix(np.array([[2, 1, 0], [0, 1, 3], [1, 1, 1], [2, 0, 0]], dtype=np.float32))
REFUSED = {
    "C": (MedLDAClassifier(2, C=-1), [0, 1, 0, 1], "C: got -1, expected a finite number >= 0"),
    "infinite C": (MedLDARegressor(2, C=np.inf), [0.0, 1, 2, 3], "C: got inf, expected a finite number >= 0"),
    "cost": (MedLDAClassifier(2, cost="high"), [0, 1, 0, 1], "cost: got 'high', expected a finite number >= 0"),
    "epsilon": (MedLDARegressor(2, epsilon=-0.1), [0.0, 1, 2, 3], "epsilon: got -0.1, expected a finite number >= 0"),
    "slack": (MedLDAClassifier(2, slack=1), [0, 1, 0, 1], "slack: got 1, expected 'n' or '1'"),
    "likelihood": (
        MedLDARegressor(2, likelihood="gaussian"),
        [0.0, 1, 2, 3],
        "likelihood: got 'gaussian', expected 's",
    ),
    "inference": (MedLDAClassifier(2, inference="svi"), [0, 1, 0, 1], "inference: got 'svi', expected one of 'vb'"),
    "scale": (MedLDAClassifier(2, coef_scale=0), [0, 1, 0, 1], "coef_scale: got 0, expected a number > 0"),
    "one class": (MedLDAClassifier(2), [1, 1, 1, 1], "y holds 1 class, 1; MedLDAClassifier needs 2 or more"),
    "text": (MedLDARegressor(2), ["a", "b", "a", "b"], "use MedLDAClassifier instead of MedLDARegressor"),
    "fractions": (MedLDAClassifier(2), [0.1, 0.7, 0.2, 1.5], "use MedLDARegressor instead of MedLDAClassifier"),
    "columns": (MedLDARegressor(2), np.eye(4)[:, :2], "y has shape (4, 2); MedLDARegressor takes one column of numb"),
    "labels": (MedLDAClassifier(2), np.eye(4)[:, :2], "y has shape (4, 2); MedLDAClassifier takes one column of lab"),
    "missing": (MedLDARegressor(2), [np.nan] * 4, "y is missing for every document; expected some labels"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nonsense_is_refused_in_a_sentence(case):
    estimator, y, message = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        estimator.fit(X, y)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


NOT_FOR_US = {
    "check_sample_weight_equivalence_on_dense_data": "sample_weight weighs the response, not the words",
    "check_sample_weight_equivalence_on_sparse_data": "sample_weight weighs the response, not the words",
    "check_class_weight_classifiers": "feeds negative numbers, and words are counted",
}


def expected_failures(estimator):
    left_out = ("check_class_weight_classifiers",) if isinstance(estimator, MedLDARegressor) else ()
    return {name: reason for name, reason in NOT_FOR_US.items() if name not in left_out}


@parametrize_with_checks(
    [MedLDARegressor(5, max_iter=10), MedLDAClassifier(2, max_iter=5)], expected_failed_checks=expected_failures
)
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
@pytest.mark.filterwarnings("ignore:n_topics=[25] is (more|less) than:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_support_documents_are_plotted_step_by_step():
    data = simulate(100, 3, n_words=40, mean_length=30, response="logit", seed=1)
    model = MedLDAClassifier(3, C=1.0, cost=8.0, max_iter=6, tol=0.0).fit(data.counts, data.y)
    ax = model.plot_support()
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), model.n_support_)
    assert list(line.get_xdata()) == [1, 2, 3, 4, 5, 6]
    matplotlib.pyplot.close(ax.figure)


@pytest.mark.parametrize("kind", ["number", "two"])
def test_sparse_topics_serve_a_margin_too(kind, tmp_path):
    """The response also works with SAGE topics, since it does not depend on the emission."""
    data = simulate(400, 4, n_words=80, mean_length=40, response="gaussian", seed=2)
    y = data.y if kind == "number" else (data.y > 0).astype(int)
    common = {"max_iter": 10, "emission": "sage", "C": 1.0}
    model = MedLDARegressor(4, **common) if kind == "number" else MedLDAClassifier(4, cost=8.0, **common)
    model.fit(data.counts.counts[:300], y[:300])
    assert model.score(data.counts.counts[300:], y[300:]) > (0.5 if kind == "number" else 0.75)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(data.counts.counts), model.predict(data.counts.counts))
    with pytest.raises(ValueError, match="inference: got 'gibbs', which needs Dirichlet topics"):
        clone(model).set_params(inference="gibbs").fit(data.counts.counts, y)


@pytest.mark.parametrize("words", [False, True])
def test_decision_values_are_those_of_the_general_way(words):
    """Compares scores without second moments with those of responses that need them."""
    data = simulate(200, 4, n_words=80, mean_length=40, response="softmax", coef=8 * np.eye(3, 4), seed=2)
    X = data.counts.counts
    model = MedLDAClassifier(4, C=1.0, cost=8.0, doc_topic_prior=2.0, max_iter=6, words=words).fit(X, data.y)
    fitted, response = model.fitted_, model.fitted_.spec.response
    assert not response.uses_moments
    with Threads(1) as backend:
        given = fitted.point, fitted.weights, fitted.topic_coef, response.is_product
        general = score_documents(*given, X.astype(np.float32), backend)
    beside = 0.0 if fitted.words is None else fitted.words.score(X)
    scale = np.abs(general.score).max()
    np.testing.assert_allclose(model.decision_function(X), general.score + beside, atol=2e-3 * scale)
    if not words:
        found = solve_classes(general.mean_topics.astype(float), data.y.astype(float), 3, 1.0, 8.0, tol=1e-6)
        np.testing.assert_allclose(
            model.intercept_[:, None] + model.coef_, found.coef, atol=0.02 * np.abs(found.coef).max()
        )


@pytest.mark.slow
def test_two_newsgroups(data_dir):
    """Test accuracy on the paper's binary problem is above that of the SVM on LDA's topics."""
    data = load_corpus("20newsgroups_bow", data_dir)
    two = data.frame["label"].isin(["alt.atheism", "talk.religion.misc"]).to_numpy()
    train = two & (data.frame["split"] == "train").to_numpy()
    counts, y = data.counts.counts, data.frame["label"].to_numpy()
    common = np.array([word not in ENGLISH_STOP_WORDS for word in data.counts.vocabulary])
    common &= np.asarray((counts[train] > 0).sum(axis=0)).ravel() >= 2
    X, new = counts[train][:, common], counts[two & ~train][:, common]
    found = MedLDAClassifier(10).fit(X, y[train]).score(new, y[two & ~train])
    plain = LDA(10).fit(X)
    svm = SVC(kernel="linear", C=10.0).fit(plain.doc_topic_, y[train])
    assert found > 0.8
    assert found > svm.score(plain.transform(new), y[two & ~train])


@pytest.mark.parametrize("inference", ["cvb0", "gibbs"])
def test_starts_are_averaged_by_an_ensemble(inference, tmp_path):
    """Decision values are the mean of fits with three seeds; what is read is the first; files have all of them."""
    data = simulate(200, 3, 80, 50, response="logit", seed=4)
    X, y = data.counts.counts, np.where(data.y > 0, "yes", "no")
    given = {"max_iter": 4, "inference": inference}
    several = MedLDAClassifier(3, ensemble=3, random_state=5, **given).fit(X[:150], y[:150])
    alone = [MedLDAClassifier(3, random_state=seed, **given).fit(X[:150], y[:150]) for seed in (5, 6, 7)]
    scores = [model.decision_function(X[150:]) for model in alone]
    assert np.ptp(scores, axis=0).max() > 0.01
    np.testing.assert_allclose(several.decision_function(X[150:]), np.mean(scores, axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(several.components_, alone[0].components_)
    np.testing.assert_array_equal(several.coef_, alone[0].coef_)
    several.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X[150:]), several.predict(X[150:]))


def test_the_numbers_of_several_starts_are_averaged():
    data = simulate(200, 3, 80, 50, response="gaussian", seed=4)
    X, y = data.counts.counts, data.y
    several = MedLDARegressor(3, ensemble=2, max_iter=4).fit(X[:150], y[:150])
    alone = [MedLDARegressor(3, max_iter=4, random_state=seed).fit(X[:150], y[:150]) for seed in (0, 1)]
    np.testing.assert_allclose(
        several.predict(X[150:]), np.mean([model.predict(X[150:]) for model in alone], axis=0), rtol=1e-4
    )
    with pytest.raises(ValueError, match="ensemble: got 0, expected a whole number >= 1"):
        MedLDARegressor(3, ensemble=0).fit(X, y)


@pytest.mark.parametrize(
    ("n_classes", "given", "expected"), [(2, None, 4.0), (5, None, 4.0), (20, None, 16.0), (20, 3.0, 3.0)]
)
def test_many_classes_weigh_their_losses_more(n_classes, given, expected):
    rng = np.random.default_rng(0)
    counts, y = rng.poisson(1.0, (80, 30)), np.arange(80) % n_classes
    model = MedLDAClassifier(20, C=given, max_iter=2).fit(counts, y)
    weight = model.fitted_.spec.response.C
    assert weight == expected and model.get_params()["C"] == given
