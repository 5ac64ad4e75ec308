"""Phrases: neighbours that stand together more often than chance explains are read as one word."""

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, Stream, Vectorizer, load
from supertopic.documents.phrases import _LEAST_COUNT, Phrases, threshold_of

RNG = np.random.default_rng(0)
WORDS = [f"w{'abcdefghij'[n]}" for n in range(10)]


def a_text():
    words = RNG.choice(WORDS, 12).tolist()
    for place in range(0, 10, 5):
        if RNG.random() < 0.6:
            words[place : place + 2] = ["front", "desk"]
        if RNG.random() < 0.1:
            words[place + 2] = "desk"
        if RNG.random() < 0.4:
            words[place + 3 : place + 5] = ["the", "staff"]
    return " ".join(words)


TEXTS = [a_text() for _ in range(120)]


def naive_npmi(texts, stop):
    """n_ab N / (n_a n_b), by the definition; a stop word parts neighbours."""
    words, pairs = Counter(), Counter()
    for text in texts:
        split = text.split()
        words.update(word for word in split if word not in stop)
        pairs.update(pair for pair in pairwise(split) if not set(pair) & stop)
    total = sum(words.values())
    return {
        pair: np.log((n / total) / (words[pair[0]] / total * words[pair[1]] / total)) / -np.log(n / total)
        for pair, n in pairs.items()
        if n >= _LEAST_COUNT and pair[0] != pair[1]
    }


@pytest.mark.parametrize("threshold", [0.02, 0.2, 0.5, 1.0])
def test_phrases_are_the_pairs_above_the_threshold(threshold):
    found = Vectorizer(phrases=threshold, stop_words=["the"], min_df=1, max_df=1.0).fit(TEXTS)
    npmi = naive_npmi(TEXTS, {"the"})
    assert found.phrases_ == {" ".join(pair) for pair, value in npmi.items() if value >= threshold}
    assert ("front desk" in found.phrases_) == (threshold <= 0.5)
    assert not any("the" in phrase.split() for phrase in found.phrases_)


def test_a_phrase_is_counted_instead_of_its_words():
    vectorizer = Vectorizer(phrases=True, stop_words=["the"], min_df=1, max_df=1.0).fit(TEXTS)
    text = "front desk desk front the desk front desk wa"
    counts = dict(zip(vectorizer.get_feature_names_out(), vectorizer.transform([text]).toarray()[0], strict=True))
    assert {word: n for word, n in counts.items() if n} == {"front desk": 2, "desk": 2, "wa": 1}
    assert vectorizer.unknown_words("front desk front")["front"] == 1  # which stands in the phrase only
    places = [(text[start:stop], word) for word, start, stop in vectorizer.located(text)]
    assert places == [
        ("front desk",) * 2,
        ("desk",) * 2,
        ("front",) * 2,
        ("desk",) * 2,
        ("front desk",) * 2,
        ("wa",) * 2,
    ]


def test_words_that_stand_in_phrases_only_are_no_words():
    vectorizer = Vectorizer(phrases=True, stop_words=["the"], min_df=1, max_df=1.0)
    counts = vectorizer.fit_transform(TEXTS)
    assert "front" not in vectorizer.vocabulary_ and {"front desk", "desk"} <= set(vectorizer.vocabulary_)
    np.testing.assert_array_equal(counts.toarray(), vectorizer.transform(TEXTS).toarray())
    total = sum(word != "the" for text in TEXTS for word in text.split())
    pairs = counts.toarray()[:, vectorizer.vocabulary_["front desk"]].sum()
    others = [place for word, place in vectorizer.vocabulary_.items() if word in vectorizer.phrases_]
    assert counts.sum() + counts[:, others].sum() == total and pairs == " ".join(TEXTS).count("front desk")


def test_a_stream_finds_the_same_phrases():
    whole = Vectorizer(phrases=True).fit(TEXTS)
    stream = Vectorizer(phrases=True).fit_stream(TEXTS[start : start + 17] for start in range(0, 120, 17))
    assert stream.phrases_ == whole.phrases_ and stream.vocabulary_ == whole.vocabulary_


@pytest.mark.parametrize("source", [TEXTS, Stream.from_iterable([TEXTS[:60], TEXTS[60:]])], ids=["texts", "stream"])
def test_a_model_knows_its_phrases(source, tmp_path):
    engine = {"inference": "svi"} if source is not TEXTS else {}
    words = Vectorizer(phrases=True, stop_words=["the"], max_df=1.0)
    model = LDA(2, max_iter=2, vectorizer=words, **engine).fit(source)
    assert "front desk" in model.feature_names_in_
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.vectorizer_.phrases_ == model.vectorizer_.phrases_
    np.testing.assert_array_equal(again.transform(TEXTS[:9]), model.transform(TEXTS[:9]))
    assert "front desk" in set(again.explain("wa front desk")["word"])


def test_phrases_are_written_to_json_and_read():
    vectorizer = Vectorizer(phrases=True).fit(TEXTS)
    again = Vectorizer.from_dict(json.loads(json.dumps(vectorizer.to_dict())))
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), vectorizer.transform(TEXTS).toarray())


def test_without_phrases_nothing_changes():
    plain = Vectorizer().fit(TEXTS)
    assert plain.phrases_ == frozenset() and plain.vocabulary_ == Vectorizer(phrases=False).fit(TEXTS).vocabulary_
    assert Phrases().joined(["a", None, "b"]) == [("a", 0, 0), ("b", 2, 2)]


@pytest.mark.parametrize(
    "params, message",
    [
        ({"phrases": 2}, "phrases: got 2, expected True, False or a threshold between 0 and 1"),
        ({"phrases": 0.0}, "phrases: got 0.0, expected"),
        ({"phrases": "npmi"}, "phrases: got 'npmi', expected"),
        ({"phrases": float("nan")}, "phrases: got nan, expected"),
        ({"phrases": True, "ngram_range": (1, 2)}, r"phrases: got True beside ngram_range=\(1, 2\), expected \(1, 1\)"),
    ],
)
def test_nonsense_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        Vectorizer(**params).fit(TEXTS)
    assert threshold_of(np.True_) == threshold_of(True) == 0.5 and threshold_of(np.float32(0.25)) == 0.25


@pytest.mark.parametrize(
    "name, expected",
    [("bbc_news", ["prime minister", "interest rates", "mobile phone"]), ("tripadvisor", ["front desk", "new york"])],
)
def test_real_corpora(data_dir, name, expected):
    texts = pd.read_parquet(data_dir / name / "data.parquet").text[:1500]
    found = Vectorizer(phrases=True).fit(texts)
    assert set(expected) <= found.phrases_
    assert len(found.phrases_) < 0.2 * len(found.vocabulary_)  # no n-gram noise
