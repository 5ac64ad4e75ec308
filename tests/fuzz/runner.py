"""The command behind each kind of fuzzing: so many cases from random numbers, and a count of what became of them."""

import argparse
import random
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from tests.fuzz.watch import limit_memory, now, peak_memory, time_bound


def temporary_folder():
    """A folder in memory, where the system has one."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)


def case(kind, number, seed=0):
    """The random numbers of one case."""
    return random.Random(f"{kind} {seed} {number}")


def main(kind, try_one, default, warm_up=lambda: None):
    """Parse the command line and run `try_one(random numbers, folder)`, which tells in a word what happened.

    warm_up : called first, so that what is imported, compiled and kept at a first use is not taken for a fault
    """
    parser = argparse.ArgumentParser(prog=f"python -m tests.fuzz.{kind}")
    parser.add_argument("cases", nargs="?", type=int, default=default)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--from", dest="first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", type=int, help="try this case alone, and let its error through")
    asked = parser.parse_args()
    warm_up()
    with temporary_folder() as folder:
        if asked.only is not None:
            print(try_one(case(kind, asked.only, asked.seed), Path(folder)))
            return
        limit_memory()
        sys.exit(_run(kind, try_one, asked, Path(folder)))


def _run(kind, try_one, asked, folder):
    found, failures, slowest, start, said = Counter(), [], 0.0, now(), now()
    before = peak_memory()
    for number in range(asked.first, asked.first + asked.cases):
        began = now()
        try:
            with time_bound():
                found[try_one(case(kind, number, asked.seed), folder)] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                break
            found["failed"] += 1
            failures.append(number)
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"case {number}: {type(error).__name__}: {str(error)[:300]} ({where.filename}:{where.lineno})")
        slowest = max(slowest, now() - began)
        if now() - said > 60:
            said = now()
            print(f"  {number + 1 - asked.first:,} cases, {dict(found)}", flush=True)
    seconds = now() - start
    print(f"{sum(found.values()):,} cases in {seconds:,.0f} s: " + ", ".join(f"{n:,} {k}" for k, n in found.items()))
    print(f"slowest case {slowest:.2f} s, memory grew by {peak_memory() - before:.0f} MB, failed: {failures[:20]}")
    return 1 if failures else 0
