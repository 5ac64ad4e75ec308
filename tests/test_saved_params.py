"""A saved model loads, with every parameter as it was; what cannot be written is refused before the file is."""

import json
import warnings
from copy import copy
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.model_selection import GridSearchCV

import supertopic
from supertopic import CVB0, LDA, SVI, VB, GeoSAGE, Gibbs, SLDAClassifier, Vectorizer, load
from supertopic.persistence import to_json
from supertopic.plain_values import decode, encode

from .test_golden_fits import CASES, FOLDER, data, fit


def same(a, b):
    """The same type and the same value, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(x, y) and same(a[x], b[y]) for x, y in zip(a, b, strict=True)
        )  # and in the same order
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (set, frozenset)):
        return sorted(map(repr, a)) == sorted(map(repr, b))
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        exact = a.dtype.kind == "f"  # NaN is NaN, whatever its bits
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=exact)
    if isinstance(a, np.random.RandomState):
        return np.array_equal(a.get_state()[1], b.get_state()[1]) and a.get_state()[2:] == b.get_state()[2:]
    if isinstance(a, Vectorizer):
        return same(a.get_params(), b.get_params())
    return a == b or (a != a and b != b)


NUMPY = st.one_of(
    *(hnp.from_dtype(np.dtype(name)) for name in ("int8", "int64", "uint64", "float16", "float32", "float64", "bool")),
    st.text(max_size=4).filter(lambda text: "\0" not in text).map(np.str_),
)
SIMPLE = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), st.text(max_size=5), NUMPY,
    st.builds(range, st.integers(-5, 5), st.integers(-5, 5), st.integers(1, 3)),
)  # fmt: skip
HASHABLE = st.one_of(st.integers(), st.text(max_size=3), st.booleans(), st.tuples(st.integers(), st.text(max_size=2)))
ANY = st.recursive(
    st.one_of(SIMPLE, hnp.arrays(st.sampled_from(["f4", "i8", "U3", "?"]), hnp.array_shapes(max_dims=2, max_side=3))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(HASHABLE, st.just("$tuple")), inner, max_size=3),
        st.frozensets(HASHABLE, max_size=3),
        st.sets(HASHABLE, max_size=3),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(ANY)
def test_plain_values_come_back_with_their_types(value):
    assert same(decode(json.loads(to_json(encode(value, "C")))), value)


@pytest.mark.parametrize(
    "value",
    [object(), len, np.random.default_rng(0), np.datetime64("2020"), 1j, np.array([1j]), [object()], {1: lambda: 0},
     np.longdouble(1), 10**2000, LDA(), np.array([object()]), b"bytes", range(10**12)],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_by_the_name_of_the_parameter(value):
    with pytest.raises(ValueError, match=r"^C: .* cannot be saved; set the parameter to a plain value"):
        encode(value, "C")


@pytest.mark.parametrize(
    "forged",
    [{"$tuple": 1}, {"$numpy": ["int8", 300]}, {"$numpy": ["object", 1]}, {"$numpy": ["int64", 1.5]}, {"$eval": "1"},
     {"$array": ["float64", [3], [1.0]]}, {"$array": ["U9999999", [1], ["a"]]}, {"$array": ["O8", [1], [1]]},
     {"$random_state": [[0] * 624, 10**6, 0, 0.0]}, {"$random_state": [[0] * 3, 0, 0, 0.0]}, {"$set": 3}, {"$dict": 3},
     {"$range": 3}, {"$tuple": [], "more": 1}],
)  # fmt: skip
def test_values_that_are_never_written_are_not_read(forged):
    with pytest.raises(ValueError):
        decode(forged)


@cache
def golden(kind):
    name = next(name for name, (estimator, _, _) in CASES.items() if estimator == kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(name) if kind in ("GeoSAGE", "FacetedSAGE") else load(FOLDER / f"{name}.supertopic")


def variants(value):
    """The same setting in other types, and other settings of no use, which a file has to keep as well."""
    found = [value]
    if isinstance(value, bool):
        found.append(np.bool_(value))
    elif isinstance(value, int):
        found += [np.int64(value), np.int32(value)]
    elif isinstance(value, float):
        found += [np.float64(value), np.float32(value), np.float16(value) if value > 1e-3 else value]
    elif isinstance(value, str):
        found.append(np.str_(value))
    return found


FREE = {
    "random_state": [None, 3, np.int64(4), np.random.RandomState(3)],
    "class_weight": [{0: 1.0, 1: np.float32(2)}, {np.int64(1): 2}, "balanced", {"a": 1, "b": 2}, {(1, 2): 3}],
    "vectorizer": [None, Vectorizer(stop_words={"a", "b"}, ngram_range=(1, 2), min_df=np.int64(1))],
    "facets": [("y",), ["y"], np.array(["y"]), np.array(["y"], dtype=object)],
    "interactions": [[("topic", "y")], (("topic", "y"),), None],
    "n_jobs": [None, 2, np.int64(2), -1],
}
KINDS = sorted({case[0] for case in CASES.values()})
OTHERS = ("checkpoint", "own_terms")  # of one fit only; an old name


def choices(model, name):
    if type(model).__name__ == "GeoSAGE" and name == "interactions":
        return variants(model.interactions)
    if name == "inference":
        given = [SVI(total_documents=np.int64(7)), Gibbs(burn_in=1, thin=np.int32(2)), VB(doc_tol=0.1), CVB0(n_init=2)]
        return [one for one in given if one.name in model.engines] + variants(model.inference)
    return FREE.get(name, variants(getattr(model, name)))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_parameter_of_every_estimator_comes_back(tmp_path, monkeypatch, kind, data):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    model = copy(golden(kind))
    names = [name for name in model.get_params(deep=False) if name not in OTHERS]
    values = {name: data.draw(st.sampled_from(choices(model, name)), label=name) for name in names}
    for name, value in values.items():
        setattr(model, name, value)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    for name, value in values.items():
        assert same(getattr(again, name), value), name


@pytest.mark.parametrize("kind", KINDS)
def test_no_parameter_is_lost_in_silence(tmp_path, kind):
    for name in set(golden(kind).get_params(deep=False)) - set(OTHERS):
        model = copy(golden(kind))
        setattr(model, name, np.random.default_rng(0))
        with pytest.raises(ValueError, match=f"^{name}: a numpy.random.*Generator cannot be saved"):
            model.save(tmp_path / "m")
        assert list(tmp_path.iterdir()) == []


def test_the_best_of_a_search_over_numpy_numbers_loads(tmp_path):
    counts = data()[0]
    search = GridSearchCV(LDA(max_iter=3), {"n_topics": np.array([2, 3])}, cv=2).fit(counts)
    search.best_estimator_.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert same(again.n_topics, search.best_estimator_.n_topics)
    assert np.array_equal(again.transform(counts), search.best_estimator_.transform(counts))


def test_class_weights_keep_their_keys(tmp_path):
    X, _, y, _ = data("logit", 2)
    model = SLDAClassifier(2, max_iter=3, class_weight={0: 1.0, 1: 2.0}).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.class_weight == {0: 1.0, 1: 2.0} and all(type(key) is int for key in again.class_weight)
    assert np.array_equal(again.fit(X, y).coef_, model.fit(X, y).coef_)  # it fits as before


def test_a_random_state_goes_on_where_it_was(tmp_path):
    X = data()[0]
    model = LDA(2, max_iter=3, random_state=np.random.RandomState(3)).fit(X)
    model.save(tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").fit(X).components_, model.fit(X).components_)


def test_the_vectorizer_counts_the_next_fit_as_well(tmp_path):
    texts = ["a cat sat", "stocks fell today", "a dog sat"]
    model = LDA(2, max_iter=2, vectorizer=Vectorizer(min_df=1, ngram_range=(1, 2))).fit(texts)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.fit(texts).feature_names_in_.tolist() == model.feature_names_in_.tolist()


def test_regions_of_the_training_documents_are_kept(tmp_path):
    model = golden("GeoSAGE")
    assert isinstance(model, GeoSAGE)
    model.save(tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").region_posterior_, model.region_posterior_)


def test_shares_of_an_earlier_fit_do_not_stop_a_save(tmp_path):
    X = data()[0]
    model = LDA(2, inference="svi", max_iter=2).fit(X).set_params(n_topics=3)
    stream = supertopic.Stream.from_callable(lambda: iter([X[:60], X[60:]]), n_documents=X.shape[0])
    model.fit(stream).save(tmp_path / "m")
    assert load(tmp_path / "m").components_.shape[0] == 3


@pytest.mark.parametrize("n_jobs", [5000, 10**20, -(10**20)])
def test_a_fit_with_any_number_of_jobs_is_not_lost(n_jobs, tmp_path):
    counts = np.eye(6, 4, dtype=int) + 1
    model = LDA(2, n_jobs=n_jobs, max_iter=2).fit(counts)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.n_jobs == n_jobs
    np.testing.assert_array_equal(again.transform(counts), model.transform(counts))
