"""The Dirichlet prior on a document's topic shares: fixed, or learned in time linear in K.

Given the mean over documents of E[log theta_k] = s_k, the bound as a function of alpha is, per document,

    F(alpha) = log Gamma(sum alpha) - sum log Gamma(alpha_k) + sum (alpha_k - 1) s_k

Its Hessian is a diagonal plus a constant, so a Newton step costs O(K) (Blei, Ng & Jordan 2003, A.2). A sampler has
counts instead of E[log theta], and maximises the Dirichlet-multinomial likelihood by Minka's fixed point.

Collapsed inference (CVB0) stands at a mode: theta maximises log p(w | theta) + log Dirichlet(theta | alpha + 1). This
density cannot choose alpha. For given theta it is highest where

    psi(alpha_k + 1) - psi(sum alpha + K) = mean over documents of log theta_k

and shares that come from Dirichlet(alpha) have a smaller mean logarithm than any Dirichlet with all parameters above 1,
so that alpha falls to 0 wherever its true value is below 1. The counts n_dk at the mode are no substitute for a sample:
the Dirichlet-multinomial likelihood has E[psi(n_dk + alpha_k)], which is below psi(E[n_dk] + alpha_k), and so gives an
alpha that is too large by a half and more. What chooses alpha is the evidence p(w | alpha, topics). The variational
bound F is a bound of it, so that CVB0 infers q(theta) for this step only, and maximises F. The objective at the mode is
comparable for the same alpha only. Variational EM (`inference.variational.batch`) therefore learns alpha first, and
then holds it while the objective converges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, polygamma

from supertopic.priors.base import Described, Drawn, Rows, SharePrior

SETTLED = 0.003  # relative change of alpha in a step, below which collapsed inference holds it
_SMALLEST = 1e-6  # a topic with a smaller alpha is practically absent, and exp(psi(alpha)) underflows


@dataclass(frozen=True)
class DirichletPrior(SharePrior):
    """One alpha for all documents. What is learned: "nothing", "size" (the sum of alpha only) or "everything"."""

    start: np.ndarray
    learned: str = "nothing"

    @classmethod
    def parse(cls, value: float | str | Sequence[float] | np.ndarray, n_topics: int) -> DirichletPrior:
        """Parse the user's parameter: a number, K numbers, "symmetric" (size learned) or "auto" (all learned)."""
        expected = f"expected a positive number, {n_topics} of them, 'symmetric' or 'auto'"
        if isinstance(value, str):
            if value not in ("auto", "symmetric"):
                raise ValueError(f"doc_topic_prior: got {value!r}, {expected}")
            start = np.full(n_topics, min(0.1, 5.0 / n_topics))
            if n_topics == 1:  # with one topic theta = 1, and alpha has no effect
                return cls(start)
            return cls(start, "everything" if value == "auto" else "size")
        try:
            start = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"doc_topic_prior: got {value!r}, {expected}") from None
        if start.ndim == 0:
            start = np.full(n_topics, float(start))
        if start.shape != (n_topics,) or not np.all((start > 0) & np.isfinite(start)):
            raise ValueError(f"doc_topic_prior: got {value!r}, {expected}")
        return cls(start)

    @property
    def learns(self) -> bool:
        return self.learned != "nothing"

    def held(self) -> DirichletPrior:
        return replace(self, learned="nothing")

    def rows(self, alpha: np.ndarray, documents: Described) -> Rows:
        return Rows.same(alpha, len(documents))

    def summarise(self, alpha: np.ndarray, documents: Described, log_theta: np.ndarray) -> np.ndarray:
        """(K + 1,) the sum over documents of E[log theta], and their number."""
        return np.append(log_theta[0], len(documents))

    def update(self, alpha: np.ndarray, stats: np.ndarray, scale: float = 1.0, rate: float = 1.0) -> np.ndarray:
        if not self.learns:
            return alpha
        mean_log_theta = stats[:-1] / stats[-1]
        climb = newton_asymmetric if self.learned == "everything" else newton_symmetric
        return climb(alpha, mean_log_theta) if rate == 1.0 else climb(alpha, mean_log_theta, 1, rate)

    def mean(self, alpha: np.ndarray) -> np.ndarray:
        return alpha

    def learn(self, alpha: np.ndarray, documents: Described, drawn: Drawn) -> np.ndarray:
        """By Minka's fixed point."""
        if not self.learns:
            return alpha
        return minka_fixed_point(alpha, drawn.topic_histogram(), drawn.lengths, symmetric=self.learned == "size")

    def first_topics(self, n_topics: int) -> DirichletPrior:
        return replace(self, start=self.start[:n_topics])


