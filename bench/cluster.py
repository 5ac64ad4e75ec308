"""`python -m bench.cluster [--topics 50] [--steps 8] [--repeat 1]`: EM on 1, 2 and 4 worker processes, beside threads.

Every row is a fit to 20 Newsgroups (or drawn documents, without SUPERTOPIC_DATA), repeated as often as asked for. The
time of a step is the difference between fits of few and of more steps. Processor time is that of this process and all
workers, less what they take while they only wait (some hundredths of a core each): what the cluster takes more than as
many threads (or, where there are fewer cores, as one on each) is its overhead. Two threads take more of it than one,
since they share caches and memory, and so do two workers. Wall time says something on a quiet machine with a core for
each worker only. "Equal": the largest difference of topics' probabilities, relative to the largest probability.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs

from bench.corpus import read_documents
from bench.report import Table, machine, say

FEW = 2  # steps of the shorter fit


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__.partition(":")[2])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=1, help="the documents so many times")
    parser.add_argument("--workers", default="1,2,4")
    options = parser.parse_args()
    documents = read_documents()
    X = sp.vstack([documents.train] * options.repeat, format="csr")
    table = Table(
        f"EM on a cluster of processes, K = {options.topics}",
        ["where", "pieces", "cpu s a step", "overhead", "wall s a step", "M tokens·K / cpu s", "equal"],
        f"{documents.describe()}, {options.repeat} times. LDA, variational EM, {machine()}.",
    )
    work = float(X.sum()) * options.topics / 1e6
    numbers, threads = [int(n) for n in options.workers.split(",")], {}
    for n_jobs in sorted({1, *(min(n, effective_n_jobs(-1)) for n in numbers)}):
        found = threads[n_jobs] = run(X, "threads", options, None, n_jobs)
        shown = (f"{found[0]:.2f}", "", f"{found[1]:.2f}", f"{work / found[0]:.0f}", "")
        table.add(f"{n_jobs} thread{'s' * (n_jobs > 1)}", 1, *shown)
        say(" | ".join(table.rows[-1]))
    for n_workers in numbers:
        beside = threads[min(n_workers, max(threads))]
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            found = run(X, client, options, client)
        off = float(np.abs(found[2] - beside[2]).max() / beside[2].max())
        more = f"{100 * (found[0] / beside[0] - 1):+.0f} %"
        shown = (f"{found[0]:.2f}", more, f"{found[1]:.2f}", f"{work / found[0]:.0f}", f"{off:.1e}")
        table.add(f"{n_workers} worker{'s' * (n_workers > 1)}", pieces(X, options.topics), *shown)
        say(" | ".join(table.rows[-1]))
    table.show()


def pieces(X: sp.csr_matrix, n_topics: int) -> int:
    from supertopic.inference.batches import Batch

    return Batch(X, np.zeros(X.shape[0]), np.zeros(X.shape[0]), n_topics).n_pieces


def run(
    X: sp.csr_matrix, backend: Any, options: argparse.Namespace, client: Any, n_jobs: int = 1
) -> tuple[float, float, np.ndarray]:
    """(processor seconds, wall seconds of a step, topics)."""
    fit(X, backend, options.topics, 1, n_jobs)  # loads kernels everywhere
    readings, idle = [], idle_cores(client)
    for steps in (FEW, options.steps):
        before = clocks(client)
        model = fit(X, backend, options.topics, steps, n_jobs)
        readings.append(np.subtract(clocks(client), before))
    cpu, wall = (readings[1] - readings[0]) / (options.steps - FEW)
    return float(cpu - idle * wall), float(wall), model.components_


def idle_cores(client: Any, seconds: float = 5.0) -> float:
    """Cores that processes of the cluster take while they wait."""
    if client is None:
        return 0.0
    before = clocks(client)
    time.sleep(seconds)
    cpu, wall = np.subtract(clocks(client), before)
    return float(cpu / wall)


def clocks(client: Any) -> tuple[float, float]:
    """(processor time of this process and the workers, wall time)."""
    workers = 0.0 if client is None else sum(client.run(time.process_time).values())
    return workers + time.process_time(), time.perf_counter()


def fit(X: sp.csr_matrix, backend: Any, n_topics: int, steps: int, n_jobs: int) -> Any:
    from supertopic import LDA

    params: dict[str, Any] = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01, "tol": 0.0, "n_jobs": n_jobs}
    return LDA(n_topics, max_iter=steps, random_state=0, backend=backend, **params).fit(X)


if __name__ == "__main__":
    main()
