"""The page predicts what Python predicts: typed text, intervals, contributions of words, documents of the corpus."""

from copy import copy

import numpy as np
import pytest
import scipy.special
import scipy.stats

from supertopic import HTMM, FacetedSAGE, GeoSAGE, SLDARegressor, TopicModel, Vectorizer
from supertopic.documents.word_patterns import TOKEN_PATTERN
from supertopic.explore.page import inference as page_inference
from tests.page_models import KINDS, NEW, fitted, labels, reviews, scores_of_texts

ALL = list(KINDS)


def expected(model, texts):
    """What Python says, in the form of `supertopic.predictText`: a list of outcomes for each text."""
    if isinstance(model, TopicModel) and len(model.fitted_.spec.schema.targets) > 1:
        numbers, chances = model.predict(texts), model.predict_proba(texts)
        return [[[numbers["rating"].iloc[i]], chances["verdict"].iloc[i].tolist()] for i in range(len(texts))]
    if hasattr(model, "predict_proba"):
        return [[row.tolist()] for row in model.predict_proba(texts)]
    if hasattr(model, "classes_"):
        return [[row.tolist()] for row in model.decision_function(texts)]
    mean, low, high = model.predict(texts, return_interval=0.9)
    return [[[mean[i], low[i], high[i]]] for i in range(len(texts))]


def flat(answer):
    if "probabilities" in answer:
        return answer["probabilities"]
    if "chances" in answer:
        return answer["chances"]
    return [answer["mean"], *answer["ends"]]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_typed_text_is_predicted_as_in_python(kind, watched, tmp_path):
    model, frame = fitted(kind), reviews()
    file = tmp_path / "report.html"
    model.report(file, frame["text"].tolist()[:20], labels(frame[:20], KINDS[kind][1]))
    page = watched.open(file)
    texts = [*NEW, *frame["text"].tolist()[:3]]
    if kind == "lda":
        found = page.evaluate("texts => texts.map(text => supertopic.sharesOfText(text))", texts)
        np.testing.assert_allclose(found, model.transform(texts), atol=1e-4)
        return
    found = page.evaluate("texts => texts.map(text => supertopic.predictText(text))", texts)
    for text, got, want in zip(texts, found, expected(model, texts), strict=True):
        assert len(got) == len(want)
        for answer, numbers in zip(got, want, strict=True):
            values = flat(answer)
            np.testing.assert_allclose(values[: len(numbers)], numbers, atol=1e-3, err_msg=f"{kind}: {text!r}")


@pytest.mark.parametrize("kind", ["softmax", "several"])
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_typed_text_is_as_sure_as_in_python(kind, watched, tmp_path):
    """Predictors of a softmax that lie far apart are drawn in, and keep the shares of the classes."""
    model, frame = copy(fitted(kind)), reviews()
    before = expected(model, NEW)
    heat = np.tile([1.7, 0.6, -0.4], (len(model.fitted_.spec.schema.targets), 1))
    zero = np.linspace(-1, 1, len(model.fitted_.state.coef))
    model.fitted_ = model.fitted_.with_certainty(heat=heat, zero=zero)
    want, file = expected(model, NEW), tmp_path / "report.html"
    assert np.abs(np.subtract(want[0][-1], before[0][-1])).max() > 0.01
    model.report(file, frame["text"].tolist()[:20], labels(frame[:20], KINDS[kind][1]))
    found = watched.open(file).evaluate("texts => texts.map(text => supertopic.predictText(text))", NEW)
    for got, numbers in zip(found, want, strict=True):
        np.testing.assert_allclose(flat(got[-1]), numbers[-1], atol=1e-3)


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "pc"])
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_intervals_are_as_wide_as_in_python_where_noise_is_larger(kind, watched, tmp_path):
    model, frame = copy(fitted(kind)), reviews()
    knots = np.array([[[-1.0, 0.5, 2.0], [0.5, 2.0, 3.0]]])
    widths = np.array([[[-0.3, 0.2, 0.6], [0.5, 0.1, -0.4]]])
    model.fitted_ = model.fitted_.with_certainty(knots=knots, widths=widths)
    want, file = expected(model, NEW), tmp_path / "report.html"
    assert np.abs(np.subtract(want[0][-1], expected(fitted(kind), NEW)[0][-1])).max() > 0.05
    model.report(file, frame["text"].tolist()[:20], labels(frame[:20], KINDS[kind][1]))
    found = watched.open(file).evaluate("texts => texts.map(text => supertopic.predictText(text))", NEW)
    for got, numbers in zip(found, want, strict=True):
        np.testing.assert_allclose(flat(got[-1]), numbers[-1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "weibull"])
