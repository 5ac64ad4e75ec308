"""A crafted model file, whose checksum is right, is refused by a ValueError, or the model predicts finite numbers.

A run tries a sample of the forgeries of each file. With SUPERTOPIC_FORGERIES=all in the environment it tries all of
them, in about ten minutes.
"""

import copy
import itertools
import json
import os
import random
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from safetensors.numpy import load_file

import supertopic
from supertopic import LDA, SLDAClassifier, SLDARegressor, TopicModel, Vectorizer, load
from supertopic.fitted import files
from supertopic.inference.methods import Method
from supertopic.persistence import read_model, to_json, write_model

GOLDEN = Path(__file__).parent / "golden"
ALL = os.environ.get("SUPERTOPIC_FORGERIES") == "all"


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@cache
def golden_files():
    """One file for each estimator and each set of arrays, by name."""
    found = {}
    for path in sorted([*GOLDEN.glob("*.supertopic"), *GOLDEN.glob("fits/*.supertopic")]):
        manifest, arrays = read_model(path)
        responses = tuple(target["response"] for target in manifest["schema"]["targets"])
        told = manifest["estimator"], responses, manifest["vectorizer"] is None
        found.setdefault((*told, *sorted(arrays)), path)
    return {path.stem: path for path in found.values()}


def use(path):
    """Load and predict, as somebody would who was sent the file; whether it could be loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except ValueError as error:
            assert str(path) in str(error) and "\n" not in str(error)
            return False
        check_use(model)
    return True


def check_use(model):
    """Whatever a loaded model says about new documents is a finite number or a label."""
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.poisson(0.3, size=(4, model.n_features_in_)))
    n_covariates = len(model.fitted_.spec.schema.scaling.mean)
    more = {"covariates": 1e6 * rng.normal(size=(4, n_covariates))} if n_covariates else {}
    assert np.isfinite(model.transform(X)).all()
    if hasattr(model, "predict"):
        predicted = model.predict(X, **more)
        assert len(predicted) == 4
        values = predicted.to_numpy() if hasattr(predicted, "to_numpy") else np.asarray(predicted)
        assert values.dtype.kind in "OU" or np.isfinite(values.astype(np.float64)).all()
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X, **more)
        for one in shares.values() if isinstance(shares, dict) else [shares]:
            assert np.isfinite(np.asarray(one)).all()
    if model.vectorizer_ is not None:
        assert np.isfinite(model.transform(["word " * 40 + "a" * 40, "cat mat stocks"])).all()
    table = model.topics(3)
    assert len(model.top_words(3)) and not table.select_dtypes("number").isna().any(axis=None)
    if hasattr(model, "summary"):
        with np.errstate(all="ignore"):
            assert len(model.summary(3))
    if hasattr(model, "explain"):
        model.explain(X[:1])


def array_mutations(array):
    """Forged versions of an array."""
    floats = array.dtype.kind == "f"
    for axis in range(array.ndim):
        yield np.concatenate([array, array], axis=axis)
        yield array.take(range(max(array.shape[axis] - 1, 0)), axis=axis)
        yield array.take([], axis=axis)
        yield np.repeat(array, 3, axis=axis)
    yield array.T
    yield array.reshape(-1)
    yield array[None]
    for dtype in ("float64", "float32", "int64", "int8", "bool", "uint64"):
        if array.dtype.name != dtype:
            with np.errstate(all="ignore"):
                yield array.astype(dtype)
    if array.size == 0:
        return
    yield np.zeros_like(array)
    if array.dtype.kind != "b":
        yield -array if array.dtype.kind != "u" else array + 1
        yield array + array.dtype.type(7)
    values = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-42] if floats else [-1, 2**30, -(2**30)]
    for value in [] if array.dtype.kind == "b" else values:
        for whole in (False, True):
            forged = array.copy()
            with np.errstate(all="ignore"):
                if whole:
                    forged[...] = value
                else:
                    forged.flat[array.size // 2] = value
            yield forged


@pytest.fixture(params=[12, pytest.param(25, marks=pytest.mark.release)])
def sample(request):
    """Takes some of the forgeries of a file."""

    def tried(forgeries, name):
        forgeries = list(forgeries)
        return forgeries if ALL else random.Random(name).sample(forgeries, min(request.param, len(forgeries)))

    return tried


def forged_arrays(arrays):
    for key, array in arrays.items():
        yield {other: value for other, value in arrays.items() if other != key}
        yield from ({**arrays, key: forged} for forged in array_mutations(array))


@pytest.mark.parametrize("name", golden_files())
def test_forged_arrays_are_refused_or_predict_numbers(name, sample, tmp_path):
    manifest, arrays = read_model(golden_files()[name])
    path, refused = tmp_path / "forged.supertopic", 0
    some = sample(forged_arrays(arrays), name)
    for forged in some:
        write_model(path, manifest, forged)
        refused += not use(path)
    assert refused > (10 if len(some) > 20 else 2)


@pytest.mark.parametrize("extra", ["predict", "a.b.c", "draws.", "transform", "__class__", "state.more"])
def test_an_array_that_no_estimator_has_is_refused(extra, tmp_path):
    manifest, arrays = read_model(golden_files()["lda-cvb0"])
    write_model(tmp_path / "m", manifest, {**arrays, extra: np.array(["x"]).view(np.uint8)})
    assert not use(tmp_path / "m")


def test_draws_of_coefficients_come_with_their_levels_and_dispersion(tmp_path):
    manifest, arrays = read_model(GOLDEN / "fits" / "sstm-regressor.supertopic")
    for name in ("draws.coef", "draws.intercept", "draws.dispersion"):
        write_model(tmp_path / "m", manifest, {other: value for other, value in arrays.items() if other != name})
        with pytest.raises(ValueError, match="one of them is missing"):
            load(tmp_path / "m")


def test_squares_of_coefficients_are_numbers(tmp_path):
    manifest, arrays = read_model(GOLDEN / "fits" / "slda-gaussian-vb.supertopic")
    write_model(tmp_path / "m", manifest, {**arrays, "state.coef": arrays["state.coef"] * np.float32(1e20)})
    with pytest.raises(ValueError, match=r"state\.coef"):
        load(tmp_path / "m")


NAMES = sorted(set(files.ESTIMATORS) & set(supertopic.__all__))


@pytest.mark.parametrize("name", golden_files())
def test_an_estimator_that_its_arrays_contradict_is_refused(name, tmp_path):
    """Its parameters are those that the other estimator has, so that nothing but the model itself is wrong."""
    manifest, arrays = read_model(golden_files()[name])
    for other in random.Random(name).sample(NAMES, len(NAMES) if ALL else 4):
        params = files.ESTIMATORS[other]().get_params(deep=False)
        if other != manifest["estimator"]:
            kept = {key: value for key, value in manifest["params"].items() if key in params}
            write_model(tmp_path / "m", {**manifest, "estimator": other, "params": kept}, arrays)
            use(tmp_path / "m")


def test_a_regressor_is_no_classifier_and_a_name_is_one_target(tmp_path):
    manifest, arrays = read_model(golden_files()["slda-softmax-vb-words"])
    params = {key: value for key, value in manifest["params"].items() if key != "class_weight"}
    for other in ("SLDARegressor", "TopicModel"):
        write_model(tmp_path / "m", {**manifest, "estimator": other, "params": params}, arrays)
        with pytest.raises(ValueError, match=r"no response 'logit'|classes and responses are not those of"):
            load(tmp_path / "m")
    with pytest.raises(ValueError, match="two columns named 'a'"):
        TopicModel(2).fit(np.eye(4), pd.DataFrame(np.eye(4)[:, :2], columns=["a", "a"]))
    two = copy.deepcopy(read_model(golden_files()["topic-model-pc"])[0])
    for target in two["schema"]["targets"]:
        target["name"] = "y"
    write_model(tmp_path / "m", two, read_model(golden_files()["topic-model-pc"])[1])
    with pytest.raises(ValueError, match="two of the targets have one name"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    ("inference", "name", "value"),
    [("svi", "total_documents", 10**39), ("vb", "ensemble", 0), ("vb", "max_doc_iter", 0.5), ("vb", "class_weight", 0),
     ("vb", "class_weight", "x"), ("gibbs", "thin", 0), ("vb", "n_init", 10**30), ("vb", "tol", -1),
     ("svi", "doc_tol", np.nan), ("svi", "learning_delay", -4.0), ("pc", "batch_size", 0), ("pc", "warm_start", "x"),
     ("pc", "refit", "no"), ("pc", "words", 3), ("svi", "per_token", None), ("gibbs", "burn_in", -3)],
)  # fmt: skip
def test_parameters_are_checked_at_load_as_at_fit(tmp_path, inference, name, value):
    method = Method.named(inference)
    kind = "" if name in SLDAClassifier().get_params(deep=False) else "inference__"
    model = SLDAClassifier(2, inference=method).set_params(**{kind + name: value})
    manifest, arrays = read_model(GOLDEN / "fits" / "slda-logit-vb.supertopic")
    params = {**manifest["params"], "inference": {"$inference": model.inference.to_plain()}}
    params |= {} if kind else {name: value}
    write_model(tmp_path / "m", {**manifest, "params": params}, arrays)
    with pytest.raises(ValueError, match=rf"damaged model file .*{name}: got "):
        load(tmp_path / "m")
    with pytest.raises(ValueError, match=rf"^{name}: got "):
        model.fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("wrong", [1e300, -1e300, 1e25])
def test_covariates_have_a_largest_number_in_fits_and_in_files(tmp_path, wrong):
    manifest, arrays = read_model(GOLDEN / "fits" / "slda-gaussian-vb-covariates.supertopic")
    for part in ("mean", "factor"):
        place = ("schema", "scaling", part, "$array", 2, 0)
        write_model(tmp_path / "m", forge(manifest, place, wrong), arrays)
        with pytest.raises(ValueError, match="the scaling of the covariates"):
            load(tmp_path / "m")
    X, y = np.eye(4), np.arange(4.0)
    for unit in (wrong, 1e-25):
        with pytest.raises(ValueError, match=r"covariates: got a .* unit"):
            SLDARegressor(2, response="gaussian").fit(X, y, covariates=unit * np.arange(4.0)[:, None])


STAMP = ("format", "format_version", "supertopic_version", "kind")
VALUES = (
    None, True, -1, 0, 1, 7, 10**9, 10**400, 0.5, -1.5, 1e308, float("nan"), "x", "", [], [1], [[1, 2], [3]], {},
    {"a": 1}, {"$tuple": 3}, {"$numpy": ["int64", "x"]}, {"$array": ["float64", [10**9], []]}, {"$code": "x"},
    {"$range": [0, 10**12, 1]},
)  # fmt: skip


def leaves(value, path=()):
    """Paths to values inside the manifest; of long lists the first two."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for place in range(min(len(value), 2)):
            yield from leaves(value[place], (*path, place))


