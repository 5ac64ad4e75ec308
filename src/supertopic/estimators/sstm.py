"""The sparse supervised topic model (Wang, Li & Lin): few topics that explain a response, with their uncertainty."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from supertopic.coefficients import CoefPrior
from supertopic.corpus import Corpus
from supertopic.doc_topic_prior import DocTopicPrior
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.estimators.base import Engine
from supertopic.estimators.labels import Target, as_codes, as_table
from supertopic.estimators.slda import SLDAClassifier, SLDARegressor
from supertopic.estimators.supervised import SupervisedEstimator
from supertopic.inference.chains import effective_size, fit_chains, split_r_hat
from supertopic.inference.engines import Settings
from supertopic.inference.sparse_mode import mode_within_budget, sparse_mode
from supertopic.inference.supervised_gibbs import Options, fit_supervised_gibbs
from supertopic.model import Model

_MIXED = 1.1  # the largest R-hat of chains that agree
_FIRST = 0.1  # topic_word_prior before it is learned


class _SSTM(SupervisedEstimator):
    """The parameters that regressor and classifier share, and the sparse estimate."""

    engines: ClassVar[dict[str, tuple[Engine, int]]] = {"gibbs": (fit_supervised_gibbs, 500)}
    coef_scale: Any
    doc_topic_prior: Any
    topic_word_prior: Any
    supervision: Any
    batch_size: Any
    # what other estimators let users choose
    inference, coef_prior, own_terms, words, supervision, init, n_init = (
        "gibbs",
        "laplace",
        False,
        False,
        1.0,
        "online",
        1,
    )
    tol, batch_size, learning_delay, learning_decay, max_doc_iter, doc_tol = 0.0, None, 10.0, 0.7, 100, 1e-2
    _prior_unit: float = 1.0  # of `coef_scale`: what it is divided by
    _unit: float = 1.0  # of `coef_`: what it is multiplied by

    def __init__(
        self,
        n_topics: int = 20,
        *,
        coef_scale: float | str = "auto",
        sigma: float | str = "auto",
        doc_topic_prior: float | str | Sequence[float] | np.ndarray = 0.1,
        topic_word_prior: float | str = 0.1,
        collapsed: bool = True,
        max_nonzero: int | None = None,
        sparsity: float | None = None,
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
        self.n_topics = n_topics
        self.coef_scale = coef_scale
        self.sigma = sigma
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.collapsed = collapsed
        self.max_nonzero = max_nonzero
        self.sparsity = sparsity
        self.refit = refit
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.vectorizer = vectorizer
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.backend = backend

    def _settings(self) -> tuple[Engine, Settings]:
        _, settings = super()._settings()
        self._budget()
        options = Options(
            integrate_latents=bool(self.collapsed),
            learn_scale=self._is_auto("coef_scale"),
            learn_topic_prior=self._is_auto("topic_word_prior"),
        )
        self._is_auto("sigma")
        if not isinstance(self.n_chains, Integral) or int(self.n_chains) < 1:
            raise ValueError(f"n_chains: got {self.n_chains!r}, expected a whole number >= 1")
        chain = partial(fit_supervised_gibbs, options=options)
        return partial(fit_chains, engine=chain, n_chains=int(self.n_chains)), settings

    def _is_auto(self, name: str) -> bool:
        """Whether a parameter is "auto"; refuses what is neither that nor a number above zero."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return True
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(f"{name}: got {value!r}, expected a number > 0, or 'auto'")
        return False

    def _budget(self) -> int | None:
        """How many topics may have a coefficient other than zero."""
        if self.max_nonzero is not None and self.sparsity is not None:
            raise ValueError("sparsity: got a number beside max_nonzero; expected one of the two")
        if self.max_nonzero is not None:
            if not isinstance(self.max_nonzero, Integral) or int(self.max_nonzero) < 1:
                raise ValueError(f"max_nonzero: got {self.max_nonzero!r}, expected a whole number >= 1")
            return int(self.max_nonzero)
        if self.sparsity is None:
            return None
        if not isinstance(self.sparsity, Real) or not 0 < float(self.sparsity) <= 1:
            raise ValueError(f"sparsity: got {self.sparsity!r}, expected a share of the topics between 0 and 1")
        return max(1, int(float(self.sparsity) * self.n_topics + 1e-9))

    def _model(self) -> Model:
        scale = 1.0 if self._is_auto("coef_scale") else float(self.coef_scale) / self._prior_unit
        return Model(
            n_topics=self.n_topics,
            emission=DirichletTopics(_FIRST if self._is_auto("topic_word_prior") else self.topic_word_prior),  # type: ignore[arg-type]
            doc_topic_prior=DocTopicPrior.parse(self.doc_topic_prior, self.n_topics),
            response=self._response(),
            coef_prior=CoefPrior("laplace", scale),
            n_covariates=self._n_covariates,
        )

    def _fit_corpus(self, corpus: Corpus, engine: Engine, settings: Settings, *labels: Any) -> Any:
        super()._fit_corpus(corpus, engine, settings, *labels)
        self._choose_topics(corpus, *labels)
        worst = float(np.nanmax(self.r_hat_, initial=1.0))
        if self.n_chains > 1 and worst > _MIXED:
            warnings.warn(
                f"the {self.n_chains} chains have not mixed (largest R-hat of a coefficient {worst:.2f}): more sweeps "
                "(max_iter), or the topics differ between chains and the draws are those of several",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _by_chain(self, name: str) -> np.ndarray:
        """Draws (chains, S, …)."""
        draws = self.draws_[name]
        return draws.reshape(int(self.n_chains), -1, *draws.shape[1:])

    def to_arviz(self) -> Any:
        """The draws as ArviZ's InferenceData: `coef`, `dispersion` and `coef_scale` by chain; needs the package."""
        try:
            import arviz
        except ImportError:
            raise ImportError("to_arviz needs the package arviz: pip install arviz") from None
        check_is_fitted(self, "_state")
        posterior = {
            name: self._by_chain(name) for name in ("coef", "dispersion", "coef_scale") if self.draws_[name].size
        }
        return arviz.from_dict(posterior)

    def _refit(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray) -> None:
        """Has been done when topics were chosen."""

    def _choose_topics(self, corpus: Corpus, y: np.ndarray, weight: np.ndarray, extra: np.ndarray) -> None:
        """The mode given mean Zbar chooses topics; `refit` finds what they say, on shares inferred without y."""
        state, scale = self._state, float(self.draws_["coef_scale"].mean())
        _, dispersion = state.learned()
        coef, gram, dispersion = state.coef.astype(np.float64), np.zeros_like(state.gram), dispersion.copy()
        seen = np.hstack([self._mean_shares, extra]).astype(np.float64)
        unseen = np.hstack([self._scores(corpus, extra).mean_topics, extra]) if self.refit else seen
        weight = np.where(np.asarray(corpus.counts.sum(axis=1)).ravel() > 0, weight, 0.0)
        for _, part in self._parts():
            c, own = part.columns.start, dispersion[part.numbers]
            labels = y if y.ndim == 1 else y[:, part.label]
            given = (part.response, seen, labels, weight)
            coef[c], gram[c], _ = mode_within_budget(*given, own, scale, self.n_topics, self._budget())
            penalty = np.where(coef[c] == 0, np.inf, 1.0 / scale)
            for _ in range(3):  # the variance of what is left, which the penalty is weighed against
                score = (unseen @ coef[c])[:, None]
                own = part.response.update(labels, score, score**2, weight, own, 1.0)
                if not self.refit:
                    break
                coef[c], gram[c] = sparse_mode(part.response, unseen, labels, weight, own, penalty, coef[c])
            dispersion[part.numbers] = own
        self._state = replace(state, coef=coef.astype(np.float32), gram=gram, dispersion=dispersion)
        self._derive(self._model())

    def _unscale(
        self, coef: np.ndarray, deviation: np.ndarray, dispersion: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """As elsewhere, less the level of y itself: a topic without a say has a zero."""
        coef, deviation = super()._unscale(coef, deviation, dispersion)
        coef[:, : self.n_topics] -= self._levels(dispersion)[:, None]
        return coef * self._unit, deviation * self._unit

    def _levels(self, dispersion: np.ndarray) -> np.ndarray:
        """(C,) what a linear predictor of zero means on the scale of y."""
        nothing = np.zeros(1)
        return np.array(
            [part.response.unscale(nothing, nothing, dispersion[part.numbers])[0][0] for _, part in self._parts()]
        )

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        topics = self.draws_["coef"][:, :, : self.n_topics]
        single = np.ndim(self.coef_) == 1
        summaries = {
            "inclusion_": self.draws_["inclusion"][:, : self.n_topics],
            "sign_probability_": (topics > 0).mean(axis=0),
            "coef_interval_": np.quantile(topics, [0.05, 0.95], axis=0),
            "coef_mean_": topics.mean(axis=0),
            "r_hat_": split_r_hat(self._by_chain("coef")[..., : self.n_topics]),
            "n_effective_": effective_size(self._by_chain("coef")[..., : self.n_topics]),
        }
        for name, value in summaries.items():
            setattr(self, name, value[..., 0, :] if single else value)
        self.coef_scale_ = float(self.draws_["coef_scale"].mean() * self._prior_unit)


class SSTMRegressor(_SSTM, SLDARegressor):
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
    collapsed : bool
        For `SSTMClassifier`: integrate the probit's latent out of the topics' draws (the paper's partial collapse).
    max_nonzero, sparsity : int, float, optional
        At most so many topics, or such a share of them, may have a coefficient other than zero (per column of y): nu is
        lowered until that holds, and the coefficients of the topics that are left are found again at nu itself.
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


class SSTMClassifier(_SSTM, SLDAClassifier):
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
    n_topics, doc_topic_prior, topic_word_prior, max_nonzero, sparsity, refit, ...
        As in `SSTMRegressor`.

    Attributes
    ----------
    classes_ : (C,) ndarray
    coef_ : (1, K) ndarray, or (C, K) for more than two classes: the sparse estimate; intercept_ : (C,), of those
    inclusion_, sign_probability_, coef_interval_, coef_mean_, coef_scale_, draws_, ...
        As in `SSTMRegressor`.
    """

    response, class_weight = "probit", None

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
        """With a constant behind them for more than two classes."""
        extra = super()._read_covariates(covariates, n_documents)
        return np.hstack([extra, np.ones((n_documents, 1))]) if len(self.classes_) > 2 else extra

    def _derive(self, model: Model) -> None:
        super()._derive(model)
        if len(self.classes_) > 2:
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
