"""Documents as a fit takes them: words, labels as numbers, weights, covariates, and what else is known of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from supertopic.checkpoint import fingerprint_data
from supertopic.documents.columns import Column
from supertopic.documents.corpus import Corpus
from supertopic.documents.duplicates import near_duplicates
from supertopic.documents.known import Known
from supertopic.fitted.spec import Spec
from supertopic.inference.after.splits import Belonging
from supertopic.inference.batches import Batch


@dataclass(frozen=True, eq=False)
class Training:
    """Documents as a fit takes them."""

    corpus: Corpus
    y: np.ndarray  # (D,) or (D, M) numbers, NaN where missing
    weight: np.ndarray  # (D,) of the labels, without supervision
    covariates: np.ndarray  # (D, P) as the regression takes them
    known: Known  # metadata, groups, times, embeddings

    @classmethod
    def unlabelled(cls, corpus: Corpus, known: Known | None = None) -> Self:
        """Documents without responses."""
        n_documents, known = len(corpus), known or Known(len(corpus))
        return cls(corpus, np.full(n_documents, np.nan), np.ones(n_documents), np.zeros((n_documents, 0)), known)

    @property
    def metadata(self) -> dict[str, Column]:
        """Columns by name."""
        return self.known.metadata

    @property
    def groups(self) -> Column | None:
        """Who a document belongs to: a category for each."""
        return self.known.groups

    @property
    def times(self) -> Column | None:
        """Dates or numbers."""
        return self.known.times

    @property
    def embeddings(self) -> np.ndarray | None:
        """(D, E) float32."""
        return self.known.embeddings

    def batch(self, spec: Spec) -> Batch:
        """The documents as topics see them; with the columns of metadata that the prior on shares reads."""
        seen = self.corpus.logs if spec.schema.counts == "log" else self.corpus
        columns = spec.model.doc_topic_prior.columns
        known = self.known.only(columns) if columns else None
        weight = spec.schema.supervision * self.weight
        return Batch(seen.counts, self.y, weight, spec.model.n_topics, self.covariates, known, self._said)

    @property
    def fingerprint(self) -> str:
        """A hash of what a fit learns from: words, labels, weights, covariates, what else is known."""
        numbers = (self.y, self.weight, self.covariates, *self.known.arrays().values())
        return fingerprint_data(self.corpus.counts, *numbers)

    @cached_property
    def belonging(self) -> Belonging | None:
        """Which documents are never apart: those of a group, or near duplicates. None: each stands for itself."""
        moment = None if self.times is None else self.times.values
        if self.groups is not None:
            return Belonging(self.groups.values, moment)
        together = near_duplicates(self.corpus.counts)
        alone = moment is None and len(np.unique(together)) == len(together)
        return None if alone else Belonging(together, moment, in_groups=False)

    @property
    def _said(self) -> Belonging | None:
        """`belonging` but for near duplicates: training takes documents as they come, and so do those to predict."""
        found = self.belonging
        if found is None or found.in_groups:
            return found
        return None if found.moment is None else Belonging.of(len(self.y), None, found.moment)

    def groups_of(self, rows: np.ndarray) -> np.ndarray | None:
        """(n,) who some of the documents belong to; None where nobody has said."""
        return None if self.groups is None else self.groups.values[rows]

    @property
    def labelled(self) -> np.ndarray:
        """(D,) bool: the documents that have a label, with a weight."""
        return ~np.isnan(self.y.reshape(len(self.y), -1)).all(axis=1) & (self.weight > 0)

    def rows(self, rows: np.ndarray) -> Training:
        beside = (self.y[rows], self.weight[rows], self.covariates[rows], self.known[rows])
        found = Training(Corpus(self.corpus.counts[rows]), *beside)
        vars(found)["belonging"] = None if self.belonging is None else self.belonging[rows]
        return found

    def without_labels(self, hidden: np.ndarray) -> Training:
        """The same documents, some of them (D,) without their labels."""
        found = replace(self, y=np.where(hidden if self.y.ndim == 1 else hidden[:, None], np.nan, self.y))
        vars(found)["belonging"] = self.belonging
        return found
