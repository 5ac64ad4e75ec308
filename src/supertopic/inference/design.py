"""What the linear predictors of documents are made of: their moments, and the normal equations of the coefficients.

Zbar is the mean of N draws from a document's expected shares m, x its covariates, and s = coef·(Zbar, x) has

    E[s] = coef·(m, x)      E[s²] = E[s]² + Var_m[coef]/N      E[exp s] = (m·exp(coef/N))^N exp(coef·x)

A response's expectation is linear in these (`supertopic.responses.base`), so that the best coefficients solve

    gram coef = cross     quadratic column   gram = sum_d curvature E[(Zbar, x)(Zbar, x)'],  cross = sum_d slope (m, x)
                          product column     a Newton step, at tilted shares t ∝ m exp(coef/N), w = curvature E[exp s]:
                                             gram = sum_d w E_t[(Zbar, x)(Zbar, x)'],
                                             cross = sum_d slope (m, x) - w (t, x) + gram coef

`lengths` of infinity are shares known exactly, and then this is the iteration of any generalised linear model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from supertopic.backends.base import Run, in_turn

_BLOCK = 1024  # documents


def shifted(
    score: np.ndarray, moment: np.ndarray, offset: np.ndarray, is_product: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """E[s + offset] and its second moment, from those of s."""
    square = moment + offset * (2 * score + offset)
    if is_product.any():
        square = np.where(is_product, moment * np.exp(np.minimum(offset, 300.0)), square)
    return score + offset, square


def mean_shares(doc_topic: np.ndarray, alpha: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(D, K) E[Zbar] of documents with Dirichlet parameters `doc_topic`; arguments as `Design.of`."""
    mean = (doc_topic - alpha) / lengths[:, None]
    if (empty := np.isinf(lengths)).any():
        mean[empty] = np.broadcast_to(alpha / alpha.sum(axis=1, keepdims=True), mean.shape)[empty]
    return mean


