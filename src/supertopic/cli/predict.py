"""supertopic predict: the prediction and the topic shares of every row of DATA."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli import options as opt
from supertopic.cli.documents import check_writable, load_model, open_table
from supertopic.cli.learning import covariates_for, covariates_of, metadata_from, split_names
from supertopic.cli.outcomes import has_intervals, outcomes_of, predict_frame, takes_texts
from supertopic.cli.response import topics_are_classes
from supertopic.cli.show import note, say_json
from supertopic.cli.tables import write_frames, writer_for
from supertopic.plural import counted

if TYPE_CHECKING:
    import pandas as pd

    from supertopic.documents.corpus import Corpus
    from supertopic.estimators.shared.base import TopicEstimator


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    text: opt.TextColumn = None,
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
    covariates: opt.Covariates = "",
    sentences: Annotated[
        bool, typer.Option("--sentences", help="A row per sentence with its topic, of a model htmm.")
    ] = False,
    encoding: opt.Encoding = "utf-8",
    jobs: opt.Jobs = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Write predictions and topics of new documents: a row for each row of DATA, in the same order.

    Columns: those kept; with a response prediction, then lower and upper (numbers, with --interval) or p_… for every
    class; topic (the most probable one); tokens (words the model knows, 0 for a document without any, which gets
    the topics' mean shares); topic_0, topic_1, … (shares, which sum to one). Where classes are the topics, p_… says
    it all. With several targets, their names follow: prediction_stars, p_stars_5. geo-sage gives latitude, longitude
    and region. Columns of --prevalence are read where DATA has all of them. --json prints rows as JSON lines, or with
    --out what was written.
    """
    writer_for(out, as_json)
    check_writable(out, inputs=[model, data], force=force, stdout=True)
    if interval is not None and not 0 < interval < 1:
        raise typer.BadParameter(f"{interval:g} is no probability between 0 and 1.", param_hint="--interval")
    fitted = load_model(model, jobs)
    if interval is not None:
        _check_intervals(fitted)
    if sentences and not hasattr(fitted, "sentences"):
        raise typer.BadParameter("only a model htmm has topics of sentences.", param_hint="--sentences")
    kept, beside = split_names(keep), covariates_for(fitted, covariates)
    asked = Asked(kept, beside, interval, sentences)
    _check_kept(asked, fitted)
    more = fitted.fitted_.prior_columns
    name, batches = open_table(data, text, columns=[*kept, *beside], beside=more, encoding=encoding)
    tally = Tally()
    write_frames(out, rows_of(fitted, batches, name, asked, tally), as_json)
    if as_json and out != "-":
        say_json({"file": out, **vars(tally)})
    else:
        note(tally.sentence("" if out == "-" else f" to {out}"))


@dataclass(frozen=True)
class Asked:
    """What the rows should hold: columns to keep, covariates to predict with, intervals, sentences."""

    kept: list[str]
    covariates: list[str]
    interval: float | None = None
    sentences: bool = False


@dataclass
class Tally:
    """Numbers of documents, empty documents, documents without a text, unknown and known tokens."""

    documents: int = 0
    empty: int = 0
    missing: int = 0
    unknown: int = 0
    tokens: int = 0

    def sentence(self, where: str) -> str:
        known = f"{self.unknown:,} of {self.tokens + self.unknown:,} words are unknown to the model"
        empty = f"; mean shares for {counted(self.empty, 'document')} without a known word" if self.empty else ""
        missing = f" ({self.missing:,} of them have no text)" if self.missing else ""
        return f"Wrote {counted(self.documents, 'row')}{where}; {known}{empty}{missing}."


def rows_of(
    model: TopicEstimator, batches: Iterable[pd.DataFrame], text: str, asked: Asked, tally: Tally
) -> Iterator[pd.DataFrame]:
    """Yield a frame of predictions for each batch of rows, and update `tally`."""
    from supertopic.documents.corpus import EmptyDocumentWarning
    from supertopic.documents.readers import texts_of

    for frame in batches:
        texts, missing = texts_of(frame, text)
        corpus = model.fitted_.corpus(texts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyDocumentWarning)  # counted over all batches instead
            make = _sentences if asked.sentences else _documents
            yield make(model, texts, corpus, frame.reset_index(drop=True), asked)
        tally.documents += len(corpus)
        tally.empty += corpus.n_empty
        tally.missing += missing
        tally.tokens += int(corpus.n_tokens)
        tally.unknown += int(corpus.n_unknown)


def _documents(model: TopicEstimator, texts: list[str], corpus: Any, frame: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Return a row per document."""
    import numpy as np
    import pandas as pd

    columns = _topic_columns(model)
    documents = texts if takes_texts(model) else corpus
    metadata = metadata_from(frame, model)
    given = {} if metadata is None else {"metadata": metadata}
    shares = model.transform(documents, **given) if columns else np.zeros((len(corpus), 0))
    predicted = predict_frame(model, documents, asked.interval, covariates_of(model, frame, asked.covariates), metadata)
    # float32 has enough digits and prints in nine characters
    predicted = predicted.astype(dict.fromkeys(predicted.select_dtypes("float"), np.float32))
    result = pd.concat([frame[asked.kept], predicted], axis=1)
    if columns:
        result["topic"] = shares.argmax(axis=1)
    result["tokens"] = corpus.lengths.astype(np.int64)
    return pd.concat([result, pd.DataFrame(shares.astype(np.float32), columns=columns)], axis=1)


def _sentences(
    model: TopicEstimator, texts: list[str], corpus: Corpus, frame: pd.DataFrame, asked: Asked
) -> pd.DataFrame:
    """Return a row per sentence: the columns kept, the sentence's number, topic, its probability, and text."""
    found = model.sentences(texts)
    kept = frame[asked.kept].iloc[found["document"].to_numpy()].reset_index(drop=True)
    return kept.join(found.drop(columns="document"))


def _topic_columns(model: TopicEstimator) -> list[str]:
    return [] if topics_are_classes(model) else [f"topic_{k}" for k in range(len(model.components_))]


def _check_intervals(model: TopicEstimator) -> None:
    """Refuse --interval for a model without intervals."""
    kinds = {outcome.kind for outcome in outcomes_of(model)}
    if "number" in kinds and has_intervals(model):
        return
    why = "intervals are for numbers, which this model does not predict."
    if kinds == {"class"}:
        why = (
            "intervals are for numbers, and this model predicts classes, with their probabilities in the columns p_…;"
            " grades can be fitted as numbers by fit --response gaussian."
        )
    raise typer.BadParameter(why, param_hint="--interval")


def _check_kept(asked: Asked, model: TopicEstimator) -> None:
    ours = {"topic", "tokens", *_topic_columns(model)}
    if asked.sentences:
        ours = {"sentence", "topic", "probability", "fresh", "text"}
    for outcome in outcomes_of(model):
        ours |= {outcome.column(what) for what in ("prediction", "lower", "upper")}
        ours |= {outcome.probability(label) for label in (() if outcome.classes is None else outcome.classes)}
        ours |= {"latitude", "longitude", "region"} if outcome.kind == "place" else set()
    clash = [name for name in asked.kept if name in ours]
    if clash:
        raise typer.BadParameter(f"{clash[0]!r} is the name of a column of the predictions.", param_hint="--keep")
