"""A fitted model: all numbers that a fit found, and the Spec that it was asked for. A model file holds just this."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.backends.base import Backend
from supertopic.documents.columns import listed
from supertopic.documents.corpus import Corpus, as_corpus, holds_text, require_vocabulary
from supertopic.documents.known import Known
from supertopic.fitted.seen import Seen
from supertopic.fitted.spec import Place, Spec
from supertopic.fitted.training import Training
from supertopic.inference.after import prediction
from supertopic.inference.after.words import WordPart
from supertopic.inference.variational.climb import Climb
from supertopic.model import DocumentTerms, MixtureState, State

ALIKE = 0.7  # least cosine of a topic and its like in another fit, for it to be found again


class Made:
    """What is made from an array when it is first asked for, and kept as long as that array is the one in use."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def of(self, name: str, source: np.ndarray, make: Callable[[], np.ndarray]) -> np.ndarray:
        kept = self._kept.get(name)
        if kept is None or kept[0] is not source:
            kept = self._kept[name] = source, make()
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": {}}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The words: how many, their names where they have some, and what counts them in texts."""

    n_words: int
    names: np.ndarray | None = None  # (V,) of object
    vectorizer: Any = None

    @property
    def words(self) -> np.ndarray:
        """The names, or the numbers of the columns."""
        return np.arange(self.n_words).astype(str).astype(object) if self.names is None else self.names

    @property
    def stop_words(self) -> Any:
        """Words of the language that were left out."""
        return getattr(self.vectorizer, "stop_words_", ())

    def corpus(self, X: object, who: object = "model") -> Corpus:
        """New documents, counted over this vocabulary; who : the estimator, for what a refusal says."""
        found = as_corpus(X, vectorizer=self.vectorizer, n_features=self.n_words, estimator=who)
        require_vocabulary(found, self.names)
        return found


