"""What MedLDA's regressor and classifier share."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from supertopic.backends.threads import Threads
from supertopic.corpus import Corpus
from supertopic.estimators.shared.base import Engine
from supertopic.estimators.shared.labels import Target
from supertopic.estimators.shared.supervised import SupervisedEstimator
from supertopic.inference.after import prediction
from supertopic.inference.after.margin_words import Balance, choose_balance, fit_margin_words
from supertopic.inference.after.words import word_features, word_scale
from supertopic.inference.gibbs.supervised import fit_supervised_gibbs
from supertopic.inference.regression import Design
from supertopic.inference.task import Fit, Settings, Task
from supertopic.inference.variational.batch import fit_batch
from supertopic.inference.variational.exact_margin import fit_exact
from supertopic.inference.variational.m_step_margin import fit_margin, without_smallest
from supertopic.model import Model
from supertopic.responses.margin import MaxMargin

_REFIT_TOL = 1e-4  # of the duality gap: no step follows that could make up for it
_REFIT_TURNS = 50
_HELD_OUT = 0.25  # of the documents, to find out what topics should say beside words
_LEAST_HELD_OUT = 10  # documents without which nothing is held out


class MaxMarginEstimator(SupervisedEstimator):
    """Base of both."""

    engines: ClassVar[dict[str, tuple[Engine, int]]] = {
        "vb": (fit_batch, 40),
        "cvb0": (fit_batch, 40),
        "gibbs": (fit_supervised_gibbs, 100),
    }
    batch_size, learning_delay, learning_decay = None, 1.0, 0.0  # of other engines
    supervision, per_token = 1.0, False  # of other models

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Find topics in X that separate y; documents whose y is missing take part without it.

        Parameters
        ----------
        X : counts, strings, or a Corpus
        y : (D,); NaN, None (or -1 among class numbers): missing
        sample_weight : (D,) weights of the documents' losses: C is per document, times this
        """
        return super().fit(X, y, sample_weight)

    def _at_least_zero(self, name: str) -> float:
        value = getattr(self, name)
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
            raise ValueError(f"{name}: got {value!r}, expected a finite number >= 0")
        return float(value)

    def _check_prior(self) -> None:
        if self.coef_prior not in ("normal", "laplace"):
            raise ValueError(f"coef_prior: got {self.coef_prior!r}, expected 'normal' or 'laplace'")

    def _settings(self) -> tuple[Engine, Settings]:
        engine, settings = super()._settings()
        if not self.exact:
            return engine, settings
        if self.inference != "vb" or self.emission != "dirichlet":
            raise ValueError("exact: got True, which needs inference='vb' and emission='dirichlet'")
        return fit_exact, settings

    def _task(
        self, model: Model, corpus: Corpus, settings: Settings, y: np.ndarray | None = None, weight: Any = None,
        covariates: np.ndarray | None = None,
    ) -> Task:  # fmt: skip
        task = super()._task(model, corpus, settings, y, weight, covariates)
        if task.start is not None:  # the duals belong to the documents of the earlier fit
            known = task.start.dual is not None and len(task.start.dual) == len(corpus)
            task.start = replace(task.start, dual=task.start.dual if known else None, planes=None, n_support=None)
        return task

    def _keep(self, model: Model, fit: Fit) -> None:
        fit.state.planes = None  # of use in training only
        super()._keep(model, fit)

    def _scores(self, corpus: Corpus, extra: np.ndarray) -> prediction.Scores:
        """As for all; but a loss of classes has no use for second moments, which take three times as long."""
        if not self._response().n_classes:
            return super()._scores(corpus, extra)
        none, state = np.zeros((0, self.n_topics), dtype=np.float32), self._state
        with Threads(self.n_jobs) as backend:
            given = (self._point_model(), self._weights(), none, np.zeros(0, dtype=bool), corpus.counts, backend)
            found = prediction.score(*given).mean_topics
        score = np.hstack([found, extra]) @ state.coef.T + self._words_part(corpus.counts)
        return prediction.Scores(found, score, score**2)

    def _refit(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray) -> None:
        """The coefficients once more, on topics that have not seen y, by the same problem; then words beside them."""
        state = replace(self._state, word_coef=None, word_scale=None)
        self._state, model = state, self._model()
        lengths = np.asarray(corpus.counts.sum(axis=1), dtype=np.float64)
        gamma = self.doc_topic_ * (state.alpha.sum() + lengths)  # inferred without y at the end of the fit
        mean = Design.of(gamma, state.alpha, np.where(lengths > 0, lengths, np.inf).ravel(), extra).mean
        design = Design(mean, np.full(len(corpus), np.inf), extra)
        found = fit_margin(
            cast(MaxMargin, model.response), model.coef_prior, design, y, weight, state.coef, state.coef_cov,
            state.learned()[1], turns=_REFIT_TURNS, tol=_REFIT_TOL,
        )  # fmt: skip
        coef = without_smallest(model.coef_prior, found.solution.coef)
        self._state = replace(
            state, coef=coef.astype(np.float32), coef_cov=found.coef_cov.astype(np.float32),
            gram=found.gram, dispersion=found.dispersion,
        )  # fmt: skip
        if state.support is None:  # a sampler has no duals
            self._state.dual = found.solution.dual
            self._state.support = np.any(found.solution.dual, axis=1)
            self._state.n_support = np.array([np.count_nonzero(self._state.support)])
        if self.words:
            self._add_words(corpus, y, weight, extra)
        self._derive(model)

    def _add_words(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray) -> None:
        state = self._state
        balance, dispersion = self._choose_balance(corpus, y, weight, extra)
        scale = word_scale(corpus.counts)
        response = cast(MaxMargin, self._response())
        words = fit_margin_words(
            response, word_features(corpus.counts, scale), y, weight, state.learned()[1], balance.C
        )
        self._state = replace(
            state, coef=np.float32(balance.share) * state.coef, coef_cov=np.float32(balance.share**2) * state.coef_cov,
            word_coef=((1 - balance.share) * words).astype(np.float32), word_scale=scale, dispersion=dispersion,
        )  # fmt: skip

    def _choose_balance(
        self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray
    ) -> tuple[Balance, np.ndarray]:
        """What predicts a quarter of the documents best that a model of the others has not seen.

        The variance, where there is one, is of that quarter, too: words know the training documents by heart.
        """
        response, dispersion = cast(MaxMargin, self._response()), self._state.learned()[1]
        held_out = (np.random.default_rng(0).random(len(y)) < _HELD_OUT) & ~np.isnan(y)
        train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        labels = y[train][~np.isnan(y[train])]
        enough = len(labels) >= len(test) >= _LEAST_HELD_OUT and len(np.unique(labels)) >= response.n_classes
        if not enough:
            return Balance(), dispersion
        model = clone(self).set_params(words=False, vectorizer=None, checkpoint=None, verbose=0, warm_start=False)
        parts = [Corpus(corpus.counts[rows]) for rows in (train, test)]
        model._fit_numbers(parts[0], y[train], weight[train], extra[train], self._targets)
        scale = word_scale(parts[0].counts)
        features = [word_features(part.counts, scale) for part in parts]
        own, topics = model._state.learned()[1], model._scores(parts[1], extra[test]).score
        balance, score = choose_balance(
            response, own, (features[0], y[train], weight[train]), (topics, features[1], y[test])
        )
        moved = response.update(y[test], score, score**2, weight[test], own, 1.0)
        return balance, np.concatenate([moved[:1], dispersion[1:]])

    def _fit_numbers(
        self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray, targets: list[Target]
    ) -> None:
        """Fit labels that another model has read."""
        self._targets, self._n_covariates, self.supervision_ = targets, extra.shape[1], 1.0
        engine, settings = self._settings()
        self._remember_words(corpus, None)
        self.vectorizer_ = None
        self._fit_corpus(corpus, engine, settings, y, weight, extra)
        self._refit(corpus, y, weight, extra)

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        if self._state.support is not None:
            self.support_, self.n_support_ = np.flatnonzero(self._state.support), self._state.n_support
            self.dual_coef_ = self._state.dual

    def plot_support(self) -> Any:
        """A figure: documents that carried the model after each step, `n_support_` (needs matplotlib)."""
        check_is_fitted(self, "support_")
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ValueError("plots need matplotlib: pip install 'supertopic[plots]'") from error
        figure, axis = plt.subplots(figsize=(4.2, 2.9), layout="constrained")
        counts = np.asarray(self.n_support_)
        axis.plot(np.arange(1, len(counts) + 1), counts, color="#1f4e79", marker="o", markersize=3, linewidth=1.3)
        axis.set_title("support documents", loc="left", fontsize=10)
        axis.set_xlabel("step", fontsize=8)
        axis.set_ylim(0, None)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        return figure

    def log_density(self, X: Any, y: Any, covariates: Any = None) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} has a loss, no density of y")
