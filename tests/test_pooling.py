"""Categories of many levels beside topics: drawn towards their mean, as hard as folds say."""

import numpy as np
import pandas as pd
import pytest

from supertopic import (
    SVI,
    MedLDAClassifier,
    MedLDARegressor,
    SLDAClassifier,
    SLDARegressor,
    SSTMRegressor,
    Stream,
    TopicModel,
    load,
)  # fmt: skip
from supertopic.coefficients import CoefPrior
from supertopic.datasets import simulate
from supertopic.documents.covariates import MANY_LEVELS, Columns
from supertopic.explore.page.payload import collect
from supertopic.fitted.pooling import STRENGTHS, deviation_of_levels, levels_left_out
from supertopic.inference.after.calibration import calibrate
from supertopic.inference.after.splits import Split
from supertopic.metrics import predictive_r2
from supertopic.predictor import load_predictor
from supertopic.responses.continuous import Gaussian
from tests import naive_pooling

D, L = 480, 60
RNG = np.random.default_rng(5)
DATA = simulate(n_documents=D, n_words=60, n_topics=3, response="gaussian", seed=3)
X, CODES = DATA.counts.counts, RNG.integers(0, L, D)
LEVELS, AGE = RNG.normal(size=L), RNG.normal(size=D)
TOPICS = (DATA.y - DATA.y.mean()) / DATA.y.std()
S = TOPICS + LEVELS[CODES] + 0.3 * AGE
Y = S + RNG.normal(size=D)
FRAME = pd.DataFrame({"who": [f"place {code:02d}" for code in CODES], "age": AGE})
TRAIN, TEST = slice(0, 360), slice(360, D)
QUICK = {"inference": "vb", "max_iter": 8, "cross_fit": 2}


def folds(n, n_folds=3):
    part = np.random.default_rng(1).integers(-1, n_folds, n)
    return [Split(np.flatnonzero((part >= 0) & (part != k)), np.flatnonzero(part == k)) for k in range(n_folds)]


def deviation_found(model, name="who"):
    """Of the levels, in linear predictors."""
    schema = model.fitted_.spec.schema
    return schema.scaling.factor[schema.columns.places[name]] * model.coef_scale


# --- the strength -----------------------------------------------------------------------------------------------------


def test_levels_are_those_of_the_normal_equations():
    weight, t = RNG.choice([0.5, 1.0, 3.0], D), np.where(RNG.random(D) < 0.1, np.nan, Y)
    splits = [Split(one.rest[one.rest < 200], one.out[one.out < 200]) for one in folds(D)]
    rows = np.sort(np.concatenate([one.out for one in splits]))
    own = [np.searchsorted(rows, one.out) for one in splits]
    for strength in (0.3, 10.0, np.inf):
        found = levels_left_out(CODES, t, weight, splits, strength)
        expected = naive_pooling.left_out(CODES[rows], t[rows], weight[rows], own, min(strength, 1e12))
        np.testing.assert_allclose(found[rows], expected, rtol=1e-6, atol=1e-8)
        assert np.isnan(np.delete(found, rows)).all()