def forge(manifest, path, value):
    forged = copy.deepcopy(manifest)
    inside = forged
    for key in path[:-1]:
        inside = inside[key]
    if value == "(removed)":
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return forged


@pytest.mark.parametrize("name", golden_files())
def test_forged_manifests_are_refused_or_predict_numbers(name, sample, tmp_path):
    manifest, arrays = read_model(golden_files()[name])
    path, refused = tmp_path / "forged.supertopic", 0
    places = [where for where in leaves(manifest) if where and where[0] not in STAMP]
    some = sample(itertools.product(places, [*VALUES, "(removed)"]), name)
    for where, value in some:
        write_model(path, forge(manifest, where, value), arrays)
        refused += not use(path)
    assert refused > (10 if len(some) > 20 else 2)


def forged_vectorizer(tmp_path, **params):
    path = tmp_path / "forged.supertopic"
    LDA(2, max_iter=2, vectorizer=Vectorizer(min_df=1)).fit(["a cat sat", "stocks fell today"]).save(path)
    manifest, arrays = read_model(path)
    manifest["vectorizer"]["params"].update(params)
    write_model(path, manifest, arrays)
    return path


def test_a_pattern_from_a_file_takes_bounded_time(tmp_path):
    """`re` searches these 27 characters for half a minute, and twice as long with each character more."""
    model = load(forged_vectorizer(tmp_path, token_pattern=r"(?:[\u5001-\u5050]|[\u5001-\u5050][\u5001-\u5050])+$"))
    start = time.process_time()
    with pytest.raises(ValueError, match=r"token_pattern: got .* takes too long on a text of 61 characters"):
        model.transform(["\u5002" * 60 + "."])
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "params",
    [
        {"ngram_range": [1, 10**9]}, {"ngram_range": [1, 33]}, {"ngram_range": [0, 1]}, {"ngram_range": 3},
        {"max_df": 10**400}, {"max_df": -1}, {"min_df": "x"}, {"max_features": 0}, {"stop_words": 3},
        {"lowercase": "no"}, {"nonsense": 1}, {"token_pattern": 3}, {"token_pattern": "("},
    ],
)  # fmt: skip
def test_forged_settings_of_the_vectorizer_are_refused(params, tmp_path):
    with pytest.raises(ValueError, match="is a damaged model file"):
        load(forged_vectorizer(tmp_path, **params))


