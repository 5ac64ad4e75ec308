"""Texts of other languages: guessed, without their stop words, cut into words by tokenizers that have a name."""

import json
import random
import re
import sys
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, Vectorizer, load
from supertopic.documents import tokenizers
from supertopic.documents.cohesion import fragments
from supertopic.documents.languages import NAMES
from supertopic.documents.stop_words import guess_language
from supertopic.documents.word_patterns import TOKEN_PATTERN, word_pattern

SAMPLES = {
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos, dotados como están de razón",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência,"
    " devem agir uns para com os outros em espírito de fraternidade.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand",
    "sv": "Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med förnuft och samvete",
    "da": "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og samvittighed,"
    " og de bør handle mod hverandre i en broderskabets ånd.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem"
    " i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью"
    " и должны поступать в отношении друг друга в духе братства. Но это было не так, как если бы он сам так сказал.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і"
    " повинні діяти у відношенні один до одного в дусі братерства.",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve"
    " birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler. Bu ne kadar da güzel ama çok da zor.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι"
    " με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.",
    "ar": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا"
    " بروح الإخاء. هذا هو الذي كان من بين كل ما قال عن ذلك في اليوم، ثم كان مع هذه إلى بعد أو قبل.",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है",
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason",
    "zh": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "th": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
}
HOTELS = ["这家餐厅的服务非常好,菜也很好吃", "房间很小,隔音不好,价格太贵了", "位置方便,早餐不错,服务员很热情"] * 20