@pytest.mark.parametrize("size", [0.0, 0.3, 1.0])
def test_the_deviation_is_that_under_which_folds_are_told_best(size):
    t, weight = size * LEVELS[CODES[:200]] + RNG.normal(size=200), RNG.choice([0.5, 1.0, 2.0], 200)
    part = np.random.default_rng(1).integers(0, 3, 200)
    splits = [Split(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(3)]
    found, left = deviation_of_levels(CODES[:200], t[:, None], np.array([2.0]), weight, splits)
    own = [one.out for one in splits]
    assert found == pytest.approx(naive_pooling.deviation(CODES[:200], t, 2.0, weight, own, STRENGTHS), rel=1e-6)
    assert (left**2).mean() < (t**2).mean() or not found


@pytest.mark.parametrize("deviation", [0.05, 1.0])
def test_calibrations_find_the_coefficients_of_levels(deviation):
    """Columns of next to no variance: held to the normal equations."""
    codes, rng = np.arange(3000) % 200, np.random.default_rng(0)
    dummies = ((codes[:, None] == np.arange(200)) - 1 / 200) * deviation / 10
    x, s = np.hstack([rng.normal(size=(3000, 1)), dummies]), rng.normal(size=3000)
    y = s + 0.3 * x[:, 0] + deviation * rng.normal(size=200)[codes] + rng.normal(size=3000)
    given = (Gaussian(), y, np.ones(3000), s[:, None], np.array([1.0, 0.0, 1.0]))
    pooled = np.arange(201) > 0
    found = calibrate(*given, covariates=x, prior=CoefPrior("normal", 10.0, 5), pooled=pooled)
    design = np.hstack([np.ones((3000, 1)), s[:, None], x])
    gram = design.T @ design / found.dispersion[0] + np.diag([0.0, 0.0] + [0.01] * 201)
    expected = np.linalg.solve(gram, design.T @ y / found.dispersion[0])
    assert found.slope[0] == pytest.approx(expected[1], rel=1e-4)
    np.testing.assert_allclose(found.beside[0], expected[2:], atol=2e-3 * np.abs(expected[3:]).max())


def test_the_noise_counts_what_is_not_known_of_levels():
    """Four documents a level: without it, coefficients seem surer than they are."""
    codes, rng, found = np.arange(400) % 100, np.random.default_rng(0), []
    dummies = ((codes[:, None] == np.arange(100)) - 1 / 100) / 10
    for _ in range(20):
        s = rng.normal(size=400)
        y = s + rng.normal(size=100)[codes] + rng.normal(size=400)
        given = (Gaussian(), y, np.ones(400), s[:, None], np.array([1.0, 0.0, 1.0]))
        one = calibrate(*given, covariates=dummies, prior=CoefPrior("normal", 10.0), pooled=np.ones(100, dtype=bool))
        left = y - one.intercept - one.slope * s - dummies @ one.beside[0]
        noise = 1.0
        for _ in range(200):
            noise = ((left**2).sum() + sum(4 / (4 / noise + 1) for _ in range(100))) / 400
        assert one.dispersion[0] == pytest.approx(noise, rel=2e-3)
        found.append(one.dispersion[0])
    assert np.mean(found) == pytest.approx(1.0, abs=0.05)


# --- what fits make of it ---------------------------------------------------------------------------------------------


def test_many_levels_are_pooled_and_few_are_not():
    few = pd.DataFrame({"town": [f"t{k}" for k in range(MANY_LEVELS)] * 2})
    assert Columns.of(few).pooling() == Columns.of(few)
    more = Columns.of(FRAME).pooling()
    assert more.pooled == ("who",) and more.labels[0] == "who=place 00" and len(more.labels) == L + 1
    assert more.references == {} and more.places == {"who": slice(0, L), "age": slice(L, L + 1)}
    np.testing.assert_array_equal(more.encode(FRAME, D)[:, :L].argmax(axis=1), CODES)


def test_levels_that_are_real_tell_and_those_that_are_not_do_no_harm():
    given = {"n_topics": 3, **QUICK, "cross_fit": 3}
    noise = FRAME.assign(who=RNG.permutation(FRAME["who"]))
    without = SLDARegressor(**given).fit(X[TRAIN], Y[TRAIN], covariates=FRAME[["age"]][TRAIN])
    before = predictive_r2(Y[TEST], without.predict(X[TEST], covariates=FRAME[["age"]][TEST]))
    model = SLDARegressor(**given).fit(X[TRAIN], Y[TRAIN], covariates=FRAME[TRAIN])
    found, low, high = model.predict(X[TEST], covariates=FRAME[TEST], return_interval=0.9)
    assert predictive_r2(Y[TEST], found) > before + 0.08
    assert 0.84 < ((low <= Y[TEST]) & (Y[TEST] <= high)).mean() < 0.97
    np.testing.assert_allclose(deviation_found(model), 1.0 / Y.std(), rtol=0.5)
    assert np.corrcoef(model.covariate_coef_.iloc[0, :L], LEVELS)[0, 1] > 0.8
    vain = SLDARegressor(**given).fit(X[TRAIN], Y[TRAIN], covariates=noise[TRAIN], handle_unknown="ignore")
    assert predictive_r2(Y[TEST], vain.predict(X[TEST], covariates=noise[TEST])) > before - 0.02
    for one in (model, vain):
        assert one.covariate_std_["age"].iloc[0] == pytest.approx(without.covariate_std_["age"].iloc[0], rel=0.4)
        np.testing.assert_allclose(deviation_found(one, "age"), deviation_found(without, "age"))


def test_a_category_that_new_groups_do_not_have_has_no_part():
    without = SLDARegressor(3, **QUICK).fit(X, Y, groups=FRAME["who"])
    with pytest.warns(UserWarning, match="covariates: 'who' has no part in the fit: its levels tell nothing of doc"):
        model = SLDARegressor(3, **QUICK).fit(X, Y, covariates=FRAME[["who"]], groups=FRAME["who"])
    np.testing.assert_allclose(model.predict(X, covariates=FRAME[["who"]]), without.predict(X), rtol=1e-4, atol=1e-4)
    assert not model.covariate_coef_.to_numpy().any() and not model.covariate_std_.to_numpy().any()
    assert not model.summary()["effect"].iloc[-L:].any() and len(model.effects())
    model.check(X, covariates=FRAME[["who"]])


CLEAR = S + LEVELS[CODES]
LABELS = {
    "poisson": RNG.poisson(np.exp(0.5 * S)),
    "gamma": RNG.gamma(4.0, np.exp(S) / 4),
    "logit": RNG.random(D) < 1 / (1 + np.exp(-2 * S)),
    "ordinal": np.digitize(Y, np.quantile(Y, [0.2, 0.5, 0.8])) + 1,
    "softmax": np.array(["low", "middle", "high"])[np.digitize(CLEAR, np.quantile(CLEAR, [0.3, 0.7]))],
}
MODELS = {name: SLDARegressor(3, response=name, **QUICK) for name in ("poisson", "gamma")}
MODELS |= {name: SLDAClassifier(3, response=name, **QUICK) for name in ("logit", "ordinal", "softmax")}
MODELS |= {
    "words": SLDARegressor(3, words=True, **QUICK),
    "ensemble": SLDARegressor(3, ensemble=2, **QUICK),
    "pc": SLDARegressor(3, max_iter=4, cross_fit=2),
    "svi": SLDARegressor(3, inference="svi", max_iter=4, cross_fit=0),
    "gibbs": SLDARegressor(3, inference="gibbs", max_iter=40, cross_fit=0),
    "margin": MedLDAClassifier(3, max_iter=8),
    "rest": MedLDARegressor(3, max_iter=8),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_levels_tell_under_every_response_and_engine(name, tmp_path):
    y, kind = LABELS.get(name, LABELS["softmax"] if name == "margin" else Y), MODELS[name]
    model = kind.fit(X[TRAIN], y[TRAIN], covariates=FRAME[TRAIN], handle_unknown="ignore")
    score = model.score(X[TEST], y[TEST], covariates=FRAME[TEST])
    unknown = FRAME[TEST].assign(who="nowhere")
    plain = model.score(X[TEST], y[TEST], covariates=unknown)
    assert score > plain + (0.01 if name == "poisson" else 0.04)
    assert (deviation_found(model) > 0.1).all()
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    for frame in (FRAME[TEST], unknown):
        np.testing.assert_array_equal(
            again.predict(X[TEST], covariates=frame), model.predict(X[TEST], covariates=frame)
        )


def test_predictors_have_levels(tmp_path):
    model = SLDARegressor(3, **QUICK).fit(X, Y, covariates=FRAME)
    model.predictor().save(tmp_path / "p")
    found = load_predictor(tmp_path / "p").predict(X, covariates=FRAME)
    np.testing.assert_allclose(found, model.predict(X, covariates=FRAME), rtol=1e-4, atol=1e-4)


def test_tables_say_that_levels_are_shrunk():
    model = SLDARegressor(3, **QUICK).fit(X, Y, covariates=FRAME)
    told = model.summary()["words"]
    assert told["who=place 07"] == "shrunk towards the mean of all levels" and told["age"] == ""
    assert model.covariate_references_ == {} and len(model.covariate_names_) == L + 1
    explained = model.explain(X[:1], covariates=FRAME[:1])
    total = explained["contribution"].sum() + model.intercept_
    assert total == pytest.approx(model.predict(X[:1], covariates=FRAME[:1])[0], rel=1e-4)
    assert f"who={FRAME['who'][0]}" in set(explained["word"])
    usual = FRAME["who"].value_counts().index[0]
    assert f"who={usual}" in set(model.explain(X[:1], covariates={"age": 1.0})["word"])
    assert len(model.effects()) and len(collect(model, X[:40], Y[:40], covariates=FRAME[:40]).facts["effects"])


@pytest.mark.filterwarnings("ignore")
def test_batches_and_other_priors_have_dummies_as_before():
    blocks = [(X[a:b], Y[a:b], {"covariates": FRAME[a:b]}) for a, b in ((0, 200), (200, D))]
    stream = SLDARegressor(3, inference="svi", max_iter=1, cross_fit=0).fit(Stream.from_iterable(blocks))
    step = SLDARegressor(3, inference=SVI(total_documents=D)).partial_fit(X, Y, covariates=FRAME)
    flat = SLDARegressor(3, coef_prior="flat", **QUICK).fit(X, Y, covariates=FRAME)
    sparse = SSTMRegressor(3, max_iter=20).fit(X, Y, covariates=FRAME)
    for model in (stream, step, flat, sparse):
        assert model.covariate_references_ == {"who": "place 00"} and len(model.covariate_names_) == L


def test_pooled_levels_are_not_too_many():
    model = SLDARegressor(3, **QUICK).fit(X[:200], Y[:200], covariates=FRAME[:200])  # a warning would be an error
    assert len(model.covariate_names_) > 40


def test_several_responses_share_their_levels():
    both = pd.DataFrame({"stars": Y, "visits": LABELS["poisson"]})
    model = TopicModel(3, response=["gaussian", "poisson"], **QUICK).fit(X, both, covariates=FRAME)
    alone = SLDARegressor(3, **QUICK).fit(X, Y, covariates=FRAME)
    assert model.covariate_coef_.shape == (2, L + 1)
    assert 0.5 < deviation_found(model)[0] / deviation_found(alone)[0] < 2.0


def test_files_say_what_is_pooled():
    saved = {"names": ["who"], "categories": {"who": ["a", "b"]}, "dates": []}
    assert Columns.restore(saved).pooled == () and Columns.restore({**saved, "pooled": ["who"]}).pooled == ("who",)
    with pytest.raises(ValueError, match="the covariates that are pooled are no categories"):
        Columns.restore({**saved, "pooled": ["age"]})
