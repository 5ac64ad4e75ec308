"""supertopic fit: fits a model to documents and saves it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli import options as opt
from supertopic.cli.documents import (
    BATCH,
    check_writable,
    is_many_files,
    open_table,
    read_columns,
    read_documents,
    stream_of,
)
from supertopic.cli.guard import Stopped
from supertopic.cli.learning import check_covariates, choose_model, covariates_from, learned_from, split_names
from supertopic.cli.models import build, check_options, find_entry
from supertopic.cli.show import note, say_json, say_next
from supertopic.cli.summary import fit_figures, say_fit, tallying_vectorizer
from supertopic.cli.target import check_target

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

HOLDING = {
    "stream": opt.Option(False, "Read the files again and again and never hold them; with pc or svi.", bool),
    "scheduler": opt.Option(
        None, "Fit on the workers of a Dask cluster, such as tcp://host:8786.", more={"metavar": "ADDRESS"}
    ),
    "checkpoint": opt.Option(
        None,
        "Save the state here now and then; after Ctrl-C or a crash the same command goes on from it.",
        more={"metavar": "FILE"},
    ),
    "checkpoint_every": opt.Option(
        30.0, "How often at most the state is saved.", float, more={"min": 0, "metavar": "SECONDS"}
    ),
}


@opt.takes(Words=opt.WORDS, Fitting={**opt.FITTING, **HOLDING})
def fit(
    data: opt.Data,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="The model, by custom model.supertopic.", show_default=False),
    ],
    model: opt.ModelName = None,
    text: opt.TextColumn = None,
    target: opt.TargetColumn = None,
    response: opt.ResponseName = None,
    covariates: opt.Covariates = "",
    topics: opt.Topics = None,
    encoding: opt.Encoding = "utf-8",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line per iteration, for logs.")] = False,
    as_json: opt.Json = False,
    **given: Any,
) -> None:
    """Find topics in DATA, or topics that predict a column of it, and save them as a model.

    For example: supertopic fit reviews.csv --text body --topics 30 --out reviews.supertopic

    Or: supertopic fit reviews.csv --text body --target stars --out stars.supertopic
    """
    inference, stream, checkpoint = given["inference"], given["stream"], given["checkpoint"]
    targets, beside = split_names(target), split_names(covariates)
    model = choose_model(model, targets)
    check_target(model, targets, response)
    check_covariates(model, targets, beside, stream)
    if inference == "svi" and not stream and is_many_files(data):
        stream = True
        note("Reading the files as a stream, since --inference svi takes batches: they are never held whole.")
    if stream:
        inference = _check_stream(data, inference, model)
    options = opt.values_of(opt.FITTING, {**given, "inference": inference})
    options |= {"topics": topics, "seed": seed, "jobs": jobs, "checkpoint": checkpoint}
    check_options(model, options)
    if checkpoint is not None:
        options["checkpoint"] = _checkpoint(checkpoint, given["checkpoint_every"], out)
    vocabulary = opt.word_params(given)
    more: dict[str, Any] = {
        "vectorizer": tallying_vectorizer(**vocabulary),
        "verbose": 0 if quiet else 2 if verbose else 1,
    }
    check_writable(out, inputs=[data], force=force, model=True)
    client = None if given["scheduler"] is None else _connect(given["scheduler"])
    if client is not None:
        more["backend"] = client
    start, named = time.perf_counter(), [*targets, *beside]
    if stream:
        column, batches = open_table(data, text, columns=named, encoding=encoding, refuse_text=True)
        cells = read_columns(batches, named) if named else None
    else:
        documents, cells, column = read_documents(data, text, named, encoding=encoding)
    learned = learned_from(cells, targets, response, model)
    extra = {"covariates": covariates_from(cells, beside)} if beside else {}
    estimator = build(model, options, learned.kind, **learned.params, **more)
    with _telling_of(checkpoint):
        if stream:
            estimator.fit(stream_of(data, column, given["batch_size"] or BATCH, encoding, learned.y))
        else:
            estimator.fit(documents, *([] if learned.y is None else [learned.y]), **extra)
    _save(estimator, out)
    if client is not None:
        client.close()
    figures = fit_figures(estimator, time.perf_counter() - start, out)
    if as_json:
        say_json({**figures, "targets": learned.responses, "covariates": beside})
        return
    say_fit(figures, estimator, learned.said)
    _say_next(out, data, text, column, target)


def _save(estimator: TopicEstimator, out: str) -> None:
    """Save the model; where the disk has filled up meanwhile, among the temporary files: a long fit is not lost."""
    try:
        estimator.save(out)
    except OSError as error:
        folder = tempfile.mkdtemp(prefix="supertopic-")
        kept = os.path.join(folder, os.path.basename(out))
        try:
            estimator.save(kept)
        except OSError:
            os.rmdir(folder)
            raise error from None
        raise OSError(f"{error}. The model is kept in {kept}: move it to where there is room") from None


def _say_next(out: str, data: str, text: str | None, column: str, target: str | None) -> None:
    """Print commands that use the model."""
    given = [] if text is None and column == "text" else ["--text", column]
    again = "new.csv" if data == "-" else data
    shown = ["--target", target] if target else []
    say_next([
        ["topics", out],
        ["predict", out, again, *given, "--out", "predictions.csv"],
        *([["evaluate", out, "new.csv", *given, *shown]] if target else []),
        ["explain", out, "a text of yours"],
        ["report", out, again, *given, *shown, "--out", "report.html"],
    ])  # fmt: skip


def _connect(scheduler: str) -> Any:
    from supertopic.backends import connect

    return connect(scheduler)


@contextmanager
def _telling_of(checkpoint: str | None) -> Iterator[None]:
    """If the fit is interrupted, say what is left of it."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        from supertopic.checkpoint import Checkpoint

        kept = Checkpoint(checkpoint).files()
        raise Stopped(
            f"Stopped; the last state is kept in {checkpoint}: the same command goes on from it."
            if kept
            else "Stopped before the first state was saved (--checkpoint-every says how often); nothing was written."
        ) from None


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
    estimator = find_entry(model).load()
    able = [name for name in ("auto", "pc", "svi") if name in estimator.inference_names()]
    if not able:
        raise typer.BadParameter(f"the model {model} holds its documents; leave it out.", param_hint="--stream")
    if inference not in (None, *able):
        names = " or ".join(able)
        raise typer.BadParameter(f"a stream is fitted with {names}, not with {inference}.", param_hint="--inference")
    return inference or able[0]
