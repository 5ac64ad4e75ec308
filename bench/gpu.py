"""`python -m bench.gpu PART …`: rates of the GPU's kernels and whole fits on it, beside the CPU in the same units.

Parts: `save FILE` writes 20 Newsgroups as counts and labels, for a machine without the corpora; `kernels`, `fits`
measure the GPU; `cpu` measures the CPU's kernels and fits. Units:

- a word-pass is one pass of inference over one distinct word of one document, with all K topics;
- whole fits are given in tokens · K · steps of EM (or epochs) a second, the start and the end of the fit included.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic import LDA, Gibbs, SLDARegressor


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("part", choices=["save", "check", "kernels", "fits", "cpu"])
    parser.add_argument("--counts", default="", help="a file that `save` wrote; 20 Newsgroups by default")
    parser.add_argument("--tokens", type=float, default=1e8, help="documents are repeated up to so many tokens")
    parser.add_argument("--topics", default="128")
    parser.add_argument("--steps", type=int, default=100, help="steps of EM at most, in fits")
    parser.add_argument("--epochs", type=int, default=3, help="epochs of prediction-constrained training")
    parser.add_argument("--sweeps", type=int, default=50, help="of the partially collapsed sampler")
    parser.add_argument("--only", default="", help="of lda, slda, pc, gibbs; all by default")
    parser.add_argument("--out", default="", help="where the numbers go as JSON lines")
    options = parser.parse_args()
    counts, y = read(options.counts)
    if options.part == "save":
        np.savez_compressed(
            options.out, data=counts.data, indices=counts.indices, indptr=counts.indptr, shape=counts.shape, y=y
        )
        return
    part = {"check": check, "kernels": kernels, "fits": fits, "cpu": cpu}[options.part]
    for n_topics in (int(k) for k in options.topics.split(",")):
        for row in part(counts, y, n_topics, options):
            print(json.dumps(row), flush=True)
            if options.out:
                with open(options.out, "a") as file:
                    file.write(json.dumps(row) + "\n")


def read(path: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """Counts (D, V) of training documents, and a number for each: the place of its newsgroup, centred and scaled."""
    if path:
        found = np.load(path)
        counts = sp.csr_matrix((found["data"], found["indices"], found["indptr"]), shape=tuple(found["shape"]))
        return counts.astype(np.float32), found["y"]
    from supertopic.datasets import load

    bunch = load("20newsgroups_bow")
    train = (bunch.frame["split"] == "train").to_numpy()
    counts = sp.csr_matrix(bunch.counts.counts[train], dtype=np.float32)
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    counts = counts[:, np.flatnonzero((frequency >= 5) & (frequency <= counts.shape[0] / 2))]  # as in `bench.corpus`
    filled = np.diff(counts.indptr) > 0
    places = bunch.frame["label_id"].to_numpy()[train][filled].astype(np.float64)
    return counts[filled], (places - places.mean()) / places.std()


def repeated(counts: sp.csr_matrix, y: np.ndarray, n_tokens: float) -> tuple[sp.csr_matrix, np.ndarray]:
    times = max(int(np.ceil(n_tokens / counts.data.sum(dtype=np.float64))), 1)
    indptr = counts.indptr.astype(np.int64)
    ends = (indptr[1:][None, :] + counts.nnz * np.arange(times)[:, None]).ravel()
    many = sp.csr_matrix((times * counts.shape[0], counts.shape[1]), dtype=np.float32)
    many.data, many.indices = np.tile(counts.data, times), np.tile(counts.indices, times)
    many.indptr = np.concatenate([[0], ends]).astype(np.int32 if ends[-1] < 2**31 else np.int64)
    return many, np.tile(y, times)


def model_of(n_topics: int, backend: str, counts: sp.csr_matrix, **more: Any) -> LDA:
    """Topics that are no longer random."""
    return LDA(n_topics, inference="vb", max_iter=5, random_state=0, backend=backend, **more).fit(counts)


def seconds(call: Callable[[], None], times: int = 3) -> float:
    """The median of the times, once the GPU has done all that it was asked for; the first is left out."""
    from numba import cuda

    found = []
    for _ in range(times + 1):
        cuda.synchronize()
        before = time.perf_counter()
        call()
        cuda.synchronize()
        found.append(time.perf_counter() - before)
    return float(np.median(found[1:]))


def copy_bandwidth() -> float:
    """Bytes a second of a copy on the device, those read and those written."""
    from numba import cuda

    one, other = (cuda.device_array(1 << 30, dtype=np.float32) for _ in range(2))
    return 2 * (4 << 30) / seconds(lambda: other.copy_to_device(one), 5)


def kernels(counts: sp.csr_matrix, y: np.ndarray, n_topics: int, options: Any) -> Any:
    """Rates of the kernels, from topics of a short fit, documents starting afresh."""
    from numba import cuda

    from supertopic.backends import make_backend
    from supertopic.backends.cuda.arrays import Matrix, padded
    from supertopic.backends.cuda.e_step import (
        Inferred,
        Prior,
        documents_of,
        infer_documents,
        weights_of,
        which_of,
    )
    from supertopic.backends.cuda.kernels.map_shares import adjoint
    from supertopic.backends.cuda.memory import empty, sent
    from supertopic.inference.batches import Batch, Locals
    from supertopic.inference.device.local import DeviceBlock
    from supertopic.inference.device.prediction_local import _settle
    from supertopic.inference.variational.e_step_response import LocalLimits
    from supertopic.model import DocumentTerms
    from supertopic.priors.base import Rows

    start = model_of(n_topics, "cuda", counts)
    weights, alpha = weights_of(start.fitted_.weights), start.fitted_.state.alpha
    bandwidth = copy_bandwidth()
    many, labels = repeated(counts, y, options.tokens)
    batch = Batch(many, labels, np.ones(len(labels)), n_topics)
    before = time.perf_counter()
    documents = documents_of(batch)
    cuda.synchronize()
    sent_s = time.perf_counter() - before
    before = time.perf_counter()
    _ = documents.by_word
    by_word_s = time.perf_counter() - before
    about = {"K": n_topics, "tokens": float(many.data.sum(dtype=np.float64)), "entries": int(many.nnz),
             "documents": int(many.shape[0]), "words": int(many.shape[1])}  # fmt: skip
    yield {"what": "device", "name": str(cuda.get_current_device().name), "copy_bytes_per_s": bandwidth,
           "send_s": sent_s, "order_s": by_word_s, **about}  # fmt: skip
    lengths = np.diff(many.indptr)
    rows = Rows.same(alpha, len(batch))
    prior, found = Prior.of(rows, False), Inferred(documents, n_topics)
    gamma, limits = Matrix.empty(len(batch), n_topics), LocalLimits()
    entry_bytes = 2 * weights.width + 8

    def rate(what: str, taken: float, passes: np.ndarray, extra: int = 1, size: int = entry_bytes) -> dict:
        """`extra` passes at the end, in single precision, count as one pass each."""
        work = float(((passes + extra) * lengths).sum(dtype=np.float64))
        return {
            "what": what,
            "s": taken,
            "G_word_passes_per_s": work / taken / 1e9,
            "mean_passes": work / lengths.sum(),
            "G_tokens_K_passes_per_s": about["tokens"] / about["entries"] * work * n_topics / taken / 1e9,
            "row_bytes_per_s": work * size / taken,
            "of_copy_bandwidth": work * size / taken / bandwidth,
            **about,
        }

    taken = seconds(lambda: infer_documents(documents, weights, prior, limits, True, gamma, found))
    yield rate("words", taken, found.on_host("passes"))
    sums = Matrix.empty(*weights.shape)
    taken = seconds(lambda: documents.add_by_word(found.ratio, found.theta, weights, sums))
    yield {"what": "word sums", "s": taken, "G_entries_per_s": many.nnz / taken / 1e9,
           "bytes_per_s": many.nnz * (4 * weights.width + 12) / taken,
           "of_copy_bandwidth": many.nnz * (4 * weights.width + 12) / taken / bandwidth, **about}  # fmt: skip

    labelled = SLDARegressor(
        n_topics, inference="vb", max_iter=3, refit=False, cross_fit=0, random_state=0, backend="cuda"
    )
    labelled.fit(counts, y)
    model, state = labelled.fitted_.spec.model, labelled.fitted_.state
    partition = make_backend("cuda", 1).spread(batch).partition
    partition.found = Locals(gamma, *np.zeros((2, len(batch), 1)))
    block = DeviceBlock.of_batch(partition, model, state, weights, limits, DocumentTerms(), found, prior)
    slope, curvature = block._slope_and_curvature()
    given = (None, limits.max_passes, True, slope, curvature, np.ones(len(batch), bool), np.zeros_like(slope), [])

    def run() -> None:
        block.factors = None
        block._run_mean(*given)

    taken = seconds(run)
    row = rate("response, with copies to the host", taken, found.on_host("passes"))
    yield row
    block.factors = None
    block._run_mean(*given)
    given_prior = (sent(padded(rows.alpha), np.float32), which_of(rows))
    ratio, _ = _settle(partition, given_prior, weights, LocalLimits(20, 1e-3))
    theta, passes = partition.found.doc_topic, empty(len(batch), np.int32)
    pulled, shift = Matrix.empty(*theta.shape), empty(documents.n_entries)
    pull, coef = sent(labels, np.float32), sent(padded(state.coef[:, :n_topics]), np.float32)

    def solve() -> None:
        adjoint(weights.registers)[theta.teams](
            *documents.csr, weights.flat, n_topics, *given_prior, theta.flat, ratio, 1, pull, coef, 12, 3e-2, 0.0,
            pulled.flat, shift, passes,
        )  # fmt: skip

    taken = seconds(solve)
    yield rate("adjoint", taken, np.asarray(passes.copy_to_host())[: len(batch)], 2, 4 * weights.width + 8)


def timed_fit(model: Any, *data: Any) -> tuple[Any, float]:
    before = time.perf_counter()
    model.fit(*data)
    return model, time.perf_counter() - before


def fits_of(counts: Any, y: Any, n_topics: int, backend: str, n_jobs: int, options: Any) -> Any:
    """Whole fits: the time, and tokens · K · steps a second."""
    common: dict[str, Any] = {"random_state": 0, "backend": backend, "n_jobs": n_jobs}
    supervised = {**common, "cross_fit": 0}  # one fit, where the default makes five more for calibrated certainty
    tokens = float(counts.data.sum(dtype=np.float64))
    pc = {"inference": "pc", "max_iter": options.epochs}
    models = {
        "lda": (LDA(n_topics, inference="vb", max_iter=options.steps, **common), (counts,)),
        "slda": (SLDARegressor(n_topics, inference="vb", max_iter=options.steps, **supervised), (counts, y)),
        "pc": (SLDARegressor(n_topics, **pc, **supervised), (counts, y)),
    }
    models["gibbs"] = (
        LDA(n_topics, inference=Gibbs(sampler="partial"), max_iter=options.sweeps, **common), (counts,)
    )  # fmt: skip
    for name in [one for one in options.only.split(",") if one] or models:
        model, data = models[name]
        model, taken = timed_fit(model, *data)
        steps = options.sweeps if name == "gibbs" else len(model.bound_)
        yield {"what": f"fit {name}", "backend": backend, "n_jobs": n_jobs, "K": n_topics, "tokens": tokens,
               "documents": int(counts.shape[0]), "s": taken, "steps": steps, "last": float(model.bound_[-1]),
               "G_tokens_K_steps_per_s": tokens * n_topics * steps / taken / 1e9}  # fmt: skip


def fits(counts: sp.csr_matrix, y: np.ndarray, n_topics: int, options: Any) -> Any:
    for row in fits_of(counts[:500], y[:500], n_topics, "cuda", 1, argparse.Namespace(**{**vars(options), "steps": 2})):
        yield {**row, "what": "compile: " + row["what"]}
    yield from fits_of(*repeated(counts, y, options.tokens), n_topics, "cuda", 16, options)


def check(counts: sp.csr_matrix, y: np.ndarray, n_topics: int, options: Any) -> Any:
    """The same fits on the GPU and on the CPU: do they end at the same bound?"""
    for backend in ("cuda", "threads"):
        yield from fits_of(counts, y, n_topics, backend, 8, options)


def cpu(counts: sp.csr_matrix, y: np.ndarray, n_topics: int, options: Any) -> Any:
    """Two threads, the corpus as it is: rates do not depend on how often it is repeated."""
    fit_of = fits_of(counts[:200], y[:200], n_topics, "threads", 2, argparse.Namespace(**{**vars(options), "steps": 2}))
    list(fit_of)
    yield cpu_step(counts, n_topics)
    yield from fits_of(counts, y, n_topics, "threads", 2, options)


def cpu_step(counts: sp.csr_matrix, n_topics: int) -> dict:
    """The E-step of LDA with its sums by word, from topics of a short fit, documents starting afresh."""
    from supertopic.backends import make_backend
    from supertopic.inference.batches import Batch
    from supertopic.inference.variational.e_step_response import LocalLimits
    from supertopic.inference.variational.local import local_step
    from supertopic.model import DocumentTerms

    fitted = model_of(n_topics, "threads", counts, n_jobs=2).fitted_
    batch = Batch(counts, np.full(counts.shape[0], np.nan), np.zeros(counts.shape[0]), n_topics)
    with make_backend("threads", 2) as backend:
        spread, found = backend.spread(batch), []
        for _ in range(4):
            before = time.perf_counter()
            spread.map(local_step, fitted.spec.model, fitted.state, fitted.weights, LocalLimits(), DocumentTerms())
            found.append(time.perf_counter() - before)
    return {"what": "E-step of LDA", "n_jobs": 2, "K": n_topics, "s": float(np.median(found[1:])),
            "entries": int(counts.nnz), "tokens": float(counts.data.sum(dtype=np.float64))}  # fmt: skip


if __name__ == "__main__":
    main()
