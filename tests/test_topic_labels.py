"""Names of topics: given, kept in a model file, forgotten by another fit, refused when they do not fit."""

import json

import pytest

from supertopic import LDA, load

TEXTS = ["cat dog horse", "bank market stock", "cat bank dog market"] * 5


@pytest.fixture
def model():
    return LDA(3, max_iter=3).fit(TEXTS)


def test_lists_mappings_and_files(model, tmp_path):
    assert model.topic_labels_ is None
    assert model.set_topic_labels(["a", None, " c "]).topic_labels_ == ["a", None, "c"]
    assert model.set_topic_labels({1: "money"}).topic_labels_ == ["a", "money", "c"]
    file = tmp_path / "topic_labels.json"
    file.write_text(json.dumps({"supertopic": "topic labels", "n_topics": 3, "labels": {"0": "pets", "2": ""}}))
    assert model.set_topic_labels(file).topic_labels_ == ["pets", None, None]


def test_a_mapping_names_some_topics_and_leaves_the_others(model):
    model.set_topic_labels([None] * len(model.components_))
    model.set_topic_labels({0: "first"})
    model.set_topic_labels({1: "second"})
    assert model.topic_labels_[:2] == ["first", "second"]
    model.set_topic_labels({0: None})
    assert model.topic_labels_[:2] == [None, "second"]
    model.set_topic_labels([None] * len(model.components_))


def test_a_saved_model_keeps_them_and_another_fit_does_not(model, tmp_path):
    model.set_topic_labels({0: "pets"}).save(tmp_path / "model.supertopic")
    again = load(tmp_path / "model.supertopic")
    assert again.topic_labels_ == ["pets", None, None]
    assert again.fit(TEXTS).topic_labels_ is None


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a"], "labels: got 1 names, expected 3 names"),
        ({7: "x"}, "labels: got a name for topic 7, expected a number from 0 to 2"),
        ({"x": "y"}, "labels: got a name for topic 'x'"),
        ({0: 5}, "labels: got 5, expected a text"),
        (5, "labels: got int, expected 3 names"),
    ],
)
def test_what_does_not_fit_is_refused(model, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.set_topic_labels(labels)


def test_a_file_of_something_else(model, tmp_path):
    file = tmp_path / "other.json"
    file.write_text("not JSON")
    with pytest.raises(ValueError, match=r"labels: .*other\.json holds no JSON"):
        model.set_topic_labels(str(file))
    file.write_text("[1, 2, 3]")
    with pytest.raises(ValueError, match="holds list, expected names by topic"):
        model.set_topic_labels(str(file))
