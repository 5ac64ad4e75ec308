"""`model.export` writes JavaScript that predicts as Python does."""

import base64

import numpy as np
import pytest

from supertopic import HTMM, TopicModel
from tests.page_models import KINDS, NEW, fitted, reviews
from tests.test_page_predictions import expected

pytestmark = pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
TEXTS = [*NEW, *reviews()["text"].tolist()[:3]]
ASK = """async ([code, method, texts, options]) => {
    const { loadModel } = await import("data:text/javascript;base64," + code);
    const model = await loadModel();
    return texts.map((text) => model[method](text, options ?? undefined));
}"""


def ask(browser, path, method, options=None):
    page = browser.new_page()
    try:
        code = base64.b64encode(path.read_bytes()).decode()
        return page.evaluate(ASK, [code, method, TEXTS, options])
    finally:
        page.close()


def values(answer):
    if "class" not in answer:
        return [answer["mean"], *answer["ends"]]
    return answer.get("probabilities", answer.get("scores"))


@pytest.mark.parametrize("kind", list(KINDS))
def test_javascript_has_the_numbers_of_python(kind, browser, tmp_path):
    model, path = fitted(kind), tmp_path / "model.js"
    model.export(path)
    np.testing.assert_allclose(ask(browser, path, "topics"), model.transform(TEXTS), atol=1e-3)
    if kind == "lda":
        return
    for got, want in zip(ask(browser, path, "predict"), expected(model, TEXTS), strict=True):
        assert len(got) == len(want)
        for answer, numbers in zip(got.values(), want, strict=True):
            np.testing.assert_allclose(values(answer)[: len(numbers)], numbers, atol=1e-3)


@pytest.mark.parametrize("kind", ["softmax", "sstm", "sage_classes", "margin_two"])
def test_classes_are_those_of_python(kind, browser, tmp_path):
    model, path = fitted(kind), tmp_path / "model.js"
    model.export(path)
    answers = [next(iter(one.values()))["class"] for one in ask(browser, path, "predict")]
    clear = [0, 1, 4, 5, 6]  # texts with words
    assert [answers[i] for i in clear] == [model.predict(TEXTS)[i] for i in clear]


def test_responses_have_their_names(browser, tmp_path):
    model, path = fitted("several"), tmp_path / "model.js"
    assert isinstance(model, TopicModel)
    model.export(path)
    assert list(ask(browser, path, "predict")[0]) == ["rating", "verdict"]


def test_what_javascript_cannot_infer_is_refused(tmp_path):
    model = HTMM(2, max_iter=2).fit(["red blue. blue red.", "green black green.", "black. pink green."])
    with pytest.raises(ValueError, match="export: "):
        model.export(tmp_path / "model.js")
    assert not list(tmp_path.iterdir())
