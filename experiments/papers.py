"""The page "papers against ours": a row for every figure of the papers, ours read from the outcomes that are kept.

`python -m experiments table` writes docs/papers.md. Numbers come from figures/*.csv, claims and commits from
RESULTS.md; in `paper_rows` stand only what the papers print, which cell is ours, and when a figure is reached.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from experiments.book import FOLDER

PAGE = FOLDER.parent / "docs" / "papers.md"
YES, SETTINGS, PARTLY, NO, UNTESTED = "yes", "with other settings", "partly", "*no*", "not tested"
_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:e[-+]\d+)?")
_CELL = re.compile(r"\{([\w.]+)\|(.*?)::(.*?)\}")
_RUN = re.compile(r"^\*`python -m experiments [\w.]+`.*?commit (\w+), (\d{4}-\d\d-\d\d)", re.MULTILINE)


@dataclass
class Outcomes:
    """The outcomes that are kept in a folder."""

    folder: Path = FOLDER
    _tables: dict[str, list[list[str]]] = field(default_factory=dict)

    def table(self, name: str) -> list[list[str]]:
        if name not in self._tables:
            with open(self.folder / "figures" / f"{name}.csv", newline="", encoding="utf-8") as file:
                self._tables[name] = list(csv.reader(file))
        return self._tables[name]

    def text(self, name: str, row: str, column: str) -> str:
        """The cell in the row that begins so (first cells joined by " | "), as it stands."""
        head, *rows = self.table(name)
        found = [line for line in rows if " | ".join(line).startswith(row)]
        if not found:
            raise KeyError(f"{name} has no row {row!r}")
        return found[0][head.index(column)]

    def value(self, name: str, row: str, column: str) -> float:
        """The first number of a cell."""
        found = _NUMBER.search(self.text(name, row, column))
        assert found is not None
        return float(found.group())

    def shown(self, name: str, row: str, column: str) -> str:
        """A cell with three digits."""
        text = self.text(name, row, column).split(" (")[0]
        return f"{float(text):.3f}" if re.fullmatch(r"-?\d+\.\d{4,}", text) else text

    def section(self, name: str) -> str:
        page = (self.folder / "RESULTS.md").read_text(encoding="utf-8")
        found = re.search(rf"^## {re.escape(name)}: .*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        if found is None:
            raise KeyError(f"RESULTS.md has no section {name}")
        return found.group()

    def claim(self, name: str, words: str) -> bool:
        """Whether the claim that begins so holds."""
        found = re.search(rf"^- {re.escape(words)}.*: \*\*(yes|no)\*\*", self.section(name), re.MULTILINE)
        if found is None:
            raise KeyError(f"{name} has no claim {words!r}")
        return found.group(1) == "yes"

    def run(self, name: str) -> tuple[str, str]:
        """Commit and date of the run."""
        found = _RUN.search(self.section(name))
        assert found is not None, name
        return found.group(1), found.group(2)


@dataclass(frozen=True)
class Row:
    """A figure of a paper."""

    paper: str
    item: str
    quantity: str
    theirs: str
    source: str  # the experiment
    ours: Callable[[Outcomes], str]
    verdict: Callable[[Outcomes], str]
    departs: str = ""  # from the paper's setting


def if_holds(name: str, *claims: str, but: str = NO) -> Callable[[Outcomes], str]:
    """Reached where all these claims of an experiment hold."""
    return lambda kept: YES if all(kept.claim(name, words) for words in claims) else but


def always(text: str) -> Callable[[Outcomes], str]:
    return lambda kept: text


def cells(name: str, pattern: str) -> Callable[[Outcomes], str]:
    """A text with cells of one experiment: {row::column}."""
    return lambda kept: re.sub(r"\{(.*?)::(.*?)\}", lambda cell: kept.shown(name, cell[1], cell[2]), pattern)


def filled(kept: Outcomes, text: str) -> str:
    """A text with cells of several: {experiment|row::column}."""
    return _CELL.sub(lambda cell: kept.shown(*cell.groups()), text)


def above(name: str, one: str, other: str, columns: list[str]) -> Callable[[Outcomes], bool]:
    return lambda kept: all(kept.value(name, one, c) > kept.value(name, other, c) for c in columns)


def table(kept: Outcomes | None = None) -> list[list[str]]:
    """The cells of the page, a row for each figure of a paper."""
    from experiments.paper_rows import ROWS

    kept, found = kept or Outcomes(), []
    for row in ROWS:
        commit, date = kept.run(row.source) if row.source else ("–", "")
        run = f"{commit} {date[5:]}".strip()
        said = [row.paper, row.item, row.quantity, row.theirs, row.ours(kept), row.verdict(kept), row.departs, run]
        found.append([cell or "–" for cell in said])
    return found


def beside(kept: Outcomes) -> str:
    """Rows of the five splits: topics, three fits, words beside topics, a linear model on words."""
    head, *rows = kept.table("slda.five_splits")
    found = []
    for row in rows:
        cell = dict(zip(head, row, strict=True))
        topics = cell["topics"] or f"{cell['softmax']} (softmax), {cell['MedLDA']} (MedLDA)"
        found.append([cell["corpus"], topics, cell["three fits"], cell["words beside"], cell["linear"]])
    return "\n".join("| " + " | ".join(text or "–" for text in row) + " |" for row in found)


def page(kept: Outcomes | None = None) -> str:
    """docs/papers.md."""
    head = ["paper", "item", "what", "paper's", "ours", "reached", "settings, departures", "run"]
    rows = table(kept)
    verdicts = [row[5] for row in rows]
    counts = ", ".join(f"{verdicts.count(one)} {one}" for one in (YES, SETTINGS, PARTLY, NO, UNTESTED))
    lines = ["| " + " | ".join(line) + " |" for line in ([head, ["---"] * len(head), *rows])]
    return (
        INTRODUCTION.format(n=len(rows), counts=counts)
        + "\n".join(lines)
        + "\n"
        + filled(kept or Outcomes(), BESIDE.replace("{films}", beside(kept or Outcomes())))
    )


INTRODUCTION = """# Papers against ours

<!-- written by `python -m experiments table`; tests/test_papers_page.py holds it to the outcomes -->

Every table and figure of the five papers, {n} rows: {counts}. Misses are marked *no*. The lecture on LDA prints no
figures.

*run* is the commit and day of the run, in November 2026. Other commits than this page's are older code: what they
measured may have moved since. Two cores, unless RESULTS.md says otherwise. Deviations are over seeds or folds.
`python -m experiments NAME` runs one again; [experiments/RESULTS.md](../experiments/RESULTS.md) has the tables behind
each row, and the claims that were checked.

"""

BESIDE = """
## Where something else is better

R² or accuracy in five splits (`slda.five_splits`), defaults, K = 50 (newsgroups 40); the ridge and the SVM stand on
tf-idf of single words.

| corpus | topics | three fits | words beside | ridge or SVM |
|---|---|---|---|---|
{films}

With pairs of words the linear models gain 0.01 to 0.02. Two newsgroups: an SVM on tf-idf has
{medlda.figure5a|SVM on tf-idf::K = 5}, one MedLDA fit {medlda.figure5a|MedLDA, collapsed (::K = 10}. The sLDA of the
paper, K and supervision chosen inside, has {slda.cross_validated|sLDA, K and::R²} on film ratings, and a ridge
{slda.cross_validated|ridge::R²}. Few topics cost accuracy: SSTM has
{sstm.figure4|SSTM | 50 | 0.1::squared error} on film ratings, dense sLDA
{sstm.figure4|sLDA, all topics | 50::squared error}.
"""
