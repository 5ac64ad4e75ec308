"""Collapsed Gibbs with a Gaussian response: our sampler beside the peer's, without groups, and on two threads."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from bench import clock
from bench.corpus import ALPHA, BETA, Documents
from bench.peers import version
from bench.plan import Plan
from bench.report import Table, say, times
from supertopic.backends.threads import Threads
from supertopic.coefficients import CoefPrior
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.batches import Batch
from supertopic.inference.gibbs.supervised import SupervisedSampler
from supertopic.kernels.gibbs_layout import random_topics
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses.continuous import Gaussian

TARGETS = {50: 1.5, 200: 2.5}
THREADS_TARGET = 1.6
PEER = "tomotopy"


class Run(NamedTuple):
    """All sweeps of one fit."""

    seconds: float  # by the bench's clock
    wall: float
    cores: float  # processor time over wall time
    r2: float  # share of the response's variance that the linear predictor explains at the end
    nats: float | None = None  # per held-out token, from the topics of the last sweep
    topic: np.ndarray | None = None


def table(documents: Documents, plan: Plan) -> Table:
    result = Table(
        "6. Supervised collapsed Gibbs: tokens per second",
        [
            "K", "sweeps", "ours", "beside", "its s", "our s", "its M tok/s", "our M tok/s", "ratio", "target",
            "cores had", "its R²", "our R²", "its nats", "our nats",
        ],
        f"{documents.describe()}. Response: logarithm of the document's length, standardised. alpha = 0.1, "
        "beta = 0.01, fixed; prior variance of the coefficients 1. Random starts, equal sweeps. Peer: "
        "SLDAModel, vars=\"l\", train. Ours: all draws of a sweep. \"One group\": documents and words are not cut into "
        "groups, so that n_k does not lag; the nats show what the lag costs. The row of two threads has wall seconds; "
        "where \"cores had\" (processor over wall time) is well below 2, other programs used the second core, and the "
        "ratio says nothing. R²: of the training documents after these sweeps; all samplers see y, so it says that "
        "they are supervised, not how well they predict. Nats: per held-out token (document completion), from the "
        f"topics of the last sweep. Best of {plan.repeats}, interleaved.",
    )  # fmt: skip
    response = standardised_log_length(documents)
    for n_topics in plan.topics((50, 200)):
        sweeps = max(plan.sweeps(n_topics) // 5, 4)
        run_ours(documents, response, n_topics, 1)  # compiles
        runs: dict[str, list[Run]] = {"peer": [], "one group": [], "one thread": [], "two threads": []}
        for _ in range(plan.repeats):
            say(f"{PEER} and ours, K = {n_topics}: {sweeps} sweeps")
            if version(PEER) is not None:
                runs["peer"].append(run_peer(documents, response, n_topics, sweeps))
            runs["one group"].append(run_ours(documents, response, n_topics, sweeps, groups=1))
            runs["one thread"].append(run_ours(documents, response, n_topics, sweeps))
            runs["two threads"].append(run_ours(documents, response, n_topics, sweeps, n_jobs=2))
        tokens, ours = documents.n_tokens * sweeps / 1e6, min(runs["one thread"], key=lambda run: run.seconds)
        for name, target in (("peer", TARGETS.get(n_topics)), ("one group", None)):
            if runs[name]:
                beside = min(runs[name], key=lambda run: run.seconds)
                label = PEER if name == "peer" else "ours, one group"
                seconds = (beside.seconds, ours.seconds)
                add(result, n_topics, sweeps, "one thread", label, tokens, seconds, target, beside, ours)
        one, two = (min(runs[name], key=lambda run: run.wall) for name in ("one thread", "two threads"))
        same = np.array_equal(one.topic, two.topic)
        label = "two threads" if same else "two threads, other topics"
        seconds = (one.wall, two.wall)
        add(result, n_topics, sweeps, label, "ours, one thread", tokens, seconds, THREADS_TARGET, one, two)
    return result


def add(
    result: Table, n_topics: int, sweeps: int, ours: str, beside: str, tokens: float, seconds: tuple[float, float],
    target: float | None, other: Run, own: Run,
) -> None:  # fmt: skip
    """A row of the table: two runs, and the seconds of each."""
    result.add(
        n_topics, sweeps, ours, beside, *(f"{value:.1f}" for value in seconds),
        *(f"{tokens / value:.2f}" for value in seconds), times(seconds[0] / seconds[1]), times(target),
        f"{own.cores:.1f}", f"{other.r2:.3f}", f"{own.r2:.3f}", other.nats and f"{other.nats:.4f}",
        own.nats and f"{own.nats:.4f}",
    )  # fmt: skip


def standardised_log_length(documents: Documents) -> np.ndarray:
    values = np.log(np.asarray(documents.train.sum(axis=1, dtype=np.float64)).ravel())
    return (values - values.mean()) / values.std()


def explained(response: np.ndarray, predictor: np.ndarray) -> float:
    return float(1 - ((response - predictor) ** 2).mean() / response.var())


def run_ours(
    documents: Documents, response: np.ndarray, n_topics: int, sweeps: int, n_jobs: int = 1, groups: int | None = None
) -> Run:
    """Our sampler from random topics; y ~ N(coef . n_d / N_d, variance), coef ~ N(0, 1)."""
    alpha, weight = np.full(n_topics, ALPHA), np.ones(len(response))
    prior = DirichletPrior(alpha, "nothing")
    model = Model(n_topics, DirichletTopics(BETA), prior, Gaussian(), CoefPrior("normal", 1.0))
    with Threads(n_jobs) as backend:
        batch = Batch(documents.train, response, weight, n_topics)
        sampler = SupervisedSampler(model, batch, 0, backend=backend, groups=groups)
        topic = np.empty(len(sampler.tokens.word), dtype=np.uint16)
        random_topics(0, n_topics, 0, len(topic), topic)
        sampler.take(topic, sampler.coef, np.array([1.0, 0.0, 1.0]), alpha)
        start, wall, processor = clock.now(), time.perf_counter(), time.process_time()
        for number in range(sweeps):
            sampler.sweep(number)
        seconds, wall, processor = clock.now() - start, time.perf_counter() - wall, time.process_time() - processor
    r2 = explained(response, sampler.design @ sampler.coef[0])
    nats = documents.score(sampler.word_topic + BETA)
    return Run(seconds, wall, processor / wall, r2, nats, sampler.topic)


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
    start, wall, processor = clock.now(), time.perf_counter(), time.process_time()
    model.train(sweeps, workers=1)
    seconds, wall, processor = clock.now() - start, time.perf_counter() - wall, time.process_time() - processor
    predictor = np.array([model.estimate(document)[0] for document in model.docs])
    return Run(seconds, wall, processor / wall, explained(response, predictor))
