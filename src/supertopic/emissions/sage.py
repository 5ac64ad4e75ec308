"""SAGE topics (Eisenstein, Ahmed & Xing 2011): p(word | topic k) = exp(m_w + eta_kw) / Z_k, most eta exactly zero."""

from __future__ import annotations

import numpy as np

from supertopic.backends.threads import Threads
from supertopic.emissions.deviations import Deviations, SparsePrior, fit_deviations, penalties


class SAGETopics:
    """Parameters (V, K + 1): the deviations eta of each topic, and the background m as the last column.

    An M-step is one Newton step from where the last one ended, as the paper has it: at eta -> 0 the weight eta^-2 locks
    a deviation at zero for ever, so iterating to convergence would freeze the zeros of the first topics.

    Parameters
    ----------
    prior : SparsePrior
    n_jobs : int, optional
        Threads of the M-step.
    """

    name = "sage"

    def __init__(self, prior: SparsePrior, n_jobs: int | None = None) -> None:
        self.prior = prior
        self.n_jobs = n_jobs

    def expect(
        self, word_topic: np.ndarray, backend: Threads, *, log: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """A new array even where `out` is given: the M-step starts from the parameters."""
        logs = _logs(word_topic)
        return (logs if log else np.exp(logs, out=logs)).astype(np.float32)

    def evidence(self, word_topic: np.ndarray, backend: Threads) -> float:
        """The log prior of the deviations; Jeffreys' is improper, so that a constant per word and topic is open."""
        return -float(penalties(word_topic[:, :-1], self.prior))

    def update(self, word_topic: np.ndarray, counts: np.ndarray, rate: float) -> np.ndarray:
        """First topics come with `word_topic` being `counts` itself."""
        first = word_topic is counts
        start = None if first else Deviations(word_topic[:, -1], word_topic[:, :-1].T)
        with Threads(self.n_jobs) as backend:
            found = fit_deviations(counts.T, self.prior, backend, start=start, max_iter=1, tol=0.0)
        return self.pack(found)

    def pack(self, found: Deviations) -> np.ndarray:
        """Deviations as parameters (V, K + 1)."""
        word_topic = np.empty((found.eta.shape[1], len(found.eta) + 1), dtype=np.float32)
        word_topic[:, :-1], word_topic[:, -1] = found.eta.T, found.background
        return word_topic

    def probabilities(self, word_topic: np.ndarray, *, by_word: bool = False) -> np.ndarray:
        weights = np.exp(_logs(word_topic)).astype(np.float32)
        return weights if by_word else np.ascontiguousarray(weights.T)


def _logs(word_topic: np.ndarray) -> np.ndarray:
    """log p(word | topic), (V, K) float64."""
    logs = word_topic[:, -1:].astype(np.float64) + word_topic[:, :-1]
    highest = logs.max(axis=0)
    return logs - (highest + np.log(np.exp(logs - highest).sum(axis=0)))
