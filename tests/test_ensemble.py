"""Fits from several starts, averaged: predictions are the members' mean, and the first member is what is read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.persistence import read_model, write_model


def documents(n_documents=150, seed=0):
    """(counts, y, covariate): two of four topics make y."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(9).dirichlet(np.full(40, 0.2), 4)
    shares = rng.dirichlet(np.full(4, 0.4), n_documents)
    counts = np.stack([rng.multinomial(60, row) for row in shares @ topics])
    x = rng.normal(size=n_documents)
    y = 100 + 20 * shares[:, 0] - 20 * shares[:, 1] + 2 * x + rng.normal(size=n_documents)
    return sp.csr_matrix(counts.astype(np.float32)), y, x[:, None]


X, Y, COVARIATE = documents()
NEW, NEW_Y, NEW_COVARIATE = documents(seed=1)
QUICK = {"max_iter": 4, "cross_fit": 0}


@pytest.mark.parametrize("inference", ["pc", "vb"])
@pytest.mark.parametrize("words", [False, True])
def test_predictions_are_the_mean_of_fits_with_other_seeds(inference, words):
    given = {"inference": inference, **QUICK}
    together = SLDARegressor(4, ensemble=3, words=words, **given).fit(X, Y, covariates=COVARIATE)
    alone = [SLDARegressor(4, random_state=seed, **given).fit(X, Y, covariates=COVARIATE) for seed in range(3)]
    np.testing.assert_array_equal(together.components_, alone[0].components_)
    np.testing.assert_array_equal(together.transform(NEW), alone[0].transform(NEW))
    members = np.array([model.predict(NEW, covariates=NEW_COVARIATE) for model in alone])
    found = together.predict(NEW, covariates=NEW_COVARIATE)
    if not words:
        np.testing.assert_array_equal(together.coef_, alone[0].coef_)
        np.testing.assert_allclose(found, members.mean(axis=0), rtol=1e-5)
        assert np.abs(found - members[0]).max() > 0.01
    assert together.score(NEW, NEW_Y, covariates=NEW_COVARIATE) > 0.5


def test_classes_and_products_average_linear_predictors():
    y = np.digitize(Y, [95, 105])
    together = SLDAClassifier(4, ensemble=2, inference="pc", **QUICK).fit(X, y)
    alone = [SLDAClassifier(4, inference="pc", random_state=seed, **QUICK).fit(X, y) for seed in range(2)]
    logs = np.mean([model.decision_function(NEW) for model in alone], axis=0)
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(together.predict_proba(NEW), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("inference", ["pc", "vb"])
@pytest.mark.parametrize("words", [False, True])
def test_explanations_add_up_to_the_mean(inference, words):
    given = {"inference": inference, "words": words, "ensemble": 3, **QUICK}
    model = SLDARegressor(4, **given).fit(X, Y, covariates=COVARIATE)
    for row in range(3):
        told = model.explain(NEW[row], covariates=NEW_COVARIATE[row : row + 1])
        expected = model.predict(NEW[row], covariates=NEW_COVARIATE[row : row + 1])[0]
        assert model.intercept_ + told["contribution"].sum() == pytest.approx(expected, rel=1e-5)
        assert told["word"].iloc[-1] == f"x0={NEW_COVARIATE[row, 0]:.4g}"
    y = np.digitize(Y, [95, 105])
    classes = SLDAClassifier(4, ensemble=2, inference=inference, **QUICK).fit(X, y)
    told = classes.intercept_ + classes.explain(NEW[0]).filter(like="contribution").sum().to_numpy()
    expected = classes._predicted(NEW[0], None, None, None).scores.score[0]
    np.testing.assert_allclose(told - told.mean(), expected - expected.mean(), rtol=1e-4, atol=1e-4)


def test_cross_fitting_goes_over_the_mean():
    model = SLDARegressor(4, inference="pc", ensemble=2, max_iter=6, cross_fit=3).fit(X, Y)
    single = SLDARegressor(4, inference="pc", max_iter=6, cross_fit=3).fit(X, Y)
    assert model.dispersion_ != single.dispersion_
    lower, upper = model.predict(NEW, return_interval=0.9)[1:]
    assert 0.8 < np.mean((lower <= NEW_Y) & (upper >= NEW_Y)) < 0.98
    slope = np.polyfit(model.predict(NEW), NEW_Y, 1)[0]
    assert 0.7 < slope < 1.4


def test_saved_loaded_and_fitted_again(tmp_path):
    model = TopicModel(4, inference="pc", ensemble=2, **QUICK).fit(X, Y[:, None].repeat(2, axis=1))
    path = tmp_path / "m.supertopic"
    model.save(path)
    again = load(path)
    np.testing.assert_array_equal(np.asarray(again.predict(NEW)), np.asarray(model.predict(NEW)))
    manifest, arrays = read_model(path)
    write_model(path, manifest, {name: value for name, value in arrays.items() if name != "members.coef"})
    with pytest.raises(ValueError, match=r"Members.*'coef'"):
        load(path)
    arrays["members.coef"] = arrays["members.coef"][:, :, :-1]
    write_model(path, manifest, arrays)
    with pytest.raises(ValueError, match=r"members\.coef has the shape"):
        load(path)
    again.set_params(ensemble=1).fit(X, Y)
    assert again.fitted_.members is None


def test_refusals():
    with pytest.raises(ValueError, match="ensemble: got 0"):
        SLDARegressor(4, ensemble=0).fit(X, Y)
    with pytest.raises(ValueError, match="ensemble"):
        SLDARegressor(4, inference="svi", ensemble=2).partial_fit(X, Y)
