"""Command lines at random: commands, options, values and files put together as nobody would.

A command ends with code 0, 1 (one sentence on standard error), 2 (wrong usage) or 3 (`check` found something), never
with a traceback or an "unexpected" error, and never changes a file that it was not asked to write.
"""

import os
from functools import cache

import typer

from supertopic.cli import app
from tests.cli_tools import run, write_corpus, write_rated
from tests.fuzz.runner import main
from tests.fuzz.watch import without_warnings

COMMANDS = ("fit", "topics", "explain", "predict", "evaluate", "select", "check")
WRONG = ("--nonsense", "-x", "--", "--n", "-")
VALUES = (
    "body", "price", "label", "stars", "sold", "id", "nothing", "price,label", "body,body", ",", "", " ", "0", "1", "2",
    "-1", "0.5", "1e9", "-5", "nan", "inf", "1e400", "99999999999999999999", "abc", "auto", "slda", "lda", "medlda",
    "sstm", "disclda", "geo-sage", "htmm", "gibbs", "vb", "svi", "pc", "gaussian", "poisson", "ordinal", "utf-8",
    "latin-1", "utf-99", "*", "?", "../x", "$HOME", "\x00", "ÄÖ", "🎈", "-", "--out",
    "@file", "a" * 500, "1:2", "1-2", "True", "null", "[]", "{}",
)  # fmt: skip


@cache
def options(command):
    """The options that a command has, and some that it has not; whether each takes a value."""
    params = typer.main.get_command(app).commands[command].params
    known = [(one.opts[0], not getattr(one, "is_flag", False)) for one in params if one.opts[0].startswith("-")]
    return [*known, *known, *((name, True) for name in WRONG)]


def option(rng, command, files):
    """An option, mostly with a value where it takes one."""
    name, takes = rng.choice(options(command))
    if rng.random() < 0.15:
        takes = not takes
    return [name, rng.choice([*VALUES, *files])] if takes else [name]


def prepare(folder):
    """The files that commands are given: tables, models, and things that are neither."""
    if not (folder / "rated.csv").exists():
        write_corpus(folder / "data.csv")
        write_rated(folder / "rated.csv", n=40)
        (folder / "empty.csv").write_bytes(b"")
        (folder / "noise.csv").write_bytes(bytes(range(256)) * 4)
        (folder / "folder").mkdir()
        for name, more in (("lda", []), ("slda", ["--target", "price"])):
            made = run(
                "fit", folder / "rated.csv", "--text", "body", "-k", 2, "--iterations", 2, *more, "--out", folder / name
            )
            assert made.exit_code == 0, made.output
    return [
        folder / name for name in ("data.csv", "rated.csv", "empty.csv", "noise.csv", "folder", "lda", "slda", "none")
    ]


def command_line(rng, folder):
    """Half of them begin as a command that works."""
    files = prepare(folder)
    out, rated = folder / "out", folder / "rated.csv"
    usual = {
        "fit": ["fit", rated, "--text", "body", "-k", 2, "--iterations", 2, "--out", out],
        "topics": ["topics", folder / "slda"],
        "explain": ["explain", folder / "slda", "money and a cat"],
        "predict": ["predict", folder / "slda", rated, "--text", "body", "--out", out],
        "evaluate": ["evaluate", folder / "slda", rated, "--text", "body"],
        "check": ["check", folder / "slda", rated, "--text", "body"],
        "select": ["select", rated, "--text", "body", "--topics", "2,3", "--iterations", 2],
    }
    command = rng.choice(COMMANDS)
    given = list(usual[command]) if rng.random() < 0.6 else [command, rng.choice(files)]
    for _ in range(rng.choice([1, 1, 2, 3])):
        choice, place = rng.random(), rng.randrange(1, len(given) + 1)
        if choice < 0.55:
            given += option(rng, command, files)
        elif choice < 0.75 and place < len(given):
            given[place] = rng.choice([*VALUES, *files])
        elif place < len(given):
            del given[place]
    return [str(word) for word in given]


@without_warnings
def try_one(rng, folder):
    given = command_line(rng, folder)
    os.chdir(folder / "folder")
    kept = {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "out"}
    done = run(*given)
    for path, content in kept.items():
        named = any(path.name in word for word in given) and "--force" in given
        assert named or path.read_bytes() == content, f"{given}: changed {path.name}"
    for path in folder.iterdir():
        if path not in kept and path.is_file():
            path.unlink()
    known = (0, 1, 2, 3) if given[0] == "check" else (0, 1, 2)
    assert done.exit_code in known, f"{given}: exit code {done.exit_code}: {done.output[-300:]}"
    said = done.stderr
    assert "Traceback" not in done.output and "Error: unexpected" not in said, f"{given}: {said[-300:]}"
    if done.exit_code == 1:
        assert said.splitlines()[-1].startswith("Error: "), f"{given}: {said[-300:]}"
    return f"code {done.exit_code}"


if __name__ == "__main__":
    main("command_lines", try_one, default=1_000)
