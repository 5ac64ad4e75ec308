"""supertopic update: a model goes on from new documents, with its topics in their places."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supertopic.cli import options as opt
from supertopic.cli.answers import labels_of
from supertopic.cli.compare import CHANGED, plain_comparison, say_comparison
from supertopic.cli.documents import load_model, read_documents
from supertopic.cli.fit import save_somewhere
from supertopic.cli.learning import Question, covariates_for, split_names, with_formula
from supertopic.cli.settings import Config, check_outputs, write_settings
from supertopic.cli.show import is_quiet, note, say, say_json
from supertopic.cli.summary import fit_figures, say_fit, tallying_vectorizer

if TYPE_CHECKING:
    import pandas as pd

    from supertopic.estimators.shared.base import TopicEstimator


@opt.takes(Documents=opt.BESIDE)
def update(
    context: typer.Context,
    model: opt.ModelFile,
    data: opt.Data,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The new model.", show_default=False)],
    text: opt.TextColumn = None,
    target: opt.TargetColumn = None,
    covariates: opt.Covariates = "",
    encoding: opt.Encoding = "utf-8",
    jobs: opt.Jobs = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 3 where topics came or went, or effects moved.")
    ] = False,
    config: Config = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
    **given: Any,
) -> None:
    """Fit MODEL to the documents of DATA from where it stands, write a new model, and say what is different.

    Topics keep their numbers, words come and go. The new model knows DATA alone: this week, or all weeks so far.
    Groups and times are the columns of the first fit, if none are given and DATA has them ("" stands for none).

    For example: supertopic update last.supertopic week.csv --out this.supertopic
    """
    settings = check_outputs(out, [model, data], force)
    before, fitted = load_model(model), load_model(model, jobs)
    targets = split_names(target) or [one.name for one in fitted.fitted_.spec.schema.targets]
    formula = getattr(fitted, "prevalence", None)
    given["metadata"] = with_formula(given["metadata"], formula if isinstance(formula, str) else None)
    beside = {name: split_names(columns) for name, columns in given.items() if columns}
    unknown, columns = before.fitted_.spec.schema.columns.unknown, covariates_for(fitted, covariates)
    asked = Question(type(fitted).__name__, [], None, columns, beside, unknown)
    _prepare(fitted, model)
    kept = {name: one for name, one in before.fitted_.notes.get("beside", {}).items() if given.get(name) is None}
    documents, cells, _ = read_documents(data, text, [*targets, *asked.columns], list(kept.values()), encoding=encoding)
    arguments = replace(asked, beside={**beside, **_there(kept, cells)}).learned(cells).arguments
    if targets:
        arguments["y"] = labels_of(fitted, cells, targets)
    start = time.perf_counter()
    fitted.fit(documents, **arguments, **asked.how)
    save_somewhere(fitted, out)
    write_settings(context, settings)
    figures = fit_figures(fitted, time.perf_counter() - start, out)
    try:
        found = fitted.compare(before)
    except ValueError as error:
        raise ValueError(f"{error}; the new model is kept in {out}") from error
    if as_json:
        say_json({**figures, **plain_comparison(found)})
    else:
        say_fit(figures, fitted)
        say()
        say_comparison(found)
    if check and found.changed:
        raise typer.Exit(CHANGED)


def _there(kept: Mapping[str, str], cells: pd.DataFrame) -> dict[str, list[str]]:
    """The columns of groups and times of the first fit that the table has; the others are printed."""
    for name, column in kept.items():
        if column not in cells:
            note(f"The first fit had --{name} {column}, a column that DATA has not: this one goes without.")
    return {name: [column] for name, column in kept.items() if column in cells}


def _prepare(fitted: TopicEstimator, path: str) -> None:
    """Let a fit go on from where the model stands; refuses a model that cannot."""
    params = fitted.get_params(deep=False)
    if "warm_start" not in params:
        raise ValueError(f"{path}: a {type(fitted).__name__} begins anew with each fit: use supertopic fit")
    if fitted.vectorizer_ is None:
        raise ValueError(f"{path}: was fitted to counts, and does not know how to read texts: use supertopic fit")
    words = {} if fitted.vectorizer is None else fitted.vectorizer.get_params()
    fitted.set_params(warm_start=True, vectorizer=tallying_vectorizer(**words))
    if "verbose" in params:
        fitted.set_params(verbose=int(not is_quiet()))
