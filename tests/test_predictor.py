"""A predictor has the model's numbers, starts light, and refuses forged files."""

import subprocess
import sys
import threading
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from supertopic import HTMM, LDA, MixtureOfCategoricals, SLDARegressor, load
from supertopic.persistence import read_file, write_file
from supertopic.predictor import load_predictor
from tests.page_models import KINDS, NEW, fitted, reviews

pytestmark = pytest.mark.filterwarnings("ignore::supertopic.documents.corpus.EmptyDocumentWarning")
TEXTS = [*NEW, *reviews()["text"].tolist()[:40]]


def again(predictor):
    """The same from a file."""
    file = BytesIO()
    predictor.save(file)
    file.seek(0)
    return load_predictor(file)


@pytest.mark.parametrize("kind", list(KINDS))
def test_one_text_has_the_numbers_that_it_has_among_others(kind):
    predictor, texts = fitted(kind).predictor(), [*TEXTS, "", "zzz"]
    alone = np.concatenate([predictor.transform([text]) for text in texts])
    np.testing.assert_allclose(alone, predictor.transform(texts), atol=2e-5)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_predictor_has_the_numbers_of_its_model(kind):
    model, predictor = fitted(kind), again(fitted(kind).predictor())
    np.testing.assert_allclose(predictor.transform(TEXTS), model.transform(TEXTS), atol=2e-4)
    if kind == "lda":
        return
    if KINDS[kind][1] == ["rating", "verdict"]:
        want, got = model.predict(TEXTS), predictor.predict(TEXTS)
        np.testing.assert_allclose(got["rating"], want["rating"], atol=1e-4)
        assert (got["verdict"] == want["verdict"]).all()
        chances = predictor.predict_proba(TEXTS)["verdict"]
        np.testing.assert_allclose(chances, model.predict_proba(TEXTS)["verdict"], atol=1e-4)
        return
    if not hasattr(model, "classes_"):
        want, got = model.predict(TEXTS, return_interval=0.9), predictor.predict(TEXTS, return_interval=0.9)
        np.testing.assert_allclose(predictor.predict(TEXTS), got[0])
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)
        return
    for which in ("predict_proba", "decision_function"):  # the last one decides
        if hasattr(model, which):
            got, want = getattr(predictor, which)(TEXTS), getattr(model, which)(TEXTS)
            close = 2e-4 * max(1.0, np.abs(want).max())  # shares are found to 1e-4 by both
            np.testing.assert_allclose(got, want, atol=close)
            order = np.sort(np.column_stack([want, 0 * want]) if want.ndim == 1 else want, axis=1)
    clear = (order[:, -1] - order[:, -2] > 2 * close) & (kind != "ordinal")
    assert clear.mean() > 0.8 or kind == "ordinal"
    assert (predictor.predict(TEXTS)[clear] == model.predict(TEXTS)[clear]).all()
    assert (predictor.classes_ == model.classes_).all()


