"""Documents as sparse word counts. All input (text, arrays, frames) is converted here.

A corpus is the matrix n of D documents by V words, n[d, v] = number of times that word v occurs in document d.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from supertopic.checks import is_text
from supertopic.documents.pipelines import words_from_pipeline

__all__ = [
    "Corpus",
    "EmptyDocumentWarning",
    "as_corpus",
    "as_texts",
    "holds_text",
    "log_counts",
    "logarithms",
    "require_vocabulary",
    "warn_empty",
]


# Engines count in single precision, whose whole numbers are exact up to 2^24, and samplers in 32-bit integers. Sums and
# squares of counts of this size are far from the largest number.
LARGEST_COUNT = 1e9

WORDS = "supertopic_words"  # the attribute of a sparse matrix from `Vectorizer` that holds the words of its columns


def log_counts(counts: sp.csr_matrix) -> sp.csr_matrix:
    """The documents with log2(1 + count) for every count: that they repeat a word says less than its first use did."""
    logs = logarithms(counts.data).astype(np.float32, copy=False)
    return sp.csr_matrix((logs, counts.indices, counts.indptr), shape=counts.shape)


def lengths_of(counts: sp.csr_matrix) -> np.ndarray:
    """(D,) tokens of each document, float64.

    SciPy's sum would make a copy of all counts in float64. Sums of whole numbers in single precision are exact up to
    2^24, and take a fifth of the time; beyond that they are taken once more.
    """
    found, filled = np.zeros(counts.shape[0]), np.flatnonzero(np.diff(counts.indptr))
    first = counts.indptr[filled]
    found[filled] = np.add.reduceat(counts.data, first)
    if counts.dtype == np.float32 and found.max(initial=0.0) >= 2**24:
        found[filled] = np.add.reduceat(counts.data, first, dtype=np.float64)
    return found


def _in_parts(array: np.ndarray) -> Iterator[np.ndarray]:
    """A long array, some at a time: few enough to stay in the cache of a core."""
    for first in range(0, len(array), 1 << 16):
        yield array[first : first + (1 << 16)]


def logarithms(counts: np.ndarray) -> np.ndarray:
    """log2(1 + count): a word that stands once counts as one."""
    more = 1.0 + counts
    return np.log2(more, out=more)


class EmptyDocumentWarning(UserWarning):
    """Some documents contain no word of the vocabulary."""


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Word counts n[d, v]: the number of times that word v occurs in document d.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_words)
        float32 data, int32 indices, sorted, without duplicates and explicit zeros (`as_corpus` makes it so).
    vocabulary : ndarray of str or None
        The word of each column, or None if the counts have no names.
    index : Any or None
        Row labels of the frame or Series of the documents, so that results can be aligned with it.
    n_unknown : int
        Number of tokens that were dropped because they are not in the vocabulary.

    Examples
    --------
    >>> from supertopic import datasets
    >>> corpus = datasets.simulate(10, n_words=30).counts
    >>> corpus.shape
    (10, 30)
    """

    counts: sp.csr_matrix
    vocabulary: np.ndarray | None = None
    index: Any | None = None
    n_unknown: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.counts.shape

    @property
    def n_documents(self) -> int:
        return self.counts.shape[0]

    @property
    def n_words(self) -> int:
        return self.counts.shape[1]

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each document, float64."""
        return lengths_of(self.counts)

    @cached_property
    def n_tokens(self) -> float:
        return float(self.lengths.sum())

    @cached_property
    def logs(self) -> Corpus:
        """The same documents with the logarithms of their counts (`log_counts`)."""
        return replace(self, counts=log_counts(self.counts))

    @cached_property
    def n_empty(self) -> int:
        return int(np.count_nonzero(np.diff(self.counts.indptr) == 0))

    @cached_property
    def is_integer(self) -> bool:
        """Whether every count is a whole number (tf-idf weights are not)."""
        return all(bool(np.all(some == np.rint(some))) for some in _in_parts(self.counts.data))

    @cached_property
    def _checked(self) -> Corpus:
        """This corpus, once its matrix is known to be valid: a user may have made it from any matrix."""
        _check_structure(self.counts, "X")
        _check_counts(self.counts, "X")
        words = () if self.vocabulary is None else self.vocabulary
        wrong = [word for word in words if not is_text(str(word))]
        if wrong:
            raise ValueError(f"The vocabulary of X holds {wrong[0]!r}, half of a character; expected words")
        canonical = _canonical(self.counts)
        same = np.may_share_memory(canonical.data, self.counts.data) and isinstance(self.counts, sp.csr_matrix)
        same = same and np.may_share_memory(canonical.indices, self.counts.indices)
        return self if same else replace(self, counts=canonical)

    def __len__(self) -> int:
        return self.n_documents

    def __getitem__(self, rows: object) -> Corpus:
        """The documents of a slice, a list of positions, a boolean mask or one position."""
        if isinstance(rows, (int, np.integer)):
            rows = [range(self.n_documents)[rows]]
        elif not isinstance(rows, slice):
            rows = np.asarray(rows)
            rows = rows.astype(np.intp) if rows.size == 0 else rows
        counts = _canonical(sp.csr_matrix(self.counts[rows]))
        return Corpus(counts, self.vocabulary, None if self.index is None else self.index[rows])

    def __repr__(self) -> str:
        empty = f", {self.n_empty:,} empty" if self.n_empty else ""
        size = f"{self.n_documents:,} documents, {self.n_words:,} words, {self.n_tokens:,.0f} tokens"
        return f"Corpus({size}{empty})"

    def _repr_html_(self) -> str:
        rows = {
            "documents": f"{self.n_documents:,}",
            "words": f"{self.n_words:,}",
            "tokens": f"{self.n_tokens:,.0f}",
            "tokens per document": f"{self.n_tokens / max(self.n_documents, 1):,.1f}",
            "empty documents": f"{self.n_empty:,}",
        }
        if self.vocabulary is not None and self.n_words:
            top = np.argsort(-np.asarray(self.counts.sum(axis=0)).ravel(), kind="stable")[:8]
            rows["most frequent"] = ", ".join(escape(str(word)) for word in self.vocabulary[top])
        cells = "".join(f"<tr><th style='text-align:left'>{k}</th><td>{v}</td></tr>" for k, v in rows.items())
        return f"<table><caption>Corpus</caption>{cells}</table>"


def as_corpus(
    X: object, *, vectorizer: Any | None = None, n_features: int | None = None, name: str = "X",
    estimator: object = "model",
) -> Corpus:  # fmt: skip
    """Convert documents in any supported format to counts n[d, v]; they are never made dense.

    Parameters
    ----------
    X : Corpus, sparse or dense counts, frame of counts, or strings
        Strings (a list, an array, a Series, a one-column frame) need a fitted `vectorizer`.
    vectorizer : Vectorizer, optional
        Any fitted object with `transform` and `get_feature_names_out`, e.g. scikit-learn's CountVectorizer.
    n_features : int, optional
        The expected vocabulary size; another size raises an error.
    name, estimator : str
        The names of the input and of the model in messages.
    """
    if isinstance(X, Corpus):
        corpus = X._checked
    elif isinstance(X, Iterator):
        return as_corpus(list(X), vectorizer=vectorizer, n_features=n_features, name=name, estimator=estimator)
    elif holds_text(X, name=name):
        corpus = _from_texts(X, vectorizer, name)
    else:
        corpus = _from_numbers(X, name, estimator)
        if corpus.vocabulary is None and n_features is None and sp.issparse(X):  # a fit: predictions know the words
            corpus = replace(corpus, vocabulary=words_from_pipeline(estimator, corpus.n_words))
    if n_features is not None and corpus.n_words != n_features:
        who = estimator if isinstance(estimator, str) else type(estimator).__name__
        raise ValueError(
            f"{name} has {corpus.n_words} features, but {who} is expecting {n_features} features as input."
        )
    return corpus


def holds_text(X: object, *, name: str = "X") -> bool:
    """Whether X is a collection of strings, so that a vectorizer is needed; raises if X is neither text nor counts."""
    if sp.issparse(X) or isinstance(X, Corpus):
        return False
    if isinstance(X, (str, bytes, Mapping, AbstractSet)) or type(X).__name__ == "LazyFrame":
        what = {"str": "single string", "bytes": "single string"}.get(type(X).__name__, type(X).__name__)
        hint = "; collect it first" if what == "LazyFrame" else ""
        raise ValueError(f"{name} is a {what}; expected a list of strings or a matrix of counts{hint}.")
    frame = _narwhals(X)
    if isinstance(frame, nw.Series):
        return _series_is_text(frame, name)
    if isinstance(frame, nw.DataFrame):
        return _frame_is_text(frame, name)
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "UT" or (X.dtype.kind == "O" and _any_string(X.ravel())):
            return _one_column(X.shape, name)
        return False
    items = _items(X)
    if items is None:
        return False
    if any(isinstance(item, bytes) for item in items):
        raise ValueError(f"{name} holds bytes; decode them to strings first, e.g. with item.decode('utf-8').")
    if _any_string(items):
        return True
    if len(items) and all(item is None for item in items):
        raise ValueError(f"{name} is missing in every row; expected strings (use '' for an empty document).")
    if any(isinstance(item, (list, tuple)) and _any_string(item) for item in items):
        raise ValueError(f"{name} holds lists of tokens; join each document to one string: ' '.join(tokens).")
    return False


def as_texts(X: object, *, name: str = "X") -> tuple[list[str], Any | None]:
    """Return the strings of a list, array, Series or one-column frame, and its row labels (or None)."""
    if isinstance(X, Iterator):
        X = list(X)
    if not holds_text(X, name=name):
        size = len(X) if hasattr(X, "__len__") else None
        if size == 0:
            raise ValueError(f"{name} holds no documents (0 sample(s)); expected at least one string.")
        raise ValueError(f"{name} holds no strings; expected a list of strings, one per document.")
    frame = _narwhals(X)
    if isinstance(frame, nw.DataFrame):
        frame = frame.get_column(frame.columns[0])
    if isinstance(frame, nw.Series):
        texts, index = frame.to_list(), nw.maybe_get_index(frame)
    else:
        items = X.ravel() if isinstance(X, np.ndarray) else _items(X)
        texts, index = [item.item() if isinstance(item, np.str_) else item for item in items], None
    if not texts:
        raise ValueError(f"{name} holds no documents (0 sample(s)); expected at least one string.")
    wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        what = "missing" if str(texts[wrong]) in ("None", "nan", "<NA>", "NaT") else f"{texts[wrong]!r:.40}"
        raise ValueError(f"{name} is {what} in row {wrong}; expected a string (use '' for an empty document).")
    return texts, index


def warn_empty(corpus: Corpus) -> None:
    """Warn once with the number of documents without a word."""
    if corpus.n_empty:
        empty = np.flatnonzero(np.diff(corpus.counts.indptr) == 0)
        rows = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
        warnings.warn(
            "Documents without a word of the vocabulary get the prior mean: "
            f"{corpus.n_empty} of {corpus.n_documents} (row {rows}).",
            EmptyDocumentWarning,
            stacklevel=3,
        )


def require_vocabulary(corpus: Corpus, vocabulary: np.ndarray | None) -> None:
    """Raise if the named columns of the counts are not the words the model was fitted on, in that order."""
    if corpus.vocabulary is None or vocabulary is None:
        return
    mine, theirs = np.asarray(corpus.vocabulary, dtype=object), np.asarray(vocabulary, dtype=object)
    if len(mine) != len(theirs):
        raise ValueError(f"X has a vocabulary of {len(mine)} words, but the model has one of {len(theirs)}.")
    differ = np.flatnonzero(mine != theirs)
    if len(differ):
        k = differ[0]
        raise ValueError(f"X has another vocabulary than the model: column {k} is {mine[k]!r}, not {theirs[k]!r}.")


def _from_texts(X: object, vectorizer: Any | None, name: str) -> Corpus:
    texts, index = as_texts(X, name=name)
    if vectorizer is None:
        raise ValueError(
            f"{name} holds strings, but the model was fitted to counts and cannot count words; pass counts over the "
            "same vocabulary, such as pipeline[:-1].transform(texts), or fit the model to the texts themselves."
        )
    if hasattr(vectorizer, "count"):
        counts, n_unknown = vectorizer.count(texts)
    else:
        counts, n_unknown = vectorizer.transform(texts), 0
    vocabulary = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
    return Corpus(_canonical(sp.csr_matrix(counts)), vocabulary, index, n_unknown)


def _from_numbers(X: Any, name: str, estimator: Any) -> Corpus:
    vocabulary, index = getattr(X, WORDS, None), None
    frame = _narwhals(X)
    if isinstance(frame, nw.DataFrame):
        if all(isinstance(column, str) for column in frame.columns):
            vocabulary = np.asarray(frame.columns, dtype=object)
        index = nw.maybe_get_index(frame)
        X = _frame_values(frame)
    elif isinstance(frame, nw.Series):
        X = frame.to_numpy()
    elif isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError(f"{name} holds no documents (0 sample(s)); expected at least 1.")
    if sp.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"{name} is a sparse array of {X.ndim} dimension(s); expected documents by words.")
        _check_structure(X, name)
        if X.format == "coo" and X.dtype == np.float32:  # its entries are summed, which stops at 2^24
            X = X.astype(np.float64)
    try:
        counts = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32, np.int64, np.int32],  # other types (float16, object) become float64
            ensure_all_finite=False,  # checked below, with what else counts are, in a shorter message
            estimator=estimator,
            input_name=name,
        )
    except OverflowError:
        raise ValueError(f"{name} holds a whole number of so many digits that it is no count.") from None
    counts = sp.csr_matrix(counts)
    if sp.issparse(X) and X.format not in ("csr", "csc", "coo", "bsr"):
        _check_structure(counts, name)
    _check_counts(counts, name)
    return Corpus(_canonical(counts), vocabulary, index)


def _check_structure(matrix: Any, name: str) -> None:
    """Refuse a sparse matrix whose indices point outside it: kernels, and scipy's own, would read and write there."""
    if matrix.format == "coo":
        for axis, places in zip(("rows", "columns"), (matrix.row, matrix.col), strict=True):
            _check_indices(places, matrix.shape[axis == "columns"], f"{axis} of {name}")
        if not len(matrix.row) == len(matrix.col) == len(matrix.data):
            raise ValueError(f"{name} is no valid sparse matrix: its rows, columns and data differ in length.")
        return
    if matrix.format not in ("csr", "csc", "bsr"):
        return
    rows, columns = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    if matrix.format == "bsr":
        rows, columns = rows // matrix.blocksize[0], columns // matrix.blocksize[1]
    indptr, n_entries = matrix.indptr, min(len(matrix.indices), len(matrix.data))
    fine = len(indptr) == rows + 1 and indptr[0] == 0 and indptr[-1] <= n_entries and np.all(indptr[1:] >= indptr[:-1])
    if not fine:
        raise ValueError(f"{name} is no valid sparse matrix: indptr does not cut {n_entries} entries into rows.")
    _check_indices(matrix.indices[: indptr[-1]], columns, f"indices of {name}")


