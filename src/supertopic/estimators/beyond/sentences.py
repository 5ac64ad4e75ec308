"""Reading documents as sentences: from texts, lists of sentences, or counts by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from supertopic.documents.corpus import Corpus, as_texts, holds_text

_END = re.compile(r"[.!?…]+[\"')\]’”]*(?=\s|$)|\n\s*\n")
_NO_END = re.compile(r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|e\.g|i\.e|cf|al|fig|eq|approx|inc|ltd|jr|sr)|\b[A-Z])\.$", re.I)


def split_sentences(text: str) -> list[str]:
    """Split a text: sentences end at . ! ? … before white space, and at empty lines; not after "Dr." and the like."""
    found, start = [], 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        sentence = text[start:end].strip()
        if not _NO_END.search(sentence) or end == len(text):
            start = end
            if sentence:
                found.append(sentence)
    return found


@dataclass(frozen=True)
class Rows:
    """Sentences one after another. Those of document d are [first_d, first_{d+1})."""

    sentences: Any  # strings, or counts as `as_corpus` takes them
    first: np.ndarray

    @property
    def are_text(self) -> bool:
        return isinstance(self.sentences, list)

    def texts(self) -> list[str]:
        """The text of each document."""
        ends = zip(self.first[:-1], self.first[1:], strict=True)
        return [" ".join(self.sentences[start:stop]) for start, stop in ends]


def gather(X: object, documents: object = None) -> Rows:
    """X as rows of sentences.

    X : texts, which are split into sentences; or lists of sentences, one list per document; or, with `documents`, a row
        per sentence (text or counts). Counts without `documents`: every row is a document of one sentence.
    documents : (S,) the document of each sentence; the sentences of a document stand together
    """
    if isinstance(X, Iterator):
        X = list(X)
    if documents is not None:
        return _labelled(X, documents)
    if isinstance(X, (list, tuple)) and len(X) and all(_is_list_of_strings(item) for item in X):
        return _joined([list(item) for item in X])
    if not isinstance(X, Corpus) and holds_text(X):
        return _joined([split_sentences(text) for text in as_texts(X)[0]])
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    n_rows = X.shape[0] if X.shape else 0
    return Rows(X, np.arange(n_rows + 1))


def _labelled(X: Any, documents: Any) -> Rows:
    labels = np.asarray(documents)
    sentences = as_texts(X)[0] if not isinstance(X, Corpus) and holds_text(X) else X
    n_rows = sentences.shape[0] if hasattr(sentences, "shape") else len(sentences)
    if labels.shape != (n_rows,):
        raise ValueError(f"documents: got shape {labels.shape}, expected one entry for each of the {n_rows} rows of X")
    starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]])) if n_rows else np.zeros(0, dtype=int)
    found, times = np.unique(labels[starts], return_counts=True)
    if np.any(times > 1):
        again = found[times > 1][0]
        raise ValueError(f"documents: the rows of document {again.item()!r} do not stand together; sort X by document")
    return Rows(sentences, np.concatenate([starts, [n_rows]]))


def _joined(documents: list[list[str]]) -> Rows:
    lengths = [len(sentences) for sentences in documents]
    return Rows([text for sentences in documents for text in sentences], np.concatenate([[0], np.cumsum(lengths)]))


def _is_list_of_strings(item: object) -> bool:
    return isinstance(item, (list, tuple)) and all(isinstance(part, str) for part in item)
