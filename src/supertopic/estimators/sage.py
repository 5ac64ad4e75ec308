"""SAGE: classes and topics that add sparse deviations to a background (Eisenstein, Ahmed & Xing 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from supertopic.checkpoint import fingerprint_data
from supertopic.checks import check_choice
from supertopic.documents.corpus import Corpus
from supertopic.documents.known import Known
from supertopic.emissions import sage as emissions
from supertopic.emissions.deviations import SparsePrior, fit_deviations
from supertopic.estimators.shared.base import Fitting, TopicEstimator
from supertopic.estimators.shared.reading.checks import require_number, require_whole
from supertopic.estimators.shared.results.methods import labelled_words
from supertopic.estimators.shared.results.topic_info import ranked_words
from supertopic.estimators.shared.tempered import TemperedClasses
from supertopic.fitted.fit import kept
from supertopic.fitted.spec import Schema
from supertopic.inference.methods import Method
from supertopic.inference.settings import EMSettings, Engine, StochasticSettings
from supertopic.inference.task import Fit, Task, Watch
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.stochastic import fit_stochastic
from supertopic.model import MixtureState, Model
from supertopic.priors.base import SharePrior
from supertopic.priors.dirichlet import DirichletPrior
from supertopic.responses.temperature import Evidence


def no_engine(task: Task, watch: Watch) -> Fit:
    """Classes are fitted by Newton's method on their summed counts, and need no Task."""
    raise TypeError("SAGEClassifier fits itself")


class _Deviating(TopicEstimator):
    """What the parameters of SAGE topics show of themselves."""

    papers: ClassVar[str] = "Eisenstein, Ahmed & Xing 2011"

    def _sparse_prior(self) -> SparsePrior:
        """The prior that the parameters describe."""
        return SparsePrior(self.prior, self.gamma, self.background, self.unseen)

    @property
    def deviations_(self) -> pd.DataFrame:
        """What each topic or class (rows) adds to the background's log probability of each word (columns)."""
        check_is_fitted(self, "fitted_")
        eta = emissions.unpack(self.fitted_.state.word_topic)[0].T
        rows = (
            pd.Index(self.classes_, name="class")
            if hasattr(self, "classes_")
            else pd.RangeIndex(len(eta), name="topic")
        )
        return pd.DataFrame(eta, index=rows, columns=pd.Index(self.fitted_.vocabulary.words, name="word"))

    @property
    def background_(self) -> np.ndarray:
        """(V,) log probabilities of the background."""
        check_is_fitted(self, "fitted_")
        return emissions.unpack(self.fitted_.state.word_topic)[1].astype(np.float64)

    @property
    def sparsity_(self) -> float:
        """The share of deviations that are exactly zero."""
        check_is_fitted(self, "fitted_")
        return float((emissions.unpack(self.fitted_.state.word_topic)[0] == 0).mean())

    def top_words(self, n: int = 10, by: str = "contribution") -> pd.DataFrame:
        """The n words each topic adds most of: columns topic, rank, word, probability, deviation.

        by : {"contribution", "deviation", "probability"}
            Deviation times probability, the word's part in what sets the topic apart; largest deviation, which prefers
            rare words; or most probable as in `LDA`, which shows plain language.
        """
        check_is_fitted(self, "fitted_")
        eta, own = (
            emissions.unpack(self.fitted_.state.word_topic)[0].T,
            emissions.own_words(self.fitted_.state.word_topic).T,
        )
        ranks = {"deviation": eta, "contribution": eta * own, "probability": own}
        if by not in ranks:
            raise ValueError(f"by: got {by!r}, expected one of {', '.join(map(repr, ranks))}")
        order = np.argsort(-ranks[by], axis=1, kind="stable")[:, :n]
        return ranked_words(order, self.fitted_.vocabulary.words, probability=own, deviation=eta)


