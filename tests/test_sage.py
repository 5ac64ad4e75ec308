"""SAGE estimators: scikit-learn's rules, what they show, files, text, and newsgroups."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from supertopic import SVI, VB, SAGEClassifier, SAGETopics, SLDAClassifier, SLDARegressor, Vectorizer, load
from supertopic.backends.threads import Threads
from supertopic.datasets import load as load_corpus
from supertopic.datasets import simulate
from supertopic.emissions.deviations import SparsePrior
from supertopic.emissions.sage import SparseTopics as Emission
from supertopic.emissions.sage import unpack
from supertopic.responses.base import registry
from tests import naive_sage as naive
from tests.cases import cases
from tests.cli_tools import ANIMALS, run, write_corpus

TEXTS = ["goal match goal team the", "the team scored a goal", "vote party the vote", "party election the law"] * 5
LABELS = ["sport", "sport", "politics", "politics"] * 5
X = sp.csr_matrix(np.array([[2, 1, 0], [0, 1, 3], [1, 1, 1], [2, 0, 0]], dtype=np.float32))


@pytest.fixture(scope="module")
def labelled():
    """Three classes over 200 words; a tenth of the words of each class deviate."""
    rng = np.random.default_rng(0)
    background = rng.dirichlet(np.full(200, 0.5))
    weights = background * np.exp(np.where(rng.random((3, 200)) < 0.1, 2.0, 0.0))
    y = rng.integers(0, 3, 300)
    return np.stack([rng.multinomial(30, weights[k] / weights[k].sum()) for k in y]), np.array(["a", "b", "c"])[y]


@parametrize_with_checks(
    [SAGEClassifier(cross_fit=0), SAGEClassifier(prior="exponential", background_share=0.5), SAGETopics(2, max_iter=5)]
)
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
@pytest.mark.filterwarnings("ignore:n_topics=2 is more than:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


REFUSED = {
    "prior": (SAGEClassifier(prior="laplace"), "prior: got 'laplace', expected 'jeffreys' or 'exponential'"),
    "gamma": (SAGEClassifier(gamma=-1), "gamma: got -1, expected a number > 0"),
    "background": (SAGEClassifier(background="flat"), "background: got 'flat', expected 'fitted' or 'corpus'"),
    "unseen": (SAGEClassifier(unseen=0), "unseen: got 0, expected a number > 0"),
    "shares": (SAGEClassifier(class_prior="mine"), "class_prior: got 'mine', expected 'empirical' or 'uniform'"),
    "counts": (SAGEClassifier(counts="tf"), "counts: got 'tf', expected 'raw' or 'log'"),
    "share of one": (
        SAGEClassifier(background_share=1),
        "background_share: got 1, expected a number from 0 to below 1",
    ),
    "share in words": (
        SAGEClassifier(background_share="auto"),
        "background_share: got 'auto', expected a number from 0 to below 1",
    ),
    "share, not a number": (
        SAGEClassifier(background_share=np.nan),
        "background_share: got nan, expected a number from 0 to below 1",
    ),
    "max_iter": (SAGEClassifier(max_iter=0), "max_iter: got 0, expected a whole number >= 1"),
    "tol": (SAGEClassifier(tol=np.nan), "tol: got nan, expected a number >= 0"),
    "topics": (SAGETopics(2, prior="laplace"), "prior: got 'laplace', expected 'jeffreys' or 'exponential'"),
    "engine": (SAGETopics(2, inference="gibbs"), "inference: got 'gibbs', expected one of 'vb', 'svi'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_in_a_sentence(name):
    estimator, message = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        estimator.fit(X, [0, 1, 0, 1])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "y, message",
    [
        (None, "requires y to be passed"),
        ([1, 1, 1, 1], "y holds 1 class, 1; SAGEClassifier needs 2 or more"),
        ([None] * 4, "y is missing for every document; expected some labels"),
        (np.eye(4)[:, :2], "y has 2 columns; SAGEClassifier takes one column of labels"),
        ([0, 1], "X has 4 documents, y has 2"),
    ],
)
def test_wrong_labels_are_refused_in_a_sentence(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SAGEClassifier().fit(X, y)


def test_classes_are_background_and_deviations(labelled):
    counts, y = labelled
    model = SAGEClassifier().fit(counts, y)
    assert model.deviations_.shape == (3, 200) and list(model.deviations_.index) == list(model.classes_)
    assert model.deviations_.columns.name == "word" and model.deviations_.index.name == "class"
    assert 0.5 < model.sparsity_ < 0.99
    assert model.sparsity_ == 1 - np.count_nonzero(np.asarray(model.deviations_)) / 600
    weights = np.exp(model.background_ + model.deviations_.to_numpy())
    np.testing.assert_allclose(model.components_, weights / weights.sum(axis=1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(np.exp(model.background_).sum(), 1, rtol=1e-5)
    assert np.all(np.diff(model.bound_) >= -1e-9)
    assert model.score(counts, y) > 0.8


def test_posterior_is_bayes_rule(labelled):
    counts, y = labelled
    y = np.where(np.arange(300) < 100, "a", y)  # unequal shares
    for prior in ("empirical", "uniform"):
        model = SAGEClassifier(class_prior=prior, cross_fit=0).fit(counts, y)
        number = np.array([(y == label).sum() + 1 for label in model.classes_])
        shares = number / number.sum() if prior == "empirical" else np.full(3, 1 / 3)
        joint = counts @ np.log(model.components_.T.astype(np.float64)) + np.log(shares)
        expected = np.exp(joint - joint.max(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(counts), expected, atol=1e-4)
        np.testing.assert_array_equal(model.predict(counts), model.classes_[joint.argmax(axis=1)])


def test_logs_of_counts_are_counts_too(labelled):
    counts, y = labelled
    model, logs = SAGEClassifier(counts="log", cross_fit=0).fit(counts, y), np.log2(1 + counts)
    plain = SAGEClassifier(cross_fit=0).fit(logs, y)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-4)
    np.testing.assert_allclose(model.predict_proba(counts), plain.predict_proba(logs), atol=1e-4)
    said, scores = (
        model.explain(counts[:1]),
        np.log(model.predict_proba(counts[:1]) / (1 + np.unique(y, return_counts=True)[1])),
    )
    np.testing.assert_allclose(np.ptp(said[["a", "b", "c"]].sum().to_numpy() - scores), 0, atol=1e-3)


def test_a_share_of_the_words_is_the_backgrounds(labelled, tmp_path):
    counts, y = labelled
    plain, mixed = (SAGEClassifier(background_share=share, cross_fit=0).fit(counts, y) for share in (0.0, 0.7))
    np.testing.assert_array_equal(mixed.deviations_.to_numpy(), plain.deviations_.to_numpy())
    np.testing.assert_array_equal(mixed.background_, plain.background_)
    words = np.array([naive.mixed_words(plain.background_, eta, 0.7) for eta in plain.deviations_.to_numpy()])
    np.testing.assert_allclose(mixed.components_, words, rtol=1e-4)
    joint = counts @ np.log(words.T) + np.log(1 + np.unique(y, return_counts=True)[1])
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    np.testing.assert_allclose(mixed.predict_proba(counts), expected / expected.sum(axis=1, keepdims=True), atol=1e-4)
    pd.testing.assert_frame_equal(mixed.top_words(5), plain.top_words(5))  # the deviations do not depend on the mixture
    said = mixed.explain(counts[:1])
    assert np.all(said[["a", "b", "c"]].div(said["count"], axis=0) >= np.log(0.7) - 1e-5)
    assert plain.explain(counts[:1])[["a", "b", "c"]].to_numpy().min() < np.log(0.7)
    mixed.save(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(load(tmp_path / "m.supertopic").predict_proba(counts), mixed.predict_proba(counts))


def test_a_share_of_the_background_predicts_documents_that_stray(labelled):
    """Half of the words of a new document are background: with the mixture, predictions are less certain and better."""
    counts, y = labelled
    rng = np.random.default_rng(1)
    strays = rng.multinomial(30, counts.sum(axis=0) / counts.sum(), size=270)
    new = rng.binomial(counts[30:], 0.5) + rng.binomial(strays, 0.5)
    losses, right = {}, {}
    for share in (0.0, 0.5):
        model = SAGEClassifier(prior="exponential", background_share=share, cross_fit=0).fit(counts[:30], y[:30])
        found = model.predict_proba(new)[np.arange(270), np.searchsorted(model.classes_, y[30:])]
        losses[share] = -np.mean(np.log(found))
        right[share] = model.score(new, y[30:])
    assert losses[0.5] < 0.8 * losses[0.0] and right[0.5] >= right[0.0]


def test_documents_without_a_label_are_left_out(labelled):
    counts, y = labelled
    some = np.array([None if i % 3 == 0 else label for i, label in enumerate(y)], dtype=object)
    known = np.array([label is not None for label in some])
    left_out = SAGEClassifier().fit(counts, some)
    np.testing.assert_array_equal(left_out.components_, SAGEClassifier().fit(counts[known], y[known]).components_)


@pytest.mark.parametrize("kind", ["classifier", "topics"])
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_nothing(kind, n_jobs, labelled):
    counts, y = labelled
    make = SAGEClassifier if kind == "classifier" else lambda **given: SAGETopics(4, max_iter=10, **given)
    one, several = make().fit(counts, y), make(n_jobs=n_jobs).fit(counts, y)
    np.testing.assert_array_equal(one.components_, several.components_)
    np.testing.assert_array_equal(one.deviations_.to_numpy(), several.deviations_.to_numpy())
    np.testing.assert_array_equal(one.bound_, several.bound_)


def test_text_words_and_explanations():
    model = SAGEClassifier(vectorizer=Vectorizer(stop_words=None)).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(model.classes_, ["politics", "sport"])
    assert list(model.predict(["a goal by the team", "vote for the party"])) == ["sport", "politics"]
    top = model.top_words(4, "deviation")
    assert list(top.columns) == ["topic", "class", "rank", "word", "probability", "deviation"]
    assert {"goal", "team"} <= set(top[top["class"] == "sport"]["word"])
    assert "the" not in set(top["word"])
    for by, column in (("deviation", "deviation"), ("probability", "probability")):
        frame = model.top_words(4, by)
        assert all(part[column].is_monotonic_decreasing for _, part in frame.groupby("class"))
    assert model.top_words(1)["word"].tolist()[1] == "goal"
    with pytest.raises(ValueError, match="by: got 'magic', expected one of 'deviation', 'contribution', 'probability'"):
        model.top_words(3, "magic")
    told = model.explain("the goal the team missed")
    assert isinstance(told, pd.DataFrame) and set(told["word"]) == {"the", "goal", "team"}
    goal = int(np.flatnonzero(model.feature_names_in_ == "goal")[0])
    expected = np.log(model.components_[1, goal]) - model.background_[goal]
    np.testing.assert_allclose(told.set_index("word").loc["goal", "sport"], expected, rtol=1e-5)
    scores = told[["politics", "sport"]].sum().to_numpy()
    odds = model.predict_proba(["the goal the team missed"])[0]
    np.testing.assert_allclose(np.log(odds[1] / odds[0]), scores[1] - scores[0], rtol=1e-3)


@pytest.mark.parametrize("kind", ["classifier", "topics"])
def test_a_saved_model_is_the_same_model(kind, tmp_path):
    made = SAGEClassifier(prior="exponential", gamma=0.3) if kind == "classifier" else SAGETopics(2, max_iter=5)
    model = made.fit(TEXTS, LABELS)
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    assert again.get_params() == model.get_params() and type(again) is type(model)
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    np.testing.assert_array_equal(again.deviations_.to_numpy(), model.deviations_.to_numpy())
    np.testing.assert_array_equal(again.background_, model.background_)
    if kind == "classifier":
        np.testing.assert_array_equal(again.predict(TEXTS), LABELS)
        with pytest.warns(UserWarning, match="without a word of the vocabulary"):
            np.testing.assert_allclose(again.predict_proba(["zzz"])[0], [0.5, 0.5])


# --- topics ---------------------------------------------------------------------------------------------------------


PRIORS = ["jeffreys", "exponential"]


@pytest.fixture(scope="module")
def corpus():
    return simulate(n_documents=400, n_topics=4, n_words=300, mean_length=60, seed=1)


@pytest.mark.parametrize(
    ("prior", "inference"), cases(product(PRIORS, ["vb", "svi"]), [("jeffreys", "vb"), ("exponential", "svi")])
)
def test_topics_of_simulated_documents(prior, inference, corpus):
    model = SAGETopics(4, prior=prior, inference=inference, max_iter=40).fit(corpus.counts)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    assert 0.3 < model.sparsity_ < 0.99 and model.deviations_.shape == (4, 300)
    nearest = [np.abs(model.components_ - topic).sum(axis=1).min() / 2 for topic in corpus.components]
    assert np.mean(nearest) < 0.12
    assert model.alpha_.shape == (4,) and np.ptp(model.alpha_) > 0


@pytest.mark.parametrize("prior", PRIORS)
def test_the_bound_never_falls(prior, corpus):
    trace = SAGETopics(4, prior=prior, max_iter=40, tol=0.0, inference=VB(doc_tol=1e-4)).fit(corpus.counts).bound_
    assert len(trace) == 40 and np.diff(trace).min() > -2e-4 * abs(trace[-1])


def test_a_warm_start_goes_on_as_if_never_stopped(corpus):
    whole = SAGETopics(3, max_iter=8, tol=0, doc_topic_prior=0.1).fit(corpus.counts)
    halves = SAGETopics(3, max_iter=4, tol=0, doc_topic_prior=0.1, warm_start=True).fit(corpus.counts)
    assert not np.array_equal(whole.components_, halves.components_)
    np.testing.assert_array_equal(whole.components_, halves.fit(corpus.counts).components_)


def test_batches_one_after_another(corpus):
    counts = corpus.counts.counts
    model = SAGETopics(4, inference=SVI(total_documents=400))
    for start in range(0, 400, 50):
        model.partial_fit(counts[start : start + 50])
    assert model.n_iter_ == 8 and model.components_.shape == (4, 300) and np.isfinite(model.score(counts))


def test_emission_is_a_drop_in(corpus):
    """What `expect` gives are the logs of `probabilities`, and the parameters stay as they were."""
    rng = np.random.default_rng(0)
    counts = rng.gamma(0.3, 5.0, (50, 3)).astype(np.float32)
    emission = Emission(SparsePrior())
    with Threads(1) as backend:
        first = emission.first(counts, backend)
        kept = first.copy()
        weights, logs = emission.expect(first, backend, out=first), emission.expect(first, backend, log=True)
        second = emission.update(first, counts.copy(), 1.0, backend)
        assert emission.evidence(second, backend) > emission.evidence(first, backend)
        part = unpack(emission.update(first, 3 * counts, 0.25, backend))[2]
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_allclose(part, 0.75 * counts + 0.25 * 3 * counts, rtol=1e-5)
    np.testing.assert_allclose(weights, emission.probabilities(first, by_word=True), rtol=1e-6)
    np.testing.assert_allclose(np.exp(logs), weights, rtol=1e-5)
    np.testing.assert_array_equal(emission.probabilities(first).T, weights)
    assert weights.dtype == np.float32 and second.shape == (50, 7)


@pytest.mark.parametrize("inference", ["vb", "svi"])
def test_sage_topics_with_a_response(inference):
    """SAGE topics in a supervised model: it predicts, topics are sparse, and a warm start needs the same emission."""
    data = simulate(n_documents=500, n_topics=4, n_words=300, mean_length=80, response="gaussian", seed=2)
    model = SLDARegressor(4, emission="sage", inference=inference, max_iter=20, cross_fit=0, warm_start=True)
    model.fit(data.counts[:400], data.y[:400])
    assert model.score(data.counts[400:], data.y[400:]) > 0.5
    assert 0.2 < np.mean(unpack(model.fitted_.state.word_topic)[0] == 0) < 1
    other, schema = clone(model).set_params(emission="dirichlet"), model.fitted_.spec.schema
    assert [model.fitted_.can_start(one._spec(schema), 300) for one in (model, other)] == [True, False]
    with pytest.raises(ValueError, match="emission: got 'magic', expected 'dirichlet' or 'sage'"):
        model.set_params(emission="magic").fit(data.counts, data.y)
    with pytest.raises(ValueError, match="'gibbs', which needs Dirichlet topics, but the emission is 'sage'"):
        model.set_params(emission="sage", inference="gibbs").fit(data.counts, data.y)


@pytest.mark.parametrize(
    "response", ["poisson", "negative_binomial", "gamma", "weibull", "logit", "softmax", "ordinal"]
)
def test_sage_topics_with_every_response(response, tmp_path):
    """Topics are sparse, and predictions for new documents are better than a constant."""
    data = simulate(n_documents=400, n_topics=3, n_words=200, mean_length=60, response=response, seed=1)
    is_number = registry()[response].kind == "number"
    kind = SLDARegressor if is_number else SLDAClassifier
    model = kind(3, emission="sage", response=response, max_iter=15, cross_fit=0).fit(data.counts[:300], data.y[:300])
    assert 0.1 < np.mean(unpack(model.fitted_.state.word_topic)[0] == 0) < 1
    constant = 0.0 if is_number else np.unique(data.y[300:], return_counts=True)[1].max() / 100
    assert model.score(data.counts[300:], data.y[300:]) > constant
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    assert again.emission == "sage"
    np.testing.assert_array_equal(again.predict(data.counts), model.predict(data.counts))


def test_command_line(tmp_path):
    write_corpus(tmp_path / "data.csv")
    fitted = tmp_path / "m.supertopic"
    done = run("fit", tmp_path / "data.csv", "--model", "sage", "--text", "body", "-k", 2, "-o", fitted)
    assert done.exit_code == 0 and "Fitted SAGETopics (vb) with 2 topics" in done.stdout, done.output
    lines = run("topics", fitted, "--words", 3).stdout.splitlines()
    words = [set(line.split("%")[1].replace(",", " ").split()) for line in lines if "%" in line]
    assert len(words) == 2 and {w <= set(ANIMALS.split()) for w in words} == {True, False}


@pytest.mark.slow
def test_newsgroups_from_few_documents(data_dir):
    """A tenth of 20 Newsgroups: above naive Bayes at its best smoothing, most deviations zero."""
    data = load_corpus("20newsgroups_bow", data_dir)
    is_train = (data.frame["split"] == "train").to_numpy()
    y, counts = data.frame["label"].to_numpy(), data.counts.counts
    train = np.random.default_rng(0).permutation(np.flatnonzero(is_train))[:1127]
    model = SAGEClassifier(cross_fit=0).fit(counts[train], y[train])
    smoothed = [MultinomialNB(alpha=a).fit(counts[train], y[train]) for a in (0.1, 0.03, 0.01, 0.003)]
    best = max(other.score(counts[~is_train], y[~is_train]) for other in smoothed)
    assert model.score(counts[~is_train], y[~is_train]) > best + 0.01
    assert 0.95 < model.sparsity_ < 0.99
