"""Kills, full disks, folders that cannot be written, Ctrl-C: no work is lost, and the model is the same."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from supertopic import LDA, Checkpoint, load, persistence
from supertopic.persistence import read_file
from tests.test_atomic_writes import FullDisk
from tests.test_golden_fits import data

X = data()[0]
PARAMS = {"n_topics": 2, "max_iter": 6, "tol": 0.0}
KILLED = (
    "lda-gibbs",
    "medlda-classes-cvb0",
    "sstm-classifier-chains",
    "sage-svi",
    "slda-gaussian-pc",
    "stream-slda-svi",
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_fits_that_are_killed_at_random_moments_end_with_the_same_model():
    """`python -m tests.fuzz.kills 200` kills fits of all engines."""
    command = [sys.executable, "-m", "tests.fuzz.kills", "6", "--engines", *KILLED]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], timeout=600)
    assert done.returncode == 0, done.stderr
    assert "6 kills, 6 engines" in done.stdout and "all models the same" in done.stdout


@pytest.mark.parametrize("room", [0, 1000])
def test_a_full_disk_is_a_warning_and_the_fit_goes_on(tmp_path, monkeypatch, room):
    whole = LDA(**PARAMS).fit(X)
    monkeypatch.setattr(persistence, "open", lambda *args: FullDisk(*args, room), raising=False)
    kept = Checkpoint(tmp_path / "c", every_seconds=0)
    with pytest.warns(
        UserWarning, match=r"^checkpoint: could not write .*c: No space left on device;.* the fit goes on$"
    ):
        fitted = LDA(checkpoint=kept, **PARAMS).fit(X)
    assert np.array_equal(fitted.components_, whole.components_)
    with pytest.raises(OSError, match=r"could not write .*model: No space left on device"):
        fitted.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    fitted.save(tmp_path / "model")  # the model is still there, and is saved elsewhere or later
    assert np.array_equal(load(tmp_path / "model").components_, whole.components_)


def test_a_disk_that_fills_up_leaves_the_last_state(tmp_path, monkeypatch):
    """The second save does not fit any more; the fit is killed later, and goes on from the first."""
    whole, saves, save = LDA(**PARAMS).fit(X), [], Checkpoint.save

    def save_and_fill(self, *state):
        save(self, *state)
        saves.append(read_file(self.path, "checkpoint")[0]["scalars"]["done"])
        monkeypatch.setattr(persistence, "open", lambda *args: FullDisk(*args, 100), raising=False)
        if len(saves) == 3:
            raise KeyboardInterrupt

    params = {"checkpoint": Checkpoint(tmp_path / "c", every_seconds=0), **PARAMS}
    with monkeypatch.context() as patch, pytest.warns(UserWarning, match="the fit goes on"):
        patch.setattr(Checkpoint, "save", save_and_fill)
        with pytest.raises(KeyboardInterrupt):
            LDA(**params).fit(X)
    assert len(set(saves)) == 1
    monkeypatch.undo()
    assert np.array_equal(LDA(**params).fit(X).components_, whole.components_)


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(tmp_path) and real(path, mode))
    with pytest.raises(
        ValueError, match=r"^checkpoint: nothing can be written to the folder of .*c: choose another one$"
    ):
        LDA(checkpoint=tmp_path / "c", **PARAMS).fit(X)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of Unix")
@pytest.mark.parametrize("inference", ["vb", "svi", "cvb0", "gibbs"])
def test_ctrl_c_keeps_the_last_state(tmp_path, monkeypatch, inference):
    """The signal comes from the system, in the middle of a fit."""
    params = {"n_topics": 2, "inference": inference, "max_iter": 20}
    whole, save, saves = LDA(**params).fit(X), Checkpoint.save, []
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores the signal

    def save_and_signal(self, *state):
        save(self, *state)
        saves.append(1)
        if len(saves) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    kept = Checkpoint(tmp_path / "c", every_seconds=0)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Checkpoint, "save", save_and_signal)
        LDA(checkpoint=kept, **params).fit(X)
    signal.signal(signal.SIGINT, handler)
    assert "trace" in read_file(tmp_path / "c", "checkpoint")[0]["scalars"]
    assert np.array_equal(LDA(checkpoint=kept, **params).fit(X).components_, whole.components_)
