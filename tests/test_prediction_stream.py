"""Prediction-constrained training of streams and of batches as they come."""

from __future__ import annotations

import numpy as np
import pytest

from supertopic import PC, SLDAClassifier, SLDARegressor, TopicModel, load
from supertopic.documents.streams import Stream
from supertopic.inference.variational import prediction_stream
from supertopic.inference.variational.prediction_stream import Source
from tests.test_prediction_constrained import COVARIATE, NEW, NEW_COVARIATE, NEW_TOLD, NEW_Y, PLAIN, TOLD, Stop, X, Y


def batches(y, size=100):
    """A stream of pairs; it can be read again and again."""

    def read():
        for first in range(0, len(y), size):
            yield X[first : first + size], y[first : first + size]

    return Stream.from_callable(read)


def test_a_stream_finds_what_a_fit_finds(tmp_path):
    y = PLAIN[0].copy()
    y[::7] = np.nan
    model = SLDARegressor(8, inference="pc", max_iter=12).fit(batches(y))
    assert model.score(NEW, PLAIN[1]) > 0.6
    assert model.n_iter_ == len(model.bound_) == model.bound_.argmax() + 1
    assert model.dispersion_ == pytest.approx(np.mean((model.predict(NEW) - PLAIN[1]) ** 2), rel=0.3)
    model.save(tmp_path / "m.supertopic")
    np.testing.assert_array_equal(load(tmp_path / "m.supertopic").predict(NEW), model.predict(NEW))


def test_documents_held_out_are_the_same_in_every_epoch_and_never_trained_on():
    from supertopic.inference.batches import Batch

    def epoch(number):
        for first in range(0, len(Y), 100):
            rows = slice(first, first + 100)
            yield Batch(X[rows], np.arange(len(Y), dtype=float)[rows], np.ones(len(Y[rows])), 8)

    source = Source(epoch, len(Y), 0.2, 0)
    train, held = source.samples()
    assert 50 < len(held) < 150 and not set(train.y) & set(held.y)
    for number in (0, 3):
        parts = list(source.parts(number))
        np.testing.assert_array_equal(np.concatenate([out.y for _, out in parts]), held.y)
        assert set(np.concatenate([kept.y for kept, _ in parts])) == set(range(len(Y))) - set(held.y)


def test_classes_from_a_stream_and_without_documents_held_out():
    model = SLDAClassifier(8, inference=PC(validation_fraction=0), max_iter=6).fit(batches((TOLD > 0.5).astype(int)))
    assert model.score(NEW, NEW_TOLD > 0.5) > 0.8 and model.n_iter_ == 6


def test_a_killed_fit_of_a_stream_ends_with_the_same_model(tmp_path, monkeypatch):
    from supertopic.checkpoint import Checkpoint

    given, path = {"inference": "pc", "max_iter": 3}, tmp_path / "fit.checkpoint"
    whole, save, saves = SLDARegressor(8, **given).fit(batches(PLAIN[0])), Checkpoint.save, []

    def save_and_stop(self, *state):
        save(self, *state)
        saves.append(1)
        if len(saves) in (2, 3):
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "due", lambda self: True)
        patch.setattr(Checkpoint, "save", save_and_stop)
        for _ in range(2):
            with pytest.raises(Stop):
                SLDARegressor(8, checkpoint=path, **given).fit(batches(PLAIN[0]))
    again = SLDARegressor(8, checkpoint=path, **given).fit(batches(PLAIN[0]))
    np.testing.assert_array_equal(again.components_, whole.components_)
    np.testing.assert_array_equal(again.coef_, whole.coef_)


def test_batches_as_they_come_are_learned_from_saved_and_continued(tmp_path):
    model = SLDARegressor(4, inference=PC(total_documents=500))
    order = np.random.default_rng(0).permutation(len(Y))
    for _ in range(6):
        for rows in np.array_split(order, 5):
            model.partial_fit(X[rows], Y[rows], covariates=COVARIATE[rows])
    # the covariate explains a quarter of the variance, and four topics that do not serve y nothing
    assert model.score(NEW, NEW_Y, covariates=NEW_COVARIATE) > 0.45
    assert model.covariate_coef_[0, 0] == pytest.approx(0.7, abs=0.15)
    model.save(tmp_path / "m.supertopic")
    again = load(tmp_path / "m.supertopic")
    for one in (model, again):
        one.partial_fit(X[:100], Y[:100], covariates=COVARIATE[:100], sample_weight=np.ones(100))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_classes_several_responses_and_missing_labels_as_they_come():
    codes, new = np.digitize(TOLD, [1 / 3, 2 / 3]), np.digitize(NEW_TOLD, [1 / 3, 2 / 3])
    model, several = SLDAClassifier(8, inference="pc"), TopicModel(8, inference="pc", response=["gaussian", "poisson"])
    for _ in range(6):
        for first in range(0, 500, 100):
            rows = slice(first, first + 100)
            model.partial_fit(X[rows], codes[rows], classes=[0, 1, 2])
            y = np.column_stack([PLAIN[0][rows], codes[rows]]).astype(float)
            y[::5, 0] = np.nan
            several.partial_fit(X[rows], y)
    assert model.score(NEW, new) > 0.55
    assert np.corrcoef(np.asarray(several.predict(NEW))[:, 0].astype(float), PLAIN[1])[0, 1] > 0.6
    several.fit(X, np.column_stack([PLAIN[0], codes]))
    assert not hasattr(several, "_climb")


def test_refusals(monkeypatch):
    monkeypatch.setattr(prediction_stream, "climb_batch", None)  # before any work
    with pytest.raises(ValueError, match="words"):
        SLDARegressor(8, inference="pc", words=True).fit(batches(PLAIN[0]))
    with pytest.raises(ValueError, match="Dirichlet topics"):
        SLDARegressor(8, inference="pc", emission="sage").partial_fit(X, PLAIN[0])
    with pytest.raises(ValueError, match="doc_topic_prior"):
        SLDARegressor(8, inference="pc", doc_topic_prior="auto").partial_fit(X, PLAIN[0])
