"""Writers of frames in batches: CSV, TSV, JSON lines and Parquet by extension, CSV on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import typer

if TYPE_CHECKING:
    import pandas as pd

Writer = Callable[[BinaryIO, "Iterable[pd.DataFrame]"], None]


def writer_for(path: str, as_json: bool = False) -> Writer:
    """Return the writer for a file name; standard output is CSV, or JSON lines."""
    extension = (".jsonl" if as_json else ".csv") if path == "-" else os.path.splitext(path)[1].lower()
    if extension not in WRITERS:
        raise typer.BadParameter(
            f"{path!r} has an unknown extension; expected one of {', '.join(WRITERS)}, or - for standard output.",
            param_hint="--out",
        )
    return WRITERS[extension]


def write_frames(path: str, frames: Iterable[pd.DataFrame], as_json: bool = False) -> None:
    """Write all rows to a file, atomically, or to standard output ("-")."""
    from supertopic.persistence import write_atomically

    write = writer_for(path, as_json)
    if path == "-":
        sys.stdout.flush()
        write(sys.stdout.buffer, frames)
    else:
        write_atomically(path, lambda file: write(file, frames))


def _write_csv(file: BinaryIO, frames: Iterable[pd.DataFrame], separator: str = ",") -> None:
    for number, frame in enumerate(frames):
        text = frame.to_csv(None, sep=separator, header=number == 0, index=False, lineterminator="\n")
        file.write(text.encode())


def _write_json_lines(file: BinaryIO, frames: Iterable[pd.DataFrame]) -> None:
    for frame in frames:
        file.write(frame.to_json(None, orient="records", lines=True, force_ascii=False).encode())


def _write_parquet(file: BinaryIO, frames: Iterable[pd.DataFrame]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ValueError("Parquet files need pyarrow: pip install 'supertopic[parquet]'.") from error
    writer = None
    try:
        for frame in frames:
            table = pa.Table.from_pandas(frame, schema=writer and writer.schema, preserve_index=False)
            writer = writer or pq.ParquetWriter(file, table.schema)
            writer.write_table(table)
    except pa.ArrowException as error:  # a column of a CSV may hold numbers in the first batches and text later
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"A column that was kept does not fit a Parquet file: {reason}; write a CSV.") from error
    finally:
        if writer is not None:
            writer.close()


WRITERS: dict[str, Writer] = {
    ".csv": _write_csv,
    ".tsv": partial(_write_csv, separator="\t"),
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
}