@dataclass(kw_only=True, eq=False, repr=False)
class SAGEClassifier(TemperedClasses, _Deviating):
    """Naive Bayes with sparse classes: y ~ Categorical(shares);  every word of a document ~ exp(m + eta_y) / Z_y.

    Parameters
    ----------
    prior : {"jeffreys", "exponential"}
        On the variance of every deviation: without a parameter, or exponential with rate `gamma`.
    gamma : float
        "exponential" only: the larger, the sparser.
    background : {"fitted", "corpus"}
        m: fitted with the deviations, or the word frequencies of all documents together (the paper's).
    unseen : float
        A word that no training document has counts as seen this many times, by no class.
    background_share : float
        In prediction, how probably a word of a document is the background's and not its class's: from 0, the paper's
        model, to below 1. The probabilities are then much less sure of themselves. With the exponential prior and log
        counts 0.8 had more of the held-out training documents right than 0 had, in every one of twelve settings
        (20 Newsgroups, BBC news, political blogs; 3 to 80 % of the documents); with the defaults in some only.
    counts : {"raw", "log"}
        "log" takes log2(1 + count) for every count, in fitting and predicting: that a document repeats a word then says
        less than its first use did. It is no model of counts any more, and it predicts better.
    class_prior : {"empirical", "uniform"}
        Shares of the classes: those of the training documents, one added to each; or all alike.
    cross_fit : int
        Folds behind `temperature_`: fits without a fold's documents say how sure probabilities may be of theirs. 0: the
        probabilities are the model's own, which are far too sure of themselves.
    max_iter, tol
        Newton steps at most; stop once the penalised log-likelihood gains less than `tol` a token.
    vectorizer : Vectorizer, optional
        Counts the words when X is text; travels with the saved model. None: ``Vectorizer()``, which leaves out the
        stop words of English texts (``Vectorizer(stop_words=None)`` keeps them).
    n_jobs : int, optional
        Threads; the result does not depend on it.
    backend : {"threads"} or dask.distributed.Client
        Where the work is done.

    Attributes
    ----------
    classes_ : ndarray
    temperature_ : (level, power, weight): in `predict_proba`, log p(words | class) is divided by level · spread^power,
        its spread over the classes, and the logarithms of the classes' shares have this weight
    deviations_ : (C, V) DataFrame, what each class adds to the background in log space; mostly zeros
    background_ : (V,) ndarray, log probabilities
    sparsity_ : float, the share of zeros among the deviations
    components_ : (C, V) ndarray, the classes as distributions over words, `background_share` of the background in them
    doc_topic_ : (D, C) ndarray, posterior over the classes of the training documents, given their words alone
    bound_ : ndarray, the penalised log-likelihood per token, by iteration; it never falls
    n_iter_, n_features_in_, feature_names_in_, vectorizer_

    Examples
    --------
    >>> from supertopic import SAGEClassifier
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> kinds = ["pets", "money", "pets", "money"] * 10
    >>> model = SAGEClassifier(cross_fit=0).fit(texts, kinds)
    >>> model.predict(["a dog and a cat", "stock market"]).tolist()
    ['pets', 'money']
    """

    membership_ = "single"
    engines: ClassVar[dict[str, Engine]] = {"newton": Engine(no_engine, EMSettings, 200)}

    prior: Literal["jeffreys", "exponential"] = "jeffreys"
    gamma: float = 0.3
    background: Literal["fitted", "corpus"] = "fitted"
    unseen: float = 0.1
    background_share: float = 0.0
    counts: Literal["raw", "log"] = "raw"
    class_prior: Literal["empirical", "uniform"] = "empirical"
    cross_fit: int = 3
    max_iter: int = 200
    tol: float = 1e-4
    vectorizer: Any = None
    n_jobs: int | None = None
    backend: Any = "threads"

    def fit(
        self, X: object, y: object = None, *, metadata: object = None, groups: object = None, times: object = None,
        sample_weight: object = None,
    ) -> Self:  # fmt: skip
        """Learn what each class adds to the background.

        X : counts, strings, or a Corpus
        y : (D,) labels; documents whose label is missing (None or NaN) are left out
        metadata, groups, times : as in `LDA.fit`
        sample_weight : (D,) how often each document counts
        """
        beside = {"metadata": metadata, "groups": groups, "times": times, "sample_weight": sample_weight}
        prior = self._check()
        corpus, vocabulary = self._read(X)
        codes, classes = self._read_classes(y, len(corpus))
        weighed = Known.of_corpus(corpus, y=y, **beside)
        weighed.require_weight()
        weight = weighed.weights
        known = np.flatnonzero(~np.isnan(codes))
        place = (codes[known].astype(np.intp), known)
        members = sp.csr_matrix((weight[known], place), shape=(len(classes), len(corpus)))
        counts = (members @ self._damped(corpus).counts).toarray().astype(np.float64)
        spec = self._spec(Schema(classes=classes, counts=str(self.counts)))
        n_members = np.asarray(members.sum(axis=1)).ravel()
        data = fingerprint_data(corpus.counts, codes, weight)
        with spec.place.open() as backend:
            found = backend.form(fit_deviations)(counts, prior, backend, max_iter=self.max_iter, tol=self.tol)
            given = {"alpha": np.ones(len(classes)), "shares": self._class_shares(n_members)}
            state = MixtureState.first(spec.model, emissions.pack(found, counts.T), **given)
            trace = np.asarray(found.trace) / max(counts.sum(), 1.0)
            fitted = kept(spec, vocabulary, Fit(state, trace.tolist(), found.n_iter), data=data)
            fitted = replace(fitted, doc_topic=fitted.infer(corpus, backend))
        return self._tempered(fitted, corpus, codes, weighed)

    def evidence(self, corpus: Corpus) -> Evidence:
        """What the words of documents say about their classes."""
        fitted = self._now
        log_words = self._damped(corpus).counts @ np.log(fitted.weights.astype(np.float64))
        shares = fitted.prior_shares / fitted.prior_shares.sum()
        return Evidence(log_words, np.log(shares))

    def explain(self, doc: object, n_topics: int | None = None) -> pd.DataFrame:
        """What each word of one document says for each class: columns word, count, and a column per class.

        A class's column holds count · log p(word | class) / p(word | background); summed, with the log of the class's
        share added, it is the class's score; `predict_proba` is the softmax of tempered scores.

        n_topics : how many classes have a column, those with the largest sums in this order; None: all, as they are
        """
        corpus = self._damped(self._now.one_document(doc))
        words, counts = corpus.counts.indices, corpus.counts.data.astype(np.float64)
        says = counts[:, None] * (
            np.log(self.components_[:, words].T.astype(np.float64)) - self.background_[words, None]
        )
        return labelled_words(self.fitted_.vocabulary.words[words], counts, says, self.classes_, n_topics)

    def explain_words(self, doc: object) -> pd.DataFrame:
        return self.explain(doc)

    def top_words(self, n: int = 10, by: str = "contribution") -> pd.DataFrame:
        """The n words each class adds most of: columns topic, class, rank, word, probability, deviation.

        by : {"contribution", "deviation", "probability"}
            Deviation times probability, the word's part in what sets the topic apart; largest deviation, which prefers
            rare words; or most probable as in `LDA`, which shows plain language.
        """
        frame = super().top_words(n, by)
        frame.insert(1, "class", self.classes_[frame["topic"].to_numpy()])
        return frame

    def _damped(self, corpus: Corpus) -> Corpus:
        """Documents as the classes see them: their counts, or the logarithms."""
        return corpus.logs if self.counts == "log" else corpus

    def n_topics_of(self, schema: Schema) -> tuple[int, int]:
        n_classes = 0 if schema.classes is None else len(schema.classes)
        return n_classes, n_classes

    def _check_parameters(self) -> None:
        self._check()

    def _check(self) -> SparsePrior:
        """Refuses parameters that make no sense, before any work is done."""
        check_choice("counts", self.counts, ("raw", "log"))
        require_whole(self, "max_iter")
        require_number(self, "tol")
        self._check_classes()
        return self._emission_of().prior

    def _emission_of(self) -> emissions.SparseClasses:
        """The emission that the parameters describe."""
        return emissions.SparseClasses(self._sparse_prior(), self.background_share)

    def _model(self, schema: Schema) -> Model:
        assert schema.classes is not None
        n_classes = len(schema.classes)
        return Model(n_classes, self._emission_of(), DirichletPrior.parse(1.0, n_classes), one_topic=True)


