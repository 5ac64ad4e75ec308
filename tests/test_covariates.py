"""Covariates on any scale: years, incomes, shares, dummies; constant and dependent columns."""

import re

import numpy as np
import pandas as pd
import pytest

from supertopic import (
    SVI,
    Gibbs,
    MedLDAClassifier,
    MedLDARegressor,
    SLDAClassifier,
    SLDARegressor,
    SSTMClassifier,
    load,
)
from supertopic.datasets import simulate
from tests.cases import cases

RNG = np.random.default_rng(7)
D, K = 300, 4
DATA = simulate(D, K, 60, 40, doc_topic_prior=0.3, seed=5)
X, EXTRA = DATA.counts, RNG.normal(size=(D, 2))
LINE = DATA.topic_shares @ np.array([-1.0, -0.3, 0.3, 1.0]) + EXTRA @ np.array([0.8, -0.4])
Y = {
    "gaussian": LINE + 0.3 * RNG.normal(size=D),
    "poisson": RNG.poisson(np.exp(0.5 + LINE)),
    "negative_binomial": RNG.negative_binomial(3, 3 / (3 + np.exp(0.5 + LINE))),
    "gamma": np.exp(LINE) * RNG.gamma(5.0, 0.2, D),
    "weibull": np.exp(LINE) * RNG.weibull(2.0, D),
    "logit": (LINE + RNG.logistic(size=D) > 0).astype(int),
    "probit": (LINE + RNG.normal(size=D) > 0).astype(int),
    "softmax": np.digitize(LINE + RNG.normal(size=D), [-0.5, 0.5]),
    "ordinal": np.digitize(LINE + RNG.normal(size=D), [-0.5, 0.5]),
}
CLASSES = ("logit", "probit", "softmax", "ordinal")
ENGINES = {
    "pc": {"inference": "pc", "max_iter": 8, "cross_fit": 2},
    "vb": {"inference": "vb", "max_iter": 12, "cross_fit": 0},
    "svi": {"inference": SVI(batch_size=100), "max_iter": 2, "cross_fit": 0},
    "gibbs": {"inference": Gibbs(burn_in=10), "max_iter": 20, "cross_fit": 0},
}
UNITS = {"small": (1e-4, 0.0), "large": (1e4, 0.0), "shifted": (1.0, 1e6)}
CASES = [("vb", name) for name in Y] + [
    (engine, name)
    for engine in ("pc", "svi", "gibbs")
    for name in ("gaussian", "negative_binomial", "weibull", "logit", "softmax")
]
SHORT = [("vb", "gaussian"), ("vb", "negative_binomial"), ("vb", "softmax"), ("pc", "weibull"), ("pc", "logit")]
SHORT += [("svi", "gaussian"), ("svi", "logit"), ("gibbs", "negative_binomial"), ("gibbs", "softmax")]


def build(engine, name, **more):
    kind = SLDAClassifier if name in CLASSES else SLDARegressor
    return kind(K, response=name, **ENGINES[engine], **more)


def predicted(model, name, extra):
    found = model.predict_proba if name in CLASSES else model.predict
    return found(X, covariates=extra)