def newton_asymmetric(
    alpha: np.ndarray, mean_log_theta: np.ndarray, max_steps: int = 100, rate: float = 1.0
) -> np.ndarray:
    """argmax F by Newton steps in O(K), shortened to keep alpha positive, until convergence."""
    alpha = np.array(alpha, dtype=np.float64)
    for _ in range(max_steps):
        total = alpha.sum()
        gradient = digamma(total) - digamma(alpha) + mean_log_theta
        diagonal = -polygamma(1, alpha)
        constant = polygamma(1, total)
        # (diag(h) + z 11')^-1 g by Sherman-Morrison
        shift = (gradient / diagonal).sum() / (1.0 / constant + (1.0 / diagonal).sum())
        step = -(gradient - shift) / diagonal * rate
        while np.any(alpha + step <= 0.1 * alpha):  # F is concave, so a shorter step still raises it
            step *= 0.5
        alpha = np.maximum(alpha + step, _SMALLEST)
        if np.max(np.abs(step) / alpha) < 1e-7:
            break
    return alpha


def newton_symmetric(
    alpha: np.ndarray, mean_log_theta: np.ndarray, max_steps: int = 100, rate: float = 1.0
) -> np.ndarray:
    """argmax F over alpha_k = a, by Newton in log a, which keeps a positive and converges from distant starts."""
    n_topics = len(alpha)
    a = float(np.mean(alpha))
    total_log = float(np.sum(mean_log_theta))
    for _ in range(max_steps):
        slope = n_topics * (digamma(n_topics * a) - digamma(a)) + total_log
        curve = n_topics * (n_topics * polygamma(1, n_topics * a) - polygamma(1, a))
        step = -slope / (curve + slope / a) / a if curve + slope / a < 0 else np.sign(slope)
        step = float(np.clip(step, -1.0, 1.0)) * rate
        a = max(a * np.exp(step), _SMALLEST)
        if abs(step) < 1e-9:
            break
    return np.full(n_topics, a)


def minka_fixed_point(
    alpha: np.ndarray, topic_histogram: np.ndarray, lengths: np.ndarray, *, symmetric: bool, max_steps: int = 20
) -> np.ndarray:
    """alpha_k <- alpha_k sum_d [psi(n_dk + alpha_k) - psi(alpha_k)] / sum_d [psi(N_d + sum alpha) - psi(sum alpha)].

    Parameters
    ----------
    topic_histogram : (K, L) ndarray
        Number of documents in which topic k has exactly n tokens, n = 0 … L-1; a sufficient statistic of the counts.
    lengths : (D,) ndarray
        Number of tokens of each document.
    """
    alpha = np.array(alpha, dtype=np.float64)
    # psi(n + a) - psi(a) = sum_{i < n} 1 / (a + i): documents with more than i tokens count for term i
    beyond = topic_histogram[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:].astype(np.float64)
    terms = np.arange(beyond.shape[1])
    sizes, repeats = np.unique(lengths, return_counts=True)
    for _ in range(max_steps):
        gain = (beyond / (alpha[:, None] + terms)).sum(axis=1)
        loss = (repeats * (digamma(sizes + alpha.sum()) - digamma(alpha.sum()))).sum()
        factor = (alpha * gain).sum() / (alpha.sum() * loss) if symmetric else gain / loss
        alpha, before = np.maximum(alpha * factor, _SMALLEST), alpha
        if np.max(np.abs(alpha - before) / before) < 1e-4:
            break
    return alpha
