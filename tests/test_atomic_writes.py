"""Atomic writes: after any failure there is the old file or the new one, and no temporary files."""

import errno
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from supertopic import persistence
from supertopic.persistence import read_model, write_atomically, write_model


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.supertopic"
    write_model(path, {"old": True}, {"word_topic": np.ones((20, 5))})
    return path


def assert_still_the_old_one(path):
    manifest, arrays = read_model(path)
    assert manifest["old"] is True
    assert np.array_equal(arrays["word_topic"], np.ones((20, 5)))
    assert os.listdir(path.parent) == [path.name]


def test_bytes_and_writers_both_work(tmp_path):
    write_atomically(tmp_path / "a", b"content")
    write_atomically(str(tmp_path / "b"), lambda file: file.write(b"con") and file.write(b"tent"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"content"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_permissions_follow_the_umask_and_then_the_old_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", b"1")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
        (tmp_path / "a").chmod(0o604)
        write_atomically(tmp_path / "a", b"2")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"content"


class FullDisk:
    """A file on a disk that is full after some bytes."""

    def __init__(self, path, mode, room):
        self.file, self.room = open(path, mode), room  # noqa: SIM115 (closed in __exit__)

    def write(self, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.file.write(data)

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.file.close()


@pytest.mark.parametrize("room", [0, 8, 1000, 1700])
def test_a_full_disk_leaves_the_old_model_and_says_so(model_file, monkeypatch, room):
    monkeypatch.setattr(persistence, "open", lambda *args: FullDisk(*args, room), raising=False)
    with pytest.raises(OSError, match=r"^could not write .*model\.supertopic: No space left on device;") as caught:
        write_model(model_file, {"new": 1}, {"big": np.ones(300)})
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert_still_the_old_one(model_file)


def test_a_real_limit_of_the_system_leaves_the_old_model(model_file):
    """The system itself stops the writing, by a limit on file sizes that any user may set."""
    pytest.importorskip("resource", reason="needs POSIX")
    program = (
        "import numpy as np, resource, sys\n"
        "from supertopic.persistence import write_model\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "write_model(sys.argv[1], {}, {'a': np.ones(100_000)})\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(model_file)], capture_output=True, text=True)
    assert "OSError: could not write" in done.stderr and "File too large" in done.stderr
    assert_still_the_old_one(model_file)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_at_the_last_steps_leaves_the_old_file(tmp_path, monkeypatch, step):
    write_atomically(tmp_path / "a", b"old")

    def fail(*args):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match=r"could not write .*a: Input/output error; what was there before is unchanged"):
        write_atomically(tmp_path / "a", b"new")
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_an_interrupt_leaves_the_old_file_and_passes_through(tmp_path):
    write_atomically(tmp_path / "a", b"old")

    def interrupted(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a", interrupted)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_or_a_missing_folder_as_target(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_atomically(tmp_path, b"")
    with pytest.raises(FileNotFoundError, match=r"could not write .*nowhere.a: No such file or directory"):
        write_atomically(tmp_path / "nowhere" / "a", b"")
