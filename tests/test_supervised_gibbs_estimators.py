"""`inference="gibbs"` of the supervised estimators: agreement with variational fits, seeds, checkpoints, errors."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from supertopic import Gibbs, SLDAClassifier, SLDARegressor, datasets, load
from supertopic.checkpoint import Checkpoint
from tests.naive_supervised import sampled_names

CLASSES = ("logit", "probit", "softmax", "ordinal")


def estimator(name, **params):
    kind = SLDAClassifier if name in CLASSES else SLDARegressor
    return kind(4, response=name, doc_topic_prior=0.2, refit=False, cross_fit=0, **params)


def aligned(model, data):
    order = linear_sum_assignment(-(model.components_ @ data.components.T).T)[1]
    coef = np.atleast_1d(model.intercept_)[:, None] + np.atleast_2d(model.coef_)[:, order]
    return coef - coef.mean(axis=0) if len(coef) > 1 else coef, order


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled_names())
def test_gibbs_and_variational_fits_agree(name):
    data = datasets.simulate(500, 4, 120, 60, response=name, seed=1)
    other = estimator(name, inference="vb").fit(data.counts, data.y)
    variational, _ = aligned(other, data)
    model = estimator(name, inference=Gibbs(thin=2), max_iter=160).fit(data.counts, data.y)
    found, order = aligned(model, data)
    draws = model.draws_["intercept"][:, :, None] + model.draws_["coef"][:, :, order]
    assert draws.shape == (40, *found.shape)
    draws = draws - draws.mean(axis=1, keepdims=True) if len(found) > 1 else draws
    deviation = draws.std(axis=0)
    np.testing.assert_allclose(draws.mean(axis=0), found, atol=0.02 + 0.1 * deviation.max())
    truth = np.atleast_2d(data.coef)
    if name == "softmax":  # its bound is loose, which shrinks the variational coefficients
        assert np.abs(model.predict_proba(data.counts) - other.predict_proba(data.counts)).mean() < 0.03
    elif name == "inverse_gaussian":  # the delta method shrinks them, too, by a few hundredths of the largest
        assert np.abs(found - variational).max() < 0.08 * np.abs(found).max()
        assert np.corrcoef(np.log(model.predict(data.counts)), np.log(other.predict(data.counts)))[0, 1] > 0.995
    else:
        assert np.all(np.abs(found - variational) < 0.7 * deviation + 0.05)
    if name == "negative_binomial":  # the mean is r exp(s), r = 3
        truth = truth + np.log(3)
    if name == "ordinal":  # a common shift of all topics and cut-points changes nothing
        found, truth = found - found.mean(), truth - truth.mean()
    if name != "softmax":
        assert np.all(np.abs(found - truth) < 3.5 * deviation)
    assert np.all(deviation > 1e-3)
    similarity = (np.sqrt(model.components_[order]) * np.sqrt(data.components)).sum(axis=1)
    assert similarity.min() > 0.97


@pytest.fixture(scope="module")
def small():
    data = datasets.simulate(60, 3, 30, 20, response="gaussian", seed=2)
    positive = np.exp(data.y)
    return data.counts, data.y, positive


def test_same_seed_same_draws_whatever_the_threads(small):
    counts, y, _ = small
    fits = [SLDARegressor(3, inference="gibbs", max_iter=12, cross_fit=2, n_jobs=n).fit(counts, y) for n in (1, 2)]
    np.testing.assert_array_equal(fits[0].draws_["coef"], fits[1].draws_["coef"])
    other = SLDARegressor(3, inference="gibbs", max_iter=12, cross_fit=0, random_state=1).fit(counts, y)
    assert not np.array_equal(fits[0].draws_["coef"], other.draws_["coef"])
    assert np.isfinite(fits[0].draws_["log_joint"]).all()


@pytest.mark.parametrize("response", ["gaussian", "gamma"])
def test_a_killed_fit_goes_on_to_the_same_end(small, response, tmp_path, monkeypatch):
    counts, _, y = small
    params = dict(response=response, inference=Gibbs(thin=3), max_iter=24, doc_topic_prior="auto", cross_fit=0)
    whole = SLDARegressor(3, **params).fit(counts, y)
    saved = Checkpoint.save
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)

    def save_and_die(self, numbers, arrays):
        saved(self, numbers, arrays)
        if numbers["done"] == 17:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", save_and_die)
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        SLDARegressor(3, checkpoint=path, **params).fit(counts, y)
    monkeypatch.setattr(Checkpoint, "save", saved)
    resumed = SLDARegressor(3, checkpoint=path, **params).fit(counts, y)
    np.testing.assert_array_equal(whole.draws_["coef"], resumed.draws_["coef"])
    np.testing.assert_array_equal(whole.draws_["alpha"], resumed.draws_["alpha"])
    np.testing.assert_array_equal(whole.components_, resumed.components_)
    np.testing.assert_array_equal(whole.coef_, resumed.coef_)


def test_draws_are_on_the_scale_of_y_and_travel_with_the_file(small, tmp_path):
    counts, y, _ = small
    model = SLDARegressor(3, inference=Gibbs(thin=1), max_iter=40, refit=False).fit(counts, 1000 + 50 * y)
    np.testing.assert_allclose(model.draws_["coef"].mean(axis=0)[0], model.coef_, atol=1e-4 * np.abs(model.coef_).max())
    assert model.draws_["intercept"].mean() == pytest.approx(model.intercept_, rel=1e-4)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.draws_["coef"], model.draws_["coef"])
    np.testing.assert_array_equal(again.predict(counts), model.predict(counts))


def test_missing_labels_covariates_and_several_responses(small):
    counts, y, positive = small
    rng = np.random.default_rng(0)
    extra = rng.normal(size=(len(y), 1))
    table = np.column_stack([y + 3 * extra[:, 0], rng.poisson(np.exp(-0.5 * extra[:, 0])), positive])
    table[::5, 0] = np.nan
    model = SLDARegressor(
        3, response=["gaussian", "poisson", "gamma"], inference=Gibbs(thin=2), max_iter=60, refit=False
    ).fit(counts, table, covariates=extra)
    assert model.draws_["coef"].shape == (15, 3, 4)
    np.testing.assert_allclose(model.covariate_coef_[:2, 0], [3.0, -0.5], atol=0.5)
    assert model.predict(counts, covariates=extra).shape == (60, 3)


def test_weights_of_zero_silence_a_label(small):
    counts, y, _ = small
    nonsense = y.copy()
    nonsense[:20] = 1e3
    weight = np.ones(len(y))
    weight[:20] = 0
    missing = y.copy()
    missing[:20] = np.nan
    params = dict(inference=Gibbs(thin=1), max_iter=10, cross_fit=0)
    silenced = SLDARegressor(3, **params).fit(counts, nonsense, sample_weight=weight)
    without = SLDARegressor(3, **params).fit(counts, missing, sample_weight=weight)
    np.testing.assert_allclose(silenced.draws_["coef"], without.draws_["coef"])


def test_what_has_no_sampler_is_refused_in_a_sentence(small):
    counts, y, positive = small
    for name in ("inverse_gaussian:canonical", "gamma:canonical"):
        with pytest.raises(ValueError, match=r"has no sampler for response=.*expected one of 'logit'"):
            SLDARegressor(3, response=name, inference="gibbs").fit(counts, positive)
    with pytest.raises(ValueError, match=r"weights of labels .* other than whole numbers"):
        SLDAClassifier(3, response="probit", inference="gibbs", supervision=2.5).fit(counts, y > 0)
    with pytest.raises(ValueError, match="burn_in: got 10, expected fewer sweeps than max_iter=10"):
        SLDARegressor(3, inference=Gibbs(burn_in=10), max_iter=10).fit(counts, y)
    with pytest.raises(ValueError, match="fractional count"):
        SLDARegressor(3, inference="gibbs").fit(counts.counts * 0.5, y)
