"""What goes into the page, without a browser: columns, places, flags, errors, the file itself, the command line."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from supertopic import HTMM, LDA, DiscLDAClassifier, FacetedSAGE, MixtureOfCategoricals, Vectorizer, load
from supertopic.explore.page import documents as page_documents
from supertopic.explore.page.columns import describe_columns, read_metadata
from supertopic.explore.page.geometry import places_on_map, seriation
from supertopic.explore.page.payload import collect
from supertopic.explore.page.tokens import describe_tokens, to_javascript
from supertopic.metrics.likeness import divergences, find_flags
from tests.cli_tools import fails, misused, run
from tests.page_models import fitted, reviews


def test_divergences_and_what_follows_from_them():
    topics = np.array([[0.5, 0.5, 0, 0], [0.5, 0.49, 0.01, 0], [0, 0, 0.5, 0.5], [0.25, 0.25, 0.25, 0.25]])
    found = divergences(topics)
    assert found[0, 2] == pytest.approx(1.0) and found[0, 0] == 0.0
    np.testing.assert_allclose(found, found.T)
    flags = find_flags(found, np.array([0.6, 0.2, 0.19, 0.01]))
    assert flags[0]["twins"] == [1] and flags[1]["twins"] == [0] and flags[2]["twins"] == []
    assert [flag["dead"] for flag in flags] == [False, False, False, True]
    assert sorted(seriation(found)) == [0, 1, 2, 3]
    order = seriation(found).tolist()
    assert abs(order.index(0) - order.index(1)) == 1
    places = places_on_map(found)
    assert np.linalg.norm(places[0] - places[1]) < np.linalg.norm(places[0] - places[2])


def test_places_keep_distances_that_fit_a_plane():
    points = np.random.default_rng(0).normal(size=(6, 2))
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    found = places_on_map(squares)
    np.testing.assert_allclose(((found[:, None] - found[None]) ** 2).sum(axis=2), squares, atol=1e-9)


def test_columns():
    frame = pd.DataFrame(
        {
            "score": np.linspace(0, 1, 60),
            "grade": np.tile([1, 2, 3], 20),
            "who": [f"author {i % 50}" for i in range(60)],
            "when": pd.date_range("2020-01-01", periods=60, tz="UTC"),
            "gap": [None, "x"] * 30,
        }
    )
    score, grade, who, when, gap = describe_columns(read_metadata(frame, 60))
    assert [c["kind"] for c in (score, grade, who, when, gap)] == ["number", "category", "category", "time", "category"]
    assert grade["categories"] == ["1", "2", "3"]
    assert who["categories"][-1] == "(other)" and len(who["categories"]) == 41
    assert when["values"][1] - when["values"][0] == 24 * 3600 * 1000
    assert np.isnan(gap["values"][0]) and gap["values"][1] == 0
    assert describe_columns(read_metadata({"a": [1, 2]}, 2))[0]["name"] == "a"


def test_counts_survive_packing(monkeypatch):
    dense = np.random.default_rng(0).poisson(0.2, (30, 400))
    dense[4] = 0  # an empty document
    counts = sp.csr_matrix(dense)
    packed = page_documents.pack_counts(counts, np.zeros(30), np.ones((30, 2)))
    at = 0
    for d, length in enumerate(packed["count_rows"]):
        row = counts[d].sorted_indices()
        assert np.cumsum(packed["count_steps"][at : at + length].astype(int)).tolist() == row.indices.tolist()
        assert packed["count_values"][at : at + length].tolist() == row.data.tolist()
        at += length
    monkeypatch.setattr(page_documents, "_ALL_COUNTS", counts.nnz // 2)
    wrong = np.zeros(30)
    wrong[[7, 20]] = 9.0
    packed = page_documents.pack_counts(counts, wrong, np.ones((30, 2)))
    assert 0 < (packed["count_rows"] >= 0).sum() < 30
    assert (packed["count_rows"][[7, 20]] >= 0).all()
    assert len(packed["count_steps"]) == packed["count_rows"].clip(0).sum() <= counts.nnz // 2


def test_long_texts_are_cut(monkeypatch):
    monkeypatch.setattr(page_documents, "_ALL_TEXT", 5_000)
    texts, limit = page_documents.pack_texts(["x" * 3_000] * 10, 10)
    assert limit == 500 or 300 <= limit <= 500
    assert {len(text) for text in texts} == {limit}


def test_patterns_that_cannot_be_read_are_not_guessed():
    for pattern in (r"(?P<word>\w+)", r"(?i)\w+", r"\w++", r"a\1", "[abc", "\\", "a{e<=1}", "a{2}+", "[[:alpha:]]"):
        with pytest.raises(ValueError, match=r"page cannot read|pattern"):
            to_javascript(pattern)
    assert describe_tokens(Vectorizer(token_pattern=r"(?i:a)\w+")) is None
    assert describe_tokens(object()) is None


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"metadata": {"a": [1, 2]}}, "metadata: got 2 rows, expected one for each of the 120 documents"),
        ({"metadata": pd.DataFrame(np.zeros((120, 31)))}, "metadata: got 31 columns, expected 30 at most"),
        ({"names": ["a"]}, "names: got 1 names, expected one for each of the 120 documents"),
        ({"texts": ["a"]}, "texts: got 1 texts, expected one for each of the 120 documents"),
        ({"y": [1.0]}, "inconsistent numbers of samples"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(more, sentence, tmp_path):
    file = tmp_path / "report.html"
    with pytest.raises(ValueError, match=sentence):
        fitted("gaussian").report(file, reviews()["text"].tolist(), **more)
    assert not file.exists()


def test_an_unfitted_model_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        LDA(3).report(tmp_path / "report.html", ["a b"])


def test_the_file_is_the_same_each_time_and_needs_nothing_else(tmp_path):
    frame = reviews()
    files = [tmp_path / "a.html", tmp_path / "b.html"]
    for file in files:
        fitted("gaussian").report(file, frame["text"].tolist(), frame["rating"])
    assert files[0].read_bytes() == files[1].read_bytes()
    page = files[0].read_text(encoding="utf-8")
    assert not re.findall(r"(?:src|href)=[\"']?https?:", page)
    assert "default-src 'none'" in page


def test_covariates_and_loaded_models(tmp_path):
    fitted("softmax").save(tmp_path / "model.supertopic")
    frame = reviews()
    again = collect(load(tmp_path / "model.supertopic"), frame["text"].tolist(), frame["verdict"])
    first = collect(fitted("softmax"), frame["text"].tolist(), frame["verdict"])
    for name, array in first.arrays.items():
        np.testing.assert_allclose(again.arrays[name], array, atol=1e-5, err_msg=name)
    with pytest.raises(ValueError, match="covariates"):
        collect(fitted("lda"), frame["text"].tolist(), covariates=np.zeros(120))


@pytest.mark.parametrize(
    "make",
    [
        lambda texts, y: DiscLDAClassifier(2, max_iter=2).fit(texts, y),
        lambda texts, y: FacetedSAGE(3, facets=["y"], max_iter=2).fit(texts, pd.DataFrame({"y": y})),
        lambda texts, y: MixtureOfCategoricals(3, max_iter=2).fit(texts),
        lambda texts, y: HTMM(3, max_iter=2).fit(texts),
    ],
    ids=["disclda", "faceted", "mixture", "htmm"],
)
def test_other_models_have_a_page(make, tmp_path):
    frame = reviews()
    model = make(frame["text"].tolist(), frame["verdict"].tolist())
    found = collect(model, frame["text"].tolist())
    assert found.arrays["shares"].shape[0] == len(frame)
    assert found.facts["inference"]["possible"] == isinstance(model, (MixtureOfCategoricals, DiscLDAClassifier))
    model.report(tmp_path / "report.html", frame["text"].tolist())


def test_command_line(tmp_path):
    frame = reviews()
    frame.to_csv(tmp_path / "reviews.csv", index=False)
    fitted("gaussian").save(tmp_path / "model.supertopic")
    out = tmp_path / "report.html"
    given = (tmp_path / "model.supertopic", tmp_path / "reviews.csv")
    done = run("report", *given, "--target", "rating", "--metadata", "year,verdict", "--out", out, "--title", "Films")
    assert done.exit_code == 0, done.output
    assert "120 documents" in done.stderr and "<title>Films</title>" in out.read_text(encoding="utf-8")
    assert "is already there" in fails("report", *given, "--out", out)
    assert run("report", *given, "--out", out, "--force").exit_code == 0
    assert "'nothing'" in fails("report", *given, "--metadata", "nothing", "--out", out, "--force")
    assert misused("report", *given, "--nothing")


def test_command_line_for_classes_and_for_topics_alone(tmp_path):
    frame = reviews()
    frame.to_csv(tmp_path / "reviews.csv", index=False)
    for kind in ("softmax", "lda", "ordinal"):
        fitted(kind).save(tmp_path / f"{kind}.supertopic")
        target = "stars" if kind == "ordinal" else "verdict"
        out = tmp_path / f"{kind}.html"
        done = run(
            "report", tmp_path / f"{kind}.supertopic", tmp_path / "reviews.csv", "--target", target, "--out", out
        )
        assert done.exit_code == 0, done.output
