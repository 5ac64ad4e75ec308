"""supertopic report: one HTML page that explains a model on the documents of DATA."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from supertopic.cli import options as opt
from supertopic.cli.answers import labels_of
from supertopic.cli.documents import check_writable, load_model, open_table
from supertopic.cli.learning import covariates_for, covariates_of, split_names
from supertopic.cli.show import note, say_json
from supertopic.plural import counted

if TYPE_CHECKING:
    import pandas as pd


def report(
    model: opt.ModelFile,
    data: opt.Data,
    text: opt.TextColumn = None,
    target: opt.TargetColumn = None,
    metadata: Annotated[
        str,
        typer.Option(metavar="COL,COL", help="Further columns of DATA to group documents by.", show_default=False),
    ] = "",
    covariates: opt.Covariates = "",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The page to write; - prints it.")
    ] = "report.html",
    title: Annotated[str | None, typer.Option(help="The heading of the page.", show_default=False)] = None,
    encoding: opt.Encoding = "utf-8",
    jobs: opt.Jobs = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Write a page that explains the model: topics, documents, predictions and their reasons, in one HTML file.

    The page needs no network. It opens from disk, and predicts a text as one types.
    """
    check_writable(out, inputs=[model, data], force=force, stdout=True)
    fitted = load_model(model, jobs)
    more, extra = split_names(metadata), covariates_for(fitted, covariates)
    targets = split_names(target)
    columns = [*targets, *more, *extra]
    prior = fitted.fitted_.prior_columns
    name, batches = open_table(data, text, columns=columns, beside=prior, encoding=encoding)
    texts, frame = _read_all(batches, name)
    more = list(dict.fromkeys([*more, *(prior if set(prior) <= set(frame) else ())]))
    with _file_of(out) as path:
        fitted.report(
            path,
            texts,
            labels_of(fitted, frame, targets) if targets else None,
            metadata=frame[more] if more else None,
            covariates=covariates_of(fitted, frame, extra),
            title=title,
        )
    if out == "-":
        return
    if as_json:
        say_json({"file": out, "documents": len(texts), "bytes": os.path.getsize(out)})
        return
    note(f"Wrote {out}: {counted(len(texts), 'document')}, {os.path.getsize(out) / 1e6:.1f} MB. Open it in a browser.")


@contextmanager
def _file_of(out: str) -> Iterator[str]:
    """The file to write; one that is then copied to standard output, where `out` is "-"."""
    if out != "-":
        yield out
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        yield str(path)
        sys.stdout.flush()
        sys.stdout.buffer.write(path.read_bytes())


def _read_all(batches: Iterable[pd.DataFrame], text: str) -> tuple[list[str], pd.DataFrame]:
    """The documents and all columns that were asked for."""
    import pandas as pd

    from supertopic.documents.readers import texts_of, warn_missing

    texts: list[str] = []
    frames, n_missing = [], 0
    for frame in batches:
        found, missing = texts_of(frame, text)
        texts += found
        n_missing += missing
        frames.append(frame)
    warn_missing(n_missing, len(texts), text)
    return texts, pd.concat(frames, ignore_index=True)
