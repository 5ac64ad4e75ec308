"""Options of the commands: the vocabulary, and how a model is fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from supertopic.cli.models import MODELS, model_help, number_or_word

WORDS, FITTING = "Words", "Fitting"  # the groups of options in --help


def _one_of(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion of a name in the shell."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"{model_help()} By default lda, or slda with a --target.",
        show_default=False,
        autocompletion=_one_of(lambda: MODELS),
    ),
]
Topics = Annotated[
    int | None,
    typer.Option(
        "--topics",
        "-k",
        min=1,
        help="How many topics: 20 by default (geo-sage: 5; disclda: 2 for each class, beside shared ones).",
        show_default=False,
    ),
]
StopWords = Annotated[
    str,
    typer.Option(
        metavar="auto|none|LANGUAGE|FILE",
        help="Words to leave out; auto: the stop words of the texts' language; a file has one per line.",
        rich_help_panel=WORDS,
    ),
]
MinDf = Annotated[
    str,
    typer.Option(help="Least number (5) or share (0.01) of documents a word must stand in.", rich_help_panel=WORDS),
]
MaxDf = Annotated[str, typer.Option(help="Largest number or share (0.5) of documents.", rich_help_panel=WORDS)]
MaxFeatures = Annotated[
    int | None,
    typer.Option(min=1, help="Keep so many words, by tf-idf.", show_default=False, rich_help_panel=WORDS),
]
Tokenizer = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What finds words: unicode, jieba (Chinese), icu:th, spacy:de or package.module:function.",
        rich_help_panel=WORDS,
    ),
]
Phrases = Annotated[
    bool,
    typer.Option("--phrases", help='Read neighbours such as "front desk" as one word.', rich_help_panel=WORDS),
]
Stem = Annotated[bool, typer.Option("--stem", help="Cut words to their stems.", rich_help_panel=WORDS)]
Inference = Annotated[
    str | None,
    typer.Option(
        help="vb: variational; cvb0: the same, collapsed; svi: in mini-batches; gibbs: sampling; pc: topics trained for"
        " the prediction (slda). Else the model's own.",
        autocompletion=_one_of(lambda: ("auto", "pc", "vb", "cvb0", "svi", "gibbs")),
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
Iterations = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="At most so many: 60 to 100 (vb), 40 epochs (pc), 10 (svi) or some hundred sweeps (gibbs).",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
Supervision = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|auto",
        help="Weight of the target against the words: more serves the prediction, less the topics; auto: by"
        " cross-validation.",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
WordsBeside = Annotated[
    bool | None,
    typer.Option(
        "--words/--no-words",
        help="Words predict beside the topics, with a sparse prior (slda, medlda).",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
MaxNonzero = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="At most so many topics may have an effect (sstm).",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
Chains = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Chains of the sampler, from different seeds; the topics are those of the best (sstm; slda with gibbs).",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
Regions = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="How many regions (geo-sage); by default as many as the places need.",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
DocTopicPrior = Annotated[
    str | None,
    typer.Option(
        metavar="auto|symmetric|NUMBER",
        help="Learn the topics' weights, one for all, or fix it.",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
TopicWordPrior = Annotated[
    float | None,
    typer.Option(min=0, help="Smoothing of the topics.", show_default=False, rich_help_panel=FITTING),
]
Sampler = Annotated[
    str | None,
    typer.Option(
        metavar="collapsed|partial",
        help="How gibbs samples; partial uses all threads.",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
Streaming = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Read the files again and again and never hold them; with pc or svi.",
        rich_help_panel=FITTING,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(min=1, help="Documents per step of pc or svi.", show_default=False, rich_help_panel=FITTING),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Fit on the workers of a Dask cluster, such as tcp://host:8786.",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
CheckpointFile = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Save the state here now and then; after Ctrl-C or a crash the same command goes on from it.",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
CheckpointEvery = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="How often at most the state is saved.", rich_help_panel=FITTING),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same topics.", rich_help_panel=FITTING)]


def word_params(
    stop_words: str, min_df: str, max_df: str, max_features: int | None, tokenizer: str, phrases: bool, stem: bool
) -> dict[str, Any]:
    """Convert the options to parameters of the Vectorizer."""
    return {
        "stop_words": _read_stop_words(stop_words),
        "min_df": number_or_word("--min-df", min_df, ("auto",)),
        "max_df": number_or_word("--max-df", max_df, ("auto",)),
        "max_features": max_features,
        "tokenizer": tokenizer,
        "phrases": phrases,
        "stem": stem,
    }


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
