"""supertopic compare: what is different in a model from one that was there before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli import options as opt
from supertopic.cli.documents import load_model
from supertopic.cli.show import prose, say, say_json, show

if TYPE_CHECKING:
    from supertopic.estimators.shared.results.comparison import Comparison

CHANGED = 3  # exit code of --check, and of check


def compare(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A model, such as last week's.", show_default=False)],
    model: opt.ModelFile,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 3 where topics came or went, or effects moved.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Say what is different in a model from one that was there before: topics that came and went, effects that moved.

    Topics are matched by their words. An effect has moved where the errors of both models do not explain it.

    For example, in a weekly job: supertopic compare last.supertopic this.supertopic --check || mail -s changed me
    """
    found = load_model(model).compare(load_model(before))
    if as_json:
        say_json(plain_comparison(found))
    else:
        say_comparison(found)
    if check and found.changed:
        raise typer.Exit(CHANGED)


def plain_comparison(found: Comparison) -> dict[str, Any]:
    """For JSON."""
    table = found.topics.astype(object).where(found.topics.notna(), None)
    return {"changed": found.changed, "topics": table.to_dict("records")}


def say_comparison(found: Comparison) -> None:
    """Print what is different as a sentence and a table."""
    prose(str(found))
    say()
    show(_table(found))


def _table(found: Comparison) -> Any:
    """A row per topic and column of effects: what moved first, then what came and went."""
    import pandas as pd
    from rich import box
    from rich.table import Table

    from supertopic.estimators.shared.results.effects import effect_text

    kinds = dict(zip(found.columns, found.kinds, strict=True))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("before", "now", "likeness", *(["effect before", "effect now"] if kinds else [])):
        table.add_column(name, justify="right")
    if len(kinds) > 1:
        table.add_column("of")
    table.add_column("")
    table.add_column("topic", overflow="fold")
    rank = found.topics["status"].map({"same": 1, "new": 2, "gone": 3}).where(~found.topics["moved"], 0)

    def shown(row: dict[str, Any], name: str) -> str:
        value = row[name]
        return "" if pd.isna(value) else effect_text(value, kinds[row["column"]])

    for row in found.topics.iloc[rank.argsort(kind="stable")].to_dict("records"):
        cells = ["" if pd.isna(row[name]) else str(row[name]) for name in ("before", "topic")]
        cells.append("" if pd.isna(row["similarity"]) else f"{row['similarity']:.2f}")
        cells += [shown(row, name) for name in ("effect_before", "effect")] if kinds else []
        cells += [row["column"]] if len(kinds) > 1 else []
        status = "moved" if row["moved"] else "" if row["status"] == "same" else row["status"]
        table.add_row(*cells, status, row["label"])
    return table