@dataclass(frozen=True)
class Design:
    """What the linear predictors of D documents are made of."""

    mean: np.ndarray  # (D, K) expected topic shares
    lengths: np.ndarray  # (D,) tokens; infinity where the shares are known exactly
    covariates: np.ndarray  # (D, P)

    @classmethod
    def of(cls, doc_topic: np.ndarray, alpha: np.ndarray, lengths: np.ndarray, covariates: np.ndarray) -> Design:
        """From Dirichlet parameters gamma = alpha + expected counts; an empty document has the prior's mean.

        alpha : (D, K), or (1, K) for all documents (`Rows.by_document`)
        """
        return cls(mean_shares(doc_topic, alpha, lengths), lengths, covariates)

    @property
    def blocks(self) -> list[slice]:
        """Rows of documents whose statistics are computed at once; few enough to stay in the cache of a core."""
        return [slice(first, first + _BLOCK) for first in range(0, len(self.lengths), _BLOCK)]

    def rows(self, some: slice) -> Design:
        """Some of the documents."""
        return Design(self.mean[some], self.lengths[some], self.covariates[some])

    @cached_property
    def is_exact(self) -> bool:
        """Whether the shares of all documents are known exactly, so that s has no variance."""
        return bool(np.isinf(self.lengths).all())

    @property
    def columns(self) -> np.ndarray:
        """(D, K + P)."""
        return np.hstack([self.mean, self.covariates]) if self.covariates.shape[1] else self.mean

    def predictors(self, coef: np.ndarray) -> np.ndarray:
        """(D, C) coef·(m, x), for coef (C, K + P)."""
        return self.columns @ coef.T

    def others(self, coef: np.ndarray) -> np.ndarray:
        """(D, C) the part of s that does not come from topics."""
        return self.covariates @ coef[:, self.mean.shape[1] :].T

    def moments(self, coef: np.ndarray, is_product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[s] and E[s²] or E[exp s], each (D, C), for coef (C, K + P)."""
        if self.is_exact:
            score = self.predictors(coef)
            return score, _moments_of_known(score, is_product)
        topics, others = coef[:, : self.mean.shape[1]], self.others(coef)
        score = self.mean @ topics.T
        variance = np.maximum(self.mean @ (topics**2).T - score**2, 0.0)
        moment = (score + others) ** 2 + variance / self.lengths[:, None]
        finite = np.isfinite(self.lengths)
        n, some = self.lengths[finite], self.mean[finite]
        for c in np.flatnonzero(is_product):
            log_moment = score[:, c].copy()
            less_one = (some * np.expm1(topics[c] / n[:, None])).sum(axis=1)
            log_moment[finite] = n * np.log1p(np.maximum(less_one, -1 + 1e-9))
            moment[:, c] = np.exp(np.clip(log_moment + others[:, c], -300.0, 300.0))
        return score + others, moment

    def normal_equations(
        self, coef: np.ndarray, is_product: np.ndarray, moment: np.ndarray, slope: np.ndarray, curvature: np.ndarray,
        run: Run = in_turn,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """(gram (C, K + P, K + P), cross (C, K + P)) of these documents; those of two sets of documents add up.

        run : how the columns' equations are found, which do not depend on each other
        """
        n_topics, n_coef = self.mean.shape[1], coef.shape[1]
        gram, cross = np.empty((len(coef), n_coef, n_coef)), slope.T @ self.columns
        diagonal, others = np.arange(n_topics), slice(n_topics, n_coef)

        def find(c: int) -> None:
            tilt = coef[c, :n_topics] if is_product[c] else None
            weight = curvature[:, c] * moment[:, c] if is_product[c] else curvature[:, c]
            shares, gram[c][:n_topics, :n_topics] = self.pairs(tilt, weight)
            gram[c][diagonal, diagonal] += (weight / self.lengths) @ shares
            if n_coef > n_topics:
                weighted = self.covariates * weight[:, None]
                gram[c][others, others] = weighted.T @ self.covariates
                gram[c][others, :n_topics] = weighted.T @ shares
                gram[c][:n_topics, others] = gram[c][others, :n_topics].T
            if is_product[c]:
                cross[c] += gram[c] @ coef[c] - weight @ np.hstack([shares, self.covariates])

        run([(find, c) for c in range(len(coef))])
        return gram, cross

    def gradient(
        self, coef: np.ndarray, is_product: np.ndarray, moment: np.ndarray, slope: np.ndarray, curvature: np.ndarray
    ) -> np.ndarray:
        """(C, K + P): cross - gram·coef, without gram."""
        if self.is_exact:
            weight = moment if is_product.all() else np.where(is_product, moment, self.predictors(coef))
            return (slope - curvature * weight).T @ self.columns
        n_topics = self.mean.shape[1]
        topics, others = coef[:, :n_topics], self.others(coef)
        score = self.mean @ topics.T
        quadratic = np.where(is_product, 0.0, curvature)
        own = quadratic / self.lengths[:, None]  # of a token's own variance
        result = (slope - quadratic * (score + others)).T @ self.columns
        result[:, :n_topics] += (own * score).T @ self.mean - topics * (own.T @ self.mean)
        for c in np.flatnonzero(is_product):
            result[c] -= (curvature[:, c] * moment[:, c]) @ np.hstack([self.tilted(topics[c]), self.covariates])
        return result

    def tilted(self, tilt: np.ndarray) -> np.ndarray:
        """(D, K) shares t ∝ m exp(tilt/N)."""
        if self.is_exact:
            return self.mean
        shares = self.mean * np.exp(tilt / self.lengths[:, None])
        return shares / shares.sum(axis=1, keepdims=True)

    def pairs(self, tilt: np.ndarray | None, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(D, K) mean shares m of each document's tokens, tilted by exp(tilt/N) or not, and the sum over documents of
        weight (m m' - the tokens' mean outer product / N), (K, K): all tokens of a document have the same shares.
        """
        shares = self.mean if tilt is None else self.tilted(tilt)
        return shares, weighted_gram(shares, weight - weight / self.lengths)


@dataclass(frozen=True)
class TokenDesign(Design):
    """A design that knows the shares of each token; `mean` is theirs."""

    phi: np.ndarray = field(kw_only=True)  # (entries, K)
    counts: np.ndarray = field(kw_only=True)  # (entries,)
    indptr: np.ndarray = field(kw_only=True)

    def pairs(self, tilt: np.ndarray | None, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        per_document = np.diff(self.indptr)
        empty = per_document == 0
        shares, phi = self.mean, self.phi
        if tilt is not None:
            phi = phi * np.exp(tilt / np.repeat(self.lengths, per_document)[:, None])
            phi /= phi.sum(axis=1, keepdims=True)
            padded = np.vstack([phi * self.counts[:, None], np.zeros((1, phi.shape[1]))])
            shares = np.add.reduceat(padded, self.indptr[:-1], axis=0) / self.lengths[:, None]
            shares[empty] = self.mean[empty]
        own = phi * (np.repeat(weight / self.lengths**2, per_document) * self.counts)[:, None]
        return shares, weighted_gram(shares, weight) - own.T @ phi


def _moments_of_known(score: np.ndarray, is_product: np.ndarray) -> np.ndarray:
    """s² or exp s."""
    if not is_product.any():
        return score**2
    found = np.exp(np.clip(score, -300.0, 300.0))
    return found if is_product.all() else np.where(is_product, found, score**2)


def weighted_gram(columns: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(K, K) sum over rows of weight·x x'. BLAS takes half the time where it sees one matrix, times itself."""
    if weight.min(initial=0.0) < 0:
        return (columns * weight[:, None]).T @ columns
    root = columns * np.sqrt(weight)[:, None]
    return root.T @ root
