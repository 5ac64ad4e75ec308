"""Generative models of classes: the posterior of a class given the words, tempered on documents left out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from supertopic.checks import check_choice
from supertopic.documents.corpus import Corpus, warn_empty
from supertopic.documents.known import Known
from supertopic.documents.labels import as_codes, as_table
from supertopic.documents.rows import require_same_order
from supertopic.estimators.shared.base import TopicEstimator
from supertopic.estimators.shared.reading.checks import check_folds
from supertopic.estimators.shared.results.answers import score_classes
from supertopic.fitted.certainty.tempering import cross_fitted_temperature
from supertopic.fitted.checks import check_temperature
from supertopic.fitted.fitted import Fitted
from supertopic.fitted.seen import Seen, notes_of
from supertopic.responses.temperature import Evidence, Temperature


class TemperedClasses(ClassifierMixin, TopicEstimator):
    """Base of estimators that know how probable the words of a document are in each class."""

    class_prior: str
    cross_fit: int
    classes_: np.ndarray
    temperature_: Temperature

    @abstractmethod
    def evidence(self, corpus: Corpus) -> Evidence:
        """What the words of documents say about their classes."""

    # --- fitting ------------------------------------------------------------------------------------------------

    def _check_classes(self) -> None:
        """Refuse parameters that make no sense."""
        check_choice("class_prior", self.class_prior, ("empirical", "uniform"))
        check_folds(self.cross_fit)

    def _read_classes(self, y: object, n_documents: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels as numbers (D,), NaN where missing; and the classes."""
        who = type(self).__name__
        table, _ = as_table(y, n_documents, who)
        if table.shape[1] != 1:
            raise ValueError(f"y has {table.shape[1]} columns; {who} takes one column of labels")
        codes, classes = as_codes(table[:, 0], who)
        if np.isnan(codes).all():
            raise ValueError("y is missing for every document; expected some labels")
        return codes, classes

    def _class_shares(self, n_members: np.ndarray) -> np.ndarray:
        """(C,) shares of the classes, not normalised; n_members : (C,) their documents"""
        return n_members + 1.0 if self.class_prior == "empirical" else np.ones(len(n_members))

    def _tempered(self, fitted: Fitted, corpus: Corpus, codes: np.ndarray, known: Known) -> Self:
        """Take up a fit with the temperature that further fits, each without a fold, have found."""
        assert fitted.classes is not None
        temperature = cross_fitted_temperature(self, corpus, codes, len(fitted.classes), known)
        notes = {"temperature": list(temperature), **notes_of(known)}
        self._take(replace(fitted, seen=Seen.of(corpus), notes=notes))
        warn_empty(corpus)
        return self

    def _publish(self, fitted: Fitted) -> None:
        super()._publish(fitted)
        assert fitted.classes is not None
        self.classes_ = fitted.classes
        self.temperature_ = Temperature(*map(float, fitted.notes["temperature"]))

    def check_file(self, fitted: Fitted) -> None:
        check_temperature(*fitted.notes["temperature"])

    # --- using --------------------------------------------------------------------------------------------------

    def predict_proba(self, X: object) -> np.ndarray:
        """(D, C) probabilities of the classes: the posterior, tempered on documents that a fit has not seen.

        A document without a known word has the class shares.
        """
        check_is_fitted(self, "fitted_")
        corpus = self._as_corpus(X)
        warn_empty(corpus)
        return self.temperature_.probabilities(self.evidence(corpus))

    def predict(self, X: object) -> np.ndarray:
        """The most probable class of each document."""
        found = self.predict_proba(X)
        return self.classes_[np.argmax(found, axis=1)]

    def score(self, X: object, y: object = None, *, sample_weight: object = None) -> float:
        """The share of the documents with a label whose class is predicted."""
        require_same_order(X, y=y, sample_weight=sample_weight)
        return score_classes(y, self.predict(X), self.classes_, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = True  # scikit-learn tests it on two measurements; it is made for word counts
        return tags
