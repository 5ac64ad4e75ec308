"""`python -m bench [TABLE ...] [--quick] [--topics 50,200] [--write]`"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench import (
    clock,
    engines,
    first_use,
    growth,
    memory,
    responses,
    sage,
    sampling,
    serving,
    supervised,
    threads,
    training,
    variational,
)
from bench.corpus import read_documents
from bench.peers import missing
from bench.plan import Plan
from bench.report import machine, say, write

TABLES = {
    "gibbs": sampling.table,
    "vb": variational.table,
    "threads": threads.table,
    "memory": memory.table,
    "first-use": first_use.table,
    "supervised": supervised.table,
    "responses": responses.table,
    "sage": sage.table,
    "training": training.table,
    "growth": growth.table,
    "engines": engines.table,
    "serving": serving.table,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Supertopic beside other libraries.")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a first look: fewer passes, once")
    parser.add_argument("--topics", default="", metavar="50,200", help="numbers of topics, for each table's own")
    parser.add_argument("--cpu", action="store_true", help="processor time, for a busy machine (not for threads)")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/RESULTS.md")
    options = parser.parse_args()
    if unknown := set(options.tables) - set(TABLES):
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    if not all(part.isdigit() and int(part) > 0 for part in options.topics.split(",") if part):
        parser.error(f"--topics: got {options.topics!r}, expected whole numbers such as 50,200")
    if options.cpu:
        clock.use_processor_time()
    plan = Plan(options.quick, tuple(int(part) for part in options.topics.split(",") if part))

    about = machine()
    for name in missing():
        say(f"{name} is not installed and left out: pip install 'supertopic[bench]'")
    documents = read_documents()
    say(documents.describe())
    say(about)
    done = []
    for name in options.tables or TABLES:
        done.append(TABLES[name](documents, plan))
        done[-1].show()
        if options.write:
            flags = "".join(f" --{flag}" for flag in ("quick", "cpu") if getattr(options, flag))
            flags += f" --topics {options.topics}" if plan.only else ""
            write(done[-1:], f"`python -m bench {name}{flags}`. {about}", Path(__file__).parent / "RESULTS.md")


if __name__ == "__main__":
    main()
