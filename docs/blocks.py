"""Sphinx extension: every Python block of a page runs, and what it prints stands below it.

The blocks of a page share one namespace and run in an empty folder with `reviews.csv` (`small_corpus.py`). A block that
fails stops the build. A block after the line `<!-- not run -->` is only compiled: it needs what the build has not got.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import small_corpus
from sklearn.base import BaseEstimator

BLOCK = re.compile(r"(?P<skip><!-- not run -->\n+)?```python\n(?P<code>.*?)```\n", re.DOTALL)
OUTER = re.compile(r"\[([^\]]+)\]\((\.\./[^)]+)\)")
WIDTHS = ("display.width", 100, "display.max_columns", 12, "display.max_colwidth", 44, "display.max_rows", 12)


def run(code: str, names: dict[str, Any], where: str) -> str:
    """Run a block; return what it prints, and its last expression."""
    tree = ast.parse(code, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings(), pd.option_context(*WIDTHS):
        warnings.simplefilter("ignore")  # of small corpora
        exec(compile(tree, where, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
            if (
                value is not None
                and not isinstance(value, BaseEstimator)
                and "matplotlib" not in type(value).__module__
            ):
                print(value)
    return said.getvalue().rstrip()


def executed(text: str, where: str, folder: Path) -> str:
    """The page with the output of its blocks."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def replaced(found: re.Match[str]) -> str:
        code, block = found["code"], found.group()
        if found["skip"]:
            compile(code, where, "exec")
            return block
        said = run(code, names, where)
        return f"{block}\n```text\n{said}\n```\n" if said else block

    before = os.getcwd()
    os.chdir(folder)
    try:
        return BLOCK.sub(replaced, text)
    finally:
        os.chdir(before)


def without_outer_links(text: str, where: str) -> str:
    """Links to files of the repository outside of this folder are names on the site; they must be there."""

    def named(found: re.Match[str]) -> str:
        if not (Path(__file__).parent / found[2].split("#")[0]).exists():
            raise FileNotFoundError(f"{where} links to {found[2]}, which is not there")
        return f"`{found[1]}`"

    return OUTER.sub(named, text)


def on_source(app: Any, docname: str, source: list[str]) -> None:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        small_corpus.write(Path(folder))
        try:
            source[0] = executed(without_outer_links(source[0], docname), docname, Path(folder))
        except Exception as error:
            from sphinx.errors import ExtensionError

            raise ExtensionError(
                f"{docname}: a block failed: {type(error).__name__}: {error}", orig_exc=error
            ) from error
    if (seconds := time.perf_counter() - start) > 1:
        print(f"{docname}: blocks {seconds:.0f} s", flush=True)


def quoted(app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Outside of quotes, names such as coef_ are no links, and |x| is no substitution."""
    for place, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)
        parts[::2] = [re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", part) for part in parts[::2]]
        lines[place] = "".join(parts)


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", on_source)
    app.connect("autodoc-process-docstring", quoted, priority=900)  # after numpydoc
    return {"parallel_read_safe": False}
