"""Topic shares of documents whose labels nobody knows, in plain NumPy: the fixed point of `kernels/e_step_words.py`.

    phi_jk ∝ w_jk exp(psi(gamma_k)),   gamma_k = alpha_k + sum_j c_j phi_jk       (gamma_k for exp psi where collapsed)

Documents of about one length go through its passes together, and leave as they converge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from supertopic.later import Later
from supertopic.serving.documents import Block, Documents

special = Later("scipy.special")

_TINY, _OFFSET = np.float32(1e-30), np.float32(1e-18)
_FIRST_PASSES, _LONGEST_LEAP = 4, np.float32(16.0)
_TENTH, _ONE, _TWO = np.float32(0.1), np.float32(1.0), np.float32(2.0)


class Found(NamedTuple):
    """What the words of a block of documents say."""

    shares: np.ndarray  # (B, K) of theta
    total: np.ndarray  # (B, K) sum_j c_j phi_j
    phi: np.ndarray  # (B, n, K) weights of topics in each word, not normalised
    norm: np.ndarray  # (B, n) their sums
    theta: np.ndarray  # (B, K)


@dataclass(frozen=True, eq=False)
class Topics:
    """The topics of a model, the prior of their shares, and how shares are inferred."""

    weights: np.ndarray  # (V, K) float32, p(word | topic)
    alpha: np.ndarray  # (K,) float64
    collapsed: bool = False
    at_mode: bool = False
    log_counts: bool = False
    one_topic: bool = False  # all words of a document share one topic; alpha are the topics' shares
    max_passes: int = 200
    tol: float = 3e-5
    log_weights: np.ndarray = field(init=False)  # of models with one topic for each document
    _alpha: np.ndarray = field(init=False)  # in single precision

    def __post_init__(self) -> None:
        object.__setattr__(self, "_alpha", self.alpha.astype(np.float32))
        object.__setattr__(self, "log_weights", np.log(np.maximum(self.weights, 1e-30)) if self.one_topic else None)

    @property
    def prior(self) -> np.ndarray:
        """(K,) shares of a document without words."""
        return self.alpha / self.alpha.sum()

    def shares(self, documents: Documents) -> np.ndarray:
        """(D, K) topic shares; those of documents without words are the prior's mean."""
        found = np.tile(self.prior.astype(np.float32), (len(documents), 1))
        for block in documents.seen(self.log_counts).blocks(len(self.alpha)):
            found[block.rows] = self.of_one_topic(block) if self.one_topic else self.shares_of(block)
        return found

    def of_one_topic(self, block: Block) -> np.ndarray:
        """(B, K) the posterior of each document's topic."""
        logs = np.log(self.prior) + self.log_words(block)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def log_words(self, block: Block) -> np.ndarray:
        """(B, K) log p(words | topic) where all words share one."""
        return np.asarray(np.matmul(block.counts[:, None, :].astype(np.float64), self.log_weights[block.words])[:, 0])

    def shares_of(self, block: Block) -> np.ndarray:
        """(B, K) shares of documents with words."""
        gamma = self._ascend(self._rows(block), block.counts)
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))

    def infer(self, block: Block) -> Found:
        """The fixed point of documents with words."""
        rows = self._rows(block)
        gamma = self._ascend(rows, block.counts)
        theta = self._weigh(gamma)
        phi = rows * theta[:, None, :]
        norm = phi.sum(axis=2) + _TINY
        total = np.matmul((block.counts / norm)[:, None, :], phi)[:, 0]
        return Found(gamma / gamma.sum(axis=1, keepdims=True), total, phi, norm, theta)

    def bound(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """(shares, (B,) the bound of log p(words)) of documents with words."""
        found = self.infer(block)
        words = (block.counts * np.log(found.norm.astype(np.float64))).sum(axis=1)
        alpha, total = self.alpha, found.total.astype(np.float64)
        gammas = special.gammaln(alpha + total) - special.gammaln(alpha)
        prior = gammas - total * np.log(found.theta.astype(np.float64))
        whole = special.gammaln(alpha.sum()) - special.gammaln(alpha.sum() + total.sum(axis=1))
        return found.shares, words + prior.sum(axis=1) + whole

    def _rows(self, block: Block) -> np.ndarray:
        rows = self.weights[block.words]
        rows += _OFFSET
        return rows

    def _weigh(self, gamma: np.ndarray) -> np.ndarray:
        return gamma if self.collapsed else exp_digamma(gamma)

    def _ascend(self, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """(B, K) gamma where it has converged; after every two passes it leaps ahead."""
        alpha, n_topics = self._alpha, np.float32(len(self.alpha))
        if len(counts) == 1:
            return self._ascend_one(rows[0], counts[0])[None]
        found = alpha + counts.sum(axis=1, keepdims=True) / n_topics
        left, gamma, before = np.arange(len(found)), found.copy(), found
        alive = np.ones(len(found), dtype=bool)
        for done in range(1, self.max_passes + 1):
            new = self._pass(rows, counts, gamma)
            ends = alive & ((np.abs(new - gamma).sum(axis=1) < self.tol * n_topics) | (done == self.max_passes))
            if ends.any():
                found[left[ends]] = new[ends]
                alive &= ~ends
                if not alive.any():
                    break
                if 4 * np.count_nonzero(alive) < 3 * len(alive):
                    left, rows, counts, new = left[alive], rows[alive], counts[alive], new[alive]
                    gamma, before, alive = gamma[alive], before[alive], alive[alive]
            if done % 2:
                before, gamma = gamma, new
            else:
                gamma = self._leap(done, before, gamma, new)
        return found

    def _ascend_one(self, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """(K,) the same of one document: an answer to a request, in half of the time."""
        n_topics = np.float32(len(self.alpha))
        new = self._alpha + np.add.reduce(counts) / n_topics
        before = gamma = new
        for done in range(1, self.max_passes + 1):
            new = self._pass(rows, counts, gamma)
            if np.add.reduce(np.abs(new - gamma)) < self.tol * n_topics:
                break
            if done % 2:
                before, gamma = gamma, new
            else:
                gamma = self._leap(done, before, gamma, new)
        return new

    def _pass(self, rows: np.ndarray, counts: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """The next gamma of one document, or (B, K) of several."""
        theta = self._weigh(gamma)
        ratio = counts / (np.matmul(rows, theta[..., None])[..., 0] + _TINY)
        return np.asarray(self._alpha + theta * np.matmul(ratio[..., None, :], rows)[..., 0, :])

    def _leap(self, done: int, before: np.ndarray, between: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """Where passes from `before` to `between` to gamma lead (SQUAREM); no topic loses more than nine tenths."""
        if not self.collapsed and done < _FIRST_PASSES:
            return gamma
        first = between - before
        second = gamma - between - first
        ratio = np.add.reduce(first * first, axis=-1, keepdims=True)
        ratio /= np.maximum(np.add.reduce(second * second, axis=-1, keepdims=True), _TINY)
        s = np.minimum(np.maximum(np.sqrt(ratio), _ONE), _LONGEST_LEAP)
        least = self._alpha + _TENTH * (gamma - self._alpha)
        return np.asarray(np.maximum(before + s * (_TWO * first + s * second), least))


def exp_digamma(x: np.ndarray) -> np.ndarray:
    """exp(psi(x)) in single precision for x > 0, as the kernels have it: psi(x + 6), and a shift."""
    small = np.minimum(x, np.float32(1e4))
    t = small * (small + np.float32(5.0))
    u = t * t
    shift = (np.float32(2.0) * small + np.float32(5.0)) * (
        (np.float32(3.0) * u + np.float32(20.0) * t + np.float32(24.0))
        / (t * (u + np.float32(10.0) * t + np.float32(24.0)))
    )
    big = x > np.float32(1e4)
    y = np.where(big, x, x + np.float32(6.0))
    inv = np.float32(1.0) / y
    series = y - np.float32(0.5) + inv * (np.float32(1 / 24) + inv * (np.float32(1 / 48) - inv * np.float32(23 / 5760)))
    return np.asarray(np.where(big, series, series * np.exp(np.maximum(-shift, np.float32(-40.0)))))
