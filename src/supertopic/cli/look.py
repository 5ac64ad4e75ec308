"""supertopic topics and explain: prints the topics of a model, and the topics of a text."""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from supertopic.cli.documents import ModelFile, load_model
from supertopic.cli.options import Json
from supertopic.cli.outcomes import predict_frame
from supertopic.cli.response import coefficients, contributions, kind_of, plain, shares_by_word
from supertopic.cli.show import COLOURS, note, say, say_json, show, topics_table
from supertopic.cli.tables import write_frames


def topics(
    model: ModelFile,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = 10,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV: topic, share, rank, word, probability.")] = False,
) -> None:
    """Print the topics of a model: their share of the documents, and their most probable words.

    With a response also what each topic does to it, the coefficient and its standard error, the highest first.
    """
    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv.")
    fitted = load_model(model)
    if not (as_json or as_csv):
        show(topics_table(fitted, words))
        return
    tidy = fitted.top_words(words)
    about = fitted.topics(1)[["share"]]
    coefs = coefficients(fitted)
    about = about if coefs is None else about.join(coefs)
    if as_csv:
        write_frames("-", [tidy[["topic"]].join(about, on="topic").join(tidy.drop(columns="topic"))])
        return
    say_json(
        [
            {
                "topic": int(topic),
                **{name: float(value) for name, value in about.loc[topic].items()},
                "words": rows[["word", "probability"]].to_dict("records"),
            }
            for topic, rows in tidy.groupby("topic")
        ]
    )


def explain(
    model: ModelFile,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text, or - for standard input.", show_default=False)
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the text from a file.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Say which topics a text is about, which of its words speak for which topic, and what they do to a prediction."""
    document = _read_text(text, file)
    fitted = load_model(model)
    if as_json:
        say_json(explanation(fitted, document))
    else:
        show_explanation(fitted, document)


def explanation(model: Any, text: str) -> dict[str, Any]:
    """Return the topic shares of a text, the main topic of each word, and its contribution to a prediction.

    The contributions of the words and `average`, the linear predictor of an average training document, add up to
    `linear_predictor`.
    """
    shares, frame = _shares_and_words(model, text)
    top = model.top_words(10).groupby("topic")["word"].agg(list)
    order = (-shares).argsort(kind="stable")
    words = [
        {"word": word, "count": float(count), "topic": int(row.argmax()), "shares": row.tolist()}
        for word, count, row in zip(frame["word"], frame["count"], shares_by_word(frame), strict=True)
    ]
    told: dict[str, Any] = {}
    if kind_of(model) != "none":
        predicted = predict_frame(model, [text]).iloc[0]
        told = {name: plain(value) for name, value in predicted.items()}
        found = contributions(model, frame, predicted["prediction"])
        if found is not None:
            told |= {"linear_predictor": float(found[0].sum()) + found[1], "average": found[1]}
            words = [{**word, "contribution": float(value)} for word, value in zip(words, found[0], strict=True)]
    return {
        **told,
        "topics": [{"topic": int(k), "share": float(shares[k]), "words": list(top[k])} for k in order],
        "words": words,
        "unknown_words": int(model._as_corpus([text]).n_unknown),
    }


def show_explanation(model: Any, text: str, n_topics: int = 5) -> None:
    """Print the largest topics of a text and the words of each; at a terminal also the text in colours."""
    shares, frame = _shares_and_words(model, text)
    by_topic = shares_by_word(frame)
    best = by_topic.argmax(axis=1)
    order = [int(k) for k in (-shares).argsort(kind="stable")[:n_topics] if shares[k] >= 0.01]
    colour = {k: COLOURS[rank % len(COLOURS)] for rank, k in enumerate(order)}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("topic", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("words of the text that speak for it", overflow="fold")
    for k in order:
        mine = frame.assign(weight=by_topic[:, k] * frame["count"])[best == k]
        words = ", ".join(mine.sort_values("weight", ascending=False, kind="stable")["word"][:12])
        bar = Text("█" * max(round(20 * shares[k]), 1), style=colour[k])
        table.add_row(str(k), f"{shares[k]:.0%}", bar, Text(words, style=colour[k]) if words else "–")
    if kind_of(model) != "none":
        _say_prediction(model, text, frame)
    show(table)
    if sys.stdout.isatty():
        say()
        show(_coloured(model, text, dict(zip(frame["word"], best, strict=True)), colour))


def _say_prediction(model: Any, text: str, frame: Any, n_words: int = 6) -> None:
    """Print the prediction, and the words with the largest contributions relative to an average document."""
    predicted = predict_frame(model, [text]).iloc[0]
    label = predicted["prediction"]
    if kind_of(model) == "number":
        say(f"Prediction: {label:.4g}")
    else:
        sure = f" (probability {predicted[f'p_{label}']:.2f})" if f"p_{label}" in predicted else ""
        say(f"Prediction: {label}{sure}")
    found = contributions(model, frame, label)
    if found is not None:
        moved, average = found
        say(
            f"Linear predictor: {moved.sum() + average:.4g}, {moved.sum():+.2g} against an average document. Its words:"
        )
        ranked = sorted(zip(frame["word"], moved, strict=True), key=lambda pair: -abs(pair[1]))
        for name, sign in (("raise it", 1), ("lower it", -1)):
            words = [f"{word} {by:+.2g}" for word, by in ranked if sign * by > 0][:n_words]
            say(f"  {name}   {', '.join(words) or '–'}")
    say()


def _shares_and_words(model: Any, text: str) -> tuple[Any, Any]:
    """Return θ, and the topics of all known words of the text."""
    frame = model._explain_words(text)
    if frame.empty:
        raise ValueError("the text holds no word that the model knows, so there is nothing to explain")
    return model.transform([text])[0], frame


def _coloured(model: Any, text: str, topic_of: dict[str, int], colour: dict[int, str]) -> Text:
    """Return the text with each known word in the colour of its topic; other words are grey."""
    reader = model.vectorizer_
    shown = Text(text.strip(), style="dim")
    for match in re.finditer(reader.token_pattern, shown.plain.replace("\u2019", "'")):
        word = match.group().lower() if reader.lowercase else match.group()
        style = colour.get(topic_of.get(word, -1))
        if style:
            shown.stylize(f"not dim {style}", *match.span())
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
