"""Peak memory by documents, vocabulary and topics: `python -m bench.memory_grid` prints the table of docs/scaling.md.

Every fit runs in a process of its own: `python -m bench.memory_grid INFERENCE DOCUMENTS WORDS TOPICS`. Documents are
drawn with 100 tokens each from a Zipf distribution over the vocabulary. "svi" reads a Stream that draws its batches
anew in every pass, so that the documents are never held.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from bench.memory import peak, reset_peak

ENGINES = ("vb", "gibbs", "svi")
GRID = (
    (10_000, 10_000, 50),
    (10_000, 10_000, 200),
    (100_000, 10_000, 50),
    (100_000, 50_000, 50),
    (100_000, 50_000, 200),
)
TOKENS, BATCH = 100, 2000


def draw(n_documents: int, n_words: int, seed: int) -> sp.csr_matrix:
    """Counts of documents with TOKENS tokens each, words with probabilities that fall as 1 / rank."""
    rng = np.random.default_rng(seed)
    weight = 1 / np.arange(1, n_words + 1)
    words = np.searchsorted(np.cumsum(weight) / weight.sum(), rng.random(n_documents * TOKENS))
    rows = np.repeat(np.arange(n_documents), TOKENS)
    counts = sp.coo_matrix((np.ones(len(rows), np.float32), (rows, words)), shape=(n_documents, n_words)).tocsr()
    counts.sum_duplicates()
    return counts


def batches(n_documents: int, n_words: int) -> Iterator[sp.csr_matrix]:
    for start in range(0, n_documents, BATCH):
        yield draw(min(BATCH, n_documents - start), n_words, start)


def measure(inference: str, n_documents: int, n_words: int, n_topics: int) -> dict[str, float]:
    """Megabytes of the process before the fit and at its peak, and of the documents as a CSR matrix."""
    from supertopic import LDA, Stream
    from supertopic.inference.methods import Method

    few = {
        "inference": Method.named(inference).set_params(max_doc_iter=3),
        "max_iter": 1,
        "n_jobs": 1,
        "doc_topic_prior": 0.1,
    }
    LDA(4, **few).fit(draw(60, 300, 0))
    before, held = reset_peak(), 0.0
    if inference == "svi":
        X = Stream.from_callable(lambda: batches(n_documents, n_words), n_documents=n_documents)
    else:
        X = sp.vstack(list(batches(n_documents, n_words)), format="csr")
        held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        before = reset_peak() - held
    LDA(n_topics, **few).fit(X)
    return {"before": before / 1e6, "documents": held / 1e6, "peak": peak() / 1e6}


def main() -> None:
    print("| documents | words | topics | documents as CSR, MB | `vb`, MB | `gibbs`, MB | `svi` on a Stream, MB |")
    print("|---|---|---|---|---|---|---|")
    for n_documents, n_words, n_topics in GRID:
        found = {}
        for inference in ENGINES:
            command = [
                sys.executable,
                "-m",
                "bench.memory_grid",
                inference,
                *map(str, (n_documents, n_words, n_topics)),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[inference] = json.loads(done.stdout.splitlines()[-1])
        peaks = " | ".join(f"{found[inference]['peak']:,.0f}" for inference in ENGINES)
        held = found["vb"]["documents"]
        print(f"| {n_documents:,} | {n_words:,} | {n_topics} | {held:,.0f} | {peaks} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1], *map(int, sys.argv[2:]))))
    else:
        main()
