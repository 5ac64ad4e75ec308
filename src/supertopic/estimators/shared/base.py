"""What every estimator shares: from the user's data and parameters to a Task for an engine, and back to results."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from inspect import isfunction
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from supertopic.backends import make_backend, without_client
from supertopic.backends.base import Backend
from supertopic.checkpoint import Checkpoint, fingerprint_data, fingerprint_value
from supertopic.documents.corpus import Corpus, as_corpus, as_texts, holds_text, require_vocabulary, warn_empty
from supertopic.documents.names import read_labels, read_words
from supertopic.documents.streams import Stream
from supertopic.documents.vectorizer import Vectorizer
from supertopic.estimators.shared.beside import Beside
from supertopic.estimators.shared.certainty.chains import to_arviz
from supertopic.estimators.shared.files import saving
from supertopic.estimators.shared.fitting.streaming import fit_stream, learns_nothing, unlabelled
from supertopic.estimators.shared.reading.checks import require_whole
from supertopic.estimators.shared.results.by_batches import METHODS, by_batches
from supertopic.estimators.shared.results.explanation import explained
from supertopic.estimators.shared.results.notebook import model_html
from supertopic.estimators.shared.results.topic_info import ranked_words, topic_info
from supertopic.html_tables import TopicFrame
from supertopic.inference.after import prediction
from supertopic.inference.batches import Batch
from supertopic.inference.first_topics import first_state
from supertopic.inference.settings import Engine
from supertopic.inference.task import Fit, Task, run
from supertopic.inference.variational.step import take_step
from supertopic.metrics import perplexity
from supertopic.model import DocumentTerms, MixtureState, Model, State
from supertopic.plots_of import Plots

# Of fitted estimators: p(word | topic), and the mean of their topic shares, each with what it was made from.
_TOPICS_BY_WORD, _MEAN_SHARES = Beside(), Beside()


def has_stochastic_engine(estimator: Any) -> bool:
    """Whether an estimator learns from batches as they come."""
    return "svi" in estimator.engines


def has_sampler(estimator: Any) -> bool:
    """Whether an estimator has an engine that keeps draws."""
    return "gibbs" in estimator.engines


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all estimators. A subclass says which Model its parameters describe, and which engines can fit it."""

    engines: ClassVar[dict[str, Engine]]  # by the name in `inference=`

    n_features_in_: int
    feature_names_in_: np.ndarray
    topic_labels_: list[str | None] | None  # what `set_topic_labels` was given
    _state: State
    _n_seen: int = 0  # documents that partial fits have seen

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        saving.ESTIMATORS[cls.__name__] = cls
        for name in METHODS:
            if isfunction(cls.__dict__.get(name)):
                setattr(cls, name, by_batches(cls.__dict__[name]))

    def _model(self) -> Model:
        """The cell of the grid that the parameters describe; refuses parameters that make no sense."""
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find topics in X: counts, strings, a Corpus, or (``inference="svi"``) a Stream that is never held whole."""
        engine = self._engine()
        settings = engine.read(self)
        if isinstance(X, Stream):
            return fit_stream(self, X, settings)
        corpus = self._read(X)
        model = self._check_model(corpus)
        self._run(engine, self._task(model, unlabelled(corpus, model.n_topics), settings), corpus)
        self._n_seen = len(corpus)
        warn_empty(corpus)
        return self

    def _run(self, engine: Engine, task: Task, corpus: Corpus, after: Callable[[int], None] | None = None) -> None:
        """Fit, keep what was found, infer the topic shares of all documents; then `after`, which is given the seed."""
        with task.backend:
            which = f" {self._inference()}" if len(self.engines) > 1 else ""
            fit = run(engine.fit, task, type(self).__name__ + which, more_follows=True)
            self._keep(task.model, fit)
            self._forget_shares()
            self.doc_topic_ = self._infer(corpus, task.backend)
            self._derive(task.model)  # inside: one thread inverts a small matrix sooner than many wake up
        if after is not None:
            after(task.seed)
        if task.checkpoint is not None:
            task.checkpoint.finish()

    @available_if(has_stochastic_engine)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One stochastic step on a batch of documents; the first batch decides the vocabulary."""
        corpus, first = self._read_batch(X)
        if learns_nothing(self, corpus, first):
            return self
        model = self._check_model(corpus, batch=True)
        return self._partial_step(model, unlabelled(corpus, model.n_topics), first)

    def _read_batch(self, X: Any) -> tuple[Corpus, bool]:
        """A batch of `partial_fit`, and whether it is the first one."""
        first = not hasattr(self, "_state")
        return (self._read(X) if first else self._as_corpus(X)), first

    def _partial_step(self, model: Model, batch: Batch, first: bool) -> Self:
        settings = self.engines["svi"].read(self)
        self._n_seen += len(batch)
        # a number that was given stands: more documents than announced are second passes over the same ones
        total = max(settings.total_documents or self._n_seen, len(batch))
        if first:
            task = self._task(model, batch, settings)
            self._state, self.bound_ = first_state(replace(task, n_documents=total)), np.zeros(0)
        with self._backend() as backend:
            rate = settings.learning.rate(len(self.bound_))
            step = take_step(model, self._state, batch, backend, settings.limits, n_documents=total, rate=rate)
            bound = step.bound(model, backend) * len(batch) / total
        trace = [*self.bound_, bound / max(float(batch.counts.sum(dtype=np.float64)), 1.0)]
        self._keep(model, Fit(step.state, trace, len(trace)))
        self._derive(model)
        return self

    def _keep(self, model: Model, fit: Fit) -> None:
        """Take up what the engine found; `_derive` makes the attributes that follow from it."""
        self._state, self._emission = fit.state, model.emission
        self.bound_ = np.asarray(fit.trace)
        self.n_iter_ = fit.n_iter
        self.draws_ = fit.draws

    def _forget_shares(self) -> None:
        """Topic shares of an earlier fit have no part in this one."""
        for name in ("doc_topic_", "_average"):
            self.__dict__.pop(name, None)

    def _derive(self, model: Model) -> None:
        """The attributes that follow from the State and the topic shares, after a fit and after loading."""
        self._emission = model.emission
        self._components: np.ndarray | None = None
        self.alpha_ = self._state.shares if isinstance(self._state, MixtureState) else self._state.alpha

    def _average_shares(self) -> np.ndarray:
        """(K,) topic shares of the average training document; the prior's mean where none are kept."""
        if hasattr(self, "doc_topic_"):
            return _MEAN_SHARES.of(self, self.doc_topic_, lambda: self.doc_topic_.mean(axis=0, dtype=np.float64))
        prior = self._state.shares if isinstance(self._state, MixtureState) else self._state.alpha
        kept = getattr(self, "_average", None)
        return prior / prior.sum() if kept is None else kept

    @property
    def components_(self) -> np.ndarray:
        """The topics as distributions over words (K, V); made when they are first asked for."""
        check_is_fitted(self, "_state")
        if self._components is None:
            self._components = self._emission.probabilities(self._state.word_topic)
        return self._components

    # --- using --------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Topic shares of each document: (D, K), rows sum to one. One without a known word gets the prior mean.

        Of a Stream, an iterator over frames, one for each batch; `predict` and `predict_proba` do the same.
        """
        corpus = self._as_corpus(X)
        warn_empty(corpus)
        with self._backend() as backend:
            return self._infer(corpus, backend)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Fit, and return the topic shares of the training documents; `params` are further arguments of `fit`."""
        return self.fit(X, y, **params).doc_topic_

    def perplexity(self, X: Any, method: str = "completion", **options: Any) -> float:
        """exp(-log-likelihood per token) of new documents; see `supertopic.metrics.perplexity`."""
        check_is_fitted(self)
        return float(perplexity(self, X, method, **options))

    def score(self, X: Any, y: Any = None) -> float:
        """Log-likelihood per held-out token (document completion): higher is better, as scikit-learn expects."""
        return -float(np.log(self.perplexity(X)))

    def top_words(self, n: int = 10) -> pd.DataFrame:
        """The n most probable words of each topic: columns topic, rank, word, probability; a row per word."""
        check_is_fitted(self)
        order = np.argsort(-self.components_, axis=1, kind="stable")[:, :n]
        return ranked_words(order, self._words(), probability=self.components_)

    def topics(self, n: int = 10) -> pd.DataFrame:
        """One row per topic: its share of the training documents (where kept), and its n most probable words."""
        top = self.top_words(n).groupby("topic")["word"].agg(", ".join)
        shares = self._average_shares()
        return TopicFrame({"share": shares, "words": top.to_numpy()}, index=pd.RangeIndex(len(top), name="topic"))

    def topic_info(self, X: Any = None, n: int = 10) -> pd.DataFrame:
        """One row per topic, by number, with all that is known of it.

        The columns are share, coef and coef_std (for each class or response, where there are any), coherence (NPMI,
        with X), exclusivity, words (the n most probable) and frex (n words that are both frequent and exclusive).

        Parameters
        ----------
        X : documents, optional
            Those in which the coherence of the topics is measured.
        n : int
            Words of each topic, here and behind coherence and exclusivity.
        """
        check_is_fitted(self, "_state")
        return topic_info(self, X, n)

    def explain(self, doc: Any, n_topics: int | None = 3) -> pd.DataFrame:
        """The topics of each word of one document: columns word, count, and shares of topics.

        The shares of a row sum to one; weighted by the counts they add up to the document's topic counts. Words that
        the model does not know stand at the end, without shares.

        Parameters
        ----------
        doc : one text, or the counts of one document
        n_topics : int or None
            How many topics have a column: the largest ones of the document, in this order, and "other topics". None:
            all topics, in their own order.
        """
        return explained(self, doc, self._explain_words(doc), n_topics)

    def _explain_words(self, doc: Any) -> pd.DataFrame:
        """Columns word, count, and a share per topic, for the known words of one document."""
        corpus = self._as_corpus([doc] if isinstance(doc, str) else doc)
        if len(corpus) != 1:
            raise ValueError(f"doc: got {len(corpus)} documents, expected one")
        with self._backend(1) as backend:
            _, phi = prediction.infer_shares(self._point_model(), self._weights(), corpus.counts, backend, words=True)
        frame = pd.DataFrame(phi.astype(np.float64), columns=[f"topic {k}" for k in range(phi.shape[1])])
        frame.insert(0, "count", corpus.counts.data.astype(np.float64))
        frame.insert(0, "word", self._words()[corpus.counts.indices])
        return frame.sort_values("count", ascending=False, kind="stable", ignore_index=True)

    @property
    def plot(self) -> Plots:
        """The plots of `supertopic.explore` as methods: `model.plot.topics()`; they need matplotlib."""
        return Plots(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `supertopic.load` reads; a full disk leaves the old file."""
        saving.save(self, path)

    def report(
        self, path: str | os.PathLike[str], X: Any, y: Any = None, *, metadata: Any = None, texts: Any = None,
        names: Any = None, covariates: Any = None, title: str | None = None,
    ) -> None:  # fmt: skip
        """Write a page that explains the model on these documents: one HTML file that needs no network.

        The page shows the topics with their coefficients, every document with its prediction and the reasons for it,
        how well the model fits, and it predicts a text as one types.

        Parameters
        ----------
        path : the file to write, such as ``"report.html"``; it is replaced at once, or not at all
        X : documents as in `transform`; new ones tell more about predictions than those of the fit
        y : what is predicted, optional; missing values are allowed
        metadata : a table with a row per document: further columns to group documents by
        texts : the texts of the documents, where X holds counts
        names : a name for each document
        covariates : as in `predict`
        title : the heading of the page
        """
        # `explore` stands above the estimators, so that it is imported when it is asked for
        page = import_module("supertopic.explore.page")
        more = {"metadata": metadata, "texts": texts, "names": names, "covariates": covariates, "title": title}
        page.write_report(self, path, X, y, **more)

    @available_if(has_sampler)
    def to_arviz(self) -> Any:
        """The draws of `inference="gibbs"` as ArviZ's InferenceData; needs the package arviz.

        Dimensions have names: chain, draw, class (or response), topic, covariate. `intercept` and `coef` have the
        meaning of `intercept_` and `coef_`.
        """
        return to_arviz(self)

    def name_words(self, names: Any) -> Self:
        """Give names to the columns of counts that came without, for `topics`, `top_words` and `explain`.

        names : the words, or what has them: a fitted vectorizer, or the steps of a pipeline before this one. Counts of
            `supertopic.Vectorizer` and frames bring their words along, and so do pipelines that are fitted as a whole;
            counts that scikit-learn's vectorizers made elsewhere do not.
        """
        check_is_fitted(self, "_state")
        self.feature_names_in_ = read_words(names, self.n_features_in_)
        return self

    def set_topic_labels(self, labels: Any) -> Self:
        """Give names to topics; the page of `report` shows them, and a saved model keeps them.

        labels : K names, a mapping of topics to names, or the file of names that the page saves; None: no name
        """
        check_is_fitted(self, "_state")
        self.topic_labels_ = read_labels(labels, len(self.components_))
        return self

    # --- reading ------------------------------------------------------------------------------------------------

    def _vectorizer(self) -> Vectorizer:
        return Vectorizer() if self.vectorizer is None else self.vectorizer

    def _read(self, X: Any) -> Corpus:
        """Training documents; text decides the vocabulary."""
        if not isinstance(X, Corpus) and holds_text(X):
            texts, index = as_texts(X)
            self.vectorizer_ = clone(self._vectorizer())
            counts = self.vectorizer_.fit_transform(texts)
            corpus = Corpus(counts, np.asarray(self.vectorizer_.get_feature_names_out(), dtype=object), index)
        else:
            self.vectorizer_ = None
            corpus = as_corpus(X, estimator=self)
        if corpus.n_tokens < 1e-6:  # topics of weights that are next to nothing are no numbers
            raise ValueError("X holds no words at all: every document is empty")
        self._remember_words(corpus)
        return corpus

    def _remember_words(self, corpus: Corpus) -> None:
        self.n_features_in_ = corpus.n_words
        self.topic_labels_ = None  # names belong to the topics of the fit before
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if corpus.vocabulary is not None:
            self.feature_names_in_ = np.asarray(corpus.vocabulary, dtype=object)

    def _as_corpus(self, X: Any) -> Corpus:
        """New documents, counted over the vocabulary of the fit."""
        check_is_fitted(self, "_state")
        if not isinstance(X, Corpus) and hasattr(X, "columns") and not holds_text(X):
            _check_feature_names(self, X, reset=False)
        corpus = as_corpus(X, vectorizer=self.vectorizer_, n_features=self.n_features_in_, estimator=self)
        require_vocabulary(corpus, getattr(self, "feature_names_in_", None))
        return corpus

    def _words(self) -> np.ndarray:
        """The vocabulary, or the column numbers where the counts came without names."""
        names = getattr(self, "feature_names_in_", None)
        return np.arange(self.n_features_in_).astype(str).astype(object) if names is None else names

    # --- plumbing -----------------------------------------------------------------------------------------------

    @classmethod
    def inference_names(cls) -> list[str]:
        """What the parameter `inference` may be."""
        return list(cls.engines)

    def _inference(self) -> str:
        """The name of the engine: the parameter `inference`, which an estimator with one engine does not have."""
        if len(self.engines) == 1:
            return next(iter(self.engines))
        if self.inference not in self.engines:
            names = ", ".join(map(repr, self.inference_names()))
            raise ValueError(f"inference: got {self.inference!r}, expected one of {names}")
        return str(self.inference)

    def _engine(self) -> Engine:
        return self.engines[self._inference()]

    def _backend(self, n_jobs: int | None = None) -> Backend:
        """Where the work is done: by `n_jobs` threads, or by as many as the user asked for."""
        return make_backend(self.backend, n_jobs or self.n_jobs)

    def _check_model(self, corpus: Corpus, batch: bool = False) -> Model:
        require_whole(self, "n_topics")
        if int(self.n_topics) > len(corpus) and not batch:
            warnings.warn(
                f"n_topics={self.n_topics} is more than the {len(corpus)} documents of X", UserWarning, stacklevel=3
            )
        return self._model()

    def _task(self, model: Model, batch: Batch, settings: Any, seed: int | None = None, data: str = "") -> Task:
        """The fit to be done, with its checkpoint; a warm start continues from the last fit's State.

        `seed`: what `_seed_of_fit` gave, if it was asked before. `data`: a hash of a stream that `batch` is a part of.
        """
        warm, checkpoint = self._starts_warm() and self._fits(batch), None
        seed = self._seed_of_fit() if seed is None else seed
        if self.checkpoint is not None:
            start = self._state.word_topic if warm else np.zeros(0)
            checkpoint = Checkpoint.of(self.checkpoint, self._fingerprint(batch, seed, start, data))
        return Task(
            model=model,
            batch=batch,
            settings=settings,
            seed=seed,
            backend=self._backend(),
            start=self._state if warm else None,
            start_terms=self._start_terms(len(batch)) if warm else None,
            checkpoint=checkpoint,
        )

    def _seed_of_fit(self) -> int:
        """The seed of a fit; without a `random_state`, a killed fit goes on with the one that it drew."""
        drawn = self.checkpoint is not None and self.random_state is None
        found = Checkpoint.of(self.checkpoint, {}).seed() if drawn else None
        return self._seed() if found is None else found

    def _fingerprint(self, batch: Batch, seed: int, start: np.ndarray, data: str = "") -> dict[str, Any]:
        """What a checkpoint belongs to: parameters, seed, classes, documents, responses, covariates, a warm start."""
        left_out = {"backend", "checkpoint", "verbose", "n_jobs", "vectorizer", "random_state"}
        names = sorted(set(self.get_params(deep=False)) - left_out)
        found: dict[str, Any] = {name: fingerprint_value(getattr(self, name)) for name in names}
        classes: list[Any] = [
            (target.name, target.response, target.classes) for target in getattr(self, "_targets", ())
        ]
        classes += [getattr(self, name, None) for name in ("classes_", "labels_")]
        data = data or fingerprint_data(batch.counts, batch.y, batch.weight, batch.extra)
        more = {"estimator": type(self).__name__, "seed": seed, "data": data, "start_from": fingerprint_data(start)}
        return {**found, **more, "classes": fingerprint_value(classes)}

    def _starts_warm(self) -> bool:
        return bool(self.warm_start)

    def _fits(self, batch: Batch) -> bool:
        """Whether a fit can continue from the State of the last one."""
        state = getattr(self, "_state", None)
        return state is not None and (len(state.word_topic), len(state.alpha)) == (batch.counts.shape[1], self.n_topics)

    def _start_terms(self, n_documents: int) -> DocumentTerms | None:
        """What a warm start knows of each document."""
        return None

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _saved(self) -> dict[str, Any]:
        """What a model file keeps beside parameters and State, as plain values."""
        return {}

    def _restore(self, saved: dict[str, Any]) -> None:
        """Take up what `_saved` gave; the parameters are there, the State is, too."""

    def _point_model(self) -> prediction.PointModel:
        """The prior of the topic shares, and how those of new documents are inferred."""
        if isinstance(self._state, MixtureState):
            return prediction.PointModel(self._state.alpha, self._state.shares)
        engine = self._engine()
        return prediction.PointModel(self._state.alpha, collapsed=engine.collapsed, at_mode=engine.at_mode)

    def _weights(self) -> np.ndarray:
        """p(word | topic), (V, K): what the kernels take; made when it is first asked for, and kept."""
        state, emission = self._state, self._emission
        return _TOPICS_BY_WORD.of(self, state, lambda: emission.probabilities(state.word_topic, by_word=True))

    def _infer(self, corpus: Corpus, backend: Backend) -> np.ndarray:
        point, counts = self._point_model().seen_of(corpus)
        return prediction.infer_shares(point, self._weights(), counts, backend)[0]

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
        return model_html(self) if hasattr(self, "_state") else super()._repr_html_()


TopicEstimator.transform = by_batches(TopicEstimator.transform)  # type: ignore[method-assign]
