"""The words of a text by a regular expression, in bounded time.

Python's matcher tries one way after another, and a pattern such as ``(?:a+)+b`` has exponentially many. Patterns of
users and of files are therefore searched by the package `regex`, which stops when its time is up. To it ``\\w`` and the
other classes mean what Unicode says: the marks of a letter belong to its word. Our own pattern takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

import regex

from supertopic.documents.languages import SPACELESS

# A word starts with a letter and has at least two characters. It may contain digits, inner apostrophes and underscores
# (don't, mp3, n_samples). A possessive 's is removed (film's -> film), and numbers (1999, 20th) are not words.
TOKEN_PATTERN = r"(?<![^\W_])[^\W\d_](?:'(?!s\b))?\w+(?<!_)(?:'(?!s\b)\w+(?<!_))*"

# In scripts without spaces between words, every two neighbouring characters are one. Marks belong to their letters.
SPACELESS_RUN = rf"[{SPACELESS}][{SPACELESS}\p{{M}}]*"
_WORD, _LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{SPACELESS}]]", rf"[[\p{{L}}\p{{M}}\p{{Nl}}\p{{No}}]--[{SPACELESS}]]"
_UNICODE = TOKEN_PATTERN.replace(r"[^\W_]", f"[{_WORD}--_]").replace(r"[^\W\d_]", _LETTER).replace(r"\w", _WORD)

# Who is spoken to, and where something stands: no words of a language. The same in JavaScript.
ADDRESS = (
    r"(?:[hH][tT][tT][pP][sS]?:\/\/|(?<![A-Za-z0-9_.])[wW]{3}\.)[!#-&*-;=?-~]+|(?<![A-Za-z0-9_@])@[A-Za-z0-9_À-ɏ]+"
)
_ADDRESS = re.compile(ADDRESS)

_LONGEST = 500  # characters of a pattern
_SECONDS, _SECONDS_PER_CHARACTER = 0.3, 1e-5  # fifty times what usual patterns take


class WordPattern(Protocol):
    def words(self, text: str) -> list[str]: ...

    def spans(self, text: str) -> list[tuple[int, int]]: ...


def word_pattern(pattern: str) -> WordPattern:
    """The pattern, ready to search; a ValueError in one sentence if it is no regular expression of words."""
    if pattern == TOKEN_PATTERN:
        return _Own()
    return _Bounded(pattern)


def without_addresses(text: str) -> str:
    """The text with blanks in the place of links and of names after an @."""
    if "@" in text or "://" in text or "www." in text.lower():
        return _ADDRESS.sub(lambda match: " " * len(match.group()), text)
    return text


class _Own:
    """Our own pattern without addresses: by `re`, quickly, in Latin letters without separate marks; else by `regex`."""

    _quick, _any = re.compile(TOKEN_PATTERN), regex.compile(f"({SPACELESS_RUN})|{_UNICODE}", regex.V1)
    _foreign = re.compile(
        "[\u0300-\u1fff\u20d0-\u20ff\u2c00-\ud7ff\uf900-\ufffd\U00010000-\U0001efff\U0001fb00-\U0010ffff]"
    )
    _character = regex.compile(r"\P{M}\p{M}*")

    def words(self, text: str) -> list[str]:
        text = without_addresses(text)
        if text.isascii() or not self._foreign.search(text):
            return self._quick.findall(text)
        return [text[start:stop] for start, stop in self._spans(text)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        text = without_addresses(text)
        if text.isascii() or not self._foreign.search(text):
            return [match.span() for match in self._quick.finditer(text)]
        return list(self._spans(text))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        for match in self._any.finditer(text):
            if match[1] is None:
                yield match.span()
                continue
            starts = [one.start() for one in self._character.finditer(text, *match.span())]
            ends = [*starts[2:], match.end()]
            yield from zip(starts, ends, strict=False)


class _Bounded:
    def __init__(self, pattern: str) -> None:
        if not isinstance(pattern, str) or len(pattern) > _LONGEST:
            raise ValueError(f"token_pattern: got {pattern!r:.60}, expected a text of at most {_LONGEST} characters")
        try:
            self._compiled = regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError) as error:
            raise ValueError(f"token_pattern is {pattern!r}, no regular expression: {error}.") from error
        if self._compiled.groups:
            raise ValueError(f"token_pattern is {pattern!r}; expected one without capturing groups.")

    def words(self, text: str) -> list[str]:
        return [match.group() for match in self._matches(text)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in self._matches(text)]

    def _matches(self, text: str) -> Iterator[regex.Match[str]]:
        try:
            yield from self._compiled.finditer(text, timeout=_SECONDS + _SECONDS_PER_CHARACTER * len(text))
        except TimeoutError:
            raise ValueError(
                f"token_pattern: got {self._compiled.pattern!r:.60}, which takes too long on a text of {len(text):,}"
                " characters, expected a pattern that finds a word in one way only"
            ) from None
