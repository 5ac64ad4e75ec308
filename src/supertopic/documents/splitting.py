"""How texts become terms: words, phrases or n-grams of them. A predictor has this without the rest of a Vectorizer."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from supertopic.checks import whole_text
from supertopic.documents.languages import stemmer
from supertopic.documents.phrases import Phrases
from supertopic.documents.tokenizers import make_tokenizer
from supertopic.documents.word_patterns import TOKEN_PATTERN, WordPattern

_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]+);")  # of HTML, such as &amp;


def plain(text: str) -> tuple[str, list[int] | None]:
    """The text as a reader sees it, and where its characters stood; None where nothing moved."""
    if "&" not in text or not _ENTITY.search(text):
        return text.replace("\u2019", "'"), None
    found, places, end = "", [], 0
    for match in _ENTITY.finditer(text):
        sign = html.unescape(match.group())
        found += text[end : match.start()] + sign
        places += [*range(end, match.start()), *range(match.start(), match.start() + len(sign))]
        end = match.end()
    return (found + text[end:]).replace("\u2019", "'"), [*places, *range(end, len(text) + 1)]


@dataclass(frozen=True)
class Splitting:
    """The rules by which a text is split into terms."""

    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    tokenizer: str = "unicode"
    stem: object = False  # the language whose words are cut to their stems
    stop_words: frozenset[str] = frozenset()
    ngram_range: tuple[int, int] = (1, 1)
    phrases: Phrases = field(default_factory=Phrases)

    @property
    def finder(self) -> WordPattern:
        """What finds the words of a text, and where they stand."""
        return make_tokenizer(self.tokenizer, self.token_pattern)

    def words(self) -> Callable[[str], list[str]]:
        """The function that splits a text into words, stop words among them."""
        find, lowercase = self.finder.words, self.lowercase

        def split(text: str) -> list[str]:
            text = plain(whole_text(text))[0]
            return find(text.lower() if lowercase else text)

        return split

    def sequence(self) -> Callable[[str], list[str | None]]:
        """The function that gives the words of a text as the vocabulary has them, None where a stop word stands."""
        split, stop, stem = self.words(), self.stop_words, stemmer(self.stem)

        def sequence(text: str) -> list[str | None]:
            words = split(text)
            return [None if word in stop else stem(word) if stem else word for word in words]

        return sequence

    def terms(self) -> Callable[[str], list[str]]:
        """The function that gives the terms of a text: words, n-grams of them, or words and phrases."""
        sequence, phrases, (low, high) = self.sequence(), self.phrases, self.ngram_range

        def tokenise(text: str) -> list[str]:
            if phrases.names:
                return [term for term, _, _ in phrases.joined(sequence(text))]
            words = [word for word in sequence(text) if word is not None]
            if high == 1:
                return words
            runs = (zip(*(words[i:] for i in range(n)), strict=False) for n in range(low, high + 1))
            return [" ".join(run) for of_one_length in runs for run in of_one_length]

        return tokenise

    def located(self, text: str) -> list[tuple[str, int, int]]:
        """The words and phrases of a text as the vocabulary has them, and where each starts and ends."""
        (shown, places), stem = plain(text), stemmer(self.stem)
        spans = self.finder.spans(shown)
        words = [shown[start:end].lower() if self.lowercase else shown[start:end] for start, end in spans]
        if places is not None:
            spans = [(places[start], places[end]) for start, end in spans]
        kept = [None if word in self.stop_words else stem(word) if stem else word for word in words]
        return [(term, spans[first][0], spans[last][1]) for term, first, last in self.phrases.joined(kept)]
