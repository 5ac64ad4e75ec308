"""What estimators answer: numbers, or classes. A mixin stands first among the bases of an estimator."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from supertopic.documents.rows import require_same_order
from supertopic.estimators.shared.results.answers import WithEnds, predict_numbers, score_classes, score_numbers
from supertopic.estimators.shared.results.by_batches import by_batches
from supertopic.fitted.predict import Predicted


class Numbers(RegressorMixin):
    """Of estimators with a response that is a number, or several."""

    @overload
    def predict(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None,
        return_interval: None = None,
    ) -> np.ndarray: ...  # fmt: skip

    @overload
    def predict(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None,
        return_interval: float,
    ) -> WithEnds: ...  # fmt: skip

    @by_batches
    def predict(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None,
        return_interval: float | None = None,
    ) -> np.ndarray | WithEnds:  # fmt: skip
        """E[y] of new documents (D,), or (D, M) for several responses.

        With `return_interval=0.9`, three arrays of this shape: E[y], and the lower and upper ends of intervals that
        hold nine of ten. `covariates` are those of the documents, for a model that was fitted with covariates.
        """
        found = self._predicted(X, covariates, metadata, embeddings)
        return predict_numbers(self.fitted_, found, return_interval)

    def score(
        self, X: object, y: object = None, *, covariates: object = None, metadata: object = None,
        sample_weight: object = None, embeddings: object = None,
    ) -> float:  # fmt: skip
        """Predictive R²; its mean over several responses. Missing values of y are left out."""
        found = self.predict(X, covariates=covariates, metadata=metadata, embeddings=embeddings)
        require_same_order(X, y=y, sample_weight=sample_weight)
        return score_numbers(y, found, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.several
        return tags


class Classes(ClassifierMixin):
    """Of estimators with a response that is a class."""

    def _chances(self, found: Predicted) -> np.ndarray:
        """(D, C) probabilities of the classes, or what the largest is chosen of."""
        return found.means[0]

    @by_batches
    def predict(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> np.ndarray:
        """The most probable class, or that with the largest decision value; the median class for "ordinal"."""
        chances = self._chances(self._predicted(X, covariates, metadata, embeddings))
        _, part = self.fitted_.spec.parts[0]
        return np.asarray(self.classes_[part.response.decide(chances)])

    def decision_function(
        self, X: object, *, covariates: object = None, metadata: object = None, embeddings: object = None
    ) -> np.ndarray:
        """The linear predictor: (D,) for two classes, positive for the second; (D, C) for more."""
        score = self._predicted(X, covariates, metadata, embeddings).scores.score
        return np.asarray(score[:, 0] if score.shape[1] == 1 else score)

    def score(
        self, X: object, y: object = None, *, covariates: object = None, metadata: object = None,
        sample_weight: object = None, embeddings: object = None,
    ) -> float:  # fmt: skip
        """The share of the documents with a label whose class is predicted."""
        found = self.predict(X, covariates=covariates, metadata=metadata, embeddings=embeddings)
        require_same_order(X, y=y, sample_weight=sample_weight)
        return score_classes(y, found, self.classes_, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # as naive Bayes for counts: only the mix of features matters
        return tags
