"""What a reader sees at a terminal of 80 columns: nothing is wider, and no bar stands inside a paragraph."""

import io
import re
import sys
import textwrap

import pytest

from supertopic.cli import demo, show
from supertopic.cli.compare import _table
from tests.page_models import fitted

LONG = "An error is a sentence that goes on for longer than a line of a terminal is wide, as some of ours do. " * 2


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")

    def put(name):  # within the test, since pytest puts its own streams there before
        monkeypatch.setattr(sys, name, Terminal())
        return getattr(sys, name)

    return put


def test_messages_wrap_at_the_width_of_a_terminal(terminal):
    stream = terminal("stderr")
    show.note(LONG)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == textwrap.wrap(LONG, 80)


def test_messages_in_logs_are_one_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    show.note(LONG)
    assert sys.stderr.getvalue().splitlines() == [LONG]


@pytest.mark.parametrize("kind", ["gaussian", "softmax", "several", "lda", "hinge", "poisson"])
def test_tables_and_prose_fit(terminal, kind):
    model, stream = fitted(kind), terminal("stdout")
    show.show(show.topics_table(model, 12))
    show.show(_table(model.compare(model)))
    show.prose(str(model.describe()))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert max(map(len, plain.splitlines())) <= 80


def test_the_demo_fits_before_it_tells(monkeypatch):
    """Fits draw a bar on the same terminal, so that all of them come before the first paragraph."""
    said = []

    class Stop(Exception):
        pass

    class Trials:
        @property
        def figures(self):
            said.append("fits")
            raise Stop

    monkeypatch.setattr(demo.Trials, "of", lambda *given: Trials())
    monkeypatch.setattr(demo, "prose", lambda text: said.append("prose"))
    monkeypatch.setattr(demo, "say", lambda text="": said.append("text"))
    with pytest.raises(Stop):
        demo.demo(2, 0, None, None, 1, False, False, "email,logging")
    assert said == ["fits"]
