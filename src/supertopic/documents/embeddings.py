"""Embeddings beside topics: hundreds of columns that stand for a few numbers, one for each column of y.

    z_d  =  (e_d - mean)·w / unit,   w  =  argmin sum_d weight_d (t_d - level - (e_d - mean)·w)² + penalty |w / scale|²

t is what y stands for on the scale of its linear predictor: a number, its logarithm, or whether a document is of a
class. A document that the fit knows gets its number from a regression on other folds: the number knows nothing of
its own y, and errors take it as any other covariate. The penalty, and whether columns are scaled
to unit variance (`scale`), are those under which folds are predicted best. All that is needed are sums over documents,
fold by fold, which batches of a stream add up to. New documents get the mean of the folds' regressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

N_FOLDS = 5
LEAST = 20  # labelled documents
_PENALTIES = 10.0 ** np.arange(-3.0, 4.01, 0.5)  # relative to the mean variance of the columns


@dataclass(frozen=True, eq=False)
class Block:
    """What embeddings stand for."""

    names: tuple[str, ...]  # (C,)
    mean: np.ndarray  # (E,)
    coef: np.ndarray  # (C, E)

    def numbers(self, embeddings: np.ndarray | None) -> np.ndarray:
        """(D, C) of new documents."""
        self.check(embeddings)
        return (np.asarray(embeddings, dtype=np.float64) - self.mean) @ self.coef.T

    def check(self, embeddings: np.ndarray | None) -> None:
        """Refuse none, or those of another size."""
        if embeddings is None:
            raise ValueError(f"embeddings: got none, expected {len(self.mean)} dimensions as in fit")
        if embeddings.shape[1] != len(self.mean):
            raise ValueError(f"embeddings: got {embeddings.shape[1]} dimensions, expected {len(self.mean)} as in fit")

    def about(self) -> dict[str, Any]:
        """As plain values and arrays."""
        return {"names": list(self.names), "mean": self.mean, "coef": self.coef}

    @classmethod
    def restore(cls, saved: Any) -> Self:
        """What `about` gave; refuses what is no block."""
        names, mean, coef = tuple(saved["names"]), np.asarray(saved["mean"]), np.asarray(saved["coef"])
        fine = mean.ndim == 1 and coef.shape == (len(names), len(mean)) and all(isinstance(name, str) for name in names)
        if not (fine and np.isfinite(mean).all() and np.isfinite(coef).all()):
            raise ValueError("embeddings: the numbers that they stand for are not described as a fit does")
        return cls(names, mean, coef)


@dataclass(frozen=True, eq=False)
class FoldBlocks:
    """A Block, and those of the documents that a fit knows: by regressions without a fold."""

    block: Block
    folds: np.ndarray  # (N_FOLDS, C, E)

    @classmethod
    def side_by_side(cls, blocks: Sequence[Self]) -> Self:
        """Those of several responses as one, about the first's means: levels take up what the others' differ by."""
        mean = blocks[0].block.mean
        names = tuple(name for one in blocks for name in one.block.names)
        coef = np.concatenate([one.block.coef for one in blocks])
        return cls(Block(names, mean, coef), np.concatenate([one.folds for one in blocks], axis=1))

    def numbers(self, embeddings: np.ndarray | None, fold: np.ndarray) -> np.ndarray:
        """(D, C) of documents in their folds, -1 for those without a label."""
        self.block.check(embeddings)
        centred = np.asarray(embeddings, dtype=np.float64) - self.block.mean
        found = centred @ self.block.coef.T
        for number, coef in enumerate(self.folds):
            found[fold == number] = centred[fold == number] @ coef.T
        return found


class _Sums:
    """Sums over documents, weighted: of one, t and t², by column of t; of e, e eᵀ, e t."""

    def __init__(self, n_dimensions: int, n_columns: int) -> None:
        self.weight, self.target, self.square = 0.0, np.zeros(n_columns), np.zeros(n_columns)
        self.mean, self.gram = np.zeros(n_dimensions), np.zeros((n_dimensions, n_dimensions))
        self.cross = np.zeros((n_dimensions, n_columns))

    def add(self, embeddings: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> None:
        heavy = embeddings * weight[:, None]
        self.weight += weight.sum()
        self.target += weight @ targets
        self.square += weight @ targets**2
        self.mean += heavy.sum(axis=0)
        self.gram += heavy.T @ embeddings
        self.cross += heavy.T @ targets

    def __add__(self, other: _Sums) -> _Sums:
        return self._with(other, 1.0)

    def __sub__(self, other: _Sums) -> _Sums:
        return self._with(other, -1.0)

    def _with(self, other: _Sums, sign: float) -> _Sums:
        found = _Sums(len(self.mean), len(self.target))
        for name in vars(found):
            setattr(found, name, getattr(self, name) + sign * getattr(other, name))
        return found

    def centred(self) -> tuple[np.ndarray, np.ndarray]:
        """(gram (E, E), cross (E, C)) about the means."""
        mean, target = self.mean / self.weight, self.target / self.weight
        return self.gram - self.weight * np.outer(mean, mean), self.cross - self.weight * np.outer(mean, target)

    def spread(self) -> np.ndarray:
        """(C,) sums of squares of t about its mean."""
        return self.square - self.target**2 / self.weight

    def path(self, scaled: bool) -> np.ndarray:
        """(penalties, E, C) coefficients, of columns scaled to unit variance or as they are."""
        gram, cross = self.centred()
        variance = np.maximum(np.diag(gram), 0.0)
        scale = 1.0 / np.sqrt(np.where(variance > 0, variance, np.inf)) if scaled else np.ones(len(gram))
        values, vectors = np.linalg.eigh(gram * scale[:, None] * scale)
        along, values = vectors.T @ (cross * scale[:, None]), np.maximum(values, 0.0)
        unit = max(values.mean(), 1e-300)
        return np.stack([scale[:, None] * (vectors @ (along / (values + one * unit)[:, None])) for one in _PENALTIES])

    def errors(self, coef: np.ndarray, rest: _Sums) -> np.ndarray:
        """(penalties, C) sums of squared errors of regressions on the rest; coef (penalties, E, C)."""
        level = (rest.target - np.einsum("e,pec->pc", rest.mean, coef)) / rest.weight
        fit = np.einsum("pec,pec->pc", coef, self.gram @ coef) + 2 * level * np.einsum("e,pec->pc", self.mean, coef)
        along = np.einsum("pec,ec->pc", coef, self.cross) + level * self.target
        return self.square - 2 * along + fit + self.weight * level**2


class BlockSurvey:
    """Sums over the labelled documents, fold by fold, of one response."""

    def __init__(self, n_dimensions: int, n_columns: int) -> None:
        self._zero: np.ndarray | None = None  # sums are about the first batch's means, lest digits cancel
        self._folds = [_Sums(n_dimensions, n_columns) for _ in range(N_FOLDS)]
        self.n_labels = 0

    def add(self, embeddings: np.ndarray, targets: np.ndarray, weight: np.ndarray, fold: np.ndarray) -> None:
        """Take note of documents; targets (D, C), of one of them NaN where there is no label; fold (D,)."""
        self._zero = embeddings.mean(axis=0, dtype=np.float64) if self._zero is None else self._zero
        self.n_labels += int((fold >= 0).sum())
        for number, sums in enumerate(self._folds):
            own = np.flatnonzero((fold == number) & (weight > 0))
            sums.add(np.asarray(embeddings[own], dtype=np.float64) - self._zero, targets[own], weight[own])

    def found(self, names: tuple[str, ...]) -> FoldBlocks:
        """The numbers of unit variance that the embeddings stand for, under the penalty that predicts folds best."""
        there = [number for number, sums in enumerate(self._folds) if sums.weight > 0]
        if self.n_labels < LEAST or len(there) < 2:
            what = "documents" if self.n_labels < LEAST else "documents of next to no group"
            raise ValueError(f"embeddings: got {self.n_labels} labelled {what}, expected {LEAST} at least")
        assert self._zero is not None
        own_folds = [self._folds[number] for number in there]
        whole = reduce(_Sums.__add__, own_folds)
        paths = [np.stack([(whole - own).path(scaled) for own in own_folds]) for scaled in (False, True)]
        every = np.concatenate(paths, axis=1)  # (folds, settings, E, C)
        loss = sum(own.errors(coef, whole - own) for own, coef in zip(own_folds, every, strict=True))
        coef = every[:, int(np.argmin((loss / np.maximum(whole.spread(), 1e-300)).sum(axis=1)))]
        gram = whole.centred()[0] / whole.weight
        variance = np.einsum("fec,fec->c", coef, gram @ coef) / len(coef)
        folds = np.swapaxes(coef / np.sqrt(np.where(variance > 0, variance, 1.0)), 1, 2)
        every_fold = np.tile(folds.mean(axis=0), (N_FOLDS, 1, 1))
        every_fold[there] = folds
        return FoldBlocks(Block(names, self._zero + whole.mean / whole.weight, folds.mean(axis=0)), every_fold)
