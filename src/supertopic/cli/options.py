"""Options of the commands, a line each: what they share, how words are read, and how a model is fitted.

A command that ends in `**given` has the options of a table by `@takes(WORDS, FITTING)`; `given` holds their values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from supertopic.cli.models import MODELS, model_help, number_or_word
from supertopic.cli.show import muted

Command = TypeVar("Command", bound=Callable[..., None])


def _one_of(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion of a name in the shell."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


def _check_jobs(jobs: int | None) -> int | None:
    if jobs is not None and jobs < 1 and jobs != -1:
        raise typer.BadParameter(f"{jobs} is no number of threads; expected 1 or more, or -1 for all cores.")
    return jobs


def _option(*flags: str, help: str, **more: Any) -> Any:
    return typer.Option(*flags, help=help, show_default=False, **more)


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, JSON lines or Parquet; a folder of .txt files; a glob in quotes; or - for standard input: a"
        " text in each line, or CSV, TSV, JSON lines.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A file that supertopic fit has written.", show_default=False)
]
TEXT = "The column of the documents; by default 'text', or the only column of text."
TextColumn = Annotated[str | None, _option("--text", metavar="COL", help=TEXT)]
TARGET = "The column that the topics should predict, or several; an empty cell is a document without a label."
TargetColumn = Annotated[str | None, _option("--target", metavar="COL[,COL…]", help=TARGET)]
RESPONSE = (
    "How topics make the target (gaussian, negative_binomial, logit, …; a wrong name lists them all). By default it is"
    " chosen from the column, and said."
)
ResponseName = Annotated[str | None, _option("--response", metavar="NAME", help=RESPONSE)]
COVARIATES = (
    "Columns that predict beside the topics: numbers or categories, without empty cells. A fitted model remembers them."
)
Covariates = Annotated[str, _option("--covariates", metavar="COL,…", help=COVARIATES)]
MODEL = f"{model_help()} By default lda, or slda with a --target."
ModelName = Annotated[
    str | None, _option("--model", metavar="NAME", help=MODEL, autocompletion=_one_of(lambda: MODELS))
]
TOPICS = "How many topics: 20 by default (geo-sage: 5; disclda: 2 for each class, beside shared ones)."
Topics = Annotated[int | None, _option("--topics", "-k", min=1, help=TOPICS)]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same topics.")]
JOBS = "Threads, -1 for all cores; the result is the same."
Jobs = Annotated[int | None, _option("--jobs", help=JOBS, callback=_check_jobs)]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is already there.")]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but errors.")]


@dataclass(frozen=True)
class Option:
    """An option: its default, its help, the words it takes beside a number, and what else typer should know."""

    default: Any
    help: str
    kind: type = str
    words: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def parameter(self, name: str, panel: str) -> inspect.Parameter:
        """Return the parameter of a command."""
        flags = [f"--{name.replace('_', '-')}"] if self.default is False else []
        info = typer.Option(
            self.default, *flags, help=self.help, show_default=bool(self.default), rich_help_panel=panel, **self.more
        )
        kind: Any = self.kind | None if self.default is None else self.kind
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info, annotation=kind)


def _text(default: str | None, help: str, metavar: str, *words: str) -> Option:
    return Option(default, help, str, words, {"metavar": metavar})


def named(help: str, metavar: str) -> Option:
    """An option without a default."""
    return _text(None, help, metavar)


def _number(help: str, kind: type = int, least: int = 1) -> Option:
    return Option(None, help, kind, (), {"min": least})


WORDS = {
    "stop_words": _text(
        "auto",
        "Words to leave out; auto: the stop words of the texts' language; a file has one per line.",
        "auto|none|LANGUAGE|FILE",
    ),
    "min_df": Option("auto", "Least number (5) or share (0.01) of documents a word must stand in.", words=("auto",)),
    "max_df": Option("auto", "Largest number or share (0.5) of documents.", words=("auto",)),
    "max_features": _number("Keep so many words, by tf-idf."),
    "tokenizer": _text(
        "unicode", "What finds words: unicode, jieba (Chinese), icu:th, spacy:de or package.module:function.", "NAME"
    ),
    "phrases": Option(False, 'Read neighbours such as "front desk" as one word.', bool),
    "stem": Option(False, "Cut words to their stems.", bool),
}
FITTING = {
    "inference": Option(
        None,
        "vb: variational; cvb0: the same, collapsed; svi: in mini-batches; gibbs: sampling; pc: topics trained for the"
        " prediction (slda). Else the model's own.",
        more={"autocompletion": _one_of(lambda: ("auto", "pc", "vb", "cvb0", "svi", "gibbs"))},
    ),
    "iterations": _number("At most so many: 60 to 100 (vb), 40 epochs (pc), 10 (svi) or some hundred sweeps (gibbs)."),
    "supervision": _text(
        None,
        "Weight of the target against the words: more serves the prediction, less the topics; auto: by"
        " cross-validation.",
        "NUMBER|auto",
        "auto",
    ),
    "words": Option(None, "Words predict beside the topics, with a sparse prior (slda, medlda).", bool),
    "seed_words": _text(None, "Words that topics begin with: JSON, or lines such as 'sport: match, coach*'.", "FILE"),
    "max_nonzero": _number("At most so many topics may have an effect (sstm)."),
    "chains": _number(
        "Chains of the sampler, from different seeds; the topics are those of the best (sstm; slda with gibbs)."
    ),
    "regions": _number("How many regions (geo-sage); by default as many as the places need."),
    "doc_topic_prior": _text(
        None, "Learn the topics' weights, one for all, or fix it.", "auto|symmetric|NUMBER", "auto", "symmetric"
    ),
    "topic_word_prior": _number("Smoothing of the topics.", float, 0),
    "sampler": _text(None, "How gibbs samples; partial uses all threads.", "collapsed|partial"),
    "batch_size": _number("Documents per step of pc or svi."),
}

PREVALENCE = {
    "prevalence": named('How topic shares depend on columns of DATA, such as "~ party + spline(date, 5)".', "FORMULA")
}
UNKNOWN = {
    "handle_unknown": _text(
        "error",
        "Covariates of new documents that are empty, or a category that was not there: refused, or taken to be at their"
        " mean.",
        "error|ignore",
    )
}
BESIDE = {
    "metadata": named("What is known of each document: columns that the model keeps.", "COL,…"),
    "groups": named(
        "The column that says who a document belongs to, such as its author: folds leave out whole groups.", "COL"
    ),
    "times": named("The column of dates or numbers: in folds, the past predicts the future.", "COL"),
}


def takes(**panels: Mapping[str, Option]) -> Callable[[Command], Command]:
    """Give a command that ends in `**given` the options of tables, each under its name in --help."""

    def with_options(command: Command) -> Command:
        *own, _ = _parameters(command)
        more = [option.parameter(name, panel) for panel, table in panels.items() for name, option in table.items()]
        _set_parameters(command, [*own, *more])
        return command

    return with_options


def may_be_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the option --quiet."""

    @wraps(command)
    def run(*, quiet: bool, **given: Any) -> None:
        with muted(quiet):
            command(**given)

    option = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    _set_parameters(run, [*_parameters(command), option])
    return run


