"""First topics of anchor words: rows of co-occurrence, anchors, weights; the same topics whatever the seed."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from supertopic import CVB0, LDA, PC, SVI, VB, Gibbs, SLDARegressor, load
from supertopic.inference import spectral_topics as spectral
from supertopic.metrics import align_topics, stability


@pytest.fixture(scope="module")
def data():
    """Documents of four topics, each with a word of its own."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.3), 4)
    topics[:, :4] = 0.08 * np.eye(4)
    topics /= topics.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(4, 0.3), 2000)
    counts = np.stack([rng.multinomial(50, one) for one in shares @ topics])
    return sp.csr_matrix(counts, dtype=np.float64), topics, shares


def naive_rows(counts):
    """Pairs of different tokens of a document, one after the other."""
    found = np.zeros((counts.shape[1], counts.shape[1]))
    for row in counts:
        tokens = np.repeat(np.arange(len(row)), row.astype(int))
        for i, v in enumerate(tokens):
            for j, w in enumerate(tokens):
                if i != j:
                    found[v, w] += 1.0 / (len(tokens) * (len(tokens) - 1))
    total = found.sum(axis=1, keepdims=True)
    return np.divide(found, total, out=np.zeros_like(found), where=total > 0)


def test_rows_are_those_of_pairs_of_tokens():
    counts = np.random.default_rng(1).poisson(0.7, (12, 9)).astype(float)
    counts[0], counts[1] = 0, np.eye(9)[2]  # no token, and one that stands beside none
    np.testing.assert_allclose(spectral.word_rows(sp.csr_matrix(counts)), naive_rows(counts), atol=1e-12)


def test_anchors_are_farthest_from_the_span_of_those_before():
    rows = np.random.default_rng(2).dirichlet(np.ones(6), 30)
    known = np.arange(30) != int((rows**2).sum(axis=1).argmax())
    found, chosen = spectral.anchor_words(rows, known, 4), []
    for _ in range(4):
        apart = []
        for v in range(30):
            span = rows[chosen].T
            rest = rows[v] - (span @ np.linalg.lstsq(span, rows[v], rcond=None)[0] if chosen else 0.0)
            apart.append(rest @ rest if known[v] and v not in chosen else -1.0)
        chosen.append(int(np.argmax(apart)))
    assert found.tolist() == chosen


def test_weights_are_the_nearest_on_the_simplex():
    rng = np.random.default_rng(3)
    corners = rng.dirichlet(np.full(8, 0.2), 3)
    rows = np.vstack([corners, rng.dirichlet(np.ones(3), 20) @ corners])
    found = spectral.convex_weights(rows, np.arange(3))
    for row, weights in zip(rows, found, strict=True):
        exact = nnls(np.vstack([corners.T, np.full(3, 1e4)]), np.append(row, 1e4))[0]  # that sum to one
        np.testing.assert_allclose(weights, exact, atol=0.01)


def test_many_words_are_multiplied_by_signs(data, monkeypatch):
    counts, _, _ = data
    whole = spectral.spectral_counts(counts, 4)
    monkeypatch.setattr(spectral, "_DIMENSIONS", 39)
    some = spectral.spectral_counts(counts, 4)
    np.testing.assert_array_equal(some, spectral.spectral_counts(counts, 4))
    assert stability([whole.T, some.T])[0] > 0.9
    np.testing.assert_allclose(whole.sum(axis=1), np.asarray(counts.sum(axis=0)).ravel(), rtol=1e-5)


@pytest.mark.parametrize("method", [VB, CVB0, SVI, Gibbs, PC])
def test_two_seeds_find_the_same_topics(data, method, tmp_path):
    counts, topics, shares = data
    given = {"inference": method(init="spectral"), "max_iter": 30}
    models = []
    for seed in (0, 1):
        model = SLDARegressor(4, cross_fit=0, random_state=seed, **given) if method is PC else None
        model = model or LDA(4, random_state=seed, **given)
        models.append(model.fit(counts, *([shares[:, 0]] if method is PC else [])))
    assert align_topics(topics, models[0].components_).distance.max() < 0.15
    assert stability(models)[0] > (0.9 if method is PC else 0.99)  # whose batches are drawn, and parts of documents
    assert align_topics(*models).order.tolist() == [0, 1, 2, 3]
    if method in (VB, CVB0):
        np.testing.assert_array_equal(models[0].components_, models[1].components_)
        models[0].save(tmp_path / "m.supertopic")
        assert load(tmp_path / "m.supertopic").inference.init == "spectral"


def test_too_few_words_are_said():
    with pytest.raises(ValueError, match="init: 'spectral' found 3 words that stand in enough documents, expected 5"):
        LDA(5, inference=VB(init="spectral")).fit(np.ones((8, 3)))
    with pytest.raises(ValueError, match="init: got 'anchors'"):
        LDA(2, inference=VB(init="anchors")).fit(np.ones((8, 3)))
