"""Readers of CSV, TSV, JSON lines, Parquet and folders of text, as one frame or in batches.

`TEXT_READERS` holds one reader per text format. Error messages are one sentence with the name of the file.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from supertopic.checks import whole_text
from supertopic.documents.corpus import EmptyDocumentWarning

__all__ = ["find_column", "read_batches", "read_table", "text_column"]

Source = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
_STDIN = Path("-")
_DOUBLED = "doubled"  # the attribute of a frame with the names that stand twice in the header of its file


def read_table(source: Source, *, columns: list[str] | None = None, encoding: str = "utf-8") -> pd.DataFrame:
    """Read all rows of a file, a glob, a list of files, a folder or standard input ("-").

    Parameters
    ----------
    source : str, path or list of them
        CSV, TSV, JSON lines (or one JSON array), Parquet, also .csv.gz and the like; .txt files (one document
        per file, in the columns `text` and `file`), or a folder of any of these. "-" is CSV or JSON lines.
    columns : list of str, optional
        The columns to read; all by default.
    encoding : str
        Encoding of text files; a byte order mark is dropped.
    """
    frames = list(_batches(source, columns, None, encoding))
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def read_batches(
    source: Source,
    *,
    columns: list[str] | None = None,
    batch_size: int = 1024,
    encoding: str = "utf-8",
    lines: bool = False,
) -> Iterator[pd.DataFrame]:
    """Yield the rows of `read_table` in batches of at most `batch_size`; an invalid source raises immediately.

    lines : whether standard input may hold a text in every line, where the first is no header
    """
    if not (isinstance(batch_size, (int, np.integer)) and batch_size > 0):
        raise ValueError(f"batch_size is {batch_size!r}; expected a positive integer.")
    return _batches(source, columns, int(batch_size), encoding, lines)


def find_column(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return one column; the error for a missing column suggests similar names."""
    _require_columns(frame.columns, [name], "The table")
    if name in frame.attrs.get(_DOUBLED, ()) or np.count_nonzero(frame.columns == name) > 1:
        raise ValueError(f"The table has two columns {name!r}: rename one of them.")
    return frame[name]


def text_column(frame: pd.DataFrame, name: str) -> list[str]:
    """Return the documents of a column; missing values become empty documents, with one warning."""
    texts, n_missing = texts_of(frame, name)
    warn_missing(n_missing, len(texts), name)
    return texts


def texts_of(frame: pd.DataFrame, name: str) -> tuple[list[str], int]:
    """Return the documents of a column and the number of missing ones."""
    column = find_column(frame, name)
    missing = column.isna().to_numpy()
    if missing.all():
        return [""] * len(column), len(column)
    texts = column.astype(object).where(~missing, "").tolist()
    wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        value = f"{texts[wrong]!r:.40}"
        raise ValueError(f"Column {name!r} holds {column.dtype} values, {value} in row {wrong}; expected text.")
    return texts, int(missing.sum())


def warn_missing(n_missing: int, n_documents: int, name: str) -> None:
    """Warn once with the number of missing texts."""
    if n_missing:
        message = f"Missing values in column {name!r} are taken as empty documents: {n_missing} of {n_documents}."
        warnings.warn(message, EmptyDocumentWarning, stacklevel=3)


def find_files(source: Source) -> list[Path]:
    """Return the files of a path, a glob, a folder or a list of them, in a stable order."""
    if not isinstance(source, (str, os.PathLike)):
        if not isinstance(source, (list, tuple)):
            raise ValueError(f"The source is a {type(source).__name__}; expected a path, a glob or a list of paths.")
        files = [file for one in source for file in find_files(one)]
        if not files:
            raise ValueError("The list of files is empty; expected at least one path.")
        return files
    name = os.fspath(source)
    if name == "-":
        return [_STDIN]
    path = Path(name).expanduser()
    if path.is_dir():
        return _files_in(path)
    if path.exists():
        files = [path]
    elif glob.has_magic(name):
        files = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
        if not files:
            raise ValueError(f"No file matches {name!r}.")
    else:
        raise ValueError(f"The file {name!r} does not exist.")
    for file in files:
        if not file.is_file():
            raise ValueError(f"{_name(file)} is a pipe or a device, not a file; '-' reads standard input.")
        if _suffix(file) not in KNOWN:
            raise ValueError(
                f"{_name(file)} has an unknown extension {file.suffix!r}; expected one of {', '.join(KNOWN)}."
            )
        if file.stat().st_size == 0 and _suffix(file) != ".txt":  # an empty text is a document without words
            raise ValueError(f"{_name(file)} is empty.")
    return files