def _check_indices(indices: np.ndarray, size: int, what: str) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        wrong = indices[(indices < 0) | (indices >= size)][0]
        raise ValueError(f"The {what} hold {wrong}, outside of 0 to {size - 1}: the sparse matrix is not valid.")


def _check_counts(counts: sp.csr_matrix, name: str) -> None:
    """Refuse counts that are negative, not finite, or too large for the sums of the engines."""
    data = counts.data
    if not len(data) or (data.min() >= 0 and data.max() <= LARGEST_COUNT):  # False where there is a NaN
        return
    bad = np.flatnonzero(~((data >= 0) & (data <= LARGEST_COUNT)))[0]
    row = np.searchsorted(counts.indptr, bad, side="right") - 1
    if data[bad] < 0:
        found = f"Negative values in data passed to {name}: {data[bad]:g} in row {row}."
        raise ValueError(f"{found} Numbers that are no counts of words go into covariates=, or embeddings=.")
    what = "NaN" if np.isnan(data[bad]) else f"infinity or a count above {LARGEST_COUNT:,.0f}"
    raise ValueError(f"Input {name} contains {what}. The first one is in row {row}.")


def _canonical(counts: sp.csr_matrix) -> sp.csr_matrix:
    """Return counts with float32 data, sorted int32 indices, no duplicates, no zeros; does not modify its input."""
    if max(counts.nnz, *counts.shape) > np.iinfo(np.int32).max:
        raise ValueError(
            f"X has {counts.nnz:,} counts in {counts.shape[0]:,} x {counts.shape[1]:,}, more than 32-bit "
            "indices reach; fit it as a stream of batches."
        )
    indices, indptr = counts.indices.astype(np.int32, copy=False), counts.indptr.astype(np.int32, copy=False)
    clean = sp.csr_matrix((counts.data, indices, indptr), shape=counts.shape)
    if not clean.has_canonical_format:
        clean = clean.astype(np.float64)  # sums of ones stop at 2^24 in single precision
        clean.sum_duplicates()
    clean.data = clean.data.astype(np.float32, copy=False)
    if not np.all(clean.data):
        clean = clean.copy()
        clean.eliminate_zeros()
    return clean


