"""Languages of texts: which one it is, its words that tell nothing of a subject, and whether words have spaces between.

A language is called by its code of two letters, as in ISO 639-1. The stop words of English are scikit-learn's, those of
the others come from the package stopwordsiso.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import regex
import stopwordsiso
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

NAMES = {
    "af": "Afrikaans", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "br": "Breton", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto",
    "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "ha": "Hausa", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "ku": "Kurdish", "la": "Latin", "lt": "Lithuanian", "lv": "Latvian",
    "mr": "Marathi", "ms": "Malay", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "so": "Somali", "st": "Sotho",
    "sv": "Swedish", "sw": "Swahili", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "vi": "Vietnamese", "yo": "Yoruba", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip

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
_LEAST_LETTERS = 0.3  # of the letters, in a script

# Scripts without spaces between words, and the first language that is written so.
_SPACELESS = {
    "ja": r"\p{Script=Hiragana}\p{Script=Katakana}ー", "zh": r"\p{Script=Han}", "th": r"\p{Script=Thai}",
    "lo": r"\p{Script=Lao}", "km": r"\p{Script=Khmer}", "my": r"\p{Script=Myanmar}",
}  # fmt: skip
SPACELESS = "".join(_SPACELESS.values())  # the characters of these scripts, for a class of a regular expression
_LETTERS_OF_SCRIPTS = {code: regex.compile(f"[{script}]") for code, script in _SPACELESS.items()}
_LETTER, _UKRAINIAN = regex.compile(r"\p{L}"), regex.compile("[іїєґ]")


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


def code_of(value: str, name: str) -> str:
    """The code of a language, from its code or its English name."""
    by_name = {language.lower(): code for code, language in NAMES.items()}
    code = by_name.get(value.lower(), value.lower())
    if code not in NAMES:
        raise ValueError(
            f"{name} is {value!r}; expected 'auto', None, a list of words, or a language such as 'german'."
        )
    return code


def usual_stop_words(language: str | None) -> frozenset[str]:
    """The words that "auto" leaves out of texts of a language."""
    if language is None or language not in NAMES:
        return frozenset()
    return DEFAULT if language == "en" else frozenset(stopwordsiso.stopwords(language))


def stemmer(language: object) -> Callable[[str], str] | None:
    """What cuts words of a language to their stems; None for no language, or one that has no stemmer."""
    if not language:
        return None
    if not isinstance(language, str):
        raise ValueError(f"stem: got {language!r:.40}, expected True, False or a language such as 'german'")
    code = code_of(language, "stem")
    try:
        found = import_module("snowballstemmer")
    except ImportError as error:
        raise ValueError("stem: needs the package snowballstemmer, which is not installed") from error
    if NAMES[code].lower() not in found.algorithms():
        return None
    return lru_cache(1 << 18)(found.stemmer(NAMES[code].lower()).stemWord)


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


def spaceless_script(texts: Iterable[str]) -> str | None:
    """The language of the script that most letters of texts are of, if it has no spaces between words."""
    foreign = [text for text in texts if not text.isascii()]
    n_letters = sum(len(_LETTER.findall(text)) for text in texts)
    for code, letters in _LETTERS_OF_SCRIPTS.items():  # Japanese first, which has Han as well
        least = _LEAST_LETTERS / 3 if code == "ja" else _LEAST_LETTERS
        if sum(len(letters.findall(text)) for text in foreign) > least * n_letters:
            return code
    return None


@cache
def _languages_of() -> dict[str, list[str]]:
    """The languages in whose lists a word stands."""
    found: dict[str, list[str]] = {}
    for code in sorted(stopwordsiso.langs()):
        for word in sorted(stopwordsiso.stopwords(code)):
            found.setdefault(word, []).append(code)
    return found