@dataclass(frozen=True, eq=False)
class Members:
    """The further fits of an ensemble, in the units of the first."""

    topics: np.ndarray  # (E - 1, V, W) float32
    coef: np.ndarray  # (E - 1, C, K + P) float32

    def __iter__(self) -> Any:
        return iter(zip(self.topics, self.coef, strict=True))

    def __len__(self) -> int:
        return len(self.coef)

    def moved(self, n_topics: int, slope: Any, intercept: np.ndarray, beside: np.ndarray | None = None) -> Members:
        """With topics that add intercept + slope·s to the linear predictors.

        slope : (C,), or one number for all columns; intercept : (C,)
        beside : (C, P) coefficients of the covariates from now on; None: those they have
        """
        coef = self.coef.astype(np.float64)
        factor = np.broadcast_to(slope, coef.shape[1:2])[:, None]
        coef[:, :, :n_topics] = factor * coef[:, :, :n_topics] + np.asarray(intercept)[:, None]
        if beside is not None:
            coef[:, :, n_topics:] = beside
        return replace(self, coef=coef.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Others:
    """Other fits to the same or nearly the same documents, with the topics and in the units of the first."""

    coef: np.ndarray  # (G, C, K + P) float32
    similar: np.ndarray  # (G, K) the cosine of each topic and its like

    @property
    def found(self) -> np.ndarray:
        """(G, K) bool: which fits find a topic again."""
        return self.similar >= ALIKE

    @property
    def found_again(self) -> np.ndarray:
        """(K,) the share of the fits that do."""
        return self.found.mean(axis=0, dtype=np.float64)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """(…, K) standard deviations of values (G, …, K) among the fits that find a topic; NaN with fewer than two."""
        found = np.broadcast_to(self.found.reshape(len(values), *(1,) * (values.ndim - 2), -1), values.shape)
        n = found.sum(axis=0)
        mean = np.where(found, values, 0.0).sum(axis=0) / np.maximum(n, 1)
        squares = np.where(found, (values - mean) ** 2, 0.0).sum(axis=0)
        return np.where(n > 1, np.sqrt(squares / np.maximum(n - 1, 1)), np.nan)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Labelled documents as fits without them predict them."""

    rows: np.ndarray  # (n,) which of the training documents
    fold: np.ndarray  # (n,)
    group: np.ndarray  # (n,) who they belong to: each to itself where nobody has said
    y: np.ndarray  # (n, M) numbers, and places of classes; NaN where missing
    means: np.ndarray  # (n, B) of each response after the other: E[y], or the probabilities of its classes


@dataclass(frozen=True, eq=False)
class Certainty:
    """How sure a model is, from documents that it has not seen; None: nothing is known."""

    levels: np.ndarray | None = None  # (M, n) of intervals, or of sets of classes, by response; NaN fills up
    knots: np.ndarray | None = None  # (M, F, k) and the logarithms of the scale of intervals there, by feature …
    widths: np.ndarray | None = None  # (M, F, k) … of the document: its linear predictor, how long it is
    coef_cov: np.ndarray | None = None  # (C, K + P, K + P) given the topics, where it is not that of the law
    topic_error: np.ndarray | None = None  # (C,) what errors given the topics are multiplied with
    heat: np.ndarray | None = None  # (M, 3) numbers of the `Heat` of each softmax
    zero: np.ndarray | None = None  # (C,) where tempered linear predictors stay
    scaling: np.ndarray | None = None  # levels and slope that turn the decision values of a margin into probabilities
    figures: np.ndarray | None = None  # (M, n) how good predictions are (`figures.Figures`), a row for each response


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model."""

    spec: Spec
    vocabulary: Vocabulary
    state: State
    trace: np.ndarray  # the bound (or log-likelihood) per token, once per iteration
    n_iter: int
    n_seen: int = 0  # documents
    said_unknown: bool = False  # whether a warning has told that batches hold unknown words only
    draws: dict[str, np.ndarray] = field(default_factory=dict)  # of a sampler, in the meaning that users know
    terms: DocumentTerms = field(default_factory=DocumentTerms)  # what is known of each document beside its topics
    doc_topic: np.ndarray | None = None  # (D, K) of the training documents
    doc_covariates: np.ndarray | None = None  # (D, P) of the same, centred and scaled
    training: Training | None = None  # these documents themselves, as long as the model stays in memory
    sampled: np.ndarray | None = None  # (D, K) Zbar of the training documents, averaged over a sampler's draws
    average: np.ndarray | None = None  # (K,) of a stream, whose documents are not kept
    members: Members | None = None
    words: WordPart | None = None  # beside topics
    certainty: Certainty = field(default_factory=Certainty)
    left_out: LeftOut | None = None
    seen: Seen | None = None  # of its documents
    others: Others | None = None  # fits without a fold, or refits (`notes["refits"]`)
    prior_error: np.ndarray | None = None  # standard errors of the parameters of the prior on shares
    stayed: np.ndarray | None = None  # (K,) how like each topic is to one of those without labels
    climb: Climb | None = None  # where an optimiser stands between batches
    labels: list[str | None] | None = None  # that users gave to topics
    more: dict[str, np.ndarray] = field(default_factory=dict)  # arrays of a model outside the grid …
    notes: dict[str, Any] = field(default_factory=dict)  # … and its plain values
    date: str = ""  # of the fit, such as "2026-11-19"
    data: str = ""  # the fingerprint of what it learned from
    made: Made = field(default_factory=Made)

    # --- what it is made of -------------------------------------------------------------------------------------

    @property
    def n_topics(self) -> int:
        """Of a document."""
        return int(self.spec.model.n_topics)

    @property
    def classes(self) -> np.ndarray | None:
        return self.spec.schema.classes

    def left_out_means(self, place: int) -> np.ndarray:
        """(n, …) those of response number `place`, of documents left out: E[y], or probabilities of classes."""
        assert self.left_out is not None
        sizes = [1 if one.classes is None else len(one.classes) for one in self.spec.schema.targets]
        first = sum(sizes[:place])
        return self.left_out.means[:, first : first + sizes[place]]

    @property
    def needs_words_only(self) -> bool:
        """Whether `fit` finds such a model from the words of documents alone."""
        schema = self.spec.schema
        return self.state.by_words and not (schema.targets or schema.classes is not None or self.more)

    @property
    def weights(self) -> np.ndarray:
        """p(word | topic), (V, K): what kernels take."""
        topics, emission = self.state.word_topic, self.spec.model.emission
        return self.made.of("weights", topics, lambda: emission.probabilities(topics, by_word=True))

    @property
    def components(self) -> np.ndarray:
        """p(word | topic), (K, V)."""
        topics, emission = self.state.word_topic, self.spec.model.emission
        return self.made.of("components", topics, lambda: emission.probabilities(topics))

    @property
    def prior_shares(self) -> np.ndarray:
        """(K,) mean of the prior on topic shares, not normalised: alpha, or the shares of a mixture."""
        if isinstance(self.state, MixtureState):
            return self.state.shares
        return self.spec.model.doc_topic_prior.mean(self.state.alpha)

    @property
    def average_shares(self) -> np.ndarray:
        """(K,) topic shares of the average training document; the prior's mean where none are kept."""
        if (kept := self.doc_topic) is not None:
            return self.made.of("average", kept, lambda: kept.mean(axis=0, dtype=np.float64))
        return self.prior_shares / self.prior_shares.sum() if self.average is None else self.average

    @property
    def point(self) -> prediction.PointModel:
        """The prior of the topic shares of the average document, and how those of new documents are inferred."""
        log_counts = self.spec.schema.counts == "log"
        if isinstance(self.state, MixtureState):
            return prediction.PointModel(self.state.alpha, self.state.shares, log_counts=log_counts)
        engine = self.spec.engine
        return prediction.PointModel(self.prior_shares, None, engine.collapsed, engine.at_mode, log_counts)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the coefficients' errors: one less than the groups that they are of."""
        n_groups = self.notes.get("n_groups")
        return np.inf if n_groups is None else max(float(n_groups) - 1.0, 1.0)

    @property
    def prior_columns(self) -> list[str]:
        """The columns of metadata that the prior on topic shares reads."""
        return list(self.spec.model.doc_topic_prior.columns)

    def point_of(self, known: Known | None) -> prediction.PointModel:
        """The same of documents of which something is known."""
        prior = self.spec.model.doc_topic_prior
        if known is None or not known.metadata or not prior.columns:
            return self.point
        rows = prior.rows(self.state.alpha, _Described(known.only(prior.columns)))
        return replace(self.point, alpha=rows.alpha, which=rows.which)

    @property
    def topic_coef(self) -> np.ndarray:
        """(C, K) float32 the model's own coefficients of topics."""
        return np.ascontiguousarray(self.state.coef[:, : self.n_topics])

    # --- new documents ------------------------------------------------------------------------------------------

    def corpus(self, X: object) -> Corpus:
        return self.vocabulary.corpus(X, self.spec.name)

    def one_document(self, doc: object) -> Corpus:
        """A text, or the counts of one document."""
        corpus = self.corpus([doc] if isinstance(doc, str) else doc)
        if len(corpus) != 1:
            raise ValueError(f"doc: got {len(corpus)} documents, expected one")
        return corpus

    def infer(self, corpus: Corpus, backend: Backend, known: Known | None = None) -> np.ndarray:
        """(D, K) topic shares."""
        point, counts = self.point_of(known).seen_of(corpus)
        return prediction.infer_shares(point, self.weights, counts, backend)[0]

    def words_by_topic(self, counts: sp.csr_matrix) -> np.ndarray:
        """(nnz, K) the topic shares of each entry."""
        with self.spec.place.open(1) as backend:
            return prediction.infer_shares(self.point, self.weights, counts, backend, words=True)[1].astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:  # a model travels without its documents
        return {**vars(self), "training": None}

    # --- changes ------------------------------------------------------------------------------------------------

    def at(self, place: Place) -> Fitted:
        """The same, to be used elsewhere."""
        return replace(self, spec=replace(self.spec, place=place))

    def with_certainty(self, **changes: Any) -> Fitted:
        return replace(self, certainty=replace(self.certainty, **changes))

    def over(self, vocabulary: Vocabulary) -> Fitted | None:
        """The same over other words, for a fit that goes on from here; None where the emission cannot tell how.

        A word that stays keeps its place in the topics. One that is new has in each topic what the rarest word has.
        """
        own, new = self.vocabulary.names, vocabulary.names
        if own is None or new is None or np.array_equal(own, new):
            return self
        topics = self.state.word_topic
        if self.spec.model.emission.name != "dirichlet" or topics.shape[1] != self.n_topics:
            return None
        column = {word: place for place, word in enumerate(own)}
        places = np.array([column.get(word, -1) for word in new], dtype=np.intp)
        rows = np.where((places >= 0)[:, None], topics[places], topics.min(axis=0))
        climb = None if self.climb is None else self.climb.over(places)
        return replace(self, vocabulary=vocabulary, state=replace(self.state, word_topic=rows), climb=climb)

    def learning(self, X: object) -> Fitted:
        """The same over the words of a further batch as well, where these are texts of which words may be learned."""
        vectorizer = self.vocabulary.vectorizer
        if not hasattr(vectorizer, "grown") or isinstance(X, Corpus) or not holds_text(X):
            return self
        larger = vectorizer.grown(X)
        names = larger.get_feature_names_out()
        found = self.over(Vocabulary(len(names), names, larger))
        if found is not None:
            return found
        new = listed(map(str, names[self.vocabulary.n_words :]))
        warnings.warn(f"partial_fit: the topics of {self.spec.name} learn no new words, such as {new}", stacklevel=4)
        return self

    def can_start(self, spec: Spec, n_words: int) -> bool:
        """Whether a fit of another Spec can go on from here."""
        own, new = self.spec.model, spec.model
        same = own.n_topics == new.n_topics and own.emission.name == new.emission.name
        same = same and self.state.alpha.shape == new.doc_topic_prior.start.shape
        return same and len(self.state.word_topic) == n_words


@dataclass(eq=False)
class _Described:
    """Documents of which only the metadata matters (`supertopic.priors.base.Described`)."""

    known: Known

    def __len__(self) -> int:
        return len(self.known)
