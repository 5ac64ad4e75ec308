"""Topics that are merged, left out, or put in another order: through tables, files and new documents."""

import numpy as np
import pytest

from supertopic import LDA, MixtureOfCategoricals, SAGETopics, SLDARegressor, load

WORDS = [["cat", "dog", "bird"], ["bank", "fund", "stock"], ["goal", "match", "team"], ["rain", "snow", "wind"]]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [" ".join([*rng.choice(WORDS[i % 4], 12), *rng.choice(WORDS[i // 4 % 4], 4)]) for i in range(120)]


def fit(texts, kind=LDA, **more):
    return kind(4, max_iter=20, random_state=0, **more).fit(texts)


@pytest.mark.parametrize(("kind", "more"), [(LDA, {}), (LDA, {"inference": "gibbs"}), (MixtureOfCategoricals, {})])
def test_merged_topics_are_sums(texts, kind, more, tmp_path):
    old, model = fit(texts, kind, **more), fit(texts, kind, **more).set_topic_labels({3: "Weather", 1: "One"})
    assert model.merge_topics([3, "One"]) is model and model.n_topics == 3
    assert model.topic_labels_ == [None, "One", None]
    theta = old.doc_topic_
    np.testing.assert_allclose(
        model.doc_topic_, np.stack([theta[:, 0], theta[:, 1] + theta[:, 3], theta[:, 2]], 1), rtol=1e-5
    )
    mass = old.fitted_.state.word_topic.sum(axis=0)
    expected = (mass[1] * old.components_[1] + mass[3] * old.components_[3]) / (mass[1] + mass[3])
    np.testing.assert_allclose(model.components_[1], expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(model.transform(texts), model.doc_topic_, atol=0.1)
    assert len(model.topics()) == len(model.topic_info()) == 3
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    assert again.topic_labels_ == model.topic_labels_
    np.testing.assert_array_equal(again.transform(texts), model.transform(texts))


def test_topics_are_dropped_and_reordered(texts):
    old, model = fit(texts), fit(texts)
    model.reorder_topics([2, 0, 3, 1])
    np.testing.assert_array_equal(model.components_, old.components_[[2, 0, 3, 1]])
    np.testing.assert_allclose(model.doc_topic_, old.doc_topic_[:, [2, 0, 3, 1]], rtol=1e-6)
    model.drop_topics([0])
    rest = old.doc_topic_[:, [0, 3, 1]]
    np.testing.assert_allclose(model.doc_topic_, rest / rest.sum(axis=1, keepdims=True), rtol=1e-5)
    assert model.transform(texts).shape == (120, 3)
    both = fit(texts, doc_topic_prior=[0.1, 0.2, 0.3, 0.4]).merge_topics([[0, 2], [1, 3]])
    assert both.doc_topic_prior == pytest.approx([0.4, 0.6]) and both.alpha_ == pytest.approx([0.4, 0.6])


def test_what_cannot_be_regrouped_is_refused(texts):
    model = fit(texts)
    for ask in (
        lambda: model.merge_topics([1]),
        lambda: model.merge_topics([1, 9]),
        lambda: model.merge_topics([[1, 2], [2, 3]]),
        lambda: model.merge_topics([]),
        lambda: model.drop_topics([0, 1, 2, 3]),
        lambda: model.reorder_topics([0, 1, 2]),
        lambda: fit(texts, SAGETopics).merge_topics([0, 1]),
        lambda: SLDARegressor(2, max_iter=2, cross_fit=0).fit(texts, np.linspace(0.1, 0.9, 120)).merge_topics([0, 1]),
    ):
        with pytest.raises(ValueError, match="topic"):
            ask()
    assert model.n_topics == 4
