"""`effects` of fitted models: against moving shares by what users see of the model, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr, softmax

from supertopic import (
    Gibbs,
    MedLDAClassifier,
    SLDAClassifier,
    SLDARegressor,
    SSTMClassifier,
    SSTMRegressor,
    TopicModel,
    load,
)
from supertopic.datasets import simulate
from tests import naive_effects

NUMBERS = ("gaussian", "poisson", "negative_binomial", "gamma", "inverse_gaussian", "weibull")
CLASSES = {"logit": 2, "probit": 2, "softmax": 3, "ordinal": 4}
COLUMNS = ["topic", "label", "share_low", "share_high", "effect", "std_error", "lower", "upper"]


def simulated(response, n=150):
    found = simulate(n_documents=n, n_topics=4, n_words=60, mean_length=40, response=response,
                     n_classes=CLASSES.get(response, 2), seed=3)  # fmt: skip
    return found.counts.counts, found.y


def fit(response, X, y, **more):
    kind = SLDAClassifier if response in CLASSES else SLDARegressor
    return kind(4, response=response, inference="vb", cross_fit=0, max_iter=6).fit(X, y, **more)


def mean_of(model, response):
    """E[y] of linear predictors (D, C) as users know them."""
    if response == "gaussian":
        return lambda s: s
    if response in NUMBERS:
        return np.exp
    if response == "ordinal":
        cuts = np.concatenate([[-np.inf], model.dispersion_, [np.inf]])
        return lambda s: np.diff(ndtr(cuts - s), axis=1) @ np.asarray(model.classes_, dtype=float)[:, None]
    if response == "softmax":
        return lambda s: 100.0 * softmax(s, axis=1)
    return lambda s: 100.0 * (expit if response == "logit" else ndtr)(s)


def by_hand(model, response, others, first):
    """(effect, std_error), each (K, n), by moving one document after the other."""
    covariances = model.coef_cov_
    covariances = list(covariances.values()) if isinstance(covariances, dict) else [covariances]
    order = [1, 2, 3, 4, 0, *range(5, 4 + others.shape[1])]
    covariance = np.stack([one.to_numpy()[np.ix_(order, order)] for one in covariances])
    beside = np.atleast_2d(getattr(model, "covariate_coef_", np.zeros((len(covariance), 0))))
    coef = np.hstack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)[:, None], beside])
    shares, found = model.doc_topic_.astype(float), []
    for k in range(first, first + (4 if first == 0 else others.shape[1] - 1)):
        given = shares[:, k] if first == 0 else others[:, k - 4]
        args = (shares, others, coef, mean_of(model, response))
        ends, ratio = tuple(np.quantile(given, [0.1, 0.9])), response in NUMBERS[1:]
        found.append((naive_effects.effect(*args, k, ends, ratio),
                      naive_effects.effect_error(*args, covariance, k, ends, ratio)))  # fmt: skip
    return np.array(found).transpose(1, 0, 2)


@pytest.mark.parametrize("response", [*NUMBERS, *CLASSES])
def test_effects_are_those_of_moving_shares_by_hand(response):
    X, y = simulated(response)
    model = fit(response, X, y)
    table = model.effects()
    table = table.drop(columns=["found_again", "spread"], errors="ignore")
    assert list(table.columns[-8:]) == COLUMNS
    effect, error = by_hand(model, response, np.ones((len(y), 1)), 0)
    names = list(model.classes_) if response == "softmax" else [None]
    for c, name in enumerate(names):
        own = table if name is None else table[table["class"] == str(name)]
        assert own["effect"].is_monotonic_decreasing
        own = own.set_index("topic").sort_index()
        np.testing.assert_allclose(own["effect"], effect[:, c], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(own["std_error"], error[:, c], rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(own["share_high"], np.quantile(model.doc_topic_, 0.9, axis=0), rtol=1e-5)
    assert (table["lower"] <= table["effect"]).all() and (table["effect"] <= table["upper"]).all()
    wider = model.effects(probability=0.99)
    assert (wider["upper"] - wider["lower"] > table["upper"] - table["lower"]).all()


@pytest.mark.parametrize("response", ["gaussian", "poisson", "logit"])
def test_covariates_have_effects_between_values_that_documents_have(response):
    X, y = simulated(response)
    age, smokes = np.linspace(20, 70, len(y)) ** 1.1, np.arange(len(y)) % 3 == 0
    model = fit(response, X, y, covariates=pd.DataFrame({"age": age, "smokes": smokes}))
    table = model.effects(of="covariates").set_index("covariate")
    others = np.column_stack([age, smokes]) - np.asarray(model.covariate_mean_)
    others = np.column_stack([np.ones(len(y)), others])
    effect, error = by_hand(model, response, others, 5)
    np.testing.assert_allclose(table.loc["age", ["low", "high"]].astype(float), np.quantile(age, [0.1, 0.9]), rtol=1e-5)
    assert table.loc["age", "effect"] == pytest.approx(effect[0, 0], rel=2e-3, abs=1e-3)
    assert table.loc["age", "std_error"] == pytest.approx(error[0, 0], rel=5e-3, abs=1e-3)
    flag = table.loc[table.index != "age"]
    assert flag[["low", "high"]].to_numpy().tolist() == [[0.0, 1.0]]
    effect, _ = by_hand(model, response, others, 0)
    topics = model.effects().set_index("topic").sort_index()
    np.testing.assert_allclose(topics["effect"], effect[:, 0], rtol=2e-3, atol=1e-3)


def test_effects_of_ratings_stay_within_their_range():
    """A coefficient may be beyond it: no document is all of a rare topic."""
    rng = np.random.default_rng(0)
    X, _ = simulated("gaussian", 300)
    rare = rng.random(300) < 0.08
    X = np.asarray(X.todense())
    X[:, 0] = np.where(rare, 6, 0)
    y = np.clip(np.where(rare, 1, 4) + rng.integers(0, 2, 300), 1, 5)
    model = SLDARegressor(6, response="gaussian", cross_fit=0).fit(X, y)
    assert model.effects()["effect"].abs().max() < 4
    assert np.ptp(model.coef_) > model.effects()["effect"].abs().max()


def test_several_responses_have_the_effects_that_each_has():
    X, y = simulated("gaussian")
    frame = pd.DataFrame({"stars": y, "visits": np.rint(np.exp(y / 2) * 7), "verdict": np.where(y > 0, "good", "bad")})
    model = TopicModel(4, response=["gaussian", "poisson", "logit"], max_iter=5, cross_fit=0).fit(X, frame)
    table = model.effects()
    assert list(table["response"].drop_duplicates()) == ["stars", "visits", "verdict"]
    shares = model.doc_topic_.astype(float)
    own = table[table["response"] == "visits"].set_index("topic").sort_index()
    coef = np.append(model.coef_.loc["visits"], model.intercept_["visits"])[None]
    for k in range(4):
        ends = tuple(np.quantile(shares[:, k], [0.1, 0.9]))
        wanted = naive_effects.effect(shares, np.ones((len(y), 1)), coef, np.exp, k, ends, True)
        assert own.loc[k, "effect"] == pytest.approx(wanted[0], rel=1e-3)
    assert "or in percentage points" in table.attrs["below"][0]


def test_margins_have_effects_on_their_probabilities():
    X, y = simulated("softmax")
    scores = MedLDAClassifier(4, max_iter=4, cross_fit=0).fit(X, y)
    assert "in the score." in scores.effects().attrs["below"][0] and scores.effects()["std_error"].isna().all()
    model = MedLDAClassifier(4, max_iter=4, cross_fit=3).fit(X, y)
    table = model.effects()
    assert table["effect"].abs().max() <= 100
    by_class = table.pivot(index="topic", columns="class", values="effect")
    np.testing.assert_allclose(by_class.sum(axis=1), 0.0, atol=1e-6)
    two = MedLDAClassifier(4, max_iter=4, cross_fit=3).fit(X, y > 0)
    line, shares = two.fitted_.certainty.scaling, two.doc_topic_.astype(float)
    coef = np.append(two.coef_.ravel(), two.intercept_)[None]
    found = two.effects().set_index("topic")["effect"]
    for k in range(4):
        ends = tuple(np.quantile(shares[:, k], [0.1, 0.9]))
        args = (shares, np.ones((len(y), 1)), coef, lambda s: 100 * expit(line[0] + line[1] * s), k, ends, False)
        assert found[k] == pytest.approx(naive_effects.effect(*args)[0], rel=1e-3, abs=1e-3)


def test_a_posterior_has_one_estimate_with_its_own_interval():
    X, y = simulated("gaussian")
    model = SSTMRegressor(4, max_iter=60, inference=Gibbs(thin=2)).fit(X, y)
    table = model.effects().set_index("topic").sort_index()
    assert ((table["lower"] <= table["effect"]) & (table["effect"] <= table["upper"])).all()
    shares = model.doc_topic_.astype(float)
    low, high = np.quantile(shares, [0.1, 0.9], axis=0)
    drawn = model.draws_["coef"][:, 0]
    for k in range(4):
        mixed = (np.delete(shares, k, axis=1) / np.delete(shares, k, axis=1).sum(axis=1, keepdims=True)).mean(axis=0)
        wanted = (high[k] - low[k]) * (drawn[:, k] - np.delete(drawn, k, axis=1) @ mixed)
        assert table.loc[k, "effect"] == pytest.approx(wanted.mean(), rel=1e-3)
        assert table.loc[k, "std_error"] == pytest.approx(wanted.std(ddof=1), rel=1e-3)


def test_a_posterior_of_classes_keeps_its_level():
    """Each class against the rest, made to sum to one: draws by hand."""
    X, y = simulated("softmax")
    model = SSTMClassifier(4, max_iter=40, inference=Gibbs(thin=5)).fit(X, y)
    shares, found = model.doc_topic_.astype(float), []
    topics, level = model.draws_["coef"][..., :4], model.draws_["intercept"]
    low, high = np.quantile(shares[:, 1], [0.1, 0.9])

    def percents(s):
        each = ndtr(s)
        return 100 * each / each.sum(axis=1, keepdims=True)

    for own, one in zip(topics, level, strict=True):
        coef = np.hstack([own, one[:, None]])
        args = (shares, np.ones((len(y), 1)), coef, percents, 1, (low, high), False)
        found.append(naive_effects.effect(*args))
    table = model.effects()
    np.testing.assert_allclose(table.loc[table["topic"] == 1, "effect"], np.mean(found, axis=0), rtol=1e-3, atol=1e-3)


def test_heat_draws_effects_in():
    X, y = simulated("softmax")
    model = fit("softmax", X, y)
    before = model.effects()["effect"].abs().max()
    model.fitted_ = model.fitted_.with_certainty(heat=np.array([[50.0, 0.0, 0.0]]), zero=np.zeros(3))
    assert model.effects()["effect"].abs().max() < 0.1 * before


def test_files_and_streams_have_effects_too(tmp_path):
    X, y = simulated("gaussian")
    extra = np.column_stack([np.linspace(0, 9, len(y)), y])
    model = SLDARegressor(4, cross_fit=0, max_iter=4).fit(X, y, covariates=extra)
    model.set_topic_labels(["war", None, "peace", ""])
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    for of in ("topics", "covariates"):
        pd.testing.assert_frame_equal(again.effects(of=of), model.effects(of=of))
    assert {"war", "peace"} <= set(again.effects()["label"]) and "" not in set(again.effects()["label"])
    batches = SLDARegressor(4, inference="svi", cross_fit=0)
    for _ in range(3):
        batches.partial_fit(X, y)
    table = batches.effects()
    assert np.isfinite(table["effect"]).all() and table["effect"].abs().max() < np.ptp(y)


def test_nonsense_is_refused():
    X, y = simulated("gaussian")
    model = fit("gaussian", X, y)
    for given, said in (
        ({"low": -0.1}, "low: got -0.1, expected a number from 0 to 1"),
        ({"high": True}, "high: got True, expected a number from 0 to 1"),
        ({"low": 0.9}, "low: got 0.9, expected less than high=0.9"),
        ({"probability": 1.0}, "probability: got 1.0, expected a number between 0 and 1"),
        ({"of": "words"}, "of: got 'words', expected 'topics' or 'covariates'"),
        ({"of": "covariates"}, "of: got 'covariates', but this model was fitted without any"),
    ):
        with pytest.raises(ValueError) as caught:
            model.effects(**given)
        assert str(caught.value) == said


@pytest.mark.parametrize(("response", "most"), [("logit", 100.0), ("softmax", 100.0), ("ordinal", 2.0)])
def test_intervals_of_classes_end_where_means_can_change_no_further(response, most):
    data = simulate(30, 3, n_words=40, mean_length=30, response="gaussian", seed=1)
    y = np.digitize(data.y, np.quantile(data.y, [0.5] if response == "logit" else [0.3, 0.6]))
    model = SLDAClassifier(3, response=response, cross_fit=0, max_iter=3, inference="vb").fit(data.counts.counts, y)
    table = model.effects(probability=0.9999)
    assert table[["lower", "upper"]].abs().max(axis=None) == most
    assert ((table.lower <= table.effect) & (table.effect <= table.upper)).all()
