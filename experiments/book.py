"""The registry of experiments: one function for each table or figure of the papers.

A function `figure2(quick)` decorated with `@reproduces("slda", …)` is the experiment "slda.figure2". It returns an
`Outcome`: rows with the paper's numbers and ours, a plot, and the paper's claims with whether they hold here.
"""

from __future__ import annotations

import csv
import datetime
import importlib
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.report import put_section
from experiments.remarks import REMARKS

_TITLE = "# The papers' tables and figures, ours beside theirs\n"
FOLDER = Path(__file__).parent
PAPERS = ("lda", "slda", "medlda", "sstm", "sage")
_FOUND: dict[str, Experiment] = {}


@dataclass
class Outcome:
    """The result of an experiment."""

    columns: list[str]
    rows: list[list[Any]]
    note: str  # data, seeds, how settings were chosen, how it differs from the paper
    figure: Any = None  # a matplotlib Figure
    claims: dict[str, bool] = field(default_factory=dict)  # the paper's claims, and whether they hold here

    def markdown(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *([_text(cell) for cell in row] for row in self.rows)]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        claims = "".join(f"\n- {claim}: **{'yes' if held else 'no'}**" for claim, held in self.claims.items())
        return f"{table}\n{claims}\n\n{self.note}" if claims else f"{table}\n\n{self.note}"


@dataclass(frozen=True)
class Experiment:
    name: str
    what: str
    run: Callable[[bool], Outcome]


def reproduces(paper: str, what: str) -> Callable[[Callable[[bool], Outcome]], Callable[[bool], Outcome]]:
    """Register a function (quick) -> Outcome as the experiment "paper.function"."""

    def register(run: Callable[[bool], Outcome]) -> Callable[[bool], Outcome]:
        name = f"{paper}.{run.__name__}"
        _FOUND[name] = Experiment(name, what, run)
        return run

    return register


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name."""
    for file in sorted(FOLDER.glob("[a-z]*.py")):
        importlib.import_module(f"experiments.{file.stem}")
    return dict(sorted(_FOUND.items(), key=lambda found: PAPERS.index(found[0].split(".")[0])))


def is_committed(out: Path) -> bool:
    """Whether a folder is the one of the committed results."""
    return out.resolve() == FOLDER.resolve()


def carry_out(experiment: Experiment, quick: bool, out: Path) -> Outcome:
    """Run an experiment; write its PNG and CSV into `out/figures`, and its section into `out/RESULTS.md`."""
    if quick and is_committed(out):
        raise ValueError(f"out: got {out}, which holds the committed results; a quick version does not replace them")
    start = time.perf_counter()
    outcome = experiment.run(quick)
    seconds = time.perf_counter() - start
    (out / "figures").mkdir(parents=True, exist_ok=True)
    picture = out / "figures" / f"{experiment.name}.png"
    if outcome.figure is not None:
        outcome.figure.savefig(picture, dpi=110, bbox_inches="tight")
    with open(picture.with_suffix(".csv"), "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([outcome.columns, *outcome.rows])
    command = f"python -m experiments {experiment.name}{' --quick' if quick else ''}"
    about = f"*`{command}`, {seconds:.0f} s, commit {_commit()}, {datetime.date.today().isoformat()}*"
    drawn = f"\n\n![{experiment.what}](figures/{picture.name})" if outcome.figure is not None else ""
    remark = f"\n\n{REMARKS[experiment.name]}" if experiment.name in REMARKS else ""
    text = f"{outcome.markdown()}{drawn}{remark}\n\n{about}"
    put_section(out / "RESULTS.md", _TITLE, f"{experiment.name}: {experiment.what}", text)
    return outcome


def _text(cell: Any) -> str:
    if cell is None:
        return "–"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def _commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=FOLDER, check=False
    )
    return found.stdout.strip() or "unknown"
