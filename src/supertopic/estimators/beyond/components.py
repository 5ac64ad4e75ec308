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
from scipy.special import softmax

from supertopic.backends.base import Backend, Run, in_turn
from supertopic.emissions.deviations import SparsePrior, penalties, penalty_table, require_positive
from supertopic.kernels.deviations import step_components

_START = 0.01  # pseudo-count of the first deviations, as in `deviations`
_AT_ONCE = 1 << 19  # numbers of a component that are worked on at once
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

    def members(self, component: int) -> np.ndarray:
        """The cells of a component."""
        start, cells = self.cells
        return cells[start[component] : start[component + 1]]

    def add(self, by_cell: np.ndarray, run: Run) -> np.ndarray:
        """Sums over the cells of each component."""
        found = np.empty((self.n_components, by_cell.shape[1]))

        def add(component: int) -> None:
            by_cell[self.members(component)].sum(axis=0, out=found[component])

        run([(add, component) for component in range(self.n_components)])
        return found


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

    def penalties(self, eta: np.ndarray, design: CellDesign, run: Run = in_turn) -> float:
        """Minus the log prior of all components."""
        rates = np.repeat([self.rate_of(g) for g in design.groups], [g.n_components for g in design.groups])
        found = np.empty(len(eta))

        def add(component: int) -> None:
            found[component] = penalties(eta[component], rates[component])

        run([(add, component) for component in range(len(eta))])
        return float(found.sum())


@dataclass
class Components:
    """Background (V,) float64, normalised logs, and all deviations (components, V) float64 with exact zeros."""

    background: np.ndarray
    eta: np.ndarray

    def tables(self, design: CellDesign, run: Run = in_turn) -> np.ndarray:
        """p(word | cell), (cells, V) float64."""
        rows = np.stack([rows.start + g.component for g, rows in zip(design.groups, design.slices, strict=True)], 1)
        found = np.empty((len(rows), len(self.background)))

        def add(cell: int) -> None:
            row = found[cell]
            row[:] = self.background
            for component in rows[cell]:
                row += self.eta[component]
            row -= row.max()
            np.exp(row, out=row)
            row /= row.sum()

        run([(add, cell) for cell in range(len(rows))])
        return found

    def topics(self, design: CellDesign) -> np.ndarray:
        """The topics without any label, (K, V) float64: exp(m + eta_k) / Z_k. They are the first components."""
        return softmax(self.background + self.eta[: design.n_topics], axis=1)


def first_components(counts: np.ndarray, design: CellDesign, prior: FacetPrior, run: Run = in_turn) -> Components:
    """Deviations to start from: log of seen over expected counts, one group of components after the other.

    Deviations must not start at zero, which they could never leave. Labels come before topics, because labels are known
    and topics are not.
    """
    by_word, totals = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    by_word = np.where(by_word > 0, by_word, prior.unseen)
    background = np.log(by_word / by_word.sum())
    if prior.background == "fitted":
        everywhere = Group((), (), np.zeros(len(counts), dtype=np.intp))
        background += _first_group(counts, totals * np.exp(background), everywhere, run)[0]
        background -= np.log(np.exp(background).sum())
    found = Components(background, np.zeros((design.n_components, counts.shape[1])))
    groups = list(zip(design.groups, design.slices, strict=True))
    for group, rows in sorted(groups, key=lambda pair: (len(pair[0].factors), pair[0].factors == ("topic",))):
        expected = found.tables(design, run)
        expected *= totals
        found.eta[rows] = _first_group(counts, expected, group, run)
    return found


def _first_group(counts: np.ndarray, expected: np.ndarray, group: Group, run: Run) -> np.ndarray:
    """log of seen over expected counts: of all cells of a component together for rare words, their median for others.

    The median ignores what happens in a few cells only: that belongs to an interaction.
    """
    found = np.empty((group.n_components, counts.shape[1]))

    def start(component: int, words: slice) -> None:
        own = group.members(component)
        seen, told = counts[own, words], expected[own, words]
        pooled = np.log((seen.sum(axis=0) + _START) / (told.sum(axis=0) + _START))
        if len(own) > 1:
            known = (seen + told).mean(axis=0)
            between = np.median(np.log((seen + _HALF) / (told + _HALF)), axis=0)
            pooled += known / (known + 1.0) * (between - pooled)
        found[component, words] = pooled

    n_words = max(_AT_ONCE * group.n_components // len(counts), 1)
    words = [slice(first, first + n_words) for first in range(0, counts.shape[1], n_words)]
    run([(start, component, some) for component in range(group.n_components) for some in words])
    return found


def fit_components(
    counts: np.ndarray, design: CellDesign, prior: FacetPrior, backend: Backend, start: Components, n_turns: int = 1
) -> Components:
    """Components after some turns. F never falls.

    A turn updates the background, and then takes one Newton step of every component, group after group.

    counts : (cells, V) float64
    """
    by_word, totals = counts.sum(axis=0), counts.sum(axis=1)
    unseen = np.where(by_word > 0, 0.0, prior.unseen)
    by_word += unseen
    background, eta = start.background.copy(), np.array(start.eta, dtype=np.float64, order="C")
    sums = [group.add(counts, backend.all) for group in design.groups]
    tables = start.tables(design, backend.all)
    partition = tables.sum(axis=1)
    for _ in range(n_turns):
        if prior.background == "fitted":  # iterative scaling: towards expected = seen
            expected = (totals / partition) @ tables + unseen.sum() * np.exp(background)
            background = background + np.log(by_word / expected)
            background -= np.log(np.exp(background).sum())
            tables = Components(background, eta).tables(design, backend.all)
            partition = tables.sum(axis=1)
        for group, rows, seen in zip(design.groups, design.slices, sums, strict=True):
            _step(group, seen, totals, prior, eta[rows], tables, partition, backend)
    return Components(background, eta)


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
