"""A Vectorizer in the words of the page: the same tokens, by a regular expression of JavaScript."""

from __future__ import annotations

import re
from typing import Any

from supertopic.documents.languages import SPACELESS
from supertopic.documents.vectorizer import Vectorizer
from supertopic.documents.word_patterns import ADDRESS, SPACELESS_RUN, TOKEN_PATTERN

# The classes of JavaScript cover ASCII only. `\w` is that of `regex`, but for our own pattern.
_OWN_WORD, _WORD = rf"[\p{{L}}\p{{M}}\p{{N}}_]--[{SPACELESS}]", r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"
_OUTSIDE = {"A": r"(?<![\s\S])", "Z": r"(?![\s\S])"}
_BRACES = re.compile(r"\{(\d*)(,?)(\d*)\}(?!\+)")
_SAME = set("nrtfv")  # escapes that mean the same in both
_GROUPS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_SYNTAX = set(r"()[]{}/-\|^$.*+?&!#%,:;<=>@`~")  # what may be escaped in JavaScript with the flag "v"


def describe_tokens(vectorizer: object) -> dict[str, Any] | None:
    """What the page needs to split a text into terms; None where it cannot do what the vectorizer does.

    A model that was fitted to counts has no vectorizer: then the page splits by the default rules.
    """
    own = Vectorizer() if vectorizer is None else vectorizer
    if not isinstance(own, Vectorizer) or own.tokenizer != "unicode" or own.stem:
        return None
    try:
        pattern = to_javascript(own.token_pattern)
    except ValueError:
        return None
    return {
        "pattern": pattern,
        "address": ADDRESS if own.token_pattern == TOKEN_PATTERN else "",
        "lowercase": bool(own.lowercase),
        "ngrams": [int(n) for n in own.ngram_range],
        "stop_words": sorted(getattr(own, "stop_words_", ())),
        "phrases": sorted(getattr(own, "phrases_", ())),
        "is_default": vectorizer is None,
    }


def to_javascript(pattern: str) -> str:
    """The regular expression of JavaScript (flags "gv") that finds what Python finds in a str; ValueError if unsure.

    The first group of our own holds characters of a script without spaces, of which every two neighbours are a word.
    """
    if pattern == TOKEN_PATTERN:
        return f"({SPACELESS_RUN})|{_translated(pattern, _OWN_WORD)}"
    return _translated(pattern, _WORD)


def _translated(pattern: str, word: str) -> str:
    classes = {"w": word, "d": r"\p{Nd}", "s": r"\p{White_Space}"}
    found: list[str] = []
    place = 0
    while place < len(pattern):
        rest, sign = pattern[place:], pattern[place]
        if sign == "\\":
            found.append(_outside(pattern, place, classes))
            place += 2
        elif sign == "[":
            piece, place = _inside(pattern, place, classes)
            found.append(piece)
        elif rest.startswith("(?"):
            opening = next((group for group in _GROUPS if rest.startswith(group)), None)
            if opening is None:
                raise ValueError(f"the page cannot read the group {rest[:4]!r}")
            found.append(opening)
            place += len(opening)
        elif sign == "." or sign == "$":  # a dot stops at fewer line ends in Python, and $ looks before the last one
            found.append(r"[^\n]" if sign == "." else r"(?=\n?(?![\s\S]))")
            place += 1
        elif rest[:2] in ("*+", "++", "?+"):
            raise ValueError("the page cannot read a possessive quantifier")
        elif sign == "{":
            braces = _BRACES.match(rest)
            if braces is None or not braces[1] + braces[3]:
                raise ValueError(f"the page cannot read the quantifier {rest[:6]!r}")
            found.append(f"{{{braces[1] or 0}{braces[2]}{braces[3]}}}")
            place += braces.end()
        else:
            found.append(sign if sign in "()|^*+?" else _literal(sign))
            place += 1
    return "".join(found)


def _escaped(pattern: str, place: int) -> str:
    if place + 1 >= len(pattern):
        raise ValueError("the pattern ends in a backslash")
    return pattern[place + 1]


def _outside(pattern: str, place: int, classes: dict[str, str]) -> str:
    letter = _escaped(pattern, place)
    if letter.lower() in classes:
        return f"[{'' if letter.islower() else '^'}{classes[letter.lower()]}]"
    if letter in "bB":
        after, before = f"(?<=[{classes['w']}])", f"(?=[{classes['w']}])"
        no_after, no_before = after.replace("=", "!", 1), before.replace("=", "!", 1)
        edge, inside = (no_before, before) if letter == "b" else (before, no_before)
        return f"(?:{after}{edge}|{no_after}{inside})"
    if letter in _OUTSIDE:
        return _OUTSIDE[letter]
    return _plain_escape(letter)


def _plain_escape(letter: str) -> str:
    if letter in _SAME:
        return "\\" + letter
    if letter.isalnum():
        raise ValueError(f"the page cannot read the escape \\{letter}")
    return _literal(letter)


def _literal(sign: str) -> str:
    if sign in _SYNTAX:
        return f"\\u{{{ord(sign):x}}}"
    return sign if sign.isascii() and sign.isprintable() else f"\\u{{{ord(sign):x}}}"


def _inside(pattern: str, place: int, classes: dict[str, str]) -> tuple[str, int]:
    """The class that starts at `place`, and the place after it."""
    parts, place = ["["], place + 1
    if pattern[place : place + 1] == "^":
        parts.append("^")
        place += 1
    first = True
    while place < len(pattern) and (first or pattern[place] != "]"):
        sign = pattern[place]
        if sign == "\\":
            letter = _escaped(pattern, place)
            if letter.lower() in classes:
                within = classes[letter.lower()]
                parts.append(within if letter.islower() else f"[^{within}]")
            else:
                parts.append(_plain_escape(letter))
            place += 2
        elif pattern.startswith("[:", place):
            raise ValueError(f"the page cannot read the class {pattern[place : place + 9]!r}")
        else:
            is_range = sign == "-" and not first and pattern[place + 1 : place + 2] != "]" and parts[-1] not in "[^"
            parts.append("-" if is_range else _literal(sign))
            place += 1
        first = False
    if place >= len(pattern):
        raise ValueError("the pattern has a class without an end")
    return "".join([*parts, "]"]), place + 1
