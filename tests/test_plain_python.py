"""The quick form of `make coverage`: kernels run as plain Python, and their tests reach nearly all of their lines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = ["tests/test_kernels_map_shares.py", "tests/test_kernels_e_step_words.py"]
KERNELS = ["map_shares.py", "e_step_token.py"]


@pytest.mark.release
def test_tests_of_kernels_reach_their_lines_and_branches(tmp_path):
    own = {"NUMBA_DISABLE_JIT": "1", "COVERAGE_FILE": str(tmp_path / "coverage")}
    others = ("PYTEST", "COV", "SUPERTOPIC_REQUIRE")  # a slow test is skipped on its way
    given = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    kernels = ",".join(f"*/kernels/{name}" for name in KERNELS)

    def coverage(*arguments):
        command = [sys.executable, "-m", "coverage", *arguments]
        return subprocess.run(command, env=given | own, cwd=ROOT, capture_output=True, text=True, check=False)

    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::RuntimeWarning", "-m", "not slow"]
    no_settings = f"--rcfile={os.devnull}"  # those of `make coverage` are for all files and many processes
    ran = coverage("run", no_settings, "--branch", f"--include={kernels}", "-m", "pytest", *options, *TESTS)
    assert ran.returncode == 0, ran.stdout
    coverage("json", no_settings, "-o", str(tmp_path / "report.json"))
    files = json.loads((tmp_path / "report.json").read_text())["files"]
    reached = {Path(name).name: file["summary"]["percent_covered"] for name, file in files.items()}
    assert set(reached) == set(KERNELS) and min(reached.values()) > 95, reached