@dataclass(kw_only=True, eq=False, repr=False)
class SAGETopics(Fitting, _Deviating):
    """theta_d ~ Dirichlet(alpha);  z ~ theta_d;  w ~ exp(m + eta_z) / Z_z:  topics that add sparse deviations to m.

    Parameters
    ----------
    n_topics : int
        K.
    prior : {"exponential", "jeffreys"}
        On the variance of every deviation: exponential with rate `gamma`, or without a parameter, which is sparser and
        predicts a little worse.
    gamma : float
        "exponential" only: the larger, the sparser.
    background, unseen
        As in `SAGEClassifier`.
    inference : {"vb", "svi"}, or VB, SVI with parameters of their own
        Variational EM over the whole corpus, or in mini-batches (streams, `partial_fit`); one Newton step for the
        deviations in every M-step.
    doc_topic_prior, max_iter, tol
        As in `LDA`.
    prevalence, vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    deviations_ : (K, V) DataFrame, what each topic adds to the background in log space; mostly zeros
    background_ : (V,) ndarray, log probabilities
    sparsity_ : float, the share of zeros among the deviations
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`.

    Examples
    --------
    >>> from supertopic import SAGETopics
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> model = SAGETopics(2).fit(texts)
    >>> model.deviations_.shape
    (2, 8)
    """

    engines: ClassVar[dict[str, Engine]] = {
        "vb": Engine(fit_batch, EMSettings, 100, without=("per_token",)),
        "svi": Engine(fit_stochastic, StochasticSettings, 10, without=("per_token",)),
    }

    n_topics: int = field(default=20, kw_only=False)
    prior: Literal["jeffreys", "exponential"] = "exponential"
    gamma: float = 1.0
    background: Literal["fitted", "corpus"] = "fitted"
    unseen: float = 0.1
    inference: Literal["vb", "svi"] | Method = "vb"
    doc_topic_prior: float | Literal["auto", "symmetric"] | Sequence[float] | np.ndarray = "auto"
    prevalence: str | Sequence[str] | SharePrior | None = None
    max_iter: int | None = None
    tol: float = 1e-4

    def _model(self, schema: Schema) -> Model:
        prior = self._share_prior(schema, self.doc_topic_prior)
        return Model(self.n_topics, emissions.SparseTopics(self._sparse_prior()), prior)
