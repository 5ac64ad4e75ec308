"""Progress on standard error: a bar at a terminal, a line now and then elsewhere, or one line per step.

The logger "supertopic" has the same, whatever `verbose` is: a step at the level DEBUG, the last one of a loop at INFO.
"""

from __future__ import annotations

import builtins
import importlib.util
import logging
import numbers
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

_LOG = logging.getLogger("supertopic")
_screen = threading.Lock()  # nested or parallel fits draw no second bar
_FIRST_LINE, _NEXT_LINE = 10.0, 30.0  # seconds until lines where no bar can be drawn


class Progress(Protocol):
    """The function that `track` yields; called with the number of steps done so far and values to show."""

    def __call__(self, step: int, **values: object) -> None: ...


@contextmanager
def track(description: str, total: int | None, verbose: int | bool) -> Iterator[Progress]:
    """Show the progress of a loop: ``with track("VB", 100, verbose) as report: report(1, bound=-7.41)``.

    Parameters
    ----------
    description : str
        A short name of the loop.
    total : int or None
        The number of steps, if known.
    verbose : int or bool
        0: silent. 1 or True: a bar, where standard error is a terminal (or a notebook that can draw one), and a line
        now and then elsewhere: after ten seconds, and then every half minute. 2: a line per step.
    """
    with _shown(description, total, verbose) as report:
        if not _LOG.isEnabledFor(logging.INFO):
            yield report
            return
        told, line = _lines(description, total), ""

        def both(step: int, **values: object) -> None:
            nonlocal line
            line = told(step, **values)
            _LOG.debug(line)
            report(step, **values)

        yield both
        _LOG.info(line or description)


@contextmanager
def _shown(description: str, total: int | None, verbose: int | bool) -> Iterator[Progress]:
    stream = _Unbreakable(sys.stderr)
    if verbose >= 2:
        yield _written(description, total, stream)
    elif verbose and _screen.acquire(blocking=False):
        try:
            if _can_draw(stream):
                with _bar(description, total, stream) as report, telling_of_compilation():
                    yield report
            else:
                yield _now_and_then(_written(description, total, stream))
        finally:
            _screen.release()
    else:
        yield _silence


@contextmanager
def telling_of_compilation() -> Iterator[None]:
    """Say once what one is waiting for, if kernels are compiled: in a new installation that takes half a minute."""
    from numba.core import event

    class Listener(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                text = "Compiling, once for this installation; `supertopic warm-up` does it for all models."
                print(text, file=sys.stderr, flush=True)  # which the bar has redirected, to draw itself below

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


def _silence(step: int, **values: object) -> None:
    pass


def _now_and_then(report: Progress) -> Progress:
    """Few of the reports: logs of long fits should show that they go on, and short ones need no log."""
    due = time.monotonic() + _FIRST_LINE

    def seldom(step: int, **values: object) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _NEXT_LINE
            report(step, **values)

    return seldom


def _written(description: str, total: int | None, stream: _Unbreakable) -> Progress:
    line = _lines(description, total)

    def report(step: int, **values: object) -> None:
        stream.write(line(step, **values) + "\n")
        stream.flush()

    return report


def _lines(description: str, total: int | None) -> Callable[..., str]:
    """Makes a line of a step; a loop may go on beyond its `total`, which is then left out."""
    start = time.monotonic()

    def line(step: int, **values: object) -> str:
        seconds, known = time.monotonic() - start, total is not None and step <= total
        left = (total - step) * seconds / step if known and total and step else 0.0
        parts = [
            description,
            f"{step}/{total}" if known else f"{step}",
            _format(values),
            f"{seconds:.1f}s",
            f"about {_rounded(left)} left" if left >= 2 else "",
        ]
        return "  ".join(part for part in parts if part)

    return line


def _rounded(seconds: float) -> str:
    """A time as one says it: "40s", "5min", "2h"."""
    unit, name = next((each for each in ((3600.0, "h"), (60.0, "min")) if seconds >= 1.5 * each[0]), (1.0, "s"))
    return f"{max(round(seconds / unit), 1)}{name}"


@contextmanager
def _bar(description: str, total: int | None, stream: _Unbreakable) -> Iterator[Progress]:
    from rich import progress as rich  # imported here because the import is slow and most fits are silent
    from rich.console import Console

    bar = rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[shown]}", markup=False),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        console=Console(file=stream),  # type: ignore[arg-type]
        refresh_per_second=8,  # in a thread: short steps cost nothing, and the clock is updated during long ones
        redirect_stdout=False,  # standard output belongs to the caller, and may be a file
    )
    with bar:
        task = bar.add_task(description, total=total, shown="")

        def report(step: int, **values: object) -> None:
            bar.update(task, completed=step, total=None if total is None else max(total, step), shown=_format(values))

        yield report


def _format(values: dict[str, Any]) -> str:
    """Format names and values, fractions with six digits: ``bound -7.41``."""
    shown = []
    for name, value in values.items():
        fraction = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
        shown.append(f"{name} {value:.6g}" if fraction else f"{name} {value}")
    return "  ".join(shown)


def _can_draw(stream: _Unbreakable) -> bool:
    """Whether the stream is a terminal, or a notebook with the widgets that rich needs."""
    notebook = type(getattr(builtins, "get_ipython", lambda: None)()).__name__ == "ZMQInteractiveShell"
    return stream.isatty() or (notebook and importlib.util.find_spec("ipywidgets") is not None)


class _Unbreakable:
    """A stream on which writing never fails, so that a fit continues when its terminal is closed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError, AttributeError):
            return int(self._stream.write(text))
        return 0

    def flush(self) -> None:
        with suppress(OSError, ValueError, AttributeError):
            self._stream.flush()

    def isatty(self) -> bool:
        with suppress(OSError, ValueError, AttributeError):
            return bool(self._stream.isatty())
        return False
