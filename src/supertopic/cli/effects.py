"""supertopic effects: what goes with topics, by a formula of the columns of DATA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli import options as opt
from supertopic.cli.documents import check_writable, load_model, read_documents
from supertopic.cli.show import note, say_json, show
from supertopic.cli.tables import write_frames, writer_for
from supertopic.cli.target import ColumnValues

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

FORMULA = "Columns and the operators of formulas, such as '~ party * spline(date, 5)'."
CLUSTER = "Documents with the same value go together (those of an author): errors by groups."
CONTRAST = "Compare two values of a column, all else as it is, such as party=D:R."


def effects(
    model: opt.ModelFile,
    data: opt.Data,
    formula: Annotated[str, typer.Option("--formula", metavar="FORMULA", help=FORMULA, show_default=False)],
    text: opt.TextColumn = None,
    cluster: Annotated[str | None, typer.Option("--cluster", metavar="COL", help=CLUSTER, show_default=False)] = None,
    contrast: Annotated[
        str | None, typer.Option("--contrast", metavar="COL=A:B", help=CONTRAST, show_default=False)
    ] = None,
    term: Annotated[
        str | None,
        typer.Option("--term", metavar="TERM", help="Of several terms, the one to draw.", show_default=False),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option("--curve", metavar="COL", help="Draw mean shares along this column instead.", show_default=False),
    ] = None,
    refits: Annotated[
        int, typer.Option(min=0, help="Further fits, whose differences widen the intervals (models without a target).")
    ] = 0,
    permutations: Annotated[int, typer.Option(min=0, help="Add p-values by so many permutations.")] = 0,
    probability: Annotated[float, typer.Option(min=0.01, max=0.999, help="Of the intervals.")] = 0.9,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the table here.", show_default=False)
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Write a figure here.", show_default=False)
    ] = None,
    latex: Annotated[
        str | None, typer.Option("--latex", metavar="FILE", help="Write the table in LaTeX here.", show_default=False)
    ] = None,
    encoding: opt.Encoding = "utf-8",
    jobs: opt.Jobs = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Say how topics differ between documents: by party, by date, by whatever their columns tell.

    Estimates are percentage points of a document's share. Give the documents of the fit, or others.
    """
    from supertopic.documents.formulas import columns_of

    for path, option in ((out, "--out"), (plot, "--plot"), (latex, "--latex")):
        if path is not None:
            check_writable(path, option, inputs=[model, data], force=force, stdout=option == "--out")
    if out is not None:
        writer_for(out)
    names = columns_of(formula)
    ends = None if contrast is None else _ends(contrast)
    fitted = load_model(model, jobs)
    columns = list(dict.fromkeys([*names, *([] if cluster is None else [cluster])]))
    texts, cells, _ = read_documents(data, text, columns, encoding=encoding)
    metadata = {name: _column(cells[name], name) for name in columns}
    found = fitted.estimate_effect(formula, metadata, texts, cluster=cluster, refits=refits, permutations=permutations)
    if ends is not None:
        found = found.contrast(*ends)
    table = found.summary(probability)
    if latex is not None:
        found.to_latex(latex, probability=probability)
    if out is not None:
        write_frames(out, [table])
    if as_json:
        say_json({"notes": list(found.notes), "effects": [_plain(row) for row in table.to_dict("records")]})
    elif out != "-":
        show(_table(table))
        for line in found.notes:
            note(line)
    if plot is not None and curve is not None:
        found.curve(curve).plot(plot, probability=probability)
    elif plot is not None:
        found.plot(plot, term=term, probability=probability)


def _ends(contrast: str) -> tuple[str, str, str]:
    """The column and two values of COL=A:B; values with a colon, such as times, stand in the middle of three."""
    column, _, values = contrast.partition("=")
    low, colon, high = values.partition(":")
    if not (column and colon and low and high):
        raise typer.BadParameter(f"{contrast!r} is no COL=A:B, such as party=D:R.", param_hint="--contrast")
    return column.strip(), low.strip(), high.strip()


def _column(cells: pd.Series, name: str) -> list[Any]:
    """Texts, or numbers with NaN where a cell is empty."""
    found = ColumnValues.of(cells, name)
    if found.is_text:
        return [None if value is None else str(value) for value in found.values]
    return [float("nan") if value is None else float(value) for value in found.values]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers of Python, None for NaN."""
    values = {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}
    return {name: None if value != value else value for name, value in values.items()}


def _table(frame: pd.DataFrame) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("topic", justify="right", style="bold")
    table.add_column("", overflow="fold", min_width=12)
    several = frame["term"].nunique() > 1
    if several:
        table.add_column("term", overflow="fold", min_width=12)
    for name in ("estimate", "interval", "p (adjusted)"):
        table.add_column(name, justify="right", no_wrap=True)
    again = "found_again" in frame
    if again:
        table.add_column("found again", justify="right")
    for row in frame.to_dict("records"):
        cells = [str(row["topic"]), row["label"], *([row["term"]] if several else [])]
        cells += [f"{row['estimate']:+.1f}", f"{row['lower']:+.1f} to {row['upper']:+.1f}", f"{row['p_adjusted']:.3f}"]
        table.add_row(*cells, *([f"{row['found_again']:.0%}"] if again else []))
    if not several and len(frame):
        table.caption = str(frame["term"].iloc[0])
    return table
