"""supertopic report: one HTML page that explains a model on the documents of DATA."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli.documents import (
    Data,
    Encoding,
    Force,
    Jobs,
    ModelFile,
    TextColumn,
    check_writable,
    load_model,
    open_table,
)
from supertopic.cli.learning import Covariates, covariates_for, covariates_from, split_names
from supertopic.cli.response import kind_of
from supertopic.cli.show import note
from supertopic.cli.target import ColumnValues, TargetColumn

if TYPE_CHECKING:
    import pandas as pd


def report(
    model: ModelFile,
    data: Data,
    text: TextColumn = None,
    target: TargetColumn = None,
    metadata: Annotated[
        str,
        typer.Option(metavar="COL,COL", help="Further columns of DATA to group documents by.", show_default=False),
    ] = "",
    covariates: Covariates = "",
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = "report.html",
    title: Annotated[str | None, typer.Option(help="The heading of the page.", show_default=False)] = None,
    encoding: Encoding = "utf-8",
    jobs: Jobs = None,
    force: Force = False,
) -> None:
    """Write a page that explains the model: topics, documents, predictions and their reasons, in one HTML file.

    The page needs no network. It opens from disk, and predicts a text as one types.
    """
    check_writable(out, inputs=[model, data], force=force)
    fitted = load_model(model, jobs)
    more, extra = split_names(metadata), covariates_for(fitted, covariates)
    columns = [*([] if target is None else [target]), *more, *extra]
    name, batches = open_table(data, text, columns=columns, encoding=encoding)
    texts, frame = _read_all(batches, name)
    fitted.report(
        out,
        texts,
        None if target is None else _labels(fitted, frame[target], target),
        metadata=frame[more] if more else None,
        covariates=covariates_from(frame, extra),
        title=title,
    )
    note(f"Wrote {out}: {len(texts):,} documents, {os.path.getsize(out) / 1e6:.1f} MB. Open it in a browser.")


def _read_all(batches: Iterable[pd.DataFrame], text: str) -> tuple[list[str], pd.DataFrame]:
    """The documents and all columns that were asked for."""
    import pandas as pd

    from supertopic.readers import texts_of, warn_missing

    texts: list[str] = []
    frames, n_missing = [], 0
    for frame in batches:
        found, missing = texts_of(frame, text)
        texts += found
        n_missing += missing
        frames.append(frame)
    warn_missing(n_missing, len(texts), text)
    return texts, pd.concat(frames, ignore_index=True)


def _labels(model: Any, column: pd.Series, name: str) -> Any:
    """y as the model takes it; a model without a response groups documents by it."""
    import numpy as np
    import pandas as pd

    kind = kind_of(model)
    if kind == "none":
        return column
    values = ColumnValues.of(column, name)
    if kind == "number":
        return pd.Series(values.as_numbers(str(getattr(model, "response", "gaussian"))), name=name)
    labels = values.as_labels(str(getattr(model, "response", "softmax")))
    if model.classes_.dtype.kind in "UO":
        labels = np.array([None if label is None else str(label) for label in labels], dtype=object)
    return pd.Series(labels, name=name)
