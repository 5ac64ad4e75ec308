"""What estimators of topics under labels share: fitting components that add up, and showing them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from supertopic.backends.base import Backend
from supertopic.documents.corpus import Corpus
from supertopic.documents.known import Known
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.beyond.components import CellDesign, Components, FacetPrior
from supertopic.estimators.beyond.facet_engine import Documents, FacetedFit, Labels, fit_faceted
from supertopic.estimators.shared.base import TopicEstimator
from supertopic.estimators.shared.reading.checks import require_whole
from supertopic.fitted.checks import require_weights
from supertopic.fitted.fit import kept, task_of, with_prior_errors
from supertopic.fitted.fitted import Fitted, Vocabulary
from supertopic.fitted.spec import Schema
from supertopic.fitted.training import Training
from supertopic.inference.batches import Batch
from supertopic.inference.settings import EMSettings, Engine
from supertopic.inference.task import run
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.metrics.heldout import HeldOut, completion_split, log_likelihood
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior

_EXACTLY = LocalLimits(max_passes=200, tol=1e-4)  # for new documents: small differences decide their labels
_DOCUMENTS_AT_ONCE = 2048
FACETS = ("background", "eta_data", "eta_indices", "eta_indptr")  # arrays of all these estimators


@dataclass(kw_only=True, eq=False, repr=False)
class FacetedEstimator(TopicEstimator):
    """Base of estimators whose topics, labels and interactions each add sparse deviations to the background.

    The State holds the topics without any label, as distributions over words.
    """

    papers: ClassVar[str] = "Eisenstein, Ahmed & Xing 2011"
    engines: ClassVar[dict[str, Engine]] = {"vb": Engine(fit_faceted, EMSettings, 100)}
    prior: Literal["jeffreys", "exponential"] = "jeffreys"
    gamma: float = 1.0
    interaction_gamma: float | None = 10.0
    background: Literal["fitted", "corpus"] = "fitted"
    unseen: float = 0.1
    doc_topic_prior: float | Literal["auto", "symmetric"] | Sequence[float] | np.ndarray = "auto"
    tol: float = 1e-4
    max_doc_iter: int = 100
    doc_tol: float = 1e-2
    vectorizer: Any = None
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0
    checkpoint: Any = None
    backend: Any = "threads"

    @abstractmethod
    def _design(self, fitted: Fitted) -> CellDesign:
        """Which components each cell has, in a fitted model."""

    @abstractmethod
    def _label_logs(self, fitted: Fitted) -> np.ndarray:
        """(A,) log p(combination of labels) for a new document."""

    @abstractmethod
    def _names(self, factor: str) -> list[Any]:
        """The values of a factor, by the names that users know."""

    # --- fitting ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._check()

    def _check(self) -> FacetPrior:
        """Refuses parameters that make no sense, before any work is done."""
        require_whole(self, "n_topics")
        self._settings()
        self._place()
        DirichletPrior.parse(self.doc_topic_prior, self.n_topics)
        return FacetPrior(self.prior, self.gamma, self.background, self.unseen, self.interaction_gamma)

    def _fit_labels(
        self, corpus: Corpus, vocabulary: Vocabulary, y: np.ndarray, labels: Labels, design: CellDesign,
        prior: FacetPrior, known: Known, seed: int | None = None,
    ) -> tuple[Fitted, FacetedFit[Labels]]:  # fmt: skip
        """The part of a fitted model that all these estimators have, and what the engine found.

        y : the data that `labels` was made from, for the fingerprint of the checkpoint
        known : what else is known of the documents
        seed : the one that `labels` started from, if it took one
        """
        spec = self._spec(self._with_prior(Schema(), [known]))
        training = Training.unlabelled(corpus, known)
        batch = replace(training.batch(spec), y=y)
        task = task_of(spec, batch, self._seed_of_fit() if seed is None else seed)
        with task.backend:
            engine = partial(fit_faceted, labels, design, prior)
            found = cast(FacetedFit[Labels], run(engine, task, spec.name))
        eta = sp.csr_matrix(found.components.eta.astype(np.float32))
        more = {"background": found.components.background}
        more |= {"eta_data": eta.data, "eta_indices": eta.indices, "eta_indptr": eta.indptr}
        data = replace(training, y=y).fingerprint
        fitted = kept(spec, vocabulary, found, n_seen=len(corpus), more=more, data=data)
        fitted = replace(fitted, doc_topic=found.doc_topic, training=training)
        return with_prior_errors(fitted, [(training, found.doc_topic.astype(np.float64))]), found

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        self.background_ = fitted.more["background"]

    def _model(self, schema: Schema) -> Model:
        return Model(self.n_topics, DirichletTopics(0.0), self._share_prior(schema, self.doc_topic_prior))

    def check_file(self, fitted: Fitted) -> None:
        """Refuse deviations of topics, labels and interactions that are no sparse matrix with a row per component."""
        indptr, indices = fitted.more["eta_indptr"], fitted.more["eta_indices"]
        if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices) or np.any(np.diff(indptr) < 0):
            raise ValueError("eta_indptr does not cut eta_data into rows")
        if int(indices.max(initial=0)) >= fitted.vocabulary.n_words:
            raise ValueError("eta_indices holds a word beyond the vocabulary")
        self._check_labels(fitted)
        design = self._design(fitted)
        if design.n_components != len(indptr) - 1:
            raise ValueError(f"the deviations have {len(indptr) - 1} rows, expected {design.n_components}")
        require_weights(facet_parts(fitted).tables(design).astype(np.float32), axis=0)

    @abstractmethod
    def _check_labels(self, fitted: Fitted) -> None:
        """Refuse labels without a meaning."""

    # --- using --------------------------------------------------------------------------------------------------

    def _infer_labels(
        self, fitted: Fitted, corpus: Corpus, logs: np.ndarray, backend: Backend, tables: np.ndarray | None = None,
        known: Known | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Posterior over the combinations of labels (D, A) and topic shares (D, K), given log p(a) (D, A).

        tables : (cells, V) p(word | cell); by default those of all cells of the fit
        known : what is known of the documents; the average document's prior on shares where it is not
        """
        prior = fitted.point_of(known).prior(len(corpus))
        tables = facet_parts(fitted).tables(self._design(fitted)) if tables is None else tables
        posterior, shares = np.empty(logs.shape), np.empty((len(corpus), fitted.n_topics), dtype=np.float32)
        for start in range(0, len(corpus), _DOCUMENTS_AT_ONCE):
            rows = slice(start, start + _DOCUMENTS_AT_ONCE)
            counts = corpus.counts[rows]
            batch = Batch(counts, logs[rows], np.ones(counts.shape[0]), fitted.n_topics)
            documents = Documents(batch, logs[rows], _EXACTLY)
            documents.infer(tables, prior[rows], logs[rows], True, backend)
            posterior[rows], shares[rows] = documents.posterior, documents.doc_topic()
        return posterior, shares

    def held_out(
        self, X: object, method: str, random_state: int, logs: np.ndarray | None = None, **options: Any
    ) -> HeldOut:
        """log p(words) of new documents, p(w) = sum_a p(a) p(w | a) over the combinations of labels a.

        In "completion", p(a) is the posterior given the observed half, and p(w | a) is of the other half.

        logs : (D, A) log p(a); by default that of all new documents
        """
        fitted, corpus = self._now, self._as_corpus(X)
        logs = np.tile(self._label_logs(fitted), (len(corpus), 1)) if logs is None else logs
        tables = facet_parts(fitted).tables(self._design(fitted))
        if method == "completion":
            seen = Corpus(completion_split(corpus.counts, random_state)[0])
            with fitted.spec.place.open() as backend:
                posterior = self._infer_labels(fitted, seen, logs, backend, tables)[0]
            logs = np.where(posterior > 0, np.log(np.maximum(posterior, 1e-300)), -np.inf)
        under, n_tokens = np.empty(logs.shape), np.zeros(len(corpus))
        for place in range(logs.shape[1]):
            topics = tables[place * fitted.n_topics : (place + 1) * fitted.n_topics].T
            given = (topics, fitted.prior_shares, corpus.counts, method)
            under[:, place], n_tokens = log_likelihood(*given, random_state=random_state, **options)
        return HeldOut(logsumexp(under + logs, axis=1), n_tokens)

    def _shares(self, corpus: Corpus, known: Known | None = None) -> np.ndarray:
        fitted = self._now
        logs = np.tile(self._label_logs(fitted), (len(corpus), 1))
        with fitted.spec.place.open() as backend:
            return self._infer_labels(fitted, corpus, logs, backend, known=known)[1]

    # --- showing ------------------------------------------------------------------------------------------------

    @property
    def deviations_(self) -> dict[str, pd.DataFrame]:
        """What each component adds to the background in log space: sparse frames of words by components.

        The keys are the names of the factors: ``deviations_["topic"]``, ``["party"]``, ``["topic × party"]``.
        """
        check_is_fitted(self, "fitted_")
        design, eta, frames = self._design(self.fitted_), _sparse(self.fitted_), {}
        for group, rows in zip(design.groups, design.slices, strict=True):
            values = [self._names(factor) for factor in group.factors]
            columns = (
                pd.Index(values[0], name=group.factors[0])
                if len(values) == 1
                else pd.MultiIndex.from_product(values, names=group.factors)
            )
            part = sp.csc_matrix(eta[rows].T)
            found = pd.DataFrame.sparse.from_spmatrix(part, self.fitted_.vocabulary.words, columns)
            frames[" × ".join(group.factors)] = found.fillna(0.0)  # pandas 3.0 takes what is not stored as missing
        return frames

    @property
    def sparsity_(self) -> dict[str, float]:
        """The share of deviations that are exactly zero, by kind of component."""
        check_is_fitted(self, "fitted_")
        design, eta = self._design(self.fitted_), _sparse(self.fitted_)
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
        check_is_fitted(self, "fitted_")
        rows, base, words = [], np.exp(self.background_), self.fitted_.vocabulary.words
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


def facet_parts(fitted: Fitted) -> Components:
    return Components(np.asarray(fitted.more["background"]), _sparse(fitted).toarray().astype(np.float64))


def _sparse(fitted: Fitted) -> sp.csr_matrix:
    """(components, V): all deviations."""
    data, indices, indptr = (fitted.more[f"eta_{name}"] for name in ("data", "indices", "indptr"))
    return sp.csr_matrix((data, indices, indptr), (len(indptr) - 1, fitted.vocabulary.n_words))
