"""Sparse deviations from a background, for several classes at once (Eisenstein, Ahmed & Xing 2011).

    p(word | class k) = exp(m_w + eta_kw) / Z_k

    F(m, eta) = sum_k [c_k'(m + eta_k) - C_k log Z_k] - penalty(eta) + unseen * (sum of m_w over words never seen)

The paper fixes the background m at the frequencies of the corpus. A word that only one class uses then counts as
background, too, and the deviation of that class becomes too small. Here m is fitted by iterative scaling, which raises
F: it gained 4.0 points of accuracy on 5 % of 20 Newsgroups and 1.4 on all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from numbers import Real

import numpy as np

from supertopic.backends.base import Backend
from supertopic.kernels.deviations import N_TABLE, add_penalties, expect_words, fill_penalty, fit_classes

PRIORS, BACKGROUNDS = ("jeffreys", "exponential"), ("fitted", "corpus")
_BETWEEN = 0.03  # pseudo-count of the first background; within the training set, 0.01 to 0.1 were as good
_START = 0.01  # pseudo-count of the first deviations, which must not be zero


def require_positive(name: str, value: object) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name}: got {value!r}, expected a number > 0")


@dataclass(frozen=True)
class SparsePrior:
    """Prior on the variance of each deviation: Jeffreys (no parameter), or exponential with rate `gamma`.

    The background is "fitted", or the frequencies of the "corpus". A word that was never seen counts `unseen` times in
    the background, and in no class.
    """

    name: str = "jeffreys"
    gamma: float = 1.0
    background: str = "fitted"
    unseen: float = 0.1

    def __post_init__(self) -> None:
        if self.name not in PRIORS:
            raise ValueError(f"prior: got {self.name!r}, expected {' or '.join(map(repr, PRIORS))}")
        if self.background not in BACKGROUNDS:
            raise ValueError(f"background: got {self.background!r}, expected {' or '.join(map(repr, BACKGROUNDS))}")
        for name, value in (("gamma", self.gamma), ("unseen", self.unseen)):
            require_positive(name, value)

    @property
    def rate(self) -> float:
        """The rate as the kernels take it: 0 is Jeffreys."""
        return 0.0 if self.name == "jeffreys" else float(self.gamma)


@dataclass
class Deviations:
    """Background (V,) float64, normalised logs; deviations (K, V) float64 with exact zeros; F after each turn."""

    background: np.ndarray
    eta: np.ndarray
    trace: list[float] = field(default_factory=list)

    @property
    def n_iter(self) -> int:
        return len(self.trace) - 1


@cache
def penalty_table() -> np.ndarray:
    """The exponential prior's penalty and its slope on a grid, as `supertopic.kernels.deviations.weigh` needs them."""
    table = np.empty((N_TABLE, 2))
    fill_penalty(table)
    return table


def penalties(eta: np.ndarray, rate: float) -> float:
    """Minus the log prior of all deviations, up to a constant: a deviation of zero costs nothing."""
    return float(add_penalties(eta.ravel(), rate, penalty_table()))


def first_background(counts: np.ndarray) -> np.ndarray:
    """The geometric mean of the classes: a word that one or two classes use often deviates there, not elsewhere."""
    logs = np.log(counts + _BETWEEN).mean(axis=0)
    return logs - np.log(np.exp(logs).sum())


def first_deviations(counts: np.ndarray, background: np.ndarray) -> np.ndarray:
    """log of observed over expected counts: Newton starts here, because a deviation of zero could never move."""
    expected = counts.sum(axis=1, keepdims=True) * np.exp(background)
    return np.log((counts + _START) / (expected + _START))


def fit_deviations(
    counts: np.ndarray, prior: SparsePrior, backend: Backend, *, start: Deviations | None = None, max_iter: int = 100,
    tol: float = 1e-4,
) -> Deviations:  # fmt: skip
    """Turns of background and deviations until F gains less than `tol` per token. F never falls.

    A deviation that reaches zero stays zero in all further turns.

    counts : (K, V), the counts of each class or topic
    start : an earlier fit to go on from, with its zeros; by default all deviations start away from zero
    """
    climb = _Climb(counts, prior, backend, start)
    trace = [climb.newton(0)]
    for _ in range(max_iter):
        if prior.background == "fitted":
            climb.scale()
        trace.append(climb.newton(1))
        if trace[-1] - trace[-2] < tol * climb.totals.sum():
            break
    return Deviations(climb.background, climb.eta, trace)


class _Climb:
    """An unfinished fit. `newton` and `scale` both raise F."""

    def __init__(self, counts: np.ndarray, prior: SparsePrior, backend: Backend, start: Deviations | None) -> None:
        self.counts = np.ascontiguousarray(counts, dtype=np.float64)
        self.prior, self.backend = prior, backend
        self.totals, self.by_word = self.counts.sum(axis=1), self.counts.sum(axis=0)
        unseen = np.where(self.by_word > 0, 0.0, prior.unseen)
        self.by_word += unseen
        self.n_unseen = float(unseen.sum())
        if start is None:
            self.background = first_background(self.counts) if prior.background == "fitted" else self._frequencies()
            self.eta = first_deviations(self.counts, self.background)
        else:
            self.background = start.background.astype(np.float64)
            self.eta = np.array(start.eta, dtype=np.float64, order="C")
        self.objective, self.partition = np.empty((2, len(self.counts)))

    def _frequencies(self) -> np.ndarray:
        return np.log(self.by_word / self.by_word.sum())

    def newton(self, n_steps: int) -> float:
        """Newton steps for every class, given the background; returns F."""
        base = np.exp(self.background)
        given = (self.counts, base, self.prior.rate, penalty_table(), n_steps)

        def part(first: int, last: int) -> None:
            words, scratch = np.empty(len(base), dtype=np.int32), np.empty((4, len(base)))
            fit_classes(first, last, *given, self.eta, self.objective, self.partition, words, scratch)

        self.backend.over_range(len(self.counts), part)
        return float(self.objective.sum() + self.by_word @ self.background)

    def scale(self) -> None:
        """One step of iterative scaling of the background, given the deviations: towards expected = seen counts."""
        base, expected = np.exp(self.background), np.empty_like(self.background)
        given = (self.eta, self.totals / self.partition, base, self.n_unseen)
        self.backend.over_range(len(base), lambda first, last: expect_words(first, last, *given, expected))
        self.background = self.background + np.log(self.by_word / expected)
        self.background -= np.log(np.exp(self.background).sum())
