"""The contract of a prior on topic shares: theta_d ~ Dirichlet(alpha_d), and where alpha_d comes from.

`State.alpha` holds the prior's parameters, whatever they are; the prior knows what they mean. Documents that have the
same alpha share a row, and kernels read `alpha[which[d]]`. What moves the parameters are statistics that add over
documents, so that threads, mini-batches, streams and clusters need no more than `summarise` and `update`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from scipy.special import gammaln

Found = TypeVar("Found")

_SMALLEST = 1e-37  # alpha: a smaller one is zero in single precision
_EM_STEPS = 5  # given a sample of topics
_PIECE = 512  # documents whose statistics are added up in one go


@dataclass(frozen=True)
class Rows:
    """alpha of some documents: R distinct vectors, and which of them each document has."""

    alpha: np.ndarray  # (R, K) float64
    which: np.ndarray  # (D,) int32

    @classmethod
    def same(cls, alpha: np.ndarray, n_documents: int) -> Rows:
        """One alpha (K,) for all documents."""
        return cls(alpha[None], np.zeros(n_documents, dtype=np.int32))

    def __getitem__(self, some: slice | np.ndarray) -> Rows:
        """Those of some of the documents."""
        return Rows(self.alpha, self.which[some])

    @cached_property
    def single(self) -> np.ndarray:
        """(R, K) float32, as kernels take it."""
        return self.alpha.astype(np.float32)

    def by_document(self, alpha: np.ndarray) -> np.ndarray:
        """(D, K), or (1, K) where all documents have the same, of values (R, K) by row."""
        return alpha if len(alpha) == 1 else alpha[self.which]

    def of_document(self, d: int) -> np.ndarray:
        """(K,)"""
        return self.alpha[self.which[d]]

    @cached_property
    def sizes(self) -> np.ndarray:
        """(R,) documents of each row."""
        return np.bincount(self.which, minlength=len(self.alpha)).astype(np.float64)

    @cached_property
    def pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(documents by row, where each piece begins and the last one ends, the row of each piece)."""
        order = np.argsort(self.which, kind="stable") if len(self.alpha) > 1 else np.arange(len(self.which))
        ends = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        starts = [np.arange(*one, _PIECE) for one in pairwise(ends)]
        row = np.repeat(np.arange(len(self.alpha)), [len(some) for some in starts])
        return order, np.append(np.concatenate(starts), ends[-1]), row

    def total(self, pieces: np.ndarray) -> np.ndarray:
        """(R, K) the sum over pieces of each row."""
        if len(self.alpha) == 1:
            return pieces.sum(axis=0, keepdims=True)
        found = np.zeros_like(self.alpha)
        np.add.at(found, self.pieces[2], pieces)
        return found

    def log_evidence(self, counts: np.ndarray) -> float:
        """log p(topics of the tokens) of documents with these counts (D, K) of topics, shares integrated out."""
        alpha, lengths = self.by_document(self.alpha), counts.sum(axis=1, dtype=np.float64)
        total = alpha.sum(axis=1)
        found = (gammaln(total) - gammaln(lengths + total)).sum()
        return float(found + (gammaln(counts + alpha) - gammaln(alpha)).sum())

    def log_density(self, log_theta: np.ndarray) -> float:
        """sum over documents of E[log Dirichlet(theta | alpha)], but for what does not depend on alpha.

        log_theta : (R, K) sum of E[log theta] by row
        """
        norms = gammaln(self.alpha.sum(axis=1)) - gammaln(self.alpha).sum(axis=1)
        return float(self.sizes @ norms + (self.alpha * log_theta).sum())


def remembered(documents: Described, key: Any, find: Callable[[], Found]) -> Found:
    """What `find` finds of documents; kept with them, for one key at a time."""
    kept = vars(documents).get("_remembered")
    if kept is None or kept[0] != key:
        kept = vars(documents)["_remembered"] = (key, find())
    return kept[1]


class Described(Protocol):
    """Documents, and what is known of them beside their words."""

    @property
    def known(self) -> Any: ...

    def __len__(self) -> int: ...


