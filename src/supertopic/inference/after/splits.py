"""Documents cut into parts: at random, by class, by group, or by time.

What is said about new documents has to come from documents that are new in the same way. Where new documents come from
the authors, restaurants or parties of the fit, parts at random tell; where they come from others, whole *groups* are
left out; where they come later, the past predicts the future.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

FIRST = 0.5  # share of the documents that come before all parts in time


@dataclass(frozen=True)
class Split:
    """A part that is left out, and what is fitted without it: rows of documents."""

    rest: np.ndarray
    out: np.ndarray


@dataclass(frozen=True, eq=False)
class Belonging:
    """Which documents belong together, such as those of an author, or come one after another."""

    together: np.ndarray  # (D,) codes: documents with the same one are never apart
    moment: np.ndarray | None = None  # (D,) their places in time: the past predicts the future
    in_groups: bool = True  # or else few are together: near duplicates, which go where the first of them is

    @classmethod
    def of(cls, n_documents: int, groups: np.ndarray | None, moment: np.ndarray | None) -> Belonging:
        """Of documents in groups, or each for itself."""
        return cls(np.arange(n_documents) if groups is None else groups, moment, in_groups=groups is not None)

    @property
    def n_groups(self) -> int:
        return len(np.unique(self.together))

    def __getitem__(self, rows: slice | np.ndarray) -> Belonging:
        return replace(self, together=self.together[rows], moment=None if self.moment is None else self.moment[rows])

    def parts(
        self, rows: np.ndarray, plain: np.ndarray, generator: np.random.Generator, classes: np.ndarray | None = None
    ) -> np.ndarray:
        """(n,) the part of each of the documents `rows`, from the parts of documents that stand for themselves.

        classes : (n,), to be spread evenly over the parts
        """
        own = self.together[rows]
        if self.in_groups:
            return parts_of_groups(own, min(int(plain.max()) + 1, len(np.unique(own))), generator, classes)
        _, first, code = np.unique(own, return_index=True, return_inverse=True)
        return plain[first[code.reshape(-1)]]

    def splits(
        self, rows: np.ndarray, n_parts: int, generator: np.random.Generator, classes: np.ndarray | None = None
    ) -> list[Split]:
        """The documents `rows` in parts, each left out in turn; others are in every rest, or in those after them.

        classes : (D,), to be spread evenly over the parts
        """
        if self.moment is not None:
            return splits_in_time(self.moment, np.isin(np.arange(len(self.together)), rows), n_parts)
        part = np.full(len(self.together), -1)
        kinds = None if classes is None else classes[rows]
        part[rows] = self.parts(rows, parts_at_random(rows, n_parts, generator, kinds), generator, kinds)
        return splits_of_parts(part)

    def apart(self, rows: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
        """(D,) bool: about this share of the documents `rows`, none of them together with another; the last in time."""
        found, n_apart = np.zeros(len(self.together), dtype=bool), round(share * len(rows))
        if self.moment is not None and n_apart:
            found[rows] = self.moment[rows] >= np.sort(self.moment[rows])[-n_apart]
        elif self.moment is None:
            found[rows] = set_apart(self.together[rows], share, generator)
        return found


def codes_of(labels: np.ndarray) -> np.ndarray:
    """(n,) whole numbers from 0 on, in the order of the labels."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def parts_at_random(
    rows: np.ndarray, n_parts: int, generator: np.random.Generator, classes: np.ndarray | None = None
) -> np.ndarray:
    """(n,) the part of each of the rows (n,), all of a size; as many of each class (n,), but for one."""
    order = generator.permutation(len(rows))
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    part = np.empty(len(rows), dtype=np.intp)
    part[order] = np.arange(len(rows)) % n_parts
    return part


def parts_of_groups(
    groups: np.ndarray, n_parts: int, generator: np.random.Generator, classes: np.ndarray | None = None
) -> np.ndarray:
    """(n,) the part of each row, all rows of a group in one; parts are of about a size, and have classes alike.

    The largest groups are placed first, each where parts are the least unlike afterwards, by the sum over classes and
    parts of (rows of the class in the part / rows of the class)². Equally large groups come in a random order.
    """
    code = codes_of(groups)
    kind = np.zeros(len(code), dtype=np.intp) if classes is None else codes_of(classes)
    table = np.zeros((code.max() + 1, kind.max() + 1))
    np.add.at(table, (code, kind), 1.0)
    table /= table.sum(axis=0)
    shuffled = generator.permutation(len(table))
    order = shuffled[np.argsort(-table[shuffled].sum(axis=1), kind="stable")]
    filled, part = np.zeros((n_parts, table.shape[1])), np.empty(len(table), dtype=np.intp)
    for one in order:
        part[one] = np.argmin(filled @ table[one])  # 2 filled·own is what the sum of squares grows by, but for own²
        filled[part[one]] += table[one]
    return part[code]


def splits_of_parts(part: np.ndarray) -> list[Split]:
    """Each part left out in turn; rows with part -1 are in every rest."""
    return [Split(np.flatnonzero(part != number), np.flatnonzero(part == number)) for number in range(part.max() + 1)]


def folds_left_out(splits: list[Split]) -> tuple[np.ndarray, np.ndarray]:
    """((n,) the rows of all parts, in their order; (n,) the part of each)."""
    rows = np.concatenate([split.out for split in splits])
    part = np.repeat(np.arange(len(splits)), [len(split.out) for split in splits])
    order = np.argsort(rows, kind="stable")
    return rows[order], part[order]


def splits_in_time(times: np.ndarray, labelled: np.ndarray, n_parts: int) -> list[Split]:
    """The later half of the labelled rows in parts by time, each left out of a fit to all that comes before it.

    times : (n,) numbers or dates; rows of one time stay together
    labelled : (n,) bool: rows without a label are in the fits after their time
    """
    moment = codes_of(times)
    own = np.sort(moment[labelled])
    cuts = own[(len(own) * (FIRST + (1.0 - FIRST) * np.arange(n_parts) / n_parts)).astype(np.intp)]
    cuts = np.unique(cuts[cuts > own[0]])
    ends = np.append(cuts, moment.max() + 1)[1:]
    return [
        Split(np.flatnonzero(moment < first), np.flatnonzero((moment >= first) & (moment < end) & labelled))
        for first, end in zip(cuts, ends, strict=True)
    ]


def set_apart(groups: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """(n,) bool: about this share of the rows, whole groups of them, in a random order until they are enough."""
    code = codes_of(groups)
    order = generator.permutation(code.max(initial=-1) + 1)
    total = np.cumsum(np.append(0, np.bincount(code)[order]))
    n_taken = int(np.argmin(np.abs(total - share * len(code))))
    return np.isin(code, order[:n_taken])