def _files_in(folder: Path) -> list[Path]:
    """Return the text files below a folder, or the tables if it has no text files."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    files = [path for path in inside if _suffix(path) == ".txt"]
    files = files or [path for path in inside if _suffix(path) in KNOWN]
    if not files:
        raise ValueError(f"The folder {str(folder)!r} holds no file that can be read ({', '.join(KNOWN)}).")
    return files


def _batches(
    source: Source, columns: list[str] | None, size: int | None, encoding: str, lines: bool = False
) -> Iterator[pd.DataFrame]:
    files = find_files(source)  # outside the generator, so that an invalid source raises immediately
    try:
        codecs.lookup(encoding)
    except (LookupError, TypeError) as error:
        raise ValueError(f"encoding is {encoding!r}, which Python does not know.") from error

    def rows() -> Iterator[pd.DataFrame]:
        n_rows = 0
        for frame in _frames(files, columns, size, encoding, lines):
            if columns is not None:
                _require_columns(frame.columns, columns, "The table")
            if len(frame):
                n_rows += len(frame)
                yield frame if columns is None else frame[list(columns)]
        if not n_rows:
            raise ValueError(_no_rows(files))

    return rows()


def _frames(
    files: list[Path], columns: list[str] | None, size: int | None, encoding: str, lines: bool
) -> Iterator[pd.DataFrame]:
    documents = [file for file in files if _suffix(file) == ".txt"]
    root = os.path.commonpath([file.parent for file in documents]) if documents else None
    for start in range(0, len(documents), size or len(documents) or 1):
        part = documents[start:][:size]
        names = [os.path.relpath(file, root) for file in part]
        yield pd.DataFrame({"text": [_read_document(file, encoding) for file in part], "file": names})
    for file in files:
        if _suffix(file) == ".parquet":
            yield from _read_parquet(file, columns, size)
        elif _suffix(file) != ".txt":
            with _open(file, encoding) as handle:
                reader = _guess_reader(handle, lines) if file == _STDIN else TEXT_READERS[_suffix(file)]
                yield from reader(handle, _name(file), size)


def _read_csv(handle: IO[str], name: str, size: int | None, separator: str = ",") -> Iterator[pd.DataFrame]:
    separator = _separator(handle, separator)
    parts, doubled = None, _doubled_names(handle, separator)
    try:
        while True:
            # the warning filters end with each part, since the caller's code runs between two parts
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pd.errors.DtypeWarning)
                # if every row has a field too many, pandas only warns and drops those fields
                warnings.simplefilter("error", pd.errors.ParserWarning)
                if parts is None:
                    parts = pd.read_csv(handle, sep=separator, chunksize=size, index_col=False)
                    parts = iter([parts]) if isinstance(parts, pd.DataFrame) else parts
                part = next(parts, None)
            if part is None:
                return
            part.attrs[_DOUBLED] = doubled
            yield part
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{name} is empty.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = str(error).replace("Error tokenizing data. C error: ", "").strip().rstrip(".")
        raise ValueError(f"{name} has rows that do not fit its header: {reason}.") from error


def _header(handle: Any, separator: str) -> list[str]:
    """The names in the first line of a table, where they can be had without reading; otherwise nothing."""
    if not hasattr(getattr(handle, "buffer", None), "peek"):
        return []
    opening = handle.buffer.peek(1 << 13).decode(handle.encoding, errors="ignore")
    try:
        return next(csv.reader(io.StringIO(opening), delimiter=separator), [])
    except csv.Error:
        return []


def _separator(handle: IO[str], separator: str) -> str:
    """The separator of a table: a semicolon or a tab, if the header of a CSV has one of them and no comma.

    Spreadsheets write such files where the comma separates decimals.
    """
    if separator != "," or len(_header(handle, ",")) != 1:
        return separator
    return next((other for other in (";", "\t") if len(_header(handle, other)) > 1), separator)


def _doubled_names(handle: IO[str], separator: str) -> list[str]:
    """Names that stand twice in the header, which pandas would call "name" and "name.1"; reads nothing."""
    header = _header(handle, separator)
    return [name for name, times in Counter(header).items() if name and times > 1]


def _read_json(handle: IO[str], name: str, size: int | None) -> Iterator[pd.DataFrame]:
    """Read one object per line, or one array of objects (which has to be read at once)."""
    opening = ""
    while not opening.strip():
        line = handle.readline()
        if not line:
            raise ValueError(f"{name} is empty.")
        opening += line
    if opening.lstrip().startswith("["):
        records = iter(_json_array(opening + handle.read(), name))
    else:
        records = _json_lines(chain(opening.splitlines(), handle), name)
    while batch := list(islice(records, size)):
        yield pd.DataFrame(_whole(batch))


def _whole(value: object) -> Any:
    """What JSON holds, with whole characters: a cut emoji is half of one, which no frame can hold."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return {whole_text(name): _whole(one) for name, one in value.items()} if isinstance(value, dict) else value


def _json_array(text: str, name: str) -> list[dict[str, Any]]:
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(_broken_json(error, name)) from error
    if not all(isinstance(record, dict) for record in records):
        raise ValueError(f"{name} holds an array of other things than JSON objects.")
    return records


