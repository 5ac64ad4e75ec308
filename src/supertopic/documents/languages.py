"""Languages: their names, the scripts that have no spaces between words, and what cuts words to their stems.

A language is called by its code of two letters, as in ISO 639-1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module

import regex

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

# Scripts without spaces between words, and the first language that is written so.
_SPACELESS = {
    "ja": r"\p{Script=Hiragana}\p{Script=Katakana}ー", "zh": r"\p{Script=Han}", "th": r"\p{Script=Thai}",
    "lo": r"\p{Script=Lao}", "km": r"\p{Script=Khmer}", "my": r"\p{Script=Myanmar}",
}  # fmt: skip
SPACELESS = "".join(_SPACELESS.values())  # the characters of these scripts, for a class of a regular expression
_LETTERS_OF_SCRIPTS = {code: regex.compile(f"[{script}]") for code, script in _SPACELESS.items()}
_LETTER, _LEAST_LETTERS = regex.compile(r"\p{L}"), 0.3  # of the letters, in a script


def code_of(value: str, name: str) -> str:
    """The code of a language, from its code or its English name."""
    by_name = {language.lower(): code for code, language in NAMES.items()}
    code = by_name.get(value.lower(), value.lower())
    if code not in NAMES:
        raise ValueError(
            f"{name} is {value!r}; expected 'auto', None, a list of words, or a language such as 'german'."
        )
    return code


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


def spaceless_script(texts: Iterable[str]) -> str | None:
    """The language of the script that most letters of texts are of, if it has no spaces between words."""
    foreign = [text for text in texts if not text.isascii()]
    n_letters = sum(len(_LETTER.findall(text)) for text in texts)
    for code, letters in _LETTERS_OF_SCRIPTS.items():  # Japanese first, which has Han as well
        least = _LEAST_LETTERS / 3 if code == "ja" else _LEAST_LETTERS
        if sum(len(letters.findall(text)) for text in foreign) > least * n_letters:
            return code
    return None
