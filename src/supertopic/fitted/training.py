"""Documents as a fit takes them: words, labels as numbers, weights, covariates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from supertopic.documents.corpus import Corpus
from supertopic.fitted.spec import Schema
from supertopic.inference.batches import Batch


@dataclass(frozen=True, eq=False)
class Training:
    """Documents as a fit takes them."""

    corpus: Corpus
    y: np.ndarray  # (D,) or (D, M) numbers, NaN where missing
    weight: np.ndarray  # (D,) of the labels, without supervision
    covariates: np.ndarray  # (D, P)

    @classmethod
    def unlabelled(cls, corpus: Corpus) -> Self:
        """Documents without responses."""
        return cls(corpus, np.full(len(corpus), np.nan), np.ones(len(corpus)), np.zeros((len(corpus), 0)))

    def batch(self, n_topics: int, schema: Schema) -> Batch:
        """The documents as topics see them."""
        seen = self.corpus.logs if schema.counts == "log" else self.corpus
        return Batch(seen.counts, self.y, schema.supervision * self.weight, n_topics, self.covariates)

    @property
    def labelled(self) -> np.ndarray:
        """(D,) bool: the documents that have a label, with a weight."""
        return ~np.isnan(self.y.reshape(len(self.y), -1)).all(axis=1) & (self.weight > 0)

    def rows(self, rows: np.ndarray) -> Training:
        return Training(Corpus(self.corpus.counts[rows]), self.y[rows], self.weight[rows], self.covariates[rows])

    def without_labels(self, hidden: np.ndarray) -> Training:
        """The same documents, some of them (D,) without their labels."""
        return replace(self, y=np.where(hidden if self.y.ndim == 1 else hidden[:, None], np.nan, self.y))
