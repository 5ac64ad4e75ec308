"""What fitted models tell: chains, cut-points, probabilities of margins, intervals, summaries, ArviZ."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from supertopic import (
    LDA,
    Gibbs,
    MedLDAClassifier,
    MedLDAClassifierCV,
    MedLDARegressor,
    MedLDARegressorCV,
    SLDAClassifier,
    SLDARegressor,
    SSTMClassifier,
    SSTMRegressor,
    TopicModel,
    Vectorizer,
    load,
)
from supertopic.datasets import simulate
from supertopic.fitted.certainty.chains import by_chain

DATA = simulate(240, 3, 60, 40, response="gaussian", seed=1)
X, Y = DATA.counts.counts, DATA.y
CLASSES = np.array(["low", "mid", "high"])[np.digitize(Y, np.quantile(Y, [0.33, 0.67]))]
STARS = 1 + np.digitize(Y, np.quantile(Y, [0.2, 0.5, 0.8]))
GRADES = pd.Categorical(np.array(list("abcd"))[STARS - 1], ordered=True)
GIBBS = {"inference": Gibbs(burn_in=10, thin=1), "max_iter": 40}

# --- chains -----------------------------------------------------------------------------------------------------------


def unmixed():
    """Chains of a corpus without structure end in different topics."""
    noise = np.random.default_rng(0).poisson(0.3, (60, 40))
    y = np.random.default_rng(1).normal(size=60)
    return noise, y


def test_chains_that_have_not_mixed_are_not_pooled(tmp_path):
    counts, y = unmixed()
    with pytest.warns(ConvergenceWarning, match=r"the 3 chains have not mixed \(largest R-hat of a coefficient [\d.]+"):
        model = SSTMRegressor(4, coef_prior="laplace", max_iter=60, inference=Gibbs(n_chains=3, thin=1)).fit(counts, y)
    assert np.nanmax(model.r_hat_) > 1.1 and not model.pooled_
    best, pooled = by_chain(model.fitted_, "coef")[0, :, 0], model.draws_["coef"][:, 0]
    np.testing.assert_allclose(model.coef_interval_, np.quantile(best, [0.05, 0.95], axis=0))
    np.testing.assert_allclose(model.coef_mean_, best.mean(axis=0))
    assert not np.allclose(model.coef_mean_, pooled.mean(axis=0))
    np.testing.assert_allclose(model.summary(probability=0.9)["lower"].iloc[1:].sort_index(), model.coef_interval_[0])
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").coef_interval_, model.coef_interval_)
    alone = SSTMRegressor(4, max_iter=60, inference=Gibbs(thin=1)).fit(counts, y)
    assert alone.pooled_


def test_supervised_gibbs_has_chains():
    with pytest.warns(ConvergenceWarning, match=r"draws_ holds draws of different posterior modes.*more sweeps"):
        model = SLDARegressor(4, cross_fit=2, **GIBBS).set_params(inference__n_chains=3).fit(*unmixed())
    assert model.r_hat_.shape == (1, 4) and by_chain(model.fitted_, "coef").shape == (3, 30, 1, 4)
    with pytest.raises(ValueError, match="n_chains: got a value with inference='pc'; it is a parameter of 'gibbs'"):
        SLDARegressor(4).set_params(inference__n_chains=2)


# --- batches ----------------------------------------------------------------------------------------------------------


def test_a_batch_of_unknown_words_is_named_once():
    texts = ["cat dog bird"] * 5 + ["stock bond fund"] * 5
    model = LDA(2, vectorizer=Vectorizer(min_df=1)).partial_fit(texts)
    before = model.components_.copy()
    with pytest.warns(UserWarning, match="none of the 4 words of this batch is in the vocabulary of 6 words"):
        model.partial_fit(["apple pear", "plum fig"])
    np.testing.assert_array_equal(model.components_, before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(["grape melon"])
    labelled = SLDARegressor(2, vectorizer=Vectorizer(min_df=1)).partial_fit(texts, np.arange(10.0) / 3)
    with pytest.warns(UserWarning, match="partial_fit: none of the 2 words"):
        labelled.partial_fit(["apple pear"], [0.5])


# --- ratings ----------------------------------------------------------------------------------------------------------


def test_cutpoints_cut_the_linear_predictor():
    model = SLDAClassifier(3, response="ordinal", max_iter=8, cross_fit=0).fit(X, STARS)
    assert model.cutpoints_.shape == (3,) and np.all(np.diff(model.cutpoints_) > 0)
    below = np.cumsum(model.predict_proba(X), axis=1)[:, :-1]
    line = model.decision_function(X)[:, None]
    np.testing.assert_allclose(below, norm.cdf(model.cutpoints_ - line), atol=0.1)
    assert abs(line.mean() - model.intercept_[0]) < 0.3  # the average document
    several = TopicModel(3, response={"stars": "ordinal", "y": "gaussian"}, max_iter=3, cross_fit=0)
    several.fit(X, pd.DataFrame({"stars": STARS, "y": Y}))
    assert list(several.cutpoints_) == ["stars"] and len(several.cutpoints_["stars"]) == 3


# --- margins ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_of_margins_are_calibrated(n_classes, tmp_path):
    data = simulate(400, 3, 60, 30, response="softmax", n_classes=n_classes, coef=3 * np.eye(n_classes, 3), seed=3)
    counts, y = data.counts.counts, data.y
    model = MedLDAClassifier(3, max_iter=10, cross_fit=3).fit(counts[:250], y[:250])
    found = model.predict_proba(counts[250:])
    assert found.shape == (150, n_classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    own = found[np.arange(150), y[250:].astype(int)]
    base = np.log(np.bincount(y[:250].astype(int)) / 250)[y[250:].astype(int)]
    assert np.log(own).mean() > base.mean() + 0.05  # better than the classes' shares …
    assert abs(found.max(axis=1).mean() - model.score(counts[250:], y[250:])) < 0.12  # … and as sure as it is right
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_proba(counts), model.predict_proba(counts))


def test_without_folds_a_sentence_says_what_instead():
    model = MedLDAClassifier(3, max_iter=3).fit(X, CLASSES)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba: a max-margin model has decision values; cross_fit=5"):
        model.predict_proba(X)
    assert not hasattr(model.set_params(cross_fit=5), "predict_proba")  # the fit had none
    with pytest.raises(ValueError, match="cross_fit: got 1, expected 0, or 2 and more folds"):
        MedLDAClassifier(3, cross_fit=1).fit(X, CLASSES)


def test_searches_take_the_parameters_of_what_they_search():
    model = MedLDAClassifierCV(n_topics=3, max_iter=3, random_state=5, Cs=(1.0, 4.0), costs=(16.0,), cv=2)
    assert model.get_params()["n_topics"] == 3 and clone(model).max_iter == 3
    model.fit(X, CLASSES)
    assert model.best_estimator_.n_topics == 3 and model.best_estimator_.random_state == 5
    same = MedLDAClassifierCV(MedLDAClassifier(3, max_iter=3, random_state=5), Cs=(1.0, 4.0), costs=(16.0,), cv=2)
    np.testing.assert_array_equal(same.fit(X, CLASSES).predict(X), model.predict(X))
    regressor = MedLDARegressorCV(n_topics=2, max_iter=2, Cs=(10.0,), epsilons=(0.1,), cv=2).set_params(n_topics=3)
    assert regressor.fit(X, Y).best_estimator_.n_topics == 3
    with pytest.raises(ValueError, match="n_topics: got 5 beside estimator, expected it among the estimator's own"):
        MedLDAClassifierCV(MedLDAClassifier(), n_topics=5).fit(X, CLASSES)
    with pytest.raises(ValueError, match="estimator: got 20, expected a MedLDAClassifier; its parameters are given by"):
        MedLDAClassifierCV(20).fit(X, CLASSES)


# --- several responses ------------------------------------------------------------------------------------------------


def test_several_responses_have_intervals_and_scores():
    y = pd.DataFrame({"n": Y, "c": CLASSES})
    model = TopicModel(3, max_iter=8).fit(X[:180], y[:180])
    found = model.predict(X[180:], return_interval=0.8)
    assert list(found) == ["n", "n lower", "n upper", "c"]
    inside = (found["n lower"].to_numpy() <= Y[180:]) & (Y[180:] <= found["n upper"].to_numpy())
    assert 0.6 < inside.mean() < 0.97
    plain = model.predict(X[180:])
    pd.testing.assert_frame_equal(plain, found[["n", "c"]])
    holes = y[180:].copy()
    holes.loc[holes.index[::2], "n"] = np.nan
    both = model.scores(X[180:], holes)
    assert list(both.index) == ["n", "c"] and model.score(X[180:], holes) == pytest.approx(both.mean())
    assert both["c"] == np.mean(plain["c"].to_numpy() == CLASSES[180:])
    pd.testing.assert_series_equal(model.scores(X[180:], holes[["c", "n"]]), both)  # by name
    assert list(model.scores(X[180:], holes.assign(n=None)).index) == ["c"]
    with pytest.raises(ValueError, match="return_interval: got 90"):
        model.predict(X, return_interval=90)


# --- summaries --------------------------------------------------------------------------------------------------------


def test_summary_is_a_table_of_coefficients():
    covariates = pd.DataFrame({"age": np.arange(240.0), "place": np.array(["here", "there"])[np.arange(240) % 2]})
    model = SLDARegressor(3, max_iter=6, cross_fit=0).fit(X, Y, covariates=covariates)
    table = model.summary(n=4, probability=0.95)
    assert list(table) == ["coef", "std", "lower", "upper", "effect", "share", "words"]
    assert table.index[0] == "intercept" and list(table.index)[-2:] == ["age", "place=there"]
    assert (
        table["effect"].iloc[1:4].is_monotonic_decreasing and table.loc["place=there", "words"] == "against place=here"
    )
    topics = table.loc[[f"topic {k}" for k in range(3)]]
    np.testing.assert_allclose(topics["coef"], model.coef_)
    np.testing.assert_allclose(topics["effect"], model.effects().sort_values("topic")["effect"])
    beside = model.effects(of="covariates").set_index("covariate")["effect"]
    np.testing.assert_allclose(table.loc[["age", "place=there"], "effect"], beside[["age", "place=there"]])
    np.testing.assert_allclose(topics["std"], model.coef_std_)
    np.testing.assert_allclose(topics["share"], model.doc_topic_.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(table["upper"] - table["lower"], 2 * 1.959964 * table["std"])
    assert all(len(words.split(", ")) == 4 for words in topics["words"])
    cov = model.coef_cov_
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), table.loc[cov.index, "std"])
    shares = model.doc_topic_.mean(axis=0)
    np.testing.assert_allclose(cov.iloc[1:4, 1:4] @ shares, 0, atol=1e-4 * np.diag(cov).max())  # a contrast's
    with pytest.raises(ValueError, match="probability: got 95, expected a number between 0 and 1"):
        model.summary(probability=95)


def test_summaries_of_classes_and_margins():
    model = SLDAClassifier(3, max_iter=4, cross_fit=0).fit(X, CLASSES)
    table = model.summary()
    assert list(dict.fromkeys(table.index.get_level_values("response"))) == ["high", "low", "mid"] and len(table) == 12
    assert set(model.coef_cov_) == {"high", "low", "mid"}
    margin = MedLDAClassifier(3, max_iter=3).fit(X, CLASSES)
    assert list(margin.summary()) == ["coef", "effect", "share", "words"] and not hasattr(margin, "coef_cov_")
    sparse = SSTMClassifier(3, max_iter=20).fit(X, CLASSES).summary()
    assert np.isfinite(sparse[["lower", "upper"]].to_numpy()).all()
    assert np.isfinite(SSTMClassifier(3, max_iter=20, fit_intercept=True).fit(X, Y > 0).summary()["std"]).all()
    assert list(MedLDARegressor(3, max_iter=3).fit(X, Y).summary())[:4] == ["coef", "std", "lower", "upper"]


def test_covariates_have_decimals_of_their_own():
    year = pd.DataFrame({"year": np.arange(len(Y)) * 1e4})  # a coefficient far below those of the topics
    table = SLDARegressor(3, max_iter=2, cross_fit=0, inference="vb").fit(X, Y, covariates=year).summary()
    row = next(line for line in repr(table).splitlines() if line.startswith("year"))
    assert [float(cell) for cell in row.split()[1:5]] == pytest.approx(table.loc["year"].iloc[:4].tolist(), abs=1e-8)
    assert any(float(cell) for cell in row.split()[1:5])
    cells = table.tail(1)._repr_html_().split("year</bdi>")[1]
    assert "0.000" not in cells and "e−0" in cells
    twice = SLDAClassifier(3, max_iter=2, cross_fit=0, inference="vb").fit(X, CLASSES, covariates=year).summary()
    assert len([line for line in repr(twice).splitlines() if " year " in line]) == 3


@pytest.mark.parametrize(
    "kind, y, params, said, unit",
    [
        (SLDARegressor, Y, {}, "an average document, in units of the target.", "in units of the target."),
        (
            SLDARegressor, np.exp(Y), {"response": "gamma"}, "an average document, on the log scale (0.7 doubles it).",
            "as a ratio (1.4 is 40 % more).",
        ),
        (
            SLDARegressor, Y, {"coef_prior": "laplace"}, "a topic without effect, in units of the target.",
            "in units of the target.",
        ),
        (
            SLDAClassifier, CLASSES == "low", {}, "an average document, in log-odds; more speaks for True.",
            "in percentage points of True.",
        ),
        (
            SLDAClassifier, STARS, {"response": "ordinal"}, "an average document, on the latent scale of the grades.",
            "in units of the mean grade.",
        ),
        (
            SLDAClassifier, GRADES, {"response": "ordinal"}, "an average document, on the latent scale of the grades.",
            "in units of the mean grade.",
        ),
        (
            MedLDAClassifier, CLASSES == "low", {}, "on the scale of the linear predictor; more speaks for True.",
            "in the score of True.",
        ),
        (SSTMRegressor, Y, {}, "a topic without effect, in units of the target.", "in units of the target."),
    ],
)  # fmt: skip
def test_tables_say_what_their_numbers_mean(kind, y, params, said, unit):
    more = {"cross_fit": 0, "inference": "vb"} if kind in (SLDARegressor, SLDAClassifier) else {}
    model = kind(3, max_iter=4, **more, **params).fit(X, y)
    for table in (model.topics(), model.summary()):
        assert repr(table).split("effect: ")[1].splitlines()[0].endswith(unit)
        assert "effect: what the prediction changes by" in table._repr_html_()
    assert repr(table).split("coef: ")[1].splitlines()[0].endswith(said)
    assert "coef: what a document all of this topic has" in table._repr_html_()


# --- ArviZ ------------------------------------------------------------------------------------------------------------


def test_draws_of_every_sampler_have_named_dimensions():
    pytest.importorskip("arviz")
    covariates = pd.DataFrame({"age": np.random.default_rng(0).normal(size=240)})
    model = SLDARegressor(3, cross_fit=0, **GIBBS).fit(X, Y, covariates=covariates)
    found = model.to_arviz().posterior
    assert found["coef"].dims == ("chain", "draw", "class", "topic") and found["coef"].shape == (1, 30, 1, 3)
    assert found["covariate_coef"].dims[-1] == "covariate" and list(found["covariate"].values) == ["age"]
    assert found["intercept"].dims == ("chain", "draw", "class")
    np.testing.assert_allclose(
        found["coef"].mean(dim=("chain", "draw")).values, model.draws_["coef"].mean(axis=0)[:, :3]
    )
    classes = SLDAClassifier(3, cross_fit=0, **GIBBS).fit(X, CLASSES).to_arviz().posterior
    assert list(classes["class"].values) == ["high", "low", "mid"]
    sstm = SSTMRegressor(3, max_iter=20, inference=Gibbs(n_chains=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sstm.fit(X, Y).to_arviz().posterior["coef"].shape[:2] == (2, len(sstm.draws_["coef"]) // 2)
    assert "alpha" in LDA(3, doc_topic_prior="auto", **GIBBS).fit(X).to_arviz().posterior
    assert "coef" in MedLDAClassifier(3, **GIBBS).fit(X, CLASSES).to_arviz().posterior
    with pytest.raises(ValueError, match="to_arviz needs draws, which a LDA has with inference='gibbs' only"):
        LDA(3, max_iter=2).fit(X).to_arviz()
