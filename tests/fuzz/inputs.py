"""Matrices, labels, frames, texts and data files at random, into `fit`, `transform`, `predict` and `read_table`.

Each is refused by a ValueError or TypeError of few lines, or gives a model whose numbers are finite. No other error
comes out, and nothing hangs.
"""

import io

import numpy as np
import pandas as pd
import scipy.sparse as sp

from supertopic import (
    HTMM,
    LDA,
    DiscLDAClassifier,
    FacetedSAGE,
    GeoSAGE,
    MedLDAClassifier,
    MedLDARegressor,
    MixtureOfCategoricals,
    SAGEClassifier,
    SAGETopics,
    SLDAClassifier,
    SLDARegressor,
    SSTMClassifier,
    SSTMRegressor,
    Stream,
    TopicModel,
    Vectorizer,
)
from supertopic.documents.readers import read_table
from tests.fuzz.runner import main
from tests.fuzz.watch import without_warnings

QUICK = {"n_topics": 2, "max_iter": 2}
MODELS = (
    (LDA, QUICK, None), (LDA, {**QUICK, "inference": "cvb0"}, None), (LDA, {**QUICK, "inference": "svi"}, None),
    (LDA, {**QUICK, "inference": "gibbs"}, None), (MixtureOfCategoricals, QUICK, None), (SAGETopics, QUICK, None),
    (HTMM, QUICK, None), (SAGEClassifier, {"cross_fit": 0}, "classes"), (GeoSAGE, QUICK, "places"),
    (DiscLDAClassifier, {"n_class_topics": 1, "max_iter": 2, "cross_fit": 0}, "classes"),
    (FacetedSAGE, QUICK, "classes"), (SLDARegressor, {**QUICK, "cross_fit": 0}, "numbers"),
    (SLDARegressor, {**QUICK, "inference": "svi", "cross_fit": 0}, "numbers"),
    (SLDARegressor, {**QUICK, "inference": "gibbs", "max_iter": 4, "cross_fit": 0}, "numbers"),
    (SLDARegressor, {**QUICK, "inference": "pc", "cross_fit": 0}, "numbers"),
    (SLDARegressor, {**QUICK, "response": "poisson", "cross_fit": 0}, "numbers"),
    (SLDARegressor, {**QUICK, "response": "gamma", "cross_fit": 0}, "numbers"),
    (SLDAClassifier, {**QUICK, "cross_fit": 0}, "classes"),
    (SLDAClassifier, {**QUICK, "inference": "gibbs", "max_iter": 4, "cross_fit": 0}, "classes"),
    (TopicModel, {**QUICK, "cross_fit": 0}, "numbers"), (MedLDARegressor, QUICK, "numbers"),
    (MedLDAClassifier, QUICK, "classes"), (SSTMRegressor, {**QUICK, "max_iter": 6}, "numbers"),
    (SSTMClassifier, {**QUICK, "max_iter": 6}, "classes"),
)  # fmt: skip
ODD = (
    np.nan, np.inf, -np.inf, -1, -0.0, 0, 1, 0.5, 1e-300, 1e-9, 1e9, 1e10, 1e15, 1e16, 1e200, 10**400, 2**63, None,
    pd.NA, pd.NaT, "", "a", "\x00", "1", b"a", True, 1j, (1, 2), [1], {}, object(),
)  # fmt: skip
WORDS = ("cat", "dog", "fish", "bank", "money", "the", "ÄÖ", "", " ", "\x00", "🎈", "a" * 300, "1", "-")


