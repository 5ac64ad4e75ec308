"""supertopic intrusion: a page that asks people for intruders among words and topics, and scores their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from supertopic.cli import options as opt
from supertopic.cli.documents import check_writable, load_model, read_documents
from supertopic.cli.show import note, say_json, show

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

_FILE, _TABLE = {"metavar": "[MODEL]", "show_default": False}, {"metavar": "[DATA]", "show_default": False}


def intrusion(
    model: Annotated[str | None, typer.Argument(help="A file that supertopic fit has written.", **_FILE)] = None,
    data: Annotated[str | None, typer.Argument(help="Documents that are asked about, as for fit.", **_TABLE)] = None,
    text: opt.TextColumn = None,
    score: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Score the answers that the page has saved; once for each person."),
    ] = None,
    documents: Annotated[int, typer.Option(min=0, help="Questions about documents, beside one for each topic.")] = 20,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = "quiz.html",
    encoding: opt.Encoding = "utf-8",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Ask people which word, or topic, does not belong, and score their answers: can the topics be read?

    For example: supertopic intrusion model.supertopic data.csv --out quiz.html

    Then: supertopic intrusion --score answers.json
    """
    from supertopic.explore.intrusion import score_answers, write_quiz

    if score:
        if model is not None:
            raise typer.BadParameter("answers are scored without a model.", param_hint="--score")
        found = score_answers(score)
        if as_json:
            say_json({"overall": _plain(found.overall), "topics": _plain(found.topics)})
            return
        show(_table(found.overall))
        missed = found.topics[found.topics.right < 1.0].sort_values("right")
        if len(missed):
            note("Topics whose intruder was missed: " + ", ".join(map(str, missed.topic)) + ".")
        return
    if model is None or data is None:
        raise typer.BadParameter("give MODEL and DATA to write a quiz, or --score with a file of answers.")
    check_writable(out, inputs=[model, data], force=force)
    texts = read_documents(data, text, [], encoding=encoding)[0]
    n = write_quiz(load_model(model, jobs), out, texts, n_documents=documents, seed=seed)
    if as_json:
        say_json({"file": out, "questions": n})
        return
    note(f"Wrote {out}: {n} questions. Open it in a browser; score what it saves by supertopic intrusion --score FILE.")


def _plain(frame: pd.DataFrame) -> list[dict[str, object]]:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _table(overall: pd.DataFrame) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    for name in ("questions", "answers", "found", "90 %", "by chance", "log odds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in overall.itertuples():
        odds = "" if row.log_odds != row.log_odds else f"{row.log_odds:.2f}"
        table.add_row(
            row.kind, str(row.questions), str(row.answers), f"{row.right:.0%}", f"{row.lower:.0%} to {row.upper:.0%}",
            f"{row.by_chance:.0%}", odds,
        )  # fmt: skip
    return table
