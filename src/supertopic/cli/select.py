"""supertopic select: compares numbers of topics on held-out documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from supertopic.cli import options as opt
from supertopic.cli.documents import check_writable, read_documents
from supertopic.cli.learning import Question, with_formula
from supertopic.cli.models import build, check_options
from supertopic.cli.show import is_quiet, prose, say, say_json, show
from supertopic.cli.tables import write_frames, writer_for

if TYPE_CHECKING:
    from supertopic.selection import TopicSelection

_BESIDE = {name: opt.BESIDE[name] for name in ("metadata", "groups")}


@opt.takes(Words=opt.WORDS, Documents={**_BESIDE, **opt.PREVALENCE}, Fitting=opt.FITTING)
def select(
    data: opt.Data,
    topics: Annotated[
        str, typer.Option("--topics", "-k", metavar="K,K,…", help="The numbers of topics to try.")
    ] = "5,10,20,40",
    model: opt.ModelName = None,
    text: opt.TextColumn = None,
    target: opt.TargetColumn = None,
    response: opt.ResponseName = None,
    covariates: opt.Covariates = "",
    folds: Annotated[int, typer.Option(min=2, help="Parts of the documents; each is left out once.")] = 5,
    seeds: Annotated[
        int, typer.Option(min=1, help="Fits of all documents whose topics are compared: stability. 1: leave it out.")
    ] = 3,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write the table: .csv, .tsv, .jsonl or .parquet.", show_default=False
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Draw the curves: .png, .svg or .pdf (needs matplotlib).", show_default=False
        ),
    ] = None,
    encoding: opt.Encoding = "utf-8",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
    **given: Any,
) -> None:
    """Compare numbers of topics by prediction (with --target), held-out likelihood, coherence and stability.

    For example: supertopic select reviews.csv --model slda --text body --target stars --topics 5,10,20

    The vocabulary is chosen anew in every fold, so that nothing of the documents left out is seen.
    """
    tried = parse_topics(topics)
    given["metadata"] = with_formula(given["metadata"], given["prevalence"])
    asked = Question.of(model, target, response, covariates, {name: given[name] for name in _BESIDE})
    if len(asked.targets) > 1:
        raise typer.BadParameter("give one column; several are not compared.", param_hint="--target")
    check_options(asked.model, {"topics": tried[0] if len(tried) == 1 else tried})
    options = {**opt.values_of({**opt.FITTING, **opt.PREVALENCE}, given), "seed": seed, "jobs": jobs}
    check_options(asked.model, options)
    vocabulary = opt.word_params(given)
    for option, path in (("--out", out), ("--plot", plot)):
        if path is not None:
            check_writable(path, option, inputs=[data], force=force, stdout=option == "--out")
    if out is not None:
        writer_for(out)
    drawing = plot is not None and _can_draw(plot)
    from supertopic import Vectorizer, select_topics

    documents, cells, _ = read_documents(data, text, asked.columns, encoding=encoding)
    learned = asked.learned(cells)
    estimator = build(asked.model, options, learned.kind, vectorizer=Vectorizer(**vocabulary), **learned.params)
    found = select_topics(
        estimator, documents, learned.y, tried, cv=folds, n_seeds=seeds, random_state=seed,
        covariates=learned.covariates, **learned.beside, verbose=int(not is_quiet()),
    )  # fmt: skip
    if out is not None:
        write_frames(out, [found.table.reset_index()])
    if drawing:
        found.plot()[0, 0].figure.savefig(plot, dpi=200)
    if out == "-":
        return
    if as_json:
        say_json(_as_json(found))
        return
    show(_table(found))
    say()
    prose(found.reason)


def parse_topics(value: str) -> list[int]:
    """Parse numbers of topics such as '5,10,20'."""
    parts = [part.strip() for part in value.split(",") if part.strip()]
    wrong = next((part for part in parts if not part.isdecimal() or int(part) < 1), None)
    if wrong is not None or not parts:
        what = f"{wrong!r} is no whole number of 1 or more" if wrong else "there is no number"
        raise typer.BadParameter(f"{what}; expected numbers of topics such as 5,10,20.", param_hint="--topics")
    return [int(part) for part in parts]


def _can_draw(path: str) -> bool:
    """Return True; raise before any work is done if matplotlib is missing or cannot write the format."""
    try:
        import matplotlib
    except ImportError:
        raise ValueError("--plot needs matplotlib: pip install 'supertopic[plots]'") from None
    matplotlib.use("Agg")  # a file needs no screen
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if path.rpartition(".")[2].lower() not in known:
        raise typer.BadParameter(
            f"{path!r} has an unknown extension; expected .png, .svg or .pdf.", param_hint="--plot"
        )
    return True


def _as_json(found: TopicSelection) -> dict[str, Any]:
    rows = [
        {name: None if value != value else value for name, value in row.items()}
        for row in found.table.reset_index().to_dict("records")
    ]
    return {"best": found.best, "criterion": found.criterion, "scoring": found.scoring or None, "table": rows}


def _table(found: TopicSelection) -> Table:
    """A table with mean ± standard error of each measure; the chosen K is bold."""
    titles = {"prediction": found.scoring, "nats_per_token": "nats per token", "seconds": "seconds a fit"}
    names = [name for name in found.table if not name.endswith("_se")]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("topics", justify="right")
    for name in names:
        table.add_column(titles.get(name, name), justify="right", no_wrap=True)
    for k, row in found.table.iterrows():
        cells = [
            f"{row[name]:.2f}" if name == "seconds" else _with_error(row[name], row[f"{name}_se"]) for name in names
        ]
        chosen = k == found.best
        table.add_row(f"{'→ ' if chosen else ''}{k}", *map(Text, cells), style="bold" if chosen else "")
    return table


def _with_error(mean: float, error: float) -> str:
    return f"{mean:.3f}" if error != error else f"{mean:.3f} ± {error:.3f}"
