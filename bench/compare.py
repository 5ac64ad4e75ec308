"""`python -m bench.compare CHECKOUT [FIT ...]`: processor seconds of fits here and in another checkout of this project.

Each fit runs in a process of its own, on one thread, the two checkouts by turns: other programs on the machine then
disturb both alike, and processor time leaves out most of what they do. Only names that users type are used, so that old
checkouts can be compared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
REPEATS = 2


def lda(inference: str, n_topics: int, iterations: int) -> Callable[[Any, Any, Any], Any]:
    """A fit of LDA with fixed priors."""

    def fit(X: Any, labels: Any, lengths: Any) -> Any:
        from supertopic import LDA

        params: dict[str, Any] = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01, "tol": 0.0, "n_jobs": 1}
        return LDA(n_topics, inference=inference, max_iter=iterations, random_state=0, **params).fit(X)

    return fit


def slda(inference: str, iterations: int, n_topics: int = 50) -> Callable[[Any, Any, Any], Any]:
    """A fit of Gaussian sLDA to the logarithm of the documents' lengths."""

    def fit(X: Any, labels: Any, lengths: Any) -> Any:
        from supertopic import SLDARegressor

        return alone(SLDARegressor(n_topics, inference=inference, max_iter=iterations, n_jobs=1, random_state=0)).fit(
            X, lengths
        )

    return fit


def classes(name: str, **params: Any) -> Callable[[Any, Any, Any], Any]:
    """A fit of a classifier to a third of the newsgroups."""

    def fit(X: Any, labels: Any, lengths: Any) -> Any:
        import supertopic

        return alone(getattr(supertopic, name)(n_jobs=1, **params)).fit(X[::3], labels[::3])

    return fit


def alone(model: Any) -> Any:
    """The model without cross-fitting, which old checkouts do not have."""
    return model.set_params(cross_fit=0) if "cross_fit" in model.get_params() else model


FITS = {
    "LDA gibbs, K = 50": lda("gibbs", 50, 20),
    "LDA gibbs, K = 200": lda("gibbs", 200, 10),
    "LDA vb, K = 50": lda("vb", 50, 6),
    "LDA vb, K = 200": lda("vb", 200, 6),
    "LDA svi, K = 50": lda("svi", 50, 2),
    "LDA cvb0, K = 50": lda("cvb0", 50, 6),
    "sLDA vb, K = 50": slda("vb", 10),
    "sLDA gibbs, K = 50": slda("gibbs", 30),
    "MedLDA, K = 20": classes("MedLDAClassifier", n_topics=20, max_iter=10, random_state=0),
    "SAGE classes": classes("SAGEClassifier"),
    "LDA svi, K = 1000": lda("svi", 1000, 1),
    "sLDA vb, K = 1000": slda("vb", 2, 1000),
    "sLDA pc, K = 50": slda("pc", 2),
    "MedLDA, K = 1000": classes("MedLDAClassifier", n_topics=1000, max_iter=2, random_state=0),
}


def measure(name: str) -> float:
    """Processor seconds of a fit, after one on few documents that compiles."""
    import numpy as np

    from supertopic.datasets import load

    bunch = load("20newsgroups_bow")
    train = (bunch.frame["split"] == "train").to_numpy()
    X, labels = bunch.counts.counts[train], bunch.frame["label"].to_numpy()[train]
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    X = X[:, (frequency >= 5) & (frequency <= X.shape[0] / 2)]
    lengths = np.log(1.0 + np.asarray(X.sum(axis=1)).ravel())
    FITS[name](X[::20], labels[::20], lengths[::20])
    start = time.process_time()
    FITS[name](X, labels, lengths)
    return time.process_time() - start


def measured(checkout: Path, name: str) -> float:
    """`measure` in a new process that imports the checkout's supertopic."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(HERE / "bench" / "compare.py"), "--measure", name]
    done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__.partition(":")[2])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("fits", nargs="*", help=f"of {'; '.join(FITS)}; all by default")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(measure(str(options.checkout)))
        return
    print("| fit | there, s | here, s | ratio |\n|---|---|---|---|")
    for name in options.fits or FITS:
        pairs = [[measured(folder, name) for folder in (options.checkout, HERE)] for _ in range(REPEATS)]
        there, here = (min(seconds) for seconds in zip(*pairs, strict=True))
        print(f"| {name} | {there:.2f} | {here:.2f} | {here / there:.3f} |", flush=True)


if __name__ == "__main__":
    main()
