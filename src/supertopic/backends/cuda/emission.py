"""Dirichlet topics whose parameters lie on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma, gammaln

from supertopic.backends.cuda.arrays import Matrix, padded
from supertopic.backends.cuda.kernels import topics
from supertopic.backends.cuda.memory import sent
from supertopic.emissions.dirichlet import DirichletTopics

if TYPE_CHECKING:
    from supertopic.backends.base import Backend


class DeviceTopics(DirichletTopics):
    """The same topics; an array of parameters is a `Matrix`, and one of the host is sent to the device."""

    def expect(self, word_topic: Any, backend: Backend, *, log: bool = False, out: Any = None) -> Any:
        given = Matrix.of(word_topic)
        weights = out if isinstance(out, Matrix) else Matrix.empty(*given.shape)
        totals = _totals(given)
        scale = 1.0 / np.maximum(totals, 1e-30) if self.at_mean else np.exp(-digamma(totals))
        by_topic = sent(padded(scale), np.float32)
        given.by_topic(topics.expect, given.shape[1], given.flat, by_topic, self.at_mean, given.width, weights.flat)
        weights.changed()
        return weights

    def evidence(self, word_topic: Any, backend: Backend) -> float:
        if self.prior == 0.0:
            return 0.0
        given = Matrix.of(word_topic)
        totals, (n_words, n_topics) = _totals(given), given.shape
        if self.at_mean:
            logs = float(given.sums(topics.add_logs, n_topics, given.flat, given.width).sum())
            norm = gammaln(n_words * (self.prior + 1.0)) - n_words * gammaln(self.prior + 1.0)
            return self.prior * (logs - n_words * float(np.log(totals).sum())) + n_topics * float(norm)
        psi = sent(padded(digamma(totals), dtype=np.float64), np.float64)
        by_topic = given.sums(topics.add_evidence, n_topics, given.flat, psi, self.prior, given.width)
        return float((by_topic + gammaln(self.prior * n_words) - gammaln(totals)).sum())

    def update(self, word_topic: Any, counts: Any, rate: float, backend: Backend) -> Any:
        after = Matrix.of(counts)
        before = Matrix.of(word_topic) if rate < 1.0 else after
        after.by_topic(topics.blend, after.shape[1], self.prior, float(rate), before.flat, after.width, after.flat)
        after.changed()
        return after


def _totals(given: Matrix) -> np.ndarray:
    """(K,) sum_w lambda_wk, float64."""
    return given.sums(topics.sum_topics, given.flat, given.width)
