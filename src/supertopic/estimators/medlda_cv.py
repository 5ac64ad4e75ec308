"""MedLDA with C and the margin chosen by cross-validation on the training documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from supertopic.documents.corpus import Corpus, as_corpus, as_texts, holds_text
from supertopic.documents.known import Known
from supertopic.estimators.medlda import MedLDAClassifier, MedLDARegressor
from supertopic.html_tables import frame_html
from supertopic.inference.after.splits import Belonging, codes_of
from supertopic.plots_of import Plots


class _PathCV(MetaEstimatorMixin, BaseEstimator, ABC):
    """For every margin (cost or epsilon), fits along ascending C, each going on from the one before.

    A subclass takes the parameters of the estimator that it wraps, too: they are those of the default estimator.
    scikit-learn reads parameters off the signature of `__init__`, which is why the signature is extended.
    """

    margin_name: ClassVar[str]
    wrapped: ClassVar[type]
    _inherited: ClassVar[dict[str, Any]]  # parameters of the wrapped estimator, with their defaults
    estimator: Any
    Cs: Sequence[float]
    cv: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = signature(cls.__init__)
        chosen = {*own.parameters, "C", cls.margin_name, "warm_start", "checkpoint"}
        more = [
            one.replace(kind=Parameter.KEYWORD_ONLY)
            for name, one in signature(cls.wrapped).parameters.items()
            if name not in chosen
        ]
        cls._inherited = {one.name: one.default for one in more}
        plain = cls.__init__

        @wraps(plain)
        def with_inherited(self: object, *args: Any, **params: Any) -> None:
            for name, default in cls._inherited.items():
                setattr(self, name, params.pop(name, default))
            plain(self, *args, **params)

        with_inherited.__signature__ = own.replace(parameters=[*own.parameters.values(), *more])  # type: ignore[attr-defined]
        cls.__init__ = with_inherited  # type: ignore[method-assign]

    def _base(self) -> Any:
        """The estimator that every fit is a clone of."""
        given = {name: getattr(self, name) for name in self._inherited}
        if self.estimator is None:
            return self.wrapped(**given)
        if not isinstance(self.estimator, self.wrapped):
            raise ValueError(
                f"estimator: got {self.estimator!r:.40}, expected a {self.wrapped.__name__}; its parameters are given "
                "by name, such as n_topics=20"
            )
        for name, value in given.items():
            if repr(value) != repr(self._inherited[name]):
                raise ValueError(f"{name}: got {value!r:.40} beside estimator, expected it among the estimator's own")
        return self.estimator

    @abstractmethod
    def _margins(self) -> Sequence[float]: ...

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, metadata: object = None, groups: object = None,
        times: object = None,
    ) -> Self:  # fmt: skip
        """Choose by the folds' mean score, then walk the path to the chosen setting with all documents.

        groups, times : as in `LDA.fit`. Where `cv` is a number, folds leave out whole groups, or the past predicts the
            future.
        metadata : where these are names of its columns
        """
        base = self._base()
        Cs = sorted(_numbers("Cs", self.Cs))
        margins = _numbers(f"{self.margin_name}s", self._margins())
        documents, labels = _documents(X), y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
        known = Known.of(len(labels), metadata=metadata, groups=groups, times=times, sample_weight=sample_weight)
        folds = self._folds(labels, known, is_classifier(base))
        rows = []
        for margin in margins:
            scores = np.array([self._walk(base, documents, labels, known, margin, Cs, *fold)[1] for fold in folds])
            for C, of_folds in zip(Cs, scores.T, strict=True):
                se = of_folds.std(ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0
                rows.append({"C": C, self.margin_name: margin, "score": of_folds.mean(), "score_se": se})
        self.cv_results_ = pd.DataFrame(rows)
        best = self.cv_results_.loc[self.cv_results_["score"].idxmax()]
        self.C_, self.best_score_ = float(best["C"]), float(best["score"])
        margin, everything = float(best[self.margin_name]), np.arange(len(labels))
        setattr(self, f"{self.margin_name}_", margin)
        path = [C for C in Cs if C <= self.C_]
        self.best_estimator_, _ = self._walk(base, documents, labels, known, margin, path, everything)
        self.best_estimator_.set_params(warm_start=base.warm_start)
        if is_classifier(base):
            self.classes_ = self.best_estimator_.classes_
        return self

    def _folds(self, labels: np.ndarray, known: Known, classes: bool) -> list[tuple[np.ndarray, np.ndarray]]:
        """(train, test) rows."""
        if not isinstance(self.cv, Integral) or (known.groups is None and known.times is None):
            return list(check_cv(self.cv, labels, classifier=classes).split(np.zeros(len(labels)), labels))
        belonging = Belonging.of(len(labels), *known.belonging)
        n_folds = min(int(self.cv), belonging.n_groups)
        if n_folds < 2:
            raise ValueError("groups: got one group, expected two at least")
        kinds = codes_of(labels.astype(str)) if classes else None
        splits = belonging.splits(np.arange(len(labels)), n_folds, np.random.default_rng(0), kinds)
        return [(one.rest, one.out) for one in splits]

    def _walk(
        self, base: Any, documents: object, y: np.ndarray, known: Known, margin: float, Cs: list[float],
        train: np.ndarray, test: np.ndarray | None = None,
    ) -> tuple[Any, list[float]]:  # fmt: skip
        """The model at the end of the path, and the scores of the test documents on the way; words join at the end."""
        model, scores = clone(base).set_params(warm_start=True, **{self.margin_name: margin}), []
        folds = getattr(base, "cross_fit", 0)  # of probabilities, which the path does not need
        own = known[train]
        groups, times = own.belonging
        given = {"sample_weight": own.weight, "groups": groups, "times": times}
        given = {name: one for name, one in given.items() if one is not None}
        for C in Cs:
            words = base.words and (test is not None or Cs[-1] == C)
            if folds:
                model.set_params(cross_fit=folds if test is None and Cs[-1] == C else 0)
            model.set_params(C=C, words=words).fit(_rows(documents, train), y[train], **given)
            if test is not None:
                scores.append(float(model.score(_rows(documents, test), y[test])))
        return model.set_params(words=base.words), scores

    def predict(self, X: object) -> np.ndarray:
        """By the model of the chosen setting."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    def transform(self, X: object) -> np.ndarray:
        """Topic shares by that model."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.transform(X)

    def score(self, X: object, y: object) -> float:
        """Its accuracy, or R²."""
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(X, y))

    @property
    def out_of_fold_(self) -> pd.DataFrame:
        """Predictions of documents by fits of that model without them, with `cross_fit` only."""
        check_is_fitted(self, "best_estimator_")
        found: pd.DataFrame = self.best_estimator_.out_of_fold_
        return found

    @property
    def plot(self) -> Plots:
        """The plots of that model."""
        check_is_fitted(self, "best_estimator_")
        return Plots(self.best_estimator_)

    def _repr_html_(self) -> str:
        if not hasattr(self, "best_estimator_"):
            return super()._repr_html_()
        best = [int(self.cv_results_["score"].to_numpy().argmax())]
        return frame_html(self.cv_results_, bold=best) + self.best_estimator_._repr_html_()

    def save(self, path: object) -> None:
        """Save that model."""
        check_is_fitted(self, "best_estimator_")
        self.best_estimator_.save(path)


class MedLDAClassifierCV(ClassifierMixin, _PathCV):
    """`MedLDAClassifier` with C and cost of the best mean accuracy over folds of the training documents.

    Parameters
    ----------
    estimator : MedLDAClassifier, optional
        All other settings; by default `MedLDAClassifier()` with the parameters below.
    Cs, costs : sequences of float
        What to choose from. For each cost, a fold's fits go on from one C to the next.
    cv : int, splitter or iterable
        As in scikit-learn.
    n_topics, ...
        As in `MedLDAClassifier`.

    Attributes
    ----------
    C_, cost_ : what was chosen; best_score_ : its mean accuracy
    cv_results_ : DataFrame, C, cost, score, score_se (the standard error over folds)
    best_estimator_ : the model fitted to all documents along the same path

    Examples
    --------
    >>> from supertopic import MedLDAClassifierCV
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> kinds = ["pets", "money", "pets", "money"] * 10
    >>> model = MedLDAClassifierCV(Cs=(1.0, 4.0), costs=(64.0,), cv=2, n_topics=2).fit(texts, kinds)
    >>> model.predict(["stock market"]).tolist()
    ['money']
    """

    margin_name = "cost"
    wrapped = MedLDAClassifier

    def __init__(
        self, estimator: object = None, *, Cs: Sequence[float] = (1.0, 4.0, 16.0),
        costs: Sequence[float] = (16.0, 64.0, 256.0), cv: object = 3,
    ) -> None:  # fmt: skip
        self.estimator = estimator
        self.Cs = Cs
        self.costs = costs
        self.cv = cv

    def _margins(self) -> Sequence[float]:
        return self.costs

    def decision_function(self, X: object) -> np.ndarray:
        """By the model of the chosen setting."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    @property
    def predict_proba(self) -> Any:
        """Probabilities by that model, with `cross_fit` only."""
        return (self.best_estimator_ if hasattr(self, "best_estimator_") else self._base()).predict_proba


