"""Documents that are never all held: a source that can be read again and again, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from supertopic.documents.corpus import Corpus, as_corpus, as_texts, holds_text
from supertopic.documents.known import Known
from supertopic.documents.readers import Source, find_column, find_files, read_batches, texts_of, warn_missing

__all__ = ["BESIDE", "Part", "Stream", "refuse_beside"]

BESIDE = ("covariates", "metadata", "groups", "times", "sample_weight", "embeddings")  # as `fit` takes them


class Part(NamedTuple):
    """A batch of a stream."""

    corpus: Corpus
    y: Any  # the responses; None where there are none
    covariates: Any  # as `fit` takes them
    known: Known  # what else is known of the documents

    def widened(self) -> Part:
        """With embeddings in place of many covariates without names."""
        covariates, known = self.known.widened(self.covariates)
        return self._replace(covariates=covariates, known=known)

    def beside(self) -> dict[str, Any]:
        """What predictions take, by name; what is not known is missing."""
        found = {"covariates": self.covariates, "embeddings": self.known.embeddings}
        found["metadata"] = self.known.frame() if self.known.metadata else None
        return {name: one for name, one in found.items() if one is not None}


class Stream:
    """A corpus as an iterable of batches.

    Parameters
    ----------
    source : str, path or list of them
        As in `read_batches`; standard input can be read once only.
    text : str
        The column of the documents.
    target : str, optional
        The column of the response.
    batch_size : int
        Documents of a batch.
    covariates, metadata : lists of str
        Columns that `fit` takes as `covariates` and `metadata`.
    groups, times, sample_weight : str, optional
        Columns that `fit` takes by these names.
    encoding : str
        Of text files.
    n_documents : int, optional
        Where it is known; otherwise a first pass counts them.

    Attributes
    ----------
    n_documents : int or None
        None until a pass has reached the end.

    Examples
    --------
    >>> stream = Stream.from_callable(lambda: iter([["a cat", "a dog"], ["two cats"]]))
    >>> [len(texts) for texts in stream.texts()]
    [2, 1]
    >>> stream.n_documents
    3
    """

    def __init__(
        self, source: Source, text: str = "text", target: str | None = None, batch_size: int = 1024, *,
        covariates: Sequence[str] = (), metadata: Sequence[str] = (), groups: str | None = None,
        times: str | None = None, sample_weight: str | None = None, encoding: str = "utf-8",
        n_documents: int | None = None,
    ):  # fmt: skip
        beside: dict[str, Any] = {
            "covariates": _names("covariates", covariates),
            "metadata": _names("metadata", metadata),
        }
        single = {"groups": groups, "times": times, "sample_weight": sample_weight}
        known = [*beside["covariates"], *beside["metadata"], *filter(None, single.values())]
        asked = {name: columns for name, columns in (beside | single).items() if columns}
        columns = list(dict.fromkeys([text, *([] if target is None else [target]), *known]))
        options: dict[str, Any] = {"columns": columns, "batch_size": batch_size, "encoding": encoding}
        read_batches(source, **options)  # says now what is wrong with the options, not at the first batch
        once = any(str(file) == "-" for file in find_files(source))
        self._start(lambda: self._from_files(source, text, target, asked, options), once, n_documents)

    @classmethod
    def from_callable(cls, make_iterator: Callable[[], Iterable[Any]], n_documents: int | None = None) -> Stream:
        """A stream of what `make_iterator()` gives at each pass.

        A batch is a list of strings or a block of counts, or a pair of it and the responses, or three of them: the
        third is a dict of further arguments of `fit` for these documents, such as ``{"covariates": frame}``.
        """
        if not callable(make_iterator):
            raise ValueError(f"make_iterator is a {type(make_iterator).__name__}; expected a function.")
        self = cls.__new__(cls)
        self._start(lambda: map(_as_three, make_iterator()), once=False, n_documents=n_documents)
        return self

    @classmethod
    def from_iterable(cls, blocks: Iterable[Any], n_documents: int | None = None) -> Stream:
        """A stream of the batches in `blocks`; a generator can be read once only."""
        if isinstance(blocks, str) or not isinstance(blocks, Iterable):
            raise ValueError(f"blocks is a {type(blocks).__name__}; expected an iterable of batches.")
        self = cls.__new__(cls)
        self._start(lambda: map(_as_three, blocks), once=isinstance(blocks, Iterator), n_documents=n_documents)
        return self

    def holds_text(self) -> bool:
        """Whether the batches are strings (and not counts), seen on the first one."""
        if self._once:
            return True  # one look would use it up; a fit needs several passes and says so itself
        return any(holds_text(X, name="The batch") for X, *_ in islice(self._make(), 1))

    def texts(self) -> Iterator[list[str]]:
        """The documents of each batch, for `Vectorizer.fit_stream`."""
        for X, *_ in self._pass():
            if not holds_text(X, name="The batch"):
                raise ValueError("The stream holds counts; only a stream of strings has texts.")
            yield as_texts(X, name="The batch")[0]

    def batches(self, vectorizer: Any | None = None, n_features: int | None = None) -> Iterator[Corpus]:
        """The counts of each batch."""
        for part in self.parts(vectorizer, n_features):
            yield part.corpus

    def parts(self, vectorizer: Any | None = None, n_features: int | None = None) -> Iterator[Part]:
        """The counts, the responses and what else is known of each batch."""
        names: set[str] | None = None
        for X, y, beside in self._pass():
            corpus = as_corpus(X, vectorizer=vectorizer, n_features=n_features, name="The batch")
            if y is not None and len(y) != len(corpus):
                raise ValueError(f"A batch of {len(corpus)} documents came with {len(y)} responses.")
            if names is not None and set(beside) != names:
                raise ValueError(f"{min(set(beside) ^ names)}: got with some batches only, expected with all or none")
            names = set(beside)
            known = Known.of_corpus(corpus, y=y, **beside)
            yield Part(corpus, y, known.covariates(beside.get("covariates")), known)

    def __repr__(self) -> str:
        size = "unknown" if self.n_documents is None else f"{self.n_documents:,}"
        return f"Stream({size} documents)"

    def _start(self, make: Callable[[], Iterator[Any]], once: bool, n_documents: int | None) -> None:
        self._make, self._once, self._used, self.n_documents = make, once, False, n_documents

    def _pass(self) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
        if self._once and self._used:
            raise ValueError(
                "The stream can be read only once (standard input or a generator); for several passes give "
                "files, a list, or a function to Stream.from_callable."
            )
        self._used = True
        n_documents = 0
        for X, y, beside in self._make():
            yield X, y, beside
            n_documents += X.shape[0] if hasattr(X, "shape") else len(X)
        self.n_documents = n_documents

    @staticmethod
    def _from_files(
        source: Source, text: str, target: str | None, beside: dict[str, Any], options: dict[str, Any]
    ) -> Iterator[tuple[Any, ...]]:
        n_missing = n_documents = 0
        for frame in read_batches(source, **options):
            texts, missing = texts_of(frame, text)
            n_missing, n_documents = n_missing + missing, n_documents + len(texts)
            y = None if target is None else find_column(frame, target).to_numpy()
            yield texts, y, {name: _columns_of(frame, columns) for name, columns in beside.items()}
        warn_missing(n_missing, n_documents, text)


def refuse_beside(**given: Any) -> None:
    """Refuse arguments of a fit beside a Stream."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name}: got a value beside a Stream, which brings its own; expected None")


def _columns_of(frame: pd.DataFrame, columns: str | list[str]) -> Any:
    if isinstance(columns, str):
        return find_column(frame, columns)
    return pd.DataFrame({name: find_column(frame, name) for name in columns})


def _names(what: str, given: Any) -> list[str]:
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise ValueError(f"{what}: got {given!r:.60}, expected a list of names of columns")
    return list(given)


def _as_three(batch: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Documents, responses, and what else is known of them."""
    if not (isinstance(batch, tuple) and len(batch) in (2, 3) and not isinstance(batch[0], str)):
        return batch, None, {}
    X, y, beside = (*batch, {})[:3]
    if not isinstance(beside, Mapping) or not set(beside) <= set(BESIDE):
        shown = f"{list(beside)!r:.60}" if isinstance(beside, Mapping) else f"a {type(beside).__name__}"
        raise ValueError(f"A batch came with {shown}; expected a dict of some of {', '.join(BESIDE)}.")
    named = y is None or hasattr(y, "columns") or hasattr(y, "name")  # a frame or a series keeps its names
    return X, y if named else np.asarray(y), {name: one for name, one in beside.items() if one is not None}
