"""Topics under labels: sparse deviations that add up in log space (Eisenstein, Ahmed & Xing 2011, section 5).

A *cell* is a topic under one combination of labels. A *component* is a topic, a label, or an interaction of them. The
deviations of the components of a cell are added to the background:

    p(word | cell s) = exp(m_w + sum of eta_iw over the components i of s) / Z_s

    F(m, eta) = sum_s [c_s'(m + sum_i eta_i) - C_s log Z_s] - penalty(eta) + unseen * (sum of m_w over words never seen)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from supertopic.backends.base import Backend
from supertopic.emissions.deviations import SparsePrior, penalties, penalty_table, require_positive
from supertopic.kernels.deviations import step_components

_START = 0.01  # pseudo-count of the first deviations, as in `deviations`
_HALF = 0.5  # the same for single cells, in which a count is often zero by chance


@dataclass(frozen=True)
class Group:
    """Components of one kind: one for each value of the factors, or for each combination of their values."""

    factors: tuple[str, ...]
    sizes: tuple[int, ...]
    component: np.ndarray  # (cells,) intp: the component of this kind that each cell has

    @property
    def n_components(self) -> int:
        return int(np.prod(self.sizes))

    @cached_property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """(start, cells) of each component."""
        number = np.bincount(self.component, minlength=self.n_components)
        return np.concatenate([[0], np.cumsum(number)]), np.argsort(self.component, kind="stable")

    def add(self, by_cell: np.ndarray) -> np.ndarray:
        """Sums over the cells of each component."""
        place = (self.component, np.arange(len(self.component)))
        members = sp.csr_matrix((np.ones(len(self.component)), place), (self.n_components, len(self.component)))
        return members @ by_cell


@dataclass(frozen=True)
class CellDesign:
    """Which components each cell has. The cells are numbered: combination of labels * n_topics + topic."""

    n_topics: int
    groups: tuple[Group, ...]

    @classmethod
    def of(
        cls, n_topics: int, labels: dict[str, int], combinations: np.ndarray, interactions: Sequence[Sequence[str]]
    ) -> CellDesign:
        """From the number of values of each label, the combinations (A, F) that occur, and the names that interact."""
        n_combinations = len(combinations)
        values = {"topic": np.tile(np.arange(n_topics), n_combinations)}
        values |= {name: np.repeat(combinations[:, f], n_topics) for f, name in enumerate(labels)}
        sizes = {"topic": n_topics, **labels}
        groups = []
        for factors in [("topic",), *((name,) for name in labels), *map(tuple, interactions)]:
            size = tuple(sizes[name] for name in factors)
            component = np.ravel_multi_index([values[name] for name in factors], size)
            groups.append(Group(factors, size, component))
        return cls(n_topics, tuple(groups))

    @property
    def labels_alone(self) -> CellDesign:
        """The same labels and their interactions, with a single topic that has no deviations."""
        kept = [group for group in self.groups if "topic" not in group.factors]
        return CellDesign(1, tuple(Group(g.factors, g.sizes, g.component[:: self.n_topics]) for g in kept))

    @property
    def n_components(self) -> int:
        return sum(group.n_components for group in self.groups)

    @property
    def slices(self) -> list[slice]:
        """The rows of each group's components among all components."""
        ends = np.cumsum([0, *(group.n_components for group in self.groups)])
        return [slice(a, b) for a, b in pairwise(ends)]


@dataclass(frozen=True)
class FacetPrior(SparsePrior):
    """`SparsePrior` for topics and labels. Interactions may have an exponential prior with a rate of their own.

    Jeffreys' prior does not shrink the deviations that it keeps. This suits topics and labels, which have large counts.
    Interactions are many, each with few counts, so that most of their deviations would be chance.

    Parameters
    ----------
    interaction_gamma : float, optional
        Rate of the exponential prior of interactions; without it they have the prior of all others.
    """

    interaction_gamma: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.interaction_gamma is not None:
            require_positive("interaction_gamma", self.interaction_gamma)

    def rate_of(self, group: Group) -> float:
        """The rate as the kernels take it: 0 is Jeffreys."""
        if len(group.factors) == 1 or self.interaction_gamma is None:
            return self.rate
        return float(self.interaction_gamma)

    def penalties(self, eta: np.ndarray, design: CellDesign) -> float:
        """Minus the log prior of all components."""
        groups = zip(design.groups, design.slices, strict=True)
        return sum(penalties(eta[rows], self.rate_of(group)) for group, rows in groups)