def _parameters(command: Callable[..., None]) -> list[inspect.Parameter]:
    """The parameters of a command, with their types, by name."""
    hints = {} if hasattr(command, "__signature__") else get_type_hints(command, include_extras=True)
    found = inspect.signature(command).parameters.values()
    return [one.replace(annotation=hints.get(one.name, one.annotation)) for one in found]


def _set_parameters(command: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Say what typer reads: all parameters are given by name."""
    by_name = [p if p.kind is p.VAR_KEYWORD else p.replace(kind=p.KEYWORD_ONLY) for p in parameters]
    command.__annotations__ = {p.name: p.annotation for p in by_name}
    command.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]


def values_of(table: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options of a table, numbers read."""
    return {
        name: number_or_word(name, given[name], option.words) if option.words else given[name]
        for name, option in table.items()
    }


def word_params(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the Vectorizer."""
    return {**values_of(WORDS, given), "stop_words": _read_stop_words(given["stop_words"])}


def _read_stop_words(value: str) -> str | list[str] | None:
    """Return 'auto', a language, None, or the list of words in a file."""
    from supertopic.documents.languages import NAMES

    if value in ("auto", "none") or value in NAMES or value.capitalize() in NAMES.values():
        return None if value == "none" else value
    try:
        with open(value, encoding="utf-8-sig") as file:
            return file.read().lower().split()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file in UTF-8"
        raise typer.BadParameter(
            f"{value!r} is neither auto, none nor a language such as german, and no file that can be read: {reason}.",
            param_hint="--stop-words",
        ) from None
