"""supertopic predict: the topic shares of every row of DATA, none left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli.documents import Data, Encoding, Jobs, ModelFile, TextColumn, check_writable, load_model, open_table
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
    encoding: Encoding = "utf-8",
    jobs: Jobs = None,
) -> None:
    """Write the topics of new documents: a row for each row of DATA, in the same order.

    Columns: those kept; topic (the most probable one); tokens (words the model knows, 0 for a document without
    any, which gets the topics' mean shares); topic_0, topic_1, … (shares, which sum to one).
    """
    writer_for(out)
    if out != "-":
        check_writable(out)
    fitted = load_model(model, jobs)
    kept = [name for name in keep.split(",") if name]
    _check_kept(kept, fitted)
    name, batches = open_table(data, text, columns=kept, encoding=encoding)
    tally = Tally()
    write_frames(out, shares_of(fitted, batches, name, kept, tally))
    note(tally.sentence("" if out == "-" else f" to {out}"))


class Tally:
    """What went through: documents, how many without a word, tokens, and how many of them are unknown."""

    documents = empty = missing = unknown = 0
    tokens = 0.0

    def sentence(self, where: str) -> str:
        known = f"{self.unknown:,} of {self.tokens + self.unknown:,.0f} words are unknown to the model"
        empty = f"; {self.empty:,} documents hold no known word and get the mean shares" if self.empty else ""
        missing = f" ({self.missing:,} of them have no text)" if self.missing else ""
        return f"Wrote {self.documents:,} rows{where}; {known}{empty}{missing}."


def shares_of(
    model: Any, batches: Iterable[pd.DataFrame], text: str, kept: list[str], tally: Tally
) -> Iterator[pd.DataFrame]:
    """A frame of predictions for each batch of rows; counts what it sees in `tally`."""
    import numpy as np
    import pandas as pd

    from supertopic.corpus import EmptyDocumentWarning
    from supertopic.readers import texts_of

    columns = [f"topic_{k}" for k in range(len(model.components_))]
    for frame in batches:
        texts, missing = texts_of(frame, text)
        corpus = model._as_corpus(texts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyDocumentWarning)  # counted over all batches instead
            shares = model.transform(corpus)
        tally.documents += len(corpus)
        tally.empty += corpus.n_empty
        tally.missing += missing
        tally.tokens += corpus.n_tokens
        tally.unknown += corpus.n_unknown
        result = frame[kept].reset_index(drop=True)
        result["topic"] = shares.argmax(axis=1)
        result["tokens"] = corpus.lengths.astype(np.int64)
        # float32 holds all the digits there are, and prints them in nine characters
        yield pd.concat([result, pd.DataFrame(shares.astype(np.float32), columns=columns)], axis=1)


def _check_kept(kept: list[str], model: Any) -> None:
    ours = {"topic", "tokens", *(f"topic_{k}" for k in range(len(model.components_)))}
    clash = [name for name in kept if name in ours]
    if clash:
        raise typer.BadParameter(f"{clash[0]!r} is the name of a column of the predictions.", param_hint="--keep")
