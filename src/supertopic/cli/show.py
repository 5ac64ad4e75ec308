"""Printing: text and tables on standard output, notes on standard error."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
_WIDTH = 100  # if there is no terminal
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def say(text: str = "") -> None:
    """Print a line on standard output, without line breaks or colours."""
    sys.stdout.write(text + "\n")


def show(thing: RenderableType) -> None:
    """Print a table or a text on standard output, coloured and fitted to the width if it is a terminal."""
    console = _console(sys.stdout)
    with console.capture() as captured:  # rich itself would exit on a closed pipe
        console.print(thing)
    lines = captured.get().splitlines()
    say("\n".join(lines if console.is_terminal else map(str.rstrip, lines)))


def prose(text: str, width: int = 88) -> None:
    """Print a paragraph on standard output, in lines of a readable length that fit the terminal."""
    say(textwrap.fill(" ".join(text.split()), min(width, _console(sys.stdout).width)))


@contextmanager
def muted(quiet: bool) -> Iterator[None]:
    """Say nothing but errors on standard error, if so."""
    token = _quiet.set(quiet)
    try:
        yield
    finally:
        _quiet.reset(token)


def is_quiet() -> bool:
    """Whether a command says nothing but errors on standard error."""
    return _quiet.get()


def note(text: str, colour: str = "") -> None:
    """Print a sentence on standard error (warnings, automatic choices), unless the command is to be quiet."""
    if not is_quiet():
        complain(text, colour)


def complain(text: str, colour: str = "red") -> None:
    """Print a sentence on standard error, wrapped at the width of a terminal."""
    console = _console(sys.stderr)
    console.print(Text(text, style=colour), soft_wrap=not console.is_terminal)


def _console(file: Any) -> Console:
    width = None if file.isatty() or "COLUMNS" in os.environ else _WIDTH
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def say_json(value: object) -> None:
    """Print JSON on standard output; NaN becomes null."""
    say(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def topics_table(model: TopicEstimator, n_words: int) -> Table:
    """A table with the share and words of each topic, the largest share or effect first."""
    from supertopic.cli.response import effect_columns

    topics = model.topics(n_words)
    more, order = effect_columns(model)
    if "class" in topics:  # of disclda; a shared topic has none
        more = {"class": ["shared" if label is None else str(label) for label in topics["class"]], **more}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("topic", justify="right", style="bold")
    table.add_column("share", justify="right")
    for name in more:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("words", overflow="fold")
    for topic in order:
        row, cells = topics.loc[topic], [column[topic] for column in more.values()]
        table.add_row(str(topic), f"{row['share']:.1%}", *cells, row["words"])
    return table


def covariates_table(model: TopicEstimator) -> Table | None:
    """A table of the coefficients of the covariates; None for a model without them."""
    import numpy as np

    from supertopic.cli.response import row_names

    if not hasattr(model, "covariate_coef_"):
        return None
    coef, error = np.atleast_2d(model.covariate_coef_), np.atleast_2d(model.covariate_std_)
    rows = row_names(model) if len(coef) > 1 else [""]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("covariate", style="bold")
    for row in rows:
        table.add_column(f"coef {row}".strip(), justify="right")
        table.add_column("± se", justify="right")
    for place, name in enumerate(model.covariate_names_):
        cells = [f"{value[place]:.3g}" for pair in zip(coef, error, strict=True) for value in pair]
        table.add_row(name, *cells)
    return table


def parts_table(model: TopicEstimator, n_words: int) -> Table | None:
    """A table of what labels or regions add to the words of all topics; None for a model without them."""
    if not (hasattr(model, "labels_") or hasattr(model, "regions_")):
        return None
    found = model.adds(n_words)
    found = found[~found["part"].str.contains("topic")]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("label" if hasattr(model, "labels_") else "region", style="bold")
    regions = getattr(model, "regions_", None)
    if regions is not None:
        for name in ("latitude", "longitude", "share"):
            table.add_column(name, justify="right")
    table.add_column("more frequent words", overflow="fold")
    by_name = {key: ", ".join(rows["word"]) for key, rows in found.groupby(["part", "component"], sort=False)}
    if regions is None:
        for (part, component), words in by_name.items():
            table.add_row(f"{part} = {component}", words)
        return table
    for region, row in regions.iterrows():
        place = (f"{row['latitude']:.2f}", f"{row['longitude']:.2f}", f"{row['share']:.1%}")
        table.add_row(str(region), *place, by_name.get(("region", str(region)), "–"))
    return table


def facts(pairs: Mapping[str, str]) -> Table:
    """A table of names and values, one pair per line."""
    table = Table.grid(padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(Text(name, style="dim"), value)
    return table


def say_next(commands: Sequence[Sequence[str]]) -> None:
    """Print commands to try next."""
    say("\nNext:")
    say_commands(commands)


def say_commands(commands: Sequence[Sequence[str]]) -> None:
    """Print commands, quoted so that they can be copied."""
    for command in commands:
        say("  " + shlex.join(["supertopic", *command]))
