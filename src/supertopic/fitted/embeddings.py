"""The numbers that embeddings stand for, as covariates of a fit (`supertopic.documents.embeddings`)."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from supertopic.documents.embeddings import N_FOLDS, BlockSurvey, FoldBlocks
from supertopic.documents.known import Known
from supertopic.documents.labels import Target
from supertopic.fitted.spec import Schema
from supertopic.responses.base import registry
from supertopic.responses.counts import Count


def embedded(schema: Schema, known: Known, y: np.ndarray, weight: np.ndarray, seed: int) -> tuple[Schema, np.ndarray]:
    """A Schema with the numbers that embeddings stand for, and these of the documents of a fit, out of fold."""
    survey = EmbeddingSurvey(schema.targets, seed)
    survey.add(known, y, weight)
    return schema.with_block(survey.found().block), survey.numbers(known)


class EmbeddingSurvey:
    """What embeddings stand for, from the documents of a fit, or the batches of a stream."""

    def __init__(self, targets: tuple[Target, ...], seed: int) -> None:
        self._targets, self._seed = targets, seed
        self._parts: list[BlockSurvey] = []
        self._n_batches = 0
        self._found: FoldBlocks | None = None

    def add(self, known: Known, y: np.ndarray, weight: np.ndarray) -> None:
        """Take note of documents with their labels (D,) or (D, M), NaN where missing."""
        assert known.embeddings is not None
        columns, fold = y.reshape(len(y), -1).T, self.folds(known, self._n_batches)
        if not self._parts:
            dimensions = known.embeddings.shape[1]
            self._parts = [BlockSurvey(dimensions, len(names_of(target, False))) for target in self._targets]
        for part, target, column in zip(self._parts, self._targets, columns, strict=True):
            own = np.where(np.isnan(column) | (weight <= 0), -1, fold)
            part.add(known.embeddings, stands_for(target, column), weight, own)
        self._n_batches += 1

    def folds(self, known: Known, batch: int = 0) -> np.ndarray:
        """(D,) the fold of each document of a batch; all of a group are in one."""
        if known.groups is None:
            return np.random.default_rng([self._seed, 17, batch]).integers(0, N_FOLDS, len(known))
        of_group = [crc32(f"{self._seed} {level}".encode()) % N_FOLDS for level in known.groups.levels]
        return np.array(of_group, dtype=np.intp)[known.groups.values]

    def numbers(self, known: Known, batch: int = 0) -> np.ndarray:
        """(D, C) what the embeddings of a batch stand for, out of fold."""
        return self.found().numbers(known.embeddings, self.folds(known, batch))

    def found(self) -> FoldBlocks:
        """One block of the numbers of all responses."""
        if self._found is None:
            self._found = self._find()
        return self._found

    def _find(self) -> FoldBlocks:
        several = len(self._targets) > 1
        blocks = [
            part.found(names_of(target, several)) for part, target in zip(self._parts, self._targets, strict=True)
        ]
        return FoldBlocks.side_by_side(blocks)


def names_of(target: Target, several: bool) -> tuple[str, ...]:
    """What the numbers are called; several : whether there are other responses."""
    name = f"embeddings {target.name}" if several else "embeddings"
    if not _by_class(target):
        return (name,)
    assert target.classes is not None
    return tuple(f"{name} {label}" for label in target.classes[:-1])  # the last one is the others' rest


def stands_for(target: Target, column: np.ndarray) -> np.ndarray:
    """(D, C) what labels (D,) stand for on the scale of the linear predictor."""
    if _by_class(target):
        assert target.classes is not None
        return np.where(np.isnan(column)[:, None], np.nan, column[:, None] == np.arange(len(target.classes) - 1))
    if not (response := target.make()).log_link:
        return column[:, None]
    return np.log(column + 0.5 if isinstance(response, Count) else column)[:, None]


def _by_class(target: Target) -> bool:
    """Whether each class has a number of its own."""
    return target.classes is not None and len(target.classes) > 2 and not registry()[target.response].ordered
