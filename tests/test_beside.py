"""What is known of documents beside their words arrives in every fit, by every door, in one order."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import supertopic
from supertopic import LDA, SVI, SLDAClassifier, SLDARegressor, Stream, TopicModel, Vectorizer, load
from supertopic.cli import app
from supertopic.datasets import simulate
from supertopic.documents.covariates import Columns, CovariateSurvey, Scaling
from supertopic.estimators.shared.base import TopicEstimator
from supertopic.estimators.shared.supervised import SupervisedEstimator
from supertopic.fitted import streaming
from supertopic.fitted.training import Training

RNG = np.random.default_rng(3)
D = 240
TABLE = pd.DataFrame({
    "party": np.where(RNG.random(D) < 0.4, "left", np.where(RNG.random(D) < 0.5, "right", "green")),
    "age": RNG.normal(50, 9, D),
    "date": pd.Timestamp("2008-01-01") + pd.to_timedelta(RNG.integers(0, 300, D), unit="D"),
    "blog": [f"blog {d % 24}" for d in range(D)],
})  # fmt: skip
DATA = simulate(n_documents=D, n_words=80, n_topics=3, response="gaussian", seed=2)
X = DATA.counts.counts
Y = DATA.y + 0.08 * (TABLE["age"] - 50) + np.where(TABLE["party"] == "left", 1.0, 0.0)
ESTIMATORS = [
    found for name in supertopic.__all__ if inspect.isclass(found := getattr(supertopic, name))
    and issubclass(found, TopicEstimator)
]  # fmt: skip
KNOWN = ["metadata", "groups", "times"]
ALL = ["covariates", *KNOWN, "sample_weight", "embeddings"]


def given(method):
    """The names of keyword-only arguments, in their order."""
    return [one.name for one in inspect.signature(method).parameters.values() if one.kind is one.KEYWORD_ONLY]


# --- one order --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_takes_the_same_in_one_order(kind):
    supervised = issubclass(kind, SupervisedEstimator)
    expected = ALL if supervised else [*KNOWN, "sample_weight"] if kind.__name__ == "SAGEClassifier" else KNOWN
    assert given(kind.fit) == [*expected, *(["handle_unknown"] if supervised else [])]
    if hasattr(kind(), "partial_fit"):
        assert given(kind.partial_fit) == expected
    assert given(kind.transform) == ["metadata"]
    if not supervised:
        return
    asked = ["covariates", "metadata", "embeddings"]
    for name in ("predict", "predict_proba", "decision_function", "predict_set"):
        method = getattr(
            kind(), f"_{name}" if kind.__name__ == "MedLDAClassifier" and name == "predict_proba" else name, None
        )
        if method is not None:
            more = [one for one in ("return_interval", "by_class") if one in given(method)]
            assert given(method) == [*asked, *more]
    assert given(kind.score) == ["covariates", "metadata", "sample_weight", "embeddings"]


# --- one meaning ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LDA, SLDARegressor])
def test_what_is_known_arrives_in_training(kind, monkeypatch):
    seen = []
    monkeypatch.setattr(
        Training, "batch", lambda self, spec, make=Training.batch: seen.append(self) or make(self, spec)
    )
    beside = {} if kind is LDA else {"embeddings": RNG.normal(size=(D, 4)), "cross_fit": 3}
    model = kind(3, max_iter=2, **({} if kind is LDA else {"cross_fit": beside.pop("cross_fit")}))
    model.fit(X, Y, metadata=TABLE, groups="blog", times="date", **beside)
    assert len(seen) == (1 if kind is LDA else 4)
    for one in seen:
        assert len(one.groups) == len(one.times) == len(one.metadata["party"]) == one.corpus.n_documents
        assert one.groups.levels == tuple(sorted(f"blog {d}" for d in range(24))) and one.times.kind == "date"


def test_covariates_are_columns_of_metadata_by_name():
    model = SLDARegressor(3, max_iter=8, cross_fit=0)
    frame = clone(model).fit(X, Y, covariates=TABLE[["age", "party"]])
    named = clone(model).fit(X, Y, covariates=["age", "party"], metadata=TABLE)
    np.testing.assert_array_equal(named.covariate_coef_, frame.covariate_coef_)
    expected = frame.predict(X, covariates=TABLE[["age", "party"]])
    for beside in ({"covariates": ["age", "party"], "metadata": TABLE}, {"metadata": TABLE.to_dict("list")}):
        np.testing.assert_allclose(named.predict(X, **beside), expected)
    with pytest.raises(ValueError, match="covariates: got the name 'size', expected some of 'party', 'age', 'date'"):
        clone(model).fit(X, Y, covariates=["size"], metadata=TABLE)
    with pytest.raises(ValueError, match="covariates: got the name 'age', which needs metadata= with this column"):
        clone(model).fit(X, Y, covariates=["age"])
    with pytest.raises(ValueError, match="covariates: got the name 'party', expected some of 'age'"):
        named.predict(X, metadata=TABLE[["age"]])


@pytest.mark.parametrize(
    "beside, message",
    [
        ({"metadata": TABLE[:5]}, "metadata: got 5 rows, expected one for each of the 240 documents"),
        ({"groups": [None] * D}, "groups: missing in row 0, expected a group for every document"),
        ({"groups": "blog"}, "groups: got the name 'blog', which needs metadata="),
        ({"times": np.full(D, np.nan)}, "times: missing in row 0, expected a time for every document"),
    ],
)
@pytest.mark.parametrize("model", [LDA(2), SLDARegressor(2), SLDAClassifier(2), TopicModel(2)])
def test_nonsense_is_refused_by_every_estimator(model, beside, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, np.where(Y > 0, "a", "b") if isinstance(model, SLDAClassifier) else Y, **beside)


# --- every door -------------------------------------------------------------------------------------------------------


def stream(names, target=True):
    cuts = [(0, 7), (7, 100), (100, D)]
    blocks = [
        (
            X[a:b],
            Y[a:b] if target else None,
            {"covariates": TABLE[names][a:b], "metadata": TABLE[a:b], "groups": "blog"},
        )
        for a, b in cuts
    ]
    return Stream.from_iterable(blocks)


def test_a_survey_of_batches_is_that_of_all_documents():
    names = ["party", "age", "date"]
    columns = Columns.of(TABLE[names])
    expected = Scaling.of(columns.encode(TABLE[names], D), columns.labels)
    survey = CovariateSurvey()
    for a, b in [(0, 3), (3, 4), (4, 111), (111, D)]:
        survey.add(TABLE[names][a:b], b - a)
    found, scaling = survey.found()
    assert found == columns
    np.testing.assert_allclose(scaling.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(scaling.factor, expected.factor, rtol=1e-9)
    survey = CovariateSurvey()
    for a in range(0, D, 40):
        survey.add(np.column_stack([TABLE["age"] + 1e6, np.ones(D)])[a : a + 40], 40)
    with pytest.warns(UserWarning, match="column 1 is constant and without a part in the fit"):
        scaling = survey.found()[1]
    np.testing.assert_allclose(scaling.factor, [1 / TABLE["age"].std(ddof=0), 0.0], rtol=1e-6)


def test_batches_of_other_columns_are_refused():
    with pytest.raises(ValueError, match="covariates: the column 'age' is missing; expected 'party', 'age' as in fit"):
        Columns.of(TABLE[["party", "age"]]) + Columns.of(TABLE[["party"]])
    with pytest.raises(ValueError, match="column 'age' holds numbers in some batches only"):
        Columns.of(TABLE[["age"]]) + Columns.of(TABLE[["age"]].astype(str), all_are_here=False)
    with pytest.raises(ValueError, match="got a batch without names, expected the columns 'age' in all"):
        Columns.of(TABLE[["age"]]) + Columns.of(TABLE[["age"]].to_numpy())
    survey = CovariateSurvey()
    survey.add(np.ones((2, 2)), 2)
    with pytest.raises(ValueError, match="covariates: got 3 columns in a batch, expected 2 as before"):
        survey.add(np.ones((2, 3)), 2)


@pytest.mark.parametrize("inference", ["svi", "pc"])
def test_covariates_of_a_stream_give_what_a_fit_gives(inference):
    names = ["party", "age"]
    model = SLDARegressor(3, inference=inference, cross_fit=0, max_iter=6)
    whole = clone(model).fit(X, Y, covariates=TABLE[names])
    parts = clone(model).fit(stream(names))
    assert list(parts.covariate_coef_.columns) == list(whole.covariate_coef_.columns)
    np.testing.assert_allclose(parts.covariate_mean_, whole.covariate_mean_, rtol=1e-10)
    np.testing.assert_allclose(parts.covariate_coef_, whole.covariate_coef_, atol=0.2)
    found = pd.concat(parts.predict(stream(names)))["prediction"]
    np.testing.assert_allclose(found, parts.predict(X, covariates=TABLE[names]), rtol=1e-5)
    assert np.corrcoef(found, whole.predict(X, covariates=TABLE[names]))[0, 1] > 0.98


def test_what_a_stream_knows_arrives_in_training(monkeypatch):
    seen = []
    monkeypatch.setattr(
        streaming.Training, "batch", lambda self, spec, make=Training.batch: seen.append(self) or make(self, spec)
    )
    SLDARegressor(2, inference="svi", cross_fit=0, max_iter=1).fit(stream(["age"]))
    assert all(len(one.groups) == len(one.metadata["date"]) == len(one.corpus) for one in seen)
    with pytest.raises(ValueError, match="covariates: got columns of a Stream, but LDA has no response"):
        LDA(2, inference="svi").fit(stream(["age"], target=False))
    with pytest.raises(ValueError, match="groups: got a value beside a Stream, which brings its own"):
        LDA(2, inference="svi").fit(Stream.from_iterable([X]), groups=np.zeros(D))


def test_fit_transform_and_partial_fit_take_what_fit_takes():
    model = SLDARegressor(3, inference=SVI(batch_size=D, total_documents=D), cross_fit=0, max_iter=3)
    beside = {"covariates": ["age", "party"], "metadata": TABLE, "groups": "blog", "sample_weight": np.arange(D) % 3}
    fitted = clone(model).fit(X, Y, **beside)
    shares = (again := clone(model)).fit_transform(X, Y, **beside)
    np.testing.assert_array_equal(again.covariate_coef_, fitted.covariate_coef_)
    np.testing.assert_array_equal(shares, fitted.doc_topic_)
    step = clone(model)
    for _ in range(40):
        step.partial_fit(X, Y, **beside)
    np.testing.assert_allclose(step.covariate_coef_, fitted.covariate_coef_, atol=0.25)


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--stream", "--inference", "svi"]])
def test_the_command_line_gives_what_a_fit_gives(more, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        Training, "batch", lambda self, spec, make=Training.batch: seen.append(self) or make(self, spec)
    )
    texts = [" ".join(f"word{w}" for w in np.repeat(row.indices, row.data.astype(int))) for row in X]
    frame = TABLE.assign(text=texts, y=Y)
    frame.to_csv(tmp_path / "d.csv", index=False)
    asked = ["--covariates", "party,age", "--metadata", "date,blog", "--groups", "blog", "--times", "date", *more]
    options = ["--text", "text", "--target", "y", "--topics", "3", "--iterations", "3", "--out", str(tmp_path / "m")]
    found = CliRunner().invoke(app, ["fit", str(tmp_path / "d.csv"), *options, *asked, "--json"])
    assert found.exit_code == 0, found.output
    one = seen[-1]
    assert one.groups.name == "blog" and one.groups.levels[0] == "blog 0" and one.times.kind == "date"
    assert list(one.metadata) == ["date", "blog"]
    model = load(tmp_path / "m")
    if not more:
        same = SLDARegressor(3, max_iter=3, response=model.response_, vectorizer=model.vectorizer)
        same.fit(
            texts, Y, covariates=TABLE[["party", "age"]], metadata=TABLE[["date", "blog"]], groups="blog", times="date"
        )
        np.testing.assert_allclose(model.covariate_coef_, same.covariate_coef_, rtol=1e-6)
    assert list(model.covariate_names_) == ["party=left", "party=right", "age"]
    wrong = CliRunner().invoke(app, ["fit", str(tmp_path / "d.csv"), *options, "--groups", "blog,party"])
    assert wrong.exit_code == 2 and "got 2 columns, expected one" in wrong.output


# --- scikit-learn -----------------------------------------------------------------------------------------------------


def test_metadata_is_routed():
    texts = [
        " ".join(f"word{w}" for w, n in zip(row.indices, row.data, strict=True) for _ in range(int(n))) for row in X
    ]
    with config_context(enable_metadata_routing=True):
        model = SLDARegressor(2, max_iter=3, cross_fit=0).set_fit_request(covariates=True, groups=True, metadata=True)
        model.set_score_request(covariates=True)
        pipeline = make_pipeline(Vectorizer(min_df=1), model)
        beside = {"covariates": TABLE[["age"]].to_numpy(), "groups": TABLE["blog"].to_numpy()}
        found = cross_validate(pipeline, texts, Y, params=beside, cv=GroupKFold(4), return_estimator=True)
        assert len(found["test_score"]) == 4 and np.isfinite(found["test_score"]).all()
        assert found["estimator"][0][-1].covariate_coef_.shape == (1, 1)
        asked = SLDARegressor(2).set_predict_request(metadata=True).get_metadata_routing()
        assert asked.consumes("predict", ["metadata", "covariates"]) == {"metadata"}
