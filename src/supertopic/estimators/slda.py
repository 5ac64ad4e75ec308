"""Supervised latent Dirichlet allocation (Blei & McAuliffe 2007): topics that explain a response."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from supertopic.estimators.base import Engine
from supertopic.estimators.supervised import SupervisedEstimator
from supertopic.inference.engines import fit_batch, fit_stochastic
from supertopic.metrics import predictive_r2
from supertopic.model import Model
from supertopic.responses.base import Response


class _SLDA(SupervisedEstimator):
    """The parameters that regressor and classifier share."""

    engines: ClassVar[dict[str, tuple[Engine, int]]] = {"vb": (fit_batch, 60), "svi": (fit_stochastic, 10)}
    burn_in, thin = None, 1  # of samplers

    def __init__(
        self,
        n_topics: int = 20,
        *,
        response: str = "auto",
        supervision: float = 1.0,
        refit: bool = True,
        coef_prior: str = "normal",
        coef_scale: float = 10.0,
        inference: str = "vb",
        doc_topic_prior: float | str | Sequence[float] | np.ndarray = "auto",
        topic_word_prior: float = 0.05,
        max_iter: int | None = None,
        tol: float = 1e-4,
        batch_size: int | None = None,
        learning_delay: float = 50.0,
        learning_decay: float = 0.7,
        max_doc_iter: int = 100,
        doc_tol: float = 1e-2,
        vectorizer: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: Any = None,
        backend: str = "threads",
    ) -> None:
        self.n_topics = n_topics
        self.response = response
        self.supervision = supervision
        self.refit = refit
        self.coef_prior = coef_prior
        self.coef_scale = coef_scale
        self.inference = inference
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.learning_delay = learning_delay
        self.learning_decay = learning_decay
        self.max_doc_iter = max_doc_iter
        self.doc_tol = doc_tol
        self.vectorizer = vectorizer
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.backend = backend


class SLDARegressor(RegressorMixin, _SLDA):
    """theta ~ Dirichlet(alpha);  z, w as in LDA;  y ~ response(eta·Zbar), Zbar the document's topic frequencies.

    Parameters
    ----------
    n_topics : int
        K.
    response : {"auto", "gaussian", "negative_binomial"}
        How topics make y: a number ("auto" is that), or a count.
    supervision : float
        Weight of the response's log-likelihood against the words': 1 is the paper's model; more makes topics serve y.
    refit : bool
        Fit the coefficients once more on topics inferred without y, as they are at prediction.
    coef_prior, coef_scale : {"flat", "normal", "laplace"}, float
        Prior on eta (for "gaussian", of y standardised), and its scale. "laplace" gives exact zeros.
    inference : {"vb", "svi"}
    doc_topic_prior, topic_word_prior, max_iter, tol, batch_size, learning_delay, learning_decay, max_doc_iter, doc_tol
        As in `LDA`; `max_iter` is 60 EM steps by default.
    vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    coef_ : (K,) ndarray
        eta on the scale of y ("gaussian"), or of the linear predictor: E[y] of a document all of one topic.
    coef_std_ : (K,) ndarray, standard errors of `coef_` given the topics
    dispersion_ : float, the variance of y around the prediction, or r
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`.
    """

    def _response(self) -> Response:
        return self._find_response("number", "gaussian")

    def _encode(self, y: Any, n_documents: int) -> np.ndarray:
        y = _one_column(y, n_documents, type(self).__name__)
        try:
            numbers = y.astype(np.float64)
        except (TypeError, ValueError):
            wrong = next(value for value in y if not _is_number(value))
            raise ValueError(
                f"y holds {wrong!r}, which is no number; for labels use SLDAClassifier instead of SLDARegressor"
            ) from None
        if np.isinf(numbers).any():
            raise ValueError("Input y contains infinity; expected finite numbers (NaN: missing).")
        return numbers

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        gram, dispersion = self._state.learned()
        coef, deviation = self._state.coef[0].astype(np.float64), model.coef_prior.deviation(gram[0])
        self.coef_, self.coef_std_ = model.response.unscale(coef, deviation, dispersion)
        self.dispersion_ = model.response.spread(dispersion)

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """E[y] of new documents (D,); `return_interval=0.9` adds the ends of intervals that hold nine of ten."""
        mean, found = self._predicted(X)
        if return_interval is None:
            return mean
        if not 0 < return_interval < 1:
            raise ValueError(f"return_interval: got {return_interval!r}, expected a probability between 0 and 1")
        low, high = self._response().interval(found.score, found.moment, self._state.learned()[1], return_interval)
        return mean, low, high

    def score(self, X: Any, y: Any = None) -> float:
        """Predictive R²."""
        return float(predictive_r2(y, self.predict(X)))


class SLDAClassifier(ClassifierMixin, _SLDA):
    """As `SLDARegressor`, for documents of two classes: P(y = second class) = link(eta·Zbar).

    Parameters
    ----------
    response : {"auto", "logit", "probit"}
        The link ("auto" is "logit").
    n_topics, supervision, refit, coef_prior, coef_scale, inference, ...
        As in `SLDARegressor`.

    Attributes
    ----------
    classes_ : (2,) ndarray
    coef_, coef_std_ : (1, K) ndarray
        eta: a topic with a large one speaks for the second class.
    components_, doc_topic_, alpha_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `LDA`.
    """

    def _response(self) -> Response:
        return self._find_response("class", "logit", 2)

    def _encode(self, y: Any, n_documents: int) -> np.ndarray:
        y = _one_column(y, n_documents, type(self).__name__)
        missing = _missing_labels(y)
        known = y[~missing]
        known = known.astype(str) if any(isinstance(value, str) for value in known) else np.array(known.tolist())
        if len(known) and type_of_target(known) not in ("binary", "multiclass"):
            raise ValueError(
                f"Unknown label type: y holds {known[0]!r}, a continuous value; for numbers use SLDARegressor "
                "instead of SLDAClassifier"
            )
        self.classes_, codes = np.unique(known, return_inverse=True)
        if len(known) and len(self.classes_) != 2:
            if len(self.classes_) == 1:
                raise ValueError(f"y holds 1 class, {self.classes_[0].item()!r}; SLDAClassifier needs 2")
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass. "
                f"(y holds {len(self.classes_)} classes)"
            )
        numbers = np.full(n_documents, np.nan)
        numbers[~missing] = codes
        return numbers

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        self.coef_ = self._state.coef.astype(np.float64)
        self.coef_std_ = np.stack([model.coef_prior.deviation(gram) for gram in self._state.learned()[0]])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (D, 2), in the order of `classes_`."""
        return self._predicted(X)[0]

    def decision_function(self, X: Any) -> np.ndarray:
        """The linear predictor eta·E[Zbar] of each document (D,): positive for the second class."""
        return self._predicted(X)[1].score[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class of each document."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _one_column(y: Any, n_documents: int, who: str) -> np.ndarray:
    """y as a flat array of objects; refuses none, several columns, and another number of documents."""
    if y is None:
        raise ValueError(f"requires y to be passed, but the target y is None: {who} learns from a response")
    y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,)",
            DataConversionWarning,
            stacklevel=4,
        )
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}; expected one value per document")
    if len(y) != n_documents:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_documents} documents, y has {len(y)}"
        )
    if np.iscomplexobj(y):
        raise ValueError("Complex data not supported in y")
    return y.astype(object)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _missing_labels(y: np.ndarray) -> np.ndarray:
    """Where a label is missing: None, NaN, or -1 beside two other whole numbers or more."""
    missing = np.array([value is None or value != value for value in y], dtype=bool)
    others = {value for value in y[~missing] if value != -1}
    if len(others) > 1 and all(isinstance(value, (int, np.integer)) for value in others):
        missing |= np.array([not isinstance(value, bool) and value == -1 for value in y], dtype=bool)
    return missing
