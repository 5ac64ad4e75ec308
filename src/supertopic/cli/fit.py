"""supertopic fit: fits a model to documents and saves it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli import options as opt
from supertopic.cli.documents import (
    BATCH,
    is_many_files,
    open_table,
    read_columns,
    read_documents,
    stream_of,
)
from supertopic.cli.guard import Stopped
from supertopic.cli.learning import Learned, Question, with_formula
from supertopic.cli.models import build, check_options, find_entry
from supertopic.cli.settings import Config, check_outputs, write_settings
from supertopic.cli.show import is_quiet, note, prose, say, say_json, say_next
from supertopic.cli.summary import fit_figures, say_fit, tallying_vectorizer

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

HOLDING = {
    "stream": opt.Option(False, "Read the files again and again and never hold them; with pc or svi.", bool),
    "refits": opt.Option(
        0, "So many more fits, on documents drawn again, say how often topics come back.", int, more={"min": 0}
    ),
    "scheduler": opt.named("Fit on the workers of a Dask cluster, such as tcp://host:8786.", "ADDRESS"),
    "checkpoint": opt.named(
        "Save the state here now and then; after Ctrl-C or a crash the same command goes on from it.", "FILE"
    ),
    "checkpoint_every": opt.Option(
        30.0, "How often at most the state is saved.", float, more={"min": 0, "metavar": "SECONDS"}
    ),
}


@opt.takes(
    Words=opt.WORDS, Documents={**opt.UNKNOWN, **opt.BESIDE, **opt.PREVALENCE}, Fitting={**opt.FITTING, **HOLDING}
)
def fit(
    context: typer.Context,
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
    config: Config = None,
    force: opt.Force = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line per iteration, for logs.")] = False,
    as_json: opt.Json = False,
    **given: Any,
) -> None:
    """Find topics in DATA, or topics that predict a column of it, and save them as a model.

    For example: supertopic fit reviews.csv --text body --topics 30 --out reviews.supertopic

    Or: supertopic fit reviews.csv --text body --target stars --out stars.supertopic
    """
    checkpoint = given["checkpoint"]
    given["metadata"] = with_formula(given["metadata"], given["prevalence"])
    beside = {name: given[name] for name in opt.BESIDE}
    asked = Question.of(model, target, response, covariates, beside, given["handle_unknown"])
    given |= _streaming(data, asked.model, given)
    options = opt.values_of({**opt.FITTING, **opt.PREVALENCE}, given)
    options |= {"topics": topics, "seed": seed, "jobs": jobs, "checkpoint": checkpoint}
    check_options(asked.model, options)
    _check_refits(asked.model, given)
    if checkpoint is not None:
        options["checkpoint"] = _checkpoint(checkpoint, given["checkpoint_every"], out)
    more: dict[str, Any] = {"vectorizer": tallying_vectorizer(**opt.word_params(given))}
    more["verbose"] = 0 if is_quiet() else 2 if verbose else 1
    settings = check_outputs(out, [data], force)
    with _connected(given["scheduler"]) as client:
        if client is not None:
            more["backend"] = client
        start = time.perf_counter()
        documents, column, learned = _read(data, text, encoding, asked, given)
        estimator = build(asked.model, options, learned.kind, **learned.params, **more)
        with _telling_of(checkpoint):
            estimator.fit(documents, **({} if given["stream"] else learned.arguments), **asked.how)
            if given["refits"]:
                estimator.find_again(given["refits"])
        save_somewhere(estimator, out)
    write_settings(context, settings)
    figures = fit_figures(estimator, time.perf_counter() - start, out)
    if as_json:
        figures |= {"targets": learned.responses, "covariates": asked.covariates}
        say_json({**figures, "found": str(estimator.describe())})
        return
    say_fit(figures, estimator, {**learned.said, "settings": settings})
    say()
    prose(str(estimator.describe()))
    _say_next(out, data, text, column, target)


def _read(
    data: str, text: str | None, encoding: str, asked: Question, given: Mapping[str, Any]
) -> tuple[Any, str, Learned]:
    """The documents, all of them or a Stream, the name of their column, and what the other columns say."""
    if not given["stream"]:
        documents, cells, column = read_documents(data, text, asked.columns, encoding=encoding)
        return documents, column, asked.learned(cells)
    column, batches = open_table(data, text, columns=asked.columns, encoding=encoding, refuse_text=True)
    learned = asked.learned(read_columns(batches, asked.columns)) if asked.columns else Learned()
    beside = {name: value for name, value in learned.arguments.items() if name != "y"}
    return stream_of(data, column, given["batch_size"] or BATCH, encoding, learned.y, beside), column, learned


def save_somewhere(estimator: TopicEstimator, out: str) -> None:
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


@contextmanager
def _connected(scheduler: str | None) -> Iterator[Any]:
    """The client of a cluster, if one is asked for."""
    if scheduler is None:
        yield None
        return
    from supertopic.backends import connect

    with connect(scheduler) as client:
        yield client


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


def _check_refits(model: str, given: Mapping[str, Any]) -> None:
    """Refuse refits of models without coefficients, and of streams."""
    refits = given["refits"]
    if refits and (given["stream"] or not hasattr(find_entry(model).load(), "find_again")):
        why = "documents of a stream are not kept" if given["stream"] else f"the model {model} has no coefficients"
        raise typer.BadParameter(f"{why}; leave it out.", param_hint="--refits")
    if refits == 1:
        raise typer.BadParameter("got 1, expected 0, or 2 and more.", param_hint="--refits")


def _streaming(data: str, model: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Whether to read a stream, and the engine that then follows; refuses what cannot be one."""
    inference = given["inference"]
    if inference == "svi" and not given["stream"] and is_many_files(data):
        note("Reading the files as a stream, since --inference svi takes batches: they are never held whole.")
    elif not given["stream"]:
        return {}
    if data == "-":
        raise typer.BadParameter("standard input can be read only once; give files.", param_hint="--stream")
    estimator = find_entry(model).load()
    able = [name for name in ("auto", "pc", "svi") if name in estimator.inference_names()]
    if not able:
        raise typer.BadParameter(f"the model {model} holds its documents; leave it out.", param_hint="--stream")
    if inference not in (None, *able):
        names = " or ".join(able)
        raise typer.BadParameter(f"a stream is fitted with {names}, not with {inference}.", param_hint="--inference")
    return {"stream": True, "inference": inference or able[0]}
