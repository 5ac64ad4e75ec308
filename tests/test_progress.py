"""Progress: silent by default, a bar at terminals only, lines for logs, and a fit never fails because of it."""

import errno
import io
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from supertopic.progress import track


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Broken(Terminal):
    def write(self, text):
        raise OSError(errno.EIO, "the terminal went away")

    def flush(self):
        self.write("")


@pytest.fixture
def stderr(monkeypatch):
    def put(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    monkeypatch.setenv("TERM", "xterm")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    return put


def run(verbose, steps=3, total=3):
    with track("VB", total, verbose) as report:
        for step in range(1, steps + 1):
            report(step, bound=-7.4123456789)


@pytest.mark.parametrize("verbose", [0, False])
def test_silent(stderr, verbose):
    terminal = stderr(Terminal())
    run(verbose)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("verbose", [1, True, np.int64(1)])
def test_a_bar_at_a_terminal(stderr, verbose):
    terminal = stderr(Terminal())
    run(verbose)
    shown = terminal.getvalue()
    assert "VB" in shown and "3/3" in shown and "bound -7.41235" in shown
    assert re.search(r"0:00:0\d", shown)


def test_no_bar_where_there_is_no_terminal(stderr, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    log = stderr(io.StringIO())
    run(1)
    assert log.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_lines_go_to_logs_and_terminals_alike(stderr, stream):
    log = stderr(stream())
    run(2)
    lines = log.getvalue().splitlines()
    assert len(lines) == 3
    assert re.fullmatch(r"VB  2/3  bound -7\.41235  \d+\.\d+s", lines[1])


def test_lines_say_how_long_it_takes_from_here(stderr, monkeypatch):
    clock = iter([0.0, 10.0, 90.0, 3600.0, 4000.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    stream = stderr(io.StringIO())
    with track("select", 100, 2) as report:
        for step in (20, 60, 61, 100):
            report(step)
    ends = [line.split("s  ")[-1] if "left" in line else "" for line in stream.getvalue().splitlines()]
    assert ends == ["about 40s left", "about 60s left", "about 38min left", ""]


def test_lines_without_a_total_and_with_other_values(stderr):
    log = stderr(io.StringIO())
    with track("Gibbs", None, 2) as report:
        report(1, tokens=12_345_678, phase="burn-in", rate=np.float32(0.5))
    assert re.fullmatch(r"Gibbs  1  tokens 12345678  phase burn-in  rate 0\.5  0\.\ds\n", log.getvalue())


@pytest.mark.parametrize("total", [None, 0, 5])
def test_a_bar_of_any_total(stderr, total):
    terminal = stderr(Terminal())
    run(1, steps=2, total=total)
    assert "2/" in terminal.getvalue()


def test_words_in_brackets_are_shown_as_they_are(stderr):
    terminal = stderr(Terminal())
    with track("[red]K=5[/]", 1, 1) as report:
        report(1, word="[/nonsense]")
    assert "[red]K=5[/]" in terminal.getvalue() and "[/nonsense]" in terminal.getvalue()


def test_the_bar_is_cheap(stderr):
    terminal = stderr(Terminal())
    start = time.perf_counter()
    with track("VB", 20_000, 1) as report:
        for step in range(1, 20_001):
            report(step, bound=1.0)
    elapsed = time.perf_counter() - start
    assert terminal.getvalue().count("VB") <= 5 + 10 * elapsed  # redraws, however long the machine takes
    assert "20000/20000" in terminal.getvalue()


@pytest.mark.parametrize("stream", [Broken, lambda: None])
@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_a_terminal_that_went_away_does_no_harm(stderr, stream, verbose):
    stderr(stream())
    run(verbose)


def test_a_closed_stream_does_no_harm(stderr):
    terminal = stderr(Terminal())
    with track("VB", 2, 1) as report:
        report(1, bound=1.0)
        terminal.close()
        time.sleep(0.15)
        report(2, bound=2.0)
    run(2)


def test_a_terminal_of_few_letters_does_no_harm(stderr):
    raw = io.BytesIO()
    terminal = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    terminal.isatty = lambda: True
    stderr(terminal)
    for verbose in (1, 2):
        with track("Größe", 2, verbose) as report:
            report(2, bound=1.0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_cursor_comes_back_after_an_error(stderr, error):
    terminal = stderr(Terminal())
    with pytest.raises(error), track("VB", 3, 1) as report:
        report(1, bound=1.0)
        raise error
    assert terminal.getvalue().rindex("\x1b[?25h") > terminal.getvalue().rindex("\x1b[?25l")
    assert sys.stderr is terminal


def test_a_fit_inside_a_fit_draws_no_second_bar(stderr):
    terminal = stderr(Terminal())
    with track("outer", 1, 1) as report:
        with track("inner", 1, 1) as inner:
            inner(1)
        report(1)
    assert "outer" in terminal.getvalue() and "inner" not in terminal.getvalue()
    run(1)
    assert "VB" in terminal.getvalue()


def test_standard_output_is_left_alone(stderr, capsys):
    stderr(Terminal())
    with track("VB", 1, 1) as report:
        print("a result")
        report(1)
    assert capsys.readouterr().out == "a result\n"


def test_no_thread_stays_behind(stderr):
    stderr(Terminal())
    before = set(threading.enumerate())
    run(1)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)  # it was asked to stop and ends by itself
        assert not thread.is_alive()


INTERRUPTED = """
import os, signal
from supertopic.progress import track
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
with track("VB", 100, 1) as report:
    for step in range(1, 101):
        report(step, bound=1.0)
        if step == 50:
            os.kill(os.getpid(), signal.SIGINT)
"""


def test_ctrl_c_at_a_real_terminal_brings_the_cursor_back():
    pty = pytest.importorskip("pty", reason="needs POSIX")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side has closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert child.wait(30) != 0
    assert b"KeyboardInterrupt" in shown
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")


def test_a_loop_may_go_on_beyond_its_end(stderr):
    log = stderr(io.StringIO())
    with track("VB", 40, 2) as report:
        report(40)
        report(48)
    assert [line.split("  ")[1] for line in log.getvalue().splitlines()] == ["40/40", "48"]


@pytest.mark.parametrize("verbose", [0, 2])
def test_the_logger_knows_each_step(stderr, caplog, verbose):
    log = stderr(io.StringIO())
    for level, expected in (("DEBUG", ["VB  1/2", "VB  2/2", "VB  2/2"]), ("INFO", ["VB  2/2"]), ("WARNING", [])):
        caplog.clear()
        with caplog.at_level(level, "supertopic"), track("VB", 2, verbose) as report:
            report(1, bound=-7.5)
            report(2)
        assert [line.split("  0")[0].split("  bound")[0] for line in caplog.messages] == expected
    assert bool(log.getvalue()) == bool(verbose)
