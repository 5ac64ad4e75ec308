"""The command line. Heavy modules are imported only when a command runs.

Commands: `fit`, `update`, `info`, `topics`, `explain`, `predict`, `evaluate`, `report`, `effects`, `compare`,
`check`, `intrusion`, `select`, `demo` and `warm-up`, one file each. `models` is the table of models, `learning` turns
columns into y and covariates, `target` chooses a response, `outcomes` makes a table of predictions and `response` one
of coefficients, `answers` scores predictions, `summary` tells of a fit, `options` holds options, `documents` reads,
`tables` writes, `show` prints, and `guard` turns errors into one sentence.
"""

from __future__ import annotations

from typing import Annotated

import typer

from supertopic.cli import (
    check,
    compare,
    demo,
    effects,
    evaluate,
    explain,
    fit,
    info,
    intrusion,
    predict,
    report,
    select,
    topics,
    update,
    warm_up,
)
from supertopic.cli.guard import GuardedGroup
from supertopic.cli.options import may_be_quiet
from supertopic.cli.show import say

app = typer.Typer(
    name="supertopic",
    cls=GuardedGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A first look takes a minute and needs no data:  supertopic demo\n\n"
    "Names are completed with the Tab key after:  supertopic --install-completion",
)
for command in (
    demo.demo,
    fit.fit,
    update.update,
    info.info,
    topics.topics,
    explain.explain,
    predict.predict,
    evaluate.evaluate,
    report.report,
    effects.effects,
    compare.compare,
    check.check,
    intrusion.intrusion,
    select.select,
    warm_up.warm_up,
):
    app.command()(may_be_quiet(command))


def _version(asked: bool) -> None:
    if asked:
        from supertopic import __version__

        say(f"supertopic {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Topic models: find topics in documents, or topics that predict something, and use them on new documents."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Entry point of the console script `supertopic`."""
    app(prog_name="supertopic")