@pytest.mark.parametrize(("engine", "name"), cases(CASES, SHORT))
def test_predictions_do_not_depend_on_units_and_origin(engine, name, tmp_path):
    plain = build(engine, name).fit(X, Y[name], covariates=EXTRA)
    expected = predicted(plain, name, EXTRA)
    assert np.abs(predicted(plain, name, EXTRA + 1.0) - expected).max() > 1e-2, "covariates have no effect"
    for factor, shift in UNITS.values():
        units = np.array([factor, 1.0])  # one column only: the units of the other stay
        extra = EXTRA * units + shift
        model = build(engine, name).fit(X, Y[name], covariates=extra)
        np.testing.assert_allclose(predicted(model, name, extra), expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(model.covariate_coef_ * units, plain.covariate_coef_, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(model.covariate_std_ * units, plain.covariate_std_, rtol=1e-3)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(model.covariate_mean_, extra.mean(axis=0))
    model.save(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(
        predicted(load(tmp_path / "m.supertopic"), name, extra), predicted(model, name, extra)
    )


@pytest.mark.parametrize("name", ["gaussian", "logit"])
def test_the_linear_predictor_is_what_the_coefficients_say(name):
    """intercept + coef·Zbar + covariate_coef·(x - mean), and `explain` holds the second part."""
    extra = EXTRA * np.array([1e3, 1e-2]) + np.array([2000.0, 0.0])
    model = build("vb", name).fit(X, Y[name], covariates=extra)
    line = model.decision_function if name == "logit" else model.predict
    topics = np.ravel(model.intercept_)[0] + model.explain(X[7])["contribution"].sum()
    whole = topics + (model.covariate_coef_ @ (extra[7] - model.covariate_mean_))[0]
    assert line(X[7], covariates=extra[7:8])[0] == pytest.approx(whole, rel=1e-4)
    assert topics == pytest.approx(line(X[7], covariates=extra.mean(axis=0)[None])[0], rel=1e-4)


@pytest.mark.parametrize("name", ["gaussian", "logit"])
@pytest.mark.parametrize("ensemble", [1, 2])
def test_explanations_with_covariates_add_up(name, ensemble):
    frame = pd.DataFrame({"age": 30 + 10 * EXTRA[:, 0], "town": np.where(EXTRA[:, 1] > 0, "Rome", "Bonn")})
    model = build("vb", name, ensemble=ensemble).fit(X, Y[name], covariates=frame)
    line = model.decision_function if name == "logit" else model.predict
    intercept = np.ravel(model.intercept_)[0]
    for row in (7, 8):
        told = model.explain(X[row], covariates=frame[row : row + 1])
        total = intercept + told["contribution"].sum()
        assert total == pytest.approx(line(X[row], covariates=frame[row : row + 1])[0], rel=1e-4, abs=1e-4)
        assert list(told["word"][-2:]) == [f"age={frame.age[row]:.4g}", f"town={frame.town[row]}"]
    by_name = model.explain(X[7], covariates={"town": "Rome"})
    assert list(by_name["word"][-2:]) == [f"age={frame.age.mean():.4g}", "town=Rome"]
    assert by_name["contribution"].iloc[-2] == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="covariates: got none, expected 'age', 'town' as in fit"):
        model.predict(X[7])
    with pytest.raises(ValueError, match="covariates: got 'wage', expected some of 'age', 'town'"):
        model.explain(X[7], covariates={"wage": 3})
    lines = repr(model.topics()).splitlines()[-1]
    assert lines.startswith("Covariates (coef ± std): age ") and ", town=Rome " in lines
    assert list(model.summary().index[-2:]) == ["age", "town=Rome"]
    plain = build("vb", name).fit(X, Y[name])
    assert "Covariates" not in repr(plain.topics())
    with pytest.raises(ValueError, match="covariates: got 'age', but the model was fitted without covariates"):
        plain.explain(X[7], covariates={"age": 30})
    with pytest.raises(ValueError, match="covariates: got 2 columns, expected 0 as in fit"):
        plain.explain(X[7], covariates=EXTRA[:1])


def test_draws_are_in_the_users_units():
    model = build("gibbs", "gaussian").fit(X, Y["gaussian"], covariates=EXTRA * 1e4)
    np.testing.assert_allclose(model.draws_["coef"][:, 0, K:].mean(axis=0) * 1e4, [0.8, -0.4], atol=0.15)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("prior", ["flat", "normal"])
def test_constant_and_dependent_columns_are_named_and_change_nothing(engine, prior):
    kept = EXTRA[:, :1]
    expected = build(engine, "gaussian", coef_prior=prior).fit(X, Y["gaussian"], covariates=kept)
    more = np.hstack([kept, np.full((D, 1), 1e6), 2e3 * kept + 5])
    frame = pd.DataFrame(more, columns=["income", "planet", "pence"])
    for given, first, second in ((more, "column 1 is", "columns 0, 2 are"),
                                 (frame, "column 'planet' is", "columns 'income', 'pence' are")):  # fmt: skip
        with pytest.warns(UserWarning, match="covariates:") as found:
            model = build(engine, "gaussian", coef_prior=prior).fit(X, Y["gaussian"], covariates=given)
        said = [str(one.message) for one in found]
        assert any(re.match(f"covariates: {first} constant", one) for one in said), said
        assert any(re.match(f"covariates: {second} linearly dependent", one) for one in said), said
        assert np.asarray(model.covariate_coef_)[0, 1] == 0 and np.isfinite(np.asarray(model.covariate_std_)[0, 0])
        if engine != "gibbs":  # whose chain is another one
            close = {"rtol": 1e-3, "atol": 2e-2}
            np.testing.assert_allclose(
                model.predict(X, covariates=given), expected.predict(X, covariates=kept), **close
            )
    far = more + np.array([0.0, 1e6, 0.0])
    np.testing.assert_allclose(model.predict(X, covariates=far), model.predict(X, covariates=more), rtol=1e-9)


def test_all_dummies_of_a_factor_are_dependent():
    dummies = pd.get_dummies(pd.Series(RNG.choice(["a", "b", "c"], D))).astype(float)
    with pytest.warns(UserWarning, match="columns 'a', 'b', 'c' are linearly dependent"):
        model = SLDARegressor(K, max_iter=5).fit(X, Y["gaussian"], covariates=dummies)
    assert np.isfinite(np.asarray(model.covariate_coef_)).all()


def test_the_first_batch_decides_and_a_column_may_vary_later():
    extra = EXTRA * 1e4 + 1e6
    extra[:100, 1] = 1e6
    model = SLDARegressor(K, inference=SVI(total_documents=D))
    with pytest.warns(UserWarning, match="column 1 is constant in the first batch"):
        model.partial_fit(X[:100], Y["gaussian"][:100], covariates=extra[:100])
    np.testing.assert_allclose(model.covariate_mean_, extra[:100].mean(axis=0))
    for _ in range(60):
        model.partial_fit(X[100:], Y["gaussian"][100:], covariates=extra[100:])
    np.testing.assert_allclose(model.covariate_coef_[0] * 1e4, [0.8, -0.4], atol=0.15)


def test_an_intercept_stays_an_intercept(tmp_path):
    extra = EXTRA[:, :1] * 1e4 + 1e6
    model = SSTMClassifier(K, fit_intercept=True, max_iter=60).fit(X, Y["probit"], covariates=extra)
    assert model.covariate_coef_.shape == (1, 1) and model.intercept_.shape == (1,)
    assert 0.4 < model.covariate_coef_[0, 0] * 1e4 < 1.4
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(again.predict_proba(X, covariates=extra), model.predict_proba(X, covariates=extra))


# --- doors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build_one, y",
    [
        (lambda: SLDARegressor(K, max_iter=5, cross_fit=0), Y["gaussian"]),
        (lambda: MedLDAClassifier(K, max_iter=5), Y["softmax"]),
    ],
    ids=["slda", "medlda"],
)
def test_fit_transform_takes_what_fit_takes(build_one, y):
    beside = {"covariates": EXTRA, "sample_weight": np.linspace(0.5, 2.0, D)}
    expected, model = build_one().fit(X, y, **beside), build_one()
    np.testing.assert_array_equal(model.fit_transform(X, y, **beside), expected.transform(X))
    np.testing.assert_array_equal(model.covariate_coef_, expected.covariate_coef_)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("more", [{}, {"inference": "gibbs"}, {"words": True}, {"exact": True, "inference": "vb"}])
@pytest.mark.parametrize("kind", [MedLDARegressor, MedLDAClassifier])
def test_covariates_join_a_margin(kind, more, tmp_path):
    y = Y["gaussian"] if kind is MedLDARegressor else Y["softmax"]
    plain = kind(K, **{"max_iter": 20, **more}).fit(X, y)
    model = kind(K, **{"max_iter": 20, **more}).fit(X, y, covariates=EXTRA * 1e3)
    extra = EXTRA * 1e3
    gain = 0.03 if "words" in more else 0.1  # words know some labels by heart
    assert model.score(X, y, covariates=extra) > plain.score(X, y) + gain
    if "exact" in more:
        assert np.diff(model.bound_).min() > -1e-9
    assert np.abs(model.predict(X, covariates=extra) - model.predict(X, covariates=-extra)).max() > 0.5
    model.save(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(
        load(tmp_path / "m.supertopic").predict(X, covariates=extra), model.predict(X, covariates=extra)
    )


def test_covariates_join_calibrated_probabilities_of_a_margin():
    model = MedLDAClassifier(K, max_iter=10, cross_fit=2).fit(X, Y["softmax"], covariates=EXTRA)
    found = model.predict_proba(X, covariates=EXTRA)
    assert np.mean(model.classes_[found.argmax(axis=1)] == Y["softmax"]) > 0.55
    with pytest.raises(ValueError, match=r"covariates: got 0 columns, expected 2 as in fit"):
        model.decision_function(X)


# --- frames -------------------------------------------------------------------------------------------------------


def frame_of(rows=slice(None)):
    section = np.array(["culture", "politics", "sport"])[np.arange(D) % 3]
    return pd.DataFrame({"age": EXTRA[:, 0], "section": section, "free": EXTRA[:, 1] > 0})[rows]


@pytest.fixture(scope="module")
def named():
    y = Y["gaussian"] + np.where(np.arange(D) % 3 == 2, 5.0, 0.0)
    return SLDARegressor(K, max_iter=5, cross_fit=0).fit(X, y, covariates=frame_of())


def test_columns_of_a_frame_are_known_by_name(named):
    expected = named.predict(X[:9], covariates=frame_of()[:9])
    turned = named.predict(X[:9], covariates=frame_of()[["free", "age", "section"]][:9])
    np.testing.assert_array_equal(turned, expected)
    numbers = SLDARegressor(K, max_iter=3, cross_fit=0)
    numbers.fit(X, Y["gaussian"], covariates=pd.DataFrame(EXTRA, columns=["a", "b"]))
    expected = numbers.predict(X, covariates=EXTRA)  # an array has no names: its order counts
    np.testing.assert_array_equal(
        numbers.predict(X, covariates=pd.DataFrame(EXTRA[:, ::-1], columns=["b", "a"])), expected
    )


def test_columns_that_are_missing_or_new_are_refused(named):
    frame = frame_of()
    for wrong, said in {
        "the column 'section' is missing; expected 'age', 'section', 'free' as in fit": frame.drop(columns="section"),
        "got a column 'more', which was not there in fit": frame.assign(more=1.0),
        "column 'section' has 'science', which was not there in fit; expected 'culture', 'politics', 'sport'":
            frame.assign(section="science"),
        "column 'section' has missing values": frame.assign(section=None),
        "column 'age' has NaN or infinity": frame.assign(age=np.nan),
        "got no frame, expected one with the columns 'age', 'section', 'free'": EXTRA,
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=f"^covariates: {wrong}"):
            named.predict(X, covariates=said)
    with pytest.raises(ValueError, match="covariates: got two columns 'age', expected names that differ"):
        SLDARegressor(K).fit(X, Y["gaussian"], covariates=frame.set_axis(["age", "age", "c"], axis=1))
    with pytest.raises(ValueError, match="expected numbers, or a frame, whose columns of text become dummies"):
        SLDARegressor(K).fit(X, Y["gaussian"], covariates=frame.to_numpy())


def test_categories_become_dummies_that_have_names(named, tmp_path):
    assert named.covariate_names_ == ["age", "section=politics", "section=sport", "free"]
    assert named.covariate_references_ == {"section": "culture"}
    assert list(named.covariate_coef_) == named.covariate_names_ and list(named.covariate_coef_.index) == ["y"]
    assert named.covariate_coef_.loc["y", "section=sport"] == pytest.approx(5, abs=0.7)
    assert abs(named.covariate_coef_.loc["y", "section=politics"]) < 0.7
    named.save(tmp_path / "m")
    again = load(tmp_path / "m")
    pd.testing.assert_frame_equal(again.covariate_coef_, named.covariate_coef_)
    given = frame_of()[["section", "free", "age"]]
    np.testing.assert_array_equal(again.predict(X, covariates=given), named.predict(X, covariates=frame_of()))
    ordered = frame_of().assign(section=pd.Categorical(frame_of()["section"], ["sport", "culture", "politics"]))
    other = SLDARegressor(K, max_iter=2, cross_fit=0).fit(X, Y["gaussian"], covariates=ordered)
    assert other.covariate_references_ == {"section": "sport"}


def test_named_covariates_in_batches():
    model = SLDARegressor(K).partial_fit(X[:200], Y["gaussian"][:200], covariates=frame_of()[:200])
    model.partial_fit(X[200:], Y["gaussian"][200:], covariates=frame_of()[200:][["section", "free", "age"]])
    assert list(model.covariate_coef_) == ["age", "section=politics", "section=sport", "free"]


@pytest.mark.parametrize("named", [True, False])
def test_what_is_unknown_is_at_its_mean(named, tmp_path):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, (60, 20))
    given = pd.DataFrame(
        {"party": list("abc") * 20, "age": rng.uniform(20, 70, 60), "day": ["2008-01-05", "2009-07-01"] * 30}
    )
    given = given if named else given[["age"]].to_numpy()
    y = rng.normal(size=60) + 0.1 * rng.permutation(60)
    quick = {"cross_fit": 0, "max_iter": 2, "inference": "vb"}
    holes = pd.DataFrame(
        {"party": ["z", None, "b"], "age": [30.0, 30.0, None], "day": [None, "2008-06-01", "2008-06-01"]}
    )
    holes = holes if named else np.array([[30.0], [30.0], [np.nan]])
    strict = SLDARegressor(3, **quick).fit(counts, y, covariates=given)
    with pytest.raises(ValueError, match="covariates: "):
        strict.predict(counts[:3], covariates=holes)
    model = SLDARegressor(3, **quick).fit(counts, y, covariates=given, handle_unknown="ignore")
    np.testing.assert_array_equal(model.predict(counts, covariates=given), strict.predict(counts, covariates=given))
    found = model.predict(counts[:3], covariates=holes)
    schema = model.fitted_.spec.schema
    z = schema.columns.encode(holes, 3)
    at_mean = np.where(np.isnan(z), schema.scaling.mean, z)
    coef, mean = np.ravel(model.covariate_coef_), schema.scaling.mean
    plain = model.predict(counts[:3], covariates=given[:3]) - (schema.columns.encode(given[:3], 3) - mean) @ coef
    np.testing.assert_allclose(found, plain + (at_mean - mean) @ coef, rtol=1e-5)
    assert np.isnan(z).any(axis=1).tolist() == ([True, True, True] if named else [False, False, True])
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(counts[:3], covariates=holes), found)
    np.testing.assert_allclose(model.predictor().predict(counts[:3], covariates=holes), found, rtol=1e-3)
    told = model.explain(counts[2:3], covariates=holes[2:]).set_index("word")["contribution"]
    assert told["age=unknown" if named else "x0=unknown"] == 0
    refused = given.assign(age=np.nan) if named else np.full((60, 1), np.nan)
    with pytest.raises(ValueError, match="fill them in or leave these documents out"):
        model.fit(counts, y, covariates=refused)


def test_handle_unknown_is_one_of_two_words():
    with pytest.raises(ValueError, match="handle_unknown: got 'skip', expected 'error' or 'ignore'"):
        SLDARegressor(3).fit(np.eye(6), np.arange(6.0), handle_unknown="skip")
