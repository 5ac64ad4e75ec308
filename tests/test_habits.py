"""What users of scikit-learn and pandas are used to: names in pipelines, streams batch by batch, progress in logs."""

import io
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from supertopic import HTMM, LDA, SLDAClassifier, SLDARegressor, Stream, TopicModel, Vectorizer, load, progress
from supertopic.selection import select_topics

TEXTS = [
    "cat dog bird cat",
    "dog bird fish",
    "stock bond fund",
    "fund bond market stock",
    "cat fish",
    "market bond",
] * 5
Y = np.tile([1.0, 1.2, -1.0, -1.1, 1.05, -0.9], 5)

# --- names ------------------------------------------------------------------------------------------------------------


def test_a_pipeline_shows_words(tmp_path):
    pipeline = make_pipeline(Vectorizer(min_df=1), LDA(2, max_iter=3)).fit(TEXTS)
    assert set(pipeline[-1].top_words(3)["word"]) <= set(" ".join(TEXTS).split())
    assert pipeline.transform(TEXTS[:3]).shape == (3, 2)
    pipeline[-1].save(tmp_path / "m")
    assert list(load(tmp_path / "m").feature_names_in_) == list(pipeline[0].get_feature_names_out())
    with pytest.raises(ValueError, match="X has another vocabulary than the model"):
        pipeline[-1].transform(Vectorizer(min_df=1).fit_transform([text.replace("cat", "cow") for text in TEXTS]))


def test_frames_carry_names_on():
    pipeline = make_pipeline(Vectorizer(min_df=1), SLDARegressor(2, max_iter=3, cross_fit=0))
    found = pipeline.set_output(transform="pandas").fit(TEXTS, Y).transform(pd.Series(TEXTS[:4], index=list("abcd")))
    assert list(found.columns) == ["sldaregressor0", "sldaregressor1"] and list(found.index) == list("abcd")
    assert "bond" in pipeline[-1].feature_names_in_
    frame = Vectorizer(min_df=1).set_output(transform="pandas").fit_transform(TEXTS)
    assert frame.loc[0, "cat"] == 2 and isinstance(frame.dtypes.iloc[0], pd.SparseDtype)
    with pytest.raises(ValueError, match="transform: got 'arrow', expected 'default' or 'pandas'"):
        Vectorizer().set_output(transform="arrow")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_texts_are_a_column_of_a_frame(library):
    pytest.importorskip(library)
    models = {"shares": LDA(2, max_iter=2), "kinds": SLDARegressor(2, max_iter=2, cross_fit=0)}
    columns = [(name, model, "text") for name, model in models.items()]
    frame = pd.DataFrame({"text": TEXTS, "stars": Y})
    both = ColumnTransformer([*columns, ("plain", "passthrough", ["stars"])]).set_output(transform=library)
    found = both.fit(frame, Y).transform(frame)
    names = ["shares__lda0", "shares__lda1", "kinds__sldaregressor0", "kinds__sldaregressor1", "plain__stars"]
    assert (
        type(found).__module__.startswith(library)
        and list(found.columns) == list(both.get_feature_names_out()) == names
    )


def test_weights_go_through_a_search():
    with config_context(enable_metadata_routing=True):
        model = SLDARegressor(2, max_iter=2, cross_fit=0)
        model.set_fit_request(sample_weight=True, covariates=True)
        model.set_score_request(sample_weight=True, covariates=True)
        search = GridSearchCV(make_pipeline(CountVectorizer(), model), {"sldaregressor__n_topics": [2]}, cv=2)
        weight, length = np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], 5), np.arange(30.0)
        search.fit(TEXTS, Y, sample_weight=weight, covariates=length)
        given = {"covariates": length, "sample_weight": weight}
        kept = np.flatnonzero(weight)
        first = search.score([TEXTS[d] for d in kept], Y[kept], covariates=length[kept])
        assert search.score(TEXTS, Y, **given) == pytest.approx(first) != search.score(TEXTS, Y, covariates=length)
        with pytest.raises(ValueError, match="sample_weight: got zero for every document"):
            search.score(TEXTS, Y, covariates=length, sample_weight=np.zeros(30))


def test_a_pipeline_of_scikit_learn_shows_words():
    words, quick = set(" ".join(TEXTS).split()), {"max_iter": 3, "cross_fit": 0}
    pipeline = make_pipeline(CountVectorizer(), TfidfTransformer(), LDA(2, max_iter=3)).fit(TEXTS)
    assert set(pipeline[-1].top_words(2)["word"]) <= words
    assert pipeline.transform(TEXTS[:3]).shape == (3, 2)
    shares = make_pipeline(CountVectorizer(), LDA(2, max_iter=3))
    shares.fit_transform(TEXTS)
    assert set(shares[-1].feature_names_in_) == words
    inside = make_pipeline(CountVectorizer(), LDA(2, max_iter=3), LinearRegression()).fit(TEXTS, Y)
    assert set(inside[1].feature_names_in_) == words
    search = GridSearchCV(make_pipeline(CountVectorizer(), SLDARegressor(2, **quick)), {"sldaregressor__n_topics": [2]})
    assert set(search.fit(TEXTS, Y).best_estimator_[-1].topics()["words"].iloc[0].split(", ")) <= words