def counts(rng):
    """A small matrix of counts, mostly ordinary."""
    shape = rng.choice([(12, 6), (12, 6), (12, 6), (1, 6), (12, 1), (1, 1), (0, 6), (12, 0), (40, 3)])
    numbers = np.random.default_rng(rng.randrange(2**32))
    X = numbers.poisson(rng.choice([0.0, 0.2, 1.0, 5.0]), size=shape).astype(rng.choice(["f4", "f8", "i8", "u1", "i4"]))
    choice = rng.random()
    if X.size and choice < 0.1:
        X[rng.randrange(shape[0])] = 0
    elif X.size and choice < 0.2:
        X[:, rng.randrange(shape[1])] = X[:, 0]
    elif X.size and choice < 0.45:
        X = X.astype(object if rng.random() < 0.5 else "f8")
        value = rng.choice(ODD)
        if X.dtype != object and not isinstance(value, (int, float)):
            value = np.nan
        X.flat[rng.randrange(X.size)] = float(value) if X.dtype != object and abs(value) < 1e300 else value
    return X


def broken(rng, X):
    """A sparse matrix, sometimes one that contradicts itself."""
    matrix = sp.csr_matrix(X.astype(np.float64)) if X.dtype != object else sp.csr_matrix(np.ones((4, 3)))
    matrix = matrix.asformat(rng.choice(["csr", "csr", "csc", "coo", "lil", "bsr", "dok"]))
    name = rng.choice(["indices", "indptr", "data", "row", "col"])
    array = getattr(matrix, name, None)
    if rng.random() < 0.6 and isinstance(array, np.ndarray) and array.size and array.dtype != object:
        changed = array.copy()
        changed.flat[rng.randrange(changed.size)] = rng.choice([-1, 0, 5, 10**6, 2**31 - 1])
        setattr(matrix, name, changed if rng.random() < 0.7 else changed[: rng.randrange(changed.size)])
    return matrix


def texts(rng, n=12):
    found = [" ".join(rng.choice(WORDS) for _ in range(rng.choice([0, 1, 8, 40]))) for _ in range(n)]
    if rng.random() < 0.3:
        found[rng.randrange(n)] = rng.choice(ODD)
    return found


def documents(rng):
    """X, in one of the forms that people have."""
    form = rng.randrange(9)
    if form == 0:
        return texts(rng)
    if form == 1:
        return rng.choice([np.array, pd.Series, tuple])(texts(rng))
    if form == 2:
        return rng.choice([None, "a text", 3, [], {}, [[]], np.zeros(3), np.zeros((2, 2, 2)), set("ab"), object()])
    if form == 3:
        return Stream.from_iterable([counts(rng) for _ in range(rng.randrange(3))])
    X = counts(rng)
    if form == 4:
        return pd.DataFrame(X, columns=[rng.choice(["a", "b", 1, f"w{j}"]) for j in range(X.shape[1])])
    if form in (5, 6):
        return broken(rng, X)
    return X if form == 7 else X.tolist()


def labels(rng, kind, n):
    """y of n documents (or of some others), mostly ordinary."""
    n = n if rng.random() < 0.9 else rng.choice([0, 1, n + 1])
    numbers = np.random.default_rng(rng.randrange(2**32))
    if kind == "places":
        y = np.column_stack([numbers.uniform(-90, 90, n), numbers.uniform(-180, 180, n)]).astype(object)
    elif kind == "numbers":
        y = (
            np.abs(numbers.normal(size=n)).astype(object) + 0.1
            if rng.random() < 0.7
            else numbers.poisson(2, n).astype(object)
        )
    else:
        y = np.array(["b", "a", "c"], dtype=object)[numbers.integers(0, rng.choice([1, 2, 3]), n)]
    choice = rng.random()
    if choice < 0.35 and y.size:
        y.flat[rng.randrange(y.size)] = rng.choice(ODD)
    elif choice < 0.45 and y.size:
        y[...] = y.flat[0]
    form = rng.randrange(4)
    if form == 0:
        return y.tolist()
    if form == 1:
        return pd.DataFrame(y) if y.ndim == 2 else pd.Series(y)
    return y if form == 2 else rng.choice([y, y, None, y[:, None], "labels", 3])


def finite(model, X):
    """All numbers that a fitted model shows and predicts are finite."""
    assert np.isfinite(model.components_).all() and np.isfinite(model.bound_).all(), "topics"
    shares = model.transform(X)
    assert np.isfinite(shares).all() and (np.abs(shares.sum(axis=1) - 1) < 1e-3).all(), "shares"
    if hasattr(model, "predict") and not isinstance(model, HTMM):
        found = np.asarray(model.predict(X))
        assert found.dtype.kind in "OUSb" or np.isfinite(found.astype(np.float64)).all(), "predictions"


