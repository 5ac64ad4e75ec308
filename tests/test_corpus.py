"""Conversion of input to a Corpus: accepted formats, and one-sentence errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_extraction.text import CountVectorizer

from supertopic.documents.corpus import (
    Corpus,
    EmptyDocumentWarning,
    as_corpus,
    as_texts,
    require_vocabulary,
    warn_empty,
)
from supertopic.documents.vectorizer import Vectorizer

DENSE = np.array([[1, 0, 2], [0, 0, 0], [3, 1, 0]])
TEXTS = ["cat dog cat", "unknown"]


@pytest.fixture(scope="module")
def vectorizer():
    return Vectorizer().fit(["cat mouse", "dog"])


def assert_ready(corpus, expected=DENSE):
    counts = corpus.counts
    assert isinstance(counts, sp.csr_matrix)
    assert (counts.dtype, counts.indices.dtype, counts.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert sp.csr_matrix((counts.data, counts.indices, counts.indptr), shape=counts.shape).has_canonical_format
    assert np.all(counts.data != 0)
    np.testing.assert_array_equal(counts.toarray(), expected)


@given(arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 3)))
@settings(max_examples=60, deadline=None)
def test_sparse_and_dense_are_the_same_corpus(dense):
    makers = [
        sp.csr_matrix,
        sp.csc_array,
        sp.coo_matrix,
        sp.coo_array,
        sp.lil_array,
        sp.dok_array,
        sp.bsr_array,
    ]
    for make in (np.asarray, np.ndarray.tolist, *makers):
        corpus = as_corpus(make(dense))
        assert_ready(corpus, dense)
        np.testing.assert_array_equal(corpus.lengths, dense.sum(axis=1))
        assert corpus.n_empty == np.count_nonzero(dense.sum(axis=1) == 0)
        assert (len(corpus), corpus.n_words) == dense.shape


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float64, object])
def test_dtypes(dtype):
    assert_ready(as_corpus((DENSE > 0).astype(dtype)), DENSE > 0)


def test_unsorted_duplicates_and_zeros_are_cleaned_without_writing_to_the_input():
    data, indices, indptr = (
        np.array([1.0, 2.0, 3.0, 0.0], np.float32),
        np.array([2, 0, 2, 1]),
        np.array([0, 3, 4]),
    )
    X = sp.csr_matrix((data, indices.astype(np.int32), indptr.astype(np.int32)), shape=(2, 3))
    assert_ready(as_corpus(X), [[2, 0, 4], [0, 0, 0]])
    np.testing.assert_array_equal(X.data, [1, 2, 3, 0])
    np.testing.assert_array_equal(X.indices, [2, 0, 2, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_duplicates_are_summed_beyond_2_to_the_24(dtype):
    """In single precision, 2^24 + 1 is 2^24: a sum of ones would stop there."""
    counts = sp.csr_matrix(
        (np.array([2**24, *[1] * 8], dtype=dtype), np.zeros(9, dtype=np.int32), [0, 9]), shape=(1, 1)
    )
    assert as_corpus(counts).counts[0, 0] == 2**24 + 8


def test_explicit_zeros_go_without_writing_to_the_input():
    X = sp.csr_matrix(DENSE.astype(np.float32))
    X.data[0] = 0
    assert_ready(as_corpus(X), [[0, 0, 2], [0, 0, 0], [3, 1, 0]])
    np.testing.assert_array_equal(X.data, [0, 2, 3, 1])


def test_clean_counts_are_not_copied():
    X = sp.csr_matrix(DENSE.astype(np.float32))
    assert np.shares_memory(as_corpus(X).counts.data, X.data)


def test_frames_of_counts_keep_names_and_index():
    frame = pd.DataFrame(DENSE, columns=["a", "b", "c"], index=["x", "y", "z"])
    corpus = as_corpus(frame)
    assert_ready(corpus)
    assert list(corpus.vocabulary) == ["a", "b", "c"]
    assert list(corpus.index) == ["x", "y", "z"]
    sparse = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(DENSE), columns=["a", "b", "c"])
    assert_ready(as_corpus(sparse))
    assert as_corpus(pd.DataFrame(DENSE)).vocabulary is None
    assert_ready(as_corpus(frame.astype("Int64")))


def test_polars_and_arrow_frames():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = {name: DENSE[:, k].tolist() for k, name in enumerate("abc")}
    for frame in (pl.DataFrame(columns), pa.table(columns)):
        corpus = as_corpus(frame)
        assert_ready(corpus)
        assert list(corpus.vocabulary) == ["a", "b", "c"]
        assert corpus.index is None


def text_holders():
    yield "list", TEXTS
    yield "tuple", tuple(TEXTS)
    yield "array", np.array(TEXTS)
    yield "object array", np.array(TEXTS, dtype=object)
    yield "column array", np.array(TEXTS)[:, None]
    yield "series", pd.Series(TEXTS)
    yield "categorical", pd.Series(TEXTS, dtype="category")
    yield "frame", pd.DataFrame({"text": TEXTS})
    yield "generator", (text for text in TEXTS)


@pytest.mark.parametrize("holder", [pytest.param(held, id=name) for name, held in text_holders()])
def test_strings(vectorizer, holder):
    corpus = as_corpus(holder, vectorizer=vectorizer)
    assert_ready(corpus, [[2, 1, 0], [0, 0, 0]])
    assert list(corpus.vocabulary) == ["cat", "dog", "mouse"]
    assert corpus.n_unknown == 1


def test_strings_of_polars_and_arrow(vectorizer):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    holders = [
        pl.Series(TEXTS),
        pl.DataFrame({"text": TEXTS}),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS]),
        pa.table({"text": TEXTS}),
    ]
    for holder in holders:
        assert_ready(as_corpus(holder, vectorizer=vectorizer), [[2, 1, 0], [0, 0, 0]])


def test_series_index_survives_and_scikit_learn_vectorizer_works():
    series = pd.Series(TEXTS, index=[7, 9])
    corpus = as_corpus(series, vectorizer=CountVectorizer().fit(TEXTS))
    assert list(corpus.index) == [7, 9]
    assert corpus.lengths.tolist() == [3.0, 1.0]


def test_a_corpus_comes_through_unchanged():
    corpus = as_corpus(DENSE)
    assert as_corpus(corpus, n_features=3) is corpus


@pytest.mark.parametrize("rows", [slice(1, None), [2, 0], np.array([True, False, True]), [], slice(None, None, -1)])
def test_rows(rows):
    frame = pd.DataFrame(DENSE, columns=["a", "b", "c"], index=["x", "y", "z"])
    part = as_corpus(frame)[rows]
    rows = np.arange(3)[np.asarray(rows, dtype=int) if isinstance(rows, list) else rows]
    assert_ready(part, DENSE[rows])
    assert list(part.index) == list(frame.index[rows])
    assert part.vocabulary is not None


@pytest.mark.parametrize("row", [0, -1, np.int64(2)])
def test_one_row(row):
    assert_ready(as_corpus(DENSE)[row], DENSE[[row]])


def test_row_out_of_range():
    with pytest.raises(IndexError):
        as_corpus(DENSE)[3]


def test_repr():
    corpus = as_corpus(pd.DataFrame(DENSE, columns=["a", "<b>", "c"]))
    assert repr(corpus) == "Corpus(3 documents, 3 words, 7 tokens, 1 empty)"
    assert "&lt;b&gt;" in corpus._repr_html_()


REFUSED = [
    ([], r"holds no documents \(0 sample"),
    (np.empty((0, 3)), r"0 sample\(s\)"),
    (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
    (sp.csr_matrix((0, 3)), r"0 sample\(s\)"),
    (-DENSE, "Negative values in data passed to"),
    (sp.csr_matrix(-DENSE), "Negative values in data passed to"),
    (np.where(DENSE == 1, np.nan, DENSE), r"Input X contains NaN\. The first one is in row 0"),
    (sp.csr_matrix(np.where(DENSE == 3, np.nan, DENSE)), r"Input X contains NaN\. The first one is in row 2"),
    (np.where(DENSE == 3, np.inf, DENSE), "Input X contains infinity.*row 2"),
    (DENSE * 1e300, "infinity or a count above 1,000,000,000"),
    (DENSE * 1j, "Complex data not supported"),
    (sp.csr_matrix(DENSE * 1j), "Complex data not supported"),
    (DENSE[0], "Reshape your data"),
    ([1, 2, 3], "Reshape your data"),
    (np.zeros((2, 2, 2)), "dim 3"),
    ("one text", "single string"),
    (b"one text", "single string"),
    ([b"bytes"], "holds bytes"),
    (["a", None], "X is missing in row 1"),
    (["a", float("nan")], "X is missing in row 1"),
    (pd.Series(["a", "b", None]), "X is missing in row 2"),
    (["a", 3], "X is 3 in row 1"),
    (pd.Series([1, 2]), "column of Int64 values; expected strings"),
    (pd.Series([], dtype=object), "holds no documents"),
    (pd.DataFrame({"text": ["a"], "year": [1]}), "frame of 2 columns of which 'text' holds no numbers"),
    (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}), "column of Datetime"),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "cannot be read: Expected unique column names"),
    (pd.DataFrame({"a": [1, None]}), r"Input X contains NaN\. The first one is in row 1"),
    ([["a", "b"], ["c"]], "lists of tokens; join each document"),
    (np.array([["a", "b"]]), "array of strings of shape"),
    ({"a": 1}, "X is a dict"),
    ({"a"}, "X is a set"),
    (TEXTS, "fitted to counts and cannot count words"),
]


@pytest.mark.parametrize(("X", "message"), REFUSED)
def test_refusals(X, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            as_corpus(X)


def test_polars_refusals():
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"LazyFrame.*collect it first"):
        as_corpus(pl.DataFrame({"a": [1]}).lazy())
    with pytest.raises(ValueError, match="missing in row 1"):
        as_corpus(pl.Series(["a", None]))
    with pytest.raises(ValueError, match="contains NaN"):
        as_corpus(pl.DataFrame({"a": [1, None]}))


def test_objects_that_are_no_numbers_are_a_type_error():
    with pytest.raises(TypeError, match="argument must be a string or a real number"):
        as_corpus(np.array([[1, {}], [1, 2]], dtype=object))


def test_other_number_of_features_in_the_words_of_scikit_learn(vectorizer):
    with pytest.raises(ValueError, match="X has 3 features, but LDA is expecting 4 features as input"):
        as_corpus(DENSE, n_features=4, estimator="LDA")
    with pytest.raises(ValueError, match="X has 3 features, but Vectorizer is expecting 4 features as input"):
        as_corpus(DENSE, n_features=4, estimator=vectorizer)
    with pytest.raises(ValueError, match="held_out is a single string"):
        as_corpus("a", name="held_out")


def test_32_bit_limit():
    X = sp.csr_matrix((1, 2**31))
    with pytest.raises(ValueError, match="more than 32-bit indices reach"):
        as_corpus(X)


def test_one_counted_warning_for_empty_documents():
    with pytest.warns(EmptyDocumentWarning, match=r"get the prior mean: 1 of 3 \(row 1\)") as caught:
        warn_empty(as_corpus(DENSE))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_empty(as_corpus(DENSE + 1))


def test_another_vocabulary():
    corpus = Corpus(as_corpus(DENSE).counts, np.array(["a", "b", "c"], dtype=object))
    require_vocabulary(corpus, ["a", "b", "c"])
    require_vocabulary(corpus, None)
    with pytest.raises(ValueError, match="column 1 is 'b', not 'x'"):
        require_vocabulary(corpus, ["a", "x", "c"])
    with pytest.raises(ValueError, match="vocabulary of 3 words, but the model has one of 2"):
        require_vocabulary(corpus, ["a", "b"])


def test_as_texts():
    assert as_texts(pd.Series(["a"], index=[3]))[1].tolist() == [3]
    with pytest.raises(ValueError, match="holds no strings"):
        as_texts(DENSE)


@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.coo_array])
def test_many_entries_of_one_word_are_summed_beyond_single_precision(kind):
    """2^24 + 1 is 2^24 in single precision: a sum of ones would stay there."""
    n = 2**24 + 64
    ones, place = np.ones(n, dtype=np.float32), np.zeros(n, dtype=np.int32)
    assert as_corpus(kind((ones, (place, place)), shape=(1, 2))).counts[0, 0] == n
    twice = sp.csr_matrix((np.array([2.0**24, 1.0, 1.0], np.float32), [0, 0, 0], [0, 3]), shape=(1, 1))
    assert as_corpus(twice).counts[0, 0] == 2**24 + 2