def test_counts_without_names_say_how_to_name_them():
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(TEXTS)
    hashed = make_pipeline(HashingVectorizer(n_features=8, alternate_sign=False), LDA(2, max_iter=3)).fit(TEXTS)
    for model in (LDA(2, max_iter=3).fit(counts), hashed[-1]):
        assert set(model.top_words(2)["word"]) <= set("0123456789")
        for said in (repr(model.topics()), model.topics()._repr_html_()):
            assert "column numbers" in said and "model.name_words(vectorizer)" in said
    model = LDA(2, max_iter=3).fit(counts).name_words(vectorizer)
    assert set(model.top_words(2)["word"]) <= set(" ".join(TEXTS).split())
    assert "column numbers" not in repr(model.topics())
    with pytest.raises(ValueError, match="names: got 2 words, expected 8, one for each column"):
        model.name_words(["a", "b"])


def test_words_are_printed_whole():
    long = " ".join(f"{'very' * 10}long{i}" for i in range(6))
    model = LDA(1, max_iter=2, vectorizer=Vectorizer(min_df=1)).fit([long] * 3)
    assert all(word in repr(model.topics()) for word in long.split())


# --- streams ----------------------------------------------------------------------------------------------------------


def batches():
    return Stream.from_callable(lambda: iter([TEXTS[:4], TEXTS[4:7], ["unheard"]]))


def test_streams_are_predicted_batch_by_batch():
    model = SLDARegressor(2, vectorizer=Vectorizer(min_df=1), max_iter=4, cross_fit=0).fit(TEXTS, Y)
    with pytest.warns(UserWarning, match="without a word"):
        shares, found = list(model.transform(batches())), list(model.predict(batches(), return_interval=0.8))
    assert [len(one) for one in shares] == [4, 3, 1] and list(shares[1].index) == [4, 5, 6]
    np.testing.assert_allclose(pd.concat(shares)[:7], model.transform(TEXTS[:7]), rtol=1e-6)
    assert list(shares[0]) == ["sldaregressor0", "sldaregressor1"]
    assert list(found[0]) == ["prediction", "lower", "upper"]
    np.testing.assert_allclose(pd.concat(found)["prediction"][:7], model.predict(TEXTS[:7]), rtol=1e-6)


def test_streams_of_classes_and_of_several_responses():
    given = {"vectorizer": Vectorizer(min_df=1), "max_iter": 3, "cross_fit": 0}
    classes = SLDAClassifier(2, **given).fit(TEXTS, np.where(Y > 0, "pet", "money"))
    with pytest.warns(UserWarning, match="without a word"):
        first = next(iter(classes.predict_proba(batches())))
        labels = list(classes.predict(batches()))
    assert list(first) == ["money", "pet"] and set(labels[0]["prediction"]) <= {"money", "pet"}
    several = TopicModel(2, **given).fit(TEXTS, pd.DataFrame({"y": Y, "c": np.where(Y > 0, "pet", "money")}))
    assert list(next(several.predict(batches()))) == ["y", "c"]
    extra = SLDARegressor(2, **given).fit(TEXTS, Y, covariates=np.arange(30.0))
    with pytest.raises(ValueError, match="covariates: got a value beside a Stream, which brings its own"):
        extra.predict(batches(), covariates=np.arange(30.0))
    blocks = [(TEXTS[a:b], None, {"covariates": np.arange(30.0)[a:b]}) for a, b in ((0, 4), (4, 30))]
    found = pd.concat(extra.predict(Stream.from_iterable(blocks)))
    np.testing.assert_allclose(found["prediction"], extra.predict(TEXTS, covariates=np.arange(30.0)), rtol=1e-6)
    with pytest.raises(ValueError, match="X: got a Stream, but a HTMM needs sentences"):
        HTMM(2, vectorizer=Vectorizer(min_df=1), max_iter=2).fit(TEXTS).transform(batches())


# --- progress ---------------------------------------------------------------------------------------------------------


def test_a_line_now_and_then_where_there_is_no_terminal(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    clock = iter(np.arange(0.0, 1000.0, 2.0))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.track("VB", 100, 1) as report:
        for step in range(1, 31):
            report(step, bound=-7.0)
    lines = log.getvalue().splitlines()
    assert 2 <= len(lines) <= 6 and lines[0].startswith("VB  ")


def test_select_topics_shows_progress(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(progress, "_FIRST_LINE", 0.0)
    monkeypatch.setattr(progress, "_NEXT_LINE", 0.0)
    estimator = LDA(max_iter=1, vectorizer=Vectorizer(min_df=1))
    select_topics(estimator, TEXTS, n_topics=[2], cv=2, measures=["nats_per_token"])
    assert log.getvalue().splitlines()[-1].startswith("select  2/2  topics 2")
