"""What serves one engine belongs to it: `inference=Gibbs(n_chains=4)` beside `inference="gibbs"`."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import supertopic
from supertopic import (
    CVB0,
    LDA,
    PC,
    SVI,
    VB,
    Gibbs,
    MedLDAClassifier,
    MixtureOfCategoricals,
    SLDAClassifier,
    SLDARegressor,
    SSTMRegressor,
    TopicModel,
    load,
)
from supertopic.datasets import simulate
from supertopic.inference.methods import Method

DATA = simulate(80, 3, n_words=40, mean_length=30, response="gaussian", seed=1)
X, Y = DATA.counts.counts, DATA.y
ENGINES = {"vb": VB, "cvb0": CVB0, "svi": SVI, "gibbs": Gibbs, "pc": PC}
OWN = sorted({name for kind in ENGINES.values() for name in inspect.signature(kind).parameters})


@pytest.mark.parametrize("name", ENGINES)
def test_a_name_stands_for_its_value(name):
    kinds = [kind for kind in (LDA, SLDARegressor) if name in kind.engines]
    for kind in kinds:
        y = () if kind is LDA else (Y,)
        models = [kind(3, max_iter=4, inference=inference).fit(X, *y) for inference in (name, ENGINES[name]())]
        np.testing.assert_array_equal(models[0].components_, models[1].components_)
        assert models[1].fitted_.spec.inference == name


@pytest.mark.parametrize("kind", [SLDARegressor, SLDAClassifier, TopicModel])
def test_estimators_have_few_parameters_and_none_of_one_engine(kind):
    names = set(inspect.signature(kind).parameters)
    assert len(names - {"class_weight"}) <= 26 and not names & set(OWN)


def test_a_model_has_what_its_engine_was_given(tmp_path):
    model = SLDARegressor(3, inference=Gibbs(n_chains=2, burn_in=4, thin=2), max_iter=10, cross_fit=0)
    settings = model.fit(X, Y).fitted_.spec.settings
    assert (settings.n_chains, settings.burn_in, settings.thin) == (2, 4, 2)
    assert repr(model.inference) == "Gibbs(burn_in=4, n_chains=2, thin=2)"
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.inference == model.inference and again.fitted_.spec.n_chains == 2
    assert clone(model).inference == model.inference and clone(model).inference is not model.inference


def test_defaults_depend_on_the_model():
    assert LDA(3, inference=Gibbs())._settings().thin == 10 and SSTMRegressor(3)._settings().thin == 5
    assert LDA(3)._settings().doc_tol == 1e-2 and MedLDAClassifier(3)._settings().doc_tol == 5e-2
    assert MedLDAClassifier(3, inference=CVB0(doc_tol=1e-3))._settings().doc_tol == 1e-3


def test_a_search_reaches_them_by_name():
    model = SLDARegressor(3, inference="gibbs", max_iter=12, cross_fit=0)
    found = GridSearchCV(model, {"inference__thin": [1, 3]}, cv=2).fit(X, Y)
    assert found.best_estimator_.inference.thin == found.best_params_["inference__thin"]
    assert model.inference == "gibbs"
    both = LDA(3).set_params(inference="svi", inference__batch_size=20)
    assert both.inference == SVI(batch_size=20)
    with pytest.raises(ValueError, match="n_chains: got a value with inference='pc'; it is a parameter of 'gibbs'"):
        SLDARegressor(3).set_params(inference__n_chains=2)
    with pytest.raises(ValueError, match="colour: got a value with inference='vb'; it is a parameter of no engine"):
        LDA(3).set_params(inference__colour=2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LDA(3, inference=PC()), r"inference: got PC\(\), expected one of 'vb', 'cvb0', 'svi', 'gibbs'"),
        (LDA(3, inference=["vb"]), r"inference: got \['vb'\], expected one of"),
        (LDA(3, inference=Gibbs(n_chains=2)), "n_chains: got 2, which LDA does not have with inference='gibbs'"),
        (LDA(3, inference=VB(per_token=True)), "per_token: got True, which LDA does not have with inference='vb'"),
        (LDA(3, inference=VB(doc_tol=-1)), "doc_tol: got -1"),
        (MixtureOfCategoricals(3, inference=Gibbs(sampler="partial")), "sampler: got 'partial', which MixtureOf"),
    ],
)
def test_what_a_model_does_not_have_is_refused_in_one_sentence(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


def test_a_file_names_no_other_engine():
    assert Method.from_plain(PC(batch_size=np.int64(9)).to_plain()) == PC(batch_size=9)
    with pytest.raises(ValueError, match="inference: holds 'magic', expected one of"):
        Method.from_plain(["magic", {}])


def test_they_are_public_and_say_what_they_are():
    for name, kind in ENGINES.items():
        assert getattr(supertopic, kind.__name__) is kind and kind.name == name
        assert set(inspect.signature(kind).parameters) <= set(OWN) and f'`inference="{name}"`' in kind.__doc__