@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_intervals_wider_than_any_of_the_response_are_those_of_python(kind, watched, tmp_path):
    """Levels above one stretch the widest interval."""
    model, frame = copy(fitted(kind)), reviews()
    model.fitted_ = model.fitted_.with_certainty(levels=np.linspace(2.0, 4.0, 40)[None])
    want, file = expected(model, NEW), tmp_path / "report.html"
    (_, low, high), (_, *plain) = want[0][0], expected(fitted(kind), NEW)[0][0]
    assert low <= plain[0] and high - low > 1.5 * (plain[1] - plain[0])
    model.report(file, frame["text"].tolist()[:20], labels(frame[:20], KINDS[kind][1]))
    found = watched.open(file).evaluate("texts => texts.map(text => supertopic.predictText(text))", NEW)
    for got, numbers in zip(found, want, strict=True):
        np.testing.assert_allclose(flat(got[-1]), numbers[-1], rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_typed_text_has_the_topics_of_python(watched, tmp_path):
    """DiscLDA: shares of topics and topics of words, both averaged over the classes."""
    model, frame = fitted("class_topics"), reviews()
    file = tmp_path / "report.html"
    model.report(file, frame["text"].tolist()[:20], frame["verdict"][:20])
    page = watched.open(file, "text")
    found = page.evaluate("texts => texts.map(text => supertopic.sharesOfText(text))", NEW)
    np.testing.assert_allclose(found, model.transform(NEW), atol=1e-3)
    page.fill("#typed", NEW[0])
    page.wait_for_selector(".result mark")
    assert not watched.problems


def test_pages_without_typed_texts_say_why_and_what_instead(watched, tmp_path):
    frame = reviews()
    texts, place = frame["text"].tolist(), np.column_stack([50 + frame["rating"], frame["rating"]])
    models = {
        "gives each sentence one topic": (HTMM(2, max_iter=2).fit(texts), "model.sentences([text])"),
        "combination of labels": (FacetedSAGE(2, max_iter=2).fit(texts, frame[["verdict"]]), "model.predict_proba("),
        "every region": (GeoSAGE(2, n_regions=2, max_iter=2).fit(texts, place), "model.predict([text])"),
    }
    for why, (model, instead) in models.items():
        file = tmp_path / f"{type(model).__name__}.html"
        model.report(file, texts[:9])
        said = watched.open(file, "text").inner_text("main")
        assert why in said and instead in said


@pytest.mark.parametrize("kind", ["gaussian", "softmax", "words", "pc", "poisson", "sage", "sstm"])
def test_waterfall_and_words_add_up(kind, watched, tmp_path):
    model, frame = fitted(kind), reviews()
    file = tmp_path / "report.html"
    model.report(file, frame["text"].tolist()[:10], labels(frame[:10], KINDS[kind][1]))
    page = watched.open(file)
    found = page.evaluate("text => supertopic.explainText(text, 0)", NEW[0])
    fall = found["waterfall"]
    total = fall["start"] + sum(topic["value"] for topic in fall["topics"]) + fall["words"] + fall["rest"]
    assert fall["end"] == pytest.approx(total, abs=1e-9)
    assert fall["rest"] == pytest.approx(0.0, abs=1e-6)  # there are no covariates
    # as exact as inference is: it ends when shares change by less than its tolerance
    assert sum(word["value"] for word in found["words"]) == pytest.approx(fall["end"] - fall["start"], abs=1e-4)


def test_hidden_counts_give_the_stored_scores(watched, tmp_path):
    """Word counts of documents survive packing: the page infers what Python inferred."""
    model, frame = fitted("gaussian"), reviews()
    file = tmp_path / "report.html"
    model.report(file, frame["text"].tolist(), frame["rating"])
    page = watched.open(file)
    found = page.evaluate("rows => rows.map(d => supertopic.scoreOfDocument(d)[0])", list(range(0, 120, 7)))
    scores = scores_of_texts(model, frame["text"].tolist()).score[::7, 0]
    np.testing.assert_allclose(found, scores, atol=1e-4)


@pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
def test_rounded_topics_are_exact_enough(monkeypatch, watched, tmp_path):
    """Large models have topics in 16 bits."""
    monkeypatch.setattr(page_inference, "_ALL_EXACT", 0)
    model, frame = fitted("gaussian"), reviews()
    file = tmp_path / "report.html"
    model.report(file, frame["text"].tolist()[:5], frame["rating"][:5])
    page = watched.open(file)
    assert page.evaluate("supertopic.data.arrays.far.data.constructor.name") == "Uint16Array"
    found = page.evaluate("texts => texts.map(text => supertopic.predictText(text)[0].mean)", NEW)
    np.testing.assert_allclose(found, model.predict(NEW), atol=1e-3)


def test_covariates_move_the_prediction(watched, tmp_path):
    frame = reviews()
    extra = np.column_stack([frame["year"], np.arange(len(frame)) % 3])
    model = SLDARegressor(4, cross_fit=0, max_iter=6).fit(frame["text"].tolist(), frame["rating"], covariates=extra)
    file = tmp_path / "report.html"
    model.report(file, frame["text"].tolist(), frame["rating"], covariates=extra)
    page = watched.open(file, "text")
    page.fill("#typed", NEW[0])
    inputs = page.locator("input[type=number]:visible")
    inputs.nth(0).fill("2010")
    inputs.nth(1).fill("2")
    page.wait_for_timeout(300)
    found = page.evaluate("text => supertopic.predictText(text)[0].mean", NEW[0])
    assert found == pytest.approx(model.predict([NEW[0]], covariates=[[2010, 2]])[0], abs=1e-3)
    assert found != pytest.approx(model.predict([NEW[0]], covariates=[[1990, 0]])[0], abs=1e-3)


@pytest.mark.parametrize("pattern", [TOKEN_PATTERN, r"\b\w{2,}\b", r"[^\W\d_-]+(?:-\w{,3})?", r"\S+", r"\B[\w'][^\s]*"])
def test_tokens_are_those_of_the_vectorizer(pattern, watched, tmp_path):
    texts = [
        "Don’t STOP: naïve café's mp3 n_samples _x_ 20th 1999 o'neill's rock'n'roll",
        "Ελληνικά ΣΟΦΟΣ Русский текст עברית العربية 日本語テキスト 한국어 ①② x²",
        "Emoji 🎬film🎬 a\u0301 e\u0301te\u0301 ﬁne ǅ İstanbul हिन्दी a\u200db",
        "@md_franz f&uuml;r &amp; caf&#xE9; don&#39;t https://t.co/a1?b=c www.x.org &ndash; me@home.de ©2020",
        "tab\tnew\nline\u2028sep\u00a0nbsp under_score__ trailing_ 's it's",
    ]
    rng = np.random.default_rng(0)
    texts += ["".join(chr(c) for c in rng.choice([39, 95, 32, *range(48, 58), *range(97, 123)], 80)) for _ in range(40)]
    y = np.linspace(0.5, 1.5, len(texts))
    vectorizer = Vectorizer(token_pattern=pattern)
    model = SLDARegressor(2, cross_fit=0, max_iter=2, vectorizer=vectorizer).fit(texts, y)
    file = tmp_path / "report.html"
    model.report(file, texts)
    page = watched.open(file)
    counts = model.vectorizer_.transform(texts)
    for i, text in enumerate(texts):
        found = page.evaluate("text => supertopic.countsOfText(text)", text)
        row = counts[i].sorted_indices()
        assert found["ids"] == row.indices.tolist(), text
        assert found["counts"] == row.data.tolist(), text


def test_phrases_are_those_of_the_vectorizer(watched, tmp_path):
    texts = ["the front desk was kind", "a desk at the front desk", "front the desk", "front desk front desk desk"] * 12
    vectorizer = Vectorizer(phrases=0.1, stop_words=["the"], min_df=1, max_df=1.0)
    model = SLDARegressor(2, cross_fit=0, max_iter=2, vectorizer=vectorizer).fit(texts, np.arange(len(texts)) % 4 + 0.5)
    assert "front desk" in model.feature_names_in_
    model.report(tmp_path / "report.html", texts)
    page = watched.open(tmp_path / "report.html")
    for text in [*texts[:4], "Front Desk. kind desk the front desk", "front"]:
        found = page.evaluate("text => supertopic.countsOfText(text)", text)
        row = model.vectorizer_.transform([text]).sorted_indices()
        assert (found["ids"], found["counts"]) == (row.indices.tolist(), row.data.tolist()), text


def test_special_functions(watched, tmp_path):
    model, frame = fitted("gaussian"), reviews()
    file = tmp_path / "report.html"
    model.report(file, frame["text"].tolist()[:5])
    page = watched.open(file)

    def call(name, *given):
        return page.evaluate(f"given => supertopic.special.{name}(...given)", list(given))

    for x in (-38.0, -9.0, -5.0, -4.9, -1.3, 0.0, 0.4, 3.0, 8.5):
        assert call("normalCdf", x) == pytest.approx(scipy.special.ndtr(x), rel=1e-9)
    for p in (1e-8, 0.025, 0.5, 0.9, 0.9999):
        assert call("normalQuantile", p) == pytest.approx(scipy.special.ndtri(p), abs=1e-9)
    for a, x in ((0.3, 0.1), (2.5, 9.0), (40.0, 30.0), (300.0, 310.0)):
        assert call("gammaP", a, x) == pytest.approx(scipy.special.gammainc(a, x), rel=1e-9)
        assert call("digamma", a) == pytest.approx(scipy.special.psi(a), rel=1e-10)
        assert call("logGamma", a) == pytest.approx(scipy.special.gammaln(a), rel=1e-10, abs=1e-12)
        for p in (0.05, 0.95):
            assert call("gammaQuantile", p, a) == pytest.approx(scipy.stats.gamma.ppf(p, a), rel=1e-7)
            assert call("poissonQuantile", p, x) == scipy.stats.poisson.ppf(p, x)
            assert call("negativeBinomialQuantile", p, a, x) == scipy.stats.nbinom.ppf(p, a, a / (a + x))
            want = scipy.stats.invgauss.ppf(p, 0.7, scale=x)  # mean 0.7 x, shape x
            assert call("inverseGaussianQuantile", p, 0.7 * x, x) == pytest.approx(want, rel=1e-6)
