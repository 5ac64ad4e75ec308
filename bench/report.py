"""Tables for a terminal, for a pipe and for RESULTS.md, where a new run replaces only its own sections."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from bench.peers import PEERS, version

_TITLE = "# Benchmarks\n\n`make bench` prints these tables, `python -m bench --write` renews them here.\n"


@dataclass
class Table:
    """Columns, rows of text, and a note on how they were measured."""

    title: str
    columns: list[str]
    note: str
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        row = ["–" if cell is None else str(cell) for cell in cells]
        if len(row) != len(self.columns):
            raise ValueError(f"{self.title}: a row of {len(row)} cells under {len(self.columns)} columns")
        self.rows.append(row)

    def markdown(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        lines = [[text.ljust(width) for text, width in zip(self.columns, widths, strict=True)]]
        lines.append(["-" * width for width in widths])
        lines += [[text.rjust(width) for text, width in zip(row, widths, strict=True)] for row in self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def show(self) -> None:
        """Print the table: drawn on a terminal, plain text in a pipe."""
        console = Console()
        if console.is_terminal:
            drawn = RichTable(title=self.title, caption=self.note)
            for column in self.columns:
                drawn.add_column(column, justify="right")
            for row in self.rows:
                drawn.add_row(*row)
            console.print(drawn)
        else:
            print(f"\n{self.title}\n\n{self.markdown()}\n\n{self.note}\n", flush=True)


def times(ratio: float | None) -> str | None:
    """Format a ratio."""
    return None if ratio is None else f"{ratio:.2f}x"


def say(text: str) -> None:
    """Print the current step to standard error."""
    print(f"  {text}", file=sys.stderr, flush=True)


def machine() -> str:
    """Return processor, versions and date, without the name of the machine."""
    packages = ["supertopic", "numpy", "numba", *(peer.name for peer in PEERS)]
    found = [f"{name} {version(name)}" for name in packages if version(name)]
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    today = datetime.date.today().isoformat()
    return (
        f"{processor()}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, {', '.join(found)}; {today}"
    )


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def write(tables: list[Table], about: str, path: Path) -> None:
    """Write the tables into the page."""
    for table in tables:
        put_section(path, _TITLE, table.title, f"{table.markdown()}\n\n{table.note}\n\n*{about}*")


def put_section(path: Path, title: str, name: str, text: str) -> None:
    """Write a section of a page in place of the section with the same name; everything else is kept."""
    head, sections = title, {}
    if path.exists():
        head, *parts = path.read_text(encoding="utf-8").split("\n## ")
        sections = dict(part.split("\n", 1) for part in parts)
    sections[name] = text
    body = "".join(f"\n## {section}\n\n{sections[section].strip()}\n" for section in sorted(sections, key=_place))
    path.write_text(head.rstrip() + "\n" + body, encoding="utf-8")


def _place(section: str) -> tuple[float, str]:
    """Numbered sections come first, by their number."""
    number = section.split(".")[0]
    return (float(number) if number.isdigit() else float("inf")), section
