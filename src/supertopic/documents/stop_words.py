"""Words of a language that tell nothing of a subject, and which language texts are in.

The stop words of English are scikit-learn's, those of the others come from the package stopwordsiso.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import regex
import stopwordsiso
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from supertopic.documents.languages import NAMES, code_of, spaceless_script

# scikit-learn's list has no contractions, since its tokeniser cuts them at the apostrophe
_CONTRACTIONS = frozenset(
    f"{stem}{ending}"
    for stems, endings in (
        ("are could did does do had has have is might must need should was were would", ["n't"]),
        ("ca wo sha", ["n't"]),
        ("i you he she it we they that there who", ["'d", "'ll", "'m", "'re", "'ve"]),
    )
    for stem in stems.split()
    for ending in endings
)
ENGLISH = ENGLISH_STOP_WORDS | _CONTRACTIONS

# Words of scikit-learn's list that do tell what a text is about, or what it thinks of it: the default keeps them.
_CONTENT = (
    "amount bill bottom call cry describe detail empty fill find fire found front full interest mill move name serious "
    "side sincere system thick thin top"
)
DEFAULT = ENGLISH - frozenset(_CONTENT.split())

# Frequent in English (13 to 18 of 100 words in seven corpora) and rare in every other language.
_MARKERS = frozenset(["the", "and", "of", "that", "with", "this", "from", "which", "have", "they"])
_LEAST_MARKERS = 0.05  # of the words
_LOOKED_AT = 200  # documents
_LEAST_SCORE, _LEAST_WORDS = 0.1, 5  # one sentence of a language has 0.1 to 0.5; so many different words of the list
_UKRAINIAN = regex.compile("[іїєґ]")


def stop_words_of(value: Any) -> frozenset[str]:
    """The words of the parameter `stop_words`; none yet for "auto", which waits for the texts."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return frozenset()
    if isinstance(value, str):
        return ENGLISH if (code := code_of(value, "stop_words")) == "en" else frozenset(stopwordsiso.stopwords(code))
    words = list(value)
    if not all(isinstance(word, str) for word in words):
        raise ValueError("stop_words holds something that is no string; expected a list of words.")
    return frozenset(words)


def usual_stop_words(language: str | None) -> frozenset[str]:
    """The words that "auto" leaves out of texts of a language."""
    if language is None or language not in NAMES:
        return frozenset()
    return DEFAULT if language == "en" else frozenset(stopwordsiso.stopwords(language))


def guess_language(texts: Sequence[str], words_of: Callable[[str], list[str]]) -> str | None:
    """The language of texts, by 200 of them, evenly spread; None where no language is seen.

    English is seen by the share of words such as "the" and "of". A script without spaces is seen by its letters. Of the
    other languages, that one is meant whose stop words make up most of the words; a word that stands in the lists of n
    languages counts 1/n.
    """
    some = texts[:: max(-(-len(texts) // _LOOKED_AT), 1)]
    words = Counter(word for text in some for word in words_of(text))
    total = words.total()
    if not total:
        return None
    if sum(words[word] for word in _MARKERS) >= _LEAST_MARKERS * total:
        return "en"
    if (code := spaceless_script(some)) is not None:
        return code
    scores: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for word, number in words.items():
        languages = _languages_of().get(word.lower(), ())
        for code in languages:
            scores[code] += number / len(languages)  # type: ignore[assignment]
            kinds[code] += 1
    best = max(sorted(scores), key=scores.__getitem__, default="en")
    if best == "en" or scores[best] < _LEAST_SCORE * total or kinds[best] < _LEAST_WORDS:
        return None
    return "uk" if best == "ru" and any(map(_UKRAINIAN.search, some)) else best


@cache
def _languages_of() -> dict[str, list[str]]:
    """The languages in whose lists a word stands."""
    found: dict[str, list[str]] = {}
    for code in sorted(stopwordsiso.langs()):
        for word in sorted(stopwordsiso.stopwords(code)):
            found.setdefault(word, []).append(code)
    return found
