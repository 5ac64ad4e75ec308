"""Peak memory of a complete fit, each in a separate process: `python -m bench.memory LIBRARY INFERENCE K FOLDER`.

The target is 1.5 times the memory that any fit of this kind needs:

    documents   the CSR matrix, 8 bytes per entry
    topics      (V, K) float32, the model
    counts      (V, K) by word and (D, K) by document, 4 bytes each; for a sampler also a topic per token, 2 bytes

Results before November 2026 did not include the counts by document and the topics of tokens; "by word alone" is that
target.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from bench import ours
from bench.corpus import Documents
from bench.peers import installed
from bench.plan import Plan
from bench.report import Table, say

SHARE = 1.5  # our target, relative to documents, topics and counts
PASSES = {"gibbs": 5, "vb": 2, "svi": 1}
ARRAYS = ("data", "indices", "indptr", "shape")
_STATUS = Path("/proc/self/status")


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "4. Peak memory of a fit",
        ["K", "library", "inference", "peak MB", "target MB", "by word alone MB", "documents + topics + counts MB"],
        f"{documents.describe()}. Resident memory at its peak above that of the process after imports and a tiny fit; "
        "reading the documents and all results are in it. Target: 1.5 times the documents as CSR, (V, K) topics as "
        'float32, and counts: (V, K), (D, K) and, for a sampler, a topic per token. "By word alone": 1.5 times with '
        "(V, K) counts only.",
    )
    with tempfile.TemporaryDirectory() as folder:
        matrix = documents.train
        for name in ARRAYS:
            np.save(Path(folder) / f"{name}.npy", getattr(matrix, name))
        fits = [("supertopic", inference) for inference in PASSES]
        fits += [(peer.name, peer.inference) for peer in installed()]
        for n_topics in plan.topics((50, 200, 1000)):
            for library, inference in fits:
                if library != "supertopic" and inference == "vb" and n_topics > 200:
                    continue  # takes many minutes
                say(f"{library}, {inference}, K = {n_topics}")
                command = [sys.executable, "-m", "bench.memory", library, inference, str(n_topics), folder]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr}")
                peak = json.loads(done.stdout.splitlines()[-1])["peak"] / 1e6
                least = needed(matrix, inference, n_topics) / 1e6
                by_word = least - counted_by_document(matrix, inference, n_topics) / 1e6
                targets = [f"{SHARE * least:.0f}", f"{SHARE * by_word:.0f}"] if library == "supertopic" else [None] * 2
                result.add(n_topics, library, inference, f"{peak:.0f}", *targets, f"{least:.0f}")
    return result


def needed(matrix: sp.csr_matrix, inference: str, n_topics: int) -> float:
    """Bytes of documents, topics and all counts."""
    documents = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    by_word = 2 * 4 * matrix.shape[1] * n_topics
    return documents + by_word + counted_by_document(matrix, inference, n_topics)


def counted_by_document(matrix: sp.csr_matrix, inference: str, n_topics: int) -> float:
    """Bytes of the documents' topic counts and, for a sampler, of the tokens' topics."""
    return 4 * matrix.shape[0] * n_topics + (2 * float(matrix.sum(dtype=np.float64)) if inference == "gibbs" else 0)


def measure(library: str, inference: str, n_topics: int, folder: str) -> int:
    """Peak bytes of reading and fitting the documents, minus the bytes of the process before."""
    rng = np.random.default_rng(0)
    fit_once(library, inference, sp.csr_matrix(rng.poisson(0.2, size=(60, 300)).astype(np.float32)), 4)
    gc.collect()
    before = reset_peak()
    *arrays, shape = (np.load(Path(folder) / f"{name}.npy") for name in ARRAYS)
    fit_once(library, inference, sp.csr_matrix(tuple(arrays), shape=tuple(shape)), n_topics)
    return peak() - before


def fit_once(library: str, inference: str, matrix: sp.csr_matrix, n_topics: int) -> object:
    if library == "supertopic":
        return ours.lda(n_topics, inference, PASSES[inference]).fit(matrix)
    peer = next(peer for peer in installed(inference) if peer.name == library)
    return peer.fit(matrix, n_topics, PASSES[inference])


def reset_peak() -> int:
    """Reset the peak if the system can do it; return the resident bytes (or the peak so far if it cannot)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _kilobytes("VmRSS") * 1024
    except OSError:
        return peak()


def peak() -> int:
    """Peak resident bytes since the last reset."""
    if _STATUS.exists():
        return _kilobytes("VmHWM") * 1024
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage if sys.platform == "darwin" else usage * 1024


def _kilobytes(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


if __name__ == "__main__":
    library, inference, n_topics, folder = sys.argv[1:]
    print(json.dumps({"peak": measure(library, inference, int(n_topics), folder)}))
