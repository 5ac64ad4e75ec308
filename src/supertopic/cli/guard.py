"""Errors become one sentence on standard error and an exit code: 1 failed, 2 usage, 130 interrupted."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from supertopic.cli.show import complain, note


class Stopped(KeyboardInterrupt):
    """An interrupt with a sentence of its own."""


class GuardedGroup(TyperGroup):
    """The commands, each run under `guarded`."""

    def invoke(self, ctx: Any) -> Any:
        with guarded():
            return super().invoke(ctx)


@contextmanager
def guarded() -> Iterator[None]:
    """Print an error as one sentence and exit with code 1; print warnings as one line each; ignore a closed pipe.

    If SUPERTOPIC_DEBUG is set, errors keep their traceback.
    """
    debug = bool(os.environ.get("SUPERTOPIC_DEBUG"))
    try:
        with _short_warnings():
            yield
            sys.stdout.flush()  # so that a closed pipe raises here and not when Python shuts down
    except BrokenPipeError:
        _forget_stdout()
        raise typer.Exit(0) from None
    except KeyboardInterrupt as interrupt:
        complain(str(interrupt) or "Stopped; nothing was written.")
        raise typer.Exit(130) from None
    except (ValueError, OSError) as error:
        if debug:
            raise
        complain(f"Error: {_one_line(error)}")
        raise typer.Exit(1) from None
    except MemoryError:
        if debug:
            raise
        complain("Error: there is not enough memory; try --stream, a smaller --max-features or fewer --topics.")
        raise typer.Exit(1) from None
    except Exception as error:
        if debug or _is_usage(error):
            raise
        if "can't start new thread" in str(error):  # a container that counts them, or no memory for one
            complain("Error: the system starts no more threads here; give a smaller --jobs.")
            raise typer.Exit(1) from None
        what = f"{type(error).__name__}: {_one_line(error)}"
        complain(f"Error: unexpected {what} (set SUPERTOPIC_DEBUG=1 to see where, and please report it).")
        raise typer.Exit(1) from None


def _is_usage(error: Exception) -> bool:
    """Whether the error is one of typer's own: a wrong option, an exit."""
    return isinstance(error, (typer.Exit, typer.Abort)) or hasattr(error, "exit_code")


# how the library's messages name what is an option here
IN_PYTHON = {
    **{f"pass encoding='{name}'": f"give --encoding {name}" for name in ("latin-1", "utf-8", "utf-16")},
    "(max_iter)": "(--iterations)",
    "fit(…, handle_unknown='ignore')": "fit --handle-unknown ignore",
}


def _one_line(error: BaseException | Warning | str) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    for python, option in IN_PYTHON.items():
        text = text.replace(python, option)
    return text


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Show each warning for users once, without the line of code; hide warnings for programmers."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        text = _one_line(message)
        if text not in shown:
            shown.add(text)
            note(f"Warning: {text}", "yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = show
        yield


def _forget_stdout() -> None:
    """Redirect standard output to the null device, because Python flushes it again at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # not a real file, as in tests
