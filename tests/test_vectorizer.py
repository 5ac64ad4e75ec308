"""The vectorizer: words, limits, streams, and its state as JSON."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer

from supertopic import LDA
from supertopic import load as load_model
from supertopic.datasets import load
from supertopic.documents import terms
from supertopic.documents.corpus import Corpus, as_corpus
from supertopic.documents.vectorizer import TOKEN_PATTERN, Vectorizer

TEXTS = ["The cat sat on the mat", "the dog sat", "Cats and dogs, cats and dogs", ""]


def naive_tf_idf_choice(texts, n):
    """Summed tf-idf, term by term and document by document."""
    documents = [re.findall(TOKEN_PATTERN, text.lower()) for text in texts]
    words = sorted({word for document in documents for word in document})
    score = {}
    for word in words:
        df = sum(word in document for document in documents)
        score[word] = sum(document.count(word) * np.log(len(texts) / df) for document in documents)
    return sorted(sorted(words, key=lambda word: (-round(score[word], 9), word))[:n])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't stop", ["don't", "stop"]),
        ("the film\u2019s end isn\u2019t here", ["the", "film", "end", "isn't", "here"]),
        ("1999, 20th, 3d and mp3", ["and", "mp3"]),
        ("n_samples of _emphasis_ in __init__", ["n_samples", "of", "emphasis", "in", "init"]),
        ("O'Neil's dogs' rock'n'roll", ["o'neil", "dogs", "rock'n'roll"]),
        ("a I x", []),
        (
            "\u00e9t\u00e9 na\u00efve \u0442\u0435\u043c\u0430 the\x7fta",
            ["\u00e9t\u00e9", "na\u00efve", "\u0442\u0435\u043c\u0430", "the", "ta"],
        ),
    ],
)
def test_words(text, words):
    vectorizer = Vectorizer(min_df=1, max_df=1.0)
    vectorizer._check_params()
    assert vectorizer._tokenizer()(text) == words


@given(st.lists(st.text(alphabet="abAB1 _'\u2019\u00e9.", max_size=30), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_same_counts_as_scikit_learn(texts):
    mine = Vectorizer(min_df=1, max_df=1.0)
    theirs = CountVectorizer(token_pattern=TOKEN_PATTERN)
    plain = [text.replace("\u2019", "'") for text in texts]
    try:
        expected = theirs.fit_transform(plain)
    except ValueError:
        with pytest.raises(ValueError, match="hold no word"):
            mine.fit(texts)
        return
    counts = mine.fit_transform(texts)
    assert list(mine.get_feature_names_out()) == list(theirs.get_feature_names_out())
    np.testing.assert_array_equal(counts.toarray(), expected.toarray())
    np.testing.assert_array_equal(mine.transform(texts).toarray(), expected.toarray())


@pytest.mark.parametrize("ngram_range", [(1, 2), (2, 3)])
def test_ngrams_as_scikit_learn(ngram_range):
    options = {"ngram_range": ngram_range, "stop_words": ["the", "and"], "token_pattern": TOKEN_PATTERN}
    mine, theirs = Vectorizer(**options, min_df=1, max_df=1.0), CountVectorizer(**options)
    expected = theirs.fit_transform(TEXTS)
    np.testing.assert_array_equal(mine.fit_transform(TEXTS).toarray(), expected.toarray())
    assert list(mine.vocabulary_) == list(theirs.get_feature_names_out())


def test_blocks_join_to_the_same_counts(monkeypatch):
    whole = Vectorizer().fit_transform(TEXTS)
    monkeypatch.setattr(terms, "_BLOCK_TOKENS", 3)
    vectorizer = Vectorizer()
    parts = vectorizer.fit_transform(TEXTS)
    np.testing.assert_array_equal(whole.toarray(), parts.toarray())
    np.testing.assert_array_equal(whole.toarray(), vectorizer.transform(TEXTS).toarray())


def test_counts_are_ready_for_a_corpus():
    counts = Vectorizer().fit_transform(TEXTS)
    assert counts.dtype == np.float32
    assert counts.indices.dtype == np.int32
    assert counts.has_canonical_format


@pytest.mark.parametrize("n", [1, 3, 5])
def test_max_features_keeps_the_best_by_summed_tf_idf(n):
    assert list(Vectorizer(stop_words=None, max_features=n).fit(TEXTS).vocabulary_) == naive_tf_idf_choice(TEXTS, n)


@pytest.mark.parametrize(
    ("n_documents", "least"), [(49, 1), (50, 2), (400, 2), (401, 3), (801, 4), (1600, 4), (1601, 5)]
)
def test_automatic_min_df(n_documents, least):
    texts = [f"filler{i % 3}" for i in range(n_documents)]
    for df in (1, 2, 3, 4, 5):
        for i in range(df):
            texts[i] += f" word{df}"
    kept = {word for word in Vectorizer().fit(texts).vocabulary_ if word.startswith("word")}
    assert kept == {f"word{df}" for df in range(least, 6)}


@pytest.mark.parametrize(("n_documents", "gone"), [(49, False), (50, True)])
def test_automatic_max_df(n_documents, gone):
    texts = [f"common word{i % 4}" for i in range(n_documents)]
    vectorizer = Vectorizer().fit(texts)
    assert ("common" not in vectorizer.vocabulary_) is gone
    assert vectorizer.ignored_ == (frozenset(["common"]) if gone else frozenset())


def test_automatic_limits_never_empty_the_vocabulary():
    assert list(Vectorizer().fit(["same words"] * 60).vocabulary_) == ["same", "words"]
    assert len(Vectorizer().fit([f"unique{i}" for i in range(60)]).vocabulary_) == 60


def test_unknown_tokens_are_counted_without_stop_and_common_words():
    texts = [f"common word{i % 4} the" for i in range(60)]
    vectorizer = Vectorizer(stop_words=["the"]).fit(texts)
    corpus = as_corpus(["common the word1 new newer new", "nothing here"], vectorizer=vectorizer)
    assert corpus.n_unknown == 5
    assert corpus.n_empty == 1
    assert corpus.lengths.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2)])
def test_english_texts_lose_their_stop_words_by_default(ngram_range):
    texts = ["Solve a pair of equations for the unknown", "the mean of a sample", "Markets fell as stocks closed", ""]
    expected = Vectorizer(stop_words="english", ngram_range=ngram_range).fit(texts)
    options = {"ngram_range": ngram_range}
    stream = Vectorizer(**options).fit_stream([texts[3:], texts])  # a batch without a word does not decide
    for found in (Vectorizer(**options).fit(texts), stream):
        assert "the" in found.stop_words_
        assert found.vocabulary_ == expected.vocabulary_
    np.testing.assert_array_equal(
        Vectorizer(**options).fit_transform(texts).toarray(), expected.transform(texts).toarray()
    )
    assert "the" in Vectorizer(stop_words=None).fit(texts).vocabulary_


def test_the_default_keeps_words_with_a_meaning():
    texts = ["the serious system of thin interest", "and the empty bill"]
    assert set(Vectorizer().fit(texts).vocabulary_) == {"serious", "system", "thin", "interest", "empty", "bill"}
    assert Vectorizer().fit(texts).stop_words_ < Vectorizer(stop_words="english").fit(["cat"]).stop_words_


def test_saved_vectorizers_keep_the_stop_words_that_they_had():
    english = Vectorizer().fit(["the cats of the house", "of mice and men"])
    again = Vectorizer.from_dict(json.loads(json.dumps(english.to_dict())))
    assert again.stop_words == "auto" and again.stop_words_ == english.stop_words_
    assert again.count(["the cats"])[1] == 0  # a stop word is not unknown


def test_english_stop_words_hold_contractions():
    vocabulary = Vectorizer(stop_words="english").fit(["I don't think they're the cats", "it\u2019ll"]).vocabulary_
    assert list(vocabulary) == ["cats", "think"]


@given(st.lists(st.text(alphabet="abcd ", max_size=20), min_size=1, max_size=12), st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_stream_chooses_the_same_vocabulary(texts, size):
    texts = ["some words", *texts]
    whole = Vectorizer(max_features=6).fit(texts)
    stream = Vectorizer(max_features=6).fit_stream(texts[i : i + size] for i in range(0, len(texts), size))
    assert whole.vocabulary_ == stream.vocabulary_
    assert whole.to_dict() == stream.to_dict()


def test_partial_fit_and_finish():
    vectorizer = Vectorizer().partial_fit(TEXTS[:2]).partial_fit(TEXTS[2:]).finish()
    assert vectorizer.to_dict() == Vectorizer().fit(TEXTS).to_dict()
    assert vectorizer.n_documents_ == 4
    with pytest.raises(ValueError, match="finish was called before partial_fit"):
        vectorizer.finish()


def test_a_stream_of_too_many_terms_is_pruned_and_says_so():
    vectorizer = Vectorizer(max_df=1.0)
    vectorizer.table_limit = 50
    batches = ([f"often{j} rare{i}x{j}" for j in range(10)] for i in range(40))
    with pytest.warns(UserWarning, match=r"more than 50 terms: \d+ rare ones were dropped"):
        vectorizer.fit_stream(batches)
    # with 400 documents min_df is 2: a term that takes a freed place starts to count from zero
    assert set(vectorizer.vocabulary_) == {f"often{j}" for j in range(10)}
    assert 300 < vectorizer.n_pruned_ <= 400


@given(
    st.lists(st.text(max_size=30), min_size=1, max_size=6),
    st.sampled_from([None, "auto", "english", ["the"], {"a", "the"}]),
    st.sampled_from([(1, 1), (1, 2)]),
    st.sampled_from([None, 3, np.int64(2)]),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:The texts have no spaces between words")  # drawn texts may be Thai
def test_json_round_trip(texts, stop_words, ngram_range, max_features):
    texts = ["some words", *texts]
    vectorizer = Vectorizer(stop_words=stop_words, ngram_range=ngram_range, max_features=max_features).fit(texts)
    again = Vectorizer.from_dict(json.loads(json.dumps(vectorizer.to_dict())))
    assert again.to_dict() == vectorizer.to_dict()
    new = [*texts, "other words"]
    counts, n_unknown = vectorizer.count(new)
    counts_again, n_unknown_again = again.count(new)
    np.testing.assert_array_equal(counts.toarray(), counts_again.toarray())
    assert n_unknown == n_unknown_again


def test_clone_pickle_and_series():
    vectorizer = Vectorizer(min_df=2).fit(pd.Series(TEXTS))
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    again = pickle.loads(pickle.dumps(vectorizer))
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), vectorizer.transform(TEXTS).toarray())
    assert Vectorizer().fit(text for text in TEXTS).vocabulary_ == Vectorizer().fit(TEXTS).vocabulary_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_df": 0}, "min_df is 0; expected 'auto', an integer"),
        ({"min_df": True}, "min_df is True"),
        ({"max_df": 1.5}, "max_df is 1.5"),
        ({"max_df": "some"}, "max_df is 'some'"),
        ({"max_features": 0}, "max_features is 0"),
        ({"ngram_range": (2, 1)}, r"ngram_range is \(2, 1\)"),
        ({"ngram_range": 2}, "ngram_range is 2"),
        ({"stop_words": "klingon"}, "stop_words is 'klingon'"),
        ({"stop_words": [1]}, "stop_words holds something that is no string"),
        ({"token_pattern": "("}, "no regular expression"),
        ({"token_pattern": "(a)b"}, "without capturing groups"),
        ({"min_df": 4}, r"No word is left of 6: with min_df=4 and max_df=auto"),
        ({"token_pattern": "[0-9]+"}, "The 4 documents hold no word"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        Vectorizer(**options).fit(TEXTS)


def test_refuses_what_is_no_list_of_strings():
    with pytest.raises(ValueError, match="single string"):
        Vectorizer().fit("one text")
    with pytest.raises(ValueError, match="missing in row 1"):
        Vectorizer().fit(["a", None])
    with pytest.raises(NotFittedError):
        Vectorizer().transform(["a"])


@pytest.mark.data
@pytest.mark.parametrize("name", ["bbc_news", "movie_reviews_scale", "ted_talks", "nips12"])
def test_real_corpora(data_dir, name):
    texts = load(name, data_dir).text[::4]
    vectorizer = Vectorizer(stop_words="english")
    counts = vectorizer.fit_transform(texts)
    assert counts.shape[0] == len(texts)
    assert np.all(counts.sum(axis=1) > 0)
    assert not any(word.isdigit() or len(word) < 2 for word in vectorizer.vocabulary_)
    stream = Vectorizer(stop_words="english").fit_stream(texts[i : i + 500] for i in range(0, len(texts), 500))
    assert stream.vocabulary_ == vectorizer.vocabulary_


@pytest.mark.data
def test_five_thousand_terms_of_the_movie_reviews(data_dir):
    # the sLDA paper states 1.6 million words for its 5,000 terms
    texts = load("movie_reviews_scale", data_dir).text
    counts = Vectorizer(stop_words=None, max_features=5000, min_df=1, max_df=1.0).fit_transform(texts)
    assert counts.shape == (5006, 5000)
    assert 1.55e6 < counts.sum() < 1.75e6


def test_half_an_emoji_is_a_replacement_character():
    """A word that holds half of a surrogate pair could be neither printed nor put into a frame."""
    texts = ["good \ud83d film", "bad \ud83d\ude00 film", "good film"]
    vectorizer = Vectorizer(token_pattern=r"\S+", stop_words=None).fit(texts)
    assert list(vectorizer.vocabulary_) == ["bad", "film", "good", "\ufffd", "\U0001f600"]
    assert vectorizer.transform(texts).toarray().sum(axis=1).tolist() == [3, 3, 2]
    model = LDA(2, max_iter=2, vectorizer=clone(vectorizer)).fit(texts)
    model.set_topic_labels(["half \ud83d", "whole"])
    for shown in (model.topics(), model.topic_info(), model.explain(texts[0])):
        assert "\ufffd" in shown.to_csv()
    assert "\ufffd" in model._repr_html_() and "\ufffd" in str(model.top_words(5))


def test_words_that_are_no_text_are_refused():
    counts = sp.csr_matrix(np.eye(2))
    with pytest.raises(ValueError, match=r"The vocabulary of X holds '\\ud83d', half of a character; expected words"):
        as_corpus(Corpus(counts, np.array(["a", "\ud83d"], dtype=object)))


def test_a_word_of_more_than_two_to_the_24_tokens():
    ids = np.zeros(2**24 + 4, dtype=np.int32)
    assert terms.count_ids(ids, np.array([0, len(ids)]), 1)[0, 0] == 2**24 + 4


GIVEN = ["sat", "front desk", "the", "wolf"]


@pytest.mark.parametrize("given", [GIVEN, np.array(GIVEN), {word: GIVEN.index(word) for word in sorted(GIVEN)}])
def test_a_vocabulary_that_is_given(given, tmp_path):
    """Its words keep their columns, stop words among them; whatever else texts hold is unknown."""
    texts = ["The cat sat at the front desk", "desk at the front"] * 40
    vectorizer = Vectorizer(vocabulary=given)
    counts = vectorizer.fit_transform(texts)
    assert list(vectorizer.vocabulary_) == GIVEN and counts[:2].toarray().tolist() == [[1, 1, 2, 0], [0, 0, 1, 0]]
    assert vectorizer.unknown_words(texts[1]) == {"desk": 1, "front": 1} and vectorizer.phrases_ == {"front desk"}
    assert Vectorizer(vocabulary=given).fit_stream([texts[:3], texts[3:]]).to_dict() == vectorizer.to_dict()
    model = LDA(2, max_iter=2, vectorizer=vectorizer).fit(texts)
    assert model.check(texts).ok and not model.check(["cat dog sat bird"] * 80).ok
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert list(again.feature_names_in_) == GIVEN and type(again.vectorizer.vocabulary) is type(given)
    assert list(clone(again).fit(["the wolf", "the dog"] * 5).feature_names_in_) == GIVEN
    assert again.vectorizer_.to_dict() == model.vectorizer_.to_dict()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("cat", "got a str"),
        ([], "at least one"),
        (["cat", "cat"], "twice"),
        (["cat", 3], "expected words"),
        ({"cat": 1, "dog": 2}, "columns 0 to 1"),
        ({"cat": [], "dog": 0}, "columns 0 to 1"),
        (["cat", "Dog"], "'Dog' is in no text, since lowercase=True"),
    ],
)
def test_what_is_no_vocabulary_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        Vectorizer(vocabulary=given).fit(["cat dog"])
