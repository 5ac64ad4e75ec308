"""supertopic fit: fits a model to documents and saves it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from supertopic.cli.documents import (
    BATCH,
    Data,
    Encoding,
    Force,
    Jobs,
    TextColumn,
    check_writable,
    is_many_files,
    open_table,
    read_column,
    read_documents,
    stream_of,
)
from supertopic.cli.models import build, check_options, find_entry, number_or_word
from supertopic.cli.options import (
    FITTING,
    Inference,
    Iterations,
    MaxDf,
    MaxFeatures,
    MinDf,
    ModelName,
    Seed,
    StopWords,
    Supervision,
    word_params,
)
from supertopic.cli.response import topics_are_classes
from supertopic.cli.show import facts, note, say, say_next, show
from supertopic.cli.target import Choice, ColumnValues, ResponseName, TargetColumn, check_target, choose, unlabelled


def fit(
    data: Data,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="The model, by custom model.supertopic.", show_default=False),
    ],
    model: ModelName = "lda",
    text: TextColumn = None,
    target: TargetColumn = None,
    response: ResponseName = None,
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="How many topics.")] = 20,
    encoding: Encoding = "utf-8",
    stop_words: StopWords = "english",
    min_df: MinDf = "auto",
    max_df: MaxDf = "auto",
    max_features: MaxFeatures = None,
    inference: Inference = None,
    iterations: Iterations = None,
    supervision: Supervision = None,
    doc_topic_prior: Annotated[
        str | None,
        typer.Option(metavar="auto|symmetric|NUMBER", help="Learn the topics' weights, one for all, or fix it.",
                     show_default=False, rich_help_panel=FITTING),
    ] = None,
    topic_word_prior: Annotated[
        float | None,
        typer.Option(min=0, help="Smoothing of the topics.", show_default=False, rich_help_panel=FITTING),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(metavar="collapsed|partial", help="How gibbs samples; partial uses all threads.",
                     show_default=False, rich_help_panel=FITTING),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Fit with svi and read the files again and again: never holds them.",
                     rich_help_panel=FITTING),
    ] = False,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Documents per step of svi.", show_default=False, rich_help_panel=FITTING),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Save the state here now and then; the same command goes on from it.",
                     show_default=False, rich_help_panel=FITTING),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="How often at most the state is saved.", rich_help_panel=FITTING),
    ] = 30.0,
    seed: Seed = 0,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line per iteration, for logs.")] = False,
) -> None:  # fmt: skip
    """Find topics in DATA, or topics that predict a column of it, and save them as a model.

    For example: supertopic fit reviews.csv --text body --topics 30 --out reviews.supertopic

    Or: supertopic fit reviews.csv --model slda --text body --target stars --out stars.supertopic
    """
    check_target(model, target, response)
    if inference == "svi" and not stream and is_many_files(data):
        stream = True
        note("Reading the files as a stream, since --inference svi takes batches: they are never held whole.")
    if stream:
        inference = _check_stream(data, inference, model)
    options = {
        "--topics": topics, "--inference": inference, "--iterations": iterations,
        "--supervision": number_or_word("--supervision", supervision, ("auto",)),
        "--doc-topic-prior": number_or_word("--doc-topic-prior", doc_topic_prior, ("auto", "symmetric")),
        "--topic-word-prior": topic_word_prior, "--sampler": sampler, "--batch-size": batch_size,
        "--seed": seed, "--jobs": jobs, "--checkpoint": checkpoint,
    }  # fmt: skip
    check_options(model, options)
    if checkpoint is not None:
        options["--checkpoint"] = _checkpoint(checkpoint, checkpoint_every, out)
    more: dict[str, Any] = {
        "vectorizer": tallying_vectorizer(**word_params(stop_words, min_df, max_df, max_features)),
        "verbose": 0 if quiet else 2 if verbose else 1,
    }
    check_writable(out, inputs=[data], force=force, model=True)
    start, said = time.perf_counter(), {}
    if stream:
        column, batches = open_table(
            data, text, columns=[target] if target else [], encoding=encoding, refuse_text=True
        )
        size = batch_size or BATCH
        if target is None:
            estimator = build(model, options, **more).fit(stream_of(data, column, size, encoding))
        else:
            choice, y = response_of(read_column(batches, target), target, response, model)
            said = {"response": f"{choice.response}, of column {target!r}"}
            estimator = build(model, options, choice.kind, response=choice.response, **more)
            estimator.fit(stream_of(data, column, size, encoding, y))
    else:
        documents, cells, column = read_documents(data, text, target, encoding=encoding)
        if target is None:
            estimator = build(model, options, **more).fit(documents)
        else:
            choice, y = response_of(cells, target, response, model)
            said = {"response": f"{choice.response}, of column {target!r}"}
            estimator = build(model, options, choice.kind, response=choice.response, **more).fit(documents, y)
    seconds = time.perf_counter() - start
    estimator.save(out)
    say_fit(estimator, seconds, {**said, "saved": f"{out} ({_size(os.path.getsize(out))})"})
    given = [] if text is None and column == "text" else ["--text", column]
    again = "new.csv" if data == "-" else data
    say_next([
        ["topics", out],
        ["predict", out, again, *given, "--out", "predictions.csv"],
        *([["evaluate", out, "new.csv", *given, "--target", target]] if target else []),
        ["explain", out, "a text of yours"],
    ])  # fmt: skip


def response_of(cells: Any, name: str, asked: str | None, model: str) -> tuple[Choice, Any]:
    """Return the response for the column `name` and y for its estimator; an automatic choice is printed to stderr."""
    target = ColumnValues.of(cells, name)
    choice = choose(target, asked, find_entry(model).responses)
    y = target.encoded(choice)
    for sentence in (choice.why, unlabelled(target, y)):
        if sentence:
            note(sentence)
    return choice, y


def say_fit(estimator: Any, seconds: float, more: dict[str, str]) -> None:
    """Print the model, its data and how the fit ended."""
    tally, words = estimator.vectorizer_, estimator.n_features_in_
    inference = getattr(estimator, "inference", None)  # models without latent topics have no such parameter
    limit = estimator.max_iter or estimator.engines[inference].max_iter
    steps = f"{estimator.n_iter_:,}"
    if inference in ("vb", "cvb0", None):
        steps += " until converged" if estimator.n_iter_ < limit else ", not yet converged: more with --iterations"
    name = type(estimator).__name__ + (f" ({inference})" if inference else "")
    n, noun = len(estimator.components_), "class" if topics_are_classes(estimator) else "topic"
    many = noun if n == 1 else f"{noun}es" if noun == "class" else f"{noun}s"
    say(f"Fitted {name} with {n:,} {many} in {seconds:.1f} s.\n")
    stop_words = tally.stop_words if isinstance(tally.stop_words, str) else f"{len(tally.stop_words_):,} stop words"
    left_out = f", {stop_words} stop words left out" if stop_words == "english" else f", {stop_words} left out"
    pairs = {
        "documents": f"{tally.n_documents_:,}" + (f", {tally.n_empty:,} empty" if tally.n_empty else ""),
        "vocabulary": f"{words:,} words" + (left_out if tally.stop_words_ else ""),
        "tokens": f"{tally.n_tokens:,.0f}",
        "iterations": steps,
        "bound": f"{estimator.bound_[-1]:.4f} nats per token",
    }
    show(facts(pairs | more))


def tallying_vectorizer(**params: Any) -> Any:
    """Return a Vectorizer that counts the tokens and the empty documents in the first pass over the documents."""
    import numpy as np

    from supertopic.vectorizer import Vectorizer

    class TallyingVectorizer(Vectorizer):
        n_tallied = n_empty = 0
        n_tokens = 0.0

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            counts = super().fit_transform(X, y, **fit_params)
            self._tally(counts)
            return counts

        def count(self, texts: Iterable[str]) -> tuple[Any, int]:
            counts, n_unknown = super().count(texts)
            if self.n_tallied < self.n_documents_:
                self._tally(counts)
            return counts, n_unknown

        def _tally(self, counts: Any) -> None:
            self.n_tallied += counts.shape[0]
            self.n_tokens += float(counts.sum(dtype=np.float64))
            self.n_empty += int(np.count_nonzero(np.diff(counts.indptr) == 0))

    return TallyingVectorizer(**params)


def _checkpoint(path: str, seconds: float, out: str) -> Any:
    """The checkpoint; refuses a file that is something else."""
    from supertopic.checkpoint import Checkpoint
    from supertopic.persistence import kind_of_file

    if os.path.realpath(path) == os.path.realpath(out):
        raise ValueError(f"--checkpoint: {path} is the file of the model: choose another file")
    if os.path.exists(path) and kind_of_file(path) != "checkpoint":
        raise ValueError(f"--checkpoint: {path} is already there and is no checkpoint: choose another file")
    return Checkpoint(path, seconds)


def _check_stream(data: str, inference: str | None, model: str) -> str:
    if data == "-":
        raise typer.BadParameter("standard input can be read only once; give files.", param_hint="--stream")
    if inference not in (None, "svi"):
        raise typer.BadParameter(f"a stream is fitted with svi, not with {inference}.", param_hint="--inference")
    if "svi" not in find_entry(model).load().engines:
        raise typer.BadParameter(f"the model {model} holds its documents; leave it out.", param_hint="--stream")
    return "svi"


def _size(n_bytes: int) -> str:
    power = min(int(math.log10(max(n_bytes, 1)) // 3), 3)
    return f"{n_bytes / 1000**power:.{min(power, 1)}f} {('bytes', 'kB', 'MB', 'GB')[power]}"
