"""The options of a fit as a file: read by --config, and written beside each model, so that the fit can be repeated."""

from __future__ import annotations

import json
import tomllib
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from supertopic.cli.documents import check_writable

_OF_THE_TERMINAL = {"config", "force", "as_json", "verbose", "quiet", "help"}  # change nothing in a fit


def _use(context: typer.Context, path: str | None) -> str | None:
    """Take the options of the file where the command line has none."""
    if path is not None and not context.resilient_parsing:
        known = {str(one.name) for one in context.command.params} - _OF_THE_TERMINAL
        context.default_map = _read(path, known, str(context.command.name))
    return path


Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE.toml",
        help="Options from a file, such as topics = 30; what the command line says goes first. DATA may stand there"
        " as data. Each fit writes its own beside the model.",
        show_default=False,
        is_eager=True,
        callback=_use,
    ),
]


def _read(path: str, known: set[str], command: str) -> dict[str, Any]:
    """The values of a file of settings by parameter; refuses what is no option."""
    try:
        with open(path, "rb") as file:
            given = tomllib.load(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or f"it is no TOML: {error}"
        raise typer.BadParameter(f"{path} cannot be read: {reason}", param_hint="--config") from None
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known or isinstance(value, dict):
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0].replace('_', '-')!r}?" if near else "."
            raise typer.BadParameter(
                f"{path}: {key!r} is no option of supertopic {command}{hint}", param_hint="--config"
            )
        found[name] = ",".join(map(str, value)) if isinstance(value, list) else value
    return found


def check_outputs(out: str, inputs: list[str], force: bool) -> str:
    """The name of the file of settings beside a model; refuses names of files that are there, or cannot be."""
    settings = f"{out}.toml"
    for path in (out, settings):
        check_writable(path, inputs=inputs, force=force)
    return settings


def write_settings(context: typer.Context, path: str) -> None:
    """Write the options of this fit that are not the usual ones, as TOML."""
    from supertopic import __version__
    from supertopic.persistence import write_atomically

    name = context.command.name
    lines = [f"# supertopic {__version__}. This repeats the {name}: supertopic {name} --config THIS_FILE --force"]
    for one in context.command.params:
        value = context.params.get(str(one.name))
        if one.name not in _OF_THE_TERMINAL and value is not None and value != one.default:
            lines.append(f"{str(one.name).replace('_', '-')} = {json.dumps(value, ensure_ascii=False)}")
    write_atomically(path, ("\n".join(lines) + "\n").encode(errors="replace"))
