"""Fits that are a part of another one: killed in a fold, in a member or on the way to a choice, a fit goes on there."""

import os

import numpy as np
import pytest

from supertopic import PC, Checkpoint, MedLDAClassifier, SLDARegressor
from supertopic.datasets import simulate
from tests.test_killed_fits import Stop, stop_after

DATA = simulate(n_documents=80, n_topics=3, n_words=60, mean_length=30, response="gaussian", seed=4)
CLASS = np.where(np.argsort(np.argsort(DATA.y)) < 40, "low", "high")
FITS = {
    "folds": (SLDARegressor, {"inference": PC(validation_fraction=0.0), "cross_fit": 3}),
    "folds-vb": (SLDARegressor, {"inference": "vb", "cross_fit": 3, "tol": 0}),
    "members": (SLDARegressor, {"inference": PC(validation_fraction=0.0), "cross_fit": 0, "ensemble": 3}),
    "members-of-folds": (SLDARegressor, {"inference": PC(validation_fraction=0.0), "cross_fit": 2, "ensemble": 2}),
    "words": (SLDARegressor, {"inference": PC(validation_fraction=0.0), "cross_fit": 0, "words": True}),
    "choice": (SLDARegressor, {"inference": "pc", "cross_fit": 0, "supervision": "auto"}),
    "choice-vb": (SLDARegressor, {"inference": "vb", "cross_fit": 0, "supervision": "auto", "tol": 0}),
    "margin": (MedLDAClassifier, {"cross_fit": 3, "tol": 0}),
}


def fitted(name, checkpoint=None, **more):
    kind, params = FITS[name]
    params = {"n_topics": 3, "max_iter": 3, **params, **more}
    return kind(checkpoint=checkpoint, **params).fit(DATA.counts, CLASS if kind is MedLDAClassifier else DATA.y)


def saves_of(name, path, monkeypatch, **more):
    """The files that a fit with a save at every step writes, one after the other."""
    written, save = [], Checkpoint.save
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", lambda self, *state: written.append(self.path) or save(self, *state))
        model = fitted(name, Checkpoint(path, 0), **more)
    return model, written


@pytest.mark.parametrize("name", FITS)
def test_a_part_that_is_done_is_not_done_again(name, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    whole, written = saves_of(name, path, monkeypatch)
    assert os.listdir(tmp_path) == [] and len(set(written)) > 1
    at = len(written) - 1  # in the last part, which has steps to go
    assert written[at] == written[at - 1]
    with monkeypatch.context() as patch, pytest.raises(Stop):
        stop_after(at, patch)
        fitted(name, path)
    resumed, rest = saves_of(name, path, monkeypatch)
    assert len(rest) < len(written) / 2
    assert os.listdir(tmp_path) == []
    for model in (whole, resumed):
        model.set_params(checkpoint=None).save(tmp_path / f"{model is whole}.supertopic")
    assert (tmp_path / "True.supertopic").read_bytes() == (tmp_path / "False.supertopic").read_bytes()


@pytest.mark.parametrize(("name", "part"), [("folds", "fold"), ("choice", "choice"), ("members", "member")])
def test_parts_without_a_seed_go_on_with_the_seed_that_was_drawn(name, part, tmp_path, monkeypatch):
    """Other folds would be other fits: their checkpoints would be refused."""
    path = tmp_path / "fit.checkpoint"
    with monkeypatch.context() as patch, pytest.raises(Stop):
        stop_after(5, patch)
        fitted(name, path, random_state=None)
    path.unlink(missing_ok=True)  # a fit that takes less than 30 seconds leaves none
    assert {file.split(".")[-1].split("-")[0] for file in os.listdir(tmp_path)} == {part}
    fitted(name, path, random_state=None)
    assert os.listdir(tmp_path) == []


def test_other_files_beside_a_checkpoint_stay(tmp_path):
    mine = ["fit.checkpoint.fold", "fit.checkpoint.fold-1.csv", "fit.checkpoint.notes-1", "fit.checkpoint-1.fold-1"]
    for name in [*mine, "fit.checkpoint", "fit.checkpoint.fold-1", "fit.checkpoint.fold-10.member-2"]:
        (tmp_path / name).write_text("x")
    Checkpoint(tmp_path / "fit.checkpoint").finish()
    assert sorted(os.listdir(tmp_path)) == sorted(mine)
