"""The estimators: scikit-learn's conventions, results, errors, saving."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import supertopic
from supertopic import (
    LDA,
    SVI,
    Corpus,
    Gibbs,
    MedLDAClassifier,
    MixtureOfCategoricals,
    SLDAClassifier,
    SSTMClassifier,
    Stream,
    Vectorizer,
    load,
)  # fmt: skip
from supertopic.datasets import simulate
from supertopic.documents.corpus import EmptyDocumentWarning
from supertopic.metrics import align_topics

TEXTS = [
    "the cat sat on the mat with another cat",
    "dogs and cats are animals people keep",
    "stocks fell as markets closed lower",
    "investors sold stocks in falling markets",
    "a dog chased the cat over the mat",
    "markets and investors fear falling stocks",
]
ENGINES = [
    LDA(3, max_iter=5),
    LDA(3, inference=SVI(batch_size=8), max_iter=3),
    LDA(3, inference="gibbs", max_iter=30),
    LDA(3, inference=Gibbs(sampler="partial"), max_iter=30),
    MixtureOfCategoricals(3, max_iter=5),
    MixtureOfCategoricals(3, inference=SVI(batch_size=8), max_iter=3),
    MixtureOfCategoricals(3, inference="gibbs", max_iter=20),
]


def name_of(estimator):
    return f"{type(estimator).__name__}-{estimator.inference}-{getattr(estimator, 'sampler', '')}".rstrip("-")


@pytest.fixture(scope="module")
def simulated():
    data = simulate(n_documents=300, n_topics=3, n_words=60, mean_length=60, seed=4)
    data.counts = data.counts.counts
    return data


# n_topics=2 avoids an unrelated warning in checks with fewer than 20 documents
@parametrize_with_checks(
    [
        LDA(2, max_iter=5),
        LDA(2, inference="svi", max_iter=3),
        MixtureOfCategoricals(2, max_iter=5),
        MixtureOfCategoricals(2, inference="svi", max_iter=3),
    ]
)
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
@pytest.mark.filterwarnings("ignore:n_topics=2 is more than:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ENGINES, ids=name_of)
def test_results_have_the_promised_shapes(estimator, simulated):
    model = clone(estimator).fit(simulated.counts)
    n_documents, n_words = simulated.counts.shape
    assert model.components_.shape == (3, n_words)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    for shares in (model.doc_topic_, model.transform(simulated.counts)):
        assert shares.shape == (n_documents, 3)
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(model.doc_topic_, model.transform(simulated.counts))
    assert model.alpha_.shape == (3,) and np.all(model.alpha_ > 0)
    assert np.all(np.isfinite(model.bound_)) and len(model.bound_) > 0
    assert np.isfinite(model.score(simulated.counts))


@pytest.mark.parametrize("estimator", ENGINES, ids=name_of)
def test_threads_change_nothing(estimator, simulated):
    one = clone(estimator).fit(simulated.counts)
    several = clone(estimator).set_params(n_jobs=2).fit(simulated.counts)
    np.testing.assert_array_equal(one.components_, several.components_)
    np.testing.assert_array_equal(one.doc_topic_, several.doc_topic_)
    np.testing.assert_array_equal(one.bound_, several.bound_)


def test_threads_change_nothing_where_the_sampler_has_several_tasks():
    counts = simulate(n_documents=1500, n_topics=6, n_words=400, mean_length=50, seed=1).counts.counts
    assert counts.sum() > 60_000
    for params in ({}, {"inference__sampler": "partial"}, {"n_topics": 150}):
        fits = [LDA(6, inference="gibbs", max_iter=6, n_jobs=n).set_params(**params).fit(counts) for n in (1, 2, 5)]
        for other in fits[1:]:
            np.testing.assert_array_equal(fits[0].components_, other.components_)


@pytest.mark.parametrize("estimator", ENGINES, ids=name_of)
def test_seed_decides_the_result(estimator, simulated):
    fits = [clone(estimator).set_params(random_state=seed).fit(simulated.counts).components_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


@pytest.mark.parametrize("inference", ["vb", "svi", "gibbs"])
def test_simulated_topics_are_recovered_better_with_more_documents(inference):
    errors = []
    for n_documents in (100, 2000):
        data = simulate(n_documents=n_documents, n_topics=4, n_words=100, mean_length=80, seed=3)
        model = LDA(4, inference=inference, max_iter=30 if inference == "svi" else None).fit(data.counts)
        errors.append(align_topics(model.components_, data.components).distance.mean())
    assert errors[1] < 0.05
    assert errors[1] < 0.6 * errors[0]


def test_learned_alpha_tells_frequent_topics_from_rare_ones():
    """A mean-field posterior may see more of the rarest topic than there is, so that "vb" is held to the median."""
    alpha, found = np.array([1.0, 0.3, 0.05]), {"vb": [], "gibbs": []}
    for seed in (5, 6, 7):
        rng = np.random.default_rng(seed)
        topics = rng.dirichlet(np.full(60, 0.1), 3)
        counts = np.stack([rng.multinomial(80, share @ topics) for share in rng.dirichlet(alpha, 2000)])
        for inference, learned in found.items():
            if learned and inference == "gibbs":  # each of its answers is held to the truth: one says enough
                continue
            model = LDA(3, inference=inference).fit(counts)
            order = align_topics(topics, model.components_).order
            assert np.abs(model.components_[order] - topics).sum(axis=1).max() < 0.3  # the rare one is found, too
            learned.append(model.alpha_[order])
    np.testing.assert_allclose(found["gibbs"], [alpha], rtol=0.25)
    np.testing.assert_allclose(np.median(found["vb"], axis=0), alpha, rtol=0.25)
    model = LDA(3, doc_topic_prior="symmetric").fit(counts)
    assert np.ptp(model.alpha_) == 0 and 0.1 < model.alpha_[0] < 0.6


@pytest.mark.parametrize("params", [{}, {"topic_word_prior": 0}, {"doc_topic_prior": 0.3}], ids=str)
@pytest.mark.parametrize("kind", [LDA, MixtureOfCategoricals])
def test_bound_never_falls(kind, params, simulated):
    model = kind(5, max_iter=60, tol=0, **params)
    if kind is LDA:
        model.set_params(inference__doc_tol=1e-4, inference__max_doc_iter=500)
    trace = model.fit(simulated.counts).bound_
    assert len(trace) == 60
    assert np.all(np.diff(trace) > -2e-6 * np.abs(trace[1:]))
    assert trace[-1] > trace[0] + 0.01


def test_pipeline_grid_search_and_output_frames(simulated):
    y = simulated.doc_topic @ [1.0, 2.0, 3.0]
    pipeline = make_pipeline(Vectorizer(), LDA(3, max_iter=5), Ridge())
    pipeline.fit(TEXTS, np.arange(6.0))
    assert pipeline.predict(TEXTS).shape == (6,)
    search = GridSearchCV(LDA(max_iter=10), {"n_topics": [1, 3]}, cv=3).fit(simulated.counts)
    assert search.best_params_ == {"n_topics": 3}
    score = GridSearchCV(make_pipeline(LDA(3), Ridge(1e-3)), {"lda__max_iter": [30]}, cv=3).fit(simulated.counts, y)
    assert score.best_score_ > 0.8
    frame = LDA(3, max_iter=5).set_output(transform="pandas").fit(simulated.counts).transform(simulated.counts)
    assert list(frame.columns) == ["lda0", "lda1", "lda2"]


def test_text_frames_and_counts_come_in_by_one_door():
    vectorizer = Vectorizer(min_df=1, max_df=1.0)
    counts = vectorizer.fit_transform(TEXTS)
    names = vectorizer.get_feature_names_out()
    expected = LDA(2, max_iter=5).fit(counts).doc_topic_
    inputs = {
        "list": TEXTS,
        "array": np.array(TEXTS),
        "pandas": pd.Series(TEXTS, index=list("abcdef")),
        "polars": pl.Series(TEXTS),
        "frame": pd.DataFrame({"text": TEXTS}),
        "counts frame": pd.DataFrame(counts.toarray(), columns=names),
        "polars counts": pl.DataFrame(counts.toarray(), schema=list(names)),
        "dense": counts.toarray(),
        "coo": sp.coo_array(counts),
        "corpus": Corpus(counts, names),
    }
    for name, X in inputs.items():
        model = LDA(2, max_iter=5, vectorizer=Vectorizer(min_df=1, max_df=1.0)).fit(X)
        np.testing.assert_array_equal(model.doc_topic_, expected, err_msg=name)
        np.testing.assert_array_equal(model.transform(X), expected, err_msg=name)


def test_empty_documents_keep_their_row_and_get_the_prior_mean(simulated):
    counts = sp.vstack([simulated.counts[:50], sp.csr_matrix((2, simulated.counts.shape[1]))]).tocsr()
    for estimator in (LDA(3), LDA(3, inference="gibbs", max_iter=20)):
        with pytest.warns(EmptyDocumentWarning, match="2 of 52"):
            model = estimator.fit(counts)
        np.testing.assert_allclose(model.doc_topic_[-1], model.alpha_ / model.alpha_.sum(), rtol=1e-5)


def test_weights_that_are_no_counts_are_for_variational_inference_only(simulated):
    weights = simulated.counts * 0.5
    assert LDA(3, max_iter=3).fit(weights).components_.shape[0] == 3
    for kind in (LDA, MixtureOfCategoricals):
        with pytest.raises(ValueError, match=r"fractional count \d+.5, but inference='gibbs' needs whole counts"):
            kind(3, inference="gibbs").fit(weights)


REFUSALS = [
    ({"n_topics": 0}, "n_topics: got 0, expected a whole number >= 1"),
    ({"n_topics": 2.5}, "n_topics: got 2.5"),
    ({"inference": "vbb"}, "inference: got 'vbb', expected one of 'vb', 'cvb0', 'svi', 'gibbs'"),
    ({"doc_topic_prior": -1}, "doc_topic_prior: got -1, expected a positive number"),
    ({"doc_topic_prior": [0.1, 0.2]}, r"doc_topic_prior: got \[0.1, 0.2\], expected a positive number, 3 of them"),
    ({"doc_topic_prior": "learn"}, "doc_topic_prior: got 'learn'"),
    ({"topic_word_prior": -0.1}, "topic_word_prior: got -0.1"),
    ({"topic_word_prior": 0, "inference": "gibbs"}, "topic_word_prior: got 0, but inference='gibbs' needs"),
    ({"max_iter": 0}, "max_iter: got 0, expected a whole number >= 1"),
    ({"tol": -1}, "tol: got -1"),
    ({"n_jobs": 0}, "n_jobs: got 0"),
    ({"inference": Gibbs(sampler="fast")}, "sampler: got 'fast', expected 'collapsed' or 'partial'"),
    ({"max_iter": 30, "inference": Gibbs(burn_in=30)}, "burn_in: got 30, expected fewer sweeps than max_iter=30"),
    ({"backend": "gpu"}, "backend: got 'gpu', expected 'threads'"),
    ({"checkpoint": "no/such/folder/file"}, "folder of no/such/folder/file does not exist"),
]


@pytest.mark.parametrize(("params", "sentence"), REFUSALS, ids=lambda value: str(value)[:40])
def test_senseless_parameters_are_refused_in_a_sentence(params, sentence, simulated):
    with pytest.raises(ValueError, match=sentence) as refusal:
        LDA(3).set_params(**params).fit(simulated.counts)
    assert "\n" not in str(refusal.value)


def test_senseless_data_is_refused_in_a_sentence(simulated):
    model = LDA(3, max_iter=3).fit(simulated.counts)
    bad = {
        "no words": (sp.csr_matrix((3, 4)), "holds no words at all"),
        "negative": (np.array([[1.0, -1.0]]), "Negative values .* no counts of words go into covariates="),
        "nan": (np.array([[1.0, np.nan]]), "NaN"),
        "infinite": (np.array([[1.0, np.inf]]), "infinity"),
        "numbers": (pd.Series([1, 2, 3]), "expected strings"),
        "nothing": ([], "0 sample"),
    }
    for X, sentence in bad.values():
        with pytest.raises(ValueError, match=sentence):
            LDA(2).fit(X)
    with pytest.raises(ValueError, match="X has 7 features, but LDA is expecting 60 features as input"):
        model.transform(np.ones((2, 7)))
    with pytest.raises(ValueError, match="holds strings, but the model was fitted to counts"):
        model.transform(TEXTS)
    with pytest.warns(UserWarning, match="n_topics=5 is more than the 3 documents"):
        LDA(5, max_iter=2).fit(np.eye(3))


def test_partial_fit_learns_from_batches(simulated):
    model = LDA(3, inference=SVI(total_documents=300, learning_delay=1.0))
    for _ in range(10):
        for start in range(0, 300, 50):
            model.partial_fit(simulated.counts[start : start + 50])
    assert len(model.bound_) == 60
    assert align_topics(model.components_, simulated.components).distance.mean() < 0.12


def test_stream_equals_the_same_batches_in_memory(tmp_path, simulated):
    counts = simulated.counts[:, np.asarray(simulated.counts.sum(axis=0)).ravel() > 0].tocsr()
    words = np.array([f"word{i:02d}" for i in range(counts.shape[1])])
    texts = [" ".join(np.repeat(words[row.indices], row.data.astype(int))) for row in counts]
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "docs.csv", index=False)
    vectorizer = Vectorizer(token_pattern=r"\w+", min_df=1, max_df=1.0)
    stream = Stream(tmp_path / "docs.csv", batch_size=50)
    streamed = LDA(3, inference="svi", max_iter=4, vectorizer=vectorizer).fit(stream)
    blocks = Stream.from_callable(lambda: (counts[i : i + 50] for i in range(0, 300, 50)))
    in_memory = LDA(3, inference="svi", max_iter=4).fit(blocks)
    order = np.argsort(streamed.feature_names_in_)
    np.testing.assert_allclose(streamed.components_[:, order], in_memory.components_, rtol=1e-4, atol=1e-7)
    with pytest.raises(ValueError, match="a Stream is fitted with inference='svi' only"):
        LDA(3).fit(stream)
    once = Stream.from_iterable(iter([TEXTS]))
    with pytest.raises(ValueError, match="only once"):
        LDA(2, inference="svi").fit(once)


def test_warm_start_goes_on(simulated):
    cold = LDA(3, max_iter=6, tol=0).fit(simulated.counts)
    warm = LDA(3, max_iter=3, tol=0, warm_start=True).fit(simulated.counts).fit(simulated.counts)
    np.testing.assert_allclose(cold.components_, warm.components_, rtol=1e-5)


@pytest.mark.parametrize("estimator", ENGINES, ids=name_of)
def test_saved_models_come_back_the_same(estimator, tmp_path):
    model = clone(estimator).set_params(vectorizer=Vectorizer(min_df=1, stop_words="english")).fit(TEXTS)
    path = tmp_path / "model.supertopic"
    model.save(path)
    again = load(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.components_, model.components_)
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    pd.testing.assert_frame_equal(again.top_words(3), model.top_words(3))
    for name in ("bound_", "alpha_", "doc_topic_", "feature_names_in_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    params = {name: value for name, value in again.get_params().items() if not name.startswith("vectorizer")}
    assert params == {name: value for name, value in model.get_params().items() if not name.startswith("vectorizer")}


def test_words_of_a_document_are_shared_out_among_topics():
    model = LDA(2, vectorizer=Vectorizer(min_df=1, stop_words=None)).fit(TEXTS)
    frame = model.explain("stocks and cats and a word nobody knows")
    assert list(frame["word"][3:]) == ["word", "nobody", "knows"] and frame["topic 0"][3:].isna().all()
    frame = frame[:3]
    assert set(frame["word"]) == {"stocks", "and", "cats"}
    shares = frame[["topic 0", "topic 1"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    counts = frame["count"].to_numpy() @ shares.to_numpy() + model.alpha_
    np.testing.assert_allclose(model.transform(["stocks and cats and"])[0], counts / counts.sum(), rtol=1e-3)
    with pytest.raises(ValueError, match="doc: got 6 documents, expected one"):
        model.explain(TEXTS)


def test_tables_are_readable():
    model = LDA(2, vectorizer=Vectorizer(min_df=1)).fit(TEXTS)
    top = model.top_words(4)
    assert list(top.columns) == ["topic", "rank", "word", "probability"]
    assert len(top) == 8 and top["probability"].between(0, 1).all()
    assert model.topics(3)["share"].sum() == pytest.approx(1)
    assert "<table" in model._repr_html_()
    assert "LDA" in LDA(2)._repr_html_()


def test_public_names():
    assert set(supertopic.__all__) <= set(dir(supertopic))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        json.dumps(Vectorizer().fit(TEXTS).to_dict())


def test_fewer_topics_than_classes_get_a_hint(simulated):
    three, few = np.arange(simulated.counts.shape[0]) % 3, {"max_iter": 2, "cross_fit": 0}
    for model in (
        SLDAClassifier(2, inference="vb", **few),
        MedLDAClassifier(2, max_iter=2),
        SSTMClassifier(2, max_iter=2),
    ):
        with pytest.warns(UserWarning, match="n_topics=2 is less than the 3 classes of y"):
            model.fit(simulated.counts, three)
    SLDAClassifier(2, inference="vb", response="ordinal", **few).fit(simulated.counts, three)  # in one line
    SLDAClassifier(3, inference="vb", **few).fit(simulated.counts, three)


def test_names_of_other_libraries_are_told_in_ours():
    for kind, given, ours in ((LDA, {"K": 3}, "n_topics"), (SLDAClassifier, {"seed": 1}, "random_state")):
        with pytest.raises(TypeError, match=f"{kind.__name__}: got {next(iter(given))}=, expected {ours}="):
            kind(**given)
    for kind, name, ours in ((LDA, "burn_in", "Gibbs"), (SSTMClassifier, "thin", "Gibbs"), (LDA, "batch_size", "SVI")):
        with pytest.raises(TypeError, match=rf"{kind.__name__}: got {name}=, expected inference={ours}\({name}="):
            kind(**{name: 2})
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        LDA(nonsense=1)
