"""Words by patterns: those of `re` where it can be trusted, in bounded time where it cannot."""

import re
import time

import pytest

from supertopic.documents.word_patterns import TOKEN_PATTERN, word_pattern

# Python's `re` tries exponentially many ways.
MANY_WAYS = [
    (r"(?:a|aa)+$", "a" * 60 + "b"), (r"(?:a|a)" * 30 + "b", "a" * 60), (r"(?=(?:a|aa)+$)\w", "a" * 60 + "b"),
    (r"(?:a{1,30}){1,30}b", "a" * 60), (r"(?:-\w+)+(?:-\w+)+x", "-a" * 5000),
    (r"(?:[\u5001-\u5050]|[\u5001-\u5050][\u5001-\u5050])+$", "\u5002" * 60 + "."),
    (r"(?:a(?R)?)+$", "a" * 3000 + "b"),
]  # fmt: skip
USUAL = [
    TOKEN_PATTERN, r"(?u)\b\w\w+\b", r"\w+", r"\w+(?:-\w+)*", r"\w+(?:[-']\w+)*", r"[a-z]{2,}", r"colou?r\w*",
    r"\w+|\$[\d.]+|\S+", r"[A-Za-z]+(?:'[a-z]+)?", r"#?\w+", r"\S+", r"(?i)[a-z]+\d*", r"\b[^\W\d_]{3,20}\b",
    r"(?:foo|bar)\w*",
]  # fmt: skip
TEXT = "The colour of foobar's #hat - café, well-known, $3.50 and n_samples; ÉTÉ 20th ΣΟΦΟΣ 日本語 it's"


@pytest.mark.parametrize(("pattern", "text"), MANY_WAYS)
def test_time_is_bounded(pattern, text):
    start = time.process_time()
    with pytest.raises(ValueError, match=r"token_pattern: got .* takes too long on a text of [\d,]+ characters, exp"):
        word_pattern(pattern).words(text)
    assert time.process_time() - start < 3


def test_a_range_that_repeats_itself():
    """The 26 characters take `re` 24 seconds."""
    assert word_pattern(r"(?:[\u5001-\u5050][\u5001-\u5050]*)*[\u6001-\u6050]").words("\u5002" * 26) == []


@pytest.mark.parametrize("pattern", USUAL)
def test_usual_patterns_find_what_re_finds(pattern):
    found, text = word_pattern(pattern), TEXT if pattern != TOKEN_PATTERN else TEXT.replace("日本語", "")
    assert found.words(text) == re.findall(pattern, text)
    assert found.spans(text) == [match.span() for match in re.finditer(pattern, text)]


def test_classes_are_those_of_unicode():
    assert word_pattern(r"\w+").words("हिन्दी cafe\u0301 x²") == ["हिन्दी", "cafe\u0301", "x"]
    assert word_pattern(r"\p{Lu}+").words("The ÉTÉ") == ["T", "ÉTÉ"]


@pytest.mark.parametrize("pattern", [3, None, "a" * 501, "(", "(a)b", "(?P<x>a)(?P=x)", "[", "a" + "(?:" * 160])
def test_what_is_no_pattern_of_words_is_refused(pattern):
    with pytest.raises(ValueError, match=r"^token_pattern") as caught:
        word_pattern(pattern)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@md_franz schau HTTPS://t.co/a1?b=c, (http://x.de/y) www.z.org oder", ["schau", "oder"]),
        ("me@home.de: an e-mail's words stay", ["me", "home", "de", "an", "mail", "words", "stay"]),
        ("das hat @jörg gesagt", ["das", "hat", "gesagt"]),
        ("@所有人 你好", ["所有", "有人", "你好"]),
    ],
)
def test_addresses_are_no_words(text, words):
    own = word_pattern(TOKEN_PATTERN)
    assert own.words(text) == words == [text[start:stop] for start, stop in own.spans(text)]
    assert "http" in word_pattern(r"\w+").words("http://x")  # a pattern of one's own finds what it says