def test_deeply_nested_values_are_refused(tmp_path):
    path = forged_vectorizer(tmp_path)
    manifest, arrays = read_model(path)
    nested = json.loads("[" * 900 + "]" * 900)
    manifest["params"]["doc_topic_prior"] = nested
    write_model(path, manifest, arrays)
    with pytest.raises(ValueError):
        load(path)
    assert len(to_json(nested)) == 1800


def test_the_same_checks_stand_before_a_save(tmp_path):
    model = LDA(2, max_iter=2).fit(sp.csr_matrix(np.eye(4)))
    model.fitted_.state.alpha[0] = np.nan
    with pytest.raises(ValueError, match=r"the model cannot be saved: state\.alpha holds NaN.*kept in .*m\.rescue"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    kept = load_file(tmp_path / "m.rescue")
    np.testing.assert_array_equal(kept["state.word_topic"], model.fitted_.state.word_topic)
    np.testing.assert_array_equal(kept["doc_topic"], model.doc_topic_)
    with pytest.raises(ValueError, match="what was kept of a fit that could not be saved, not a model"):
        load(tmp_path / "m.rescue")
    (tmp_path / "m.rescue").unlink()
    model.fit(sp.csr_matrix(np.eye(4))).set_params(n_topics=3)
    with pytest.raises(ValueError, match="cannot be saved: n_topics: got 3, but the model was fitted with 2"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
