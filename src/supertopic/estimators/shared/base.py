"""What every estimator shares: from the user's data and parameters to a Task for an engine, and back to results."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from supertopic.backends.threads import Threads
from supertopic.checkpoint import Checkpoint, fingerprint_data
from supertopic.corpus import Corpus, as_corpus, as_texts, holds_text, require_vocabulary, warn_empty
from supertopic.estimators.shared import saving
from supertopic.estimators.shared.checks import require_number, require_whole
from supertopic.inference.after import prediction
from supertopic.inference.batches import Batch
from supertopic.inference.task import Fit, Settings, Task, Watch, run
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.step import Schedule
from supertopic.inference.variational.stochastic import fit_epochs
from supertopic.metrics import perplexity
from supertopic.model import Model
from supertopic.streams import Stream
from supertopic.vectorizer import Vectorizer

Engine = Callable[[Task, Watch], Fit]


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all estimators. A subclass says what Model its parameters mean, and which engines can fit it."""

    engines: ClassVar[dict[str, tuple[Engine, int]]]  # by the name in `inference=`: engine and default max_iter

    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        saving.ESTIMATORS[cls.__name__] = cls

    def _model(self) -> Model:
        """The cell of the grid that the parameters describe; refuses parameters that make no sense."""
        raise NotImplementedError

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find topics in X: counts, strings, a Corpus, or (``inference="svi"``) a Stream that is never held whole."""
        engine, settings = self._settings()
        if isinstance(X, Stream):
            return self._fit_stream(X, settings)
        return self._fit_corpus(self._read(X), engine, settings)

    def _fit_corpus(self, corpus: Corpus, engine: Engine, settings: Settings, *labels: Any) -> Self:
        """Fit documents that are held; `labels` is what `_task` takes of them."""
        model = self._check_model(corpus)
        task = self._task(model, corpus, settings, *labels)
        with task.backend:
            fit = run(engine, task, f"{type(self).__name__} {self.inference}")
            self._keep(model, fit)
            self.doc_topic_ = self._infer(corpus, task.backend)
        self._n_seen = len(corpus)
        warn_empty(corpus)
        return self

    def _fit_stream(self, stream: Stream, settings: Settings) -> Self:
        """Epochs over a stream: one pass to choose the vocabulary and count documents, then stochastic steps."""
        if self.inference != "svi":
            raise ValueError(f"inference: got {self.inference!r}, but a Stream is fitted with inference='svi' only")
        self.vectorizer_ = clone(self._vectorizer()).fit_stream(stream.texts()) if stream.holds_text() else None
        n_documents, n_tokens, sample = 0, 0.0, None
        for corpus in stream.batches(self.vectorizer_):
            sample = sample or corpus
            n_documents, n_tokens = n_documents + len(corpus), n_tokens + corpus.n_tokens
        if sample is None or n_tokens == 0:
            raise ValueError("X is a stream without a word")
        self._remember_words(sample, None)
        model = self._check_model(sample, batch=True)

        def epoch(number: int) -> Any:
            for corpus in stream.batches(self.vectorizer_, n_features=self.n_features_in_):
                yield unlabelled(corpus, model)

        task = replace(self._task(model, sample, settings), n_documents=n_documents)
        with task.backend:
            fit = run(lambda t, w: fit_epochs(t, w, epoch, n_documents, n_tokens), task, type(self).__name__)
        self._keep(model, fit)
        return self

    def _keep(self, model: Model, fit: Fit) -> None:
        """The fitted attributes, from what the engine found."""
        self._state = fit.state
        self.bound_ = np.asarray(fit.trace)
        self.n_iter_ = fit.n_iter
        self.draws_ = fit.draws
        self._derive(model)

    def _derive(self, model: Model) -> None:
        """The attributes that follow from the State, after a fit and after loading."""
        self._emission = model.emission
        self._components: np.ndarray | None = None
        self.alpha_ = self._state.alpha if self._state.shares is None else self._state.shares

    @property
    def components_(self) -> np.ndarray:
        """The topics as distributions over words (K, V); made when they are first asked for."""
        check_is_fitted(self, "_state")
        if self._components is None:
            self._components = self._emission.probabilities(self._state.word_topic)
        return self._components

    # --- using --------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Topic shares of each document: (D, K), rows sum to one. One without a known word gets the prior mean."""
        corpus = self._as_corpus(X)
        warn_empty(corpus)
        with Threads(self.n_jobs) as backend:
            return self._infer(corpus, backend)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Fit, and give the topic shares of the training documents."""
        return self.fit(X, y).doc_topic_

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
        n = min(n, self.n_features_in_)
        order = np.argsort(-self.components_, axis=1, kind="stable")[:, :n]
        topics = np.repeat(np.arange(len(order)), n)
        words = self._words()[order.ravel()]
        return pd.DataFrame(
            {
                "topic": topics,
                "rank": np.tile(np.arange(1, n + 1), len(order)),
                "word": words,
                "probability": self.components_[topics, order.ravel()],
            }
        )

    def topics(self, n: int = 10) -> pd.DataFrame:
        """One row per topic: its share of the training documents (where kept), and its n most probable words."""
        top = self.top_words(n).groupby("topic")["word"].agg(", ".join)
        shares = self.doc_topic_.mean(axis=0) if hasattr(self, "doc_topic_") else self.alpha_ / self.alpha_.sum()
        return pd.DataFrame({"share": shares, "words": top.to_numpy()}, index=pd.RangeIndex(len(top), name="topic"))

    def explain(self, doc: Any) -> pd.DataFrame:
        """Which topic each word of one document speaks for: columns word, count, and a share per topic.

        The shares of a row sum to one; weighted by the counts they add up to the document's topic counts.
        """
        corpus = self._as_corpus([doc] if isinstance(doc, str) else doc)
        if len(corpus) != 1:
            raise ValueError(f"doc: got {len(corpus)} documents, expected one")
        with Threads(1) as backend:
            _, phi = prediction.infer_shares(self._point_model(), self._weights(), corpus.counts, backend, words=True)
        frame = pd.DataFrame(phi.astype(np.float64), columns=[f"topic {k}" for k in range(phi.shape[1])])
        frame.insert(0, "count", corpus.counts.data.astype(np.float64))
        frame.insert(0, "word", self._words()[corpus.counts.indices])
        return frame.sort_values("count", ascending=False, kind="stable", ignore_index=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, `supertopic.load` reads it; a full disk leaves the old file as it was."""
        saving.save(self, path)

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
        if corpus.n_tokens == 0:
            raise ValueError("X holds no words at all: every document is empty")
        self._remember_words(corpus, X)
        return corpus

    def _remember_words(self, corpus: Corpus, X: Any) -> None:
        self.n_features_in_ = corpus.n_words
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

    def _settings(self) -> tuple[Engine, Settings]:
        """The engine and its settings; refuses values that no engine could use."""
        if self.inference not in self.engines:
            raise ValueError(f"inference: got {self.inference!r}, expected one of {', '.join(map(repr, self.engines))}")
        engine, default_iterations = self.engines[self.inference]
        init = getattr(self, "init", "online")
        if init not in ("online", "uniform"):
            raise ValueError(f"init: got {init!r}, expected 'online' or 'uniform'")
        whole = ("n_init", "max_iter", "batch_size", "max_doc_iter", "thin", "total_documents")
        require_whole(self, *(name for name in whole if hasattr(self, name)), or_none=True)
        require_whole(self, "burn_in", least=0, or_none=True)
        numbers = ("tol", "doc_tol", "learning_delay", "learning_decay")
        require_number(self, *(name for name in numbers if hasattr(self, name)))
        iterations = default_iterations if self.max_iter is None else int(self.max_iter)
        burn_in = iterations // 2 if self.burn_in is None else int(self.burn_in)
        if self.inference == "gibbs" and burn_in >= iterations:
            raise ValueError(f"burn_in: got {burn_in}, expected fewer sweeps than max_iter={iterations}")
        return engine, Settings(
            max_iter=iterations,
            tol=self.tol,
            batch_size=self.batch_size,
            learning=Schedule(self.learning_delay, self.learning_decay),
            limits=LocalLimits(getattr(self, "max_doc_iter", 100), getattr(self, "doc_tol", 1e-3)),
            burn_in=burn_in,
            thin=self.thin,
            collapsed=getattr(self, "sampler", "collapsed") == "collapsed",
            verbose=int(self.verbose),
            init=init,
            n_init=int(getattr(self, "n_init", 1)),
        )

    def _check_model(self, corpus: Corpus, batch: bool = False) -> Model:
        require_whole(self, "n_topics")
        if int(self.n_topics) > len(corpus) and not batch:
            warnings.warn(
                f"n_topics={self.n_topics} is more than the {len(corpus)} documents of X", UserWarning, stacklevel=3
            )
        if self.backend != "threads":
            raise ValueError(f"backend: got {self.backend!r}, expected 'threads'")
        return self._model()

    def _task(
        self, model: Model, corpus: Corpus, settings: Settings, y: np.ndarray | None = None, weight: Any = None
    ) -> Task:
        y = np.full(len(corpus), np.nan) if y is None else y
        weight = np.ones(len(corpus)) if weight is None else weight
        seed = self._seed()
        checkpoint = None
        if self.checkpoint is not None:
            names = sorted(set(self.get_params(deep=False)) - {"checkpoint", "verbose", "n_jobs", "vectorizer"})
            fingerprint = {name: repr(getattr(self, name)) for name in names}
            fingerprint |= {"estimator": type(self).__name__, "data": fingerprint_data(corpus.counts, y, weight)}
            checkpoint = Checkpoint(self.checkpoint, fingerprint=fingerprint)
        return Task(
            model=model,
            counts=corpus.counts,
            y=y,
            weight=weight,
            settings=settings,
            seed=seed,
            backend=Threads(self.n_jobs),
            start=self._state if self.warm_start and self._fits(corpus) else None,
            checkpoint=checkpoint,
        )

    def _fits(self, corpus: Corpus) -> bool:
        state = getattr(self, "_state", None)
        return state is not None and (len(state.word_topic), len(state.alpha)) == (corpus.n_words, self.n_topics)

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _saved(self) -> dict[str, Any]:
        """What a model file keeps beside parameters and State, as plain values."""
        return {}

    def _restore(self, saved: dict[str, Any]) -> None:
        """Take up what `_saved` gave; the parameters are there, the State is, too."""

    def _collapsed(self) -> bool:
        """Whether topics and their shares stand at the mean of their counts."""
        return getattr(self, "inference", None) == "cvb0"

    def _point_model(self) -> prediction.PointModel:
        return prediction.PointModel(self._state.alpha, self._state.shares, self._collapsed())

    def _weights(self) -> np.ndarray:
        """p(word | topic), (V, K): what the kernels take."""
        return self._emission.probabilities(self._state.word_topic, by_word=True)

    def _infer(self, corpus: Corpus, backend: Threads) -> np.ndarray:
        return prediction.infer_shares(self._point_model(), self._weights(), corpus.counts, backend)[0]

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
        if not hasattr(self, "components_"):
            return super()._repr_html_()
        return f"<div><code>{type(self).__name__}</code></div>{self.topics()._repr_html_()}"


def unlabelled(corpus: Corpus, model: Model) -> Batch:
    """A batch of documents without responses."""
    return Batch(corpus.counts, np.full(len(corpus), np.nan), np.ones(len(corpus)), model.n_topics)