class MedLDARegressorCV(RegressorMixin, _PathCV):
    """`MedLDARegressor` with C and epsilon of the best mean R² over folds of the training documents.

    Parameters
    ----------
    estimator : MedLDARegressor, optional
        All other settings; by default `MedLDARegressor()` with the parameters below.
    Cs, epsilons : sequences of float
        What to choose from.
    cv : int, splitter or iterable
        All as in `MedLDAClassifierCV`.
    n_topics, ...
        As in `MedLDARegressor`.

    Attributes
    ----------
    C_, epsilon_, best_score_, cv_results_, best_estimator_
        As there.

    Examples
    --------
    >>> from supertopic import MedLDARegressorCV
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> model = MedLDARegressorCV(Cs=(10.0, 100.0), epsilons=(0.1,), cv=2, n_topics=2).fit(texts, [1.0, 3.0] * 20)
    >>> bool(model.predict(["stock market"])[0] > 2)
    True
    """

    margin_name = "epsilon"
    wrapped = MedLDARegressor

    def __init__(
        self, estimator: object = None, *, Cs: Sequence[float] = (10.0, 30.0, 100.0),
        epsilons: Sequence[float] = (0.1, 0.5), cv: object = 3,
    ) -> None:  # fmt: skip
        self.estimator = estimator
        self.Cs = Cs
        self.epsilons = epsilons
        self.cv = cv

    def _margins(self) -> Sequence[float]:
        return self.epsilons


def _numbers(name: str, values: object) -> list[float]:
    """Finite numbers >= 0, at least one."""
    given = list(values) if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str) else []
    good = [float(v) for v in given if isinstance(v, (Real, np.number)) and 0 <= float(v) < np.inf]
    if not given or len(good) < len(given):
        raise ValueError(f"{name}: got {values!r}, expected a list of finite numbers >= 0")
    return good


def _documents(X: object) -> Any:
    """Something whose rows can be taken: texts, or a Corpus."""
    if not isinstance(X, Corpus) and holds_text(X):
        return np.array(as_texts(X)[0], dtype=object)
    return as_corpus(X)


def _rows(documents: Any, rows: np.ndarray) -> Any:
    if isinstance(documents, Corpus):
        return Corpus(documents.counts[rows], documents.vocabulary)
    return documents[rows]
