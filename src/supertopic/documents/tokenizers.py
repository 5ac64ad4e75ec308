"""What finds the words of a text, by a name that a model file can hold.

"unicode" is the pattern of `word_patterns`. The others belong to packages that a user installs: "jieba" for Chinese,
"icu" or "icu:th" for the dictionaries of ICU, "spacy:de" or "spacy:de_core_news_sm" for spaCy, and
"package.module:function" for a function of one's own, which takes a text and returns a list of words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any

import regex

from supertopic.documents.word_patterns import WordPattern, without_addresses, word_pattern

__all__ = ["trust"]

_FUNCTION = regex.compile(r"[\w.]+:\w+")
_PACKAGES = {"jieba": "jieba", "icu": "PyICU", "spacy": "spacy"}  # what pip calls them
_ICU, _SPACY = (
    regex.compile(r"[a-z]{2,3}(?:_[A-Z]{2})?"),
    regex.compile(r"[a-z]{2,3}(?:_[a-z]+_[a-z]+_(?:sm|md|lg|trf))?"),
)
_LETTER = regex.compile(r"\p{L}")
_trusted: set[str] = set()


def trust(tokenizer: str) -> None:
    """Let model files use the function "package.module:function" to find words: loading one may then run its code."""
    _trusted.add(tokenizer)


def check_tokenizer(tokenizer: object, *, of_file: bool = False) -> None:
    """Refuse what is no name of a tokenizer; of a file, functions that the user did not name before."""
    kind, _, rest = tokenizer.partition(":") if isinstance(tokenizer, str) else ("", "", "")
    fine = tokenizer in ("unicode", "jieba", "icu")
    fine |= kind == "icu" and _ICU.fullmatch(rest) is not None
    fine |= kind == "spacy" and _SPACY.fullmatch(rest) is not None
    if fine:
        return
    if kind in _PACKAGES or not isinstance(tokenizer, str) or not _FUNCTION.fullmatch(tokenizer):
        some = "'unicode', 'jieba', 'icu:th', 'spacy:de' or 'package.module:function'"
        raise ValueError(f"tokenizer: got {tokenizer!r:.60}, expected {some}")
    if not of_file:
        trust(tokenizer)
    elif tokenizer not in _trusted:
        raise ValueError(
            f"tokenizer: the model finds words by the function {tokenizer!r:.60}, which a file may not run; if you "
            f"trust it, call supertopic.documents.tokenizers.trust({tokenizer!r:.60}) first"
        )


def make_tokenizer(tokenizer: str, pattern: str) -> WordPattern:
    """What finds the words; `pattern` is that of "unicode". A ValueError if a package or function is missing."""
    if tokenizer == "unicode":
        return word_pattern(pattern)
    return _Named(_function(tokenizer))


class _Named:
    """The words of a function that have a letter, in the order of the text."""

    def __init__(self, cut: Callable[[str], list[str]]) -> None:
        self._cut = cut

    def words(self, text: str) -> list[str]:
        return [word for word in map(str.strip, self._cut(text)) if _LETTER.search(word)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand; a word that the function made anew, such as a lemma, stands nowhere."""
        found, place = [], 0
        for word in self.words(text):
            start = text.find(word, place)
            if start >= 0:
                place = start + len(word)
                found.append((start, place))
        return found


@lru_cache(maxsize=8)  # dictionaries take a second to load
def _function(tokenizer: str) -> Callable[[str], list[str]]:
    kind, _, rest = tokenizer.partition(":")
    try:
        if kind == "jieba":
            jieba = import_module("jieba")
            jieba.setLogLevel(logging.WARNING)
            return lambda text: jieba.lcut(without_addresses(text))
        if kind == "icu":
            return _icu(import_module("icu"), rest)
        if kind == "spacy":
            spacy = import_module("spacy")
            language = spacy.load(rest) if "_" in rest else spacy.blank(rest)
            return lambda text: [token.text for token in language.make_doc(text)]
    except (ImportError, OSError) as error:
        package = _PACKAGES[kind] if isinstance(error, ImportError) else rest
        raise ValueError(f"tokenizer: {tokenizer!r} needs the package {package}, which is not installed") from error
    module, _, name = tokenizer.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"tokenizer: {tokenizer!r} is not there ({error})") from error


def _icu(icu: Any, language: str) -> Callable[[str], list[str]]:
    def cut(text: str) -> list[str]:
        found = icu.BreakIterator.createWordInstance(icu.Locale(language or "root"))
        given = icu.UnicodeString(without_addresses(text))  # whose places are those of UTF-16
        found.setText(given)
        ends = [0, *found]
        return [str(given[start:stop]) for start, stop in pairwise(ends)]

    return cut
