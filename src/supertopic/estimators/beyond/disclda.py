"""DiscLDA: topics of classes beside shared ones (Lacoste-Julien, Sha & Jordan 2008), with a fixed structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from supertopic.backends.base import Backend
from supertopic.checkpoint import fingerprint_data
from supertopic.documents.corpus import Corpus
from supertopic.documents.known import Known
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.beyond.class_topics import ClassPosterior, Structure, fit_classes, infer_classes, word_shares
from supertopic.estimators.shared.base import Fitting
from supertopic.estimators.shared.reading.checks import require_whole
from supertopic.estimators.shared.results.methods import word_table
from supertopic.estimators.shared.tempered import TemperedClasses
from supertopic.fitted.fit import kept, task_of
from supertopic.fitted.fitted import Fitted, Vocabulary
from supertopic.fitted.spec import Schema, Spec
from supertopic.inference.batches import Batch
from supertopic.inference.settings import EMSettings, Engine
from supertopic.inference.task import run
from supertopic.metrics import completion_split, log_likelihood
from supertopic.model import Model
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses.temperature import Evidence


@dataclass(kw_only=True, eq=False, repr=False)
class DiscLDAClassifier(Fitting, TemperedClasses):
    """y ~ Categorical(shares);  theta ~ Dirichlet(alpha);  z ~ theta;  w ~ beta_z;  z is a topic of y or a shared one.

    The structure is fixed, as in the paper's experiments with many classes and in those of MedLDA (footnote 14); only
    the topics are learned. A document of class y has `n_class_topics` topics of its own class, and `n_shared_topics`
    topics that all classes share. A new document is inferred once for each class, and

        p(y | w)  ∝  shares_y exp(variational bound of log p(w | y)).

    Prediction therefore takes as many inferences as there are classes, each with the few topics of one class.

    Parameters
    ----------
    n_class_topics : int
        K0, the topics of each class.
    n_shared_topics : int, optional
        K1, the shared topics; twice `n_class_topics` by default. 0 with one topic per class is naive Bayes.
    class_prior : {"empirical", "uniform"}
        Shares of the classes: those of the training documents, with one pseudo-document per class; or all equal.
    cross_fit : int
        Folds behind `temperature_`: fits without a fold's documents say how sure probabilities may be of theirs. 0: the
        probabilities are the model's own, which are far too sure of themselves.
    doc_topic_prior : float, K0 + K1 floats, "symmetric" or "auto"
        alpha, the same for all classes: fixed, or learned. Learned ones are smaller, and tell classes apart less well.
    topic_word_prior : float
        Smoothing of the topics.
    max_iter, tol
        Largest number of EM steps; the fit stops when the bound gains less than `tol` of itself.
    max_doc_iter, doc_tol
        Limits of a document's own inference while fitting.
    vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    classes_ : ndarray
    temperature_ : (level, power, weight): in `predict_proba`, log p(words | class) is divided by level · spread^power,
        its spread over the classes, and the logarithms of the classes' shares have this weight
    components_ : (C K0 + K1, V) ndarray: the topics of the first class, of the second, …, and the shared ones
    topic_classes_ : (C K0 + K1,) ndarray of object, the class of each topic; None for a shared one
    doc_topic_ : (D, C K0 + K1) ndarray, topic shares of the training documents, given their words alone
    alpha_ : (K0 + K1,) ndarray
    bound_ : ndarray, the evidence bound per token of the words given the classes, by iteration
    n_iter_, n_features_in_, feature_names_in_, vectorizer_

    Examples
    --------
    >>> from supertopic import DiscLDAClassifier
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> kinds = ["pets", "money", "pets", "money"] * 10
    >>> model = DiscLDAClassifier(1, n_shared_topics=1, cross_fit=0).fit(texts, kinds)
    >>> model.predict(["a dog and a cat", "stock market"]).tolist()
    ['pets', 'money']
    """

    papers: ClassVar[str] = "Lacoste-Julien, Sha & Jordan 2008"

    more_arrays: ClassVar[tuple[str, ...]] = ("log_shares",)
    engines: ClassVar[dict[str, Engine]] = {"vb": Engine(fit_classes, EMSettings, 100)}

    n_class_topics: int = field(default=2, kw_only=False)
    n_shared_topics: int | None = None
    class_prior: Literal["empirical", "uniform"] = "empirical"
    cross_fit: int = 3
    doc_topic_prior: float | Literal["auto", "symmetric"] | Sequence[float] | np.ndarray = 1.0
    topic_word_prior: float = 0.01
    max_iter: int = 100
    tol: float = 1e-4
    max_doc_iter: int = 100
    doc_tol: float = 1e-2

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(
        self, X: object, y: object = None, *, metadata: object = None, groups: object = None, times: object = None
    ) -> Self:
        """Learn the topics of each class and the shared ones.

        X : counts, strings, or a Corpus
        y : (D,) labels; documents whose label is missing (None or NaN) are left out
        metadata, groups, times : as in `LDA.fit`
        """
        beside = {"metadata": metadata, "groups": groups, "times": times}
        self._check_parameters()
        self._settings()
        corpus, vocabulary = self._read(X)
        of_documents = Known.of_corpus(corpus, y=y, **beside)
        codes, classes = self._read_classes(y, len(corpus))
        known = np.flatnonzero(~np.isnan(codes))
        spec = self._spec(Schema(classes=classes))
        shares = self._class_shares(np.bincount(codes[known].astype(np.intp), minlength=len(classes)))
        more = {"log_shares": np.log(shares / shares.sum())}
        batch = Batch(corpus.counts[known], codes[known], np.ones(len(known)), spec.model.n_topics)
        task = task_of(spec, batch, self._seed_of_fit(), self._start_of(spec, vocabulary))
        with task.backend as backend:
            found = run(spec.engine.fit, task, spec.name, more_follows=True)
            fitted = kept(
                spec, vocabulary, found, n_seen=len(corpus), more=more, data=fingerprint_data(corpus.counts, codes)
            )
            fitted = replace(fitted, doc_topic=self._class_posterior(fitted, corpus, backend).doc_topic)
        if task.checkpoint is not None:
            task.checkpoint.finish()
        return self._tempered(fitted, corpus, codes, of_documents)

    def _spec(self, schema: Schema) -> Spec:
        spec = super()._spec(schema)
        return replace(spec, engine=replace(spec.engine, fit=partial(fit_classes, self._structure(schema.classes))))

    def _start_of(self, spec: Spec, vocabulary: Vocabulary) -> Fitted | None:
        """What a warm start goes on from: a fit with the same words, topics and classes."""
        start, classes = self._start(vocabulary), spec.schema.classes
        shape = (vocabulary.n_words, self._structure(classes).n_topics)
        if start is None or start.classes is None or classes is None or not np.array_equal(start.classes, classes):
            return None
        return start if start.state.word_topic.shape == shape else None

    def check_file(self, fitted: Fitted) -> None:
        super().check_file(fitted)
        shares = np.exp(fitted.more["log_shares"])
        if fitted.classes is None or shares.shape != fitted.classes.shape or not abs(shares.sum() - 1.0) < 1e-3:
            raise ValueError("log_shares are no shares of the classes")

    def n_topics_of(self, schema: Schema) -> tuple[int, int]:
        require_whole(self, "n_class_topics")
        require_whole(self, "n_shared_topics", least=0, or_none=True)
        n_classes = 0 if schema.classes is None else len(schema.classes)
        of_class, shared = int(self.n_class_topics), self._n_shared()
        return of_class + shared, n_classes * of_class + shared

    def _check_parameters(self) -> None:
        """Refuses parameters that make no sense, before any work is done."""
        require_whole(self, "n_class_topics")
        require_whole(self, "n_shared_topics", least=0, or_none=True)
        self._check_classes()
        self._place()
        self._model(Schema())

    def _n_shared(self) -> int:
        return 2 * int(self.n_class_topics) if self.n_shared_topics is None else int(self.n_shared_topics)

    def _structure(self, classes: Any) -> Structure:
        return Structure(len(classes), int(self.n_class_topics), self._n_shared())

    def structure(self) -> Structure:
        """Which topics are whose."""
        check_is_fitted(self, "fitted_")
        return self._structure(self.fitted_.classes)

    def _model(self, schema: Schema) -> Model:
        """The model of the documents of one class."""
        n_topics = int(self.n_class_topics) + self._n_shared()
        prior = DirichletPrior.parse(self.doc_topic_prior, n_topics)
        return Model(n_topics, DirichletTopics(self.topic_word_prior), prior)

    # --- using --------------------------------------------------------------------------------------------------

    def _class_posterior(self, fitted: Fitted, corpus: Corpus, backend: Backend) -> ClassPosterior:
        given = (fitted.weights, fitted.state.alpha, fitted.more["log_shares"])
        return infer_classes(self._structure(fitted.classes), *given, corpus.counts, backend)

    def _shares(self, corpus: Corpus, known: Known | None = None) -> np.ndarray:
        fitted = self._now
        with fitted.spec.place.open() as backend:
            return self._class_posterior(fitted, corpus, backend).doc_topic

    def evidence(self, corpus: Corpus) -> Evidence:
        """What the words of documents say about their classes, by the bound of log p(words | class)."""
        fitted = self._now
        with fitted.spec.place.open() as backend:
            bound = self._class_posterior(fitted, corpus, backend).bound
        return Evidence(bound, fitted.more["log_shares"])

    def perplexity(self, X: object, method: str = "completion", **options: Any) -> float:
        """exp(-log-likelihood per token) of new documents without their classes, p(w) = sum_c p(c) p(w | c).

        See `supertopic.metrics.perplexity`. In "completion", p(c) is the class posterior given the observed half.
        """
        corpus = self._as_corpus(X)
        options["random_state"] = options.get("random_state") or 0  # all classes need the same half
        fitted, structure = self._now, self.structure()
        weights, log_shares = fitted.weights, fitted.more["log_shares"]
        logs, n_tokens = [], np.zeros(len(corpus))
        for place in range(structure.n_classes):
            topics = weights[:, structure.columns(place)]
            found = log_likelihood(topics, fitted.state.alpha, corpus.counts, method, **options)
            logs.append(found.log_likelihood)
            n_tokens = found.n_tokens
        if method == "completion":
            seen = Corpus(completion_split(corpus.counts, options["random_state"])[0])
            with fitted.spec.place.open() as backend:
                log_shares = np.log(np.maximum(self._class_posterior(fitted, seen, backend).posterior, 1e-300))
        return float(np.exp(-logsumexp(np.column_stack(logs) + log_shares, axis=1).sum() / max(n_tokens.sum(), 1.0)))

    def explain_words(self, doc: object) -> pd.DataFrame:
        """The shares are averaged over the classes, weighted by `predict_proba`."""
        fitted = self._now
        corpus = fitted.one_document(doc)
        with fitted.spec.place.open(1) as backend:
            posterior = self._class_posterior(fitted, corpus, backend).posterior[0]
            given = (self.structure(), fitted.weights, fitted.state.alpha)
            shares = word_shares(*given, posterior, corpus.counts, backend)
        return word_table(fitted.vocabulary.words, corpus.counts, shares)

    @property
    def topic_classes_(self) -> np.ndarray:
        """The class of each topic; None for a shared one."""
        check_is_fitted(self, "fitted_")
        owners = np.full(self.structure().n_topics, None, dtype=object)
        owners[: len(self.classes_) * int(self.n_class_topics)] = np.repeat(self.classes_, int(self.n_class_topics))
        return owners

    def top_words(self, n: int = 10, by: str = "probability") -> pd.DataFrame:
        """The n most probable words of each topic: columns topic, class (None: shared), rank, word, probability."""
        frame = super().top_words(n, by)
        owners = self.topic_classes_[frame["topic"].to_numpy()]
        frame.insert(1, "class", pd.Series(owners, index=frame.index, dtype=object))
        return frame

    def topics(self, n: int = 10) -> pd.DataFrame:
        """One row per topic: its class (None: shared), its share of the training documents, its n likeliest words."""
        frame = super().topics(n)
        frame.insert(0, "class", pd.Series(self.topic_classes_, dtype=object))
        return frame.sort_index()
