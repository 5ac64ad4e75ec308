"""The contract of an emission: how a topic generates words.

An emission holds its topics as one array of parameters with a row per word. Only the emission itself reads this array;
an engine asks it for weights of the E-step, hands it expected counts in the M-step, and keeps the array in its State.
A new emission is one class in one file. It registers itself by its name, and estimators then accept that name as their
parameter `emission`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

if TYPE_CHECKING:
    from supertopic.backends.base import Backend
    from supertopic.emissions.seeds import Seeds

_REGISTRY: dict[str, type[Emission]] = {}


class Emission(ABC):
    """What every emission has to define. An emission itself is never changed by a fit."""

    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            _REGISTRY[cls.name] = cls

    @classmethod
    @abstractmethod
    def make(cls, *, topic_word_prior: float, collapsed: bool) -> Self:
        """The emission that an estimator's parameters describe; it may ignore parameters that do not concern it.

        topic_word_prior : smoothing of the topics
        collapsed : whether inference is collapsed (CVB0): topics are then integrated out, and stand at their mean
        """

    def seeded(self, seeds: Seeds) -> Self:
        """The same with pseudo-counts; refuses them in one sentence where the topics' prior has none."""
        raise ValueError(f"seed_words: got some with emission={self.name!r}, which has no pseudo-counts")

    @abstractmethod
    def first(self, counts: np.ndarray, backend: Backend) -> np.ndarray:
        """Parameters of first topics, from expected counts (V, K), which the emission may overwrite."""

    @abstractmethod
    def expect(
        self, word_topic: np.ndarray, backend: Backend, *, log: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """exp E[log p(word | topic)] (V, K) float32, or its logarithm.

        out : where the result may be written; it may be `word_topic` itself. An emission whose M-step needs the
            parameters as they were returns a new array instead.
        """

    def expect_words(
        self, word_topic: np.ndarray, words: np.ndarray, backend: Backend, *, out: np.ndarray, log: bool = False
    ) -> np.ndarray:
        """As `expect`, where only the rows of some words are needed: the others may hold anything."""
        return self.expect(word_topic, backend, log=log, out=out)

    @abstractmethod
    def evidence(self, word_topic: np.ndarray, backend: Backend) -> float:
        """E[log p(topics)] - E[log q(topics)], the topics' part of the bound."""

    @abstractmethod
    def update(self, word_topic: np.ndarray, counts: np.ndarray, rate: float, backend: Backend) -> np.ndarray:
        """Parameters after an M-step on expected counts (V, K), which the emission may overwrite.

        A rate of 1 is the M-step of batch inference. A smaller rate moves only part of the way from `word_topic`, as
        stochastic inference needs it. Where `rate` is 1, `word_topic` may hold what `expect` wrote into it.
        """

    @abstractmethod
    def probabilities(self, word_topic: np.ndarray, *, by_word: bool = False) -> np.ndarray:
        """The topics as distributions over words: (K, V) float32, rows sum to one. Transposed if `by_word`."""


def registry() -> dict[str, type[Emission]]:
    """All emissions by name."""
    return dict(_REGISTRY)


def make_emission(name: str, *, topic_word_prior: float, collapsed: bool = False) -> Emission:
    """The emission of that name; ValueError in one sentence when there is none."""
    if not isinstance(name, str) or name not in _REGISTRY:
        raise ValueError(f"emission: got {name!r}, expected {' or '.join(map(repr, _REGISTRY))}")
    return _REGISTRY[name].make(topic_word_prior=topic_word_prior, collapsed=collapsed)
