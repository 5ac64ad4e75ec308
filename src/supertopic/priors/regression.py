"""A prior on topic shares that depends on what is known of a document: Dirichlet-multinomial regression.

    theta_d ~ Dirichlet(alpha_d),   alpha_dk = exp(x_d·lambda_k),   lambda_pk ~ N(start_pk, scale_p²)

x begins with a constant (Mimno & McCallum 2008), and the rest of it is zero for the average document. For the shares
q(theta) that a step has found, the bound as a function of the coefficients is, with A = sum_k alpha_k,

    F = sum_d log Gamma(A_d) - sum_k log Gamma(alpha_dk) + sum_k alpha_dk E[log theta_dk]  +  log p(lambda)
    dF/dlambda_pk = sum_d x_dp alpha_dk (psi(A_d) - psi(alpha_dk) + E[log theta_dk])  -  (lambda - start)_pk / scale_p²

Documents with the same x have one row: their E[log theta] are summed before anything else is done. Fisher's information
is diag(alpha² psi'(alpha)) - psi'(A) alpha alpha', times x x'. Its first part alone is larger, and does not mix topics:
solving with it gives a step that goes uphill. It is the step of mini-batches, and the metric in which an M-step on all
documents climbs to the maximum, by L-BFGS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, polygamma

from supertopic.priors.base import Described, Rows, SharePrior, remembered

_STEPS, _TOL = 20, 1e-10  # of an M-step at most, and the gain relative to F that ends it
_LONGEST = 1.0  # change of a coefficient in a step of a mini-batch
_LEAST, _MOST = 1e-6, 1e6  # alpha
_LARGEST = 1e3  # coefficient
_MOST_TOGETHER = 1000  # coefficients whose covariances are looked at


@dataclass(frozen=True)
class RegressionPrior(SharePrior):
    """`State.alpha` is Lambda (P, K); `design` turns what is known of documents (`Batch.known`) into x (D, P).

    A row of x with NaN is that of a document of which nothing is known: it is taken for the average one.
    """

    start: np.ndarray  # (P, K) also the mean of the coefficients' prior …
    design: Callable[[Any], np.ndarray]
    scale: np.ndarray  # (P,) … and its standard deviations
    learned: bool = True

    @property
    def learns(self) -> bool:
        return self.learned

    def held(self) -> RegressionPrior:
        return replace(self, learned=False)

    def first_topics(self, n_topics: int) -> RegressionPrior:
        return replace(self, start=self.start[:, :n_topics])

    def _distinct(self, documents: Described) -> tuple[np.ndarray, np.ndarray]:
        """(x (R, P) of documents that differ, which of them each document is)."""

        def find() -> tuple[np.ndarray, np.ndarray]:
            x = self.design(documents.known)
            x = np.where(np.isnan(x).any(axis=1, keepdims=True), np.eye(1, x.shape[1]), x)
            x, which = np.unique(x, axis=0, return_inverse=True)
            return x, which.ravel().astype(np.int32)

        return remembered(documents, self.design, find)

    def rows(self, alpha: np.ndarray, documents: Described) -> Rows:
        x, which = self._distinct(documents)
        return Rows(_exp(x @ alpha), which)

    def mean(self, alpha: np.ndarray) -> np.ndarray:
        return _exp(alpha[0])

    def summarise(self, alpha: np.ndarray, documents: Described, log_theta: np.ndarray) -> np.ndarray:
        """F without the coefficients' prior, its gradient (P, K), and a topic's information (P, P) each, in one row."""
        x, rows = self._distinct(documents)[0], self.rows(alpha, documents)
        own, size = rows.alpha, rows.sizes[:, None]
        slope = own * (size * (digamma(own.sum(axis=1, keepdims=True)) - digamma(own)) + log_theta)
        slope[(own <= _LEAST) | (own >= _MOST)] = 0.0
        curvature = size * own**2 * polygamma(1, own)
        blocks = [((x * one[:, None]).T @ x).ravel() for one in curvature.T]
        return np.concatenate([[rows.log_density(log_theta)], (x.T @ slope).ravel(), *blocks])

    def _climb(self, alpha: np.ndarray, stats: np.ndarray, scale: float = 1.0) -> tuple[float, np.ndarray, np.ndarray]:
        """F, its gradient (P, K), and the topics' information (K, P, P), with the coefficients' prior."""
        gradient, blocks = np.split(scale * stats[1:], [alpha.size])
        gradient = gradient.reshape(alpha.shape) - (alpha - self.start) / self.scale[:, None] ** 2
        information = blocks.reshape(-1, len(alpha), len(alpha)) + np.diag(self.scale**-2.0)
        return scale * float(stats[0]) + self.evidence(alpha), gradient, information

    def update(self, alpha: np.ndarray, stats: np.ndarray, scale: float = 1.0, rate: float = 1.0) -> np.ndarray:
        if not self.learned:
            return alpha
        _, gradient, information = self._climb(alpha, stats, scale)
        step = np.linalg.solve(information, gradient.T[:, :, None])[:, :, 0].T
        return alpha + rate * step * min(1.0, _LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-300))

    def maximise(self, alpha: np.ndarray, stats: np.ndarray, again: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        value, gradient, information = self._climb(alpha, stats)
        roots = np.linalg.inv(np.linalg.cholesky(information))  # (K, P, P): lambda_k = start_k + root_k' z_k

        def there(z: np.ndarray) -> np.ndarray:
            return alpha + np.einsum("kqp,kq->pk", roots, z.reshape(roots.shape[:2]))

        def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
            known = (value, gradient) if not z.any() else self._climb(there(z), again(there(z)))[:2]
            return -known[0], -np.einsum("kqp,pk->kq", roots, known[1]).ravel()

        start = np.zeros(alpha.size)
        found = minimize(
            loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS, "ftol": _TOL, "gtol": 0.0}
        )
        return there(found.x)

    def change(self, before: np.ndarray, after: np.ndarray) -> float:
        return float(np.abs(after - before).max(initial=0.0))

    def evidence(self, alpha: np.ndarray) -> float:
        return float(-0.5 * (((alpha - self.start) / self.scale[:, None]) ** 2).sum())

    def check(self, alpha: np.ndarray) -> None:
        if not (np.abs(alpha) < _LARGEST).all():
            raise ValueError("the coefficients of the prior on topic shares are no finite numbers")

    def information(self, alpha: np.ndarray, documents: Described, counts: np.ndarray) -> np.ndarray:
        """(K P, K P) what topic counts (D, K) tell about the coefficients, a topic after the other; additive.

        It is the curvature of -log p(counts | alpha), a Dirichlet-multinomial's, but for the part that vanishes where
        alpha is right; with very many coefficients, without what one topic tells about another.
        """
        (x, which), own = self._distinct(documents), self.rows(alpha, documents)
        size, mine = counts.sum(axis=1), own.alpha[which]
        gained = polygamma(1, mine) - polygamma(1, mine + counts)
        within, across = np.zeros_like(own.alpha), np.zeros(len(x))
        np.add.at(within, which, gained)
        np.add.at(across, which, polygamma(1, mine.sum(axis=1)) - polygamma(1, mine.sum(axis=1) + size))
        n_coef, n_topics = alpha.shape
        found = np.zeros((n_topics, n_coef, n_topics, n_coef))
        for k, one in enumerate((within * own.alpha**2).T):
            found[k, :, k] = (x * one[:, None]).T @ x
        if n_topics * n_coef <= _MOST_TOGETHER:
            tilt = (own.alpha[:, :, None] * x[:, None]).reshape(len(x), -1)
            found -= ((tilt * across[:, None]).T @ tilt).reshape(found.shape)
        return found.reshape(n_topics * n_coef, -1)

    def errors(self, information: np.ndarray) -> np.ndarray:
        """(P, K) standard errors of the coefficients, given the topics."""
        n_topics = self.start.shape[1]
        whole = information + np.diag(np.tile(self.scale**-2.0, n_topics))
        variance = np.diag(np.linalg.pinv(whole, hermitian=True)).reshape(n_topics, -1)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)).T)


def _exp(logs: np.ndarray) -> np.ndarray:
    return np.clip(np.exp(np.clip(logs, -50.0, 50.0)), _LEAST, _MOST)
