"""`python -m experiments [--list] [NAME ...] [--quick] [--out FOLDER]`, or `python -m experiments table`

Results are written into this folder, which is committed. Those of small versions (`--quick`) never are: they go to a
temporary folder, or to the one that is named.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from experiments.book import FOLDER, carry_out, experiments, is_committed
from experiments.papers import PAGE, page


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The papers' tables and figures.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="such as slda.figure2; all by default; table: write docs/papers.md"
    )
    parser.add_argument("--list", action="store_true", help="name them all")
    parser.add_argument("--quick", action="store_true", help="small versions; fails if an ordering is reversed")
    parser.add_argument("--out", type=Path, help="where RESULTS.md and the folder of pictures are")
    options = parser.parse_args()
    if options.quick and options.out is not None and is_committed(options.out):
        parser.error(f"--out: {options.out} holds the committed results, which a quick version does not replace")
    if options.names == ["table"]:
        PAGE.write_text(page(), encoding="utf-8")
        return
    known = experiments()
    short = {
        name.split(".")[1]: name for name in known if sum(name.endswith(other.split(".")[1]) for other in known) == 1
    }
    options.names = [short.get(name, name) for name in options.names]
    if unknown := set(options.names) - set(known):
        parser.error(f"no experiment {', '.join(sorted(unknown))}; --list names them")
    if options.list:
        for experiment in known.values():
            print(f"{experiment.name:24} {experiment.what}")
        return
    out = options.out or (Path(tempfile.mkdtemp(prefix="experiments_")) if options.quick else FOLDER)
    reversed_ones = []
    for name in options.names or known:
        outcome = carry_out(known[name], options.quick, out)
        print(f"\n## {name}\n\n{outcome.markdown()}\n", flush=True)
        reversed_ones += [f"{name}: {claim}" for claim, held in outcome.claims.items() if not held]
    print(f"Written to {out}", flush=True)
    if options.quick and reversed_ones:
        sys.exit("Not as the papers say: " + "; ".join(reversed_ones))


if __name__ == "__main__":
    main()