def quiet(**params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Vectorizer(**params)


@pytest.mark.parametrize("language", SAMPLES)
def test_a_language_is_guessed(language):
    texts = [SAMPLES[language]] * 3
    words = word_pattern(TOKEN_PATTERN).words
    assert guess_language(texts, lambda text: words(text.lower())) == language
    assert guess_language(texts, words) == language  # capitals or not


@pytest.mark.parametrize(
    "texts",
    [
        ["cat dog bird"],
        ["lorem ipsum dolor sit amet consectetur adipiscing elit sed eiusmod"],
        ["w1 w2 w3 w4 w5"],
        [""],
    ],
)
def test_no_language_is_guessed_where_none_is_seen(texts):
    assert guess_language(texts, str.split) is None
    assert Vectorizer(min_df=1).fit([*texts, "kzx"]).stop_words_ == frozenset()


@pytest.mark.parametrize("language", ["de", "ru", "hi"])
def test_stop_words_of_the_language_are_left_out(language):
    texts = [SAMPLES[language]] * 3
    found = Vectorizer(max_df=1.0).fit(texts)
    named = Vectorizer(max_df=1.0, stop_words=NAMES[language].lower()).fit(texts)
    assert found.language_ == language and found.vocabulary_ == named.vocabulary_
    everything = set(Vectorizer(max_df=1.0, stop_words=None).fit(texts).vocabulary_)
    assert everything - set(found.vocabulary_) == everything & found.stop_words_ != set()
    assert Vectorizer(stop_words=language).fit(["kzx"]).stop_words_ == found.stop_words_


def test_a_german_word_is_no_english_stop_word():
    """English lists have words of other languages, such as "me" and "no"."""
    assert "me" not in Vectorizer(max_df=1.0).fit([SAMPLES["de"] + " der Minister me"]).stop_words_


def test_marks_belong_to_their_letters():
    assert word_pattern(TOKEN_PATTERN).words("हिन्दी में, cafe\u0301!") == ["हिन्दी", "में", "cafe\u0301"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("菜很好。wifi很", ["菜很", "很好", "wifi", "很"]),
        ("3星级", ["星级"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("ไทย ดี", ["ไท", "ทย", "ดี"]),
        ("한국어 단어", ["한국어", "단어"]),
    ],
)
def test_scripts_without_spaces_are_cut_into_pairs(text, words):
    pattern = word_pattern(TOKEN_PATTERN)
    assert pattern.words(text) == words
    assert [text[start:stop] for start, stop in pattern.spans(text)] == words


def test_the_quick_pattern_finds_what_that_of_unicode_finds():
    """Letters of any kind, signs and numbers: `re` where there are no marks and foreign scripts, else `regex`."""
    own, rng = word_pattern(TOKEN_PATTERN), random.Random(0)
    plain = [chr(one) for one in range(0x3000) if unicodedata.category(chr(one)) != "Cn"]
    plain = [one for one in plain if not own._foreign.search(one)]
    usual = list("abcÄß12_'.- ")
    for _ in range(3000):
        text = "".join(rng.choice(usual if rng.random() < 0.7 else plain) for _ in range(12))
        assert re.findall(TOKEN_PATTERN, text) == [text[start:stop] for start, stop in own._spans(text)], repr(text)


def test_texts_without_spaces_are_cut_and_it_is_said():
    with pytest.warns(UserWarning, match=r"no spaces between words \(Chinese\): .*tokenizer='jieba' finds words"):
        vectorizer = Vectorizer().fit(HOTELS)
    assert vectorizer.language_ == "zh" and {"房间", "价格", "早餐"} <= set(vectorizer.vocabulary_)
    with pytest.warns(UserWarning, match="no spaces"):
        assert Vectorizer(stop_words=None).fit_transform(HOTELS).sum() / len(HOTELS) > 8  # every two neighbours
        stream = Vectorizer().fit_stream([HOTELS])
    assert stream.vocabulary_ == vectorizer.vocabulary_


def test_pieces_of_words_are_left_out():
    """Two neighbouring characters are no word where chance explains them, or as a rule one of a better word."""
    rng, words = random.Random(0), ["服务员", "房间", "早餐", "位置", "价格", "不错", "电视", "服务", "人员", "态度"]
    texts = ["的".join(rng.choices(words, k=12)) for _ in range(100)]
    vectorizer = quiet(max_df=1.0)
    with pytest.warns(UserWarning, match="two neighbouring characters"):
        counts = vectorizer.fit_transform(texts)
    assert set(vectorizer.vocabulary_) == {*words[1:]}  # and neither 务员 nor 的早
    assert {"务员", "的早"} <= vectorizer.stop_words_ and not vectorizer.unknown_words(texts[0])
    again = Vectorizer.from_dict(json.loads(json.dumps(vectorizer.to_dict())))
    np.testing.assert_array_equal(again.transform(texts).toarray(), counts.toarray())
    with pytest.warns(UserWarning, match="no spaces"):
        assert vectorizer.fit_stream([texts[:50], texts[50:]]).vocabulary_ == again.vocabulary_


def test_a_stop_word_makes_no_word_with_its_neighbour():
    """A pair of npmi 0.23, with and without a stop word in it."""
    terms, tf = np.array(["店的", "店大", "人的", "服务"], dtype=object), np.array([15.0, 85.0, 185.0, 5000.0])
    assert [bool(fragments(terms, tf, stop)[0][0]) for stop in ({"的"}, {"店"}, {"服"}, ())] == [
        True,
        True,
        False,
        False,
    ]


def test_jieba_finds_words():
    pytest.importorskip("jieba")
    vectorizer = Vectorizer(tokenizer="jieba").fit(HOTELS)
    assert {"服务", "房间", "早餐", "价格", "位置"} <= set(vectorizer.vocabulary_)
    assert "的" in vectorizer.stop_words_ and "," not in vectorizer.vocabulary_
    assert vectorizer.located(HOTELS[0])[:3] == [("这家", 0, 2), ("餐厅", 2, 4), ("服务", 5, 7)]


@pytest.mark.filterwarnings("ignore:Documents without a word", "ignore:The texts have no spaces")
@pytest.mark.parametrize("tokenizer", ["jieba", "unicode"])
def test_chinese_hotels_have_topics_of_words(data_dir, tokenizer):
    pytest.importorskip("jieba")
    texts = pd.read_parquet(data_dir / "chinese_hotels" / "data.parquet").text[:1500]
    model = LDA(5, max_iter=10, vectorizer=Vectorizer(tokenizer=tokenizer)).fit(texts)
    words = set(model.top_words(10).word)
    assert {"服务", "早餐"} <= words
    assert not any(set(word) & set("的了") for word in words)
    assert not words & {"务员", "也就", "都", "很"} and max(map(len, words)) <= 4


def test_entities_of_html_are_what_they_stand_for():
    text = "f&uuml;r &amp; gegen &gt;sie&lt; don&#39;t &foo; caf&#xE9; A&B; it’s"
    vectorizer = Vectorizer(stop_words=None, min_df=1).fit([text])
    assert set(vectorizer.vocabulary_) == {"für", "gegen", "sie", "don't", "foo", "café", "it"}
    found = [(word, text[start:stop]) for word, start, stop in vectorizer.located(text)]
    assert ("für", "f&uuml;r") in found and ("don't", "don&#39;t") in found and ("café", "caf&#xE9;") in found
    assert ("sie", "sie") in found and ("foo", "foo") in found and ("it", "it") in found


@pytest.mark.filterwarnings("ignore:Documents without a word")
def test_german_tweets_have_topics_without_articles(data_dir):
    texts = pd.read_parquet(data_dir / "german_tweets" / "data.parquet").text[:2000]
    words = set(LDA(5, max_iter=10).fit(texts).top_words(20).word)
    assert not words & set(
        ["die", "der", "das", "den", "und", "ist", "nicht", "ein", "eine", "auch", "mit", "zu", "von", "für", "auf"]
    )
    beside_names = " ".join(texts.str.replace(r"@\w+", " ", regex=True)).lower()
    assert words <= set(re.findall(r"\w+", beside_names)) - {"amp", "gt", "https", "co"}


@pytest.mark.parametrize("stem", [True, "german"])
def test_stems(stem):
    pytest.importorskip("snowballstemmer")
    texts = ["Die Häuser und das Haus sind sehr schön", "Das schöne Haus ist in der Stadt und nicht auf dem Land"]
    vectorizer = Vectorizer(stem=stem, min_df=1, max_df=1.0).fit(texts)
    assert "haus" in vectorizer.vocabulary_ and not {"häuser", "schöne"} & set(vectorizer.vocabulary_)
    assert ("haus", 4, 10) in vectorizer.located(texts[0])
    again = Vectorizer.from_dict(json.loads(json.dumps(vectorizer.to_dict())))
    np.testing.assert_array_equal(again.transform(texts).toarray(), vectorizer.transform(texts).toarray())


def test_a_language_without_a_stemmer_keeps_its_words():
    assert "tazama" in Vectorizer(stem="swahili", min_df=1).fit(["tazama nyumba"]).vocabulary_


def cut_at_bars(text):
    """A tokenizer of a user's own."""
    return text.split("|")


def cut_at_spaces(text):
    return text.split()


def test_a_function_of_ones_own_finds_words(tmp_path, monkeypatch):
    name = f"{cut_at_bars.__module__}:cut_at_bars"
    texts = ["new york|12|times", "times|the end", "new york|city"]
    model = LDA(2, max_iter=2, vectorizer=Vectorizer(tokenizer=name, min_df=1)).fit(texts)
    assert set(model.feature_names_in_) == {"new york", "times", "the end", "city"}
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").transform(texts), model.transform(texts))
    monkeypatch.setattr(tokenizers, "_trusted", set())
    with pytest.raises(ValueError, match=r"which a file may not run; if you trust it, call .*trust\('.*cut_at_bars'\)"):
        load(tmp_path / "m")
    tokenizers.trust(name)
    assert load(tmp_path / "m").vectorizer_.tokenizer == name


def test_a_file_runs_nothing_when_its_model_is_fitted_again(tmp_path, monkeypatch):
    """The parameter `vectorizer` of a file counts as much as the fitted one."""
    state = Vectorizer(min_df=1).fit(["cat dog"]).to_dict()
    for name in ("os:system", "subprocess:getoutput"):
        for read in (Vectorizer.from_dict, lambda one: Vectorizer.of_file(one["params"])):
            with pytest.raises(ValueError, match="which a file may not run"):
                read({**state, "params": {**state["params"], "tokenizer": name}})


@pytest.mark.parametrize("name", ["icu", "icu:th", "spacy:de", "spacy:de_core_news_sm", "jieba"])
def test_a_missing_package_is_named(name, monkeypatch):
    package = name.partition(":")[0]
    monkeypatch.setitem(sys.modules, package, None)
    tokenizers._function.cache_clear()
    with pytest.raises(ValueError, match=f"tokenizer: '{name}' needs the package .*, which is not installed"):
        Vectorizer(tokenizer=name).fit(["a text"])


@pytest.mark.parametrize(
    "params, message",
    [
        ({"tokenizer": "klingon"}, "tokenizer: got 'klingon', expected 'unicode', 'jieba', 'icu:th', 'spacy:de' or"),
        ({"tokenizer": "spacy:os"}, "needs the package|tokenizer"),
        ({"tokenizer": "spacy:../evil"}, "tokenizer: got 'spacy:../evil', expected"),
        ({"tokenizer": "spacy:numpy.evil"}, "tokenizer: got 'spacy:numpy.evil', expected"),
        ({"tokenizer": str.split}, "tokenizer: got <method 'split'"),
        ({"tokenizer": "no_such_module:cut"}, "tokenizer: 'no_such_module:cut' is not there"),
        ({"tokenizer": "json:cut"}, "tokenizer: 'json:cut' is not there"),
        ({"stem": "klingon"}, "stem is 'klingon'"),
        ({"stem": 3}, "stem: got 3, expected True, False or a language such as 'german'"),
    ],
)
def test_nonsense_is_refused_before_the_fit(params, message):
    with pytest.raises(ValueError, match=message):
        Vectorizer(**params).fit(["a text"])


def test_a_language_of_a_file_is_checked():
    state = Vectorizer(min_df=1).fit(["cat dog"]).to_dict()
    with pytest.raises(ValueError, match="language is 'xx', which is none that is known"):
        Vectorizer.from_dict({**state, "language": "xx"})
