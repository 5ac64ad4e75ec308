"""Test the library with the oldest dependencies that pyproject.toml allows: `python -m tests.oldest`.

A lower bound "scipy>=1.11" is tested as scipy 1.11, with its last corrections. The Python is the oldest supported one,
python3.11, or the one that is named by the environment variable PYTHON.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTED = ("golden_fits", "corpus", "persistence", "readers", "checkpoint", "extremes")


def oldest():
    """The dependencies at their lower bounds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for one in (*project["dependencies"], *project["optional-dependencies"]["parquet"]):
        name, version = re.fullmatch(r"([\w-]+)>=([\d.]+)", one).groups()
        yield f"{name}=={version}.*" if "." in version else f"{name}=={version}.0.*"


def main():
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([os.environ.get("PYTHON", "python3.11"), "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "-q"]
        subprocess.run([*pip, *oldest(), "pytest>=9", "hypothesis>=6.90"], check=True)
        subprocess.run([*pip, "--no-deps", ROOT], check=True)
        tests = [f"tests/test_{name}.py" for name in TESTED]
        # Warnings of old versions about one another are not ours. A sampler draws other numbers with another compiler.
        options = ["-q", "-p", "no:cacheprovider", "-W", "default", "-k", "not a_new_fit_gives"]
        command = [python, "-m", "pytest", *options, *tests]
        sys.exit(subprocess.run(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode)


if __name__ == "__main__":
    main()
