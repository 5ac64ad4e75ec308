"""Sample splitting: coefficients and errors from labels that the topics have not seen."""

import numpy as np
import pytest
import scipy.sparse as sp

from supertopic import PC, SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.datasets import simulate


def centred(model):
    """Coefficients less their mean over the average document: what a regression on shares can tell apart."""
    coef = np.atleast_2d(model.coef_)
    return coef - (coef @ model.doc_topic_.mean(axis=0))[:, None]


@pytest.mark.slow
def test_noise_has_as_many_findings_as_a_test_of_ten_per_cent_may_have():
    """Without sample splitting, topics that follow the labels at supervision 30 find noise almost everywhere."""
    found = {0.0: [], 0.5: []}
    for seed in range(25):
        data = simulate(500, 6, n_words=200, mean_length=30, response="gaussian", seed=seed)
        noise = np.random.default_rng([seed, 5]).normal(size=500)
        for share, values in found.items():
            if share == 0.0 and seed > 4:  # it finds so many that few corpora show it
                continue
            model = SLDARegressor(
                8, inference="vb", supervision=30, honest=share, cross_fit=0, max_iter=15, random_state=seed
            )
            model.fit(data.counts.counts, noise)
            values.append(np.abs(centred(model)[0]) > 1.645 * model.coef_std_)
    assert np.mean(found[0.0]) > 0.3
    assert 0.05 <= np.mean(found[0.5]) <= 0.15  # 200 coefficients: three standard errors are 0.064


def test_the_topics_do_not_see_the_labels_set_aside():
    """Another label of a document set aside changes coefficients, never topics."""
    data = simulate(200, 4, n_words=100, mean_length=30, response="gaussian", seed=1)
    X, y = data.counts.counts, np.asarray(data.y, dtype=float)

    def fit(y):
        return SLDARegressor(
            4, honest=0.4, cross_fit=0, max_iter=3, supervision=5, inference=PC(validation_fraction=0)
        ).fit(X, y)

    first, same_topics = fit(y), []
    for row in range(30):
        other = fit(y + 3.0 * (np.arange(200) == row))
        same_topics.append(np.array_equal(other.components_, first.components_))
        assert not np.allclose(other.coef_, first.coef_)
    assert 0.15 < np.mean(same_topics) < 0.7  # four in ten


def test_predictions_of_new_documents_are_as_bold_as_those_of_documents_set_aside():
    """Few words tell the label, and many are rare: topics fit the rare words of documents that they have seen."""
    rng = np.random.default_rng(0)
    z, words = rng.normal(size=1100), simulate(1100, 20, n_words=5000, mean_length=100, doc_topic_prior=0.5, seed=0)
    told = [rng.poisson(np.exp(sign * 0.5 * z)[:, None] * np.full(100, 0.1)) for sign in (1, -1)]
    X = sp.hstack([words.counts.counts, *(sp.csr_matrix(one, dtype=np.float32) for one in told)], format="csr")
    y = z + 0.5 * rng.normal(size=len(z))
    model = SLDARegressor(20, honest=0.5, cross_fit=0, max_iter=20, random_state=0).fit(X[:700], y[:700])
    found = model.predict(X[700:])
    assert 0.8 < np.polyfit(found, y[700:], 1)[0] < 1.25 and model.score(X[700:], y[700:]) > 0.35


def test_few_groups_are_refused_before_any_fit(monkeypatch):
    data = simulate(120, 3, n_words=60, mean_length=20, response="gaussian", seed=1)
    X, y, author = data.counts.counts, np.asarray(data.y, dtype=float), np.array([f"a{i // 40}" for i in range(120)])
    shares = {"inference": "vb", "cross_fit": 0, "max_iter": 3, "random_state": 0}
    with pytest.warns(UserWarning, match="labels are of 2 groups"):
        SLDARegressor(3, honest=0.6, **shares).fit(X, y, groups=author)
    monkeypatch.setattr("supertopic.fitted.fit.seen_by_topics", lambda *_: pytest.fail("fitted"))
    with pytest.raises(ValueError, match=r"honest: got 0.4, which leaves 1 group of 3 for coefficients .* at least 2"):
        SLDARegressor(3, honest=0.4, **shares).fit(X, y, groups=author)


def test_levels_of_prevalence_that_only_one_half_has():
    data = simulate(160, 3, n_words=60, mean_length=20, response="gaussian", seed=1)
    about = {"author": [f"a{i // 20}" for i in range(160)], "rare": ["b"] * 159 + ["c"]}
    model = SLDARegressor(
        3, inference="vb", honest=0.5, cross_fit=0, max_iter=5, prevalence="~ author + rare", random_state=0
    )
    with pytest.warns(UserWarning, match="labels are of 4 groups"):
        model.fit(data.counts.counts, np.asarray(data.y, dtype=float), metadata=about, groups="author")
    assert np.isfinite(model.coef_std_).all() and np.isfinite(model.predict(data.counts.counts, metadata=about)).all()


@pytest.mark.parametrize("inference", ["vb", "svi", "gibbs", "pc"])
def test_every_engine_and_the_file(inference, tmp_path):
    data = simulate(200, 4, n_words=100, mean_length=30, response="poisson", seed=2)
    X = data.counts.counts
    model = SLDARegressor(4, response="poisson", honest=0.5, inference=inference, max_iter=4).fit(X, data.y)
    mean, low, high = model.predict(X, return_interval=0.9)
    assert np.all(low <= high)
    assert 0.8 < np.mean((low <= data.y) & (data.y <= high)) <= 1.0
    model.save(tmp_path / "m.supertopic")
    np.testing.assert_allclose(load(tmp_path / "m.supertopic").predict(X), mean)


def test_classes_and_several_responses():
    data = simulate(300, 4, n_words=100, mean_length=30, response="softmax", seed=3)
    X = data.counts.counts
    model = SLDAClassifier(4, honest=0.5, max_iter=4).fit(X, data.y)
    assert model.coef_std_.shape == model.coef_.shape
    assert model.predict_set(X, 0.9).any(axis=1).mean() > 0.8
    both = np.column_stack([np.asarray(data.y, dtype=float), np.arange(300.0) % 7])
    assert TopicModel(4, response=["ordinal", "gaussian"], honest=0.5, max_iter=3).fit(X, both).predict(X).shape == (
        300,
        2,
    )


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"honest": 1.0}, "honest: got 1.0, expected a share of the labels"),
        ({"honest": True}, "honest: got True"),
        ({"honest": 0.5, "words": True}, "honest: got 0.5 with words=True"),
        ({"honest": 0.5, "refit": False}, "honest: got 0.5 with refit=False"),
        ({"honest": 0.5, "supervision": "auto"}, "supervision='auto', which looks at all labels"),
        ({"honest": 0.1}, "cuts 60 labelled documents into 54 and 6; expected at least 25"),
    ],
)
def test_what_does_not_go_together_is_refused(params, words):
    data = simulate(60, 3, n_words=50, mean_length=20, response="gaussian", seed=0)
    with pytest.raises(ValueError, match=words):
        SLDARegressor(3, max_iter=2, **params).fit(data.counts.counts, data.y)
