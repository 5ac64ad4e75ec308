"""Labelled documents as a fit takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from supertopic.documents.corpus import Corpus
from supertopic.inference.batches import Batch


@dataclass
class Training:
    """Labelled documents as a fit takes them."""

    corpus: Corpus
    y: np.ndarray  # (D,) or (D, M) numbers, NaN where missing
    weight: np.ndarray  # (D,) of the labels, without supervision
    covariates: np.ndarray  # (D, P)

    def batch(self, n_topics: int, supervision: float, counts: str) -> Batch:
        """The documents as topics see them; counts : "raw", or "log" for their logarithms."""
        seen = self.corpus.logs if counts == "log" else self.corpus
        return Batch(seen.counts, self.y, supervision * self.weight, n_topics, self.covariates)

    @property
    def labelled(self) -> np.ndarray:
        """(D,) bool: the documents that have a label, with a weight."""
        return ~np.isnan(self.y.reshape(len(self.y), -1)).all(axis=1) & (self.weight > 0)

    def rows(self, rows: np.ndarray) -> Training:
        return Training(Corpus(self.corpus.counts[rows]), self.y[rows], self.weight[rows], self.covariates[rows])