def test_covariates_and_counts():
    """By name as a dict, as a frame, or as numbers; a model of counts takes counts, sparse or not."""
    rng = np.random.default_rng(0)
    counts = sp.csr_matrix(rng.poisson(0.4, (60, 30)).astype(float))
    table = pd.DataFrame({"age": rng.normal(size=60), "place": rng.choice(["sea", "hill", "town"], 60)})
    y = table["age"] + np.asarray(counts.sum(axis=1)).ravel() / 10
    model = SLDARegressor(3, max_iter=3, cross_fit=0, random_state=0).fit(counts, y, covariates=table)
    predictor = again(model.predictor())
    want = model.predict(counts, covariates=table)
    for given in (table, {"age": table["age"].tolist(), "place": table["place"].tolist()}):
        np.testing.assert_allclose(predictor.predict(counts, covariates=given), want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(predictor.predict(counts.toarray(), covariates=table), want, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="covariates: got none, expected"):
        predictor.predict(counts)
    with pytest.raises(ValueError, match="fitted to counts"):
        predictor.predict(["a text"], covariates=table[:1])
    with pytest.raises(ValueError, match=r"expected counts of shape \(documents, 30\)"):
        predictor.predict(np.ones((2, 5)))
    with pytest.raises(ValueError, match="negative"):
        predictor.transform(-np.ones((2, 30)))


@pytest.mark.parametrize("make", [lambda: MixtureOfCategoricals(3, max_iter=5), lambda: LDA(3, inference="cvb0")])
def test_topics_alone(make):
    rng = np.random.default_rng(1)
    counts = sp.csr_matrix(rng.poisson(0.5, (50, 40)).astype(float))
    model = make().fit(counts)
    found = again(model.predictor()).transform(counts)
    np.testing.assert_allclose(found, model.transform(counts), atol=2e-3)
    with pytest.raises(AttributeError, match="predicts nothing"):
        model.predictor().predict(counts)


def test_models_of_more_than_words_have_none():
    model = HTMM(2, max_iter=2).fit(["red blue. blue red.", "green black green.", "black. pink green."])
    with pytest.raises(ValueError, match="a HTMM has none"):
        model.predictor()


def test_documents_of_the_fit_are_kept_only_where_asked(tmp_path):
    model = fitted("gaussian")
    model.predictor().save(tmp_path / "small.predictor")
    model.predictor(doc_topic=True).save(tmp_path / "large.predictor")
    with pytest.raises(AttributeError, match="doc_topic=True"):
        load_predictor(tmp_path / "small.predictor").doc_topic_  # noqa: B018
    np.testing.assert_array_equal(load_predictor(tmp_path / "large.predictor").doc_topic_, model.doc_topic_)


def test_it_starts_without_pandas_or_a_compiler(tmp_path):
    """The numbers of a new process that has neither: importing them there fails."""
    path = tmp_path / "model.predictor"
    fitted("softmax").predictor().save(path)
    code = f"""
import sys
for name in ("pandas", "numba", "sklearn", "scipy", "llvmlite", "dask"):
    sys.modules[name] = None
from supertopic.predictor import load_predictor
print(load_predictor({str(path)!r}).predict_proba({NEW!r}).tolist())
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(eval(found.stdout), fitted("softmax").predict_proba(NEW), atol=2e-4)


def test_threads_share_one():
    predictor, found = fitted("softmax").predictor(), [None] * 8
    want = predictor.predict_proba(TEXTS)

    def ask(place):
        found[place] = [predictor.predict_proba([text]) for text in TEXTS]

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        np.testing.assert_allclose(np.concatenate(one), want, atol=1e-5)


FORGERIES = {
    "form": lambda m, a: m.update(form="posterior"),
    "members": lambda m, a: m.update(members=10**9),
    "response": lambda m, a: m["targets"][0].update(response="softmax"),
    "two of one name": lambda m, a: m["targets"].append(m["targets"][0]),
    "words": lambda m, a: m["words"].pop(),
    "a word that is none": lambda m, a: m["words"].__setitem__(0, 7),
    "pattern": lambda m, a: m["splitting"].update(token_pattern="(a"),
    "function": lambda m, a: m["splitting"].update(tokenizer="os:system"),
    "ngrams": lambda m, a: m["splitting"].update(ngram_range=[1, 10**6]),
    "passes": lambda m, a: m["topics"].update(max_passes=10**12),
    "tol": lambda m, a: m["topics"].update(tol=0.0),
    "flag": lambda m, a: m["topics"].update(collapsed="yes"),
    "columns": lambda m, a: m["columns"].update(names=["age"]),
    "constant": lambda m, a: m.update(constant=True),
    "nan": lambda m, a: a["weights_0"].__setitem__((0, 0), np.nan),
    "shape": lambda m, a: a.update(weights_0=a["weights_0"][:, :1]),
    "types": lambda m, a: a.update(coef_0=a["coef_0"].astype(np.int64)),
    "alpha": lambda m, a: a["alpha_0"].__setitem__(0, -1.0),
    "coef": lambda m, a: a["coef_0"].__setitem__((0, 0), np.inf),
    "large coef": lambda m, a: a["coef_0"].__setitem__((0, 0), 1e20),
    "dispersion": lambda m, a: a["dispersion"].__setitem__(0, -1.0),
    "large dispersion": lambda m, a: a["dispersion"].__setitem__(2, 1e300),
    "unknown array": lambda m, a: a.update(more=np.zeros(3)),
    "knots": lambda m, a: a.update(knots=np.zeros((1, 2, 3))),
    "gone": lambda m, a: a.pop("weights_0"),
}


@pytest.mark.parametrize("name", list(FORGERIES))
def test_forged_files_are_refused_in_one_sentence(name):
    file = BytesIO()
    fitted("gaussian").predictor().save(file)
    file.seek(0)
    manifest, arrays = read_file(file, "predictor")
    FORGERIES[name](manifest, arrays)
    forged = BytesIO()
    write_file(forged, "predictor", manifest, arrays)
    forged.seek(0)
    with pytest.raises(ValueError, match="is a damaged predictor") as refused:
        load_predictor(forged)
    assert len(str(refused.value)) < 500


def test_a_model_is_no_predictor_and_the_other_way_round(tmp_path):
    model, path, small = fitted("gaussian"), tmp_path / "m.supertopic", tmp_path / "m.predictor"
    model.save(path)
    model.predictor().save(small)
    with pytest.raises(ValueError, match="a saved model"):
        load_predictor(path)
    with pytest.raises(ValueError, match="is a predictor, not a model"):
        load(small)


def test_missing_texts_are_one_sentence_of_predictor_and_model():
    texts = ["apple bank cat dog " * 3, "egg fish goat hat " * 3] * 10
    model = SLDARegressor(2, max_iter=3, cross_fit=0).fit(texts, np.linspace(0.5, 3.2, 20))
    predictor = model.predictor()
    assert repr(predictor) == "<Predictor of y, 8 words>"
    for given, row in (([None], "row 0"), (["a", None], "row 1")):
        with pytest.raises(ValueError, match=f"X: is missing in {row}"):
            predictor.predict(given)
        with pytest.raises(ValueError, match="X is missing in"):
            model.predict(given)
