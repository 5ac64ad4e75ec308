"""What estimators of topics under labels share: fitting components that add up, and showing them."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from supertopic.backends.base import Backend
from supertopic.documents.corpus import Corpus
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.emissions.facets import CellDesign, Components, FacetPrior
from supertopic.estimators.shared.base import TopicEstimator
from supertopic.estimators.shared.reading.checks import require_whole
from supertopic.inference.batches import Batch
from supertopic.inference.settings import EMSettings, Engine
from supertopic.inference.task import run
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.facets import Documents, FacetedFit, Labels, fit_faceted
from supertopic.metrics.heldout import HeldOut, completion_split, log_likelihood
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior

_EXACTLY = LocalLimits(max_passes=200, tol=1e-4)  # for new documents: small differences decide their labels
_DOCUMENTS_AT_ONCE = 2048


class FacetedEstimator(TopicEstimator):
    """Base of estimators whose topics, labels and interactions each add sparse deviations to the background.

    The State holds the topics without any label, as distributions over words.
    """

    engines: ClassVar[dict[str, Engine]] = {"vb": Engine(fit_faceted, EMSettings, 100)}
    _kept_arrays: ClassVar[tuple[str, ...]] = ("background_", "_eta_data", "_eta_indices", "_eta_indptr")

    def _design(self) -> CellDesign:
        """Which components each cell has, in a fitted model."""
        raise NotImplementedError

    def _label_logs(self) -> np.ndarray:
        """(A,) log p(combination of labels) for a new document."""
        raise NotImplementedError

    def _names(self, factor: str) -> list[Any]:
        """The values of a factor, by the names that users know."""
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------

    def _check(self) -> FacetPrior:
        """Refuses parameters that make no sense, before any work is done."""
        require_whole(self, "n_topics")
        self._engine().read(self)
        self._backend()
        DirichletPrior.parse(self.doc_topic_prior, self.n_topics)
        return FacetPrior(self.prior, self.gamma, self.background, self.unseen, self.interaction_gamma)

    def _fit_labels(
        self,
        corpus: Corpus,
        y: np.ndarray,
        labels: Labels,
        design: CellDesign,
        prior: FacetPrior,
        seed: int | None = None,
    ) -> FacetedFit[Labels]:
        """Fit, and set the fitted attributes that all these estimators have.

        y : the data that `labels` was made from, for the fingerprint of the checkpoint
        seed : the one that `labels` started from, if it took one
        """
        model = self._model()
        batch = Batch(corpus.counts, y, np.ones(len(corpus)), model.n_topics)
        task = self._task(model, batch, self._engine().read(self), seed=seed)
        with task.backend:
            engine = partial(fit_faceted, labels, design, prior)
            fit = cast(FacetedFit[Labels], run(engine, task, type(self).__name__))
        self.background_ = fit.components.background
        eta = sp.csr_matrix(fit.components.eta.astype(np.float32))
        self._eta_data, self._eta_indices, self._eta_indptr = eta.data, eta.indices, eta.indptr
        self._keep(model, fit)
        self.doc_topic_ = fit.doc_topic
        self._derive(model)
        return fit

    def _starts_warm(self) -> bool:
        return False

    def _model(self) -> Model:
        return Model(self.n_topics, DirichletTopics(0.0), DirichletPrior.parse(self.doc_topic_prior, self.n_topics))

    # --- using --------------------------------------------------------------------------------------------------

    def _infer_labels(
        self, corpus: Corpus, logs: np.ndarray, backend: Backend, tables: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Posterior over the combinations of labels (D, A) and topic shares (D, K), given log p(a) (D, A).

        tables : (cells, V) p(word | cell); by default those of all cells of the fit
        """
        tables = self._parts().tables(self._design()) if tables is None else tables
        posterior, shares = np.empty(logs.shape), np.empty((len(corpus), self.n_topics), dtype=np.float32)
        for start in range(0, len(corpus), _DOCUMENTS_AT_ONCE):
            rows = slice(start, start + _DOCUMENTS_AT_ONCE)
            documents = Documents(corpus.counts[rows], logs[rows], self.n_topics, _EXACTLY)
            documents.infer(tables, self._state.alpha, logs[rows], True, backend)
            posterior[rows], shares[rows] = documents.posterior, documents.doc_topic()
        return posterior, shares

    def _held_out(
        self, X: Any, method: str, random_state: int, logs: np.ndarray | None = None, **options: Any
    ) -> HeldOut:
        """log p(words) of new documents, p(w) = sum_a p(a) p(w | a) over the combinations of labels a.

        In "completion", p(a) is the posterior given the observed half, and p(w | a) is of the other half.

        logs : (D, A) log p(a); by default that of all new documents
        """
        corpus = self._as_corpus(X)
        logs = np.tile(self._label_logs(), (len(corpus), 1)) if logs is None else logs
        tables = self._parts().tables(self._design())
        if method == "completion":
            seen = Corpus(completion_split(corpus.counts, random_state)[0])
            with self._backend() as backend:
                posterior = self._infer_labels(seen, logs, backend, tables)[0]
            logs = np.where(posterior > 0, np.log(np.maximum(posterior, 1e-300)), -np.inf)
        under, n_tokens = np.empty(logs.shape), np.zeros(len(corpus))
        for place in range(logs.shape[1]):
            topics = tables[place * self.n_topics : (place + 1) * self.n_topics].T
            given = (topics, self._state.alpha, corpus.counts, method)
            under[:, place], n_tokens = log_likelihood(*given, random_state=random_state, **options)
        return HeldOut(logsumexp(under + logs, axis=1), n_tokens)

    def _infer(self, corpus: Corpus, backend: Backend) -> np.ndarray:
        logs = np.tile(self._label_logs(), (len(corpus), 1))
        return self._infer_labels(corpus, logs, backend)[1]

    # --- showing ------------------------------------------------------------------------------------------------

    def _parts(self) -> Components:
        check_is_fitted(self, "_state")
        return Components(np.asarray(self.background_), self._sparse().toarray().astype(np.float64))

    def _sparse(self) -> sp.csr_matrix:
        """(components, V): all deviations."""
        shape = (len(self._eta_indptr) - 1, self.n_features_in_)
        return sp.csr_matrix((self._eta_data, self._eta_indices, self._eta_indptr), shape)

    @property
    def deviations_(self) -> dict[str, pd.DataFrame]:
        """What each component adds to the background in log space: sparse frames of words by components.

        The keys are the names of the factors: ``deviations_["topic"]``, ``["party"]``, ``["topic × party"]``.
        """
        check_is_fitted(self, "_state")
        design, eta, frames = self._design(), self._sparse(), {}
        for group, rows in zip(design.groups, design.slices, strict=True):
            values = [self._names(factor) for factor in group.factors]
            columns = (
                pd.Index(values[0], name=group.factors[0])
                if len(values) == 1
                else pd.MultiIndex.from_product(values, names=group.factors)
            )
            part = sp.csc_matrix(eta[rows].T)
            frames[" × ".join(group.factors)] = pd.DataFrame.sparse.from_spmatrix(part, self._words(), columns)
        return frames

    @property
    def sparsity_(self) -> dict[str, float]:
        """The share of deviations that are exactly zero, by kind of component."""
        check_is_fitted(self, "_state")
        design, eta = self._design(), self._sparse()
        return {
            " × ".join(group.factors): 1.0 - eta[rows].nnz / (group.n_components * self.n_features_in_)
            for group, rows in zip(design.groups, design.slices, strict=True)
        }

    def adds(self, n: int = 10, by: str = "contribution") -> pd.DataFrame:
        """The n words that each component makes more frequent: a row per word.

        The columns are part, component (text: "3", "left", "3 × left"), rank, word and deviation.

        by : {"contribution", "deviation"}
            The order of the words: by deviation times probability of the word, or by deviation alone, which prefers
            rare words.
        """
        if by not in ("contribution", "deviation"):
            raise ValueError(f"by: got {by!r}, expected 'contribution' or 'deviation'")
        check_is_fitted(self, "_state")
        rows, base, words = [], np.exp(self.background_), self._words()
        for part, frame in self.deviations_.items():
            eta = frame.sparse.to_coo().tocsc()
            for j, column in enumerate(frame.columns):
                component = " × ".join(map(str, column if isinstance(column, tuple) else (column,)))
                values = eta[:, [j]].toarray().ravel()
                weight = values if by == "deviation" else values * base * np.exp(values)
                for rank, w in enumerate(np.argsort(-weight, kind="stable")[:n], 1):
                    if values[w] > 0:
                        rows.append((part, component, rank, words[w], values[w]))
        return pd.DataFrame(rows, columns=["part", "component", "rank", "word", "deviation"])
