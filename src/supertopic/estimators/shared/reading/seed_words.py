"""`seed_words=`: words that topics begin with, as users give them, become pseudo-counts of the topics' prior."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from supertopic.checks import check_number
from supertopic.documents.columns import listed
from supertopic.emissions.seeds import Seeds
from supertopic.fitted.fitted import Vocabulary

SeedWords = Mapping[str, Sequence[str] | Mapping[str, float]] | str | os.PathLike[str]
_EXPECTED = "expected words by topic, such as {'sport': ['match', 'coach*']}, or a file of them"


def read_seed_words(given: object) -> dict[str, dict[str, float]]:
    """Weights of words by topic, from a dict of lists or of weights, or from a file.

    A file is JSON, or text with a line such as ``sport: match, coach*`` for each topic.
    """
    if isinstance(given, (str, os.PathLike)):
        given = _from_file(Path(given))
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"seed_words: got {given!r:.60}, {_EXPECTED}")
    found: dict[str, dict[str, float]] = {}
    for name, words in given.items():
        one_word = isinstance(words, str)
        weights = words if isinstance(words, Mapping) else dict.fromkeys([words] if one_word else words, 1.0)
        if not weights or not all(isinstance(word, str) and word for word in weights):
            raise ValueError(f"seed_words: topic {name!r:.40} has {words!r:.60}, {_EXPECTED}")
        for word, weight in weights.items():
            check_number(f"seed_words: weight of {word!r:.40}", weight, above_zero=True)
        found[str(name)] = {word: float(weight) for word, weight in weights.items()}
    return found


def find_seeds(given: object, vocabulary: Vocabulary, totals: np.ndarray, n_topics: int) -> Seeds:
    """Pseudo-counts: of each word, its weight times as many as its tokens; a warning names words that nobody uses.

    totals : (V,) tokens of each word
    """
    asked = read_seed_words(given)
    if len(asked) > n_topics:
        raise ValueError(f"seed_words: got {len(asked)} topics, expected at most n_topics={n_topics}")
    if vocabulary.names is None:
        raise ValueError("seed_words: X has counts without the names of their words; give texts, or a frame of counts")
    place = {str(word): number for number, word in enumerate(vocabulary.names)}
    pairs: dict[tuple[int, int], int] = {}
    unknown = []
    for topic, weights in enumerate(asked.values()):
        for word, weight in weights.items():
            found = _matches(word, place)
            unknown += [] if found else [word]
            for number in found:
                pairs[number, topic] = max(1, round(weight * float(totals[number])))
    if unknown:
        more = "" if pairs else ", and no seed word is left"
        warnings.warn(f"seed_words: not in the vocabulary: {listed(unknown)}{more}", UserWarning, stacklevel=5)
    table = np.array([(*pair, count) for pair, count in pairs.items()], dtype=np.int64).reshape(-1, 3)
    words, topics, counts = table.T.copy()
    return Seeds(words, topics, counts, tuple(asked))


def _matches(word: str, place: Mapping[str, int]) -> list[int]:
    """The numbers of a word, or of those that a pattern with * or ? fits."""
    if any(sign in word for sign in "*?"):
        return [number for other, number in place.items() if fnmatchcase(other.lower(), word.lower())]
    return [place[one] for one in (word, word.lower()) if one in place][:1]


def _from_file(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"seed_words: {path} cannot be read: {error}") from error
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError as error:
            raise ValueError(f"seed_words: {path} is no JSON: {error}") from None
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not all(":" in line for line in lines):
        raise ValueError(f"seed_words: {path} has a line without a colon, expected such as 'sport: match, coach*'")
    pairs = (line.split(":", 1) for line in lines)
    return {name.strip(): words.replace(",", " ").split() for name, words in pairs}
