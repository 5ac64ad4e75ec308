"""supertopic explain: says which topics a text is about, and what its words do to a prediction."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from supertopic.cli import options as opt
from supertopic.cli.documents import load_model
from supertopic.cli.learning import covariates_given
from supertopic.cli.outcomes import Outcome, outcomes_of, predict_frame
from supertopic.cli.response import contributions, covariate_effects, plain, shares_by_word, topics_are_classes
from supertopic.cli.show import COLOURS, note, prose, say, say_json, show

if TYPE_CHECKING:
    import pandas as pd

    from supertopic.estimators.shared.base import TopicEstimator


def explain(
    model: opt.ModelFile,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text, or - for standard input.", show_default=False)
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the text from a file.", show_default=False)
    ] = None,
    covariates: Annotated[
        str,
        typer.Option(
            metavar="COL=VALUE,…",
            help="The covariates of the text, for a model that has some; at their mean where not given.",
            show_default=False,
        ),
    ] = "",
    as_json: opt.Json = False,
) -> None:
    """Say which topics a text is about, which of its words speak for which topic, and what they do to a prediction."""
    document = _read_text(text, file)
    fitted = load_model(model)
    given = covariates_given(fitted, covariates)
    if as_json:
        say_json(explanation(fitted, document, given))
    else:
        show_explanation(fitted, document, given)


def explanation(model: TopicEstimator, text: str, covariates: object = None) -> dict[str, Any]:
    """Return the topic shares of a text, the main topic of each word, and its contribution to a prediction.

    The contributions of the words, those of the covariates, and `average`, the linear predictor of an average training
    document, add up to `linear_predictor`.
    """
    shares, frame = _shares_and_words(model, text)
    top = model.top_words(10).groupby("topic")["word"].agg(list)
    order, names = (-shares).argsort(kind="stable"), _names(model)
    words = [
        {"word": word, "count": float(count), **_best(row, names), "shares": row.tolist()}
        for word, count, row in zip(frame["word"], frame["count"], shares_by_word(frame), strict=True)
    ]
    predicted = predict_frame(model, [text], covariates=covariates)
    told = {name: plain(predicted[name].iloc[0]) for name in predicted}
    found = contributions(model, frame, told["prediction"]) if "prediction" in told else None
    if found is not None:
        beside = {} if covariates is None else covariate_effects(model, covariates, told["prediction"])
        told |= {"linear_predictor": float(found[0].sum()) + found[1] + sum(beside.values()), "average": found[1]}
        told |= {"covariates": beside} if beside else {}
        words = [{**word, "contribution": float(value)} for word, value in zip(words, found[0], strict=True)]
    return {
        **told,
        "topics": [{"topic": int(k), "share": float(shares[k]), "words": list(top[k])} for k in order],
        "words": words,
        "unknown_words": int(model.fitted_.corpus([text]).n_unknown),
    }


def show_explanation(model: TopicEstimator, text: str, covariates: object = None, n_topics: int = 5) -> None:
    """Print the largest topics of a text and the words of each; at a terminal also the text in colours."""
    shares, frame = _shares_and_words(model, text)
    by_topic, names = shares_by_word(frame), _names(model)
    if names:  # the words speak for classes, and not for topics
        shares = model.predict_proba([text])[0]
    best = by_topic.argmax(axis=1)
    order = [int(k) for k in (-shares).argsort(kind="stable")[:n_topics] if shares[k] >= 0.01]
    colour = {k: COLOURS[rank % len(COLOURS)] for rank, k in enumerate(order)}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("class" if names else "topic", "probability" if names else "share"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("words of the text that speak for it", overflow="fold")
    for k in order:
        mine = frame.assign(weight=by_topic[:, k] * frame["count"])[best == k]
        words = ", ".join(mine.sort_values("weight", ascending=False, kind="stable")["word"].unique()[:12])
        bar = Text("█" * max(round(20 * shares[k]), 1), style=colour[k])
        name = names[k] if names else str(k)
        table.add_row(name, f"{shares[k]:.0%}", bar, Text(words, style=colour[k]) if words else "–")
    _say_predictions(model, text, frame, covariates)
    show(table)
    _say_left_out(model, text)
    if sys.stdout.isatty():
        say()
        show(_coloured(model, text, dict(zip(frame["word"], best, strict=True)), colour))


def _say_left_out(model: TopicEstimator, text: str) -> None:
    """Name the words of a text that have no effect: unknown ones, and those that too many training documents have."""
    from supertopic.estimators.shared.results.explanation import unknown_words

    unknown = list(unknown_words(model.vectorizer_, text))
    ignored = list(model.vectorizer_.ignored_words(text)) if hasattr(model.vectorizer_, "ignored_words") else []
    if unknown or ignored:
        say()
    if unknown:
        prose(f"Unknown to the model: {_few(unknown)}")
    if ignored:
        prose(f"Left out by the fit (--max-df), since too many documents have them: {_few(ignored)}")


def _few(words: list[str], most: int = 12) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")


def _say_predictions(model: TopicEstimator, text: str, frame: pd.DataFrame, covariates: object) -> None:
    """Print what is predicted, and if this is one thing, the words that speak for more and for less of it."""
    outcomes = outcomes_of(model)
    if not outcomes:
        return
    predicted = predict_frame(model, [text], covariates=covariates)
    for outcome in outcomes:
        say(_prediction(outcome, predicted))
    if "prediction" in predicted:
        _say_contributions(model, frame, plain(predicted["prediction"].iloc[0]), covariates)
    say()


def _prediction(outcome: Outcome, predicted: Any) -> str:
    """Return a sentence with the prediction of one outcome."""
    row = {name: plain(predicted[name].iloc[0]) for name in predicted}
    if outcome.kind == "place":
        return f"Prediction: latitude {row['latitude']:.2f}, longitude {row['longitude']:.2f} (region {row['region']})"
    name = f"Prediction of {outcome.name}" if outcome.name else "Prediction"
    label = row[outcome.column("prediction")]
    if outcome.kind == "number":
        return f"{name}: {label:.4g}"
    sure = row.get(outcome.probability(label))
    return f"{name}: {label}" + (f" (probability {sure:.2f})" if sure is not None else "")


def _say_contributions(model: TopicEstimator, frame: Any, label: object, covariates: object) -> None:
    """Print the words with the largest contributions relative to an average document."""
    found = contributions(model, frame, label)
    if found is None:
        return
    moved, average = found
    beside = {} if covariates is None else covariate_effects(model, covariates, label)
    by = moved.sum() + sum(beside.values())
    say(f"Linear predictor: {by + average:.4g}, {by:+.2g} against an average document. Its words:")
    ranked = sorted(zip(frame["word"], moved, strict=True), key=lambda pair: -abs(pair[1]))
    for name, sign in (("upward", 1), ("downward", -1)):
        words = [f"{word} {by:+.2g}" for word, by in ranked if sign * by > 0][:6]
        say(f"  {name:8}   {', '.join(words) or '–'}")
    if beside:
        told = ", ".join(f"{name} {value:+.2g}" for name, value in beside.items())
        usual = all(abs(value) < 1e-9 for value in beside.values())
        say(f"Covariates: {told}" + (" (at their means; others with --covariates NAME=VALUE)" if usual else ""))


def _names(model: TopicEstimator) -> list[str]:
    """Return the classes, if the words of a text speak for classes and not for topics."""
    speaks_for_classes = topics_are_classes(model) or hasattr(model, "labels_")
    return [str(label) for label in model.classes_] if speaks_for_classes else []


def _best(row: Any, names: list[str]) -> dict[str, Any]:
    """Return the topic, or the class, that a word speaks for."""
    best = int(row.argmax())
    return {"topic": best, "class": names[best]} if names else {"topic": best}


def _shares_and_words(model: TopicEstimator, text: str) -> tuple[Any, Any]:
    """Return θ, and the topics of all known words of the text."""
    frame = model.explain_words(text)
    if frame.empty:
        raise ValueError("the text holds no word that the model knows, so there is nothing to explain")
    return model.transform([text])[0], frame


def _coloured(model: TopicEstimator, text: str, topic_of: dict[str, int], colour: dict[int, str]) -> Text:
    """Return the text with each known word in the colour of its topic; other words are grey."""
    reader = model.vectorizer_
    shown = Text(text.strip(), style="dim")
    plain = shown.plain.replace("\u2019", "'")
    for word, start, stop in reader.located(plain):
        style = colour.get(topic_of.get(word, -1))
        if style:
            shown.stylize(f"not dim {style}", start, stop)
    return shown


def _read_text(text: str | None, file: str | None) -> str:
    """Return the text from the command line, a file or standard input."""
    if (text is None) == (file is None):
        raise typer.BadParameter("give either a TEXT (or -) or a --file.")
    if file is not None:
        try:
            with open(file, encoding="utf-8-sig") as handle:
                return handle.read()
        except UnicodeDecodeError:
            raise ValueError(f"the file {file!r} is not a text in UTF-8") from None
        except OSError as error:
            raise ValueError(f"the file {file!r} cannot be read: {error.strerror}") from None
    if text == "-":
        return sys.stdin.read()
    if os.path.isfile(str(text)):
        note(f"{text!r} is taken as the text itself; to explain the file write --file {text}.")
    return str(text)
