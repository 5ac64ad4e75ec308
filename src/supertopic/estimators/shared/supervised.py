"""What estimators with a response share: reading y, fitting with it, scores of new documents, explanations."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from supertopic.backends.threads import Threads
from supertopic.coefficients import CoefPrior
from supertopic.corpus import Corpus, warn_empty
from supertopic.doc_topic_prior import DocTopicPrior
from supertopic.emissions.base import Emission
from supertopic.emissions.deviations import SparsePrior
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.emissions.sage import SparseTopics
from supertopic.estimators.shared.base import TopicEstimator
from supertopic.estimators.shared.labels import Target, as_table
from supertopic.estimators.shared.supervision import choose_supervision
from supertopic.inference.after import prediction
from supertopic.inference.after.words import (
    MIDDLING,
    WordProblem,
    choose_words,
    fit_words,
    hold_out,
    word_features,
    word_scale,
)
from supertopic.inference.regression import Design, regress
from supertopic.inference.task import Fit, Settings, Task
from supertopic.model import Model
from supertopic.responses.base import Response
from supertopic.responses.several import Part, Several


class SupervisedEstimator(TopicEstimator):
    """Base of estimators with a response."""

    _targets: list[Target]
    _n_covariates: int = 0
    words: bool = False
    emission: str = "dirichlet"  # or "sage": how topics make words
    supervision_: float
    _mean_shares: np.ndarray  # (D, K) Zbar of the training documents, averaged over a sampler's draws

    def _read_targets(self, table: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[Target]]:
        """The columns of y as numbers (D, M), NaN where missing, and what they are; refuses what this is not for."""
        raise NotImplementedError

    def _label_weight(self, numbers: np.ndarray) -> np.ndarray:
        """(D,) weights that follow from y itself."""
        return np.ones(len(numbers))

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, covariates: Any = None) -> Self:
        """Find topics in X that explain y; documents whose y is missing take part without it.

        Parameters
        ----------
        X : counts, strings, or a Corpus
        y : (D,), or (D, M) for several responses; NaN, None (or -1 among class numbers): missing
        sample_weight : (D,) weights of the documents' responses
        covariates : (D, P) numbers that join the topics in the linear predictor
        """
        engine, settings = self._settings()
        self._check_supervision()
        if self.words and not self.refit:
            raise ValueError("words: got True with refit=False, but words are fitted with the refitted coefficients")
        corpus = self._read(X)
        numbers = self._read_y(y, len(corpus))
        weight = _check_sample_weight(sample_weight, corpus.counts, ensure_non_negative=True).astype(np.float64)
        extra = self._read_covariates(covariates, len(corpus))
        self._n_covariates = extra.shape[1]
        self.supervision_ = (
            choose_supervision(self, corpus.counts, y, numbers, weight, None if covariates is None else extra)
            if self.supervision == "auto"
            else float(self.supervision)
        )
        weight = weight * self._label_weight(numbers)
        self._fit_corpus(corpus, engine, settings, numbers, self.supervision_ * weight, extra)
        if self.refit:
            self._refit(corpus, numbers, weight, extra)
        return self

    def _check_supervision(self) -> None:
        value = self.supervision
        if isinstance(value, str) and value == "auto":
            return
        if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise ValueError(f"supervision: got {value!r}, expected a number >= 0, or 'auto'")

    def _read_y(self, y: Any, n_documents: int) -> np.ndarray:
        table, names = as_table(y, n_documents, type(self).__name__)
        numbers, self._targets = self._read_targets(table, names)
        for column, target in zip(numbers.T, self._targets, strict=True):
            if np.isnan(column).all():
                raise ValueError(f"{target.name} is missing for every document; expected some labels")
        numbers = numbers[:, 0] if len(self._targets) == 1 else numbers
        self._response().check(numbers)
        return numbers

    def _read_covariates(self, covariates: Any, n_documents: int) -> np.ndarray:
        """(D, P): what joins the topics in the linear predictor."""
        return _as_covariates(covariates, n_documents)

    def _refit(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray) -> None:
        """The coefficients once more, on topics that have not seen y.

        In training, E[Zbar] of a document has been pulled towards its y; at prediction it has not. Coefficients
        fitted on the first are wrong for the second, the more so the harder the response pulls.
        """
        model, state = self._model(), replace(self._state, word_coef=None, word_scale=None)
        self._state = state
        design = Design(self._scores(corpus, extra).mean_topics, np.full(len(y), np.inf), extra)
        with Threads(1):
            coef, gram, dispersion = regress(
                model.response, model.coef_prior, design, y, weight, state.coef, state.learned()[1]
            )
        self._state = replace(state, coef=coef.astype(np.float32), gram=gram, dispersion=dispersion)
        self._derive(model)
        if self.words:
            self._refit_with_words(corpus, y, weight, extra)

    def _refit_with_words(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray) -> None:
        """Words beside the topics, whom a fit that has not seen a quarter of the labels says how far to trust."""
        features = word_features(corpus.counts, scale := word_scale(corpus.counts))
        dispersion = self._state.learned()[1]
        labels = self._labels(corpus, y, weight, extra, features, dispersion)
        held_out, chosen, settings, seen_there = hold_out(y, self._seed()), None, MIDDLING, None
        if held_out.any():
            pilot = copy(self)
            pilot.words, pilot.checkpoint, pilot.verbose = False, None, 0
            hidden = np.where(held_out if y.ndim == 1 else held_out[:, None], np.nan, y)
            pilot._fit_corpus(corpus, *pilot._settings(), hidden, self.supervision_ * weight, extra)
            pilot._refit(corpus, hidden, weight, extra)
            with Threads(1):
                chosen, seen_there = choose_words(
                    pilot._labels(corpus, y, weight, extra, features, dispersion), held_out
                )
            settings = (chosen.trust, chosen.penalty)
        with Threads(1):
            words = fit_words(labels, *settings, start=chosen)
        coef, topics = self._state.coef.astype(np.float64), slice(0, self.n_topics)
        coef[:, topics] = labels.level[:, None] + words.trust * (coef[:, topics] - labels.level[:, None])
        coef[:, topics] += words.intercept[:, None]
        if seen_there is None or self._response().kind != "number":  # cut-points: all documents tell them better
            seen_there = labels.dispersion_at(words.score(labels))
        self._state = replace(
            self._state, coef=coef.astype(np.float32), word_coef=words.coef.astype(np.float32), word_scale=scale,
            dispersion=seen_there,
        )  # fmt: skip
        self._derive(self._model())

    def _labels(
        self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray, features: sp.csr_matrix,
        dispersion: np.ndarray,
    ) -> WordProblem:  # fmt: skip
        """The documents as the words' fit sees them, by this model's topics, in the units of a `dispersion`.

        Responses that standardise y do it by the labels they see, so that a pilot's linear predictors have units of
        their own: of unscale(s) = zero + unit·s, each has another zero and unit.
        """
        others = extra @ self._state.coef[:, self.n_topics :].T.astype(np.float64)
        topics = self._scores(corpus, extra).score - others
        for _, part in self._parts():
            both = (self._state.learned()[1], dispersion)
            own, new = (part.response.unscale(np.array([0.0, 1.0]), np.zeros(2), d[part.numbers])[0] for d in both)
            ratio = (own[1] - own[0]) / (new[1] - new[0])
            topics[:, part.columns] = ratio * topics[:, part.columns] + (own[0] - new[0]) / (new[1] - new[0])
            others[:, part.columns] *= ratio
        return WordProblem(self._response(), y, weight, topics, others, dispersion, features)

    def _words_part(self, counts: sp.csr_matrix) -> np.ndarray | float:
        """(D, C) what words add to the linear predictors."""
        state = self._state
        if state.word_coef is None or state.word_scale is None:
            return 0.0
        return word_features(counts, state.word_scale) @ state.word_coef.T.astype(np.float64)

    def _model(self) -> Model:
        response = self._response()
        if (self._n_covariates or self.words) and getattr(response, "link", "log") == "canonical":
            which = "covariates" if self._n_covariates else "words"
            raise ValueError(f"{which}: a canonical link needs a positive linear predictor; use link='log'")
        return Model(
            n_topics=self.n_topics,
            emission=self._topics_model(),
            doc_topic_prior=DocTopicPrior.parse(self._alpha(), self.n_topics),
            response=response,
            coef_prior=CoefPrior.parse(self.coef_prior, self.coef_scale),
            per_token=bool(self.per_token),
            collapsed=self._collapsed(),
            n_covariates=self._n_covariates,
        )

    def _topics_model(self) -> Emission:
        """How topics make words: by `emission`."""
        if self.emission not in ("dirichlet", "sage"):
            raise ValueError(f"emission: got {self.emission!r}, expected 'dirichlet' or 'sage'")
        if self.emission == "sage":
            return SparseTopics(SparsePrior("exponential"), self.n_jobs)
        return DirichletTopics(self.topic_word_prior, self._collapsed())

    def _fits(self, corpus: Corpus) -> bool:
        return super()._fits(corpus) and self._emission.name == self.emission

    def _alpha(self) -> Any:
        return self.doc_topic_prior

    def _response(self) -> Response:
        parts = [target.make() for target in self._targets]
        return parts[0] if len(parts) == 1 else Several(parts)

    def _parts(self) -> list[tuple[Target, Part]]:
        return list(zip(self._targets, Several([target.make() for target in self._targets]).parts(), strict=True))

    # --- using --------------------------------------------------------------------------------------------------

    def _scores(self, corpus: Corpus, extra: np.ndarray) -> prediction.Scores:
        """Moments of the linear predictors, inferred without y."""
        state, is_product = self._state, self._response().is_product
        topics = np.ascontiguousarray(state.coef[:, : self.n_topics])
        with Threads(self.n_jobs) as backend:
            found = prediction.score(self._point_model(), self._weights(), topics, is_product, corpus.counts, backend)
        offset = extra @ state.coef[:, self.n_topics :].T.astype(np.float64) + self._words_part(corpus.counts)
        return found.shifted(offset, is_product)

    def _predicted(self, X: Any, covariates: Any = None) -> tuple[list[np.ndarray], prediction.Scores]:
        """What each response predicts, and the scores behind it."""
        check_is_fitted(self, "_state")
        corpus = self._as_corpus(X)
        warn_empty(corpus)
        found = self._scores(corpus, self._new_covariates(covariates, len(corpus)))
        dispersion = self._state.learned()[1]
        means = [
            part.response.predict(found.score[:, part.columns], found.moment[:, part.columns], dispersion[part.numbers])
            for _, part in self._parts()
        ]
        return means, found

    def _new_covariates(self, covariates: Any, n_documents: int) -> np.ndarray:
        extra = self._read_covariates(covariates, n_documents)
        if extra.shape[1] != self._n_covariates:
            raise ValueError(f"covariates: got {extra.shape[1]} columns, expected {self._n_covariates} as in fit")
        return extra

    def log_density(self, X: Any, y: Any, covariates: Any = None) -> np.ndarray:
        """(D,) log p(y | document), or its bound, of new documents; zero where y is missing."""
        _, found = self._predicted(X, covariates)
        numbers = self._new_labels(y, len(found.score))
        return self._response().log_density(numbers, found.score, found.moment, self._state.learned()[1])

    def _new_labels(self, y: Any, n_documents: int) -> np.ndarray:
        """Labels of new documents as numbers, classes by their place among those of the fit."""
        table, _ = as_table(y, n_documents, type(self).__name__)
        if table.shape[1] != len(self._targets):
            raise ValueError(f"y has {table.shape[1]} columns, expected {len(self._targets)} as in fit")
        pairs = zip(self._targets, table.T, strict=True)
        numbers = np.column_stack([target.encode(column, type(self).__name__) for target, column in pairs])
        return numbers[:, 0] if len(self._targets) == 1 else numbers

    def _column_names(self) -> list[str]:
        """One per column of coefficients: the class for classes, the response's name among several."""
        names = []
        for target, part in self._parts():
            several = part.columns.stop - part.columns.start > 1
            labels = [str(label) for label in target.classes] if several and target.classes is not None else [""]
            names += [f"{target.name if len(self._targets) > 1 else ''} {label}".strip() for label in labels]
        return names

    def explain(self, doc: Any) -> pd.DataFrame:
        """As in `LDA`, with what each word adds to the linear predictor: column `contribution` (one per class where
        there are several); it sums to the linear predictor, less the covariates' part.
        """
        frame = super().explain(doc)
        shares = frame.filter(like="topic ").to_numpy()
        coef = np.atleast_2d(self.coef_)
        contribution = frame["count"].to_numpy()[:, None] * (shares @ coef.T) / frame["count"].sum()
        if self._state.word_coef is not None and self._state.word_scale is not None:
            counts = self._as_corpus([doc] if isinstance(doc, str) else doc).counts
            features = word_features(counts, self._state.word_scale)
            own = features.data[:, None] * self.word_coef_[:, features.indices].T
            contribution += own[np.argsort(-counts.data, kind="stable")]
        for place, (name, column) in enumerate(zip(self._column_names(), contribution.T, strict=True)):
            frame.insert(2 + place, f"contribution {name}".strip(), column)
        return frame

    def _users_coefficients(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """(C, K + P) coefficients and standard errors, on the scale that users know."""
        gram, dispersion = self._state.learned()
        deviation = np.stack([model.coef_prior.deviation(one) for one in gram])
        return self._unscale(self._state.coef.astype(np.float64), deviation, dispersion)

    def _unscale(
        self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        coef, deviation = coef.copy(), deviation.copy()
        for _, part in self._parts():
            topics = (part.columns, slice(0, self.n_topics))
            others = (part.columns, slice(self.n_topics, None))
            numbers = dispersion[part.numbers]
            coef[topics], deviation[topics] = part.response.unscale(coef[topics], deviation[topics], numbers)
            coef[others], deviation[others] = _unshifted(part.response, coef[others], deviation[others], numbers)
        return coef, deviation

    def _keep(self, model: Model, fit: Fit) -> None:
        if "coef" in fit.draws:
            pairs = zip(fit.draws["coef"], fit.draws["dispersion"], strict=True)
            users = np.array([self._unscale(coef, np.zeros_like(coef), dispersion)[0] for coef, dispersion in pairs])
            fit.draws = {**fit.draws, "coef": users}
            self._mean_shares = fit.draws.pop("shares")
        super()._keep(model, fit)

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        coef, deviation = self._users_coefficients(model)
        self._columns_coef, self._columns_std = coef[:, : self.n_topics], deviation[:, : self.n_topics]
        if self._state.word_coef is not None:
            self.word_coef_ = self._state.word_coef.astype(np.float64)
            for _, part in self._parts():
                numbers = self._state.learned()[1][part.numbers]
                columns = self.word_coef_[part.columns]
                self.word_coef_[part.columns] = _unshifted(part.response, columns, np.zeros_like(columns), numbers)[0]
        if self._n_covariates:
            self.covariate_coef_, self.covariate_std_ = coef[:, self.n_topics :], deviation[:, self.n_topics :]

    def topics(self, n: int = 10) -> pd.DataFrame:
        """As in `LDA`, with a column of coefficients per response or class, sorted by it where there is one."""
        frame = super().topics(n)
        for place, (name, column) in enumerate(zip(self._column_names(), np.atleast_2d(self.coef_), strict=True)):
            frame.insert(1 + place, f"coef {name}".strip(), column)
        return frame.sort_values("coef", ascending=False) if "coef" in frame else frame

    def _task(
        self, model: Model, corpus: Corpus, settings: Settings, y: np.ndarray | None = None, weight: Any = None,
        covariates: np.ndarray | None = None,
    ) -> Task:  # fmt: skip
        return replace(super()._task(model, corpus, settings, y, weight), covariates=covariates)

    def _saved(self) -> dict[str, Any]:
        targets = [{**vars(t), "classes": None if t.classes is None else t.classes.tolist()} for t in self._targets]
        return {"targets": targets, "n_covariates": self._n_covariates, "supervision": self.supervision_}

    def _restore(self, saved: dict[str, Any]) -> None:
        self._targets = [
            Target(**{**t, "classes": None if t["classes"] is None else np.asarray(t["classes"])})
            for t in saved["targets"]
        ]
        self._n_covariates, self.supervision_ = saved["n_covariates"], saved["supervision"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _unshifted(
    response: Response, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients on the scale that users know, without the intercept: that belongs to the topics."""
    zero = response.unscale(np.zeros(1), np.zeros(1), dispersion)[0]
    coef, deviation = response.unscale(coef, deviation, dispersion)
    return coef - zero, deviation


def _as_covariates(covariates: Any, n_documents: int) -> np.ndarray:
    """(D, P) finite numbers; (D, 0) for None."""
    if covariates is None:
        return np.zeros((n_documents, 0))
    try:
        extra = np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("covariates: got values that are no numbers, expected a table (documents, columns)") from None
    extra = extra[:, None] if extra.ndim == 1 else extra
    if extra.ndim != 2 or len(extra) != n_documents:
        raise ValueError(f"covariates: got shape {extra.shape}, expected ({n_documents}, columns)")
    if not np.isfinite(extra).all():
        raise ValueError("covariates: got NaN or infinity, expected finite numbers")
    return extra
