"""supertopic fit: documents to a model file."""

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
    Jobs,
    TextColumn,
    check_writable,
    open_table,
    read_documents,
)
from supertopic.cli.models import build, check_target, model_help, number_or_word
from supertopic.cli.show import facts, say, say_next, show

_WORDS, _FITTING = "Words", "Fitting"  # the groups of options in --help


def fit(
    data: Data,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="The model, by custom model.supertopic.", show_default=False),
    ],
    model: Annotated[str, typer.Option(help=model_help())] = "lda",
    text: TextColumn = None,
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="The column of the response, for models that have one.")
    ] = None,
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="How many topics.")] = 20,
    encoding: Encoding = "utf-8",
    stop_words: Annotated[
        str,
        typer.Option(metavar="english|none|FILE", help="Words to leave out; a file has one per line.",
                     rich_help_panel=_WORDS),
    ] = "english",
    min_df: Annotated[
        str,
        typer.Option(help="Least number (5) or share (0.01) of documents a word must stand in.",
                     rich_help_panel=_WORDS),
    ] = "auto",
    max_df: Annotated[
        str, typer.Option(help="Largest number or share (0.5) of documents.", rich_help_panel=_WORDS)
    ] = "auto",
    max_features: Annotated[
        int | None,
        typer.Option(min=1, help="Keep so many words, by tf-idf.", show_default=False, rich_help_panel=_WORDS),
    ] = None,
    inference: Annotated[
        str | None,
        typer.Option(
            help="vb: variational, the default; svi: the same in mini-batches; gibbs: sampling.",
            show_default=False, rich_help_panel=_FITTING,
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="At most so many: 100 (vb), 10 epochs (svi) or some hundred sweeps (gibbs).",
                     show_default=False, rich_help_panel=_FITTING),
    ] = None,
    doc_topic_prior: Annotated[
        str | None,
        typer.Option(metavar="auto|symmetric|NUMBER", help="Learn the topics' weights, one for all, or fix it.",
                     show_default=False, rich_help_panel=_FITTING),
    ] = None,
    topic_word_prior: Annotated[
        float | None,
        typer.Option(min=0, help="Smoothing of the topics.", show_default=False, rich_help_panel=_FITTING),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(metavar="collapsed|partial", help="How gibbs samples; partial uses all threads.",
                     show_default=False, rich_help_panel=_FITTING),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Fit with svi and read the files again and again: never holds them.",
                     rich_help_panel=_FITTING),
    ] = False,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Documents per step of svi.", show_default=False, rich_help_panel=_FITTING),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Save the state here now and then; the same command goes on from it.",
                     show_default=False, rich_help_panel=_FITTING),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed gives the same topics.", rich_help_panel=_FITTING)
    ] = 0,
    jobs: Jobs = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line per iteration, for logs.")] = False,
) -> None:  # fmt: skip
    """Find topics in DATA and save them as a model.

    For example: supertopic fit reviews.csv --text body --topics 30 --out reviews.supertopic
    """
    check_target(model, target)
    if stream:
        inference = _check_stream(data, inference)
    options = {
        "--topics": topics, "--inference": inference, "--iterations": iterations,
        "--doc-topic-prior": number_or_word("--doc-topic-prior", doc_topic_prior, ("auto", "symmetric")),
        "--topic-word-prior": topic_word_prior, "--sampler": sampler, "--batch-size": batch_size,
        "--seed": seed, "--jobs": jobs, "--checkpoint": checkpoint,
    }  # fmt: skip
    vectorizer = tallying_vectorizer(
        stop_words=_read_stop_words(stop_words),
        min_df=number_or_word("--min-df", min_df, ("auto",)),
        max_df=number_or_word("--max-df", max_df, ("auto",)),
        max_features=max_features,
    )
    estimator = build(model, options, vectorizer=vectorizer, verbose=0 if quiet else 2 if verbose else 1)
    check_writable(out)
    start = time.perf_counter()
    if stream:
        from supertopic import Stream

        column, _ = open_table(data, text, columns=[target] if target else [], encoding=encoding)
        estimator.fit(Stream(data, column, target, batch_size or BATCH, encoding=encoding))
    else:
        documents, response, column = read_documents(data, text, target, encoding=encoding)
        estimator.fit(documents, response)
    seconds = time.perf_counter() - start
    estimator.save(out)
    say_fit(estimator, seconds, {"saved": f"{out} ({_size(os.path.getsize(out))})"})
    given = [] if text is None and column == "text" else ["--text", column]
    again = "new.csv" if data == "-" else data
    say_next([
        ["topics", out],
        ["predict", out, again, *given, "--out", "predictions.csv"],
        ["explain", out, "a text of yours"],
    ])  # fmt: skip


def say_fit(estimator: Any, seconds: float, more: dict[str, str]) -> None:
    """What a fit was of, and how it ended."""
    tally, words = estimator.vectorizer_, estimator.n_features_in_
    limit = estimator.max_iter or estimator.engines[estimator.inference][1]
    steps = f"{estimator.n_iter_:,}"
    if estimator.inference == "vb":
        steps += " until converged" if estimator.n_iter_ < limit else ", not yet converged: more with --iterations"
    name = f"{type(estimator).__name__} ({estimator.inference})"
    topics = "1 topic" if estimator.n_topics == 1 else f"{estimator.n_topics:,} topics"
    say(f"Fitted {name} with {topics} in {seconds:.1f} s.\n")
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
    """A Vectorizer that remembers the tokens and the empty documents of the first pass over the documents."""
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


def _check_stream(data: str, inference: str | None) -> str:
    if data == "-":
        raise typer.BadParameter("standard input can be read only once; give files.", param_hint="--stream")
    if inference not in (None, "svi"):
        raise typer.BadParameter(f"a stream is fitted with svi, not with {inference}.", param_hint="--inference")
    return "svi"


def _read_stop_words(value: str) -> str | list[str] | None:
    """'english', none, or the words of a file."""
    if value in ("english", "none"):
        return None if value == "none" else value
    try:
        with open(value, encoding="utf-8-sig") as file:
            return file.read().lower().split()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file in UTF-8"
        raise typer.BadParameter(
            f"{value!r} is neither english nor none, and no file that can be read: {reason}.",
            param_hint="--stop-words",
        ) from None


def _size(n_bytes: int) -> str:
    power = min(int(math.log10(max(n_bytes, 1)) // 3), 3)
    return f"{n_bytes / 1000**power:.{min(power, 1)}f} {('bytes', 'kB', 'MB', 'GB')[power]}"
