"""Collapsed Gibbs with a Gaussian response: tokens per second of our kernel and of the peer's whole model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from bench import clock
from bench.corpus import ALPHA, BETA, Documents
from bench.peers import version
from bench.plan import Plan
from bench.report import Table, say, times
from supertopic.kernels import gibbs_documents, gibbs_layout

TARGETS = {50: 1.5, 200: 2.5}
PEER = "tomotopy"


class Run(NamedTuple):
    """Seconds of all sweeps, and how much of the response's variance the linear predictor explains at their end."""

    seconds: float
    r2: float


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "6. Supervised collapsed Gibbs: tokens per second, one thread",
        [
            "K", "sweeps", "peer", "peer s", "our s", "peer M tok/s", "our M tok/s", "ratio", "target", "peer R²",
            "our R²",
        ],
        f"{documents.describe()}. Response: logarithm of the document's length, standardised. alpha = 0.1, "
        "beta = 0.01, fixed; prior variance of the coefficients 1. Random starts, equal sweeps. Peer: "
        "SLDAModel, vars=\"l\", train. Ours: the kernel's sweep, then a ridge draw of the coefficients and a "
        "draw of the variance, every sweep. R²: "
        "of the training documents after these sweeps; both samplers see y, so it says that both are supervised, not "
        f"how well they predict. Best of {plan.repeats}, interleaved.",
    )  # fmt: skip
    if version(PEER) is None:
        return result
    response = standardised_log_length(documents)
    for n_topics in plan.topics((50, 200)):
        sweeps = max(plan.sweeps(n_topics) // 5, 4)
        Chain(documents, response, n_topics).sweep(documents.train.shape[0] // 10)
        theirs, ours = [], []
        for _ in range(plan.repeats):
            say(f"{PEER} and ours, K = {n_topics}: {sweeps} sweeps")
            theirs.append(run_peer(documents, response, n_topics, sweeps))
            ours.append(run_ours(documents, response, n_topics, sweeps))
        peer, own = min(theirs), min(ours)
        tokens = documents.n_tokens * sweeps / 1e6
        result.add(
            n_topics, sweeps, PEER, f"{peer.seconds:.1f}", f"{own.seconds:.1f}", f"{tokens / peer.seconds:.2f}",
            f"{tokens / own.seconds:.2f}", times(peer.seconds / own.seconds), times(TARGETS.get(n_topics)),
            f"{peer.r2:.3f}", f"{own.r2:.3f}",
        )  # fmt: skip
    return result


def standardised_log_length(documents: Documents) -> np.ndarray:
    values = np.log(np.asarray(documents.train.sum(axis=1, dtype=np.float64)).ravel())
    return (values - values.mean()) / values.std()


def explained(response: np.ndarray, predictor: np.ndarray) -> float:
    return float(1 - ((response - predictor) ** 2).mean() / response.var())


class Chain:
    """Topics of the tokens, coefficients and variance: y ~ N(coef . n_d / N_d, variance), coef ~ N(0, 1)."""

    def __init__(self, documents: Documents, response: np.ndarray, n_topics: int) -> None:
        matrix = documents.train
        self.lengths = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
        self.doc_ptr = np.concatenate(([0], np.cumsum(self.lengths))).astype(np.int64)
        self.word = np.empty(self.doc_ptr[-1], dtype=np.int32)
        gibbs_documents.expand_documents(matrix.indptr, matrix.indices, matrix.data, self.doc_ptr, self.word)
        self.topic = np.empty(len(self.word), dtype=np.uint16)
        gibbs_layout.random_topics(0, n_topics, 0, len(self.topic), self.topic)
        self.word_topic = np.zeros((matrix.shape[1], n_topics), dtype=np.int32)
        gibbs_documents.count_words(self.word, self.topic, 0, len(self.topic), self.word_topic)
        self.topic_count = self.word_topic.sum(axis=0, dtype=np.int64)
        self.alpha = np.full(n_topics, ALPHA, dtype=np.float32)
        self.coef, self.variance = np.zeros((1, n_topics), dtype=np.float32), 1.0
        self.scratch = gibbs_documents.make_scratch(n_topics, 1)
        self.response, self.rng, self.sweeps = response, np.random.default_rng(0), 0

    def sweep(self, stop: int | None = None) -> None:
        """Every token of the documents up to `stop`, then coefficients and variance given all topics."""
        stop, n_topics = len(self.response) if stop is None else stop, len(self.alpha)
        shares = np.zeros((len(self.response), n_topics), dtype=np.float32)
        slope = (self.response / self.variance).astype(np.float32)[:, None]
        curvature = np.full(slope.shape, 1 / self.variance, dtype=np.float32)
        gibbs_documents.sweep_documents(
            0, stop, self.doc_ptr, self.word, self.topic, shares, slope, curvature, self.coef, self.word_topic,
            self.topic_count, np.zeros((0, 0), dtype=np.float32), self.alpha, np.float32(BETA),
            np.float32(BETA * len(self.word_topic)), True, 0, self.sweeps, self.scratch,
        )  # fmt: skip
        self.sweeps += 1
        shares /= self.lengths[:, None].astype(np.float32)
        precision = np.eye(n_topics) + shares.T @ shares / self.variance
        mean = np.linalg.solve(precision, shares.T @ self.response / self.variance)
        noise = np.linalg.solve(np.linalg.cholesky(precision).T, self.rng.normal(size=n_topics))
        self.coef = (mean + noise).astype(np.float32)[None]
        self.predictor = shares @ self.coef[0]
        self.variance = ((self.response - self.predictor) ** 2).sum() / self.rng.chisquare(len(self.response))


def run_ours(documents: Documents, response: np.ndarray, n_topics: int, sweeps: int) -> Run:
    chain = Chain(documents, response, n_topics)
    with threadpool_limits(1):
        start = clock.now()
        for _ in range(sweeps):
            chain.sweep()
        seconds = clock.now() - start
    return Run(seconds, explained(response, chain.predictor))


def run_peer(documents: Documents, response: np.ndarray, n_topics: int, sweeps: int) -> Run:
    import tomotopy

    model = tomotopy.SLDAModel(
        k=n_topics, vars="l", alpha=ALPHA, eta=BETA, nu_sq=[1.0], seed=1, min_cf=0, min_df=0, rm_top=0
    )
    model.optim_interval = 0  # alpha stays where it is
    matrix = documents.train
    words = [str(word) for word in range(matrix.shape[1])]
    for row, y in enumerate(response):
        entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
        tokens = np.repeat(matrix.indices[entries], matrix.data[entries].astype(int))
        model.add_doc([words[token] for token in tokens], y=[float(y)])
    model.train(0, workers=1)
    start = clock.now()
    model.train(sweeps, workers=1)
    seconds = clock.now() - start
    predictor = np.array([model.estimate(document)[0] for document in model.docs])
    return Run(seconds, explained(response, predictor))
