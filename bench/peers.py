"""The other libraries (peers): one small class each, and a list of them.

`fit(matrix, n_topics, passes, n_jobs)` returns topics (V, K), unnormalised if the library has variational parameters,
and the seconds of training, without reading documents and without initialisation.
"""

from __future__ import annotations

import importlib.metadata
import logging
import time
import warnings
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from bench import clock
from bench.corpus import ALPHA, BETA


class Fitted(NamedTuple):
    word_topic: np.ndarray  # (V, K)
    seconds: float
    cores: float = 1.0  # processor time over wall time, with several threads


class Peer(Protocol):
    name: ClassVar[str]  # of the package on PyPI
    inference: ClassVar[str]  # "gibbs" or "vb"

    def fit(self, matrix: sp.csr_matrix, n_topics: int, passes: int, n_jobs: int = 1) -> Fitted: ...


class Tomotopy:
    """Collapsed Gibbs sampling in C++; the topics of its last sample."""

    name = "tomotopy"
    inference = "gibbs"

    def fit(self, matrix: sp.csr_matrix, n_topics: int, passes: int, n_jobs: int = 1) -> Fitted:
        import tomotopy

        model = tomotopy.LDAModel(k=n_topics, alpha=ALPHA, eta=BETA, seed=1, min_cf=0, min_df=0, rm_top=0)
        model.optim_interval = 0  # alpha stays fixed
        words = [str(word) for word in range(matrix.shape[1])]
        for row in range(matrix.shape[0]):
            entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
            tokens = np.repeat(matrix.indices[entries], matrix.data[entries].astype(int))
            model.add_doc([words[token] for token in tokens])
        model.train(0, workers=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the warning that two workers give another result
            start, wall, processor = clock.now(), time.perf_counter(), time.process_time()
            model.train(passes, workers=n_jobs)
            seconds = clock.now() - start
            cores = (time.process_time() - processor) / (time.perf_counter() - wall)
        if not np.allclose(model.alpha, ALPHA):
            raise RuntimeError(f"tomotopy changed alpha to {model.alpha}, so the libraries fit different models")
        word_topic = np.zeros((matrix.shape[1], n_topics), dtype=np.float32)
        order = [int(word) for word in model.used_vocabs]
        for k in range(n_topics):
            word_topic[order, k] = model.get_topic_word_dist(k)
        return Fitted(word_topic, seconds, cores)


class ScikitLearn:
    """Batch variational EM; only the EM steps are timed, not the perplexity that `fit` computes at the end."""

    name = "scikit-learn"
    inference = "vb"

    def fit(self, matrix: sp.csr_matrix, n_topics: int, passes: int, n_jobs: int = 1) -> Fitted:
        from sklearn.decomposition import LatentDirichletAllocation

        class Timed(LatentDirichletAllocation):
            seconds = 0.0

            def _em_step(self, *args: Any, **options: Any) -> Any:
                start = clock.now()
                result = super()._em_step(*args, **options)
                self.seconds += clock.now() - start
                return result

        model = Timed(
            n_topics, doc_topic_prior=ALPHA, topic_word_prior=BETA, learning_method="batch", max_iter=passes,
            max_doc_update_iter=100, mean_change_tol=1e-3, evaluate_every=-1, n_jobs=n_jobs, random_state=0,
        )  # fmt: skip
        with threadpool_limits(n_jobs):
            model.fit(matrix)
        return Fitted(np.ascontiguousarray(model.components_.T, dtype=np.float32), model.seconds)


class Gensim:
    """Variational EM with the whole corpus as one chunk; a decay of 0 makes its online step the batch step."""

    name = "gensim"
    inference = "vb"

    def fit(self, matrix: sp.csr_matrix, n_topics: int, passes: int, n_jobs: int = 1) -> Fitted:
        from gensim.models import LdaModel

        logging.getLogger("gensim").setLevel(logging.ERROR)
        corpus = [
            list(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].astype(int).tolist(), strict=True))
            for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        ]
        model = LdaModel(
            id2word={word: str(word) for word in range(matrix.shape[1])}, num_topics=n_topics,
            alpha=[ALPHA] * n_topics, eta=BETA, passes=passes, chunksize=len(corpus), update_every=0, decay=0.0,
            iterations=100, gamma_threshold=1e-3, eval_every=None, dtype=np.float32, random_state=0,
        )  # fmt: skip
        with threadpool_limits(n_jobs), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = clock.now()
            model.update(corpus)
            seconds = clock.now() - start
        return Fitted(np.ascontiguousarray(model.state.get_lambda().T, dtype=np.float32), seconds)


PEERS: list[Peer] = [Tomotopy(), ScikitLearn(), Gensim()]


def installed(inference: str | None = None) -> list[Peer]:
    """Return the installed peers, of one kind of inference or of all."""
    found = [peer for peer in PEERS if version(peer.name) is not None]
    return [peer for peer in found if inference in (None, peer.inference)]


def missing() -> list[str]:
    return [peer.name for peer in PEERS if version(peer.name) is None]


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
