"""Options that `fit` and `select` share: the vocabulary, and how a model is fitted."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from supertopic.cli.models import model_help, number_or_word

WORDS, FITTING = "Words", "Fitting"  # the groups of options in --help

ModelName = Annotated[str, typer.Option("--model", help=model_help())]
StopWords = Annotated[
    str,
    typer.Option(
        metavar="english|none|FILE", help="Words to leave out; a file has one per line.", rich_help_panel=WORDS
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
Inference = Annotated[
    str | None,
    typer.Option(
        help="vb: variational; cvb0: the same, collapsed; svi: in mini-batches; gibbs: sampling. Else the model's own.",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
Iterations = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="At most so many: 60 to 100 (vb), 10 epochs (svi) or some hundred sweeps (gibbs).",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
Supervision = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="Weight of the target against the words: 1 is the papers' model, more serves the prediction.",
        show_default=False,
        rich_help_panel=FITTING,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same topics.", rich_help_panel=FITTING)]


def word_params(stop_words: str, min_df: str, max_df: str, max_features: int | None) -> dict[str, Any]:
    """Convert the options to parameters of the Vectorizer."""
    return {
        "stop_words": _read_stop_words(stop_words),
        "min_df": number_or_word("--min-df", min_df, ("auto",)),
        "max_df": number_or_word("--max-df", max_df, ("auto",)),
        "max_features": max_features,
    }


def _read_stop_words(value: str) -> str | list[str] | None:
    """Return 'english', None, or the list of words in a file."""
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
