"""Hidden topic Markov model: one topic per sentence (Gruber, Rosen-Zvi & Weiss 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from supertopic.backends.base import Backend
from supertopic.checkpoint import fingerprint_data
from supertopic.checks import check_choice
from supertopic.documents.corpus import Corpus, warn_empty
from supertopic.documents.known import Known
from supertopic.documents.rows import require_same_order
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.beyond.sentence_topics import (
    Inferred,
    Sentences,
    SentenceState,
    completion,
    fit_sentences,
    infer_posterior,
    log_topics,
)
from supertopic.estimators.beyond.sentences import Rows, gather
from supertopic.estimators.shared.base import Fitting, TopicEstimator
from supertopic.estimators.shared.reading.checks import require_whole
from supertopic.fitted.fit import kept, task_of
from supertopic.fitted.fitted import Fitted, Vocabulary
from supertopic.fitted.spec import Schema
from supertopic.inference.batches import Batch
from supertopic.inference.settings import EMSettings, Engine
from supertopic.inference.task import run
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior


@dataclass(kw_only=True, eq=False, repr=False)
class HTMM(Fitting, TopicEstimator):
    """theta_d ~ Dirichlet(alpha);  a sentence draws its topic from theta_d with probability epsilon, or keeps the last.

    All words of a sentence have its topic. The first sentence of a document always draws. The topics of the sentences
    are summed out exactly; theta, topics and epsilon are posterior modes (`sentence_topics` has the EM steps).

    X is a list or column of texts, which are split into sentences; or a list of lists of sentences; or a row per
    sentence (text or counts), where ``documents=`` names the document of each row. Results have a row per document, and
    those of `sentences` a row per sentence.

    Parameters
    ----------
    n_topics : int
        K.
    epsilon : float or "auto"
        Probability that a sentence draws its topic anew: learned, or fixed. With 1, the order of the sentences does
        not matter.
    doc_topic_prior : float or K floats
        Pseudo-counts a of the topics of a document: theta ~ Dirichlet(1 + a).
    topic_word_prior : float
        Pseudo-count b of the words of a topic: beta ~ Dirichlet(1 + b).
    max_iter, tol
        Largest number of EM steps; the fit stops when the objective gains less than `tol` of itself.
    max_doc_iter, doc_tol
        Limits of a document's own inference within a step: passes, and the largest change of a share.
    vectorizer : Vectorizer, optional
        Counts the words when X is text. Its vocabulary is chosen from whole documents. It is saved with the model.
        None: ``Vectorizer()``, which leaves out the stop words of English texts.
    n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    components_ : (K, V) ndarray, rows are distributions over words
    doc_topic_ : (D, K) ndarray, topic shares of the training documents
    epsilon_ : float
    alpha_ : (K,) ndarray, 1 + doc_topic_prior
    bound_ : ndarray, the log posterior (up to constants) per token, by iteration; it never falls
    n_iter_, n_features_in_, feature_names_in_, vectorizer_

    Examples
    --------
    >>> from supertopic import HTMM
    >>> texts = ["Cat and dog. Dog and bird.", "Stock and bond. Bond and fund."] * 10
    >>> model = HTMM(2).fit(texts)
    >>> len(model.sentences(["A dog. A bond."]))
    2
    """

    papers: ClassVar[str] = "Gruber, Rosen-Zvi & Weiss 2007"

    elsewhere: ClassVar[str] = (
        "HTMM gives each sentence one topic. This page does not split texts into sentences. For new texts use Python: "
        "model.sentences([text])."
    )
    engines: ClassVar[dict[str, Engine]] = {"vb": Engine(fit_sentences, EMSettings, 100)}

    n_topics: int = field(default=20, kw_only=False)
    epsilon: float | Literal["auto"] = "auto"
    doc_topic_prior: float | Sequence[float] | np.ndarray = 0.5
    topic_word_prior: float = 0.2
    max_iter: int = 100
    tol: float = 1e-5
    max_doc_iter: int = 10
    doc_tol: float = 1e-3

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(
        self, X: object, y: object = None, documents: object = None, *, metadata: object = None, groups: object = None,
        times: object = None,
    ) -> Self:  # fmt: skip
        """Learn topics, and how often they change.

        X : texts, lists of sentences, or a row per sentence
        documents : (S,) the document of each row, if rows are sentences; the rows of a document stand together
        metadata, groups, times : of the documents, as in `LDA.fit`
        """
        beside = {"metadata": metadata, "groups": groups, "times": times}
        self._check_parameters()
        self._settings()
        rows = gather(X, documents)
        corpus, vocabulary = self._read(rows)
        sentences, spec = Sentences(corpus.counts, rows.first), self._spec(Schema())
        require_same_order(X, **beside)
        Known.of(len(sentences), **beside)
        # part of the checkpoint's fingerprint: the same sentences in other documents are another fit
        owners = np.repeat(np.arange(float(len(sentences))), np.diff(rows.first))
        batch = Batch(sentences.counts, owners, np.ones(len(owners)), spec.model.n_topics)
        task = task_of(spec, batch, self._seed_of_fit(), self._start(vocabulary))
        epsilon = None if self.epsilon == "auto" else float(self.epsilon)
        with task.backend as backend:
            found = run(partial(fit_sentences, rows.first, epsilon), task, spec.name)
            fitted = kept(spec, vocabulary, found, n_seen=len(sentences), data=fingerprint_data(corpus.counts, owners))
            shares = self._infer_sentences(fitted, sentences, backend).doc_topic.astype(np.float32)
        self._take(replace(fitted, doc_topic=shares))
        warn_empty(Corpus(sentences.by_document))
        return self

    def _check_parameters(self) -> None:
        """Refuses parameters that make no sense, before any work is done."""
        require_whole(self, "n_topics")
        self._place()
        is_number = isinstance(self.epsilon, Real) and not isinstance(self.epsilon, bool)
        if not (is_number and 0 < float(self.epsilon) <= 1) and not (
            isinstance(self.epsilon, str) and self.epsilon == "auto"
        ):
            raise ValueError(f"epsilon: got {self.epsilon!r}, expected 'auto' or a number > 0 and <= 1")
        self._model(Schema())

    def _model(self, schema: Schema) -> Model:
        prior = DirichletPrior.parse(self.doc_topic_prior, self.n_topics)
        if prior.learns:
            raise ValueError(f"doc_topic_prior: got {self.doc_topic_prior!r}, expected a positive number, or K of them")
        return Model(self.n_topics, DirichletTopics(self.topic_word_prior), prior)

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        self.alpha_ = 1.0 + fitted.state.alpha
        assert isinstance(fitted.state, SentenceState)
        self.epsilon_ = float(fitted.state.epsilon[0])

    # --- using --------------------------------------------------------------------------------------------------

    def transform(self, X: object, documents: object = None, *, metadata: object = None) -> np.ndarray:
        """Topic shares of each document: (D, K), rows sum to one. Shares are equal where no word is known."""
        sentences = self._as_sentences(X, documents)[1]
        warn_empty(Corpus(sentences.by_document))
        fitted = self._now
        with fitted.spec.place.open() as backend:
            return self._infer_sentences(fitted, sentences, backend).doc_topic.astype(np.float32)

    def sentences(self, X: object, documents: object = None) -> pd.DataFrame:
        """The topic of each sentence: columns document, sentence, topic, probability, fresh and, if X is text, text.

        `topic` is the most probable topic, `probability` is its probability, and `fresh` is the probability that the
        topic was drawn anew.
        """
        rows, sentences = self._as_sentences(X, documents)
        fitted = self._now
        with fitted.spec.place.open() as backend:
            found = self._infer_sentences(fitted, sentences, backend)
        lengths = np.diff(sentences.first)
        frame = pd.DataFrame(
            {
                "document": np.repeat(np.arange(len(sentences)), lengths),
                "sentence": np.arange(len(found.fresh)) - np.repeat(sentences.first[:-1], lengths),
                "topic": found.posterior.argmax(axis=1),
                "probability": found.posterior.max(axis=1),
                "fresh": found.fresh,
            }
        )
        if rows.are_text:
            frame["text"] = rows.sentences
        return frame

    def perplexity(self, X: object, method: str = "completion", documents: object = None, **options: Any) -> float:
        """exp(-log-likelihood per token) of the second half of each document's sentences, given the first half."""
        check_choice("method", method, ("completion",))
        if options:
            raise ValueError(f"{next(iter(options))}: halves of sentences are not drawn, and have no options")
        sentences = self._as_sentences(X, documents)[1]
        fitted = self._now
        with fitted.spec.place.open() as backend:
            given = (log_topics(fitted.state), fitted.state.alpha, self.epsilon_, backend)
            logs, n_tokens = completion(sentences, *given)
        return float(np.exp(-logs.sum() / max(n_tokens.sum(), 1.0)))

    def score(self, X: object, y: object = None, documents: object = None) -> float:
        """Log-likelihood per token of the second half of each document's sentences, given the first half."""
        return -float(np.log(self.perplexity(X, documents=documents)))

    def explain(self, doc: object, n_topics: int | None = 3) -> pd.DataFrame:
        """The topic shares of each word of one document: columns sentence, word, count, and topics as in `LDA`.

        All words of a sentence have the same shares.

        doc : a text, or a list of its sentences
        """
        return super().explain(doc, n_topics)

    def explain_words(self, doc: object) -> pd.DataFrame:
        """With the sentence of each word."""
        if isinstance(doc, str):
            doc = [doc]
        elif isinstance(doc, (list, tuple)) and doc and all(isinstance(part, str) for part in doc):
            doc = [list(doc)]
        sentences, fitted = self._as_sentences(doc, None)[1], self._now
        if len(sentences) != 1:
            raise ValueError(f"doc: got {len(sentences)} documents, expected one")
        with fitted.spec.place.open(1) as backend:
            posterior = self._infer_sentences(fitted, sentences, backend).posterior
        place = np.repeat(np.arange(sentences.counts.shape[0]), np.diff(sentences.counts.indptr))
        frame = pd.DataFrame(posterior[place].astype(np.float64), columns=[f"topic {k}" for k in range(self.n_topics)])
        frame.insert(0, "count", sentences.counts.data.astype(np.float64))
        frame.insert(0, "word", fitted.vocabulary.words[sentences.counts.indices])
        frame.insert(0, "sentence", place)
        return frame

    def _infer_sentences(self, fitted: Fitted, sentences: Sentences, backend: Backend) -> Inferred:
        state = fitted.state
        assert isinstance(state, SentenceState)
        return infer_posterior(sentences, log_topics(state), state.alpha, float(state.epsilon[0]), backend)

    # --- reading ------------------------------------------------------------------------------------------------

    def _read(self, X: object) -> tuple[Corpus, Vocabulary]:
        """Training sentences. The vocabulary is chosen from the texts of whole documents."""
        if not isinstance(X, Rows) or not X.are_text:
            return super()._read(X.sentences if isinstance(X, Rows) else X)
        vectorizer = clone(self._vectorizer()).fit(X.texts())
        words = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
        return Corpus(vectorizer.transform(X.sentences), words), Vocabulary(len(words), words, vectorizer)

    def _as_sentences(self, X: object, documents: object) -> tuple[Rows, Sentences]:
        check_is_fitted(self, "fitted_")
        rows = gather(X, documents)
        if rows.are_text and not rows.sentences:  # texts without any sentence
            nothing = Corpus(self._as_corpus([""]).counts[:0])
            return rows, Sentences(nothing.counts, rows.first)
        return rows, Sentences(self._as_corpus(rows.sentences).counts, rows.first)
