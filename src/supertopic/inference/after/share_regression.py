"""Regressions of topic shares on metadata, with errors that hold for any scatter, and by groups of documents.

With X (n, P) the columns of a formula and Y (n, K) shares, B = (X'X)^-1 X'Y. A quantity is linear in both: lambda' B c,
with lambda what is asked of the columns (a coefficient, a difference of two mean rows) and c which topics are taken
(one, the sum of several, one less another). Its variance is lambda' V(c) lambda, where V(c) is the sandwich of the
regression of Y c (`supertopic.inference.after.sandwich`): HC3, or where documents of a group go together, the jackknife
over groups.

Other topics give other coefficients. Those of refits, with their topics matched, add to the variance

    V + (1 + 1/R) sum_r (lambda' (B_r - B) c)² / R

the deviations being taken from the model's own estimate, over the refits that find the topic again. Degrees of freedom
are Welch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg import null_space, qr
from scipy.stats import t as student

from supertopic.inference.after.sandwich import hc3, moved_without

_DEPENDENT = 1e-9  # diagonal of a pivoted QR relative to its first, below which a column depends on the others


class Evidence(Protocol):
    """Coefficients (P, K), and what is known of their errors."""

    @property
    def coef(self) -> np.ndarray: ...

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance."""
        ...

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        """(P, P) of coef @ weights; weights : (K,)"""
        ...


@dataclass(frozen=True, eq=False)
class ShareRegression:
    """Least squares of shares on columns."""

    columns: np.ndarray  # (n, P)
    shares: np.ndarray  # (n, K)
    groups: np.ndarray | None = None  # (n,) whole numbers

    @cached_property
    def coef(self) -> np.ndarray:
        return np.linalg.solve(self.columns.T @ self.columns, self.columns.T @ self.shares)

    @property
    def freedom(self) -> float:
        if self.groups is None:
            return float(max(len(self.columns) - self.columns.shape[1], 1))
        return float(len(np.unique(self.groups)) - 1)

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        if self.groups is None:
            ones, nothing = np.ones(len(self.columns)), np.zeros((self.columns.shape[1],) * 2)
            return hc3(self.columns, self._residuals @ weights, ones, nothing)
        moved = self._moved @ weights
        return (len(moved) - 1) / len(moved) * (moved.T @ moved)

    @property
    def _residuals(self) -> np.ndarray:
        return self.shares - self.columns @ self.coef

    @cached_property
    def _moved(self) -> np.ndarray:
        """(G, P, K) what coefficients move by without each group."""
        assert self.groups is not None
        ones, nothing = np.ones(len(self.columns)), np.zeros((self.columns.shape[1],) * 2)
        return moved_without(self.columns, self._residuals, ones, nothing, self.groups)


@dataclass(frozen=True, eq=False)
class Halves:
    """The mean of regressions on different documents, whose topics were found without them.

    usable : (H, K) which parts have a topic's like; a topic that none has is NaN
    """

    parts: Sequence[Evidence]
    usable: np.ndarray

    @cached_property
    def _share(self) -> np.ndarray:
        """(H, K) of each part in the mean."""
        with np.errstate(invalid="ignore"):
            return self.usable / self.usable.sum(axis=0)

    @cached_property
    def coef(self) -> np.ndarray:
        return np.sum([one.coef * share for one, share in zip(self.parts, self._share, strict=True)], axis=0)

    @property
    def freedom(self) -> float:
        return sum(one.freedom for one in self.parts)

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        pairs = zip(self.parts, np.where(weights == 0, 0.0, self._share), strict=True)
        return np.sum([one.covariance(weights * share) for one, share in pairs], axis=0)


@dataclass(frozen=True, eq=False)
class Composed:
    """The method of composition: regressions of draws of the shares from their posterior, pooled by Rubin's rule."""

    draws: Sequence[ShareRegression]

    @cached_property
    def coef(self) -> np.ndarray:
        return np.mean([one.coef for one in self.draws], axis=0)

    @property
    def freedom(self) -> float:
        return self.draws[0].freedom

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        within = np.mean([one.covariance(weights) for one in self.draws], axis=0)
        apart = np.stack([(one.coef - self.coef) @ weights for one in self.draws])
        n = len(self.draws)
        return within + (1.0 + 1.0 / n) * (apart.T @ apart) / max(n - 1, 1)


