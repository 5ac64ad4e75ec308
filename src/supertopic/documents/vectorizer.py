"""Conversion of text to word counts, with a vocabulary chosen in memory or from a stream.

A term v of a corpus of D documents has a frequency tf_v (tokens) and a document frequency df_v.
`max_features` keeps the terms with the largest summed tf-idf, Σ_d tf_dv log(D / df_v) = tf_v log(D / df_v).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from itertools import repeat
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from supertopic.documents.cohesion import fragments, with_triples
from supertopic.documents.corpus import WORDS, as_texts
from supertopic.documents.languages import NAMES, spaceless_script, stemmer
from supertopic.documents.phrases import Phrases, choose_pairs, counts_outside, threshold_of, with_pairs
from supertopic.documents.splitting import Splitting
from supertopic.documents.stop_words import guess_language, stop_words_of, usual_stop_words
from supertopic.documents.terms import TermTable, count_ids, id_blocks, keep_ids, renumber
from supertopic.documents.tokenizers import check_tokenizer, make_tokenizer
from supertopic.documents.word_patterns import TOKEN_PATTERN

__all__ = ["TOKEN_PATTERN", "Vectorizer"]

_MORE = (400, 800, 1600)  # documents beyond which a word must occur in one more; a step for each doubling is small


class Vectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Convert strings to counts n[d, v], with defaults for corpora from three documents to millions.

    Parameters
    ----------
    lowercase : bool
        Whether words are made lower case.
    stop_words : "auto", None, a language or list of str
        Words to leave out. "auto" leaves out those of the language that the texts are in, as 200 of the documents show
        (or of the first batch of a stream), and none where no language is seen; of English it keeps a few words that
        have a meaning of their own, such as "serious". A language is a name or code, such as "german" or "de"; None
        keeps all words.
    min_df : "auto", int or float
        Smallest number (or share) of documents that a word must occur in. "auto" is 1 below 50 documents, 2 up to
        400, 3 up to 800, 4 up to 1,600 and 5 beyond: a word that occurs in one document does not inform a topic,
        but a small corpus has few other words.
    max_df : "auto", int or float
        Largest number (or share) of documents that a word may occur in. "auto" is all documents below 50 documents
        and half of them otherwise, since very frequent words do not distinguish topics. The automatic limits are
        ignored if they would leave no word.
    max_features : int, optional
        Keep only the words with the largest tf_v log(D / df_v), as the sLDA paper does for its 5,000 words; ties are
        broken alphabetically.
    ngram_range : (int, int)
        Smallest and largest number of words in a term.
    token_pattern : str
        Regular expression of a word, without groups. The default is a letter followed by at least one character, with
        inner digits, apostrophes and underscores; links and names after an @ are no words. Other patterns are searched
        by the package `regex`, so ``\\p{L}`` is any letter; a pattern that takes too long on a text is refused.
    tokenizer : "unicode", "jieba", "icu", "icu:th", "spacy:de" or "package.module:function"
        What finds words. "unicode": those of `token_pattern`; where a script has no spaces between words, as Chinese,
        two neighbouring characters are taken for a word, and a warning says so; with `stop_words="auto"` only if they
        stand together more often than chance explains. "jieba" finds words of Chinese texts, "icu" those of Thai and
        others, "spacy:de" those of a language or pipeline of spaCy; these are packages to be installed. A function of
        one's own takes a text and returns a list of words.
    stem : bool or str
        Whether words are cut to their stems, by `snowballstemmer`: of the language that the texts are in, or of the one
        that is named. Stop words are left out before.
    phrases : bool or float
        Whether two neighbouring words that stand together more often than chance explains, such as "front desk", are
        read as one. A number is the least normalised mutual information of such a pair, True stands for 0.5.
    vocabulary : list, array or dict of str to int, optional
        The words, in the order of their columns; a dict says the column of each. No other word of a text is known, none
        of these is a stop word, and the limits `min_df`, `max_df` and `max_features` do nothing. Names of two words,
        such as "front desk", are phrases.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Column of each word, in alphabetical order, or that of `vocabulary`; words that were learned later are behind.
    ignored_ : frozenset of str
        Words removed by `max_df`; they are not counted as unknown.
    language_ : str or None
        The code of the language that the texts are in, such as "de"; None where none is seen.
    phrases_ : frozenset of str
        The phrases among the words.
    stop_words_ : frozenset of str
        The words that were left out; empty where "auto" saw no language. Pairs of Chinese characters that are no words
        are among them.
    n_documents_ : int
        Number of documents that the vocabulary was chosen from.
    n_pruned_ : int
        Number of rare terms dropped because a stream had more than `table_limit` terms.

    Examples
    --------
    >>> from supertopic import Vectorizer
    >>> counts = Vectorizer(min_df=1).fit_transform(["the cat and the dog", "a cat"])
    >>> counts.toarray().tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """

    table_limit = 2_000_000  # largest number of terms in memory while reading a stream, about 0.4 GB

    def __init__(
        self, *, lowercase: bool = True, stop_words: str | Iterable[str] | None = "auto", min_df: str | float = "auto",
        max_df: str | float = "auto", max_features: int | None = None, ngram_range: tuple[int, int] = (1, 1),
        token_pattern: str = TOKEN_PATTERN, tokenizer: str = "unicode", stem: bool | str = False,
        phrases: bool | float = False, vocabulary: Sequence[str] | np.ndarray | dict[str, int] | None = None,
    ):  # fmt: skip
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.ngram_range = ngram_range
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.stem = stem
        self.phrases = phrases
        self.vocabulary = vocabulary

    def fit(self, X: object, y: object = None) -> Vectorizer:
        """Choose the vocabulary of a list, Series or column of strings.

        Parameters
        ----------
        X : list, Series or column of str
            The texts.
        y : object, optional
            Not used.

        Returns
        -------
        self
            With `vocabulary_`.
        """
        return self.fit_stream([as_texts(X)[0]])

    def fit_transform(self, X: object, y: object = None, **fit_params: Any) -> sp.csr_matrix:
        """Choose the vocabulary and return the counts, reading the text once.

        Parameters
        ----------
        X : list, Series or column of str
            The texts.
        y : object, optional
            Not used.
        **fit_params : object
            Not used.

        Returns
        -------
        csr_matrix
            Counts (D, V).
        """
        if self.vocabulary is not None:
            return self.fit(X).transform(X)
        self._check_params()
        table, texts = TermTable(limit=None), as_texts(X)[0]
        self._look_at(texts)
        blocks = list(table.add(texts, self._candidates()))
        new_id = self._choose(table)
        if self.phrases:  # their words are counted apart
            return self._output(self.count(texts)[0], X)
        counts = sp.vstack([renumber(block, new_id, len(self.vocabulary_)) for block in blocks], format="csr")
        return self._output(counts, X)

    def fit_stream(self, batches: Iterable[Any]) -> Vectorizer:
        """Choose the vocabulary from batches of strings; keeps the terms in memory, not the documents."""
        self._reset()
        for texts in batches:
            self.partial_fit(texts)
        return self.finish()

    def partial_fit(self, X: object, y: object = None) -> Vectorizer:
        """Count the terms of one more batch; call `finish` after the last one.

        Parameters
        ----------
        X : list, Series or column of str
            The texts.
        y : object, optional
            Not used.

        Returns
        -------
        self
            With the terms so far.
        """
        if not hasattr(self, "_table"):
            self._reset()
        texts = as_texts(X)[0]
        fixed, table = self.vocabulary is not None, self._table
        if not (table.n_documents if fixed else len(table)):  # the first batch with a word decides
            self._look_at(texts)
        if fixed:
            table.n_documents += len(texts)
            return self
        for _ in table.add(texts, self._candidates()):
            pass
        return self

    def finish(self) -> Vectorizer:
        """Choose the vocabulary from the counts of `partial_fit`."""
        if not hasattr(self, "_table"):
            raise ValueError("finish was called before partial_fit; there is no term to choose from.")
        table = self._table
        if self.vocabulary is None:
            self._choose(table)
        else:
            words = _words_of(self.vocabulary)
            self.stop_words_ -= frozenset(words)
            self._set_phrases(word for word in words if " " in word and tuple(self.ngram_range) == (1, 1))
            self._set_vocabulary(words, (), table.n_documents, 0)
        del self._table
        if table.n_pruned:
            warnings.warn(
                f"The stream holds more than {self.table_limit:,} terms: {table.n_pruned:,} rare ones were "
                f"dropped on the way, and words of up to {table.lost} documents may be missing.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def grown(self, X: object) -> Vectorizer:
        """The same with words of more texts behind those that it knows; itself where there are none to learn.

        A new word is learned from `min_df` documents, and two at least; "auto" is 5 % of the texts, 2 to 5 of them.
        None are learned where a `vocabulary` was given, or beyond `max_features`.

        Parameters
        ----------
        X : list, Series or column of str
            The texts.

        Returns
        -------
        Vectorizer
            With a longer `vocabulary_`.
        """
        check_is_fitted(self, "vocabulary_")
        if self.vocabulary is not None:
            return self
        table, texts = TermTable(limit=None), as_texts(X)[0]
        for _ in table.add(texts, self._tokenizer()):
            pass
        n_documents, df = len(texts), table.df[: len(table)]
        low = max(_limit("min_df", self.min_df, n_documents, min(max(n_documents // 20, 2), 5)), 2.0)
        high = _limit("max_df", self.max_df, n_documents, 1.0 if n_documents < 50 else 0.5)
        terms = np.array(list(table.ids), dtype=object)
        enough = (df >= low) & (df <= high)
        enough &= np.fromiter((term not in self._lookup for term in terms), dtype=bool, count=len(terms))
        new = sorted(terms[enough], key=lambda term: (-df[table.ids[term]], term))
        new = sorted(new if self.max_features is None else new[: max(self.max_features - len(self.vocabulary_), 0)])
        if not new:
            return self
        found = copy(self)
        found._set_vocabulary([*self.vocabulary_, *new], self.ignored_, self.n_documents_ + n_documents, self.n_pruned_)
        return found

    def transform(self, X: object) -> sp.csr_matrix:
        """Return the counts of the known words.

        Parameters
        ----------
        X : list, Series or column of str
            The texts.

        Returns
        -------
        csr_matrix
            Counts (D, V), float32.
        """
        return self._output(self.count(as_texts(X)[0])[0], X)

    def set_output(self, *, transform: str | None = None) -> Vectorizer:
        """`transform="pandas"` makes frames of sparse columns, named by the words; "default" a sparse matrix."""
        if transform not in (None, "default", "pandas"):
            raise ValueError(f"transform: got {transform!r}, expected 'default' or 'pandas'")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _output(self, counts: sp.csr_matrix, X: object) -> Any:
        """The counts with their words, so that the next step of a pipeline knows them."""
        asked = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if asked == "pandas":
            index = getattr(X, "index", None)
            frame = pd.DataFrame.sparse.from_spmatrix(counts, columns=self.get_feature_names_out()).fillna(0)
            return frame if index is None or callable(index) else frame.set_axis(index)
        setattr(counts, WORDS, self.get_feature_names_out())
        return counts

    def count(self, texts: Iterable[str]) -> tuple[sp.csr_matrix, int]:
        """Return the counts and the number of unknown tokens (not counting stop words and `ignored_` words)."""
        check_is_fitted(self, "vocabulary_")
        get, n_words, n_unknown, blocks = self._lookup.get, len(self.vocabulary_), 0, []
        for ids, indptr in id_blocks(texts, self._tokenizer(), lambda tokens: map(get, tokens, repeat(-1))):
            n_unknown += int(np.count_nonzero(ids == -1))
            blocks.append(count_ids(*keep_ids(ids >= 0, ids, indptr), n_words))
        return sp.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0], n_unknown

    def unknown_words(self, text: str) -> Counter[str]:
        """The words of a text that are not in the vocabulary, without stop words and `ignored_` words."""
        check_is_fitted(self, "vocabulary_")
        return Counter(word for word in self._tokenizer()(text) if word not in self._lookup)

    def ignored_words(self, text: str) -> Counter[str]:
        """The words of a text that `max_df` has left out."""
        check_is_fitted(self, "vocabulary_")
        return Counter(word for word in self._tokenizer()(text) if word in self.ignored_)

    def located(self, text: str) -> list[tuple[str, int, int]]:
        """The words and phrases of a text as the vocabulary has them, and where each starts and ends."""
        check_is_fitted(self, "vocabulary_")
        return self.splitting().located(text)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The words, in the order of the columns."""
        check_is_fitted(self, "vocabulary_")
        return np.array(list(self.vocabulary_), dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that `transform` needs, as JSON-compatible values."""
        check_is_fitted(self, "vocabulary_")
        params = self.get_params()
        params["ngram_range"] = list(self.ngram_range)
        if not (self.stop_words is None or isinstance(self.stop_words, str)):
            params["stop_words"] = sorted(self.stop_words)
        if self.vocabulary is not None:
            params["vocabulary"] = _words_of(self.vocabulary)
        params = {k: v.item() if isinstance(v, np.generic) else v for k, v in params.items()}
        return {
            "params": params,
            "vocabulary": list(self.vocabulary_),
            "ignored": sorted(self.ignored_),
            "stop_words": sorted(self.stop_words_),
            "language": self.language_,
            "phrases": sorted(self.phrases_),
            "n_documents": self.n_documents_,
            "n_pruned": self.n_pruned_,
        }

    @classmethod
    def of_file(cls, params: dict[str, Any]) -> Vectorizer:
        """A vectorizer with the parameters of a file, which may not name functions that the user did not name."""
        self = cls(**{**params, "ngram_range": tuple(params["ngram_range"])})
        self._check_params(of_file=True)
        return self

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Vectorizer:
        """Return the fitted vectorizer from the output of `to_dict`."""
        self = cls.of_file(state["params"])
        self.stop_words_, self.language_ = frozenset(state["stop_words"]), state["language"]
        if self.language_ is not None and self.language_ not in {*NAMES, "lo", "km", "my"}:
            raise ValueError(f"language is {self.language_!r:.40}, which is none that is known")
        self._set_phrases(state["phrases"])
        self._set_vocabulary(state["vocabulary"], state["ignored"], state["n_documents"], state["n_pruned"])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    def _reset(self) -> None:
        self._check_params()
        self._table = TermTable(limit=self.table_limit)

    def _look_at(self, texts: list[str]) -> None:
        """See which language the texts are in, and what follows from that."""
        self.language_ = guess_language(texts, self.splitting().words())
        if isinstance(self.stop_words, str) and self.stop_words == "auto":
            self.stop_words_ = usual_stop_words(self.language_)
            self._in_pairs = self._own and self.language_ in ("zh", "ja") and tuple(self.ngram_range) == (1, 1)
        if self._own and (code := spaceless_script(texts[:: max(len(texts) // 200, 1)])) is not None:
            language = NAMES.get(code, "this script")
            better = "jieba" if code == "zh" else f"icu:{code}"
            warnings.warn(
                f"The texts have no spaces between words ({language}): two neighbouring characters are taken for a "
                f"word; tokenizer={better!r} finds words.",
                UserWarning,
                stacklevel=4,
            )

    @property
    def _own(self) -> bool:
        return self.tokenizer == "unicode" and self.token_pattern == TOKEN_PATTERN

    def _finder_name(self) -> str:
        by_pattern = self.tokenizer == "unicode"
        return f"token_pattern={self.token_pattern!r}" if by_pattern else f"tokenizer={self.tokenizer!r}"

    def splitting(self) -> Splitting:
        """The rules by which texts are split, as far as they are known."""
        stem = self.language_ if self.stem is True else self.stem
        low, high = self.ngram_range
        return Splitting(
            self.lowercase, self.token_pattern, self.tokenizer, stem, self.stop_words_, (low, high), self._phrases
        )

    def _candidates(self) -> Callable[[str], list[str]]:
        """The function that gives all terms that may enter the vocabulary."""
        if self._in_pairs:  # words are told from pieces of them by all that is there, stop words too
            return with_triples(self.splitting().words())
        sequence = self.splitting().sequence()
        return (lambda text: with_pairs(sequence(text))) if self.phrases else self._tokenizer()

    def _tokenizer(self) -> Callable[[str], list[str]]:
        """The function that gives the terms of a text."""
        return self.splitting().terms()

    def _choose(self, table: TermTable) -> np.ndarray:
        """Set the vocabulary; return the new column of each term of the table, -1 if it is left out."""
        df, tf, n_documents = table.df[: len(table)], table.tf[: len(table)], table.n_documents
        if not len(table):
            raise ValueError(
                f"The {n_documents} documents hold no word: {self._finder_name()} found none"
                + (" that is no stop word; stop_words=None keeps all words." if self.stop_words_ else ".")
            )
        least = 1 if n_documents < 50 else 2 + sum(n_documents > n for n in _MORE)
        low = _limit("min_df", self.min_df, n_documents, least)
        high = _limit("max_df", self.max_df, n_documents, 1.0 if n_documents < 50 else 0.5)
        terms = np.array(list(table.ids), dtype=object)
        names: dict[int, str] = {}
        if (threshold := threshold_of(self.phrases)) is not None:
            names = choose_pairs(terms, tf, df, low, threshold)
            tf = counts_outside(terms, tf, names)
        possible = tf > 0
        if self._in_pairs:
            pieces, triples = fragments(terms, tf, self.stop_words_)
            possible &= ~(pieces | triples | np.array([term in self.stop_words_ for term in terms], dtype=bool))
            self.stop_words_ |= frozenset(terms[pieces & (df >= low)])
        if not np.any(possible & (df >= low) & (df <= high)):
            low = 1 if self.min_df == "auto" else low
            high = n_documents if self.max_df == "auto" else high
        kept = possible & (df >= low) & (df <= high)
        kept &= tf >= low if names else True
        if not kept.any():
            raise ValueError(
                f"No word is left of {len(table):,}: with min_df={self.min_df} and max_df={self.max_df} a "
                f"word must stand in {low:g} to {high:g} of the {n_documents} documents; lower min_df or "
                "raise max_df."
            )
        too_frequent = terms[possible & (df > high)]
        terms[list(names)] = list(names.values())
        chosen = np.flatnonzero(kept)
        chosen = chosen[np.argsort(terms[chosen], kind="stable")]
        if self.max_features is not None and len(chosen) > self.max_features:
            score = tf[chosen] * np.log(n_documents / df[chosen])
            # the terms are in alphabetical order, so a stable sort breaks ties alphabetically
            chosen = chosen[np.sort(np.argsort(-score, kind="stable")[: self.max_features])]
        self._set_phrases(names[number] for number in chosen.tolist() if number in names)
        self._set_vocabulary(terms[chosen].tolist(), too_frequent, n_documents, table.n_pruned)
        new_id = np.full(len(table), -1, dtype=np.int32)
        new_id[chosen] = np.arange(len(chosen), dtype=np.int32)
        return new_id

    def _set_vocabulary(self, words: list[str], ignored: Iterable[str], n_documents: int, n_pruned: int) -> None:
        self.vocabulary_ = {word: column for column, word in enumerate(words)}
        self.ignored_ = frozenset(ignored)
        self.n_documents_, self.n_pruned_ = n_documents, n_pruned
        self._lookup = {**self.vocabulary_, **dict.fromkeys(self.ignored_, -2)}

    def _set_phrases(self, names: Iterable[str]) -> None:
        self._phrases = Phrases(names)
        self.phrases_ = self._phrases.names

    def _check_params(self, of_file: bool = False) -> None:
        _limit("min_df", self.min_df, 1, 1)
        _limit("max_df", self.max_df, 1, 1)
        if self.max_features is not None and not (_is_int(self.max_features) and self.max_features > 0):
            raise ValueError(f"max_features is {self.max_features!r}; expected None or a positive integer.")
        try:
            low, high = self.ngram_range
            fine = _is_int(low) and _is_int(high) and 1 <= low <= high
        except (TypeError, ValueError):
            fine = False
        if not fine:
            raise ValueError(f"ngram_range is {self.ngram_range!r}; expected two integers 1 <= low <= high.")
        if threshold_of(self.phrases) is not None and tuple(self.ngram_range) != (1, 1):
            raise ValueError(f"phrases: got {self.phrases!r} beside ngram_range={self.ngram_range!r}, expected (1, 1)")
        self._set_phrases(())
        if self.vocabulary is not None and self.lowercase:
            capital = next((word for word in _words_of(self.vocabulary) if word != word.lower()), None)
            if capital is not None:
                raise ValueError(
                    f"vocabulary: {capital!r:.60} is in no text, since lowercase=True makes words lower case"
                )
        check_tokenizer(self.tokenizer, of_file=of_file)
        make_tokenizer(self.tokenizer, self.token_pattern)
        self.stop_words_, self.language_, self._in_pairs = stop_words_of(self.stop_words), None, False
        if not isinstance(self.stem, bool):
            stemmer(self.stem)


def _words_of(vocabulary: Any) -> list[str]:
    """The words of the parameter `vocabulary` in the order of their columns; refuses what is no vocabulary."""
    if not isinstance(vocabulary, (list, tuple, np.ndarray, dict)):
        raise ValueError(f"vocabulary: got a {type(vocabulary).__name__}, expected a list, an array or a dict of words")
    words = list(vocabulary)
    if not words or not all(isinstance(word, str) for word in words) or len(set(words)) < len(words):
        raise ValueError("vocabulary: expected words, at least one and none of them twice")
    if isinstance(vocabulary, dict):
        places = list(vocabulary.values())
        if not all(map(_is_int, places)) or sorted(places) != list(range(len(words))):
            raise ValueError(f"vocabulary: expected a dict of words to the columns 0 to {len(words) - 1}")
        words.sort(key=vocabulary.__getitem__)
    return [str(word) for word in words]


def _limit(name: str, value: Any, n_documents: int, automatic: float) -> float:
    """Convert a count, a share or "auto" to a number of documents."""
    if isinstance(value, str) and value == "auto":
        value = automatic
    if _is_int(value) and value >= 1:
        return float(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0.0 <= float(value) <= 1.0:
        return float(value) * n_documents
    raise ValueError(f"{name} is {value!r}; expected 'auto', an integer of 1 or more, or a share from 0.0 to 1.0.")


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
