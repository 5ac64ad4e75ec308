"""Where new documents lie outside what a fit has seen: lengths, words, covariates, metadata.

Intervals, sets and probabilities hold for documents like those of the fit. Of each feature the fit keeps what 1 % and
99 % of its documents are below. Of documents like them, about 2 % lie outside; a batch has *shifted* where far more do.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from supertopic.documents.columns import Column, listed
from supertopic.plural import counted

if TYPE_CHECKING:
    from supertopic.documents.corpus import Corpus
    from supertopic.documents.known import Known
    from supertopic.fitted.fitted import Fitted

_ENDS = (0.01, 0.99)  # quantiles of the documents of a fit
_OUTSIDE = 0.04  # share of the documents outside of them, up to which nothing is said
_ERRORS, _FEWEST = 4.0, 3  # standard errors beyond that, and documents
_UNKNOWN, _TIMES = 0.05, 1.4  # share of unknown words that is too much: 0.05, and 1.4 times what is expected
_HALF = 0.5  # of the tokens: the share of the most frequent words
_MOST_LEVELS = 50  # of a column of metadata that is kept
_WARN_FROM, _WARN_SHARE = 50, 0.5  # documents, and the share of them outside, from which on `predict` warns


@dataclass(frozen=True)
class Shift:
    """A feature of which new documents lie outside what the fit has seen."""

    what: str
    share: float  # of the documents outside; of unknown words
    expected: float
    sentence: str


@dataclass(frozen=True)
class Check:
    """Whether new documents are like those of a fit; printed, it says so in sentences."""

    n_documents: int
    shifts: tuple[Shift, ...]

    @property
    def ok(self) -> bool:
        """Whether they are, as far as lengths, words, covariates and metadata tell."""
        return not self.shifts

    @property
    def sentences(self) -> list[str]:
        if self.ok:
            lie = "lies" if self.n_documents == 1 else "lie"
            return [f"The {counted(self.n_documents, 'document')} {lie} where those of the fit do."]
        return [
            *(one.sentence for one in self.shifts),
            "Intervals, probabilities and sets hold for documents like those of the fit, and may promise too much.",
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return "".join(f"<div>{escape(one)}</div>" for one in self.sentences)


@dataclass(frozen=True, eq=False)
class Seen:
    """What a fit has seen of its documents."""

    ends: np.ndarray  # (2, 2) quantiles of the lengths, and of the share of frequent words
    frequent: np.ndarray  # (V,) bool: the fewest words that make half of the tokens
    unknown: np.ndarray  # (1,) expected share of words of new texts that are not in the vocabulary

    @classmethod
    def of(cls, corpus: Corpus) -> Self:
        """Of the documents of a fit."""
        counts = corpus.counts
        tokens = np.bincount(counts.indices, weights=counts.data, minlength=corpus.n_words)
        order = np.argsort(-tokens, kind="stable")
        total = np.cumsum(tokens[order])
        frequent = np.zeros(corpus.n_words, dtype=bool)
        frequent[order[: int(np.searchsorted(total, _HALF * total[-1])) + 1]] = True
        features = (corpus.lengths, _familiar(corpus, frequent))
        ends = np.stack([np.quantile(one, _ENDS) if one.size else np.zeros(2) for one in features])
        left_out = corpus.n_unknown / max(corpus.n_unknown + total[-1], 1.0)  # where the vocabulary was given
        return cls(ends, frequent, np.array([max(_expected_unknown(counts.indices, tokens), left_out)]))


def _familiar(corpus: Corpus, frequent: np.ndarray) -> np.ndarray:
    """(n,) the share of frequent words of each document that has words."""
    counts, filled = corpus.counts, np.flatnonzero(np.diff(corpus.counts.indptr))
    if not len(filled):
        return np.zeros(0)
    inside = np.add.reduceat(counts.data * frequent[counts.indices], counts.indptr[filled], dtype=np.float64)
    return np.asarray(inside / corpus.lengths[filled])


def _expected_unknown(words: np.ndarray, tokens: np.ndarray) -> float:
    """The share of tokens of new texts that are not in the vocabulary, by those of its rarest words.

    Words of j documents make a share f_j of the tokens that falls about as 1/j. Where words of m documents are the
    rarest, those of fewer, and the new ones, of which there are about f_1, would make m f_m (1 + 1/1 + … + 1/(m - 1)).
    In six corpora (reviews, news, wines, posts) unknown words were 0.36 to 0.64 of that: so half of it is expected.
    """
    documents = np.bincount(words, minlength=len(tokens))
    if not tokens.any():
        return 0.0
    m = int(documents[documents > 0].min())
    share = float(tokens[documents == m].sum() / tokens.sum())
    return min(0.5 * m * share * (1.0 + float(np.sum(1.0 / np.arange(1, m)))), 1.0)


def notes_of(known: Known) -> dict[str, Any]:
    """What is kept of what was known of the documents of a fit: columns of metadata, the names of groups and times."""
    found = {"metadata": _seen_columns(known.metadata), "beside": known.beside}
    return {name: value for name, value in found.items() if value}


def _seen_columns(metadata: dict[str, Column]) -> dict[str, Any]:
    """What is kept of columns of metadata: the categories, where these are few, or two quantiles."""
    found: dict[str, Any] = {}
    for name, column in metadata.items():
        known = column.values[~column.missing]
        if column.kind == "category" and len(column.levels) <= _MOST_LEVELS:
            found[name] = {"levels": [str(column.levels[code]) for code in np.unique(known)]}
        elif column.kind in ("number", "date") and len(known):
            found[name] = {"ends": [float(end) for end in np.quantile(known, _ENDS)]}
    return found


def check_documents(fitted: Fitted, corpus: Corpus, extra: np.ndarray, metadata: dict[str, Column]) -> Check:
    """Compare new documents with those of the fit.

    extra : (D, P) covariates as the regression takes them, or none
    """
    if fitted.seen is None:
        raise ValueError(f"check: this {fitted.spec.name} keeps nothing of the documents of its fit")
    found = [*_of_words(fitted.seen, corpus), *_of_covariates(fitted, extra), *_of_metadata(fitted, metadata)]
    return Check(len(corpus), tuple(found))


def warn_shifted(fitted: Fitted, corpus: Corpus) -> None:
    """Say so where half of many documents have other lengths or words than those of the fit."""
    if fitted.seen is None or len(corpus) < _WARN_FROM:
        return
    first = next((one for one in _of_words(fitted.seen, corpus) if one.share >= _WARN_SHARE), None)
    if first is not None:
        warnings.warn(
            f"{first.sentence} What is said about certainty is about documents like those of the fit; check(X) "
            "tells more",
            UserWarning,
            stacklevel=4,
        )


def _of_words(seen: Seen, corpus: Corpus) -> Iterator[Shift]:
    lengths, familiar = seen.ends
    yield from _outside("length", corpus.lengths, lengths, "have {less} than {bound:,.0f} tokens")
    words = "have {less} than {bound:.0%} of their tokens among the most frequent words of the fit"
    yield from _outside("frequent words", _familiar(corpus, seen.frequent), familiar, words)
    share, expected = corpus.n_unknown / max(corpus.n_unknown + corpus.n_tokens, 1.0), float(seen.unknown[0])
    most = min(_UNKNOWN + _TIMES * expected, 1.0)
    if share > most + np.sqrt(most * (1.0 - most) / max(len(corpus), 1)):  # words of a document go together
        told = f"{share:.0%} of the words are not in the vocabulary, where about {expected:.0%} are to be expected."
        yield Shift("vocabulary", share, expected, told)


def _of_covariates(fitted: Fitted, extra: np.ndarray) -> Iterator[Shift]:
    own, scaling = fitted.doc_covariates, fitted.spec.schema.scaling
    if own is None or not extra.size:
        return
    unit = scaling.users(np.ones(len(scaling.mean)))
    for place, name in enumerate(fitted.spec.schema.covariate_names):
        if not unit[place]:  # a column that has no part
            continue
        ends, values = np.quantile(own[:, place], _ENDS), extra[:, place]
        users, ends = (column / unit[place] + scaling.mean[place] for column in (values, ends))
        yield from _outside(name, users, ends, f"have {name} {{below}} {{bound:.4g}}")


def _of_metadata(fitted: Fitted, metadata: dict[str, Column]) -> Iterator[Shift]:
    for name, kept in fitted.notes.get("metadata", {}).items():
        column = metadata.get(name)
        if column is None:
            continue
        known = column.values[~column.missing]
        if "ends" in kept and not column.levels:
            yield from _outside(name, known, np.array(kept["ends"]), f"have {name} {{below}} {{bound}}", column.kind)
        elif "levels" in kept:
            named = [str(column.levels[code]) for code in known] if column.levels else [str(one) for one in known]
            new = [one for one in named if one not in set(kept["levels"])]
            if _too_many(len(new), len(named)):
                told = f"{len(new):,} of {len(named):,} documents have values of {name} that the fit has not seen: "
                yield Shift(name, len(new) / len(named), 0.0, f"{told}{listed(dict.fromkeys(new))}.")


def _outside(what: str, values: np.ndarray, ends: np.ndarray, told: str, kind: str = "number") -> Iterator[Shift]:
    """A shift where too many values lie below or above the ends; `told` is what these documents have or are."""
    sides = ((values < ends[0] - 1e-9, "fewer", "below", ends[0]), (values > ends[1] + 1e-9, "more", "above", ends[1]))
    for outside, less, below, bound in sides:
        n, total = int(outside.sum()), len(values)
        if _too_many(n, total):
            shown = np.datetime64(int(bound), "D") if kind == "date" else bound
            has = told.format(less=less, below=below, bound=shown)
            rare = f"as 1 % of those of the fit, where about {0.01 * total:,.0f} would be expected"
            yield Shift(what, n / total, 0.01, f"{n:,} of {total:,} documents {has}, {rare}.")


def _too_many(n: int, total: int) -> bool:
    return n >= _FEWEST and n > total * _OUTSIDE + _ERRORS * np.sqrt(total * _OUTSIDE * (1.0 - _OUTSIDE))
