"""Mutation check: small errors put into the source, each of which a named test has to notice.

``python -m tests.mutants`` makes a copy of the project, changes one place at a time and runs the test that is named for
it. A mutant whose test still passes has survived: a test is missing. ``python -m tests.mutants TEXT ...`` runs the
mutants whose file or change contains one of the texts, and ``--list`` shows them all. `tests/test_mutants.py` runs a
few of them, and holds the table to the source: the text that a mutant replaces stands there exactly once.

A kernel is first run as plain Python (`tests/plain_python.py`) where its test is quick, since compiling it may take
minutes; only if its test passes there, the kernel is compiled.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numba

from tests import mutants_of_certainty, mutants_of_kernels, mutants_of_models, mutants_of_the_rest
from tests.mutant import Mutant

MUTANTS = [
    *mutants_of_kernels.MUTANTS,
    *mutants_of_models.MUTANTS,
    *mutants_of_certainty.MUTANTS,
    *mutants_of_the_rest.MUTANTS,
]

ROOT = Path(__file__).parent.parent
PACKAGE = Path("src") / "supertopic"
TIMEOUT = 900  # seconds: a mutant that runs for ever is killed
_LIBRARIES = ["numba", "pandas", "scipy.stats", "scipy.optimize", "sklearn.utils.estimator_checks", "pytest"]
_OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]
_PLAIN = ["-W", "ignore::RuntimeWarning"]  # Python warns where compiled numbers overflow
_BROKEN = 70  # exit status if pytest itself failed


def places(mutant: Mutant, root: Path = ROOT) -> int:
    """How often the text that a mutant replaces stands in its file."""
    path = root / PACKAGE / mutant.file
    return path.read_text().count(mutant.old) if path.exists() else 0


def copy_project(to: Path) -> None:
    """What tests need; compiled kernels come along, since their time stamps do."""
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, to / folder)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, to / name)


def run_tests(root: Path, *tests: str, timeout: float | None = None, plain: bool = False) -> int:
    """The exit status of pytest: 0 if the tests pass, 1 if one fails. plain : with kernels as plain Python"""
    server = multiprocessing.get_context("forkserver")  # it has imported what takes long, but nothing of ours
    server.set_forkserver_preload(_LIBRARIES)
    process = server.Process(target=_run_pytest, args=(root, [str(Path("tests") / test) for test in tests], plain))
    process.start()
    process.join(timeout)
    if process.is_alive():
        process.kill()
        process.join()
        return 1
    return process.exitcode or 0


def _run_pytest(root: Path, nodes: list[str], plain: bool) -> None:
    """In a process of its own: exits with the status of pytest."""
    if plain:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        numba.config.DISABLE_JIT = 1  # it has been imported, and has read its settings
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "supertopic")]:
        del sys.modules[name]
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        del os.environ[name]
    os.chdir(root)
    sys.path[:0] = [str(root / "src"), str(root)]
    sys.dont_write_bytecode = True
    status = _BROKEN
    try:
        import pytest

        status = int(pytest.main([*_OPTIONS, *(_PLAIN if plain else []), *nodes]))
    finally:
        os._exit(status)  # an exception would end the process with 1, as a failed test does


def is_killed(mutant: Mutant, root: Path) -> bool:
    """Whether the mutant's test fails in a copy of the project; the copy is left as it was."""
    path = root / PACKAGE / mutant.file
    source, times = path.read_text(), path.stat()
    compiled = {one: one.read_bytes() for one in (path.parent / "__pycache__").glob(f"{path.stem}.*.nb*")}
    path.write_text(source.replace(mutant.old, mutant.new))
    try:
        status = run_tests(root, mutant.tests, timeout=TIMEOUT, plain=True) if mutant.as_python else 0
        if status == 0:
            status = run_tests(root, mutant.tests, timeout=TIMEOUT)
    finally:
        path.write_text(source)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        for one in (path.parent / "__pycache__").glob(f"{path.stem}.*.nb*"):
            one.unlink()
        for one, content in compiled.items():
            one.write_bytes(content)
    if status > 1:  # below zero: the process has crashed, and the test with it
        raise RuntimeError(f"{mutant.name}: pytest ended with {status}, expected 0 or 1; is there {mutant.tests}?")
    return status != 0


def main(words: list[str]) -> int:
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)]
    if not chosen:
        print(f"no mutant's file or change contains {' or '.join(words)}; --list shows them all", file=sys.stderr)
        return 2
    survived = []
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        root = Path(folder)
        copy_project(root)
        started = time.monotonic()
        print(f"the tests of {len(chosen)} mutants, without any of them", flush=True)
        as_python = sorted({mutant.tests for mutant in chosen if mutant.as_python})
        if (as_python and run_tests(root, *as_python, plain=True)) or run_tests(
            root, *sorted({mutant.tests for mutant in chosen})
        ):
            print("the tests fail without any mutant", file=sys.stderr)
            return 2
        for number, mutant in enumerate(chosen, 1):
            killed = is_killed(mutant, root)
            survived += [] if killed else [mutant]
            passed = time.monotonic() - started
            print(
                f"{number}/{len(chosen)} {passed:.0f} s {'killed' if killed else 'SURVIVED'} {mutant.name}", flush=True
            )
    print(f"{len(chosen) - len(survived)} of {len(chosen)} mutants killed")
    return int(bool(survived))


if __name__ == "__main__":
    if "--list" in sys.argv:
        print("\n".join(mutant.name for mutant in MUTANTS))
    else:
        sys.exit(main(sys.argv[1:]))
