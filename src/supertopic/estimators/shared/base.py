"""What every estimator shares: from the user's data and parameters to a Spec, and back to results."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from inspect import isfunction
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from supertopic.backends import make_backend, without_client
from supertopic.checkpoint import Checkpoint, fingerprint_value
from supertopic.documents.corpus import Corpus, as_corpus, as_texts, holds_text, warn_empty
from supertopic.documents.known import Known
from supertopic.documents.streams import Stream, refuse_beside
from supertopic.documents.vectorizer import Vectorizer
from supertopic.estimators.shared.reading.checks import require_whole
from supertopic.estimators.shared.reading.seed_words import find_seeds
from supertopic.estimators.shared.results.by_batches import METHODS, by_batches
from supertopic.estimators.shared.results.methods import TopicResults
from supertopic.estimators.shared.results.notebook import model_html
from supertopic.fitted import files
from supertopic.fitted.checks import check_params
from supertopic.fitted.fit import fit
from supertopic.fitted.fitted import Fitted, Vocabulary
from supertopic.fitted.seen import Check, check_documents
from supertopic.fitted.share_priors import Prevalence, as_prior
from supertopic.fitted.spec import AsItIs, Finish, Place, Schema, Spec
from supertopic.fitted.streaming import fit_batch, fit_stream, survey, warned_unknown
from supertopic.fitted.training import Training
from supertopic.inference.methods import Method
from supertopic.inference.settings import Engine
from supertopic.model import Model
from supertopic.priors.base import SharePrior
from supertopic.priors.dirichlet import DirichletPrior

_NOT_OF_A_FIT = {"backend", "checkpoint", "verbose", "n_jobs", "vectorizer", "random_state"}  # do not change numbers
_ELSEWHERE = {  # names of parameters in other libraries
    "K": "n_topics", "k": "n_topics", "num_topics": "n_topics", "n_components": "n_topics",
    "seed": "random_state", "alpha": "doc_topic_prior", "eta": "topic_word_prior", "beta": "topic_word_prior",
    "iterations": "max_iter", "n_iter": "max_iter",
}  # fmt: skip


def has_stochastic_engine(estimator: TopicEstimator) -> bool:
    """Whether an estimator learns from batches as they come."""
    return "svi" in estimator.engines


@dataclass(kw_only=True, eq=False, repr=False)
class Fitting:
    """How and where a fit is done: parameters of nearly all estimators."""

    vectorizer: Any = None
    n_jobs: int | None = None
    random_state: Any = 0
    verbose: int = 0
    warm_start: bool = False
    checkpoint: Any = None
    backend: Any = "threads"


class TopicEstimator(TopicResults, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of all estimators. A subclass says which Model its parameters describe, and which engines can fit it."""

    engines: ClassVar[dict[str, Engine]]  # by the name in `inference=`
    papers: ClassVar[str] = "Blei, Ng & Jordan 2003"  # where the model comes from
    inference: Any

    fitted_: Fitted  # everything that a fit has found; the other attributes show parts of it
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        files.ESTIMATORS[cls.__name__] = cls
        for name in METHODS:
            if isfunction(cls.__dict__.get(name)):
                setattr(cls, name, by_batches(cls.__dict__[name]))

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Refuse other libraries' names of parameters, and those of an engine, by what to say instead."""
        for name in params.keys() - set(cls._get_param_names()):
            engines = [Method.known[one].__name__ for one in Method.with_parameter(name) if one in cls.engines]
            if name in _ELSEWHERE:
                raise TypeError(f"{cls.__name__}: got {name}=, expected {_ELSEWHERE[name]}=")
            if engines:
                raise TypeError(f"{cls.__name__}: got {name}=, expected inference={engines[0]}({name}=…)")
        return super().__new__(cls)

    # --- what the parameters describe ---------------------------------------------------------------------------

    @abstractmethod
    def _model(self, schema: Schema) -> Model:
        """The cell of the grid that the parameters describe; refuses parameters that make no sense."""

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any work is done."""

    def _finish(self, schema: Schema) -> Finish:
        """What follows the topics."""
        return AsItIs()

    def _spec(self, schema: Schema) -> Spec:
        """What is to be fitted."""
        engine, settings, method = self._engine(), self._settings(), self._method()
        params = {**self.get_params(deep=False), "inference": self._inference()}
        params |= {f"inference__{name}": value for name, value in method.get_params(deep=False).items()}
        return Spec(
            name=type(self).__name__,
            model=self._model(schema),
            engine=engine,
            settings=settings,
            inference=self._inference(),
            schema=schema,
            finish=self._finish(schema),
            place=self._place(),
            identity={name: fingerprint_value(params[name]) for name in sorted(set(params) - _NOT_OF_A_FIT)},
            n_chains=int(getattr(settings, "n_chains", 1)),
        )

    def _spec_of(self, schema: Schema, corpus: Corpus) -> Spec:
        """The same; a warning says if there are more topics than documents."""
        require_whole(self, "n_topics")
        if int(self.n_topics) > len(corpus):
            warnings.warn(
                f"n_topics={self.n_topics} is more than the {len(corpus)} documents of X", UserWarning, stacklevel=4
            )
        return self._spec(schema)

    @classmethod
    def inference_names(cls) -> list[str]:
        """What the parameter `inference` may be."""
        return list(cls.engines)

    @classmethod
    def engines_with(cls, parameter: str) -> list[str]:
        """The names of the engines that have a parameter of their own."""
        if "inference" not in cls._get_param_names():
            return []
        others = [name for name, engine in cls.engines.items() if parameter not in engine.without]
        return [name for name in others if name in Method.with_parameter(parameter)]

    def _inference(self) -> str:
        """The name of the engine: the parameter `inference`, which some estimators with one engine do not have."""
        asked = getattr(self, "inference", next(iter(self.engines)))
        name = asked.name if isinstance(asked, Method) else asked
        if not isinstance(name, str) or name not in self.engines:
            names = ", ".join(map(repr, self.inference_names()))
            raise ValueError(f"inference: got {asked!r}, expected one of {names}")
        return name

    def _method(self) -> Method:
        """What serves the engine alone: the parameter `inference`, or what its name stands for."""
        asked = getattr(self, "inference", Method())
        return asked if isinstance(asked, Method) else Method.named(self._inference())

    def _settings(self) -> Any:
        """What the engine reads of the parameters; refuses values that make no sense."""
        engine, method = self._engine(), self._method()
        engine.require(method, type(self).__name__)
        return engine.read(self.get_params(deep=False), method)

    def _engine(self) -> Engine:
        check_params(self.get_params(deep=False))
        return self.engines[self._inference()]

    def _place(self) -> Place:
        given = (getattr(self, name, None) for name in ("n_jobs", "verbose", "checkpoint"))
        n_jobs, verbose, checkpoint = given
        make_backend(self.backend, n_jobs)  # refuses what is none
        return Place(self.backend, n_jobs, int(verbose or 0), checkpoint)

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(
        self, X: object, y: object = None, *, metadata: object = None, groups: object = None, times: object = None
    ) -> Self:
        """Find topics in X.

        Parameters
        ----------
        X : counts, strings, a Corpus, or (``inference="svi"``) a Stream that is never held whole
        metadata : a frame of any library, or a dict of columns: what is known of each document
        groups : (D,) who a document belongs to, such as its author; or the name of a column of `metadata`
        times : (D,) dates or numbers; or the name of a column of `metadata`
        """
        self._settings()
        beside = {"metadata": metadata, "groups": groups, "times": times}
        if isinstance(X, Stream):
            refuse_beside(y=y, **beside)
            found = self._survey(X, labelled=False)

            def batches() -> Iterator[Training]:
                for part in X.parts(found.vocabulary.vectorizer, n_features=found.vocabulary.n_words):
                    yield Training.unlabelled(part.corpus, part.known)

            schema = self._with_prior(Schema(), (one.known for one in batches()))
            spec = self._spec(self._with_seeds(schema, found.sample, found.vocabulary, found.n_documents))
            start = self._start(found.vocabulary)
            return self._take(fit_stream(spec, found, batches, self._seed_of_fit(), start, refit=False))
        corpus, vocabulary = self._read(X)
        training = Training.unlabelled(corpus, Known.of_corpus(corpus, **beside))
        schema = self._with_seeds(self._with_prior(Schema(), [training.known]), corpus, vocabulary)
        spec = self._spec_of(schema, corpus)
        self._take(fit(spec, training, self._seed_of_fit(), vocabulary, self._start(vocabulary)))
        warn_empty(corpus)
        return self

    @available_if(has_stochastic_engine)
    def partial_fit(
        self, X: object, y: object = None, *, metadata: object = None, groups: object = None, times: object = None
    ) -> Self:
        """One stochastic step on a batch of documents. Words that several texts of a later batch have are learned."""
        corpus, vocabulary, before = self._read_batch(X)
        beside = {"metadata": metadata, "groups": groups, "times": times}
        known = Known.of_corpus(corpus, **beside)
        if before is not None and (same := warned_unknown(before, corpus)) is not None:
            self.fitted_ = same
            return self
        require_whole(self, "n_topics")
        if before is None:
            schema = self._with_seeds(self._with_prior(Schema(), [known]), corpus, vocabulary)
        else:
            schema = before.spec.schema
        return self._step(self._spec(schema), Training.unlabelled(corpus, known), vocabulary, before)

    def _with_prior(self, schema: Schema, known: Iterable[Known]) -> Schema:
        """With the prior on topic shares that the parameter `prevalence` asks for, where there is one.

        known : what is known of all documents, batch by batch; it is read where there is such a prior
        """
        asked = as_prior(getattr(self, "prevalence", None))
        if asked is None:
            return schema
        return replace(schema, prior=asked.prepared(Known.join(known), self._model(schema).doc_topic_prior))

    def _with_seeds(
        self, schema: Schema, corpus: Corpus, vocabulary: Vocabulary, n_documents: int | None = None
    ) -> Schema:
        """With the words that topics begin with; n_documents : if there will be more than those of `corpus`."""
        given = getattr(self, "seed_words", None)
        if given is None:
            return schema
        require_whole(self, "n_topics")
        totals = np.asarray(corpus.counts.sum(axis=0)).ravel() * ((n_documents or len(corpus)) / max(len(corpus), 1))
        return replace(schema, seeds=find_seeds(given, vocabulary, totals, int(self.n_topics)))

    def _share_prior(self, schema: Schema, alpha: Any) -> SharePrior:
        """The prior on topic shares; alpha : as users give it, where metadata is no part of it."""
        return DirichletPrior.parse(alpha, self.n_topics) if schema.prior is None else schema.prior

    def _step(self, spec: Spec, training: Training, vocabulary: Vocabulary, before: Fitted | None) -> Self:
        batches = self.engines["svi"].read(self.get_params(deep=False), self._method())
        return self._take(fit_batch(spec, training, vocabulary, self._seed(), before, batches))

    def _read_batch(self, X: object) -> tuple[Corpus, Vocabulary, Fitted | None]:
        """A batch of `partial_fit`, and what was fitted before it, over the words of both."""
        if not hasattr(self, "fitted_"):
            return *self._read(X), None
        before = self.fitted_.learning(X)
        corpus = self._as_corpus(X) if before is self.fitted_ else before.vocabulary.corpus(X, self)
        return corpus, before.vocabulary, before

    def _survey(self, stream: Stream, labelled: bool) -> Any:
        """What a first pass over a stream tells; refuses engines that cannot learn from it."""
        inference = self._inference()
        if inference not in ("svi", "pc"):
            which = "'svi' or 'pc'" if "pc" in self.engines else "'svi'"
            raise ValueError(f"inference: got {inference!r}, but a Stream is fitted with inference={which} only")
        return survey(stream, self._vectorizer(), type(self).__name__, labelled)

    def _start(self, vocabulary: Vocabulary) -> Fitted | None:
        """What a warm start goes on from, over the words of the new documents."""
        before = getattr(self, "fitted_", None) if getattr(self, "warm_start", False) else None
        found = None if before is None else before.over(vocabulary)
        if before is not None and found is None:
            who = type(self).__name__
            warnings.warn(f"warm_start: the words are others, so that {who} begins anew", UserWarning, stacklevel=4)
        return found

    def _seed_of_fit(self) -> int:
        """The seed of a fit; without a `random_state`, a killed fit goes on with the one that it drew."""
        drawn = self.checkpoint is not None and self.random_state is None
        found = Checkpoint.of(self.checkpoint, {}).seed() if drawn else None
        return self._seed() if found is None else found

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    # --- what was found -----------------------------------------------------------------------------------------

    def _take(self, fitted: Fitted) -> Self:
        """Take up what a fit has found, or a file held."""
        with make_backend("threads", 1):  # one thread inverts a small matrix sooner than many wake up
            self._publish(fitted)
        return self

    def _publish(self, fitted: Fitted) -> None:
        """The attributes that show what was fitted."""
        self.fitted_ = fitted
        vocabulary = fitted.vocabulary
        self.n_features_in_, self.vectorizer_ = vocabulary.n_words, vocabulary.vectorizer
        self.topic_labels_ = fitted.labels
        self.bound_, self.n_iter_, self.draws_ = fitted.trace, fitted.n_iter, fitted.draws
        self.alpha_ = fitted.prior_shares
        prior = fitted.spec.model.doc_topic_prior
        table = prior.table(fitted.state.alpha, fitted.prior_error) if isinstance(prior, Prevalence) else None
        self._show("prevalence_coef_", table)
        for name, value in (("feature_names_in_", vocabulary.names), ("doc_topic_", fitted.doc_topic)):
            self._show(name, value)

    def _show(self, name: str, value: object) -> None:
        """An attribute that is there only where it has a value."""
        self.__dict__.pop(name, None)
        if value is not None:
            setattr(self, name, value)

    @property
    def _now(self) -> Fitted:
        """The fitted model, used as the parameters say."""
        check_is_fitted(self, "fitted_")
        return self.fitted_.at(self._place())

    @property
    def components_(self) -> np.ndarray:
        """The topics as distributions over words (K, V); made when they are first asked for."""
        check_is_fitted(self, "fitted_")
        return self.fitted_.components

    # --- using --------------------------------------------------------------------------------------------------

    @by_batches
    def transform(self, X: object, *, metadata: object = None) -> np.ndarray:
        """Topic shares of each document: (D, K), rows sum to one. One without a known word gets the prior mean.

        metadata : what is known of the documents, with the columns that the prior on topic shares reads

        Of a Stream, an iterator over frames, one for each batch; `predict` and `predict_proba` do the same.
        """
        corpus = self._as_corpus(X)
        known = Known.of_corpus(corpus, metadata=metadata)
        warn_empty(corpus)
        return self._shares(corpus, known)

    def check(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> Check:
        """Say where new documents lie outside what the fit has seen: lengths, vocabulary, covariates, metadata.

        Printed, the value is a few sentences. `ok` is True where nothing is outside, so that a script can end by
        ``sys.exit(not model.check(X).ok)``; `shifts` lists what is. Where half of many documents have other lengths or
        words, `predict` warns of it. What it finds is no proof: documents may differ in what is not compared here.
        """
        fitted, corpus = self.fitted_, self._as_corpus(X)
        known = Known.of_corpus(corpus, covariates=covariates, metadata=metadata, embeddings=embeddings)
        given = covariates is not None or embeddings is not None
        extra = fitted.spec.schema.encode(covariates, known) if given else np.zeros((len(corpus), 0))
        return check_documents(fitted, corpus, extra, known.metadata)

    def _shares(self, corpus: Corpus, known: Known | None = None) -> np.ndarray:
        """(D, K) topic shares of new documents."""
        fitted = self._now
        with fitted.spec.place.open() as backend:
            return fitted.infer(corpus, backend, known)

    def fit_transform(self, X: object, y: object = None, **params: Any) -> np.ndarray:
        """Fit, and return the topic shares of the training documents; `params` are further arguments of `fit`."""
        return self.fit(X, y, **params).doc_topic_

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """The names of the columns of `transform`: lda0, lda1, …

        input_features : the columns of counts; of a model of texts, which are one column by any name, not asked for
        """
        asked = input_features if getattr(self, "vectorizer_", None) is None else None
        return np.asarray(super().get_feature_names_out(asked))

    # --- reading ------------------------------------------------------------------------------------------------

    def _vectorizer(self) -> Any:
        return Vectorizer() if self.vectorizer is None else self.vectorizer

    def _read(self, X: object) -> tuple[Corpus, Vocabulary]:
        """Training documents; text decides the vocabulary."""
        vectorizer = None
        if not isinstance(X, Corpus) and holds_text(X):
            texts, index = as_texts(X)
            vectorizer = clone(self._vectorizer())
            if getattr(vectorizer, "vocabulary", None) is None:
                counts = vectorizer.fit_transform(texts)
                corpus = Corpus(counts, np.asarray(vectorizer.get_feature_names_out(), dtype=object), index)
            else:  # other words are unknown, and counted as such
                corpus = as_corpus(X, vectorizer=vectorizer.fit(texts))
        else:
            corpus = as_corpus(X, estimator=self)
        if corpus.n_tokens < 1e-6:  # topics of weights that are next to nothing are no numbers
            raise ValueError("X holds no words at all: every document is empty")
        names = None if corpus.vocabulary is None else np.asarray(corpus.vocabulary, dtype=object)
        return corpus, Vocabulary(corpus.n_words, names, vectorizer)

    def _as_corpus(self, X: object) -> Corpus:
        """New documents, counted over the vocabulary of the fit."""
        check_is_fitted(self, "fitted_")
        if not isinstance(X, Corpus) and hasattr(X, "columns") and not holds_text(X):
            _check_feature_names(self, X, reset=False)
        return self.fitted_.vocabulary.corpus(X, self)

    # --- files --------------------------------------------------------------------------------------------------

    elsewhere: ClassVar[str] = ""  # why, and how instead, where the page cannot infer new documents
    more_arrays: ClassVar[tuple[str, ...]] = ()  # names of `Fitted.more`
    named: ClassVar[bool] = False  # whether predictions are columns by the name of their response

    @property
    def at_mode(self) -> bool:
        """Whether shares of documents are inferred, and responses predicted, at their mode."""
        return self._engine().at_mode

    def n_topics_of(self, schema: Schema) -> tuple[int, int]:
        """Topics of a document, and in all."""
        require_whole(self, "n_topics")
        return int(self.n_topics), int(self.n_topics)

    def from_file(self, fitted: Fitted) -> Self:
        """Take up what a file held; it was checked."""
        return self._take(fitted)

    def check_schema(self, schema: Schema) -> None:
        """Refuse responses that no fit of this estimator has."""
        if schema.targets:
            raise ValueError(f"{type(self).__name__} learns from no response, but the file holds one")

    def spec_of_file(self, schema: Schema) -> Spec:
        """What the parameters of a file describe."""
        self._check_parameters()
        return self._spec(schema)

    def check_file(self, fitted: Fitted) -> None:
        """Refuse what no fit of this kind of model has found."""

    # --- scikit-learn's manners ---------------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the engine too: ``set_params(inference__n_chains=4)``."""
        nested = [name.partition("__")[2] for name in params if name.startswith("inference__")]
        if nested and hasattr(self, "inference"):
            self.inference = params.pop("inference", self.inference)
            self.inference = clone(self._method())
            self.inference.require(nested)
        return super().set_params(**params)

    def __getstate__(self) -> dict[str, Any]:
        return {name: without_client(value) for name, value in super().__getstate__().items()}

    def __sklearn_clone__(self) -> Self:  # a clone shares a Dask client, which cannot be copied
        return super(TopicEstimator, copy.copy(self)).__sklearn_clone__().set_params(backend=self.backend)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []  # shares are float32 whatever the counts are: half the memory
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _repr_html_(self) -> str:
        return model_html(self) if hasattr(self, "fitted_") else super()._repr_html_()