def try_fit(rng, folder):
    kind, params, needs = rng.choice(MODELS)
    X = documents(rng)
    y = None if needs is None else labels(rng, needs, X.shape[0] if hasattr(X, "shape") and X.shape else 12)
    params = dict(params)
    if rng.random() < 0.5:
        params["vectorizer"] = Vectorizer(min_df=1)
    model = kind(**{name: value for name, value in params.items() if name in kind().get_params()})
    model.fit(X) if needs is None else model.fit(X, y)
    finite(model, X if not isinstance(X, Stream) else np.eye(model.n_features_in_))
    other = documents(rng)
    if not isinstance(other, Stream) and rng.random() < 0.5:
        try:
            finite(model, other)
        except (ValueError, TypeError) as error:
            check_sentence(error)
    return "fitted"


def try_file(rng, folder):
    """A table on the disk, whole or damaged, read as the command line reads it."""
    rows = rng.randrange(6)
    frame = pd.DataFrame(
        {
            rng.choice(["text", "a", "", "a,b", "ü"]): [rng.choice(WORDS) for _ in range(rows)],
            rng.choice(["y", "text", "a"]) + rng.choice(["", "2"]): [
                rng.choice([1, 2.5, "x", None]) for _ in range(rows)
            ],
        }
    )
    form = rng.choice(["csv", "tsv", "jsonl", "json", "txt", "csv.gz", "parquet"])
    data = io.BytesIO()
    if form == "json":
        data.write(frame.to_json(orient="records").encode())
    elif form == "jsonl":
        data.write(frame.to_json(orient="records", lines=True).encode())
    elif form == "parquet":
        data.write(rng.randbytes(rng.randrange(300)))
    else:
        data.write(frame.to_csv(index=False, sep="\t" if form == "tsv" else ",").encode())
    changed = bytearray(data.getvalue())
    for _ in range(rng.choice([0, 1, 1, 5])):
        place = rng.randrange(len(changed) + 1)
        changed[place : place + rng.randrange(3)] = rng.choice(
            [b'"', b"\n", b"\r", b",", b"{", b"}", b"\xff", b"\x00", b"\xef\xbb\xbf", b"[", b"\t", rng.randbytes(4)]
        )
    path = folder / f"data.{form}"
    path.write_bytes(bytes(changed))
    found = read_table(path)
    assert isinstance(found, pd.DataFrame)
    return "read"


def check_sentence(error):
    """A refusal has words, and is not endless. (scikit-learn lists up to ten names of columns, a line each.)"""
    text = str(error)
    assert text.strip() and len(text) < 2000 and text.count("\n") < 20, f"no sentence: {text[:200]!r}"


@without_warnings
def try_one(rng, folder):
    try:
        return try_file(rng, folder) if rng.random() < 0.3 else try_fit(rng, folder)
    except (ValueError, TypeError, FileNotFoundError) as error:
        check_sentence(error)
        return "refused"
    except MemoryError:  # a sampler draws a topic for each of a billion tokens
        return "too large for the memory"


def warm_up():
    """Every model once, so that kernels are compiled before the clock runs."""
    numbers = np.random.default_rng(0)
    X = numbers.poisson(1.0, size=(12, 6))
    y = {"classes": np.array(list("abc") * 4), "numbers": numbers.poisson(5, 12) + 1.0}
    y["places"] = np.column_stack([y["numbers"], y["numbers"]])
    for kind, params, needs in MODELS:
        _fit_once(kind, params, X, None if needs is None else y[needs])


@without_warnings
def _fit_once(kind, params, X, y):
    finite(kind(**params).fit(X) if y is None else kind(**params).fit(X, y), X)


if __name__ == "__main__":
    main("inputs", try_one, default=5_000, warm_up=warm_up)
