"""The corpora of the package: docstrings, folders and simulations."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, softmax

from supertopic import datasets
from supertopic.datasets import RESPONSES, docstrings, load, simulate
from supertopic.documents.corpus import Corpus

CORPORA = """20newsgroups 20newsgroups_bow associated_press_bow bbc_news geotext_bow movie_reviews_scale
nips12 poliblog5k_bow poliblog773_bow ted_talks tripadvisor we8there_bow"""


@pytest.fixture(scope="module")
def docs():
    return docstrings()


def test_docstrings(docs):
    assert len(docs.text) == len(docs.package) == len(docs.n_parameters) == len(docs.name) > 2000
    assert set(docs.package) == {"numpy", "scipy", "sklearn"}
    assert len(set(docs.text)) == len(docs.text)
    assert min(len(text.split()) for text in docs.text) >= 20
    assert not any(">>>" in text for text in docs.text)
    assert all(name.split(".")[0] == package for name, package in zip(docs.name, docs.package, strict=True))
    n_parameters = dict(zip(docs.name, docs.n_parameters, strict=True))
    assert n_parameters["numpy.linspace"] == 8
    assert n_parameters["sklearn.linear_model.Ridge.predict"] == 1


def test_docstrings_are_the_same_twice_and_missing_packages_are_left_out():
    first, second = docstrings(["no_such_package", "scipy"], 50), docstrings(["scipy"], 50)
    assert first.text == second.text
    assert first.name == second.name
    assert min(len(text.split()) for text in first.text) >= 50
    assert docstrings(["no_such_package"]).text == []


def test_methods_that_cannot_be_read_off_their_class_are_left_out():
    assert len(docstrings(["rich"]).text) > 50  # rich.style has such a descriptor


def test_parameters_of_functions_in_c_are_read_from_the_docstring():
    def documented():
        """One line.

        Parameters
        ----------
        x1, x2 : array_like
            Not this : one.
        out : ndarray

        Returns
        -------
        y : ndarray
        """

    documented.__signature__ = "none"
    assert datasets._n_parameters(documented) == 2


def test_prompts_and_what_they_print_go():
    def documented():
        """Before.

        >>> 1 + 1
        2

        After.
        """

    assert datasets._prose(documented).split() == ["Before.", "After."]


@pytest.mark.data
@pytest.mark.parametrize("name", CORPORA.split())
def test_load(data_dir, name):
    bunch = load(name, data_dir)
    if name.endswith("_bow"):
        assert isinstance(bunch.counts, Corpus)
        assert len(bunch.counts.vocabulary) == bunch.counts.n_words
        assert bunch.counts.is_integer
        assert len(bunch.counts) == len(bunch.frame)
        assert "ids" not in bunch.frame
    else:
        assert len(bunch.text) == len(bunch.frame)
        assert "text" not in bunch.frame


@pytest.mark.data
def test_load_counts_what_the_readme_says(data_dir, monkeypatch):
    monkeypatch.setenv("SUPERTOPIC_DATA", str(data_dir))
    corpus = load("20newsgroups_bow").counts
    assert corpus.shape == (18_774, 61_188)
    assert corpus.n_tokens == 4_562_219
    corpus = load("poliblog773_bow").counts
    assert (corpus.shape, corpus.n_tokens) == ((773, 1290), 105_225)


def test_load_refusals(tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "data.parquet").touch()
    with pytest.raises(ValueError, match="no corpus 'two'; expected one of one"):
        load("two", tmp_path)
    monkeypatch.delenv("SUPERTOPIC_DATA", raising=False)
    with pytest.raises(ValueError, match="Pass data_dir or set SUPERTOPIC_DATA"):
        load("one")


def test_simulated_words_follow_their_topics():
    data = simulate(n_documents=3000, n_topics=3, n_words=20, mean_length=60, doc_topic_prior=[0.2, 0.5, 1.0], seed=1)
    assert data.counts.shape == (3000, 20)
    assert "y" not in data
    np.testing.assert_allclose(data.doc_topic.sum(axis=1), 1)
    np.testing.assert_allclose(data.components.sum(axis=1), 1)
    np.testing.assert_allclose(data.topic_shares.sum(axis=1), 1)
    np.testing.assert_allclose(data.doc_topic.mean(axis=0), data.alpha / data.alpha.sum(), atol=0.03)
    # given z, words are multinomial: the total of each word, standardised
    lengths = data.counts.lengths
    assert abs(lengths.mean() - 60) < 1
    expected = (lengths[:, None] * data.topic_shares).sum(axis=0) @ data.components
    total = np.asarray(data.counts.counts.sum(axis=0)).ravel()
    assert np.all(np.abs(total - expected) < 4.5 * np.sqrt(expected + 1))
    # and so are those of each document: their variance is below their mean
    expected = lengths[:, None] * (data.topic_shares @ data.components)
    assert 0.7 < ((data.counts.counts.toarray() - expected) ** 2).sum() / expected.sum() < 1.02
    assert np.abs(data.topic_shares - data.doc_topic).mean() < 0.05


def test_words_and_theta_make_y():
    components, words = np.eye(2, 4), np.array([0.0, 3.0, 5.0, 7.0])
    data = datasets.simulate(
        50, 2, 4, 20, response="gaussian", coef=np.array([1.0, -1.0]), components=components, word_coef=words,
        by_theta=True,
    )  # fmt: skip
    counts = data.counts.counts.toarray()
    np.testing.assert_allclose(data.score, data.doc_topic @ [1.0, -1.0] + counts @ words)
    np.testing.assert_allclose(counts[:, :2], data.topic_shares * counts.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match=r"components has shape \(2, 3\); expected \(2, 4\)"):
        datasets.simulate(5, 2, 4, components=components[:, :3])
    with pytest.raises(ValueError, match="word_coef has shape"):
        datasets.simulate(5, 2, 4, response="gaussian", word_coef=np.ones(3))


@pytest.mark.parametrize(("setting", "n_topics", "deviation"), [(1, 40, 0.05), (2, 150, 3.2), (3, 150, 5.0)])
def test_settings_of_the_medlda_paper(setting, n_topics, deviation):
    data = datasets.simulate_margin(setting, 100, 300, seed=1)
    assert data.components.shape == (n_topics, 500) and set(data.y) == {0, 1}
    assert data.score.std() == pytest.approx(deviation, rel=0.25)
    with pytest.raises(ValueError, match="setting is 4; expected 1, 2 or 3"):
        datasets.simulate_margin(4, 100)
    peaked = datasets.simulate_margin(1, 100, 300, seed=1, doc_topic_prior=1 / 40).doc_topic
    assert peaked.max(axis=1).mean() > 0.5 > 0.3 > datasets.simulate_margin(1, 100, 300, seed=1).doc_topic.max()


def test_same_seed_same_data():
    first, second, other = (
        simulate(seed=3, response="logit"),
        simulate(seed=3, response="logit"),
        simulate(seed=4),
    )
    assert (first.counts.counts != second.counts.counts).nnz == 0
    np.testing.assert_array_equal(first.y, second.y)
    assert (first.counts.counts != other.counts.counts).nnz > 0


def mean_and_variance(response, s):
    """Textbook moments of each response given its score."""
    probability = {"logit": expit(s), "probit": stats.norm.cdf(s)}.get(response)
    if probability is not None:
        return probability, probability * (1 - probability)
    return {
        "gaussian": (s, np.full_like(s, 0.25)),
        "poisson": (np.exp(s), np.exp(s)),
        "negative_binomial": (3 * np.exp(s), 3 * np.exp(s) * (1 + np.exp(s))),
        "gamma": (np.exp(s), np.exp(2 * s) / 3),
        "inverse_gaussian": (np.exp(s), np.exp(3 * s) / 3),
        "weibull": (np.exp(s) * stats.weibull_min(2).mean(), np.exp(2 * s) * stats.weibull_min(2).var()),
    }[response]


@pytest.mark.parametrize("response", sorted(set(RESPONSES) - {"softmax", "ordinal"}))
def test_responses_have_their_moments(response):
    data = simulate(n_documents=20_000, mean_length=5, n_words=5, response=response, seed=2)
    np.testing.assert_allclose(data.score, data.topic_shares @ data.coef)
    mean, variance = mean_and_variance(response, data.score)
    for part in (data.score < 0, data.score >= 0):
        error = (data.y - mean)[part]
        assert abs(error.mean()) < 4.5 * np.sqrt(variance[part].mean() / part.sum())
        assert abs((error**2).mean() / variance[part].mean() - 1) < 0.25


def test_softmax_and_ordinal():
    data = simulate(n_documents=20_000, mean_length=5, n_words=5, response="softmax", n_classes=4, seed=2)
    assert data.coef.shape == (4, 5)
    share = np.bincount(data.y, minlength=4) / 20_000
    np.testing.assert_allclose(share, softmax(data.score, axis=1).mean(axis=0), atol=0.015)
    assert np.mean(data.y == data.score.argmax(axis=1)) > 0.5
    data = simulate(n_documents=5000, response="ordinal", n_classes=5, seed=2)
    np.testing.assert_allclose(np.bincount(data.y) / 5000, 0.2, atol=0.001)
    assert stats.spearmanr(data.y, data.score)[0] > 0.3


def test_coefficients_and_dispersion_are_the_callers():
    data = simulate(n_documents=4000, n_topics=2, response="gaussian", coef=[10.0, -10.0], dispersion=0.01)
    assert abs(np.std(data.y - data.score) - 0.1) < 0.01
    assert data.coef.tolist() == [10.0, -10.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_topics": 0}, "n_topics is 0; expected a positive integer"),
        ({"n_documents": 2.5}, "n_documents is 2.5"),
        ({"mean_length": -1}, "mean_length is -1"),
        ({"response": "cauchy"}, "response is 'cauchy'; expected None or one of gaussian"),
        ({"response": "gaussian", "coef": [1, 2]}, r"coef has shape \(2,\); expected 5"),
    ],
)
def test_simulate_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        simulate(**options)