@dataclass
class Components:
    """Background (V,) float64, normalised logs, and all deviations (components, V) float64 with exact zeros."""

    background: np.ndarray
    eta: np.ndarray

    def logs(self, design: CellDesign) -> np.ndarray:
        """log p(word | cell), (cells, V) float64."""
        logs = np.tile(self.background, (len(design.groups[0].component), 1))
        for group, rows in zip(design.groups, design.slices, strict=True):
            logs += self.eta[rows][group.component]
        highest = logs.max(axis=1, keepdims=True)
        logs -= highest
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        return logs

    def topics(self, design: CellDesign) -> np.ndarray:
        """The topics without any label, (K, V) float64: exp(m + eta_k) / Z_k. They are the first components."""
        return softmax(self.background + self.eta[: design.n_topics], axis=1)


def first_components(counts: np.ndarray, design: CellDesign, prior: FacetPrior) -> Components:
    """Deviations to start from: log of seen over expected counts, one group of components after the other.

    Deviations must not start at zero, which they could never leave. Labels come before topics, because labels are known
    and topics are not.
    """
    by_word, totals = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    by_word = np.where(by_word > 0, by_word, prior.unseen)
    background = np.log(by_word / by_word.sum())
    if prior.background == "fitted":
        everywhere = Group((), (), np.zeros(len(counts), dtype=np.intp))
        background += _first_group(counts, totals * np.exp(background), everywhere)[0]
        background -= np.log(np.exp(background).sum())
    found = Components(background, np.zeros((design.n_components, counts.shape[1])))
    groups = list(zip(design.groups, design.slices, strict=True))
    for group, rows in sorted(groups, key=lambda pair: (len(pair[0].factors), pair[0].factors == ("topic",))):
        expected = totals * np.exp(found.logs(design))
        found.eta[rows] = _first_group(counts, expected, group)
    return found


def _first_group(counts: np.ndarray, expected: np.ndarray, group: Group) -> np.ndarray:
    """log of seen over expected counts: of all cells of a component together for rare words, their median for others.

    The median ignores what happens in a few cells only: that belongs to an interaction.
    """
    pooled = np.log((group.add(counts) + _START) / (group.add(expected) + _START))
    ratio = np.log((counts + _HALF) / (expected + _HALF))
    start, cells = group.cells
    for i, (first, last) in enumerate(pairwise(start)):
        if last - first > 1:
            own = cells[first:last]
            known = (counts[own] + expected[own]).mean(axis=0)
            pooled[i] += known / (known + 1.0) * (np.median(ratio[own], axis=0) - pooled[i])
    return pooled


def fit_components(
    counts: np.ndarray, design: CellDesign, prior: FacetPrior, backend: Backend, start: Components, n_turns: int = 1
) -> tuple[Components, float]:
    """Components after some turns, and F, which never falls.

    A turn updates the background, and then takes one Newton step of every component, group after group.

    counts : (cells, V) float64
    n_turns : int; with 0, F is that of `start`
    """
    by_word, totals = counts.sum(axis=0), counts.sum(axis=1)
    unseen = np.where(by_word > 0, 0.0, prior.unseen)
    by_word += unseen
    background, eta = start.background.copy(), np.array(start.eta, dtype=np.float64, order="C")
    sums = [group.add(counts) for group in design.groups]
    tables = np.exp(Components(background, eta).logs(design))
    partition = tables.sum(axis=1)
    for _ in range(n_turns):
        if prior.background == "fitted":  # iterative scaling: towards expected = seen
            expected = (totals / partition) @ tables + unseen.sum() * np.exp(background)
            background = background + np.log(by_word / expected)
            background -= np.log(np.exp(background).sum())
        tables = np.exp(Components(background, eta).logs(design))
        partition = tables.sum(axis=1)
        for group, rows, seen in zip(design.groups, design.slices, sums, strict=True):
            _step(group, seen, totals, prior, eta[rows], tables, partition, backend)
    found = Components(background, eta)
    return found, objective(counts, by_word, design, prior, found)


def _step(
    group: Group, seen: np.ndarray, totals: np.ndarray, prior: FacetPrior, eta: np.ndarray, tables: np.ndarray,
    partition: np.ndarray, backend: Backend,
) -> None:  # fmt: skip
    """A Newton step of all components of a group. They share no cell. Changes eta, tables and partition in place."""
    n_words = tables.shape[1]
    given = (*group.cells, seen, totals, prior.rate_of(group), penalty_table(), eta, tables, partition)

    def part(first: int, last: int) -> None:
        step_components(first, last, *given, np.empty(n_words, dtype=np.int32), np.empty((5, n_words)))

    backend.over_range(group.n_components, part)


def objective(
    counts: np.ndarray, by_word: np.ndarray, design: CellDesign, prior: FacetPrior, found: Components
) -> float:
    """F. `by_word` (V,) are the counts over all cells, with the pseudo-counts of unseen words."""
    unseen = by_word - counts.sum(axis=0)
    return float((counts * found.logs(design)).sum() + unseen @ found.background - prior.penalties(found.eta, design))