class Found(NamedTuple):
    """Quantities (T, M) with their errors."""

    estimate: np.ndarray
    std_error: np.ndarray
    freedom: np.ndarray

    def ends(self, probability: float) -> tuple[np.ndarray, np.ndarray]:
        """Of the intervals."""
        reach = student.ppf(0.5 + probability / 2, self.freedom) * self.std_error
        return self.estimate - reach, self.estimate + reach

    @property
    def p(self) -> np.ndarray:
        """Of the hypothesis that a quantity is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return 2.0 * student.sf(np.abs(self.estimate) / self.std_error, self.freedom)


@dataclass(frozen=True, eq=False)
class Pooled:
    """Evidence with the model's own topics, and coefficients with the topics of refits."""

    own: Evidence
    others: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))  # (R, P, K)
    found: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))  # (R, K) where a topic has its like

    def at(self, rows: np.ndarray, weights: np.ndarray) -> Found:
        """rows : (T, P) lambda;  weights : (K, M) c of each quantity."""
        estimate = rows @ self.own.coef @ weights
        covariances = [self.own.covariance(one) for one in weights.T]
        given = np.stack([np.einsum("tp,pq,tq->t", rows, one, rows, optimize=True) for one in covariances], axis=1)
        freedom = np.full_like(given, self.own.freedom)
        if len(self.others):
            apart = np.einsum("tp,rpk,km->rtm", rows, self.others - self.own.coef, weights, optimize=True)
            used = self._used(weights)
            n = used.sum(axis=0)
            topics = (1.0 + 1.0 / n) * (apart**2 * used[:, None]).sum(axis=0) / n
            total = given + topics
            freedom = total**2 / np.maximum(given**2 / self.own.freedom + topics**2 / n, 1e-300)
            given = total
        return Found(estimate, np.sqrt(np.maximum(given, 0.0)), np.maximum(freedom, 1.0))

    def _used(self, weights: np.ndarray) -> np.ndarray:
        """(R, M) the refits that have the likes of all topics of a quantity; all refits where fewer than two have."""
        used = (self.found.astype(np.float64) @ (weights != 0)) == (weights != 0).sum(axis=0)
        return used | (used.sum(axis=0) < 2)


def dependent_columns(columns: np.ndarray) -> list[int]:
    """Places of columns that the others determine."""
    size = np.linalg.norm(columns, axis=0)
    triangle, order = qr(columns / np.where(size > 0, size, 1.0), mode="r", pivoting=True)
    diagonal = np.zeros(columns.shape[1])
    diagonal[: min(triangle.shape)] = np.abs(np.diagonal(triangle))
    return sorted(int(place) for place in order[diagonal <= _DEPENDENT * max(diagonal[0], 1e-300)])


def permuted_p(regression: ShareRegression, rows: np.ndarray, weights: np.ndarray, n: int, seed: int) -> np.ndarray:
    """(T, M) p-values of lambda' B c by n permutations, whatever the law of the scatter is; rows : (T, P) lambda.

    Each quantity has its own (Freedman & Lane): the residuals of the regression in which it is zero are put on other
    documents, or change their sign by groups, and t is found again, with the same errors.
    """
    x, y, groups = regression.columns, regression.shares @ weights, regression.groups
    inverse = np.linalg.inv(x.T @ x)
    found = np.empty((len(rows), y.shape[1]))
    rng = np.random.default_rng([seed, 29])
    member = None if groups is None else _membership(groups)
    for place, row in enumerate(rows):
        rest = x @ null_space(row[None])
        residual = y - rest @ np.linalg.lstsq(rest, y, rcond=None)[0]
        influence = x @ (inverse @ row)
        own = _t(x, inverse, influence, residual, member)
        larger = np.ones_like(own)
        for _ in range(n):
            moved = residual[rng.permutation(len(x))] if member is None else _flipped(residual, member, rng)
            larger += np.abs(_t(x, inverse, influence, moved, member)) >= np.abs(own) * (1.0 - 1e-12)
        found[place] = larger / (n + 1)
    return found


def _membership(groups: np.ndarray) -> sp.csr_matrix:
    _, code = np.unique(groups, return_inverse=True)
    return sp.csr_matrix((np.ones(len(code)), (code, np.arange(len(code)))))


def _flipped(residual: np.ndarray, member: sp.csr_matrix, rng: np.random.Generator) -> np.ndarray:
    return residual * (member.T @ rng.choice([-1.0, 1.0], member.shape[0]))[:, None]


def _t(
    x: np.ndarray, inverse: np.ndarray, influence: np.ndarray, y: np.ndarray, member: sp.csr_matrix | None
) -> np.ndarray:
    """(M,) t of the quantity with this influence (n,), by the errors of documents or of groups."""
    scores = influence[:, None] * (y - x @ (inverse @ (x.T @ y)))
    total = scores if member is None else member @ scores
    return (influence @ y) / np.sqrt(np.maximum((total**2).sum(axis=0), 1e-300))