class Drawn(Protocol):
    """Topics that have been drawn for all tokens of some documents."""

    @property
    def lengths(self) -> np.ndarray:
        """(D,) tokens."""
        ...

    def topic_histogram(self) -> np.ndarray:
        """(K, L) documents that hold topic k exactly n times."""
        ...

    def log_theta(self, rows: Rows) -> np.ndarray:
        """(R, K) the sum of E[log theta | topics] = psi(alpha + n) - psi(sum) over documents of each row."""
        ...


_REGISTRY: dict[str, type[SharePrior]] = {}


def registry() -> dict[str, type[SharePrior]]:
    """All priors by the names of their classes."""
    return dict(_REGISTRY)


class SharePrior(ABC):
    """A prior on topic shares; `alpha` are its parameters (`State.alpha`).

    A subclass is a frozen dataclass whose fields are plain values: model files hold them by name. An instance may stand
    in an estimator's parameter `prevalence`; `prepared` makes the prior of a fit of it.
    """

    start: np.ndarray  # the parameters before the first step

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _REGISTRY[cls.__name__] = cls

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of metadata that it reads."""
        return ()

    def prepared(self, known: Any, level: SharePrior) -> SharePrior:
        """The prior of a fit.

        known : what is known of its documents (`supertopic.documents.known.Known`)
        level : the prior on shares that the estimator would have without this one
        """
        return self

    def about(self) -> dict[str, Any]:
        """All that a file needs to hold."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def restore(cls, saved: dict[str, Any]) -> Self:
        """What `about` gave; raises a ValueError for values that no prior has."""
        return cls(**saved)

    def check(self, alpha: np.ndarray) -> None:
        """Refuse parameters that make no alpha."""
        if not (np.isfinite(alpha) & (alpha >= _SMALLEST)).all():
            raise ValueError("the prior on topic shares holds numbers that are not finite and above 0")

    @property
    @abstractmethod
    def learns(self) -> bool:
        """Whether any parameter is learned."""

    @abstractmethod
    def held(self) -> Self:
        """The same prior, of which nothing is learned any more."""

    @abstractmethod
    def rows(self, alpha: np.ndarray, documents: Described) -> Rows:
        """alpha of each document."""

    @abstractmethod
    def summarise(self, alpha: np.ndarray, documents: Described, log_theta: np.ndarray) -> np.ndarray:
        """What documents say about the parameters; the sum of two results is what their union says.

        log_theta : (R, K) sum of E[log theta] over the documents of each row
        """

    @abstractmethod
    def update(self, alpha: np.ndarray, stats: np.ndarray, scale: float = 1.0, rate: float = 1.0) -> np.ndarray:
        """The parameters after a step; with a rate below one (mini-batches), after a damped one.

        stats : of documents that stand for `scale` times as many
        """

    def maximise(self, alpha: np.ndarray, stats: np.ndarray, again: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The parameters after an M-step on all documents.

        stats : at `alpha`; again : the statistics of the same documents at other parameters
        """
        return self.update(alpha, stats)

    def change(self, before: np.ndarray, after: np.ndarray) -> float:
        """How far a step has gone, relative to the parameters."""
        return float(np.max(np.abs(after - before) / before))

    def learn(self, alpha: np.ndarray, documents: Described, drawn: Drawn) -> np.ndarray:
        """The parameters after some steps of EM, given the topics that a sampler has drawn for all tokens."""
        for _ in range(_EM_STEPS if self.learns else 0):
            again = partial(self.summarise, documents=documents, log_theta=drawn.log_theta(self.rows(alpha, documents)))
            alpha = self.maximise(alpha, again(alpha), again)
        return alpha

    @abstractmethod
    def first_topics(self, n_topics: int) -> Self:
        """The same prior of the first so many topics."""

    def evidence(self, alpha: np.ndarray) -> float:
        """log p(parameters), up to a constant."""
        return 0.0

    @abstractmethod
    def mean(self, alpha: np.ndarray) -> np.ndarray:
        """(K,) alpha of a document of which nothing is known."""
