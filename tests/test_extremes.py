"""Extreme but valid corpora: every engine gives finite numbers, whatever the sizes."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import (
    LDA,
    DiscLDAClassifier,
    MedLDAClassifier,
    MedLDARegressor,
    MixtureOfCategoricals,
    SAGEClassifier,
    SAGETopics,
    SLDAClassifier,
    SLDARegressor,
    SSTMClassifier,
    SSTMRegressor,
    load,
)
from tests.fuzz.inputs import finite

RNG = np.random.default_rng(0)
USUAL = RNG.poisson(1.0, size=(20, 8)).astype(np.float32)
SHORT = {"max_iter": 3}
ENGINES = {
    "lda-vb": (LDA, SHORT, None),
    "lda-cvb0": (LDA, {"inference": "cvb0", **SHORT}, None),
    "lda-svi": (LDA, {"inference": "svi", **SHORT}, None),
    "lda-gibbs": (LDA, {"inference": "gibbs", **SHORT}, None),
    "mixture": (MixtureOfCategoricals, SHORT, None),
    "sage": (SAGETopics, SHORT, None),
    "sage-classes": (SAGEClassifier, {"cross_fit": 0}, "classes"),
    "disclda": (DiscLDAClassifier, {"cross_fit": 0, **SHORT}, "classes"),
    "slda-vb": (SLDARegressor, {"cross_fit": 0, **SHORT}, "numbers"),
    "slda-gibbs": (SLDARegressor, {"inference": "gibbs", "cross_fit": 0, "max_iter": 4}, "numbers"),
    "slda-pc": (SLDARegressor, {"inference": "pc", "cross_fit": 0, **SHORT}, "numbers"),
    "slda-logit": (SLDAClassifier, {"cross_fit": 0, **SHORT}, "classes"),
    "medlda-numbers": (MedLDARegressor, SHORT, "numbers"),
    "medlda-classes": (MedLDAClassifier, SHORT, "classes"),
    "medlda-gibbs": (MedLDAClassifier, {"inference": "gibbs", "max_iter": 4}, "classes"),
    "sstm-numbers": (SSTMRegressor, {"max_iter": 6}, "numbers"),
    "sstm-classes": (SSTMClassifier, {"max_iter": 6}, "classes"),
}
UNSUPERVISED = [name for name, (_, _, needs) in ENGINES.items() if needs is None]


def labels(needs, n):
    return np.arange(n) % 2 if needs == "classes" else np.linspace(-1, 1, n)


def fit(name, X, y=None, n_topics=2):
    """A short fit, whose warnings (few documents, chains that have not mixed) are not the point here."""
    kind, params, needs = ENGINES[name]
    model = kind(**params)
    if "n_topics" in model.get_params():
        model.set_params(n_topics=n_topics)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X) if needs is None else model.fit(X, labels(needs, X.shape[0]) if y is None else y)
        finite(model, X)
    return model


def with_column(value):
    X = USUAL.copy()
    X[3, 2] = value
    return X


CORPORA = {
    "one word": USUAL[:, :1] + 1,
    "rows of zeros": np.vstack([USUAL[:10], np.zeros((10, 8), np.float32)]),
    "columns of zeros": np.hstack([USUAL, np.zeros((20, 8), np.float32)]),
    "the same column twice": np.hstack([USUAL, USUAL]),
    "the same document again and again": np.tile(USUAL[:1], (20, 1)),
}


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", ENGINES)
def test_odd_corpora_give_finite_models(name, corpus):
    fit(name, CORPORA[corpus])


@pytest.mark.parametrize("name", ENGINES)
def test_small_weights_of_words_are_taken_or_refused(name):
    if "gibbs" in name or "sstm" in name:
        with pytest.raises(ValueError, match="whole"):
            fit(name, USUAL * 1e-3)
    else:
        fit(name, USUAL * 1e-3)


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_one_document(name):
    fit(name, USUAL[:1] + 1)


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "disclda"])  # it has topics for each class
def test_one_topic(name):
    fit(name, USUAL, n_topics=1)


@pytest.mark.parametrize(("name", "n_topics"), [*((name, 2000) for name in UNSUPERVISED), ("slda-vb", 500)])
def test_many_more_topics_than_documents(name, n_topics):
    model = fit(name, USUAL, n_topics=n_topics)
    assert len(model.components_) == n_topics


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_a_document_of_a_million_tokens(name):
    X = sp.csr_matrix(np.vstack([USUAL[:10], np.full((1, 8), 125_000, np.float32)]))
    fit(name, X)


@pytest.mark.parametrize("name", [name for name in ENGINES if "gibbs" not in name and "sstm" not in name])
def test_a_count_of_ten_million(name):
    fit(name, with_column(1e7))


@pytest.mark.parametrize("name", [name for name, (_, _, needs) in ENGINES.items() if needs == "numbers"])
def test_a_constant_response_is_predicted(name):
    model = fit(name, USUAL, y=np.full(20, 3.5))
    assert np.abs(model.predict(USUAL) - 3.5).max() < 0.5


@pytest.mark.parametrize("name", [name for name, (_, _, needs) in ENGINES.items() if needs == "classes"])
def test_classes_that_one_word_separates(name):
    y = np.arange(20) % 2
    X = np.hstack([USUAL, 5.0 * np.column_stack([y, 1 - y])])
    model = fit(name, X, y=y)
    assert np.isfinite(getattr(model, "coef_", 0.0)).all() and set(model.predict(X)) <= {0, 1}


def _one(base, value):
    return np.concatenate([base[:-1], [value]])


_COUNTS = RNG.poisson(3.0, 20) + 1.0
_SHAPES = np.exp(RNG.normal(size=20))
EXTREME = [
    *(("poisson", np.round(_SHAPES * size) + 1) for size in (1e9, 1e11, 1e14)),
    *((response, _one(_COUNTS, 1e14)) for response in ("poisson", "negative_binomial", "gamma", "weibull", "gaussian")),
    *((response, np.full(20, 3.0)) for response in ("weibull", "gamma", "inverse_gaussian", "negative_binomial")),
    *((response, _SHAPES * size) for response in ("gamma", "weibull", "gaussian") for size in (1e-90, 1e14)),
    ("inverse_gaussian", _one(_SHAPES, 1e-100)),
]


@pytest.mark.parametrize("engine", ["vb", "gibbs", "pc"])
@pytest.mark.parametrize(
    ("response", "y"), EXTREME, ids=lambda part: part if isinstance(part, str) else f"{part[-1]:g}"
)
@pytest.mark.filterwarnings("ignore")
def test_what_can_be_fitted_can_be_saved(engine, response, y, tmp_path):
    model = SLDARegressor(2, response=response, inference=engine, cross_fit=0, max_iter=4)
    model.fit(USUAL, y).save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(USUAL), model.predict(USUAL))


def test_numbers_too_small_for_their_response_are_refused_before_the_fit():
    for response in ("gamma", "weibull"):
        with pytest.raises(ValueError, match=r"dispersion of .*, expected 1e-100 to 2e"):
            SLDARegressor(2, response=response, cross_fit=0).fit(USUAL, _SHAPES * 1e-120)
