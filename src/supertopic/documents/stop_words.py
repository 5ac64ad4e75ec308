"""Words that are left out of a vocabulary because they tell nothing of a text's subject.

The one default of Python and of the command line is "auto": English stop words are left out of English texts, but for
words such as "serious" and "thin", which scikit-learn's list has and which say what a text thinks of a thing. Texts of
other languages keep all their words, since the English list has words of theirs, such as "de", "me" and "no".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

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
_LEAST_SHARE = 0.05  # of the words
_LOOKED_AT = 200  # documents


def stop_words_of(value: Any) -> frozenset[str]:
    """The words of the parameter `stop_words`; none yet for "auto", which waits for the texts."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return frozenset()
    if isinstance(value, str):
        if value != "english":
            raise ValueError(f"stop_words is {value!r}; expected 'auto', 'english', None or a list of words.")
        return ENGLISH
    words = list(value)
    if not all(isinstance(word, str) for word in words):
        raise ValueError("stop_words holds something that is no string; expected a list of words.")
    return frozenset(words)


def are_english(texts: Sequence[str], words_of: Callable[[str], list[str]]) -> bool:
    """Whether texts are English, by the share of words such as "the" and "of" in 200 documents, evenly spread."""
    n_words = n_markers = 0
    for text in texts[:: max(-(-len(texts) // _LOOKED_AT), 1)]:
        words = words_of(text)
        n_words += len(words)
        n_markers += sum(word in _MARKERS for word in words)
    return n_markers > 0 and n_markers >= _LEAST_SHARE * n_words
