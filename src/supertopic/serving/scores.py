"""Linear predictors of documents whose labels nobody knows, and their moments, in plain NumPy.

The formulas are those of `kernels/e_step_token.py` and `kernels/e_step_mean.py` without a response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from supertopic.responses.base import known_moment
from supertopic.serving.documents import Block, Documents
from supertopic.serving.shares import Found, Topics

_LARGEST = 300.0  # of an exponent


class Moments(NamedTuple):
    """(D, C) each: E[s], and E[s²] of a quadratic or E[exp s] of a product column."""

    score: np.ndarray
    moment: np.ndarray

    def shifted(self, offset: np.ndarray, is_product: np.ndarray) -> Moments:
        """Those of s + offset."""
        square = self.moment + offset * (2 * self.score + offset)
        product = self.moment * np.exp(np.clip(offset, -_LARGEST, _LARGEST))
        return Moments(self.score + offset, np.where(is_product, product, square))


@dataclass(frozen=True, eq=False)
class Line:
    """s = coef·Zbar: the topics, their coefficients, and what the response needs to know of s."""

    topics: Topics
    coef: np.ndarray  # (C, K) float32
    is_product: np.ndarray  # (C,)
    uses_moments: bool

    def moments(self, documents: Documents) -> Moments:
        """Of documents; those without words have the prior's mean shares, which are known."""
        coef, topics = self.coef.astype(np.float64), self.topics
        score = np.tile(topics.prior @ coef.T, (len(documents), 1))
        moment = self._known(score)
        for block in documents.seen(topics.log_counts).blocks(len(topics.alpha)):
            score[block.rows], moment[block.rows] = self._of_block(block, coef)
        return Moments(score, moment)

    def _of_block(self, block: Block, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, C) each, of documents with words."""
        topics = self.topics
        if topics.at_mode:
            own = topics.shares_of(block) @ coef.T
            return own, self._known(own)
        found, n_tokens = topics.infer(block), block.counts.sum(axis=1, dtype=np.float64)[:, None]
        mean = found.total / n_tokens
        own = mean @ coef.T
        if not self.uses_moments:
            return own, self._known(own)
        if topics.collapsed:
            return own, self._of_mean(coef, mean, n_tokens)
        return own, self._of_tokens(block, found, own, n_tokens)

    def _known(self, score: np.ndarray) -> np.ndarray:
        """The moments of s that have no variance."""
        return known_moment(score, self.is_product)

    def _of_mean(self, coef: np.ndarray, mean: np.ndarray, n_tokens: np.ndarray) -> np.ndarray:
        """(B, C) where all tokens of a document have its mean shares."""
        found = np.empty((len(mean), len(coef)))
        for c, is_product in enumerate(self.is_product):
            if is_product:
                of_one = np.expm1(coef[c] / n_tokens)  # (B, K)
                first = (of_one * mean).sum(axis=1)
                found[:, c] = np.exp(np.minimum(n_tokens[:, 0] * np.log1p(np.maximum(first, -1 + 1e-9)), _LARGEST))
            else:
                first, square = mean @ coef[c], mean @ coef[c] ** 2
                found[:, c] = first**2 + np.maximum(square - first**2, 0.0) / n_tokens[:, 0]
        return found

    def _of_tokens(self, block: Block, found: Found, score: np.ndarray, n_tokens: np.ndarray) -> np.ndarray:
        """(B, C) with the shares of each word."""
        coef, norm, counts = self.coef, found.norm, block.counts.astype(np.float64)
        moment = np.empty(score.shape)
        plain, product = ~self.is_product, self.is_product
        if plain.any():
            own = found.phi @ coef[plain].T / norm[:, :, None]
            square = found.phi @ (coef[plain] ** 2).T / norm[:, :, None]
            variance = (counts[:, :, None] * (square - own**2)).sum(axis=1)
            moment[:, plain] = score[:, plain] ** 2 + variance / n_tokens**2
        if product.any():
            # prod_j (F·phi_j)^c_j = prod_j (1 + (F - 1)·phi_j)^c_j, and F - 1 keeps its digits in long documents
            of_one = np.expm1(coef[product].T / n_tokens[:, :, None])  # (B, K, C)
            own = np.log1p(np.matmul(found.phi, of_one) / norm[:, :, None])
            moment[:, product] = np.exp(np.minimum((counts[:, :, None] * own).sum(axis=1), _LARGEST))
        return moment


def mean_of(members: Sequence[Moments], is_product: np.ndarray) -> Moments:
    """The mean over the fits of an ensemble, with the mean of their variances."""
    if len(members) == 1:
        return members[0]
    score = np.mean([one.score for one in members], axis=0)
    variance = np.mean([one.moment - one.score**2 for one in members], axis=0)
    logs = np.mean([np.log(np.maximum(one.moment, 1e-300)) for one in members], axis=0)
    return Moments(score, np.where(is_product, np.exp(logs), score**2 + variance))


@dataclass(frozen=True, eq=False)
class Words:
    """What words add to the linear predictor beside topics: coef·u, where u is the tf-idf row of length one."""

    coef: np.ndarray  # (V, C) float32
    scale: np.ndarray  # (V,)

    def offset(self, documents: Documents) -> np.ndarray:
        """(D, C)."""
        found = np.zeros((len(documents), self.coef.shape[1]))
        for block in documents.blocks(max(self.coef.shape[1], 1)):
            logs = np.maximum(1.0 + np.log(np.maximum(block.counts, 1e-12, dtype=np.float64)), 0.0)
            values = logs * self.scale[block.words]
            values /= np.sqrt(np.maximum((values**2).sum(axis=1, keepdims=True), 1e-300))
            found[block.rows] = np.matmul(values[:, None, :], self.coef[block.words])[:, 0]
        return found