def _json_lines(lines: Iterable[str], name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(_broken_json(error, name, number)) from error
        if not isinstance(record, dict):
            raise ValueError(f"{name} holds no JSON object in line {number}.")
        yield record


def _broken_json(error: Exception, name: str, line: int | None = None) -> str:
    """The sentence for what `json.loads` raises; `line` is that of the text, where it is one line of a file."""
    if isinstance(error, json.JSONDecodeError):
        return f"{name} is broken JSON in line {line or error.lineno}: {error.msg}."
    what = "values nested too deeply" if isinstance(error, RecursionError) else "a number of thousands of digits"
    return f"{name} holds {what}{f' in line {line}' if line else ''}."


TEXT_READERS: dict[str, Callable[..., Iterator[pd.DataFrame]]] = {
    ".csv": _read_csv,
    ".tsv": partial(_read_csv, separator="\t"),
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".json": _read_json,
}
KNOWN = (*TEXT_READERS, ".parquet", ".txt")


def _guess_reader(handle: io.TextIOWrapper, lines: bool) -> Callable[..., Iterator[pd.DataFrame]]:
    """JSON lines, a table, or if `lines` may be texts, and the first is no header, a text in every line."""
    start = handle.buffer.peek(64).removeprefix(b"\xef\xbb\xbf").lstrip()  # type: ignore[attr-defined]
    if start[:1] in (b"{", b"["):
        return _read_json
    return _read_lines if lines and not _is_header(_header(handle, _separator(handle, ","))) else _read_csv


def _is_header(names: list[str]) -> bool:
    """Whether these name columns: `text`, or several of few words each, which prose would write with spaces between."""
    names = [name.removeprefix("\ufeff") for name in names]
    several = len(names) > 1 and all(re.fullmatch(r"([^\W\d]\S*( \S+){0,3})?", name) for name in names)
    return names == ["text"] or several


def _read_lines(handle: IO[str], name: str, size: int | None) -> Iterator[pd.DataFrame]:
    """Every line is a document."""
    lines = (line.rstrip("\r\n").removeprefix("\ufeff") for line in handle)
    while part := list(islice(lines, size)):
        yield pd.DataFrame({"text": part})


def _read_parquet(file: Path, columns: list[str] | None, size: int | None) -> Iterator[pd.DataFrame]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ValueError("Parquet files need pyarrow: pip install 'supertopic[parquet]'.") from error
    try:
        with pq.ParquetFile(file) as parquet:
            if columns is not None:
                _require_columns(parquet.schema_arrow.names, columns, _name(file))
            if size is None:
                yield parquet.read(columns=columns).to_pandas()
            else:
                for batch in parquet.iter_batches(batch_size=size, columns=columns):
                    yield batch.to_pandas()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"{_name(file)} is no valid Parquet file: {reason}.") from error


def _read_document(file: Path, encoding: str) -> str:
    with _open(file, encoding) as handle:
        return handle.read()


@contextmanager
def _open(file: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    """Open a text file; errors while reading become one sentence with the name of the file."""
    decoder = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    try:
        if file == _STDIN:
            stdin: Any = sys.stdin.buffer
            buffer = io.BufferedReader(stdin)  # a new buffer, because peek is needed
            handle = io.TextIOWrapper(buffer, decoder, newline="")
            try:
                yield handle
            finally:
                handle.detach().detach()  # leaves standard input open
        else:
            with gzip.open(file) if file.suffix == ".gz" else open(file, "rb") as raw:
                yield io.TextIOWrapper(raw, decoder, newline="")
    except UnicodeError as error:
        where = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise ValueError(
            f"{_name(file)} is not encoded in {encoding}{where}; save it as UTF-8 or pass "
            f"encoding={_likely_encoding(file, encoding)!r}."
        ) from error
    except (OSError, EOFError) as error:
        raise ValueError(f"{_name(file)} cannot be read: {error}.") from error


def _likely_encoding(file: Path, encoding: str) -> str:
    """Another encoding that a file may have; one of 16 bits starts with a mark."""
    opening = b""
    if file != _STDIN:
        with gzip.open(file) if file.suffix == ".gz" else open(file, "rb") as raw:
            opening = raw.read(2)
    if opening in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    return "latin-1" if encoding.lower().startswith("utf") else "utf-8"


def _require_columns(there: Iterable[str], wanted: Iterable[str], where: str) -> None:
    there = [str(column) for column in there]
    for name in wanted:
        if name not in there:
            near = get_close_matches(name, there, n=1) or [c for c in there if c.lower() == name.lower()]
            hint = f"; did you mean {near[0]!r}?" if near else "."
            some = ", ".join(map(repr, there[:20])) + (", ..." if len(there) > 20 else "")
            raise ValueError(f"{where} has no column {name!r}{hint} Its columns are {some}.")


def _suffix(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    last = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]
    return ".parquet" if last == ".pq" else last


def _no_rows(files: list[Path]) -> str:
    if files[0] == _STDIN:
        return "Standard input has no rows: expected CSV or TSV whose first line names the columns, or JSON lines."
    return f"{_name(files[0])} has no rows." if len(files) == 1 else "The files have no rows."


def _name(file: Path) -> str:
    return "Standard input" if file == _STDIN else f"The file {str(file)!r}"
