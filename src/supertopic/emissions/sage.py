"""SAGE topics (Eisenstein, Ahmed & Xing 2011): p(word | topic k) = exp(m_w + eta_kw) / Z_k, most eta exactly zero."""

from __future__ import annotations

from numbers import Real

import numpy as np

from supertopic.backends.threads import Threads
from supertopic.emissions.deviations import Deviations, SparsePrior, fit_deviations, penalties


class SparseTopics:
    """Parameters (V, 2K + 1): the deviations eta of each topic, the background m, and the counts that they explain.

    An M-step is one Newton step from where the last one ended, as the paper has it: at eta -> 0 the weight eta^-2 locks
    a deviation at zero for ever, so iterating to convergence would freeze the zeros of the first topics. The counts are
    kept for mini-batches: a batch moves them part of the way, and a rare word that it has not is not taken for unseen.

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
        return -penalties(unpack(word_topic)[0], self.prior.rate)

    def update(self, word_topic: np.ndarray, counts: np.ndarray, rate: float) -> np.ndarray:
        """First topics come with `word_topic` being `counts` itself."""
        start = None
        if word_topic is not counts:
            eta, background, before = unpack(word_topic)
            start = Deviations(background, eta.T)
            if rate < 1.0:
                counts *= np.float32(rate)
                counts += np.float32(1.0 - rate) * before
        with Threads(self.n_jobs) as backend:
            found = fit_deviations(counts.T, self.prior, backend, start=start, max_iter=1, tol=0.0)
        return pack(found, counts)

    def probabilities(self, word_topic: np.ndarray, *, by_word: bool = False) -> np.ndarray:
        weights = own_words(word_topic)
        return weights if by_word else np.ascontiguousarray(weights.T)


class SparseClasses(SparseTopics):
    """p(word | document of class k) = share exp(m_w) + (1 - share) exp(m_w + eta_kw) / Z_k.

    The deviations are those of SAGE, fitted as if every word were the class's; the mixture is for documents to come,
    which say much that is not their class's. With r = log p(word | class) - m_w, a word then says

        log(share + (1 - share) exp(r)),   at share 0.9 for r = -1, 1, 3, 5:   -0.07, 0.16, 1.07, 2.76:

    what is said weakly, for a class or against it, hardly counts beside what is said strongly. Both halves are needed
    (20 Newsgroups: 5.3 points above a Dirichlet without, 5.6 and -0.9 with one half, 8.5 with both). It is shrinkage
    towards the root of a hierarchy of one level (McCallum, Rosenfeld, Mitchell & Ng 1998). Fitting deviations and
    mixture together by EM gave some of the gain away again (7.3): the deviations grow to make up for the share.

    Parameters
    ----------
    prior, n_jobs
        As in `SparseTopics`.
    background_share : float
        From 0 to below 1.
    """

    def __init__(self, prior: SparsePrior, n_jobs: int | None = None, background_share: float = 0.0) -> None:
        super().__init__(prior, n_jobs)
        real = isinstance(background_share, Real) and not isinstance(background_share, bool)
        if not real or not 0 <= float(background_share) < 1:
            raise ValueError(f"background_share: got {background_share!r}, expected a number from 0 to below 1")
        self.background_share = float(background_share)

    def probabilities(self, word_topic: np.ndarray, *, by_word: bool = False) -> np.ndarray:
        weights = super().probabilities(word_topic, by_word=True)
        if self.background_share > 0:
            weights *= np.float32(1.0 - self.background_share)
            weights += np.float32(self.background_share) * np.exp(unpack(word_topic)[1])[:, None]
        return weights if by_word else np.ascontiguousarray(weights.T)


def own_words(word_topic: np.ndarray) -> np.ndarray:
    """exp(m + eta_k) / Z_k, (V, K) float32: each topic or class by itself."""
    return np.exp(_logs(word_topic)).astype(np.float32)


def pack(found: Deviations, counts: np.ndarray) -> np.ndarray:
    """Deviations, and the counts (V, K) that they explain, as parameters."""
    return np.hstack([found.eta.T, found.background[:, None], counts]).astype(np.float32)


def unpack(word_topic: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(eta (V, K), background (V,), counts (V, K)): views of the parameters."""
    n_topics = word_topic.shape[1] // 2
    return word_topic[:, :n_topics], word_topic[:, n_topics], word_topic[:, n_topics + 1 :]


def _logs(word_topic: np.ndarray) -> np.ndarray:
    """log p(word | topic), (V, K) float64."""
    eta, background, _ = unpack(word_topic)
    logs = background[:, None].astype(np.float64) + eta
    highest = logs.max(axis=0)
    return logs - (highest + np.log(np.exp(logs - highest).sum(axis=0)))
