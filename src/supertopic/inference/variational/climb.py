"""How topics climb in prediction-constrained training: by Adam on their logarithms, which are averaged on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from supertopic.backends.base import LocalOps


class Climbing(NamedTuple):
    """How the topics are trained; tried on movie, hotel and restaurant reviews and on talks."""

    rate: float = 0.05  # of Adam in the first step; it falls linearly to zero
    momentum: float = 0.9
    memory: float = 0.99  # of Adam's squares
    dropped: float = 0.5  # part of a document's distinct words that a step leaves out at random, against overfitting
    memory_of_topics: float = 0.98  # of the average of log b
    patience: int = 10  # epochs without a gain before training stops
    last_epochs: float = 0.3  # epochs over all documents at the end, as a part of those up to the best one
    last_rate: float = 0.25  # of Adam in the first of them at least, as a part of `rate`
    batches: int = 16  # of an epoch at least, unless they would have fewer than 16 documents
    batch_size: int = 256  # documents of a batch at most, unless an epoch would have more than …
    most_batches: int = 64

    def size(self, n_documents: int) -> int:
        """Documents of a batch."""
        return int(np.clip(n_documents // self.batches, 16, max(self.batch_size, n_documents // self.most_batches)))


SETTINGS = Climbing()
# by `focus`: pseudo-tokens that are added for each token of the corpus, words of the topics at the start
PULLS = {"predict": 0.0, "balance": 0.05, "describe": 0.3}
_NAMES = "logits", "mean", "square", "average"


class Rates(NamedTuple):
    """How far one step of Adam moves its parts."""

    mean: float
    square: float
    step: float  # of the logits
    whole: float  # what the squares have seen so far, as a part of one
    average: float


@dataclass
class Climb:
    """Where the topics are: logarithms, up to a constant of each topic, and Adam's moments of the gradient, (V, K)."""

    logits: np.ndarray
    mean: np.ndarray
    square: np.ndarray
    average: np.ndarray  # of the logits over the last steps
    steps: int = 0
    anchor: Any = None  # (V, K) topics that the objective pulls towards …
    pull: float = PULLS["balance"]  # … as so much of all words

    @classmethod
    def of(cls, topics: np.ndarray, anchor: Any = None, pull: float = PULLS["balance"]) -> Climb:
        logits = np.log(np.asarray(topics) + np.float32(1e-12))
        return cls(logits, np.zeros_like(logits), np.zeros_like(logits), logits.copy(), anchor=anchor, pull=pull)

    def on(self, ops: LocalOps) -> Climb:
        """With its arrays where these operations are."""
        anchor = None if self.anchor is None else ops.place(self.anchor)
        logits, mean, square, average = map(ops.place, self._arrays)
        return Climb(logits, mean, square, average, self.steps, anchor, self.pull)

    @property
    def _arrays(self) -> tuple[Any, Any, Any, Any]:
        return self.logits, self.mean, self.square, self.average

    def over(self, places: np.ndarray) -> Climb:
        """Over other words; places : where each is now, or -1 of a new one, which begins as the rarest one is."""
        stays = (places >= 0)[:, None]
        logits, average = (np.where(stays, one[places], one.min(axis=0)) for one in (self.logits, self.average))
        mean, square = (np.where(stays, one[places], np.float32(0.0)) for one in (self.mean, self.square))
        return Climb(logits, mean, square, average, self.steps, pull=self.pull)

    def topics(self, ops: LocalOps) -> Any:
        """b (V, K) where the last step ended, columns sum to one."""
        return ops.distributions(self.logits)

    def averaged(self, ops: LocalOps) -> Any:
        """b (V, K) of the average over the last steps."""
        return ops.distributions(self.average)

    def step(self, topics: object, gradient: object, prior: float, rate: float, ops: LocalOps) -> Any:
        """Take one step of Adam, and return the topics b after it.

        The step climbs f(b) + prior · sum_wk log b_wk, where f is the objective. With an anchor b0 it climbs
        f(b) + sum_wk (prior + pull / K · b0_wk) log b_wk, the logarithm of a Dirichlet prior whose mode is near b0.

        topics : (V, K) where the last step ended; overwritten
        gradient : (V, K) of f with respect to b; overwritten
        prior : pseudo-tokens of each word in each topic, for each token of the corpus
        """
        self.steps += 1
        pull = 0.0 if self.anchor is None else self.pull / self.logits.shape[1]
        anchor = topics if self.anchor is None else self.anchor
        return ops.climb(topics, gradient, prior, pull, anchor, self.rates(rate), self._arrays)

    def rates(self, rate: float) -> Rates:
        """How far the step just begun goes."""
        first, second = (1.0 - keep**self.steps for keep in (SETTINGS.momentum, SETTINGS.memory))
        keep = min(SETTINGS.memory_of_topics, self.steps / (self.steps + 10.0))  # the start is soon forgotten
        return Rates(1.0 - SETTINGS.momentum, 1.0 - SETTINGS.memory, rate / first, second, 1.0 - keep)

    @classmethod
    def restore(cls, arrays: dict[str, np.ndarray], steps: int, pull: float) -> Climb:
        """From what `arrays` gave, which is taken out of `arrays`."""
        logits, mean, square, average = (arrays.pop(name) for name in _NAMES)
        return cls(logits, mean, square, average, steps, arrays.pop("anchor", None), pull)

    def arrays(self) -> dict[str, np.ndarray]:
        anchor = {} if self.anchor is None else {"anchor": np.asarray(self.anchor)}
        return {name: np.asarray(array) for name, array in zip(_NAMES, self._arrays, strict=True)} | anchor
