"""The argument DATA and the option --text: choose the column of the documents and read its rows in batches."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from supertopic.cli.show import note

if TYPE_CHECKING:
    import pandas as pd

BATCH = 2048


def open_table(
    source: str,
    text: str | None,
    *,
    columns: Sequence[str] = (),
    beside: Sequence[str] = (),
    encoding: str = "utf-8",
    refuse_text: bool = False,
) -> tuple[str, Iterator[pd.DataFrame]]:
    """Return the name of the text column, and batches of rows with this column and the other requested `columns`.

    beside : columns that are read as well if the table has them
    refuse_text : whether the text column must not be one of `columns`, which are targets
    """
    from supertopic.documents.readers import find_column, read_batches

    lines = text is None and not columns
    batches: Any = read_batches(source, batch_size=BATCH, encoding=encoding, lines=lines)
    first = next(batches)  # the readers raise if a table has no rows
    try:
        name = _choose_text(first, text)
        if name in columns and refuse_text:
            raise ValueError(f"--target: {name!r} is the column of the documents, expected another column")
        wanted = list(dict.fromkeys([name, *columns, *(column for column in beside if column in first.columns)]))
        for column in wanted:
            find_column(first, column)
    except ValueError:
        batches.close()  # or standard input would be closed whenever the generator is collected
        raise
    if source == "-":  # can be read once only
        return name, (frame[wanted] for frame in chain([first], batches))
    return name, read_batches(source, columns=wanted, batch_size=BATCH, encoding=encoding)


def read_documents(
    source: str, text: str | None, columns: Sequence[str] = (), beside: Sequence[str] = (), *, encoding: str = "utf-8"
) -> tuple[list[str], pd.DataFrame, str]:
    """Return all documents, the other columns of their rows as `open_table` does, and the name of the text column."""
    from supertopic.documents.readers import texts_of, warn_missing

    name, batches = open_table(source, text, columns=columns, beside=beside, encoding=encoding, refuse_text=True)
    documents: list[str] = []
    cells, n_missing = [], 0
    for frame in batches:
        texts, missing = texts_of(frame, name)
        documents += texts
        n_missing += missing
        cells.append(frame[[*columns, *(column for column in beside if column in frame and column not in columns)]])
    if not any(map(str.strip, documents)):
        raise ValueError(f"The {len(documents):,} documents in column {name!r} are all empty.")
    warn_missing(n_missing, len(documents), name)
    return documents, _joined(cells), name


def is_many_files(source: str) -> bool:
    """Whether DATA is a glob that matches several files."""
    from supertopic.documents.readers import find_files

    return glob.has_magic(source) and not os.path.exists(source) and len(find_files(source)) > 1


def read_columns(batches: Iterator[pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Return some columns of all rows."""
    return _joined([frame[list(names)] for frame in batches])


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Return batches of rows as one frame."""
    import pandas as pd

    return pd.concat(frames, ignore_index=True)


def stream_of(
    source: str, text: str, batch_size: int, encoding: str, y: Any = None, beside: Mapping[str, Any] | None = None
) -> Any:
    """The documents as a Stream, with their responses `y`, one per row, where there are some.

    beside : what else `fit` takes for each row
    """
    from supertopic import Stream
    from supertopic.documents.readers import read_batches, texts_of

    given = dict(beside or {})
    if y is None and not given:
        return Stream(source, text, None, batch_size, encoding=encoding)

    def labelled() -> Iterator[tuple[list[str], Any, dict[str, Any]]]:
        first = 0
        for frame in read_batches(source, columns=[text], batch_size=batch_size, encoding=encoding):
            texts, _ = texts_of(frame, text)
            rows = slice(first, first + len(texts))
            yield texts, _rows(y, rows), {name: _rows(value, rows) for name, value in given.items()}
            first += len(texts)

    return Stream.from_callable(labelled, n_documents=None if y is None else len(y))


def _rows(values: Any, rows: slice) -> Any:
    """Some rows of a frame, a series, an array, or a dict of them; None stays."""
    if values is None or isinstance(values, dict):
        return None if values is None else {name: _rows(value, rows) for name, value in values.items()}
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def load_model(path: str, jobs: int | None = None) -> Any:
    """Load a fitted model from a file."""
    from supertopic import load

    model = load(path)
    return model if jobs is None else model.set_params(n_jobs=jobs)


def check_writable(
    path: str, option: str = "--out", *, inputs: Sequence[str] = (), force: bool = False, stdout: bool = False
) -> None:
    """Raise before any work is done if the file cannot be written, or if it holds something of the user's.

    A file that is not empty, a model too, is replaced only with --force, and an input never.

    inputs : what the command reads
    stdout : whether "-" is standard output
    """
    if path == "-":
        if not stdout:
            raise ValueError(f"{option}: got -, which is standard output, expected the name of a file")
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise ValueError(f"{option}: {path} is a folder, expected the name of a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{option}: {path} is a device or a pipe, expected the name of a file")
    if not os.path.isdir(folder):
        raise ValueError(f"{option}: the folder of {path} does not exist: create it first")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{option}: the folder of {path} may not be written to")
    if os.path.isfile(path):
        _check_replaceable(path, option, inputs, force)


def _check_replaceable(path: str, option: str, inputs: Sequence[str], force: bool) -> None:
    from supertopic.documents.readers import find_files

    for source in inputs:
        files = [source] if os.path.isfile(source) else find_files(source) if source != "-" else []
        if any(os.path.samefile(path, file) for file in files):
            raise ValueError(f"{option}: {path} is read by this command: choose another file")
    if not force and os.path.getsize(path) > 0:
        raise ValueError(f"{option}: {path} is already there: choose another file, or replace it with --force")


def _choose_text(frame: pd.DataFrame, asked: str | None) -> str:
    """Return the requested column, 'text', or the only column of strings (of several words, if there are several)."""
    if asked is not None or "text" in frame:
        return asked or "text"
    strings = {}
    for column in frame.columns:
        values = frame[column].dropna()
        if len(values) and all(isinstance(value, str) for value in values):
            strings[str(column)] = sum(len(value.split()) for value in values) / len(values)
    prose = [column for column, n_words in strings.items() if n_words >= 3]
    candidates = prose if len(prose) == 1 else list(strings)
    if len(candidates) == 1:
        note(f"Reading the documents from column {candidates[0]!r}.")
        return candidates[0]
    shown = ", ".join(map(repr, candidates or map(str, frame.columns)))
    why = "several that hold text" if candidates else "none that holds text"
    raise ValueError(f"The data have no column 'text' and {why} ({shown}): say which one with --text.")
