"""`python -m bench.streams [--documents 2000000] [--engines svi,pc] [--jobs 2]`: supervised fits to a generated stream.

Documents of 100 tokens come from 50 topics, and y is a linear function of their shares with noise. They are drawn anew
whenever they are read, from seeds of their batches, so that nothing is ever held. A child process does each fit, with a
checkpoint. It is killed (SIGKILL) in the middle of its last pass, started again, and its model is compared with that of
a fit that nobody killed. Printed: documents a second, resident memory after a fifth of the documents and at the peak,
and the largest difference of the two models. An epoch's documents a second are those of a part that is held: as a
stream of it in pieces, and as the one matrix that it is.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bench.report import Table, machine, say

BATCH, TOKENS, WORDS, TRUE_TOPICS, TOPICS = 4096, 100, 20_000, 50, 100
HELD = 20_000  # documents of the part that is held in memory
MORE, REPEATS = 5, 2  # epochs of the longer fit there, and fits of each kind


def world(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative probabilities of words by topic, and the coefficients."""
    rng = np.random.default_rng(seed)
    weight = rng.gamma(0.05, size=(TRUE_TOPICS, WORDS)) + 1e-6
    return np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1), rng.normal(size=TRUE_TOPICS)


def draw(number: int, size: int, cumulative: np.ndarray, coef: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray]:
    """Batch `number`: counts and y."""
    rng = np.random.default_rng([number, 11])
    shares = rng.dirichlet(np.full(TRUE_TOPICS, 0.1), size)
    topic = (rng.random((size, TOKENS, 1)) > np.cumsum(shares, axis=1)[:, None, :-1]).sum(axis=2).ravel()
    place = rng.random(size * TOKENS)
    words = np.empty(size * TOKENS, dtype=np.int64)
    for k in range(TRUE_TOPICS):
        own = topic == k
        words[own] = np.minimum(np.searchsorted(cumulative[k], place[own]), WORDS - 1)
    rows = np.repeat(np.arange(size), TOKENS)
    counts = sp.coo_matrix((np.ones(len(rows), np.float32), (rows, words)), shape=(size, WORDS)).tocsr()
    counts.sum_duplicates()
    return counts, shares @ coef + 0.1 * rng.normal(size=size)


def batches(n_documents: int) -> Iterator[tuple[sp.csr_matrix, np.ndarray]]:
    given = world()
    for number, start in enumerate(range(0, n_documents, BATCH)):
        yield draw(number, min(BATCH, n_documents - start), *given)


def model_of(engine: str, jobs: int, checkpoint: Any = None) -> Any:
    from supertopic import SLDARegressor

    given = {"max_iter": 1, "cross_fit": 0, "refit": False, "random_state": 0, "n_jobs": jobs}
    return SLDARegressor(TOPICS, inference=engine, checkpoint=checkpoint, **given).set_params(
        inference__batch_size=1024
    )


def child(engine: str, n_documents: int, jobs: int, folder: Path) -> None:
    """Fit, and write the model's numbers."""
    from supertopic import Checkpoint, Stream

    passed = [0]

    def read() -> Iterator[Any]:
        for batch in batches(n_documents):
            passed[0] += len(batch[1])
            (folder / "passed").write_text(f"{passed[0]} {resident():.0f}")
            yield batch

    stream = Stream.from_callable(read, n_documents=n_documents)
    start = time.perf_counter()
    model = model_of(engine, jobs, Checkpoint(folder / "checkpoint", 5.0)).fit(stream)
    seconds = time.perf_counter() - start
    np.savez(folder / "model.npz", components=model.components_, coef=model.coef_)
    about = {"seconds": seconds, "passed": passed[0], "peak": peak()}
    (folder / "about.json").write_text(json.dumps(about))


def resident() -> float:
    """Megabytes of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def start(engine: str, n_documents: int, jobs: int, folder: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "bench.streams", "--child", engine, "--documents", str(n_documents)]
    return subprocess.Popen([*command, "--jobs", str(jobs), "--folder", str(folder)])


def passed(folder: Path) -> tuple[int, float]:
    try:
        number, memory = (folder / "passed").read_text().split()
    except (OSError, ValueError):
        return 0, 0.0
    return int(number), float(memory)


def measure(engine: str, n_documents: int, jobs: int, table: Table) -> None:
    with tempfile.TemporaryDirectory() as name:
        whole, killed = Path(name, "whole"), Path(name, "killed")
        for folder in (whole, killed):
            folder.mkdir()
        process, early = start(engine, n_documents, jobs, whole), 0.0
        while process.poll() is None:
            number, memory = passed(whole)
            early = memory if not early and number >= n_documents / 5 else early
            time.sleep(0.05)
        about = json.loads((whole / "about.json").read_text())
        say(f"{engine}: {about}")
        process = start(engine, n_documents, jobs, killed)
        while passed(killed)[0] < about["passed"] - n_documents // 2:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        say(f"{engine}: killed after {passed(killed)[0]:,} of {about['passed']:,} documents read; started again")
        start(engine, n_documents, jobs, killed).wait()
        one, other = (dict(np.load(folder / "model.npz")) for folder in (whole, killed))
    off = max(float(np.abs(one[key] - other[key]).max() / np.abs(one[key]).max()) for key in one)
    rate = about["passed"] / about["seconds"]
    table.add(
        engine, f"{n_documents:,}", f"{about['seconds']:.0f}", f"{rate:,.0f}", f"{early:.0f}", f"{about['peak']:.0f}",
        f"{off:.1e}", *(f"{one:,.0f}" for one in held_rates(engine, jobs)),
    )  # fmt: skip


def held_rates(engine: str, jobs: int) -> tuple[float, float]:
    """Documents a second of an epoch, as a stream and in memory: by how much longer fits of five take than of one."""
    from supertopic import Stream

    parts = list(batches(HELD))
    X, y = sp.vstack([part[0] for part in parts], format="csr"), np.concatenate([part[1] for part in parts])
    stream = Stream.from_callable(lambda: iter(parts), n_documents=HELD)
    model_of(engine, jobs).fit(X[:BATCH], y[:BATCH])  # compiles
    seconds: dict[tuple[bool, int], list[float]] = {}
    for _ in range(REPEATS):
        for streamed in (True, False):
            for epochs in (1, MORE):
                model = model_of(engine, jobs).set_params(max_iter=epochs, inference__validation_fraction=0.0)
                begin = time.perf_counter()
                _ = model.fit(stream) if streamed else model.fit(X, y)
                seconds.setdefault((streamed, epochs), []).append(time.perf_counter() - begin)
    best = {case: min(times) for case, times in seconds.items()}
    one, other = ((MORE - 1) * HELD / max(best[kind, MORE] - best[kind, 1], 1e-9) for kind in (True, False))
    return one, other


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.streams", description=__doc__.partition(":")[2])
    parser.add_argument("--documents", type=int, default=2_000_000)
    parser.add_argument("--engines", default="svi,pc")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.documents, options.jobs, options.folder)
        return
    table = Table(
        "A stream that is never held",
        [
            "engine",
            "documents",
            "s",
            "documents/s",
            "MB early",
            "MB peak",
            "killed: off by",
            "an epoch, documents/s",
            "… in memory",
        ],
        f"{TOKENS} tokens a document, {WORDS:,} words, K = {TOPICS}, one epoch, {options.jobs} threads. Documents a "
        f"second count every reading of the stream, generation of the documents included. {machine()}.",
    )
    for engine in options.engines.split(","):
        measure(engine, options.documents, options.jobs, table)
    table.show()


if __name__ == "__main__":
    main()
