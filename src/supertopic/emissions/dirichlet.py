"""Dirichlet–multinomial topics: beta_k ~ Dirichlet(prior), q(beta_k) = Dirichlet(lambda_k)."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import digamma, gammaln

from supertopic.emissions.base import Emission
from supertopic.emissions.seeds import Seeds
from supertopic.kernels.e_step_words import expect_topics
from supertopic.kernels.word_sums import add_rows, expect_logs, topic_evidence

if TYPE_CHECKING:
    from supertopic.backends.base import Backend

_WORDS_AT_ONCE = 1024
_NOTHING = np.float32(1e-30)  # replaces zero where we divide by it or take its logarithm


class DirichletTopics(Emission):
    """E[log beta_wk] = psi(lambda_wk) - psi(sum_w lambda_wk), lambda = prior + expected counts.

    Parameters
    ----------
    prior : float
        Smoothing of the topics. 0: no prior, topics by maximum likelihood (Blei, Ng & Jordan's first model).
    at_mean : bool
        Whether the E-step's weights are E[beta] = lambda / sum_w lambda instead of exp E[log beta]. Collapsed inference
        of order zero (CVB0) takes the mean. It is also the mode under Dirichlet(prior + 1), and the log-density of that
        distribution is then the evidence.
    seeds : Seeds, optional
        Pseudo-counts that some words have in some topics, beside `prior`.
    """

    name = "dirichlet"

    prior: float
    at_mean: bool
    seeds: Seeds

    def __init__(self, prior: float, at_mean: bool = False, seeds: Seeds | None = None) -> None:
        if not isinstance(prior, Real) or not 0 <= float(prior) < np.inf:
            raise ValueError(f"topic_word_prior: got {prior!r}, expected a number >= 0 (0: maximum likelihood)")
        self.prior, self.seeds = float(prior), Seeds.none() if seeds is None else seeds
        if len(self.seeds) and self.prior == 0.0:
            raise ValueError("topic_word_prior: got 0, but seed_words needs a number > 0")
        self.at_mean = at_mean or self.prior == 0.0

    @classmethod
    def make(cls, *, topic_word_prior: float, collapsed: bool) -> Self:
        return cls(topic_word_prior, collapsed)

    def seeded(self, seeds: Seeds) -> Self:
        return type(self)(self.prior, self.at_mean, seeds)

    def first(self, counts: np.ndarray, backend: Backend) -> np.ndarray:
        counts = self.seeds.arranged(counts)
        np.add(counts, np.float32(self.prior), out=counts)
        self.seeds.add_to(counts)
        return counts

    def expect(
        self, word_topic: np.ndarray, backend: Backend, *, log: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        weights = np.empty_like(word_topic) if out is None else out
        return self._expect(word_topic, _totals(word_topic, backend), backend, log, weights)

    def expect_words(
        self, word_topic: np.ndarray, words: np.ndarray, backend: Backend, *, out: np.ndarray, log: bool = False
    ) -> np.ndarray:
        some = word_topic[words]
        out[words] = self._expect(some, _totals(word_topic, backend), backend, log, some)
        return out

    def _expect(
        self, word_topic: np.ndarray, totals: np.ndarray, backend: Backend, log: bool, weights: np.ndarray
    ) -> np.ndarray:
        """The weights of some words; `totals` are the sums over all words."""
        if self.at_mean:
            return self._at_mean(word_topic, np.maximum(totals, _NOTHING), backend, log, weights)
        psi_totals = digamma(totals)
        kernel, by_topic = (expect_logs, psi_totals) if log else (expect_topics, np.exp(-psi_totals).astype(np.float32))
        backend.over_range(len(weights), lambda start, stop: kernel(start, stop, word_topic, by_topic, weights))
        return weights

    def _at_mean(
        self, word_topic: np.ndarray, totals: np.ndarray, backend: Backend, log: bool, weights: np.ndarray
    ) -> np.ndarray:
        """The means of the words' probabilities, or their logarithms."""

        def divide(start: int, stop: int) -> None:
            own = weights[start:stop]
            own[:] = word_topic[start:stop] / totals
            if log:
                np.log(np.maximum(own, _NOTHING), out=own)

        backend.over_range(len(weights), divide)
        return weights

    def evidence(self, word_topic: np.ndarray, backend: Backend) -> float:
        if self.prior == 0.0:
            return 0.0
        totals = _totals(word_topic, backend)
        return self._evidence(word_topic, totals, backend) + self._evidence_of_seeds(word_topic, totals)

    def _evidence_of_seeds(self, word_topic: np.ndarray, totals: np.ndarray) -> float:
        """What the evidence gains by pseudo-counts."""
        if not len(self.seeds):
            return 0.0
        own, all_of = self.seeds.at(word_topic), totals[self.seeds.topics]
        logs = np.log(own / all_of) if self.at_mean else digamma(own) - digamma(all_of)
        prior = self.prior + 1.0 if self.at_mean else self.prior
        return float(self.seeds.counts @ logs) + self.seeds.log_norm(prior, *word_topic.shape)

    def _evidence(self, word_topic: np.ndarray, totals: np.ndarray, backend: Backend) -> float:
        """The evidence without pseudo-counts."""
        if self.at_mean:
            logs = _sum_logs(word_topic, backend)
            norm = gammaln(len(word_topic) * (self.prior + 1.0)) - len(word_topic) * gammaln(self.prior + 1.0)
            return self.prior * (logs - len(word_topic) * float(np.log(totals).sum())) + len(totals) * float(norm)
        psi_totals = digamma(totals)
        by_word = np.empty(len(word_topic))

        def add(start: int, stop: int) -> None:
            topic_evidence(start, stop, word_topic, psi_totals, self.prior, by_word)

        backend.over_range(len(word_topic), add)
        return float(by_word.sum() + (gammaln(self.prior * len(word_topic)) - gammaln(totals)).sum())

    def update(self, word_topic: np.ndarray, counts: np.ndarray, rate: float, backend: Backend) -> np.ndarray:
        np.add(counts, np.float32(self.prior), out=counts)
        self.seeds.add_to(counts)
        if rate < 1.0:
            counts *= np.float32(rate)
            for rows in _parts(len(counts)):  # in parts, which takes less memory
                counts[rows] += np.float32(1.0 - rate) * word_topic[rows]
        return counts

    def probabilities(self, word_topic: np.ndarray, *, by_word: bool = False) -> np.ndarray:
        components = np.array(word_topic if by_word else word_topic.T, dtype=np.float32, order="C")
        components += _NOTHING  # a topic without any word (maximum likelihood) becomes uniform instead of NaN
        components /= components.sum(axis=0 if by_word else 1, keepdims=True, dtype=np.float64)
        return components


def _parts(n_words: int) -> list[slice]:
    """Ranges of words. They do not depend on the number of threads."""
    return [slice(start, start + _WORDS_AT_ONCE) for start in range(0, n_words, _WORDS_AT_ONCE)]


def _totals(word_topic: np.ndarray, backend: Backend) -> np.ndarray:
    """sum_w lambda_wk, float64. Parts are added in a fixed order, so the sum does not depend on the threads."""
    parts = _parts(len(word_topic))
    sums = np.zeros((len(parts), word_topic.shape[1]))
    backend.all([(add_rows, word_topic[rows], sums[i]) for i, rows in enumerate(parts)])
    return sums.sum(axis=0)


def _sum_logs(word_topic: np.ndarray, backend: Backend) -> float:
    """sum_wk log lambda_wk, float64, in parts as `_totals`."""
    parts = _parts(len(word_topic))
    sums = np.zeros(len(parts))

    def add(place: int) -> None:
        sums[place] = np.log(word_topic[parts[place]], dtype=np.float64).sum()

    backend.all([(add, place) for place in range(len(parts))])
    return float(sums.sum())


def integrable_prior(emission: Emission) -> float:
    """The prior of topics that a Gibbs sampler can integrate out or draw. Refuses all others in one sentence."""
    if type(emission) is not DirichletTopics:  # a subclass may have another prior, which the sampler does not know
        raise ValueError(f"inference: got 'gibbs', which needs Dirichlet topics, but the emission is {emission.name!r}")
    if emission.prior == 0.0:
        raise ValueError("topic_word_prior: got 0, but inference='gibbs' needs a number > 0")
    return emission.prior


def seeds_of(emission: Emission) -> Seeds:
    """The pseudo-counts of the topics' prior."""
    return emission.seeds if isinstance(emission, DirichletTopics) else Seeds.none()
