"""supertopic topics: prints the topics of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from supertopic.cli import options as opt
from supertopic.cli.documents import load_model
from supertopic.cli.response import figures_of_topics, marks_text, unit_of
from supertopic.cli.show import covariates_table, note, parts_table, prose, say, say_json, show, topics_table
from supertopic.cli.tables import write_frames


def topics(
    model: opt.ModelFile,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = 10,
    as_json: opt.Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV: topic, share, rank, word, probability.")] = False,
) -> None:
    """Print the topics of a model: their share of the documents, and their most probable words.

    With a response also what its prediction changes by from little to much of a topic, the largest effect first.
    """
    if as_json and as_csv:
        raise typer.BadParameter("choose one of --json and --csv.")
    from supertopic.estimators.shared.results.topic_info import marks_of_topics

    fitted = load_model(model)
    if not (as_json or as_csv):
        show(topics_table(fitted, words))
        if said := marks_text(fitted):
            say()
            prose(said)
        for more in (covariates_table(fitted), parts_table(fitted, words)):
            if more is not None:
                say()
                show(more)
        if unit_of(fitted):
            note(f"\n{unit_of(fitted)}")
        return
    tidy = fitted.top_words(words)
    about = fitted.topics(1)[["share"]]
    coefs = figures_of_topics(fitted)
    about = about if coefs is None else about.join(coefs)
    if as_csv:
        write_frames("-", [tidy[["topic"]].join(about, on="topic").join(tidy.drop(columns="topic"))])
        return
    marks = marks_of_topics(fitted)
    say_json(
        [
            {
                "topic": int(topic),
                **{name: float(value) for name, value in about.loc[topic].items()},
                **{name: values[int(topic)] for name, values in marks.items()},
                "words": rows[["word", "probability"]].to_dict("records"),
            }
            for topic, rows in tidy.groupby("topic")
        ]
    )
