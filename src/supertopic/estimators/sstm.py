"""The sparse supervised topic model (Wang, Li & Lin): few topics that explain a response, with their uncertainty.

What it is to be compared with finds topics first and then those that matter, which is a pipeline of scikit-learn's:

    make_pipeline(LDA(50, inference="gibbs"), LogisticRegression(l1_ratio=1.0, solver="liblinear", C=0.1))
    make_pipeline(LDA(50, inference="gibbs"), LassoCV())
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from supertopic.estimators.shared.labels import Target, as_codes, as_table
from supertopic.estimators.shared.sparse import SparseEstimator
from supertopic.estimators.slda import SLDAClassifier, SLDARegressor
from supertopic.model import Model


class SSTMRegressor(SparseEstimator, SLDARegressor):
    """eta ~ Laplace(0, nu);  theta ~ Dirichlet(alpha);  z, w as in LDA;  y - intercept ~ N(eta·Zbar, sigma²).

    Collapsed Gibbs sampling as in the paper's section 3, with an intercept, the mean of y: the prior pulls towards it
    and not towards zero. Draws of eta are never exactly zero, so `coef_` is another estimate: the posterior mode given
    the averaged Zbar, which an ℓ1 penalty makes sparse.

    Parameters
    ----------
    n_topics : int
        K.
    coef_scale : float or "auto"
        nu, for y standardised; "auto" draws it too, 1/nu ~ Gamma(2, 1).
    sigma : float or "auto"
        The deviation of y round the intercept plus eta·Zbar; "auto" draws it too.
    doc_topic_prior, topic_word_prior : float, or "auto"
        alpha and beta; "auto" climbs the likelihood of the topics drawn (Minka's fixed point).
    supervision : float
        The power of y's likelihood: above 1, topics follow y more and words less, and draws are narrower than a
        posterior's. A whole number for `SSTMClassifier`.
    collapsed : bool
        For `SSTMClassifier`: integrate the probit's latent out of the topics' draws (the paper's partial collapse).
    max_nonzero, sparsity : int, float, optional
        At most so many topics, or such a share of them, may have a coefficient other than zero (per column of y).
    concentrate : bool
        Under such a budget, keep to it while sampling: so many topics bear y, which of them is drawn too, and the
        others explain words only. There are none of the others at first; they join after sweeps of their own, half as
        many as the burn-in. What y is about stays together in few topics. Otherwise all topics bear y, and the budget
        chooses among them at the end: nu is lowered until it is kept, and the coefficients of the topics that are left
        are found again at nu itself.
    refit : bool
        Find the coefficients of the chosen topics once more, on shares inferred without y as they are at prediction.
    max_iter, burn_in, thin : int
        Sweeps (500), sweeps before the first draw that is kept (half), and between two of them.
    n_chains : int
        Chains from different seeds, in parallel under `n_jobs`. Topics and `coef_` are those of the best (highest log
        joint); the others' topics are matched with its, and `draws_` holds all. A warning says if they disagree.
    vectorizer, n_jobs, random_state, verbose, warm_start, checkpoint, backend
        As in `LDA`.

    Attributes
    ----------
    coef_ : (K,) ndarray, or (M, K) for several responses: the sparse estimate; intercept_ : float or (M,)
    inclusion_ : like `coef_`: in which part of the draws the mode of a coefficient, given all else, is not zero
    sign_probability_ : like `coef_`: the posterior probability that a coefficient is positive
    coef_interval_ : (2, …) ends of intervals that hold nine of ten draws; coef_mean_ : their mean
    r_hat_, n_effective_ : like `coef_`: R̂ of the draws, near 1 where chains (and their halves) agree, and how many
        independent draws they are worth
    coef_scale_ : float, nu, or the mean of its draws
    draws_ : dict of ndarray: coef (n_chains S, M, K + P), dispersion, coef_scale, log_joint, alpha
    components_, doc_topic_, alpha_, dispersion_, bound_, n_iter_, n_features_in_, feature_names_in_, vectorizer_
        As in `SLDARegressor`.
    """

    response, link = "gaussian", "auto"

    def _read_targets(self, table: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[Target]]:
        numbers, targets = super()._read_targets(table, names)
        options = {} if self._is_auto("sigma") else {"sigma": float(self.sigma)}
        return numbers, [replace(target, options=options) for target in targets]

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        levels = self._levels(self._state.learned()[1])
        self.intercept_ = float(levels[0]) if len(levels) == 1 else levels


class SSTMClassifier(SparseEstimator, SLDAClassifier):
    """As `SSTMRegressor`, for classes: P(y = 1) = Phi(eta·Zbar / sigma), by partially collapsed Gibbs sampling.

    More than two classes are one probit each against the rest, over the same topics and each with an intercept, since
    a class is rarer than the rest: every class has its own few topics (the paper's closing remark), and a zero says
    that a topic does not matter, which in a softmax, whose coefficients may be shifted, it does not.

    Parameters
    ----------
    coef_scale, sigma : float or "auto"
        nu and sigma. The likelihood knows their ratio only: sigma is the unit of `coef_`, and "auto" is 1.
    collapsed : bool
        Integrate the probit's latent out of the topics' draws (the paper's partial collapse); otherwise topics are
        drawn given it, which is faster by the sweep and mixes more slowly.
    fit_intercept : bool
        Of two classes: the paper has no intercept, which leaves one topic alone nothing to say. More always have one.
    n_topics, doc_topic_prior, topic_word_prior, supervision, max_nonzero, sparsity, concentrate, refit, ...
        As in `SSTMRegressor`.

    Attributes
    ----------
    classes_ : (C,) ndarray
    coef_ : (1, K) ndarray, or (C, K) for more than two classes: the sparse estimate; intercept_ : (C,), of those
    inclusion_, sign_probability_, coef_interval_, coef_mean_, coef_scale_, draws_, ...
        As in `SSTMRegressor`.
    """

    response, class_weight = "probit", None
    fit_intercept: bool

    def __init__(
        self,
        n_topics: int = 20,
        *,
        coef_scale: float | str = "auto",
        sigma: float | str = "auto",
        doc_topic_prior: float | str | Sequence[float] | np.ndarray = 0.1,
        topic_word_prior: float | str = 0.1,
        supervision: float = 1.0,
        collapsed: bool = True,
        max_nonzero: int | None = None,
        sparsity: float | None = None,
        concentrate: bool = True,
        fit_intercept: bool = False,
        refit: bool = True,
        max_iter: int | None = None,
        burn_in: int | None = None,
        thin: int = 5,
        n_chains: int = 1,
        vectorizer: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: Any = None,
        backend: str = "threads",
    ) -> None:
        super().__init__(
            n_topics, coef_scale=coef_scale, sigma=sigma, doc_topic_prior=doc_topic_prior,
            topic_word_prior=topic_word_prior, supervision=supervision, collapsed=collapsed, max_nonzero=max_nonzero,
            sparsity=sparsity, concentrate=concentrate, refit=refit, max_iter=max_iter, burn_in=burn_in, thin=thin,
            n_chains=n_chains, vectorizer=vectorizer, n_jobs=n_jobs, random_state=random_state, verbose=verbose,
            warm_start=warm_start, checkpoint=checkpoint, backend=backend,
        )  # fmt: skip
        self.fit_intercept = fit_intercept

    @property
    def _unit(self) -> float:  # type: ignore[override]
        return 1.0 if self.sigma == "auto" else float(self.sigma)

    @property
    def _prior_unit(self) -> float:  # type: ignore[override]
        return self._unit

    def _read_targets(self, table: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[Target]]:
        who = type(self).__name__
        if table.shape[1] != 1:
            raise ValueError(f"y has shape {table.shape}; {who} takes one column of labels")
        codes, self.classes_ = as_codes(table[:, 0], who)
        if len(self.classes_) == 2:
            return codes[:, None], [Target(names[0], "probit", classes=self.classes_)]
        return self._one_against_others(codes), [
            Target(str(label), "probit", classes=np.array([0, 1])) for label in self.classes_
        ]

    def _one_against_others(self, codes: np.ndarray) -> np.ndarray:
        """(D, C) whether a document is of each class, NaN where its label is missing."""
        return np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(len(self.classes_)))

    def _new_labels(self, y: Any, n_documents: int) -> np.ndarray:
        if len(self.classes_) == 2:
            return super()._new_labels(y, n_documents)
        table, _ = as_table(y, n_documents, type(self).__name__)
        return self._one_against_others(as_codes(table[:, 0], type(self).__name__, self.classes_)[0])

    def _read_covariates(self, covariates: Any, n_documents: int) -> np.ndarray:
        """With a constant behind them where there is an intercept."""
        extra = super()._read_covariates(covariates, n_documents)
        return np.hstack([extra, np.ones((n_documents, 1))]) if self._has_intercept() else extra

    def _has_intercept(self) -> bool:
        return self.fit_intercept or len(self.classes_) > 2

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        if self._has_intercept():
            self.intercept_ = self.covariate_coef_[:, -1]
            self.covariate_coef_, self.covariate_std_ = self.covariate_coef_[:, :-1], self.covariate_std_[:, :-1]

    def _saved(self) -> dict[str, Any]:
        return {**super()._saved(), "classes": self.classes_.tolist()}

    def _restore(self, saved: dict[str, Any]) -> None:
        super()._restore(saved)
        self.classes_ = np.asarray(saved["classes"])

    def predict_proba(self, X: Any, covariates: Any = None) -> np.ndarray:
        """Probabilities of the classes, (D, C): each one's against the rest, made to sum to one."""
        found = self._predicted(X, covariates)[0]
        if len(found) == 1:
            return found[0]
        each = np.column_stack([one[:, 1] for one in found]) + 1e-300
        return each / each.sum(axis=1, keepdims=True)

    def decision_function(self, X: Any, covariates: Any = None) -> np.ndarray:
        """The linear predictors over sigma: (D,) for two classes, (D, C) for more."""
        score = self._predicted(X, covariates)[1].score
        return score[:, 0] if score.shape[1] == 1 else score

    def predict(self, X: Any, covariates: Any = None) -> np.ndarray:
        """The most probable class of each document."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X, covariates).argmax(axis=1)]
