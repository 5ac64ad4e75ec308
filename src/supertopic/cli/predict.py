"""supertopic predict: the prediction and the topic shares of every row of DATA."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
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
from supertopic.cli.response import kind_of, predict_frame, topics_are_classes
from supertopic.cli.show import note
from supertopic.cli.tables import write_frames, writer_for

if TYPE_CHECKING:
    import pandas as pd


def predict(
    model: ModelFile,
    data: Data,
    text: TextColumn = None,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help=".csv, .tsv, .jsonl or .parquet; - prints CSV."),
    ] = "-",
    keep: Annotated[
        str, typer.Option(metavar="COL,COL", help="Columns of DATA to carry along.", show_default=False)
    ] = "",
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="0.9",
            help="Add lower and upper: ends of intervals that hold the number so often.",
            show_default=False,
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    jobs: Jobs = None,
    force: Force = False,
) -> None:
    """Write predictions and topics of new documents: a row for each row of DATA, in the same order.

    Columns: those kept; with a response prediction, then lower and upper (numbers, with --interval) or p_… for every
    class; topic (the most probable one); tokens (words the model knows, 0 for a document without any, which gets
    the topics' mean shares); topic_0, topic_1, … (shares, which sum to one). Where classes are the topics, p_… says
    it all.
    """
    writer_for(out)
    if out != "-":
        check_writable(out, inputs=[model, data], force=force)
    if interval is not None and not 0 < interval < 1:
        raise typer.BadParameter(f"{interval:g} is no probability between 0 and 1.", param_hint="--interval")
    fitted = load_model(model, jobs)
    if interval is not None and kind_of(fitted) != "number":
        raise typer.BadParameter(
            "intervals are for numbers, which this model does not predict.", param_hint="--interval"
        )
    kept = [name for name in keep.split(",") if name]
    _check_kept(kept, fitted)
    name, batches = open_table(data, text, columns=kept, encoding=encoding)
    tally = Tally()
    write_frames(out, rows_of(fitted, batches, name, kept, tally, interval))
    note(tally.sentence("" if out == "-" else f" to {out}"))


class Tally:
    """Numbers of documents, empty documents, tokens and unknown tokens."""

    documents = empty = missing = unknown = 0
    tokens = 0.0

    def sentence(self, where: str) -> str:
        known = f"{self.unknown:,} of {self.tokens + self.unknown:,.0f} words are unknown to the model"
        empty = f"; {self.empty:,} documents hold no known word and get the mean shares" if self.empty else ""
        missing = f" ({self.missing:,} of them have no text)" if self.missing else ""
        return f"Wrote {self.documents:,} rows{where}; {known}{empty}{missing}."


def rows_of(
    model: Any, batches: Iterable[pd.DataFrame], text: str, kept: list[str], tally: Tally, interval: float | None
) -> Iterator[pd.DataFrame]:
    """Yield a frame of predictions for each batch of rows, and update `tally`."""
    import numpy as np
    import pandas as pd

    from supertopic.corpus import EmptyDocumentWarning
    from supertopic.readers import texts_of

    columns = _topic_columns(model)
    for frame in batches:
        texts, missing = texts_of(frame, text)
        corpus = model._as_corpus(texts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyDocumentWarning)  # counted over all batches instead
            shares = model.transform(corpus) if columns else np.zeros((len(corpus), 0))
            predicted = pd.DataFrame() if kind_of(model) == "none" else predict_frame(model, corpus, interval)
        tally.documents += len(corpus)
        tally.empty += corpus.n_empty
        tally.missing += missing
        tally.tokens += corpus.n_tokens
        tally.unknown += corpus.n_unknown
        predicted = predicted.astype(dict.fromkeys(predicted.select_dtypes("float"), np.float32))
        result = pd.concat([frame[kept].reset_index(drop=True), predicted], axis=1)
        if columns:
            result["topic"] = shares.argmax(axis=1)
        result["tokens"] = corpus.lengths.astype(np.int64)
        # float32 has enough digits and prints in nine characters
        yield pd.concat([result, pd.DataFrame(shares.astype(np.float32), columns=columns)], axis=1)


def _topic_columns(model: Any) -> list[str]:
    return [] if topics_are_classes(model) else [f"topic_{k}" for k in range(len(model.components_))]


def _check_kept(kept: list[str], model: Any) -> None:
    ours = {"prediction", "lower", "upper", *(f"p_{label}" for label in getattr(model, "classes_", []))}
    ours = ours if kind_of(model) != "none" else set()
    ours |= {"topic", "tokens", *_topic_columns(model)}
    clash = [name for name in kept if name in ours]
    if clash:
        raise typer.BadParameter(f"{clash[0]!r} is the name of a column of the predictions.", param_hint="--keep")
