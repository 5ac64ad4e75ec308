"""A warm start keeps topics in their places when words come and go."""

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, SAGETopics, SLDARegressor, Vectorizer

FIRST = [f"red blue green w{i % 5}" for i in range(80)] + [f"cat dog bird v{i % 5}" for i in range(80)]
LATER = [f"cat dog wolf v{i % 3}" for i in range(70)] + [f"red blue pink w{i % 3}" for i in range(70)]


def topic_of(model, word):
    return int(model.components_[:, list(model.feature_names_in_).index(word)].argmax())


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("make", [lambda: LDA(2, warm_start=True), lambda: LDA(2, inference="cvb0", warm_start=True)])
def test_topics_of_texts_keep_their_places(make, order):
    """A fit from scratch finds them in an order of its own: one of the two orders tells."""
    model = make().set_params(max_iter=20, random_state=0).fit(FIRST).reorder_topics(order)
    before = [topic_of(model, word) for word in ("red", "cat")]
    model.fit(LATER)
    assert [topic_of(model, word) for word in ("red", "cat")] == before
    assert [topic_of(model, word) for word in ("pink", "wolf")] == before  # new words join those they stand beside
    assert "green" not in model.feature_names_in_


def test_topics_of_responses_keep_their_places():
    given = {"response": "gaussian", "inference": "vb", "max_iter": 10, "cross_fit": 0, "warm_start": True}
    for seed in range(4):
        model = SLDARegressor(2, random_state=seed, **given).fit(FIRST, np.repeat([0.0, 1.0], 80))
        before = topic_of(model, "red")
        model.set_params(random_state=seed + 10).fit(LATER, np.repeat([1.0, 0.0], 70))
        assert topic_of(model, "red") == before and model.coef_[before] < model.coef_[1 - before]


def test_columns_in_another_order_are_the_same_words():
    """As many words, but others in each place: rows are told by their names."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.where(np.arange(100)[:, None] < 50, [3, 3, 0.1, 0.1], [0.1, 0.1, 3, 3]))
    frame = pd.DataFrame(counts, columns=["a", "b", "c", "d"])
    model = LDA(2, max_iter=10, random_state=0, warm_start=True).fit(frame)
    before, fewer = model.components_.copy(), model.set_params(max_iter=1).fit(frame[["d", "c", "b", "a"]])
    np.testing.assert_allclose(fewer.components_[:, ::-1], before, atol=0.02)


def test_deviations_begin_anew_and_say_so():
    model = SAGETopics(2, max_iter=3, random_state=0, warm_start=True).fit(FIRST)
    with pytest.warns(UserWarning, match="the words are others, so that SAGETopics begins anew"):
        model.fit(LATER)


@pytest.mark.parametrize("make", [lambda: LDA(2, inference="svi"), lambda: SLDARegressor(2, response="gaussian")])
def test_batches_learn_words_and_keep_topics(make):
    """The words of three batches; those of the second that are new are learned where they belong."""
    model, given = make().set_params(random_state=0), {"y": np.repeat([0.0, 1.0], 80)}
    for _ in range(12):
        model.partial_fit(FIRST, **given)
    before = [topic_of(model, word) for word in ("red", "cat")]
    assert before[0] != before[1]
    for _ in range(12):
        model.partial_fit(LATER, np.repeat([1.0, 0.0], 70))
    known = list(model.feature_names_in_)
    assert [topic_of(model, word) for word in ("red", "cat")] == before
    assert [topic_of(model, word) for word in ("pink", "wolf")] == before
    assert "green" in known and known == list(model.vectorizer_.vocabulary_) and model.n_features_in_ == len(known)
    assert model.transform(["pink pink pink"])[0].argmax() == before[0]


def test_words_of_a_few_texts_and_of_a_full_vocabulary_are_not_learned():
    seen = Vectorizer(max_features=9).fit(FIRST)
    assert seen.grown(["rare bird"] + ["new bird"] * 2 + ["red"] * 5).vocabulary_ == seen.vocabulary_  # nine are known
    more = Vectorizer().fit(FIRST).grown(["rare bird"] + ["new bird"] * 2 + ["red"] * 5)
    assert list(more.vocabulary_)[-1] == "new" and "rare" not in more.vocabulary_ and more.n_documents_ == 168
    given = Vectorizer(vocabulary=["red", "cat"]).fit(FIRST)
    assert given.grown(["new bird"] * 5) is given


def test_a_failed_batch_leaves_the_vocabulary():
    model = SLDARegressor(2, response="gaussian").partial_fit(FIRST, np.repeat([0.0, 1.0], 80))
    with pytest.raises(ValueError, match="y"):
        model.partial_fit(LATER, [1.0])
    assert "wolf" not in model.vectorizer_.vocabulary_ and len(model.predict(LATER)) == 140


def test_deviations_learn_no_words_and_say_so():
    model = SAGETopics(2, inference="svi").partial_fit(FIRST)
    with pytest.warns(UserWarning, match="topics of SAGETopics learn no new words, such as 'pink', 'wolf'"):
        model.partial_fit(LATER)
