"""What estimators with a response share: checking y, fitting with it, scores of new documents, explanations."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from supertopic.backends.threads import Threads
from supertopic.coefficients import CoefPrior
from supertopic.corpus import Corpus, warn_empty
from supertopic.doc_topic_prior import DocTopicPrior
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.base import TopicEstimator
from supertopic.inference import prediction
from supertopic.inference.regression import Design, regress
from supertopic.model import Model
from supertopic.responses.base import Response, registry


class SupervisedEstimator(TopicEstimator):
    """Base of estimators with a response."""

    def _response(self) -> Response:
        """The response that the parameters and the labels describe."""
        raise NotImplementedError

    def _encode(self, y: Any, n_documents: int) -> np.ndarray:
        """y as numbers, NaN where missing; refuses what this estimator is not for."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find topics in X that explain y; documents whose y is missing take part without it."""
        engine, settings = self._settings()
        if not isinstance(self.supervision, Real) or not 0 <= float(self.supervision) < np.inf:
            raise ValueError(f"supervision: got {self.supervision!r}, expected a number >= 0")
        corpus = self._read(X)
        numbers = self._encode(y, len(corpus))
        if np.isnan(numbers).all():
            raise ValueError("y is missing for every document; expected some labels")
        self._response().check(numbers)
        weight = _check_sample_weight(sample_weight, corpus.counts, ensure_non_negative=True).astype(np.float64)
        self._fit_corpus(corpus, engine, settings, numbers, self.supervision * weight)
        if self.refit:
            self._refit(corpus, numbers, weight)
        return self

    def _refit(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray) -> None:
        model, state = self._model(), self._state
        found = self._scores(corpus)
        design = Design(found.mean_topics, np.full(len(y), np.inf), np.zeros((len(y), 0)))
        coef, gram, dispersion = regress(
            model.response, model.coef_prior, design, y, weight, state.coef, state.learned()[1]
        )
        self._state = replace(state, coef=coef.astype(np.float32), gram=gram, dispersion=dispersion)
        self._derive(model)

    def _model(self) -> Model:
        prior = DocTopicPrior.parse(self.doc_topic_prior, self.n_topics)
        coef_prior = CoefPrior.parse(self.coef_prior, self.coef_scale)
        return Model(self.n_topics, DirichletTopics(self.topic_word_prior), prior, self._response(), coef_prior)

    def _find_response(self, kind: str, usual: str, n_classes: int = 0) -> Response:
        found = registry().get(usual if self.response == "auto" else self.response)
        if found is None or found.kind != kind:
            names = ", ".join(repr(name) for name, response in registry().items() if response.kind == kind)
            raise ValueError(f"response: got {self.response!r}, expected 'auto' or one of {names}")
        return found(n_classes)

    def _scores(self, corpus: Corpus) -> prediction.Scores:
        model, state = self._model(), self._state
        with Threads(self.n_jobs) as backend:
            return prediction.score(
                state.alpha, self._weights(), state.coef, model.response.is_product, corpus.counts, backend
            )

    def _predicted(self, X: Any) -> tuple[np.ndarray, prediction.Scores]:
        check_is_fitted(self, "_state")
        corpus = self._as_corpus(X)
        warn_empty(corpus)
        found = self._scores(corpus)
        return self._response().predict(found.score, found.moment, self._state.learned()[1]), found

    def explain(self, doc: Any) -> pd.DataFrame:
        """As in `LDA`, with a column `contribution`: what each word adds to the linear predictor; they sum to it."""
        frame = super().explain(doc)
        shares = frame.filter(like="topic ").to_numpy()
        contribution = (
            frame["count"].to_numpy()[:, None] * (shares @ np.atleast_2d(self.coef_).T) / frame["count"].sum()
        )
        if contribution.shape[1] == 1:
            frame.insert(2, "contribution", contribution[:, 0])
        return frame

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
