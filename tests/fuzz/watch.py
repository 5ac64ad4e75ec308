"""Bounds for one case: time, memory, and what Python's audit hook tells of files, imports and programs."""

import faulthandler
import os
import resource
import signal
import sys
import time
import warnings
from contextlib import contextmanager
from functools import wraps

# Events that a file could cause only if something that it names were opened, imported or run.
FORBIDDEN = (
    "open", "import", "exec", "compile", "pickle.", "marshal.", "subprocess.", "socket.", "ctypes.", "shutil.",
    "urllib.", "webbrowser.", "tempfile.", "glob.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork",
    "os.startfile", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink",
    "os.truncate", "os.listdir", "os.scandir", "os.putenv", "code.__new__", "function.__new__",
)  # fmt: skip
CORES = "/sys/fs/cgroup/"  # where n_jobs=-1 finds how many cores there are
SLOWEST = 20.0  # seconds of the processor that one case may take
ROOM = 1 << 30  # bytes that a case may need beyond what the process had

_watching: list[list] = []  # a hook cannot be removed: it notes nothing while this is empty


class TooSlow(BaseException):
    """Not an Exception, so that no handler takes it for an error of the input."""


def _note(event, arguments):
    if _watching and event.startswith(FORBIDDEN):
        _watching[-1].append((event, *arguments[:2]))


sys.addaudithook(_note)


@contextmanager
def nothing_but(*paths):
    """Raise an AssertionError if anything but `paths` is opened, or anything at all is imported or run."""
    events: list[tuple] = []
    _watching.append(events)
    try:
        yield
    finally:
        _watching.remove(events)
    allowed = {os.fspath(path) for path in paths}
    wrong = [
        event
        for event in events
        if not (event[0] == "open" and (str(event[1]) in allowed or str(event[1]).startswith(CORES)))
    ]
    assert not wrong, f"the file made Python do this: {wrong[:3]}"


@contextmanager
def time_bound(seconds=SLOWEST):
    """Raise TooSlow after some seconds of the processor, or as soon as a kernel returns; end a process that hangs."""

    def stop(number, frame):
        raise TooSlow(f"more than {seconds:g} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(10 * seconds, exit=True)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        faulthandler.cancel_dump_traceback_later()


def limit_memory(room=ROOM):
    """From here on, an array that does not fit into `room` more bytes is a MemoryError."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + room, resource.getrlimit(resource.RLIMIT_AS)[1]))


def peak_memory():
    """The most memory that this process has had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ran_out_of_memory(error):
    """Whether a MemoryError is behind an error."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def without_warnings(function):
    """Warnings are for people who fit models; here they cost time."""

    @wraps(function)
    def silent(*given):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*given)

    return silent


def now():
    return time.perf_counter()