def _narwhals(X: object) -> Any:
    """X as a narwhals frame or series (pandas, polars, Arrow, ...), or X itself."""
    if sp.issparse(X) or isinstance(X, (np.ndarray, list)):  # to look for frames takes a fifth of a prediction
        return X
    try:
        return nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    except Exception as error:  # narwhals raises its own error classes; users need one sentence
        raise ValueError(f"X is a {type(X).__name__} that cannot be read: {' '.join(str(error).split())}") from error


def _frame_values(frame: nw.DataFrame[Any]) -> Any:
    native = nw.to_native(frame)
    # a pandas frame of sparse columns stays sparse
    if hasattr(native, "sparse") and all(hasattr(dtype, "fill_value") for dtype in native.dtypes):
        return native.sparse.to_coo().tocsr()
    return frame.to_numpy()


def _series_is_text(series: nw.Series, name: str) -> bool:
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return True
    if series.dtype == nw.Object and (len(series) == 0 or _any_string(series.to_list())):
        return True
    raise ValueError(
        f"{name} is a column of {series.dtype} values; expected strings, one per document, or a 2D matrix of "
        "counts. Reshape your data if these are counts."
    )


def _frame_is_text(frame: nw.DataFrame[Any], name: str) -> bool:
    texts = [
        column
        for column, dtype in frame.schema.items()
        if not (dtype.is_numeric() or dtype == nw.Boolean or dtype == nw.Unknown)
        and (dtype != nw.Object or _any_string(frame.get_column(column).to_list()))
    ]
    if texts and len(frame.columns) > 1:
        raise ValueError(
            f"{name} is a frame of {len(frame.columns)} columns of which {texts[0]!r} holds no numbers; "
            "pass the column of documents alone, or a frame of counts."
        )
    return bool(texts) and _series_is_text(frame.get_column(texts[0]), name)


def _one_column(shape: tuple[int, ...], name: str) -> bool:
    if len(shape) == 1 or (len(shape) == 2 and shape[1] == 1):
        return True
    raise ValueError(f"{name} is an array of strings of shape {shape}; expected one string per document.")


def _items(X: object) -> Any:
    """The items of a list, a tuple or an Arrow array; None for anything else."""
    if isinstance(X, (list, tuple)):
        return X
    return X.to_pylist() if hasattr(X, "to_pylist") else None


def _any_string(items: Any) -> bool:
    return any(isinstance(item, str) for item in items)
