"""Times of the import, and of the first fit with and without compiled kernels in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from bench.corpus import Documents
from bench.peers import version
from bench.plan import Plan
from bench.report import Table, say

# Fits are timed inside the process. Imports are timed from outside, minus the time of a process without imports.
_FIT = """
import time
import numpy as np
from supertopic import LDA
counts = np.random.default_rng(0).poisson(0.2, size=(100, 300)).astype(np.float32)
for _ in range(2):
    start = time.perf_counter()
    LDA(5, inference={inference!r}, max_iter=5).fit(counts)
    print(time.perf_counter() - start)
"""
_IMPORTS = {
    "supertopic": "import supertopic",
    "supertopic, LDA": "from supertopic import LDA",
    "scikit-learn": "from sklearn.decomposition import LatentDirichletAllocation",
    "gensim": "from gensim.models import LdaModel",
    "tomotopy": "import tomotopy",
}


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "5. First use",
        ["what", "seconds"],
        "Imports: best of three processes, less an empty one. First fit: 100 documents, 5 topics, 5 iterations; cold: "
        "nothing compiled before on this machine, warm: the next process.",
    )
    say("imports")
    nothing = import_time("pass")
    for name, statement in _IMPORTS.items():
        if version(name.split(",")[0]):
            result.add(f"import: {name}", f"{import_time(statement) - nothing:.2f}")
    for inference in ("vb", "svi", "gibbs"):
        say(f"first fit, {inference}")
        with tempfile.TemporaryDirectory() as cache:
            cold, _ = fit_times(inference, cache)
            warm, again = fit_times(inference, cache)
        result.add(f"first fit, {inference}: cold", f"{cold:.2f}")
        result.add(f"first fit, {inference}: warm", f"{warm:.2f}")
        result.add(f"second fit, {inference}", f"{again:.3f}")
    return result


def import_time(statement: str) -> float:
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        run(statement, os.environ.copy())
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def fit_times(inference: str, cache: str) -> tuple[float, float]:
    """Seconds of the first and of the second fit in a new process with this cache of compiled kernels."""
    lines = run(_FIT.format(inference=inference), {**os.environ, "NUMBA_CACHE_DIR": cache}).split()
    return float(lines[0]), float(lines[1])


def run(program: str, environment: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"a new process failed:\n{done.stderr}")
    return done.stdout
